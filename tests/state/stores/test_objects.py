"""Objects are whole or absent, on a disk and in any other Zarr store."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from zarr.storage import LocalStore, MemoryStore as ZarrMemoryStore, ObjectStore

from daskvars.errors import StoreError
from daskvars.state import VariableRecord, ZarrStore, is_announced, is_complete, save
from daskvars.state.checkpoint import list_variables
from daskvars.state.stores import disk, objects


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


def test_an_object_store_out_of_reach_is_a_store_error_that_says_so() -> None:
    obstore = pytest.importorskip("obstore")
    remote = obstore.store.S3Store(
        "bucket",
        endpoint="http://127.0.0.1:9",  # nobody listens
        access_key_id="x",
        secret_access_key="y",
        region="z",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    store, root = ObjectStore(remote), VariableRecord("a", "float32", (1,), ((1,),))
    for call in (
        lambda: objects.put(store, "a", [b"x"]),
        lambda: objects.get(store, "a"),
        lambda: objects.get_range(store, "a", 0, 1),
        lambda: objects.object_size(store, "a"),
        lambda: objects.exists(store, "a"),
        lambda: objects.object_names(store, "a"),
        lambda: objects.delete(store, ["a"]),
        lambda: objects.delete_tree(store, "a"),
        lambda: objects.check_writable(store, "a"),
        lambda: ZarrStore(store).head(),
        lambda: ZarrStore(store).begin([root]),
        lambda: is_complete(store),
        lambda: is_announced(store),
        lambda: list_variables(store),
        lambda: save({"a": (root, {(0,): np.ones(1, "f4")})}, store),
    ):
        with pytest.raises(StoreError, match=r"^cannot .* in object_store://.*Check the") as raised:
            call()
        assert "Debug" not in str(raised.value)


def test_what_is_above_a_relative_directory_is_found() -> None:
    assert disk.existing_above("no/such:/folder") == os.getcwd()
