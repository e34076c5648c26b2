"""Where the keys and values of a table come from."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DType, DTypeLike, as_dtype, int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.surface.forwarding import forwards
from daskvars.v1.lookup import files, table_ops


class TextFileIndex:
    """What of a line is a key or a value, where it is no column.

    Attributes:
      WHOLE_LINE: all of it.
      LINE_NUMBER: its number, from 0 on.

    Source: TensorFlow 1.15, ``tf.lookup.TextFileIndex``.

    >>> tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = files.WHOLE_LINE
    LINE_NUMBER = files.LINE_NUMBER


class TableInitializerBase:
    """What fills a table.

    Args:
      key_dtype: of its keys.
      value_dtype: of its values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    key_dtype: DType = forwards("_key_dtype", "Of the keys.")
    value_dtype: DType = forwards("_value_dtype", "Of the values.")

    def initialize(self, table: Any) -> Operation:
        """Return an operation that fills a table."""
        raise NotImplementedError

    def _added(self, operation: Operation) -> Operation:
        operation.graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation


def _check_dtypes(table: Any, initializer: TableInitializerBase) -> None:
    for what in ("key", "value"):
        wanted, found = (getattr(each, f"{what}_dtype") for each in (table, initializer))
        if wanted != found:
            raise TypeError(f"Invalid {what} dtype, expected {wanted} but got {found}.")


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with the elements of two tensors.

    Args:
      keys: [n] string or integer.
      values: [n] any dtype.
      key_dtype: of the keys, where they are no tensor.
      value_dtype: of the values, likewise.
      name: name of the operations.

    Source: TensorFlow 1.15, ``tf.lookup.KeyValueTensorInitializer``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20])
    ...     table = tf.lookup.StaticHashTable(words, default_value=-1)
    ...     sess.run(tf.tables_initializer())
    ...     sess.run(table.lookup(tf.constant(["b", "c"]))).tolist()
    [20, -1]
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "key_value_init") as scope:
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
            self._scope = scope
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def initialize(self, table: Any) -> Operation:
        """Return an operation that fills a table. Raises TypeError for one of other dtypes."""
        _check_dtypes(table, self)
        with name_scope(self._scope):
            return self._added(
                table_ops.changed(
                    table_ops.FILL, table.resource_handle, self._keys, self._values, name=None
                )
            )


class TextFileInitializer(TableInitializerBase):
    """Fills a table with a key and a value of each line of a file.

    Args:
      filename: its name, or a [] string tensor.
      key_dtype: dtype of the keys: string or int64.
      key_index: which column they are, or one of `TextFileIndex`.
      value_dtype: dtype of the values: any.
      value_index: which column they are, or one of `TextFileIndex`.
      vocab_size: how many lines are read, by default all.
      delimiter: between columns.
      name: name of the operation.

    Raises:
      ValueError: there is no name, or a dtype or a number that does not fit.

    Source: TensorFlow 1.15, ``tf.lookup.TextFileInitializer``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "prices.csv")
    >>> size = path.write_text("apple,3\\npear,4\\n")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     prices = tf.lookup.TextFileInitializer(
    ...         str(path), tf.string, 0, tf.int64, 1, delimiter=",")
    ...     table = tf.lookup.StaticHashTable(prices, default_value=-1)
    ...     sess.run(tf.tables_initializer())
    ...     sess.run(table.lookup(tf.constant(["pear"]))).tolist()
    [4]
    """

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self.key_dtype, self.key_dtype.is_integer)
        _check_index("value", value_index, self.value_dtype, False)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename, self._name = filename, name
        self._indices = int(key_index), int(value_index)
        self._vocab_size, self._delimiter = vocab_size, delimiter

    def initialize(self, table: Any) -> Operation:
        """Return an operation that fills a table. Raises TypeError for one of other dtypes."""
        _check_dtypes(table, self)
        with name_scope(self._name, "text_file_init"):
            filename = convert_to_tensor(self._filename, string, name="asset_filepath")
            operation = table_ops.changed(
                table_ops.FILL_FROM_FILE,
                table.resource_handle,
                filename,
                name=None,
                indices=self._indices,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
            )
        if filename.op.type == "Const":
            operation.graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return self._added(operation)


def _check_index(what: str, index: int, dtype: DType, lines_may_be_numbers: bool) -> None:
    if index < files.WHOLE_LINE:
        raise ValueError(f"Invalid {what} index {index}.")
    if index == files.LINE_NUMBER and dtype != int64:
        raise ValueError(f"Signature mismatch. {what}s must be dtype {int64}, got {dtype}.")
    if index == files.WHOLE_LINE and dtype != string and not lines_may_be_numbers:
        raise ValueError(f"Signature mismatch. {what}s must be dtype {string}, got {dtype}.")


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from numbers to strings with the lines of a file. See `TextFileInitializer`."""

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        values = string, value_column_index
        super().__init__(filename, int64, key_column_index, *values, vocab_size, delimiter, name)


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from strings to numbers with the lines of a file. See `TextFileInitializer`."""

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: DTypeLike = string,
    ) -> None:
        values = int64, value_column_index
        super().__init__(
            filename, key_dtype, key_column_index, *values, vocab_size, delimiter, name
        )
