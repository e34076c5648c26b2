"""Restoring is strict, says everything at once, and reads any chunking into any layout."""

from __future__ import annotations

import json
import os
import shutil
import threading

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings, strategies as st
from zarr.storage import LocalStore, MemoryStore as ZarrMemoryStore, StorePath

import daskvars.v1 as tf
from daskvars.dtypes import as_dtype
from daskvars.errors import CorruptChunkError, NotFoundError, RestoreError, StoreError
from daskvars.state import (
    VariableRecord,
    checkpoint,
    list_variables,
    load_variable,
    open_zarr_store,
    restore,
    save,
)
from daskvars.state.tensor_slices import restore_tensors
from tests.state.samples import DTYPES, LAYOUTS, assert_same, cut, joined, sample, variable


def model(num_layers: int) -> dict:
    """Give the variables of a model, with one slot each."""
    keys = [f"layer{i}/kernel" for i in range(num_layers)]
    values = {key: variable(key, np.full((4, 2), i, "f4")) for i, key in enumerate(keys)}
    slots = {f"{key}/Adam": variable(f"{key}/Adam", np.full((4, 2), -1, "f4")) for key in keys}
    return {**values, **slots}


def wanted(values: dict) -> dict:
    """Give what a model of the same variables wants."""
    return {key: (r.dtype, r.shape, r.chunks) for key, (r, _) in values.items()}


def test_a_restored_model_is_the_saved_one(tmp_path) -> None:
    values = model(12)
    save(values, tmp_path / "model-1", global_step=1)
    found = restore(tmp_path / "model-1", wanted(values))
    assert list(found) == list(values)
    for key, (_, blocks) in values.items():
        assert_same(found[key][0, 0], blocks[0, 0])


class Late(dict):
    """Blocks that come when they may."""

    def __init__(self, blocks) -> None:
        super().__init__(blocks)
        self.asked, self.may_come = threading.Event(), threading.Event()

    def get(self, index):
        self.asked.set()
        assert self.may_come.wait(30)
        return super().get(index)


@pytest.mark.skipif(os.name == "nt", reason="directories have no locks there")
def test_who_saves_at_a_path_waits_for_others_that_do(tmp_path) -> None:
    record, blocks = variable("v", np.array(1.0))
    late = Late(blocks)
    first = threading.Thread(target=save, args=({"v": (record, late)}, tmp_path))
    second = threading.Thread(target=save, args=({"v": variable("v", np.array(2.0))}, tmp_path))
    first.start()
    assert late.asked.wait(30)
    second.start()
    second.join(0.03)
    assert second.is_alive()
    late.may_come.set()
    first.join()
    second.join()
    assert load_variable(tmp_path, "v") == 2


def test_one_error_lists_all_that_a_larger_model_misses(tmp_path) -> None:
    save(model(12), tmp_path)
    with pytest.raises(RestoreError) as caught:
        restore(tmp_path, wanted(model(16)))
    missing = {f"layer{i}/kernel" for i in range(12, 16)}
    assert set(caught.value.missing) == missing | {f"{key}/Adam" for key in missing}
    assert isinstance(caught.value, NotFoundError)
    assert all(key in str(caught.value) for key in missing)


def test_one_error_lists_every_kind_of_difference(tmp_path) -> None:
    save({k: variable(k, np.zeros((2, 3), "f4")) for k in ("kernel", "b", "d", "extra")}, tmp_path)
    asked = {
        "kernal": ("float32", (2, 3), ((2,), (3,))),
        "b": (as_dtype("float32"), (3, 2), ((3,), (2,))),
        "d": (as_dtype("int32")._as_ref, (2, 3), ((2,), (3,))),
    }
    with pytest.raises(RestoreError) as caught:
        restore(tmp_path, asked)
    error = caught.value
    assert error.missing == ("kernal",)
    assert error.unexpected == ("extra", "kernel")
    assert error.shapes == (("b", (3, 2), (2, 3)),)
    assert error.dtypes == (("d", "int32", "float32"),)
    assert "kernel" in str(error)
    assert str(tmp_path) in str(error)
    with pytest.raises(RestoreError) as caught:
        restore(tmp_path, asked, allow_unexpected=True)
    assert caught.value.unexpected == ("extra", "kernel"), "listed where anything else is wrong"


def test_a_name_map_renames_and_shares(tmp_path) -> None:
    save({"old/w": variable("old/w", np.arange(4.0), ((2, 2),))}, tmp_path)
    asked = {"w": ("float64", (4,), ((4,),)), "average": ("float64", (4,), ((3, 1),))}
    found = restore(tmp_path, asked, {"w": "old/w", "average": "old/w"})
    assert found["w"][0,].tolist() == [0, 1, 2, 3]
    assert found["average"][1,].tolist() == [3]
    with pytest.raises(RestoreError, match="average"):
        restore(tmp_path, asked, {"w": "old/w"})


def test_part_of_a_checkpoint_is_read_when_asked_for(tmp_path) -> None:
    save(model(3), tmp_path)
    asked = {"layer1/kernel": ("float32", (4, 2), ((4,), (2,)))}
    with pytest.raises(RestoreError, match="5 unexpected"):
        restore(tmp_path, asked)
    assert list(restore(tmp_path, asked, allow_unexpected=True)) == ["layer1/kernel"]


AXIS = st.lists(st.integers(0, 5), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(AXIS, min_size=1, max_size=3), st.data(), st.sampled_from(["f4", "i8", "O"]))
def test_any_layout_is_restored_into_any_other(axes: list, data: st.DataObject, kind: str) -> None:
    written = tuple(map(tuple, axes))
    shape = tuple(sum(sizes) for sizes in written)
    read = []
    for size in shape:
        cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=4)))
        read.append(tuple(b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)))
    array = sample(as_dtype(np.dtype(kind)).name, shape)
    store = ZarrMemoryStore()
    save({"w": variable("w", array, written)}, store)
    name = as_dtype(array.dtype).name
    found = restore(store, {"w": (name, shape, tuple(read))})["w"]
    assert_same(joined(found, tuple(read)), array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_restored_into_another_layout(tmp_path, dtype: str) -> None:
    array = sample(dtype, (6, 5))
    save({"w": variable("w", array, ((2, 2, 2), (5,)), dtype)}, tmp_path)
    layout = ((1, 3, 2), (2, 3))
    found = restore(tmp_path, {"w": (dtype, (6, 5), layout)})
    for index, block in cut(array, layout).items():
        assert_same(found["w"][index], np.ascontiguousarray(block))
    assert_same(load_variable(tmp_path, "w"), array)


@pytest.mark.parametrize("chunks", LAYOUTS, ids=str)
def test_restored_blocks_can_be_written_into(tmp_path, chunks) -> None:
    array = sample("float32", tuple(sum(sizes) for sizes in chunks))
    save({"w": variable("w", array, chunks)}, tmp_path)
    for block in restore(tmp_path, {"w": ("float32", array.shape, chunks)})["w"].values():
        assert block.flags.writeable
        assert block.flags.c_contiguous


def test_a_copied_or_moved_checkpoint_is_valid(tmp_path) -> None:
    values = model(2)
    save(values, tmp_path / "a")
    save(values, tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    shutil.rmtree(tmp_path / "a")
    restore(tmp_path / "b", wanted(values))
    save(model(1), tmp_path / "b")
    restore(tmp_path / "b", wanted(model(1)))


def test_checkpoints_live_wherever_zarr_does(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = model(1)
    memory = ZarrMemoryStore()
    for where in [
        "ckpt/model-1000",
        f"file://{tmp_path}/url",
        LocalStore(tmp_path / "store"),
        StorePath(memory, "runs/model-1"),
        StorePath(memory, "runs/model-2"),
        "memory://bucket/model",
    ]:
        save(values, where, global_step=1000)
        save(values, where, global_step=1001)
        restore(where, wanted(values))
        assert list_variables(where) == sorted((k, (4, 2)) for k in values)
    assert (tmp_path / "ckpt/model-1000/zarr.json").exists()
    assert (tmp_path / "url/zarr.json").exists()


def test_what_is_not_there_is_said(tmp_path) -> None:
    for where in (tmp_path / "nothing", tmp_path, ZarrMemoryStore()):
        with pytest.raises(NotFoundError, match=r"no directory|no Zarr group"):
            restore(where, {})
    with pytest.raises(StoreError, match="nosuchscheme"):
        open_zarr_store("nosuchscheme://bucket/x")
    save(model(1), tmp_path)
    with pytest.raises(NotFoundError, match="layer0/kernel"):
        load_variable(tmp_path, "layer0/kernal")


def foreign_group(store, zarr_format: int) -> None:
    """Write a group as another program might, compressed and with a hole."""
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    array = group.create_array("enc/w", shape=(5, 4), chunks=(2, 3), dtype="f4", fill_value=3)
    array[:4] = np.arange(16, dtype="f4").reshape(4, 4)
    group.create_array("step", shape=(), dtype="i8")[...] = 7


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_any_zarr_group_can_be_restored(tmp_path, zarr_format: int) -> None:
    foreign_group(tmp_path, zarr_format)
    assert list_variables(tmp_path) == [("enc/w", (5, 4)), ("step", ())]
    asked = {"w": ("float32", (5, 4), ((5,), (1, 3))), "step": ("int64", (), ())}
    found = restore(tmp_path, asked, {"w": "enc/w"})
    assert found["w"][0, 0].tolist() == [[0], [4], [8], [12], [3]]
    assert found["step"][()] == 7
    assert load_variable(tmp_path, "enc/w")[4].tolist() == [3, 3, 3, 3]
    with pytest.raises(RestoreError, match="wanted int32, stored float32"):
        restore(tmp_path, {**asked, "w": ("int32", (5, 4), ((5,), (4,)))}, {"w": "enc/w"})


def test_sharded_arrays_and_text_of_others_can_be_restored(tmp_path) -> None:
    group = zarr.open_group(tmp_path, mode="w")
    sharded = group.create_array("s", shape=(8,), chunks=(2,), shards=(4,), dtype="i4")
    sharded[:] = np.arange(8)
    group.create_array("t", shape=(2,), dtype="str")[:] = np.array(["ä", "b"])
    group.create_array("date", shape=(2,), dtype="datetime64[s]")
    assert list_variables(tmp_path) == [("s", (8,)), ("t", (2,))]
    assert load_variable(tmp_path, "s").tolist() == list(range(8))
    assert load_variable(tmp_path, "t").tolist() == ["ä".encode(), b"b"]


def test_a_damaged_foreign_chunk_is_named(tmp_path) -> None:
    foreign_group(tmp_path, 3)
    chunk = tmp_path / "enc/w/c/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    with pytest.raises(CorruptChunkError, match=r"\(0, 0\).*enc/w"):
        load_variable(tmp_path, "enc/w")


def test_a_reader_whose_checkpoint_is_overwritten_reads_the_new_one(tmp_path, monkeypatch) -> None:
    save({"w": variable("w", np.zeros(4))}, tmp_path)
    original, overwritten = checkpoint.read_chunk, []

    def read_chunk(*arguments):
        if not overwritten:
            overwritten.append(save({"w": variable("w", np.ones(4))}, tmp_path))
        return original(*arguments)

    layout = {"w": ("float64", (4,), ((4,),))}
    as_op = {
        "tensor_names": ["w"],
        "shape_and_slices": [""],
        "dtypes": ["float64"],
        "shapes": [(4,)],
    }
    monkeypatch.setattr(checkpoint, "read_chunk", read_chunk)
    for read in (
        lambda: restore(tmp_path, layout)["w"][0,],
        lambda: load_variable(tmp_path, "w"),
        lambda: tf.train.load_variable(tmp_path, "w"),
        lambda: restore_tensors(np, str(tmp_path), **as_op)[0],
    ):
        overwritten.clear()
        assert read().tolist() == [1, 1, 1, 1]
        assert overwritten


def test_a_record_keeps_what_a_variable_is(tmp_path) -> None:
    record = VariableRecord("w", "float32", (2,), ((1, 1),), False, ("LOCAL",), "/gpu:0")
    manifest = save({"w": (record, cut(np.float32([1, 2]), record.chunks))}, tmp_path)
    found = manifest.record("w")
    assert (found.trainable, found.collections, found.device) == (False, ("LOCAL",), "/gpu:0")
    assert found.chunks == ((1, 1),)


class CountingStore(LocalStore):
    """Counts what is asked of it."""

    num_requests = 0

    async def get(self, *arguments, **options):
        self.num_requests += 1
        return await super().get(*arguments, **options)

    def list_dir(self, prefix):
        self.num_requests += 1
        return super().list_dir(prefix)

    def list_prefix(self, prefix):
        self.num_requests += 1
        return super().list_prefix(prefix)


def test_a_thousand_variables_are_listed_by_reading_one_document(tmp_path) -> None:
    scalar = np.float32(1)
    names = [f"scope{n // 10}/v{n}" for n in range(1_000)]
    save({name: variable(name, np.array(scalar)) for name in names}, tmp_path)
    document = json.loads((tmp_path / "zarr.json").read_text())
    assert "consolidated_metadata" not in document
    store = CountingStore(tmp_path, read_only=True)
    assert len(list_variables(store)) == 1_000
    assert store.num_requests <= 3
