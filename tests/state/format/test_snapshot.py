"""Snapshots: what Zarr sees, what damage does, and that the manifest is the commit."""

from __future__ import annotations

import errno
import json
import os
import warnings
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest
import zarr
from zarr.core.array import Array
from zarr.storage import LocalStore, MemoryStore as ZarrMemoryStore

from daskvars.dtypes import as_dtype
from daskvars.errors import (
    AlreadyExistsError,
    CorruptChunkError,
    InvalidArgumentError,
    NotFoundError,
    StoreError,
)
from daskvars.shapes import block_indices
from daskvars.state import (
    ConflictError,
    SnapshotWriter,
    VariableRecord,
    delete_snapshot,
    list_snapshots,
    load_variable,
    open_zarr_store,
    read_chunk,
    read_manifest,
    restore,
    save,
    stored_chunks,
    write_chunk,
)
from daskvars.state.format import chunks as chunk_objects
from daskvars.state.stores import disk
from tests.state.samples import DTYPES, LAYOUTS, assert_same, sample, variable


def files(root: Path) -> set[str]:
    """List the files under a directory."""
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def plain_read(root: Path, path: str) -> np.ndarray:
    """Read an array with Zarr alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarr.errors.UnstableSpecificationWarning)
        return np.asarray(zarr.open_group(root, mode="r")[path][...])


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_zarr_reads_every_dtype(tmp_path, dtype: str) -> None:
    array = sample(dtype, (5, 3))
    save({"a/w": variable("a/w", array, ((2, 2, 1), (3,)), dtype)}, tmp_path)
    found = plain_read(tmp_path, "a/w")
    if dtype == "bfloat16":
        found = found.view(as_dtype(dtype).np)
    assert_same(found, array)


@pytest.mark.parametrize("chunks", LAYOUTS, ids=str)
def test_plain_zarr_reads_every_layout(tmp_path, chunks) -> None:
    array = sample("int64", tuple(sum(sizes) for sizes in chunks))
    for _ in range(2):  # the second save uses the other chunk names
        save({"w": variable("w", array, chunks)}, tmp_path)
        assert_same(plain_read(tmp_path, "w"), array)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "string"])
def test_the_documents_are_those_that_zarr_writes(tmp_path, dtype: str) -> None:
    record = VariableRecord("w", dtype, (5, 3), ((2, 2, 1), (3,)))
    save({"w": variable("w", sample(dtype, (5, 3)), record.chunks, dtype)}, tmp_path / "ours")
    ours = json.loads((tmp_path / "ours/w/zarr.json").read_text())
    wanted = zarr.create_array(
        tmp_path / "theirs",
        shape=(5, 3),
        chunks=(2, 3),
        dtype=ours["data_type"],
        compressors=[{"name": "crc32c"}],
        filters=None,
        fill_value=0,
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=["w[0]", "w[1]"],
        attributes={"daskvars": {"key": "w", "dtype": dtype}},
    )
    assert isinstance(wanted, Array)
    found = zarr.open_array(tmp_path / "ours/w", mode="r")
    assert found.metadata == wanted.metadata


def test_zarr_lists_the_scopes(tmp_path) -> None:
    names = ["w", "w/Adam", "block/1/b", "block/1/w", "top"]
    save({name: variable(name, np.zeros(2)) for name in names}, tmp_path)
    members = {name for name, _ in zarr.open_group(tmp_path).members(max_depth=None)}
    assert members == {"w", "w%2FAdam", "block", "block/1", "block/1/b", "block/1/w", "top"}


def test_files_are_one_per_chunk_and_one_per_node(tmp_path) -> None:
    save(
        {
            "a/w": variable("a/w", np.zeros((4, 4)), ((2, 2), (4,))),
            "a/s": variable("a/s", np.array(0.0)),
            "a/e": variable("a/e", np.zeros((0, 3))),
        },
        tmp_path,
    )
    assert files(tmp_path) == {
        *("zarr.json", "a/zarr.json", "a/w/zarr.json", "a/s/zarr.json", "a/e/zarr.json"),
        *("a/w/c.0.0", "a/w/c.1.0", "a/s/c"),
    }
    assert os.path.getsize(tmp_path / "a/w/c.0.0") == 2 * 4 * 8 + 4


DAMAGED = {
    "dense/kernel": variable("dense/kernel", sample("float32", (5, 4)), ((2, 2, 1), (2, 2))),
    "dense/bias": variable("dense/bias", np.zeros(4, np.float32)),
    "words": variable("words", sample("string", (3,)), ((2, 1),)),
    "step": variable("step", np.array(7)),
}
CHUNKS = [
    (key, index)
    for key, (record, _) in DAMAGED.items()
    for index in block_indices(stored_chunks(record.chunks))
]


def damage(path: Path, kind: str) -> None:
    """Damage a chunk's file."""
    content = bytearray(path.read_bytes())
    if kind == "deleted":
        path.unlink()
        return
    if kind == "truncated":
        del content[-1:]
    elif kind == "emptied":
        content.clear()
    elif kind == "extended":
        content.append(0)
    elif kind == "zeroed":
        content[:] = bytes(len(content))
    else:
        content[{"first": 0, "middle": len(content) // 2, "trailer": -1}[kind]] ^= 16
    path.write_bytes(content)


@pytest.mark.parametrize(
    "kind", ["deleted", "truncated", "emptied", "extended", "zeroed", "first", "middle", "trailer"]
)
def test_damage_to_any_chunk_is_an_error_that_names_it(tmp_path, kind: str) -> None:
    manifest = save(DAMAGED, tmp_path)
    wanted = {key: (r.dtype, r.shape, r.chunks) for key, (r, _) in DAMAGED.items()}
    store, _ = open_zarr_store(tmp_path, "r")
    for key, index in CHUNKS:
        record = manifest.record(key)
        path = tmp_path / key / ".".join(["c", *map(str, index)])
        good = path.read_bytes()
        damage(path, kind)
        for read in (
            lambda: restore(tmp_path, wanted),
            lambda r=record, i=index: read_chunk(store, "", r, i),
        ):
            with pytest.raises(CorruptChunkError) as caught:
                read()
            assert (caught.value.variable, caught.value.chunk) == (key, index)
            assert repr(key) in str(caught.value)
            assert str(tmp_path) in str(caught.value)
        path.write_bytes(good)
    restore(tmp_path, wanted)


def test_an_intact_chunk_of_another_save_is_not_taken_for_this_ones(tmp_path) -> None:
    save({"w": variable("w", np.zeros(4))}, tmp_path / "a")
    save({"w": variable("w", np.ones(4))}, tmp_path / "b")
    (tmp_path / "a/w/c.0").replace(tmp_path / "b/w/c.0")
    with pytest.raises(CorruptChunkError, match="checksum"):
        restore(tmp_path / "b", {"w": ("float64", (4,), ((4,),))})


def test_an_all_zero_variable_is_stored_and_restored(tmp_path) -> None:
    zeros = np.zeros((4, 4), np.float32)
    save({"w": variable("w", zeros, ((2, 2), (4,)))}, tmp_path)
    assert {"w/c.0.0", "w/c.1.0"} <= files(tmp_path)
    found = restore(tmp_path, {"w": ("float32", (4, 4), ((4,), (4,)))})
    assert_same(found["w"][0, 0], zeros)


def test_a_snapshot_is_read_when_complete_and_not_before(tmp_path) -> None:
    store = LocalStore(tmp_path)
    writer = SnapshotWriter(store, "a", 3)
    with pytest.raises(NotFoundError, match="no snapshot"):
        read_manifest(store, "a")
    writer.declare([VariableRecord("w", "float32", (2,), ((2,),))])
    digest = write_chunk(store, "a", writer.records["w"], (0,), np.float32([1, 2]))
    with pytest.raises(StoreError, match="never committed"):
        read_manifest(store, "a")
    assert list_snapshots(store) == []
    assert writer.commit({"w": {(0,): digest}}) == read_manifest(store, "a")
    assert list_snapshots(store) == ["a"]


def test_a_second_writer_ends_the_first(tmp_path) -> None:
    store = LocalStore(tmp_path)
    first, second = (SnapshotWriter(store, "", overwrite=True) for _ in range(2))
    for writer in (first, second):
        writer.declare([VariableRecord("w", "float32", (), ())])
        writer.write_chunk("w", (), np.float32(1))
    for end in (first.commit, first.abort):
        with pytest.raises(ConflictError, match="took over"):
            end()
    second.commit()
    with pytest.raises(ConflictError):
        first.commit()


def test_snapshots_are_listed_and_deleted_without_touching_anything_else(tmp_path) -> None:
    for step in (1, 2):
        values = {"scope/w": variable("scope/w", np.zeros(2)), "c": variable("c", np.array(1))}
        save(values, tmp_path / f"model-{step}")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "model-1/scope/notes.txt").write_text("mine")
    (tmp_path / "model-1/scope/w/notes.txt").write_text("mine")
    zarr.open_group(tmp_path / "other", mode="w").create_array("x", shape=(2,), dtype="i4")
    store = LocalStore(tmp_path)
    assert list_snapshots(store) == ["model-1", "model-2"]
    delete_snapshot(store, "model-1")
    assert list_snapshots(store) == ["model-2"]
    left = files(tmp_path)
    assert {"notes.txt", "model-1/scope/notes.txt", "model-1/scope/w/notes.txt"} <= left
    assert not any(name.startswith("model-1/") and "notes" not in name for name in left)
    delete_snapshot(store, "model-2")
    assert not (tmp_path / "model-2").exists()
    for path in ("model-2", "other"):
        with pytest.raises(NotFoundError):
            delete_snapshot(store, path)


def test_overwriting_removes_what_is_no_longer_there(tmp_path) -> None:
    for _ in range(3):
        save({k: variable(k, np.zeros(2)) for k in ("a/b", "a/b/Adam", "old/x", "c")}, tmp_path)
        (tmp_path / "old/x/notes.txt").write_text("mine")
        partial = "zarr.json.0123456789abcdef0123456789abcdef.partial"
        for scope in ("", "old/", "old/x/"):
            (tmp_path / f"{scope}{partial}").touch()
        save({k: variable(k, np.ones((2, 2))) for k in ("a", "b/c")}, tmp_path)
        found = {name.replace("0.0", "?").replace("c.?", "?") for name in files(tmp_path)}
        assert found == {
            *("zarr.json", "a/zarr.json", "a/?", "b/zarr.json", "b/c/zarr.json", "b/c/?"),
            "old/x/notes.txt",
        }
        assert plain_read(tmp_path, "b/c").tolist() == [[1, 1], [1, 1]]
        assert not (tmp_path / "a/b").exists()


def test_an_aborted_overwriting_leaves_exactly_what_was_there(tmp_path) -> None:
    save({"w": variable("w", np.arange(4.0))}, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    writer = SnapshotWriter(LocalStore(tmp_path), "", overwrite=True)
    writer.declare([variable(key, np.zeros(4))[0] for key in ("w", "new/x")])
    writer.write_chunk("w", (0,), np.ones(4))
    writer.write_chunk("new/x", (0,), np.ones(4))
    writer.abort()
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    good = variable("w", np.arange(4.0))
    save({"w": good}, tmp_path)
    bad = (VariableRecord("v", "float64", (3,), ((3,),)), {(0,): np.zeros(2)})
    with pytest.raises(InvalidArgumentError, match="'v'"):
        save({"w": variable("w", np.zeros(4)), "v": bad}, tmp_path)
    assert plain_read(tmp_path, "w").tolist() == [0, 1, 2, 3]
    assert files(tmp_path) == {"zarr.json", "w/zarr.json", "w/c.0"}
    with pytest.raises(InvalidArgumentError):
        save({"v": bad}, tmp_path / "fresh")
    assert not (tmp_path / "fresh").exists()
    full = OSError(errno.ENOSPC, "No space left on device")
    for before in [], [DEFAULT]:  # it refuses the announcement, or a chunk
        writes = Mock(wraps=disk.write_all, side_effect=[*before, full])
        monkeypatch.setattr(disk, "write_all", writes)
        with pytest.raises(StoreError, match="No space left"):
            save({"scope/w": variable("scope/w", np.arange(4.0))}, tmp_path / "fresh")
        assert not (tmp_path / "fresh").exists()
        monkeypatch.undo()


def test_what_is_not_to_be_overwritten_stays(tmp_path) -> None:
    save({"w": variable("w", np.zeros(2))}, tmp_path / "ours")
    with pytest.raises(AlreadyExistsError, match="allow overwriting"):
        save({"w": variable("w", np.ones(2))}, tmp_path / "ours", overwrite=False)
    zarr.open_group(tmp_path / "theirs", mode="w").create_array("w", shape=(2,), dtype="i4")
    for path in (tmp_path / "theirs", tmp_path / "theirs/w"):
        with pytest.raises(AlreadyExistsError, match="no snapshot"):
            save({"w": variable("w", np.ones(2))}, path)


def test_strings_must_be_bytes(tmp_path) -> None:
    text = np.array(["a", None], object)
    with pytest.raises(InvalidArgumentError, match="'a' is str, not bytes"):
        save({"w": (VariableRecord("w", "string", (2,), ((2,),)), {(0,): text})}, tmp_path)


def test_memory_order_and_byte_order_do_not_matter(tmp_path) -> None:
    array = sample("int32", (4, 6))
    blocks = {(0, 0): np.asfortranarray(array)[:, ::-1]}
    save({"w": (VariableRecord("w", "int32", (4, 6), ((4,), (6,))), blocks)}, tmp_path)
    assert_same(plain_read(tmp_path, "w"), np.ascontiguousarray(array[:, ::-1]))
    swapped = {(0, 0): array.astype(">i4")}
    with pytest.raises(InvalidArgumentError, match=">i4"):
        save({"w": (VariableRecord("w", "int32", (4, 6), ((4,), (6,))), swapped)}, tmp_path)


def test_a_store_in_memory_shares_nothing_with_its_users() -> None:
    store, array = ZarrMemoryStore(), np.zeros(4)
    manifest = save({"w": variable("w", array)}, store)
    array[:] = 1
    read_chunk(store, "", manifest.record("w"), (0,))[:] = 2
    assert read_chunk(store, "", manifest.record("w"), (0,)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("chunks", [((4, 3, 3),), ((1, 9),), ((2, 5, 2, 1),), ((5, 5),)])
def test_a_stored_chunk_has_one_writer_whatever_the_layout(monkeypatch, chunks) -> None:
    written, put = [], chunk_objects.put

    def noted(store, name, *rest):
        written.append(name)
        return put(store, name, *rest)

    monkeypatch.setattr(chunk_objects, "put", noted)
    storage, array = ZarrMemoryStore(), np.arange(10.0)
    save({"v": variable("v", array, chunks)}, storage)
    assert sorted(written) == sorted(set(written))
    np.testing.assert_array_equal(load_variable(storage, "v"), array)
