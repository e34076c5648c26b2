"""Products of matrices and vectors.

Equations are in `contractions`, inverses and factors in `decompositions`.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import bfloat16, float32, int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, Contraction, RankedShapes
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.control.summed_products import are_joined, sum_of_products
from daskvars.kernels.linalg import matrix_parts as matrices, products as kernels
from daskvars.ops.array import constant, ranges
from daskvars.ops.array.broadcasting import broadcast_gradients, may_broadcast, sum_to_shape
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.ranges import eye
from daskvars.ops.array.reshaping import expand_dims, reshape, squeeze
from daskvars.ops.array.transposing import transpose
from daskvars.ops.checks.assertions import assert_equal
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.gather_scatter.searching import setdiff1d
from daskvars.ops.linalg.einsum import einsum
from daskvars.ops.math.arithmetic import add, multiply, negative
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.math.comparison import less
from daskvars.ops.math.reduce import reduce_prod
from daskvars.ops.rules.axes import is_symbolic
from daskvars.ops.rules.families import same_dtype
from daskvars.ops.rules.shapes import broadcasted, merged_shape
from daskvars.surface.accepted import accepts

# -- matrix products ---------------------------------------------------------------------------


def _product(inputs: Sequence[Spec], *, transpose_a: bool, transpose_b: bool) -> Spec:
    dtype, a, b = inputs[0].dtype, inputs[0].shape, inputs[1].shape
    if a is None or b is None:
        return Spec(dtype, None)
    for shape in (a, b):
        if len(shape) < 2:
            raise ValueError(f"Shape must be rank 2 but is rank {len(shape)}")
    rows, inner = a[-1:-3:-1] if transpose_a else a[-2:]
    other, columns = b[-1:-3:-1] if transpose_b else b[-2:]
    if not shapes.compatible((inner,), (other,)):
        raise ValueError(f"Dimensions must be equal, but are {inner} and {other}")
    return Spec(dtype, (*shapes.broadcast(a[:-2], b[:-2]), rows, columns))


def _product_access(inputs: RankedShapes, attrs: Attrs) -> str:
    left = "...km" if attrs["transpose_a"] else "...mk"
    right = "...nk" if attrs["transpose_b"] else "...kn"
    return f"{left},{right}->...mn"


def _product_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    a, b = map(conj, op.inputs)
    across_a, across_b = op.attrs["transpose_a"], op.attrs["transpose_b"]
    if across_a:
        da = matmul(b, dy, transpose_a=across_b, transpose_b=True)
    else:
        da = matmul(dy, b, transpose_b=not across_b)
    if _is_one_matrix(op):
        return [da, _gradient_of_one_matrix(a, dy, across_b)]
    if across_b:
        db = matmul(dy, a, transpose_a=True, transpose_b=across_a)
    else:
        db = matmul(a, dy, transpose_a=not across_a)
    return [_summed_batches(op, da, 0), _summed_batches(op, db, 1)]


def _is_one_matrix(op: Operation) -> bool:
    """Return whether a batch of matrices is multiplied by one matrix, of known rows, not empty."""
    a, b = (t.spec.shape for t in op.inputs)
    return (
        a is not None
        and b is not None
        and len(a) > len(b) == 2
        and not op.attrs["transpose_a"]
        and all((a[-1], op.outputs[0].shape.as_list()[-1]))
    )


def _gradient_of_one_matrix(a: Tensor, dy: Tensor, across: bool) -> Tensor:
    """Sum over the batch as part of one large product."""
    a, dy = (reshape(t, (-1, size_along(t, -1))) for t in (a, dy))
    return matmul(dy, a, transpose_a=True) if across else matmul(a, dy, transpose_a=True)


def _summed_batches(op: Operation, gradient: Tensor, index: int) -> Tensor:
    x, other = op.inputs[index], op.inputs[1 - index]
    shape, across = x.spec.shape, other.spec.shape
    if shape is not None and across is not None and not may_broadcast(shape[:-2], [across[:-2]]):
        return gradient
    return sum_to_shape(gradient, constant.full_shape(x))


def _define_product(type: str, **more: Any) -> OpDef:
    pattern = Contraction(_product_access)
    return OpDef(type, "a:N, b:N", _product, pattern, kernels.matmul, _product_gradient, **more)


def _sum_of_alike(inputs: Sequence[Spec], attrs: Attrs) -> OpDef | None:
    """Return `SUM_OF_PRODUCTS` for products over rows whose factors are less than what they make.

    16-bit floats are rounded, each product and each sum, as TensorFlow's are.
    """
    a, b = (spec.shape for spec in inputs)
    over_rows = attrs["transpose_a"] and not attrs["transpose_b"]
    if not over_rows or inputs[0].dtype.np.itemsize < 4 or a is None or b is None:
        return None
    (rows, m), (_, n) = a, b
    if m is None or n is None:
        return None
    # How many rows there are the kernel sees as well.
    return SUM_OF_PRODUCTS if rows is None or are_joined(rows, m, n) else None


MATMUL = _define_product("MatMul", summed=_sum_of_alike)
BATCH_MATMUL = _define_product("BatchMatMulV2")


@dataclass(frozen=True)
class _Pairs(Contraction):
    """Products of pairs of inputs, which are added up."""

    def flops(self, inputs: RankedShapes, outputs: RankedShapes, access: Access) -> float:
        return len(inputs) // 2 * super().flops(inputs, outputs, access)


def _sum_of_products(inputs: Sequence[Spec]) -> Spec:
    if not inputs or len(inputs) % 2:
        raise ValueError(f"SumOfProducts takes pairs of matrices, found {len(inputs)} inputs")
    pairs = zip(inputs[::2], inputs[1::2], strict=True)
    found = [_product(pair, transpose_a=True, transpose_b=False).shape for pair in pairs]
    sizes = [None if spec.shape is None else spec.shape[:-1] for spec in inputs]
    merged_shape(*sizes)  # a matrix each, all of as many rows
    return Spec(inputs[0].dtype, merged_shape((None, None), *found))


def _sum_of_products_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    factors = list(map(conj, op.inputs))
    pairs = zip(factors[::2], factors[1::2], strict=True)
    return [each for a, b in pairs for each in (matmul(b, dy, transpose_b=True), matmul(a, dy))]


# What lowering makes of a sum of products that are summed over rows (`join_products`).
SUM_OF_PRODUCTS = OpDef(
    "SumOfProducts",
    "*inputs:N",
    _sum_of_products,
    _Pairs(lambda inputs, attrs: ",".join(["km", "kn"] * (len(inputs) // 2)) + "->mn"),
    sum_of_products,
    _sum_of_products_gradient,
)


def _widened(a: TensorLike, b: TensorLike) -> tuple[TensorLike, TensorLike]:
    """Return matrices of which one is bfloat16 and the other float32 both as float32."""
    kinds = {getattr(getattr(each, "dtype", None), "base_dtype", None) for each in (a, b)}
    if kinds != {bfloat16, float32}:
        return a, b
    return cast(a, float32), cast(b, float32)


@accepts("a_is_sparse", "b_is_sparse")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply matrices, or batches of them.

    Args:
      a: [..., m, k] any number.
      b: [..., k, n] of the dtype of `a`; leading dimensions are broadcast. A bfloat16 matrix is
        multiplied by a float32 one as float32.
      transpose_a: `a` is [..., k, m].
      transpose_b: `b` is [..., n, k].
      adjoint_a: as `transpose_a`, and conjugated.
      adjoint_b: as `transpose_b`, and conjugated.
      name: name of the operation, by default "MatMul".

    Returns:
      [..., m, n] of the dtype of `a`; 16-bit floats accumulate in float32.

    Raises:
      ValueError: the inner dimensions differ, a rank is below 2, or a matrix is to be both
        transposed and adjoint.
      TypeError: the dtypes differ.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy().tolist()
    [[11.0]]
    """
    for letter, both in (("a", transpose_a and adjoint_a), ("b", transpose_b and adjoint_b)):
        if both:
            raise ValueError(f"Only one of transpose_{letter} and adjoint_{letter} can be True.")
    with name_scope(name, "MatMul", [a, b]) as scope:
        a, b = same_dtype(*_widened(a, b), scope)
        ranks = [None if t.spec.shape is None else len(t.spec.shape) for t in (a, b)]
        return apply(
            MATMUL if ranks == [2, 2] else BATCH_MATMUL,
            conj(a) if adjoint_a else a,
            conj(b) if adjoint_b else b,
            name=scope,
            transpose_a=bool(transpose_a or adjoint_a),
            transpose_b=bool(transpose_b or adjoint_b),
        )


@accepts("a_is_sparse", "b_is_sparse")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply matrices [..., m, k] by vectors [..., k]. See `matmul`.

    >>> matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy().tolist()
    [3.0, 7.0]
    """
    with name_scope(name, "MatVec", [a, b]) as scope:
        a, b = same_dtype(a, b, scope)
        column = expand_dims(b, -1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return squeeze(product, [-1], name=scope)


def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Tensor:
    """Sum products over pairs of axes.

    Args:
      a: [...] any number.
      b: [...] of the dtype of `a`.
      axes: an int n: the last n axes of `a` and the first n of `b`; or a pair of an axis or list
        of axes of `a` and one of `b`, or an int tensor [2, n].
      name: name scope of the operations, by default "Tensordot".

    Returns:
      [axes of `a` that were not summed, then those of `b`] of the dtype of `a`.

    Raises:
      ValueError: the axes do not pair up, or there is no such axis.
      InvalidArgumentError: that shows in the run alone.

    >>> tensordot([[1, 2], [3, 4]], [[5, 6], [7, 8]], axes=1).numpy().tolist()
    [[19, 22], [43, 50]]
    """
    with name_scope(name, "Tensordot", [a, b]) as scope:
        a, b = same_dtype(a, b, scope)
        axes = _known_axes(axes)
        if a.spec.shape is None or b.spec.shape is None or isinstance(axes, Tensor):
            return _tensordot_of_run(a, b, axes)
        left, right = _paired_axes(axes, len(a.spec.shape), len(b.spec.shape))
        letters = string.ascii_letters
        term_a = letters[: len(a.spec.shape)]
        term_b = list(letters[len(term_a) : len(term_a) + len(b.spec.shape)])
        for i, j in zip(left, right, strict=True):
            term_b[j] = term_a[i]
        out = [c for c in term_a if c not in term_b] + [c for c in term_b if c not in term_a]
        return einsum(f"{term_a},{''.join(term_b)}->{''.join(out)}", a, b)


def _paired_axes(axes: Any, rank_a: int, rank_b: int) -> tuple[Sequence[int], Sequence[int]]:
    if isinstance(axes, int | numpy.integer) or getattr(axes, "ndim", None) == 0:
        count = int(axes)
        if not 0 <= count <= min(rank_a, rank_b):
            raise ValueError(
                f"'axes' must be between 0 and the ranks {rank_a} and {rank_b} of a "
                f"and b, got {count}"
            )
        return range(rank_a - count, rank_a), range(count)
    if len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    left, right = shapes.normalize_axes(axes[0], rank_a), shapes.normalize_axes(axes[1], rank_b)
    if len(left) != len(right):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(left)} != {len(right)}."
        )
    return left, right


def _known_axes(axes: Any) -> Any:
    """Return the value of axes that are a tensor, if it is known before the run."""
    if not is_symbolic(axes):
        return axes
    tensor = convert_to_tensor(axes)
    value = constant_value(tensor)
    return tensor if value is None else value


def _tensordot_of_run(a: Tensor, b: Tensor, axes: Any) -> Tensor:
    """Sum products over pairs of axes where only the run tells ranks or axes: as matrices."""
    left: Any
    right: Any
    if isinstance(axes, int | numpy.integer):
        if axes < 0:
            raise ValueError(f"'axes' must be at least 0, got {axes}")
        left, right = [*range(-axes, 0)], [*range(axes)]
    elif isinstance(axes, Tensor) and axes.spec.shape == ():
        left, right = negative(ranges.range(axes, 0, -1)), ranges.range(axes)
    else:
        left, right = axes[0], axes[1]
    rows, kept_a, summed = _as_matrix(a, left, is_left=True)
    columns, kept_b, other = _as_matrix(b, right, is_left=False)
    with control_dependencies(
        [
            assert_equal(
                summed,
                other,
                message="Matrix size-incompatible: tensordot() sums over axes of equal sizes",
            )
        ]
    ):
        product = matmul(rows, columns)
    return reshape(product, concat([kept_a, kept_b], 0))


def _as_matrix(x: Tensor, summed: Any, is_left: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return `x` as a matrix of axes kept and axes summed, and the sizes of both."""
    axes: Any = convert_to_tensor(summed, int32)
    sizes, rank = constant.shape(x), constant.rank(x)
    axes = reshape(axes, [-1])
    axes = add(axes, multiply(cast(less(axes, 0), int32), rank))
    kept, _ = setdiff1d(ranges.range(rank), axes)
    lengths = gather(sizes, kept), gather(sizes, axes)
    order = [kept, axes] if is_left else [axes, kept]
    folded = [reduce_prod(length) for length in (lengths if is_left else lengths[::-1])]
    return reshape(transpose(x, concat(order, 0)), stack(folded)), *lengths


# -- traces and vector products ----------------------------------------------------------------


def _crossed(inputs: Sequence[Spec]) -> Spec:
    spec = broadcasted(inputs)
    if spec.shape is not None and (not spec.shape or spec.shape[-1] not in (None, 3)):
        raise ValueError(
            f"a and b must have 3 elements along their last axis, got {shapes.show(spec.shape)}"
        )
    return spec


CROSS = OpDef(
    "Cross",
    "a:R, b:R",
    infer=_crossed,
    pattern=Contraction("..._,..._->..._", None),
    kernel=kernels.cross,
    gradient=lambda op, dy: broadcast_gradients(
        op, cross(op.inputs[1], dy), cross(dy, op.inputs[0])
    ),
)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Return the cross product of vectors.

    Args:
      a: [..., 3] real.
      b: [..., 3] of the dtype of `a`.
      name: name of the operation, by default "Cross".

    Returns:
      [..., 3] of the dtype of `a`.

    Raises:
      ValueError: the last dimension is not 3.

    >>> cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    return apply(CROSS, a, b, name=name)


def _traced(inputs: Sequence[Spec]) -> Spec:
    dtype, shape = inputs[0]
    if shape is not None and len(shape) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(shape)}")
    return Spec(dtype, None if shape is None else shape[:-2])


def _trace_gradient(op: Operation, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    identity = eye(size_along(x, -2), size_along(x, -1), dtype=x.dtype.base_dtype)
    return multiply(expand_dims(expand_dims(dy, -1), -1), identity)


TRACE = OpDef(
    "Trace", "x:N", _traced, Contraction("...__->...", None), matrices.trace, _trace_gradient
)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the sums of the diagonals of matrices.

    Args:
      x: [..., m, n] any number.
      name: name of the operation, by default "Trace".

    Returns:
      [...] of the dtype of `x`.

    >>> int(trace([[1, 2], [3, 4]]))
    5
    """
    return apply(TRACE, x, name=name)
