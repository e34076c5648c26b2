"""Rows picked and folded: segments of a gather, without the gather's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant
from daskvars.ops.array.joining import concat
from daskvars.ops.gather_scatter import segments
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.reduce import reduce_max
from daskvars.surface.signatures import named

DOC = """{summary} of rows of a tensor.

    Args:
      data: [rows, ...]: a tensor, or a Variable, whose rows are then gathered where they are.
      indices: [n] int32 or int64, the rows.
      segment_ids: [n] int32 or int64, ascending: which segment each goes to.
      name: name scope of the operations, by default "{type}".
      num_segments: how many segments there are, by default the last id and one.

    Returns:
      [number of segments, ...] of the dtype of `data`; zeros where a segment is empty.

    Raises:
      InvalidArgumentError: (when run) an index is out of range, or ids are not in order.

    Source: TensorFlow 1.15, ``tf.sparse.{function}``.

    >>> from daskvars.ops.sparse import segments as sparse
    >>> sparse.{function}([[1.0], [2.0], [4.0]], [0, 2, 1], [0, 0, 1]).numpy().ravel().tolist()
    {shown}
    """


def _segment(
    name: str, type: str, of_sorted: Callable[..., Tensor], of_any: Callable[..., Tensor]
) -> Callable[[str, str], Callable[..., Tensor]]:
    """Return what gives a function, by what its docstring begins with and its example shows."""

    def function(
        data: Any,
        indices: TensorLike,
        segment_ids: TensorLike,
        name: str | None = None,
        num_segments: TensorLike | None = None,
    ) -> Tensor:
        with name_scope(name, type, [data, indices, segment_ids]):
            rows = gather(data, convert_to_tensor(indices, dtype_hint=int32))
            ids = convert_to_tensor(segment_ids, dtype_hint=int32)
            if num_segments is None:
                return of_sorted(rows, ids)
            return of_any(rows, segments.in_order(ids, num_segments), num_segments)

    def documented(summary: str, shown: str) -> Callable[..., Tensor]:
        doc = DOC.format(summary=summary, type=type, function=name, shown=shown)
        return named(function, name, doc)

    return documented


def _sorted_sqrt_n(rows: Tensor, ids: TensorLike) -> Tensor:
    ids = convert_to_tensor(ids)
    return segments.unsorted_segment_sqrt_n(rows, ids, _count(ids))


def _count(ids: Tensor) -> Tensor:
    """Return the last id and one; 0 where there are none."""
    return reduce_max(concat([ids, constant.zeros_like(ids, dtype=ids.dtype)[:1] - 1], 0)) + 1


segment_sum = _segment(
    "segment_sum", "SparseSegmentSum", segments.segment_sum, segments.unsorted_segment_sum
)("Add up segments", "[5.0, 2.0]")
segment_mean = _segment(
    "segment_mean", "SparseSegmentMean", segments.segment_mean, segments.unsorted_segment_mean
)("Return the means of segments", "[2.5, 2.0]")
segment_sqrt_n = _segment(
    "segment_sqrt_n", "SparseSegmentSqrtN", _sorted_sqrt_n, segments.unsorted_segment_sqrt_n
)("Return the sums over the square roots of the numbers", "[3.535533905029297, 2.0]")
