"""Numbers by keys are in the order of a stable sort."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from daskvars.kernels.gather_scatter import gather
from daskvars.kernels.math import ordered_keys

DTYPES = ["f4", "f2", "i4", "u4", "i2", "u2", "i1", "u1", "?"]


@settings(max_examples=200)
@given(st.data())
@pytest.mark.parametrize("descending", [False, True])
def test_any_numbers(descending, data):
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 9)))
    x = data.draw(arrays.arrays(dtype, shape, elements=arrays.from_dtype(dtype)))
    keys = ordered_keys.keys_of(np, x, descending=descending)
    found = np.sort(keys, axis=-1) & ordered_keys.PLACE
    np.testing.assert_array_equal(found, gather.argsort(np, x, descending=descending))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [*DTYPES, "f8", "i8", ml_dtypes.bfloat16])
def test_argsort_of_many_is_that_of_few(dtype, axis, descending, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (40, 30)).astype(dtype)
    if np.dtype(dtype).kind in "fV":
        x[3, :4], x[5, 1], x[6, 2] = np.nan, -np.nan, -0.0
    expected = gather.argsort(np, x, axis=axis, descending=descending)
    monkeypatch.setattr(gather, "LEAST_ELEMENTS", 0)
    found = gather.argsort(np, x, axis=axis, descending=descending)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.int32
