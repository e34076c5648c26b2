"""Sizes and axes are given as NumPy has them, as sizes of tensors, and as constants, too."""

import numpy as np
import pytest

import daskvars.v1 as tf

IMAGES = np.arange(32, dtype="f4").reshape(1, 4, 4, 2)
FILTERS = np.ones((2, 2, 2, 2), "f4")
MATRIX = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]], "f4")


def sparse():
    return tf.sparse.from_dense([[1.0, 0.0], [2.0, 3.0]])


FUNCTIONS = {
    "max_pool": (lambda n: tf.nn.max_pool(IMAGES, n, [1, 2, 2, 1], "SAME"), [1, 2, 2, 1]),
    "conv2d": (lambda n: tf.nn.conv2d(IMAGES, FILTERS, n, "SAME"), [1, 2, 2, 1]),
    "convolution": (lambda n: tf.nn.convolution(IMAGES, FILTERS, "SAME", strides=n), [2, 1]),
    "conv2d_transpose": (
        lambda n: tf.nn.conv2d_transpose(IMAGES, FILTERS, [1, 8, 8, 2], n),
        [1, 2, 2, 1],
    ),
    "space_to_batch": (lambda n: tf.space_to_batch(IMAGES, [[0, 0], [0, 0]], n), 2),
    "batch_to_space": (lambda n: tf.batch_to_space(np.ones((4, 1, 1, 1)), [[0, 0], [0, 0]], n), 2),
    "sparse.reduce_sum": (lambda n: tf.sparse.reduce_sum(sparse(), n), 1),
    "sparse.reduce_sum, axes": (lambda n: tf.sparse.reduce_sum(sparse(), n), [0, 1]),
    "confusion_matrix": (lambda n: tf.confusion_matrix([0, 1], [1, 1], num_classes=n), 3),
    "dynamic_partition": (lambda n: tf.dynamic_partition([5, 6], [0, 1], n), 2),
    "unstack": (lambda n: tf.unstack(MATRIX, n), 3),
    "hann_window": (lambda n: tf.signal.hann_window(n), 5),
}
KNOWN = {
    "diag": (lambda n: tf.linalg.diag([1.0, 2.0], k=n), 1),
    "stft": (lambda n: tf.signal.stft(np.ones(16, "f4"), n, 4), 8),
    "sparse.reduce_max": (lambda n: tf.sparse.reduce_max(sparse(), n), 0),
    "matrix_solve_ls": (lambda n: tf.matrix_solve_ls(MATRIX, MATRIX, n), 0.5),
}
FORMS = {
    "an array": np.array,
    "numbers of NumPy": lambda n: [*map(np.int64, n)] if isinstance(n, list) else np.int64(n),
    "sizes": lambda n: tf.TensorShape(n) if isinstance(n, list) else tf.Dimension(n),
}


def same(function, plain, given):
    with tf.Session() as session:
        wanted, found = session.run([function(plain), function(given)])
    for one, other in zip(np.atleast_1d(wanted), np.atleast_1d(found), strict=True):
        np.testing.assert_allclose(other, one)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_of_other_types(graph, name, form):
    function, plain = FUNCTIONS[name]
    same(function, plain, FORMS[form](plain))


@pytest.mark.parametrize("name", KNOWN)
def test_constants(graph, name):
    function, plain = KNOWN[name]
    same(function, plain, tf.constant(plain))
