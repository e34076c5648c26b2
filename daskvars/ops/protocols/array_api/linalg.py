"""The extension ``linalg`` of the array API standard: matrices and stacks of them, ``[..., m, n]``.

What has a gradient in `daskvars.linalg` has one here.

>>> xp = dv.array_api
>>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]])).numpy().tolist()
[[0.5, 0.0], [0.0, 0.25]]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from daskvars.dtypes import DTypeLike, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import reshaping
from daskvars.ops.linalg import decompositions, matrix_forms, products
from daskvars.ops.math import casting, comparison, reduce
from daskvars.ops.protocols.array_api.elementwise import FUNCTIONS
from daskvars.ops.protocols.array_api.movement import broadcast_to, matrix_transpose, take
from daskvars.ops.protocols.array_api.promotion import Axis, sizes, summed, together

# NumPy's functions of tensors are handed over to our ops, which type checkers cannot know.
handed_over: Any = numpy

matmul = FUNCTIONS["matmul"]


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` gives: `Q` and `R`."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` gives: `U`, `S` and the adjoint of V."""

    U: Tensor
    S: Tensor
    Vh: Tensor


# -- products --------------------------------------------------------------------------------------


def tensordot(x1: TensorLike, x2: TensorLike, /, *, axes: Any = 2) -> Tensor:
    """Return sums of products along some axes of each."""
    first, second = together(x1, x2)
    return products.tensordot(first, second, axes)


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """Return sums of products along an axis, of the conjugates of `x1`.

    Raises:
      ValueError: the axis is not of one size in both.
    """
    first, second = together(x1, x2)
    if sizes(first)[axis] != sizes(second)[axis]:
        raise ValueError(f"vecdot along axis {axis} of shapes {sizes(first)} and {sizes(second)}")
    return handed_over.sum(handed_over.conjugate(first) * second, axis)


def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the products of each element of `x1`, [n], with each of `x2`, [m]: [n, m]."""
    first, second = together(x1, x2)
    return reshaping.reshape(first, [-1, 1]) * reshaping.reshape(second, [1, -1])


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of 3 along an axis."""
    first, second = together(x1, x2)
    shape = numpy.broadcast_shapes(sizes(first), sizes(second))
    if sizes(first)[axis] != 3 or sizes(second)[axis] != 3:
        raise ValueError(f"cross: axis {axis} of {sizes(first)} and {sizes(second)} must be 3")
    a, b = broadcast_to(first, shape), broadcast_to(second, shape)

    def rolled(x: Tensor, shift: int) -> Tensor:
        return handed_over.roll(x, shift, axis)

    return rolled(a, -1) * rolled(b, 1) - rolled(a, 1) * rolled(b, -1)


# -- decompositions --------------------------------------------------------------------------------


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the lower triangular factors l, l @ adjoint(l); with `upper` their adjoints."""
    lower = decompositions.cholesky(x)
    return matrix_forms.adjoint(lower) if upper else lower


def eigh(x: Tensor, /) -> EighResult:
    """Return the eigenvalues of symmetric matrices, ascending, and their eigenvectors."""
    return EighResult(*decompositions.self_adjoint_eig(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of symmetric matrices, ascending: [..., n]."""
    return decompositions.self_adjoint_eigvals(x)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """Return orthogonal and triangular factors; square orthogonal ones with mode "complete"."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f'qr(mode={mode!r}): "reduced" or "complete"')
    return QRResult(*decompositions.qr(x, full_matrices=mode == "complete"))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition, ``U @ diag(S) @ Vh``."""
    values, u, v = decompositions.svd(x, full_matrices)
    return SVDResult(u, values, matrix_forms.adjoint(v))


def svdvals(x: Tensor, /) -> Tensor:
    """Return the singular values, descending: [..., min(m, n)]."""
    return decompositions.svd(x, compute_uv=False)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return how many singular values are above `rtol` times the largest: [...] int64."""
    values = svdvals(x)
    largest = reduce.reduce_max(values, [-1], keepdims=True)
    above = values > largest * _tolerance(x, rtol, values)
    return reduce.reduce_sum(casting.cast(above, int64), [-1])


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Return the pseudo-inverse; singular values up to `rtol` times the largest are zero."""
    u, values, vh = svd(x, full_matrices=False)
    largest = reduce.reduce_max(values, [-1], keepdims=True)
    kept = values > largest * _tolerance(x, rtol, values)
    zero, one = (convert_to_tensor(number, values.dtype) for number in (0, 1))
    inverse = comparison.where_v2(kept, one / comparison.where_v2(kept, values, one), zero)
    scaled = matrix_forms.adjoint(vh) * casting.cast(_new_axis(inverse, -2), u.dtype)
    return scaled @ matrix_forms.adjoint(u)


def _tolerance(x: Tensor, rtol: Any, values: Tensor) -> Tensor:
    if rtol is None:
        rtol = max(sizes(x)[-2:]) * float(numpy.finfo(values.dtype.np).eps)
    tolerance = convert_to_tensor(rtol, values.dtype) if isinstance(rtol, float | int) else rtol
    tolerance = casting.cast(tolerance, values.dtype)
    return _new_axis(tolerance, -1) if len(tolerance.shape) else tolerance


def _new_axis(x: Tensor, axis: int) -> Tensor:
    return reshaping.expand_dims(x, axis)


# -- of square matrices ----------------------------------------------------------------------------


def det(x: Tensor, /) -> Tensor:
    """Return determinants, [...]."""
    return decompositions.matrix_determinant(x)


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Return the signs and the logarithms of the absolute values of determinants."""
    sign, logarithm = matrix_forms.slogdet(x)
    return SlogdetResult(sign, casting.cast(logarithm, logarithm.dtype.real_dtype))


def inv(x: Tensor, /) -> Tensor:
    """Return inverses."""
    return decompositions.matrix_inverse(x)


def solve(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return what solves ``x1 @ x = x2``, where `x2` is [m] or [..., m, k]."""
    left, right = together(x1, x2)
    if len(right.shape) == 1:
        shape = (*sizes(left)[:-2], *sizes(right), 1)
        found = decompositions.matrix_solve(left, broadcast_to(_new_axis(right, -1), shape))
        return reshaping.squeeze(found, [-1])
    batch = numpy.broadcast_shapes(sizes(left)[:-2], sizes(right)[:-2])
    left, right = (broadcast_to(m, (*batch, *sizes(m)[-2:])) for m in (left, right))
    return decompositions.matrix_solve(left, right)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return products of matrices with themselves; of inverses where `n` is negative."""
    square = inv(x) if n < 0 else x
    rows = numpy.eye(sizes(x)[-1], dtype=x.dtype.base_dtype.np)
    found = broadcast_to(convert_to_tensor(rows), sizes(x))
    left = abs(n)
    while left:
        if left % 2:
            found = found @ square
        left //= 2
        if left:
            square = square @ square
    return found


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the elements of a diagonal, `offset` to the right of the main one."""
    *batch, rows, columns = sizes(x)
    first = max(0, -offset)
    count = max(0, min(rows - first, columns - max(0, offset)))
    numbers = (first + numpy.arange(count)) * columns + max(0, offset) + numpy.arange(count)
    flat = reshaping.reshape(x, [*batch, rows * columns])
    return take(flat, convert_to_tensor(numbers), axis=-1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return sums along a diagonal; those of small integers are 64-bit ones."""
    return handed_over.sum(summed(diagonal(x, offset=offset), dtype), -1)


# -- norms -----------------------------------------------------------------------------------------


def vector_norm(
    x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Return the norms of vectors along axes, of all elements with None.

    Args:
      x: [...] floating or complex.
      axis: one, several, or None.
      keepdims: whether the axes stay, with size 1.
      ord: ``inf``, ``-inf``, 0 (how many are not zero) or an exponent.
    """
    size = handed_over.absolute(x)
    axes = None if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if axes == []:
        axes, size, keepdims = [-1], _new_axis(size, -1), False
    if math.isinf(ord):
        function = reduce.reduce_max if ord > 0 else reduce.reduce_min
        return function(size, axes, keepdims=keepdims)
    if ord == 0:
        some = comparison.not_equal(size, convert_to_tensor(0, size.dtype))
        return reduce.reduce_sum(casting.cast(some, size.dtype), axes, keepdims=keepdims)
    if ord == 2:
        return handed_over.sqrt(reduce.reduce_sum(size * size, axes, keepdims=keepdims))
    power = convert_to_tensor(ord, size.dtype)
    return reduce.reduce_sum(size**power, axes, keepdims=keepdims) ** (1 / power)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return the norms of matrices: [...].

    Args:
      x: [..., m, n] floating or complex.
      keepdims: whether the result is [..., 1, 1].
      ord: "fro", "nuc", ``inf``, ``-inf``, 1, -1, 2 or -2.

    Raises:
      ValueError: `ord` is none of these.
    """
    size = handed_over.absolute(x)
    if ord == "fro":
        return handed_over.sqrt(reduce.reduce_sum(size * size, [-2, -1], keepdims=keepdims))
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        functions = {"nuc": reduce.reduce_sum, 2: reduce.reduce_max, -2: reduce.reduce_min}
        found = functions[ord](values, [-1], keepdims=keepdims)
        return _new_axis(found, -1) if keepdims else found
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"matrix_norm(ord={ord!r}): 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2")
    along = -2 if abs(ord) == 1 else -1
    sums = reduce.reduce_sum(size, [along], keepdims=True)
    function = reduce.reduce_max if ord > 0 else reduce.reduce_min
    return function(sums, [-2, -1], keepdims=keepdims)


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
