import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.nn import candidates as kernels

TOTALS = np.array([0.0, 0.1, 0.1, 0.5, 1.0])  # classes 0 to 3; class 1 has no share
BASES = [("uniform", ()), ("log_uniform", ()), ("fixed_unigram", (TOTALS,))]
KEY = (3, 4)


@pytest.mark.parametrize("base, totals", BASES)
def test_draws_follow_the_distribution(base, totals):
    drawn, tries = kernels.candidates(
        np, KEY, *totals, base=base, num_sampled=40_000, unique=False, range_max=4
    )
    assert tries == 40_000
    shares = kernels.shares(np, np.arange(4), totals, base, 4)
    assert_allclose(shares.sum(), 1)
    assert_allclose(np.bincount(drawn, minlength=4) / 40_000, shares, atol=0.01)


@pytest.mark.parametrize("base, totals", BASES)
def test_a_draw_depends_on_its_place_alone(base, totals):
    whole = kernels.draws(np, KEY, totals, base, 4, 0, 50)
    assert_array_equal(kernels.draws(np, KEY, totals, base, 4, 17, 9), whole[17:26])


@pytest.mark.parametrize("base, totals", BASES)
def test_distinct_candidates_are_the_first_of_the_stream(base, totals, monkeypatch):
    options = {"base": base, "num_sampled": 3, "range_max": 4}
    drawn, tries = kernels.candidates(np, KEY, *totals, unique=True, **options)
    stream = kernels.draws(np, KEY, totals, base, 4, 0, int(tries)).tolist()
    assert list(dict.fromkeys(stream)) == drawn.tolist()
    assert stream.count(stream[-1]) == 1  # the last draw was the one that was missing
    monkeypatch.setattr(kernels, "LARGEST_DRAW", 1)
    again = kernels.candidates(np, KEY, *totals, unique=True, **options)
    assert again[0].tolist() == drawn.tolist() and again[1] == tries


def test_every_class_once_and_none():
    options = {"base": "log_uniform", "unique": True}
    drawn, _ = kernels.candidates(np, KEY, num_sampled=500, range_max=500, **options)
    assert sorted(drawn.tolist()) == list(range(500))
    assert len(kernels.candidates(np, KEY, num_sampled=0, range_max=5, **options)[0]) == 0


def test_expected_counts_of_distinct_candidates():
    found = kernels.expected_counts(
        np, np.array([0, 2]), np.array(6), TOTALS, base="fixed_unigram", num_sampled=4, range_max=4
    )
    assert_allclose(found, [1 - 0.9**6, 1 - 0.6**6], rtol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_class_out_of_range(wrong):
    with pytest.raises(InvalidArgumentError, match=r"\[0, 4\)"):
        kernels.expected_counts(
            np, np.array([wrong]), np.array(2), base="uniform", num_sampled=2, range_max=4
        )
