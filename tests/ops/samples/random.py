"""Samples of random ops."""

import numpy as np

import daskvars as dv
from tests.ops.sample import Sample

RNG = np.random.default_rng(4)


def drawn(type, call, *inputs, **options):
    return Sample(type, call, inputs, random=True, **options)


SAMPLES = [
    drawn("RandomUniform", lambda: dv.random_uniform([4, 3])),
    drawn("RandomUniform", lambda: dv.random_uniform([4, 3], -1.0, 1.0, seed=2), id="scaled"),
    drawn(
        "RandomUniform",
        lambda x: dv.random_uniform(dv.shape(x), dtype=dv.float64),
        np.zeros((4, 3)),
        id="like",
    ),
    drawn("RandomUniformInt", lambda: dv.random_uniform([5], 0, 10, dv.int32)),
    drawn(
        "RandomUniformInt",
        lambda n: dv.random_uniform([5], 0, n, dv.int64),
        np.int64(7),
        id="tensor",
    ),
    drawn("RandomStandardNormal", lambda: dv.random_normal([4, 3], 1.0, 2.0)),
    drawn("TruncatedNormal", lambda: dv.truncated_normal([4, 3], seed=1)),
    drawn("RandomShuffle", dv.random_shuffle, RNG.normal(size=(6, 2))),
    drawn("Multinomial", lambda x: dv.multinomial(x, 5), RNG.normal(size=(4, 3))),
    drawn(
        "Multinomial",
        lambda x: dv.categorical(x, 5, dv.int32),
        RNG.normal(size=(4, 3)),
        id="categorical",
    ),
    drawn(
        "RandomGamma",
        lambda a: dv.random_gamma([3], a, dtype=dv.float64),
        RNG.uniform(0.2, 3.0, size=(4, 2)),
    ),
    drawn("RandomPoissonV2", lambda r: dv.random_poisson(r, [3]), np.array([[0.5, 4.0], [20, 99]])),
    Sample(
        "StatelessRandomUniform",
        lambda s: dv.random.stateless_uniform([4, 3], s),
        (np.array([1, 2]),),
    ),
    Sample(
        "StatelessRandomUniformInt",
        lambda s: dv.random.stateless_uniform([5], s, 0, 10, dv.int32),
        (np.array([1, 2]),),
    ),
    Sample(
        "StatelessRandomNormal",
        lambda s, m: dv.random.stateless_normal([4, 3], s, m),
        (np.array([1, 2]), np.array([[1], [2], [3], [4]], "float32")),
    ),
    Sample(
        "StatelessTruncatedNormal",
        lambda: dv.random.stateless_truncated_normal([4, 3], [1, 2], dtype=dv.float64),
    ),
    Sample(
        "StatelessMultinomial",
        lambda x: dv.random.stateless_categorical(x, 5, [1, 2]),
        (RNG.normal(size=(4, 3)),),
    ),
    drawn("Slice", lambda x: dv.random_crop(x, [2, 2]), RNG.normal(size=(4, 3)), id="random_crop"),
]
