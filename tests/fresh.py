"""Python code in processes that have imported nothing of the package, only what it builds on.

Dask, Zarr and SciPy take seconds to import, the package a tenth of that. So this module, run as a
program, imports them once, and forks a process for each program that it is asked for. Where workers
are to be forked from a server of `multiprocessing`, that is forked as well. What such a program
starts by ``sys.executable`` is forked, too: that is a small program then, which asks for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Sequence
from functools import cache
from multiprocessing import util
from pathlib import Path
from typing import Any, NamedTuple

import dask

ROOT = Path(__file__).resolve().parent.parent
DEPENDENCIES = ("dask.array", "distributed", "ml_dtypes", "scipy.special", "threadpoolctl", "zarr")
PACKAGE = ("daskvars.v1", "daskvars.inspect_checkpoint")  # and all that they import
OUTPUTS = {"stdout": 1, "stderr": 2}

# What ``python`` is, and ``daskvars``, to programs that were forked: it has a program forked with
# what is its own, and ends as that ends.
ASKS = """#!{python} -ISB
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({place!r})
    socket.send_fds(server, [b" "], [0, 1, 2])
    asked = [{first!r} + sys.argv[1:], os.getcwd(), dict(os.environ)]
    server.sendall(json.dumps(asked).encode() + b"\\n")
    status = int(server.recv(16))
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
"""
PROGRAMS = {"python": [], "daskvars": ["-m", "daskvars"]}


class Outcome(NamedTuple):
    """What a process left: its exit status, and what it printed and said."""

    status: int
    printed: str
    said: str


def python(*arguments: object, here: Path = ROOT, after: tuple[str, ...] = ()) -> Outcome:
    """Do what ``python`` with some arguments does in a folder, and return what came of it.

    Args:
      arguments: a path, or ``-c`` and code, or ``-m`` and a module; and what the program takes.
      here: the folder.
      after: modules besides `DEPENDENCIES` that the process need not import any more: `PACKAGE`,
        where how that is imported is not what is tested.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in OUTPUTS]
        with open(os.devnull) as nothing, contextlib.ExitStack() as opened:
            files = [nothing, *(opened.enter_context(path.open("w")) for path in paths)]
            asked = [list(map(str, arguments)), str(here), dict(os.environ)]
            status = _answer(_server(after), asked, [file.fileno() for file in files])
        return Outcome(status, *[path.read_text() for path in paths])


def printed(*arguments: object, here: Path = ROOT, after: tuple[str, ...] = ()) -> str:
    """Do what `python` does, and return what that prints.

    Raises:
      AssertionError: it ended with another exit status than 0; the message is what it said.
    """
    found = python(*arguments, here=here, after=after)
    assert found.status == 0, f"status {found.status}: {found.printed}{found.said}"
    return found.printed


def run(code: str, *arguments: str, here: Path = ROOT) -> str:
    """Run code as ``python -c`` does, and return what it prints, or raise as `printed`."""
    return printed("-c", code, *arguments, here=here)


def executable(*after: str) -> str:
    """Return the path of what does as ``python`` does, for what is given input, or killed."""
    return os.path.join(_server(after), "python")


@cache
def _server(after: tuple[str, ...]) -> str:
    """Start what forks, with some modules imported; return the folder of its socket.

    One that has imported more is forked from one that has imported less.
    """
    if not after:
        return _first_server()[0]
    folder = tempfile.mkdtemp(prefix="fresh")  # a path of a socket is short
    assert _answer(_server(after[:-1]), [folder, after[-1]], []) == 0
    return folder


@cache
def _first_server() -> tuple[str, subprocess.Popen[str]]:
    """Start what all servers are forked from; return its folder, and it.

    They end when the standard input does that they have in common, with this process.
    """
    folder, pipe = tempfile.mkdtemp(prefix="fresh"), subprocess.PIPE
    command = [sys.executable, "-m", "tests.fresh", folder]
    server = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    assert server.stdout.readline(), "the process that forks others has died"
    return folder, server


def _answer(server: str, asked: list[Any], files: list[int]) -> int:
    """Ask a server for something, and wait for its answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.path.join(server, "socket"))
        socket.send_fds(connection, [b" "], files)
        connection.sendall(json.dumps(asked).encode() + b"\n")
        answer = connection.recv(16)
        assert answer, "the process that forks others has died"
        return int(answer)


def _asked(connection: socket.socket) -> tuple[list[Any], list[int]]:
    """Return what comes of a connection, and with which files."""
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as lines:
        return json.loads(lines.readline()), files


def _is_program(asked: list[Any]) -> bool:
    """Return whether a program is asked for, and no server with one more module."""
    return len(asked) > 2


class _Server:
    """Forks a process for each connection, and says there with which status it has ended.

    A process is killed when nobody waits for it any more.
    """

    def __init__(self, folder: str) -> None:
        for name, first in PROGRAMS.items():
            path = Path(folder, name)
            place = os.path.join(folder, "socket")
            path.write_text(ASKS.format(python=sys.executable, place=place, first=first))
            path.chmod(0o755)
        self.folder = folder
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(folder, "socket"))
        self.listener.listen()
        self.ended, self._end = os.pipe()
        os.set_blocking(self._end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        self.waiting: dict[int, socket.socket] = {}

    def close(self) -> None:
        """Be no server any more, in a process that was forked."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for connection in (self.listener, *self.waiting.values()):
            connection.close()
        os.close(self.ended)
        os.close(self._end)

    def next(self) -> tuple[list[Any], list[int], socket.socket] | None:
        """Wait; return what is asked, in the process that was forked for it; None at the end."""
        while True:
            watched = [0, self.listener, self.ended, *self.waiting.values()]
            ready, _, _ = select.select(watched, [], [])
            if 0 in ready:
                return self._end_all()
            for pid, connection in self.waiting.items():
                if connection in ready:
                    os.kill(pid, signal.SIGKILL)
            if self.ended in ready:
                os.read(self.ended, 4096)
                self._tell()
            if self.listener in ready:
                connection, _ = self.listener.accept()
                asked, files = _asked(connection)
                if not (process := os.fork()):
                    return asked, files, connection
                for file in files:
                    os.close(file)
                if _is_program(asked):
                    self.waiting[process] = connection
                else:
                    connection.close()

    def _end_all(self) -> None:
        for pid in self.waiting:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder)

    def _tell(self) -> None:
        with contextlib.suppress(ChildProcessError):  # there is none
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    return
                if (connection := self.waiting.pop(process, None)) is None:
                    continue  # a server
                with connection, contextlib.suppress(OSError):
                    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _serve(folder: str) -> None:
    """Fork for each connection; a fork becomes its program, and ends as any process does.

    Or it imports one more module, and becomes a server itself.
    """
    for name in DEPENDENCIES:
        importlib.import_module(name)
    assert not [name for name in sys.modules if name.partition(".")[0] == "daskvars"]
    server = _serving(folder)
    print("ready", flush=True)
    while (found := server.next()) is not None:
        asked, files, connection = found
        server.close()
        if _is_program(asked):
            connection.close()
            return _become(*asked, server.folder, files)
        folder, name = asked
        importlib.import_module(name)
        server = _serving(folder)
        connection.sendall(b"0")
    return None


def _serving(folder: str) -> _Server:
    gc.collect()
    gc.freeze()  # else each process looks through all of it when it ends: half a second
    gc.set_threshold(10_000)  # as in the processes that run tests: see tests/conftest.py
    return _Server(folder)


def _become(
    arguments: list[str], here: str, environment: dict[str, str], folder: str, files: list[int]
) -> None:
    os.chdir(here)
    os.environ.clear()
    os.environ.update(environment)
    dask.config.refresh()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.executable = os.path.join(folder, "python")
    if dask.config.get("distributed.worker.multiprocessing-method") == "forkserver":
        fork_the_server_of_workers()
    kind = arguments.pop(0) if arguments[0] in ("-c", "-m") else "a path"
    if kind == "a path":
        arguments[0] = os.path.join(here, arguments[0])
    sys.argv = ["-c" if kind == "-c" else arguments[0], *arguments[1:]]
    sys.path.insert(0, os.path.dirname(arguments[0]) if kind == "a path" else here)
    if kind == "-m":
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return
    # What the program of this process is, under both names that `multiprocessing` has for it.
    main = types.ModuleType("__main__")
    sys.modules.update({"__main__": main, "__mp_main__": main})
    code = arguments[0]
    if kind == "a path":
        main.__file__, code = code, Path(code).read_text()
    exec(compile(code, getattr(main, "__file__", "<string>"), "exec"), vars(main))  # noqa: S102


def fork_the_server_of_workers() -> None:
    """Have what `multiprocessing` will start as its fork server wait here, with all imported.

    It is forked now, before threads hold what it needs.
    """
    ours, theirs = socket.socketpair()
    if not (server := os.fork()):
        ours.close()
        try:
            _be_the_server_of_workers(theirs)
        except Exception:  # noqa: BLE001 - it is not for the frames below, which are its parent's
            traceback.print_exc()
        finally:
            os._exit(0)
    theirs.close()
    start = util.spawnv_passfds

    def forked(path: str, arguments: list[str], descriptors: Sequence[int]) -> int:
        if "multiprocessing.forkserver" not in arguments[-1]:
            return start(path, arguments, descriptors)
        util.spawnv_passfds = start
        asked = json.dumps([arguments[-1], *descriptors])
        socket.send_fds(ours, [asked.encode()], descriptors)
        ours.close()
        return server

    util.spawnv_passfds = forked


def _be_the_server_of_workers(connection: socket.socket) -> None:
    asked, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 8)
    if asked:  # else the program has ended without it
        code, *numbers = json.loads(asked)
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 256) for descriptor in descriptors]
        for descriptor, number in zip(high, numbers, strict=True):
            os.dup2(descriptor, number)
        exec(code)  # noqa: S102


if __name__ == "__main__":
    _serve(sys.argv[1])
