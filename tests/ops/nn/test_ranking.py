import numpy
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import ranking as ops


def test_ties_go_to_the_lower_index():
    values, indices = ops.top_k([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0]], k=2)
    assert values.numpy().tolist() == [[3, 3], [5, 5]]
    assert indices.numpy().tolist() == [[1, 2], [0, 1]]
    assert indices.dtype == dv.int32


def test_result_has_named_parts():
    result = ops.top_k([2.0, 9.0, 4.0])
    assert result.values.numpy().tolist() == [9]
    assert result.indices.numpy().tolist() == [1]


def test_gradient_goes_to_the_largest():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float32, [None, None])
        values, _ = ops.top_k(x, 2)
        (dx,) = dv.gradients(values, [x], [tf.constant([[10.0, 20.0]])])
        assert session.run(dx, {x: [[1.0, 3.0, 2.0]]}).tolist() == [[0, 10, 20]]


def test_in_top_k_counts_ties_with_the_last():
    # TensorFlow: "if multiple classes have the same prediction value and straddle the top-k
    # boundary, all of those classes are considered to be in the top k".
    predictions = [[0.5, 0.5, 0.1], [0.2, 0.3, 0.4]]
    assert ops.in_top_k(predictions, [1, 0], 1).numpy().tolist() == [True, False]
    assert ops.in_top_k(predictions, [3, -1], 3).numpy().tolist() == [False, False]
    assert ops.in_top_k([[numpy.nan, 1.0]], [1], 2).numpy().tolist() == [False]


def test_arguments():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 3])
        values, indices = ops.top_k(x, k=2)
        assert values.op.name == "TopKV2"
        assert values.shape.as_list() == indices.shape.as_list() == [None, 2]
        assert ops.top_k(x, tf.placeholder(dv.int32, []))[0].shape.as_list() == [None, None]
        with pytest.raises(ValueError, match="last dimension >= k = 4 but is 3"):
            ops.top_k(x, 4)
        with pytest.raises(ValueError, match="k >= 0"):
            ops.top_k(x, -1)
        with pytest.raises(ValueError, match="rank 1"):
            ops.top_k(tf.constant(1.0))
        targets = tf.placeholder(dv.int64, [5])
        assert ops.in_top_k(x, targets, 2).op.name == "InTopKV2"
        assert ops.in_top_k(x, targets, 2).shape.as_list() == [5]
        with pytest.raises(ValueError, match="targets must be rank 1"):
            ops.in_top_k(x, tf.placeholder(dv.int32, [5, 1]), 2)
        with pytest.raises(ValueError):
            ops.in_top_k(tf.zeros([4, 3]), targets, 2)


def test_the_nth_element_and_its_gradient():
    with tf.Graph().as_default(), tf.Session() as sess:
        x, n = (
            tf.constant([[3.0, 1.0, 2.0, 2.0], [5.0, 5.0, 5.0, 0.0]]),
            tf.placeholder(tf.int32, []),
        )
        for reverse in (False, True):  # golden: equal entries share the gradient
            found = tf.contrib.nn.nth_element(x, 1, reverse)
            gradient = tf.gradients(found, x, [tf.constant([6.0, 12.0])])[0]
            assert sess.run(found).tolist() == [2, 5]
            assert sess.run(gradient).tolist() == [[0, 0, 3, 3], [4, 4, 4, 0]]
        later = tf.contrib.nn.nth_element(x, n)
        assert later.shape.as_list() == [2] and sess.run(later, {n: 3}).tolist() == [3, 5]
        for value, text in ((-1, "Need n >= 0, got -1"), (4, r"at least n\+1 columns")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                sess.run(later, {n: value})
        for value, text in (
            (-1, "non-negative but is -1"),
            (4, "> n = 4"),
            ([1], "scalar but has"),
        ):
            with pytest.raises(ValueError, match=text):
                tf.contrib.nn.nth_element(x, value)
        scalar = tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input must be >= 1-D"):
            sess.run(tf.contrib.nn.nth_element(scalar, 0), {scalar: 5.0})
