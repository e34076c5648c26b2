"""Products of sparse and dense matrices.

A matrix that was computed is multiplied as it is, and so is a variable, whose gradient is then as
large as it. A table, of which a step is to touch only the rows that it names, is one to `gather`
these from: they travel alone, and are the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import float32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Block, Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.sparse import products as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.transposing import transpose
from daskvars.ops.checks.assertions import assert_equal
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.gather_scatter.segments import unsorted_segment_sum
from daskvars.ops.gather_scatter.sparse_gradients import LARGE_BYTES
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import merged_shape
from daskvars.ops.sparse.indices import SparseLike, as_sparse, parts
from daskvars.surface.accepted import accepts

# -- the two ops, each the other's gradient ----------------------------------------------------


def _matrix(spec: Spec, name: str) -> Sequence[int | None]:
    """Return the sizes of a matrix, as far as they are known."""
    if spec.shape is None:
        return None, None
    if len(spec.shape) != 2:
        raise ValueError(f"{name} must be a matrix, got shape {shapes.show(spec.shape)}")
    return spec.shape


def _check_equal(one: int | None, other: int | None) -> None:
    if None not in (one, other) and one != other:
        raise ValueError(f"Dimensions must be equal, but are {one} and {other}")


def _count(indices: Spec) -> int | None:
    """Return how many places there are, as far as that is known."""
    count, rank = _matrix(indices, "indices")
    if rank not in (None, 2):
        raise ValueError(f"indices must be of rows and columns, got {rank} numbers for each place")
    return count


def _product(
    inputs: Sequence[Spec], *, shape: Any, transpose_a: bool, operands: Sequence[str] = ()
) -> Spec:
    merged_shape(inputs[1].shape, (_count(inputs[0]),))
    inner, columns = _matrix(inputs[2], "b")
    a = axes.sizes_of(shape, inputs[3:]) or (None, None)
    if len(a) != 2:
        raise ValueError(f"a must be a matrix, got shape {shapes.show(a)}")
    rows, other = a[::-1] if transpose_a else a
    _check_equal(other, inner)
    return Spec(inputs[1].dtype, (rows, columns))


def _rows_of_b(attrs: dict[str, Any], block: Block) -> dict[str, Any]:
    """Tell a block which rows of the dense matrix it has."""
    size = block.full_in_shapes[2][0]
    return axes.in_block(attrs, offset=block.in_offsets[2][0], size=size)


def _product_gradient(op: Operation, dy: Tensor) -> tuple[None, Tensor, Tensor]:
    indices, values, b = op.inputs[:3]
    is_across = op.attrs["transpose_a"]
    sides = (conj(b), dy) if is_across else (dy, conj(b))
    shape = axes.operand_of(op, "shape")
    db = apply(PRODUCT, indices, conj(values), dy, shape=shape, transpose_a=not is_across)
    return None, apply(SAMPLED, indices, *sides), db


PRODUCT = OpDef(
    "SparseTensorDenseMatMul",
    "a_indices:I, a_values:N, b:N",
    infer=_product,
    # One row of `b` for each element of the sparse matrix.
    pattern=Contraction("e_,e,kn->_n", work=((1, 0), (2, 1))),
    kernel=kernels.sparse_matmul,
    gradient=_product_gradient,
    operands=("shape",),
    block=_rows_of_b,
)


def _sampled(inputs: Sequence[Spec]) -> Spec:
    (_, n), (_, other) = map(_matrix, inputs[1:], "xy")
    _check_equal(n, other)
    return Spec(inputs[1].dtype, (_count(inputs[0]),))


def _sampled_gradient(op: Operation, dy: Tensor) -> tuple[None, Tensor, Tensor]:
    indices, x, y = op.inputs
    shape = axes.as_operand([size_along(x, 0), size_along(y, 0)])
    of_x, of_y = (
        apply(PRODUCT, indices, dy, conj(other), shape=shape, transpose_a=is_across)
        for other, is_across in ((y, False), (x, True))
    )
    return None, of_x, of_y


SAMPLED = OpDef(
    "SampledMatMul",
    "indices:I, x:N, y:N",
    infer=_sampled,
    pattern=Contraction("e_,_n,_n->e", work=((0, 0), (1, 1))),
    kernel=kernels.sampled_matmul,
    gradient=_sampled_gradient,
)


# -- functions ---------------------------------------------------------------------------------


def sparse_dense_matmul(
    sp_a: SparseLike | TensorLike,
    b: SparseLike | TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply a sparse matrix by a dense one.

    Of a variable in several chunks, or of more than 16 MiB, the rows that the sparse matrix names
    are gathered and added up: those rows alone travel, and the gradient is one of rows. Any other
    matrix is multiplied as it is.

    Args:
      sp_a: a `SparseTensor` [m, k]; or a dense matrix, if `b` is sparse.
      b: [k, n] of the dtype of the values.
      adjoint_a, adjoint_b: take the conjugate transpose of the matrix.
      name: name scope of the operations, by default "SparseTensorDenseMatMul".

    Returns:
      [m, n] of the dtype of the values; 16-bit floats add up in float32.

    Raises:
      ValueError: the sizes are known not to fit.
      InvalidArgumentError: (when run) the sizes do not fit, or an index is out of range.

    Source: TensorFlow 1.15, ``tf.sparse.sparse_dense_matmul``.

    >>> sp = dv.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    >>> dv.sparse.sparse_dense_matmul(sp, [[1.0], [10.0]]).numpy().tolist()
    [[20.0], [3.0]]
    """
    if isinstance(b, SparseTensor | SparseTensorValue):
        product = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a, name)
        return transpose(product, conjugate=True)
    sp = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [*parts(sp), b]):
        values = conj(sp.values) if adjoint_a else sp.values
        if _is_table(b) and not adjoint_b:
            return _of_rows(sp, values, b, adjoint_a)
        dense = convert_to_tensor(b, sp.values.dtype.base_dtype)
        if adjoint_b:
            dense = transpose(dense, conjugate=True)
        return apply(
            PRODUCT, sp.indices, values, dense, shape=sp.dense_shape, transpose_a=bool(adjoint_a)
        )


def _is_table(b: Any) -> bool:
    """Return whether a matrix is a variable that a step is to touch no more rows of than it names.

    Such is one in several chunks, or one whose dense gradient would be worth a warning.
    """
    if not hasattr(b, "_as_graph_element"):
        return False
    size = shapes.size(shapes.as_tuple(b.shape))
    is_large = size is None or size * b.dtype.base_dtype.size > LARGE_BYTES
    return is_large or getattr(b, "chunks", None) is not None


def _of_rows(sp: SparseTensor, values: Tensor, table: Any, adjoint_a: bool) -> Tensor:
    """Return the product of a sparse matrix and the rows of a variable, gathered where they are."""
    out, into = (1, 0) if adjoint_a else (0, 1)
    if sp.shape.ndims == table.shape.ndims == 2:
        _check_equal(sp.shape.as_list()[into], table.shape.as_list()[0])
    check = assert_equal(
        sp.dense_shape[into],
        constant.shape(table, out_type=int64)[0],
        message="sparse_dense_matmul(): the sizes of the matrices do not fit",
    )
    with control_dependencies([check]):
        found = gather(table, sp.indices[:, into])
    return unsorted_segment_sum(values[:, None] * found, sp.indices[:, out], sp.dense_shape[out])


@accepts("a_is_sparse", "b_is_sparse")
def sparse_matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply two dense matrices, of which some elements may be zero. See `matmul`.

    Args:
      a, b: matrices, as of `matmul`, each float32 or bfloat16.

    Returns:
      [m, n] float32.

    Source: TensorFlow 1.15, ``tf.sparse_matmul``.

    >>> sparse_matmul([[0.0, 2.0]], [[1.0], [3.0]]).numpy().tolist()
    [[6.0]]
    """
    with name_scope(name, "SparseMatMul", [a, b]) as scope:
        x, y = (cast(convert_to_tensor(each, dtype_hint=float32), float32) for each in (a, b))
        return matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b, name=scope)
