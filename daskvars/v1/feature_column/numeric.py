"""Columns of numbers: as they are, and in buckets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from daskvars.dtypes import DType, float32, int32, int64
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import constant
from daskvars.ops.array.joining import stack
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.ranges import range as range_
from daskvars.ops.array.repeating import tile
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.gather_scatter.searching import searchsorted
from daskvars.ops.math.casting import cast
from daskvars.ops.parsing import FixedLenFeature
from daskvars.shapes import TensorShape
from daskvars.surface.signatures import with_arguments_of
from daskvars.v1.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureValues,
    IdWeightPair,
    check_float_dtype,
)


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """See `numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Tensor], Tensor] | None

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """As many numbers for each example."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, inputs: FeatureValues) -> Tensor:
        """Return the numbers, normalized, as float32."""
        numbers = inputs.get(self.key)
        if isinstance(numbers, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. "
                f"SparseTensor is not supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            numbers = self.normalizer_fn(numbers)
        return cast(numbers, float32)

    @property
    def variable_shape(self) -> TensorShape:
        """The declared shape."""
        return TensorShape(self.shape)


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """See `bucketized_column`."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """That of the numbers, and what is made of them."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the numbers."""
        return self.source_column.parse_example_spec

    def transform_feature(self, inputs: FeatureValues) -> Tensor:
        """Return for each number its bucket, int32."""
        limits = constant.constant(numpy.asarray(self.boundaries, numpy.float32))
        return searchsorted(limits, inputs.get(self.source_column), "right", int32)

    @property
    def variable_shape(self) -> TensorShape:
        """An indicator of each bucket for each number."""
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @with_arguments_of(DenseColumn.get_dense_tensor)
    def get_dense_tensor(self, inputs: FeatureValues, **arguments: Any) -> Tensor:
        """Return 1 at the bucket of each number, 0 elsewhere."""
        return one_hot(cast(inputs.get(self), int64), len(self.boundaries) + 1, 1.0, 0.0)

    @property
    def num_buckets(self) -> int:
        """Each number has its own buckets."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def get_sparse_tensors(self, inputs: FeatureValues) -> IdWeightPair:
        """Return the buckets as ids, those of the second number behind those of the first."""
        buckets = inputs.get(self)
        examples, numbers = constant.shape(buckets)[0], self.source_column.shape[0]
        columns = tile(range_(numbers), examples[None])
        rows = reshape(tile(range_(examples)[:, None], [1, numbers]), [-1])
        ids = reshape(buckets, [-1]) + (len(self.boundaries) + 1) * columns
        places = cast(stack([rows, columns], axis=1), int64)
        sizes = cast(stack([examples, numbers]), int64)
        return IdWeightPair(SparseTensor(places, cast(ids, int64), sizes), None)


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: DType = float32,
    normalizer_fn: Callable[[Tensor], Tensor] | None = None,
) -> NumericColumn:
    """Return a dense column of numbers as they are.

    Args:
      key: of the feature.
      shape: of one example's numbers; a number is one dimension.
      default_value: what examples without the feature have: a number, or one for each place.
      dtype: of the feature.
      normalizer_fn: function of the feature's tensor.

    Raises:
      TypeError: a dimension is no int, the default is of another dtype, or the normalizer cannot be
        called.
      ValueError: a dimension is below 1, the default has another shape, or the dtype no numbers.

    Source: TensorFlow 1.15, ``tf.feature_column.numeric_column``.

    >>> price = tf.feature_column.numeric_column("price")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     layer = tf.feature_column.input_layer({"price": [[1.0], [5.0]]}, [price])
    ...     sess.run(layer).tolist()
    [[1.0], [5.0]]
    """
    sizes = _checked_shape(shape, key)
    check_float_dtype(dtype, f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default = _checked_default(sizes, default_value, dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, sizes, default, dtype, normalizer_fn)


def _checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    told = f"shape: {sizes}, key: {key}"
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. {told}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. {told}")
    return sizes


def _checked_default(sizes: tuple[int, ...], default: Any, dtype: DType, key: str) -> Any:
    if default is None:
        return None
    values = numpy.asarray(default)
    kinds = "iuf" if dtype.is_floating else "iu"
    if values.dtype.kind not in kinds:
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {default}, dtype: "
            f"{dtype}, key: {key}"
        )
    if values.ndim == 0 and isinstance(default, int | float):
        return _as_tuples(numpy.full(sizes, default).tolist())
    if values.shape != sizes:
        raise ValueError(
            "The shape of default_value must be equal to given shape. default_value: "
            f"{default}, shape: {sizes}, key: {key}"
        )
    return _as_tuples(values.tolist())


def _as_tuples(values: Any) -> Any:
    return tuple([_as_tuples(v) for v in values]) if isinstance(values, list) else values


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> Any:
    """Return a column of the buckets that numbers are in: dense indicators, or ids.

    Args:
      source_column: a `numeric_column` of one dimension.
      boundaries: in ascending order: a number is in bucket i if it is not below i of them.

    Raises:
      ValueError: the source is no such column, or the boundaries are not ascending.

    Source: TensorFlow 1.15, ``tf.feature_column.bucketized_column``.

    >>> column = tf.feature_column.numeric_column("price")
    >>> column = tf.feature_column.bucketized_column(column, [0.0, 10.0])
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     layer = tf.feature_column.input_layer({"price": [[-1.0], [10.0]]}, [column])
    ...     sess.run(layer).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). "
            f"Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    ascending = isinstance(boundaries, list | tuple) and all(
        a < b for a, b in itertools.pairwise(boundaries)
    )
    if not ascending or not boundaries:
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))
