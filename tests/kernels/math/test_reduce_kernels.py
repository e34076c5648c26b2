"""Folds: paths by matrix products, partial sums, empty axes."""

import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.math import reduce as kernels

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (1, 2), (0, 2), (), None])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_sums_of_large_arrays(axis, keepdims, dtype):
    x = (RNG.normal(size=(40, 30, 32)) * 100).astype(dtype)
    found = kernels.reduce_sum(np, x, axis=axis, keepdims=keepdims)
    wanted = x.sum(axis=axis, keepdims=keepdims, dtype="f8" if dtype == "f4" else dtype)
    assert found.dtype == dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-1)


def test_sum_to_shape():
    x = RNG.normal(size=(5, 4, 3))
    assert kernels.sum_to_shape(np, x, shape=(5, 4, 3)) is x
    np.testing.assert_allclose(kernels.sum_to_shape(np, x, shape=(4, 1)), x.sum((0, 2))[:, None])
    np.testing.assert_allclose(kernels.sum_to_shape(np, x, shape=()), x.sum())
    assert kernels.sum_to_shape(np, np.ones((0, 3)), shape=(1, 3)).tolist() == [[0, 0, 0]]
    with pytest.raises(InvalidArgumentError):
        kernels.sum_to_shape(np, x, shape=(2, 3))


def test_means_of_blocks_add_up():
    x = RNG.normal(size=(6, 4))
    parts = [kernels.reduce_mean(np, part, axis=(0,), count=6) for part in (x[:2], x[2:])]
    np.testing.assert_allclose(sum(parts), x.mean(0))


def test_logsumexp_of_blocks_merges():
    x = RNG.normal(size=(6, 4)) * 50
    parts = [kernels.logsumexp(np, part, axis=(0,)) for part in (x[:2], x[2:])]
    np.testing.assert_allclose(np.logaddexp(*parts), kernels.logsumexp(np, x, axis=(0,)))


def test_counts_of_blocks_add_up():
    values = RNG.integers(0, 9, (7, 3)).astype("i4")
    options = {"size": 6, "dtype": np.dtype("i4")}

    class Kind:
        np = options["dtype"]

    options["dtype"] = Kind
    parts = [kernels.bincount(np, part, **options) for part in (values[:3], values[3:])]
    np.testing.assert_array_equal(sum(parts), np.bincount(values.ravel(), minlength=9)[:6])
