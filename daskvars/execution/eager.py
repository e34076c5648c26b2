"""Eager code: operations are recorded as they are called, and run when a value is looked at.

Shapes and dtypes are inferred at the call, so mistakes raise there. The record goes through the
same passes as a graph, and its plan is kept under its structure: a loop is compiled in its first
turn. A read sees every assignment before it, so only the clock can tell recording from running.

When the record runs, every tensor that something outside the record still refers to gets its
value (found by counting references), and drops its history unless a tape holds it.
"""

from __future__ import annotations

import secrets
import sys
import weakref
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy

from daskvars import config, shapes
from daskvars.dtypes import DType
from daskvars.errors import OpError
from daskvars.execution.engine import Engine, random_key
from daskvars.execution.exact_keys import exactly
from daskvars.execution.fetches import as_scalar
from daskvars.execution.outcomes import Deferred
from daskvars.execution.programs import Program
from daskvars.graph import scopes
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import register_eager
from daskvars.graph.opdef import OpDef, Spec
from daskvars.graph.operation import Operation, user_line
from daskvars.graph.patterns import Effect, Opaque
from daskvars.graph.tensor import Tensor
from daskvars.ops.assign import read_variable
from daskvars.ops.constant import CONST
from daskvars.ops.overloads import identity_hash


class EagerTensor(Tensor):
    """A tensor of the eager program: it has a value, computed when it is first looked at."""

    __slots__ = ("_value",)
    __hash__ = identity_hash  # that is, none

    def __init__(self, op: Operation, index: int, spec: Spec) -> None:
        self.op = op  # not by the constructor above: half the time, for each result
        self.index = index
        self.spec = spec
        self._value: Any = None

    @property
    def value(self) -> Any:
        """The value, None before it is computed; one that is on its way is waited for."""
        found = self._value
        if type(found) is Deferred:
            found = self._value = found.result()
        return found

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value

    def numpy(self) -> Any:
        """Return the value: a NumPy array, or a NumPy scalar for rank 0; a copy of its own."""
        value = computed(self)
        return as_scalar(value.copy() if isinstance(value, numpy.ndarray) else value)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value, as `numpy`."""
        return self.numpy()

    @property
    def name(self) -> str:
        """The name of the operation; names of eager tensors are not unique."""
        return f"{self.op.name}:{self.index}"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy.array(computed(self), dtype=dtype)

    def __bool__(self) -> bool:
        return bool(computed(self))

    def __int__(self) -> int:
        return int(computed(self))

    def __float__(self) -> float:
        return float(computed(self))

    def __index__(self) -> int:
        return int(computed(self).__index__())

    def __len__(self) -> int:
        shape = self.spec.shape
        if shape is None or (shape and shape[0] is None):
            shape = numpy.shape(computed(self))
        if not shape:
            raise TypeError("a scalar tensor has no length")
        return shape[0]

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
        if PROGRAM.engine.executor.placing is not None:
            return "on Dask workers"
        size = shapes.size(self.spec.shape)
        if size is None or size > numpy.get_printoptions()["threshold"]:
            is_there = self.op.attrs["key"] in PROGRAM.engine.values
            return "in this process" if is_there else "not computed yet"
        try:
            with scopes.entered(PROGRAM):
                return f"numpy={as_scalar(computed(self))!r}"
        except OpError as error:
            return f"without a value ({type(error).__name__})"

    def __repr__(self) -> str:
        if self.spec.dtype.is_ref:
            return f"<variable {self.name!r} shape={self.shape}, {self.shown_value()}>"
        value = numpy.array2string(numpy.asarray(computed(self)), separator=", ")
        return f"<tensor shape={self.shape} dtype={self.dtype.name} numpy={value}>"


def computed(tensor: EagerTensor) -> Any:
    """Return the value itself, which must not be written into."""
    if tensor.spec.dtype.is_ref:
        value: Any = read_variable(tensor)
        return computed(value)
    if tensor.value is None:
        PROGRAM.compute([tensor])
    return tensor.value


class Tape(Protocol):
    """What wants to know of recorded operations, and keeps their history."""

    operations: list[Operation]

    @property
    def is_recording(self) -> bool:
        """Whether operations are kept now."""

    def watch_operation(self, op: Operation) -> None:
        """Take note of a new operation."""


class EagerProgram(Graph):
    """The recorder: operations that have not run yet, in order."""

    tensor_class = EagerTensor
    is_eager = True
    is_plain = False

    def __init__(self) -> None:
        super().__init__()
        self.graph = None  # what eager tensors call their graph: there is none
        self.engine = Engine()
        self.tapes: weakref.WeakSet[Tape] = weakref.WeakSet()
        self._pending: list[Operation] = []
        self._dropped: deque[str] = deque()  # keys of variables that are gone
        self._count = 0
        self.num_variables = 0

    @property
    def version(self) -> int:
        """How many operations were recorded since the program began."""
        return self._count

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

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value`; a variable stays in only as long as something else holds it."""
        super().add_to_collections(names, weakref.ref(value) if hasattr(value, "handle") else value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the items of a collection that still live."""
        items = super().get_collection_ref(name)
        found = [item() if isinstance(item, weakref.ref) else item for item in items]
        items[:] = [item for item, value in zip(items, found, strict=True) if value is not None]
        return [value for value in found if value is not None]

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefix names in the block; a scope of the same name may be entered again and again."""
        saved = self._thread.name_scope
        plain = (name or "").rstrip("/")
        inside = bool(plain and saved and not name.endswith("/"))
        self._thread.name_scope = f"{saved}/{plain}" if inside else plain
        try:
            yield f"{self._thread.name_scope}/" if plain else ""
        finally:
            self._thread.name_scope = saved

    def create(
        self, opdef: OpDef, inputs: tuple[Tensor, ...], attrs: dict[str, Any],
        specs: Spec | tuple[Spec, ...], name: str,
    ) -> Operation:  # fmt: skip
        """Record an operation."""
        self._count += 1
        op = Operation(
            None, opdef, name, inputs, attrs, specs, self._count,
            scopes.stacks.line or user_line(), EagerTensor,
        )
        if self._devices:
            self._place(op)
        if not inputs and "value" in attrs:
            op.outputs[0].value = attrs["value"]
            return op
        if op.outputs and op.outputs[0].spec.dtype.is_ref:
            self.num_variables += 1
            weakref.finalize(op, self._dropped.append, attrs["key"])
            return op  # a variable's handle
        self._pending.append(op)
        if self.tapes:  # going through a WeakSet, even an empty one, costs more than asking
            for tape in self.tapes:
                tape.watch_operation(op)
        if len(self._pending) >= config.get().eager_limit:
            self.sync()
        return op

    def constant(self, value: Any, dtype: DType) -> EagerTensor:
        """Return a tensor of a value that is there, or on its way."""
        shape = value.shape if hasattr(value, "shape") else numpy.shape(value)
        op = Operation(None, CONST, "result", (), {}, Spec(dtype, shape), 0, None, EagerTensor)
        op.outputs[0].value = value
        return op.outputs[0]

    def sync(self) -> None:
        """Run everything recorded."""
        if self._pending or self._dropped:
            self.compute(())

    def compute(self, wanted: Sequence[EagerTensor]) -> None:
        """Run what is recorded, so that `wanted` and all tensors still in use have values."""
        pending, self._pending = self._pending, []
        self._forget_dropped()
        if not pending:
            if any(t.value is None for t in wanted):
                raise RuntimeError(
                    f"{wanted[0].name} cannot be computed: the run that was to compute it failed"
                )
            return
        held = {id(op) for tape in self.tapes for op in tape.operations}
        fetches = [t for t in _in_use(pending, held) if t.value is None]
        fetches += [t for t in wanted if not any(t is f for f in fetches)]
        effects = [op for op in pending if has_effect(op)]
        record = _Record(pending, fetches, effects)
        program = Program(
            self.engine, record.signature, fetches, effects, record.leaves, True,
            record.numbers.__getitem__, record.key_of,
        )  # fmt: skip
        results = program([leaf.value for leaf in record.leaves])
        for tensor, value in zip(fetches, results, strict=True):
            tensor.value = value
        for op in pending:
            if id(op) not in held:
                op.inputs = ()

    def _forget_dropped(self) -> None:
        """Free the values of variables that the garbage collector took."""
        while self._dropped:
            key = self._dropped.popleft()
            if key in self.engine.values:
                self.engine.values.delete(key)


def has_effect(op: Operation) -> bool:
    """Return whether an operation runs even where nobody needs its result."""
    pattern = op.opdef.pattern
    if isinstance(pattern, Effect):
        return pattern.writes
    if not isinstance(pattern, Opaque):
        return False
    bodies = op.attrs["branches"] if pattern.branches else ()
    return not pattern.pure or any(has_effect(o) for b in bodies for o in b.get_operations())


def _in_use(pending: list[Operation], held: set[int]) -> list[EagerTensor]:
    """Return the tensors that something besides the recorded operations refers to.

    A tape that holds an operation will want what went into it and came out of it.
    """
    inside = Counter(id(t) for op in pending if id(op) not in held for t in op.inputs)
    found = []
    for op in pending:
        # The operation and the call refer to its tuple of outputs; that tuple, the loop variable
        # and the call to a tensor.
        wanted = id(op) in held or sys.getrefcount(op.outputs) > 2
        for tensor in op.outputs:
            if wanted or sys.getrefcount(tensor) > 3 + inside[id(tensor)]:
                found.append(tensor)
    return found


class _Record:
    """A piece of the eager program in a form that equals that of the same piece run before."""

    def __init__(
        self, pending: list[Operation], fetches: list[EagerTensor], effects: list[Operation]
    ) -> None:
        self.leaves: list[EagerTensor] = []
        self._leaf_numbers: dict[int, int] = {}  # by the tensor's id
        self.pending = pending
        self.numbers = numbers = {op: i for i, op in enumerate(pending)}
        parts: list[Hashable] = []
        for op in pending:
            inputs = tuple([self._input(t, numbers) for t in op.inputs])
            attrs = tuple([(k, exactly(v)) for k, v in op.attrs.items() if k != "_seed"])
            parts.append((op.opdef, op.name, op.device, inputs, attrs))
        found = tuple([(numbers[t.op], t.index) for t in fetches])
        leaves = tuple([t.spec.dtype for t in self.leaves])
        self.signature = ("eager", tuple(parts), leaves, found)

    def _input(self, tensor: Any, numbers: dict[Operation, int]) -> Hashable:
        number = numbers.get(tensor.op)
        if number is not None:
            return number, tensor.index
        if tensor.spec.dtype.is_ref:
            return "variable", tensor.op.attrs["key"]
        if id(tensor) not in self._leaf_numbers:
            if tensor.value is None:
                raise RuntimeError(
                    f"{tensor.name} has no value: the run that was to compute it failed"
                )
            self._leaf_numbers[id(tensor)] = len(self.leaves)
            self.leaves.append(tensor)
        return "leaf", self._leaf_numbers[id(tensor)]

    def key_of(self, number: int) -> tuple[int, int]:
        """Return the random key of an operation; each is run once."""
        return random_key(self.pending[number], 0, _ENTROPY)


def sync() -> None:
    """Run every eager operation that was recorded so far, and wait for it."""
    PROGRAM.sync()
    PROGRAM.engine.sync()


def evaluated(tensors: Iterable[Any]) -> list[Any]:
    """Return the values of eager tensors, computed together."""
    listed = list(tensors)
    missing = [t for t in listed if t.value is None]
    if missing:
        PROGRAM.compute(missing)
    return [t.value for t in listed]


_ENTROPY = secrets.randbits(64)
PROGRAM = EagerProgram()
register_eager(PROGRAM)
