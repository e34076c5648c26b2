"""Numbers rounded as if they were integers of a few bits, for training with what comes later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import fake_quantization as kernels
from daskvars.ops.array.broadcasting import sum_like
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math.comparison import equal, greater, less, logical_and, logical_or, where_v2
from daskvars.ops.rules.families import elementwise
from daskvars.surface.signatures import named, with_example

_KINDS = {"num_bits": kinds_of.INT, "narrow_range": kinds_of.BOOL}


def _rounded(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    shape, low, high = (spec.shape for spec in inputs)
    if not shapes.compatible(low, high):
        raise ValueError(f"min {shapes.show(low)} and max {shapes.show(high)} differ in shape")
    if low and shape is not None and not shapes.compatible(shape[-1:], low):
        raise ValueError(
            f"min and max must have one number for each of the last dimension: "
            f"{shapes.show(low)} for inputs of shape {shapes.show(shape)}"
        )
    return inputs[0]


def _gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    return _gradients(dy, *op.inputs, **{name: op.attrs[name] for name in _KINDS})


FAKE_QUANTIZE = elementwise(
    "FakeQuantWithMinMaxVars",
    "inputs:D, min:D, max:D",
    infer=_rounded,
    kernel=kernels.fake_quantize,
    gradient=_gradient,
    attributes=_KINDS,
)
NUDGED = without_gradient(
    "FakeQuantLimits",
    "min:D, max:D",
    infer=lambda inputs, **attrs: (inputs[0],) * 3,
    kernel=kernels.nudged,
    pattern=Contraction("...,...->...", None),
    attributes=_KINDS,
)


def _gradients(dy: Tensor, x: Tensor, low: Tensor, high: Tensor, **options: Any) -> list[Tensor]:
    """Return the gradients by numbers and limits: who is outside moves the limit it is beyond."""
    bottom, top, _ = apply(NUDGED, low, high, **options)
    none = zeros_like(dy)
    nothing = logical_and(equal(low, zeros_like(low)), equal(high, zeros_like(high)))
    below = logical_and(less(x, bottom), ~nothing)
    above = logical_and(greater(x, top), ~nothing)
    inside = where_v2(logical_or(below, above), none, dy)
    outside = [sum_like(where_v2(part, dy, none), low, [x]) for part in (below, above)]
    return [inside, *outside]


def _checked(num_bits: int, narrow_range: bool) -> dict[str, Any]:
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits must be from 2 to 16, got {num_bits}")
    return {"num_bits": int(num_bits), "narrow_range": bool(narrow_range)}


def _limits(low: Any, high: Any) -> tuple[Tensor, Tensor]:
    if low >= high:
        raise ValueError(f"min has to be smaller than max, was: {low} >= {high}")
    return convert_to_tensor(float(low), float32), convert_to_tensor(float(high), float32)


def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return numbers rounded as if they were integers of a few bits between two limits.

    Args:
      inputs: [...] float32.
      min: the lower limit; both are moved a little, so that 0 is one of the numbers.
      max: the upper limit.
      num_bits: from 2 to 16.
      narrow_range: do without the lowest integer.
      name: name of the operation.

    Returns:
      [...] float32. The gradient passes where a number is between the limits.

    Raises:
      ValueError: the limits are not in order, or there are too few or too many bits.

    Source: TensorFlow 1.15, ``tf.quantization.fake_quant_with_min_max_args``.

    >>> fake_quant_with_min_max_args([0.3, 9.0], 0, 3, num_bits=2).numpy().tolist()
    [0.0, 3.0]
    """
    limits = _limits(min, max)
    return apply(FAKE_QUANTIZE, inputs, *limits, name=name, **_checked(num_bits, narrow_range))


def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the gradient by the inputs of `fake_quant_with_min_max_args`.

    Args:
      gradients: [...] float32, the gradient of the result.
      inputs: [...] float32.
      min: see `fake_quant_with_min_max_args`, also for the arguments after it.

    Returns:
      [...] float32: `gradients` where the input is between the limits, else 0.

    Raises:
      ValueError: the limits are not in order, or there are too few or too many bits.

    Source: TensorFlow 1.15, ``tf.quantization.fake_quant_with_min_max_args_gradient``.

    >>> fake_quant_with_min_max_args_gradient([1.0, 1.0], [0.3, 9.0], 0, 3).numpy().tolist()
    [1.0, 0.0]
    """
    dy, x = convert_to_tensor(gradients), convert_to_tensor(inputs)
    found = _gradients(dy, x, *_limits(min, max), **_checked(num_bits, narrow_range))
    return identity(found[0], name=name)


FORWARD = """Return numbers rounded as if they were integers of a few bits.

Args:
  inputs: [...] float32.
  min: {limits} float32, the lower limit: {each}; 0 as both limits makes zeros.
  max: {limits} float32, the upper limit.
  num_bits: from 2 to 16.
  narrow_range: do without the lowest integer.
  name: name of the operation.

Returns:
  [...] float32. The gradient passes where a number is between the limits; else it is the
  limit's that the number is beyond.

Raises:
  ValueError: the shapes do not fit, or there are too few or too many bits.

Source: TensorFlow 1.15, ``tf.quantization.{name}``.
"""
BACKWARD = """Return the gradients by the three inputs of `{name}`.

Args:
  gradients: [...] float32, the gradient of the result.
  inputs: [...] float32.
  min: see `{name}`, also for the arguments after it.

Returns:
  [...], {limits} and {limits} float32, by the inputs and by both limits.

Raises:
  ValueError: the shapes do not fit, or there are too few or too many bits.

Source: TensorFlow 1.15, ``tf.quantization.{name}_gradient``.
"""


def _of_variables(name: str, rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the function of limits that are tensors, and that of its gradients."""
    limits = "[channels]" if rank else "[]"
    each = "each channel, the last dimension, its own" if rank else "all numbers the same"

    def check(x: Tensor, *bounds: Tensor) -> None:
        for bound in bounds:
            if not shapes.compatible(bound.spec.shape, (None,) * rank):
                raise ValueError(f"min and max must be of rank {rank}, got shape {bound.shape}")

    def forward(
        inputs: TensorLike,
        min: TensorLike,
        max: TensorLike,
        num_bits: int = 8,
        narrow_range: bool = False,
        name: str | None = None,
    ) -> Tensor:
        tensors = [convert_to_tensor(value, float32) for value in (inputs, min, max)]
        check(*tensors)
        return apply(FAKE_QUANTIZE, *tensors, name=name, **_checked(num_bits, narrow_range))

    def backward(
        gradients: TensorLike,
        inputs: TensorLike,
        min: TensorLike,
        max: TensorLike,
        num_bits: int = 8,
        narrow_range: bool = False,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        dy, *tensors = (convert_to_tensor(v, float32) for v in (gradients, inputs, min, max))
        check(*tensors)
        dx, low, high = _gradients(dy, *tensors, **_checked(num_bits, narrow_range))
        return identity(dx, name=name), low, high

    low, high = ("[0.0]", "[3.0]") if rank else ("0.0", "3.0")
    doc = FORWARD.format(name=name, limits=limits, each=each)
    call = f"{name}([[0.3], [9.0]], {low}, {high}, num_bits=2).numpy().tolist()"
    named(forward, name, with_example(doc, f"{call} -> [[0.0], [3.0]]"))
    doc = BACKWARD.format(name=name, limits=limits)
    call = f"dx, *by_limits = {name}_gradient([[1.0], [5.0]], [[0.3], [9.0]], {low}, {high})"
    shown = "dx.numpy().tolist(), [y.numpy().tolist() for y in by_limits]"
    found = "[[0.0], [5.0]]" if rank else "[0.0, 5.0]"
    doc = with_example(doc, f"{call}\n{shown} -> ([[1.0], [0.0]], {found})")
    return forward, named(backward, f"{name}_gradient", doc)


fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient = _of_variables(
    "fake_quant_with_min_max_vars", 0
)
(fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient) = (
    _of_variables("fake_quant_with_min_max_vars_per_channel", 1)
)
