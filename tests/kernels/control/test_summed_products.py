"""Sums of products of many turns, with and without an idle thread."""

import numpy as np
import pytest

from daskvars import idle_threads
from daskvars.kernels.control import summed_products
from daskvars.kernels.control.summed_products import SummedProducts
from daskvars.kernels.linalg.products import matmul
from daskvars.kernels.math.without_ufunc import add_n


def made(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def multiplied(a, b):
    return (matmul(np, a, b, transpose_a=True),)


@pytest.fixture(params=[1, 2], ids=["alone", "with an idle thread"])
def threads(request, monkeypatch):
    monkeypatch.setattr(summed_products, "WORTH_HANDING_OVER", 0)
    idle_threads.share_among(request.param)
    yield request.param
    idle_threads.share_among(1)


@pytest.mark.parametrize("turns, rows", [(1, 4), (7, 4), (300, 4), (3, 600), (5, 300)])
def test_the_sum_is_that_of_the_products_of_all_turns(threads, turns, rows):
    factors = [(made(rows, 6, seed=i), made(rows, 5, seed=-i - 1 + 10**6)) for i in range(turns)]
    found = SummedProducts(np, multiplied, (0, 0))
    for a, b in factors:
        found.add(a, b)
    expected = sum(a.astype("f8").T @ b for a, b in factors)
    start = made(6, 5)
    total = found.total(start.copy())
    np.testing.assert_allclose(total, start + expected, rtol=1e-4, atol=1e-3)


def test_the_bits_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(summed_products, "WORTH_HANDING_OVER", 0)

    def total(threads):
        idle_threads.share_among(threads)
        found = SummedProducts(np, multiplied, (0, 0))
        for i in range(100):
            found.add(made(32, 24, seed=i), made(32, 16, seed=i + 1000))
        idle_threads.share_among(1)
        return found.total(np.zeros((24, 16), "f4"))

    np.testing.assert_array_equal(total(1), total(2))


def test_without_a_turn_the_sum_is_what_it_starts_with():
    start = made(3, 2)
    assert SummedProducts(np, multiplied, (0, 0)).total(start) is start


def test_factors_are_joined_along_what_is_summed_over():
    found = SummedProducts(np, lambda a, b: (matmul(np, a, b),), (1, 0))
    factors = [(made(3, 4, seed=i), made(4, 2, seed=i + 9)) for i in range(5)]
    for a, b in factors:
        found.add(a, b)
    expected = sum(a @ b for a, b in factors)
    np.testing.assert_allclose(found.total(np.zeros((3, 2), "f4")), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows, is_joined", [(3, True), (9, False)])
def test_factors_are_put_together_where_they_are_less_than_their_products(
    rows, is_joined, monkeypatch
):
    multiplied_at = []

    def noted(xp, a, b, **options):
        multiplied_at.append(len(a))
        return matmul(xp, a, b, **options)

    monkeypatch.setattr(summed_products, "FEW_ELEMENTS", 0)
    monkeypatch.setattr(summed_products, "matmul", noted)
    factors = [made(rows, size, seed=10 * i + size) for i in range(4) for size in (8, 6)]
    terms = [matmul(np, *factors[i : i + 2], transpose_a=True) for i in range(0, 8, 2)]
    found = summed_products.sum_of_products(np, *factors)
    np.testing.assert_allclose(found, sum(terms), rtol=1e-4, atol=1e-5)
    assert multiplied_at == ([4 * rows] if is_joined else [rows] * 4)
    if not is_joined:  # as a sum of each, which is made where it is known how many rows there are
        np.testing.assert_array_equal(found, add_n(np, *terms))


def test_an_error_of_a_product_is_raised(threads):
    def fails(a, b):
        raise ArithmeticError("no product")

    def fill(found):
        for _ in range(3):
            found.add(made(600, 2), made(600, 2))
        return found.total(np.zeros((2, 2), "f4"))

    with pytest.raises(ArithmeticError, match="no product"):
        fill(SummedProducts(np, fails, (0, 0)))
