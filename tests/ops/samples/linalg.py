"""Samples of products, equations, inverses and decompositions of matrices."""

from functools import partial

import numpy as np

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.linalg.products import SUM_OF_PRODUCTS
from tests.ops.sample import Sample, normal

RNG = np.random.default_rng(3)
floats = partial(normal, RNG)

A, B = floats(4, 3), floats(3, 5)
SQUARE = floats(2, 3, 3) + 3 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.swapaxes(1, 2)
SIDES = floats(2, 3, 2)


def product(id, a, b, **options):
    type = "MatMul" if a.ndim == b.ndim == 2 else "BatchMatMulV2"
    return Sample(type, lambda x, y: dv.matmul(x, y, **options), (a, b), (0, 1), id=id)


def equation(text, *inputs):
    return Sample(
        "Einsum", lambda *x: dv.einsum(text, *x), inputs, tuple(range(len(inputs))), id=text
    )


def terms_of(text):
    return text.split("->")[0].split(",")


def polar(s, u, v):
    """The nearest orthonormal matrices, in which the vectors' signs do not show."""
    return dv.matmul(u, v, adjoint_b=True)


def exponential(values, vectors):
    scaled = vectors * dv.cast(dv.exp(values), vectors.dtype)[..., None, :]
    return dv.matmul(scaled, vectors, adjoint_b=True)


SAMPLES = [
    product("plain", A, B),
    product("transpose_a", A.T.copy(), B, transpose_a=True),
    product("transpose_b", A, B.T.copy(), transpose_b=True),
    product("transpose_both", A.T.copy(), B.T.copy(), transpose_a=True, transpose_b=True),
    product("batch", floats(2, 4, 3), floats(2, 3, 5)),
    product("batch transpose_a", floats(2, 3, 4), floats(2, 3, 5), transpose_a=True),
    product("batch transpose_b", floats(2, 4, 3), floats(1, 5, 3), transpose_b=True),
    product("batch of one", floats(2, 4, 3), B),
    product("batch of one transposed", floats(2, 4, 3), B.T.copy(), transpose_b=True),
    product("one of batch", A, floats(2, 3, 5)),
    Sample(
        "MatMul", dv.matmul, (RNG.integers(0, 5, (2, 3)), RNG.integers(0, 5, (3, 2))), id="integers"
    ),
    Sample(
        "MatMul",
        lambda x, y: dv.matmul(x, y, adjoint_a=True),
        (floats(3, 2) + 1j * floats(3, 2), floats(3, 2) + 1j * floats(3, 2)),
        id="adjoint",
    ),
    Sample(
        "SumOfProducts",
        partial(apply, SUM_OF_PRODUCTS),
        (floats(4, 3), floats(4, 5), floats(4, 3), floats(4, 5)),
        (0, 1, 2, 3),
    ),
    Sample("BatchMatMulV2", dv.matvec, (floats(2, 4, 3), floats(2, 3)), (0, 1), id="matvec"),
    equation("ij,jk->ik", A, B),
    equation("bthd,bshd->bhts", floats(2, 3, 2, 3), floats(2, 2, 2, 3)),
    equation("bhts,bshd->bthd", floats(2, 2, 3, 2), floats(2, 2, 2, 3)),
    equation("ij,jk,kl->il", floats(2, 3), floats(3, 4), floats(4, 2)),
    equation("...ij,jk->...ik", floats(2, 4, 3), B),
    equation("...i,...i->...", floats(2, 1, 3), floats(4, 3)),
    equation("ij->ji", A),
    equation("ij->", A),
    equation("ijk,k->i", floats(4, 2, 3), floats(3)),
    equation("i,j->ij", floats(4), floats(3)),
    Sample(
        "Einsum",
        lambda x, y: dv.tensordot(x, y, [[1, 0], [0, 1]]),
        (floats(4, 3), floats(3, 4)),
        (0, 1),
        id="tensordot",
    ),
    Sample(
        "MatMul",
        dv.tensordot,
        (floats(2, 4, 3), floats(3, 2, 2), np.array([[0, 2], [1, 0]], np.int32)),
        (0, 1),
        id="tensordot of-run",
    ),
    *[
        equation(text, *[floats(*[2 + ord(c) % 2 for c in term]) for term in terms_of(text)])
        for text in ("abhe,hidj,jgba,hiab,gab->ed", "efc,dbc,acf,fd->abe", "bca,cdb,dbf,afc->")
    ],
    Sample("Cross", dv.cross, (floats(4, 3), floats(4, 3)), (0, 1)),
    Sample("Trace", dv.trace, (floats(2, 3, 4),), (0,)),
    Sample("MatrixInverse", dv.matrix_inverse, (SQUARE,), (0,)),
    Sample(
        "MatrixInverse", lambda x: dv.matrix_inverse(x, adjoint=True), (SQUARE,), (0,), id="adjoint"
    ),
    Sample("MatrixDeterminant", dv.matrix_determinant, (SQUARE,), (0,)),
    Sample("MatrixSolve", dv.matrix_solve, (SQUARE, SIDES), (0, 1)),
    Sample(
        "MatrixSolve",
        lambda x, y: dv.matrix_solve(x, y, adjoint=True),
        (SQUARE, SIDES),
        (0, 1),
        id="adjoint",
    ),
    Sample("MatrixTriangularSolve", dv.matrix_triangular_solve, (SQUARE, SIDES), (0, 1)),
    Sample(
        "MatrixTriangularSolve",
        lambda x, y: dv.matrix_triangular_solve(x, y, lower=False, adjoint=True),
        (SQUARE, SIDES),
        (0, 1),
        id="upper adjoint",
    ),
    # Only the symmetric part of the input counts, so it is differentiated through x + x'.
    Sample("Cholesky", lambda x: dv.cholesky(x + dv.linalg.adjoint(x)), (POSITIVE,), (0,)),
    Sample(
        "MatrixTriangularSolve",
        lambda x, y: dv.cholesky_solve(dv.cholesky(x), y),
        (POSITIVE, SIDES),
        id="cholesky",
    ),
    Sample("Qr", dv.qr, (floats(2, 4, 3),), (0,)),
    Sample("Qr", dv.qr, (floats(2, 3, 5),), (0,), id="wide"),
    Sample("Qr", lambda x: dv.qr(x, full_matrices=True), (floats(2, 4, 3),), id="full"),
    Sample("Svd", dv.svd, (floats(2, 4, 3),), any_sign=True),
    Sample(
        "Svd", lambda x: dv.svd(x, full_matrices=True), (floats(2, 4, 3),), any_sign=True, id="full"
    ),
    Sample("Svd", lambda x: dv.svd(x, compute_uv=False), (floats(2, 4, 3),), (0,), id="values"),
    Sample("Svd", lambda x: polar(*dv.svd(x)), (floats(2, 4, 3),), (0,), complex=False, id="polar"),
    Sample(
        "Svd",
        lambda x: polar(
            *dv.svd(x, full_matrices=True)[:2], dv.svd(x, full_matrices=True)[2][..., :3]
        ),
        (floats(3, 4),),
        (0,),
        complex=False,
        id="wide",
    ),
    Sample("SelfAdjointEigV2", dv.self_adjoint_eig, (POSITIVE,), any_sign=True),
    Sample(
        "SelfAdjointEigV2",
        lambda x: exponential(*dv.self_adjoint_eig(x)),
        (POSITIVE,),
        (0,),
        id="exponential",
    ),
    Sample("SelfAdjointEigV2", dv.self_adjoint_eigvals, (POSITIVE,), id="values"),
]
