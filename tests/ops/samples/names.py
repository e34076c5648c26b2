"""Samples of bits, gamma functions, searching, spreading, matrix forms and static shapes."""

import numpy as np

import daskvars as dv
from daskvars.ops.math import gamma_functions as gamma
from tests.ops.sample import Sample

RNG = np.random.default_rng(11)
BITS = (RNG.integers(0, 99, 6).astype(np.int32), RNG.integers(0, 7, 6).astype(np.int32))
A = RNG.uniform(0.4, 4.0, (4, 3))
X = RNG.uniform(0.3, 6.0, (4, 3))
UNIT = RNG.uniform(0.1, 0.9, (4, 3))
WITH_ZERO = np.where(UNIT < 0.3, 0.0, UNIT)
POSITIVE = np.eye(3) * 3 + RNG.uniform(0, 0.5, (4, 3, 3))
TALL = RNG.normal(size=(4, 5, 2))


def symmetric(x):
    return dv.matmul(x, x, adjoint_b=True)


SAMPLES = [
    Sample("BitwiseAnd", dv.bitwise.bitwise_and, BITS),
    Sample("BitwiseOr", dv.bitwise.bitwise_or, BITS),
    Sample("BitwiseXor", dv.bitwise.bitwise_xor, BITS),
    Sample("LeftShift", dv.bitwise.left_shift, BITS),
    Sample("RightShift", dv.bitwise.right_shift, BITS),
    Sample("Invert", dv.bitwise.invert, BITS[:1]),
    Sample("Bitcast", lambda x: dv.bitcast(x, dv.int64), (X,)),
    Sample("Bitcast", lambda x: dv.bitcast(x, dv.uint8), (X,), id="narrower"),
    Sample(
        "Bitcast",
        lambda x: dv.bitcast(x, dv.int64),
        (RNG.integers(0, 9, (4, 2), np.int32),),
        id="wider",
    ),
    Sample("Lgamma", dv.lbeta, (A,), (0,), id="lbeta"),
    Sample("Igamma", dv.igamma, (A, X), (0, 1)),
    Sample("Igamma", dv.igamma, (A[:, :1], X), (0, 1), id="broadcast"),
    Sample("Igammac", dv.igammac, (A, X), (0, 1)),
    Sample("IgammaGradA", gamma.igamma_slope, (A, X)),
    Sample("Betainc", dv.betainc, (A, X, UNIT), (2,)),
    Sample("Zeta", dv.zeta, (A + 1, X), (1,)),
    Sample("Xlogy", dv.math.xlogy, (A, X[:1]), (0, 1), chunked=(0,)),
    Sample("Xlogy", dv.math.xlogy, (WITH_ZERO, X), (1,), id="zero"),
    Sample("Xdivy", dv.math.xdivy, (A, X), (0, 1)),
    Sample("Xdivy", dv.math.xdivy, (WITH_ZERO, X), (1,), id="zero"),
    Sample("MulNoNan", dv.math.multiply_no_nan, (A, WITH_ZERO), (0,)),
    Sample("MulNoNan", dv.math.multiply_no_nan, (A, X), (0, 1), id="no zero"),
    Sample("DivNoNan", dv.math.reciprocal_no_nan, (A,), (0,), id="reciprocal"),
    Sample("Mean", dv.nn.zero_fraction, (WITH_ZERO,), id="zero_fraction"),
    Sample("SearchSorted", dv.searchsorted, (np.sort(X, axis=1), A)),
    Sample(
        "SearchSorted",
        lambda x, y: dv.searchsorted(x, y, "right", dv.int64),
        (np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 0.0, 9.0])),
        id="right",
    ),
    Sample("ListDiff", dv.setdiff1d, BITS),
    Sample("UnravelIndex", lambda x: dv.unravel_index(x, [10, 10]), BITS[:1]),
    Sample("Cast", lambda x: dv.histogram_fixed_width_bins(x, [0.0, 5.0], 4), (X,), id="bins"),
    Sample("RepeatedPlaces", lambda x, n: dv.repeat(x, n, 0), (X, BITS[1][:4]), (0,)),
    Sample("Tile", lambda x: dv.repeat(x, 2, 1), (X,), (0,), id="repeat"),
    Sample("RepeatedPlaces", lambda x: dv.repeat(x, [2, 0, 1], 1), (X,), (0,), id="known"),
    Sample("Tile", lambda x: dv.repeat(x, 2), (X,), (0,), id="repeat flat"),
    Sample(
        "CoordinatesInOrder",
        lambda i, x: dv.sparse_to_dense(i, [4, 5], x, 0.5),
        (np.array([[0, 2], [1, 0], [1, 4]]), X[:, 0][:3]),
        (1,),
    ),
    Sample(
        "CoordinatesInOrder",
        lambda i, x: dv.sparse_to_dense(i, [6], x),
        (np.array([1, 4]), np.float64(2.0)),
        (1,),
        id="vector",
    ),
    Sample("LogMatrixDeterminant", lambda x: dv.linalg.slogdet(x)[1], (POSITIVE,), (0,)),
    Sample("LogMatrixDeterminant", dv.linalg.slogdet, (POSITIVE,), id="both"),
    Sample("Cholesky", lambda x: dv.linalg.logdet(symmetric(x)), (POSITIVE,), (0,), id="logdet"),
    Sample("Conj", lambda x: dv.linalg.adjoint(x), (POSITIVE,), (0,), id="adjoint"),
    Sample("RealDiv", lambda x: dv.linalg.normalize(x, axis=1), (A,), (0,), id="normalize"),
    Sample(
        "MatMul",
        lambda a, b: dv.matrix_solve_ls(a, b, 0.1),
        (TALL, TALL[..., :1]),
        (0, 1),
        id="least squares",
        rtol=1e-5,
    ),
    Sample(
        "MatMul",
        lambda a: dv.matrix_solve_ls(dv.matrix_transpose(a), dv.ones([4, 2, 1], dv.float64)),
        (TALL,),
        (0,),
        id="least norm",
        rtol=1e-5,
    ),
    Sample(
        "Svd",
        lambda a, b: dv.matrix_solve_ls(a, b, fast=False),
        (TALL, TALL[..., :1]),
        id="least squares",
        rtol=1e-5,
    ),
    Sample(
        "BroadcastArgs",
        dv.broadcast_dynamic_shape,
        (np.array([3, 1, 5], np.int32), np.array([4, 1], np.int32)),
    ),
    Sample("CheckNumerics", lambda x: dv.verify_tensor_all_finite(x, "x"), (X,), (0,), id="verify"),
    Sample(
        "EagerPyFunc",
        lambda x: dv.py_function(lambda a: a * a, [x], dv.float64),
        (X,),
        (0,),
        complex=False,
    ),
    Sample(
        "PyFunc",
        lambda x: dv.numpy_function(np.negative, [x], dv.float64),
        (X,),
        id="numpy",
        complex=False,
    ),
    Sample(
        "If",
        lambda x: dv.switch_case(dv.cast(x[0, 0], dv.int32) * 0 + 1, [lambda: x, lambda: x * 2.0]),
        (X,),
        (0,),
        id="switch_case",
    ),
]
