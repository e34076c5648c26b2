"""It imports, and uses a store, where the system lacks what Linux has."""

from __future__ import annotations

import os
import subprocess
import textwrap

import pytest

from tests import fresh

pytestmark = pytest.mark.slow

HIDE = """
import ctypes, os, sys
import locket  # of Dask, which has the locks of Windows instead

sys.modules["fcntl"] = None
for name in ("sched_getaffinity", "readv", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
    delattr(os, name)

class LibraryOfAnother(ctypes.CDLL):
    def __getattr__(self, name):
        if name == "mallopt":
            raise AttributeError(name)
        return super().__getattr__(name)

ctypes.CDLL = LibraryOfAnother
"""

USE = """
import daskvars as dv
import daskvars.v1 as tf

path = sys.argv[1]
graph = tf.Graph()
with graph.as_default():
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
    step = tf.assign_add(v, tf.ones([3]))
    start = tf.global_variables_initializer()
for run in range(2):
    with tf.Session(graph=graph, store=path) as session:
        if not run:
            session.run(start)
        session.run(step)
        session.seal()
print(tf.train.load_variable(path, "v").tolist())
"""

HOLD = """
from zarr.storage import LocalStore
from daskvars.state.stores.locks import exclusive

with exclusive(LocalStore(sys.argv[1]), ""):
    print("held", flush=True)
    sys.stdin.read()
"""


def python(script: str, path: object) -> subprocess.Popen:
    """Start a Python that lacks what Windows and macOS lack."""
    command = [fresh.executable(), "-c", HIDE + textwrap.dedent(script), str(path)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(process: subprocess.Popen) -> str:
    out, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    return out


def test_a_store_is_used_without_what_only_linux_has(tmp_path) -> None:
    assert said(python(USE, tmp_path / "store")) == "[2.0, 2.0, 2.0]\n"


@pytest.mark.parametrize("killed", [False, True])
def test_locks_without_flock_end_with_their_holder(tmp_path, killed) -> None:
    holder = python(HOLD, tmp_path)
    assert holder.stdout.readline() == "held\n"
    waiting = python(HOLD, tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.communicate(timeout=0.5)
    if killed:
        holder.kill()
        holder.wait()
    else:
        assert said(holder) == ""
    assert said(waiting) == "held\n"
    holder.communicate()


def test_links_are_refused_without_the_flag_for_it(tmp_path) -> None:
    (tmp_path / "lock").mkdir()
    (tmp_path / "elsewhere").write_text("{}")
    os.symlink(tmp_path / "elsewhere", tmp_path / "lock/zarr.json")
    _, told = python(HOLD, tmp_path).communicate(timeout=120)
    assert "is a symbolic link" in told
