"""Tables that are filled once, and tables that grow."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.graph import Graph
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.constant import zeros
from daskvars.ops.control.dependencies import group
from daskvars.ops.state.assign import assign
from daskvars.surface.forwarding import forwards
from daskvars.train.checkpoints.saver import mirrors
from daskvars.v1.lookup import table_ops
from daskvars.v1.lookup.initializers import TableInitializerBase
from daskvars.variables.variable import Variable


class LookupInterface:
    """What has values for keys.

    Args:
      key_dtype: of the keys.
      value_dtype: of the values.
      name: of the table.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, name: str) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._name = name.rpartition("/")[2]

    key_dtype: DType = forwards("_key_dtype", "Of the keys.")
    value_dtype: DType = forwards("_value_dtype", "Of the values.")
    name: str = forwards("_name", "The name of the table.")

    def _checked(self, keys: Any) -> Any:
        """Return keys, sparse or not, as tensors. Raises TypeError for those of another dtype."""
        if not isinstance(keys, SparseTensor):
            keys = convert_to_tensor(keys)
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}."
            )
        return keys

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of keys.

        Args:
          keys: [...] of the table's dtype, or a sparse tensor.
          name: name of the operation.

        Returns:
          [...] values, or a sparse tensor of them.

        Raises:
          TypeError: the keys are of another dtype.
          FailedPreconditionError: (when run) the table was not initialized.
        """
        keys = self._checked(keys)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self._found(keys.values, name), keys.dense_shape)
        return self._found(keys, name)

    def _found(self, keys: Tensor, name: str | None) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must say what it has for keys")


class _TableOfOwn(LookupInterface):
    """A table that has its pairs itself."""

    def __init__(
        self,
        dtypes: tuple[DTypeLike, DTypeLike],
        default_value: TensorLike,
        grows: bool,
        shared_name: str | None,
        name: str,
    ) -> None:
        key_dtype, value_dtype = map(as_dtype, dtypes)
        self._default = convert_to_tensor(default_value, value_dtype, name="Const")
        self._shape = self._default.get_shape().as_list()
        self._handle = table_ops.make(
            (key_dtype, value_dtype), self._shape, grows, shared_name, name
        )
        super().__init__(key_dtype, value_dtype, self._handle.op.name)

    default_value: Tensor = forwards("_default", "The value of keys that are not in the table.")
    resource_handle: Tensor = forwards("_handle", "The handle: [] string.")
    table_ref = resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys: [] int64."""
        with name_scope(name, f"{self._name}_Size"):
            return table_ops.size(self._handle)

    def _found(self, keys: Tensor, name: str | None) -> Tensor:
        with name_scope(name, f"{self._name}_Lookup"):
            return table_ops.find(self._handle, keys, self._default)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys, [n], and their values, [n, ...]."""
        with name_scope(name, f"{self._name}_Export") as scope:
            dtypes = (self._key_dtype, self._value_dtype)
            keys, values = table_ops.export(self._handle, dtypes, self._shape, scope)
            return keys, values


class HashTable(_TableOfOwn):
    """A table that is filled once, by its initializer.

    Args:
      initializer: what fills it, such as `KeyValueTensorInitializer`.
      default_value: [], the value of keys that are not in it.
      shared_name: the table's name for all sessions on one store.
      name: name of the operation.

    Raises:
      TypeError: the default value is of another dtype than the values.
      ValueError: it is no scalar.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.HashTable``, ``tf.lookup.StaticHashTable``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     pairs = tf.lookup.KeyValueTensorInitializer(["low", "high"], [1, 2])
    ...     table = tf.lookup.StaticHashTable(pairs, default_value=-1)
    ...     sess.run(tf.tables_initializer())
    ...     sess.run(table.lookup(tf.constant(["high", "other"]))).tolist()
    [2, -1]
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        dtypes = initializer.key_dtype, initializer.value_dtype
        default = convert_to_tensor(default_value, dtypes[1], name="Const")
        if default.get_shape().ndims != 0:
            raise ValueError(f"default_value must be a scalar, got shape {default.get_shape()}")
        super().__init__(dtypes, default, False, shared_name, name or "hash_table")
        self._init = initializer.initialize(self)

    init: Operation = forwards("_init", "What fills the table.")
    initializer = init


StaticHashTable = HashTable


class MutableHashTable(_TableOfOwn):
    """A table that grows, and whose values may be changed, while a program runs.

    Its pairs are in the session's process and end with the session. A checkpoint has them, as two
    arrays of the table's name with "-keys" and "-values", from which `Saver.restore` fills it.

    Args:
      key_dtype: of the keys.
      value_dtype: of the values.
      default_value: [...], the value of keys that are not in it; all values have its shape.
      shared_name: the table's name for all sessions on one store.
      name: name of the operation.
      checkpoint: whether a saver of all variables saves and restores the pairs.

    Source: TensorFlow 1.15, ``tf.contrib.lookup.MutableHashTable``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    ...     sess.run(table.insert(["a", "b"], [1, 2]))
    ...     sess.run(table.lookup(tf.constant(["b", "c"]))).tolist()
    [2, -1]
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__((key_dtype, value_dtype), default_value, True, shared_name, name)
        self._mirrors: dict[str, Variable] = {}
        builder = self._handle.graph
        if checkpoint and not builder.is_eager and not builder.is_body:
            self._mirror(builder, name)

    def saved_mirrors(self) -> dict[str, Variable]:
        """Return the variables that a checkpoint has of the table: its "keys" and "values".

        Raises:
          ValueError: the table was made with ``checkpoint=False``, or in eager code.
        """
        if not self._mirrors:
            raise ValueError(f"the table {self._name!r} was made with checkpoint=False")
        return self._mirrors

    def _mirror(self, graph: Graph, name: str) -> None:
        """Have savers of all variables save the pairs too."""
        with graph.control_dependencies(None), graph.name_scope(None):
            pairs = table_ops.export(
                self._handle, (self._key_dtype, self._value_dtype), self._shape, f"{name}_Saved"
            )
            self._mirrors = {
                what: Variable(
                    zeros([0, *[n or 0 for n in shape]], dtype),
                    trainable=False,
                    collections=[GraphKeys.SAVEABLE_OBJECTS],
                    validate_shape=False,
                    name=f"{name}-{what}",
                )
                for what, dtype, shape in (
                    ("keys", self._key_dtype, []),
                    ("values", self._value_dtype, self._shape),
                )
            }
            kept = list(self._mirrors.values())
            updates = [assign(v, x, validate_shape=False) for v, x in zip(kept, pairs, strict=True)]
            load = table_ops.changed(table_ops.IMPORT, self._handle, *kept, name=f"{name}_Restored")
            # The first of both is what tells that the table is saved.
            mirrors(graph)[kept[0].handle.op.attrs["key"]] = group(*updates), load

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that adds pairs, or gives keys other values.

        Args:
          keys: [...] of the table's dtype.
          values: [..., ...] with the default value's shape behind that of the keys.
          name: name of the operation.

        Raises:
          TypeError: keys or values are of other dtypes.
          InvalidArgumentError: (when run) the shapes do not fit.
        """
        keys = convert_to_tensor(keys, self._key_dtype)
        values = convert_to_tensor(values, self._value_dtype)
        name = name or f"{self._name}_lookup_table_insert"
        return table_ops.changed(table_ops.INSERT, self._handle, keys, values, name=name)

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that removes keys, of which some need not be there."""
        keys = convert_to_tensor(keys, self._key_dtype)
        name = name or f"{self._name}_lookup_table_remove"
        return table_ops.changed(table_ops.REMOVE, self._handle, keys, name=name)
