"""Which codecs are used on chunks that somebody else wrote, and how far they are trusted.

Zarr leaves it to a file to name the codecs that read it, and some run code: numcodecs has one that
unpickles. Those in the lists here are arithmetic; any other is refused. Before a chunk is
decompressed its decompressed size is compared with that of the chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numcodecs.abc
import numpy as np
import zarr
from zarr.abc.codec import BytesBytesCodec, Codec
from zarr.codecs import ShardingCodec
from zarr.core.array import AsyncArray

from daskvars.state.external.decompressed_size import COMPRESSORS, check_decompressed
from daskvars.state.failures import store_failure
from daskvars.state.format.manifest import shorten

CODECS = frozenset({"bytes", "endian", "transpose", "crc32c", "vlen-utf8", "vlen-bytes"})
FILTERS = frozenset(
    {
        "adler32",
        "bitround",
        "crc32",
        "crc32c",
        "delta",
        "fixedscaleoffset",
        "fletcher32",
        "jenkins_lookup3",
        "packbits",
        "quantize",
        "shuffle",
        "vlen-bytes",
        "vlen-utf8",
    }
)
"""Those of numcodecs; in Zarr v3 their names begin with ``numcodecs.``."""

WITH_CHECKSUM = frozenset(
    {"adler32", "bz2", "crc32", "crc32c", "fletcher32", "gzip", "jenkins_lookup3", "lzma", "zlib"}
)
"""Codecs that compare a checksum of what they read; zstd does if it is told to."""

NUMBERS = "biufc"  # kinds of dtypes that a filter may turn one into
EXTRA_BYTES = 4096  # for checksums, beyond the bytes of a chunk's elements
MAX_STRING_BYTES = 1 << 28  # of a chunk of strings, whose elements say how long they are


def with_checked_codecs(array: zarr.Array) -> zarr.Array:
    """Give an array whose codecs are known and look at sizes first.

    Raises:
        StoreError: it has a codec that is not in the lists, or a storage transformer.
    """
    metadata: Any = array.metadata
    if metadata.zarr_format == 3:
        if metadata.storage_transformers:
            raise store_failure(
                f"its storage transformers {shorten(metadata.storage_transformers)} are not known,"
                " so its chunks are not what they seem; store the array without"
            )
        metadata = replace(metadata, codecs=checked_codecs(metadata.codecs))
    else:
        for codec in metadata.filters or ():
            check_filter(codec.get_config())
        if metadata.compressor is not None:
            check_name(metadata.compressor.codec_id, COMPRESSORS)
            limit = most_bytes(metadata.chunks, array.dtype)
            metadata = replace(metadata, compressor=CheckedCompressor(metadata.compressor, limit))
    return zarr.Array(AsyncArray(metadata, array.store_path))


def checked_codecs(codecs: Iterable[Codec]) -> tuple[Codec, ...]:
    """Give a codec chain of Zarr v3 with a check before what decompresses."""
    found: list[Codec] = []
    for codec in codecs:
        if isinstance(codec, ShardingCodec):
            if not all(c.to_dict()["name"] in CODECS for c in codec.index_codecs):
                raise store_failure("the index of a shard has a codec that is not known")
            found.append(
                ShardingCodec(
                    chunk_shape=codec.chunk_shape,
                    codecs=checked_codecs(codec.codecs),
                    index_codecs=codec.index_codecs,
                    index_location=codec.index_location,
                )
            )
            continue
        found.append(codec)
        description: Mapping[str, Any] = codec.to_dict()
        name = description["name"].removeprefix("numcodecs.")
        if name in COMPRESSORS:
            found.append(SizeCheck(name))
        elif name not in CODECS:
            check_filter({**description.get("configuration", {}), "id": name})
    if sum(isinstance(codec, SizeCheck) for codec in found) > 1:
        raise store_failure("chunks that are compressed twice are not read")
    return tuple(found)


def has_checksums(array: zarr.Array) -> bool:
    """Tell whether an array's chunks have a codec that notices altered bytes."""
    metadata: Any = array.metadata
    if metadata.zarr_format == 3:
        codecs = [codec.to_dict() for codec in metadata.codecs]
        for codec in codecs:
            codecs += codec.get("configuration", {}).get("codecs", ())  # those in shards
    else:
        found = [*(metadata.filters or ()), metadata.compressor]
        codecs = [{"name": c.codec_id, "configuration": c.get_config()} for c in found if c]
    return any(
        codec["name"].removeprefix("numcodecs.") in WITH_CHECKSUM
        or codec.get("configuration", {}).get("checksum") is True
        for codec in codecs
    )


def check_filter(description: Mapping[str, Any]) -> None:
    """Refuse a filter that is not in the list, or that makes anything but numbers."""
    check_name(description["id"], FILTERS)
    for name in ("dtype", "astype"):
        value = description.get(name)
        if value is not None and np.dtype(value).kind not in NUMBERS:
            raise store_failure(f"a codec {description['id']!r} of {name} {shorten(value)}")


def check_name(name: str, known: Iterable[str]) -> None:
    """Refuse a codec that is not in a list."""
    if name not in known:
        raise store_failure(
            f"the codec {shorten(name)} is none of {', '.join(sorted(known))}, which are known to"
            " run no code; store the array with one of them"
        )


def most_bytes(shape: Iterable[int], dtype: Any) -> int:
    """Give the most bytes that a chunk decompresses to."""
    if dtype.kind not in NUMBERS:
        return MAX_STRING_BYTES
    return math.prod(shape) * dtype.itemsize + EXTRA_BYTES


@dataclass(frozen=True)
class SizeCheck(BytesBytesCodec):
    """Changes nothing, and refuses what the codec before it would make too large."""

    codec: str
    is_fixed_size = True

    def to_dict(self) -> dict[str, Any]:
        """Describe the codec."""
        return {"name": f"checked-{self.codec}"}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        """Give the size as it is."""
        return input_byte_length

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        limit = most_bytes(chunk_spec.shape, chunk_spec.dtype.to_native_dtype())
        check_decompressed(self.codec, chunk_data.to_bytes(), limit)
        return chunk_data


class CheckedCompressor(numcodecs.abc.Codec):
    """A compressor of Zarr v2 that refuses what it would make too large.

    Args:
        limit: most bytes that a chunk decompresses to.
    """

    codec_id = "checked"

    def __init__(self, compressor: Any, limit: int) -> None:
        self.compressor, self.limit = compressor, limit

    def encode(self, buf: Any) -> Any:
        """Compress."""
        return self.compressor.encode(buf)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Decompress, having looked at the size."""
        check_decompressed(self.compressor.codec_id, bytes(buf), self.limit)
        return self.compressor.decode(buf, out)
