"""Sparse gradients: IndexedSlices from `gather` on, and where they become dense."""

import warnings

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.ops.gather_scatter.sparse_gradients import densify
from tests.sessions import run

pytestmark = [pytest.mark.usefixtures("both_thresholds"), pytest.mark.usefixtures("graph")]


def test_gather_gives_slices():
    v = tf.Variable(np.ones([4, 2], np.float32))
    (dv,) = tf.gradients(tf.reduce_sum(3.0 * tf.gather(v, [1, 3])), v)
    assert isinstance(dv, tf.IndexedSlices)
    values, indices = run([dv.values, dv.indices])
    assert values.tolist() == [[3.0, 3.0], [3.0, 3.0]] and indices.tolist() == [1, 3]


def test_slices_join_by_concatenation():
    v = tf.Variable(np.ones([4, 2], np.float32))
    far = tf.constant([3], dtype=tf.int64)
    total = tf.reduce_sum(tf.gather(v, [1, 1])) + 5.0 * tf.reduce_sum(tf.gather(v, far))
    (dv,) = tf.gradients(total, v)
    assert isinstance(dv, tf.IndexedSlices) and dv.indices.dtype is tf.int64
    assert run(densify(dv)).tolist() == [[0, 0], [2, 2], [0, 0], [5, 5]]


def test_sparse_and_dense_give_dense():
    v = tf.Variable(np.ones([3, 2], np.float32))
    total = tf.reduce_sum(tf.gather(v, [2, 2])) + tf.reduce_sum(v)
    (dv,) = tf.gradients(total, v)
    assert isinstance(dv, tf.Tensor)
    assert run(dv).tolist() == [[1, 1], [1, 1], [3, 3]]


def test_slices_are_made_dense_for_other_ops():
    v = tf.Variable(np.ones([3, 2], np.float32))
    (dv,) = tf.gradients(tf.reduce_sum(tf.gather(2.0 * v, [0, 0])), v)
    assert isinstance(dv, tf.Tensor) and dv.shape.as_list() == [3, 2]
    assert run(dv).tolist() == [[4, 4], [0, 0], [0, 0]]


def test_slices_go_through_identity():
    v = tf.Variable(np.ones([3, 2], np.float32))
    (dv,) = tf.gradients(tf.reduce_sum(tf.gather(tf.identity(v), [0])), v)
    assert isinstance(dv, tf.IndexedSlices)


def test_slices_convert_to_tensors():
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 0]), tf.constant([2, 1]))
    assert run(tf.convert_to_tensor(slices)).tolist() == [[3.0], [0.0]]
    with pytest.raises(ValueError, match="float64"):
        tf.convert_to_tensor(slices, dtype=tf.float64)
    bare = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(bare)


def test_large_densification_names_op_and_size():
    v = tf.Variable(tf.zeros([1 << 20, 8]))
    used = tf.gather(2.0 * v, [0], name="lookup")
    with pytest.warns(UserWarning, match=rf"lookup_grad.*{(1 << 23) * 4} bytes"):
        tf.gradients(used, v)


def test_rows_of_what_was_computed_of_less_are_silent():
    """A step of a network on a graph: there is no table that the rows could be gathered from."""
    ends = tf.placeholder(tf.int32, [None])
    w, h = tf.Variable(tf.ones([6, 8])), tf.Variable(tf.ones([8, 4]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for nodes in (None, 1 << 20):
            hidden = tf.matmul(tf.placeholder(tf.float32, [nodes, 6]), w)
            used = tf.gather(hidden, ends)
            used = tf.gather(tf.matmul(used, h), ends)
            assert None not in tf.gradients(used, [w, h])


def test_small_densification_is_silent():
    v = tf.Variable(tf.zeros([1 << 10, 8]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.gradients(tf.gather(2.0 * v, [0]), v)
