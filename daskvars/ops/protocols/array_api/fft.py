"""The extension ``fft`` of the array API standard: discrete Fourier transforms, with gradients.

>>> xp = dv.array_api
>>> xp.fft.rfft(xp.asarray([1.0, 0.0, 0.0, 0.0])).numpy().tolist()
[(1+0j), (1+0j), (1+0j)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars.dtypes import DTypeLike, complex64, complex128, float32, float64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import constant as constants, joining, padding
from daskvars.ops.math import casting
from daskvars.ops.protocols.array_api.movement import moveaxis
from daskvars.ops.protocols.array_api.promotion import as_dtype, check_device, numpy_dtype, sizes
from daskvars.ops.signal import spectra

# NumPy's functions of tensors are handed over to our ops, which type checkers cannot know.
handed_over: Any = numpy

NORMS = ("backward", "ortho", "forward")


def _complex(x: Tensor) -> Tensor:
    if x.dtype.is_complex:
        return x
    return casting.cast(x, complex64 if x.dtype.base_dtype == float32 else complex128)


def _of_size(x: Tensor, size: int | None, axis: int) -> Tensor:
    """Return a tensor cut, or filled up with zeros, to a size along an axis."""
    found = sizes(x)[axis]
    if size is None or size == found:
        return x
    along = axis % len(sizes(x))
    if size < found:
        return x[(*[slice(None)] * along, slice(0, size))]
    after = [(0, size - found if a == along else 0) for a in range(len(sizes(x)))]
    return padding.pad(x, after)


def _transformed(x: Tensor, n: int | None, axis: int, norm: str, inverse: bool) -> Tensor:
    if norm not in NORMS:
        raise ValueError(f"norm={norm!r}: one of {', '.join(NORMS)}")
    given = _of_size(_complex(x), n, axis)
    size = sizes(given)[axis]
    transform = spectra.ifft if inverse else spectra.fft  # norm "backward", along the last axis
    found = moveaxis(transform(moveaxis(given, axis, -1)), -1, axis)
    if norm == "backward":
        return found
    factor = math.sqrt(size) if norm == "ortho" else size
    factor = factor if inverse else 1 / factor
    return found * convert_to_tensor(factor, found.dtype)


def _half(x: Tensor, axis: int) -> Tensor:
    """Return the frequencies that are not negative."""
    return _of_size(x, sizes(x)[axis] // 2 + 1, axis)


def _whole(x: Tensor, n: int | None, axis: int) -> Tensor:
    """Return all frequencies of a real signal of `n` points, from those that are not negative."""
    x = _complex(x)
    n = 2 * (sizes(x)[axis] - 1) if n is None else n
    half = _of_size(x, n // 2 + 1, axis)
    along = axis % len(sizes(x))
    before: list[Any] = [slice(None)] * along
    negative = half[(*before, slice(1, n - n // 2))]
    mirrored = handed_over.flip(handed_over.conjugate(negative), axis)
    # A real signal's frequency zero, and its highest of an even n, have no imaginary part.
    zero = _real_part(half[(*before, slice(0, 1))])
    others = half[(*before, slice(1, (n + 1) // 2))]
    middle = [_real_part(half[(*before, slice(n // 2, n // 2 + 1))])] if n % 2 == 0 else []
    return joining.concat([zero, others, *middle, mirrored], along)


def _real_part(x: Tensor) -> Tensor:
    return casting.cast(handed_over.real(x), x.dtype)


# -- along an axis ---------------------------------------------------------------------------------


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform along an axis.

    Args:
      x: [...] floating or complex.
      n: the axis is cut, or filled up with zeros, to this size.
      axis: along which.
      norm: where the division by the size is: "backward", "ortho" (by its root) or "forward".

    Returns:
      complex64 of what is single, else complex128.

    Raises:
      ValueError: `norm` is none of these.
    """
    return _transformed(x, n, axis, norm, inverse=False)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return what has `x` as its transform along an axis; see `fft`."""
    return _transformed(x, n, axis, norm, inverse=True)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the frequencies of a real signal that are not negative; see `fft`."""
    return _half(fft(x, n=n, axis=axis, norm=norm), axis)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the real signal, of an even size unless `n` says otherwise, of an `rfft`."""
    return handed_over.real(ifft(_whole(x, n, axis), axis=axis, norm=norm))


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the real transform of a signal whose second half mirrors the first; see `irfft`."""
    return handed_over.real(fft(_whole(x, n, axis), axis=axis, norm=norm))


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return what has `x` as its `hfft`."""
    return _half(ifft(x, n=n, axis=axis, norm=norm), axis)


# -- along several ---------------------------------------------------------------------------------


def _pairs(x: Tensor, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    """Return a size and an axis each."""
    if axes is None:
        rank = len(x.shape)
        axes = range(rank) if s is None else range(rank - len(s), rank)
    wanted: Sequence[int | None] = [None] * len(axes) if s is None else list(s)
    return list(zip(wanted, axes, strict=True))


def fftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Return the transform along several axes, all of them with None, of sizes `s`; see `fft`."""
    for n, axis in _pairs(x, s, axes):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def ifftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Return what has `x` as its transform along several axes; see `fftn`."""
    for n, axis in _pairs(x, s, axes):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return x


def rfftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Return the `fftn` of a real signal, of the last axis the frequencies that `rfft` gives."""
    *others, (n, axis) = _pairs(x, s, axes)
    found = rfft(x, n=n, axis=axis, norm=norm)
    for size, other in reversed(others):
        found = fft(found, n=size, axis=other, norm=norm)
    return found


def irfftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Return the real signal of an `rfftn`."""
    *others, (n, axis) = _pairs(x, s, axes)
    for size, other in others:
        x = ifft(x, n=size, axis=other, norm=norm)
    return irfft(x, n=n, axis=axis, norm=norm)


# -- frequencies -----------------------------------------------------------------------------------


def _frequencies(
    made: Callable[..., Any], n: int, d: float, dtype: Any, device: str | None
) -> Tensor:
    check_device(device)
    kind = numpy_dtype(float64 if dtype is None else as_dtype(dtype))
    return constants.constant(made(n, d).astype(kind))


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return the frequencies of an `fft` of `n` points that are `d` apart: [n]."""
    return _frequencies(numpy.fft.fftfreq, n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return the frequencies of an `rfft` of `n` points that are `d` apart: [n // 2 + 1]."""
    return _frequencies(numpy.fft.rfftfreq, n, d, dtype, device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Return a transform with frequency zero in the middle of axes, of all with None."""
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Return a transform with frequency zero first again; see `fftshift`."""
    return _shifted(x, axes, lambda size: -(size // 2))


def _shifted(x: Tensor, axes: Any, shift: Callable[[int], int]) -> Tensor:
    every = range(len(x.shape)) if axes is None else (axes,) if isinstance(axes, int) else axes
    for axis in every:
        x = handed_over.roll(x, shift(sizes(x)[axis]), axis)
    return x


__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
