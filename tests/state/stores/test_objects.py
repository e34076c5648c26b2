"""Objects are whole or absent, on a disk and in any other Zarr store."""

from __future__ import annotations

import os
import threading
import time

import pytest
from zarr.storage import LocalStore, MemoryStore as ZarrMemoryStore

from daskvars.errors import StoreError
from daskvars.state.stores import objects


class PlainStore(LocalStore):
    """A local store that is driven through Zarr's own verbs."""


@pytest.fixture(params=[LocalStore, PlainStore, None])
def store(request, tmp_path):
    return request.param(tmp_path) if request.param else ZarrMemoryStore()


def test_what_is_put_can_be_had_copied_listed_and_deleted(store) -> None:
    objects.put(store, "a/b/c.0", [b"12", b"3"])
    objects.put(store, "a/b/c.0", [b"45", b"6"])
    objects.put(store, "a/b/deep/c.0", [b""])
    objects.put(store, "a/bc/c.0", [b"7"])
    assert objects.get(store, "a/b/c.0").tobytes() == b"456"
    assert objects.get(store, "a/b/deep/c.0").tobytes() == b""
    assert objects.copy(store, "a/b/c.0", "x/c.1")
    assert objects.get(store, "x/c.1").tobytes() == b"456"
    assert sorted(objects.child_names(store, "a")) == ["b", "bc"]
    assert objects.object_names(store, "a/b") == ["c.0"]
    assert objects.object_names(store, "") == []
    objects.delete(store, ["a/b/c.0", "a/b/c.0", "no/such"])
    assert objects.get(store, "a/b/c.0") is None
    objects.delete_tree(store, "a/b")
    assert objects.get(store, "a/b/deep/c.0") is None
    assert objects.get(store, "a/bc/c.0").tobytes() == b"7"


def test_what_is_not_there_is_none(store) -> None:
    objects.put(store, "a/b", [b"1"])
    for name in ("c", "a", "a/b/c", "a/c"):
        assert objects.get(store, name) is None
        assert not objects.copy(store, name, "target")
        assert objects.object_names(store, f"{name}/x") == []


def test_an_object_is_replaced_and_never_written_into(tmp_path) -> None:
    store = LocalStore(tmp_path)
    objects.put(store, "c.0", [b"old"])
    with open(tmp_path / "c.0", "rb") as reader:
        objects.put(store, "c.0", [b"new!"])
        assert reader.read() == b"old"
    assert os.listdir(tmp_path) == ["c.0"]


def test_deleting_leaves_no_empty_directories(tmp_path) -> None:
    store = LocalStore(tmp_path / "root")
    objects.put(store, "a/b/c.0", [b"1"])
    objects.put(store, "a/d/c.0", [b"1"])
    objects.delete(store, ["a/b/c.0"])
    assert os.listdir(tmp_path / "root/a") == ["d"]
    objects.delete(store, ["a/d/c.0"])
    assert os.listdir(tmp_path) == []


def test_refusals_of_the_disk_are_named(tmp_path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot write .*file/c\.0.*irectory"):
        objects.put(LocalStore(tmp_path), "file/c.0", [b"1"])
    with pytest.raises(StoreError, match="reading only"):
        objects.put(LocalStore(tmp_path, read_only=True), "c.0", [b"1"])


def test_many_are_done_in_order_of_their_results(store) -> None:
    assert objects.in_parallel(store, lambda i: i * i, range(100)) == [i * i for i in range(100)]
    assert objects.in_parallel(store, lambda i: i, []) == []


def test_slow_ones_are_done_by_several_threads(store) -> None:
    seen = set()

    def slow(_: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.01)

    objects.in_parallel(store, slow, range(10))
    assert len(seen) > 1


def test_an_error_ends_the_rest(store) -> None:
    calls = []

    def fail(i: int) -> None:
        calls.append(i)
        if i == 3:
            raise StoreError(None, None, "three")
        time.sleep(0.001)

    with pytest.raises(StoreError, match="three"):
        objects.in_parallel(store, fail, range(1000))
    assert len(calls) < 100
