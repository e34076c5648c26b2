"""Samples of diagonals and bands of matrices."""

from functools import partial

import numpy as np

import daskvars as dv
from tests.ops.sample import Sample, normal

floats = partial(normal, np.random.default_rng(5))

SAMPLES = [
    Sample("MatrixDiag", dv.matrix_diag, (floats(2, 3),), (0,)),
    Sample("MatrixDiagPart", dv.matrix_diag_part, (floats(2, 3, 3),), (0,)),
    Sample("MatrixDiagPart", dv.matrix_diag_part, (floats(2, 3, 4),), (0,), id="wide"),
    Sample("MatrixSetDiag", dv.matrix_set_diag, (floats(2, 3, 4), floats(2, 3)), (0, 1)),
    Sample("MatrixBandPart", lambda x: dv.matrix_band_part(x, 1, -1), (floats(2, 4, 4),), (0,)),
    Sample(
        "MatrixBandPart",
        lambda x: dv.matrix_band_part(x, -1, 0),
        (floats(2, 4, 3),),
        (0,),
        id="lower",
    ),
    Sample("Diag", dv.diag, (floats(2, 3),), (0,)),
    Sample("DiagPart", dv.diag_part, (floats(2, 3, 2, 3),), (0,)),
]
