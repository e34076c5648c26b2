"""Products that are added up are one operation, if nobody takes one of them."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.kernels.control import summed_products
from tests.lowering.rewrites.test_compute_once import run_with_calls

STEPS, BATCH, UNITS = 4, 3, 8
pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture(autouse=True)
def few_rows_are_joined(monkeypatch):
    monkeypatch.setattr(summed_products, "FEW_ELEMENTS", 0)


def unrolled(batch, dtype=tf.float32):
    """Return what is fed, the products of a network written out step by step, and their sum."""
    x = tf.placeholder(dtype, [STEPS, batch, UNITS])
    w = tf.constant(np.eye(UNITS, dtype="f4") / 2, dtype)
    slopes = [tf.tanh(tf.matmul(x[i], w)) for i in range(STEPS)]
    products = [tf.matmul(x[i], slopes[i], transpose_a=True) for i in range(STEPS)]
    return x, products, tf.add_n([*products, w])


def fed(batch, dtype="f4"):
    return np.random.default_rng(0).standard_normal((STEPS, batch, UNITS)).astype(dtype)


def expected(values):
    return sum(v.T @ np.tanh(v / 2) for v in values.astype("f8")) + np.eye(UNITS) / 2


@pytest.mark.parametrize("batch", [BATCH, None])
def test_a_sum_of_products_over_rows_is_one_operation(batch):
    x, _, total = unrolled(batch)
    found, calls = run_with_calls([total], {x: fed(BATCH)})
    np.testing.assert_allclose(found[0], expected(fed(BATCH)), rtol=1e-5, atol=1e-5)
    assert calls["sum_of_products"] == 1
    assert calls["matmul"] == STEPS  # those of the network itself


def test_what_others_take_too_or_is_rounded_or_has_many_rows_stays_as_it_is():
    x, products, total = unrolled(BATCH)
    found, calls = run_with_calls([total, *products[1:]], {x: fed(BATCH)})
    np.testing.assert_allclose(found[0], expected(fed(BATCH)), rtol=1e-5, atol=1e-5)
    assert not calls["sum_of_products"]
    for batch, dtype in ((UNITS, tf.float32), (BATCH, tf.float16)):
        x, _, total = unrolled(batch, dtype)
        _, calls = run_with_calls([total], {x: fed(batch, dtype.as_numpy_dtype)})
        assert not calls["sum_of_products"]
