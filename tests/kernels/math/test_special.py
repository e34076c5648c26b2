import math

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from daskvars.kernels.math import special
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


def test_lgamma_beside_its_zeros():
    # lgamma(1 + d) = -gamma d + pi^2 / 12 d^2 - zeta(3) / 3 d^3 + ...; lgamma(2 + d) adds log1p(d).
    d = np.concatenate([-np.geomspace(1e-3, 1e-7, 9), np.geomspace(1e-7, 1e-3, 9)])
    exact = (1 + d) - 1  # as far as it is kept
    wanted = -np.euler_gamma * exact + np.pi**2 / 12 * exact**2 - 1.2020569031595942 / 3 * exact**3
    np.testing.assert_allclose(lgamma(np, frozen(1 + d)), wanted, rtol=1e-9, atol=1e-15)
    exact = (2 + d) - 2
    wanted = (1 - np.euler_gamma) * exact + (np.pi**2 / 12 - 0.5) * exact**2
    np.testing.assert_allclose(lgamma(np, frozen(2 + d)), wanted, rtol=1e-6, atol=1e-15)


def test_an_incomplete_gamma_function_of_many_numbers_ends():
    # P(1, x) = 1 - exp(-x); P(a + 1, x) = P(a, x) - x^a exp(-x) / gamma(a + 1).
    x = frozen(np.linspace(0.001, 30, 20001))
    np.testing.assert_allclose(special.igamma(np, np.ones_like(x), x), -np.expm1(-x), rtol=1e-13)
    a = frozen(np.linspace(0.1, 20, 20001))
    density = np.exp(a * np.log(x) - x - lgamma(np, a + 1))
    steps = special.igamma(np, a, x) - special.igamma(np, a + 1, x)
    np.testing.assert_allclose(steps, density, rtol=1e-9, atol=1e-12)


A, X, UNIT = (np.linspace(*ends, 301) for ends in ((0.5, 20), (0.1, 25), (0.01, 0.99)))
FUNCTIONS = {
    "erf": (X / 6 - 2,),
    "erfc": (X / 3 - 2,),
    "lgamma": (X,),
    "digamma": (X + 1.5,),
    "polygamma": (np.floor(UNIT * 5), X),
    "zeta": (A + 1, X),
    "igamma": (A, X),
    "igammac": (A, X),
    "igamma_slope": (A, X),
    "betainc": (A, X, UNIT),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16])
def test_smaller_floats_are_what_float64_rounds_to(name, dtype):
    function = getattr(special, name)
    given = [frozen(values.astype(dtype)) for values in FUNCTIONS[name]]
    got = function(np, *given)
    assert got.dtype == dtype
    with np.errstate(over="ignore"):
        wanted = function(np, *(values.astype("float64") for values in given)).astype(dtype)
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(got.astype("f8"), wanted.astype("f8"), rtol=3 * epsilon, atol=1e-38)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_number_is_as_many(name):
    function = getattr(special, name)
    whole = function(np, *FUNCTIONS[name])
    one = function(np, *(np.array(values[7]) for values in FUNCTIONS[name]))
    assert one.shape == () and one.dtype == whole.dtype
    np.testing.assert_allclose(one, whole[7], rtol=1e-15)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_far_out(order):
    x = np.array([50.5, 88.0, 700.0, 1e30, np.inf])
    x = np.concatenate([x, -x])
    wanted = getattr(scipy.special, f"i{order}e")(x)
    np.testing.assert_allclose(special.far_out(np, order, x), wanted, rtol=1e-14)
    found = special.far_out(np, order, x.astype("f4"))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
