"""Sparse tensors as results of branches and as loop variables."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf


def two():
    first = tf.SparseTensor([[0, 1], [2, 0]], tf.constant([1.0, 2.0]), [3, 4])
    return first, tf.SparseTensor([[1, 1]], tf.constant([5.0]), [3, 4])


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_gives_a_sparse_tensor(taken):
    with tf.Graph().as_default(), tf.Session() as sess:
        pred = tf.placeholder(tf.bool, [])
        first, second = two()
        found = tf.cond(pred, lambda: first, lambda: second)
        assert isinstance(found, tf.SparseTensor) and found.shape.ndims == 2
        slope = tf.gradients(tf.sparse_reduce_sum(found) * 3.0, first.values)[0]
        value, dense, gradient = sess.run(
            [found, tf.sparse_tensor_to_dense(found), slope], {pred: taken}
        )
    wanted = {(0, 1): 1.0, (2, 0): 2.0} if taken else {(1, 1): 5.0}
    assert dict(zip(map(tuple, value.indices), value.values, strict=True)) == wanted
    assert value.dense_shape.tolist() == [3, 4] and dense.sum() == sum(wanted.values())
    np.testing.assert_array_equal(gradient, np.full(2, 3.0 if taken else 0.0))


def test_sparse_tensors_are_in_structures_of_results():
    with tf.Graph().as_default(), tf.Session() as sess:
        first, second = two()
        number = tf.placeholder(tf.int32, [])
        found = tf.case(
            [(tf.equal(number, 0), lambda: {"x": first, "n": (number, second)})],
            default=lambda: {"x": second, "n": (number + 1, first)},
        )
        zero, one = (sess.run(found, {number: n}) for n in (0, 1))
    assert zero["x"].values.tolist() == one["n"][1].values.tolist() == [1.0, 2.0]
    assert (zero["n"][0], one["n"][0]) == (0, 2)


def test_branches_of_a_sparse_and_a_dense_result_are_refused():
    with tf.Graph().as_default():
        first, _ = two()
        pred = tf.placeholder(tf.bool, [])
        with pytest.raises((TypeError, ValueError), match="cond"):
            tf.cond(pred, lambda: first, lambda: tf.zeros([3, 4]))


def test_a_loop_carries_a_sparse_tensor_and_its_gradient():
    with tf.Graph().as_default(), tf.Session() as sess:
        first, _ = two()
        turns, found = tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), first]
        )
        slope = tf.gradients(tf.reduce_sum(found.values), first.values)[0]
        count, value, gradient = sess.run([turns, found, slope])
    assert count == 3 and value.values.tolist() == [8.0, 16.0] and gradient.tolist() == [8.0, 8.0]


def test_a_shape_invariant_lets_a_sparse_tensor_grow():
    with tf.Graph().as_default(), tf.Session() as sess:
        first, second = two()

        def body(i, x):
            return i + 1, tf.sparse_concat(0, [x, second])

        start = [tf.constant(0), first]
        with pytest.raises(ValueError, match=r"Input tensor .* has shape .* after one iteration"):
            tf.while_loop(lambda i, x: i < 2, body, start)
        _, found = tf.while_loop(
            lambda i, x: i < 2,
            body,
            start,
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 4])],
        )
        value = sess.run(found)
    assert value.indices.tolist() == [[0, 1], [2, 0], [4, 1], [7, 1]]
    assert value.dense_shape.tolist() == [9, 4]


@pytest.mark.parametrize(
    ("invariant", "known"), [([2], [None, 2]), ([None], [None, None]), ([None, 4], [None, 2])]
)
def test_a_shape_invariant_of_a_sparse_tensor_is_the_shape_of_its_dense_shape(invariant, known):
    with tf.Graph().as_default(), tf.Session() as sess:
        start = [tf.constant(0), two()[0]]
        loop = (lambda i, x: i < 2, lambda i, x: (i + 1, x * 2.0), start)
        shapes = [tf.TensorShape([]), tf.TensorShape(invariant)]
        _, found = tf.while_loop(*loop, shape_invariants=shapes)
        assert found.indices.shape.as_list() == known
        assert sess.run(found).values.tolist() == [4.0, 8.0]
        with pytest.raises(ValueError, match="is not compatible with the initial shape"):
            tf.while_loop(*loop, shape_invariants=[tf.TensorShape([]), tf.TensorShape([5])])


def test_eager_loops_and_branches_take_them_too():
    x = dv.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
    assert dv.cond(dv.constant(True), lambda: x, lambda: x) is x
    _, found = dv.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * 2.0), [dv.constant(0), x])
    assert found.values.numpy().tolist() == [4.0, 8.0]
