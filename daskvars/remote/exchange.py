"""Exchanges: workers take from one another the slices that they need, and nothing else moves.

An exchange is a *pull*. What a stage gives stays where it is (`TaskOutputs`); a stage that needs
some of it asks each owner once, over the connections that Dask's workers keep among themselves, for
all slices that it wants, and begins to compute as they come. So nothing goes through the scheduler
or the client, no pair of workers has a Dask key, and what is not needed does not move. In which
order a stage asks is for `remote.tasks.stage_tasks` to say.

An owner answers from its event loop, also while it is paused or busy; what takes long to copy is
copied by a thread. What it has no more (it was computed again, or moved, elsewhere) is looked for
at the scheduler. While Dask computes it again, the task that wants it is given back
(`Reschedule`), so that it does not hold the thread which that may need; what nobody will compute is
lost (`LostKeysError`), and the run is sent again.

Workers that are threads of one process hand the slices over as they are, in a GPU's memory too;
those that are processes of one machine, through memory that both have (`shared_buffers`), into
which a GPU copies by itself.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import numpy as np
from distributed import get_worker

from daskvars.device_array import DeviceArray, on_host
from daskvars.remote import scope_seconds
from daskvars.remote.dask_internals import (
    NamedPlugin,
    Reschedule,
    add_figures,
    add_stream_handler,
    add_worker_handler,
    ask_scheduler,
    ask_worker,
    current_key,
    delay_releases,
    drop_references,
    limit_of_process,
    on_loop,
    pickle,
    refer_inputs,
    remove_figures,
    remove_worker_handler,
    run_on_loop,
    send_to_scheduler,
    show_data,
    show_scopes,
    take_data,
    to_serialize,
)
from daskvars.remote.shared_buffers import (
    LentBuffers,
    Placed,
    SharedBuffer,
    SharedBuffers,
    Ticket,
    can_be_placed,
    kept_bytes,
    own,
)
from daskvars.remote.task_keys import has_outputs, label_of
from daskvars.remote.task_outputs import (
    GONE,
    CountedOutput,
    OutputsReference,
    RemoteOutput,
    TaskOutputs,
)
from daskvars.remote.tracing import FIGURES, TRACE, TRACED, Kernels, Slice, Tracer, slices_of
from daskvars.remote.versions.commit_order import LostKeysError
from daskvars.remote.versions.shared_graphs import OPERATION
from daskvars.remote.worker_memory import is_scarce
from daskvars.versioned import Versioned, VersionedPart

PULL, REFER, GIVE = "daskvars_pull", "daskvars_refer", "daskvars_give"
SMALL_BYTES = 16 << 10  # of an array that is part of a message, not a frame of its own
THREAD_BYTES = 1 << 20  # of an answer that a thread makes: copying less holds up nobody
COPY_THREADS = 2
ROW_BYTES = 64  # at least, of a row of a table that is elsewhere, whose shape nobody here knows
TIMEOUT_S = 300.0  # of one answer, of some megabytes
CHECK_S = 1.0  # between questions whether who was asked still has it
LOOK_S, LOOK_PAUSE_S = 1.0, 0.05  # how long what moved is looked for, and the pause before it
ENDS = ("memory", "error", "released", "forgotten", "rescheduled")  # of a task's life here
RELEASE_DELAY_S = 0.5  # that the scheduler may hear later of data that was let go
PATIENCE_S = 60.0  # that a task is given back again and again
TELL_S = 0.1  # that what is traced is gathered before it is told

Slices = tuple[slice, ...] | np.ndarray | None


class Wanted(NamedTuple):
    """A part of an output that is elsewhere: which, the slices (None: all of it) or the numbers of
    the rows, their bytes."""

    output: RemoteOutput
    source: Slices
    nbytes: int


class Exchanges(NamedPlugin):
    """A worker's part in exchanges.

    Attributes:
      num_received, received_bytes, received_s: of all pulls so far.
      tracer: takes note of its stages and exchanges; None while nobody looks.
    """

    name = "daskvars-exchange"
    here: ClassVar[dict[str, Exchanges]] = {}  # of the workers of this process

    def setup(self, worker: Any) -> None:
        """Take up the work on a worker."""
        self.worker = worker
        self.num_received, self.received_bytes, self.received_s = 0, 0, 0.0
        self.tracer: Tracer | None = None
        self.first_tried: dict[Any, float] = {}  # tasks that were given back -> when first
        self.suspended: dict[Any, Any] = {}  # tasks that were given back -> what goes on with them
        kept = kept_bytes(limit_of_process(worker))
        self.buffers, self.lent = SharedBuffers(kept), LentBuffers(kept)
        self.sought: set[Any] = set()  # keys that the next question to the scheduler is for
        self._search: asyncio.Future[dict[Any, list[str] | None]] | None = None
        self._is_sweeping = self._is_due = False
        self._threads: ThreadPoolExecutor | None = None
        self.copying = ThreadPoolExecutor(COPY_THREADS, thread_name_prefix="daskvars-exchange")
        self.lock = threading.Lock()
        add_worker_handler(worker, PULL, self.answer)
        add_worker_handler(worker, REFER, self.references)
        add_worker_handler(worker, GIVE, self.take)
        delay_releases(worker, RELEASE_DELAY_S)
        refer_inputs(worker, self.refer, lambda value: isinstance(value, OutputsReference))
        show_data(worker, self._shown)
        add_figures(worker, FIGURES, self.figures)
        add_stream_handler(worker, TRACE, self.trace)
        show_scopes(worker, scope_seconds.here.take)
        Exchanges.here[worker.address] = self

    @staticmethod
    def of_task() -> Exchanges:
        """Return the part of the worker whose task this thread runs."""
        return Exchanges.here[get_worker().address]

    @property
    def num_threads(self) -> int:
        """How many blocks the worker computes at once."""
        return self.worker.state.nthreads

    def threads(self) -> ThreadPoolExecutor:
        """Return the threads for the blocks of stages, beside those of the stages themselves."""
        with self.lock:
            if self._threads is None:
                name = "daskvars-stage"
                self._threads = ThreadPoolExecutor(self.num_threads, thread_name_prefix=name)
            return self._threads

    def teardown(self, worker: Any) -> None:
        """Answer no more."""
        if self._threads is not None:
            self._threads.shutdown(wait=False)
        self.copying.shutdown(wait=False)
        self.buffers.close()
        self.lent.close()
        Exchanges.here.pop(worker.address, None)
        remove_worker_handler(worker, PULL)
        remove_worker_handler(worker, REFER)
        remove_worker_handler(worker, GIVE)
        remove_figures(worker, FIGURES)

    def transition(self, key: Any, start: Any, finish: Any, **_: Any) -> None:
        """Forget what was taken by reference once nothing here needs it any more."""
        if finish in ENDS and self.worker.daskvars_references and not self._is_sweeping:
            self._is_sweeping = True
            self.worker.loop.add_callback(self._sweep)
        if finish == "memory" and self.first_tried:
            self.first_tried.pop(key, None)

    def _sweep(self) -> None:
        self._is_sweeping = False
        drop_references(self.worker)

    # -- what is told of it ---------------------------------------------------------------------

    def figures(self, worker: Any) -> dict[str, float]:
        """Return the counts so far, which go to the scheduler with every heartbeat."""
        return {
            "exchanges": self.num_received,
            "exchange_bytes": self.received_bytes,
            "exchange_seconds": self.received_s,
        }

    def trace(self, level: int, fence: str = "") -> None:
        """Begin to tell of stages and exchanges, or end it; on the event loop.

        Args:
          level: as of `tracing`.
          fence: sent back after all slices until now.
        """
        if self.tracer is not None:
            self.tracer.flush()
        if level != (0 if self.tracer is None else self.tracer.level):
            self.tracer = Tracer(level, self._tell) if level else None
        if fence:
            self._tell([], fence)

    def _tell(self, noted: list[Slice | Kernels], fence: str = "") -> None:
        found = [tuple(one) for one in slices_of(noted)]
        on_loop(self.worker, send_to_scheduler, self.worker, TRACED, found, fence)

    @contextmanager
    def traced(self, kind: str, name: str, **facts: str | int) -> Iterator[None]:
        """Take note of the work inside the block if somebody looks, and tell it."""
        tracer = self.tracer
        if tracer is None:
            yield
            return
        try:
            with tracer.during(kind, name, **facts):
                yield
        finally:
            self._tell_soon(tracer)

    def _tell_soon(self, tracer: Tracer) -> None:
        """Tell what was traced in a moment, with what others of this worker do meanwhile."""
        if tracer is not self.tracer:  # it was the last that this one was told
            tracer.flush()
            return
        with self.lock:
            is_due, self._is_due = self._is_due, True
        if not is_due:
            loop = self.worker.loop
            loop.add_callback(loop.call_later, TELL_S, self._tell_all)

    def _tell_all(self) -> None:
        with self.lock:
            self._is_due = False
        if self.tracer is not None:
            self.tracer.flush()

    def _received(self, group: Sequence[Wanted], parts: Sequence[Any], start: float) -> None:
        stop = time.perf_counter()
        nbytes = sum(
            getattr(part, "nbytes", wanted.nbytes)
            for (part,), wanted in zip(parts, group, strict=True)
        )
        self.num_received += 1
        self.received_bytes += nbytes
        self.received_s += stop - start
        if self.tracer is not None:
            names = dict.fromkeys(label_of(wanted.output.key) for wanted in group)
            owner = group[0].output.address
            facts = {"bytes": nbytes, "from": owner}
            self.tracer.note("exchange", ", ".join(names), start, stop, "", facts)

    # -- what others ask ------------------------------------------------------------------------

    async def refer(self, address: str, keys: Collection[Any]) -> dict[Any, OutputsReference]:
        """Return references of those keys of another worker that hold `TaskOutputs`."""
        ours = [key for key in keys if has_outputs(key)]
        owner = self._neighbour(address)
        if not ours:
            return {}
        if owner is not None:
            return owner.references_of(ours)
        found = await ask_worker(self.worker, address, REFER, keys=ours)
        return pickle.loads(found)

    async def references(self, keys: Collection[Any]) -> bytes:
        """Answer that to another worker."""
        return pickle.dumps(self.references_of(keys))

    def references_of(self, keys: Iterable[Any]) -> dict[Any, OutputsReference]:
        """Return references of keys that this worker has."""
        data = self.worker.data
        found = {key: data[key] for key in keys if key in data}
        return {
            key: value
            if isinstance(value, OutputsReference)
            else value.referred_to(key, self.worker.address, shown=False)
            for key, value in found.items()
            if isinstance(value, TaskOutputs | OutputsReference)
        }

    def _shown(self, key: Any, value: Any) -> Any:
        is_handle = isinstance(value, TaskOutputs)
        return value.referred_to(key, self.worker.address) if is_handle else value

    async def answer(self, request: bytes) -> dict[str, Any]:
        """Give slices of outputs: for each (key, position, slices) the array, if it is here.

        Large ones are put into the buffer that was lent for them, or are frames of the message, of
        which each adds some 200 bytes. Copies that take long are made by a thread: two workers that
        ask each other would wait in turn.
        """
        wanted, ticket, nbytes = pickle.loads(request)
        there = self._there(wanted)
        if nbytes >= THREAD_BYTES:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self.copying, self.parts_to_send, there, ticket)
        else:
            found = self.parts_to_send(there, ticket)
        is_frame = [bool(part) and _is_frame(part[0]) for part in found]
        parts = [frame or part for frame, part in zip(is_frame, found, strict=True)]
        frames = itertools.compress(found, is_frame)
        return {"parts": pickle.dumps(parts), "data": [to_serialize(part[0]) for part in frames]}

    def take(self, data: dict[str, Any]) -> dict[str, int] | None:
        """Keep arrays that a client feeds; return their bytes, None if nothing is taken now."""
        return take_data(self.worker, data)

    def slices(self, wanted: Sequence[tuple[Any, int, Slices]]) -> list[Any]:
        """Return slices of outputs that this worker has, each in a tuple; () where it has not."""
        return self.parts_of(self._there(wanted), None)

    def _there(self, wanted: Sequence[tuple[Any, int, Slices]]) -> list[Any]:
        """Return which of them this worker has: the output and the slices, () where it has not."""
        data, known = self.worker.data, dict[Any, Any]()
        found: list[Any] = []
        for key, position, source in wanted:
            if key not in known:
                known[key] = data.get(key)
            outputs = known[key]
            is_here = isinstance(outputs, TaskOutputs)
            found.append((outputs[position], source) if is_here else ())
        return found

    def parts_to_send(self, there: Sequence[Any], ticket: Ticket | None) -> list[Any]:
        """Return what `parts_of` does; what is in a GPU's memory yet is copied to the host."""
        return [tuple(map(on_host, part)) for part in self.parts_of(there, ticket)]

    def parts_of(self, there: Sequence[Any], ticket: Ticket | None) -> list[Any]:
        """Return the slices themselves; those that are large, and fit, put into a buffer."""
        take = sliced if ticket is None else _uncopied
        found: list[tuple[Any, ...]] = [
            (take(_value(each[0]), each[1]),) if each else () for each in there
        ]
        sent_bytes = sum(getattr(part[0], "nbytes", 0) for part in found if part)
        with self.lock:
            self.worker.transfer_outgoing_bytes_total += sent_bytes
        if ticket is not None:
            values = [(i, part[0]) for i, part in enumerate(found) if part]
            large = [(i, v) for i, v in values if can_be_placed(v) and v.nbytes > SMALL_BYTES]
            places = self.lent.placed(ticket, [value for _, value in large])
            for (i, _), place in zip(large, places or (), strict=False):
                found[i] = (place,)
            found = [tuple(map(_copied, part)) for part in found]
        for output, *_ in filter(None, there):
            if isinstance(output, CountedOutput):
                output.note_taken()
        return found

    def _neighbour(self, address: str) -> Exchanges | None:
        """Return the worker of an address if it is of this process, and hands arrays over as they
        are: from the loop that both have, since its data is for one thread at a time."""
        found = Exchanges.here.get(address)
        is_near = found is not None and found.worker.loop is self.worker.loop
        return found if is_near or address.startswith("inproc://") else None

    # -- what is taken --------------------------------------------------------------------------

    def begin(
        self, groups: Sequence[Sequence[Wanted]], then: Callable[[Any, Any, Any], None]
    ) -> None:
        """Begin to pull groups, each of what one owner has.

        Args:
          groups: what is wanted.
          then: ``then(group, arrays, error)`` is called for each, on the event loop.
        """
        on_loop(self.worker, self._begin, groups, then)

    def _begin(self, groups: Sequence[Sequence[Wanted]], then: Any) -> None:
        for group in groups:
            task = asyncio.ensure_future(self._pull_group(group, then))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    _tasks: ClassVar[set[Any]] = set()  # a loop alone does not keep its tasks alive

    async def _pull_group(self, group: Sequence[Wanted], then: Any) -> None:
        try:
            found = await self.pull(group)
        except Exception as error:  # noqa: BLE001 - raised by the task that waits for it
            then(group, None, error)
        else:
            then(group, found, None)

    def take_rows(self, wanted: Sequence[tuple[RemoteOutput, np.ndarray]]) -> list[Any]:
        """Return rows of outputs that are elsewhere, from all owners at once.

        Raises:
          Reschedule, LostKeysError: as `pull`.
        """
        groups: dict[str, list[int]] = {}
        for i, (output, _) in enumerate(wanted):
            groups.setdefault(output.address, []).append(i)

        async def pulled() -> list[list[Any]]:
            asked = ([rows(*wanted[i]) for i in numbers] for numbers in groups.values())
            return await asyncio.gather(*map(self.pull, asked))

        def rows(output: RemoteOutput, numbers: np.ndarray) -> Wanted:
            return Wanted(output, numbers, len(numbers) * ROW_BYTES)

        arrays = run_on_loop(self.worker, pulled()).result()
        found: list[Any] = [None] * len(wanted)
        for numbers, parts in zip(groups.values(), arrays, strict=True):
            for i, part in zip(numbers, parts, strict=True):
                found[i] = part
        return found

    async def pull(self, group: Sequence[Wanted]) -> list[Any]:
        """Return what is wanted of one owner; what is to stay for long should be `own`.

        Raises:
          Reschedule: it is not there now, but will be.
          LostKeysError: it is lost.
        """
        start = time.perf_counter()
        found: list[Any] = [()] * len(group)
        addresses = [wanted.output.address for wanted in group]
        until = None
        while True:
            for address in dict.fromkeys(addresses):
                numbers = [i for i, at in enumerate(addresses) if at == address and not found[i]]
                parts = await self._asked(address, [group[i] for i in numbers])
                for number, part in zip(numbers, parts, strict=True):
                    found[number] = part
            missing = [i for i, part in enumerate(found) if not part]
            if not missing:
                break
            if until is None:
                until = time.monotonic() + LOOK_S
            elif time.monotonic() > until:
                raise Reschedule
            moved = await self._located({group[i].output.key for i in missing})
            for i in missing:
                there = moved[group[i].output.key]
                addresses[i] = there[0] if there else ""
        gone = sorted(
            {str(w.output.key) for w, (p,) in zip(group, found, strict=True) if p is GONE}
        )
        if gone:
            raise LostKeysError(f"{', '.join(gone)} are lost: all had them who were to take them")
        self._received(group, found, start)
        return [part[0] for part in found]

    async def _asked(self, address: str, group: Sequence[Wanted]) -> list[Any]:
        wanted = [(output.key, output.position, source) for output, source, _ in group]
        if not address or not group:
            return [()] * len(group)
        owner = self._neighbour(address)
        if owner is not None:
            return owner.slices(wanted)
        if address.startswith("inproc://"):
            return [()] * len(group)
        nbytes = sum(part.nbytes for part in group)
        is_near = address.rpartition(":")[0] == self.worker.address.rpartition(":")[0]
        try:
            if is_near:
                async with self.buffers.lent(address, nbytes) as buffer:
                    return await self._answered(address, wanted, nbytes, buffer)
            return await self._answered(address, wanted, nbytes, None)
        except (OSError, TimeoutError):
            return [()] * len(group)

    async def _answered(
        self,
        address: str,
        wanted: Sequence[tuple[Any, int, Slices]],
        nbytes: int,
        buffer: SharedBuffer | None,
    ) -> list[Any]:
        """Return the parts that a worker answers with.

        Raises:
          OSError, TimeoutError: it cannot be reached, or has not got it any more: to one that is
            dead Dask tries to connect for half a minute.
        """
        ticket = None if buffer is None else buffer.ticket
        request = pickle.dumps((wanted, ticket, nbytes))
        asked = asyncio.ensure_future(ask_worker(self.worker, address, PULL, request=request))
        until = time.monotonic() + TIMEOUT_S
        try:
            while not (await asyncio.wait([asked], timeout=CHECK_S))[0]:
                if time.monotonic() > until:
                    raise TimeoutError
                there = await self._located({key for key, _, _ in wanted})
                if not any(address in found for found in there.values()):
                    raise OSError(f"{address} has nothing of what is wanted")
            answer = await asked
        finally:
            asked.cancel()
        frames = iter(answer["data"])
        found = [
            (next(frames),) if part is True else part for part in pickle.loads(answer["parts"])
        ]
        if buffer is None or not any(map(_is_placed, found)):
            return found
        memory = buffer.memory()
        return [(part[0].within(memory),) if _is_placed(part) else part for part in found]

    async def _located(self, keys: set[Any]) -> dict[Any, list[str]]:
        """Return which workers have each key, by one question for all pulls that ask at that time.

        If each asked for itself, a slow exchange would fill the scheduler with questions: that of
        64 workers 4,000 a second.

        Raises:
          LostKeysError: one is lost.
        """
        self.sought.update(keys)
        if self._search is None:
            self._search = asyncio.ensure_future(self._found())
        found = await asyncio.shield(self._search)
        there = {key: at for key in keys if (at := found[key]) is not None}
        if len(there) < len(keys):
            gone = sorted(str(key) for key in keys - there.keys())
            raise LostKeysError(f"{', '.join(gone)} are lost")
        return there

    async def _found(self) -> dict[Any, list[str] | None]:
        await asyncio.sleep(LOOK_PAUSE_S)
        keys, self.sought, self._search = list(self.sought), set(), None
        request = pickle.dumps(("locate", {"keys": keys}))
        return pickle.loads(await ask_scheduler(self.worker, OPERATION, request))

    def give_back(self, key: Any, run: Any = None) -> None:
        """Raise what has Dask run a task again, once what it takes is there again.

        Args:
          run: what has been done of it, which goes on if it is run here: what it has of others is
            not there twice.

        Raises:
          Reschedule: always, but
          LostKeysError: after some time.
        """
        now = time.monotonic()
        if now > self.first_tried.setdefault(key, now) + PATIENCE_S:
            del self.first_tried[key]
            raise LostKeysError(f"what {key} takes from other workers has not come back")
        if run is not None:
            self.suspended[key] = run
            self.worker.loop.add_callback(self._keep_suspended, key, now + PATIENCE_S)
        raise Reschedule

    def _keep_suspended(self, key: Any, until: float) -> None:
        """Keep what has been done of a task for a while, unless it is in the way."""
        if is_scarce() or time.monotonic() > until:
            self.suspended.pop(key, None)
        elif key in self.suspended:
            self.worker.loop.call_later(LOOK_S, self._keep_suspended, key, until)


def _value(output: Any) -> Any:
    return output.value if isinstance(output, CountedOutput) else output


def _is_frame(value: Any) -> bool:
    if type(value) is np.ndarray and value.dtype != object:
        return value.nbytes > SMALL_BYTES
    return type(value) is not Placed


def _copied(value: Any) -> Any:
    return value.whole[value.region] if type(value) is VersionedPart else value


def _is_placed(part: tuple[Any, ...]) -> bool:
    return bool(part) and type(part[0]) is Placed


def _uncopied(value: Any, source: Slices) -> Any:
    """Return what `sliced` does, or what a part of a version can be copied from."""
    if isinstance(value, Versioned) and isinstance(source, tuple):
        return VersionedPart(value, source)
    return sliced(value, source)


def sliced(value: Any, source: Slices) -> Any:
    """Return a part of an output as one that may be given away: it never changes.

    What is no array, a list of arrays, say, goes as a whole.
    """
    if source is None:
        return value.given() if isinstance(value, Versioned) else value
    if isinstance(value, DeviceArray):
        return value.part(source)
    if isinstance(source, np.ndarray):
        return value.take(source, axis=0)
    return value[source] if isinstance(value, np.ndarray | Versioned) else value


def brought(values: Sequence[Any]) -> list[Any]:
    """Return values of a task with those that are elsewhere brought here, whole.

    Raises:
      Reschedule, LostKeysError: as `Exchanges.pull`.
    """
    remote = [i for i, value in enumerate(values) if isinstance(value, RemoteOutput)]
    found = list(values)
    if remote:
        here = Exchanges.of_task()

        async def pulled() -> list[list[Any]]:
            return await asyncio.gather(*(here.pull([Wanted(values[i], None, 0)]) for i in remote))

        try:
            arrays = run_on_loop(here.worker, pulled()).result()
        except Reschedule:
            here.give_back(current_key())
        for i, (array,) in zip(remote, arrays, strict=True):
            found[i] = own(array)
    return found
