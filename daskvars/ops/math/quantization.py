"""Numbers as integers of a few bits between two limits, and back.

The formulas are TensorFlow's. A quantized dtype (`quint8`, `qint32`) is stored as its integers;
what a number means is in its two limits, which go beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

from daskvars import dtypes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math.arithmetic import (
    abs as absolute,
    floor,
    maximum,
    minimum,
    multiply,
    round,
    sign,
)
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, where_v2
from daskvars.ops.math.division import realdiv

MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
ROUND_MODES = ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN")
CLOSEST = 100.0  # limits that are closer than the larger of them by this are moved apart


class Quantized(NamedTuple):
    """Numbers as integers, and what the least and the greatest integer stand for.

    Attributes:
      output: [...] of a quantized dtype.
      output_min: [] float32.
      output_max: [] float32.
    """

    output: Tensor
    output_min: Tensor
    output_max: Tensor


def bounds(dtype: DType) -> tuple[float, float]:
    """Return the least and the greatest integer of a dtype."""
    found = numpy.iinfo(dtype.np)
    return float(found.min), float(found.max)


def quantized_dtype(dtype: DTypeLike, what: str) -> DType:
    """Return a quantized dtype. Raises TypeError for another."""
    found = as_dtype(dtype).base_dtype
    if found not in dtypes.QUANTIZED:
        names = ", ".join(sorted(d.name for d in dtypes.QUANTIZED))
        raise TypeError(f"{what} must be one of {names}; got {found.name}")
    return found


def _mode(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"Mode string must be one of {', '.join(MODES)}; got {mode!r}")
    return mode


def half_away(x: Tensor) -> Tensor:
    """Return numbers rounded, halves away from 0."""
    return multiply(sign(x), floor(absolute(x) + 0.5))


def step_between(low: Tensor, high: Tensor, dtype: DType) -> Tensor:
    """Return by how much what two neighbouring integers stand for differs."""
    least, most = bounds(dtype)
    return realdiv(high - low, most - least)


def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Quantized:
    """Return numbers as integers that cover the range between two limits.

    Args:
      input: [...] float32; what is beyond a limit counts as the limit.
      min_range: [] float32, the lower limit. It is taken as 0 where it is above.
      max_range: [] float32, the upper limit.
      T: `qint8`, `quint8`, `qint16`, `quint16` or `qint32`.
      mode: "MIN_COMBINED" and "MIN_FIRST" have the lower limit at the least integer, and differ in
        what they round; "SCALED" has 0 at 0.
      round_mode: where halves go in the mode "SCALED": "HALF_AWAY_FROM_ZERO" or "HALF_TO_EVEN".
      name: name scope of the operations, by default "quantize".

    Returns:
      A `Quantized`: [...] `T`, and [] float32 twice: the limits that are covered.

    Raises:
      TypeError: `T` is another dtype.
      ValueError: there is no such mode.

    Source: TensorFlow 1.15, ``tf.quantization.quantize``.

    >>> found = quantize([0.0, 1.0, 7.0], 0.0, 6.0, dv.quint8)
    >>> found.output.numpy().tolist(), float(found.output_max)
    ([0, 43, 255], 6.0)
    """
    dtype = quantized_dtype(T, "T")
    if round_mode not in ROUND_MODES:
        raise ValueError(f"round_mode must be one of {', '.join(ROUND_MODES)}; got {round_mode!r}")
    with name_scope(name, "quantize", [input, min_range, max_range]) as scope:
        x = convert_to_tensor(input, dtypes.float32, name="input")
        low, high = _apart(min_range, max_range)
        least, most = bounds(dtype)
        if _mode(mode) == "SCALED":
            scale = _scale(low, high, dtype)
            low, high = (realdiv(bound, scale) for bound in (least, most))
            turned = half_away if round_mode == ROUND_MODES[0] else round
            steps = turned(multiply(maximum(minimum(x, high), low), scale))
        elif mode == "MIN_FIRST":
            step = step_between(low, high, dtype)
            steps = half_away(realdiv(x, step)) - half_away(realdiv(low, step)) + least
        else:
            inside = maximum(minimum(x, high), low) - low
            half = (most - least + 1) / 2 if least else 0.0
            steps = half_away(realdiv(inside, step_between(low, high, dtype)) - half)
        wide = cast(maximum(minimum(cast(steps, dtypes.float64), most), least), dtype)
        return Quantized(identity(wide, name=scope), low, high)


def _apart(min_range: TensorLike, max_range: TensorLike) -> tuple[Tensor, Tensor]:
    """Return limits with 0 between them, and some room."""
    low = convert_to_tensor(min_range, dtypes.float32, name="min_range")
    high = convert_to_tensor(max_range, dtypes.float32, name="max_range")
    room = realdiv(maximum(1.0, maximum(absolute(low), absolute(high))), CLOSEST)
    low = minimum(0.0, low)
    return low, maximum(0.0, maximum(high, low + room))


def _scale(low: Tensor, high: Tensor, dtype: DType) -> Tensor:
    """Return how many integers a 1 is where 0 is 0, so that both limits are covered."""
    least, most = bounds(dtype)
    by_high = _inverse(most, high)
    return by_high if least == 0 else minimum(by_high, _inverse(least, low))


def _inverse(bound: float, limit: Tensor) -> Tensor:
    none = equal(limit, 0.0)
    safe = where_v2(none, 1.0, limit)
    return where_v2(none, float(numpy.finfo(numpy.float32).max), realdiv(bound, safe))


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
) -> Tensor:
    """Return the numbers that integers between two limits stand for. See `quantize`.

    Args:
      input: [...] of a quantized dtype.
      min_range: [] float32, what the least integer stands for.
      max_range: [] float32, what the greatest stands for.
      mode: as `quantize` took it.
      name: name scope of the operations, by default "dequantize".

    Returns:
      [...] float32.

    Raises:
      TypeError: `input` is of another dtype.
      ValueError: there is no such mode.

    Source: TensorFlow 1.15, ``tf.quantization.dequantize``.

    >>> dequantize(dv.constant([0, 51, 255], dv.quint8), 0.0, 5.0).numpy().tolist()
    [0.0, 1.0, 5.0]
    """
    with name_scope(name, "dequantize", [input, min_range, max_range]) as scope:
        given = convert_to_tensor(input, name="input")
        dtype = quantized_dtype(given.dtype, "input")
        low = convert_to_tensor(min_range, dtypes.float32, name="min_range")
        high = convert_to_tensor(max_range, dtypes.float32, name="max_range")
        least, most = bounds(dtype)
        steps = cast(given, dtypes.float64)
        if _mode(mode) == "SCALED":
            scale = realdiv(high, most)
            scale = maximum(realdiv(low, least), scale) if least else scale
            found = multiply(steps, cast(scale, dtypes.float64))
        else:
            step = cast(step_between(low, high, dtype), dtypes.float64)
            start = cast(low, dtypes.float64)
            if mode == "MIN_FIRST":
                none = equal(step, 0.0)
                safe = where_v2(none, numpy.float64(1.0), step)
                start = where_v2(none, start, multiply(half_away(realdiv(start, safe)), safe))
            found = multiply(steps - least, step) + start
        return cast(found, dtypes.float32, name=scope)
