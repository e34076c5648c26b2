"""Whether a layer is training: a Python bool, or a tensor that is known in a run only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.control.cond import cond
from daskvars.ops.math.comparison import where_v2
from daskvars.variables.variable import Variable


def known_phase(training: TensorLike) -> bool | None:
    """Return a bool where it is known now, None where a run decides."""
    if not isinstance(training, Tensor | Variable):
        return bool(training)
    value = constant_value(convert_to_tensor(training))
    return None if value is None else bool(value)


def in_phase(training: TensorLike, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """Return ``yes()`` in training and ``no()`` otherwise, by a `cond` where a run decides."""
    known = known_phase(training)
    if known is None:
        return cond(training, yes, no)
    return yes() if known else no()


def chosen(training: TensorLike, yes: Tensor, no: Tensor) -> Tensor:
    """Return `yes` in training and `no`, which broadcasts with it, otherwise.

    Both are computed: for small tensors, where a branch would keep others from being fused.
    """
    known = known_phase(training)
    if known is not None:
        return yes if known else no
    result = where_v2(training, yes, no)
    result.set_shape(yes.get_shape())  # the phase is a scalar, whether or not that is known
    return result
