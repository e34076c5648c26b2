"""Convolutions of integers that stand for numbers between two limits."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars import dtypes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.quantization import (
    Quantized,
    bounds,
    half_away,
    quantized_dtype,
    step_between,
)
from daskvars.ops.nn.convolution.functions import conv2d


def _from_zero(values: Tensor, low: TensorLike, high: TensorLike, dtype: DType) -> tuple:
    """Return integers less the one that stands for 0, float64, and the step between two."""
    low = convert_to_tensor(low, dtypes.float32)
    step = step_between(low, convert_to_tensor(high, dtypes.float32), dtype)
    zero = bounds(dtype)[0] - half_away(realdiv(low, step))
    return cast(values, dtypes.float64) - cast(zero, dtypes.float64), step


def quantized_conv2d(
    input: TensorLike,
    filter: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    min_filter: TensorLike,
    max_filter: TensorLike,
    strides: Sequence[int],
    padding: str,
    out_type: DTypeLike = dtypes.qint32,
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Quantized:
    """Return a convolution of quantized images, exact, as integers of 32 bits.

    Args:
      input: [batch, height, width, channels] of a quantized dtype, see `quantize`.
      filter: [height, width, channels, filters] of a quantized dtype.
      min_input: [] float32, what the least integer of `input` stands for.
      max_input: [] float32, what the greatest stands for.
      min_filter: [] float32, as `min_input`, of `filter`.
      max_filter: [] float32, as `max_input`, of `filter`.
      strides: 4 ints, as `conv2d` takes them.
      padding: "SAME" or "VALID".
      out_type: `qint32`.
      dilations: 4 ints, as `conv2d` takes them.
      name: name scope of the operations, by default "quantized_conv2d".

    Returns:
      A `Quantized`: [batch, height, width, filters] `qint32`, and [] float32 twice.

    Raises:
      TypeError: a dtype is none of these.
      ValueError: the shapes do not fit.

    Source: TensorFlow 1.15, ``tf.nn.quantized_conv2d``.

    >>> one = dv.constant([[[[3]]]], dv.quint8)
    >>> found = quantized_conv2d(one, one, 0.0, 255.0, 0.0, 255.0, [1, 1, 1, 1], "VALID")
    >>> found.output.numpy().tolist()
    [[[[9]]]]
    """
    if as_dtype(out_type) is not dtypes.qint32:
        raise TypeError(f"out_type must be qint32, got {as_dtype(out_type).name}")
    with name_scope(name, "quantized_conv2d", [input, filter]):
        x, w = convert_to_tensor(input, name="input"), convert_to_tensor(filter, name="filter")
        kinds = quantized_dtype(x.dtype, "input"), quantized_dtype(w.dtype, "filter")
        images, of_images = _from_zero(x, min_input, max_input, kinds[0])
        weights, of_weights = _from_zero(w, min_filter, max_filter, kinds[1])
        sums = conv2d(images, weights, strides, padding, dilations=dilations)
        step = multiply(of_images, of_weights)
        least, most = (multiply(step, bound) for bound in bounds(dtypes.qint32))
        return Quantized(cast(sums, dtypes.qint32), least, most)
