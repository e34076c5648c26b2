"""Ids for all keys: those of a table, and buckets by a hash for what is not in it."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

from daskvars.dtypes import DTypeLike, as_dtype, int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.control.dependencies import no_op
from daskvars.ops.math.arithmetic import add
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import not_equal, where
from daskvars.ops.string_hashes import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from daskvars.ops.strings import as_string
from daskvars.v1.lookup.initializers import TableInitializerBase
from daskvars.v1.lookup.tables import HashTable, LookupInterface


class HasherSpec(NamedTuple):
    """Which hash puts keys into buckets.

    Attributes:
      hasher: "fasthash", "stronghash" or "legacy".
      key: two numbers, for the strong one.
    """

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


def StrongHashSpec(key: Sequence[int]) -> HasherSpec:
    """Return the strong hash with a key of two numbers.

    Raises:
      ValueError: there are not two.
      TypeError: they are no integers.
    """
    if len(key) != 2:
        raise ValueError(f"key must have size 2, got {len(key)}.")
    if not all(isinstance(number, numbers.Integral) for number in key):
        raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
    return HasherSpec("stronghash", list(key))


class IdTableWithHashBuckets(LookupInterface):
    """A table of ids in which every key has one: what is in no table is put into a bucket.

    Args:
      table: of strings or int64 numbers to int64 ids, from 0 on; None for buckets alone.
      num_oov_buckets: how many buckets there are, behind the ids of the table.
      hasher_spec: by which hash.
      name: name of the operations.
      key_dtype: of the keys looked up, by default the table's.

    Raises:
      TypeError, ValueError: keys, ids, hash or number of buckets are not such.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.IdTableWithHashBuckets``.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike | None = None,
    ) -> None:
        wanted = as_dtype(key_dtype) if key_dtype is not None else None
        if table is None:
            if num_oov_buckets <= 0:
                raise ValueError("oov_buckets must be > 0 if no table is supplied.")
            wanted = wanted or string
        else:
            wanted = wanted or table.key_dtype
            if table.key_dtype not in (int64, string):
                raise TypeError(f"Invalid key dtype, expected int64 or string: {table.key_dtype}.")
            if table.key_dtype.is_integer != wanted.is_integer:
                kind = "integer" if wanted.is_integer else "non-integer"
                raise TypeError(f"Invalid key dtype, expected {kind} but got {table.key_dtype}.")
            if table.value_dtype != int64:
                raise TypeError(
                    f"Invalid value dtype, expected {int64} but got {table.value_dtype}."
                )
        if not wanted.is_integer and wanted != string:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {wanted}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        self._table, self._num_oov_buckets, self._spec = table, num_oov_buckets, hasher_spec
        default = "hash_bucket" if table is None else table.name
        super().__init__(wanted, int64, (name or default).rstrip("/"))

    @property
    def init(self) -> Operation:
        """What fills the table."""
        return no_op(name="init") if self._table is None else self._table.init

    initializer = init

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the table, None where there is none."""
        return None if self._table is None else self._table.resource_handle

    table_ref = resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of ids, buckets included: [] int64."""
        with name_scope(name, f"{self._name}_Size"):
            known = convert_to_tensor(0, int64) if self._table is None else self._table.size()
            return add(known, self._num_oov_buckets)

    def _buckets(self, keys: Tensor) -> Tensor:
        functions: dict[str, Any] = {
            "fasthash": string_to_hash_bucket_fast,
            "legacy": string_to_hash_bucket,
            "stronghash": functools.partial(string_to_hash_bucket_strong, key=self._spec.key),
        }
        if self._spec.hasher not in functions:
            raise ValueError(f"Unknown hasher {self._spec.hasher}")
        texts = keys if keys.dtype.base_dtype == string else as_string(keys)
        found: Tensor = functions[self._spec.hasher](
            texts, num_buckets=self._num_oov_buckets, name="hash_bucket"
        )
        return found

    def _found(self, keys: Tensor, name: str | None) -> Tensor:
        if self._table is not None and self._table.key_dtype == int64:
            keys = cast(keys, int64)
        if not self._num_oov_buckets:
            ids: Tensor = self._table.lookup(keys, name=name)
            return ids
        with name_scope(name, f"{self._name}_Lookup"):
            ids = self._buckets(keys)
            if self._table is not None:
                known = self._table.lookup(keys)
                behind = add(ids, self._table.size())
                ids = where(not_equal(known, self._table.default_value), known, behind)
            return ids


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table of ids in which every key has one, filled once.

    Args:
      initializer: what fills it, from strings or int64 numbers to int64 ids from 0 on; None for
        buckets alone.
      num_oov_buckets: how many buckets there are, at least one.
      lookup_key_dtype: of the keys looked up, by default that of the table's.
      name: name of the operation.

    Raises:
      TypeError, ValueError: as of `IdTableWithHashBuckets`.

    Source: TensorFlow 1.15, ``tf.lookup.StaticVocabularyTable``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    ...     table = tf.lookup.StaticVocabularyTable(pairs, num_oov_buckets=5)
    ...     sess.run(table.initializer)
    ...     sess.run(table.lookup(tf.constant(["a", "zz", "q", "hello"]))).tolist()
    [0, 4, 5, 3]
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(f"oov_buckets must be > 0; use StaticHashTable, got {num_oov_buckets}")
        table = None if initializer is None else HashTable(initializer, -1, name=name)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)
