"""Python code in processes that have imported nothing of the package, only what it builds on.

Dask, Zarr and SciPy take seconds to import, the package a tenth of that. So this module, run as a
program, imports them once, and forks a process for each piece of code.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DEPENDENCIES = ("dask.array", "distributed", "ml_dtypes", "scipy.special", "threadpoolctl", "zarr")
OUTPUTS = {"stdout": 1, "stderr": 2}


class Outcome(NamedTuple):
    """What a process left: its exit status, and what it printed and said."""

    status: int
    printed: str
    said: str


def outcome(code: str, *arguments: str, here: Path = ROOT) -> Outcome:
    """Run code as ``python -c`` does in a folder, and return what came of it."""
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        asked = [code, arguments, folder, str(here), dict(os.environ)]
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that forks others has died"
        return Outcome(int(answer), *[Path(folder, name).read_text() for name in OUTPUTS])


def run(code: str, *arguments: str, here: Path = ROOT) -> str:
    """Run code, and return what it prints.

    Raises:
      AssertionError: it ended with another exit status than 0; the message is what it said.
    """
    found = outcome(code, *arguments, here=here)
    assert found.status == 0, f"status {found.status}: {found.said}"
    return found.printed


@cache
def _server() -> subprocess.Popen[str]:
    """Start what forks; it ends when its standard input does, with this process."""
    command = [sys.executable, "-m", "tests.fresh"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def _serve() -> None:
    """Fork for each line that comes; a fork becomes its code, and ends as any process does."""
    for name in DEPENDENCIES:
        importlib.import_module(name)
    assert not [name for name in sys.modules if name.partition(".")[0] == "daskvars"]
    for line in sys.stdin:
        if not (process := os.fork()):
            return _become(*json.loads(line))
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(
    code: str, arguments: list[str], folder: str, here: str, environment: dict[str, str]
) -> None:
    os.chdir(here)
    os.environ.clear()
    os.environ.update(environment)
    for name, number in OUTPUTS.items():
        os.dup2(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102


if __name__ == "__main__":
    _serve()
