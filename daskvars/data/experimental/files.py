"""Files as batches that a model takes: tables of separated values, examples."""

from __future__ import annotations

import csv
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy

from daskvars.data.arguments import as_compression, path_text
from daskvars.data.dataset import Dataset, TextLineDataset, TFRecordDataset, file_names
from daskvars.data.experimental.transformations import Transformation, ignore_errors as ignoring
from daskvars.data.nodes.mapping import AUTOTUNE
from daskvars.data.records.tfrecords import compression_of
from daskvars.dtypes import DType, float32, float64, int32, int64, string
from daskvars.kernels.opened_files import names_like, opened_plain
from daskvars.ops.array.constant import constant
from daskvars.ops.parsing import decode_csv, parse_example
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_in_order


@accepts("buffer_size")
class CsvDataset(Dataset):
    """The rows of files of separated values, as tuples of scalars.

    Lines are records: a value in quotes may contain the delimiter, but no end of a line.

    Args:
      filenames: a path or URL, several, or a dataset of them.
      record_defaults: for each column that is wanted a dtype, where a value is required, or a list
        or tensor of one value, which stands for a missing one and says the dtype.
      compression_type: "", "ZLIB" or "GZIP".
      header: whether the first line of each file is left out.
      field_delim: the character between values.
      use_quote_delim: whether values may be in double quotes.
      na_value: what else says that a value is missing.
      select_cols: the columns that are wanted, ascending; by default all.

    Raises:
      ValueError: `select_cols` are not ascending, or not as many as defaults.
      InvalidArgumentError: (when iterated) a line has another number of values, one of them cannot
        be read, or is required and missing.

    Source: TensorFlow 1.15, ``tf.data.experimental.CsvDataset``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "few.csv")
    >>> size = path.write_text("x,y,z\\n1,2.5,a\\n3,,b\\n")
    >>> rows = CsvDataset(str(path), [int32, [0.5]], header=True, select_cols=[0, 1])
    >>> [(int(x), float(y)) for x, y in rows]
    [(1, 2.5), (3, 0.5)]
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        read: dict[str, Any] = {"na_value": na_value, "select_cols": select_cols}

        def parsed(line: Any) -> tuple[Any, ...]:
            defaults = [constant([], d) if isinstance(d, DType) else d for d in record_defaults]
            return tuple(decode_csv(line, defaults, field_delim, use_quote_delim, **read))

        super().__init__(_lines(filenames, compression_type, header).map(parsed).node)


def _lines(filenames: Any, compression: Any, header: bool) -> Dataset:
    """Return the lines of files, without the first of each where it is a header."""
    if not header:
        return TextLineDataset(filenames, compression)
    names = Dataset(file_names(filenames))
    return names.flat_map(lambda name: TextLineDataset(name, compression).skip(1))


@accepts("sloppy")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Return a dataset of batches of the columns of files of separated values.

    Args:
      file_pattern: paths or URLs with ``*``, ``?`` and ``[...]``, one or several; files are read
        in the order of their names, or shuffled.
      batch_size: rows of a batch.
      column_names: of all columns; by default those of the header, which all files must have.
      column_defaults: for each column that is wanted a dtype, where a value is required, or a list
        or tensor of one value, which stands for a missing one. By default dtypes are those of the
        first rows (int32, int64, float32, float64, string: the first that can hold them), and 0 or
        "" stands for what is missing.
      label_name: the column that is the label.
      select_columns: names or numbers of the columns that are wanted; by default all.
      field_delim: the character between values.
      use_quote_delim: whether values may be in double quotes.
      na_value: what else says that a value is missing.
      header: whether the first line of each file has names.
      num_epochs: how often; None for without end. Then all batches are of `batch_size`.
      shuffle: whether rows come in another order each time.
      shuffle_buffer_size: rows in the buffer.
      shuffle_seed: int, of the shuffle.
      prefetch_buffer_size: how many batches are prepared ahead; by default two.
      num_parallel_reads: from how many files rows come in turn; by default one.
      num_rows_for_inference: of how many rows dtypes are taken; None for all.
      compression_type: "", "ZLIB" or "GZIP".
      ignore_errors: leave out batches with rows that cannot be read.

    Returns:
      A dataset of dicts, column -> [batch]; of pairs of such a dict and the label, where it has a
      name.

    Raises:
      ValueError: no file matches; a name is none of a column, or twice; numbers of names and
        defaults differ; files have other headers.

    Source: TensorFlow 1.15, ``tf.data.experimental.make_csv_dataset``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "few.csv")
    >>> size = path.write_text("age,name,paid\\n20,ann,1\\n31,bob,0\\n")
    >>> batches = make_csv_dataset(str(path), 2, label_name="paid", num_epochs=1, shuffle=False)
    >>> for features, label in batches:
    ...     features["age"].numpy().tolist(), features["name"].numpy().tolist(), label.numpy()
    ([20, 31], [b'ann', b'bob'], array([1, 0], dtype=int32))
    """
    names = _matching(file_pattern)
    table = _Table(field_delim, use_quote_delim, na_value, compression_type)
    columns = list(column_names) if column_names is not None else table.header(names, header)
    chosen = _chosen(select_columns, columns)
    kept = [columns[number] for number in chosen]
    _check_columns(columns, kept, label_name, column_defaults)
    defaults = column_defaults
    if defaults is None:
        defaults = table.defaults(names, len(columns), chosen, header, num_rows_for_inference)

    def features(*values: Any) -> Any:
        return _labelled(OrderedDict(zip(kept, values, strict=True)), label_name)

    def rows(name: Any) -> Dataset:
        return CsvDataset(
            name,
            defaults,
            compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=chosen,
        )

    files = _files(names, shuffle, shuffle_seed)
    dataset = files.interleave(rows, cycle_length=num_parallel_reads or 1)
    dataset = _in_epochs(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(features)
    if ignore_errors:
        dataset = dataset.apply(ignoring())
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _check_columns(
    columns: Sequence[str],
    kept: Sequence[str],
    label_name: str | None,
    column_defaults: Sequence[Any] | None,
) -> None:
    """Raise ValueError where names and defaults of columns do not fit."""
    if len(set(columns)) < len(columns):
        raise ValueError(f"Cannot have duplicate column names: {columns}")
    if column_defaults is not None and len(column_defaults) != len(kept):
        raise ValueError(
            f"column_defaults are {len(column_defaults)}, but the columns that are wanted "
            f"{len(kept)}"
        )
    if label_name is not None and label_name not in kept:
        raise ValueError(f"`label_name` provided must be one of the columns, found {label_name!r}")


def _labelled(features: Any, label: str | None) -> Any:
    """Return features, and beside them that which is the label, if one is."""
    if label is None:
        return features
    found = features.pop(label)
    return features, found


def _files(names: Sequence[str], shuffle: bool, seed: int | None) -> Dataset:
    files = Dataset.from_tensor_slices(list(names))
    return files.shuffle(len(names), seed) if shuffle else files


def _in_epochs(
    dataset: Dataset,
    num_epochs: int | None,
    shuffle: bool,
    shuffle_buffer_size: int,
    shuffle_seed: int | None,
) -> Dataset:
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def _matching(file_pattern: Any) -> list[str]:
    """Return the names of the files that match, sorted. Raises ValueError where there are none."""
    given = path_text(file_pattern)
    patterns = [given] if isinstance(given, str | bytes) else list(given)
    found = sorted({name for pattern in patterns for name in names_like(os.fsdecode(pattern))})
    if not found:
        raise ValueError(f"No files match {file_pattern!r}.")
    return found


def _chosen(select_columns: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
    """Return the numbers of the columns that are wanted, ascending."""
    if select_columns is None:
        return list(range(len(names)))
    found = []
    for column in select_columns:
        number = names.index(column) if column in names else column
        if isinstance(number, str) or not 0 <= number < len(names):
            raise ValueError(f"{column!r} is none of the columns {list(names)}")
        found.append(int(number))
    if len(set(found)) < len(found):
        raise ValueError(f"select_columns cannot contain duplicate columns: {select_columns}")
    return sorted(found)


class _Table:
    """How files of separated values are read, before there is a dataset of them."""

    def __init__(
        self, separator: str, is_quoted: bool, missing: str, compression: str | None
    ) -> None:
        self._separator, self._missing = separator, missing
        self._is_quoted = is_quoted
        self._compression = compression_of(as_compression(compression)[()])

    def _rows(self, path: str) -> Iterator[list[str]]:
        quoting: Any = csv.QUOTE_MINIMAL if self._is_quoted else csv.QUOTE_NONE
        with opened_plain(path, self._compression) as file:
            lines = (line.decode("utf-8") for line in file)
            yield from csv.reader(lines, delimiter=self._separator, quoting=quoting)

    def header(self, paths: Sequence[str], has_names: bool) -> list[str]:
        """Return the names of columns, which all files begin with.

        Raises:
          ValueError: they have none, or others.
        """
        if not has_names:
            raise ValueError("Cannot infer column names without a header line.")
        first: list[str] | None = None
        for path in paths:
            names = next(self._rows(path), [])
            if first is not None and names != first:
                raise ValueError(
                    f"All files must have the same header: {paths[0]} has {first}, {path} {names}"
                )
            first = names
        assert first is not None
        return first

    def defaults(
        self,
        paths: Sequence[str],
        width: int,
        chosen: Sequence[int],
        has_names: bool,
        most: int | None,
    ) -> list[Any]:
        """Return what stands for missing values, of the dtypes that the first rows have."""
        kinds: list[DType | None] = [None] * width
        seen = 0
        for path in paths:
            for number, row in enumerate(self._rows(path)):
                if number == 0 and has_names:
                    continue
                if most is not None and seen == most:
                    break
                if len(row) != width:
                    raise ValueError(
                        f"Problem inferring types: {path} has a row of {len(row)} values, expected "
                        f"{width}: {row}"
                    )
                seen += 1
                for place in chosen:
                    kinds[place] = self._kind(row[place], kinds[place])
        found = [kinds[place] or string for place in chosen]
        return [constant([b"" if kind is string else 0], kind) for kind in found]

    def _kind(self, value: str, before: DType | None) -> DType | None:
        """Return the first dtype that can hold a value and those before it."""
        if value in ("", self._missing):
            return before
        place = 0 if before is None else _KINDS.index(before)
        return next(kind for kind in _KINDS[place:] if _HOLDS[kind](value))


def _is_integer(value: str, kind: Any) -> bool:
    try:
        number = int(value)
    except ValueError:
        return False
    limits = numpy.iinfo(kind)
    return int(limits.min) <= number <= int(limits.max)


def _is_float(value: str, kind: Any) -> bool:
    try:
        number = float(value)
    except ValueError:
        return False
    return not numpy.isfinite(number) or abs(number) <= float(numpy.finfo(kind).max)


_HOLDS: Mapping[DType, Callable[[str], bool]] = {
    int32: lambda value: _is_integer(value, numpy.int32),
    int64: lambda value: _is_integer(value, numpy.int64),
    float32: lambda value: _is_float(value, numpy.float32),
    float64: lambda value: _is_float(value, numpy.float64),
    string: lambda value: True,
}
_KINDS = list(_HOLDS)


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int = 1
) -> Transformation:
    """Return a function that reads batches of serialized examples, as `parse_example` does.

    Args:
      features: by name, as of `parse_example`.
      num_parallel_calls: how many batches are read at once.

    Raises:
      ValueError: there are no features.

    Source: TensorFlow 1.15, ``tf.data.experimental.parse_example_dataset``.

    >>> x = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": x}))
    >>> examples = Dataset.from_tensors([example.SerializeToString()])
    >>> read = examples.apply(parse_example_dataset({"x": tf.FixedLenFeature([], tf.int64)}))
    >>> next(iter(read))["x"].numpy().tolist()
    [7]
    """
    if not features:
        raise ValueError("Missing: `features` was empty.")
    return lambda dataset: dataset.map(
        lambda serialized: parse_example(serialized, features), num_parallel_calls
    )


@accepts("sloppy_ordering")
@with_arguments_in_order(
    "file_pattern batch_size features reader label_key reader_args num_epochs shuffle "
    "shuffle_buffer_size shuffle_seed prefetch_buffer_size reader_num_threads parser_num_threads "
    "sloppy_ordering drop_final_batch",
    make_csv_dataset,
)
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    prefetch_buffer_size: int | None,
    reader: Callable[..., Dataset] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
    **order: Any,
) -> Dataset:
    """Return a dataset of batches of the features of examples in files.

    Args:
      batch_size: examples of a batch.
      features: by name, as of `parse_example`.
      reader: makes a dataset of serialized examples of the name of a file.
      label_key: the feature that is the label.
      reader_args: further arguments of `reader`.
      reader_num_threads: from how many files examples come in turn; by default one.
      parser_num_threads: how many batches are read at once; by default two.
      drop_final_batch: leave out the last batch if it is smaller.

    Returns:
      A dataset of dicts, feature -> tensor; of pairs of such a dict and the label, where it has a
      name.

    Raises:
      ValueError: no file matches, or the label is none of the features.

    Source: TensorFlow 1.15, ``tf.data.experimental.make_batched_features_dataset``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "few.tfrecord")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     for n in range(3):
    ...         x = tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))
    ...         example = tf.train.Example(features=tf.train.Features(feature={"x": x}))
    ...         writer.write(example.SerializeToString())
    >>> features = {"x": tf.FixedLenFeature([], tf.int64)}
    >>> found = make_batched_features_dataset(path, 2, features, num_epochs=1, shuffle=False)
    >>> [batch["x"].numpy().tolist() for batch in found]
    [[0, 1], [2]]
    """
    names = _matching(file_pattern)
    if label_key is not None and label_key not in features:
        raise ValueError(f"`label_key` {label_key!r} is none of the features {sorted(features)}")

    def parsed(serialized: Any) -> Any:
        return _labelled(parse_example(serialized, features), label_key)

    arguments = tuple(reader_args or ())
    files = _files(names, order["shuffle"], order["shuffle_seed"])
    dataset = files.interleave(
        lambda name: reader(name, *arguments), cycle_length=reader_num_threads or 1
    )
    dataset = _in_epochs(dataset, **order)
    is_whole = drop_final_batch or order["num_epochs"] is None
    dataset = dataset.batch(batch_size, drop_remainder=is_whole)
    dataset = dataset.map(parsed, parser_num_threads or 2)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
