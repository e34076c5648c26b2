"""Kernels that check: they fail the run, or give nothing or what they got.

The operations that call them are made by `daskvars.Assert` and `daskvars.check_numerics`
(`daskvars.ops.control.dependencies`), by the assertions of `daskvars.ops.checks`, and by losses
and metrics for their weights (`daskvars.ops.nn.weighting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid
from daskvars.kernels.control.printing import summarized


@host_kernel
def check(xp: ArrayModule, condition: Array, *data: Any, summarize: int | None) -> tuple:
    """Raise InvalidArgumentError with `data` unless all of `condition` is true."""
    if not bool(xp.all(condition)):
        shown = " ".join(summarized(data, summarize))
        raise invalid(f"assertion failed: {shown}")
    return ()


def finite(xp: ArrayModule, x: Array, *, message: str) -> Array:
    """Give `x`. Raises InvalidArgumentError when it holds a NaN or an infinity."""
    if not bool(xp.isfinite(x).all()):
        found = {"Inf": xp.isinf(x), "NaN": xp.isnan(x)}
        kind = " and ".join(name for name, places in found.items() if bool(places.any()))
        raise invalid(f"{message} : Tensor had {kind} values")
    return x


def weights_problem(weights: Sequence[Any], values: Sequence[Any]) -> str | None:
    """Return why weights of a shape cannot weigh values of another, None if they can."""
    shown = f"weights can not be broadcast to values. values.rank={len(values)}. "
    shown += f"weights.rank={len(weights)}. values.shape={tuple(values)}. "
    shown += f"weights.shape={tuple(weights)}."
    if len(weights) == 0:
        return None
    if len(weights) != len(values):
        return shown
    for axis, (ours, theirs) in enumerate(zip(weights, values, strict=True)):
        if ours not in (1, None, theirs) and theirs is not None:
            return f"{shown} Mismatch at dim {axis}."
    return None


def broadcastable(xp: ArrayModule, *, weights_shape: Any, values_shape: Any) -> tuple:
    """Raise InvalidArgumentError unless weights of one shape can weigh values of the other."""
    problem = weights_problem(weights_shape, values_shape)
    if problem:
        raise invalid(problem)
    return ()


def unreachable(xp: ArrayModule, *args: Any, **attrs: Any) -> NoReturn:
    """The kernel of an op that lowering always replaces by a value."""
    raise AssertionError("this op is replaced by a value before anything runs")
