"""How many bytes compressed data would become, told before they are.

A few bytes can stand for gigabytes. Blosc, LZ4 and most of zstd say in their header how many, and
their decoders keep to it; the rest is decompressed piece by piece, each piece thrown away, until a
limit is passed.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import Any

from daskvars.state.failures import store_failure
from daskvars.state.format.manifest import shorten

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 1 << 20


def check_decompressed(codec: str, data: bytes, most_bytes: int) -> None:
    """Refuse compressed data that stands for more bytes than it may.

    Args:
        codec: name of the codec, one of `COMPRESSORS`.
        most_bytes: the size that the result may have.

    Raises:
        StoreError: it stands for more, or is no such data.

    >>> check_decompressed("zlib", zlib.compress(bytes(100)), 100)
    >>> check_decompressed("lz4", bytes([0, 1, 0, 0]), 100)
    Traceback (most recent call last):
    daskvars.errors.StoreError: 4 bytes of lz4 stand for more than 100 bytes
    """
    try:
        found = COMPRESSORS[codec](data, most_bytes)
    except (
        ValueError,
        IndexError,
        EOFError,
        OSError,
        zlib.error,
        lzma.LZMAError,
        zstd.ZstdError,
    ) as error:
        raise store_failure(f"{shorten(data[:16])}... is no {codec}: {error}") from None
    if found > most_bytes:
        raise store_failure(f"{len(data)} bytes of {codec} stand for more than {most_bytes} bytes")


def blosc_bytes(data: bytes, most_bytes: int) -> int:
    """Give the size in Blosc's header."""
    return int.from_bytes(data[4:8], "little")


def lz4_bytes(data: bytes, most_bytes: int) -> int:
    """Give the size that stands before LZ4's data."""
    return int.from_bytes(data[:4], "little")


def counted(start: Callable[[], Any]) -> Callable[[bytes, int], int]:
    """Give the function that decompresses piece by piece, by its decompressor."""

    def count(data: bytes, most_bytes: int) -> int:
        total = 0
        while data and total <= most_bytes:
            decompressor = start()
            while not decompressor.eof and total <= most_bytes:
                piece = decompressor.decompress(data, PIECE_BYTES)
                data = getattr(decompressor, "unconsumed_tail", b"")
                total += len(piece)
                if not piece and not data:
                    break
            data = decompressor.unused_data
        return total

    return count


def zstd_bytes(data: bytes, most_bytes: int) -> int:
    """Give the size in the header of a zstd frame; without one, what is counted."""
    if zstd.get_frame_size(data) != len(data):
        raise ValueError("there is more than one frame")
    size = zstd.get_frame_info(data).decompressed_size
    return counted(zstd.ZstdDecompressor)(data, most_bytes) if size is None else size


COMPRESSORS: dict[str, Callable[[bytes, int], int]] = {
    "zstd": zstd_bytes,
    "blosc": blosc_bytes,
    "lz4": lz4_bytes,
    "gzip": counted(lambda: zlib.decompressobj(31)),
    "zlib": counted(zlib.decompressobj),
    "bz2": counted(bz2.BZ2Decompressor),
    "lzma": counted(lzma.LZMADecompressor),
}
