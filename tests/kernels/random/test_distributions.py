import statistics
import zlib

import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.random import philox
from daskvars.kernels.random.distributions import (
    WITHIN_TWO_SIGMA,
    multinomial,
    normals_of_streams,
    random_normal,
    random_shuffle,
    random_uniform,
    truncated_normal,
    uniform_of_streams,
    upper_product,
    words_drawn,
)
from daskvars.kernels.random.gamma_poisson import random_poisson
from daskvars.kernels.random.normal_quantile import normal_quantile
from daskvars.kernels.random.philox import random_bits
from tests.kernels.numerical import frozen

KEY = (5, 6)
DRAWS = {
    "uniform": (random_uniform, {"minval": -1, "maxval": 3}),
    "normal": (random_normal, {"mean": 2.0, "stddev": 3.0}),
    "truncated": (truncated_normal, {"mean": 2.0, "stddev": 3.0}),
}


@pytest.mark.parametrize(
    "dtype, bounds",
    [
        *((name, (-0.2, 3.0)) for name in ("float16", "float32", "float64", "bfloat16")),
        *((name, (3, 120)) for name in ("uint8", "int32")),
        ("int64", (-(1 << 62), 1 << 62)),
        ("uint64", (0, 1 << 64)),
    ],
)
def test_numbers_of_many_streams_are_those_of_each(dtype, bounds):
    keys = np.random.default_rng(1).integers(0, 1 << 64, (2, 9), dtype=np.uint64)
    attrs = {"dtype": dtype, "minval": bounds[0], "maxval": bounds[1]}
    for shape in [(), (1,), (2, 2), (0,), (4,), (3, 3)]:
        words = philox.first_blocks(keys, -(-words_drawn(shape, dtype) // 4))
        numbers = uniform_of_streams(words, shape=shape, **attrs)
        for key, number in zip(keys.T.tolist(), numbers, strict=True):
            alone = random_uniform(np, tuple(key), shape=shape, **attrs)
            np.testing.assert_array_equal(np.asarray(number), alone, strict=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_normal_numbers_of_many_streams_are_those_of_each(dtype):
    keys = np.random.default_rng(1).integers(0, 1 << 64, (2, 9), dtype=np.uint64)
    for draw, within in [(random_normal, 1.0), (truncated_normal, WITHIN_TWO_SIGMA)]:
        for shape in [(), (7,), (3, 11)]:
            attrs = {"shape": shape, "dtype": dtype, "mean": 2.0, "stddev": 3.0}
            words = philox.first_blocks(keys, -(-words_drawn(shape, dtype) // 4))
            numbers = normals_of_streams(words, within, **attrs)
            for key, number in zip(keys.T.tolist(), numbers, strict=True):
                alone = draw(np, tuple(key), **attrs)
                np.testing.assert_array_equal(np.asarray(number), alone, strict=True)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_any_division_gives_the_same_bits(monkeypatch, name, dtype):
    draw, attrs = DRAWS[name]
    whole = draw(np, KEY, shape=(60, 70), dtype=dtype, **attrs)
    monkeypatch.setattr(philox, "TILE", 333)
    np.testing.assert_array_equal(draw(np, KEY, shape=(60, 70), dtype=dtype, **attrs), whole)
    for rows, columns in [(60, 70), (7, 70), (60, 9), (13, 11), (1, 1)]:
        for top in range(0, 60, rows):
            for left in range(0, 70, columns):
                shape = min(rows, 60 - top), min(columns, 70 - left)
                if columns == 1 and (top % 7 or left % 7):
                    continue
                part = draw(
                    np,
                    KEY,
                    shape=shape,
                    dtype=dtype,
                    offset=(top, left),
                    full_shape=(60, 70),
                    **attrs,
                )
                wanted = whole[top : top + shape[0], left : left + shape[1]]
                np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_is_in_its_bounds_and_even(dtype):
    x = random_uniform(np, KEY, shape=(200_000,), dtype=dtype)
    assert x.dtype.name == dtype
    assert x.min() >= 0
    assert x.max() < 1
    counts, _ = np.histogram(x.astype("float64"), bins=16, range=(0, 1))
    assert abs(counts - 12500).max() < 6 * 12500**0.5
    x = random_uniform(
        np, KEY, shape=(1000,), dtype=dtype, minval=np.array(-2.0), maxval=np.array(5.0)
    )
    assert x.min() >= -2
    assert x.max() <= 5


@pytest.mark.parametrize(
    "dtype, low, high",
    [
        ("int32", 0, 10),
        ("int64", -5, 5),
        ("uint8", 0, 256),
        ("int32", -(2**31), 2**31),
        ("int64", -(2**63), 2**63),
        ("int64", 0, 3 * 2**61),
    ],
)
def test_uniform_integers_are_even(dtype, low, high):
    x = random_uniform(np, KEY, shape=(50_000,), dtype=dtype, minval=low, maxval=high)
    assert x.dtype == dtype
    assert int(x.min()) >= low
    assert int(x.max()) < high
    tenths = np.array([(int(value) - low) * 10 // (high - low) for value in x])
    # A span of 256 has 25 or 26 values in each tenth of it.
    counts = np.bincount(tenths, minlength=10)
    assert abs(counts - 5000).max() < 6 * 5000**0.5 + (200 if dtype == "uint8" else 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_number_by_itself_is_the_first_of_several(dtype):
    for bounds in ({}, {"minval": -0.3, "maxval": 1.7}):
        for key in [(3, 0), (2**64 - 1, 2**63), (12345678901234, 7)]:
            alone = random_uniform(np, key, shape=(), dtype=dtype, **bounds)
            several = random_uniform(np, key, shape=(5,), dtype=dtype, **bounds)
            assert isinstance(alone, np.ndarray)
            np.testing.assert_array_equal(alone, several[0], strict=True)


def test_few_upper_products_are_those_of_many():
    words = random_bits(np, (1, 2), 0, 100)
    for span in (1, 3, 2**31, 2**32 + 1, 2**64 - 1):
        several = upper_product(words, span)
        np.testing.assert_array_equal(upper_product(words[:3], span), several[:3], strict=True)


def test_upper_products_are_exact():
    words = random_bits(np, KEY, 0, 200)
    for span in (1, 3, 10, 2**32 - 1, 2**32, 2**32 + 1, 2**63 + 12345, 2**64 - 1):
        wanted = [int(word) * span >> 64 for word in words]
        assert upper_product(words, span).tolist() == wanted


def test_integer_bounds_are_checked():
    with pytest.raises(InvalidArgumentError, match="Need minval < maxval, got 5 >= 5"):
        random_uniform(np, KEY, shape=(2,), dtype="int32", minval=5, maxval=5)
    with pytest.raises(InvalidArgumentError, match="not within uint8"):
        random_uniform(np, KEY, shape=(2,), dtype="uint8", minval=0, maxval=257)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_moments_and_tails(dtype):
    x = random_normal(np, KEY, shape=(400_000,), dtype=dtype).astype("float64")
    assert abs(x.mean()) < 5 / 400_000**0.5
    assert abs(x.var() - 1) < 5 * (2 / 400_000) ** 0.5
    assert abs((x**3).mean()) < 5 * (15 / 400_000) ** 0.5
    assert abs((x**4).mean() - 3) < 5 * (96 / 400_000) ** 0.5
    for edge in (-2.5, -1, 0, 0.5, 2):
        share = statistics.NormalDist().cdf(edge)
        assert abs((x < edge).mean() - share) < 5 * (share * (1 - share) / 400_000) ** 0.5
    scaled = random_normal(np, KEY, shape=(400_000,), dtype=dtype, mean=7.0, stddev=0.5)
    np.testing.assert_allclose(scaled, 7 + 0.5 * x, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_truncated_normal_keeps_within_two_deviations(dtype):
    x = truncated_normal(np, KEY, shape=(200_000,), dtype=dtype).astype("float64")
    assert abs(x).max() <= 2
    assert abs(x).max() > 1.99
    # The variance of a normal distribution cut at two standard deviations.
    assert abs(x.var() - 0.7737) < 0.01
    assert abs(x.mean()) < 0.01


@pytest.mark.parametrize("kind, tolerance", [("float32", 1e-6), ("float64", 1e-14)])
def test_quantiles_are_the_inverse_of_the_distribution(kind, tolerance):
    bits = 8 * np.dtype(kind).itemsize
    edge = 1 << (bits - 1)
    rng = np.random.default_rng(0)
    numbers = [int(value * edge) for value in rng.uniform(-1, 1, 500)]
    numbers += [-edge, edge - 1, 0, -1, edge // 1000 - edge, edge - (edge >> 20)]
    words = np.array(numbers, f"i{bits // 8}")
    out = np.empty(len(numbers), kind)
    normal_quantile(np, words, 1.0, out)
    for number, value in zip(words.tolist(), out.tolist(), strict=True):
        below = min(number, -1 - number) + edge + 0.5
        if below < 2.0 ** (bits - 30):
            continue  # beyond what the reference resolves
        wanted = statistics.NormalDist().inv_cdf(below / (2 * edge))
        assert abs(abs(value) + wanted) <= tolerance * max(1, -wanted)
        assert (value > 0) == (number >= 0)
    assert np.isfinite(out).all()
    assert (np.diff(out[np.argsort(words)]) >= 0).all()


def test_multinomial_follows_its_probabilities():
    logits = frozen(np.log([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]]).astype("float32"))
    x = multinomial(np, KEY, logits, num_samples=30_000)
    assert x.dtype == np.int64
    shares = np.stack([np.bincount(row, minlength=3) / 30_000 for row in x])
    np.testing.assert_allclose(shares, np.exp(logits), atol=0.015)
    part = multinomial(
        np, KEY, logits[1:], num_samples=100, dtype="int32", offset=(1, 50), full_shape=(2, 30_000)
    )
    assert part.dtype == np.int32
    np.testing.assert_array_equal(part, x[1:, 50:150])


@pytest.mark.parametrize("classes", [1, 2, 5, 8])
def test_multinomial_never_draws_the_impossible(classes):
    logits = np.full((3, classes), -np.inf)
    logits[0, 0] = logits[1, -1] = logits[2, classes // 2] = 0
    x = multinomial(np, KEY, logits, num_samples=500)
    assert x.min(axis=1).tolist() == x.max(axis=1).tolist() == [0, classes - 1, classes // 2]


def test_shuffle_permutes_rows():
    x = frozen(np.arange(2000).reshape(1000, 2))
    y = random_shuffle(np, KEY, x)
    assert not np.array_equal(x, y)
    np.testing.assert_array_equal(np.sort(y[:, 0]), x[:, 0])
    np.testing.assert_array_equal(y[:, 1], y[:, 0] + 1)
    np.testing.assert_array_equal(random_shuffle(np, KEY, x), y)


def test_poisson_numbers_stay_the_same_from_one_release_to_the_next():
    rates = frozen([0.5, 10.0, 40.0, 1e4])
    found = random_poisson(np, (7, 11), rates, shape=(4,), dtype="int64")
    wanted = [[0, 10, 57, 10025], [0, 4, 38, 9974], [0, 7, 25, 9960], [0, 10, 33, 9845]]
    assert found.tolist() == wanted
    many = random_poisson(np, (7, 11), frozen([12.5, 333.0]), shape=(50000,), dtype="int64")
    assert zlib.crc32(many.tobytes()) == 4067759531
