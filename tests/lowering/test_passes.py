"""Passes keep a program's invariants, and whatever is cut where, the numbers stay."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import daskvars.v1 as tf
from daskvars.chunk_grid import split_evenly
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.functionalize import functionalize
from daskvars.lowering.fuse import fuse, lines_up
from daskvars.lowering.program import Leaf
from daskvars.lowering.propagate import propagate
from daskvars.lowering.prune import prune
from daskvars.lowering.specialize import specialize
from daskvars.lowering.verify import verify

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


@settings(max_examples=60, deadline=None)
@given(programs, layouts, layouts, layouts)
def test_every_pass_keeps_the_invariants(steps, for_x, for_y, for_w):
    with tf.Graph().as_default():
        x, y, _, last, update = build(steps)
        feeds = {
            x: (Spec(tf.float64, (6, 6)), chunks(for_x)),
            y: (Spec(tf.float64, (6, 6)), chunks(for_y)),
        }

        def state_of(handle):
            return Spec(tf.float64, (6, 6)), chunks(for_w), True

        program = functionalize(prune([last, update], [], feeds), [last, update], feeds, state_of)
        verify(program)
        verify(specialize(program))
        verify(propagate(program))
        position = {}
        for number, group in enumerate(fuse(program)):
            for node in group.nodes:
                position[id(node)] = number
        for node in program.nodes:
            for i, ref in enumerate(node.inputs):
                if isinstance(ref.node, Leaf):
                    continue
                before, here = position[id(ref.node)], position[id(node)]
                assert before <= here, "regions must be runnable in order"
                assert before < here or lines_up(node, i), "inside a region blocks line up"


@settings(max_examples=40, deadline=None)
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
