"""Samples of functions of whole matrices, of their factors, and of tridiagonal ones."""

from functools import partial

import numpy as np

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.linalg import matrix_functions
from tests.ops.sample import Sample, normal

floats = partial(normal, np.random.default_rng(12))

SQUARE = floats(2, 3, 3) * 0.4 + 2 * np.eye(3)
DIAGONALS = floats(2, 3, 4) + np.array([[0.0], [4.0], [0.0]])
SIDES = floats(2, 4, 2)

SAMPLES = [
    Sample("MatrixExponential", dv.linalg.expm, (SQUARE,), (0,)),
    Sample("MatrixSquareRoot", dv.linalg.sqrtm, (SQUARE,), (0,)),
    Sample("MatrixLogarithm", dv.linalg.logm, (SQUARE.astype(complex),)),
    Sample("Lu", lambda x: dv.linalg.lu(x), (SQUARE[:, [1, 2, 0]],), (0,)),
    Sample(
        "Lu",
        lambda x, y: dv.linalg.lu_solve(*dv.linalg.lu(x), y),
        (SQUARE, SIDES[:, :3]),
        (0, 1),
        id="solve",
    ),
    Sample(
        "Lu", lambda x: dv.linalg.lu_matrix_inverse(*dv.linalg.lu(x)), (SQUARE,), (0,), id="inverse"
    ),
    Sample("PseudoInverse", dv.linalg.pinv, (floats(2, 4, 3),), (0,)),
    Sample("PseudoInverse", dv.linalg.pinv, (floats(2, 2, 3),), (0,), id="wide"),
    Sample(
        "PseudoInverse",
        lambda x, r: apply(matrix_functions.PINV, x, r),
        (floats(2, 3, 3), np.array([1e-9, 1e-8])),
        (0,),
        id="each its own",
    ),
    Sample("TridiagonalSolve", dv.linalg.tridiagonal_solve, (DIAGONALS, SIDES), (0, 1)),
    Sample(
        "TridiagonalSolve",
        lambda d, x: dv.linalg.tridiagonal_solve(d, x, "matrix"),
        (SQUARE, SIDES[:, :3]),
        (1,),
        id="matrix",
    ),
]
