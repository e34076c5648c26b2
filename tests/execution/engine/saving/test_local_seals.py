"""A session's store and this process: what is read when it is opened, kept, sealed and lost."""

from __future__ import annotations

import contextlib
import errno
import gc
import logging
import multiprocessing
import os
import shutil
import threading
import time
import weakref
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import fsspec
import numpy as np
import pytest
from zarr.storage import FsspecStore

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import FailedPreconditionError, StoreError
from daskvars.execution.engine import events
from daskvars.execution.engine.saving import local_seals
from daskvars.state import ConflictError, ZarrStore
from daskvars.state.stores.disk import list_files
from daskvars.state.stores.store import Writer
from daskvars.state.values import registry
from tests import fresh
from tests.interrupted import interrupted_at
from tests.waiting import wait_until

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload([__name__])

MANY = 1 << 20


@pytest.fixture(autouse=True)
def quick():
    with config.set(fsync_seals=False), tf.Graph().as_default():
        yield


def variables() -> tuple:
    """Make two variables, and what adds to the first; the second is carried over by every seal."""
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    frozen = tf.get_variable("frozen", [3], initializer=tf.ones_initializer())
    return v, frozen, v.assign_add(1.0)


def broken_off(patch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have seals broken off when their version is the head."""

    def publish(*_: object) -> None:
        raise error

    patch.setattr(ZarrStore, "publish", publish)


def write(place: Path, number: float) -> None:
    """Give a store whose head has a number."""
    with tf.Graph().as_default(), tf.Session(store=place) as session:
        v, frozen, _ = variables()
        session.run([v.initializer, frozen.initializer])
        session.run([v.assign(number), frozen.assign([number] * 3)])


def write_elsewhere(place: Path, number: float) -> None:
    """Do so in another process."""
    process = processes.Process(target=write, args=(place, number))
    process.start()
    process.join()
    assert process.exitcode == 0


# -- what is read -----------------------------------------------------------------------------


def test_a_store_that_was_deleted_is_empty_when_it_is_opened_again(tmp_path):
    place = tmp_path / "s.zarr"
    write(place, 1.0)
    shutil.rmtree(place)
    v = variables()[0]
    with tf.Session(store=place) as session:
        assert not session.run(tf.is_variable_initialized(v))
        with pytest.raises(FailedPreconditionError):
            session.run(v)
        session.run(v.assign(5.0))
        session.seal()
    with tf.Session(store=place) as session:
        assert session.run(v) == 5.0


@pytest.mark.parametrize("seal_every_s", [0, 10])
@pytest.mark.parametrize("name", ["url", "URL", "localhost", "home", "link", "link of a folder"])
def test_one_store_by_several_addresses_is_one(tmp_path, monkeypatch, name, seal_every_s):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "s.zarr")
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    address = {
        "url": f"file://{tmp_path}/s.zarr",
        "URL": f"FILE://{tmp_path}/s.zarr",
        "localhost": f"file://localhost{tmp_path}/s.zarr",
        "home": "~/s.zarr",
        "link": tmp_path / "link",
        "link of a folder": f"{tmp_path}/linked/s.zarr",
    }[name]
    write(tmp_path / "s.zarr", 1.0)
    v, _, add = variables()
    before = {*registry}
    with config.set(seal_every_s=seal_every_s):
        one, other = tf.Session(store=tmp_path / "s.zarr"), tf.Session(store=address)
        one.run(add)
        other.run(add)
        assert one.run(v) == other.run(v) == 3.0
        one.close()
        other.close()
    assert stored(tmp_path / "s.zarr") == 3.0
    assert {*registry} <= before


def test_a_session_whose_closing_is_broken_off_lets_go_all_the_same(tmp_path):
    write(tmp_path, 1.0)
    _, _, add = variables()
    before, running = {*registry}, {*threading.enumerate()}
    for place in range(1, 5000, 7):
        session = tf.Session(store=tmp_path)
        session.run(add)
        with interrupted_at(place) as is_done:
            session.close()
        session.close()
        kept = {*registry} - before
        assert not kept, f"what it shares is kept, broken off at call {place} of daskvars"
        if is_done():
            break
    assert is_done() and place > 50
    wait_until(
        lambda: all(t.name != "daskvars-seal" for t in {*threading.enumerate()} - running),
        "the threads that seal end",
    )


def test_a_run_that_comes_while_a_session_is_closed_says_so(tmp_path):
    write(tmp_path, 1.0)
    _, _, add = variables()
    session = tf.Session(store=tmp_path)
    session.run(add)
    said, arrived = [], threading.Event()

    def run():
        arrived.set()
        with pytest.raises(RuntimeError, match="closed Session") as error:
            while True:
                said.append(session.run(add))
        said.append(error)

    with session._engine.values.run_lock:  # nobody else runs while it is closed
        other = threading.Thread(target=run)
        other.start()
        arrived.wait()
        session.close()
    other.join()
    assert len(said) == 1
    assert stored(tmp_path) == 2.0


@pytest.mark.slow
def test_a_store_that_another_process_replaced_is_read_when_it_is_opened_again(tmp_path):
    place = tmp_path / "s.zarr"
    write(place, 1.0)
    number = ZarrStore(place).head().version
    shutil.rmtree(place)
    write_elsewhere(place, 42.0)
    assert ZarrStore(place).head().version == number
    v, frozen, _ = variables()
    with tf.Session(store=place) as session:
        assert session.run(v) == 42.0
        assert session.run(frozen).tolist() == [42.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize("opens", [False, True], ids=["sealed", "opened again"])
def test_a_replaced_store_is_read_by_whoever_has_changed_nothing(tmp_path, opens):
    place = tmp_path / "s.zarr"
    write(place, 1.0)
    v, frozen, add = variables()
    session = tf.Session(store=place)
    assert session.run(v) == 1.0
    shutil.rmtree(place)
    write_elsewhere(place, 42.0)
    if opens:
        with tf.Session(store=place) as other:
            assert other.run(v) == 42.0
    else:
        session.seal()
    assert session.run(add) == 43.0
    session.close()
    with tf.Session(store=place) as session:  # and what was linked is that of the new store
        assert session.run(frozen).tolist() == [42.0] * 3


@pytest.mark.slow
def test_a_replaced_store_is_not_opened_over_changes_of_this_process(tmp_path):
    place = tmp_path / "s.zarr"
    write(place, 1.0)
    v, _, add = variables()
    session = tf.Session(store=place)
    session.run(add)
    shutil.rmtree(place)
    write_elsewhere(place, 42.0)
    says = r"another version .*written anew.*Another session.*recover\(\)"
    with pytest.raises(ConflictError, match=says):
        tf.Session(store=place)
    assert session.run(v) == 2.0
    session.recover()
    with tf.Session(store=place) as other:
        assert other.run(v) == session.run(v) == 42.0
    session.close()


def test_a_session_whose_store_was_deleted_says_so_and_keeps_its_values(tmp_path):
    place = tmp_path / "s.zarr"
    write(place, 1.0)
    v, _, add = variables()
    session = tf.Session(store=place)
    session.run(v)
    shutil.rmtree(place)
    with pytest.raises(ConflictError, match="the store was deleted"):
        session.seal()
    session.run(add)
    for call in (session.seal, session.close):
        with pytest.raises(ConflictError, match="the store was deleted"):
            call()
    assert session.run(v) == 2.0
    assert not place.exists()
    with pytest.raises(FailedPreconditionError, match="no version"):
        session.recover()
    session.run(v.assign(3.0))
    session.close()
    with tf.Session(store=place) as session:
        assert session.run(v) == 3.0


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["", "sub", "sub/s.zarr"])
def test_a_store_that_is_a_file_is_refused_when_it_is_opened(tmp_path, below):
    file = tmp_path / "file.zarr"
    file.write_text("mine")
    with pytest.raises(StoreError, match=r"cannot write in .*file\.zarr"):
        tf.Session(store=file / below)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_place_where_one_may_not_write_is_refused_when_it_is_opened(
    tmp_path, monkeypatch, number
):
    opened = os.open

    def refuse(path, flags, *rest, **named):
        if flags & os.O_CREAT and str(tmp_path) in str(path):
            raise OSError(number, os.strerror(number))
        return opened(path, flags, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        for place in tmp_path, tmp_path / "deep" / "s.zarr":
            with pytest.raises(StoreError, match=f"cannot write in .*{os.strerror(number)}"):
                tf.Session(store=place)
    assert not list(tmp_path.iterdir())
    tf.Session(store=tmp_path / "s.zarr").close()
    assert not list(tmp_path.iterdir())  # a session without values leaves nothing either


def test_an_object_store_where_one_may_not_write_is_refused_when_it_is_opened(monkeypatch):
    async def refuse(*_, **__):
        raise PermissionError("AccessDenied")

    with monkeypatch.context() as patched:
        patched.setattr(FsspecStore, "set", refuse)
        with pytest.raises(StoreError, match=r"cannot write in .*AccessDenied"):
            tf.Session(store="memory://refused/s.zarr")
    tf.Session(store="memory://refused/s.zarr").close()
    assert not fsspec.filesystem("memory").find("/refused")


@pytest.mark.parametrize("name", ["listdir", "scandir"])
def test_a_store_that_may_not_be_listed_is_a_store_error(tmp_path, monkeypatch, name):
    write(tmp_path, 1.0)
    add = variables()[2]

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    session = tf.Session(store=tmp_path)
    session.run(add)
    with monkeypatch.context() as patched:
        patched.setattr(os, name, refuse)
        opens, lists = partial(tf.Session, store=tmp_path), partial(list_files, tmp_path)
        for call in (opens, session.seal) if name == "listdir" else (lists,):
            with pytest.raises(StoreError, match=r"cannot list .*Permission denied"):
                call()
    session.seal()
    assert stored(tmp_path) == 2.0
    session.close()


def test_a_lock_that_became_a_link_is_refused_by_who_has_the_store_open(tmp_path):
    place, elsewhere = tmp_path / "s.zarr", tmp_path / "elsewhere"
    write(place, 1.0)
    add = variables()[2]
    session = tf.Session(store=place)
    session.run(add)
    session.seal()
    (place / "lock").rename(elsewhere)
    (place / "lock").symlink_to(elsewhere)
    session.run(add)
    for call in (session.seal, session.close):
        with pytest.raises(StoreError, match="symbolic link"):
            call()
    assert stored(place) == 2.0
    (place / "lock").unlink()
    session.close()
    assert stored(place) == 3.0


@pytest.mark.parametrize("writes", range(5))
def test_a_session_whose_closing_finds_the_disk_full_stays_usable(tmp_path, monkeypatch, writes):
    write(tmp_path, 1.0)
    v, _, add = variables()
    left, put = [writes], os.write

    def full(file, part):
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        return put(file, part)

    with tf.Session(store=tmp_path) as session:
        session.run(add)
    with monkeypatch.context() as patched, pytest.raises(StoreError, match="No space left"):
        patched.setattr(os, "write", full)
        with tf.Session(store=tmp_path) as session:
            session.run(add)
    assert session.run(v) == 3.0
    assert stored(tmp_path) == 2.0
    assert len(list(tmp_path.glob("v*/*.json"))) == 2  # nothing of the failed one is left
    assert session.run(add) == 4.0
    session.close()
    assert stored(tmp_path) == 4.0
    with pytest.raises(RuntimeError, match="closed"):
        session.run(v)


# -- what is kept -----------------------------------------------------------------------------


def test_nothing_is_kept_of_a_closed_store(tmp_path):
    place = tmp_path / "s.zarr"
    v = tf.get_variable("v", [MANY], initializer=tf.zeros_initializer())
    one, other = tf.Session(store=place), tf.Session(store=place)
    one.run(v.initializer)
    add = one.make_callable(v.assign_add(tf.ones([MANY])))
    add()
    block = weakref.ref(one.engine.values.get("v")[0,])
    one.close()
    assert block() is not None  # the other uses it
    assert other.run(v)[0] == 1.0
    other.close()
    other.close()
    assert str(place) not in registry
    del add
    gc.collect()
    wait_until(lambda: block() is None, "the block is let go")
    with tf.Session(store=place) as session:
        assert session.run(v)[0] == 1.0


def test_a_session_that_nobody_closes_is_sealed_and_let_go_of(tmp_path):
    place = tmp_path / "s.zarr"
    v, _, _ = variables()
    session = tf.Session(store=place)
    session.run(v.assign(7.0))
    del session
    gc.collect()
    wait_until(
        lambda: str(place) not in registry and ZarrStore(place).head() is not None,
        "a seal comes without a run",
    )
    with tf.Session(store=place) as session:
        assert session.run(v) == 7.0


def test_a_period_without_end_leaves_seals_to_who_closes_or_drops_a_session(tmp_path):
    v, _, _ = variables()
    with config.set(seal_every_s=float("inf")):
        session = tf.Session(store=tmp_path)
        session.run(v.assign(7.0))
        assert stored(tmp_path) is None
        del session
        gc.collect()
        wait_until(lambda: stored(tmp_path) == 7.0, "what was dropped is sealed")


def test_who_opens_a_store_before_a_dropped_session_is_sealed_has_its_values(tmp_path, monkeypatch):
    v, _, add = variables()
    with tf.Session(store=tmp_path) as session:
        session.run(v.initializer)
    seal, opened = local_seals.Durable.seal_changes, threading.Event()

    def late(durable) -> None:
        assert opened.wait(60) or threading.current_thread().name != "daskvars-seal"
        seal(durable)

    monkeypatch.setattr(local_seals.Durable, "seal_changes", late)
    session = tf.Session(store=tmp_path)
    session.run(add)
    engine = weakref.ref(session._engine)
    del session
    gc.collect()
    assert engine() is None
    with tf.Session(store=tmp_path) as session:
        assert session.run(v) == 1.0
        session.run(add)
        opened.set()
    wait_until(lambda: str(tmp_path) not in registry, "both have let go")
    assert stored(tmp_path) == 2.0


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "threading.Thread(target=sys.exit).start()"])
def test_a_session_that_is_open_when_the_program_ends_is_sealed(tmp_path, end):
    fresh.run(
        f"""
import sys, threading
import daskvars.v1 as tf
v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
session = tf.Session(store={str(tmp_path / "s.zarr")!r})
session.run(v.assign(7.0))
{end}
"""
    )
    assert stored(tmp_path / "s.zarr") == 7.0


def test_what_cannot_be_sealed_when_the_program_ends_is_told_of(tmp_path):
    found = fresh.python(
        "-c",
        f"""
import daskvars.v1 as tf
from daskvars.errors import StoreError
from daskvars.execution.engine.saving import local_seals
def full(*_):
    raise StoreError(None, None, "No space left on device")
v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
session = tf.Session(store={str(tmp_path / "s.zarr")!r})
session.run(v.assign(7.0))
local_seals.write_version = full
""",
    )
    assert "what changed since the last seal is not in" in found.said
    assert "s.zarr: No space left on device" in found.said


def test_a_forked_process_does_not_seal_what_its_parent_changed(tmp_path):
    v, _, _ = variables()
    session = tf.Session(store=tmp_path)
    session.run(v.assign(7.0))
    process = multiprocessing.get_context("fork").Process(target=local_seals._seal_at_exit)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert stored(tmp_path) is None
    session.close()
    assert stored(tmp_path) == 7.0


def test_reset_takes_a_path_as_a_session_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    v = variables()[0]
    session = tf.Session(store="a/s.zarr")
    session.run(v.assign(7.0))
    tf.Session.reset("a/s.zarr")
    with tf.Session(store=tmp_path / "a" / "s.zarr") as other:
        assert not other.run(tf.is_variable_initialized(v))
    session.close()


# -- what is lost -----------------------------------------------------------------------------


def test_the_period_does_not_stretch_with_the_length_of_a_seal(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(
        local_seals,
        "time",
        SimpleNamespace(monotonic=lambda: clock[0], perf_counter=lambda: clock[0]),
    )
    finish = Writer.finish

    def slow(writer, *arguments):
        if str(tmp_path) in str(writer.store):
            clock[0] += 100.0
        return finish(writer, *arguments)

    monkeypatch.setattr(Writer, "finish", slow)
    v, _, add = variables()
    sealed = []

    def note(event) -> None:
        if isinstance(event, events.Sealed) and str(tmp_path) in event.path:
            sealed.append(clock[0])

    with config.set(seal_every_s=1000.0), tf.Session(store=tmp_path) as session:
        session.run(v.initializer)
        with events.subscribed(note):
            for _ in range(10):
                session.run(add)
                clock[0] += 500.0
    assert sealed[:3] == [1100.0, 2200.0, 3300.0]


def test_what_changed_is_sealed_while_no_run_comes(tmp_path):
    v, _, add = variables()
    with config.set(seal_every_s=0.05), tf.Session(store=tmp_path) as session:
        session.run(v.initializer)
        session.run(add)
        wait_until(lambda: stored(tmp_path) == 1.0, "it is sealed")
        session.run(add)
        wait_until(lambda: stored(tmp_path) == 2.0, "it is sealed")


def test_a_seal_that_fails_meanwhile_is_raised_by_the_next_run(tmp_path, monkeypatch, caplog):
    v, _, add = variables()
    with config.set(seal_every_s=0.05), tf.Session(store=tmp_path) as session:
        with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
            patched.setattr(ZarrStore, "begin", no_room)
            session.run(v.initializer)
            wait_until(lambda: "No space left" in caplog.text, "the failure is logged")
            with pytest.raises(StoreError, match="No space left"):
                session.run(add)
        wait_until(lambda: stored(tmp_path) == 0.0, "it is sealed")
        session.run(add)
    assert stored(tmp_path) == 1.0


def no_room(*_, **__) -> None:
    """Fail as on a full disk."""
    raise StoreError(None, None, "cannot write: No space left on device")


def stored(place: Path) -> float | None:
    """Give the number in a store's head."""
    store = ZarrStore(place)
    with contextlib.suppress(StoreError):  # dropped while it was read
        head = store.head()
        return head and float(store.read_chunk("v", head.version, ()))
    return None


def count_up(place: Path, times, done, longest) -> None:
    """Count up for ever, noting when each run has returned, and how long seals take."""
    v, _, add = variables()

    def note(event) -> None:
        if isinstance(event, events.Sealed):
            longest.value = max(longest.value, event.duration_s)

    with config.set(seal_every_s=0.05), tf.Session(store=place) as session:
        session.run(v.initializer)
        with events.subscribed(note):
            for number in range(len(times)):
                session.run(add)
                times[number] = time.monotonic()
                done.value = number + 1


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(3))
def test_a_killed_process_loses_at_most_the_period_and_the_time_of_one_seal(tmp_path, trial):
    times = processes.Array("d", MANY, lock=False)
    done, longest = (processes.Value(kind, 0, lock=False) for kind in "qd")
    process = processes.Process(target=count_up, args=(tmp_path, times, done, longest))
    process.start()
    wait_until(
        lambda: done.value and times[done.value - 1] > times[0] + 0.6 + 0.11 * trial,
        "a seal comes without a run",
    )
    process.kill()
    process.join()
    killed, returned = times[done.value - 1], done.value
    durable_runs = int(stored(tmp_path))
    assert durable_runs > 0
    lost_s = killed - times[durable_runs] if durable_runs < returned else 0.0
    longest_run_s = max(np.diff(times[:returned]))
    assert lost_s <= 0.05 + longest.value + longest_run_s


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "broken")])
def test_a_seal_that_was_broken_off_after_its_commit_is_followed(tmp_path, monkeypatch, error):
    """The head is this session's own: it is no conflict, and nothing of it is lost."""
    v, frozen, add = variables()
    with config.set(seal_every_s=1e9), tf.Session(store=tmp_path) as session:
        session.run([v.initializer, frozen.initializer])
        with monkeypatch.context() as patch, pytest.raises(type(error)):
            broken_off(patch, error)
            session.seal()
        head = ZarrStore(tmp_path).head()
        session.run(add)
        session.seal()
        assert ZarrStore(tmp_path).head().version > head.version
        with monkeypatch.context() as patch, pytest.raises(type(error)):
            broken_off(patch, error)
            session.run(add)
            session.seal()
        with tf.Session(store=tmp_path) as other:
            assert other.run(v) == 2
    with tf.Session(store=tmp_path) as session:
        assert session.run(v) == 2 and (session.run(frozen) == 1).all()


def test_a_version_of_others_after_one_that_was_broken_off_is_a_conflict(tmp_path, monkeypatch):
    v, frozen, add = variables()
    with config.set(seal_every_s=1e9), tf.Session(store=tmp_path) as session:
        session.run([v.initializer, frozen.initializer])
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            broken_off(patch, KeyboardInterrupt())
            session.seal()
        store = ZarrStore(tmp_path)
        head = store.head()
        writer = store.begin(head.records.values(), base=head.id)
        assert all(map(writer.carry, head.records))
        writer.commit()
        session.run(add)
        with pytest.raises(ConflictError):
            session.seal()
        session.recover()
        assert session.run(v) == 0
