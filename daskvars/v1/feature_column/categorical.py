"""Columns of ids: by hash, from a vocabulary, or as they are; weighted, and crossed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from daskvars.dtypes import DType, as_dtype, float32, int64, string
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import constant
from daskvars.ops.array.reshaping import identity
from daskvars.ops.checks.assertions import assert_greater_equal, assert_less
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater_equal, less, logical_or, where
from daskvars.ops.parsing import VarLenFeature
from daskvars.ops.sparse.crossing import cross_hashed
from daskvars.ops.string_hashes import string_to_hash_bucket_fast
from daskvars.ops.strings import as_string
from daskvars.surface.forwarding import forwards
from daskvars.v1 import gfile, logging
from daskvars.v1.feature_column.columns import (
    CategoricalColumn,
    FeatureColumn,
    FeatureValues,
    IdWeightPair,
    as_sparse_feature,
    check_float_dtype,
    check_ids_dtype,
)
from daskvars.v1.lookup.vocabularies import index_table_from_file, index_table_from_tensor


class KeyedColumn(CategoricalColumn):
    """A categorical column of one feature, of strings or integers."""

    key: str
    dtype: DType

    name: str = forwards("key", "The feature's key.")

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Any number of values for each example."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform_feature(self, inputs: FeatureValues) -> SparseTensor:
        """Return the ids of the feature's values."""
        feature = as_sparse_feature(inputs.get(self.key))
        self._check(feature.dtype.base_dtype)
        ids = self._ids(feature.values)
        return SparseTensor(feature.indices, ids, feature.dense_shape)

    def _check(self, found: DType) -> None:
        if self.dtype.is_integer != found.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {self.dtype}, tensor dtype: {found}"
            )
        check_ids_dtype(found, f"column_name: {self.key} input_tensor")

    @abstractmethod
    def _ids(self, values: Tensor) -> Tensor:
        """Return the ids of [n] values, int64."""


@dataclass(frozen=True)
class HashedCategoricalColumn(KeyedColumn):
    """See `categorical_column_with_hash_bucket`."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        """As many as hashes are taken to."""
        return self.hash_bucket_size

    def _ids(self, values: Tensor) -> Tensor:
        text = values if self.dtype == string else as_string(values)
        return string_to_hash_bucket_fast(text, self.hash_bucket_size, name="lookup")


class _VocabularyColumn(KeyedColumn):
    """A column of ids that a table has of values."""

    def _ids(self, values: Tensor) -> Tensor:
        table = self._table(int64 if self.dtype.is_integer else self.dtype, f"{self.key}_lookup")
        return table.lookup(cast(values, int64) if values.dtype.is_integer else values)

    @abstractmethod
    def _table(self, dtype: DType, name: str) -> Any:
        """Return the table."""


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_VocabularyColumn):
    """See `categorical_column_with_vocabulary_file`."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def num_buckets(self) -> int:
        """The lines, and the buckets behind them."""
        return self.vocabulary_size + self.num_oov_buckets

    def _table(self, dtype: DType, name: str) -> Any:
        return index_table_from_file(
            vocabulary_file=self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=dtype,
            name=name,
        )


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(_VocabularyColumn):
    """See `categorical_column_with_vocabulary_list`."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The words, and the buckets behind them."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _table(self, dtype: DType, name: str) -> Any:
        values, default, extra = self.vocabulary_list, self.default_value, self.num_oov_buckets
        return index_table_from_tensor(values, extra, default, dtype=dtype, name=name)


@dataclass(frozen=True)
class IdentityCategoricalColumn(KeyedColumn):
    """See `categorical_column_with_identity`."""

    key: str
    number_buckets: int
    default_value: int | None
    dtype: DType = int64

    @property
    def num_buckets(self) -> int:
        """As declared."""
        return self.number_buckets

    def _check(self, found: DType) -> None:
        if not found.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {found}")

    def _ids(self, values: Tensor) -> Tensor:
        ids = cast(values, int64, name="values")
        limit, zero = (constant.constant(n, int64) for n in (self.number_buckets, 0))
        if self.default_value is None:
            checks = [
                assert_less(
                    ids,
                    limit,
                    message=f"assert_less_than_num_buckets: ids of feature {self.key!r}",
                    name="assert_less_than_num_buckets",
                ),
                assert_greater_equal(
                    ids,
                    zero,
                    message=f"assert_greater_or_equal_0: ids of feature {self.key!r}",
                    name="assert_greater_or_equal_0",
                ),
            ]
            with control_dependencies(checks):
                return identity(ids)
        outside = logical_or(less(ids, zero), greater_equal(ids, limit), name="out_of_range")
        default = constant.constant(self.default_value, int64)
        return where(outside, constant.fill(constant.shape(ids), default), ids)


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """See `weighted_categorical_column`."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """Those of the ids and of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The ids and the weights."""
        found = dict(self.categorical_column.parse_example_spec)
        key = self.weight_feature_key
        if key in found:
            raise ValueError(f"Parse config {found[key]} already exists for {key}.")
        return found | {key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """As many as there are ids."""
        return self.categorical_column.num_buckets

    def transform_feature(self, inputs: FeatureValues) -> IdWeightPair:
        """Return the ids, and their weights as floats."""
        weights = inputs.get(self.weight_feature_key)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = as_sparse_feature(weights, 0)
        if not weights.dtype.is_floating:
            values = cast(weights.values, float32)
            weights = SparseTensor(weights.indices, values, weights.dense_shape)
        return IdWeightPair(inputs.get(self.categorical_column), weights)

    def get_sparse_tensors(self, inputs: FeatureValues) -> IdWeightPair:
        """Return the ids and their weights."""
        return inputs.get(self)


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """See `crossed_column`."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    def _leaves(self) -> list[Any]:
        """Return the keys and columns that are crossed, those of inner crosses in their place."""
        return [
            leaf
            for key in self.keys
            for leaf in (key._leaves() if isinstance(key, CrossedColumn) else [key])
        ]

    @property
    def name(self) -> str:
        """Those of what is crossed, in order."""
        leaves = self._leaves()
        return "_X_".join(sorted(getattr(leaf, "name", leaf) for leaf in leaves))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of what is crossed; keys are of strings."""
        found: dict[str, Any] = {}
        for key in self.keys:
            is_column = isinstance(key, FeatureColumn)
            found |= key.parse_example_spec if is_column else {key: VarLenFeature(string)}
        return found

    @property
    def num_buckets(self) -> int:
        """As many as hashes are taken to."""
        return self.hash_bucket_size

    def transform_feature(self, inputs: FeatureValues) -> SparseTensor:
        """Return the hashes of all combinations."""
        features = [
            inputs.get(leaf) if isinstance(leaf, str) else self._ids_of(leaf, inputs)
            for leaf in self._leaves()
        ]
        return cross_hashed(features, self.hash_bucket_size, self.hash_key)

    @staticmethod
    def _ids_of(column: CategoricalColumn, inputs: FeatureValues) -> SparseTensor:
        ids, weights = column.get_sparse_tensors(inputs)
        if weights is not None:
            raise ValueError(
                "crossed_column does not support weight_tensor, but the given column populates "
                f"weight_tensor. Given column: {column.name}"
            )
        return ids


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DType = string
) -> HashedCategoricalColumn:
    """Return a column of ids that are hashes of the feature's values.

    Args:
      key: of the feature: sparse, or dense with -1 or "" where there is no value.
      hash_bucket_size: how many ids there are.
      dtype: of the feature: string, or integer.

    Raises:
      ValueError: the size is below 1, or the feature can have no such dtype.

    Source: TensorFlow 1.15, ``tf.feature_column.categorical_column_with_hash_bucket``; the hashes
    are TensorFlow's.

    >>> categorical_column_with_hash_bucket("word", 10).num_buckets
    10
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    check_ids_dtype(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


def _check_buckets(key: str, num_oov_buckets: int | None, has_default: bool) -> None:
    if not num_oov_buckets:
        return
    if has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int | None = 0,
    default_value: int | None = None,
    dtype: DType = string,
) -> VocabularyFileCategoricalColumn:
    """Return a column of ids that are numbers of lines of a file.

    Args:
      key: of the feature: sparse, or dense with -1 or "" where there is no value.
      vocabulary_file: the file's name.
      vocabulary_size: how many of its lines count; by default all, which are counted now.
      num_oov_buckets: how many ids there are, behind the lines, for other values.
      default_value: the id of other values, where there are no such; by default -1: none.
      dtype: of the feature: string, or integer.

    Raises:
      ValueError: there is no file, a number is not such, or the feature can have no such dtype.

    Source: TensorFlow 1.15, ``tf.feature_column.categorical_column_with_vocabulary_file``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> size = path.write_text("good\\nbad\\n")
    >>> words = tf.feature_column.categorical_column_with_vocabulary_file("word", str(path))
    >>> words.name, words.num_buckets
    ('word', 2)
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with gfile.GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
        logging.info(
            "vocabulary_size = %d in %s is inferred from the number of elements in the "
            "vocabulary_file %s.",
            vocabulary_size,
            key,
            vocabulary_file,
        )
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_buckets(key, num_oov_buckets, default_value is not None)
    check_ids_dtype(dtype, f"column_name: {key}")
    default = -1 if default_value is None else default_value
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, dtype, default
    )


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DType | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Return a column of ids that are places in a list.

    Args:
      key: of the feature: sparse, or dense with -1 or "" where there is no value.
      vocabulary_list: the values, all different.
      dtype: of the feature, by default that of the list.
      default_value: the id of other values; -1 is none.
      num_oov_buckets: how many ids there are, behind the list, for other values.

    Raises:
      ValueError: the list is empty or has a value twice, a number is not such, or the dtype does
        not fit.

    Source: TensorFlow 1.15, ``tf.feature_column.categorical_column_with_vocabulary_list``.

    >>> column = tf.feature_column.categorical_column_with_vocabulary_list("size", ["S", "L"])
    >>> column = tf.feature_column.indicator_column(column)
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     layer = tf.feature_column.input_layer({"size": [["L"], ["S"]]}, [column])
    ...     sess.run(tf.tables_initializer())
    ...     sess.run(layer).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    found = as_dtype(numpy.array(vocabulary_list).dtype)
    _check_buckets(key, num_oov_buckets, default_value != -1)
    check_ids_dtype(found, f"column_name: {key} vocabulary")
    if dtype is None:
        dtype = found
    elif dtype.is_integer != found.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {found} do not match, column_name: {key}"
        )
    check_ids_dtype(dtype, f"column_name: {key}")
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets
    )


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return a column of ids as the feature has them.

    Args:
      key: of the feature: integers, sparse, or dense with -1 where there is no value.
      num_buckets: how many ids there are.
      default_value: what ids out of range become; by default they fail the run.

    Raises:
      ValueError: there are no ids, or the default is none of them.

    Source: TensorFlow 1.15, ``tf.feature_column.categorical_column_with_identity``.

    >>> categorical_column_with_identity("day", 7).name
    'day'
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DType = float32
) -> WeightedCategoricalColumn:
    """Return a column of ids that weigh what another feature says.

    Args:
      categorical_column: the ids.
      weight_feature_key: of the feature of weights, one for each id; dense, a 0 is none.
      dtype: of the weights.

    Raises:
      ValueError: the dtype is not of numbers.

    Source: TensorFlow 1.15, ``tf.feature_column.weighted_categorical_column``.

    >>> ids = categorical_column_with_identity("word", 7)
    >>> weighted_categorical_column(ids, "count").name
    'word_weighted_by_count'
    """
    check_float_dtype(dtype, f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


def crossed_column(
    keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Return a column of ids that are hashes of all combinations of several features' values.

    Args:
      keys: two or more: keys of string features, or categorical columns, but none of hashes.
      hash_bucket_size: how many ids there are.
      hash_key: what hashes begin with.

    Raises:
      ValueError: the size is below 1, or there are fewer than two keys, or one cannot be crossed.

    Source: TensorFlow 1.15, ``tf.feature_column.crossed_column``; the hashes are TensorFlow's.

    >>> crossed_column(["country", "city"], 100).name
    'city_X_country'
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str | CategoricalColumn):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as "
                f"a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
