"""Python code in processes that have imported nothing of the package, only what it builds on.

Dask, Zarr and SciPy take seconds to import, the package a tenth of that. So this module, run as a
program, imports them once, and forks a process for each piece of code. Where workers are to be
forked from a server of `multiprocessing`, that is forked as well.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from functools import cache
from multiprocessing import util
from pathlib import Path
from typing import NamedTuple

import dask

ROOT = Path(__file__).resolve().parent.parent
DEPENDENCIES = ("dask.array", "distributed", "ml_dtypes", "scipy.special", "threadpoolctl", "zarr")
PACKAGE = ("daskvars.v1", "daskvars.cli")  # all of it
OUTPUTS = {"stdout": 1, "stderr": 2}


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
    server = _server(after)
    with tempfile.TemporaryDirectory() as folder:
        asked = [list(map(str, arguments)), folder, str(here), dict(os.environ)]
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that forks others has died"
        return Outcome(int(answer), *[Path(folder, name).read_text() for name in OUTPUTS])


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


@cache
def _server(after: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start what forks; it ends when its standard input does, with this process."""
    command = [sys.executable, "-m", "tests.fresh", *after]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def _serve(*after: str) -> None:
    """Fork for each line that comes; a fork becomes its program, and ends as any process does."""
    for name in DEPENDENCIES:
        importlib.import_module(name)
    assert not [name for name in sys.modules if name.partition(".")[0] == "daskvars"]
    for name in after:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else each process looks through all of it when it ends: half a second
    for line in sys.stdin:
        if not (process := os.fork()):
            return _become(*json.loads(line))
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(arguments: list[str], folder: str, here: str, environment: dict[str, str]) -> None:
    os.chdir(here)
    os.environ.clear()
    os.environ.update(environment)
    dask.config.refresh()
    for name, number in OUTPUTS.items():
        os.dup2(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if dask.config.get("distributed.worker.multiprocessing-method") == "forkserver":
        _fork_the_server_of_workers()
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


def _fork_the_server_of_workers() -> None:
    """Have what `multiprocessing` will start as its fork server wait here, with all imported.

    It is forked now, while this process has one thread.
    """
    ours, theirs = socket.socketpair()
    if not (server := os.fork()):
        ours.close()
        asked, descriptors, _, _ = socket.recv_fds(theirs, 1 << 20, 8)
        if asked:  # else the program has ended without it
            code, *numbers = json.loads(asked)
            high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 256) for descriptor in descriptors]
            for descriptor, number in zip(high, numbers, strict=True):
                os.dup2(descriptor, number)
            exec(code)  # noqa: S102
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


if __name__ == "__main__":
    _serve(*sys.argv[1:])
