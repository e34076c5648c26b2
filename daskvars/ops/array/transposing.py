"""Transposition: dimensions in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Access, Attrs, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.array import movement as kernels
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import adjoint


def _permutation(inputs: Sequence[Spec]) -> Spec:
    shape = inputs[0].shape
    if shape is not None and len(shape) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(shape)}: a permutation")
    return inputs[0]


INVERT_PERMUTATION = without_gradient(
    "InvertPermutation", "x:I", _permutation, kernels.invert_permutation
)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Return y with ``y[x[i]] = i``.

    Args:
      x: [n] int32 or int64, the numbers from 0 to n - 1 in any order.
      name: name of the operation, by default "InvertPermutation".

    Returns:
      [n], of the dtype of `x`.

    Raises:
      InvalidArgumentError: (when run) `x` is no permutation.

    >>> print(invert_permutation([2, 0, 1]))
    [1 2 0]
    """
    return apply(INVERT_PERMUTATION, x, name=name)


def _transposed(inputs: Sequence[Spec], *, perm: Sequence[int], **attrs: Any) -> Spec:
    shape, dtype = inputs[0].shape, inputs[0].dtype
    if shape is None:
        return Spec(dtype, None if perm is None else (None,) * len(perm))
    if perm is None:
        return Spec(dtype, (None,) * len(shape) if len(inputs) > 1 else shape[::-1])
    if len(perm) != len(shape):
        raise ValueError(
            f"Dimension must be {len(perm)} but is {len(shape)}: perm {list(perm)} does not fit "
            f"shape {shapes.show(shape)}"
        )
    if None in perm:
        return Spec(dtype, (None,) * len(shape))
    if sorted(perm) != list(range(len(shape))):
        missing = ", ".join(str(axis) for axis in range(len(shape)) if axis not in perm)
        raise ValueError(
            f"{list(perm)} is not a permutation of the {len(shape)} dimensions: "
            f"{missing} is missing"
        )
    return Spec(dtype, tuple(shape[i] for i in perm))


def _transposed_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    perm = attrs["perm"]
    if perm is None and len(inputs) == 1:
        perm = range(len(inputs[0]))[::-1]
    if perm is None or None in perm:
        return axes.whole(inputs, outputs)
    return axes.aligned(inputs, outputs, ((i, j) for j, i in enumerate(perm)))


def _transpose_gradient(op: Operation, dy: Tensor) -> Tensor:
    perm = axes.operand_of(op, "perm")
    if isinstance(perm, tuple):
        perm = tuple(sorted(range(len(perm)), key=perm.__getitem__))
    elif perm is not None:
        perm = invert_permutation(perm)
    return transpose(dy, perm, conjugate=op.attrs["conjugate"])


TRANSPOSE = OpDef(
    "Transpose",
    "a:T",
    infer=_transposed,
    pattern=Movement(_transposed_access, linear=True),
    kernel=kernels.transpose,
    operands=("perm",),
    gradient=_transpose_gradient,
)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """Return a tensor with its dimensions in another order.

    Args:
      a: [...] any dtype.
      perm: [rank] int32 or int64: dimension i of the result is dimension perm[i] of `a`. By
        default they are reversed.
      name: name of the operation, by default "transpose".
      conjugate: conjugate complex elements too.

    Returns:
      [...], of the dtype of `a`.

    Raises:
      ValueError: `perm` is no permutation of the dimensions.

    >>> transpose([[1, 2, 3], [4, 5, 6]]).numpy().tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    perm = None if perm is None else axes.as_integers(perm=perm)["perm"]
    return apply(TRANSPOSE, a, name=name, perm=perm, conjugate=bool(conjugate))


def _matrix_transposed(inputs: Sequence[Spec], *, conjugate: bool) -> Spec:
    shape = inputs[0].shape
    if shape is None:
        return inputs[0]
    if len(shape) < 2:
        raise ValueError(
            f"Argument 'a' should be a (batch) matrix, with rank >= 2. Found: {shapes.show(shape)}"
        )
    return Spec(inputs[0].dtype, (*shape[:-2], shape[-1], shape[-2]))


MATRIX_TRANSPOSE = OpDef(
    "MatrixTranspose",
    "a:T",
    infer=_matrix_transposed,
    pattern=Movement("...mn->...nm", linear=True),
    kernel=kernels.matrix_transpose,
    gradient=adjoint("MatrixTranspose"),
)


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Return a tensor with its last two dimensions exchanged. See `transpose`.

    Raises:
      ValueError: `a` has fewer than two dimensions.

    >>> matrix_transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    return apply(MATRIX_TRANSPOSE, a, name=name, conjugate=bool(conjugate))
