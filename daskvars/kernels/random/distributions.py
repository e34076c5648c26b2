"""Random tensors, element by element from :mod:`daskvars.kernels.random.philox`.

Element n of a tensor is a function of (key, n) alone, so a block is bitwise the slice of the whole
however the tensor is divided. Every kernel here takes the block's ``shape`` and, for a part of a
tensor, its ``offset`` (where the block starts) and ``full_shape``. Normal numbers come from the
inverse of their distribution: no rejection, so every element uses its own bits only.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.searching import places_in_rows
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.random.normal_quantile import normal_quantile
from daskvars.kernels.random.philox import (
    LITTLE_64,
    Key,
    block_words,
    first_word,
    random_bits,
    upper_products,
)

# The probability of being within two standard deviations.
WITHIN_TWO_SIGMA = math.erf(math.sqrt(2.0))
FEW_WORDS = 8  # of so few Python's own integers are quicker than arrays (m)
# Random bits of a uniform number: the significand of its dtype, so that 1 is never rounded to.
UNIFORM_BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def random_uniform(
    xp: ArrayModule,
    key: Key,
    *,
    shape: tuple,
    dtype: DTypeLike,
    minval: Any = 0,
    maxval: Any = 1,
    offset: tuple | None = None,
    full_shape: tuple | None = None,
) -> Array:
    """Return numbers uniform in [minval, maxval).

    Args:
        key: two 64-bit ints naming the stream.
        shape: extents of this block.
        dtype: any float or integer dtype.
        minval: scalar or 0-d array, the lower bound, included.
        maxval: scalar or 0-d array, the upper bound, excluded.
        offset: where the block starts in the tensor; None for its origin.
        full_shape: extents of the tensor; None where the block is the whole of it.

    Returns:
        [*shape] ``dtype``. Floats have as many random bits as their significand.

    Raises:
        InvalidArgumentError: integers with ``minval`` not below ``maxval``.

    >>> whole = random_uniform(np, (7, 0), shape=(4, 6), dtype="float32")
    >>> part = random_uniform(np, (7, 0), shape=(2, 3), dtype="float32", offset=(1, 3),
    ...                       full_shape=(4, 6))
    >>> bool((part == whole[1:3, 3:]).all())
    True
    """
    dtype = as_dtype(dtype).np
    if dtype.kind in "iu":
        return uniform_integers(xp, key, shape, dtype, int(minval), int(maxval), offset, full_shape)
    bounds = float(minval), float(maxval)
    bits, shift, signed, work = uniform_words(dtype)
    if xp is np and not shape:
        scale, low = scale_and_low(work, bits, *bounds)
        number = work(first_word(key, signed.itemsize * 8) >> int(shift)) * scale
        return np.asarray(number + low if low else number, dtype)
    out = xp.empty(math.prod(shape), dtype)
    for part, words in block_words(xp, key, shape, offset, full_shape, signed.itemsize * 8):
        fill_uniform(xp, out[part], words, *bounds)
    return out.reshape(shape)


def scale_and_low(work: Any, bits: int, minval: float, maxval: float) -> tuple[Any, Any]:
    """Return what random integers of so many bits are multiplied by, and what is added then."""
    return work((maxval - minval) * 2.0**-bits), work(minval)


def fill_uniform(xp: ArrayModule, out: Array, words: Array, minval: float, maxval: float) -> None:
    """Make words, which are written over, uniform floats of the dtype of `out`."""
    dtype = out.dtype
    bits, shift, signed, work = uniform_words(dtype)
    scale, low = scale_and_low(work, bits, minval, maxval)
    xp.right_shift(words, shift, out=words)
    numbers = out if dtype.type is work else xp.empty(words.shape, work)
    # The top bit is clear by now, and signed integers convert faster.
    xp.multiply(words.view(signed).astype(work), scale, out=numbers)
    if low:
        numbers += low
    if dtype.type is not work:
        out[...] = numbers


@functools.cache
def uniform_words(dtype: np.dtype) -> tuple[int, Any, np.dtype, Any]:
    """Return of uniform floats the random bits, and how words become these.

    Those are: how far a word is shifted, the dtype of integers that it then is, and the type of
    floats that these become.
    """
    bits, width = UNIFORM_BITS[dtype.name], max(32, dtype.itemsize * 8)
    shift = np.dtype(f"u{width // 8}").type(width - bits)
    return bits, shift, np.dtype(f"i{width // 8}"), float_work(dtype).type


def uniform_integers(
    xp: ArrayModule,
    key: Any,
    shape: tuple[int, ...],
    dtype: np.dtype,
    low: int,
    high: int,
    offset: tuple[int, ...] | None,
    full_shape: tuple[int, ...] | None,
) -> Array:
    """Return integers in [low, high): the upper part of a word times the span."""
    check_bounds(dtype, low, high)
    out = xp.empty(math.prod(shape), dtype)
    for part, words in block_words(xp, key, shape, offset, full_shape, 64):
        out[part] = integers_between(words, low, high).astype(dtype)
    return out.reshape(shape)


def check_bounds(dtype: np.dtype, low: int, high: int) -> None:
    """Raise InvalidArgumentError where [low, high) is empty, or not of integers of a dtype."""
    if low >= high:
        raise invalid(f"Need minval < maxval, got {low} >= {high}: raise maxval or lower minval")
    lowest, highest = integer_bounds(dtype)
    if low < lowest or high - 1 > highest:
        raise invalid(
            f"[{low}, {high}) is not within {dtype}'s range [{lowest}, {highest}]: "
            "narrow the bounds or use a wider dtype"
        )


def integers_between(words: Array, low: int, high: int) -> Array:
    """Make uint64 words integers in [low, high), modulo 2^64."""
    if high - low < 1 << 64:
        words = upper_product(words, high - low)
    words += np.uint64(low % (1 << 64))
    return words


def words_drawn(shape: tuple, dtype: DTypeLike) -> int:
    """Return how many words of 64 bits a draw of uniform or normal numbers takes of a stream.

    >>> words_drawn((3,), "float32"), words_drawn((3,), "int32")
    (2, 3)
    """
    return -(-math.prod(shape) * _width_drawn(as_dtype(dtype).np) // 64)


def _width_drawn(dtype: np.dtype) -> int:
    return 64 if dtype.kind in "iu" else uniform_words(dtype)[2].itemsize * 8


def _of_streams(words: np.ndarray, size: int, width: int) -> np.ndarray:
    """Return the first words of another width of each stream, [streams, size]."""
    words = words.astype(LITTLE_64, copy=False).view(f"<u{width // 8}")
    return words[:, :size].astype(f"u{width // 8}", order="C")


def uniform_of_streams(
    words: np.ndarray, *, shape: tuple, dtype: DTypeLike, minval: Any = 0, maxval: Any = 1
) -> np.ndarray:
    """Return what `random_uniform` draws of each of many streams.

    Args:
        words: [streams, n] uint64, the first of each; n is `words_drawn` at least.
        shape, dtype, minval, maxval: as of `random_uniform`.

    Returns:
        [streams, *shape] ``dtype``.
    """
    dtype = as_dtype(dtype).np
    own = _of_streams(words, math.prod(shape), _width_drawn(dtype))
    if dtype.kind in "iu":
        check_bounds(dtype, int(minval), int(maxval))
        found = integers_between(own.ravel(), int(minval), int(maxval)).astype(dtype)
    else:
        found = np.empty(own.shape, dtype)
        fill_uniform(np, found, own, float(minval), float(maxval))
    return found.reshape(len(words), *shape)


@functools.cache
def integer_bounds(dtype: np.dtype) -> tuple[int, int]:
    """Return the lowest and the highest integer of a dtype."""
    bounds = np.iinfo(dtype)
    return int(bounds.min), int(bounds.max)


def upper_product(words: Array, span: int) -> Array:
    """Return the upper 64 bits of the 128-bit products of uint64 ``words`` with ``span``."""
    if isinstance(words, np.ndarray) and words.size <= FEW_WORDS:
        return np.array([word * span >> 64 for word in words.tolist()], np.uint64)
    return upper_products(words, np.uint64(span))


def random_normal(xp: ArrayModule, key: Key, **options: Any) -> Array:
    """Return normally distributed numbers. See ``normals``."""
    return normals(xp, key, 1.0, **options)


def truncated_normal(xp: ArrayModule, key: Key, **options: Any) -> Array:
    """Return normal numbers within two standard deviations of the mean. See ``random_normal``."""
    return normals(xp, key, WITHIN_TWO_SIGMA, **options)


def normals(
    xp: ArrayModule,
    key: Key,
    within: float,
    *,
    shape: tuple,
    dtype: DTypeLike,
    mean: Array | float = 0.0,
    stddev: Array | float = 1.0,
    offset: tuple | None = None,
    full_shape: tuple | None = None,
) -> Array:
    """Return normal numbers from the middle ``within`` of the distribution.

    Args:
        key, shape, offset, full_shape: as for ``random_uniform``.
        within: probability of the part that is drawn from.
        dtype: a float dtype.
        mean: scalar or 0-d array.
        stddev: scalar or 0-d array.
    """
    dtype = as_dtype(dtype).np
    out = xp.empty(math.prod(shape), dtype)
    width = float_work(dtype).itemsize * 8
    for part, words in block_words(xp, key, shape, offset, full_shape, width):
        fill_normals(xp, out[part], words, within, float(mean), float(stddev))
    return out.reshape(shape)


def fill_normals(
    xp: ArrayModule, out: Array, words: Array, within: float, mean: float, stddev: float
) -> None:
    """Make words normal floats of the dtype of `out`."""
    work = float_work(out.dtype)
    numbers = out if out.dtype == work else xp.empty(words.shape, work)
    normal_quantile(xp, words.view(f"i{work.itemsize}"), within, numbers)
    if within < 1:
        xp.clip(numbers, -2, 2, out=numbers)
    if stddev != 1:
        numbers *= work.type(stddev)
    if mean:
        numbers += work.type(mean)
    if out.dtype != work:
        out[...] = numbers


def normals_of_streams(
    words: np.ndarray,
    within: float,
    *,
    shape: tuple,
    dtype: DTypeLike,
    mean: Any = 0.0,
    stddev: Any = 1.0,
) -> np.ndarray:
    """Return what `normals` draws of each of many streams.

    Args:
        words: [streams, n] uint64, the first of each; n is `words_drawn` at least.
        within, shape, dtype, mean, stddev: as of `normals`.

    Returns:
        [streams, *shape] ``dtype``.
    """
    dtype = as_dtype(dtype).np
    own = _of_streams(words, math.prod(shape), _width_drawn(dtype))
    found = np.empty(own.size, dtype)
    fill_normals(np, found, own.ravel(), within, float(mean), float(stddev))
    return found.reshape(len(words), *shape)


def multinomial(
    xp: ArrayModule,
    key: Key,
    logits: Array,
    *,
    num_samples: int,
    dtype: DTypeLike = "int64",
    offset: tuple | None = None,
    full_shape: tuple | None = None,
) -> Array:
    """Draw classes with probabilities softmax(logits), by the inverse of their distribution.

    Args:
        key: two 64-bit ints naming the stream.
        logits: [batch, classes] float, unnormalised log-probabilities.
        num_samples: draws per row (of this block).
        dtype: integer dtype of the result.
        offset: (first row, first sample) of the block in the result; None for the origin.
        full_shape: (batch, samples) of the whole result; None where the block is all of it.

    Returns:
        [batch, num_samples] ``dtype``.
    """
    shape = (len(logits), num_samples)
    if not logits.shape[1]:
        raise invalid("num_classes should be positive, got 0")
    points = random_uniform(
        xp, key, shape=shape, dtype="float64", offset=offset, full_shape=full_shape
    )
    weights = logits.astype(np.float64)
    if not (weights.size and num_samples):
        return xp.zeros(shape, as_dtype(dtype).np)
    weights -= weights.max(axis=1, keepdims=True)
    totals = xp.exp(weights, out=weights).cumsum(axis=1)
    points *= totals[:, -1:]
    # A point may be rounded to the total: below that is the last class with a probability.
    xp.minimum(points, xp.nextafter(totals[:, -1:], 0), out=points)
    found = places_in_rows(xp, totals, points, right=True)
    return found.astype(as_dtype(dtype).np, copy=False)


def random_shuffle(xp: ArrayModule, key: Key, x: Array) -> Array:
    """Return ``x`` with its entries along axis 0 in random order.

    Args:
        key: two 64-bit ints naming the stream.
        x: [n, ...] any dtype.

    Returns:
        Like ``x``.
    """
    if not x.ndim:
        return x.copy()
    return x.take(random_order(xp, key, len(x)), axis=0)


def random_order(xp: ArrayModule, key: Key, count: int) -> Array:
    """Return a random permutation of ``count`` positions, [count] int64."""
    return xp.argsort(random_bits(xp, key, 0, count), kind="stable")
