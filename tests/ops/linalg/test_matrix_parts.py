"""Diagonals and bands: shapes and mistakes."""

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")


def test_static_shapes():
    x = tf.placeholder(tf.float32, [None, 3, 5])
    assert tf.matrix_diag_part(x).shape.as_list() == [None, 3]
    assert tf.matrix_diag(tf.ones([2, 3])).shape.as_list() == [2, 3, 3]
    assert tf.diag(tf.ones([2, 3])).shape.as_list() == [2, 3, 2, 3]
    assert tf.matrix_band_part(x, 0, 0).shape.as_list() == [None, 3, 5]


def test_band():
    x = tf.constant(np.arange(16).reshape(4, 4))
    kept = np.triu(np.tril(np.arange(16).reshape(4, 4), 2), -1)
    np.testing.assert_array_equal(run(tf.matrix_band_part(x, 1, 2)), kept)


def test_mistakes():
    with pytest.raises(ValueError, match="rank 2"):
        tf.matrix_diag_part(tf.ones([3]))
    with pytest.raises(ValueError, match="rank 1"):
        tf.matrix_diag(tf.constant(1.0))
    with pytest.raises(ValueError, match="does not fit"):
        tf.matrix_set_diag(tf.ones([3, 4]), tf.ones([4]))
    with pytest.raises(ValueError, match="halves"):
        tf.diag_part(tf.ones([2, 3]))
