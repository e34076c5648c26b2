"""What a worker does for one stage: all blocks that it computes between two exchanges.

A stage travels as data, once (`PackedStage`), with the regions that it has blocks of, to the worker
that is to run it; a run sends keys alone. A region that many stages have is in each of them: under
a key of its own it would be on all workers, and Dask tells every task about all of these, and takes
what is on several workers away from all but one, again and again. Its values are numbered: they
are *slots*. Some are filled by what the task takes, from this worker or by pulls from others, the
rest by its blocks. A block runs as soon as all of its slots are filled, in the order of the plan
where several could; a slot is emptied when the last block that takes it is done. So what one worker
hands on to itself is no task and no copy, and pulls go on while blocks are computed. A value that
is put together from several slots is in one of its own (`joins`).

Blocks run on as many threads as the worker has. Which of them run at once changes no bit, since
each is computed by itself, its BLAS on one thread.
"""

from __future__ import annotations

import contextvars
import heapq
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy

from daskvars import backend
from daskvars.device_array import on_device
from daskvars.errors import InternalError
from daskvars.remote.dask_internals import Reschedule, current_key, remeasure
from daskvars.remote.exchange import Exchanges, Wanted, brought, sliced
from daskvars.remote.shared_buffers import own
from daskvars.remote.task_keys import label_of
from daskvars.remote.task_outputs import (
    GONE,
    CountedOutput,
    Outputs,
    RemoteOutput,
    TaskOutputs,
    counted,
)
from daskvars.remote.tasks.block_arguments import Cut, Take
from daskvars.remote.tasks.joins import Join, Joining
from daskvars.remote.tasks.region_tasks import (
    PackedRegion,
    WorkerRegion,
    aligned,
    compressed,
    decompressed,
    unpacked,
)
from daskvars.remote.tasks.table_rows import Rows, RowsElsewhere
from daskvars.remote.versions.commit_order import LostKeysError
from daskvars.remote.worker_memory import has_room, reserve_memory

BY_ROWS = "rows"  # in place of slices
GROUP_BYTES = 4 << 20  # of slices that are asked for at once
ALONG_BYTES = 64 << 10  # of one that goes along with any others
MAX_WAITING_BYTES = 16 << 20  # of slices that are asked for before what needs them is next
in_stage = contextvars.ContextVar("in_stage", default=False)  # whether a stage has called this


class Source(NamedTuple):
    """Where a slot is filled from.

    Attributes:
      slot: its number.
      argument: which argument of the task has it.
      path: what to take of that, item by item.
      slices: what is needed of it; None for all. They apply only if it is elsewhere, BY_ROWS too:
        then it stays there, and rows of it are looked up by a block.
      nbytes: of that.
    """

    slot: int
    argument: int
    path: tuple[int, ...]
    slices: Any
    nbytes: int


class BlockCall(NamedTuple):
    """One block of a stage.

    Attributes:
      block: the block's index.
      steps: for each input a Take of a slot, a Cut of one or Rows of such, or plain data.
      outputs: (position, slot) of each result that is wanted.
    """

    region: int
    block: Any
    steps: tuple[Any, ...]
    outputs: tuple[tuple[int, int], ...]


class StageProgram(NamedTuple):
    """A stage as data.

    Attributes:
      num_slots: how many there are.
      sources: of the slots that are filled from outside, in the order in which they are needed.
      joins: the slots that are put together from others.
      calls: its blocks, in an order in which they can run.
      outputs: the slots that leave it.
      times: how often each of them is taken by other stages, then to be let go; 0 where it stays.
      shown: positions among them that a reference shows.
      is_plain: only the client wants them.
    """

    num_slots: int
    sources: tuple[Source, ...]
    joins: tuple[Join, ...]
    calls: tuple[BlockCall, ...]
    outputs: tuple[int, ...]
    times: tuple[int, ...]
    shown: tuple[int, ...]
    is_plain: bool


class PackedStage(NamedTuple):
    """A `StageProgram` as bytes, and the regions that it has blocks of."""

    key: str
    data: bytes
    regions: tuple[PackedRegion, ...]

    @property
    def nbytes(self) -> int:
        """How large it is."""
        return len(self.data) + sum(len(region.data) for region in self.regions)


def pack_stage(key: str, program: StageProgram, regions: Sequence[PackedRegion]) -> PackedStage:
    """Return a stage as bytes, under its Dask key."""
    return PackedStage(key, compressed(tuple(program)), tuple(regions))


@lru_cache(maxsize=512)
def unpacked_stage(packed: PackedStage) -> WorkerStage:
    """Return a stage that can be run, made once per process."""
    program = StageProgram(*decompressed(packed.data))
    return WorkerStage(program, [*map(unpacked, packed.regions)])


class WorkerStage:
    """A stage, and what is known of it before it runs.

    Attributes:
      regions: those that its calls name.
      takers: slot -> the calls that wait for it, in order.
      uses: slot -> how many calls and joins take it; one more for those that leave the stage.
      slots: call -> the slots that it takes.
      needed: call -> those that it waits for: of a slot that is put together, those that it is of.
      joins: slot -> the join that makes it.
      joins_of: slot -> the joins that it is part of.
      on_gpu: the slots that only blocks on a GPU take, as they are: each is copied there once.
    """

    def __init__(self, program: StageProgram, regions: Sequence[WorkerRegion]) -> None:
        self.program, self.regions = program, regions
        self.joins = {join.slot: join for join in program.joins}
        self.joins_of: dict[int, list[Join]] = {}
        self.takers: dict[int, list[int]] = {}
        self.uses: Counter[int] = Counter(program.outputs)
        self.slots: list[tuple[int, ...]] = []
        self.needed: list[tuple[int, ...]] = []
        for join in program.joins:
            self.uses.update(join.parts)
            for slot in join.parts:
                self.joins_of.setdefault(slot, []).append(join)
        for number, call in enumerate(program.calls):
            taken = tuple(dict.fromkeys(_slots(call.steps)))
            self.slots.append(taken)
            self.uses.update(taken)
            parts = (self.joins[slot].parts if slot in self.joins else (slot,) for slot in taken)
            needed = tuple(dict.fromkeys(itertools.chain(*parts)))
            self.needed.append(needed)
            for slot in needed:
                self.takers.setdefault(slot, []).append(number)
        is_whole = [
            {s.dependency for s in call.steps if isinstance(s, Take)} for call in program.calls
        ]
        is_gpu = [regions[call.region].xp is not numpy for call in program.calls]
        self.on_gpu = {
            slot
            for slot, takers in self.takers.items()
            if all(is_gpu[n] and slot in is_whole[n] for n in takers)
        }

    def most_awaited(self, sizes: Mapping[int, int]) -> int:
        """Return the most bytes that one call waits for, of slots of those sizes, beside what
        earlier ones have waited for."""
        left = dict(sizes)
        awaited = (sum(left.pop(slot, 0) for slot in needed) for needed in self.needed)
        return max(awaited, default=0)


def _slots(steps: Sequence[Any]) -> Any:
    for step in steps:
        if isinstance(step, Take):
            yield step.dependency
        elif isinstance(step, Cut):
            for take, _, _ in step.parts:
                yield take.dependency
        elif isinstance(step, Rows):
            for take in step.parts:
                yield take.dependency


class StageRun:
    """One run of a stage."""

    def __init__(
        self, stage: WorkerStage, arguments: Sequence[Any], key: Any, worker: Exchanges
    ) -> None:
        self.stage, self.key = stage, key
        self.exchanges = worker
        self.num_threads = worker.num_threads
        program = stage.program
        self.values: list[Any] = [None] * program.num_slots
        self.uses = dict(stage.uses)
        self.pulled: set[int] = set()
        self.counted: dict[int, CountedOutput] = {}  # slots with what this worker made before
        self.joining: dict[int, Joining] = {}
        self.missing = [len(slots) for slots in stage.needed]
        self.ready = [n for n, count in enumerate(self.missing) if not count]
        self.num_left, self.num_running, self.first_waiting = len(program.calls), 0, 0
        self.events: SimpleQueue[Any] = SimpleQueue()
        self.groups: list[tuple[list[Wanted], list[int]]] = []  # not asked for yet, the last first
        self.num_asked = self.waiting_bytes = 0
        self.most_waiting = MAX_WAITING_BYTES
        self.asked_slots: dict[int, list[int]] = {}
        self.sizes: dict[int, int] = {}
        self._take(arguments)

    # -- what comes from outside ----------------------------------------------------------------

    def _take(self, arguments: Sequence[Any]) -> None:
        remote: list[tuple[Wanted, int]] = []
        for slot, argument, path, slices, nbytes in self.stage.program.sources:
            value = arguments[argument]
            for item in path:
                value = value[item]
            if slices == BY_ROWS and isinstance(value, RemoteOutput):
                self._fill(slot, RowsElsewhere(self.exchanges.take_rows, value))
            elif isinstance(value, RemoteOutput):
                remote.append((Wanted(value, slices, nbytes), slot))
            else:
                self._fill_from_outside(slot, self._uncounted(slot, value))
        if remote:
            self.groups = grouped(remote)[::-1]
            sizes = {slot: wanted.nbytes for wanted, slot in remote}
            self.most_waiting = max(MAX_WAITING_BYTES, self.stage.most_awaited(sizes))

    def _uncounted(self, slot: int, value: Any) -> Any:
        """Return what this worker has as it is.

        Raises:
          LostKeysError: it has been let go, as this stage has run before.
        """
        if not isinstance(value, CountedOutput):
            return value
        if value.value is GONE:
            raise LostKeysError(
                f"what {self.key} takes of its own worker is lost: it took it before"
            )
        self.counted[slot] = value
        return value.value

    def _ask(self, is_needed: bool, awaited: Set[int] = frozenset()) -> None:
        """Begin pulls: all that memory allows, and the next if nothing can be done without.

        Args:
          is_needed: nothing can.
          awaited: slots that a block waits for while nothing else is done, and then no others: they
            would share its way (m, 8 MiB beside 32 for a later block: 16 to 26 ms; alone 7 to 13).

        Raises:
          ResourceExhaustedError: it is needed, and there is no room for it.
        """
        asked: list[Sequence[Wanted]] = []
        later: Sequence[int] = ()  # of which what is here may be copied meanwhile
        while self.groups and (is_needed or self.waiting_bytes < self.most_waiting):
            group, slots = self.groups[-1]
            if awaited and (asked or self.num_asked) and awaited.isdisjoint(slots):
                later = slots
                break
            nbytes = sum(wanted.nbytes for wanted in group)
            if not has_room(nbytes):
                if not is_needed:
                    break
                with reserve_memory(nbytes, label_of(self.key), ()):
                    pass  # from here on it is the process that has it
            self.groups.pop()
            asked.append(group)
            for wanted, slot in zip(group, slots, strict=True):
                self.sizes[slot] = wanted.nbytes
                self.waiting_bytes += wanted.nbytes
            self.num_asked += 1
            self.asked_slots[id(group)] = slots
            is_needed = False
        if asked:
            self.exchanges.begin(asked, lambda *found: self.events.put((self._arrived, found)))
        for slot in itertools.chain(*(self.asked_slots[id(group)] for group in asked), later):
            self._copy_parts(slot)

    def _awaited(self) -> Set[int]:
        """Return the slots that the next block takes if it waits for some, and none is computed."""
        missing = self.missing
        while self.first_waiting < len(missing) and not missing[self.first_waiting]:
            self.first_waiting += 1
        if self.ready or self.num_running or self.first_waiting == len(missing):
            return frozenset()
        return frozenset(self.stage.needed[self.first_waiting])

    def _arrived(self, group: Any, arrays: Any, error: Exception | None) -> None:
        self.num_asked -= 1
        slots = self.asked_slots.pop(id(group))
        if error is not None:
            self.groups.append((group, slots))
            self.waiting_bytes -= sum(self.sizes.pop(slot, 0) for slot in slots)
            raise error
        for slot, wanted, array in zip(slots, group, arrays, strict=True):
            if wanted.source is not None:
                self.pulled.add(slot)
            self._fill_from_outside(slot, array)
            self._copy_parts(slot)

    # -- what is put together -------------------------------------------------------------------

    def _joining(self, join: Join) -> Joining:
        if join.slot not in self.joining:
            xp = self.stage.regions[join.region].xp
            self.joining[join.slot] = Joining(xp, join.cut, self.pulled)
        return self.joining[join.slot]

    def _copy_parts(self, slot: int) -> None:
        """Copy what is there of all values that a slot is part of; it need not be kept."""
        for join in self.stage.joins_of.get(slot, ()):
            for copied in self._joining(join).copy(self.values):
                if self.uses[copied] == 1:
                    self.values[copied] = None

    def _put_together(self, number: int) -> None:
        """Make what a call takes that is put together."""
        for slot in self.stage.slots[number]:
            join = self.stage.joins.get(slot)
            if join is not None and self.values[slot] is None:
                self.values[slot] = self._joining(join).finished(self.values)
                del self.joining[slot]
                for part in join.parts:
                    self._used(part)

    # -- slots ----------------------------------------------------------------------------------

    def _fill_from_outside(self, slot: int, value: Any) -> None:
        self._fill(slot, on_device(value) if slot in self.stage.on_gpu else aligned(value))

    def _fill(self, slot: int, value: Any) -> None:
        self.values[slot] = value
        for number in self.stage.takers.get(slot, ()):
            self.missing[number] -= 1
            if not self.missing[number]:
                heapq.heappush(self.ready, number)

    def _used(self, slot: int) -> None:
        self.uses[slot] -= 1
        if not self.uses[slot]:
            self.values[slot] = None
            if slot in self.counted:
                self.counted.pop(slot).note_taken()

    # -- blocks ---------------------------------------------------------------------------------

    def outputs(self) -> list[Any]:
        """Run it, and return what leaves it.

        Raises:
          Reschedule: something is not there now, but will be; it goes on then, if it is called
            again.
        """
        pool = self.exchanges.threads() if self.num_threads > 1 else None
        try:
            while self.num_left or self.groups or self.num_asked:
                self._ask(False, self._awaited())
                self._start(pool)
                if self.num_running or self.num_asked:
                    call, arguments = self.events.get()
                    call(*arguments)
                elif self.groups:
                    self._ask(True)
                elif self.num_left and not self.ready:
                    raise InternalError.saying("a stage waits for what nobody gives")
        finally:
            self._stop()
        program = self.stage.program
        return [
            counted(own(self.values[slot]), times)
            for slot, times in zip(program.outputs, program.times, strict=True)
        ]

    def _stop(self) -> None:
        """Wait for blocks that run: nothing that this worker knows goes on behind its back."""
        events = []
        for _ in range(self.num_running):
            events.append(self.events.get())
            while events[-1][0] != self._done:
                events.append(self.events.get())
        for event in events:
            self.events.put(event)

    def _start(self, pool: ThreadPoolExecutor | None) -> None:
        """Run blocks that are ready: here if it is one at a time, else on threads."""
        while self.ready:
            if pool is None or (len(self.ready) == 1 and not self.num_running and not self.groups):
                number = self._next()
                try:
                    self._finish(number, self._call(number))
                except Reschedule:
                    heapq.heappush(self.ready, number)
                    raise
                if not self.events.empty():
                    call, arguments = self.events.get()
                    call(*arguments)
                continue
            if self.num_running >= self.num_threads:
                return
            number = self._next()
            self.num_running += 1
            context = contextvars.copy_context()
            pool.submit(context.run, self._in_thread, number)

    def _next(self) -> int:
        """Return the call that is next, with what it takes at hand.

        That waits no more, though a later call may take it as well: others are asked for meanwhile.
        """
        number = heapq.heappop(self.ready)
        for slot in self.stage.needed[number]:
            self.waiting_bytes -= self.sizes.pop(slot, 0)
        self._put_together(number)
        self._ask(False)
        return number

    def _in_thread(self, number: int) -> None:
        try:
            found = self._call(number)
        except BaseException as error:  # noqa: BLE001 - raised by the task's thread
            self.events.put((self._done, (number, None, error)))
        else:
            self.events.put((self._done, (number, found, None)))

    def _done(self, number: int, outputs: Any, error: BaseException | None) -> None:
        self.num_running -= 1
        if isinstance(error, Reschedule):
            heapq.heappush(self.ready, number)
        if error is not None:
            raise error
        self._finish(number, outputs)

    def _finish(self, number: int, outputs: Any) -> None:
        self.num_left -= 1
        call = self.stage.program.calls[number]
        for position, slot in call.outputs:
            self._fill(slot, outputs[position])
        for slot in self.stage.slots[number]:
            self._used(slot)

    def _call(self, number: int) -> list[Any]:
        call = self.stage.program.calls[number]
        region, tracer = self.stage.regions[call.region], self.exchanges.tracer
        if tracer is None:
            return region(call.steps, self.values, self.pulled, (self.key, number))
        with tracer.during("block", region.label):
            return region(call.steps, self.values, self.pulled, (self.key, number))


def grouped(remote: Sequence[tuple[Wanted, int]]) -> list[tuple[list[Wanted], list[int]]]:
    """Return what is wanted by owner, in pieces of some megabytes, the first needed first.

    What is small goes with what its owner is asked for before: a question costs more than it.
    """
    found: list[tuple[list[Wanted], list[int]]] = []
    last: dict[str, tuple[int, list[Wanted], list[int]]] = {}
    for wanted, slot in remote:
        nbytes, group, slots = last.get(wanted.output.address, (0, [], []))
        if not group or (nbytes + wanted.nbytes > GROUP_BYTES and wanted.nbytes > ALONG_BYTES):
            nbytes, group, slots = 0, [], []
            found.append((group, slots))
        group.append(wanted)
        slots.append(slot)
        last[wanted.output.address] = nbytes + wanted.nbytes, group, slots
    return found


# -- the tasks ----------------------------------------------------------------------------------


def run_stage(packed: PackedStage, *taken: Any) -> Outputs:
    """Run one stage of a plan.

    Args:
      taken: what it takes: outputs of tasks, references, lists of them, arrays, plain data.

    Returns:
      What leaves the stage, as one result.
    """
    return contextvars.copy_context().run(_run_stage, packed, taken)


def _run_stage(packed: PackedStage, taken: Sequence[Any]) -> Outputs:
    in_stage.set(True)
    stage, key, here = unpacked_stage(packed), current_key(), Exchanges.of_task()
    run = here.suspended.pop(key, None) or StageRun(stage, taken, key, here)
    try:
        with (
            backend.one_blas_thread,
            numpy.errstate(all="ignore"),
            here.traced("stage", label_of(key), key=key),
        ):
            found = run.outputs()
    except Reschedule:
        here.give_back(key, run)
    if any(region.split is not None for region in stage.regions):
        remeasure(key)
    program = stage.program
    return Outputs(found) if program.is_plain else TaskOutputs(found).showing(program.shown)


def gather_references(*arguments: Any) -> Outputs:
    """Return where the results of an exchange are.

    Args:
      arguments: key, and what is under it: outputs of this worker, or a reference.
    """
    here = Exchanges.of_task()
    return Outputs(
        value.referred_to(key, here.worker.address) if isinstance(value, TaskOutputs) else value
        for key, value in zip(arguments[::2], arguments[1::2], strict=True)
    )


def locate_blocks(keys: Sequence[Any], blocks: Sequence[tuple[int, int]], *outputs: Any) -> Outputs:
    """Return where blocks of variables are: each as it is if it is a number, else a reference.

    Args:
      keys: of the outputs.
      blocks: for each block which of the outputs, and the position there.
      outputs: of this worker, or references.
    """
    (*found,) = gather_references(*(x for pair in zip(keys, outputs, strict=True) for x in pair))
    return Outputs(found[number][position] for number, position in blocks)


def identity(value: Any) -> Any:
    """Return a block of a variable as a result of its own, which may be fetched."""
    return brought([value])[0]


def dask_block(value: Any, position: int | None) -> numpy.ndarray[Any, Any]:
    """Return a value, or one of the outputs of a task, as a block of a dask array.

    It is the memory itself, if it is here, which nobody may write into from now on.
    """
    (found,) = brought([value if position is None else value[position]])
    array = numpy.asarray(sliced(found, None)).view()
    array.flags.writeable = False
    return array


def fetched(positions: Sequence[int], outputs: Any) -> Outputs:
    """Return outputs of a task as results that may be fetched."""
    return Outputs(brought([outputs[position] for position in positions]))


def as_outputs(value: Any) -> TaskOutputs:
    """Return a value as what a stage gives, so that it is taken as that is."""
    return TaskOutputs([value])


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a result that nobody could know before."""
    return numpy.shape(brought([value])[0])
