"""Sparse gradients: added up, and made dense where something needs them whole."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int64
from daskvars.graph.convert import register_tensor_conversion_function
from daskvars.graph.definitions.static_values import partial_value
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.joining import concat
from daskvars.ops.array.slicing import strided_slice
from daskvars.ops.gather_scatter.segments import unsorted_segment_sum
from daskvars.ops.math.casting import cast

LARGE_BYTES = 16 << 20  # a sparse gradient made dense beyond this is worth a warning


def sum_of_slices(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """Return the sum of slices of one tensor: the rows of all of them, one after another.

    Args:
      parts: slices of the same dense shape; their indices may differ in dtype.
    """
    indices = [part.indices for part in parts]
    if len({i.dtype for i in indices}) > 1:
        indices = [cast(i, int64) for i in indices]
    values = concat([part.values for part in parts], 0)
    return IndexedSlices(values, concat(indices, 0), parts[0].dense_shape)


def densify(
    value: Tensor | IndexedSlices, name: str | None = None, largest: int | None = None
) -> Tensor:
    """Return slices as a dense tensor, rows of equal index added up.

    Warns, naming the op and the size, where the dense tensor is large or of unknown size.

    Args:
      value: the slices; a tensor is returned as it is.
      name: name of the operation.
      largest: the number of elements of the largest table that these may be a gradient of. Nothing
        is said of rows of a tensor of twice as many, or of unknown size: that was computed, and
        its gradient is no sparser for what is done with the table.

    Returns:
      [*dense_shape], of the dtype of the slices.

    Raises:
      ValueError: the slices carry no `dense_shape`.

    >>> slices = dv.IndexedSlices(dv.constant([1.0, 2.0]), dv.constant([2, 2]), dv.constant([4]))
    >>> densify(slices).numpy()
    array([0., 0., 3., 0.], dtype=float32)
    """
    if not isinstance(value, IndexedSlices):
        return value
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value!r}"
        )
    known = partial_value(value.dense_shape)
    rows = known[0] if known else None
    columns = value.values.spec.shape
    _warn_of_size(value, None if columns is None else (rows, *columns[1:]), largest)
    count = strided_slice(value.dense_shape, [0], [1], shrink_axis_mask=1) if rows is None else rows
    return unsorted_segment_sum(value.values, value.indices, count, name=name)


def _warn_of_size(value: IndexedSlices, shape: shapes.Shape, largest: int | None) -> None:
    size = "unknown size"
    if shapes.is_known(shape):
        count = math.prod(shape)
        num_bytes = value.dtype.base_dtype.size * count
        if num_bytes <= LARGE_BYTES or (largest is not None and count >= 2 * largest):
            return
        size = f"{num_bytes} bytes"
    elif largest is not None:
        return
    op = value.values.op
    warnings.warn(
        f"The sparse gradient made by {op.name!r} ({op.type}) is converted to a dense tensor of "
        f"{size}. To keep it sparse, use the variable through gather and embedding_lookup only.",
        stacklevel=2,
    )


def _dense_tensor(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and dtype is not value.dtype.base_dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype "
            f"{value.dtype.name}"
        )
    return densify(value, name)


register_tensor_conversion_function(IndexedSlices, _dense_tensor)
