"""Values that the graph alone determines: each op's samples, and what control flow gives."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.graph.definitions import static_values
from daskvars.graph.definitions.static_values import constant_value, partial_value
from tests.ops.each_op import each_op


@each_op
def test_every_op_over_constants_is_folded_or_left_and_gives_sizes(sample):
    """Where an op gives a whole number, `tf.zeros` takes it as a size, known or not."""
    with dv.Graph().as_default() as graph:
        sample.call(*[dv.constant(a) for a in sample.inputs])
        tensors = [t for op in graph.get_operations() for t in op.outputs]
        for tensor in tensors:
            if tensor.spec.dtype.is_integer and not tensor.spec.dtype.is_ref:
                dv.zeros([dv.cast(dv.size(tensor), dv.int32), 2])
                if tensor.spec.shape == ():
                    dv.zeros([tensor % 3, 2])
    for tensor in tensors:
        partial_value(tensor)
        value = constant_value(tensor)
        if value is None:
            continue
        dtype, shape = tensor.spec
        assert np.asarray(value).dtype == dtype.np
        assert shape is None or len(shape) == np.ndim(value)
        assert all(n in (None, m) for n, m in zip(shape or (), np.shape(value), strict=False))


def branch():
    return tf.cond(tf.constant(True), lambda: tf.constant(2), lambda: tf.constant(3))


def loop():
    return tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])


def switch():
    return tf.switch_case(tf.constant(1), [lambda: tf.constant(2), lambda: tf.constant(3)])


def python():
    found = tf.py_func(lambda n: n + 1, [tf.constant(3)], tf.int32, stateful=False)
    return tf.reshape(found, [])


@pytest.mark.parametrize(
    ("size", "rows"),
    [(branch, 2), (loop, 3), (switch, 3), (python, 4)],
    ids=["cond", "while_loop", "switch_case", "py_func"],
)
def test_what_control_flow_gives_over_constants_is_a_size(size, rows):
    with tf.Graph().as_default(), tf.Session() as session:
        zeros = tf.zeros([size(), 2])
        assert zeros.shape.as_list() == [None, 2]
        assert session.run(zeros).shape == (rows, 2)
        assert session.run(tf.reshape(tf.range(12), [size(), -1])).shape == (rows, 12 // rows)


def test_a_python_function_is_called_in_runs_alone():
    calls = []

    def counted(x):
        calls.append(1)
        return x

    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.py_func(counted, [tf.constant(2)], tf.int32, stateful=False)
        assert constant_value(y) is None
        z = tf.zeros([y, 2])
        assert calls == []
        for _ in range(3):
            session.run(z)
    assert len(calls) == 3


def test_what_is_taken_twice_is_looked_into_once():
    """Each of 60 steps would double the work otherwise: this would not end."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [2])
        for _ in range(60):
            x = tf.reshape(tf.concat([x[:1] + x[1:], x[1:] * x[:1]], 0), [2])
        assert constant_value(x) is None
        y = tf.constant([1, 1])
        for _ in range(60):
            y = tf.reshape(tf.concat([y[:1] * y[1:], y[1:] * y[:1]], 0), [2])
        assert constant_value(y).tolist() == [1, 1]


def test_what_a_value_is_computed_with_may_be_deeper_than_the_stack():
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.int32, []), tf.constant(0)
        for _ in range(600):
            x, y = x + 1, y + 1
        assert constant_value(x) is None
        assert constant_value(y) == 600


@pytest.mark.parametrize("of", [tf.shape, tf.size, tf.rank])
def test_for_the_shape_of_a_tensor_nobody_looks_for_its_value(of, monkeypatch):
    """A step of an LSTM of unknown batch would be looked through for each gradient of it."""
    looked_into = []
    search = static_values._constant

    def noted(tensor, *found):
        looked_into.append(tensor)
        return search(tensor, *found)

    monkeypatch.setattr(static_values, "_constant", noted)
    with tf.Graph().as_default():
        asked = of(tf.placeholder(tf.float32, [None, 3]) + 1.0, name="asked")
        looked_into.clear()
        constant_value(asked)
    assert looked_into == [asked]
