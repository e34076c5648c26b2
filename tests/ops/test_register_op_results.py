"""A kernel of a user's that contradicts its infer is found in the first run of each plan."""

import itertools

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import InvalidArgumentError
from daskvars.graph.definitions.opdef import NO_GRADIENT, REGISTRY, Spec
from daskvars.graph.definitions.patterns import Elementwise, Opaque, Reduction

numbers = itertools.count()


@pytest.fixture
def register():
    """Register ops, and forget them in the end."""
    made = []

    def make(infer, kernel, pattern=None):
        made.append(f"Contrary{next(numbers)}")
        return dv.register_op(
            made[-1],
            "x:N",
            infer=infer,
            kernel=kernel,
            pattern=pattern or Opaque(),
            gradient=NO_GRADIENT,
        )

    yield make
    for name in made:
        del REGISTRY[name]


def same(inputs):
    return inputs[0]


def column(inputs):
    return Spec(inputs[0].dtype, inputs[0].shape[:1])


def doubles(xp, x):
    return xp.asarray(x, "float64")


def longer(xp, x):
    return xp.concatenate([x, x])


def kept(xp, x):
    return xp.sum(x, axis=1, keepdims=True)


def text(xp, x):
    return "text"


def integers(inputs):
    return Spec(dv.int32, inputs[0].shape)


CONTRARY = [
    (same, doubles, None, "float64", "float32"),
    (same, longer, None, "8, 3", "4, 3"),
    (column, kept, None, "4, 1", "4"),
    (same, text, None, "str", "float32"),
    (same, doubles, Elementwise(), "float64", "float32"),
    (integers, "exp", Elementwise(), "float32", "int32"),
    (column, kept, Reduction(), "4, 1", "4"),
]


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize(("infer", "kernel", "pattern", "found", "wanted"), CONTRARY)
def test_a_contrary_kernel_is_an_error(register, infer, kernel, pattern, found, wanted, size):
    op = register(infer, kernel, pattern)
    found, wanted = found.replace("3", str(size)), wanted.replace("int32", "INT")
    found, wanted = (t.replace(f"float{size}2", "float32") for t in (found, wanted))
    wanted = wanted.replace("4, 3", f"4, {size}").replace("INT", "int32")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, size])
        y = op(x, name="mine") * 2
        with pytest.raises(InvalidArgumentError) as error:
            session.run(y, {x: np.ones((4, size), "f4")})
    for word in ("mine", found, wanted, "infer"):
        assert word in str(error.value)
    with pytest.raises(InvalidArgumentError, match="infer"):
        op(dv.ones([4, size])).numpy()


@pytest.mark.parametrize("size", [3, 1 << 19])
def test_no_variable_takes_what_is_contrary(register, size):
    op = register(lambda inputs: inputs[0], doubles, Elementwise())
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.zeros(size, "f4"))
        step = tf.assign_add(v, op(tf.ones([size])))
        session.run(v.initializer)
        with pytest.raises(InvalidArgumentError, match="float64"):
            session.run(step)
        assert not session.run(v).any()


def test_chunks_are_checked_as_well(register):
    op = register(same, doubles, Elementwise())
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [6, 2], initializer=tf.ones_initializer(), chunks=(4, 2))
        session.run(v.initializer)
        with pytest.raises(InvalidArgumentError, match=r"float64 .* float32"):
            session.run(op(v))


def test_it_is_checked_in_branches(register):
    op = register(same, doubles)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = tf.cond(x[0] > 0, lambda: op(x), lambda: x)
        assert session.run(y, {x: [-1, 1]}).tolist() == [-1, 1]
        with pytest.raises(InvalidArgumentError, match="float64"):
            session.run(y, {x: [1, 1]})


def test_only_the_first_run_compares(register):
    answers = [np.float32, np.float32, np.float64]

    def changing(xp, x):
        return xp.asarray(x, answers.pop(0))

    op = register(same, changing)
    with tf.Graph().as_default(), tf.Session() as session, config.set(check_every_run=False):
        x = tf.placeholder(tf.float32, [2])
        y = op(x)
        for _ in range(3):
            session.run(y, {x: [1, 2]})
    assert not answers


def test_in_tests_every_run_compares(register):
    answers = [np.float32, np.float64]
    op = register(same, lambda xp, x: xp.asarray(x, answers.pop(0)))
    assert config.get().check_every_run
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = op(x)
        session.run(y, {x: [1, 2]})
        with pytest.raises(InvalidArgumentError, match="float64"):
            session.run(y, {x: [1, 2]})
