"""The in-process executor: plans run on this process's threads, on values held in memory.

A plan of one task is one function call. A plan of several tasks goes to Dask's threaded
scheduler. Either way everything that can fail comes first; then the new values are put in place in
one step, those of large variables by updating their memory (`region_split`). A run that fails, or
is interrupted, changes nothing.
"""

from __future__ import annotations

import functools
import math
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import dask.array
import dask.local
import dask.threaded
import numpy
from dask.callbacks import Callback

from daskvars import backend, config, idle_threads
from daskvars.chunk_grid import Chunks
from daskvars.device_array import on_host
from daskvars.dtypes import as_dtype
from daskvars.errors import FailedPreconditionError
from daskvars.execution.engine.executors import Bound, Form
from daskvars.execution.engine.interrupts import shielded
from daskvars.execution.engine.plans.steps import doing, measured, new_records, only, steps_of
from daskvars.execution.engine.saving.local_seals import Durable, read_version
from daskvars.execution.engine.values.blocks import block_steps, cut, owned, whole
from daskvars.execution.engine.values.dask_arrays import (
    array_name,
    chunks_of,
    cut_array,
    dask_array,
    read_only,
)
from daskvars.execution.engine.values.lazy_feeds import LazyFeed, LazyTasks, fitted
from daskvars.execution.local.devices import on_devices
from daskvars.execution.local.leased_blocks import kept
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.explain import explain
from daskvars.lowering.plan import BlockId, LeafInfo, Origin, Plan, PlanValue, Region, RegionInput
from daskvars.lowering.program import CONSTANT, FEED, KEY, STATE
from daskvars.remote import tracing
from daskvars.remote.regions import region_split
from daskvars.remote.tasks.block_arguments import Literal, plain, run_block
from daskvars.shape_arithmetic import is_known
from daskvars.state import checkpoint
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.values import Lease, Values
from daskvars.surface.progress_bars import long_work

THREAD_TASK_S = 2e-4  # that it takes to hand a task to a thread and back

Keys = Callable[[Any], tuple[int, int]]


class LocalExecutor:
    """Runs plans on the variables of one `Values`.

    Args:
      values: the variables.
      num_threads: how many blocks run at once; None: `config.num_threads`.
      durable: what keeps them and their store in step, if they have one.
    """

    is_closed = is_shared = False

    def __init__(
        self, values: Values, num_threads: int | None = None, durable: Durable | None = None
    ) -> None:
        self.values, self.durable = values, durable
        self._num_threads = num_threads
        self._pool: ThreadPoolExecutor | None = None
        self._making_pool = threading.Lock()
        self._process = os.getpid()
        if config.get().keep_freed_memory:
            backend.keep_freed_memory()

    @property
    def num_workers(self) -> int:
        """How many blocks can run at once."""
        return self._num_threads or config.thread_count()

    def automatic_chunks(self, spec: Spec, device: str, found: Chunks | None) -> None:
        """Return how a variable is cut of which nobody has said that: here not at all."""

    def bind(self, plan: Plan, names: Sequence[str] = (), has_lazy: bool = False) -> Bound:
        """Return a plan as it is run; see `Binder.bind`."""
        # The tasks of dask arrays that are fed want a scheduler.
        kind = _Inline if plan.is_one_call and not has_lazy else _Threaded
        return kind(self, plan)

    def threads(self) -> ThreadPoolExecutor:
        """Return the pool that blocks run on.

        Raises:
          FailedPreconditionError: it is of the process that this one was forked from.
        """
        with self._making_pool:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.num_workers, thread_name_prefix="daskvars")
                self._process = os.getpid()
            elif self._process != os.getpid():
                raise FailedPreconditionError.saying(
                    "this process was forked from one that had used daskvars already, "
                    "whose threads are not here, so nothing in chunks can run: start the process "
                    "by multiprocessing's 'spawn' or 'forkserver', or fork before the first run"
                )
            return self._pool

    @property
    def placement(self) -> None:
        """What chooses workers: nothing, as everything runs in this process."""

    def recovering(self, action: Callable[[], Any]) -> Any:
        """Call `action`: nothing is ever lost here."""
        return action()

    def transact(self, run: Callable[[], Any]) -> Any:
        """Call what runs a program or sets variables, in step with the store if there is one."""
        if self.durable is None:
            return run()
        if config.get().seal_every_s:
            self.durable.seal_if_due()
            return run()
        return self.durable.transact(run)

    def seal(self) -> None:
        """Write the present values to the store, if there is one; see `Durable.seal`."""
        if self.durable is not None:
            self.durable.seal()

    def seal_changes(self) -> None:
        """Do so if anything has changed."""
        if self.durable is not None:
            self.durable.seal_changes()

    def recover(self) -> int:
        """Set the variables back to the last durable version, and return its number."""
        with self.values.run_lock:
            return read_version(self.values, self.durable.store if self.durable else None)

    def sync(self) -> None:
        """Wait for nothing: here a run is over when it returns."""

    def lease(self, keys: Collection[str], in_flight: bool = False) -> Lease:
        """Return the blocks of variables, to be read until the lease is released.

        `in_flight` makes no difference, as nothing is in flight here.
        """
        return self.values.lease(keys)

    def dask_array(self, key: str) -> dask.array.Array:
        """Return the present value of a variable as a dask array of the memory that it is in."""
        values = self.values
        with values.run_lock, values.lease([key]) as lease:
            record = values.record(key)
            name = array_name(key, values.token, lease.version, key)
            blocks = kept(lease.blocks[0], lease)
        return dask_array(name, as_dtype(record.dtype).np, record.chunks, blocks)

    def put(self, new: Mapping[str, Any], records: Any) -> None:
        """Set variables to blocks."""
        self.values.put(new, records)

    def save(self, values: Mapping[str, Any], where: str, global_step: int | None) -> None:
        """Write a checkpoint of key -> (record, blocks)."""
        checkpoint.save(values, where, global_step=global_step)

    def save_in_background(
        self, values: Mapping[str, Any], where: str, global_step: int | None
    ) -> Callable[[], Any]:
        """Return what writes a checkpoint while runs go on, and drops each block once written."""
        return functools.partial(
            checkpoint.save, values, where, global_step=global_step, release=True
        )

    def restore(
        self,
        where: str,
        wanted: Any,
        names: Mapping[str, str],
        offsets: Mapping[str, Any],
        devices: Mapping[str, str],
    ) -> dict[str, Any]:
        """Read blocks from a checkpoint, in the layouts wanted, and put them on the devices."""
        found = checkpoint.restore(where, wanted, names, allow_unexpected=True, offsets=offsets)
        return on_devices(found, devices)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


# Outputs, new blocks of variables (None if it changes none), what `_Bound.finish` does, the version
# that was read, and its blocks.
_Ran = tuple[list[Any], dict[str, Any] | None, list[Any], int, list[Any]]


class _Bound:
    """What both ways of running share: reading the variables and committing new values."""

    def __init__(self, executor: LocalExecutor, plan: Plan) -> None:
        self.executor = executor
        self.values = executor.values
        self.plan = plan
        self.tasks_by_scope, self.transfer_bytes = plan.tasks_by_scope, plan.transfer_bytes
        self.num_threads = executor.num_workers
        self.steps = steps_of(plan)
        self.has_split = any(step.split is not None for step in self.steps)
        self.state_keys = [leaf.what for leaf in plan.leaves if leaf.kind == STATE]
        # Only large blocks are ever written in place; those that are not stay what they are.
        states = [leaf for leaf in plan.leaves if leaf.kind == STATE]
        self.needs_lease = not plan.updates and any(map(_may_be_large, states))
        self.lock: Any = self.values.run_lock if plan.updates else nullcontext()
        self.state_numbers = {key: i for i, key in enumerate(self.state_keys)}
        self.records = new_records(plan)
        self.unshaped = [key for key in plan.updates if key not in self.records]
        self.doing = doing(plan)
        wanted = Counter(value.origin for value in plan.results)
        # New values that are also fetched, or are those of several variables: each has its own.
        self.copied = {
            key
            for key, value in plan.updates.items()
            if wanted[value.origin] > 1 and value.spec.shape != ()  # nobody writes into a scalar
        }

    def explain(self) -> str:
        """Return the plan as text."""
        return explain(self.plan)

    def run(self, feeds: Sequence[Any], key_of: Keys, form: Form) -> _Ran:
        """Compute on the newest version; until it is committed no variable has changed."""
        if self.plan.pieces:
            feeds = self.plan.with_pieces(feeds)
        if self.needs_lease:
            with self.values.lease(self.state_keys) as lease:
                return self.computed(lease.version, lease.blocks, feeds, key_of, form)
        return self.computed(*self.values.read(self.state_keys), feeds, key_of, form)

    def computed(
        self, version: int, state: list[Any], feeds: Sequence[Any], key_of: Keys, form: Form
    ) -> _Ran:
        """Compute on the state of `version`."""
        raise NotImplementedError

    def commit(self, ran: _Ran, form: Form) -> list[Any]:
        """Put new blocks in place; a shape that the plan could not know is checked now."""
        outputs, new, splits, version, state = ran
        if splits:
            shielded(lambda: self.guarded(self.finish, new, splits, state))
        elif new is not None:
            self.values.commit(new, version, self._records_of(new))
        return outputs if form.names is None else self.dask_arrays(outputs, form.names)

    def dask_arrays(self, outputs: list[Any], names: Sequence[str]) -> list[dask.array.Array]:
        """Return outputs as dask arrays, `names` in the names of their tasks."""
        stamp = secrets.token_hex(8)
        return [
            self.dask_array(array_name(name, stamp, number), value, output)
            for number, (name, value, output) in enumerate(
                zip(names, self.plan.outputs, outputs, strict=True)
            )
        ]

    def dask_array(self, name: str, value: PlanValue, output: Any) -> dask.array.Array:
        """Return an output as the dask array of a name."""
        raise NotImplementedError

    def _records_of(self, new: dict[str, Any]) -> dict[str, VariableRecord]:
        if not self.unshaped:
            return self.records
        found = dict(self.records)
        for key in self.unshaped:
            found[key], new[key] = measured(key, new[key], self.plan.updates[key].spec)
        return found

    @numpy.errstate(all="ignore")  # around a function it takes half the time of a block
    def guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function` with BLAS on one thread and without NumPy's warnings."""
        idle_threads.share_among(self.num_threads)
        if not self.plan.uses_blas:
            return function(*args)
        with backend.one_blas_thread:
            return function(*args)

    def finish(
        self,
        new: dict[str, Any],
        splits: list[tuple[int, list[tuple[str, Any]], tuple]],
        state: list[Any],
    ) -> None:
        """Update large variables in place and commit, while nobody else gets at a block.

        `splits` holds for each: number of the region, (key, block index) of each variable that it
        changes, and what the first half returned.
        """
        with self.values.exclusive():
            leased = self.values.leased()
            for number, variables, task_outputs in splits:
                step = self.steps[number]
                arrays = [state[self.state_numbers[key]][index] for key, index in variables]
                shared = frozenset(
                    i
                    for i, array in enumerate(arrays)
                    # A view is not the variable's own memory, nor is what nobody may write into.
                    if id(array) in leased or array.base is not None or not array.flags.writeable
                )
                results = step.finish(arrays, task_outputs, shared)
                for key, value in self.plan.updates.items():
                    if (
                        value.origin.region == number
                        and value.origin.position in step.updated_position
                    ):
                        index = next(i for k, i in variables if k == key)
                        new.setdefault(key, {})[index] = results[
                            step.updated_position[value.origin.position]
                        ]
            self.values.replace(new, self._records_of(new))


def _may_be_large(leaf: LeafInfo) -> bool:
    """Return whether a variable may be one that `region_split` changes."""
    dtype, shape = leaf.spec
    if not is_known(shape) or dtype is None:
        return True
    return math.prod(shape) * dtype.np.itemsize >= region_split.MIN_BYTES


class _Inline(_Bound):
    """A plan of one task, or none: one call, without a scheduler."""

    def __init__(self, executor: LocalExecutor, plan: Plan) -> None:
        super().__init__(executor, plan)
        region = plan.regions[0] if plan.regions else None
        self.function = self.steps[0].function if region else None
        leaves = [self._getter(leaf) for leaf in plan.leaves]
        self.getters = [leaves[s.origin.position] for s in region.inputs] if region else []
        updated = self.steps[0].updated_position if self.has_split else {}
        self.updates = [
            (key, *self._result(value, leaves), value.indices()[0], key in self.copied)
            for key, value in plan.updates.items()
            if value.origin.region < 0 or value.origin.position not in updated
        ]
        self.outputs = [self._result(value, leaves) for value in plan.outputs]

    def _result(self, value: PlanValue, leaves: list[Any]) -> tuple[int, Any]:
        if value.origin.region < 0:
            return -1, leaves[value.origin.position]
        return self.steps[0].position(value.origin.position), None

    def _getter(self, leaf: LeafInfo) -> tuple[str, Any, Any]:
        if leaf.kind == STATE:
            index = None if leaf.spec.shape is None else (0,) * len(leaf.spec.shape)
            return STATE, self.state_numbers[leaf.what], index
        return leaf.kind, leaf.what, None

    def computed(
        self, version: int, state: list[Any], feeds: Sequence[Any], key_of: Keys, form: Form
    ) -> _Ran:
        arguments = []
        for kind, what, index in self.getters:
            if kind == STATE:
                arguments.append(only(state[what]) if index is None else state[what][index])
            elif kind == FEED:
                arguments.append(feeds[what])
            else:
                arguments.append(what if kind == CONSTANT else key_of(what))
        function, tracer = self.function, tracing.here
        if tracer is not None and function is not None:
            function = self.steps[0].traced(tracer)
        results = self.guarded(function, *arguments) if function is not None else ()
        outputs = [
            on_host(results[position] if getter is None else leaf_result(getter, state, feeds))
            for position, getter in self.outputs
        ]
        if not self.plan.updates:
            return outputs, None, [], version, state
        new = {
            key: {
                index: leaf_result(getter, state, feeds)
                if getter is not None
                else owned(results[position])
                if is_copied
                else results[position]
            }
            for key, position, getter, index, is_copied in self.updates
        }
        splits = self._splits(results) if self.has_split else []
        return outputs, new, splits, version, state

    def _splits(self, results: tuple) -> list[tuple[int, list[tuple[str, Any]], tuple]]:
        split = self.steps[0].split
        assert split is not None
        getters = [self.getters[register] for register in split.variables]
        return [(0, [(self.state_keys[number], index) for _, number, index in getters], results)]

    def dask_array(self, name: str, value: PlanValue, output: Any) -> dask.array.Array:
        return cut_array(name, value.spec.dtype.np, output)


def leaf_result(getter: tuple[str, Any, Any], state: list[Any], feeds: Sequence[Any]) -> Any:
    """Return a result that is no region's: a copy, as the user may change what was fetched."""
    kind, what, _ = getter
    return owned(only(state[what]) if kind == STATE else feeds[what] if kind == FEED else what)


def _run_beside_others(
    function: Callable[..., tuple], xp: Any, steps: Literal, given: Literal, computed: list[Any]
) -> tuple:
    """Run a block on a thread of several; see `run_block`.

    Args:
      given: its dependencies; None for those that are results of other tasks.
      computed: these, in order.
    """
    others = iter(computed)
    dependencies = [next(others) if found is None else found for found in given.value]
    with idle_threads.one_of_several:
        return run_block(function, xp, steps, dependencies)


class _BlockTask(NamedTuple):
    """The task of one block of a region, without the arrays of a run.

    Attributes:
      steps: how its arguments are had; see `block_steps`.
    """

    region: int
    block: Any
    steps: Literal
    taken: list[BlockId]


class _Threaded(_Bound):
    """A plan of several tasks, on Dask's threaded scheduler; of little work on its synchronous one.

    Little is what threads would not save what it takes to hand tasks to them (a step of two layers
    of 64 units in chunks, 8 tasks: 1.9 ms on two threads, 1.0 without).
    """

    def __init__(self, executor: LocalExecutor, plan: Plan) -> None:
        super().__init__(executor, plan)
        saved = plan.seconds * (1 - 1 / self.num_threads)
        self.is_light = saved <= THREAD_TASK_S * plan.num_tasks

    def dask_array(self, name: str, value: PlanValue, output: Any) -> dask.array.Array:
        return dask_array(name, value.spec.dtype.np, chunks_of(value), output)

    def computed(
        self, version: int, state: list[Any], feeds: Sequence[Any], key_of: Keys, form: Form
    ) -> _Ran:
        plan = self.plan
        feeds = fitted(feeds, plan.leaves)
        lazy = LazyTasks(feeds, "0")
        leaves = [self._leaf(leaf, state, feeds, key_of, lazy) for leaf in plan.leaves]
        graph: dict[Any, Any] = dict(lazy.tasks)
        functions = [
            step.function if tracing.here is None else step.traced(tracing.here)
            for step in self.steps
        ]
        for task in self.tasks:
            number = task.region
            taken = [self._reference(block_id, leaves) for block_id in task.taken]
            graph[("region", number, *task.block)] = (
                _run_beside_others,
                functions[number],
                self.steps[number].xp,
                task.steps,
                # Dask looks for keys in all that it can see.
                Literal([found if isinstance(found, Literal) else None for found in taken]),
                [found for found in taken if not isinstance(found, Literal)],
            )
        wanted = {task: self._reference(block_id, leaves) for task, block_id in self.wanted.items()}
        is_light = self.is_light and not lazy.tasks  # whose work nobody knows
        task_outputs = self.guarded(self._task_outputs, graph, wanted, is_light)
        return *self._results(task_outputs, form), version, state

    def _task_outputs(
        self, graph: Any, wanted: Mapping[Any, Any], is_light: bool
    ) -> dict[Any, Any]:
        at_hand = {task: found for task, found in wanted.items() if isinstance(found, Literal)}
        asked = {task: key for task, key in wanted.items() if task not in at_hand}
        with long_work(self.doing, len(graph), "task") as advance:
            watch = (None, None, None, lambda *_: advance(), None)
            keys = list(asked.values())
            callbacks = [*Callback.active, watch] if self.doing else None
            if is_light:
                computed = dask.local.get_sync(graph, keys, callbacks=callbacks)
            else:
                pool = self.executor.threads()
                computed = dask.threaded.get(graph, keys, pool=pool, callbacks=callbacks)
        return {**at_hand, **dict(zip(asked, computed, strict=True))}

    def _results(
        self, task_outputs: Any, form: Form
    ) -> tuple[list[Any], dict[str, Any] | None, list[Any]]:
        """Return the outputs, in blocks if they become dask arrays, and what is committed."""
        plan, steps = self.plan, self.steps

        def fetch(block_id: BlockId) -> Any:
            region, position = block_id.origin
            if region >= 0:
                return task_outputs[region, block_id.block][steps[region].position(position)]
            return owned(plain(task_outputs[block_id]))

        output = whole if form.names is None else in_blocks
        outputs = [output(value, fetch) for value in plan.outputs]
        if not plan.updates:
            return outputs, None, []
        new = {
            key: {
                index: owned(found) if key in self.copied else found
                for index in value.indices()
                for found in (fetch(value.block_id(index)),)
            }
            for key, value in plan.updates.items()
            if value.origin.region < 0
            or steps[value.origin.region].split is None
            or value.origin.position in steps[value.origin.region].kept_position
        }
        prepared = [
            (number, variables, task_outputs[number, block])
            for number, block, variables in self.splits
        ]
        return outputs, new, prepared

    def _leaf(
        self, leaf: LeafInfo, state: list[Any], feeds: Sequence[Any], key_of: Keys, lazy: LazyTasks
    ) -> Callable[[Any], Any]:
        """Return ``get(block) -> Literal array or dask key`` for a leaf."""
        value = leaf.what
        if leaf.kind == FEED:
            value = feeds[leaf.what]
            if isinstance(value, LazyFeed):
                return lambda block: lazy.key(leaf.what, block)
        elif leaf.kind == STATE:
            blocks = state[self.state_numbers[leaf.what]]
            if leaf.layout is None:
                return lambda block: Literal(only(blocks))
            return lambda block: Literal(blocks[block])
        elif leaf.kind == KEY:
            value = key_of(leaf.what)
        return lambda block: Literal(cut(value, leaf.layout, block))

    @functools.cached_property
    def splits(self) -> list[tuple[int, Any, list[tuple[str, Any]]]]:
        """The tasks that have updates in place after them: region, block, and of what."""
        return [
            (number, block, [self._changed(region.inputs[n], block) for n in step.split.variables])
            for number, (region, step) in enumerate(zip(self.plan.regions, self.steps, strict=True))
            if step.split is not None
            for block in region.blocks()
        ]

    def _changed(self, region_input: RegionInput, block: Any) -> tuple[str, Any]:
        """Return the key of the variable that an input is of, and which block of it."""
        value = region_input.value
        assert value is not None and value.spec.shape is not None  # a block of a variable
        index = region_input.index(block) if value.layout else ()
        return self.plan.leaves[value.origin.position].what, index or (0,) * len(value.spec.shape)

    @functools.cached_property
    def wanted(self) -> dict[Any, BlockId]:
        """What is asked of a run: tasks, and blocks of leaves, each with a block that it gives."""
        plan = self.plan
        found: dict[Any, BlockId] = {
            block_id.task: block_id for value in plan.results for block_id in value.block_ids()
        }
        used = {s.value.origin.region for r in plan.regions for s in r.inputs if s.value}
        # Those that nothing takes a value of run for their effects.
        sinks = [
            (number, block)
            for number, region in enumerate(plan.regions)
            if number not in used
            for block in region.blocks()
        ]
        for number, block in (*(split[:2] for split in self.splits), *sinks):
            found.setdefault((number, block), BlockId(Origin(number, 0), block))
        return found

    @functools.cached_property
    def tasks(self) -> list[_BlockTask]:
        """What is the same in each run of the tasks: made when the first needs it."""
        return [
            self._task(number, region, block)
            for number, region in enumerate(self.plan.regions)
            for block in region.blocks()
        ]

    def _task(self, number: int, region: Region, block: Any) -> _BlockTask:
        steps, taken = block_steps(region, block, self._position_of)
        return _BlockTask(number, block, Literal(steps), taken)

    def _position_of(self, block_id: BlockId) -> int | None:
        region, position = block_id.origin
        if region < 0:
            return None
        return self.steps[region].position(position)

    def _reference(self, block_id: BlockId, leaves: list[Any]) -> Any:
        if block_id.origin.region < 0:
            return leaves[block_id.origin.position](block_id.block)
        return ("region", block_id.origin.region, *block_id.block)


def in_blocks(value: PlanValue, fetch: Callable[[BlockId], Any]) -> dict[Any, Any]:
    """Return an output as its blocks, which nobody may write into."""
    return {i: read_only(on_host(fetch(value.block_id(i)))) for i in value.indices()}
