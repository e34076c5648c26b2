"""Values of several towers put together: `tf.contrib.nccl`.

There each tower has its own GPU, and NVIDIA's library moves what they exchange. Here the sum is an
operation like any other, and each tower reads it on its device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from daskvars.graph.scopes.context import device
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math.arithmetic import add_n, maximum, minimum, multiply

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]


def _for_each(combined: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return a value as it is read on the device of each tensor."""
    read = []
    for tensor in tensors:
        with device(tensor.device or None):
            read.append(identity(combined))
    return read


def _checked(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    return tensors


def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the sum of tensors of one shape and dtype, once for each.

    Raises:
      ValueError: there is none.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sums = tf.contrib.nccl.all_sum([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])])
    ...     [total.tolist() for total in sess.run(sums)]
    [[4.0, 6.0], [4.0, 6.0]]
    """
    return _for_each(reduce_sum(tensors), tensors)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the product of tensors of one shape and dtype, once for each. See `all_sum`."""
    return _all(multiply, tensors)


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the least of tensors of one shape and dtype, once for each. See `all_sum`."""
    return _all(minimum, tensors)


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the largest of tensors of one shape and dtype, once for each. See `all_sum`."""
    return _all(maximum, tensors)


def _all(combine: Callable[[Any, Any], Tensor], tensors: Sequence[Tensor]) -> list[Tensor]:
    return _for_each(functools.reduce(combine, _checked(tensors)), tensors)


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors of one shape and dtype.

    Raises:
      ValueError: there is none.
    """
    return add_n(_checked(tensors))


def broadcast(tensor: Tensor) -> Tensor:
    """Return a tensor, to be read on other devices."""
    return identity(tensor)
