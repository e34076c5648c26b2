"""Functions of whole matrices: exponentials, logarithms, square roots, inverses of any matrix.

The last two dimensions are matrices; all leading ones are a batch, which may be cut into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars import dtypes, shapes
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.linalg import matrix_functions as kernels
from daskvars.ops.array.constant import shape as shape_of, size_along, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.ranges import eye
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.linalg.decompositions import (
    SQUARES,
    matrix_solve,
    matrix_triangular_solve,
    of_squares,
    square_matrix,
    svd,
)
from daskvars.ops.linalg.einsum import einsum
from daskvars.ops.linalg.matrix_forms import adjoint
from daskvars.ops.linalg.matrix_parts import matrix_band_part, matrix_diag_part, matrix_set_diag
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add, multiply, negative, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater
from daskvars.ops.math.reduce import reduce_max, reduce_sum
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of

# -- exponential, logarithm, square root -------------------------------------------------------


def _expm_gradient(op: Operation, dy: Tensor) -> Tensor:
    """The corner of the exponential of [[a*, dy], [0, a*]] (Najfeld and Havel, 1995)."""
    a = adjoint(op.inputs[0])
    upper = concat([a, dy], -1)
    lower = concat([zeros_like(a), a], -1)
    whole = expm(concat([upper, lower], -2))
    n = size_along(dy, -1)
    return whole[..., :n, n:]


EXPM = of_squares("MatrixExponential", kernels.expm, _expm_gradient, attributes={})
LOGM = of_squares("MatrixLogarithm", kernels.logm, UNDEFINED_GRADIENT, attributes={})


@SQUARES.documents(type="MatrixExponential")
def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the exponentials of square matrices.

    Source: TensorFlow 1.15, ``tf.linalg.expm``.

    >>> expm([[0.0, 1.0], [0.0, 0.0]]).numpy().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return apply(EXPM, input, name=name or "matrix_exponential")


@SQUARES.documents(type="MatrixLogarithm")
def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the principal logarithms of square matrices of complex numbers.

    Args:
      input: [..., n, n] complex64 or complex128.

    Returns:
      [..., n, n] of the dtype of `input`. It has no gradient.

    Raises:
      TypeError: the numbers are not complex.
      ValueError: the matrices are not square.

    Source: TensorFlow 1.15, ``tf.linalg.logm``.

    >>> import numpy
    >>> turn = numpy.array([[0.0, -1.0], [1.0, 0.0]], "complex64")
    >>> [round(x.real, 4) for x in logm(turn).numpy().ravel().tolist()][1:3]
    [-1.5708, 1.5708]
    """
    x = convert_to_tensor(input, name="input")
    if not x.dtype.is_complex:
        raise TypeError(f"logm() is of complex numbers, got {x.dtype.name}: cast() to complex64")
    return apply(LOGM, x, name=name)


def _sqrtm_gradient(op: Operation, dy: Tensor) -> Tensor:
    """The solution x of r* x + x r* = dy, where r is the root."""
    root = adjoint(op.outputs[0])
    shape = root.spec.shape
    if shape is None or shape[-1] is None:
        raise ValueError("the gradient of sqrtm() needs matrices of known size")
    n = shape[-1]
    one = eye(n, dtype=root.dtype)
    sum_of_both = add(
        einsum("...ij,kl->...ikjl", root, one), einsum("ij,...lk->...ikjl", one, root)
    )
    sizes = [-1 if k is None else k for k in shape[:-2]]
    matrix = reshape(sum_of_both, [*sizes, n * n, n * n])
    return reshape(matrix_solve(matrix, reshape(dy, [*sizes, n * n, 1])), [*sizes, n, n])


SQRTM = of_squares("MatrixSquareRoot", kernels.sqrtm, _sqrtm_gradient, attributes={})


@SQUARES.documents(type="MatrixSquareRoot")
def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the principal square roots of square matrices.

    Args:
      input: [..., n, n] floating or complex, without negative eigenvalues if floating.

    Source: TensorFlow 1.15, ``tf.linalg.sqrtm``.

    >>> sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return apply(SQRTM, input, name=name)


# -- two triangles -----------------------------------------------------------------------------


def _factors(inputs: Sequence[Spec], *, dtype: Any) -> tuple[Spec, Spec]:
    shape = square_matrix(inputs[0])
    return Spec(inputs[0].dtype, shape), Spec(dtype, None if shape is None else shape[:-1])


def _permutation(perm: Tensor, like: Tensor) -> Tensor:
    """Return the matrices that put rows in an order."""
    return one_hot(perm, size_along(perm, -1), dtype=like.dtype.base_dtype)


def _lu_gradient(op: Operation, dy: Tensor, _: Any) -> Tensor:
    packed, perm = op.outputs
    lower, upper = _triangles(packed)
    inner = add(
        _below(matmul(lower, _below(dy), adjoint_a=True)),
        matrix_band_part(matmul(matrix_band_part(dy, 0, -1), upper, adjoint_b=True), 0, -1),
    )
    left = matrix_triangular_solve(lower, inner, lower=True, adjoint=True)
    # left upper^-* is the adjoint of upper^-1 left*.
    both = adjoint(matrix_triangular_solve(upper, adjoint(left), lower=False))
    return matmul(_permutation(perm, both), both, transpose_a=True)


def _below(x: Tensor) -> Tensor:
    return subtract(matrix_band_part(x, -1, 0), matrix_band_part(x, 0, 0))


def _triangles(packed: Tensor) -> tuple[Tensor, Tensor]:
    ones = zeros_like(matrix_diag_part(packed)) + 1
    return matrix_set_diag(_below(packed), ones), matrix_band_part(packed, 0, -1)


LU = OpDef(
    "Lu",
    "input:F",
    infer=_factors,
    pattern=Contraction("...__->...__,..._", None),
    kernel=kernels.lu,
    gradient=_lu_gradient,
    attributes={"dtype": kinds_of.DTYPE},
)


def lu(
    input: TensorLike, output_idx_type: DTypeLike = dtypes.int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the factors of square matrices: l with ones on its diagonal, and u.

    Args:
      input: [..., n, n] floating or complex.
      output_idx_type: int32 or int64.
      name: name of the operation, by default "Lu".

    Returns:
      lu: [..., n, n] of the dtype of `input`: below the diagonal l, else u.
      p: [..., n] `output_idx_type`: row i of l @ u is row p[i] of the input.

    Raises:
      ValueError: the matrices are not square.
      InvalidArgumentError: (when run) a matrix is singular.

    Source: TensorFlow 1.15, ``tf.linalg.lu``.

    >>> factors, rows = lu([[0.0, 2.0], [4.0, 2.0]])
    >>> factors.numpy().tolist(), rows.numpy().tolist()
    ([[4.0, 2.0], [0.0, 2.0]], [1, 0])
    """
    return apply(LU, input, name=name, dtype=as_dtype(output_idx_type).base_dtype)


@accepts("validate_args")
def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the matrices of which `lu` gives factors.

    Args:
      lower_upper: [..., n, n], the factors.
      perm: [..., n], their rows.
      name: name scope of the operations, by default "lu_reconstruct".

    Returns:
      [..., n, n] of the dtype of `lower_upper`.

    Source: TensorFlow 1.15, ``tf.linalg.lu_reconstruct``.

    >>> lu_reconstruct(*lu([[0.0, 2.0], [4.0, 2.0]])).numpy().tolist()
    [[0.0, 2.0], [4.0, 2.0]]
    """
    with name_scope(name, "lu_reconstruct", [lower_upper, perm]):
        packed, order = convert_to_tensor(lower_upper), convert_to_tensor(perm)
        lower, upper = _triangles(packed)
        return matmul(_permutation(order, packed), matmul(lower, upper), transpose_a=True)


@accepts("validate_args")
def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve ``a @ x = rhs`` given the factors of ``lu(a)``.

    Args:
      lower_upper: [..., n, n], the factors.
      perm: [..., n], their rows.
      rhs: [..., n, k] of the dtype of `lower_upper`.
      name: name scope of the operations, by default "lu_solve".

    Returns:
      [..., n, k].

    Source: TensorFlow 1.15, ``tf.linalg.lu_solve``.

    >>> lu_solve(*lu([[0.0, 2.0], [4.0, 2.0]]), [[2.0], [6.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    with name_scope(name, "lu_solve", [lower_upper, perm, rhs]):
        packed, order = convert_to_tensor(lower_upper), convert_to_tensor(perm)
        lower, upper = _triangles(packed)
        sides = matmul(_permutation(order, packed), convert_to_tensor(rhs, packed.dtype))
        return matrix_triangular_solve(upper, matrix_triangular_solve(lower, sides), lower=False)


@accepts("validate_args")
@with_arguments_of(lu_reconstruct)
def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool, name: str | None
) -> Tensor:
    """Return the inverses of the matrices of which `lu` gives factors. See `lu_solve`.

    Args:
      name: name scope of the operations, by default "lu_matrix_inverse".

    Source: TensorFlow 1.15, ``tf.linalg.lu_matrix_inverse``.

    >>> lu_matrix_inverse(*lu([[0.0, 2.0], [4.0, 2.0]])).numpy().tolist()
    [[-0.25, 0.25], [0.5, 0.0]]
    """
    with name_scope(name, "lu_matrix_inverse", [lower_upper, perm]):
        packed = convert_to_tensor(lower_upper)
        _, upper = _triangles(packed)
        one = add(zeros_like(upper), eye(size_along(packed, -1), dtype=packed.dtype))
        return lu_solve(packed, perm, one)


# -- inverses of any matrix --------------------------------------------------------------------


def _inverted(inputs: Sequence[Spec]) -> Spec:
    shape = inputs[0].shape
    if shape is not None and len(shape) < 2:
        raise ValueError(
            f"Input must have rank at least 2; found: {len(shape)}, shape {shapes.show(shape)}"
        )
    for spec in inputs[1:]:
        if shape is not None and shapes.broadcast(shape[:-2], spec.shape) != shape[:-2]:
            raise ValueError(
                f"rcond of shape {shapes.show(spec.shape)} is not one for each of the matrices "
                f"of shape {shapes.show(shape)}"
            )
    return Spec(inputs[0].dtype, None if shape is None else (*shape[:-2], shape[-1], shape[-2]))


def _greater_size(x: Tensor) -> Any:
    """Return the greater one of the numbers of rows and columns."""
    shape = x.spec.shape
    known = [] if shape is None else [n for n in shape[-2:] if n is not None]
    return max(known) if len(known) == 2 else reduce_max(shape_of(x)[-2:])


def _pinv_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    """Golub and Pereyra, 1973."""
    a, inverse = op.inputs[0], op.outputs[0]
    back = adjoint(dy)
    main = negative(matmul(matmul(inverse, dy, adjoint_a=True), inverse, adjoint_b=True))
    left = matmul(matmul(back, inverse), inverse, adjoint_b=True)
    left = subtract(left, matmul(matmul(a, inverse), left))
    right = matmul(matmul(inverse, inverse, adjoint_a=True), back)
    right = subtract(right, matmul(right, matmul(inverse, a)))
    return [add(main, add(left, right)), None]


PINV = OpDef(
    "PseudoInverse",
    "a:F, rcond:D",
    infer=_inverted,
    pattern=Contraction("...__,...->...__", None),
    kernel=kernels.pinv,
    gradient=_pinv_gradient,
    attributes={},
)


@accepts("validate_args")
def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the Moore-Penrose inverses of matrices.

    Args:
      a: [..., m, n] floating or complex.
      rcond: [...] floating: singular values of this part of the largest and less count as 0; by
        default ten times the greater of m and n times the dtype's precision.
      name: name scope of the operations, by default "pinv".

    Returns:
      [..., n, m] of the dtype of `a`.

    Raises:
      ValueError: the rank is below 2.

    Source: TensorFlow 1.15, ``tf.linalg.pinv``.

    >>> pinv([[2.0], [0.0]]).numpy().tolist()
    [[0.5, 0.0]]
    """
    with name_scope(name, "pinv", [a, rcond]) as scope:
        x = convert_to_tensor(a, name="a")
        _inverted([x.spec])
        real = x.dtype.real_dtype
        if rcond is None:
            precision = 10.0 * float(numpy.finfo(real.np).eps)
            rcond = multiply(cast(_greater_size(x), real), precision)
        return apply(PINV, x, convert_to_tensor(rcond, real, name="rcond"), name=scope)


@accepts("validate_args")
def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return how many singular values of matrices are above a tolerance.

    Args:
      a: [..., m, n] floating or complex.
      tol: scalar; by default the greater of m and n times the dtype's precision, of the largest.
      name: name scope of the operations, by default "matrix_rank".

    Returns:
      [...] int32.

    Source: TensorFlow 1.15, ``tf.linalg.matrix_rank``.

    >>> int(matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    with name_scope(name, "matrix_rank", [a, tol]):
        x = convert_to_tensor(a, name="a")
        values = svd(x, compute_uv=False)
        if tol is None:
            precision = float(numpy.finfo(values.dtype.np).eps)
            size = multiply(cast(_greater_size(x), values.dtype), precision)
            tol = multiply(reduce_max(values, axis=-1, keepdims=True), size)
        return reduce_sum(cast(greater(values, tol), dtypes.int32), axis=-1)
