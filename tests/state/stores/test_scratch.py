"""Directories that go with a process: what one that was killed has left goes with the next."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal

import pytest

from daskvars.state import scratch_directory
from daskvars.state.stores import scratch

processes = multiprocessing.get_context("forkserver")


def make(parent, found) -> None:
    """Make a directory with something in it, and stay until killed."""
    path, _ = scratch_directory(parent)
    os.makedirs(f"{path}/v1/w")
    found.send(path)
    signal.pause()


@pytest.fixture
def killed(tmp_path) -> str:
    """The directory of a process that was killed."""
    here, there = processes.Pipe()
    process = processes.Process(target=make, args=(str(tmp_path), there))
    process.start()
    path = here.recv()
    beside, remove = scratch_directory(str(tmp_path))
    assert os.path.isdir(path) and os.path.isdir(beside)
    remove()
    process.kill()
    process.join()
    return path


def test_what_a_killed_process_left_goes_with_the_next_directory(tmp_path, killed) -> None:
    others = [tmp_path / name for name in ("daskvars-report", "daskvars-x", "other")]
    for path in others:
        path.mkdir()
    (others[1] / scratch.OWNER).touch()  # not locked yet
    shutil.copytree(killed, f"{killed}-elsewhere")
    (tmp_path / f"{killed}-elsewhere" / scratch.OWNER).write_text("another machine")
    assert os.path.isdir(killed)
    path, remove = scratch_directory(str(tmp_path))
    assert not os.path.exists(killed)
    assert os.path.isdir(f"{killed}-elsewhere") and all(other.is_dir() for other in others)
    second, remove_second = scratch_directory(str(tmp_path))
    assert os.path.isdir(path)
    remove()
    assert not os.path.exists(path) and os.path.isdir(second)
    remove_second()


def test_a_forked_process_leaves_it_alone(tmp_path, monkeypatch) -> None:
    path, remove = scratch_directory(str(tmp_path / "new"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        remove()
    assert os.path.isdir(path)
    remove()
    assert os.listdir(tmp_path / "new") == []


def test_without_locks_there_is_a_directory_all_the_same(tmp_path, monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("filelock.lock_descriptor", refuse)
    (path, remove), (_, remove_second) = (scratch_directory(str(tmp_path)) for _ in range(2))
    assert os.path.isdir(path)
    remove()
    remove_second()
