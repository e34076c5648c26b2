"""Plan: the frozen result of lowering, which answers questions and is run many times.

A plan names no key, worker or version. Executors bind its leaves to values and its tasks to keys.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from daskvars import chunk_grid
from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.planner.place import device_type_of
from daskvars.lowering.planner.sharding_report import ShardingChoice
from daskvars.lowering.program import FeedRows, block_bytes, concrete, spec_bytes
from daskvars.remote.regions.region_program import RegionProgram
from daskvars.remote.tasks.block_arguments import Cut
from daskvars.remote.tasks.table_rows import Rows
from daskvars.surface.notebooks import ShownInNotebooks
from daskvars.surface.one_line import counted

Index = tuple[int, ...]


class Origin(NamedTuple):
    """Where a value comes from: output `position` of region `region`, or leaf `position` (-1)."""

    region: int
    position: int


class BlockId(NamedTuple):
    """One block of a value: which task or leaf block holds it."""

    origin: Origin
    block: Index

    @property
    def task(self) -> tuple[int, Index] | BlockId:
        """What gives it: the task of a block of a region, or itself where it is from outside."""
        return self if self.origin.region < 0 else (self.origin.region, self.block)


@dataclass(frozen=True, slots=True)
class LeafInfo:
    """A value from outside: its kind and identity (see `program.Leaf`), spec and chunks.

    Attributes:
      is_stale: whether it is a variable's value of an older version than the one that is updated.
    """

    kind: str
    what: Any
    spec: Spec
    layout: Chunks | None
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class PlanValue:
    """A value of the plan as blocks: where block `index` of `layout` is to be had.

    Attributes:
      origin: the region's output or the leaf.
      spec: dtype and shape of the whole.
      layout: its chunks, None is one block.
      axes: for each dimension the axis of the producer's grid, or -1.
      num_axes: how many axes that grid has.
      filled: the share of the rows of its blocks that there are, about; see `program.Node`.
    """

    origin: Origin
    spec: Spec
    layout: Chunks | None
    axes: tuple[int, ...]
    num_axes: int
    filled: float = 1.0

    def block_id(self, index: Index) -> BlockId:
        """Return the id of the block that holds block `index`."""
        if self.origin.region < 0 or not self.num_axes:
            return BlockId(self.origin, index if self.origin.region < 0 else ())
        block = [0] * self.num_axes
        for number, axis in zip(index, self.axes, strict=True):
            if axis >= 0:
                block[axis] = number
        return BlockId(self.origin, tuple(block))

    def has_block(self, index: Index) -> bool:
        """Return whether there is such a block: what a loop took is cut along one axis in all."""
        numbers = [(axis, n) for axis, n in zip(self.axes, index, strict=False) if axis >= 0]
        return len(set(numbers)) == len({axis for axis, _ in numbers})

    def indices(self) -> list[Index]:
        """Return the indices of all blocks, in C order."""
        if self.layout is None:
            return [(0,) * len(self.spec.shape or ())]
        return list(itertools.product(*(range(len(sizes)) for sizes in self.layout)))

    def block_ids(self) -> list[BlockId]:
        """Return the ids of all blocks, in the order of `indices`."""
        return [self.block_id(index) for index in self.indices()]

    def nbytes(self) -> int:
        """Return the size of the whole in bytes; unknown dimensions count as 1."""
        return int(spec_bytes(self.spec) * self.filled)

    def block_nbytes(self) -> int:
        """Return the bytes of one of its blocks, about."""
        return int(block_bytes(self.spec, self.layout) * self.filled)


@dataclass(frozen=True, slots=True)
class RegionInput:
    """How a region's input is had from a value.

    Attributes:
      kind: "block" (one block as it is), "own" (the block of its own number, where no dimension
        tells one from another: a partial result, or what each has the same), "partial" (one of its
        partial results), "cut" (put together from slices, because the region wants other chunks),
        "rows" (a table whose rows are looked up) or "attrs" (what differs from block to block in
        one kernel's attributes).
      layout: the chunks wanted ("cut"; "partial", if slices of the partial results are).
      axes: for each dimension wanted, the axis of the region's grid or -1.
      merged: axes of the producer's grid that partial results are merged over ("partial").
      grid: the producer's grid ("partial").
      partial: which of the partial results, in C order ("partial").
      attrs: block index -> keyword arguments ("attrs").
      nbytes: of the rows that a block looks up, about ("rows").
      has_own_rows: a partial result is rows of its own, not zeros besides ("partial").
    """

    value: PlanValue | None
    kind: str
    layout: Chunks | None = None
    axes: tuple[int, ...] = ()
    merged: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()
    partial: int = 0
    attrs: dict[Index, dict[str, Any]] | None = None
    has_own_rows: bool = False
    nbytes: int = 0

    @property
    def origin(self) -> Origin:
        """Where its value comes from: all have one but "attrs"."""
        assert self.value is not None
        return self.value.origin

    @property
    def num_sharing(self) -> int:
        """How many partial results have the rows of a block among them, each its own."""
        return math.prod(self.grid[a] for a in self.merged) if self.has_own_rows else 1

    @property
    def is_whole(self) -> bool:
        """Whether a block takes another as it is."""
        is_partial = self.kind == "partial" and self.layout is None
        return is_partial or self.kind in ("block", "own")

    @property
    def is_sliced(self) -> bool:
        """Whether blocks take slices of one and the same partial result."""
        return self.kind == "partial" and self.layout is not None

    def index(self, block: Index) -> Index:
        """Return what identifies what a block takes among what others take."""
        if self.kind == "own":
            return block
        if self.kind == "partial" and self.layout is None:
            return block[: len(self.grid) - len(self.merged)]
        return tuple([block[axis] if axis >= 0 else 0 for axis in self.axes])  # asked for by pairs

    def take(self, block: Index) -> Any:
        """Return a BlockId, a Cut, Rows or a dict: what block `block` gets."""
        if self.attrs is not None:
            return self.attrs[block]
        assert self.value is not None
        if self.kind == "own":
            return BlockId(self.value.origin, block)
        if self.kind == "rows":
            return Rows(tuple(map(self.value.block_id, self.value.indices())))
        if self.kind == "partial":
            return self._partial_block(self.value, block)
        index = self.index(block)
        if self.kind == "block":
            return self.value.block_id(index)
        return self._cut(self.value, index, self.value.block_id)

    def _partial_block(self, value: PlanValue, block: Index) -> BlockId | Cut:
        counts = [self.grid[axis] for axis in self.merged]
        found = map(int, numpy.unravel_index(self.partial, counts))
        numbers = dict(zip(self.merged, found, strict=True))
        if self.layout is not None:
            whole = BlockId(value.origin, tuple(n for _, n in sorted(numbers.items())))
            return self._cut(value, self.index(block), lambda _: whole)
        rest = iter(block)
        full = [numbers[axis] if axis in numbers else next(rest) for axis in range(len(self.grid))]
        return BlockId(value.origin, tuple(full))

    def _cut(self, value: PlanValue, index: Index, block_id: Callable[[Index], BlockId]) -> Cut:
        whole = chunk_grid.whole(concrete(value.spec.shape))
        wanted, have = self.layout or whole, value.layout or whole
        per_axis = [
            _overlaps(sizes, sum(w[:i]), w[i])
            for sizes, w, i in zip(have, wanted, index, strict=True)
        ]
        parts = []
        for combination in itertools.product(*per_axis):
            blocks = tuple(c[0] for c in combination)
            if value.has_block(blocks):
                parts.append(
                    (
                        block_id(blocks),
                        tuple(c[1] for c in combination),
                        tuple(c[2] for c in combination),
                    )
                )
        return Cut(chunk_grid.block_shape(wanted, index), tuple(parts))


def _overlaps(sizes: tuple[int, ...], start: int, length: int) -> list[tuple[int, slice, slice]]:
    """Return (block, slice of the block, slice of the target) for a range of one axis."""
    found, offset = [], 0
    for number, size in enumerate(sizes):
        low, high = max(offset, start), min(offset + size, start + length)
        if low < high or (length == 0 and number == 0):
            found.append(
                (number, slice(low - offset, high - offset), slice(low - start, high - start))
            )
        offset += size
    return found


class OpPlacement(NamedTuple):
    """An operation of a region: the device that it asks for, and why it runs where it does."""

    name: str
    device: str
    reason: str

    def __str__(self) -> str:
        asked = f" on {self.device}" if self.device else ""
        return f"{self.name}{asked}: {self.reason}" if self.reason else f"{self.name}{asked}"


@dataclass(frozen=True, slots=True)
class Region:
    """One task per block of its grid.

    Attributes:
      label: the scope that its tasks are named after.
      program: its kernel calls.
      grid: number of blocks along each axis.
      inputs: what its inputs are.
      place: where it runs, "" anywhere; see `place`.
      ops: the operations in it.
      work: of all its tasks, in about floating-point operations.
      follows: whether its blocks are best computed one by one after those of the region before it.
    """

    label: str
    program: RegionProgram
    grid: tuple[int, ...]
    inputs: tuple[RegionInput, ...]
    place: str
    ops: tuple[OpPlacement, ...]
    work: float = 1.0
    follows: bool = False

    def blocks(self) -> Iterator[Index]:
        """Yield the index of each of its tasks."""
        return itertools.product(*map(range, self.grid))

    @property
    def device_type(self) -> str:
        """The type of the device that it is placed on."""
        return device_type_of(self.place)

    @property
    def num_tasks(self) -> int:
        """How many tasks it has."""
        return math.prod(self.grid)

    @property
    def tasks(self) -> str:
        """Its tasks in words: "1 task", or its grid as in "4x2 tasks"."""
        return "1 task" if self.num_tasks == 1 else f"{'x'.join(map(str, self.grid))} tasks"


@dataclass(frozen=True)
class Plan(ShownInNotebooks):
    """What a run of one signature does.

    Attributes:
      regions: in an order in which they can run.
      leaves: the values that come from outside.
      outputs: the values fetched, in the order of the fetches.
      updates: the new values of the variables written, by key.
      required: variables that must have a value: key -> operation that reads it first.
      presence: variables whose having a value was looked at while lowering.
      flops: rough floating-point operations of the contractions of a run.
      uses_blas: whether it has contractions, whose bits depend on the number of BLAS threads.
      sharding: how its work is cut, and what moves between blocks.
      pieces: rows of what is fed, which are values that come after those that are fed.
      client_s: the estimated seconds of its work if it is for workers' client to do, else None.
      seconds: those of its work on one thread, where it is cut for the threads of this process;
        infinity where nobody knows.
    """

    regions: tuple[Region, ...]
    leaves: tuple[LeafInfo, ...]
    outputs: tuple[PlanValue, ...]
    updates: dict[str, PlanValue]
    required: dict[str, str]
    presence: dict[str, bool]
    flops: float
    uses_blas: bool
    sharding: ShardingChoice
    pieces: tuple[FeedRows, ...] = ()
    client_s: float | None = None
    seconds: float = math.inf

    def __repr__(self) -> str:
        return (
            f"<Plan of {counted(self.num_tasks, 'task')} in "
            f"{counted(len(self.regions), 'region')}, {self.transfer_bytes:,} bytes between them>"
        )

    def with_pieces(self, feeds: Sequence[Any]) -> Sequence[Any]:
        """Return what is fed, and the pieces of it that leaves are."""
        return [*feeds, *(feeds[n][start:stop] for n, start, stop in self.pieces)]

    @property
    def num_tasks(self) -> int:
        """How many Dask tasks a run has."""
        return sum(region.num_tasks for region in self.regions)

    @property
    def tasks_by_scope(self) -> Counter[str]:
        """How many tasks a run has, by scope."""
        found: Counter[str] = Counter()
        for region in self.regions:
            found[region.label] += region.num_tasks
        return found

    @property
    def results(self) -> tuple[PlanValue, ...]:
        """What a run is for: the values fetched, and the new ones of variables."""
        return *self.outputs, *self.updates.values()

    @property
    def is_single(self) -> bool:
        """Whether a run is one task, so that it can be called inline."""
        return self.num_tasks <= 1

    @property
    def is_client_work(self) -> bool:
        """Whether the client does it though there are workers; see `planner.client_work`."""
        return self.client_s is not None

    @property
    def is_one_call(self) -> bool:
        """Whether a run is one task on whole arrays."""
        return self.is_single and all(leaf.layout is None for leaf in self.leaves)

    @property
    def peak_bytes(self) -> int:
        """A bound on the memory of a run: its leaves and all results that cross regions."""
        crossing = {
            (s.value.origin, s.kind): s.value for r in self.regions for s in r.inputs if s.value
        }
        values = *crossing.values(), *self.results
        return sum({v.origin: v.nbytes() for v in values}.values())

    @property
    def transfer_bytes(self) -> int:
        """Bytes that cross between tasks of a run, if no two share a worker."""
        total = 0
        for region in self.regions:
            for region_input in region.inputs:
                if region_input.value is None or region_input.value.origin.region < 0:
                    continue
                is_block = region_input.kind == "block" and not region_input.axes
                spread = region.num_tasks if is_block or region_input.kind == "own" else 1
                total += region_input.value.nbytes() * spread // region_input.num_sharing
        return total
