"""Folds at the end of chains: tile by tile, of what has been made there."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.kernels.math import reduce as kernels
from daskvars.remote.regions.chains import tiling
from daskvars.remote.regions.compilation import compiled
from daskvars.remote.regions.region_program import Call
from tests.remote.regions.programs import FLOAT, elementwise, one_by_one, region

SHAPE = (23, 4, 5)
KERNELS = [kernels.reduce_sum, kernels.reduce_mean, kernels.reduce_max, kernels.reduce_min]


def fold(kernel, arg, out, axis, keepdims=False, shape=SHAPE):
    attrs = {"axis": axis, "keepdims": keepdims}
    given = np.broadcast_to(np.float32(0), shape).sum(axis=axis, keepdims=keepdims).shape
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    is_by_rows = 0 not in {a % len(shape) for a in axes}
    return Call(kernel, (arg,), (out,), attrs, shapes=(given,), dtypes=(FLOAT,), by_rows=is_by_rows)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("axis", [1, -1, (1, 2), (-2, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("block", [(23, 4), (3, 4), (23, 3)])
def test_rows_are_folded_in_tiles(threads, kernel, axis, keepdims, block):
    rng = np.random.default_rng(0)
    calls = [
        elementwise("subtract", (0, 1), 2, SHAPE),
        elementwise("square", (2,), 3, SHAPE),
        fold(kernel, 3, 4, axis, keepdims),
        fold(kernels.reduce_sum, 2, 5, 2),
    ]
    # The last block may be smaller.
    inputs = rng.normal(size=(*block, 1)).astype("f"), rng.normal(size=(1, 1, 5)).astype("f")
    for outputs in [(4, 5), (3, 4, 5), (4, 2)]:
        program = region(2, calls, outputs, input_shapes=((23, 4, 1), (1, 1, 5)))
        with config.set(tile_elements=60, tile_min_elements=1):
            assert tiling.chains(calls) == {0: 4}
            found = compiled(program, np)(*inputs)
        for mine, wanted in zip(found, one_by_one(program, inputs), strict=True):
            assert mine.shape == wanted.shape and mine.dtype == wanted.dtype
            np.testing.assert_allclose(mine, wanted, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, None, (0, 2), ()])
def test_what_is_folded_over_all_rows_ends_no_chain(axis):
    calls = [elementwise("square", (0,), 1, SHAPE), fold(kernels.reduce_sum, 1, 2, axis)]
    with config.set(tile_elements=60, tile_min_elements=1):
        assert tiling.chains(calls) == {0: 1 if axis != () else 2}


def test_long_rows_are_folded_whole():
    calls = [elementwise("square", (0,), 1, SHAPE), fold(kernels.reduce_sum, 1, 2, 1)]
    with config.set(tile_elements=19, tile_min_elements=1):
        assert tiling.chains(calls) == {0: 1}
    with config.set(tile_elements=20, tile_min_elements=1):
        assert tiling.chains(calls) == {0: 2}
        assert tiling.chains(calls, in_place=[2]) == {0: 1}


@pytest.mark.parametrize("is_large", [False, True])
def test_a_variable_may_become_what_is_folded_of_it(threads, is_large):
    start = np.linspace(-1, 1, 30).astype("f")
    table = np.random.default_rng(0).normal(size=(30, 30)).astype("f")
    tiles = config.set(tile_elements=60, tile_min_elements=1 if is_large else 10_000)
    with tiles, tf.Graph().as_default(), tf.Session() as session:
        v, x = tf.Variable(start), tf.placeholder(tf.float32, [30, 30])
        update = tf.assign(v, tf.reduce_sum(tf.square(x * v), 1))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(update, {x: table})
            start = ((table * start) ** 2).sum(axis=1)
        np.testing.assert_allclose(session.run(v), start, rtol=1e-4)
