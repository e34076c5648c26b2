"""The Zarr store keeps the contract on any Zarr store, and survives what interrupts it."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, StorePath
from zarr.storage import MemoryStore as ZarrMemoryStore

from daskvars import config
from daskvars.errors import AlreadyExistsError, CorruptChunkError, InvalidArgumentError, StoreError
from daskvars.state import ZarrStore, write_chunk
from tests.state.samples import variable
from tests.state.store_contract import StoreContract, put


class PlainStore(LocalStore):
    """A local store that is driven through Zarr's own verbs, as a remote one is."""


class TestOnDisk(StoreContract):
    @pytest.fixture
    def store(self, tmp_path) -> ZarrStore:
        return ZarrStore(tmp_path / "store")

    def reopened(self, store: ZarrStore) -> ZarrStore:
        return ZarrStore(store.storage)


class TestInZarrMemory(StoreContract):
    @pytest.fixture
    def store(self) -> ZarrStore:
        return ZarrStore(StorePath(ZarrMemoryStore(), "runs/first"))

    def reopened(self, store: ZarrStore) -> ZarrStore:
        return ZarrStore(StorePath(store.storage, store.path))


class TestThroughZarrsVerbs(TestOnDisk):
    @pytest.fixture
    def store(self, tmp_path) -> ZarrStore:
        return ZarrStore(PlainStore(tmp_path / "store"))


def test_any_zarr_tool_reads_the_head(tmp_path) -> None:
    put(ZarrStore(tmp_path), 7, w=np.arange(3))
    group = zarr.open_group(tmp_path, mode="r")
    assert group.attrs["daskvars_store"]["head"] == 7
    assert group["v7/w"][:].tolist() == [0, 1, 2]


def test_a_crash_before_the_head_is_named_loses_nothing(tmp_path) -> None:
    store = ZarrStore(tmp_path)
    put(store, 1, w=np.zeros(2))
    before = (tmp_path / "zarr.json").read_text()
    put(store, 2, w=np.ones(2))
    (tmp_path / "zarr.json").write_text(before)
    assert ZarrStore(tmp_path).head().version == 2
    (tmp_path / "zarr.json").unlink()
    assert ZarrStore(tmp_path).head().version == 2


def test_an_interrupted_version_is_never_read_and_goes_with_the_next(tmp_path) -> None:
    store = ZarrStore(tmp_path)
    put(store, 1, w=np.zeros(2))
    record, blocks = variable("w", np.ones(2))
    store.begin([record], 2).write_values({"w": blocks})
    (tmp_path / "v2" / "w" / "c.0.0123456789abcdef0123456789abcdef.partial").touch()
    again = ZarrStore(tmp_path)
    assert again.snapshots() == (1,)
    assert again.head().version == 1
    put(again, 3, w=np.ones(2))
    assert sorted(os.listdir(tmp_path)) == ["lock", "v1", "v3", "zarr.json"]


@pytest.mark.parametrize("asked", [False, True])
def test_a_commit_is_on_the_disk_before_it_is_the_head_if_asked(
    tmp_path, monkeypatch, asked
) -> None:
    synced, seen = set(), []
    monkeypatch.setattr(os, "fsync", lambda file: synced.add(os.readlink(f"/proc/self/fd/{file}")))

    def replace(source, target, move=os.replace) -> None:
        if str(target) == f"{tmp_path}/v1/zarr.json":
            seen.append(set(synced))
        move(source, target)

    record, blocks = variable("a/w", np.zeros(4), ((2, 2),))
    with config.set(fsync_seals=asked):
        writer = ZarrStore(tmp_path).begin([record], 1)
        writer.write_values({"a/w": blocks})
        monkeypatch.setattr(os, "replace", replace)
        writer.commit()
    wanted = {f"{tmp_path}/{name}" for name in ("v1/a/w/c.0", "v1/a/w/c.1", "v1/a/w/zarr.json")}
    assert seen[0].issuperset({*wanted, f"{tmp_path}/v1/a/w", f"{tmp_path}/v1"}) == asked
    assert any(name.endswith(".partial") for name in seen[0]) == asked
    assert (f"{tmp_path}/v1/zarr.json" in synced) == asked
    assert bool(synced) == asked


def test_what_a_power_cut_leaves_of_an_interrupted_version_is_passed_over(tmp_path) -> None:
    store = ZarrStore(tmp_path)
    put(store, 1, w=np.zeros(2))
    store.begin([variable("w", np.ones(2))[0]], 2)
    (tmp_path / "v2/zarr.json").write_bytes(b"")
    assert ZarrStore(tmp_path).head().version == 1
    put(ZarrStore(tmp_path), 3, w=np.zeros(2))
    assert ZarrStore(tmp_path).snapshots() == (1, 3)


def test_two_clients_cannot_commit_over_one_another(tmp_path) -> None:
    first, second = ZarrStore(tmp_path), ZarrStore(tmp_path)
    put(first, 1, w=np.zeros(2))
    put(second, 2, w=np.ones(2))
    assert first.head().version == 2
    assert first.read_chunk("w", 2, (0,)).tolist() == [1, 1]


def test_a_store_and_a_record_travel_to_other_processes(tmp_path) -> None:
    store = ZarrStore(tmp_path)
    record, blocks = variable("w", np.arange(4.0), ((2, 2),))
    writer = store.begin([record], 1)
    parcel = pickle.dumps((store.storage, writer.path, writer.records["w"]))
    digests = {i: write_chunk(*pickle.loads(parcel), i, block) for i, block in blocks.items()}
    writer.commit({"w": digests})
    travelled = pickle.loads(pickle.dumps(store))
    assert travelled.read_chunk("w", 1, (1,)).tolist() == [2, 3]


def test_carried_chunks_take_no_room(tmp_path) -> None:
    store = ZarrStore(tmp_path)
    put(store, 1, w=np.arange(4.0))
    writer = store.begin([variable("w", np.zeros(4))[0]], 2)
    assert writer.carry("w")
    writer.commit()
    assert os.stat(tmp_path / "v2/w/c.0").st_nlink == 2


def test_a_lost_chunk_is_not_carried(tmp_path) -> None:
    store = ZarrStore(tmp_path)
    put(store, 1, w=np.arange(4.0))
    os.unlink(tmp_path / "v1/w/c.0")
    with pytest.raises(CorruptChunkError, match=r"\(0,\).*'w'.*missing"):
        store.begin([variable("w", np.zeros(4))[0]], 2).carry("w")


def test_other_peoples_groups_are_left_alone(tmp_path) -> None:
    zarr.open_group(tmp_path, mode="w")
    with pytest.raises(AlreadyExistsError, match="no store of daskvars"):
        ZarrStore(tmp_path).begin([], 1)


def test_a_damaged_root_is_named(tmp_path) -> None:
    put(ZarrStore(tmp_path), 1, w=np.zeros(2))
    for attributes in ({"format": 9, "head": 1}, {"format": 1, "head": "1"}, {"format": 1}, 7):
        document = {"zarr_format": 3, "attributes": {"daskvars_store": attributes}}
        (tmp_path / "zarr.json").write_text(json.dumps(document))
        with pytest.raises(StoreError, match=r"format 9|'head' is|object belongs"):
            ZarrStore(tmp_path).begin([], 2)


def test_arguments_are_checked(tmp_path) -> None:
    with pytest.raises(InvalidArgumentError, match="keep=0"):
        ZarrStore(tmp_path, keep=0)
    with pytest.raises(InvalidArgumentError, match="mode 'w'"):
        ZarrStore(tmp_path, mode="w")
    with pytest.raises(InvalidArgumentError, match="int"):
        ZarrStore(7)
    with pytest.raises(StoreError, match="reading only"):
        ZarrStore(LocalStore(tmp_path, read_only=True))
