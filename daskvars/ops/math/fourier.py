"""Discrete Fourier transforms along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import fourier as kernels
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.scans import static_axis, whole_along


def _alike(inputs: Sequence[Spec], *, axis: int) -> Spec:
    if not inputs[0].dtype.is_complex:
        raise TypeError(f"x must be complex, found {inputs[0].dtype.name}: cast() it")
    return inputs[0]


def _size(op: Operation, dy: Tensor) -> Tensor:
    return cast(shape_of(dy)[op.attrs["axis"]], dy.dtype)


# The transform is its own transpose, and the inverse that of the conjugates over the size.
FFT = OpDef(
    "FourierTransform",
    "x:F",
    infer=_alike,
    pattern=Contraction(whole_along, None),
    kernel=kernels.fft,
    gradient=lambda op, dy: multiply(ifft(dy, op.attrs["axis"]), _size(op, dy)),
)
IFFT = OpDef(
    "InverseFourierTransform",
    "x:F",
    infer=_alike,
    pattern=Contraction(whole_along, None),
    kernel=kernels.ifft,
    gradient=lambda op, dy: realdiv(fft(dy, op.attrs["axis"]), _size(op, dy)),
)


def fft(x: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along an axis, ``sum(x[k] * exp(-2i pi j k / n))``.

    Args:
      x: [...] complex.
      axis: along which.
      name: name of the operation, by default "FourierTransform".

    Returns:
      As `x`.

    Raises:
      TypeError: `x` is not complex.

    >>> import daskvars as dv
    >>> fft(dv.constant([1 + 0j, 1 + 0j])).numpy().tolist()
    [(2+0j), 0j]
    """
    return _along(FFT, x, axis, name)


def ifft(x: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Return what has `x` as its transform along an axis; see `fft`."""
    return _along(IFFT, x, axis, name)


def _along(definition: OpDef, x: Any, axis: int, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x)
    return apply(definition, tensor, name=name, axis=static_axis(axis, tensor))
