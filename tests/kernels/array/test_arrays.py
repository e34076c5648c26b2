import numpy as np
import pytest

from daskvars.kernels.array import arrays
from tests.kernels.numerical import frozen, normal


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_one_hot(axis):
    indices = frozen([[0, 2, -1], [3, 1, 7]])
    wanted = np.where(indices[..., None] == np.arange(4), 5, -2)
    got = arrays.one_hot(np, indices, depth=4, on_value=5, off_value=-2, axis=axis, dtype="int32")
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, np.moveaxis(wanted, -1, axis))
    assert arrays.one_hot(np, frozen(1), depth=3).tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("k", [0, 1, 3, 8])
def test_top_k_breaks_ties_by_index(dtype, k):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 5, (6, 8)) if dtype == "uint8" else rng.integers(-2, 3, (6, 8))
    x = numbers.astype(dtype)
    if dtype.startswith("float"):
        x[0, :4] = [0.0, -0.0, np.inf, -np.inf]
    x = frozen(x)
    values, indices = arrays.top_k(np, x, k=k)
    assert values.dtype == dtype
    assert indices.dtype == np.int32
    for row, (got, places) in zip(x.tolist(), zip(values, indices, strict=True), strict=True):
        wanted = sorted(range(8), key=lambda place, row=row: (-row[place], place))[:k]
        assert places.tolist() == wanted
        assert got.tolist() == [row[place] for place in wanted]


def test_in_top_k():
    x = frozen([[0.1, 0.5, 0.5], [0.3, 0.2, 0.1], [1.0, np.nan, 0.0], [1.0, 2.0, 3.0]])
    targets = frozen([2, 1, 0, 3])
    assert arrays.in_top_k(np, x, targets, k=1).tolist() == [True, False, False, False]
    assert arrays.in_top_k(np, x, targets, k=2).tolist() == [True, True, False, False]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_and_products(axis, exclusive, reverse):
    numbers = frozen(np.arange(60, dtype="int32").reshape(3, 4, 5))
    for x in (normal(3, 4, 5, dtype="float32"), numbers):
        for kernel, function, neutral in (
            (arrays.cumsum, np.cumsum, 0),
            (arrays.cumprod, np.cumprod, 1),
        ):
            source = np.flip(x, axis) if reverse else x
            wanted = function(source, axis=axis, dtype=x.dtype)
            if exclusive:
                wanted = np.roll(wanted, 1, axis)
                wanted[(slice(None),) * (axis % 3) + (0,)] = neutral
            wanted = np.flip(wanted, axis) if reverse else wanted
            got = kernel(np, x, axis=axis, exclusive=exclusive, reverse=reverse)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("seq_axis, batch_axis", [(1, 0), (0, 1), (2, 0), (-1, 1)])
def test_reverse_sequence(seq_axis, batch_axis):
    x = normal(4, 4, 4, 2) if seq_axis >= 0 else normal(4, 4, 4)
    lengths = frozen([0, 1, 3, 4])
    got = arrays.reverse_sequence(np, x, lengths, seq_axis=seq_axis, batch_axis=batch_axis)
    axis = seq_axis % x.ndim
    for batch, length in enumerate(lengths):
        pick = np.moveaxis(np.take(x, batch, axis=batch_axis), axis - (axis > batch_axis), 0)
        wanted = np.concatenate([pick[:length][::-1], pick[length:]])
        part = np.moveaxis(np.take(got, batch, axis=batch_axis), axis - (axis > batch_axis), 0)
        np.testing.assert_array_equal(part, wanted)


def test_unique_keeps_the_order_of_first_occurrence():
    x = frozen([4, 9, 4, 1, 9, 4])
    values, places, counts = arrays.unique(np, x, index_dtype="int64")
    assert values.tolist() == [4, 9, 1]
    assert places.tolist() == [0, 1, 0, 2, 1, 0]
    assert counts.tolist() == [3, 2, 1]
    assert places.dtype == np.int64
    assert [len(part) for part in arrays.unique(np, frozen(np.zeros(0, "int32")))] == [0, 0, 0]
