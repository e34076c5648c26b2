"""Lets every reader of state loose on hostile places, in a process of its own, and tells what came.

    python -m tests.state.hostile_readers < tasks.jsonl > outcomes.jsonl

A task is a place, a kind and the sound state to compare with; an outcome says per reader which
error it raised, what it did that no reader may do (audit events), the memory at its peak and the
time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import Any

import daskvars.v1 as tf
from daskvars.__main__ import main

ROOM_BYTES = 4 << 30  # of address space beyond what importing took: a net, not the limit
MAX_S = 20
FORBIDDEN = (
    "pickle.find_class",
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "shutil.rmtree",
    "socket.connect",
    "ctypes.dlopen",
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
NAMES = {"w": [6, 4], "w/Adam": [6, 4], "layer/k": [4], "b": [], "s": [3]}
DTYPES = {"b": tf.int64, "s": tf.string}

done: list[str] = []


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    """Take note of what no reader may do."""
    if event in FORBIDDEN:
        done.append(f"{event} {arguments[:1]}")
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
        done.append(f"open {arguments[0]} for writing")


class Overdue(BaseException):
    """A reader took too long."""


def ring(*_: Any) -> None:
    raise Overdue


def restore(names: tuple[str, ...]) -> Callable[[str, str], None]:
    """Give the reader that restores variables into a session."""
    with tf.Graph().as_default() as graph:
        found = {
            n: tf.get_variable(n, NAMES[n], DTYPES.get(n, tf.float32), tf.zeros_initializer())
            if n != "s"
            else tf.Variable(["", "", ""], name=n)
            for n in names
        }
        saver = tf.train.Saver(list(found.values()))

    def read(place: str, sound: str) -> None:
        with tf.Session(graph=graph) as session:
            saver.restore(session, place)

    return read


def session_on(place: str, sound: str) -> None:
    """Read all variables in a session on a store."""
    with tf.Graph().as_default():
        variables = [
            tf.get_variable(
                n,
                NAMES[n],
                DTYPES.get(n, tf.float32),
                chunks=(3, 4) if NAMES[n] == [6, 4] else None,
            )
            for n in NAMES
            if n != "s"
        ]
        with tf.Session(store=place) as session:
            session.run(variables)


def list_names(place: str, sound: str) -> None:
    """List names and shapes."""
    tf.train.list_variables(place)


def read_values(place: str, sound: str) -> None:
    """Read all values."""
    reader = tf.train.load_checkpoint(place)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


class Refused(Exception):
    """The command line said no."""


def command(*arguments: str) -> None:
    """Run the command line, and raise what it says."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(arguments))
    if status:
        raise Refused(err.getvalue() or out.getvalue())


def newest(place: str, sound: str) -> None:
    """Ask for the newest checkpoint of a directory."""
    if tf.train.latest_checkpoint(place) is None:
        raise Refused(f"no checkpoint in {place}")


def import_graph(place: str, sound: str) -> None:
    """Import the graph in a file."""
    with tf.Graph().as_default():
        tf.train.import_meta_graph(os.path.join(place, "model.meta"))


def read_events(place: str, sound: str) -> None:
    """Read an event file."""
    list(tf.train.summary_iterator(os.path.join(place, "events.jsonl")))


READERS: dict[str, dict[str, Callable[[str, str], Any]]] = {
    "names": {
        "list_variables": list_names,
        "inspect": lambda place, sound: command("inspect", place),
        "diff": lambda place, sound: command("diff", sound, place),
    },
    "values": {
        "load_checkpoint": read_values,
        "verify": lambda place, sound: command("verify", place),
    },
}
CHECKPOINT = {**READERS["values"], "restore": restore(tuple(NAMES))}
GROUP = {**READERS["values"], "restore": restore(("w", "layer/k"))}
STORE = {**READERS["values"], "session": session_on}
OF_KIND = {
    "checkpoint": (READERS["names"], CHECKPOINT),
    "group": (READERS["names"], GROUP),
    "group2": (READERS["names"], GROUP),
    "store": (READERS["names"], STORE),
    "record": ({"latest": newest, **READERS["names"]}, {}),
    "graph": ({"import": import_graph}, {}),
    "events": ({"iterator": read_events}, {}),
}


def outcome(read: Callable[[str, str], Any], place: str, sound: str) -> dict[str, Any]:
    """Let one reader loose."""
    done.clear()
    tracemalloc.reset_peak()
    before, start = tracemalloc.get_traced_memory()[0], time.monotonic()
    signal.alarm(MAX_S)
    error: list[str] = []
    text = where = ""
    try:
        read(place, sound)
    except BaseException as found:  # noqa: BLE001 - whatever it is, it is told
        error, text = [c.__name__ for c in type(found).__mro__], str(found)
        where = " ".join(f"{f.filename[-40:]}:{f.lineno}" for f in extract_tb(found.__traceback__))
    finally:
        signal.alarm(0)
    peak = tracemalloc.get_traced_memory()[1] - before
    seconds = time.monotonic() - start
    return {
        "error": error,
        "text": text[:2000],
        "done": [*done],
        "peak": peak,
        "s": seconds,
        "where": where[-300:],
    }


def serve() -> None:
    """Answer all tasks."""
    signal.signal(signal.SIGALRM, ring)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM_BYTES, size + ROOM_BYTES))
    for kind, (_, values) in OF_KIND.items():  # what is imported and made once
        sound = json.loads(sys.argv[1]).get(kind)
        for read in [*OF_KIND[kind][0].values(), *values.values()] if sound else []:
            first = outcome(read, sound, sound)
            if first["error"]:
                raise SystemExit(f"what is sound is refused, {kind}: {first}")
    tracemalloc.start()
    sys.addaudithook(listen)
    for line in sys.stdin:
        task = json.loads(line)
        names, values = OF_KIND[task["kind"]]
        readers = values if task["in_values"] else {**names, **values}
        found = {
            name: outcome(read, task["place"], task["sound"])
            for name, read in readers.items()
            if name not in task["unseen"]
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    serve()
