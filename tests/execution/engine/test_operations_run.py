"""Operations fetched as operations: they run as TensorFlow runs them, their results let go."""

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


PURE = {
    "elementwise": lambda v: v + 1.0,
    "read": lambda v: v.read_value(),
    "snapshot": lambda v: v.value(),
    "identity": tf.identity,
    "reduction": tf.reduce_sum,
    "product": lambda v: tf.matmul(v, v, transpose_a=True),
    "group": lambda v: tf.group(v + 1.0),
    "groups": lambda v: tf.group(tf.group(tf.identity(v)), tf.no_op()),
}


@pytest.mark.parametrize("chunks", [None, (2, 3)])
@pytest.mark.parametrize("kind", PURE)
def test_a_pure_operation_reads_its_variables(kind, chunks):
    v = tf.Variable(np.zeros((4, 3), "float32"), name="v", chunks=chunks)
    result = PURE[kind](v)
    operation = getattr(result, "op", result)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(operation)
        session.run(v.initializer)
        assert session.run(operation) is None
        assert session.run([operation, v])[1].shape == (4, 3)


def test_an_operation_that_needs_no_value_of_the_variable():
    v = tf.Variable(np.zeros((4, 3)), name="v")
    with tf.Session() as session:
        for operation in (v.op, tf.shape(v).op, tf.zeros_like(v).op, tf.group(v.op)):
            assert session.run(operation) is None


def test_a_pure_operation_is_computed():
    ids = tf.placeholder(tf.int32, [1])
    picked = tf.gather(tf.constant([1.0, 2.0]), ids)
    with tf.Session() as session:
        assert session.run(picked.op, {ids: [1]}) is None
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 9 is not in \[0, 2\)"):
            session.run(picked.op, {ids: [9]})
        assert session.run(picked.op, {ids: [9], picked: [0.0]}) is None, "it is fed"


def test_what_is_overwritten_is_not_kept_for_its_own_sake():
    v = tf.Variable(1.0, name="v")
    first = v.assign(2.0)
    second = v.assign(3.0)
    with tf.Session() as session:
        assert session.run([first.op, second.op, v])[2] == 3.0
