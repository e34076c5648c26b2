"""Images of another size: weighted sums of pixels, first along one dimension, then the other.

Where a pixel of the result lies in the image, and how much it takes of which pixels there, is
TensorFlow's in single precision. The weights are a sparse matrix for each dimension; a gradient is
the product with its transpose. Images are turned so that the dimension is the first, whatever else
there is the columns: products are fast where rows are long.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np
import scipy.sparse

from daskvars import idle_threads
from daskvars.backend import DEVICE_BLOCK_ELEMENTS, Array, ArrayModule
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.nn.windows.phases import copy_pixels
from daskvars.surface.signatures import named

# (places [taps, out], weights [taps, out]): pixel j is the sum over i of weights[i, j] times the
# pixel at places[i, j].
Taps: TypeAlias = tuple[Array, Array]
SINGLE = np.float32
CUBIC, KEYS_CUBIC = -0.75, -0.5  # the free parameter of the cubic, without and with half pixels
BLOCK_ELEMENTS = 1 << 17  # of the images that are gone through at once, in the cache
FEW_CHANNELS = 8  # sums of fewer, pixel by pixel, are slow
TABLE_SIZE = 1024  # TensorFlow reads the cubic's weights from a table


class Places(TypedDict):
    """Where pixels of the result lie in the image.

    Attributes:
      align_corners: the centres of the corner pixels are the same in both.
      half_pixel_centers: a pixel's centre is half a pixel from its edge.
    """

    align_corners: bool
    half_pixel_centers: bool


# -- the sums ----------------------------------------------------------------------------------


def _weighing(xp: ArrayModule, taps: Taps, size: int, dtype: Any) -> Callable[[Array], Array]:
    """Return what makes sums [out, n] of rows [size, n]."""
    places, weights = taps
    if xp is np:
        return _sparse(taps, size, dtype).__matmul__

    def weighted(x: Array) -> Array:
        parts = (
            xp.where(w, xp.take(x, i, axis=0) * w, 0)
            for i, w in zip(places, weights[..., None], strict=True)
        )
        return functools.reduce(lambda total, part: xp.add(total, part, out=total), parts)

    return weighted


def _giving_back(xp: ArrayModule, taps: Taps, size: int, dtype: Any) -> Callable[[Array], Array]:
    """Return what makes the gradient [size, n] of such sums, given that of each, [out, n]."""
    if xp is np:
        return _sparse(taps, size, dtype).T.__matmul__
    pixels = xp.arange(size).reshape(-1, 1)
    matrix: Any = 0
    for places, weights in zip(*taps, strict=True):
        matrix = matrix + xp.where(places == pixels, weights.astype(dtype, copy=False), 0)
    return lambda dy: xp.matmul(matrix, dy)


def _sparse(taps: Taps, size: int, dtype: Any) -> Any:
    """Return the weights as a matrix [out, size]: how much each pixel takes of which."""
    places, weights = taps
    count, out = places.shape
    parts = weights.transpose().reshape(-1).astype(dtype), places.transpose().reshape(-1)
    found = scipy.sparse.csr_array((*parts, np.arange(0, count * out + 1, count)), (out, size))
    found.eliminate_zeros()  # times infinity they are NaN
    return found


def _each_along(
    xp: ArrayModule,
    x: Array,
    size: tuple[int, int],
    dtypes: tuple[Any, Any],
    along: Sequence[Callable[[Array], Array]],
) -> Array:
    """Return images [batch, *size, channels] of `x` [batch, height, width, channels].

    Args:
      dtypes: what to compute in, and that of the result.
      along: what makes rows [height, n] those of the result, and what does so with columns.
    """
    batch, height, width, channels = x.shape
    rows, columns = along
    out = xp.empty((batch, *size, channels), dtypes[1])
    is_rows_first = size[0] <= height  # which leaves less to turn

    def resize(some: slice) -> None:
        images = x[some].astype(dtypes[0], copy=False)
        if is_rows_first:
            images = _first(xp, rows, images.transpose(1, 0, 2, 3))
            images = _first(xp, columns, images.transpose(2, 1, 0, 3))
            out[some] = _ordered(xp, images.transpose(1, 2, 0, 3))
        else:
            images = _first(xp, columns, images.transpose(2, 0, 1, 3))
            images = _first(xp, rows, images.transpose(2, 1, 0, 3))
            out[some] = images.transpose(1, 0, 2, 3)

    largest = max(1, height * width * channels, math.prod(out.shape[1:]))
    most = BLOCK_ELEMENTS if xp is np else DEVICE_BLOCK_ELEMENTS
    idle_threads.for_each(resize, idle_threads.slices(batch, max(1, most // largest)))
    return out


def _first(xp: ArrayModule, function: Callable[[Array], Array], x: Array) -> Array:
    """Return a function of [n, m] of an array [n, ...] of which the last dimension is pixels."""
    x = _ordered(xp, x)
    made = function(x.reshape(len(x), math.prod(x.shape[1:])))
    return made.reshape(len(made), *x.shape[1:])


def _ordered(xp: ArrayModule, x: Array) -> Array:
    """Return an array in C order."""
    if x.flags.c_contiguous:
        return x
    out = xp.empty(x.shape, x.dtype)
    copy_pixels(xp, x, out)
    return out


# -- the weights -------------------------------------------------------------------------------


def _all_taps(
    xp: ArrayModule,
    taps: Callable[..., Taps],
    given: tuple[int, ...],
    wanted: tuple[int, ...],
    where: Places,
) -> list[Taps]:
    check_sizes(given, wanted)
    return [taps(xp, n, m, where) for n, m in zip(given, wanted, strict=True)]


def check_sizes(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Raise InvalidArgumentError unless there are pixels to take, and some to make."""
    if 0 in given:
        raise invalid(f"input image must be of non-zero size, got height and width {given}")
    if min(wanted) < 1:
        raise invalid(f"output dimensions must be positive, got height and width {wanted}")


def _scale(size: int, wanted: int, align_corners: bool) -> float:
    if align_corners and wanted > 1:
        return float(SINGLE(size - 1) / SINGLE(wanted - 1))
    return float(SINGLE(size) / SINGLE(wanted))


def _centres(xp: ArrayModule, size: int, wanted: int, where: Places) -> Array:
    """Return where the pixels of the result lie, in pixels of the image."""
    scale = _scale(size, wanted, where["align_corners"])
    places = xp.arange(wanted, dtype=SINGLE)
    return (places + 0.5) * scale - 0.5 if where["half_pixel_centers"] else places * scale


def _linear_taps(xp: ArrayModule, size: int, wanted: int, where: Places) -> Taps:
    centre = _centres(xp, size, wanted, where)
    below = xp.floor(centre)
    share = centre - below
    places = xp.stack([xp.maximum(below, 0), xp.minimum(xp.ceil(centre), size - 1)])
    return places.astype(np.int64), xp.stack([1 - share, share])


def _nearest_taps(xp: ArrayModule, size: int, wanted: int, where: Places) -> Taps:
    scale = _scale(size, wanted, where["align_corners"])
    places = xp.arange(wanted, dtype=SINGLE) + (0.5 if where["half_pixel_centers"] else 0)
    places = xp.floor(places * scale + (0.5 if where["align_corners"] else 0))
    places = xp.clip(places, 0, size - 1).astype(np.int64)
    return places.reshape(1, -1), xp.ones((1, wanted), SINGLE)


def _cubic_taps(xp: ArrayModule, size: int, wanted: int, where: Places) -> Taps:
    centre = _centres(xp, size, wanted, where)
    below = xp.floor(centre)
    keys = where["half_pixel_centers"]
    a = KEYS_CUBIC if keys else CUBIC
    near = xp.rint((centre - below) * TABLE_SIZE) / TABLE_SIZE
    weights = xp.stack(
        [_outer(near + 1, a), _inner(near, a), _inner(1 - near, a), _outer(2 - near, a)]
    )
    wished = below + xp.arange(-1, 3, dtype=SINGLE).reshape(-1, 1)
    places = xp.clip(wished, 0, size - 1)
    if keys:  # what lies outside of the image counts nothing
        weights = xp.where(places == wished, weights, 0)
        weights = weights / weights.sum(axis=0, keepdims=True)
    return places.astype(np.int64), weights.astype(SINGLE, copy=False)


def _inner(x: Any, a: float) -> Any:
    """Return the cubic between 0 and 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _outer(x: Any, a: float) -> Any:
    """Return the cubic between 1 and 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _area_taps(xp: ArrayModule, size: int, wanted: int, where: Places) -> Taps:
    scale = _scale(size, wanted, where["align_corners"])
    places = xp.arange(wanted, dtype=SINGLE)
    start, stop = places * scale, (places + 1) * scale
    reach = xp.arange(math.ceil(scale) + 1, dtype=SINGLE).reshape(-1, 1)
    covered = xp.floor(start) + reach
    weights = xp.maximum(xp.minimum(covered + 1, stop) - xp.maximum(covered, start), 0)
    weights = weights / scale if scale else xp.ones_like(weights)
    return xp.clip(covered, 0, size - 1).astype(np.int64), weights


# -- the kernels -------------------------------------------------------------------------------


def _of(name: str, taps: Callable[..., Taps], how: str) -> tuple[Callable[..., Array], ...]:
    """Return the kernel that resizes by some weights, and that of its gradient."""

    def resize(
        xp: ArrayModule, x: Array, *, size: tuple[int, int], dtype: DType, **where: Unpack[Places]
    ) -> Array:
        all_taps = _all_taps(xp, taps, x.shape[1:3], size, where)
        work = np.promote_types(dtype.np, SINGLE)
        sizes = zip(all_taps, x.shape[1:3], strict=True)
        along = [_weighing(xp, each, n, work) for each, n in sizes]
        return _each_along(xp, x, size, (work, dtype.np), along)

    def back(
        xp: ArrayModule, dy: Array, *, size: tuple[int, int], dtype: DType, **where: Unpack[Places]
    ) -> Array:
        all_taps = _all_taps(xp, taps, size, dy.shape[1:3], where)
        work = np.promote_types(dy.dtype, SINGLE)
        along = [_giving_back(xp, each, n, work) for each, n in zip(all_taps, size, strict=True)]
        return _each_along(xp, dy, size, (work, dtype.np), along)

    doc = f"Give the gradient of `{name}` by images of `size` that were resized to those of `dy`."
    return named(resize, name, f"Resize by {how}."), named(back, f"{name}_grad", doc)


resize_bilinear, resize_bilinear_grad = _of("resize_bilinear", _linear_taps, "linear interpolation")
resize_bicubic, resize_bicubic_grad = _of("resize_bicubic", _cubic_taps, "cubic interpolation")
resize_area, resize_area_grad = _of("resize_area", _area_taps, "the mean of what a pixel covers")
_, _nearest_grad = _of("resize_nearest", _nearest_taps, "taking the nearest pixel")


def resize_nearest(
    xp: ArrayModule, x: Array, *, size: tuple[int, int], dtype: DType, **where: Unpack[Places]
) -> Array:
    """Resize by taking the nearest pixel."""
    along = [taps[0][0] for taps in _all_taps(xp, _nearest_taps, x.shape[1:3], size, where)]
    # What leaves fewer pixels to be taken one by one comes first.
    for axis in (1, 2) if size[0] <= x.shape[1] else (2, 1):
        x = xp.take(x, along[axis - 1], axis=axis)
    return x


def resize_nearest_grad(
    xp: ArrayModule, dy: Array, *, size: tuple[int, int], dtype: DType, **where: Unpack[Places]
) -> Array:
    """Give the gradient of `resize_nearest` by images of `size` that became those of `dy`."""
    times = _times(size, dy.shape[1:3], where)
    if times is None or dy.shape[3] < FEW_CHANNELS:
        return _nearest_grad(xp, dy, size=size, dtype=dtype, **where)
    work = np.promote_types(dy.dtype, SINGLE)
    out = xp.empty((len(dy), *size, dy.shape[3]), dtype.np)
    most = BLOCK_ELEMENTS if xp is np else DEVICE_BLOCK_ELEMENTS
    step = max(1, most // max(1, math.prod(dy.shape[1:])))
    for some in idle_threads.slices(len(dy), step):
        images = dy[some].astype(work, copy=False)
        for axis in (1, 2):
            each = images.reshape(*images.shape[:axis], size[axis - 1], times[axis - 1], -1)
            images = _sum_of(xp, [each[..., i, :] for i in range(times[axis - 1])])
        out[some] = images.reshape(out[some].shape)
    return out


def _times(
    given: tuple[int, ...], wanted: tuple[int, ...], where: Places
) -> tuple[int, int] | None:
    """Return how often each row and column was repeated; None if not all were equally often."""
    check_sizes(given, wanted)
    times = wanted[0] // given[0], wanted[1] // given[1]
    for n, m, each in zip(given, wanted, times, strict=True):
        places = _nearest_taps(np, n, m, where)[0][0]
        if n * each != m or (places != np.arange(m) // each).any():
            return None
    return times


def _sum_of(xp: ArrayModule, parts: list[Array]) -> Array:
    if len(parts) == 1:
        return parts[0]
    total = xp.add(parts[0], parts[1])
    for part in parts[2:]:
        xp.add(total, part, out=total)
    return total
