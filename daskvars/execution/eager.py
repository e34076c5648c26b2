"""Eager code: operations are recorded as they are called, and run when a value is looked at.

Shapes and dtypes are inferred at the call, so mistakes raise there. The record goes through the
same passes as a graph, and its plan is kept under its structure: a loop is compiled in its first
turn. So that this holds for a loop that looks at nothing, a record is run as well where a turn ends
(m, Adam on two layers: 2.3 ms a step; cut wherever 2,000 operations were recorded, no record was
like another: 10 ms). A read sees every assignment before it, so only the clock can tell recording
from running.

When the record runs, every tensor that somebody has gets its value, and drops its history unless a
tape holds it (see `eager_records`, also for what threads do to one another).
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, count
from queue import SimpleQueue
from typing import Any

import dask.array
import numpy

from daskvars import config, shapes
from daskvars.dtypes import DType
from daskvars.errors import OpError
from daskvars.execution.cluster.results.dask_arrays import ValueOnWorkers
from daskvars.execution.cluster.results.futures import ResultFuture
from daskvars.execution.eager_records import (
    EVERYTHING,
    LARGE_BYTES,
    EagerOperation,
    Record,
    before_failure,
    calls_python,
    needed_alone,
    no_value,
    record_of,
    touched,
)
from daskvars.execution.engine.engine import Engine, random_key
from daskvars.execution.engine.executors import Bound
from daskvars.execution.engine.interrupts import shielded
from daskvars.execution.engine.plans.exact_keys import exactly
from daskvars.execution.engine.plans.executables import Executable
from daskvars.execution.engine.plans.sizes_met import OpenShapes
from daskvars.execution.engine.values.dask_arrays import array_name, cut_array, may_be_dask
from daskvars.execution.engine.values.fetches import as_scalar
from daskvars.execution.engine.values.lazy_feeds import LazyFeed
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import register_eager
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Operation, Tensor
from daskvars.graph.user_line import user_line
from daskvars.kernels.control.flow import in_python
from daskvars.lowering.rewrites.prune import prune
from daskvars.ops.array.constant import CONST
from daskvars.ops.control.subgraphs import has_effect
from daskvars.ops.protocols.array_protocols import ArrayProtocols
from daskvars.ops.protocols.dask_collection import DaskCollection
from daskvars.ops.protocols.operators import identity_hash
from daskvars.ops.state.assign import read_variable
from daskvars.remote.tasks.stage_tasks import in_stage
from daskvars.shape_arithmetic import is_known
from daskvars.shapes import TensorShape, known_or
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import array_in_line, values_in_line


class EagerTensor(DaskCollection, ArrayProtocols, Tensor):
    """A tensor of the eager program: it has a value, computed when it is first looked at."""

    __slots__ = ("_value",)
    __hash__ = identity_hash  # that is, none

    def __init__(self, op: Operation, index: int, spec: Spec) -> None:
        self.op = op  # not by the constructor above: half the time, for each result
        self.index = index
        self.spec = spec
        self._value: Any = None

    @property
    def kept_value(self) -> Any:
        """The value where it is: a `ValueOnWorkers`, if it is one."""
        return self._value if type(self._value) is ValueOnWorkers else self.value

    @property
    def value(self) -> Any:
        """The value, None before it is computed; one that is on its way is waited for."""
        found = self._value
        if type(found) in _ELSEWHERE:
            found = self._value = found.result()
            op: Any = self.op
            op.arrived(found)
        return found

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value

    @property
    def shape(self) -> TensorShape:  # type: ignore[override]  # nobody sets the base's either
        """The shape: a tuple of numbers, unless it depends on values that are not computed yet."""
        known = self.spec.shape
        if not is_known(known) and isinstance(self._value, numpy.ndarray | numpy.generic):
            known = self._value.shape
        return known_or(known)

    @property
    def size(self) -> int:
        """The number of elements."""
        known = shapes.size(self.spec.shape)
        return int(numpy.size(computed(self))) if known is None else known

    def to_device(self, device: str, /, *, stream: Any = None) -> EagerTensor:
        """Return the tensor: eager values have one place, "cpu" (array API standard).

        Raises:
          ValueError: another device.
        """
        if device not in ("", "cpu"):
            raise ValueError(
                f"to_device({device!r}): eager values are on 'cpu'; with dv.device(...) "
                "operations choose where they run"
            )
        return self

    def numpy(self) -> Any:
        """Return the value: a NumPy array, or a NumPy scalar for rank 0; a copy of its own."""
        value = computed(self)
        return as_scalar(value.copy() if isinstance(value, numpy.ndarray) else value)

    def to_dask(self) -> dask.array.Array:
        """Return the value as a dask array that never changes; its blocks stay where they are.

        On a cluster, what is not computed yet is computed there, and not brought here.

        >>> (dv.constant([1.0, 2.0]) * 2.0).to_dask().sum().compute()
        np.float32(6.0)
        """
        if self.spec.dtype.is_ref:
            return EAGER_CONTEXT.variable_as_dask(self)
        return EAGER_CONTEXT.tensor_as_dask(self)

    def __dask_tokenize__(self) -> str:
        if self.spec.dtype.is_ref:
            return super().__dask_tokenize__()
        return _token(self)  # computes nothing: Dask asks for it where nothing can be waited for

    @accepts("feed_dict", "session")
    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value, as `numpy`."""
        return self.numpy()

    @property
    def name(self) -> str:
        """The name of the operation; names of eager tensors are not unique."""
        return f"{self.op.name}:{self.index}"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy.array(computed(self), dtype=dtype)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle the value. Raises TypeError for what stands for a variable."""
        if self.spec.dtype.is_ref:
            return super().__reduce__()
        return _unpickled, (computed(self), self.spec.dtype)

    def __bool__(self) -> bool:
        return bool(computed(self))

    def __int__(self) -> int:
        return int(computed(self))

    def __float__(self) -> float:
        return float(computed(self))

    def __complex__(self) -> complex:
        return complex(computed(self))

    def __index__(self) -> int:
        return int(computed(self).__index__())

    def __len__(self) -> int:
        first = None if self.spec.shape is None else self.spec.shape[:1]
        if not is_known(first):
            first = numpy.shape(computed(self))[:1]
        if not first:
            raise TypeError("a scalar tensor has no length")
        return first[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        return format(computed(self), spec) if spec else str(self)

    def __str__(self) -> str:
        return f"{computed(self)}"

    def shown_value(self) -> str:
        """Return what is said of the value of the variable that this stands for.

        That is the value itself if it is small and in this process, else where it is: nothing is
        fetched, and no large value computed, to be shown.
        """
        if EAGER_CONTEXT.engine.acquire().placement is not None:
            return "on Dask workers"
        size = shapes.size(self.spec.shape)
        if size is None or size > numpy.get_printoptions()["threshold"]:
            is_there = self.op.attrs["key"] in EAGER_CONTEXT.engine.values
            return "in this process" if is_there else "not computed yet"
        try:
            with scopes.entered(EAGER_CONTEXT):
                return f"numpy={array_in_line(as_scalar(computed(self)))}"
        except OpError as error:
            return f"without a value ({type(error).__name__})"

    def __repr__(self) -> str:
        if self.spec.dtype.is_ref:
            return f"<variable {self.name!r} shape={self.shape}, {self.shown_value()}>"
        return f"<tensor shape={self.shape} dtype={self.dtype.name} {self._shown()}>"

    def _shown(self) -> str:
        """Return the value in a line; where it is, if that is too far to be fetched for it."""
        if self._value is None:
            EAGER_CONTEXT.compute([self])
        if type(self._value) is ValueOnWorkers:
            return "on Dask workers"
        return f"numpy={values_in_line(self.value)}"


def _unpickled(value: Any, dtype: DType) -> EagerTensor:
    return EAGER_CONTEXT.constant(value, dtype)


def _token(tensor: EagerTensor) -> str:
    """Return a text that no tensor of another value has."""
    return array_name(tensor.op.name, _ENTROPY, tensor.op.id, tensor.index)


def computed(tensor: EagerTensor) -> Any:
    """Return the value itself, which must not be written into."""
    if tensor.spec.dtype.is_ref:
        value: Any = read_variable(tensor)
        return computed(value)
    if tensor.value is None:
        EAGER_CONTEXT.compute([tensor])
    return tensor.value


_ELSEWHERE = (ResultFuture, ValueOnWorkers)


def _large_values(inputs: tuple[Any, ...]) -> dict[int, int]:
    """Return the bytes of each large array in this process among inputs, by their operations."""
    return {
        tensor.op.id: value.nbytes
        for tensor in inputs
        if type(value := tensor._value) is numpy.ndarray and value.nbytes >= LARGE_BYTES
    }


class _ThreadState:
    """What a thread has recorded, and what it records for.

    Attributes:
      record: its operations that have not begun to run, None where there are none.
      num_variables: how many variables it made.
      made: weak references to those that a function makes which is traced for the first time.
      failure: the error of operations of its own that another thread had to run.
    """

    def __init__(self) -> None:
        self.record: Record | None = None
        self.num_variables = 0
        self.made: dict[str, weakref.ref[Any]] | None = None
        self.failure: Exception | None = None
        self.thread = threading.current_thread()


class _ThreadLocal(threading.local):
    def __init__(self) -> None:
        self.state = _ThreadState()


class _NameScope:
    """The block of `EagerContext.name_scope`.

    No generator: one whose end is broken off by Ctrl-C would end later, with its scope set again.
    """

    __slots__ = ("_name", "_outer", "_thread")

    def __init__(self, context: EagerContext, name: str) -> None:
        self._name, self._thread = name, context._thread

    def __enter__(self) -> str:
        self._outer = outer = self._thread.name_scope
        plain = self._name.rstrip("/")
        is_inside = plain and outer and not self._name.endswith("/")
        self._thread.name_scope = scope = f"{outer}/{plain}" if is_inside else plain
        return f"{scope}/" if plain else ""

    def __exit__(self, *exc_info: object) -> None:
        self._thread.name_scope = self._outer


class EagerContext(Graph):
    """The recorder: operations that have not run yet, in order."""

    tensor_class = EagerTensor
    is_eager = is_like_eager = True
    is_plain = False

    def __init__(self) -> None:
        super().__init__()
        self.graph = None  # what eager tensors call their graph: there is none
        self.program_engine, self.stage_engine = Engine(), Engine()
        self._here = _ThreadLocal()
        self._records: list[Record] = []  # of all threads, not done; guarded by `_lock`
        self._dropped: deque[tuple[Engine, str]] = deque()  # keys of variables that are gone
        self._woken = SimpleQueue[None]()  # for what a finalizer may do: it comes anywhere
        self._forgetting = threading.Lock()
        self._forgetter: threading.Thread | None = None
        self._keys: set[str] = set()  # of variables that live, or whose values are still kept
        self._numbers = count(1)
        self._count = 0

    here: _ThreadState = forwards("_here.state", "What this thread has recorded.")

    def finalize(self) -> None:
        """Do nothing: eager code makes operations as it runs, and is at no time complete."""

    @property
    def engine(self) -> Engine:
        """What runs the eager code of this thread.

        A Python function that a run on workers calls has one of its own, in the worker's process.
        With workers in this process it would else wait for the run that waits for it.
        """
        return self.stage_engine if in_stage.get() else self.program_engine

    version: int = forwards("_count", "How many operations were recorded since the program began.")

    def op_name(self, name: str | None, default: str) -> str:
        """Return a name under the current scope; names of eager operations are not unique."""
        if name and name[-1] == "/":
            return name[:-1]
        name = name or default
        return f"{self._thread.name_scope}/{name}" if self._thread.name_scope else name

    def claim(self, name: str, mark_as_used: bool = True) -> str:
        """Return the name as it is."""
        return name

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` under the current scope, unique among the names asked for so."""
        if self._thread.name_scope:
            name = f"{self._thread.name_scope}/{name}"
        return super().claim(name, mark_as_used)

    def release(self, name: str) -> None:
        """Have a full name be free again, as if it had not been asked for."""
        with self._lock:
            self._names.pop(name.lower(), None)

    def state_key(self, name: str) -> str:
        """Return the name, and a number behind it where a variable from before a `reset` has it."""
        with self._lock:
            if name in self._keys:
                self._forget_dropped()
            numbered = (f"{name}~{number}" for number in count(1))
            return next(key for key in chain([name], numbered) if key not in self._keys)

    def reset(self) -> None:
        """Forget collections, scopes and names; see `daskvars.reset`."""
        if self._thread.name_scope:
            raise AssertionError(
                f"reset() is called inside a scope, {self._thread.name_scope!r}: leave it before"
            )
        try:
            self.sync()
        finally:
            with self._lock:
                self._names.clear()
                self._collections.clear()
                self.notes.clear()
                self.seed = None
            self._forget_dropped()

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value`; a variable stays in only as long as something else holds it."""
        with self._lock:
            item = weakref.ref(value) if hasattr(value, "handle") else value
            super().add_to_collections(names, item)
        if self.here.made is not None and item is not value:
            self.here.made[value.name] = item

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the items of a collection that still live."""
        with self._lock:
            items = super().get_collection_ref(name)
            found = [item() if isinstance(item, weakref.ref) else item for item in items]
            pairs = zip(items, found, strict=True)
            items[:] = [item for item, value in pairs if value is not None]
        return [value for value in found if value is not None]

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Prefix names in the block; a scope of the same name may be entered again and again."""
        return _NameScope(self, name or "")

    def create(
        self,
        opdef: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        specs: Spec | tuple[Spec, ...],
        name: str,
    ) -> Operation:
        """Record an operation."""
        here, stacks = self._here.state, scopes.stacks
        self._count = number = next(self._numbers)
        op = EagerOperation(
            EagerTensor, opdef, name, attrs, specs, number, stacks.line or user_line(), inputs
        )
        if self._thread.devices:
            self._place(op)
        if not inputs and "value" in attrs:
            return op.know(attrs["value"])
        if isinstance(specs, Spec) and specs.dtype.is_ref:
            here.num_variables += 1
            if self._forgetter is None or not self._forgetter.is_alive():  # it stays with a parent
                self._start_forgetting()
            self._keys.add(attrs["key"])
            dropped = weakref.finalize(op, self._note_dropped, self.engine, attrs["key"])
            dropped.atexit = False
            return op  # a variable's handle
        record = here.record
        if record is not None and record.runner is not None:
            record = None  # it has called the function that we are in
        given = _large_values(inputs)
        is_python = calls_python(op)
        if record is not None and is_python:
            self._finish(record, as_futures=True)  # the function may look at any tensor
        elif (
            record is not None
            and (record.ends_before(op.created_at) or (given and record.is_filled_by(given)))
            and not in_python.get()
            # A tape would have all that it has seen so far computed and kept.
            and all(history.is_empty for ref in stacks.histories if (history := ref()))
        ):
            self._finish(record, as_futures=True)
        if stacks.histories:
            found = [history for ref in stacks.histories if (history := ref())]
            op.holders = tuple([history.keep(op, inputs) for history in found])
        record = self._recorded(op, here)
        if given:
            record.take(given)
        if (is_python and has_effect(op)) or len(record.ops) >= config.get().eager_limit:
            self._finish(record, as_futures=True)
        return op

    def _recorded(self, op: EagerOperation, here: _ThreadState) -> Record:
        """Put an operation into the record of its thread, and return that."""
        engine = self.engine
        while True:
            with self._lock:
                record = here.record
                if record is None or record.runner is not None or record.engine is not engine:
                    record = Record(here, engine)
                    self._records.append(record)
                    here.record = record
                first = []
                if len(self._records) > 1:
                    needed = op.needed()
                    others = (r for r in self._records_of(engine) if r is not record)
                    first = [r for r in others if r in needed or r.conflicts(op)]
                # Within a run, another that is under way may be the one around it.
                if not first or (in_python.get() and all(r.runner is not None for r in first)):
                    op.enter(record)
                    return record
            for other in first:
                self._wait_for(other)

    def _records_of(self, engine: Engine) -> list[Record]:
        return [record for record in self._records if record.engine is engine]

    def constant(self, value: Any, dtype: DType) -> EagerTensor:
        """Return a tensor of a value that is there, or on its way."""
        shape = value.shape if hasattr(value, "shape") else numpy.shape(value)
        number = next(self._numbers)
        op = EagerOperation(EagerTensor, CONST, "result", {}, Spec(dtype, shape), number, None)
        return op.know(value).outputs[0]

    def sync(self) -> None:
        """Run everything that was recorded, by whatever thread."""
        self._raise_pending_error()
        engine, is_called = self.engine, in_python.get()
        if not is_called:
            engine.follow_client()
        if self._records:
            with self._lock:
                found = self._records_of(engine)
                records = [r for r in found if r.runner is None or not is_called]
            for record in records:
                self._wait_for(record)
        self._forget_dropped()

    def compute(self, wanted: Sequence[EagerTensor], as_dask: bool = False) -> None:
        """Run what is recorded, so that `wanted` have values.

        Args:
          wanted: the tensors.
          as_dask: whether values on workers are left there until they are looked at.

        Raises:
          RuntimeError: a run that was to compute them has failed before.
        """
        self._raise_pending_error()
        self.engine.follow_client()
        for record in dict.fromkeys(map(record_of, wanted)):
            if record is not None:
                self._finish(record, as_dask)
        for tensor in wanted:
            if tensor.kept_value is None:
                record = record_of(tensor)
                raise no_value(tensor) from (record.error if record is not None else None)

    def variable_as_dask(self, handle: EagerTensor) -> dask.array.Array:
        """Return the present value of a variable; see `EagerTensor.to_dask`."""
        self.sync()
        self.engine.follow_client()
        return self.engine.dask_array(handle.op.attrs["key"])

    def tensor_as_dask(self, tensor: EagerTensor) -> dask.array.Array:
        """Return the value of a tensor; see `EagerTensor.to_dask`."""
        if tensor.kept_value is None:
            self.compute([tensor], as_dask=True)
        found = tensor.kept_value
        if type(found) is ValueOnWorkers:
            return found.array
        return cut_array(_token(tensor), tensor.spec.dtype.np, found)

    def _raise_pending_error(self) -> None:
        """Raise what came of operations of this thread that another had to run."""
        here = self.here
        failure, here.failure = here.failure, None
        if failure is not None:
            raise failure

    def _wait_for(self, record: Record) -> None:
        """Have a record run, whosever it is; the errors of a thread are raised in that thread."""
        owner = record.owner
        try:
            self._finish(record)
        except Exception as error:
            if owner is self.here or not owner.thread.is_alive():
                raise
            owner.failure = owner.failure or error  # what came first is the cause of the rest

    def _finish(self, record: Record, as_dask: bool = False, as_futures: bool = False) -> None:
        """Run a record, or wait until the thread that does has done so.

        With `as_futures` nobody looks at its values yet: on a cluster they may be on their way.
        """
        me = threading.get_ident()
        is_mine = False
        try:
            with self._lock:
                is_mine = record.runner is None
                if is_mine:
                    record.runner = me
                    record.gate.acquire()
            if is_mine:
                self._run(record, as_dask, as_futures)
        finally:
            if is_mine:  # others would wait for ever, and what comes then would not be run
                try:
                    shielded(partial(self._let_go, record))
                finally:
                    if not record.is_done:  # broken off as it was called
                        self._let_go(record)
        if is_mine or record.is_done:
            return
        if record.runner != me:
            with record.gate:
                pass
        elif not in_python.get():
            self._let_go(record)  # that was broken off as well

    def _run(self, record: Record, as_dask: bool, as_futures: bool) -> None:
        engine, version = record.engine, record.engine.values.version
        try:
            self._forget_dropped()
            self._compute(engine, record.ops, as_dask, as_futures)
            for op in record.ops:
                op.leave()
        except Exception as error:
            done, first = self._done_before(record, error)
            record.error = first
            self._undone(engine, record.ops[done:], first, bool(done))
            if first is error:
                raise
            raise first from None
        except BaseException as error:
            record.error = error
            if engine.values.version == version:  # it may come when all is done
                self._undone(engine, record.ops, error)
            raise

    def _done_before(self, record: Record, error: Exception) -> tuple[int, Exception]:
        """Do what was called before the operation that failed, as if each was done at its call.

        Nothing of the record is done yet. One that was called earlier may fail then.

        Returns:
          How many operations are done, the first ones; and the error of the next.
        """
        before: Sequence[EagerOperation] = record.ops
        while isinstance(error, OpError) and not error.is_of_earlier_run and error.op:
            before = before_failure(str(error.op), before)
            if not before:
                break
            try:
                self._compute(record.engine, before, False, False)
            except Exception as earlier:  # noqa: BLE001 - the one to raise
                error = earlier
                continue
            for op in before:
                op.leave()
            return len(before), error
        return 0, error

    def _let_go(self, record: Record) -> None:
        record.ops = []
        with self._lock:
            record.is_done = True
            if record.owner.record is record:
                record.owner.record = None
            if record in self._records:
                self._records.remove(record)
        if record.gate.locked():
            record.gate.release()

    def _undone(
        self,
        engine: Engine,
        ops: list[EagerOperation],
        error: BaseException,
        is_rest: bool = False,
    ) -> None:
        """Say which variables operations of a record that failed were to change, and did not.

        Those that it was to begin get their initial values, where these need nothing that is
        undone: nobody would give them others.
        """
        known = engine.present_values
        firsts: dict[str, EagerOperation] = {}
        for op in ops:
            for key, writes in touched(op):
                if writes and key not in known:
                    firsts.setdefault(key, op)
        for op in firsts.values():
            needed = needed_alone(op, ops) if op.opdef.type == "Assign" else None
            if needed is not None:
                with contextlib.suppress(Exception):  # that of the record is the one to tell
                    self._compute(engine, needed, False, False)
                    op.leave()
        changed = {key: None for op in ops if op.record for key, writes in touched(op) if writes}
        changed.pop(EVERYTHING, None)
        if changed:
            what = (
                "What was called after it is not done, and variables are as they were then"
                if is_rest
                else "What was called since values were last looked at is one run, and undone; "
                "variables are as they were before"
            )
            error.add_note(f"{what}: {', '.join(changed)}")

    def _compute(
        self, engine: Engine, ops: Sequence[EagerOperation], as_dask: bool, as_futures: bool
    ) -> None:
        """Give their values to all tensors that somebody has."""
        fetches = [tensor for op in ops for tensor in op.wanted()]
        effects = [op for op in ops if has_effect(op)]
        form = _CanonicalRecord(ops, fetches)
        number_of = form.numbers.__getitem__
        executable = _RecordExecutable(
            engine, form.signature, fetches, effects, form.leaves, True, number_of, form.key_of
        )
        specs = [tensor.spec for tensor in fetches]
        as_dask = as_dask and engine.acquire().placement is not None and may_be_dask(specs)
        fed = [_fed(leaf) for leaf in form.leaves]
        results = executable(fed, as_futures, as_dask)
        for tensor, value in zip(fetches, results, strict=True):
            tensor.value = ValueOnWorkers(value, tensor.name) if as_dask else value

    def _note_dropped(self, engine: Engine, key: str) -> None:
        """Take note that nobody has a variable any more, and have its value freed soon."""
        self._dropped.append((engine, key))
        self._woken.put(None)

    def _start_forgetting(self) -> None:
        with self._lock:
            self._forgetting = threading.Lock()
            self._forgetter = threading.Thread(
                target=self._forget_in_time, name="daskvars-forget", daemon=True
            )
            self._forgetter.start()

    def _forget_in_time(self) -> None:
        while True:
            self._woken.get()
            self._forget_dropped()

    def _forget_dropped(self) -> None:
        """Free the values of variables that nobody has any more, where no run is under way."""
        if not self._dropped:
            return
        with self._forgetting:
            while self._dropped:
                engine, key = self._dropped[0]
                if not engine.forget(key):
                    return
                self._keys.discard(key)
                self._dropped.popleft()  # once that is done: who asks meanwhile waits for it


def _fed(leaf: EagerTensor) -> Any:
    """Return the value of a tensor that a record takes; what is on workers stays there."""
    found = leaf.kept_value
    if type(found) is ValueOnWorkers:
        return LazyFeed(leaf.name, found.array, leaf.spec.dtype)
    return found


class _RecordExecutable(Executable):
    """The program of a record. While it is lowered all its tensors live, as they are its keys."""

    __slots__ = ()

    def _lowered(
        self, values: Sequence[Any], is_there: bool = False, shapes: OpenShapes | None = None
    ) -> Bound:
        kept = [(op.inputs, op.outputs) for op in prune(self.fetches, self.targets, self.fed)]
        found = super()._lowered(values, is_there, shapes)
        del kept
        return found


class _CanonicalRecord:
    """A record in a form that equals that of the same code run before."""

    def __init__(self, ops: Sequence[EagerOperation], fetches: list[EagerTensor]) -> None:
        self.leaves: list[EagerTensor] = []
        self._leaf_numbers: dict[int, int] = {}
        self.ops = ops
        self.numbers: dict[Any, int] = {op: i for i, op in enumerate(ops)}
        parts: list[Hashable] = []
        for op in ops:
            inputs = tuple([self._input(source) for source in op.sources])
            attrs = tuple([(k, exactly(v)) for k, v in op.attrs.items() if k != "_seed"])
            parts.append((op.opdef, op.name, op.device, inputs, attrs))
        found = tuple([(self.numbers[t.op], t.index) for t in fetches])
        leaves = tuple([t.spec.dtype for t in self.leaves])
        self.signature = ("eager", tuple(parts), leaves, found)

    def _input(self, source: Any) -> Hashable:
        if not isinstance(source, EagerTensor):
            op, index = source
            return self.numbers[op], index
        if source.spec.dtype.is_ref:
            known = source.op.attrs  # one of that key may have had another form before `reset`
            return "variable", known["key"], known["dtype"], known["shape"], known["chunks"]
        if id(source) not in self._leaf_numbers:
            if source.kept_value is None:
                raise no_value(source)
            self._leaf_numbers[id(source)] = len(self.leaves)
            self.leaves.append(source)
        return "leaf", self._leaf_numbers[id(source)]

    def key_of(self, number: int) -> tuple[int, int]:
        """Return the random key of an operation; each is run once."""
        return random_key(self.ops[number], 0, _ENTROPY)


def sync() -> None:
    """Run every eager operation that was recorded so far, and wait for it.

    >>> v = dv.Variable([1.0, 2.0]) * 2.0
    >>> sync()
    """
    EAGER_CONTEXT.sync()
    EAGER_CONTEXT.engine.sync()


def reset() -> None:
    """Forget what eager code has made, as in a new process: for a notebook whose cells run again.

    Variables that nothing else holds are gone, and names, variable scopes, collections and the
    random seed begin anew. A variable, layer or function that is still held works as before, and
    is in no collection any more. Graphs are left alone: see `reset_default_graph`.

    Raises:
      AssertionError: it is called inside a name scope or variable scope.

    >>> old = dv.get_variable("reset_example", [2])
    >>> dv.reset()
    >>> new = dv.get_variable("reset_example", [3])
    >>> [v.name for v in dv.trainable_variables()]
    ['reset_example:0']
    """
    EAGER_CONTEXT.reset()


def evaluated(tensors: Iterable[Any]) -> list[Any]:
    """Return the values of eager tensors, computed together."""
    listed = list(tensors)
    missing = [t for t in listed if t.value is None]
    if missing:
        EAGER_CONTEXT.compute(missing)
    return [t.value for t in listed]


_ENTROPY = secrets.randbits(64)
EAGER_CONTEXT = EagerContext()
register_eager(EAGER_CONTEXT)
