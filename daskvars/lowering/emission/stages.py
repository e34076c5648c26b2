"""From a plan to stages: what each worker does between two exchanges, as one task.

A plan says what is computed, block by block; on a cluster a Dask task for each block is too many:
parts times shards of them. So the blocks of one worker that wait for the same exchanges become one
task. Vocabulary: a *stage* is the blocks that one worker computes without waiting for another; its
*level* is the number of exchanges before it; an *exchange* is what the stages of one level take
from other workers. Level 0 takes variables that live elsewhere, the others results of the levels
before.

A block is computed as early as it can be: one level after what it takes from other workers, on the
level of what it takes from its own. But what only leads to variables on its own worker is left for
the worker's last stage: what a stage gives lives as long as anything of it, so results that others
take must not be under one key with variables, which stay. What is computed from the newest version
only (`split_update`) is a stage of its own, as it is sent later. So is what one task should not
hold at once.

Nothing here knows Dask or addresses: workers are numbers, and whoever has fewer, or more, asks
again. What many blocks take alike is looked at once: the whole of a weight, and of a gradient's
partial result the slices of all owners. What is left for each pair of blocks is a reference.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from daskvars.graph.definitions.patterns import Held
from daskvars.lowering.plan import BlockId, Index, Plan, PlanValue, Region, RegionInput
from daskvars.lowering.program import STATE
from daskvars.remote.task_outputs import MAX_SHOWN_BYTES
from daskvars.remote.tasks.table_rows import Rows
from daskvars.shapes import Shape
from daskvars.surface.loading import paused_collector
from daskvars.surface.one_line import counted

PAIRS_PER_WORKER = 8
"""Pairs of stages that an exchange may have for each worker, before all of its stages wait for one
task (a barrier) instead of for one another: the graph stays linear in the workers, and an exchange
of few is one hop shorter."""

SPLIT_BYTES = 1 << 20
"""Bytes of results that a worker may keep as long as variables, rather than have a task for each: a
task costs about as much as moving a megabyte."""

ANYWHERE = -1
"""In place of a worker: not known, or any."""

WorkerOf = Callable[[Region, int], int]
StateWorkerOf = Callable[[str, Index, int], int]


class StageBlock(NamedTuple):
    """One block of a region: the region's number, the block's number in C order, its index."""

    region: int
    number: int
    block: Index


class Part(NamedTuple):
    """What is taken of one block, and the bytes of it."""

    block_id: BlockId
    nbytes: int


@dataclass(eq=False, slots=True)
class Taking:
    """What blocks take alike, looked at once; which slices of it, `RegionInput.take` tells.

    Attributes:
      parts: the blocks in it; none in attributes.
      by_worker: worker -> highest level of what it has of it, ANYWHERE for variables and feeds.
      bytes_by_worker: worker -> bytes of the parts that it has.
      nbytes: of the parts of which that is known.
      num_slices: how many slices there are that blocks take, each as large as its parts say.
      stages: the stages that results come from, once they are known.
      takers: (worker, whether late, whether last) of the blocks that take it.
    """

    parts: tuple[Part, ...]
    by_worker: dict[int, int]
    bytes_by_worker: Counter[int]
    nbytes: int
    num_slices: int = 1
    stages: frozenset[int] = frozenset()
    takers: set[tuple[int, bool, bool]] = field(default_factory=set)

    def level_on(self, worker: int) -> int:
        """Return the first level on which a worker can have it."""
        levels = [level + (there != worker) for there, level in self.by_worker.items()]
        return max(levels, default=0)


NOTHING = Taking((), {}, Counter(), 0)
"""What is taken of attributes, which are plain data."""


@dataclass(eq=False, slots=True)
class Stage:
    """What one worker does between two exchanges.

    Attributes:
      worker: its number, ANYWHERE if it does not matter.
      level: how many exchanges are before it.
      is_late: it needs the newest version, where others of its run do not.
      is_last: other workers take nothing of it.
      blocks: in an order in which they can run.
      takings: what each block takes, input by input.
      nbytes: of the results that leave it, and of the variables that it takes.
      passed: new values of variables from earlier stages of its worker, which it gives on.
    """

    worker: int
    level: int
    is_late: bool
    is_last: bool = False
    blocks: list[StageBlock] = field(default_factory=list)
    takings: list[tuple[Taking, ...]] = field(default_factory=list)
    nbytes: int = 0
    passed: list[BlockId] = field(default_factory=list)


class Exchange(NamedTuple):
    """What the stages of one level take from other workers.

    Attributes:
      level: theirs; 0 takes variables, the others results.
      nbytes: in all.
      most_bytes: that one worker receives.
      num_pairs: of stages, or at level 0 of workers, between which something moves.
      has_barrier: whether they wait for one task instead of for one another.
    """

    level: int
    nbytes: int
    most_bytes: int
    num_pairs: int
    has_barrier: bool


@dataclass(frozen=True)
class StagePlan:
    """The stages of a plan on some workers.

    Attributes:
      num_workers: how many there are.
      stages: each after those that it takes something from.
      stage_of: for each region the stage of each of its blocks.
      exchanges: by level, those that move something.
      state_workers: the worker of each block of a variable that is taken.
    """

    plan: Plan
    num_workers: int
    stages: tuple[Stage, ...]
    stage_of: tuple[list[int], ...]
    exchanges: dict[int, Exchange]
    state_workers: dict[BlockId, int]

    @property
    def num_stages(self) -> int:
        """How many stages follow one another."""
        return len({(stage.is_late, stage.level, stage.is_last) for stage in self.stages})

    @property
    def num_barriers(self) -> int:
        """How many tasks gather where the results of an exchange are."""
        return sum(exchange.has_barrier for exchange in self.exchanges.values())

    @property
    def num_tasks(self) -> int:
        """How many Dask tasks a run has, besides those of its feeds and fetches."""
        return len(self.stages) + self.num_barriers

    @property
    def exchanged_bytes(self) -> int:
        """Bytes that move between workers in a run."""
        return sum(exchange.nbytes for exchange in self.exchanges.values())

    @cached_property
    def exported(self) -> list[list[tuple[int, int, int]]]:
        """For each stage the results that leave it, as (region, number of the block, output)."""
        takers: dict[Taking, set[int]] = defaultdict(set)
        for number, stage in enumerate(self.stages):
            for taking in itertools.chain(*stage.takings):
                if taking.stages:
                    takers[taking].add(number)
        found: list[dict[tuple[int, int, int], None]] = [{} for _ in self.stages]
        for taking, numbers in takers.items():
            for part in taking.parts:
                at = self.stage_number(part.block_id)
                if len(numbers) > 1 or at not in numbers:
                    self._export(part.block_id, found)
        for value in self.plan.results:
            for block_id in value.block_ids():
                self._export(block_id, found)
        for number, stage in enumerate(self.stages):
            found[number].update(dict.fromkeys(map(self.where, stage.passed)))
        return [list(outputs) for outputs in found]

    def where(self, block_id: BlockId) -> tuple[int, int, int]:
        """Return a block of a result as (region, number of the block, output)."""
        (region, position), block = block_id
        return region, block_number(self.plan.regions[region].grid, block), position

    def traffic(self) -> tuple[Counter[int], Counter[int]]:
        """Return the bytes that each worker receives in a run, and those that each sends."""
        takers: dict[Taking, Counter[int]] = defaultdict(Counter)
        for stage in self.stages:
            for taking, num_slices in taken_by(self.plan, stage).items():
                takers[taking][stage.worker] += num_slices
        received, sent = Counter[int](), Counter[int]()
        for taking, counts in takers.items():
            total = counts.total()
            for worker, count in counts.items():
                received[worker] += count * (taking.nbytes - taking.bytes_by_worker[worker])
            for worker, nbytes in taking.bytes_by_worker.items():
                sent[worker] += nbytes * (total - counts[worker])
        return received, sent

    def stage_number(self, block_id: BlockId) -> int:
        """Return the number of the stage that computes a block."""
        region = block_id.origin.region
        return self.stage_of[region][block_number(self.plan.regions[region].grid, block_id.block)]

    def _export(self, block_id: BlockId, found: list[dict[tuple[int, int, int], None]]) -> None:
        (region, position), block = block_id
        if region >= 0:
            number = block_number(self.plan.regions[region].grid, block)
            found[self.stage_of[region][number]][region, number, position] = None

    def summary(self) -> list[str]:
        """Return in words what it costs, a line for the whole and one for each exchange."""
        lines = [
            f"{counted(self.num_tasks, 'Dask task')} on {counted(self.num_workers, 'worker')} in "
            f"{counted(self.num_stages, 'stage')}, {counted(len(self.exchanges), 'exchange')} of "
            f"{self.exchanged_bytes:,} bytes"
        ]
        for level, found in sorted(self.exchanges.items()):
            what = f"results before stage {level}" if level else "variables of other workers"
            barrier = ", by a barrier" if found.has_barrier else ""
            lines.append(
                f"exchange of {what}: {found.nbytes:,} bytes, at most {found.most_bytes:,} to one "
                f"worker, {counted(found.num_pairs, 'pair')}{barrier}"
            )
        return lines


def _num_elements(shape: Shape, sizes: tuple[int, ...]) -> int:
    """Return how many elements a slice of so many in each dimension has, about."""
    if not isinstance(shape, Held):
        return math.prod(sizes)
    arrays = (sizes[shape.range_of(i)] for i in range(len(shape.parts)))
    return (shape.num_items or 1) * sum(map(math.prod, arrays))


def taken_by(plan: Plan, stage: Stage) -> Counter[Taking]:
    """Return what a stage takes: how many slices of each."""
    found: Counter[Taking] = Counter(dict.fromkeys(itertools.chain(*stage.takings), 1))
    sliced: dict[Taking, set[Index]] = defaultdict(set)
    for (region, _, block), takings in zip(stage.blocks, stage.takings, strict=True):
        for region_input, taking in zip(plan.regions[region].inputs, takings, strict=True):
            if taking.num_slices > 1:
                sliced[taking].add(region_input.index(block))
    found.update({taking: len(indices) - 1 for taking, indices in sliced.items()})
    return found


def block_number(grid: Index, block: Index) -> int:
    """Return the number of a block in C order.

    >>> block_number((2, 3), (1, 2))
    5
    """
    number = 0
    for count, index in zip(grid, block, strict=True):
        number = number * count + index
    return number


def contiguous(region: Region, number: int, num_workers: int) -> int:
    """Return the worker of a block where all are alike: neighbours together, from the place's."""
    offset = region.place.partition("@")[2]
    return (int(offset or 0) + number * num_workers // region.num_tasks) % num_workers


def described(plan: Plan, num_workers: int) -> StagePlan:
    """Return the stages on workers that are only described: so many, and all alike.

    Variables are spread as regions without a place are.
    """

    def worker_of(region: Region, number: int) -> int:
        is_spread = region.num_tasks > 1 or "@" in region.place
        return contiguous(region, number, num_workers) if is_spread else ANYWHERE

    def state_worker_of(key: str, block: Index, number: int) -> int:
        counts = counts_of.get(key, 1)
        return number * num_workers // counts

    counts_of = {
        leaf.what: math.prod(map(len, leaf.layout or ()))
        for leaf in plan.leaves
        if leaf.kind == STATE
    }
    return stages(plan, num_workers, worker_of, state_worker_of)


@paused_collector()
def stages(
    plan: Plan,
    num_workers: int,
    worker_of: WorkerOf,
    state_worker_of: StateWorkerOf,
    most_bytes: float = math.inf,
) -> StagePlan:
    """Return the stages of a plan.

    Args:
      num_workers: how many workers there are.
      worker_of: ``worker_of(region, number)``: the worker of a block, ANYWHERE if it does not
        matter: then it is where most of what the block takes is.
      state_worker_of: ``state_worker_of(key, index, number)``: the worker of a variable's block,
        ANYWHERE if that is not known.
      most_bytes: that a task should take and give, where a stage can be more than one.
    """
    return _Staging(plan, num_workers, worker_of, state_worker_of, most_bytes).found()


class _Staging:
    def __init__(
        self,
        plan: Plan,
        num_workers: int,
        worker_of: WorkerOf,
        state_worker_of: StateWorkerOf,
        most_bytes: float,
    ) -> None:
        self.plan, self.num_workers = plan, num_workers
        self.worker_of, self.state_worker_of = worker_of, state_worker_of
        self.most_bytes = most_bytes
        self.stages: list[Stage] = []
        self.blocks: list[list[tuple[StageBlock, tuple[Taking, ...]]]] = []
        self.workers: list[list[int]] = []  # of each block of each region
        self.levels: list[list[int]] = []
        self.takings: dict[Any, Taking] = {}
        self.state_workers: dict[BlockId, int] = {}
        self.result_bytes: Counter[int] = Counter()  # of what blocks take from blocks, by owner
        self.late = self._late_regions()
        self.sizes = self._sizes()
        is_placed = any(worker_of(region, 0) != ANYWHERE for region in plan.regions)
        self.default = 0 if is_placed else ANYWHERE

    def found(self) -> StagePlan:
        for number, region in enumerate(self.plan.regions):
            for each in (self.blocks, self.workers, self.levels):
                each.append([])
            takers = [_Taker(self, region_input) for region_input in region.inputs]
            for count, block in enumerate(region.blocks()):
                takings = tuple(taker(block) for taker in takers)
                self._place(StageBlock(number, count, block), takings)
        stage_of = self._staged(self._last_blocks())
        for taking in self.takings.values():
            taking.stages = frozenset(
                stage_of[part.block_id.origin.region][self._number(part.block_id)]
                for part in taking.parts
                if part.block_id.origin.region >= 0
            )
        exchanges = self._exchanges()
        stages = tuple(self.stages)
        return StagePlan(
            self.plan, self.num_workers, stages, tuple(stage_of), exchanges, self.state_workers
        )

    def _number(self, block_id: BlockId) -> int:
        return block_number(self.plan.regions[block_id.origin.region].grid, block_id.block)

    def _last_blocks(self) -> list[list[bool]]:
        """Return which blocks lead to nothing but variables, and small fetches, on their worker."""
        taken_of: dict[int, list[Taking]] = defaultdict(list)
        for taking in self.takings.values():
            if taking.parts and taking.parts[0].block_id.origin.region >= 0:
                taken_of[taking.parts[0].block_id.origin.region].append(taking)
        is_last = [[True] * len(found) for found in self.blocks]
        for value in self.plan.outputs:
            if value.origin.region >= 0 and value.block_nbytes() > MAX_SHOWN_BYTES:
                for block_id in value.block_ids():
                    is_last[value.origin.region][self._number(block_id)] = False
        for region in reversed(range(len(self.blocks))):
            for taking in taken_of[region]:
                for part in taking.parts:
                    number = self._number(part.block_id)
                    own = self.workers[region][number], self.late[region], True
                    if taking.takers != {own}:
                        is_last[region][number] = False
            for found, takings in self.blocks[region]:
                worker, late = self.workers[region][found.number], self.late[region]
                taker = worker, late, is_last[region][found.number]
                for taking in takings:
                    taking.takers.add(taker)
        results = [t for t in self.takings.values() if t.by_worker]
        for taking in results:
            for worker, nbytes in taking.bytes_by_worker.items():
                self.result_bytes[worker] += nbytes * taking.num_slices
        for region, workers in enumerate(self.workers):
            for number, worker in enumerate(workers):
                is_last[region][number] &= self._is_split(worker)
        return is_last

    def _is_split(self, worker: int) -> bool:
        """Return whether the results of a worker are worth keeping apart from its variables."""
        return self.result_bytes[worker] > SPLIT_BYTES

    def _staged(self, is_last: list[list[bool]]) -> list[list[int]]:
        """Make the stages, in an order in which they can run; return those of all blocks."""
        last_level: Counter[tuple[bool, int]] = Counter()
        for region, levels in enumerate(self.levels):
            for number, level in enumerate(levels):
                if is_last[region][number]:
                    kind = self.late[region], self.workers[region][number]
                    last_level[kind] = max(last_level[kind], level)
        current: dict[Any, Stage] = {}
        made: list[list[Stage]] = [[] for _ in self.blocks]
        for found, takings in self._in_order():
            region = found.region
            worker, late = self.workers[region][found.number], self.late[region]
            last = is_last[region][found.number]
            level = last_level[late, worker] if last else self.levels[region][found.number]
            stage = current.get((late, level, last, worker))
            if stage is None or stage.nbytes + self.sizes[region] > self.most_bytes:
                stage = current[late, level, last, worker] = Stage(worker, level, late, last)
                self.stages.append(stage)
            stage.blocks.append(found)
            stage.takings.append(takings)
            stage.nbytes += self.sizes[region]
            made[region].append(stage)
        last_stages = {key[0::3]: stage for key, stage in current.items() if key[2]}
        for value in self.plan.updates.values():
            region = value.origin.region
            for block_id in value.block_ids() if region >= 0 else ():
                number = self._number(block_id)
                if self._is_split(self.workers[region][number]) and not is_last[region][number]:
                    self._pass(block_id, made[region][self._number(block_id)], last_stages)
        self.stages.sort(key=lambda stage: (stage.is_late, stage.level, stage.is_last))
        numbers = {id(stage): number for number, stage in enumerate(self.stages)}
        return [[numbers[id(stage)] for stage in found] for found in made]

    def _in_order(self) -> Iterator[tuple[StageBlock, tuple[Taking, ...]]]:
        """Yield the blocks region by region, those of segments block by block.

        What one segment leaves to the next is there for one block at a time then.
        """
        regions = self.plan.regions
        firsts = [number for number, region in enumerate(regions) if not region.follows]
        for first, end in itertools.pairwise([*firsts, len(regions)]):
            for found in zip(*self.blocks[first:end], strict=True):
                yield from found

    def _pass(self, block_id: BlockId, made: Stage, last_stages: dict[Any, Stage]) -> None:
        """Have the last stage of a worker give on a new value that is made beside results."""
        where = made.is_late, made.worker
        stage = last_stages.get(where)
        if stage is None:
            stage = last_stages[where] = Stage(made.worker, made.level, made.is_late, True)
            self.stages.append(stage)
        stage.level = max(stage.level, made.level)
        if block_id not in stage.passed:
            stage.passed.append(block_id)

    # -- what a plan says -----------------------------------------------------------------------

    def _late_regions(self) -> list[bool]:
        """Return which regions need the newest version, if others of the run need an older one."""
        plan = self.plan
        if not any(leaf.is_stale for leaf in plan.leaves):
            return [False] * len(plan.regions)
        late: list[bool] = []
        for region in plan.regions:
            origins = [i.value.origin for i in region.inputs if i.value is not None]
            late.append(
                any(
                    late[origin.region] if origin.region >= 0 else self._is_newest(origin.position)
                    for origin in origins
                )
            )
        return late

    def _is_newest(self, position: int) -> bool:
        leaf = self.plan.leaves[position]
        return leaf.kind == STATE and not leaf.is_stale

    def _sizes(self) -> list[int]:
        """Return the bytes that one block of each region takes of variables, and gives."""
        plan = self.plan
        given: dict[Any, PlanValue] = {}
        taken: list[int] = []
        for region in plan.regions:
            seen: dict[Any, int] = {}
            for region_input in region.inputs:
                value = region_input.value
                if value is None:
                    continue
                if value.origin.region >= 0:
                    given[value.origin] = value
                elif plan.leaves[value.origin.position].kind == STATE:
                    seen[value.origin] = region_input.nbytes or value.block_nbytes()
            taken.append(sum(seen.values()))
        for value in plan.results:
            given[value.origin] = value
        for origin, value in given.items():
            if origin.region >= 0:
                taken[origin.region] += value.block_nbytes()
        return taken

    # -- blocks to stages -----------------------------------------------------------------------

    def _place(self, found: StageBlock, takings: tuple[Taking, ...]) -> None:
        region = self.plan.regions[found.region]
        if region.follows:
            worker = self.workers[found.region - 1][found.number]
        else:
            worker = self.worker_of(region, found.number)
        # What is computed from an older version is so that nobody waits: it is spread by Dask.
        if worker == ANYWHERE and (self.late[found.region] or not any(self.late)):
            worker = self._nearest(takings)
        level = max((taking.level_on(worker) for taking in takings), default=0)
        self.blocks[-1].append((found, takings))
        self.workers[-1].append(worker)
        self.levels[-1].append(level)

    def _nearest(self, takings: tuple[Taking, ...]) -> int:
        """Return the worker that has most of what a block takes; the first of several."""
        totals: Counter[int] = Counter()
        for taking in takings:
            totals.update(taking.bytes_by_worker)
        totals.pop(ANYWHERE, None)
        return min(totals, key=lambda w: (-totals[w], w), default=self.default)

    # -- what moves -----------------------------------------------------------------------------

    def _exchanges(self) -> dict[int, Exchange]:
        received: dict[int, Counter[int]] = defaultdict(Counter)
        pairs: Counter[int] = Counter()
        for stage in self.stages:
            owners: dict[int, set[int]] = defaultdict(set)
            for taking, num_slices in taken_by(self.plan, stage).items():
                nbytes = taking.nbytes - taking.bytes_by_worker.get(stage.worker, 0)
                if nbytes:
                    level = stage.level if taking.stages else 0
                    received[level][stage.worker] += nbytes * num_slices
                    owners[level].update(taking.bytes_by_worker)
            for level, found in owners.items():
                pairs[level] += len(found - {stage.worker})
        most = Counter(dict.fromkeys(received, PAIRS_PER_WORKER * self.num_workers))
        most[0] = PAIRS_PER_WORKER * len(self.stages)
        return {
            level: Exchange(
                level,
                sum(by_worker.values()),
                max(by_worker.values()),
                pairs[level],
                pairs[level] > most[level] and not any(self.late),
            )
            for level, by_worker in received.items()
        }


class _Taker:
    """Gives what the blocks of a region take for one input, made once for those that take alike."""

    def __init__(self, staging: _Staging, region_input: RegionInput) -> None:
        self.staging, self.input = staging, region_input
        self.known: dict[Index, Taking] = {}
        self.value: Any = region_input.value  # None for attributes, of which there are no parts
        self.nbytes = 0
        if self.value is not None:
            self.nbytes = self.value.block_nbytes() // region_input.num_sharing

    def __call__(self, block: Index) -> Taking:
        if self.input.kind == "attrs":
            return NOTHING
        index = self.input.index(block)
        # Slices of one partial result come from one place, and those of a size are as many bytes.
        alike = self._shape(index) if self.input.is_sliced else index
        found = self.known.get(alike)
        if found is None:
            value = self.input.take(block)
            identity: Any = self.value.origin, self.input.layout, self.input.partial, alike
            if isinstance(value, BlockId):
                identity = value
            elif isinstance(value, Rows):
                identity = id(self.input)
            found = self.staging.takings.get(identity)
            if found is None:
                found = self.staging.takings[identity] = self._taking(value, alike)
            self.known[alike] = found
        return found

    def _shape(self, index: Index) -> Index:
        assert self.input.layout is not None
        return tuple([sizes[i] for sizes, i in zip(self.input.layout, index, strict=True)])

    def _taking(self, value: Any, alike: Index) -> Taking:
        parts = tuple(self._parts(value))
        by_worker: dict[int, int] = {}
        nbytes: Counter[int] = Counter()
        for part in parts:
            worker, level = self._where(part.block_id)
            if part.block_id.origin.region >= 0:
                by_worker[worker] = max(by_worker.get(worker, 0), level)
            nbytes[worker] += part.nbytes
        del nbytes[ANYWHERE]  # nobody knows where these are
        num_slices = 1
        if self.input.is_sliced:
            counts = zip(self.input.layout or (), alike, strict=True)
            num_slices = math.prod(sizes.count(size) for sizes, size in counts)
        return Taking(parts, by_worker, nbytes, nbytes.total(), num_slices)

    def _parts(self, value: Any) -> Iterator[Part]:
        if isinstance(value, BlockId):
            yield Part(value, self.nbytes)
            return
        if isinstance(value, Rows):
            for block_id in value.parts:
                yield Part(block_id, self.input.nbytes // len(value.parts))
            return
        dtype = self.value.spec.dtype
        itemsize = dtype.np.itemsize if dtype is not None else 0
        for block_id, source, _ in value.parts:
            sizes = tuple(s.stop - s.start for s in source)
            yield Part(block_id, itemsize * _num_elements(self.value.spec.shape, sizes))

    def _where(self, block_id: BlockId) -> tuple[int, int]:
        staging, ((region, position), block) = self.staging, block_id
        if region >= 0:
            number = staging._number(block_id)
            return staging.workers[region][number], staging.levels[region][number]
        leaf = staging.plan.leaves[position]
        if leaf.kind != STATE:
            return ANYWHERE, 0
        counts = tuple(map(len, leaf.layout or ()))
        number = block_number(counts, block) if leaf.layout else 0
        worker = staging.state_worker_of(leaf.what, block, number)
        staging.state_workers[block_id] = worker
        return worker, 0
