"""Whole files on a local disk: what `objects` does to a `LocalStore`, by plain system calls.

A file is written beside its target, which it then replaces, so it is there whole or not at all.
Large contents are moved in steps that fit the cache, so whoever looks at the bytes on their way,
to compute their checksum, does not fetch them from memory again.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from daskvars.state.failures import refused, store_failure
from daskvars.state.stores.local_files import OWN_BYTES, checked_size, open_plain, refuse_link

STEP_BYTES = 1 << 18
"""Bytes moved, and looked at, at a time (m: 1 GiB with its checksum, from a warm cache, in 0.7 of
the time that whole chunks of 64 MiB take)."""

Result = TypeVar("Result")
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OWN_BYTES

Look = Callable[[np.ndarray], object]
"""Sees bytes in order, piece by piece."""

Memory = Callable[[int], Sequence[tuple[np.ndarray, Look | None]]]
"""Gives, for the size of an object, the uint8 vectors that it is read into, one after another, and
who is to see the bytes of each; raises ValueError for a size that it cannot have."""


def put_file(target: str, parts: Iterable[Any], synced: bool = False) -> None:
    """Write a file beside its target, then replace the target.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    with put_in_place(target) as beside:
        try:
            file = os.open(beside, WRITE, 0o666)
        except FileNotFoundError:
            make_directory(target.rpartition("/")[0])
            file = os.open(beside, WRITE, 0o666)
        try:
            for part in parts:
                write_all(file, part)
            if synced:
                os.fsync(file)
        finally:
            os.close(file)


def whole(get_into: Callable[[Memory], bool], where: str, most_bytes: int) -> np.ndarray | None:
    """Read an object into memory of its size; give None where `get_into` finds no such object.

    Raises:
        StoreError: it has more bytes than `most_bytes`.
    """
    found: list[np.ndarray] = []

    def memory(size: int) -> list[Any]:
        if size > most_bytes:
            raise store_failure(f"{where} has {size} bytes, not {most_bytes} or fewer")
        found.append(np.empty(size, np.uint8))
        return [(found[0], None)]

    return found[0] if get_into(memory) else None


LOCKED = re.compile(r".+\.[0-9a-f]{32}\.locked")
"""What files are called that are written beside their targets and of which their writers hold a
lock, so that the next writer there can tell what a killed one left."""


def put_locked_file(target: str, parts: Iterable[Any]) -> None:
    """Do what `put_file` does, and remove what writers that were killed have left beside it.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    try:
        file, beside = opened_beside(target)
        try:
            for part in parts:
                write_all(file, part)
        except BaseException:
            discard(file, beside)
            raise
        put_in(file, beside, target)
    except OSError as error:
        raise store_failure(f"cannot write {target!r}: {error.strerror or error}") from error


def opened_beside(target: str) -> tuple[int, str]:
    """Open a new file beside a target, locked, so that nobody takes it for abandoned."""
    directory = os.path.dirname(target)
    make_directory(directory)
    sweep(directory)
    while True:
        path = f"{target}.{os.urandom(16).hex()}.locked"
        file = os.open(path, WRITE, 0o666)
        if is_free(file) is not False and os.fstat(file).st_nlink:
            return file, path
        os.close(file)  # another process swept it away before it was locked


def put_in(file: int, beside: str, target: str) -> None:
    """Close a file and let it take its target's place; nothing stays beside that.

    It is locked until then where the system can rename what is open.
    """
    try:
        if os.name == "nt":  # which keeps the names of open files
            os.close(file)
            file = -1
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    finally:
        if file >= 0:
            os.close(file)


def sweep(directory: str) -> None:
    """Remove files beside targets whose writers were killed, which gave their locks back."""
    with os.scandir(directory) as found:
        paths = [entry.path for entry in found if LOCKED.fullmatch(entry.name)]
    for path in paths:
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's: it harms nobody
            file = open_plain(path, os.O_RDWR)
            try:
                is_abandoned = is_free(file)
                if is_abandoned and os.name != "nt":
                    os.unlink(path)
            finally:
                os.close(file)
            if is_abandoned and os.name == "nt":  # which keeps the names of open files
                os.unlink(path)


def is_free(file: int) -> bool | None:
    """Lock a file. False if another process has; None where the system has no locks."""
    import filelock  # noqa: PLC0415 - it takes 10 ms, and only who writes needs it

    try:
        return filelock.lock_descriptor(file, blocking=False)
    except OSError:
        return None


def discard(file: int, path: str) -> None:
    """Close and remove a file that nobody else has."""
    os.close(file)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@contextlib.contextmanager
def alone_in(directory: str, waits: bool = True) -> Iterator[bool]:
    """Return a context that is of one at a time, of all threads and processes, for a directory.

    It tells whether it is: where the system has no locks on directories (Windows, NFS) nobody
    waits, nor where that is not asked for.
    """
    import filelock  # noqa: PLC0415 - it takes 10 ms, and only who writes needs it

    with contextlib.ExitStack() as stack:
        is_alone = False
        with contextlib.suppress(OSError):  # whoever writes there is told
            make_directory(directory)
            file = os.open(directory, os.O_RDONLY)
            stack.callback(os.close, file)
            is_alone = filelock.lock_descriptor(file, blocking=waits, poll_interval=0.001)
            if is_alone:
                stack.callback(filelock.unlock_descriptor, file)  # a child may have it, too
        try:
            yield is_alone
        except BaseException:
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(directory)
            raise


def make_directory(path: str) -> None:
    """Make a directory, and those above it, where they are not there."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return  # another thread was faster
    except FileNotFoundError:
        os.makedirs(path, exist_ok=True)


def write_all(file: int, part: Any) -> None:
    """Write all of some bytes: the system may take fewer at a time."""
    written = os.write(file, part)
    while written < len(part):
        part = part[written:]
        written = os.write(file, part)


def get_file(path: str, memory: Memory) -> bool:
    """Read a file into memory.

    Returns:
        False where there is no such file.

    Raises:
        StoreError: the disk refuses it, with its reason.
        ValueError: it is of a size that it cannot have.
    """

    def read(file: int, size: int) -> bool:
        parts = memory(size)
        if size <= STEP_BYTES:
            fill_small(file, parts, size)
        else:
            for part, look in parts:
                fill(part, look, lambda parts, _: read_into(file, parts))
        return True

    return _read_from(path, read) or False


def _read_from(path: str, read: Callable[[int, int], Result]) -> Result | None:
    """Return what ``read(file, size)`` does of a file that is opened; None where there is none."""
    try:
        file = open_plain(path, os.O_RDONLY)
        try:
            return read(file, checked_size(path, os.fstat(file)))
        finally:
            os.close(file)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        refuse_link(path)
        raise refused(f"cannot read {path!r}: {error.strerror or error}") from error


@contextlib.contextmanager
def put_in_place(target: str) -> Iterator[str]:
    """Give a path beside a file; what is written there takes the file's place, if all goes well.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    beside = f"{target}.{os.urandom(16).hex()}.partial"
    try:
        yield beside
        os.replace(beside, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if not isinstance(error, OSError):
            raise
        raise store_failure(f"cannot write {target!r}: {error.strerror or error}") from error


def get_file_range(path: str, start: int, stop: int) -> np.ndarray | None:
    """Read some bytes of a file; None where there is no such file, or it ends before.

    Raises:
        StoreError: the disk refuses it, with its reason.
    """

    def read(file: int, size: int) -> np.ndarray | None:
        if size < stop:
            return None
        found = np.empty(stop - start, np.uint8)
        os.lseek(file, start, os.SEEK_SET)
        fill(found, None, lambda parts, _: read_into(file, parts))
        return found

    return _read_from(path, read)


def file_size(path: str) -> int | None:
    """Return the size of a file, None where there is none.

    Raises:
        StoreError: it is a symbolic link, or no plain file.
    """
    refuse_link(path)
    try:
        return checked_size(path, os.stat(path))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise refused(f"cannot read {path!r}: {error.strerror or error}") from error


def read_each(file: int, parts: Sequence[memoryview]) -> int:
    """Read a file into some memory as ``os.readv`` does, where the system has no such call."""
    count = 0
    with io.FileIO(file, closefd=False) as opened:
        for part in parts:
            read = opened.readinto(part)
            count += read
            if read < len(part):
                break
    return count


read_into = getattr(os, "readv", read_each)


def fill_small(file: int, parts: Sequence[tuple[np.ndarray, Look | None]], size: int) -> None:
    """Fill vectors from a file in one call."""
    if read_into(file, [part.data for part, _ in parts]) != size:
        raise ValueError("became shorter while it was read")
    for part, look in parts:
        if look:
            look(part)


def fill(
    part: np.ndarray, look: Look | None, read: Callable[[Sequence[Any], int], int], start: int = 0
) -> None:
    """Fill a vector in steps by ``read(parts, place)``, from the place `start` on."""
    step = STEP_BYTES if look else max(1, len(part))
    for first in range(0, len(part), step):
        piece = part[first : first + step]
        filled = 0
        while filled < len(piece):
            count = read([piece[filled:].data], start + first + filled)
            if not count:
                raise ValueError("became shorter while it was read")
            filled += count
        if look:
            look(piece)


def link_file(source: str, target: str) -> bool:
    """Link a file under a second name; False where the file or the possibility is missing."""
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.link(source, target, follow_symlinks=os.link not in os.supports_follow_symlinks)
    except OSError:
        return False
    return True


def flush_file(path: str) -> None:
    """Force a file or directory to the disk; Windows keeps directories by itself.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    if os.name == "nt" and os.path.isdir(path):
        return
    try:
        descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise store_failure(f"cannot flush {path!r}: {error.strerror or error}") from error


def list_files(directory: str) -> list[str]:
    """List the files of a directory; none where it does not exist.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    with listing(directory), os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_file()]
    return []


def list_names(directory: str) -> list[str]:
    """List what is in a directory; nothing where it does not exist.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    with listing(directory):
        return os.listdir(directory)
    return []


@contextlib.contextmanager
def listing(directory: str) -> Iterator[None]:
    """Return a context in which a directory is listed, which ends early where there is none."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise refused(f"cannot list {directory!r}: {error.strerror or error}") from error


def check_writable_directory(directory: str) -> None:
    """Refuse a directory in which no file can be made; one that is not there is not made.

    Raises:
        StoreError: with the disk's reason.
    """
    try:
        probe = f"{existing_above(directory)}/.{os.urandom(16).hex()}.partial"
        os.close(os.open(probe, WRITE, 0o666))
        os.unlink(probe)
    except OSError as error:
        raise store_failure(
            f"cannot write in {directory!r}: {error.strerror or error}; choose a place that may be"
            " written"
        ) from error


def existing_above(directory: str) -> str:
    """Give a directory, or the nearest one above it that exists.

    Raises:
        OSError: that is no directory, or one may not look.
    """
    directory = os.path.abspath(directory)  # what is above it ends at the root
    while True:
        try:
            is_directory = stat.S_ISDIR(os.stat(directory).st_mode)
        except FileNotFoundError:
            directory = os.path.dirname(directory)
            continue
        if not is_directory:
            raise NotADirectoryError(errno.ENOTDIR, f"{directory!r} is a file")
        return directory


def delete_file(root: str, name: str) -> None:
    """Delete a file, then the directories above it, up to `root`, that this leaves empty.

    Raises:
        StoreError: the disk refuses, with its reason.
    """
    try:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(f"{root}/{name}")
    except OSError as error:
        raise store_failure(f"cannot delete '{root}/{name}': {error.strerror or error}") from error
    directory = os.path.dirname(f"{root}/{name}")
    with contextlib.suppress(OSError):  # the first directory that is not empty ends it
        while len(directory) >= len(root):
            os.rmdir(directory)
            directory = os.path.dirname(directory)
