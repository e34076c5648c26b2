"""Operations of eager code that have not run yet, and which of them must run before which.

Each thread records for itself. What a thread records is in order; between threads only what can be
seen is: an operation waits for those of other threads that give it a value, and for those recorded
before it that write a variable which it uses, or use one that it writes.

A recorded operation holds no tensor that the record itself makes, only which operation makes it:
so the tensors that live when the record runs are those that somebody has (`wanted`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Effect, Opaque
from daskvars.graph.func_graph import operations_inside
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.state.assign import READ

EVERYTHING = ""  # what an operation touches that may look at any variable
TURN_OPS = 64
"""Operations of a turn of a loop that is worth a run: one takes about as long as to record ten."""
GIVEN_BYTES = 1 << 28
"""Bytes of values that a record takes: until it runs it keeps them, though nobody else has them."""
LARGE_BYTES = 1 << 16  # of a value that is worth being counted among those


class EagerOperation(Operation):
    """An operation that was recorded, or a value that is there.

    Attributes:
      record: the record that it is in; None once that has run.
      holders: weak references to those who want its history kept (`History`).
    """

    __slots__ = (
        "_handed",
        "_known",
        "_making",
        "_sources",
        "_specs",
        "_unclaimed",
        "holders",
        "record",
    )

    def __init__(
        self,
        making: type[Tensor],
        opdef: OpDef,
        name: str,
        attrs: dict[str, Any],
        specs: Spec | tuple[Spec, ...],
        id: int,
        created_at: tuple[str, int] | None,
        inputs: tuple[Tensor, ...] = (),
    ) -> None:
        self.graph = None
        self.opdef = opdef
        self.name = name
        self.attrs = attrs
        self.id = id
        self.device = ""
        self.created_at = created_at
        self.record: Record | None = None
        self.holders: tuple[weakref.ref[History], ...] = ()
        self.multiple = not isinstance(specs, Spec)
        self._control_inputs = ()
        self._making = making
        self._specs = (specs,) if isinstance(specs, Spec) else specs
        self._sources: tuple[Any, ...] = inputs
        self._handed: tuple[weakref.ref[Any], ...] | None = None
        self._unclaimed: tuple[Any, ...] | None = None
        self._known: tuple[Any, ...] | None = None

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The outputs; one that nobody holds is made anew."""
        with _handing_out:
            found = self._handed_out()
            if self.record is None or self.record.runner is None:  # not to who lowers the record
                self._unclaimed = None
            return found

    @outputs.setter
    def outputs(self, tensors: tuple[Any, ...]) -> None:
        with _handing_out:
            self._handed = tuple(map(weakref.ref, tensors))

    def arrived(self, value: Any) -> None:
        """Have the value itself where it was on its way."""
        if self._known is not None:
            self._known = (value,)

    def _handed_out(self) -> tuple[Any, ...]:
        making, specs, refs = self._making, self._specs, self._handed
        if len(specs) == 1:  # most have one
            tensor: Any = None if refs is None else refs[0]()
            if tensor is None:
                tensor = making(self, 0, specs[0])
                if self._known is not None:
                    tensor.value = self._known[0]
                self._handed = (weakref.ref(tensor),)
            return (tensor,)
        alive = [None] * len(specs) if refs is None else [ref() for ref in refs]
        found = tuple([making(self, i, specs[i]) if t is None else t for i, t in enumerate(alive)])
        self._handed = tuple(map(weakref.ref, found))
        return found

    def know(self, value: Any) -> EagerOperation:
        """Have a value that is there, or on its way, for the one output.

        The tensor holds the operation, so this holds the value and not the tensor: a large array
        is let go of with its last tensor, not when the garbage collector comes by.
        """
        self._known = (value,)
        return self

    @property
    def inputs(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The inputs; none once it has run, but where a tape holds the history."""
        return tuple([s if isinstance(s, Tensor) else s[0].outputs[s[1]] for s in self._sources])

    @property
    def sources(self) -> tuple[Any, ...]:
        """The inputs: of its own record as (operation, index), others as tensors."""
        return self._sources

    def needed(self) -> list[Record]:
        """Return the records that the inputs are to come from."""
        return [r for t in self._sources if (r := record_of(t)) is not None]

    @property
    def is_held(self) -> bool:
        """Whether somebody wants its history kept."""
        return bool(self.holders) and any(ref() is not None for ref in self.holders)

    def wanted(self) -> list[Any]:
        """Return the outputs that somebody has, or is about to be given."""
        with _handing_out:
            if self._handed is None:  # whoever made the operation has not come to ask for them
                self._unclaimed = self._handed_out()
            return [tensor for ref in self._handed or () if (tensor := ref()) is not None]

    def enter(self, record: Record) -> None:
        """Become part of a record. Raises RuntimeError where an input will never have a value."""
        sources: list[Any] = []
        for tensor in self._sources:
            made_by = tensor.op.record
            if made_by is record:
                sources.append((tensor.op, tensor.index))
            elif made_by is None or not made_by.is_done:
                sources.append(tensor)
            else:
                raise no_value(tensor) from made_by.error
        self._sources = tuple(sources)
        self.record = record
        record.add(self)

    def leave(self) -> None:
        """Have run."""
        self.record = None
        if not self.is_held:
            self._sources = ()


def record_of(tensor: Tensor) -> Record | None:
    """Return the record that is to compute a tensor of eager code, or has failed to."""
    op: Any = tensor.op
    return op.record


def no_value(tensor: Tensor) -> RuntimeError:
    """Return the error of whoever takes a tensor that was to be computed by a run that failed."""
    return RuntimeError(f"{tensor.name} has no value: the run that was to compute it failed")


_handing_out = threading.RLock()


class History:
    """Operations whose inputs and outputs somebody will look at: what a tape has seen."""

    __slots__ = ("__weakref__", "_kept")

    def __init__(self) -> None:
        self._kept: dict[Operation, Any] = {}

    def has_seen(self, op: Operation) -> bool:
        """Return whether an operation is kept, or a graph's one read of a variable."""
        is_cached = op.opdef is READ and op.graph is not None and op.graph.is_plain
        return op in self._kept or is_cached

    def taken(self) -> set[int]:
        """Return the ids of the tensors that its operations took, and of variables' handles."""
        found = [t for inputs, _ in self._kept.values() for t in inputs]
        found += [t.op.inputs[0] for t in found if t.op.opdef is READ and t.op.inputs]
        return set(map(id, found))

    @property
    def is_empty(self) -> bool:
        """Whether it has seen nothing yet."""
        return not self._kept

    def keep(self, op: Operation, inputs: tuple[Any, ...]) -> weakref.ref[History]:
        """Keep an operation and its tensors for as long as this object lives."""
        self._kept[op] = inputs, op.outputs
        return weakref.ref(self)


class Record:
    """Operations of one thread that run together.

    Attributes:
      owner: the thread's own state.
      engine: what runs it.
      ops: in order.
      given: the bytes of the large values that it takes, by the number of the operation.
      runner: the thread that runs it, None before.
      gate: held by who runs it.
      is_done: whether it has run, or failed with `error`.
    """

    __slots__ = (
        "_begun_at",
        "_has_written",
        "_line",
        "_num_given_bytes",
        "_num_seen",
        "_times",
        "_touched",
        "engine",
        "error",
        "gate",
        "given",
        "is_done",
        "ops",
        "owner",
        "runner",
    )

    def __init__(self, owner: Any, engine: Any) -> None:
        self.owner, self.engine = owner, engine
        self.ops: list[EagerOperation] = []
        self._times: dict[str, int] = {}
        self.given: dict[int, int] = {}
        self._num_given_bytes = 0
        self.runner: int | None = None
        self.gate = threading.Lock()
        self.is_done = False
        self.error: BaseException | None = None
        self._touched: dict[str, bool] = {}
        self._num_seen = 0
        self._begun_at: tuple[str, int] | None = None
        self._line: tuple[str, int] | None = None  # that the last operation was called from
        self._has_written = False  # whether operations of that line wrote variables

    def add(self, op: EagerOperation) -> None:
        """Take an operation as the last one."""
        line = op.created_at
        if line != self._line:
            if self._has_written or not self.ops:
                self._begun_at = line
            self._line, self._has_written = line, False
        pattern = op.opdef.pattern
        if isinstance(pattern, Effect) and pattern.writes and not op.holders:
            self._has_written = True
        times = self._times.get(op.name, 0)
        self._times[op.name] = times + 1
        if times:  # so that an error tells which of them it was
            op.name = f"{op.name}_{times}"
        self.ops.append(op)

    def ends_before(self, line: tuple[str, int] | None) -> bool:
        """Return whether a turn of a loop seems to end before an operation of that line.

        One does where the program has written variables that no tape saw it write (an optimizer's
        step) and goes on, and where it comes back to the line at which it went on so, or began. A
        record that ends with a turn is like that of the turn before, so its plan is there already;
        one that ends after so many operations is like none.
        """
        if line == self._line or len(self.ops) < TURN_OPS:
            return False
        return self._has_written or line == self._begun_at

    def take(self, given: dict[int, int]) -> None:
        """Count large values among what it takes."""
        self.given.update(given)
        self._num_given_bytes = sum(self.given.values())

    def is_filled_by(self, given: dict[int, int]) -> bool:
        """Return whether it would take too much with these values as well.

        One that takes nothing yet may be given any: a step on a large batch stays one run.
        """
        more = sum(size for number, size in given.items() if number not in self.given)
        return bool(more and self.given) and self._num_given_bytes + more > GIVEN_BYTES

    def conflicts(self, op: EagerOperation) -> bool:
        """Return whether `op` must not run before these operations."""
        wanted = dict(touched(op))
        if not wanted:
            return False
        for mine in self.ops[self._num_seen :]:
            for key, writes in touched(mine):
                self._touched[key] = writes or self._touched.get(key, False)
        self._num_seen = len(self.ops)
        return any(
            (writes or others) and (key == other or EVERYTHING in (key, other))
            for key, writes in wanted.items()
            for other, others in self._touched.items()
        )


def before_failure(name: str, ops: Sequence[EagerOperation]) -> Sequence[EagerOperation]:
    """Return those of some operations that come before one of a name.

    None where it is not known which it is, or some of them are done once, and may have been.
    """
    found = [i for i, op in enumerate(ops) if op.name == name]
    first = ops[: found[0]] if len(found) == 1 else []
    return first if all(map(_is_repeatable, first)) else []


def _is_repeatable(op: Operation) -> bool:
    """Return whether it makes no difference if an operation is run twice, but for variables."""
    pattern = op.opdef.pattern
    if not isinstance(pattern, Opaque):
        return True
    is_fine = pattern.pure or pattern.only_checks
    return is_fine and all(map(_is_repeatable, operations_inside(op)))


def calls_python(op: Operation) -> bool:
    """Return whether an operation, or one in its branches, calls a function of the program's."""
    pattern = op.opdef.pattern
    if not isinstance(pattern, Opaque):
        return False
    return pattern.beside is not None or any(map(calls_python, operations_inside(op)))


def touched(op: EagerOperation) -> Iterator[tuple[str, bool]]:
    """Yield the key of each variable that an operation uses, and whether it may write it."""
    pattern = op.opdef.pattern
    if isinstance(pattern, Opaque) and (pattern.branches or not pattern.pure):
        yield EVERYTHING, True
    for source in op.sources:
        if isinstance(source, Tensor) and source.spec.dtype.is_ref:
            yield source.op.attrs["key"], isinstance(pattern, Effect) and pattern.writes


def needed_alone(op: EagerOperation, ops: Sequence[EagerOperation]) -> list[EagerOperation] | None:
    """Return an operation of a record and those that it needs, in order.

    None where it cannot be run without the rest: where they write variables or do what is done
    once, or read what others before them write.
    """
    needed, stack = {op}, [op]
    while stack:
        for source in stack.pop().sources:
            if not isinstance(source, Tensor) and source[0] not in needed:
                needed.add(source[0])
                stack.append(source[0])
    written: set[str] = set()
    for other in ops:
        uses = dict(touched(other))
        is_late = bool(uses) and (EVERYTHING in written or not written.isdisjoint(uses))
        if other in needed and other is not op and (is_late or any(uses.values())):
            return None
        if other.record is not None:
            written.update(key for key, writes in uses.items() if writes)
        if other is op:
            break
    return [other for other in ops if other in needed]
