"""Where elements come from: arrays, ranges, Python generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array
import numpy
import zarr
from distributed import Client

from daskvars.data.nodes.elements import (
    STORED,
    Element,
    Window,
    flatten,
    map_structure,
    nest_like,
    row_of,
    spec_of,
    types_of,
)
from daskvars.data.nodes.node import INFINITE, Elements, InTurn, Node, Pass, Rows
from daskvars.data.rows.on_workers import (
    FOLLOWING_KEPT,
    Make,
    PartsOnWorkers,
    Picked,
    RowsOnWorkers,
    Scattered,
    kept_of,
)
from daskvars.data.rows.sources import RowsHere, row_blocks
from daskvars.device_array import as_given
from daskvars.dtypes import int64, to_numpy
from daskvars.errors import invalid
from daskvars.execution.engine.executors import active_client
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.sparse_tensor import SparseTensorValue
from daskvars.remote.tasks.element_tasks import gathered_rows
from daskvars.remote.tasks.row_tasks import Pick
from daskvars.shapes import compatible, show

KEPT_BLOCKS = 4  # of a stored array that are in memory at once


class Tensors(Node):
    """One element: the given components."""

    only_computes = True

    def __init__(self, structure: Any) -> None:
        self.operands = flatten(structure)
        self.structure = map_structure(spec_of, structure)

    def count(self, pass_: Pass) -> float:
        return 1

    def elements(self, pass_: Pass) -> Elements:
        return InTurn([tuple(numpy_of(pass_.value(operand)) for operand in self.operands)])


class Cardinality(Node):
    """One element: how many the input has, -1 for without end, -2 where only reading tells."""

    structure = Spec(int64, ())

    def __init__(self, input: Node) -> None:
        self.inputs = (input,)

    def count(self, pass_: Pass) -> float:
        return 1

    def elements(self, pass_: Pass) -> Elements:
        count = self.inputs[0].count(pass_)
        number = -2 if count is None else -1 if count == INFINITE else count
        return InTurn([(numpy.array(number, numpy.int64),)])


class Kept(Node):
    """Elements that went by before."""

    def __init__(self, structure: Any, window: Window) -> None:
        self.structure, self._window = structure, window

    def count(self, pass_: Pass) -> float:
        return len(self._window.elements)

    def elements(self, pass_: Pass) -> Elements:
        return InTurn(self._window.elements)


def numpy_of(value: Any) -> Any:
    """Return a component with its elements here: stored arrays are read."""
    if isinstance(value, dask.array.Array):
        return value.compute()
    return numpy.asarray(value) if isinstance(value, zarr.Array) else value


class Slices(Node):
    """The rows of arrays: in memory, stored (Zarr, dask), or tensors of a graph.

    Rows of stored arrays are read block by block, in their order. Once they are shuffled they
    are in memory, as many as the shuffle's buffer holds; on a cluster in that of workers.
    """

    may_fail, only_computes = False, True

    def __init__(self, structure: Any) -> None:
        self.operands = flatten(structure)
        if not self.operands:
            raise ValueError("from_tensor_slices() takes at least one array")
        specs = map_structure(spec_of, structure)
        self.structure = map_structure(row_of, specs)
        self.is_stored = any(isinstance(operand, STORED) for operand in self.operands)
        lengths = [spec.shape[0] for spec in flatten(specs) if spec.shape]
        self._check_lengths([n for n in lengths if n is not None])

    def _check_lengths(self, lengths: Sequence[int]) -> None:
        if len(set(lengths)) > 1:
            raise ValueError(
                "from_tensor_slices() takes components with the same number of rows, found "
                f"{lengths}"
            )

    def rows_in(self, pass_: Pass) -> Slices:
        return self

    def count(self, pass_: Pass) -> float:
        return pass_.reader(self).num_rows

    def elements(self, pass_: Pass) -> Elements:
        return Rows(pass_.reader(self).num_rows)

    def open_rows(self, pass_: Pass) -> RowReader:
        """Return what reads rows in a pass."""
        values = [pass_.value(operand) for operand in self.operands]
        lengths = [
            int(v.dense_shape[0]) if isinstance(v, SparseTensorValue) else v.shape[0]
            for v in values
        ]
        self._check_lengths(lengths)
        as_dask = self.is_stored and pass_.as_dask
        return RowReader([column_of(value) for value in values], lengths[0], as_dask)


class RowReader:
    """Reads rows of several components.

    Args:
      num_rows: how many there are.
      as_dask: whether stored rows are gathered as dask arrays.

    Attributes:
      num_rows: how many there are.
      is_dense: whether they are arrays.
    """

    def __init__(self, columns: Sequence[Any], num_rows: int, as_dask: bool = False) -> None:
        self._columns, self.num_rows, self._as_dask = columns, num_rows, as_dask
        self.is_dense = not any(isinstance(column, _SparseColumn) for column in columns)

    def row(self, number: int) -> Element:
        """Return an element."""
        return tuple([column.row(number) for column in self._columns])

    def mix(self, size: int) -> None:
        """Note that rows come out of a buffer of so many."""
        for column in self._columns:
            if isinstance(column, _StoredColumn):
                column.mixed = max(column.mixed, size)

    def gather(self, numbers: Sequence[int]) -> Element:
        """Return several elements as one batch."""
        first, last = numbers[0], numbers[-1]
        chosen: slice | numpy.ndarray
        if last - first + 1 == len(numbers) and numbers == list(range(first, last + 1)):
            chosen = slice(first, last + 1)
        else:
            chosen = numpy.array(numbers, numpy.intp)
        client = active_client() if self._as_dask else None
        return tuple(
            [
                column.on_workers(client).batch(column.selected(chosen), len(numbers))
                if client is not None and isinstance(column, _StoredColumn)
                else column.gather(chosen)
                for column in self._columns
            ]
        )

    def sources(self, numbers: Sequence[int], client: Client) -> list[Make | numpy.ndarray]:
        """Return the rows of a batch as what makes some of them, of each column."""
        chosen = numpy.array(numbers, numpy.intp)
        return [
            partial(column.on_workers(client).call, column.selected(chosen))
            if isinstance(column, _StoredColumn)
            else column.gather(chosen)
            for column in self._columns
        ]


def column_of(value: Any) -> Any:
    """Return what reads the rows of one component."""
    if isinstance(value, SparseTensorValue):
        return _SparseColumn(value)
    return _StoredColumn(value) if isinstance(value, STORED) else _Column(value)


class _Column:
    """Rows of an array in memory."""

    def __init__(self, array: numpy.ndarray) -> None:
        self._array = array

    def row(self, number: int) -> numpy.ndarray:
        return self._array[number, ...]  # the ellipsis keeps an array of what is a number

    def gather(self, chosen: slice | numpy.ndarray) -> numpy.ndarray:
        if isinstance(chosen, slice):
            return self._array[chosen]
        return self._array.take(chosen, axis=0)


class _SparseColumn:
    """Rows of a sparse matrix, the elements of which are in the order of rows."""

    def __init__(self, value: SparseTensorValue) -> None:
        order = numpy.argsort(value.indices[:, 0], kind="stable")
        self._indices, self._values = value.indices[order], value.values[order]
        self._shape = value.dense_shape[1:]

    def row(self, number: int) -> SparseTensorValue:
        low, high = numpy.searchsorted(self._indices[:, 0], [number, number + 1])
        return SparseTensorValue(
            self._indices[low:high, 1:], self._values[low:high], self._shape.copy()
        )

    def gather(self, chosen: slice | numpy.ndarray) -> SparseTensorValue:
        numbers = chosen
        if isinstance(numbers, slice):
            numbers = numpy.arange(numbers.start, numbers.stop)
        lows = numpy.searchsorted(self._indices[:, 0], numbers)
        counts = numpy.searchsorted(self._indices[:, 0], numbers + 1) - lows
        rows = numpy.repeat(numpy.arange(len(numbers)), counts)
        firsts = numpy.repeat(lows - (numpy.cumsum(counts) - counts), counts)
        chosen = firsts + numpy.arange(counts.sum())
        indices = self._indices[chosen].copy()
        indices[:, 0] = rows
        shape = numpy.array([len(numbers), *self._shape], numpy.int64)
        return SparseTensorValue(indices, self._values[chosen], shape)


class _StoredColumn:
    """Rows of a Zarr or dask array, of which the last blocks read are kept."""

    def __init__(self, array: Any) -> None:
        self._array, self._sizes = array, row_blocks(array)
        self._ends = numpy.cumsum(self._sizes)
        self._here = RowsHere(array, self._sizes, KEPT_BLOCKS)
        self._on_workers: RowsOnWorkers | None = None
        self.mixed = 0

    def _picks(self, start: int, stop: int) -> list[Pick]:
        """Return where the rows from one to another are."""
        found = []
        for block in range(
            int(numpy.searchsorted(self._ends, start, side="right")), len(self._ends)
        ):
            first = int(self._ends[block]) - self._sizes[block]
            if first >= stop:
                break
            low, high = max(start - first, 0), min(stop - first, self._sizes[block])
            found.append(Pick(block, low, high))
        return found

    def row(self, number: int) -> numpy.ndarray:
        return to_numpy(self._here.batch(self._picks(number, number + 1)))[0, ...]

    def gather(self, chosen: slice | numpy.ndarray) -> numpy.ndarray:
        if isinstance(chosen, slice):
            return to_numpy(self._here.batch(self._picks(chosen.start, chosen.stop)))
        return numpy.stack([self.row(int(number)) for number in chosen])

    def selected(self, chosen: slice | numpy.ndarray) -> Picked | Scattered:
        """Return where rows are, for workers."""
        if isinstance(chosen, slice):
            return Picked(self._picks(chosen.start, chosen.stop))
        numbers = numpy.searchsorted(self._ends, chosen, side="right")
        firsts = numpy.concatenate([[0], self._ends])[numbers]
        blocks, which = numpy.unique(numbers, return_inverse=True)
        return Scattered(gathered_rows, blocks.tolist(), which, chosen - firsts)

    def on_workers(self, client: Client) -> RowsOnWorkers:
        """Return what has workers read them."""
        if self._on_workers is None:
            parts = PartsOnWorkers(client)
            self._on_workers = RowsOnWorkers(parts, self._array, self._sizes, FOLLOWING_KEPT)
        if self.mixed:
            self._on_workers.most_kept = kept_of(self.mixed, float(numpy.mean(self._sizes)))
        return self._on_workers


class Range(Node):
    """The integers of a range."""

    only_computes = True
    structure = Spec(int64, ())

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.operands = (start, stop, step)

    def check(self, pass_: Pass) -> None:
        if not int(pass_.value(self.operands[2])):
            raise invalid("range(): step cannot be 0")

    def _range(self, pass_: Pass) -> range:
        return range(*self.numbers(pass_))

    def count(self, pass_: Pass) -> float:
        return len(self._range(pass_))

    def elements(self, pass_: Pass) -> Elements:
        return _Numbers(self._range(pass_))


class _Numbers(Elements):
    def __init__(self, numbers: range) -> None:
        self._rows = Rows(len(numbers))
        self._numbers = numbers

    def __next__(self) -> Element:
        return (numpy.array(self._numbers[next(self._rows)], numpy.int64),)

    def skip(self, count: int) -> int:
        return self._rows.skip(count)


class Generated(Node):
    """What a generator gives, which is called anew for each time through."""

    def __init__(
        self, function: Callable[..., Any], structure: Any, operands: Sequence[Any]
    ) -> None:
        self.structure, self.operands, self._function = structure, operands, function

    def elements(self, pass_: Pass) -> Elements:
        given = [as_given(pass_.value(operand)) for operand in self.operands]
        return InTurn(map(self._component, iter(self._function(*given))))

    def _component(self, item: Any) -> Element:
        try:
            values = nest_like(self.structure, item, "an element")
            pairs = zip(flatten(self.structure), values, strict=True)
            # The generator may write the next element into the same array.
            found = [(spec, to_numpy(value, spec.dtype).copy()) for spec, value in pairs]
        except (TypeError, ValueError) as error:
            raise invalid(
                "`generator` yielded an element that could not be converted to the expected type. "
                f"The expected type was {types_of(self.structure)}, but the yielded element was "
                f"{item!r}: {error}"
            ) from None
        for spec, array in found:
            if not compatible(spec.shape, array.shape):
                raise invalid(
                    f"`generator` yielded an element of shape {array.shape} where an element of "
                    f"shape {show(spec.shape)} was expected."
                )
        return tuple(array for _, array in found)
