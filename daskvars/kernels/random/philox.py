"""Random bits whose n-th word depends on (key, n) alone: Philox 4x64-10, counter-based.

Word n of a stream lies in the counter's block n // 4, so any part of any tensor can be drawn
anywhere, in any order, again and again, and is always the slice of the whole. The bits are those
of ``numpy.random.Philox``; a GPU computes the same ones.

Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule, device_kernel

Key = tuple[int, int]

WORD_MASK = (1 << 64) - 1
# Elements of one tile of work. Its buffers stay near the core, and calls are few enough (m: normal
# float32 numbers, M/s, for 2^12 ... 2^16 elements: 28, 37, 55, 77, 89).
TILE = 1 << 15
DEVICE_TILE = 1 << 24
# Drawing this many 64-bit words costs about what moving to another counter does (5 us, m).
SEEK_WORDS = 700

LITTLE_32, LITTLE_64 = np.dtype("<u4"), np.dtype("<u8")

BLOCK_WORDS = 4  # of 64 bits that a counter gives
ROUNDS = 10
# Of a round: what the words at even places are multiplied by, and what is added to the key.
FACTORS = np.array([[0xD2E7470EE14C6C93], [0xCA5A826395121157]], np.uint64)
KEY_STEPS = np.array([[0x9E3779B97F4A7C15], [0xBB67AE8584CAA73B]], np.uint64)
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


class _Generator(threading.local):
    """A generator of each thread, set anew for each call: nothing of it outlives one.

    Setting its whole state takes 2 us, making a generator 13, and the arrays of a state 1 (m).
    """

    def __init__(self) -> None:
        self.philox = np.random.Philox(key=0)
        self.counter, self.key = np.zeros(4, np.uint64), np.zeros(2, np.uint64)
        self.state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": self.counter, "key": self.key},
            "buffer": np.zeros(4, np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }

    def words(self, key: Key, block: int, count: int | None) -> Any:
        """Return ``count`` words from counter block ``block`` on; for None one, as an integer."""
        self.counter[0] = block
        self.key[0], self.key[1] = key[0] & WORD_MASK, key[1] & WORD_MASK
        self.philox.state = self.state
        return self.philox.random_raw(count)


generator = _Generator()

DEVICE_ROUNDS = """
unsigned long long c0 = first + i + 1, c1 = 0, c2 = 0, c3 = 0, k0 = key0, k1 = key1;
for (int round = 0; round < 10; ++round) {
    unsigned long long high0 = __umul64hi(0xD2E7470EE14C6C93ULL, c0);
    unsigned long long low0 = 0xD2E7470EE14C6C93ULL * c0;
    unsigned long long high1 = __umul64hi(0xCA5A826395121157ULL, c2);
    unsigned long long low1 = 0xCA5A826395121157ULL * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B97F4A7C15ULL;
    k1 += 0xBB67AE8584CAA73BULL;
}
words[4 * i] = c0;
words[4 * i + 1] = c1;
words[4 * i + 2] = c2;
words[4 * i + 3] = c3;
"""


def random_bits(xp: ArrayModule, key: Key, start: int, count: int) -> Array:
    """Return words ``start`` to ``start + count`` of a stream.

    Args:
        key: two 64-bit ints naming the stream.
        start: index of the first word.

    Returns:
        [count] uint64.

    >>> whole = random_bits(np, (1, 2), 0, 10)
    >>> bool((random_bits(np, (1, 2), 3, 4) == whole[3:7]).all())
    True
    """
    block, skip = divmod(start, 4)
    if xp is np:
        words = generator.words(key, block, skip + count)
        return words[skip:] if skip else words
    return device_words(xp, key, block, skip + count)[skip:]


def first_word(key: Key, width: int) -> int:
    """Return the first word of 64 bits, or of 32, of a stream of the host's.

    >>> first_word((1, 2), 64) == random_bits(np, (1, 2), 0, 1)[0]
    np.True_
    """
    word: int = generator.words(key, 0, None)
    return word & ((1 << width) - 1)


def first_blocks(keys: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Return the first words of many streams: each step of a round is made for all of them.

    That pays from some 50 streams on (m: 192 take 140 us, one by one 770).

    Args:
        keys: [2, ...] uint64, the two halves of each key.
        blocks: of how many counters.

    Returns:
        [..., blocks * BLOCK_WORDS] uint64.

    >>> keys = np.array([[1, 3], [2, 4]], np.uint64)
    >>> bool((first_blocks(keys, 2)[1] == random_bits(np, (3, 4), 0, 8)).all())
    True
    """
    key = keys.reshape(2, -1).repeat(blocks, axis=1)
    even, odd = np.zeros_like(key), np.zeros_like(key)  # words 0 and 2, words 1 and 3
    even[0] = np.tile(np.arange(1, blocks + 1), keys[0].size)
    for _ in range(ROUNDS):
        product = even * FACTORS
        high = upper_products(even, FACTORS)
        even = high[::-1] ^ odd
        even ^= key
        odd = product[::-1]
        key += KEY_STEPS
    words = np.stack([even, odd], axis=-1)  # [2, streams, 2]
    return words.swapaxes(0, 1).reshape(*keys.shape[1:], blocks * BLOCK_WORDS)


def upper_products(words: Array, factors: Any) -> Array:
    """Return the upper 64 bits of the 128-bit products of uint64 words with factors."""
    factors_high, factors_low = factors >> HALF, factors & LOW_HALF
    high, low = words >> HALF, words & LOW_HALF
    middle = low * factors_low
    middle >>= HALF
    middle += high * factors_low
    if not factors_high.any():
        return middle >> HALF
    low *= factors_high
    low += middle & LOW_HALF
    high *= factors_high
    high += middle >> HALF
    high += low >> HALF
    return high


def device_words(xp: ArrayModule, key: Key, block: int, count: int) -> Array:
    """Return ``count`` words from counter block ``block`` on, computed on a GPU."""
    blocks = -(-count // 4)
    words = xp.empty(4 * blocks, xp.uint64)
    if blocks:
        parameters = "uint64 key0, uint64 key1, uint64 first", "raw uint64 words"
        draw = device_kernel(xp, *parameters, DEVICE_ROUNDS, "daskvars_philox")
        numbers = (np.uint64(number & WORD_MASK) for number in (*key, block))
        draw(*numbers, words, size=blocks)
    return words[:count]


def block_words(
    xp: ArrayModule,
    key: Key,
    shape: tuple,
    offset: tuple | None,
    full_shape: tuple | None,
    width: int,
) -> Iterator[tuple[slice, Any]]:
    """Yield (slice of the flattened block, its words) until the block is full.

    Args:
        offset: where the block starts in the tensor, None for its origin.
        full_shape: extents of the tensor, None where the block is the whole of it.
        width: bits of a word, 32 or 64; an element's word number is its flat index.
    """
    size = math.prod(shape)
    tile = TILE if xp is np else DEVICE_TILE
    if full_shape is None:  # one run, and where that is a tile there is nothing to work out
        for done in range(0, size, tile):
            part = slice(done, min(done + tile, size))
            yield part, words_of(xp, key, done, part.stop - done, width)
        return
    if not size:
        return
    full_shape = tuple(full_shape)
    offset = (0,) * len(shape) if offset is None else tuple(offset)
    done = 0
    for start, rows, stride, length in runs(shape, offset, full_shape, tile):
        words = strided_words(xp, key, start, rows, stride, length, width)
        yield slice(done, done + rows * length), words
        done += rows * length


def runs(
    shape: tuple[int, ...], offset: tuple[int, ...], full_shape: tuple[int, ...], tile: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (start, rows, stride, length): runs of flat indices, at most ``tile`` at a time."""
    strides = [math.prod(full_shape[axis + 1 :]) for axis in range(len(shape))]
    inner = len(shape)
    while inner and shape[inner - 1 :] == full_shape[inner - 1 :]:
        inner -= 1
    # Axes from ``inner`` on are whole, so one run goes on along axis ``inner - 1``.
    run_axis = max(inner - 1, 0)
    origin = sum(first * step for first, step in zip(offset, strides, strict=True))
    length = math.prod(shape[run_axis:])
    lines = shape[run_axis - 1] if run_axis else 1
    stride = strides[run_axis - 1] if run_axis else length
    for outer in np.ndindex(*shape[: max(run_axis - 1, 0)]):
        start = origin + sum(index * step for index, step in zip(outer, strides, strict=False))
        if length >= tile:
            for line in range(lines):
                for first in range(0, length, tile):
                    part = min(tile, length - first)
                    yield start + line * stride + first, 1, part, part
        else:
            group = max(1, tile // length)
            for line in range(0, lines, group):
                yield start + line * stride, min(group, lines - line), stride, length


def strided_words(
    xp: ArrayModule, key: Key, start: int, rows: int, stride: int, length: int, width: int
) -> Array:
    """Return the words of ``rows`` runs, ``stride`` apart, one after the other."""
    if rows == 1:
        return words_of(xp, key, start, length, width)
    tile, seek_words = (TILE, SEEK_WORDS * 64 // width) if xp is np else (DEVICE_TILE, math.inf)
    step = 1 if stride - length > seek_words else max(1, 4 * tile // stride)
    out = xp.empty((rows, length), np.dtype(f"u{width // 8}"))
    for row in range(0, rows, step):
        part = out[row : row + step]
        count = length if len(part) == 1 else len(part) * stride
        words = words_of(xp, key, start + row * stride, count, width)
        part[...] = words.reshape(len(part), -1)[:, :length]
    return out.reshape(-1)


def words_of(xp: ArrayModule, key: Key, start: int, count: int, width: int) -> Array:
    """Return ``count`` words of 64 bits, or of 32: the lower half of each first."""
    if width == 64:
        return random_bits(xp, key, start, count)
    first, skip = divmod(start, 2)
    pairs = random_bits(xp, key, first, (skip + count + 1) // 2)
    return pairs.astype(LITTLE_64, copy=False).view(LITTLE_32)[skip : skip + count]
