"""Elements kept in a file: written when they are first gone through, then read from it."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import fsspec
import numpy

from daskvars.data.nodes.elements import Element, flatten, no_datasets
from daskvars.data.nodes.functions import arrays_of, components_of, tensors_of
from daskvars.data.nodes.node import Elements, Node, Pass, elements_here
from daskvars.data.nodes.ordering import Cached
from daskvars.data.records.tfrecords import TFRecordWriter
from daskvars.errors import AlreadyExistsError, OpError
from daskvars.graph.sparse_tensor import SparseTensorValue
from daskvars.kernels.opened_files import opened
from daskvars.kernels.tensor_protos import decode, encode
from daskvars.remote.tasks.tfrecord_reader import RecordReader


class CachedInFile(Cached):
    """The elements, kept in a file of TFRecords, of which each is a tensor of an element.

    The file has its name when it is complete, and not before; one that writes it holds a lock.

    Args:
      prefix: with which the names of the file and of its lock begin; where it is empty, elements
        are kept in memory.
    """

    def __init__(self, input: Node, prefix: Any) -> None:
        no_datasets(input.structure, "cache() in a file")
        super().__init__(input, prefix)

    def rows_in(self, pass_: Pass) -> None:
        return None

    def count(self, pass_: Pass) -> float | None:
        return None  # the file may be of other elements than the input has now

    def elements(self, pass_: Pass) -> Elements:
        prefix = os.fsdecode(pass_.value(self.operands[0])[()])
        if not prefix:
            return super().elements(pass_)
        specs = flatten(self.structure)
        return _FileCache(prefix, specs, lambda: elements_here(self.input, pass_))


class _FileCache(Elements):
    """Reads the file, or makes the elements and writes it; which, tells the first element."""

    def __init__(self, prefix: str, specs: list[Any], make: Any) -> None:
        self._path, self._lock = f"{prefix}.tfrecord", f"{prefix}.lockfile"
        self._specs, self._make = specs, make
        self._dtypes = [spec.dtype for each in specs for spec in tensors_of(each)]
        self._source: Elements | None = None
        self._writer: TFRecordWriter | None = None
        self._reader: RecordReader | None = None
        self._is_over = False

    def _begin(self) -> None:
        if self._reader is not None or self._writer is not None:
            return
        files, path = fsspec.core.url_to_fs(self._path)
        if files.exists(path):
            self._reader = RecordReader(self._path)
            return
        self._take_lock()
        try:
            self._source = self._make()
            self._writer = TFRecordWriter(f"{self._path}.partial")
        except BaseException:
            self._remove(self._lock)
            raise

    def _take_lock(self) -> None:
        try:
            opened(self._lock, "xb").close()
        except AlreadyExistsError:
            raise AlreadyExistsError.saying(
                "There appears to be a concurrent caching iterator running - cache lockfile "
                f"already exists ('{self._lock}'). If you are sure no other running program is "
                "using this cache prefix, delete the lockfile and re-initialize the iterator."
            ) from None

    def __next__(self) -> Element:
        if self._is_over:
            raise StopIteration
        self._begin()
        if self._reader is not None:
            return self._read(self._reader)
        assert self._source is not None and self._writer is not None
        try:
            found = next(self._source)
        except StopIteration:
            self._complete()
            raise
        for array, dtype in zip(arrays_of(found), self._dtypes, strict=True):
            self._writer.write(encode(numpy.asarray(array), dtype, strings_apart=True))
        return found

    def _read(self, reader: RecordReader) -> Element:
        arrays = [decode(next(reader), dtype) for dtype in self._dtypes]
        return tuple(components_of(self._specs, arrays, SparseTensorValue))

    def _complete(self) -> None:
        """Give the file its name, and read on behind its end."""
        assert self._source is not None and self._writer is not None
        self._source.close()
        self._writer.close()
        files, path = fsspec.core.url_to_fs(self._path)
        files.mv(f"{path}.partial", path)
        self._remove(self._lock)
        self._source = self._writer = None
        self._is_over = True

    def skip(self, count: int) -> int:
        if self._is_over:
            return 0
        self._begin()
        if self._reader is None:
            return super().skip(count)
        for done in range(count):
            try:
                for _ in self._dtypes:
                    self._reader.pass_by()
            except StopIteration:
                return done
        return count

    def _remove(self, name: str) -> None:
        files, path = fsspec.core.url_to_fs(name)
        files.rm_file(path)

    def close(self) -> None:
        """Let go of the files; one that is not complete is removed."""
        if self._reader is not None:
            self._reader.close()
        if self._source is not None:
            self._source.close()
        if self._writer is not None:
            with contextlib.suppress(OpError):  # of a full disk: the file goes anyway
                self._writer.close()
            self._remove(f"{self._path}.partial")
            self._remove(self._lock)
            self._writer = None
