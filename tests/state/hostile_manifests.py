"""Hostile and damaged checkpoints, session stores, and records of checkpoints."""

from __future__ import annotations

import pickle
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from daskvars.state.format.encoding import checksum
from daskvars.state.format.snapshot import ATTRIBUTE, CHECKSUM
from daskvars.state.stores.root import ATTRIBUTE as STORE_ATTRIBUTE
from tests.state.hostile_stores import (
    FILES,
    HUGE,
    Case,
    changed,
    document_cases,
    file_cases,
    flipped,
    json_edited,
    linked,
    replaced,
    set_field,
    shown,
)

# -- manifests ----------------------------------------------------------------------------------

MANIFEST_FIELDS: dict[str, list[Any]] = {
    "format": [2, "1", None, True, "<1e400>"],
    "version": ["1", 1.0, None, [1]],
    "complete": [False, 1, "true", None],
    "variables": [[], None, "w", {"": {}}, {"w": None}, {"w": []}],
    "pending": [["../x"], ["/etc"], ["%2E%2E/x"], [1], "x", None],
    "extra": [None, []],
    "token": [5, None],
    "writer": [None, {}],
    "global_step": ["3", 3.5, "<NaN>"],
}
RECORD_FIELDS: dict[str, list[Any]] = {
    "shape": [
        [HUGE, HUGE],
        [1 << 62, 4],
        [-6, 4],
        [6.0, 4],
        ["<NaN>", 4],
        ["<1e400>", 4],
        ["6", 4],
        [True, 4],
        None,
        "6",
        {},
        [[6], 4],
        ["<" + "9" * 4000 + ">"] * 2,
        [6, 4, 1],
        [1] * 65,
    ],
    "chunks": [
        [[HUGE] * 2, [4]],
        [[1 << 61] * 8, [4]],
        [[-3, 9], [4]],
        [[3.0, 3.0], [4]],
        [["3", 3], [4]],
        [[3, 3]],
        [[6], [4]],
        [[2, 4], [4]],
        [3, 4],
        "auto",
        None,
        [[3, 3], [4], []],
        [[True, 5], [4]],
        [["<" + "9" * 4000 + ">"] * 9, [4]],
    ],
    "digests": [[], [1], [1, 2, 3], ["1", 2], [1.5, 2], [-1, 2], [1 << 32, 2], None, {"0": 1}],
    "dtype": [
        "object",
        "O",
        "|O",
        "pickle",
        "<U4",
        "S8",
        "resource",
        "variant",
        "datetime64",
        "V8",
        "",
        4,
        None,
        ["f4"],
        "float64",
        "int32; import os",
    ],
    "path": [
        "../w",
        "../../etc/passwd",
        "/etc/passwd",
        "..%2Fw",
        "%2E%2E/w",
        "w\\..\\x",
        "w\0",
        "w/../w",
        "layer/k",
        "",
        7,
        None,
        "w%",
        "%FFw",
        "w" * 3000,
        "~/w",
    ],
    "naming": ["../x", "v3", "", 2, None],
    "trainable": [1, "yes", None],
    "collections": ["trainable", [1], None, {}],
    "device": [3, None, []],
}
KEYS = (
    *("../w", "/w", "w/", "a//w", ".", "..", "w/../../x", "a\\w", "", "w" * 2000, "\ud800", "w\0"),
    *("%2E%2E/w",),
)


def manifest_of(document: Any) -> Any:
    """Give the manifest in a document, without the checksum that would tell of any change."""
    document["attributes"][ATTRIBUTE].pop(CHECKSUM, None)
    return document["attributes"][ATTRIBUTE]


def renamed(key: str) -> Callable[[Any], None]:
    """Give the change of a variable's key."""

    def edit(document: Any) -> None:
        variables = manifest_of(document)["variables"]
        variables[key] = {**variables.pop("w"), "path": key}

    return edit


def repeated(data: bytes) -> bytes:
    """Give a document in which a variable is there twice."""
    return data.replace(b'"variables":{', b'"variables":{"w":{},', 1)


def missing(name: str, where: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Give the change of a field that is gone."""
    return lambda document: where(document).pop(name)


def manifest_cases(kind: str, name: str) -> Iterator[Case]:
    """Give what can be wrong with a manifest."""

    def record(document: Any) -> Any:
        return manifest_of(document)["variables"]["w"]

    edits: dict[str, Callable[[Any], Any]] = {}
    for where, fields in ((manifest_of, MANIFEST_FIELDS), (record, RECORD_FIELDS)):
        for field, values in fields.items():
            for value in values:
                edits[f"{field} {shown(value)}"] = set_field(where, field, value)
            if field not in ("global_step",):
                edits[f"no {field}"] = missing(field, where)
    edits |= {f"key {shown(key)}": renamed(key) for key in KEYS}
    edits |= {
        f"manifest is {value!r}": set_field(lambda d: d["attributes"], ATTRIBUTE, value)
        for value in (None, [], "x", 3)
    }
    edits["attributes is a list"] = set_field(lambda d: d, "attributes", [])
    for how, edit in edits.items():
        yield Case(kind, how, json_edited(name, edit), how == "dtype 'float64'")
    yield Case(kind, "a variable twice", changed(name, repeated))
    yield Case(kind, "a bracket lost", changed(name, lambda data: data.replace(b"]", b"", 1)))
    yield Case(kind, "a quote lost", changed(name, lambda data: data.replace(b'"', b"", 1)))
    yield Case(kind, "first bit", changed(name, flipped(0.0)))


# -- chunks -------------------------------------------------------------------------------------


def resealed(key: str, name: str, content: bytes) -> Callable[[Path], None]:
    """Give the damage of a chunk whose checksums are right all the same."""

    def damage(place: Path) -> None:
        digest = checksum(np.frombuffer(content, np.uint8))
        (place / name).write_bytes(content + digest.to_bytes(4, "little"))

        def edit(document: Any) -> None:
            manifest_of(document)["variables"][key]["digests"][0] = digest

        json_edited("zarr.json", edit)(place)

    return damage


def strings(*parts: Any) -> bytes:
    """Give the bytes of counts and lengths, as numbers, and of texts."""
    return b"".join(struct.pack("<I", p) if isinstance(p, int) else p for p in parts)


def chunk_cases(kind: str, root: str) -> Iterator[Case]:
    """Give what can be wrong with the chunks of a checkpoint."""
    for name in ("w/c.1.0", "b/c"):
        yield from file_cases(kind, root + name, name, True)
        for at in (0.0, 0.4, 0.8, 1.0):
            yield Case(kind, f"{name} bit at {at}", changed(root + name, flipped(at)), True)
    yield Case(kind, "chunk lost", lambda place: (place / root / "w/c.0.0").unlink(), True)
    yield Case(kind, "chunk too long", changed(f"{root}w/c.0.0", lambda data: data + b"x"), True)
    other = lambda place: shutil.copy(place / root / "w/c.1.0", place / root / "w/c.0.0")  # noqa: E731
    yield Case(kind, "chunk of another place", other, True)
    yield Case(kind, "a directory is a link outside", linked(f"{root}w", "outside"), True)
    yield Case(kind, "a scope is a link outside", linked(f"{root}layer", "outside"), True)
    yield Case(kind, "a directory is a link to itself", linked(f"{root}w", "w"), True)
    yield Case(kind, "a directory is a link upwards", linked(f"{root}layer", ".."), True)


STRINGS = {
    "too few strings": strings(2, 3, b"one", 3, b"two"),
    "too many strings": strings(1 << 31, 3, b"one", 3, b"two", 5, b"three"),
    "a string that is longer than all": strings(3, 1 << 31, b"one", 3, b"two", 5, b"three"),
    "something after the strings": strings(3, 3, b"one", 3, b"two", 5, b"three", b"x"),
    "strings cut off": strings(3, 3, b"one", 3, b"two"),
    "a pickle of strings": pickle.dumps(["one", "two", "three"]),
}


# -- stores of sessions, and records of checkpoints ---------------------------------------------

ROOT_FIELDS: dict[str, list[Any]] = {
    "format": [9, "1", None],
    "head": ["1", -7, 10**30, None, 1.5, 10**17],
    "last": ["1", -7, 10**30, None, "<NaN>"],
}


def store_cases() -> Iterator[Case]:
    """Give what can be wrong with a store of versions, beyond what can be with a checkpoint."""

    def root(document: Any) -> Any:
        return document["attributes"][STORE_ATTRIBUTE]

    for field, values in ROOT_FIELDS.items():
        for value in values:
            edit = set_field(root, field, value)
            yield Case("store", f"root {field} {shown(value)}", json_edited("zarr.json", edit))
    for case in file_cases("store", "zarr.json", "root", False):
        harmless = case.name in ("root empty", "root a directory")  # the versions are there
        yield replace(case, unseen=("session",) if harmless else ())
    yield Case(
        "store",
        "another node",
        replaced("zarr.json", b'{"zarr_format":3,"node_type":"group"}'),
        unseen=("list_variables", "inspect", "diff", "load_checkpoint", "verify"),  # a plain group
    )
    yield from manifest_cases("store", "v0/zarr.json")
    yield from chunk_cases("store", "v0/")
    yield Case("store", "a version of another number", lambda p: shutil.move(p / "v0", p / "v5"))
    yield Case("store", "a version is a link outside", linked("v0", "outside"))
    yield Case("store", "a version is a link to itself", linked("v0", "v0"))
    yield Case("store", "a newer version is damaged", replaced("v9/zarr.json", b"[]"))


RECORDS = {
    "garbage": b"\x80\x04\x95 garbage",
    "empty": b"",
    "a list": b"[]",
    "a wrong type": b"model_checkpoint_path: 3\n",
    "a method": b'model_checkpoint_path: "model"\n__class__: 3\n',
    "another field": b'model_checkpoint_path: "model"\nrun: "rm"\n',
    "no path": b'all_model_checkpoint_paths: "model"\n',
    "half a text": b'model_checkpoint_path: "model\n',
    "an address": b'model_checkpoint_path: "http://127.0.0.1:9/model"\n',
    "an address of old ones": b'model_checkpoint_path: "model"\nall_model_checkpoint_paths: "s3://x/y"\n',
}


def record_cases() -> Iterator[Case]:
    """Give what can be wrong with the record of the checkpoints in a directory."""
    for how, content in RECORDS.items():
        yield Case("record", how, replaced("checkpoint", content))
    for how in ("a link outside", "a link to itself", "a pipe", "a terabyte", "a pickle"):
        yield Case("record", how, FILES[how]("checkpoint"))


def checkpoint_cases() -> Iterator[Case]:
    """Give what can be wrong with a checkpoint."""
    yield from document_cases("checkpoint", "zarr.json", "the manifest")
    yield from manifest_cases("checkpoint", "zarr.json")
    yield from chunk_cases("checkpoint", "")
    for how, data in STRINGS.items():
        yield Case("checkpoint", how, resealed("s", "s/c.0", data), True)
