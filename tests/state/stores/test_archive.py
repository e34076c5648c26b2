"""Zip archives as stores: Python and Zarr read what is written, what is damaged is refused."""

from __future__ import annotations

import io
import os
import pickle
import signal
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from daskvars.errors import InvalidArgumentError, NotFoundError, StoreError
from daskvars.state.stores import archive
from daskvars.state.stores.archive import ArchiveStore, ArchiveWriter, entries_of
from daskvars.state.stores.disk import STEP_BYTES
from tests import fresh

LARGE = np.arange(3 * STEP_BYTES // 8).view(np.uint8)


@pytest.fixture(params=["at once", "piece by piece", "by seeking"])
def reading(request, monkeypatch):
    """Archives are read at once, in pieces, and where a system cannot move bytes at a place."""
    if request.param != "at once":
        monkeypatch.setattr(archive, "SMALL_BYTES", 0)
    if request.param == "by seeking":
        monkeypatch.setattr(archive, "read_from", archive.seek_and_read)
        monkeypatch.setattr(archive, "write_into", archive.seek_and_write)


def written(path, objects):
    """Write an archive of objects; return its path."""
    writer = ArchiveWriter(str(path))
    for name, data in objects.items():
        writer.add(name, [data[: len(data) // 2], data[len(data) // 2 :]], len(data))
    writer.finish()
    return str(path)


OBJECTS = {"zarr.json": b"{}", "a/ö": b"", "a/large": LARGE.tobytes(), "b": b"x" * STEP_BYTES}


def test_python_reads_what_is_written(tmp_path, reading):
    path = written(tmp_path / "new" / "a.zip", OBJECTS)
    with zipfile.ZipFile(path) as found:
        assert found.testzip() is None
        assert {name: found.read(name) for name in found.namelist()} == OBJECTS
    assert os.listdir(tmp_path / "new") == ["a.zip"]


def test_what_is_written_is_read(tmp_path, reading):
    store = ArchiveStore(written(tmp_path / "a.zip", OBJECTS))
    for copy in store, pickle.loads(pickle.dumps(store)):
        assert copy == store
        assert {name: copy.content(name).tobytes() for name in copy.entries} == OBJECTS
        assert copy.content("c") is None


def test_what_python_writes_is_read(tmp_path, reading):
    path = str(tmp_path / "a.zip")
    with zipfile.ZipFile(path, "w") as file:
        file.mkdir("a")
        for name, data in OBJECTS.items():
            with file.open(name, "w", force_zip64=True) as entry:  # a header of another size
                entry.write(data)
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("b", b"the last one counts")
        file.comment = b"said at the end"
    store = ArchiveStore(path)
    wanted = OBJECTS | {"b": b"the last one counts"}
    assert {name: store.content(name).tobytes() for name in store.entries} == wanted


def test_zarr_reads_and_lists_it(tmp_path):
    with zarr.storage.ZipStore(tmp_path / "a.zip", mode="w") as store:
        group = zarr.open_group(store, mode="w")
        array = group.create_array("x/y", shape=(10,), chunks=(2,), shards=(6,), dtype="i4")
        array[:] = np.arange(10)
    store = ArchiveStore(str(tmp_path / "a.zip"))
    group = zarr.open_group(store, mode="r")
    assert [name for name, _ in group.members(max_depth=None)] == ["x", "x/y"]
    np.testing.assert_array_equal(group["x/y"][3:9], np.arange(3, 9))  # ranges of shards
    with pytest.raises(ValueError, match="read-only"):
        group["x/y"][:] = 0


@pytest.mark.parametrize(
    "request_, wanted",
    [
        (None, b"0123456789"),
        (RangeByteRequest(2, 5), b"234"),
        (OffsetByteRequest(7), b"789"),
        (SuffixByteRequest(2), b"89"),
        (SuffixByteRequest(0), b""),
    ],
)
def test_ranges(tmp_path, request_, wanted):
    store = ArchiveStore(written(tmp_path / "a.zip", {"x": b"0123456789"}))
    found = sync(store.get("x", default_buffer_prototype(), request_))
    assert found.to_bytes() == wanted


def test_threads_write_large_and_small_entries_at_once(tmp_path):
    objects = {f"{i}": bytes([i % 256]) * (i % 3 * STEP_BYTES + i) for i in range(60)}
    writer = ArchiveWriter(str(tmp_path / "a.zip"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: writer.add(item[0], [item[1]], len(item[1])), objects.items()))
    writer.finish()
    with zipfile.ZipFile(tmp_path / "a.zip") as found:
        assert {name: found.read(name) for name in found.namelist()} == objects


@pytest.mark.slow
def test_more_entries_than_two_bytes_count(tmp_path):
    objects = {str(i): b"" for i in range(70_000)}
    path = written(tmp_path / "a.zip", objects)
    assert len(zipfile.ZipFile(path).namelist()) == len(ArchiveStore(path).entries) == len(objects)


def test_places_and_sizes_of_eight_bytes(tmp_path, monkeypatch):
    """A file of more than 4 GiB, of which little is on the disk."""
    path, far = tmp_path / "a.zip", (1 << 32) + 12345
    writer = ArchiveWriter(str(path))
    writer.written = far
    writer.add("far", [b"data"])
    writer.finish()
    with zipfile.ZipFile(path) as found:
        assert found.read("far") == b"data"
    store = ArchiveStore(str(path))
    assert store.entries["far"].offset == far
    assert store.content("far").tobytes() == b"data"
    size = 1 << 32
    header = writer.local_header("x", 7, size)
    line = writer.central_header("x", archive.Entry(3, size, 7))
    assert header[-16:] == struct.pack("<2Q", size, size)
    assert dict(entries_of(line, 2 * size)) == {"x": archive.Entry(3, size, 7)}
    assert zipfile.ZipFile(io.BytesIO(line + archive.end_records(1, len(line), 0))).getinfo(
        "x"
    ).file_size == (size)


def test_nothing_stays_of_one_that_is_given_up(tmp_path):
    for end in ArchiveWriter.abort, lambda writer: writer.close():
        writer = ArchiveWriter(str(tmp_path / "a.zip"))
        writer.add("x", [LARGE], len(LARGE))
        end(writer)
        assert not os.listdir(tmp_path)
    writer = ArchiveWriter(str(tmp_path / "a.zip"))
    with pytest.raises(InvalidArgumentError, match="'x' has 5 bytes, not 1000000"):
        writer.add("x", [b"short"], 1_000_000)
    del writer
    assert not os.listdir(tmp_path)


def test_what_is_being_written_is_left_alone(tmp_path):
    names = {f"zarr.{'0' * 32}.partial", "c.zip.locked", f"d.zip.{'0' * 32}.locked"}
    for name in names:
        (tmp_path / name).write_bytes(b"begun")
    first, second = (ArchiveWriter(str(tmp_path / "a.zip")) for _ in range(2))
    abandoned = {name for name in names if name[0] == "d"}
    assert {path.name for path in tmp_path.iterdir() if path.read_bytes()} == names - abandoned
    for writer, content in ((first, b"1"), (second, b"2")):
        writer.add("x", [content])
        writer.finish()
        assert ArchiveStore(str(tmp_path / "a.zip")).content("x").tobytes() == content


KILLED = """
import os, signal, sys
from daskvars.state.stores.archive import ArchiveWriter
writer = ArchiveWriter(sys.argv[1])
writer.add("x", [bytes(1 << 21)])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    path = str(tmp_path / "a.zip")
    killed = fresh.python("-c", KILLED, path, after=fresh.PACKAGE)
    assert killed.status == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.endswith(".locked")
    ArchiveWriter(str(tmp_path / "b.zip")).finish()
    assert os.listdir(tmp_path) == ["b.zip"]


def test_what_the_disk_refuses_names_the_target(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match=r"cannot write '.*file/a\.zip': Not a directory"):
        ArchiveWriter(str(tmp_path / "file" / "a.zip"))
    (tmp_path / "a.zip").mkdir()
    writer = ArchiveWriter(str(tmp_path / "a.zip"))
    with pytest.raises(StoreError, match="Is a directory"):
        writer.finish()
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "file"]


def test_a_reader_keeps_what_it_opened(tmp_path, reading):
    path = written(tmp_path / "a.zip", {"x": b"old", "large": LARGE.tobytes()})
    store = ArchiveStore(path)
    written(path, {"x": b"new"})
    assert store.content("large").tobytes() == LARGE.tobytes()
    assert ArchiveStore(path).content("x").tobytes() == b"new"


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with pytest.raises(NotFoundError, match="no file"):
        ArchiveStore(str(path))
    with pytest.raises(StoreError, match="is a directory"):
        ArchiveStore(str(tmp_path))
    whole = Path(written(path, OBJECTS)).read_bytes()
    for data in (
        b"",
        b"PK",
        whole[:-1],
        whole[:-30],
        whole + b"\0",
        whole[1:],
        b"PK\5\6" + b"\xff" * 18,
    ):
        path.write_bytes(data)
        with pytest.raises(StoreError, match="is no whole zip archive"):
            ArchiveStore(str(path))


def test_a_pipe_is_refused_and_not_waited_at(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names")
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(StoreError, match="no plain file"):
        ArchiveStore(str(tmp_path / "a.zip"))


def test_compressed_and_altered_entries_are_refused(tmp_path, reading):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb", bytes(1 << 24))
    with pytest.raises(StoreError, match="'bomb' is compressed"):
        ArchiveStore(str(path)).content("bomb")
    written(path, {"x": b"content", "large": LARGE.tobytes()})
    data = bytearray(path.read_bytes())
    data[data.index(b"content")] ^= 1
    data[data.index(LARGE[-64:].tobytes())] ^= 1
    path.write_bytes(data)
    for name in "x", "large":
        with pytest.raises(StoreError, match=f"'{name}' is damaged: its CRC-32"):
            ArchiveStore(str(path)).content(name)


def test_nothing_is_read_beyond_what_is_allowed(tmp_path):
    store = ArchiveStore(written(tmp_path / "a.zip", {"x": b"0123456789"}))
    with pytest.raises(StoreError, match="has 10 bytes, not 9 or fewer"):
        store.content("x", 9)


def test_any_changed_byte_is_refused_or_changes_nothing(tmp_path):
    objects = {"zarr.json": b"{}", "a/b": b"0123456789" * 5}
    path = tmp_path / "a.zip"
    whole = Path(written(path, objects)).read_bytes()
    outcomes = {True: 0, False: 0}
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 0xFF
        path.write_bytes(data)
        try:
            store = ArchiveStore(str(path))
            found = {name: store.content(name).tobytes() for name in store.entries}
        except StoreError:
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        assert all(found.get(name, data) == data for name, data in objects.items()), at
        assert len(found) == 2
    assert outcomes[False] > 2 * len(b"".join(objects.values()))
