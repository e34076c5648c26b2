import math

import numpy as np
import pytest

from daskvars.kernels.math.special import digamma, erf, erfc, lgamma
from tests.kernels.numerical import frozen

WIDE = frozen(np.concatenate([np.linspace(-6, 6, 4001), [0.0, -0.0, 1e-300, 0.46875, 4.0, 1e300]]))


def test_erf_in_double():
    np.testing.assert_allclose(erf(np, WIDE), [math.erf(v) for v in WIDE], rtol=2e-15, atol=0)


def test_erf_in_single_and_half():
    for dtype, tolerance in (("float32", 5e-7), ("float16", 1e-3)):
        x = frozen(np.linspace(-6, 6, 4001).astype(dtype))
        got = erf(np, x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, [math.erf(v) for v in x], rtol=tolerance, atol=0)


def test_erfc_keeps_its_relative_precision():
    x = frozen(np.linspace(-6, 26, 4001))
    np.testing.assert_allclose(erfc(np, x), [math.erfc(v) for v in x], rtol=2e-15, atol=0)
    x = frozen(np.linspace(-6, 9, 4001).astype("float32"))
    np.testing.assert_allclose(erfc(np, x), [math.erfc(v) for v in x], rtol=2e-7, atol=0)


@pytest.mark.filterwarnings("error")
def test_ends():
    ends = frozen([np.inf, -np.inf, np.nan])
    assert erf(np, ends)[:2].tolist() == [1, -1]
    assert erfc(np, ends)[:2].tolist() == [0, 2]
    assert lgamma(np, ends)[:2].tolist() == [np.inf, np.inf]
    assert digamma(np, ends)[0] == np.inf
    for function in (erf, erfc, lgamma, digamma):
        assert np.isnan(function(np, ends)[2])
    poles = frozen([0.0, -1.0, -7.0])
    assert lgamma(np, poles).tolist() == [np.inf] * 3
    assert np.isnan(digamma(np, poles)).all()


def test_lgamma():
    x = np.concatenate([np.linspace(1e-3, 40, 4000), [100.5, 1e5, 1e10, 1e300]])
    x = frozen(np.concatenate([x, -np.linspace(0.05, 19.95, 776)]))
    wanted = np.array([math.lgamma(v) for v in x])
    np.testing.assert_allclose(lgamma(np, x), wanted, rtol=3e-14, atol=3e-14)
    single = x[:4000].astype("float32")
    wanted = np.array([math.lgamma(v) for v in single])
    np.testing.assert_allclose(lgamma(np, single), wanted, rtol=1e-6, atol=1e-7)


def test_digamma():
    gamma = 0.57721566490153286
    wanted = {1.0: -gamma, 0.5: -gamma - 2 * math.log(2), 2.0: 1 - gamma, 10.0: 2.2517525890667214}
    np.testing.assert_allclose(digamma(np, frozen(list(wanted))), list(wanted.values()), rtol=1e-14)
    x = frozen(np.concatenate([np.linspace(0.1, 30, 500), -np.linspace(0.1, 9.85, 40)]))
    # The recurrence ties every value to its neighbour; the derivative of lgamma fixes them all.
    np.testing.assert_allclose(digamma(np, x + 1), digamma(np, x) + 1 / x, rtol=1e-10, atol=1e-12)
    x = frozen(np.linspace(0.5, 30, 100))
    slope = (lgamma(np, x + 1e-5) - lgamma(np, x - 1e-5)) / 2e-5
    np.testing.assert_allclose(digamma(np, x), slope, rtol=1e-6, atol=1e-8)


def test_shapes_and_blocks_are_of_no_consequence():
    x = frozen(np.linspace(-3, 3, 60000).reshape(200, 300))
    np.testing.assert_array_equal(erf(np, x[:, ::7]), erf(np, x)[:, ::7])
    assert erf(np, frozen(0.5)).shape == ()
    assert erf(np, np.zeros((0, 3))).shape == (0, 3)
