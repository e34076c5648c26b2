"""Products of sparse and dense matrices against those of dense ones."""

import ml_dtypes
import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.sparse import products
from tests.kernels.numerical import frozen, normal

DTYPES = ["f2", ml_dtypes.bfloat16, "f4", "f8", "i1", "u2", "i4", "i8", "c8", "c16"]


def matrix(dtype, count=40, shape=(7, 9)):
    """Return indices, values and the whole of a matrix: places occur twice, a row not at all."""
    rng = np.random.default_rng(1)
    indices = rng.integers(0, [shape[0] - 1, shape[1]], (count, 2))
    kind = {"c": "c16", "i": "i8", "u": "i8"}.get(np.dtype(dtype).kind, "f8")
    values = (rng.integers(-4, 5, count) * (1 + 2j if kind == "c16" else 1)).astype(dtype)
    whole = np.zeros(shape, kind)
    np.add.at(whole, tuple(indices.T), values.astype(whole.dtype))
    return frozen(indices), frozen(values), whole


def numbers(dtype, *shape):
    return frozen(np.random.default_rng(2).integers(-3, 4, shape).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("across", [False, True])
def test_products_are_those_of_dense_matrices(dtype, across):
    indices, values, whole = matrix(dtype)
    a = whole.T if across else whole
    b = numbers(dtype, a.shape[1], 5)
    for ids in (indices, indices.astype(np.int32)):
        found = products.sparse_matmul(np, ids, values, b, shape=whole.shape, transpose_a=across)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, (a @ b.astype(a.dtype)).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_some_products_are_those_of_all(dtype, monkeypatch):
    monkeypatch.setattr(products, "BLOCK_ELEMENTS", 32)  # several blocks of rows, the last of few
    indices, _, whole = matrix(dtype)
    x, y = numbers(dtype, whole.shape[0], 5), numbers(dtype, whole.shape[1], 5)
    every = x.astype(whole.dtype) @ y.astype(whole.dtype).T
    found = products.sampled_matmul(np, indices, x, y)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, every[tuple(indices.T)].astype(dtype))


def test_parts_of_the_dense_matrix_add_up():
    indices, values, whole = matrix("f8")
    b = normal(9, 5)
    parts = [
        products.sparse_matmul(
            np, indices, values, b[start:stop], shape=whole.shape, offset=start, size=9
        )
        for start, stop in ((0, 4), (4, 4), (4, 9))
    ]
    np.testing.assert_allclose(sum(parts), whole @ b)


def test_elements_are_added_in_their_order():
    """As one after the other: the sum begins with zero, large numbers and all."""
    values = np.array([1e8, 1, -1e8, 1], np.float32)
    indices = np.zeros((4, 2), np.int64)
    found = products.sparse_matmul(np, indices, values, np.ones((1, 1), "f4"), shape=(1, 1))
    assert found == ((np.float32(1e8) + np.float32(1)) - np.float32(1e8)) + np.float32(1)


@pytest.mark.parametrize("sizes", [(0, 3, 2), (2, 3, 0), (0, 0, 0), (2, 0, 3)])
def test_nothing_gives_zeros(sizes):
    m, k, n = sizes
    indices, values = np.zeros((0, 2), np.int64), np.zeros(0, np.float32)
    found = products.sparse_matmul(np, indices, values, np.ones((k, n), "f4"), shape=(m, k))
    assert found.shape == (m, n) and not found.any()
    x, y = np.ones((m, n), "f4"), np.ones((k, n), "f4")
    assert products.sampled_matmul(np, indices, x, y).shape == (0,)


def test_sizes_that_do_not_fit():
    with pytest.raises(InvalidArgumentError, match=r"6 vs. 5. .* of A: \[4,6\], of B: \[5,2\]"):
        products.sparse_matmul(np, np.zeros((1, 2), int), np.ones(1), np.ones((5, 2)), shape=(4, 6))


@pytest.mark.parametrize(
    ("place", "across", "message"),
    [
        ((1, 10), False, r"k \(10\) from index\[1,1\] out of bounds \(>=2\)"),
        ((1, -1), False, r"k \(-1\) from index\[1,1\] out of bounds \(>=2\)"),
        ((3, 1), False, r"m \(3\) from index\[1,0\] out of bounds \(>=3\)"),
        ((1, 10), True, r"m \(10\) from index\[1,1\] out of bounds \(>=2\)"),
        ((-7, 0), True, r"k \(-7\) from index\[1,0\] out of bounds \(>=3\)"),
    ],
)
def test_a_place_outside_is_named(place, across, message):
    indices = np.array([(0, 0), place])
    b = np.ones((3 if across else 2, 4))
    with pytest.raises(InvalidArgumentError, match=message):
        products.sparse_matmul(np, indices, np.ones(2), b, shape=(3, 2), transpose_a=across)
