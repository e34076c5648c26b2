"""Chunks as shards of Zarr: an object of many small chunks, of which readers take what they need.

An object is one of our chunks, as ever, written by one writer; inside, it is what Zarr's codec
``sharding_indexed`` makes of it: *inner* chunks in C order, each with its crc32c, then the index of
where each is, then the index's crc32c. Inner chunks have about as many bytes as was asked for: the
first axes are cut, into equal parts. What has no such parts, and strings, are no shards.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from daskvars.errors import invalid
from daskvars.state.format.compression import check_compressor, codec_document, compress, decompress
from daskvars.state.format.encoding import (
    CHECKSUM_BYTES,
    checksum,
    encoded_bytes,
    item_bytes,
    zarr_codecs,
)

PREFIX, BETWEEN = "shards-", "+"
ENTRY_BYTES = 16  # of the index, for an inner chunk: where it begins, and its length
MOST_MORE_BYTES = 128  # that an inner chunk may add: its entry, checksum, a codec's own header
UNEVEN = 4  # an inner chunk may have so many times the bytes asked for, or a part of them


class Codec(NamedTuple):
    """What a chunk's object is made with.

    Attributes:
        compressor: the name of a codec that compresses; empty for none.
        inner_bytes: of an inner chunk, about; 0 for none.
    """

    compressor: str
    inner_bytes: int


def codec_name(compressor: str | None, shards: int | None) -> str:
    """Give the name by which a manifest has a codec.

    Args:
        compressor: see `check_compressor`.
        shards: about how many bytes an inner chunk shall have; None for no inner chunks.

    Raises:
        InvalidArgumentError: there is no such compressor, or no such size.

    >>> codec_name("zstd", 65536), codec_name(None, 100), codec_name(None, None)
    ('shards-65536+zstd', 'shards-100', '')
    """
    checked = check_compressor(compressor)
    if shards is None:
        return checked
    if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
        raise invalid(f"shards is the bytes of an inner chunk, at least 1, or None; got {shards!r}")
    return f"{PREFIX}{int(shards)}{BETWEEN if checked else ''}{checked}"


@lru_cache(maxsize=64)
def parsed(name: str) -> Codec:
    """Give the codec of a name that a manifest has.

    >>> parsed("shards-65536+zstd"), parsed("gzip")
    (Codec(compressor='zstd', inner_bytes=65536), Codec(compressor='gzip', inner_bytes=0))
    """
    found = re.fullmatch(rf"{PREFIX}(\d+)\{BETWEEN}?(\w*)", name)
    return Codec(found[2], int(found[1])) if found else Codec(name, 0)


@lru_cache(maxsize=1024)
def inner_shape(name: str, dtype: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Give the shape of the inner chunks of a chunk; None where it is no shard.

    >>> inner_shape("shards-4096", "float32", (100, 64))
    (10, 64)
    >>> inner_shape("shards-4096", "float32", (10, 64)) is None
    True
    """
    limit, size = parsed(name).inner_bytes, encoded_bytes(dtype, shape)
    if not limit or not size or size <= limit:
        return None
    inner = list(shape)
    for axis, extent in enumerate(shape):
        rest = math.prod(inner) // extent * item_bytes(dtype)
        inner[axis] = part_near(extent, max(1, limit // rest))
        if inner[axis] > 1 or rest <= limit:
            break
    return tuple(inner) if tuple(inner) != shape else None


def part_near(extent: int, wanted: int) -> int:
    """Give a divisor near some number: below it, unless only those above it are near.

    >>> part_near(100, 16), part_near(14, 6), part_near(101, 16)
    (10, 2, 1)
    """
    parts = [n for n in range(1, math.isqrt(extent) + 1) if extent % n == 0]
    parts = sorted({*parts, *(extent // n for n in parts)})
    below = max(n for n in parts if n <= wanted)
    above = min((n for n in parts if n >= wanted), default=extent)
    return above if below * UNEVEN < wanted and above <= wanted * UNEVEN else below


def documents(name: str, dtype: str, shape: tuple[int, ...]) -> list[dict[str, Any]]:
    """Give the codecs of chunks of some shape as Zarr's metadata has them."""
    compressor = parsed(name).compressor
    codecs = zarr_codecs(dtype, compressor and codec_document(compressor, item_bytes(dtype)))
    inner = inner_shape(name, dtype, shape)
    if inner is None:
        return codecs
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    configuration = {"chunk_shape": inner, "codecs": codecs, "index_codecs": index}
    return [
        {"name": "sharding_indexed", "configuration": {**configuration, "index_location": "end"}}
    ]


def blocks_of(data: np.ndarray, dtype: str, shape: tuple[int, ...], inner: tuple[int, ...]) -> Any:
    """Give the bytes of a chunk as inner chunks [*counts, *inner, bytes of an element], a view."""
    counts = [size // part for size, part in zip(shape, inner, strict=True)]
    pairs = [n for pair in zip(counts, inner, strict=True) for n in pair]
    rank = len(shape)
    order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2), 2 * rank]
    return data.reshape(*pairs, item_bytes(dtype)).transpose(order), tuple(counts)


def sharded(
    name: str, dtype: str, shape: tuple[int, ...], inner: tuple[int, ...], data: np.ndarray
) -> tuple[np.ndarray, int]:
    """Give a shard without the last four bytes, and these as a number: the index's checksum.

    Args:
        name, dtype, shape: of a chunk.
        inner: its `inner_shape`.
        data: its bytes, a uint8 vector.
    """
    compressor, width = parsed(name).compressor, item_bytes(dtype)
    blocks, counts = blocks_of(data, dtype, shape, inner)
    pieces, entries, at = [], [], 0
    for number in np.ndindex(*counts):
        content = np.ascontiguousarray(blocks[number]).reshape(-1)
        if compressor:
            content = compress(compressor, content, width)
        pieces += [content, np.frombuffer(checksum(content).to_bytes(4, "little"), np.uint8)]
        entries.append((at, len(content) + CHECKSUM_BYTES))
        at += len(content) + CHECKSUM_BYTES
    index = np.array(entries, "<u8").reshape(-1).view(np.uint8)
    return np.concatenate([*pieces, index]), checksum(index)


def unsharded(
    name: str,
    dtype: str,
    shape: tuple[int, ...],
    inner: tuple[int, ...],
    data: np.ndarray,
    trailer: int,
) -> np.ndarray:
    """Give the bytes of a chunk from what `sharded` gave; see there.

    Raises:
        ValueError: the shard is none of that shape.
    """
    compressor = parsed(name).compressor
    found = np.empty(math.prod(shape) * item_bytes(dtype), np.uint8)
    blocks, counts = blocks_of(found, dtype, shape, inner)
    index_at = len(data) - ENTRY_BYTES * math.prod(counts)
    if index_at < 0:
        raise ValueError(f"has {len(data)} bytes, fewer than its index")
    if checksum(data[index_at:]) != trailer:
        raise ValueError("has an index of another checksum")
    index = data[index_at:].copy().view("<u8").reshape(*counts, 2)
    size = math.prod(inner) * item_bytes(dtype)
    for number in np.ndindex(*counts):
        start, length = map(int, index[number])
        if start + length > index_at or length < CHECKSUM_BYTES:
            raise ValueError(f"says that inner chunk {number} is where it is not")
        content = data[start : start + length - CHECKSUM_BYTES]
        if compressor:
            content = decompress(compressor, content, size)
        if len(content) != size:
            raise ValueError(f"has {len(content)} bytes in inner chunk {number}, not {size}")
        blocks[number] = content.reshape(*inner, item_bytes(dtype))
    return found
