"""Elementwise kernels on scalars, mixed signs and special values."""

import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.math import special, without_ufunc as kernels

X = np.array([7, -7, 7, -7, 0, 6], np.int32)
Y = np.array([2, 2, -2, -2, 3, 3], np.int32)


def test_truncation_is_c():
    quotient = kernels.truncate_divide(np, X, Y)
    assert quotient.dtype == np.int32
    assert quotient.tolist() == [int(x / y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    np.testing.assert_array_equal(quotient * Y + kernels.truncate_mod(np, X, Y), X)
    assert kernels.truncate_divide(np, np.array([-7.5]), np.array([2.0])).tolist() == [-3.0]


def test_floor_is_pythons():
    np.testing.assert_array_equal(kernels.floor_divide(np, X, Y), X // Y)
    np.testing.assert_array_equal(kernels.floor_mod(np, X, Y), X % Y)


DIVISIONS = [
    kernels.floor_divide,
    kernels.floor_mod,
    kernels.truncate_divide,
    kernels.truncate_mod,
]


@pytest.mark.parametrize("kernel", DIVISIONS)
def test_division_by_zero(kernel):
    with pytest.raises(InvalidArgumentError):
        kernel(np, X, np.int32(0))


@pytest.mark.parametrize(
    "kernel, arguments",
    [
        (kernels.floor_divide, 2),
        (kernels.truncate_divide, 2),
        (kernels.divide_no_nan, 2),
        (kernels.squared_difference, 2),
        (kernels.rsqrt, 1),
        (kernels.softsign, 1),
        (kernels.add_n, 3),
        (kernels.join_complex, 2),
    ],
)
@pytest.mark.parametrize("make", [np.float32, lambda v: np.array(v, np.float32)])
def test_scalars(kernel, arguments, make):
    result = kernel(np, *[make(4.0)] * arguments)
    assert np.shape(result) == ()


def test_inputs_stay_as_they_are():
    x, y = np.full(4, 4.0), np.full(4, 2.0)
    for array in (x, y):
        array.flags.writeable = False
    for kernel in (kernels.squared_difference, kernels.divide_no_nan, kernels.floor_divide):
        kernel(np, x, y)
    for kernel in (kernels.rsqrt, kernels.softsign, kernels.real, kernels.angle):
        kernel(np, x)
    assert not np.shares_memory(kernels.real(np, x), x)
    assert not np.shares_memory(kernels.add_n(np, x), x)


def test_polygamma_falls_back_to_digamma():
    order = np.array([0.0, 1.0, -1.0, 0.5])
    found = special.polygamma(np, order, np.ones(4))
    assert found[0] == pytest.approx(-np.euler_gamma)
    assert found[1] == pytest.approx(np.pi**2 / 6)
    assert np.isnan(found[2:]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_element_has_the_bits_of_a_power_alone_in_any_company(dtype):
    x = np.array([-3.3, -1.0, 0.0, 0.7, 2.0, np.inf, np.nan], dtype)
    exponents = np.array([[0.5], [1], [2], [2.5], [3], [-2]], dtype)
    with np.errstate(all="ignore"):
        together = kernels.power(np, x, exponents)
        alone = np.stack([kernels.power(np, x, y) for y in exponents[:, 0]])
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_array_equal(kernels.power(np, x[:, None], exponents[:, 0]), alone.T)
        np.testing.assert_allclose(alone, np.power(x, exponents), rtol=4 * np.finfo(dtype).eps)
    assert kernels.power(np, x[3], exponents[2, 0]) == dtype(0.7) * dtype(0.7)
    assert together.dtype == dtype
