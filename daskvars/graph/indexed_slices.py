"""IndexedSlices: the rows of a gradient that are not zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from daskvars.graph.tensor import Tensor
from daskvars.shapes import TensorShape
from daskvars.surface.forwarding import forwards


class IndexedSlices:
    """Rows `values` for the places `indices` of a larger tensor, whose other rows are zero.

    Args:
      values: [n, ...] any dtype, the rows.
      indices: [n] int32 or int64, where they belong; an index may occur twice, rows then add up.
      dense_shape: [rank] integer, the shape of the tensor that they are slices of.

    >>> slices = IndexedSlices(dv.constant([1.0, 2.0]), dv.constant([0, 2]), dv.constant([4]))
    >>> dv.convert_to_tensor(slices).numpy().tolist()
    [1.0, 0.0, 2.0, 0.0]
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    name: str = forwards("values.name", "The name of the values.")
    op: Any = forwards("values.op", "The operation that makes the values.")
    dtype: Any = forwards("values.dtype", "The dtype of the values.")
    device: str = forwards("values.device", "The device of the values.")
    graph: Any = forwards("values.graph", "The graph of the values.")

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor: its first dimension is not known here."""
        return TensorShape([None]).concatenate(self.values.shape[1:])

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __str__(self) -> str:
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r})"


Gradient: TypeAlias = Tensor | IndexedSlices
# What the gradient of an op is: one for each of its inputs, None where nothing leads from one on.
Gradients: TypeAlias = Gradient | Sequence[Gradient | None] | None
