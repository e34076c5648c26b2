"""What all columns have, and the features that one call makes its input of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from daskvars import dtypes
from daskvars.dtypes import DType, int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import constant
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.checks.assertions import assert_positive
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.gather_scatter.scatter import gather_nd
from daskvars.ops.math.arithmetic import maximum
from daskvars.ops.math.comparison import not_equal, where
from daskvars.ops.sparse.indices import reshape as sparse_reshape
from daskvars.shapes import TensorShape


class IdWeightPair(NamedTuple):
    """The ids of a categorical column, and what each of them weighs.

    Attributes:
      id_tensor: sparse int64 [batch, ...].
      weight_tensor: sparse float at the same places; None for ones.
    """

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class FeatureColumn(ABC):
    """How one tensor is made of features."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The column's name, from those of its features."""

    @property
    def var_scope_name(self) -> str:
        """The variable scope of its weights."""
        return self.name

    @property
    @abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The declarations of its features, for `parse_example`."""

    @abstractmethod
    def transform_feature(self, inputs: FeatureValues) -> Any:
        """Return what is made of the features, before any weights."""


class DenseColumn(FeatureColumn):
    """A column of numbers: as many for each example."""

    @property
    @abstractmethod
    def variable_shape(self) -> TensorShape:
        """The shape of one example's numbers."""

    def get_dense_tensor(
        self,
        inputs: FeatureValues,
        weight_collections: Sequence[str] | None = None,
        trainable: bool | None = None,
    ) -> Tensor:
        """Return [batch, *variable_shape] float32; new variables go to the collections."""
        return inputs.get(self)


class CategoricalColumn(FeatureColumn):
    """A column of ids, any number for each example."""

    @property
    @abstractmethod
    def num_buckets(self) -> int:
        """How many ids there are."""

    def get_sparse_tensors(self, inputs: FeatureValues) -> IdWeightPair:
        """Return the ids and their weights."""
        return IdWeightPair(inputs.get(self), None)


class FeatureValues:
    """The features of one call: each is converted once, and each column transformed once.

    Args:
      features: key -> tensor, sparse tensor or array; column -> what is made of it already.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._given = dict(features)
        self._found: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """Return a feature of at least two dimensions, or what a column makes of features.

        Args:
          key: of a feature, or a column.

        Raises:
          ValueError: there is no such feature, or one has no dimension for examples.
          TypeError: it is neither a key nor a column.
        """
        if key not in self._found:
            self._found[key] = self._feature(key) if key in self._given else self._made(key)
        return self._found[key]

    def _made(self, column: Any) -> Any:
        if isinstance(column, str):
            raise ValueError(f"Feature {column} is not in features dictionary.")
        if not isinstance(column, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {column}')
        made = column.transform_feature(self)
        if made is None:
            raise ValueError(f"Column {column.name} is not supported.")
        return made

    def _feature(self, key: Any) -> Tensor | SparseTensor:
        feature = as_feature(self._given[key])
        rank = feature.get_shape().ndims
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {feature}")
        return feature if rank is not None and rank > 1 else _matrix(feature, key)


def as_feature(value: Any) -> Tensor | SparseTensor:
    """Return a sparse value as a sparse tensor, anything else as a tensor."""
    if isinstance(value, SparseTensor | SparseTensorValue):
        return SparseTensor.from_value(value)
    return convert_to_tensor(value)


def _matrix(feature: Any, key: Any) -> Any:
    """Return [batch] values as [batch, 1], those of two and more dimensions as they are."""
    sparse = isinstance(feature, SparseTensor)
    if not sparse and feature.get_shape().ndims == 1:
        return expand_dims(feature, 1)
    sizes = feature.dense_shape if sparse else constant.shape(feature)
    rank = constant.size(sizes)
    check = assert_positive(rank, message=f"Feature (key: {key}) cannot have rank 0.")
    with control_dependencies([check]):
        missing = constant.fill(maximum(2 - rank, 0)[None], constant.constant(1, sizes.dtype))
    return (sparse_reshape if sparse else reshape)(feature, concat([sizes, missing], 0))


def as_sparse_feature(feature: Any, missing: Any = None) -> SparseTensor:
    """Return a feature as a sparse tensor.

    Args:
      feature: a sparse tensor, which is returned, or a tensor.
      missing: what stands for no value; by default -1 of integers, "" of strings.
    """
    if isinstance(feature, SparseTensor):
        return feature
    with name_scope(None, "to_sparse_input", [feature]):
        dtype = feature.dtype.base_dtype
        if missing is None:
            missing = "" if dtype == string else -1 if dtype.is_integer else 0
        places = where(not_equal(feature, constant.constant(missing, dtype)), name="indices")
        return SparseTensor(
            places,
            gather_nd(feature, places, name="values"),
            constant.shape(feature, out_type=int64, name="dense_shape"),
        )


def checked_columns(feature_columns: Any) -> list[FeatureColumn]:
    """Return columns, or one, as a list.

    Raises:
      ValueError: there are none, one is no column, or two have one name.
    """
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    by_name: dict[str, FeatureColumn] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                "Items of feature_columns must be a _FeatureColumn. "
                f"Given (type {type(column)}): {column}."
            )
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{by_name[column.name]}. This usually means that these columns refer to same base "
                "feature. Either one must be discarded or a duplicated but renamed item must be "
                "inserted in features dict."
            )
        by_name[column.name] = column
    if not by_name:
        raise ValueError("feature_columns must not be empty.")
    return list(by_name.values())


def check_ids_dtype(dtype: DType, of: str) -> None:
    """Raise ValueError unless ids can be made of a dtype."""
    if dtype != string and not dtype.is_integer:
        raise ValueError(f"{of} dtype must be string or integer. dtype: {dtype!r}.")


def check_float_dtype(dtype: Any, told: str) -> None:
    """Raise ValueError unless a dtype's values are numbers."""
    if not isinstance(dtype, dtypes.DType) or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(told)
