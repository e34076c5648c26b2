"""What copies of TensorFlow's cells import: ``tf.contrib.compiler.jit``, for what always is."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> AbstractContextManager[None]:
    """Return a scope whose operations are compiled, as those of every plan are.

    Args:
      compile_ops, separate_compiled_gradients: without effect: plans are compiled as a whole.

    Source: TensorFlow 1.15, ``tf.contrib.compiler.jit.experimental_jit_scope``.

    >>> with tf.Graph().as_default(), tf.contrib.compiler.jit.experimental_jit_scope():
    ...     tf.constant(1.0).op.type
    'Const'
    """
    return nullcontext()
