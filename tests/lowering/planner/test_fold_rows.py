"""A large sum over everything is the sum of what rows sum up to, however these are cut."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.kernels.math.reduce import sum_rows
from daskvars.kernels.nn.loss import l2_loss_rows
from tests.lowering.rewrites.test_compute_once import run_with_calls

WHOLE = {"sum": tf.reduce_sum, "l2_loss": tf.nn.l2_loss}
ROWS = {"sum": sum_rows, "l2_loss": l2_loss_rows}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    ("shape", "dtype", "is_by_rows"),
    [
        ((512, 512), tf.float32, True),
        ((64, 16, 256), tf.float32, True),
        ((2, 66_000), tf.float64, True),
        ((512, 256), tf.float32, False),  # not large
        ((1 << 18,), tf.float32, False),
        ((1 << 16, 4), tf.float32, False),  # short rows
        ((1024, 1024), tf.float16, False),  # would lose digits between
    ],
)
def test_large_sums_are_made_of_rows(graph, name, shape, dtype, is_by_rows):
    values = 0.1 * np.random.default_rng(0).standard_normal(shape)
    values = values.astype(dtype.as_numpy_dtype)
    x = tf.placeholder(dtype, shape)
    found, calls = run_with_calls(WHOLE[name](x), {x: values})
    assert (calls[ROWS[name].__name__] == 1) is is_by_rows
    exact = values.astype("f8")
    wanted = exact.sum() if name == "sum" else (exact**2).sum() / 2
    tolerance = 0.05 if dtype == tf.float16 else 1e-4
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_sums_along_axes_are_what_they_were(graph):
    x = tf.placeholder(tf.float32, [512, 512])
    fetches = [tf.reduce_sum(x, 0), tf.reduce_sum(x, keepdims=True), tf.reduce_mean(x)]
    found, calls = run_with_calls(fetches, {x: np.ones((512, 512))})
    assert calls["sum_rows"] == 0
    assert found[1].shape == (1, 1)


@pytest.mark.parametrize("rows", ROWS.values())
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", [16, 67, 1024, 5000])
def test_a_row_has_the_same_bits_whatever_is_beside_it(rows, dtype, columns):
    x = np.random.default_rng(1).standard_normal((31, columns)).astype(dtype)
    whole = rows(np, x, axis=(1,))
    for size in (1, 2, 3, 7, 16):
        parts = [rows(np, x[i : i + size], axis=(1,)) for i in range(0, len(x), size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
