"""What copies of TensorFlow's cells import: ``tf.contrib.compiler.jit``, for what always is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.surface.accepted import accepts


@contextmanager
@accepts("compile_ops", "separate_compiled_gradients")
def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Enter a scope whose operations are compiled, as those of every plan are.

    Source: TensorFlow 1.15, ``tf.contrib.compiler.jit.experimental_jit_scope``.

    >>> import daskvars.v1 as tf
    >>> with tf.Graph().as_default(), tf.contrib.compiler.jit.experimental_jit_scope():
    ...     tf.constant(1.0).op.type
    'Const'
    """
    yield
