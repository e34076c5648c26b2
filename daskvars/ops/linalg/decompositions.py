"""Inverses, solutions and factors of matrices.

The last two dimensions are matrices; all leading ones are a batch, which may be cut into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.linalg import products as kernels
from daskvars.ops.array import reshaping, transposing
from daskvars.ops.array.joining import concat
from daskvars.ops.linalg import matrix_parts
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add, multiply, negative, number, subtract
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.math.division import div_no_nan
from daskvars.surface.signatures import Argument, Family

_MATRICES = Contraction("...__->...__", None)
_PAIRS = Contraction("...__,...__->...__", None)


def _matrix(spec: Spec) -> tuple[int | None, ...] | None:
    """Return the shape, checked to be of matrices."""
    if spec.shape is not None and len(spec.shape) < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {len(spec.shape)}: "
            f"{shapes.show(spec.shape)}"
        )
    return spec.shape


def square_matrix(spec: Spec) -> tuple[int | None, ...] | None:
    """Return the shape of square matrices. Raises ValueError where they cannot be square."""
    shape = _matrix(spec)
    if shape is not None and not shapes.compatible(shape[-2:-1], shape[-1:]):
        raise ValueError(
            f"Dimensions must be equal, but are {shape[-2]} and {shape[-1]}: the matrix must be "
            "square"
        )
    return shape and (*shape[:-2], *shapes.merge(shape[-2:], shape[-2:][::-1]))


def _squares(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    return Spec(inputs[0].dtype, square_matrix(inputs[0]))


SQUARES = Family(
    {
        "input": Argument("[..., n, n] floating or complex."),
        "name": Argument('name of the operation, by default "{type}".', None, "str"),
    },
    returns="[..., n, n] of the dtype of `input`.",
    raises="ValueError: the matrices are not square.",
)


def of_squares(type: str, kernel: Any, gradient: Any, **rules: Any) -> OpDef:
    """Define an op that gives a square matrix for each."""
    return OpDef(type, "input:F", _squares, _MATRICES, kernel, gradient, **rules)


def _inverse_gradient(op: Operation, dy: Tensor) -> Tensor:
    inverse = op.outputs[0]
    if op.attrs["adjoint"]:
        product = matmul(matmul(inverse, dy, adjoint_b=True), inverse)
    else:
        product = matmul(matmul(inverse, dy, adjoint_a=True), inverse, adjoint_b=True)
    return negative(product)


MATRIX_INVERSE = of_squares("MatrixInverse", kernels.inverse, _inverse_gradient)


@SQUARES.documents(type="MatrixInverse")
def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Invert square matrices.

    Args:
      adjoint: invert their adjoints.

    Raises:
      ValueError: the matrices are not square.
      InvalidArgumentError: (when run) a matrix is singular.

    >>> matrix_inverse([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return apply(MATRIX_INVERSE, input, name=name, adjoint=bool(adjoint))


def _determined(inputs: Sequence[Spec]) -> Spec:
    shape = square_matrix(inputs[0])
    return Spec(inputs[0].dtype, None if shape is None else shape[:-2])


def _determinant_gradient(op: Operation, dy: Tensor) -> Tensor:
    scale = multiply(dy, conj(op.outputs[0]))
    for _ in range(2):
        scale = reshaping.expand_dims(scale, -1)
    return multiply(scale, matrix_inverse(op.inputs[0], adjoint=True))


MATRIX_DETERMINANT = OpDef(
    "MatrixDeterminant",
    "input:F",
    infer=_determined,
    pattern=Contraction("...__->...", None),
    kernel=kernels.determinant,
    gradient=_determinant_gradient,
)


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the determinants of square matrices [..., n, n]. See `matrix_inverse`.

    >>> float(matrix_determinant([[2.0, 0.0], [0.0, 3.0]]))
    6.0
    """
    return apply(MATRIX_DETERMINANT, input, name=name)


def _solved(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    matrix, rhs = square_matrix(inputs[0]), _matrix(inputs[1])
    if matrix is not None and rhs is not None and not shapes.compatible(matrix[:-1], rhs[:-1]):
        raise ValueError(
            f"Dimensions must be equal: matrices of shape {shapes.show(matrix)} and right-hand "
            f"sides of shape {shapes.show(rhs)} differ in rows or batch"
        )
    if matrix is not None:
        columns = None if rhs is None else rhs[-1]
        rhs = shapes.merge((*matrix[:-1], columns), rhs)
    return Spec(inputs[0].dtype, rhs)


def _solve_gradient(op: Operation, dy: Tensor) -> Gradients:
    matrix, x, adjoint = op.inputs[0], op.outputs[0], op.attrs["adjoint"]
    drhs = matrix_solve(matrix, dy, adjoint=not adjoint)
    left, right = (x, drhs) if adjoint else (drhs, x)
    return negative(matmul(left, right, adjoint_b=True)), drhs


MATRIX_SOLVE = OpDef(
    "MatrixSolve", "matrix:F, rhs:F", _solved, _PAIRS, kernels.solve, _solve_gradient
)


def matrix_solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve ``matrix @ x = rhs``.

    Args:
      matrix: [..., n, n] floating or complex.
      rhs: [..., n, k] of the dtype of `matrix`.
      adjoint: solve with the adjoint of the matrix.
      name: name of the operation, by default "MatrixSolve".

    Returns:
      [..., n, k] of the dtype of `matrix`.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: (when run) a matrix is singular.

    >>> matrix_solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).numpy().tolist()
    [[1.0], [0.5]]
    """
    return apply(MATRIX_SOLVE, matrix, rhs, name=name, adjoint=bool(adjoint))


def _triangular_gradient(op: Operation, dy: Tensor) -> Gradients:
    matrix, x = op.inputs[0], op.outputs[0]
    lower, adjoint = op.attrs["lower"], op.attrs["adjoint"]
    drhs = matrix_triangular_solve(matrix, dy, lower=lower, adjoint=not adjoint)
    left, right = (x, drhs) if adjoint else (drhs, x)
    product = negative(matmul(left, right, adjoint_b=True))
    return matrix_parts.matrix_band_part(product, *((-1, 0) if lower else (0, -1))), drhs


MATRIX_TRIANGULAR_SOLVE = OpDef(
    "MatrixTriangularSolve",
    "matrix:F, rhs:F",
    infer=_solved,
    pattern=_PAIRS,
    kernel=kernels.triangular_solve,
    gradient=_triangular_gradient,
)


def matrix_triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve with the lower (or upper) triangle of a matrix. See `matrix_solve`.

    Args:
      matrix: [..., n, n] floating or complex; the other triangle is not looked at.
      rhs: [..., n, k] of the dtype of `matrix`.
      lower: whether it is the lower triangle.
      adjoint: solve with the conjugate transpose.
      name: name of the operation, by default "MatrixTriangularSolve".

    >>> matrix_triangular_solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).numpy().tolist()
    [[1.0], [0.5]]
    """
    return apply(
        MATRIX_TRIANGULAR_SOLVE, matrix, rhs, name=name, lower=bool(lower), adjoint=bool(adjoint)
    )


def _cholesky_gradient(op: Operation, dy: Tensor) -> Tensor:
    """Iain Murray, "Differentiation of the Cholesky decomposition", 2016."""
    factor = op.outputs[0]
    middle = matmul(factor, dy, adjoint_a=True)
    # The lower triangle with half of its diagonal.
    diagonal = matrix_parts.matrix_band_part(middle, 0, 0)
    lower = matrix_parts.matrix_band_part(middle, -1, 0)
    middle = subtract(lower, multiply(diagonal, number(0.5, diagonal)))
    left = matrix_triangular_solve(factor, middle, adjoint=True)
    gradient = matrix_triangular_solve(factor, _adjoint(left), adjoint=True)
    return multiply(add(gradient, _adjoint(gradient)), number(0.5, gradient))


CHOLESKY = of_squares("Cholesky", kernels.cholesky, _cholesky_gradient)


@SQUARES.documents(type="Cholesky")
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the lower triangular factors l of positive definite matrices, l @ adjoint(l).

    Raises:
      ValueError: the matrices are not square.
      InvalidArgumentError: (when run) a matrix is not positive definite.

    >>> cholesky([[4.0, 0.0], [0.0, 9.0]]).numpy().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return apply(CHOLESKY, input, name=name)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve ``a @ x = rhs`` given the factor ``chol = cholesky(a)``. See `matrix_solve`.

    >>> cholesky_solve([[2.0, 0.0], [0.0, 3.0]], [[4.0], [9.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    half = matrix_triangular_solve(chol, rhs)
    return matrix_triangular_solve(chol, half, adjoint=True, name=name or "cholesky_solve")


# -- factors without gradients -----------------------------------------------------------------


def _q_and_r(inputs: Sequence[Spec], *, full_matrices: bool) -> tuple[Spec, ...]:
    dtype, shape = inputs[0].dtype, _matrix(inputs[0])
    if shape is None:
        return Spec(dtype, None), Spec(dtype, None)
    *batch, rows, columns = shape
    rank = rows if full_matrices else matrix_parts.least(rows, columns)
    return Spec(dtype, (*batch, rows, rank)), Spec(dtype, (*batch, rank, columns))


def _adjoint(x: Tensor) -> Tensor:
    return conj(transposing.matrix_transpose(x))


def _qr_gradient(op: Operation, dq: Tensor, dr: Tensor) -> Tensor:
    """Walter & Lehmann, "Algorithmic differentiation of linear algebra functions", 2018.

    Of a wide matrix [left, right], q is that of its left part, and r has q^H right at its right.
    """
    q, r = op.outputs
    shape = r.spec.shape
    if shape is None or None in shape[-2:] or shape[-2] > shape[-1]:
        raise NotImplementedError(
            "qr() has a gradient where the shape of r is known, and without full_matrices for "
            f"matrices with more rows than columns; here r is {shapes.show(shape)}"
        )
    rows, columns = shape[-2:]
    right, dright = op.inputs[0][..., rows:], dr[..., rows:]
    if rows < columns:
        dq = add(dq, matmul(right, dright, adjoint_b=True))
        r, dr = r[..., :rows], dr[..., :rows]
    middle = subtract(matmul(r, dr, adjoint_b=True), matmul(dq, q, adjoint_a=True))
    diagonal = multiply(number(0.5, middle), matrix_parts.matrix_band_part(middle, 0, 0))
    half = subtract(matrix_parts.matrix_band_part(middle, -1, 0), diagonal)  # r has a real one
    both = add(dq, matmul(q, add(half, _adjoint(half))))
    left = _adjoint(matrix_triangular_solve(r, _adjoint(both), lower=False))
    return left if rows == columns else concat([left, matmul(q, dright)], -1)


QR = OpDef("Qr", "input:F", _q_and_r, _MATRICES, kernels.qr, _qr_gradient)


def qr(
    input: TensorLike, full_matrices: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return factors q (unitary) and r (upper triangular) with q @ r = input.

    Args:
      input: [..., m, n] floating or complex.
      full_matrices: q is [..., m, m] rather than [..., m, min(m, n)].
      name: name of the operation, by default "Qr".

    Returns:
      q and r, of the dtype of `input`. They have gradients where their shapes are known, but for
      those of a matrix with more rows than columns and `full_matrices`.

    >>> q, r = qr([[3.0, 0.0], [4.0, 5.0]])
    >>> q.shape.as_list(), r.shape.as_list()
    ([2, 2], [2, 2])
    """
    return apply(QR, input, name=name, full_matrices=bool(full_matrices))


def _singular(
    inputs: Sequence[Spec], *, full_matrices: bool, compute_uv: bool
) -> Spec | tuple[Spec, ...]:
    dtype, shape = inputs[0].dtype, _matrix(inputs[0])
    real = dtype.real_dtype
    if shape is None:
        return (Spec(real, None), *[Spec(dtype, None)] * 2)[: 3 if compute_uv else 1]
    *batch, rows, columns = shape
    rank = matrix_parts.least(rows, columns)
    values = Spec(real, (*batch, rank))
    if not compute_uv:
        return (values,)
    u = Spec(dtype, (*batch, rows, rows if full_matrices else rank))
    return values, u, Spec(dtype, (*batch, columns, columns if full_matrices else rank))


def _by_column(values: Tensor, like: Tensor) -> Tensor:
    """Return values of columns, [..., 1, n], in the dtype of `like`."""
    return cast(reshaping.expand_dims(values, -2), like.dtype)


def _apart(values: Tensor) -> Tensor:
    """Return 1 / (values[j] - values[i]), [..., n, n], and 0 where they are equal."""
    rows, columns = reshaping.expand_dims(values, -1), reshaping.expand_dims(values, -2)
    return div_no_nan(number(1, values), subtract(columns, rows))


def _svd_gradient(op: Operation, ds: Tensor, *dvectors: Tensor) -> Tensor:
    """J. Townsend, "Differentiating the singular value decomposition", 2016."""
    if not dvectors:
        _, u, v = svd(op.inputs[0])
        return matmul(multiply(u, _by_column(ds, u)), v, adjoint_b=True)
    s, u, v = op.outputs
    size = s.spec.shape and s.spec.shape[-1]
    rows, columns = ((None, None), *(x.spec.shape for x in (u, v) if x.spec.shape))[-2:]
    if u.dtype.base_dtype.is_complex or size is None or None in (rows[-2], columns[-2]):
        raise NotImplementedError(
            "svd() has a gradient by its vectors for real matrices whose shape is known, not for "
            f"{op.inputs[0]}"
        )
    if max(rows[-1], columns[-1]) > size + 1:
        raise NotImplementedError(
            f"svd(full_matrices=True) has no gradient for {op.inputs[0]}: of the vectors beyond "
            f"the first {size} only their span is determined"
        )
    (du, dv), inverse = dvectors, div_no_nan(number(1, s), s)
    (u, more_u), (v, more_v), (du, more_du), (dv, more_dv) = (
        (x[..., :size], x[..., size:]) for x in (u, v, du, dv)
    )
    spread, scale, unscale = _apart(multiply(s, s)), _by_column(s, u), _by_column(inverse, u)
    left, right = (multiply(spread, matmul(x, dx, adjoint_a=True)) for x, dx in ((u, du), (v, dv)))
    left, right = add(left, _adjoint(left)), add(right, _adjoint(right))
    within = add(multiply(left, scale), _adjoint(multiply(right, scale)))
    within = add(within, matrix_parts.matrix_diag(ds))
    # What of the vectors' gradients is outside of the space that they span, and what a last vector
    # that completes it takes from them.
    outer_u, outer_v = (
        subtract(
            subtract(dx, matmul(x, matmul(x, dx, adjoint_a=True))),
            matmul(more_x, matmul(more_dx, x, adjoint_a=True)),
        )
        for x, dx, more_x, more_dx in ((u, du, more_u, more_du), (v, dv, more_v, more_dv))
    )
    total = matmul(matmul(u, within), v, adjoint_b=True)
    total = add(total, matmul(multiply(outer_u, unscale), v, adjoint_b=True))
    return add(total, matmul(u, multiply(outer_v, unscale), adjoint_b=True))


SVD = OpDef(
    "Svd",
    "input:F",
    infer=_singular,
    kernel=kernels.svd,
    gradient=_svd_gradient,
    pattern=Contraction(
        lambda inputs, attrs: "...__->..._" + ",...__,...__" * attrs["compute_uv"], None
    ),
)


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Return the singular value decomposition, ``tensor = u @ diag(s) @ adjoint(v)``.

    Args:
      tensor: [..., m, n] floating or complex.
      full_matrices: u and v are square.
      compute_uv: False computes the singular values only.
      name: name of the operation, by default "Svd".

    Returns:
      (s, u, v), in TensorFlow's order: with k = min(m, n), s is [..., k] real, u [..., m, k] and v
      [..., n, k] of the dtype of `tensor`; of full ones the last sizes are m and n. Only s where
      `compute_uv` is False. They have gradients; vectors where they are real and determined (with
      `full_matrices`, but for one).

    >>> svd([[3.0, 0.0], [0.0, 2.0]], compute_uv=False).numpy().tolist()
    [3.0, 2.0]
    """
    options = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}
    results = apply(SVD, tensor, name=name, **options)
    return results if compute_uv else results[0]


def _eigen(inputs: Sequence[Spec]) -> tuple[Spec, ...]:
    dtype, shape = inputs[0].dtype, square_matrix(inputs[0])
    values = None if shape is None else shape[:-1]
    return Spec(dtype.real_dtype, values), Spec(dtype, shape)


def _eigen_gradient(op: Operation, dvalues: Tensor, dvectors: Tensor) -> Tensor:
    """M. Giles, "Collected matrix derivative results for forward and reverse mode", 2008."""
    values, vectors = op.outputs
    turned = matmul(vectors, dvectors, adjoint_a=True)
    within = multiply(cast(_apart(values), turned.dtype), turned)
    within = add(within, matrix_parts.matrix_diag(cast(dvalues, turned.dtype)))
    whole = matmul(matmul(vectors, within), vectors, adjoint_b=True)
    # Only the lower triangle is read, so it has the gradient of both.
    both = add(whole, _adjoint(whole))
    lower = matrix_parts.matrix_band_part(both, -1, 0)
    diagonal = matrix_parts.matrix_band_part(both, 0, 0)
    return subtract(lower, multiply(diagonal, number(0.5, diagonal)))


SELF_ADJOINT_EIG = OpDef(
    "SelfAdjointEigV2",
    "input:F",
    infer=_eigen,
    kernel=kernels.self_adjoint_eig,
    pattern=Contraction("...__->..._,...__", None),
    gradient=_eigen_gradient,
)


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of self-adjoint matrices; the lower triangle is read.

    Args:
      tensor: [..., n, n] floating or complex.
      name: name of the operation, by default "SelfAdjointEigV2".

    Returns:
      e: [..., n], ascending, and v: [..., n, n], whose columns are the vectors. No gradient.

    >>> values, vectors = self_adjoint_eig([[1.0, 0.0], [0.0, 2.0]])
    >>> values.numpy().tolist(), vectors.shape.as_list()
    ([1.0, 2.0], [2, 2])
    """
    return apply(SELF_ADJOINT_EIG, tensor, name=name)


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the eigenvalues of self-adjoint matrices. See `self_adjoint_eig`.

    >>> self_adjoint_eigvals([[1.0, 0.0], [0.0, 2.0]]).numpy().tolist()
    [1.0, 2.0]
    """
    return apply(SELF_ADJOINT_EIG, tensor, name=name)[0]
