"""How many bytes compressed data would become, told before they are.

A few bytes can stand for gigabytes. zstd, Blosc and LZ4 say in their header how many, and their
decoders keep to it; for the others the data is decompressed piece by piece, each piece thrown away,
until a limit is passed.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from daskvars.state.failures import store_failure
from daskvars.state.format.manifest import shorten

PIECE_BYTES = 1 << 20
ZSTD_MAGIC = bytes([0x28, 0xB5, 0x2F, 0xFD])
ZSTD_BLOCK_BYTES = 1 << 17
"""Most bytes that a block of zstd stands for."""


def check_decompressed(codec: str, data: bytes, most_bytes: int) -> None:
    """Refuse compressed data that stands for more bytes than it may.

    Args:
        codec: name of the codec, one of `COMPRESSORS`.
        data: what is to be decompressed.
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
    except (ValueError, IndexError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise store_failure(f"{shorten(data[:16])}... is no {codec}: {error}") from None
    if found > most_bytes:
        raise store_failure(f"{len(data)} bytes of {codec} stand for more than {most_bytes} bytes")


def zstd_bytes(data: bytes, most_bytes: int) -> int:
    """Give the size in a zstd frame's header, or else what its blocks could hold at most."""
    if data[:4] != ZSTD_MAGIC:
        raise ValueError("no frame begins there")
    descriptor = data[4]
    single = descriptor >> 5 & 1
    position = 6 - single + (0, 1, 2, 4)[descriptor & 3]
    width = (single, 2, 4, 8)[descriptor >> 6]
    if width:
        return int.from_bytes(data[position : position + width], "little") + 256 * (width == 2)
    blocks, last = 0, 0
    while not last:
        header = int.from_bytes(data[position : position + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        blocks += size if kind == 1 else ZSTD_BLOCK_BYTES  # one byte, repeated
        position += 3 + (1 if kind == 1 else size)
        if position > len(data):
            raise ValueError("it ends within a block")
    if position + 4 < len(data):
        raise ValueError("there is more than one frame")
    return max(0, blocks - ZSTD_BLOCK_BYTES)


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


COMPRESSORS: dict[str, Callable[[bytes, int], int]] = {
    "zstd": zstd_bytes,
    "blosc": blosc_bytes,
    "lz4": lz4_bytes,
    "gzip": counted(lambda: zlib.decompressobj(31)),
    "zlib": counted(zlib.decompressobj),
    "bz2": counted(bz2.BZ2Decompressor),
    "lzma": counted(lzma.LZMADecompressor),
}
