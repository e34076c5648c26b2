"""Passes keep a program's invariants, and whatever is cut where, the numbers stay."""

import ast
import dataclasses
import functools
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import daskvars.v1 as tf
from daskvars import config, errors, lowering
from daskvars.chunk_grid import split_evenly
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering import verify
from daskvars.lowering.program import Leaf, Ref

rechunk = importlib.import_module("daskvars.lowering.rechunk")

STEPS = (
    lambda a, b: a + b,
    lambda a, b: tf.matmul(a, b, transpose_b=True)[:, :6],
    lambda a, b: tf.transpose(a)[:6, :6] * 0.5,
    lambda a, b: a - tf.reduce_mean(b, 0),
    lambda a, b: tf.nn.softmax(a) * b,
    lambda a, b: tf.concat([a[:3], b[3:]], 0),
    lambda a, b: tf.reshape(tf.reshape(a, [-1]), [6, 6]) + tf.reduce_max(b),
    lambda a, b: a * tf.reduce_sum(b, 1, keepdims=True),
    lambda a, b: tf.reshape(tf.reshape(a, [3, 12]), [6, 6]),
    lambda a, b: tf.gather(a, [5, 0, 3, 3, 1, 2]),
)

programs = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 5), st.integers(0, 5)),
    min_size=1,
    max_size=8,
)
layouts = st.tuples(st.integers(1, 3), st.integers(1, 3))


def build(steps):
    x, y = (tf.placeholder(tf.float64, [6, 6], name=n) for n in "xy")
    w = tf.get_variable("w", [6, 6], tf.float64, tf.zeros_initializer())
    values = [x, y, w.value()]
    for kind, a, b in steps:
        values.append(STEPS[kind](values[a % len(values)], values[b % len(values)]))
    return x, y, w, values[-1], w.assign_add(values[-1])


def chunks(parts):
    return tuple(split_evenly(6, p) for p in parts)


def lowered(steps, for_x=(1, 1), for_y=(1, 1), for_w=(1, 1), **options):
    """Return the plan of a program whose feeds and variable are cut into so many blocks."""
    x, y, _, last, update = build(steps)
    feeds = {
        x: (Spec(tf.float64, (6, 6)), chunks(for_x)),
        y: (Spec(tf.float64, (6, 6)), chunks(for_y)),
    }

    def state_of(handle):
        return Spec(tf.float64, (6, 6)), chunks(for_w), True

    return lowering.lower([last, update], [], feeds, state_of, **options)


@settings(max_examples=60)
@given(programs, layouts, layouts, layouts, st.booleans())
def test_every_pass_keeps_its_promises(steps, for_x, for_y, for_w, is_async):
    with tf.Graph().as_default():
        assert lowered(steps, for_x, for_y, for_w, is_async=is_async).regions


def is_pass(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PASSES


ROOMS = sorted(Path(lowering.__file__).parent.rglob("*.py"))
PASSES = {path.stem for path in ROOMS if re.match('"""Pass [0-9]+[ :]', path.read_text())}


def test_what_every_pass_makes_is_verified(monkeypatch):
    """In all tests: see `tests/fixtures.py`."""
    verified = []
    noted = {
        name: lambda *args, name=name, check=check: (verified.append(name), check(*args))
        for name, check in verify.PROMISES.items()
    }
    monkeypatch.setattr(verify, "PROMISES", noted)
    with tf.Graph().as_default():
        lowered([(0, 0, 1)], is_async=True)
    assert config.get().verify_programs
    assert {*verified} == PASSES == {*verify.PROMISES}
    assert len(verified) == len(PASSES)
    for path in (Path(lowering.__file__), Path(rechunk.__file__)):  # nothing else runs passes
        assert not [n.func.id for n in ast.walk(ast.parse(path.read_text())) if is_pass(n)]


def last_node(program):
    return program.nodes[-1]


def backwards(program):
    program.nodes.reverse()


def twice(program):
    program.nodes.append(program.nodes[0])


def no_output(program):
    node = last_node(program)
    node.inputs = [Ref(node.inputs[0].node, 7), *node.inputs[1:]]


def misfiled(program):
    next(iter(program.leaves.values())).kind = "nothing"


def unknown_result(program):
    program.outputs.append(Ref(Leaf("feed", 9, (Spec(tf.float64, ()),), [None])))


def dead(program):
    node = program.nodes[0]
    copy = dataclasses.replace(node)
    program.nodes.append(copy)


def unused_leaf(program):
    program.leaf("feed", 9, Spec(tf.float64, ()))


def passes_on(program):
    program.nodes[0].kernel = None


def lacks_layouts(program):
    last_node(program).layouts = []


def lacks_wishes(program):
    last_node(program).wanted = []


def other_size(program):
    last_node(program).layouts = [((5, 5), (6,)) for _ in last_node(program).layouts]


def bad_map(program):
    last_node(program).out_maps = [(9, 9) for _ in last_node(program).out_maps]


def of_partial(program):
    merge = next(node for node in program.nodes if node.merges is not None)
    program.map_refs(lambda ref: merge.inputs[0] if ref.node is merge else ref)
    program.nodes.remove(merge)


def gives_partial(program):
    merge = next(node for node in program.nodes if node.merges is not None)
    program.outputs.append(merge.inputs[0])


def merges_others(program):
    merge = next(node for node in program.nodes if node.merges is not None)
    merge.merges = (*merge.merges, 5)


def otherwise_kept(program):
    program.stored = dict.fromkeys(program.updates, ((1, 5), (6,)))


def nowhere(program):
    program.nodes[0].place = "/cpu:0"


def unmarked(program):
    for node in program.nodes:
        node.needs_newest = False


def forgotten(groups):
    groups[0].nodes.pop()


def in_two(groups):
    groups[-1].nodes.append(groups[0].nodes[0])


def out_of_order(groups):
    groups.reverse()


def elsewhere(groups):
    groups[0].place = "/gpu:0"


def one_region(groups):
    first, second = groups[:2]  # neither needs the newest version
    for node in second.nodes:
        node.grid = first.grid
    first.nodes += second.nodes
    del groups[1]


def reversed_regions(plan):
    return dataclasses.replace(plan, regions=plan.regions[::-1])


def fewer_leaves(plan):
    return dataclasses.replace(plan, leaves=())


def more_inputs(plan):
    region = dataclasses.replace(plan.regions[0], inputs=plan.regions[0].inputs[1:])
    return dataclasses.replace(plan, regions=(region, *plan.regions[1:]))


def bad_slots(plan):
    region = plan.regions[0]
    program = dataclasses.replace(region.program, outputs=(999,), cache={})
    region = dataclasses.replace(region, program=program)
    return dataclasses.replace(plan, regions=(region, *plan.regions[1:]))


BREACHES = [
    ("prune", list.reverse, "comes before what it needs"),
    ("prune", lambda ops: ops.append(ops[0]), "run twice"),
    ("prune", lambda ops: ops.__delitem__(-1), "is not run"),
    *[
        (step, breach, message)
        for step in (
            "functionalize",
            "specialize",
            "compute_once",
            "keep_values",
            "split_branches",
            "split_rows",
            "route_updates",
            "cut_feeds",
            "place",
            "split_update",
        )
        for breach, message in [
            (backwards, "comes later or never"),
            (twice, "in the program twice"),
            (no_output, "an output that is none"),
            (misfiled, "is filed as"),
            (unknown_result, "a result is of no node"),
        ]
    ],
    *[
        (step, breach, message)
        for step in (
            "specialize",
            "compute_once",
            "keep_values",
            "split_branches",
            "split_rows",
            "route_updates",
        )
        for breach, message in [
            (dead, "nobody uses"),
            (unused_leaf, "nobody uses the leaves"),
            (passes_on, "only gives on"),
        ]
    ],
    *[
        (step, breach, message)
        for step in ("cut_feeds", "place", "split_update")
        for breach, message in [
            (lacks_layouts, "lacks a layout"),
            (lacks_wishes, "what chunks it wants"),
            (other_size, "is not Spec"),
            (bad_map, "bad map"),
            (of_partial, "uses a partial result"),
            (gives_partial, "is given away"),
            (merges_others, "merges other axes"),
            (otherwise_kept, "is kept as"),
        ]
    ],
    ("place", nowhere, "nowhere"),
    ("split_update", unmarked, "does not say so"),
    *[
        (step, breach, message)
        for step in ("fuse", "segments")
        for breach, message in [
            (forgotten, "in no region, or in two"),
            (in_two, "in no region, or in two"),
            (out_of_order, "in a region before"),
            (elsewhere, "another grid, place or version"),
            (one_region, "needs others' blocks"),
        ]
    ],
    ("emit", reversed_regions, "which is not before"),
    ("emit", fewer_leaves, "is none"),
    ("emit", more_inputs, "takes other inputs"),
    ("emit", bad_slots, "outputs"),
]


@pytest.mark.parametrize("step, breach, message", BREACHES)
def test_a_pass_that_breaks_a_promise_is_named(step, breach, message, monkeypatch):
    passes = inspect.getmembers(lowering, inspect.isfunction)
    (name,) = (name for name, made in passes if made.__module__.rpartition(".")[2] == step)
    sound = getattr(lowering, name)

    @functools.wraps(sound)
    def broken(*args):
        made = sound(*args)
        return breach(made) or made

    monkeypatch.setattr(lowering, name, broken)
    # With sums over blocks, which are partial results.
    steps = [(0, 1, 2), (3, 0, 3), (7, 4, 2), (0, 5, 2)]
    wanted = pytest.raises((AssertionError, errors.InvalidArgumentError), match=message)
    with tf.Graph().as_default(), wanted as raised:
        lowered(steps, (2, 1), (2, 1), (2, 1), is_async=True)
    assert raised.value.args[0].startswith(f"after {step}: ") or breach is bad_slots


@pytest.mark.slow
@settings(max_examples=40)
@given(programs, layouts, layouts, layouts)
def test_layouts_do_not_change_the_numbers(steps, for_x, for_y, for_w):
    rng = np.random.default_rng(len(steps))
    import dask.array as da

    data = [rng.normal(size=(6, 6)) for _ in range(3)]
    found = []
    for cut in (False, True):
        with tf.Graph().as_default():
            x, y, w, last, update = build(steps)
            if cut:
                w.handle.op.attrs["chunks"] = chunks(for_w)
            feed = {
                t: da.from_array(a, chunks=chunks(c)) if cut else a
                for t, a, c in zip((x, y), data, (for_x, for_y), strict=False)
            }
            with tf.Session() as session:
                session.run(w.assign(data[2]))
                found.append(session.run([last, update, w], feed))
    for whole, parts in zip(*found, strict=True):
        np.testing.assert_allclose(parts, whole, rtol=1e-7, atol=1e-7)
