"""Functions of matrices made of the decompositions: adjoints, log-determinants, least squares."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars import dtypes, shapes
from daskvars.dtypes import as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.linalg import products as kernels
from daskvars.ops.array import ranges
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.array.transposing import matrix_transpose
from daskvars.ops.linalg.decompositions import (
    cholesky,
    cholesky_solve,
    matrix_inverse,
    square_matrix,
    svd,
)
from daskvars.ops.linalg.matrix_parts import matrix_diag_part
from daskvars.ops.linalg.norms import norm
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add, multiply, negative, number
from daskvars.ops.math.casting import cast, complex, conj, imag, real
from daskvars.ops.math.comparison import greater, where_v2
from daskvars.ops.math.division import div_no_nan, realdiv
from daskvars.ops.math.reduce import reduce_max, reduce_sum
from daskvars.ops.math.transcendental import log
from daskvars.ops.rules import axes


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the conjugate transposes of matrices [..., m, n].

    Args:
      matrix: [..., m, n] any number.
      name: name scope of the operations, by default "adjoint".

    Source: TensorFlow 1.15, ``tf.linalg.adjoint``.

    >>> adjoint([[1.0, 2.0], [3.0, 4.0]]).numpy().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    with name_scope(name, "adjoint", [matrix]):
        return conj(matrix_transpose(convert_to_tensor(matrix, name="matrix")))


# -- determinants ------------------------------------------------------------------------------


def _two_parts(inputs: Sequence[Spec]) -> tuple[Spec, ...]:
    dtype, shape = inputs[0].dtype, square_matrix(inputs[0])
    batch = None if shape is None else shape[:-2]
    return Spec(dtype, batch), Spec(dtype, batch)


def _slogdet_gradient(op: Operation, by_sign: Tensor, by_log: Tensor) -> Tensor:
    """The sign of a real determinant does not change nearby; that of a complex one turns."""
    scale = by_log
    if by_log.dtype.is_complex:
        turn = imag(multiply(conj(by_sign), op.outputs[0]))
        scale = complex(real(by_log), negative(turn))
    scale = expand_dims(expand_dims(scale, -1), -1)
    return multiply(scale, matrix_inverse(op.inputs[0], adjoint=True))


SLOGDET = OpDef(
    "LogMatrixDeterminant",
    "input:F",
    infer=_two_parts,
    kernel=kernels.log_determinant,
    pattern=Contraction("...__->...", None),
    gradient=_slogdet_gradient,
)


def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the sign and the logarithm of the absolute value of determinants.

    Args:
      input: [..., n, n] floating or complex.
      name: name of the operation, by default "LogMatrixDeterminant".

    Returns:
      (sign [...], log_abs_determinant [...]), of the dtype of `input`.

    Raises:
      ValueError: the matrices are not square.

    Source: TensorFlow 1.15, ``tf.linalg.slogdet``.

    >>> [float(t) for t in slogdet([[0.0, 1.0], [1.0, 0.0]])]
    [-1.0, 0.0]
    """
    sign, logarithm = apply(SLOGDET, input, name=name)
    return sign, logarithm


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithms of the determinants of positive definite matrices.

    Args:
      matrix: [..., n, n] floating or complex, Hermitian and positive definite.
      name: name scope of the operations, by default "logdet".

    Returns:
      [...] of the dtype of `matrix` (real of complex numbers).

    Raises:
      InvalidArgumentError: (when run) a matrix is not positive definite.

    Source: TensorFlow 1.15, ``tf.linalg.logdet``.

    >>> import math
    >>> math.isclose(float(logdet([[2.0, 0.0], [0.0, 8.0]])), math.log(16.0), rel_tol=1e-6)
    True
    """
    with name_scope(name, "logdet", [matrix]):
        diagonal = real(matrix_diag_part(cholesky(matrix)))
        return multiply(reduce_sum(log(diagonal), -1), number(2, diagonal))


# -- norms -------------------------------------------------------------------------------------


def normalize(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return a tensor divided by its norm along dimensions, and the norm.

    Args:
      tensor: [...] floating or complex.
      ord: see `norm`.
      axis: see `norm`.
      name: name scope of the operations, by default "normalize".

    Returns:
      (normalized [...], norm, with the folded dimensions of size 1).

    Source: TensorFlow 1.15, ``tf.linalg.normalize``.

    >>> normalized, size = normalize([3.0, 4.0])
    >>> size.numpy().tolist()
    [5.0]
    """
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        size = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype.base_dtype)
        return realdiv(tensor, size), size


# -- least squares -----------------------------------------------------------------------------


def matrix_solve_ls(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return the x of least ``|matrix @ x - rhs|^2 + l2_regularizer |x|^2``.

    Args:
      matrix: [..., m, n] floating or complex.
      rhs: [..., m, k] of the dtype of `matrix`.
      l2_regularizer: number, not negative.
      fast: solve the normal equations, which needs a matrix of full rank; it has a gradient.
        Otherwise the singular values are taken and `l2_regularizer` is ignored, as TensorFlow
        does; that is right for any rank and has no gradient.
      name: name scope of the operations, by default "matrix_solve_ls".

    Returns:
      [..., n, k] of the dtype of `matrix`.

    Raises:
      ValueError: they are no matrices.
      InvalidArgumentError: (when run, `fast`) the matrix is not of full rank.

    Source: TensorFlow 1.15, ``tf.matrix_solve_ls``.

    >>> matrix_solve_ls([[1.0], [1.0]], [[1.0], [3.0]]).numpy().round(5).tolist()
    [[2.0]]
    """
    with name_scope(name, "matrix_solve_ls", [matrix, rhs]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, matrix.dtype.base_dtype, name="rhs")
        if any(t.spec.shape is not None and len(t.spec.shape) < 2 for t in (matrix, rhs)):
            raise ValueError(
                f"matrix_solve_ls takes matrices, got shapes {matrix.shape} and {rhs.shape}"
            )
        if not fast:
            return _by_singular_values(matrix, rhs)
        shape = matrix.spec.shape and matrix.spec.shape[-2:]
        if not shapes.is_known(shape):
            raise ValueError(
                "matrix_solve_ls(fast=True) needs to know whether there are more rows than "
                "columns: give the matrix a shape by set_shape, or pass fast=False"
            )
        if shape[-2] >= shape[-1]:
            gram = _regularized(matmul(matrix, matrix, adjoint_a=True), l2_regularizer, shape[-1])
            return cholesky_solve(cholesky(gram), matmul(matrix, rhs, adjoint_a=True))
        gram = _regularized(matmul(matrix, matrix, adjoint_b=True), l2_regularizer, shape[-2])
        return matmul(matrix, cholesky_solve(cholesky(gram), rhs), adjoint_a=True)


def _regularized(gram: Tensor, strength: TensorLike, size: int) -> Tensor:
    if not axes.is_symbolic(strength) and not strength:
        return gram
    identity = ranges.eye(size, dtype=gram.dtype.base_dtype)
    return add(gram, multiply(identity, cast(strength, gram.dtype)))


def _by_singular_values(matrix: Tensor, rhs: Tensor) -> Tensor:
    s, u, v = svd(matrix)
    kind = as_dtype(s.dtype)
    least = multiply(reduce_max(s, -1, keepdims=True), number(_epsilon(kind), s))
    inverse = div_no_nan(number(1, s), where_v2(greater(s, least), s, number(0, s)))
    scaled = multiply(
        matmul(u, rhs, adjoint_a=True), cast(expand_dims(inverse, -1), matrix.dtype.base_dtype)
    )
    return matmul(v, scaled)


def _epsilon(dtype: dtypes.DType) -> float:
    """Return what is nothing beside the greatest singular value."""
    return 1e-5 if dtype.base_dtype is dtypes.float32 else 1e-12
