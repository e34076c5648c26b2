import numpy as np
import pytest

from daskvars.dtypes import as_dtype
from daskvars.kernels.nn import ranking
from tests.kernels.numerical import frozen


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int32", "int64", "uint8", "uint32", "uint64"]
)
@pytest.mark.parametrize("k", [0, 1, 3, 8])
def test_top_k_breaks_ties_by_index(dtype, k):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 5, (6, 8)) if dtype[0] == "u" else rng.integers(-2, 3, (6, 8))
    x = numbers.astype(dtype)
    if dtype.startswith("float"):
        x[0, :4] = [0.0, -0.0, np.inf, -np.inf]
    else:
        limits = np.iinfo(dtype)
        x[0, :4] = [limits.max, limits.min, limits.max // 2, limits.max // 2 + 1]
    x = frozen(x)
    values, indices = ranking.top_k(np, x, k=k)
    assert values.dtype == dtype
    assert indices.dtype == np.int32
    for row, (got, places) in zip(x.tolist(), zip(values, indices, strict=True), strict=True):
        wanted = sorted(range(8), key=lambda place, row=row: (-row[place], place))[:k]
        assert places.tolist() == wanted
        assert got.tolist() == [row[place] for place in wanted]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [9, 700])
def test_nothing_is_above_nan(monkeypatch, dtype, size):
    monkeypatch.setattr(ranking, "LEAST_ENTRIES", 1)
    x = np.random.default_rng(0).normal(size=(20, size)).astype(as_dtype(dtype).np)
    x[:, [1, 3]], x[:, 2] = np.nan, np.inf
    x[::2, 5:7] = np.nan
    some, others = frozen(x[::2]), frozen(x[1::2])
    assert ranking.top_k(np, some, k=5)[1].tolist() == [[1, 3, 5, 6, 2]] * 10
    assert ranking.top_k(np, others, k=3)[1].tolist() == [[1, 3, 2]] * 10
    assert (ranking.nth_element(np, others, n=2, reverse=True) == np.inf).all()


def test_in_top_k():
    x = frozen([[0.1, 0.5, 0.5], [0.3, 0.2, 0.1], [1.0, np.nan, 0.0], [1.0, 2.0, 3.0]])
    targets = frozen([2, 1, 0, 3])
    assert ranking.in_top_k(np, x, targets, k=1).tolist() == [True, False, False, False]
    assert ranking.in_top_k(np, x, targets, k=2).tolist() == [True, True, False, False]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint32"])
@pytest.mark.parametrize("kept", [1.0, 0.05, 0.002])
@pytest.mark.parametrize("k", [1, 7, 20])
def test_top_k_of_long_rows(monkeypatch, dtype, kept, k):
    """Most of them are equal, or none is; and some are no numbers."""
    monkeypatch.setattr(ranking, "LEAST_ENTRIES", 1)
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(2, 9, 400)) * 50 * (rng.random((2, 9, 400)) < kept)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, :, ::100] = np.nan
        x[0, 3] = np.nan
    indices = ranking.top_k(np, frozen(x), k=k)[1]
    falling = np.where(np.isnan(x), -np.inf, -x.astype("f8"))  # NaN is the greatest
    order = np.argsort(falling, axis=-1, kind="stable")
    np.testing.assert_array_equal(indices, order[..., :k])
