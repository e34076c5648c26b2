"""Folds over rows that share an id: segment ops, for sorted ids and for ids in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Gather, Opaque, Scatter
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.gather_scatter import gather as gather_kernels, segments as segment
from daskvars.ops.array import constant
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.arithmetic import add, maximum, multiply
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.math.comparison import equal
from daskvars.ops.math.division import div_no_nan, divide
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import TYPES
from daskvars.surface.signatures import named, with_example

# -- ids in any order --------------------------------------------------------------------------


def _unsorted(inputs: Sequence[Spec], *, num_segments: Any, **attrs: Any) -> Spec:
    data, ids = inputs[0].shape, inputs[1].shape
    if num_segments is not None and num_segments < 0:
        raise ValueError(
            "Cannot specify a negative value for num_segments: it must not be negative, got "
            f"{num_segments}"
        )
    if data is None or ids is None:
        return Spec(inputs[0].dtype, None)
    if len(ids) > len(data) or not shapes.compatible(data[: len(ids)], ids):
        raise ValueError(
            f"data.shape = {shapes.show(data)} does not start with segment_ids.shape = "
            f"{shapes.show(ids)}"
        )
    return Spec(inputs[0].dtype, (num_segments, *data[len(ids) :]))


def _part(attrs: dict[str, Any], block: Any) -> dict[str, Any]:
    """Tell a block of the result which of all segments it has."""
    size = block.full_out_shapes[0][0]
    return axes.in_block(
        attrs, num_segments=block.out_shapes[0][0], offset=block.out_offsets[0][0], size=size
    )


def _rows_or_zero(inputs: Sequence[Spec]) -> Spec:
    params, ids = inputs[0].shape, inputs[1].shape
    if params is None or ids is None:
        return Spec(inputs[0].dtype, None)
    return Spec(inputs[0].dtype, (*ids, *params[1:]))


GATHER_OR_ZERO = OpDef(
    "GatherOrZero",
    "params:N, indices:I",
    infer=_rows_or_zero,
    pattern=Gather(),
    kernel=gather_kernels.gather_or_zero,
    gradient=lambda op, dy: (unsorted_segment_sum(dy, op.inputs[1], _num_rows(op.inputs[0])), None),
    block=axes.from_rows_of_block,
)


def _num_rows(tensor: Tensor) -> Any:
    known = tensor.spec.shape
    if known is not None and known[0] is not None:
        return known[0]
    return gather(constant.shape(tensor), 0)


def gather_or_zero(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Return the rows that indices name, zeros for negative ones: adjoint of a segment sum.

    Args:
      params: [n, ...] any number.
      indices: [...] int32 or int64, below n.
      name: name of the operation, by default "GatherOrZero".

    Returns:
      [*indices.shape, ...], of the dtype of `params`.
    """
    return apply(GATHER_OR_ZERO, params, indices, name=name)


def _extreme_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    """Share the gradient of a segment among the rows that are its extreme."""
    data, ids = op.inputs[:2]
    chosen = cast(equal(data, gather_or_zero(op.outputs[0], ids)), dy.dtype)
    count = unsorted_segment_sum(chosen, ids, axes.operand_of(op, "num_segments"))
    return multiply(chosen, gather_or_zero(div_no_nan(dy, count), ids)), None


def _product_gradient(op: Operation, dy: Tensor, num: Any) -> tuple[Tensor, None]:
    """Give for each row of `num` segments the product of the others: zeros are counted apart."""
    data, ids = conj(op.inputs[0]), op.inputs[1]
    zero = cast(equal(data, constant.zeros_like(data)), dy.dtype)
    zeros = gather_or_zero(unsorted_segment_sum(zero, ids, num), ids)
    one = constant.ones_like(zeros)
    nonzero = add(data, zero)  # zeros count as ones
    without = unsorted_segment_prod(nonzero, ids, num)
    others = divide(gather_or_zero(without, ids), nonzero)
    # With a single zero only that row has a product of others; with more none has.
    alone = multiply(zero, cast(equal(zeros, one), dy.dtype))
    none = cast(equal(zeros, constant.zeros_like(zeros)), dy.dtype)
    return multiply(gather_or_zero(dy, ids), multiply(others, add(alone, none))), None


UNSORTED = """{summary}

Args:
  data: [*segment_ids.shape, ...] {types}.
  segment_ids: [...] int32 or int64, the segment of each row; rows with a negative id are dropped.
  num_segments: scalar integer, more than any id.
  name: name of the operation, by default "{type}".

Returns:
  [num_segments, ...], of the dtype of `data`; {empty} where a segment is empty.

Raises:
  ValueError: the shape of `data` does not start with that of `segment_ids`.
  InvalidArgumentError: (when run) an id is too great.
"""


def _unsorted_function(
    name: str,
    type: str,
    letter: str,
    kernel: Callable[..., Any],
    combine: str,
    gradient: Callable[..., Any],
) -> Callable[[str, str, str], Callable[..., Tensor]]:
    """Define an op, and return what gives its function.

    That is called with the docstring's first line, what an empty segment has, and the example's
    result.
    """
    definition = OpDef(
        type,
        f"data:{letter}, segment_ids:I",
        infer=_unsorted,
        pattern=Scatter(combine),
        kernel=kernel,
        operands=("num_segments",),
        gradient=gradient,
        block=_part,
    )

    def function(
        data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
    ) -> Tensor:
        number = axes.as_operand(num_segments)
        return apply(definition, data, segment_ids, name=name, num_segments=number)

    def documented(summary: str, empty: str, result: str) -> Callable[..., Tensor]:
        doc = UNSORTED.format(summary=summary, types=TYPES[letter], type=type, empty=empty)
        call = f"{name}([5, 3, 2, 9], [0, 1, 0, -1], 2).numpy().tolist()"
        return named(function, name, with_example(doc, f"{call} -> {result}"))

    return documented


unsorted_segment_sum: Callable[..., Tensor] = _unsorted_function(
    "unsorted_segment_sum",
    "UnsortedSegmentSum",
    "N",
    segment.segment_sum,
    "add",
    lambda op, dy: (gather_or_zero(dy, op.inputs[1]), None),
)("Add up the rows of each segment.", "zeros", "[7, 3]")
unsorted_segment_max = _unsorted_function(
    "unsorted_segment_max",
    "UnsortedSegmentMax",
    "R",
    segment.segment_max,
    "maximum",
    _extreme_gradient,
)(
    "Return the largest of each segment's rows, element by element.",
    "the lowest number of the dtype",
    "[5, 3]",
)
unsorted_segment_min = _unsorted_function(
    "unsorted_segment_min",
    "UnsortedSegmentMin",
    "R",
    segment.segment_min,
    "minimum",
    _extreme_gradient,
)(
    "Return the smallest of each segment's rows, element by element.",
    "the highest number of the dtype",
    "[2, 3]",
)
unsorted_segment_prod = _unsorted_function(
    "unsorted_segment_prod",
    "UnsortedSegmentProd",
    "N",
    segment.segment_prod,
    "multiply",
    lambda op, dy: _product_gradient(op, dy, axes.operand_of(op, "num_segments")),
)("Multiply the rows of each segment.", "ones", "[10, 3]")


def _sums_and_counts(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Tensor]:
    """Return the sums of segments, and how many rows each has, at least 1, to divide them by."""
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    ones = constant.ones_like(ids, dtype=data.dtype)
    count = maximum(unsorted_segment_sum(ones, ids, num_segments), 1)
    return total, _beside(count, data, ids)


def _beside(counts: Tensor, data: Tensor, ids: Tensor) -> Tensor:
    """Return the number of rows of each segment with as many dimensions as the segments have."""
    if data.spec.shape is not None and ids.spec.shape is not None:
        return reshape(counts, (-1,) + (1,) * (len(data.spec.shape) - len(ids.spec.shape)))
    ones = constant.ones_like(constant.shape(data)[constant.rank(ids) :])
    return reshape(counts, concat([[-1], ones], 0))


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the mean of the rows of each segment; zeros where one is empty.

    See `unsorted_segment_sum`; the default name is "UnsortedSegmentMean".

    >>> print(unsorted_segment_mean([1.0, 2.0, 3.0], [0, 1, 0], 2))
    [2. 2.]
    """
    with name_scope(name, "UnsortedSegmentMean", [data, segment_ids]) as scope:
        return divide(*_sums_and_counts(data, segment_ids, num_segments), name=scope)


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the sum of the rows of each segment over the square root of their number.

    See `unsorted_segment_sum`; the default name is "UnsortedSegmentSqrtN".

    >>> print(unsorted_segment_sqrt_n([1.0, 2.0, 3.0], [0, 1, 0], 2))
    [2.828427 2.      ]
    """
    with name_scope(name, "UnsortedSegmentSqrtN", [data, segment_ids]) as scope:
        sums, counts = _sums_and_counts(data, segment_ids, num_segments)
        return divide(sums, sqrt(counts), name=scope)


# -- sorted ids --------------------------------------------------------------------------------


def _vector(ids: Spec, **attrs: Any) -> Spec:
    if ids.shape is not None and len(ids.shape) != 1:
        raise ValueError(f"segment_ids should be a vector, got shape {shapes.show(ids.shape)}")
    return ids


def _sorted(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    data, ids = inputs[0].shape, _vector(inputs[1]).shape
    if data == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: data needs rows")
    if data is not None and ids is not None and not shapes.compatible(data[:1], ids):
        raise ValueError(
            f"segment_ids should be the same size as dimension 0 of data, got {shapes.show(ids)} "
            f"and {shapes.show(data)}"
        )
    return Spec(inputs[0].dtype, None if data is None else (None, *data[1:]))


SORTED_IDS = without_gradient(
    "SortedSegmentIds",
    "segment_ids:I",
    infer=lambda inputs, **attrs: _vector(inputs[0]),
    kernel=gather_kernels.check_segment_ids,
    pattern=Opaque(view=True),
    operands=("num_segments",),
)


def in_order(segment_ids: Tensor, num_segments: TensorLike) -> Tensor:
    """Return ids [n] as they are; a run fails where they decrease, or are not below a number.

    Args:
      segment_ids: [n] int32 or int64.
      num_segments: scalar integer, more than any id.
    """
    return apply(SORTED_IDS, segment_ids, num_segments=axes.as_operand(num_segments))


def _sorted_extreme_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    data, ids = op.inputs
    chosen = cast(equal(data, gather_or_zero(op.outputs[0], ids)), dy.dtype)
    weighted = div_no_nan(dy, segment_sum(chosen, ids))
    return multiply(chosen, gather_or_zero(weighted, ids)), None


def _sorted_mean_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    data, ids = op.inputs
    count = segment_sum(constant.ones_like(ids, dtype=dy.dtype), ids)
    return gather_or_zero(div_no_nan(dy, _beside(count, data, ids)), ids), None


SORTED = """{summary}

Args:
  data: [n, ...] {types}.
  segment_ids: [n] int32 or int64, which must not decrease.
  name: name of the operation, by default "{type}".

Returns:
  [last id + 1, ...], of the dtype of `data`; {empty} where a segment is empty.

Raises:
  ValueError: `segment_ids` has not one id for each row.
  InvalidArgumentError: (when run) the ids decrease or are negative.
"""


def _sorted_function(
    name: str, type: str, letter: str, gradient: Callable[..., Any]
) -> Callable[[str, str], Callable[..., Tensor]]:
    """Define an op; return what gives its function, by its docstring's first line and example."""
    definition = OpDef(
        type,
        f"data:{letter}, segment_ids:I",
        infer=_sorted,
        pattern=Opaque(),
        kernel=gather_kernels.sorted_segments,
        gradient=gradient,
    )

    def function(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
        result = apply(definition, data, segment_ids, name=name, fold=type)
        ids = constant_value(result.op.inputs[1])
        if ids is not None and ids.size and ids[-1] >= 0 and result.spec.shape is not None:
            result.set_shape((int(ids[-1]) + 1, *result.spec.shape[1:]))
        return result

    def documented(summary: str, example: str) -> Callable[..., Tensor]:
        empty = 1 if "Prod" in type else 0
        doc = SORTED.format(summary=summary, types=TYPES[letter], type=type, empty=empty)
        return named(function, name, with_example(doc, example))

    return documented


segment_sum = _sorted_function(
    "segment_sum", "SegmentSum", "N", lambda op, dy: (gather_or_zero(dy, op.inputs[1]), None)
)(
    "Add up the rows of each segment.",
    "segment_sum([1, 2, 3], [0, 0, 1]).numpy().tolist() -> [3, 3]",
)
segment_prod = _sorted_function(
    "segment_prod",
    "SegmentProd",
    "N",
    lambda op, dy: _product_gradient(op, dy, _num_rows(op.outputs[0])),
)(
    "Multiply the rows of each segment.",
    "segment_prod([2, 3, 4], [0, 0, 1]).numpy().tolist() -> [6, 4]",
)
segment_max = _sorted_function("segment_max", "SegmentMax", "R", _sorted_extreme_gradient)(
    "Return the largest of each segment's rows, element by element.",
    "segment_max([1, 2, 3], [0, 0, 2]).numpy().tolist() -> [2, 0, 3]",
)
segment_min = _sorted_function("segment_min", "SegmentMin", "R", _sorted_extreme_gradient)(
    "Return the smallest of each segment's rows, element by element.",
    "segment_min([1, 2, 3], [0, 0, 1]).numpy().tolist() -> [1, 3]",
)
segment_mean = _sorted_function("segment_mean", "SegmentMean", "R", _sorted_mean_gradient)(
    "Return the mean of the rows of each segment.",
    "segment_mean([1.0, 2.0, 3.0], [0, 0, 1]).numpy().tolist() -> [1.5, 3.0]",
)
