"""Functions of each element. Those of one or two arrays that are NumPy's too are `FUNCTIONS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math import arithmetic, comparison, transcendental
from daskvars.ops.protocols.array_api.promotion import isdtype, together
from daskvars.surface.signatures import named

# NumPy's functions of tensors are handed over to our ops, which type checkers cannot know.
handed_over: Any = numpy


# What has nothing to do where there are no fractions.
_OF_INTEGERS: dict[str, Callable[[Tensor], Tensor]] = {
    **dict.fromkeys(("ceil", "floor", "round"), lambda x: x),
    **dict.fromkeys(("isnan", "isinf"), lambda x: comparison.not_equal(x, x)),
    "isfinite": lambda x: comparison.equal(x, x),
}


def _of_one(name: str, function: Callable[..., Any]) -> Callable[[Any], Tensor]:
    of_integers = _OF_INTEGERS.get(name)

    def applied(x: Tensor, /) -> Tensor:
        if of_integers is not None and isdtype(x.dtype, "integral"):
            return of_integers(x)
        return function(x)

    return named(applied, name, f"Return `{name}` of each element.")


def _of_two(name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Tensor]:
    def applied(x1: TensorLike, x2: TensorLike, /) -> Tensor:
        return function(*together(x1, x2))

    return named(applied, name, f"Return `{name}` of each two elements, broadcast and promoted.")


_ONE = {
    **{
        name: name
        for name in (
            *("abs", "negative", "positive", "sign", "sqrt", "square", "reciprocal"),
            *("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh", "ceil", "floor", "isnan", "isinf", "isfinite"),
            *("logical_not", "real", "imag", "round"),
        )
    },
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "bitwise_invert": "invert",
    "conj": "conjugate",
}
_TWO = {
    **{
        name: name
        for name in (
            *("add", "subtract", "multiply", "divide", "floor_divide", "remainder"),
            *("maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater"),
            *("greater_equal", "logical_and", "logical_or", "logical_xor"),
            *("bitwise_and", "bitwise_or", "bitwise_xor", "matmul"),
        )
    },
    "pow": "power",
    "atan2": "arctan2",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}
# NumPy hands its functions over to our ops, which have them under its names.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **{name: _of_one(name, getattr(numpy, theirs)) for name, theirs in _ONE.items()},
    **{name: _of_two(name, getattr(numpy, theirs)) for name, theirs in _TWO.items()},
}


def clip(x: Tensor, /, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Return elements no less than `min` and no more than `max`, in the dtype of `x`."""
    low, high = (None if b is None else convert_to_tensor(b, x.dtype) for b in (min, max))
    return handed_over.clip(x, low, high)


def where(condition: Tensor, x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return elements of `x1` where `condition` is, else of `x2`; all are broadcast."""
    return handed_over.where(condition, *together(x1, x2))


def signbit(x: Tensor, /) -> Tensor:
    """Return whether the sign of each element is minus, also of -0.0 and NaN."""
    return arithmetic.signbit(x)


def nextafter(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the floating number that is next to each of `x1`, towards `x2`."""
    x, towards = together(x1, x2)
    return arithmetic.nextafter(x, towards)


def trunc(x: Tensor, /) -> Tensor:
    """Return each element without its fraction."""
    if isdtype(x.dtype, "integral"):
        return x
    return comparison.where_v2(x < _like(0, x), arithmetic.ceil(x), arithmetic.floor(x))


def copysign(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the elements of `x1`, each with the sign of that of `x2`."""
    x, sign = together(x1, x2)
    size = comparison.where_v2(arithmetic.signbit(x), -x, x)  # of -0.0 and NaN too
    return comparison.where_v2(arithmetic.signbit(sign), -size, size)


def hypot(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``sqrt(x1**2 + x2**2)``, without overflow between."""
    x, y = (arithmetic.abs(value) for value in together(x1, x2))
    most, least = arithmetic.maximum(x, y), arithmetic.minimum(x, y)
    infinite = comparison.logical_or(comparison.is_inf(x), comparison.is_inf(y))
    has_length = comparison.logical_and(most > _like(0, x), comparison.is_finite(most))
    ratio = least / comparison.where_v2(has_length, most, _like(1, x))
    found = most * transcendental.sqrt(_like(1, x) + ratio * ratio)
    return comparison.where_v2(infinite, _like(float("inf"), x), found)


def logaddexp(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``log(exp(x1) + exp(x2))``, without overflow between."""
    x, y = together(x1, x2)
    same = comparison.equal(x, y)  # infinities, whose difference is not a number
    apart = comparison.where_v2(same, _like(0, x), arithmetic.abs(x - y))
    return arithmetic.maximum(x, y) + transcendental.log1p(transcendental.exp(-apart))


def _like(value: float, x: Tensor) -> Tensor:
    return convert_to_tensor(value, x.dtype.base_dtype)
