"""Norms of vectors and of matrices."""

from __future__ import annotations

import math
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import reshaping
from daskvars.ops.array.transposing import transpose
from daskvars.ops.linalg.decompositions import svd
from daskvars.ops.math.arithmetic import abs, multiply, number
from daskvars.ops.math.casting import conj, real
from daskvars.ops.math.reduce import reduce_max, reduce_sum
from daskvars.ops.math.transcendental import pow, reciprocal, sqrt
from daskvars.ops.rules.axes import either


def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the norm of vectors, or of matrices.

    Args:
      tensor: [...] floating or complex.
      ord: "euclidean" ("fro" of matrices), 1, 2, inf, or any positive number for the p-norm of
        vectors. A matrix has the norms "fro", "euclidean", 1, 2 (its largest singular value) and
        inf.
      axis: None takes all elements as one vector; an int names the axis of vectors, a pair of
        ints the axes of matrices.
      keepdims: keep folded axes, with size 1.
      name: name scope of the operations, by default "norm".
      keep_dims: the old name of `keepdims`.

    Returns:
      A tensor without the folded axes, of the dtype of `tensor` (real of complex numbers).

    Raises:
      ValueError: there is no such norm, or no such axis.

    >>> float(norm([3.0, 4.0])), float(norm([3.0, -4.0], ord=1))
    (5.0, 7.0)
    """
    keepdims = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    axes = _axes_of_norm(axis)
    is_matrix = isinstance(axes, tuple)
    known = ("euclidean", "fro", 1, 2, math.inf) if is_matrix else ("euclidean", 1, 2, math.inf)
    if ord not in known and (is_matrix or isinstance(ord, str) or not ord > 0):
        kinds = f"matrix norm: {known}", f"vector norm: {known} or a positive number"
        raise ValueError(f"'ord' must be a supported {kinds[not is_matrix]}, got {ord!r}")
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        size = abs(x)
        if isinstance(axes, tuple) and ord == 2:
            return _spectral_norm(x, axes, keepdims)
        if ord in ("fro", "euclidean", 2):
            return sqrt(reduce_sum(real(multiply(x, conj(x))), axes, keepdims))
        if isinstance(axes, tuple):
            return _matrix_norm(size, axes, ord, keepdims)
        if ord == 1:
            return reduce_sum(size, axes, keepdims)
        if ord == math.inf:
            return reduce_max(size, axes, keepdims)
        power = number(ord, size)
        return pow(reduce_sum(pow(size, power), axes, keepdims), reciprocal(power))


def _axes_of_norm(axis: Any) -> int | tuple[int, int] | None:
    """Return the axis of vectors, or the pair of axes of matrices."""
    axes = tuple(axis) if isinstance(axis, list | tuple) else axis
    listed = (axes,) if isinstance(axes, int) else axes
    if axes is not None and (
        not isinstance(listed, tuple)
        or not all(isinstance(a, int) for a in listed)
        or (axes is listed and (len(listed) != 2 or listed[0] == listed[1]))
    ):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis!r}"
        )
    return axes


def _matrix_norm(size: Tensor, axes: tuple[int, int], ord: Any, keepdims: bool) -> Tensor:
    """The largest sum of a column (1) or of a row (inf)."""
    added, compared = axes if ord == 1 else axes[::-1]
    largest = reduce_max(reduce_sum(size, added, keepdims=True), compared, keepdims=True)
    return largest if keepdims else reshaping.squeeze(largest, axes)


def _spectral_norm(x: Tensor, axes: tuple[int, int], keepdims: bool) -> Tensor:
    """The largest singular value."""
    if set(axes) != {-2, -1}:  # which of the two are rows does not matter
        if x.spec.shape is None:
            raise ValueError(
                f"norm(ord=2, axis={axes}) needs a tensor of known rank: use set_shape"
            )
        rank = len(x.spec.shape)
        rows, columns = shapes.normalize_axes(axes, rank)
        axes = rows, columns
        rest = [axis for axis in range(rank) if axis not in axes]
        x = transpose(x, [*rest, rows, columns])
    largest = reduce_max(svd(x, compute_uv=False), -1)
    for axis in sorted(axes, reverse=axes[0] < 0) if keepdims else ():
        largest = reshaping.expand_dims(largest, axis)
    return largest
