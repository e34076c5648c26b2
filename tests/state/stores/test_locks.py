"""The lock of a place: one process, one thread at a time, free again when its holder dies."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading

import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore as ZarrMemoryStore

from daskvars.errors import StoreError
from daskvars.state import ZarrStore
from daskvars.state.stores import locks
from daskvars.state.stores.locks import exclusive
from tests.at_once import at_once

processes = multiprocessing.get_context("forkserver")


def hold(path, ready, release) -> None:
    """Take the lock, say so, and keep it until told or killed."""
    with exclusive(LocalStore(path), "runs"):
        ready.set()
        release.wait()


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_other_processes_wait_until_the_holder_ends(tmp_path, killed) -> None:
    ready, release, mine = processes.Event(), processes.Event(), threading.Event()
    holder = processes.Process(target=hold, args=(tmp_path, ready, release))
    holder.start()
    ready.wait()

    def take() -> None:
        with exclusive(LocalStore(tmp_path), "runs"):
            mine.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not mine.wait(0.05)
    with exclusive(LocalStore(tmp_path), "others"):
        pass
    holder.kill() if killed else release.set()
    assert mine.wait(30)
    thread.join()
    holder.join()


@pytest.mark.parametrize("on_disk", [False, True])
def test_threads_exclude_each_other_and_a_holder_may_take_it_again(tmp_path, on_disk) -> None:
    store = LocalStore(tmp_path) if on_disk else ZarrMemoryStore()
    count = 0

    def work() -> None:
        nonlocal count
        for _ in range(200):
            with exclusive(store, ""), exclusive(store, ""):
                now = count
                os.getpid()
                count = now + 1

    at_once(*[work] * 3)
    assert count == 600


def test_its_file_is_a_zarr_group_and_is_left_alone(tmp_path, recwarn) -> None:
    store = LocalStore(tmp_path)
    for _ in range(2):
        with exclusive(store, ""):
            pass
    assert os.listdir(tmp_path / "lock") == ["zarr.json"]
    zarr.create_group(store)
    assert list(zarr.open_group(store, mode="r").group_keys()) == ["lock"]
    assert not recwarn.list


def test_what_is_open_for_reading_only_is_not_touched(tmp_path) -> None:
    with pytest.raises(StoreError, match="reading only"):
        ZarrStore(tmp_path, "r").begin([])
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_locked_is_named(tmp_path) -> None:
    (tmp_path / "lock").write_text("in the way")
    with (
        pytest.raises(StoreError, match=r"cannot lock .*lock/zarr\.json"),
        exclusive(LocalStore(tmp_path), ""),
    ):
        pass


@pytest.mark.parametrize(("number", "has_hint"), [(errno.EROFS, False), (errno.ENOLCK, True)])
def test_where_nothing_can_be_written_it_is_not_for_want_of_locks(
    tmp_path, monkeypatch, number, has_hint
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks, "open_plain", refuse)
    with pytest.raises(StoreError, match=os.strerror(number)) as error:
        exclusive(LocalStore(tmp_path), "").__enter__()
    assert ("a file system with locks" in error.value.message) is has_hint
