"""What models that were written for TPUs call as well where there are none: `tf.tpu`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.dtypes import bfloat16, float32
from daskvars.ops.math.casting import cast
from daskvars.v1.optimizers.cross_shard import CrossShardOptimizer
from daskvars.variables.scopes.variable_scope import VariableScope, variable_scope

__all__ = ["CrossShardOptimizer", "bfloat16_scope"]


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[VariableScope]:
    """Enter a scope in which bfloat16 variables are kept as float32, and cast where they are read.

    Args:
      name: name of the variable scope, by default that which is entered already.

    Yields:
      The `VariableScope`.

    Source: TensorFlow 1.15, ``tf.tpu.bfloat16_scope``.

    >>> with tf.Graph().as_default(), tf.tpu.bfloat16_scope():
    ...     w = tf.get_variable("w", [2], dtype=tf.bfloat16)
    ...     w.dtype.name, tf.global_variables()[0].dtype.base_dtype.name
    ('bfloat16', 'float32')
    """

    def kept_as_float32(getter: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dtype") != bfloat16:
            return getter(*args, **kwargs)
        return cast(getter(*args, **{**kwargs, "dtype": float32}), bfloat16)

    with variable_scope(name or "", custom_getter=kept_as_float32) as scope:
        yield scope
