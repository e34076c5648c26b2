"""Hostile and damaged files of graphs, and event files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import daskvars.v1 as tf
from tests.state.hostile_stores import (
    FILES,
    HUGE,
    TEXTS,
    TRUNCATIONS,
    Case,
    changed,
    json_edited,
    replaced,
    shown,
)

GRAPH, EVENTS = "model.meta", "events.jsonl"


def sound_graph(place: Path) -> None:
    """Write the file of a graph with variables, a branch, a constant and a Python function."""
    place.mkdir()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        w = tf.get_variable("w", [4, 2], initializer=tf.ones_initializer())
        y = tf.matmul(x, w) + tf.constant(np.arange(2, dtype="f4"), name="c")
        tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2.0, lambda: y, name="branch")
        tf.py_func(lambda v: v, [y], tf.float32, name="python")
        tf.train.Saver([w])
        tf.train.export_meta_graph(str(place / GRAPH), clear_extraneous_savers=False)


def sound_events(place: Path) -> None:
    """Write an event file."""
    place.mkdir()
    line = {"wall_time": 1.0, "step": 1, "tag": "loss", "kind": "scalar", "value": 0.5}
    (place / EVENTS).write_text(json.dumps(line) + "\n")


def node_named(name: str) -> Callable[[Any], Any]:
    """Give the function that finds a node."""
    return lambda document: next(n for n in document["graph"]["node"] if n["name"] == name)


NODE_FIELDS: dict[str, list[Any]] = {
    "op": ["NoSuchOp", "os.system", "__import__", "", 3, None, ["MatMul"]],
    "name": ["", "../x", "x y", "w", 3, None, "a" * 10 + "\0", "\ud800"],
    "input": [
        ["no_such"],
        ["x:99"],
        ["x:-1"],
        ["<x"],
        ["<<<<<<x"],
        [3],
        None,
        "x",
        [],
        ["x"] * 9,
        ["^no_such"],
    ],
    "device": ["/gpu:x:y", 3, None, "/job:../task:x"],
    "attr": [
        None,
        [],
        {"transpose_a": {"function": "os.system"}},
        {"transpose_a": [[]] * 3},
        {"x": {"list": 3}},
        {"x": {"pickle": "gASV"}},
        {"x": {"a": 1, "b": 2}},
    ],
}


def array(dtype: Any, shape: Any, data: Any) -> dict[str, Any]:
    """Give an array as a file has it."""
    return {"array": {"dtype": dtype, "shape": shape, "data": data}}


EIGHT = base64.b64encode(bytes(8)).decode()
CONSTANTS = [
    array("float32", [HUGE], EIGHT),
    array("float32", [1 << 20, 1 << 20], EIGHT),
    array("float32", [-2], EIGHT),
    array("float32", [2.0], EIGHT),
    array("float32", [None], EIGHT),
    array("float32", [1] * 99, EIGHT),
    array("float32", [0, HUGE], ""),
    array("object", [1], EIGHT),
    array("O", [1], EIGHT),
    array("resource", [1], EIGHT),
    array("variant", [1], EIGHT),
    array("string", [1 << 30], ["eA=="]),
    array("string", [1], EIGHT),
    array("float32", [2], "!!!"),
    array("float32", [2], 3),
    array("float32", [2], None),
    array(["f4"], [2], EIGHT),
    {"array": None},
    {"array": [1, 2]},
    {"scalar": {}},
    {"dtype": 3},
    {"spec": ["float32"]},
    {"operation": "no_such"},
    {"graph": {}},
    {"graph": {"name": "../x"}},
    {"float": "1e400"},
    {"complex": ["x", 1]},
    {"bytes": 3},
]
TOP_FIELDS: dict[str, list[Any]] = {
    "format": [2, "1", None],
    "graph": [
        None,
        [],
        {},
        {"format": 1},
        {"format": 1, "node": {}},
        {"format": 1, "node": [None]},
        {"format": 1, "node": [[]]},
    ],
    "collections": [
        [],
        {"a": 3},
        {"variables": [{"os.system": "touch loot"}]},
        {"variables": [{"variable": None}]},
        {"variables": [{"variable": {"variable_name": "no_such"}}]},
        {"variables": [{"variable": {}}]},
        {"variables": [{"variable": {"variable_name": ["w"]}}]},
        {"variables": [3]},
        {"x": [{"node": "no_such"}]},
        {"x": [{"node": {}}]},
        {"x": [{"value": {"a": 3, "y": 1}}]},
        {"savers": [{"saver": {"max_to_keep": "x"}}]},
        {"x": [{"indexed_slices": 7}]},
    ],
    "saver": [[], {"max_to_keep": 1}, 3],
    "meta_info": [None, [], {"x": 1}],
}


def graph_cases() -> Iterator[Case]:
    """Give what can be wrong with the file of a graph."""

    def edited(find: Callable[[Any], Any], field: str, value: Any) -> Callable[[Path], None]:
        def edit(document: Any) -> None:
            find(document)[field] = value

        return json_edited(GRAPH, edit)

    for field, values in NODE_FIELDS.items():
        for value in values:
            yield Case(
                "graph", f"{field} {shown(value)}", edited(node_named("MatMul"), field, value)
            )
    for value in CONSTANTS:
        find = lambda document: node_named("c")(document)["attr"]  # noqa: E731
        yield Case("graph", f"value {shown(value)}", edited(find, "value", value))
    for field, values in TOP_FIELDS.items():
        for value in values:
            yield Case("graph", f"{field} {shown(value)}", edited(lambda d: d, field, value))
    for depth in (200, 700, 950):
        deep = "<" + "[" * depth + "1" + "]" * depth + ">"
        find = lambda document: node_named("c")(document)["attr"]  # noqa: E731
        yield Case("graph", f"{depth} lists", edited(find, "value", deep))
    yield Case("graph", "a loop", edited(node_named("MatMul"), "input", ["branch", "w/read"]))
    yield from text_cases("graph", GRAPH)


def text_cases(kind: str, name: str) -> Iterator[Case]:
    """Give what can be wrong with any file of text."""
    for how in ("half", "without its last byte"):
        yield Case(kind, how, changed(name, TRUNCATIONS[how]), unseen=("iterator",))
    for how, text in TEXTS.items():
        if how not in ("a number of 10,000 digits", "half a surrogate"):  # one line of no event
            yield Case(kind, how, replaced(name, text + b"\n"))
    for how in (
        "a link to itself",
        "a link outside",
        "a link to endless zeros",
        "a pipe",
        "a terabyte",
        "a pickle",
    ):
        yield Case(kind, how, FILES[how](name), unseen=("iterator",) if how == "a pickle" else ())


EVENT_FIELDS: dict[str, list[Any]] = {
    "kind": ["pickle", None, 3, []],
    "value": ["x", [], {}, None],
    "step": ["x", None, [1]],
    "tag": [3, [], None],
    "wall_time": ["x", [], {}],
    "session_log": [3, [3], "x"],
    "summary": [3, [1], {"value": 3}],
}


def event_cases() -> Iterator[Case]:
    """Give what can be wrong with an event file."""
    for field, values in EVENT_FIELDS.items():
        for value in values:

            def edit(document: Any, field: str = field, value: Any = value) -> None:
                document[field] = value

            damage = json_edited(EVENTS, edit)

            def ended(place: Path, damage: Callable[[Path], None] = damage) -> None:
                damage(place)
                changed(EVENTS, lambda data: data + b"\n")(place)

            yield Case("events", f"{field} {shown(value)}", ended)
    yield from text_cases("events", EVENTS)
