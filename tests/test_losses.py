"""Losses: values of TensorFlow, weights, reductions, collections and gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import run

LABELS = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
PREDICTIONS = [[0.9, 0.2, 0.6], [0.4, 0.3, 0.8]]
WEIGHTS = [[1.0], [0.5]]
ONE_HOT = [[0, 0, 1], [0, 1, 0]]
CALLS = {  # name: (arguments, value by TensorFlow 2.21's compat.v1)
    "absolute_difference": ({"weights": WEIGHTS}, 0.22500000894),
    "cosine_distance": ({"axis": 1, "weights": WEIGHTS}, -0.27500000596),
    "hinge_loss": ({"weights": WEIGHTS}, 0.47499999403),
    "huber_loss": ({"weights": WEIGHTS}, 0.04624999687),
    "log_loss": ({"weights": WEIGHTS}, 0.30138328671),
    "mean_pairwise_squared_error": ({"weights": WEIGHTS}, 0.48333334922),
    "mean_squared_error": ({"weights": WEIGHTS}, 0.09249999374),
    "sigmoid_cross_entropy": ({"weights": WEIGHTS, "label_smoothing": 0.2}, 0.44350269436),
    "softmax_cross_entropy": ({"weights": [1.0, 0.5], "label_smoothing": 0.2}, 0.87668967247),
    "sparse_softmax_cross_entropy": ({"weights": WEIGHTS}, 0.88335633277),
}
REDUCED = {  # mean_squared_error with weights [[1], [0]]
    "none": [[0.01, 0.04, 0.16], [0.0, 0.0, 0.0]],
    "weighted_sum": 0.21,
    "weighted_mean": 0.07,
    "weighted_sum_over_batch_size": 0.035,
    "weighted_sum_by_nonzero_weights": 0.07,
}


@pytest.fixture(autouse=True)
def graph():
    tf.reset_default_graph()


def labels_for(name):
    if name == "sparse_softmax_cross_entropy":
        return [[2], [1]]
    return ONE_HOT if name == "softmax_cross_entropy" else LABELS


@pytest.mark.parametrize("name", CALLS)
def test_values_are_tensorflow_s(name):
    arguments, wanted = CALLS[name]
    labels = labels_for(name)
    loss = getattr(tf.losses, name)(labels, PREDICTIONS, **arguments)
    assert tf.losses.get_losses() == [loss]
    with tf.Session() as sess:
        assert_allclose(sess.run(loss), wanted, rtol=1e-6)
    assert_allclose(getattr(dv.losses, name)(labels, PREDICTIONS, **arguments), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_open_shapes_and_gradients(name):
    arguments, wanted = CALLS[name]
    labels = np.asarray(labels_for(name), "int64" if "sparse" in name else "float32")
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(labels.dtype)
    if "cross_entropy" in name:  # logits need a rank
        x.set_shape([None, None])
        y.set_shape([None, None])
    loss = getattr(tf.losses, name)(y, x, **arguments)
    (slope,) = tf.gradients(loss, [x])
    with tf.Session() as sess:
        value, slope = sess.run([loss, slope], {x: PREDICTIONS, y: labels})
    assert_allclose(value, wanted, rtol=1e-6)
    assert np.abs(slope).max() > 0


@pytest.mark.parametrize("reduction", REDUCED)
def test_reductions(reduction):
    assert reduction in tf.losses.Reduction.all()
    loss = dv.losses.mean_squared_error(LABELS, PREDICTIONS, [[1.0], [0.0]], reduction=reduction)
    assert_allclose(loss, REDUCED[reduction], rtol=1e-6)


def test_no_weight_at_all_gives_zero_not_nan():
    assert float(dv.losses.mean_squared_error([1.0], [2.0], 0.0)) == 0.0
    assert float(dv.losses.mean_squared_error([1.0, 1.0], [2.0, 2.0], [0.0, 0.0])) == 0.0


def test_losses_of_other_dtypes_come_back_in_theirs():
    losses = dv.constant([1.0, 3.0], dv.float64)
    assert dv.losses.compute_weighted_loss(losses, 2.0).dtype is dv.float64


def test_refused():
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_squared_error(None, [1.0])
    with pytest.raises(ValueError, match="logits must not be None"):
        tf.losses.softmax_cross_entropy([[1.0]], None)
    with pytest.raises(ValueError, match="incompatible"):
        tf.losses.absolute_difference([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        tf.losses.absolute_difference(LABELS, PREDICTIONS, [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="Invalid ReductionKey sum"):
        tf.losses.compute_weighted_loss([1.0], reduction="sum")
    with pytest.raises(ValueError, match="specify 'axis'"):
        tf.losses.cosine_distance(LABELS, PREDICTIONS)


def test_unfit_weights_fail_when_run():
    x, w = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    check = tf.losses.compute_weighted_loss(x, w)
    with tf.Session() as sess:
        assert sess.run(check, {x: LABELS, w: WEIGHTS}) == 0.5
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"weights can not be broadcast to values .*values.rank=2. weights.rank=1.",
        ):
            sess.run(check, {x: np.ones((2, 3)), w: [1.0, 1.0, 1.0]})


def test_total_loss():
    with pytest.raises(ValueError):
        tf.losses.get_total_loss()
    tf.get_variable("v", initializer=3.0, regularizer=lambda v: v * 2.0)
    with tf.name_scope("a"):
        first = tf.losses.mean_squared_error([1.0], [2.0], scope="one")
    tf.losses.add_loss(tf.constant(10.0))
    tf.losses.add_loss(tf.constant(100.0), "others")
    tf.losses.add_loss(tf.constant(1000.0), None)
    total = tf.losses.get_total_loss()
    alone = tf.losses.get_total_loss(add_regularization_losses=False, name="alone")
    assert tf.losses.get_losses("a/one") == [first]
    assert len(tf.losses.get_losses(loss_collection="others")) == 1
    assert run([total, alone, tf.losses.get_regularization_loss()]) == [17.0, 11.0, 6.0]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64", "bool"])
def test_softmax_cross_entropy_casts_labels(dtype):
    """As in TensorFlow: programs have classes as integers, each a row with a one."""
    of_floats, logits = dv.constant([[1.0, 0.0], [0.0, 1.0]]), dv.constant([[2.0, 0.0], [1.0, 1.0]])
    labels = dv.cast(of_floats, dtype)
    functions = dv.nn.softmax_cross_entropy_with_logits_v2, dv.nn.softmax_cross_entropy_with_logits
    for function in functions:
        found = function(labels=labels, logits=logits)
        assert found.numpy().tolist() == function(labels=of_floats, logits=logits).numpy().tolist()
