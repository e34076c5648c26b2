"""Hostile and damaged Zarr groups that somebody else wrote, in either format."""

from __future__ import annotations

import bz2
import functools
import lzma
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import zarr

from daskvars.state.format.encoding import checksum
from tests.state.hostile_stores import (
    FILES,
    HUGE,
    TRUNCATIONS,
    VALUES,
    Case,
    changed,
    document_cases,
    file_cases,
    json_edited,
    linked,
    replaced,
    set_field,
    shown,
)

BOMB_BYTES = 1 << 27


ARRAY_FIELDS: dict[str, list[Any]] = {
    "shape": [
        [HUGE, 4],
        [10**12, 4],
        [-6, 4],
        [6.5, 4],
        ["<NaN>", 4],
        ["6", 4],
        None,
        {},
        [1 << 70, 4],
        ["<" + "9" * 4000 + ">", 4],
        [6],
        [6, 4, 1],
        [[6], 4],
    ],
    "chunk_grid": [
        None,
        [],
        {"name": "regular"},
        {"name": "python", "configuration": {}},
        *[
            {"name": "regular", "configuration": {"chunk_shape": sizes}}
            for sizes in ([0, 4], [-3, 4], [3], [3.5, 4], ["3", 4], None, [HUGE, HUGE])
        ],
    ],
    "codecs": [
        None,
        [],
        [{"name": "pickle"}],
        [{"name": "numcodecs.pickle", "configuration": {}}],
        [{"name": "bytes"}, {"name": "pickle"}],
        [{"name": "os.system"}],
        "bytes",
        [{"name": "bytes"}, {"name": "zstd"}, {"name": "zstd"}, {"name": "gzip"}],
        [{"name": "bytes"}, {"name": "no-such-codec"}],
        [{"name": "transpose"}],
        [{"name": "sharding_indexed", "configuration": {}}],
        [{"name": "numcodecs.delta", "configuration": {"dtype": "V100000000"}}, {"name": "bytes"}],
    ],
    "data_type": [
        "object",
        "O",
        "pickle",
        None,
        4,
        {"name": "pickle", "configuration": {}},
        "float99",
        ["float32"],
    ],
    "chunk_key_encoding": [
        None,
        {"name": "../x"},
        {"name": "default", "configuration": {"separator": "../"}},
    ],
    "fill_value": [{"a": 1}, "x" * 100, [1, 2, 3]],
    "node_type": ["attack", None],
    "zarr_format": [9, None, "<NaN>"],
}
ARRAY2_FIELDS: dict[str, list[Any]] = {
    "shape": [[HUGE, 4], [-6, 4], [6.5, 4], None, [10**12, 4]],
    "chunks": [[0, 4], [-3, 4], None, [3], ["3", 4], [HUGE, HUGE]],
    "dtype": ["|O", "|V100000000", "O", None, "<f99", 3, "|S1000000000"],
    "compressor": [
        {"id": "pickle"},
        {"id": "json2"},
        {"id": "msgpack2"},
        {"id": "categorize"},
        "zlib",
        {},
        {"id": "no-such-codec"},
        {"id": 3},
    ],
    "filters": [
        [{"id": "pickle"}],
        [{"id": "vlen-utf8"}, {"id": "pickle"}],
        [{"id": "zlib"}],
        "x",
        [3],
        [{"id": "delta", "dtype": "V100000000"}],
        [{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "S100000000"}],
        [{"id": "fixedscaleoffset", "scale": 1, "offset": 0, "dtype": "S100000000"}],
        [{"id": "json2"}],
    ],
}
BOMBS: dict[str, Callable[[], bytes]] = {
    "zstd": lambda: bytes(numcodecs.Zstd().encode(bytes(BOMB_BYTES))),
    "blosc": lambda: bytes(numcodecs.Blosc().encode(bytes(BOMB_BYTES))),
    "lz4": lambda: bytes(numcodecs.LZ4().encode(bytes(BOMB_BYTES))),
    "gzip": lambda: bytes(numcodecs.GZip(1).encode(bytes(BOMB_BYTES))),
    "zlib": lambda: zlib.compress(bytes(BOMB_BYTES), 1),
    "bz2": lambda: bz2.compress(bytes(BOMB_BYTES), 1),
    "lzma": lambda: lzma.compress(bytes(BOMB_BYTES), preset=0),
}
RUNS = [((1 << 17) << 3 | 1 << 1 | (i == 999)).to_bytes(3, "little") + b"\0" for i in range(1000)]
ZSTD_RUNS = b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(RUNS)
"""A frame that does not say its size: one-byte runs of 128 KiB each."""
ZSTD_BEFORE = {
    "of unknown size": b"",
    "behind a frame": bytes(numcodecs.Zstd().encode(bytes(8))),
    "behind a frame that is skipped": b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip",
}


@functools.cache
def bomb_of(codec: str) -> bytes:
    """Give a few bytes that stand for many."""
    return BOMBS[codec]()


def bomb(kind: str, codec: str, data: Callable[[], bytes]) -> Callable[[Path], None]:
    """Give the damage of a chunk of a few bytes that stands for many."""

    def damage(place: Path) -> None:
        if kind == "group2":
            edit = set_field(lambda d: d, "compressor", {"id": codec})
            json_edited("w/.zarray", edit)(place)
            replaced("w/0.0", data())(place)
            return
        chain = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": codec}]
        if codec == "gzip":
            chain[1]["configuration"] = {"level": 1}
        if codec == "zstd":
            chain[1]["configuration"] = {"level": 0, "checksum": False}
        if codec == "blosc":
            chain[1]["configuration"] = {
                "cname": "lz4",
                "clevel": 5,
                "shuffle": "noshuffle",
                "typesize": 1,
                "blocksize": 0,
            }
        json_edited("w/zarr.json", set_field(lambda d: d, "codecs", chain))(place)
        replaced("w/c/0/0", data())(place)

    return damage


def sharded(
    content: Callable[[bytes], bytes], shards: int = 6, inner: int = 3
) -> Callable[[Path], None]:
    """Give the damage of an array of shards with another content, or other sizes than stored."""

    def damage(place: Path) -> None:
        shutil.rmtree(place / "w")
        group = zarr.open_group(place, mode="a")
        array = group.create_array("w", shape=(6, 4), chunks=(3, 4), shards=(6, 4), dtype="f4")
        array[...] = VALUES["w"]
        changed("w/c/0/0", content)(place)
        if shards != 6:

            def edit(document: Any) -> None:
                document["chunk_grid"]["configuration"]["chunk_shape"] = [shards, 4]
                document["codecs"][0]["configuration"]["chunk_shape"] = [inner, 4]

            json_edited("w/zarr.json", edit)(place)

    return damage


def sharded_bomb(place: Path) -> None:
    """Put a bomb into a shard."""

    def content(data: bytes) -> bytes:
        inside = bomb_of("zstd")
        index = struct.pack("<4Q", 0, len(inside), (1 << 64) - 1, (1 << 64) - 1)
        digest = checksum(np.frombuffer(index, np.uint8)).to_bytes(4, "little")
        return inside + index + digest

    sharded(content)(place)


def consolidated(name: str) -> Callable[[Path], None]:
    """Give the damage of consolidated metadata with another name in it."""

    def damage(place: Path) -> None:
        zarr.consolidate_metadata(str(place))

        def edit(document: Any) -> None:
            found = document["consolidated_metadata"]["metadata"]
            found[name] = found.pop("w")

        json_edited("zarr.json", edit)(place)

    return damage


def group_cases() -> Iterator[Case]:
    """Give what can be wrong with a Zarr group of somebody else's."""
    for kind, document, fields in (
        ("group", "w/zarr.json", ARRAY_FIELDS),
        ("group2", "w/.zarray", ARRAY2_FIELDS),
    ):
        for field, values in fields.items():
            for value in values:
                edit = set_field(lambda d: d, field, value)
                yield Case(kind, f"{field} {shown(value)}", json_edited(document, edit))
    yield from document_cases("group", "zarr.json", "the group's document")
    for case in file_cases("group", "w/zarr.json", "an array's document", False):
        if "a directory" not in case.name:  # then there is no array
            yield case
    yield Case("group", "a scope is a link outside", linked("layer", "outside"))
    yield Case("group", "a scope is a link upwards", linked("layer", ".."))
    yield Case("group", "an array is a link to itself", linked("w", "w"))
    yield Case(
        "group", "deep documents", replaced("w/zarr.json", b'{"a":' * 900 + b"1" + b"}" * 900)
    )
    for name in ("../w", "/w", "a//w", "..", ""):
        yield Case("group", f"consolidated name {name!r}", consolidated(name))
    for how in ("half", "without its last byte"):
        yield Case("group", f"chunk {how}", changed("w/c/0/0", TRUNCATIONS[how]), True)
    for how in ("a link outside", "a link to itself", "a pipe", "a pickle", "a terabyte"):
        yield Case("group", f"chunk {how}", FILES[how]("w/c/0/0"), True)
    for codec in ("zstd", "blosc", "gzip"):
        yield Case(
            "group", f"bomb {codec}", bomb("group", codec, lambda codec=codec: bomb_of(codec)), True
        )
    for codec in BOMBS:
        yield Case(
            "group2",
            f"bomb {codec}",
            bomb("group2", codec, lambda codec=codec: bomb_of(codec)),
            True,
        )
    for name, before in ZSTD_BEFORE.items():
        hidden = bomb("group", "zstd", lambda before=before: before + ZSTD_RUNS)
        yield Case("group", f"bomb zstd {name}", hidden, True)
    yield Case("group", "bomb in a shard", sharded_bomb, True)
    yield Case("group", "shard of noise", sharded(lambda data: bytes(range(200))), True)
    yield Case("group", "shard cut off", sharded(lambda data: data[:-9]), True)
    yield Case("group", "shard of a terabyte", sharded(lambda data: data, 3 * 10**11))
