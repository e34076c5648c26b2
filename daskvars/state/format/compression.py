"""Chunks that are compressed: the codecs of Zarr that a saver can be asked for.

A chunk object is then what the codec makes of the chunk's bytes, and the crc32c of that. Before
anything is decompressed, its checksum is compared with the manifest's and its size with the
chunk's.
"""

from __future__ import annotations

from typing import Any

import numcodecs
import numpy as np

from daskvars.errors import did_you_mean, invalid
from daskvars.state.external.decompressed_size import check_decompressed
from daskvars.state.format.manifest import CODECS

LEVELS = dict(zip(CODECS, (3, 6, 5), strict=True))
"""Codecs that both Zarr and every reader of it have, and the level at which they are used: what
each takes for its default. Blosc shuffles bytes before zstd, which numbers that are alike gain by.
"""

SLACK_BYTES = 1 << 16
"""Bytes, besides an eighth, by which compressed data may be larger than what it is made of."""


def check_compressor(name: str | None) -> str:
    """Give the name of a codec; empty for None, which is no compression.

    Raises:
        InvalidArgumentError: there is no codec of that name, or it is no name.

    >>> check_compressor("zstd"), check_compressor(None)
    ('zstd', '')
    """
    if name is None or name == "":
        return ""
    if not isinstance(name, str):
        raise invalid(f"compressor is a name, {' or '.join(map(repr, LEVELS))}; got {name!r}")
    if name not in LEVELS:
        raise invalid(
            f"compressor {name!r} is none of {', '.join(LEVELS)}{did_you_mean(name, LEVELS)}"
        )
    return name


def codec_of(name: str, item_bytes: int = 1) -> Any:
    """Give the codec of a name for elements of so many bytes."""
    if name == "zstd":
        return numcodecs.Zstd(LEVELS[name])
    if name == "gzip":
        return numcodecs.GZip(LEVELS[name])
    return numcodecs.Blosc("zstd", LEVELS[name], numcodecs.Blosc.SHUFFLE, typesize=item_bytes)


def codec_document(name: str, item_bytes: int) -> dict[str, Any]:
    """Give a codec as Zarr's metadata has it."""
    configuration: dict[str, Any] = {"level": LEVELS[name]}
    if name == "zstd":
        configuration["checksum"] = False
    if name == "blosc":
        configuration = {
            "typesize": item_bytes,
            "cname": "zstd",
            "clevel": LEVELS[name],
            "shuffle": "shuffle",
            "blocksize": 0,
        }
    return {"name": name, "configuration": configuration}


def compress(name: str, data: np.ndarray, item_bytes: int) -> np.ndarray:
    """Compress the bytes of a chunk; they and the result are uint8 vectors."""
    return np.frombuffer(codec_of(name, item_bytes).encode(data), np.uint8)


def decompress(name: str, data: np.ndarray, most_bytes: int) -> np.ndarray:
    """Decompress what `compress` gave, if it stands for no more bytes than it may.

    Raises:
        ValueError: it stands for more, or is no such data.
    """
    check_decompressed(name, data.tobytes(), most_bytes)
    try:
        return np.frombuffer(codec_of(name).decode(data), np.uint8)
    except (RuntimeError, OSError, EOFError) as error:
        raise ValueError(f"is no {name}: {error}") from None
