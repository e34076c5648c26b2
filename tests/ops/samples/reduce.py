"""Samples of reductions, scans, moments, counts and clipping."""

from functools import partial

import numpy as np

import daskvars as dv
from tests.ops.sample import Sample, uniform

RNG = np.random.default_rng(2)
floats = partial(uniform, RNG)

MATRIX = floats(4, 3)
CUBE = floats(4, 2, 3)
ZEROS = np.array([[2.0, 0.0, 3.0, 0.0], [4.0, 5.0, 0.0, 6.0]])
TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
COUNTS = RNG.integers(0, 4, (5, 2)).astype(np.int32)
LABELS = np.array([0, 2, 1, 1, 0], np.int32)
GUESSES = np.array([0, 2, 2, 1, 1], np.int32)
BOOLS = RNG.random((4, 3)) < 0.6

FOLDS = [
    ("Sum", dv.reduce_sum),
    ("Mean", dv.reduce_mean),
    ("Prod", dv.reduce_prod),
    ("Max", dv.reduce_max),
    ("Min", dv.reduce_min),
    ("ReduceLogSumExp", dv.reduce_logsumexp),
]


def folds(type, function):
    return [
        Sample(type, function, (CUBE,), (0,), id="all"),
        Sample(type, lambda x: function(x, 0), (CUBE,), (0,), id="first"),
        Sample(type, lambda x: function(x, [-1]), (CUBE,), (0,), id="last"),
        Sample(type, lambda x: function(x, (0, 2)), (CUBE,), (0,), id="outer"),
        Sample(type, lambda x: function(x, 1, keepdims=True), (CUBE,), (0,), id="kept"),
        *[
            Sample(
                type,
                lambda x, axis, kept=kept: function(x, axis, keepdims=kept),
                (CUBE, np.array(axis, np.int32)),
                () if type == "Prod" else (0,),
                chunked=(0,),
                id=f"of-run {axis} {kept}",
            )
            for axis in (0, -1, [1, 2], [0, 2])
            for kept in (False, True)
        ],
    ]


SAMPLES = [
    *[sample for fold in FOLDS for sample in folds(*fold)],
    Sample("Sum", lambda x: dv.reduce_sum(x, dv.range(1, dv.rank(x))), (CUBE,), (0,), id="tensor"),
    Sample("Sum", lambda x: dv.reduce_sum(x, []), (MATRIX,), (0,), id="nothing"),
    Sample("Mean", dv.reduce_mean, (COUNTS,), id="integers"),
    Sample("All", lambda x: dv.reduce_all(x, 0), (BOOLS,)),
    Sample("Any", lambda x: dv.reduce_any(x, 1), (BOOLS,)),
    Sample("All", dv.reduce_all, (BOOLS,), id="all"),
    Sample("ArgMax", lambda x: dv.argmax(x, 1), (MATRIX,)),
    Sample("ArgMax", dv.argmax, (TIES,), id="first axis"),
    Sample("ArgMin", lambda x: dv.argmin(x, -1, output_type=dv.int32), (MATRIX,)),
    Sample("Cumsum", dv.cumsum, (MATRIX,), (0,)),
    Sample(
        "Cumsum",
        lambda x: dv.cumsum(x, 1, exclusive=True, reverse=True),
        (MATRIX,),
        (0,),
        id="reverse",
    ),
    Sample("Cumprod", dv.cumprod, (MATRIX,), (0,)),
    Sample("Cumprod", lambda x: dv.cumprod(x, 1, exclusive=True), (MATRIX,), (0,), id="exclusive"),
    Sample("Cumprod", lambda x: dv.cumprod(x, 1, reverse=True), (ZEROS,), (0,), id="zeros"),
    Sample("Mean", lambda x: list(dv.moments(x, [0])), (MATRIX,), (0,), id="moments"),
    Sample(
        "Mean",
        lambda x: list(dv.moments(x, [0, 2], keepdims=True)),
        (CUBE,),
        (0,),
        id="moments kept",
    ),
    Sample(
        "Sum",
        lambda x, w: list(dv.weighted_moments(x, [0], w)),
        (MATRIX, floats(4, 1, low=0.5)),
        id="weighted moments",
    ),
    Sample("Mean", dv.reduce_variance, (MATRIX,), (0,), id="variance"),
    Sample("Sqrt", lambda x: dv.reduce_std(x, 0), (MATRIX,), (0,), id="std"),
    Sample("Sqrt", dv.reduce_euclidean_norm, (MATRIX,), (0,), id="norm"),
    Sample("Sqrt", dv.norm, (MATRIX,), (0,), id="tf.norm"),
    Sample("Max", lambda x: dv.norm(x, ord=np.inf, axis=[0, 1]), (MATRIX,), id="matrix norm"),
    Sample("Bincount", dv.bincount, (COUNTS,)),
    Sample(
        "WeightedBincount",
        lambda x, w: dv.bincount(x, w, minlength=6, maxlength=6),
        (COUNTS, floats(5, 2)),
    ),
    Sample(
        "Bincount",
        lambda x: dv.histogram_fixed_width(x, [-2.0, 2.0], 4),
        (floats(20),),
        id="histogram",
    ),
    Sample("ConfusionMatrix", lambda x, y: dv.confusion_matrix(x, y, 3), (LABELS, GUESSES)),
    Sample("ConfusionMatrix", dv.confusion_matrix, (LABELS, GUESSES), id="classes counted"),
    Sample(
        "WeightedConfusionMatrix",
        lambda x, y, w: dv.confusion_matrix(x, y, 3, dv.float64, weights=w),
        (LABELS, GUESSES, floats(5)),
        (2,),
    ),
    Sample("Sum", lambda x: dv.count_nonzero(x, 0), (COUNTS,), id="count_nonzero"),
    Sample("Maximum", lambda x: dv.clip_by_value(x, -1.0, 1.0), (MATRIX,), (0,), id="clip"),
    Sample("RealDiv", lambda x: dv.clip_by_norm(x, 1.0), (MATRIX,), (0,), id="clip_by_norm"),
    Sample("RealDiv", lambda x: dv.clip_by_average_norm(x, 0.1), (MATRIX,), (0,), id="average"),
    Sample(
        "Mul",
        lambda x, y: dv.clip_by_global_norm([x, y], 1.5)[0],
        (MATRIX, CUBE),
        (0, 1),
        id="global norm",
    ),
]
