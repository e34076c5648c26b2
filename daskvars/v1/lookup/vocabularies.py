"""`tf.contrib.lookup`: tables of the lines of a file, or of the elements of a list."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DTypeLike, as_dtype, int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import size
from daskvars.ops.array.ranges import range as range_
from daskvars.ops.math.casting import cast
from daskvars.v1.lookup.buckets import FastHashSpec, HasherSpec, IdTableWithHashBuckets
from daskvars.v1.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from daskvars.v1.lookup.tables import HashTable


def _checked_file(vocabulary_file: Any) -> Any:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    return vocabulary_file


def _check_keys(num_oov_buckets: int, dtype: Any) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if not dtype.is_integer and dtype != string:
        raise TypeError("Only integer and string keys are supported.")


def index_table_from_file(
    vocabulary_file: TensorLike | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: DTypeLike = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table from the lines of a file to their numbers.

    Args:
      vocabulary_file: the file's name, or a [] string tensor.
      num_oov_buckets: how many buckets there are, behind the lines, for keys that are none of them.
      vocab_size: how many lines are read, by default all.
      default_value: of other keys, where there are no buckets.
      hasher_spec: which hash chooses the bucket.
      key_dtype: string, or integer.
      name: name of the operations.
      key_column_index: which column of a line is the key; see `TextFileIndex`.
      value_column_index: and which the value.
      delimiter: between columns.

    Raises:
      ValueError: there is no file, or a number is not such.
      TypeError: keys cannot be of this dtype.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.index_table_from_file``.
    """
    vocabulary_file = _checked_file(vocabulary_file)
    dtype = as_dtype(key_dtype)
    _check_keys(num_oov_buckets, dtype)
    _check_size(vocab_size, vocabulary_file)
    with name_scope(name, "string_to_index") as scope:
        with name_scope(None, "hash_table") as inner:
            pairs = TextFileIdTableInitializer(
                vocabulary_file,
                key_column_index,
                value_column_index,
                vocab_size,
                delimiter,
                "table_init",
                int64 if dtype.is_integer else string,
            )
            shared = _shared_name(vocabulary_file, vocab_size, key_column_index, value_column_index)
            table = HashTable(pairs, default_value, shared, inner)
        if not num_oov_buckets:
            return table
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, scope, dtype)


def _check_size(vocab_size: int | None, vocabulary_file: Any) -> None:
    if vocab_size is None or vocab_size > 0:
        return
    if isinstance(vocabulary_file, Tensor):
        known = constant_value(vocabulary_file)
        vocabulary_file = vocabulary_file.name if known is None else known.item().decode()
    raise ValueError(
        f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {vocabulary_file}"
    )


def _shared_name(vocabulary_file: Any, vocab_size: int | None, key: int, value: int) -> str:
    """Return the name that sessions share a file's table by."""
    is_tensor = isinstance(vocabulary_file, Tensor)
    file = vocabulary_file.name if is_tensor else str(vocabulary_file)
    return f"hash_table_{file}_{f'{vocab_size}_' if vocab_size else ''}{key}_{value}"


def index_table_from_tensor(
    vocabulary_list: TensorLike,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string,
    name: str | None = None,
) -> Any:
    """Return a table from the elements of a list to their places.

    Args:
      vocabulary_list: [n] string or integer, all different.
      num_oov_buckets, default_value, hasher_spec, name: as of `index_table_from_file`.
      dtype: of the keys: string, or integer.

    Raises:
      ValueError: there is no list, or one of another dtype.
      TypeError: keys cannot be of this dtype.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.index_table_from_tensor``.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    dtype = as_dtype(dtype)
    _check_keys(num_oov_buckets, dtype)
    with name_scope(name, "string_to_index") as scope:
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        with name_scope(None, "hash_table") as inner:
            known = cast(keys, int64) if dtype.is_integer else keys
            places = cast(range_(size(keys)), int64)
            pairs = KeyValueTensorInitializer(known, places, name="table_init")
            table = HashTable(pairs, default_value, name=inner)
        if not num_oov_buckets:
            return table
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, scope, dtype)


def index_to_string_table_from_file(
    vocabulary_file: TensorLike,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """Return a table from the numbers of a file's lines to the lines.

    Args:
      vocabulary_file, vocab_size, name: as of `index_table_from_file`.
      key_column_index, value_column_index, delimiter: likewise.
      default_value: of other numbers.

    Raises:
      ValueError: there is no file, or a number is not such.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.index_to_string_table_from_file``.
    """
    vocabulary_file = _checked_file(vocabulary_file)
    _check_size(vocab_size, vocabulary_file)
    with name_scope(name, "index_to_string") as scope:
        pairs = TextFileStringTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        shared = _shared_name(vocabulary_file, vocab_size, key_column_index, value_column_index)
        return HashTable(pairs, default_value, shared, scope)


def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike, default_value: str = "UNK", name: str | None = None
) -> HashTable:
    """Return a table from places in a list of strings to the strings.

    Args:
      vocabulary_list: [n] string.
      default_value: of other numbers.
      name: name of the operations.

    Raises:
      ValueError: there is no list.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.index_to_string_table_from_tensor``.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string") as scope:
        strings = convert_to_tensor(vocabulary_list, string)
        places = cast(range_(size(strings)), int64)
        pairs = KeyValueTensorInitializer(places, strings, name="table_init")
        return HashTable(pairs, default_value, name=scope)
