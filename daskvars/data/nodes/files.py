"""Elements out of files: lines of text, records of equal length, TFRecords; and names of files."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy
from distributed import Client

from daskvars.data.nodes.elements import Element
from daskvars.data.nodes.node import Elements, InTurn, Node, Pass, elements_here
from daskvars.data.records.tfrecords import compression_of
from daskvars.data.rows.on_workers import (
    FOLLOWING_KEPT,
    Make,
    PartsOnWorkers,
    RecordsOnWorkers,
    Scattered,
    kept_of,
)
from daskvars.dtypes import string
from daskvars.errors import DataLossError, OpError, invalid
from daskvars.execution.engine.executors import active_client
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.tensor import Tensor
from daskvars.kernels.opened_files import names_like, opened, opened_plain
from daskvars.remote.tasks.element_tasks import gathered_records, indexed
from daskvars.remote.tasks.record_blocks import (
    Format,
    Index,
    RecordBlock,
    fixed_count,
    index,
    records_of,
)
from daskvars.remote.tasks.tfrecord_reader import RecordReader

FIRST_INDEX_BYTES, INDEX_BYTES = 1 << 22, 1 << 26  # of a file that are indexed at a time


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

    is_stored = may_fail = True

    @property
    def only_computes(self) -> bool:
        return self.inputs[0].only_computes

    def rows_in(self, pass_: Pass) -> OfFiles | None:
        return self if pass_.as_dask and self.can_be_cut(pass_) else None

    def can_be_cut(self, pass_: Pass) -> bool:
        """Return whether workers can read some of the records: not where they are compressed."""
        (kind,) = self.operands
        return not isinstance(kind, Tensor) and not compression_of(kind[()])

    def open_rows(self, pass_: Pass) -> RecordReaders:
        """Return what has workers read records in a pass."""
        return RecordReaders()

    def elements(self, pass_: Pass) -> Elements:
        return _Files(elements_here(self.inputs[0], pass_), self, pass_)

    def opened(self, path: str, pass_: Pass) -> Elements:
        """Return what is in one file: records, or where they are for the workers that read them."""
        if self.rows_in(pass_) is None:
            return self.open(path, pass_)
        return _Places(path, self.format(pass_))

    @abstractmethod
    def open(self, path: str, pass_: Pass) -> Elements:
        """Return the records of one file."""

    @abstractmethod
    def format(self, pass_: Pass) -> Format:
        """Return how records are in files."""


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
            self._file = self._node.opened(self._name, self._pass)  # or again, the next time
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


class _Places(Elements):
    """Where the records of a file are, for the workers that read them.

    Workers look for them too, some ahead. This process gets a block and a number for each.

    Raises:
      NotFoundError: the worker that looks does not see the file.
    """

    def __init__(self, path: str, format: Format) -> None:
        self._path = path if "://" in path else os.path.abspath(path)
        self._format = format
        self._blocks: deque[RecordBlock] = deque()
        self._at = 0  # in the first of the blocks
        self._coming: Callable[[], Index] | None = self._asked(0, 0, FIRST_INDEX_BYTES)
        self._error: OpError | None = None
        self._go_on()

    def _asked(self, *place: int) -> Callable[[], Index]:
        """Return what gives the index of a part, which a worker makes meanwhile."""
        client = active_client()
        if client is None:  # it was closed
            return partial(index, self._path, self._format, *place)
        return client.submit(indexed, self._path, self._format, *place, pure=False).result

    def _go_on(self) -> bool:
        """Have the next part of the index; return whether there is one."""
        if self._error is not None:
            raise self._error
        if self._coming is None:
            return False
        found = self._coming()
        follows = found.next
        self._coming = None if follows is None else self._asked(*follows, INDEX_BYTES)
        self._blocks.extend(found.blocks)
        self._error = found.error
        return True

    def _block(self) -> RecordBlock:
        """Return the block that the next record is in."""
        while self._blocks and self._at >= self._blocks[0].num_records:
            self._blocks.popleft()
            self._at = 0
        while not self._blocks:
            if not self._go_on():
                raise StopIteration
        return self._blocks[0]

    def __next__(self) -> tuple[RecordBlock, int]:
        block = self._block()
        self._at += 1
        return block, self._at - 1

    def skip(self, count: int) -> int:
        done = 0
        while done < count:
            try:
                block = self._block()
            except StopIteration:
                break
            here = min(count - done, block.num_records - self._at)
            self._at += here
            done += here
        return done


class RecordReaders:
    """Has workers read records, whose places are given."""

    def __init__(self) -> None:
        self._on_workers: RecordsOnWorkers | None = None
        self._mixed = 0

    def mix(self, size: int) -> None:
        """Note that records come out of a buffer of so many."""
        self._mixed = max(self._mixed, size)

    def _selected(self, places: Sequence[tuple[RecordBlock, int]]) -> Scattered:
        numbers: dict[RecordBlock, int] = {}
        which = [numbers.setdefault(block, len(numbers)) for block, _ in places]
        numbers_in_blocks = numpy.array([place for _, place in places], numpy.int32)
        return Scattered(
            gathered_records, list(numbers), numpy.array(which, numpy.int32), numbers_in_blocks
        )

    def sources(self, places: Sequence[tuple[RecordBlock, int]], client: Client) -> list[Make]:
        """Return the records of a batch as what makes some of them."""
        if self._on_workers is None:
            self._on_workers = RecordsOnWorkers(PartsOnWorkers(client), FOLLOWING_KEPT)
        selected = self._selected(places)
        size = float(numpy.mean([block.num_records for block in selected.blocks]))
        self._on_workers.most_kept = max(
            self._on_workers.most_kept, kept_of(self._mixed, size), len(selected.blocks)
        )
        return [partial(self._on_workers.call, selected)]

    def gather(self, places: Sequence[tuple[RecordBlock, int]]) -> Element:
        """Return several records as one batch."""
        client = active_client()
        if client is None:
            selected = self._selected(places)
            blocks = [records_of(block) for block in selected.blocks]
            return (gathered_records(selected.which, selected.places, *blocks),)
        (call,) = self.sources(places, client)
        spec = numpy.dtype(object), ()
        assert self._on_workers is not None
        return tuple(self._on_workers.parts.arrays(len(places), [spec], call, may_fail=True))


class Lines(OfFiles):
    """The lines of text files, without what ends them."""

    def open(self, path: str, pass_: Pass) -> Elements:
        kind = compression_of(pass_.value(self.operands[0])[()])
        return _Lines(opened_plain(path, kind))

    def format(self, pass_: Pass) -> Format:
        return Format("lines")


class _OfFile(Elements):
    def __init__(self, file: Any) -> None:
        self._file = file

    def close(self) -> None:
        self._file.close()


class _Lines(_OfFile):
    def __next__(self) -> Element:
        line = self._file.readline()
        if not line:
            raise StopIteration
        return text(line.removesuffix(b"\n").removesuffix(b"\r"))


class FixedLength(OfFiles):
    """Records of equal length, between a header and a footer.

    Operands: bytes of a record, of the header and of the footer.
    """

    def check(self, pass_: Pass) -> None:
        size, header, footer = self.numbers(pass_)
        if size < 1 or header < 0 or footer < 0:
            raise invalid(
                "`record_bytes` must be > 0, `header_bytes` and `footer_bytes` >= 0, found "
                f"{size}, {header} and {footer}"
            )

    def can_be_cut(self, pass_: Pass) -> bool:
        return True

    def format(self, pass_: Pass) -> Format:
        return Format("fixed", *self.numbers(pass_))

    def open(self, path: str, pass_: Pass) -> Elements:
        format = self.format(pass_)
        count = fixed_count(path, format)
        file = opened(path)
        file.seek(format.header)
        return _FixedLength(file, format.size, count)


class _FixedLength(_OfFile):
    def __init__(self, file: Any, size: int, left: int) -> None:
        super().__init__(file)
        self._size, self._left = size, left

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


class Records(OfFiles):
    """The records of TFRecord files."""

    def open(self, path: str, pass_: Pass) -> Elements:
        kind = compression_of(pass_.value(self.operands[0])[()])
        return _Records(RecordReader(path, kind))

    def format(self, pass_: Pass) -> Format:
        return Format("records")


class _Records(_OfFile):
    def __next__(self) -> Element:
        return text(next(self._file))

    def skip(self, count: int) -> int:
        for done in range(count):
            try:
                self._file.pass_by()
            except StopIteration:
                return done
        return count


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
            raise invalid(f"No files matched pattern: {', '.join(map(repr, patterns))}")
        return found

    def elements(self, pass_: Pass) -> Elements:
        return InTurn(text(os.fsencode(name)) for name in self._names(pass_))
