"""The Zarr store keeps the contract on any Zarr store, and survives what interrupts it."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore as ZarrMemoryStore, StorePath

from daskvars import config
from daskvars.errors import (
    AlreadyExistsError,
    CorruptChunkError,
    InvalidArgumentError,
    NotFoundError,
    StoreError,
)
from daskvars.state import (
    ConflictError,
    ZarrStore,
    is_announced,
    is_complete,
    list_variables,
    load_variable,
    write_chunk,
)
from daskvars.state.failures import RefusedError
from daskvars.state.stores import disk, zarr_store
from tests.state.samples import contents, variable
from tests.state.stores.store_contract import StoreContract, put


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


def test_a_version_that_is_cleared_away_amid_a_write_has_lost_the_race(tmp_path) -> None:
    class Refusing(PlainStore):
        async def set(self, key: str, value: Any) -> None:
            if key.endswith("c.0") and refuses:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            await super().set(key, value)

    refuses: list[bool] = []
    store = ZarrStore(Refusing(tmp_path))
    put(store, 1, n=np.zeros(1))
    slow = store.begin([variable("n", np.ones(1))[0]], base=store.head().id)
    refuses.append(True)
    with pytest.raises(StoreError, match=r"cannot write .v2/n/c\.0. in .*: No such file"):
        slow.write_chunk("n", (0,), np.ones(1))
    refuses.clear()
    put(store, 3, n=np.full(1, 3.0))
    refuses.append(True)
    with pytest.raises(ConflictError, match="version 1"):
        slow.write_chunk("n", (0,), np.ones(1))


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


@pytest.mark.parametrize(("asked", "is_scratch"), [(False, False), (True, False), (True, True)])
def test_a_commit_is_on_the_disk_before_it_is_the_head_if_asked(
    tmp_path, monkeypatch, asked, is_scratch
) -> None:
    synced, seen = set(), []
    monkeypatch.setattr(os, "fsync", lambda file: synced.add(os.readlink(f"/proc/self/fd/{file}")))

    def replace(source, target, move=os.replace) -> None:
        if str(target) == f"{tmp_path}/v1/zarr.json":
            seen.append(set(synced))
        move(source, target)

    record, blocks = variable("a/w", np.zeros(4), ((2, 2),))
    with config.set(fsync_seals=asked):
        writer = ZarrStore(tmp_path, is_scratch=is_scratch).begin([record], 1)
        writer.write_values({"a/w": blocks})
        monkeypatch.setattr(os, "replace", replace)
        writer.commit()
    asked &= not is_scratch
    wanted = {f"{tmp_path}/{name}" for name in ("v1/a/w/c.0", "v1/a/w/c.1", "v1/a/w/zarr.json")}
    assert seen[0].issuperset({*wanted, f"{tmp_path}/v1/a/w", f"{tmp_path}/v1"}) == asked
    assert any(name.endswith(".partial") for name in seen[0]) == asked
    assert (f"{tmp_path}/v1/zarr.json" in synced) == asked
    assert bool(synced) == asked


def test_a_commit_whose_last_flush_fails_is_no_lost_race(tmp_path, monkeypatch) -> None:
    def flush(storage, names) -> None:
        if list(names) == ["v1/zarr.json"]:
            raise StoreError.saying("cannot flush")

    monkeypatch.setattr(zarr_store, "flush", flush)
    store = ZarrStore(tmp_path)
    with pytest.raises(StoreError, match="cannot flush"):
        put(store, 1, w=np.zeros(2))
    assert store.head().version == 1


def test_a_head_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch) -> None:
    put(ZarrStore(tmp_path), 1, w=np.zeros(2))
    why = PermissionError(13, "Permission denied")
    monkeypatch.setattr(disk, "open_plain", Mock(side_effect=why))
    with pytest.raises(RefusedError, match=r"cannot read .*/zarr.json': Permission denied$"):
        ZarrStore(tmp_path).newest()


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


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_other_peoples_groups_are_left_alone(tmp_path, zarr_format) -> None:
    zarr.open_group(tmp_path, mode="w", zarr_format=zarr_format)
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


def three_versions(place) -> ZarrStore:
    """Give a store that keeps versions 1 to 3, one with a chunk that all share."""
    store = ZarrStore(place, keep=5)
    for version in 1, 2, 3:
        frozen, w = variable("frozen", np.arange(4.0)), variable("w", np.full(2, version))
        writer = store.begin([frozen[0], w[0]], version)
        carried = writer.carry("frozen")
        writer.write_values({"w": w[1]} if carried else {"w": w[1], "frozen": frozen[1]})
        writer.commit()
    return store


DAMAGES = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "of another kind": lambda path: path.write_text('{"zarr_format":3,"node_type":"group"}'),
    "an announcement": lambda path: path.write_text(
        path.read_text().replace('"complete":true', '"complete":false')
    ),
    "of another version": lambda path: path.write_text(
        path.read_text().replace('"version":3', '"version":4')
    ),
    "gone with its chunks": lambda path: shutil.rmtree(path.parent),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_head_whose_manifest_is_damaged_is_an_error_until_somebody_goes_back(tmp_path, damage):
    place = tmp_path / "s.zarr"
    store = three_versions(place)
    base = store.head().id
    DAMAGES[damage](place / "v3" / "zarr.json")
    before = contents(place)
    says = r"version 3 is the head.*v3/zarr.json.*version 2, the newest.*daskvars restore-to .* 2"
    record = variable("w", np.zeros(2))[0]
    for call in (
        store.head,
        ZarrStore(place, "r").head,
        lambda: ZarrStore(place).begin([record]),
        lambda: store.begin([record], base=base),
        lambda: load_variable(place, "w"),
        lambda: list_variables(place),
    ):
        with pytest.raises(StoreError, match=says):
            call()
    assert contents(place) == before  # not a chunk of the damaged version was removed
    assert store.snapshots() == (1, 2)
    assert store.roll_back_to(2).version == 2
    for found in store, ZarrStore(place):
        assert found.head().version == 2
    assert load_variable(place, "w").tolist() == [2, 2]
    assert not (place / "v3").exists()
    with pytest.raises(ConflictError):
        store.begin([record], base=base)
    writer = store.begin([record], base=store.head().id)
    assert writer.version == 4  # no number is used twice


def test_a_damaged_version_before_the_head_stays_and_hinders_nobody(tmp_path):
    store = three_versions(tmp_path)
    (tmp_path / "v2" / "zarr.json").write_text("damaged")
    put(store, 4, w=np.ones(2))
    assert store.head().version == 4
    assert store.snapshots() == (1, 3, 4)
    assert (tmp_path / "v2" / "w" / "c.0").exists()


def test_going_back_removes_later_versions_if_the_wanted_one_is_whole(tmp_path):
    store = three_versions(tmp_path)
    (tmp_path / "v2" / "w" / "c.0").unlink()
    before = contents(tmp_path)
    with pytest.raises(CorruptChunkError, match="w"):
        store.roll_back_to(2)
    with pytest.raises(NotFoundError, match=r"no version 7; it has 1, 2, 3"):
        store.roll_back_to(7)
    assert contents(tmp_path) == before
    store.roll_back_to(1)
    assert ZarrStore(tmp_path).snapshots() == (1,)
    assert load_variable(tmp_path, "frozen").tolist() == [0, 1, 2, 3]
    (tmp_path / "zarr.json").write_text("damaged")
    store.roll_back_to(1)
    assert ZarrStore(tmp_path).head().version == 1


def test_nothing_is_made_where_there_is_no_store_to_go_back_in(tmp_path):
    with pytest.raises(NotFoundError):
        ZarrStore(tmp_path / "s.zarr").roll_back_to(1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["deleted", "emptied", "before its first version"])
def test_a_store_without_its_root_is_one_for_every_reader(tmp_path, damage, monkeypatch):
    if damage == "before its first version":  # killed between the first manifest and the root
        monkeypatch.setattr(ZarrStore, "publish", lambda *_: None)
        put(ZarrStore(tmp_path), 1, w=np.ones(2))
        monkeypatch.undo()
        assert (tmp_path / "zarr.json").exists()
    else:
        put(ZarrStore(tmp_path), 1, w=np.ones(2))
        DAMAGES[damage](tmp_path / "zarr.json")
    assert ZarrStore(tmp_path).head().version == 1
    assert load_variable(tmp_path, "w").tolist() == [1, 1]
    assert list_variables(tmp_path) == [("w", (2,))]
    assert is_complete(tmp_path)
    assert is_announced(tmp_path)
    put(ZarrStore(tmp_path), 2, w=np.zeros(2))
    assert zarr.open_group(tmp_path, mode="r").attrs["daskvars_store"]["head"] == 2


def test_a_drop_that_was_interrupted_leaves_a_head(tmp_path, monkeypatch):
    store = three_versions(tmp_path)
    monkeypatch.setattr(ZarrStore, "remove", lambda *_: None)
    store.drop(3)
    assert ZarrStore(tmp_path).head().version == 3
    monkeypatch.undo()
    store.drop(3)
    assert ZarrStore(tmp_path).head().version == 2
