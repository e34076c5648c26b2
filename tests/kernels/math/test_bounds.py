"""An array's larger or smaller elements are those that NumPy's ufuncs choose, bit for bit."""

import numpy as np
import pytest

from daskvars.kernels.math import bounds
from daskvars.kernels.math.bounds import at_least, at_most

SPECIAL = [-0.0, 0.0, np.nan, np.inf, -np.inf, 0.5, -3.0, 7.0]


@pytest.fixture(autouse=True)
def short_lines(monkeypatch):
    monkeypatch.setattr(bounds, "LINE_ELEMENTS", 8)
    monkeypatch.setattr(bounds, "LEAST_ELEMENTS", 3)


def arrays():
    numbers = np.resize(SPECIAL, 70)
    for dtype in ("float32", "float64", "float16"):
        yield numbers.astype(dtype)
    yield np.arange(-9, 9)
    yield numbers[:69].astype("float32").reshape(3, 23).T  # not in C order
    yield from (numbers[:n].astype("float32") for n in (0, 1, 2, 5, 8, 9, 16))
    yield np.float32(-1)


@pytest.mark.parametrize("bound", [0, 6, -2])
@pytest.mark.parametrize(
    ("function", "ufunc"), [(at_least, np.maximum), (at_most, np.minimum)], ids=["least", "most"]
)
def test_the_bits_are_those_of_the_ufunc(function, ufunc, bound):
    for x in arrays():
        wanted = ufunc(x, x.dtype.type(bound))
        found = function(np, x, bound)
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()


def test_a_result_is_written_where_it_is_wanted():
    x = np.resize(np.float32(SPECIAL), 70)
    wanted = at_least(np, x, 0)
    out = np.empty_like(x)
    assert at_least(np, x, 0, out) is out
    np.testing.assert_array_equal(out, wanted)
    at_least(np, x, 0, x)
    np.testing.assert_array_equal(x, wanted)
