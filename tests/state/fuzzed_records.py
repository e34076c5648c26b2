"""Reads records of which any field was changed, in a process of its own, and tells what came.

    python -m tests.state.fuzzed_records <directory> <kind> <first> <last> ...

Each line of output is of one case that is not as it should be; those that are objects say how many
cases of a kind were refused, and how many were taken.
"""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import signal
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import daskvars.v1 as tf
from daskvars.graph.definitions.opdef import registered
from daskvars.lowering import lower
from daskvars.remote.regions.region_program import Call, RegionProgram
from daskvars.remote.tasks.region_tasks import WorkerRegion
from tests.state import hostile_graphs, hostile_readers
from tests.state.hostile_manifests import manifest_of
from tests.state.hostile_stores import sound
from tests.state.mutations import at, mutated, paths

MAX_BYTES = 64 << 20
GENERATED = ("<region ", "<daskvars>")
WORDS = {
    "append",
    "chain",
    "cut",
    "def",
    "del",
    "else",
    "fitting",
    "if",
    "meter",
    "now",
    "operand",
    "ordered",
    "out",
    "outs",
    "region",
    "return",
    "scratch",
    "separate",
    "start",
    "stop",
    "tick",
    "tile",
    "times",
    "views",
}
NOT_RUN = {
    "SaveV2",
    "RestoreV2",
    "PrintV2",
    "Print",
    "PrintFirst",
    "PyFunc",
    "PyFuncStateless",
    "EagerPyFunc",
}


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    """Take note of code that was not written before, but for that of regions, which is read."""
    hostile_readers.listen(event, arguments)
    if event == "exec":
        name = arguments[0].co_filename
        if not name.startswith(GENERATED) and not Path(name).is_file() and "frozen" not in name:
            hostile_readers.done.append(f"exec {name}")
    elif event == "compile" and str(arguments[1]).startswith(GENERATED):
        hostile_readers.done.extend(f"compiled {word!r}" for word in foreign(arguments[0]))


def foreign(source: Any) -> list[str]:
    """Give what stands in a generated text that no generator writes."""
    text = source if isinstance(source, str) else source.decode()
    words = re.findall(r"[A-Za-z_]\w*", text)
    unknown = [w for w in words if w not in WORDS and not re.fullmatch(r"[a-z]\d+|_", w)]
    return unknown + re.findall(r"[^\w\s=():,.\[\]*]", text)


def sound_graph() -> tf.Graph:
    """Build a graph with variables, branches, a loop, operands, a convolution, texts, gradients."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        k = tf.placeholder(tf.int32, [], name="k")
        w = tf.get_variable("w", [4, 2], initializer=tf.ones_initializer(), chunks=(2, 2))
        b = tf.Variable(np.zeros(2, "f4"), name="b")
        y = tf.nn.relu(tf.matmul(x, w) + b, name="y")
        total = tf.reduce_sum(y, axis=k, name="total")
        z = tf.cond(tf.reduce_sum(total) > 0, lambda: y * w[0, 0], lambda: y, name="branch")
        _, u = tf.while_loop(
            lambda i, v: i < 3,
            lambda i, v: (i + 1, v * 2.0),
            [0, z],
            maximum_iterations=3,
            name="loop",
        )
        tf.gather(w, tf.constant([0, 3]), name="rows")
        tf.one_hot(k, 3, name="hot")
        tf.split(tf.transpose(tf.pad(w, [[1, 1], [0, 0]])), 2, axis=0, name="parts")
        image = tf.ones([1, 4, 4, 1])
        tf.nn.conv2d(image, tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "SAME", name="conv")
        tf.random_uniform([2, 2], seed=3, name="noise")
        tf.regex_replace(tf.as_string(tf.shape(x)), "1", "2", name="text")
        tf.zeros([tf.shape(x)[0], 2], tf.int64, name="zeros")
        tf.concat([x[:, :2], w], 0, name="joined")
        slopes = tf.gradients(tf.reduce_mean(u), [w, b])
        tf.group(tf.assign_add(b, slopes[1]), tf.scatter_add(w, [0], [[1.0, 1.0]]), name="step")
        tf.add_to_collection("results", u)
    return graph


def run_all(graph: tf.Graph) -> None:
    """Run everything in a graph that does not write files or print."""
    operations = graph.get_operations()
    if {op.type for op in operations} & NOT_RUN:
        return
    feeds = {}
    for op in operations:
        if op.type == "Placeholder" and op.outputs:
            shape = [n or 2 for n in op.outputs[0].shape.as_list()]
            if np.prod(shape) < 1000:
                feeds[op.outputs[0]] = np.ones(shape, op.outputs[0].dtype.as_numpy_dtype)
    with tf.Session(graph=graph) as session:
        for op in operations:
            if op.type == "Assign":
                session.run(op, feeds)
        session.run([op for op in operations if op.type != "Placeholder"], feeds)


def read_graph(document: Any, place: Path, can_run: bool) -> None:
    """Import a graph and run it."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef.from_json(document), name="")
    if can_run:
        run_all(graph)


def read_meta(document: Any, place: Path, can_run: bool) -> None:
    """Import a graph with its collections from a file, and run it."""
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(str(place / "model.meta"))
    if can_run:
        run_all(graph)


def read_state(document: Any, place: Path, can_run: bool) -> None:
    """Read names, shapes and values."""
    hostile_readers.list_names(str(place), "")
    hostile_readers.read_values(str(place), "")


def read_events(document: Any, place: Path, can_run: bool) -> None:
    """Read an event file."""
    hostile_readers.read_events(str(place), "")


def read_plan(document: Any, place: Path, can_run: bool) -> None:
    """Compile a region as a worker does, and run it."""
    if document.keys() != {"program", "kept"} or not isinstance(document["program"], dict):
        raise ValueError("no 'program'")
    wanted = {field.name for field in dataclasses.fields(RegionProgram)} - {"cache"}
    if document["program"].keys() != wanted:
        raise ValueError("no 'program' with all its fields")
    fields = {name: tuples(value) for name, value in document["program"].items()}
    calls = fields.pop("calls")
    if isinstance(calls, tuple):
        calls = tuple(
            [
                Call(**call)
                if isinstance(call, dict) and call.keys() == set(Call._fields)
                else call
                for call in calls
            ]
        )
    program = RegionProgram(calls=calls, **fields)
    region = WorkerRegion(program, {}, tuples(document["kept"]), "CPU", 0, ())
    region.main(*[np.ones((3, 4), "f4"), np.ones((4, 2), "f4"), np.ones(2, "f4")])


def tuples(value: Any) -> Any:
    """Give lists as tuples, to any depth."""
    if isinstance(value, list):
        return tuple(map(tuples, value))
    return {k: tuples(v) for k, v in value.items()} if isinstance(value, dict) else value


def sound_plan() -> Any:
    """Give the region of a small layer as plain data; kernels are names or functions."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 4])
        w, b = tf.placeholder(tf.float32, [4, 2]), tf.placeholder(tf.float32, [2])
        y = tf.reduce_sum(tf.tanh(tf.matmul(x, w) + b) * 2.0, axis=0)
        plan = lower([y], [], {t: (t.spec, None) for t in (x, w, b)}, lambda handle: None)
    program = plan.regions[0].program
    fields = {k: v for k, v in vars(program).items() if k != "cache"}
    fields["calls"] = [call._asdict() for call in program.calls]
    return {"program": lists(fields), "kept": []}


def lists(value: Any) -> Any:
    """Give tuples as lists, to any depth."""
    if isinstance(value, list | tuple):
        return list(map(lists, value))
    return {k: lists(v) for k, v in value.items()} if isinstance(value, dict) else value


Reader = Callable[[Any, Path, bool], None]
KINDS: dict[str, tuple[str | None, Reader]] = {
    "graph": (None, read_graph),
    "meta": ("model.meta", read_meta),
    "checkpoint": ("zarr.json", read_state),
    "store": ("zarr.json", read_state),
    "version": ("v0/zarr.json", read_state),
    "array": ("w/zarr.json", read_state),
    "events": ("events.jsonl", read_events),
    "plan": (None, read_plan),
}


def make_sound(kind: str, place: Path) -> Any:
    """Make a sound record, in a directory if it is a file, and give it as data."""
    if kind == "plan":
        return sound_plan()
    if kind == "graph":
        return json.loads(sound_graph().as_graph_def().SerializeToString())
    if kind == "meta":
        place.mkdir()
        with sound_graph().as_default():
            tf.train.Saver()
            tf.train.export_meta_graph(str(place / "model.meta"))
    elif kind == "events":
        hostile_graphs.sound_events(place)
    else:
        sound({"version": "store", "array": "group"}.get(kind, kind), place)
    record = json.loads((place / KINDS[kind][0]).read_text())
    record.pop("crc32", None)  # as of a manifest, without its checksum
    if kind in ("checkpoint", "version"):
        manifest_of(record)
    return record


def problem_of(kind: str, found: dict[str, Any], place: Path, keys: list[str]) -> str | None:
    """Give what is wrong with what came of a case, None if nothing is."""
    error, text = found["error"], found["text"]
    if found["done"]:
        return f"did {found['done']}"
    if found["peak"] > MAX_BYTES:
        return f"took {found['peak']} bytes"
    if not error:
        return None
    if not {"OpError", "ValueError", "TypeError", "OSError"}.intersection(error):
        return "another error"
    if kind not in ("graph", "plan") and str(place) not in text and " op" not in text:
        return "names no file"
    names_node = kind in ("graph", "meta") and ("ode '" in text or "op '" in text)
    names_node |= kind == "plan" and any(word in text for word in ("region ", "[op '", "'program'"))
    if keys and kind != "array" and not names_node and not any(key in text for key in keys):
        return f"names none of {keys}"  # of an array's document, Zarr says what is wrong
    return None


def keys_of(document: Any, touched: list[tuple[Any, ...]]) -> list[str]:
    """Give the names on the paths that were touched and below, and those of the nodes on them."""
    found = []
    for path in touched:
        for length, key in enumerate(path):
            inner = at(document, path[:length])
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                found.append(inner["name"])
            if isinstance(key, str):
                found.append(key)
        inner = at(document, path)
        found += [key for p in paths(inner) for key in p if isinstance(key, str)]
    return found


def prepared(kind: str, place: Path) -> Any:
    """Make a sound record and see that it is taken, so that all is imported and made once."""
    record = make_sound(kind, place)
    found = hostile_readers.outcome(lambda p, s: KINDS[kind][1](record, place, True), "", "")
    if found["error"]:
        raise SystemExit(f"what is sound is refused, {kind}: {found}")
    return record


def serve(cases: dict[str, range], directory: Path) -> None:
    """Try the cases of each kind that have these numbers."""
    signal.signal(signal.SIGALRM, hostile_readers.ring)
    records = {kind: prepared(kind, directory / kind) for kind in cases}
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    room = size + hostile_readers.ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    tracemalloc.start()
    registered("")  # loads all that defines ops, so that what runs from here on is the readers'
    sys.addaudithook(listen)
    for kind, numbers in cases.items():
        counts: Counter[str] = Counter()
        for number in numbers:
            counts[_try(kind, number, records[kind], directory / kind)] += 1
        print(json.dumps({"kind": kind, **counts}), flush=True)


def _try(kind: str, number: int, record: Any, place: Path) -> str:
    """Let the readers of a kind loose on a case; print what is wrong with what came."""
    name, read = KINDS[kind]
    document, touched = mutated(record, f"{kind} {number}")
    can_run = not any("maximum" in path for path in touched)
    if name is not None:
        (place / name).write_text(json.dumps(document) + "\n")
    found = hostile_readers.outcome(lambda p, s: read(document, place, can_run), "", "")
    keys = keys_of(record, touched) if len(touched) == 1 else []
    if len(keys) == 1 and kind == "version":
        keys = []  # without all of 'attributes' it is no version at all
    problem = problem_of(kind, found, place, keys)
    if problem is not None:
        changes = [(path, repr(value_at(document, path))[:200]) for path in touched]
        print(
            json.dumps(
                [
                    kind,
                    number,
                    problem,
                    found["error"][:3],
                    found["text"][:400],
                    [str(c) for c in changes],
                    found["where"],
                ]
            ),
            flush=True,
        )
    return "refused" if found["error"] else "taken"


def value_at(document: Any, path: tuple[Any, ...]) -> Any:
    """Give the value at a path, if it is there still."""
    try:
        return at(document, path)
    except (KeyError, IndexError, TypeError):
        return "gone"


if __name__ == "__main__":
    asked = [sys.argv[i : i + 3] for i in range(2, len(sys.argv), 3)]
    serve({kind: range(int(a), int(b)) for kind, a, b in asked}, Path(sys.argv[1]))
