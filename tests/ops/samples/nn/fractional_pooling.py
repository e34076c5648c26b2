"""Samples of pooling by ratios: the ops whose windows are given, and a drawn one."""

import numpy

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.nn.windows import fractional_pooling as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X = rng.permutation(120).astype("f8").reshape(2, 5, 6, 2)
ROWS, COLUMNS = numpy.array([0, 2, 3, 5]), numpy.array([0, 1, 3, 5, 6])
DY = rng.normal(size=(2, 3, 4, 2))


def windows(definition, **options):
    return lambda *inputs: apply(definition, *inputs, ROWS, COLUMNS, **options)


def max_gradient(x, dy, overlapping):
    y = apply(ops.MAX_POOL, x, ROWS, COLUMNS, overlapping=overlapping)
    return apply(ops.MAX_POOL_GRAD, x, y, dy, ROWS, COLUMNS, overlapping=overlapping)


SAMPLES = [
    sample
    for overlapping in (False, True)
    for sample in (
        Sample(
            "FractionalMaxPool",
            windows(ops.MAX_POOL, overlapping=overlapping),
            (X,),
            (0,),
            id=f"{overlapping}",
        ),
        Sample(
            "FractionalMaxPoolGrad",
            lambda x, dy, overlapping=overlapping: max_gradient(x, dy, overlapping),
            (X, DY),
            id=f"{overlapping}",
        ),
        Sample(
            "FractionalAvgPool",
            windows(ops.AVG_POOL, overlapping=overlapping),
            (X,),
            (0,),
            id=f"{overlapping}",
        ),
        Sample(
            "FractionalAvgPoolGrad",
            windows(ops.AVG_POOL_GRAD, overlapping=overlapping, input_shape=(2, 5, 6, 2)),
            (DY,),
            (0,),
            id=f"{overlapping}",
        ),
    )
] + [
    Sample(
        "FractionalAvgPool",
        windows(ops.AVG_POOL, overlapping=False),
        ((X - 60).astype("i4"),),
        id="int",
    ),
    Sample(
        "FractionalMaxPool",
        lambda x: list(dv.nn.fractional_max_pool(x, [1, 1.4, 2.2, 1], True, True, True, 3)),
        (X,),
        (0,),
        id="drawn",
    ),
]
