"""SparseTensor: the elements of a tensor that are there, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from daskvars import shapes
from daskvars.dtypes import DType, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import partial_value
from daskvars.graph.scopes import stacks
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.shapes import TensorShape
from daskvars.surface.forwarding import forwards


class SparseTensorValue(NamedTuple):
    """The value of a `SparseTensor`: three arrays, fetched or to be fed.

    Attributes:
      indices: [n, rank] int64, the place of each element.
      values: [n] any dtype.
      dense_shape: [rank] int64.

    >>> value = SparseTensorValue([[0, 1], [2, 0]], [5.0, 7.0], [3, 2])
    >>> dv.sparse.to_dense(value).numpy().tolist()
    [[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor of which few elements are given, at places that are named; the others are absent.

    What is absent counts as zero, or as nothing at all: each function says which.

    Args:
      indices: [n, rank] int64, the place of each element. Functions that need them in the order of
        rows, as most do, say so; `sparse.reorder` brings them into it.
      values: [n] any dtype.
      dense_shape: [rank] int64.

    Raises:
      ValueError: the shapes do not fit one another.

    Source: TensorFlow 1.15, ``tf.SparseTensor``.

    >>> sp = SparseTensor([[0, 1], [2, 0]], [5.0, 7.0], [3, 2])
    >>> dv.sparse.to_dense(sp).numpy().tolist()
    [[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        self.indices = convert_to_tensor(indices, int64, name="indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, int64, name="dense_shape")
        places, count, sizes = (
            each.spec.shape for each in (self.indices, self.values, self.dense_shape)
        )
        for what, shape, rank in (
            ("indices", places, 2),
            ("values", count, 1),
            ("dense_shape", sizes, 1),
        ):
            if shape is not None and len(shape) != rank:
                raise ValueError(
                    f"SparseTensor: {what} should have rank {rank}, got shape {shapes.show(shape)}"
                )
        if places and count and not shapes.compatible(places[:1], count):
            raise ValueError(
                "SparseTensor: indices and values are of different numbers: Dimensions "
                f"{places[0]} and {count[0]} are not compatible"
            )
        if places and sizes and not shapes.compatible(places[1:], sizes):
            raise ValueError(
                "SparseTensor: indices have other coordinates than the shape has sizes: Dimensions "
                f"{places[1]} and {sizes[0]} are not compatible"
            )

    name: str = forwards("values.name", "The name of the values.")
    op: Operation = forwards("values.op", "The operation that makes the values.")
    dtype: DType = forwards("values.dtype", "The dtype of the values.")
    graph: Any = forwards("values.graph", "The graph of the values.")

    @classmethod
    def from_value(cls, value: SparseTensor | SparseTensorValue) -> SparseTensor:
        """Return a `SparseTensorValue` as a tensor; a tensor as it is."""
        return value if isinstance(value, cls) else cls(*sparse_parts(value))

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole, as far as it is known before it runs."""
        known = partial_value(self.dense_shape)
        if known is not None:
            return TensorShape([None if n is None or n < 0 else int(n) for n in known])
        sizes = self.dense_shape.spec.shape
        return TensorShape([None] * sizes[0] if sizes and sizes[0] is not None else None)

    def get_shape(self) -> TensorShape:
        """Return `shape`."""
        return self.shape

    def __iter__(self) -> Iterator[Tensor]:
        """Refuse: three tensors are no sequence of elements."""
        raise TypeError("a SparseTensor is not iterable: use its indices, values and dense_shape")

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Return the value, run in a session: that given, or the default one.

        Args:
          feed_dict: values of placeholders.
          session: where it is run.
        """
        found = stacks.session_for(session, self.graph, "evaluate tensor")
        value: SparseTensorValue = found.run(self, feed_dict)
        return value

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices}, values={self.values}, "
            f"dense_shape={self.dense_shape})"
        )

    __repr__ = __str__


def sparse_parts(value: Any) -> tuple[Any, Any, Any]:
    """Return indices, values and shape of what stands for a sparse tensor.

    Args:
      value: a `SparseTensorValue` or another triple, a matrix of scipy.sparse, or an array of the
        ``sparse`` package.

    Raises:
      TypeError: it is none of these.
    """
    if isinstance(value, tuple | list) and len(value) == 3:
        return value[0], value[1], value[2]
    tocoo = getattr(value, "tocoo", None) or getattr(value, "to_coo", None)
    found = tocoo() if tocoo is not None else value
    coordinates = getattr(found, "coords", None)
    if coordinates is None or not hasattr(found, "data"):
        raise TypeError(
            f"a {type(value).__name__} is no sparse tensor: give a SparseTensorValue of indices, "
            "values and dense_shape, a matrix of scipy.sparse or an array of the sparse package"
        )
    places = numpy.stack([numpy.asarray(each, numpy.int64) for each in coordinates], 1)
    order = numpy.lexsort(places.T[::-1])
    return places[order], numpy.asarray(found.data)[order], numpy.array(found.shape, numpy.int64)
