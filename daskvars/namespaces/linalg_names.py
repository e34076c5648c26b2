"""Functions of matrices and vectors, the names of ``tf.linalg``."""

# fmt: off
from daskvars.ops.array.ranges import eye
from daskvars.ops.array.transposing import matrix_transpose
from daskvars.ops.array.transposing import matrix_transpose as transpose
from daskvars.ops.linalg.decompositions import cholesky, cholesky_solve, qr, svd
from daskvars.ops.linalg.decompositions import matrix_determinant as det
from daskvars.ops.linalg.decompositions import matrix_inverse as inv
from daskvars.ops.linalg.decompositions import matrix_solve as solve
from daskvars.ops.linalg.decompositions import matrix_triangular_solve as triangular_solve
from daskvars.ops.linalg.decompositions import self_adjoint_eig as eigh
from daskvars.ops.linalg.decompositions import self_adjoint_eigvals as eigvalsh
from daskvars.ops.linalg.einsum import einsum
from daskvars.ops.linalg.linear_operators import (
    LinearOperator, LinearOperatorDiag, LinearOperatorFullMatrix, LinearOperatorIdentity,
    LinearOperatorLowerTriangular, LinearOperatorScaledIdentity,
)
from daskvars.ops.linalg.matrix_forms import adjoint, logdet, normalize, slogdet
from daskvars.ops.linalg.matrix_forms import matrix_solve_ls as lstsq
from daskvars.ops.linalg.matrix_functions import (
    expm, logm, lu, lu_matrix_inverse, lu_reconstruct, lu_solve, matrix_rank, pinv, sqrtm,
)
from daskvars.ops.linalg.matrix_parts import diag as tensor_diag
from daskvars.ops.linalg.matrix_parts import diag_part as tensor_diag_part
from daskvars.ops.linalg.matrix_parts import matrix_band_part as band_part
from daskvars.ops.linalg.matrix_parts import matrix_diag as diag
from daskvars.ops.linalg.matrix_parts import matrix_diag_part as diag_part
from daskvars.ops.linalg.matrix_parts import matrix_set_diag as set_diag
from daskvars.ops.linalg.norms import norm
from daskvars.ops.linalg.products import cross, matmul, matvec, tensordot, trace
from daskvars.ops.linalg.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from daskvars.ops.math.clip import global_norm
from daskvars.ops.nn.normalization.moments import l2_normalize

__all__ = [
    "LinearOperator", "LinearOperatorDiag", "LinearOperatorFullMatrix", "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular", "LinearOperatorScaledIdentity",
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part",
    "eigh", "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet",
    "logm", "lstsq", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul",
    "matrix_rank", "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag",
    "slogdet", "solve", "sqrtm", "svd", "tensor_diag", "tensor_diag_part", "tensordot", "trace",
    "transpose", "triangular_solve", "tridiagonal_matmul", "tridiagonal_solve",
]
