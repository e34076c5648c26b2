"""A manifest says all, survives JSON, and is refused when anything in it does not fit."""

from __future__ import annotations

import copy
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st
from zarr.storage import MemoryStore as ZarrMemoryStore

from daskvars.errors import CorruptChunkError, InvalidArgumentError, StoreError
from daskvars.state import Manifest, VariableRecord, list_variables, load_variable, save
from daskvars.state.format.snapshot import ATTRIBUTE, CHECKSUM, manifest_text, parse_manifest
from tests.state.samples import variable


def good() -> dict:
    """Give the JSON of a manifest of one variable with two chunks."""
    record = VariableRecord(
        *("dense/w", "float32", (4, 2), ((2, 2), (2,)), False, ("LOCAL",), "/gpu:0"),
        *("dense/w", "v2", (1, 2**32 - 1)),
    )
    manifest = Manifest(3, {"dense/w": record}, 30, {"k": [1]}, True, "abc", ("old/x",), "def")
    return manifest.to_json()


def test_json_is_reversible() -> None:
    text = json.dumps(good())
    assert Manifest.from_json(json.loads(text)).to_json() == good()


def test_any_flipped_bit_is_noticed() -> None:
    manifest = Manifest.from_json(good())
    text = manifest_text(manifest).encode()
    for position in range(text.index(b"format", 20), len(text)):
        damaged = bytearray(text)
        damaged[position] ^= 1 << position % 7
        try:
            found = parse_manifest(json.loads(damaged), "here")
        except (StoreError, ValueError):
            continue
        assert found == manifest, damaged


def test_a_manifest_may_be_laid_out_otherwise_or_be_from_before_it_had_a_checksum() -> None:
    manifest = Manifest.from_json(good())
    document = json.loads(json.dumps(json.loads(manifest_text(manifest)), indent=2))
    assert parse_manifest(document, "here") == manifest
    del document["attributes"][ATTRIBUTE][CHECKSUM]
    assert parse_manifest(document, "here") == manifest


HUGE = 10**18
BAD = {
    "not an object": [],
    "format": {**good(), "format": 2},
    "format type": {**good(), "format": True},
    "no format": {k: v for k, v in good().items() if k != "format"},
    "version": {**good(), "version": "3"},
    "complete": {**good(), "complete": 1},
    "variables": {**good(), "variables": []},
    "global_step": {**good(), "global_step": 1.5},
    "extra": {**good(), "extra": None},
    "pending": {**good(), "pending": ["../x"]},
    "pending type": {**good(), "pending": [1]},
    "pending escapes": {**good(), "pending": ["%FF"]},
    "pending hidden": {**good(), "pending": ["a/%2E%2E/%2E%2E/x"]},
    "token": {**good(), "token": 5},
}
BAD_FIELDS = {
    "dtype": ["float33", "resource", 4, None, "object"],
    "shape": [[4], [4, -2], [4.0, 2], ["4", 2], "42", None, [HUGE, HUGE], [4, True], [5, 2]],
    "chunks": [[[2, 2]], [[2, 2], [3]], [2, 2], [[2, 2], [2.0]], [[2, -2, 4], [2]], {}],
    "digests": [[], [1], [1, 2, 3], [1, "2"], [1, 2.5], {"0": 1}],
    "path": [
        "",
        "../dense/w",
        "/dense/w",
        "dense//w",
        "dense/v",
        "%FF",
        3,
        "dense/../w",
        "dense/w\0",
        "d\u00e9",
    ],
    "naming": ["default/../..", "", None, "V2"],
    "trainable": [1, None, "true"],
    "collections": ["LOCAL", [1], None],
    "device": [None, 3],
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_manifest_is_refused(what: str) -> None:
    with pytest.raises(StoreError, match="ckpt: "):
        Manifest.from_json(BAD[what], "ckpt")


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field in BAD_FIELDS for value in BAD_FIELDS[field]]
)
def test_a_wrong_record_is_refused_by_name(field: str, value: object) -> None:
    data = copy.deepcopy(good())
    data["variables"]["dense/w"][field] = value
    with pytest.raises(StoreError, match="ckpt: variable 'dense/w'"):
        Manifest.from_json(data, "ckpt")


@pytest.mark.parametrize("key", ["../x", "", "a//b", "/etc/x", "a/..", "x" * 2000, "\ud800"])
def test_a_wrong_key_is_refused(key: str) -> None:
    data = good()
    data["variables"] = {key: {**data["variables"]["dense/w"], "path": key}}
    with pytest.raises(StoreError):
        Manifest.from_json(data, "ckpt")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.sampled_from([*good(), *good()["variables"]["dense/w"]]), JSON)
def test_any_replaced_field_is_fine_or_a_store_error(field: str, value: object) -> None:
    data = copy.deepcopy(good())
    place = data if field in data else data["variables"]["dense/w"]
    place[field] = value
    try:
        Manifest.from_json(data, "ckpt")
    except StoreError as error:
        assert "ckpt" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"attributes": []}',
        b"[" * 100_000,
        b'{"attributes": {"daskvars_snapshot": ' + b"1" * 10_000 + b"}}",
        b'{"attributes": {"daskvars_snapshot": "__import__(\'os\')"}}',
    ],
)
def test_a_damaged_document_is_a_store_error(tmp_path, text: bytes) -> None:
    save({"w": variable("w", np.zeros(2))}, tmp_path)
    (tmp_path / "zarr.json").write_bytes(text)
    with pytest.raises(StoreError, match=r"zarr\.json|object belongs"):
        list_variables(tmp_path)


@pytest.mark.parametrize("layout", [[HUGE // 4], [1, HUGE // 4 - 1], [2**40, 2**40, 7]])
def test_a_size_that_no_object_has_is_never_allocated(layout: list[int]) -> None:
    store = ZarrMemoryStore()
    save({"w": variable("w", np.zeros(2, np.float32))}, store)
    document = json.loads(store._store_dict["zarr.json"].to_bytes())
    del document["attributes"][ATTRIBUTE][CHECKSUM]
    record = document["attributes"][ATTRIBUTE]["variables"]["w"]
    record["shape"], record["chunks"] = [sum(layout)], [layout]
    record["digests"] = record["digests"] * max(1, len(layout))
    buffer = type(store._store_dict["zarr.json"])
    store._store_dict["zarr.json"] = buffer.from_bytes(json.dumps(document).encode())
    tracemalloc.start()
    with pytest.raises(CorruptChunkError, match=r"'w'.* (has 12 bytes|is missing)"):
        load_variable(store, "w")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_record_that_contradicts_itself_is_refused() -> None:
    for fields in [
        {"shape": (3,)},
        {"chunks": ((2, 2), (1,))},
        {"dtype": "variant"},
        {"path": "v"},
        {"naming": "x"},
        {"digests": (1,)},
        {"key": "a//b"},
    ]:
        whole = {"key": "w", "dtype": "int8", "shape": (4,), "chunks": ((2, 2),), **fields}
        with pytest.raises(InvalidArgumentError):
            VariableRecord(**whole)


def test_sizes_in_bytes() -> None:
    for dtype, nbytes in [("float32", 24), ("bfloat16", 12), ("string", 48), ("qint8", 6)]:
        assert VariableRecord("w", dtype, (2, 3), ((2,), (3,))).nbytes == nbytes
