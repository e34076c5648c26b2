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


@pytest.mark.parametrize("k", range(-3, 5))
def test_any_diagonal(k):
    x = np.arange(40.0).reshape(2, 4, 5)
    matrix = tf.placeholder(tf.float64, [None, 4, 5])
    part = tf.linalg.diag_part(matrix, k=k)
    alone = tf.linalg.diag(part, k=k, num_rows=4, num_cols=5, padding_value=7)
    found = run(
        [part, alone, tf.linalg.set_diag(matrix, -part, k=k), tf.linalg.diag(part, k=k)],
        {matrix: x},
    )
    wanted = np.diagonal(x, k, -2, -1)
    is_there = np.eye(4, 5, k, bool)
    np.testing.assert_array_equal(found[0], wanted)
    np.testing.assert_array_equal(found[1], np.where(is_there, x, 7))
    np.testing.assert_array_equal(found[2], np.where(is_there, -x, x))
    np.testing.assert_array_equal(found[3], [np.diag(row, k) for row in wanted])


@pytest.mark.parametrize("k", [(-1, 1), (0, 2), (-2, 0), (-3, -2)])
def test_several_diagonals_stand_from_the_highest_on_at_the_left(k):
    x = tf.constant(np.arange(40.0).reshape(2, 4, 5))
    parts = tf.linalg.diag_part(x, k=k, padding_value=-1)
    whole = tf.linalg.set_diag(tf.zeros_like(x), parts, k=k)
    found, again, slope = run([parts, whole, tf.gradients(whole, x)[0]])
    wanted = [np.diagonal(run(x), j, -2, -1) for j in range(k[1], k[0] - 1, -1)]
    for row, diagonal in zip(np.moveaxis(found, 1, 0), wanted, strict=True):
        np.testing.assert_array_equal(row[:, : diagonal.shape[1]], diagonal)
        assert (row[:, diagonal.shape[1] :] == -1).all()
    is_there = np.triu(np.tril(np.ones((4, 5)), k[1]), k[0])
    np.testing.assert_array_equal(again, run(x) * is_there)
    np.testing.assert_array_equal(slope, np.broadcast_to(is_there, slope.shape))


@pytest.mark.parametrize(
    ("align", "wanted"),
    [
        ("LEFT_LEFT", [[2, 6, 9], [1, 5, 9], [4, 8, 9]]),
        ("RIGHT_LEFT", [[9, 2, 6], [1, 5, 9], [4, 8, 9]]),
        ("LEFT_RIGHT", [[2, 6, 9], [1, 5, 9], [9, 4, 8]]),
        ("RIGHT_RIGHT", [[9, 2, 6], [1, 5, 9], [9, 4, 8]]),
    ],
)
def test_shorter_diagonals_stand_where_align_says(align, wanted):
    x = tf.reshape(tf.range(1.0, 10.0), [3, 3])
    nine = tf.placeholder_with_default(9.0, [])
    parts = tf.linalg.diag_part(x, k=(-1, 1), padding_value=nine, align=align)
    again = tf.linalg.set_diag(tf.zeros_like(x), parts, k=(-1, 1), align=align)
    made = tf.linalg.diag(parts, k=(-1, 1), padding_value=nine, align=align)
    found = run([parts, again, made])
    assert found[0].tolist() == wanted
    assert found[1].tolist() == [[1, 2, 0], [4, 5, 6], [0, 8, 9]]
    assert found[2].tolist() == [[1, 2, 9], [4, 5, 6], [9, 8, 9]]


def test_mistakes():
    with pytest.raises(ValueError, match="no diagonal 5"):
        tf.linalg.diag_part(tf.ones([4, 5]), k=(0, 5))
    for k in (5, -4):
        with pytest.raises(ValueError, match=f"no diagonal {k}"):
            tf.linalg.diag_part(tf.ones([4, 5]), k=k)
    with pytest.raises(ValueError, match="known sizes"):
        tf.linalg.diag_part(tf.placeholder(tf.float32, [None, 5]), k=(0, 1))
    with pytest.raises(ValueError, match=r"got \(1, 0\)"):
        tf.linalg.diag_part(tf.ones([4, 5]), k=(1, 0))
    with pytest.raises(ValueError, match="align must be"):
        tf.linalg.diag_part(tf.ones([4, 5]), k=(0, 1), align="LEFT")
    with pytest.raises(ValueError, match="rank 2"):
        tf.matrix_diag_part(tf.ones([3]))
    with pytest.raises(ValueError, match="rank 1"):
        tf.matrix_diag(tf.constant(1.0))
    with pytest.raises(ValueError, match="does not fit"):
        tf.matrix_set_diag(tf.ones([3, 4]), tf.ones([4]))
    with pytest.raises(ValueError, match="halves"):
        tf.diag_part(tf.ones([2, 3]))
