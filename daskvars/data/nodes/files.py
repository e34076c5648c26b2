"""Elements out of files: lines of text, records of equal length, TFRecords; and names of files."""

from __future__ import annotations

import glob
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import fsspec
import numpy

from daskvars.data.nodes.elements import Element
from daskvars.data.nodes.node import Elements, Node, Pass, read_elements
from daskvars.data.records.tfrecords import RecordReader, compression_of, opened, opened_plain
from daskvars.dtypes import string
from daskvars.errors import DataLossError, InvalidArgumentError, OpError
from daskvars.graph.definitions.opdef import Spec


def text(value: bytes) -> Element:
    """Return an element of one string."""
    found = numpy.empty((), object)
    found[()] = value
    return (found,)


class OfFiles(Node):
    """What is in files, one after the other.

    Args:
      names: a dataset of their names.
      *operands: the node's own.
    """

    structure = Spec(string, ())

    def __init__(self, names: Node, *operands: Any) -> None:
        self.inputs, self.operands = (names,), operands

    def elements(self, pass_: Pass) -> Elements:
        return _Files(read_elements(self.inputs[0], pass_), self, pass_)

    @abstractmethod
    def open(self, path: str, pass_: Pass) -> Elements:
        """Return what is in one file."""


class _Files(Elements):
    def __init__(self, names: Elements, node: OfFiles, pass_: Pass) -> None:
        self._names, self._node, self._pass = names, node, pass_
        self._name: str | None = None
        self._file: Elements | None = None

    def _opened(self) -> Elements:
        if self._file is None:
            if self._name is None:
                (name,) = next(self._names)
                self._name = os.fsdecode(name[()])
            self._file = self._node.open(self._name, self._pass)  # or again, the next time
            self._name = None
        return self._file

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __next__(self) -> Element:
        while True:
            file = self._opened()
            try:
                return next(file)
            except StopIteration:
                self._end()
            except DataLossError:
                self._end()  # what follows in the file is lost
                raise

    def skip(self, count: int) -> int:
        done = 0
        while done < count:
            try:
                done += self._opened().skip(count - done)
            except StopIteration:
                break
            except OpError:
                done += 1  # it was told before
                continue
            if done < count:
                self._end()
        return done

    def close(self) -> None:
        self._end()
        self._names.close()


class Lines(OfFiles):
    """The lines of text files, without what ends them."""

    def open(self, path: str, pass_: Pass) -> Elements:
        kind = compression_of(pass_.value(self.operands[0])[()])
        return _Lines(opened_plain(path, kind))


class _Lines(Elements):
    def __init__(self, file: Any) -> None:
        self._file = file

    def __next__(self) -> Element:
        line = self._file.readline()
        if not line:
            raise StopIteration
        return text(line.removesuffix(b"\n").removesuffix(b"\r"))

    def close(self) -> None:
        self._file.close()


class FixedLength(OfFiles):
    """Records of equal length, between a header and a footer.

    Operands: bytes of a record, of the header and of the footer.
    """

    def check(self, pass_: Pass) -> None:
        size, header, footer = [int(pass_.value(operand)) for operand in self.operands]
        if size < 1 or header < 0 or footer < 0:
            raise InvalidArgumentError(
                None,
                None,
                "`record_bytes` must be > 0, `header_bytes` and `footer_bytes` >= 0, found "
                f"{size}, {header} and {footer}",
            )

    def open(self, path: str, pass_: Pass) -> Elements:
        size, header, footer = [int(pass_.value(operand)) for operand in self.operands]
        file = opened(path)
        found = file.seek(0, os.SEEK_END) - header - footer
        if found < 0 or found % size:
            file.close()
            raise InvalidArgumentError(
                None,
                None,
                f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
                f'"{path}" has body length {found} bytes, which is not an exact multiple of the '
                f"record length ({size} bytes).",
            )
        file.seek(header)
        return _FixedLength(file, size, found // size)


class _FixedLength(Elements):
    def __init__(self, file: Any, size: int, left: int) -> None:
        self._file, self._size, self._left = file, size, left

    def __next__(self) -> Element:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return text(self._file.read(self._size))

    def skip(self, count: int) -> int:
        done = min(count, self._left)
        self._file.seek(done * self._size, os.SEEK_CUR)
        self._left -= done
        return done

    def close(self) -> None:
        self._file.close()


class Records(OfFiles):
    """The records of TFRecord files."""

    def open(self, path: str, pass_: Pass) -> Elements:
        kind = compression_of(pass_.value(self.operands[0])[()])
        return _Records(RecordReader(path, kind))


class _Records(Elements):
    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader

    def __next__(self) -> Element:
        return text(next(self._reader))

    def skip(self, count: int) -> int:
        for done in range(count):
            try:
                self._reader.pass_by()
            except StopIteration:
                return done
        return count

    def close(self) -> None:
        self._reader.close()


class Matching(Node):
    """The names of the files that patterns match, sorted."""

    structure = Spec(string, ())

    def __init__(self, patterns: Any) -> None:
        self.operands = (patterns,)

    def check(self, pass_: Pass) -> None:
        self._names(pass_)

    def count(self, pass_: Pass) -> float:
        return len(self._names(pass_))

    def _names(self, pass_: Pass) -> Sequence[str]:
        patterns = [os.fsdecode(p) for p in numpy.atleast_1d(pass_.value(self.operands[0]))]
        found = sorted({name for pattern in patterns for name in names_like(pattern)})
        if not found:
            raise InvalidArgumentError(
                None, None, f"No files matched pattern: {', '.join(map(repr, patterns))}"
            )
        return found

    def elements(self, pass_: Pass) -> Elements:
        return _Names(self._names(pass_))


class _Names(Elements):
    def __init__(self, names: Sequence[str]) -> None:
        self._names: Iterator[str] = iter(names)

    def __next__(self) -> Element:
        return text(os.fsencode(next(self._names)))


def names_like(pattern: str) -> list[str]:
    """Return the paths, or URLs, of the files that a pattern matches."""
    if "://" not in pattern:
        return glob.glob(pattern)
    files, path = fsspec.core.url_to_fs(pattern)
    return [files.unstrip_protocol(name) for name in files.glob(path)]
