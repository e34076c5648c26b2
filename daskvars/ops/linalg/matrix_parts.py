"""Diagonals and bands of matrices, and matrices made of diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Movement, Opaque
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.linalg import matrix_parts as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.padding import pad
from daskvars.ops.array.reshaping import identity
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import adjoint
from daskvars.shapes import Shape


def least(m: int | None, n: int | None) -> int | None:
    """Return the smaller of two sizes, None if either is not known."""
    return None if m is None or n is None else min(m, n)


def _matrix_shape(shape: Shape) -> Shape:
    if shape is not None and len(shape) < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {len(shape)}: input must be at least "
            f"2-dim, received shape {shapes.show(shape)}"
        )
    return shape


# -- batches of matrices -----------------------------------------------------------------------


def _diagonal_matrix(inputs: Sequence[Spec]) -> Spec:
    dtype, shape = inputs[0]
    if shape == ():
        raise ValueError(
            "Shape must be at least rank 1 but is rank 0: input must be at least 1-dim"
        )
    return Spec(dtype, None if shape is None else (*shape, shape[-1]))


MATRIX_DIAG = OpDef(
    "MatrixDiag",
    "diagonal:T",
    infer=_diagonal_matrix,
    kernel=kernels.matrix_diag,
    pattern=Movement("..._->...__", view=False),
    gradient=adjoint("MatrixDiagPart"),
)


def matrix_diag(
    diagonal: TensorLike,
    name: str | None = None,
    k: TensorLike = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: TensorLike = 0,
    align: str = "LEFT_LEFT",
) -> Tensor:
    """Return matrices with the given diagonals and zeros, or another value, elsewhere.

    Args:
      diagonal: [..., n] any dtype; [..., diagonals, n] where `k` names several.
      name: name of the operation, by default "MatrixDiag".
      k: which diagonal: 0 the main one, above it from 1 on, below from -1 on; or the lowest and the
        highest of several, which `diagonal` has from the highest on.
      num_rows: of a matrix, by default as few as are needed; with `num_cols` it is square.
      num_cols: likewise.
      padding_value: scalar, what is elsewhere.
      align: at which side of a row of `diagonal` shorter ones of several stand, first those above
        the main one, then those below it: "LEFT_LEFT", "RIGHT_LEFT" (the default from TensorFlow
        2.2 on), "LEFT_RIGHT" or "RIGHT_RIGHT".

    Returns:
      [..., num_rows, num_cols] of the dtype of `diagonal`.

    Raises:
      ValueError: `diagonal` is a scalar, or does not fit the other arguments, or `align` is none
        of these.

    Source: TensorFlow 1.15, ``tf.linalg.diag``.

    >>> matrix_diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    >>> matrix_diag([1, 2], k=1).numpy().tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    low, high = _diagonals_named(k)
    if (low, high, num_rows, num_cols) == (0, 0, -1, -1) and _is_zero(padding_value):
        return apply(MATRIX_DIAG, diagonal, name=name)
    with name_scope(name, "MatrixDiag", [diagonal]) as scope:
        diagonal = convert_to_tensor(diagonal, name="diagonal")
        length = size_along(diagonal, -1)
        rows, columns = length - min(high, 0), length + max(low, 0)
        if (num_rows, num_cols) == (-1, -1):
            rows = columns = length + max(low, -high, 0)
        sizes = [rows if num_rows == -1 else num_rows, columns if num_cols == -1 else num_cols]
        batch = constant.shape(diagonal)[: -1 if low == high else -2]
        value = convert_to_tensor(padding_value, diagonal.dtype.base_dtype)
        around = constant.fill(concat([batch, sizes], 0), value)
        return identity(matrix_set_diag(around, diagonal, k=k, align=align), name=scope)


def _is_zero(value: TensorLike) -> bool:
    return bool(not axes.is_symbolic(value) and value == 0)


def _diagonals_named(k: TensorLike) -> tuple[int, int]:
    """Return the lowest and the highest diagonal. Raises ValueError where these are none."""
    known = axes.as_known(k)
    found = (known, known) if isinstance(known, int) else known
    if not isinstance(found, tuple) or len(found) not in (1, 2) or found[0] > found[-1]:
        raise ValueError(
            f"k must be the number of a diagonal, or those of the lowest and the highest, got {k!r}"
        )
    return found[0], found[-1]


def _from_diagonal(matrix: Tensor, k: int) -> Tensor:
    """Return the part of matrices whose main diagonal is theirs of a number.

    Raises:
      ValueError: there is no such diagonal.
    """
    rows, columns = (size_along(matrix, axis) for axis in (-2, -1))
    for size, past in ((rows, -k), (columns, k)):
        if not axes.is_symbolic(size) and past >= size:
            raise ValueError(f"matrices of {rows} rows and {columns} columns have no diagonal {k}")
    return matrix[..., k:] if k >= 0 else matrix[..., -k:, :]


def _length(matrix: Tensor, k: int) -> int:
    """Return how long a diagonal of matrices is. Raises ValueError if sizes are not known."""
    rows, columns = (size_along(matrix, axis) for axis in (-2, -1))
    if axes.is_symbolic(rows) or axes.is_symbolic(columns):
        raise ValueError(f"several diagonals need matrices of known sizes, got {matrix.shape}")
    return min(rows, columns - k) if k >= 0 else min(rows + k, columns)


def _row_parts(matrix: Tensor, low: int, high: int, align: str) -> list[tuple[int, int, int]]:
    """Return of several diagonals, from the highest on, each number, and where in a row it is.

    Raises:
      ValueError: sizes are not known, or there is no such alignment.
    """
    above, _, below = align.partition("_")
    if not {above, below} <= {"LEFT", "RIGHT"}:
        raise ValueError(f"align must be LEFT_LEFT, RIGHT_LEFT or alike, got {align!r}")
    numbers = range(high, low - 1, -1)
    lengths = [_length(matrix, number) for number in numbers]
    parts = []
    for number, length in zip(numbers, lengths, strict=True):
        before = max(lengths) - length if (below if number < 0 else above) == "RIGHT" else 0
        parts.append((number, before, max(lengths) - before - length))
    return parts


def _diagonals(inputs: Sequence[Spec]) -> Spec:
    dtype, shape = inputs[0].dtype, _matrix_shape(inputs[0].shape)
    return Spec(dtype, None if shape is None else (*shape[:-2], least(*shape[-2:])))


def _diagonal_gradient(op: Operation, dy: Tensor) -> Tensor:
    shape = op.inputs[0].spec.shape
    if shape is not None and shape[-1] == shape[-2] is not None:
        return matrix_diag(dy)
    return matrix_set_diag(constant.zeros_like(op.inputs[0]), dy)


MATRIX_DIAG_PART = OpDef(
    "MatrixDiagPart",
    "input:T",
    infer=_diagonals,
    kernel=kernels.matrix_diag_part,
    pattern=Movement("...__->..._", view=False),
    gradient=_diagonal_gradient,
)


def matrix_diag_part(
    input: TensorLike,
    name: str | None = None,
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "LEFT_LEFT",
) -> Tensor:
    """Return diagonals of matrices.

    Args:
      input: [..., m, n] any dtype.
      name: name of the operation, by default "MatrixDiagPart".
      k: which diagonal or diagonals; see `matrix_diag`.
      padding_value: scalar, what shorter ones of several are filled up with.
      align: at which side of their rows shorter ones stand; see `matrix_diag`.

    Returns:
      [..., min(m, n)] of the dtype of `input`; as `matrix_diag` takes it where `k` is given.

    Raises:
      ValueError: the rank is below 2, or there is no such diagonal or alignment.

    >>> matrix_diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    >>> matrix_diag_part([[1, 2], [3, 4]], k=(-1, 0), padding_value=9).numpy().tolist()
    [[1, 4], [3, 9]]
    """
    low, high = _diagonals_named(k)
    if low == high == 0:
        return apply(MATRIX_DIAG_PART, input, name=name)
    with name_scope(name, "MatrixDiagPart", [input]) as scope:
        matrix = convert_to_tensor(input, name="input")
        if low == high:
            return apply(MATRIX_DIAG_PART, _from_diagonal(matrix, low), name=scope)
        value = convert_to_tensor(padding_value, matrix.dtype.base_dtype)
        parts = []
        for number, *around in _row_parts(matrix, low, high, align):
            part = apply(MATRIX_DIAG_PART, _from_diagonal(matrix, number))
            pads = [[0, 0]] * (len(part.shape) - 1) + [around]
            parts.append(pad(part, pads, constant_values=value))
        return stack(parts, axis=-2, name=scope)


def _received(shape: shapes.Shape, diagonal: shapes.Shape) -> str:
    return (
        ", which must be the input's without its last two sizes, and the smaller of these, but "
        f"received input shape: {shapes.in_brackets(shape)} and diagonal shape: "
        f"{shapes.in_brackets(diagonal)}"
    )


def _with_diagonal(inputs: Sequence[Spec]) -> Spec:
    shape, diagonal = _matrix_shape(inputs[0].shape), inputs[1].shape
    if diagonal == ():
        raise ValueError(
            "Shape must be at least rank 1 but is rank 0: the diagonal is a scalar"
            + _received(shape, diagonal)
        )
    if shape is not None and not shapes.compatible((*shape[:-2], least(*shape[-2:])), diagonal):
        raise ValueError(
            f"a diagonal of shape {shapes.show(diagonal)} does not fit matrices of shape "
            f"{shapes.show(shape)}{_received(shape, diagonal)}"
        )
    if shape is None and diagonal is not None:
        shape = (*diagonal[:-1], None, None)
    return Spec(inputs[0].dtype, shape)


def _set_diagonal_gradient(op: Operation, dy: Tensor) -> Gradients:
    diagonal = matrix_diag_part(dy)
    return matrix_set_diag(dy, constant.zeros_like(diagonal)), diagonal


MATRIX_SET_DIAG = OpDef(
    "MatrixSetDiag",
    "input:T, diagonal:T",
    infer=_with_diagonal,
    kernel=kernels.matrix_set_diag,
    pattern=Movement("...__,..._->...__", view=False),
    gradient=_set_diagonal_gradient,
)


def matrix_set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = None,
    k: TensorLike = 0,
    align: str = "LEFT_LEFT",
) -> Tensor:
    """Return matrices with other diagonals.

    Args:
      input: [..., m, n] any dtype.
      diagonal: [..., min(m, n)] of the dtype of `input`, or as `matrix_diag_part` gives it for `k`.
      name: name of the operation, by default "MatrixSetDiag".
      k: which diagonal or diagonals; see `matrix_diag`.
      align: at which side of their rows in `diagonal` shorter ones stand; see `matrix_diag`.

    Returns:
      [..., m, n] of the dtype of `input`.

    Raises:
      ValueError: the shapes do not fit, or there is no such diagonal or alignment.

    >>> matrix_set_diag([[1, 2], [3, 4]], [0, 0]).numpy().tolist()
    [[0, 2], [3, 0]]
    >>> matrix_set_diag([[1, 2], [3, 4]], [0], k=-1).numpy().tolist()
    [[1, 2], [0, 4]]
    """
    low, high = _diagonals_named(k)
    if low == high == 0:
        return apply(MATRIX_SET_DIAG, input, diagonal, name=name)
    with name_scope(name, "MatrixSetDiag", [input, diagonal]) as scope:
        matrix = convert_to_tensor(input, name="input")
        diagonal = convert_to_tensor(diagonal, matrix.dtype.base_dtype, name="diagonal")
        if low == high:
            return identity(_with_one(matrix, diagonal, low), name=scope)
        for place, (number, before, after) in enumerate(_row_parts(matrix, low, high, align)):
            row = diagonal[..., place, :]
            matrix = _with_one(matrix, row[..., before : size_along(row, -1) - after], number)
        return identity(matrix, name=scope)


def _with_one(matrix: Tensor, diagonal: Tensor, k: int) -> Tensor:
    changed = apply(MATRIX_SET_DIAG, _from_diagonal(matrix, k), diagonal)
    if k > 0:
        return concat([matrix[..., :k], changed], -1)
    return changed if k == 0 else concat([matrix[..., :-k, :], changed], -2)


def _banded(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    return Spec(inputs[0].dtype, _matrix_shape(inputs[0].shape))


MATRIX_BAND_PART = OpDef(
    "MatrixBandPart",
    "input:N",
    infer=_banded,
    kernel=kernels.matrix_band_part,
    pattern=Movement("...__->...__", view=False),
    operands=("num_lower", "num_upper"),
    gradient=adjoint("MatrixBandPart"),
)


def matrix_band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None
) -> Tensor:
    """Return matrices with zeros outside a band about the diagonal.

    Args:
      input: [..., m, n] any number.
      num_lower: scalar integer, how many diagonals are kept below the main one; negative for all.
      num_upper: scalar integer, how many are kept above it; negative for all.
      name: name of the operation, by default "MatrixBandPart".

    Returns:
      [..., m, n] of the dtype of `input`.

    Raises:
      ValueError: the rank is below 2.

    >>> matrix_band_part([[1, 2], [3, 4]], -1, 0).numpy().tolist()
    [[1, 0], [3, 4]]
    """
    band = axes.as_operands(num_lower=num_lower, num_upper=num_upper)
    return apply(MATRIX_BAND_PART, input, name=name, **band)


# -- tensors on a diagonal ---------------------------------------------------------------------


def _doubled(inputs: Sequence[Spec]) -> Spec:
    dtype, shape = inputs[0]
    if shape == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    return Spec(dtype, None if shape is None else (*shape, *shape))


DIAG = OpDef("Diag", "diagonal:T", _doubled, Opaque(), kernels.diag, adjoint("DiagPart"))


def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of twice the rank with `diagonal` where both halves of the index agree.

    Args:
      diagonal: [*shape] any dtype, rank at least 1.
      name: name of the operation, by default "Diag".

    Returns:
      [*shape, *shape] of the dtype of `diagonal`.

    Raises:
      ValueError: `diagonal` is a scalar.

    >>> diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    return apply(DIAG, diagonal, name=name)


def _halved(inputs: Sequence[Spec]) -> Spec:
    dtype, shape = inputs[0]
    if shape is None:
        return inputs[0]
    half = len(shape) // 2
    if len(shape) % 2 or not shape:
        raise ValueError(
            f"Input must have even and non-zero rank, input rank is {len(shape)}: "
            f"{shapes.show(shape)}"
        )
    if not shapes.compatible(shape[:half], shape[half:]):
        raise ValueError(f"Both halves of the shape must be equal, got {shapes.show(shape)}")
    return Spec(dtype, shapes.merge(shape[:half], shape[half:]))


DIAG_PART = OpDef("DiagPart", "input:T", _halved, Opaque(), kernels.diag_part, adjoint("Diag"))


def diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the part of a tensor [*shape, *shape] where both halves of the index agree.

    Args:
      input: [*shape, *shape] any dtype.
      name: name of the operation, by default "DiagPart".

    Returns:
      [*shape] of the dtype of `input`: the adjoint of `diag`.

    Raises:
      ValueError: the rank is odd or 0, or the halves of the shape differ.

    >>> print(diag_part([[1, 2], [3, 4]]))
    [1 4]
    """
    return apply(DIAG_PART, input, name=name)
