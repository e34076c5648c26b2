"""Matrices with nothing but their diagonal and what is beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.linalg import matrix_functions as kernels
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.array.transposing import matrix_transpose
from daskvars.ops.linalg.decompositions import square_matrix
from daskvars.ops.linalg.matrix_parts import matrix_diag_part
from daskvars.ops.math.arithmetic import add, multiply, negative
from daskvars.ops.math.casting import conj
from daskvars.ops.math.reduce import reduce_sum
from daskvars.surface.accepted import accepts


def _compact(diagonals: Any, form: str) -> Tensor:
    """Return diagonals as [..., 3, n]: above, on and below the diagonal."""
    if form == "compact":
        found = convert_to_tensor(diagonals, name="diagonals")
        shape = found.spec.shape
        if shape is not None and (len(shape) < 2 or shape[-2] not in (3, None)):
            raise ValueError(f"diagonals must be [..., 3, n], got {shapes.show(shape)}")
        return found
    if form == "sequence":
        if not isinstance(diagonals, tuple | list) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, middle, below = (convert_to_tensor(each) for each in diagonals)
        size = middle.spec.shape[-1] if middle.spec.shape else None
        if size is not None:  # those beside the diagonal may be one shorter
            if above.spec.shape and above.spec.shape[-1] == size - 1:
                above = concat([above, zeros_like(above[..., :1])], -1)
            if below.spec.shape and below.spec.shape[-1] == size - 1:
                below = concat([zeros_like(below[..., :1]), below], -1)
        return stack([above, middle, below], axis=-2)
    if form == "matrix":
        matrix = convert_to_tensor(diagonals, name="diagonals")
        square_matrix(matrix.spec)
        # The diagonal of a matrix without its first column is what is above its own.
        above = matrix_diag_part(matrix[..., :-1, 1:])
        below = matrix_diag_part(matrix[..., 1:, :-1])
        zero = zeros_like(matrix[..., :1, 0])
        return stack(
            [concat([above, zero], -1), matrix_diag_part(matrix), concat([zero, below], -1)],
            axis=-2,
        )
    raise ValueError(f"Unrecognized diagonals_format: {form}")


def _parts(diagonals: Tensor) -> list[Tensor]:
    return [expand_dims(diagonals[..., place, :], -1) for place in range(3)]


def _down_rows(x: Tensor) -> Tensor:
    return concat([zeros_like(x[..., :1, :]), x[..., :-1, :]], -2)


def _up_rows(x: Tensor) -> Tensor:
    return concat([x[..., 1:, :], zeros_like(x[..., :1, :])], -2)


def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Return the product of tridiagonal matrices with others.

    Args:
      diagonals: [..., 3, n] floating or complex: what is above, on and below the diagonal; the last
        element above it and the first below it are not looked at.
      rhs: [..., n, k] of the dtype of `diagonals`.
      diagonals_format: "compact"; "sequence" for a list of the three; "matrix" for [..., n, n].
      name: name scope of the operations, by default "tridiagonal_matmul".

    Returns:
      [..., n, k].

    Raises:
      ValueError: the diagonals are given otherwise.

    Source: TensorFlow 1.15, ``tf.linalg.tridiagonal_matmul``.

    >>> tridiagonal_matmul([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [[1.0], [2.0]]).numpy().tolist()
    [[4.0], [5.0]]
    """
    with name_scope(name, "tridiagonal_matmul", [rhs]) as scope:
        compact = _compact(diagonals, diagonals_format)
        x = convert_to_tensor(rhs, compact.dtype, name="rhs")
        above, middle, below = _parts(compact)
        beside = add(multiply(above, _up_rows(x)), multiply(below, _down_rows(x)))
        return add(multiply(middle, x), beside, name=scope)


def _solved(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    diagonals, rhs = inputs[0].shape, inputs[1].shape
    if diagonals is None or rhs is None:
        return Spec(inputs[1].dtype, None)
    if len(rhs) < 2 or len(diagonals) < 2 or not shapes.compatible(diagonals[-2:], (3, rhs[-2])):
        raise ValueError(
            f"diagonals must be [..., 3, n] and the right-hand sides [..., n, k], got "
            f"{shapes.show(diagonals)} and {shapes.show(rhs)}"
        )
    batch = shapes.broadcast(diagonals[:-2], rhs[:-2])
    return Spec(inputs[1].dtype, None if batch is None else (*batch, *rhs[-2:]))


def _transposed(diagonals: Tensor) -> Tensor:
    """Return the diagonals of the adjoint matrices."""
    above, middle, below = (conj(diagonals[..., place, :]) for place in range(3))
    none = zeros_like(above[..., :1])
    up, down = concat([below[..., 1:], none], -1), concat([none, above[..., :-1]], -1)
    return stack([up, middle, down], axis=-2)


def _solve_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    diagonals, x = op.inputs[0], conj(op.outputs[0])
    by_rhs = apply(TRIDIAGONAL_SOLVE, _transposed(diagonals), dy, **_options(op))
    slopes = [
        negative(reduce_sum(multiply(by_rhs, part), axis=-1))
        for part in (_up_rows(x), x, _down_rows(x))
    ]
    return [stack(slopes, axis=-2), by_rhs]


def _options(op: Operation) -> dict[str, Any]:
    return {"partial_pivoting": op.attrs["partial_pivoting"]}


TRIDIAGONAL_SOLVE: OpDef = OpDef(
    "TridiagonalSolve",
    "diagonals:F, rhs:F",
    infer=_solved,
    pattern=Contraction("...__,...__->...__", None),
    kernel=kernels.tridiagonal_solve,
    gradient=_solve_gradient,
    attributes={"partial_pivoting": kinds_of.BOOL},
)


@accepts("partial_pivoting")
def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """Solve with tridiagonal matrices.

    Args:
      diagonals: see `tridiagonal_matmul`, also for its format; of the shape of `rhs` but for the
        last dimensions.
      rhs: [..., n] or [..., n, k] of the dtype of `diagonals`.
      diagonals_format: see `tridiagonal_matmul`.
      transpose_rhs: `rhs` is [..., k, n].
      conjugate_rhs: take the conjugate of `rhs`.
      name: name scope of the operations, by default "tridiagonal_solve".

    Returns:
      [..., n] or [..., n, k].

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: (when run) a matrix is singular.

    Source: TensorFlow 1.15, ``tf.linalg.tridiagonal_solve``.

    >>> tridiagonal_solve([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [4.0, 5.0]).numpy().tolist()
    [1.0, 2.0]
    """
    with name_scope(name, "tridiagonal_solve", [rhs]):
        compact = _compact(diagonals, diagonals_format)
        x = convert_to_tensor(rhs, compact.dtype, name="rhs")
        known = compact.shape.ndims, x.shape.ndims
        if None in known:
            raise ValueError("tridiagonal_solve() needs diagonals and sides of known rank")
        if conjugate_rhs:
            x = conj(x)
        options: dict[str, Any] = {"partial_pivoting": bool(partial_pivoting)}
        if known[1] == (known[0] or 0) - 1:
            return squeeze(apply(TRIDIAGONAL_SOLVE, compact, expand_dims(x, -1), **options), [-1])
        if transpose_rhs:
            x = matrix_transpose(x)
        return apply(TRIDIAGONAL_SOLVE, compact, x, **options)
