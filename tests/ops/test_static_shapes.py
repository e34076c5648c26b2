"""What is known of a result before a run: all that its inputs tell together."""

import numpy as np
import pytest

import daskvars.v1 as tf

OF = {
    "where": (lambda x, y: tf.where(tf.constant(True), x, y), ([None, 3], [2, None]), [2, 3]),
    "where, of one only": (lambda x, y: tf.where(x > 0, x, y), (None, [2, 3]), [2, 3]),
    "bias_add": (tf.nn.bias_add, ([None, None], [4]), [None, 4]),
    "bias_add, channels first": (
        lambda x, b: tf.nn.bias_add(x, b, "NCHW"),
        ([None, None, 5, 6], [4]),
        [None, 4, 5, 6],
    ),
    "batch norm": (
        lambda x, s: tf.nn.fused_batch_norm(x, s, s)[0],
        ([None, 5, None, None], [4]),
        [None, 5, None, 4],
    ),
    "inverse": (tf.matrix_inverse, ([None, None, 3],), [None, 3, 3]),
    "cholesky": (tf.cholesky, ([2, None],), [2, 2]),
    "solve": (tf.matrix_solve, ([5, None, 3], [None, None, 2]), [5, 3, 2]),
    "solve, sides unknown": (tf.matrix_solve, ([3, None], None), [3, None]),
    "set_diag": (tf.matrix_set_diag, (None, [5, 3]), [5, None, None]),
    "reverse_sequence": (
        lambda x, n: tf.reverse_sequence(x, tf.cast(n, tf.int32), seq_axis=0, batch_axis=1),
        ([7, None, 2], [4]),
        [7, 4, 2],
    ),
}


@pytest.mark.parametrize("name", OF)
def test_what_inputs_tell_together_is_known(name):
    function, given, wanted = OF[name]
    with tf.Graph().as_default():
        found = function(*(tf.placeholder(tf.float32, shape) for shape in given))
        assert found.shape.as_list() == wanted


RANKLESS = {
    "mean": lambda x, ids: tf.unsorted_segment_mean(x, ids, 3),
    "sqrt_n": lambda x, ids: tf.unsorted_segment_sqrt_n(x, ids, 3),
    "sorted mean": tf.segment_mean,
    "sparse mean": lambda x, ids: tf.sparse_segment_mean(x, tf.range(4), ids),
}


@pytest.mark.parametrize("name", RANKLESS)
@pytest.mark.parametrize("shape", [(4,), (4, 2), (4, 2, 3)])
def test_means_of_segments_need_no_rank(name, shape):
    data, segments = np.random.default_rng(0).normal(size=shape), np.array([0, 0, 1, 2])
    with tf.Graph().as_default(), tf.Session() as session:
        found = []
        for known in (shape, None):
            x, ids = tf.placeholder(tf.float64, known), tf.placeholder(tf.int32, known and [4])
            y = RANKLESS[name](x, ids)
            slope = tf.convert_to_tensor(tf.gradients(y, x)[0])
            found.append(session.run([y, slope], {x: data, ids: segments}))
    for known, unknown in zip(*found, strict=True):
        np.testing.assert_array_equal(known, unknown)
