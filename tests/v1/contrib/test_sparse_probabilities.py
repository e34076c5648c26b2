import numpy as np
import pytest

import daskvars.v1 as tf


def nearest(logits):
    """The projection of each row on the simplex, by bisection of what is taken from it."""
    low, high = logits.max(1) - 1, logits.max(1)
    for _ in range(60):
        middle = (low + high) / 2
        above = np.maximum(logits - middle[:, None], 0).sum(1) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(logits - low[:, None], 0)


@pytest.mark.parametrize("shape", [[6, 5], [None, None]])
def test_probabilities_are_the_nearest_ones_and_the_gradient_of_the_loss_what_is_above_labels(
    graph, shape
):
    rng = np.random.default_rng(0)
    given, labels = rng.normal(size=(6, 5)), np.eye(5)[rng.integers(0, 5, 6)]
    logits = tf.placeholder(tf.float64, shape)
    found = tf.contrib.sparsemax.sparsemax(logits)
    loss = tf.contrib.sparsemax.sparsemax_loss(logits, found, labels)
    slope = tf.gradients(tf.reduce_sum(loss), logits)[0]
    with tf.Session() as session:
        values, slopes, losses = session.run([found, slope, loss], {logits: given})
    np.testing.assert_allclose(values, nearest(given), atol=1e-12)
    np.testing.assert_allclose(slopes, values - labels, atol=1e-12)
    assert found.op.name.startswith("sparsemax/") and (losses >= 0).all()
    assert found.shape.as_list() == shape


def test_rows_without_probabilities_are_nan(graph):
    rows = [[0.0, -np.inf], [np.inf, 0.0], [np.nan, 0.0], [-np.inf, -np.inf]]
    found = tf.contrib.sparsemax.sparsemax(rows)
    labels = [[1.0, 0.0]] * 4
    loss = tf.contrib.sparsemax.sparsemax_loss(rows, found, labels)
    with tf.Session() as session:
        values, losses = session.run([found, loss])
    np.testing.assert_array_equal(values, [[1.0, 0.0], *[[np.nan, np.nan]] * 3])
    np.testing.assert_array_equal(losses, [0.0, *[np.nan] * 3])
