"""Graph: operations under unique names, with the stacks that shape new ones."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import count
from typing import Any

from daskvars import config
from daskvars.dtypes import as_dtype
from daskvars.errors import did_you_mean
from daskvars.graph.definitions.gradient_registry import Overrides
from daskvars.graph.definitions.opdef import REGISTRY, OpDef, Spec, UnregisteredOp, registered
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply_op
from daskvars.graph.records.graph_def import WithGraphDef
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.scopes.building_blocks import Controller, NameScope
from daskvars.graph.scopes.collections import Collections
from daskvars.graph.scopes.device_scopes import Placement
from daskvars.graph.tensor import Operation, Tensor
from daskvars.graph.user_line import user_line
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.notebooks import ShownInNotebooks
from daskvars.surface.one_line import counted

OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*\Z")


@lru_cache(maxsize=4096)  # a program gives the same few names in many scopes
def _text(name: Any) -> str:
    """Return a name as text. Raises TypeError if it is none."""
    if isinstance(name, bytes):
        return name.decode()
    if not isinstance(name, str):
        raise TypeError(f"a name is a string, but got {name!r} of type {type(name).__name__!r}")
    return name


def _is_legal(name: str, inside_scope: bool) -> bool:
    return bool((_SCOPE_NAME if inside_scope else OP_NAME).match(name))


class _InThread(threading.local):
    """What a graph keeps per thread: threads that build one graph keep out of each other's way.

    The lists are replaced, never changed.
    """

    name_scope = ""
    controllers: Sequence[Controller] = ()
    devices: Sequence[tuple[Callable[[Any], Any], Any]] = ()  # see `Placement`
    colocated: tuple[Operation, ...] = ()


class Graph(WithGraphDef, Collections, Placement, Overrides, ShownInNotebooks):
    """A dataflow graph: what a program computes, without any values.

    >>> with dv.Graph().as_default() as graph:
    ...     c = dv.constant(2.0, name="c")
    >>> graph.get_tensor_by_name("c:0") is c
    True
    """

    tensor_class = Tensor
    is_body = False  # of a branch or loop
    is_plain = True  # neither a body nor the recorder: it takes no tensors of other graphs
    # As in eager code ``==`` of its tensors compares values, not identities; a list picks rows.
    is_like_eager = False
    is_eager = False  # the recorder of the eager program is a Graph whose ops have graph None

    def __init__(self) -> None:
        self.graph: Any = self  # what tensors recorded here call their graph
        self._ops: list[Operation] = []
        self._ops_by_name: dict[str, Operation] = {}
        self._names: dict[str, Any] = {}  # name in lower case -> its next suffix, if it has any
        self._ids = count()
        self._thread = _InThread()
        self._lock = threading.RLock()  # held while an operation is added
        super().__init__()
        self._finalized = False
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._ops_when_first_run: int | None = None
        self.seed: int | None = None
        self.late_control_inputs = False
        self.notes: dict[str, Any] = {}  # what layers above keep per graph, by their own key

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"{self!r} cannot be pickled, nor what is built in it: pickle its as_graph_def(), or "
            "write it with tf.train.export_meta_graph"
        )

    def __repr__(self) -> str:
        num_ops, num_variables = len(self._ops), len(self.notes.get("variables_by_op", ()))
        found = counted(num_ops, "operation"), counted(num_variables, "variable")
        return f"<tf.Graph of {', '.join(found)}>"

    def __getitem__(self, name: str) -> Any:
        return self.as_graph_element(name)

    __iter__ = None  # a graph has names, no numbers

    def _ipython_key_completions_(self) -> list[str]:
        return [t.name for op in self._ops for t in op.outputs]

    # -- building ---------------------------------------------------------------------------

    def create(
        self,
        opdef: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        specs: Spec | tuple[Spec, ...],
        name: str,
    ) -> Operation:
        """Add an operation under the full, unique `name` and return it."""
        if self._finalized:
            self.check_not_finalized()
        if self._gradient_names:
            attrs = self._with_gradient_name(opdef.type, attrs)
        thread = self._thread
        with self._lock:
            op = Operation(
                self,
                opdef,
                name,
                inputs,
                attrs,
                specs,
                next(self._ids),
                scopes.stacks.line or user_line(),
                Tensor,
                self._control_inputs_for(inputs) if thread.controllers else (),
            )
            if thread.devices or (inputs and inputs[0].op.device):
                self._place(op)
            self._ops.append(op)
            self._ops_by_name[name] = op
        for controller in thread.controllers:
            controller.members.add(op)
        for ref in scopes.stacks.histories:
            if (history := ref()) is not None:
                history.keep(op, inputs)
        if self._ops_when_first_run is not None:
            self._warn_of_growth(op, len(self._ops) - self._ops_when_first_run)
        return op

    @accepts("input_types", "op_def", "compute_shapes", "compute_device")
    def create_op(
        self,
        op_type: str,
        inputs: Iterable[Any],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation and return it; one of an op that nobody registered cannot run.

        Args:
          op_type: the op's type, "MatMul".
          inputs: its input tensors.
          name: the name wanted, by default the type; one ending in "/" is taken as it is.
          attrs: its attributes as plain values.
          dtypes: of the results, of an op that nobody registered; others say them.

        Raises:
          KeyError: there is no such op, and no `dtypes`.
        """
        definition = registered(op_type)
        if definition is None and dtypes is None:
            raise KeyError(
                f"Op type not registered {op_type!r}{did_you_mean(op_type, REGISTRY)}; with dtypes "
                "an operation is built that cannot run"
            )
        if definition is None:
            definition = UnregisteredOp(op_type, tuple([as_dtype(dtype) for dtype in dtypes]))
        with scopes.entered(self):
            return apply_op(definition, *inputs, name=name, **(attrs or {}))

    def seen_from_here(self, tensor: Tensor) -> Tensor:
        """Return what has the value of a tensor of a branch here, if the branch is not around.

        That is a tensor of this graph; any other tensor is itself.
        """
        outside = getattr(tensor.graph, "outside", None)
        if outside is None:
            return tensor
        around: Any = self
        while around is not None:
            if around is tensor.graph:
                return tensor
            around = getattr(around, "outer", None)
        found: Tensor | None = outside(tensor, self)
        return tensor if found is None else found

    def capture(self, tensor: Tensor) -> Tensor:
        """Return `tensor` as seen from this graph. Raises ValueError for a foreign one."""
        tensor = self.seen_from_here(tensor)
        if tensor.graph is self:
            return tensor
        if getattr(tensor.graph, "is_body", False):
            raise ValueError(
                f"Cannot use {tensor.name!r} as an input here, because it is in the body of a "
                f"branch or loop, {tensor.graph.name!r}, which is not around this place. Make it a "
                "result of that body."
            )
        if hasattr(tensor.graph, "captures"):
            raise ValueError(
                f"Cannot use {tensor.name!r} here: it is inside {tensor.graph.name!r}, which was "
                "traced, and has no value outside. Return it from there: what a list or attribute "
                "took from within while it was traced is no value."
            )
        raise ValueError(
            f"{tensor.name} and the operation being made must be from the same graph "
            f"({describe(tensor.graph)} is not {describe(self)}). Build both in one graph; to use "
            "an eager value in a graph, pass its numpy() as a constant or feed it."
        )

    def _control_inputs_for(self, inputs: tuple[Tensor, ...]) -> tuple[Operation, ...]:
        found: dict[Operation, None] = {}
        input_ops = {t.op for t in inputs}
        for controller in self._thread.controllers:
            # Where an input was made in the same block it already waits for these.
            if input_ops.isdisjoint(controller.members):
                found.update(dict.fromkeys(controller.ops))
        return tuple(op for op in found if op not in input_ops)

    def _warn_of_growth(self, op: Operation, grown: int) -> None:
        if grown == config.get().graph_growth_warning:
            warnings.warn(
                f"{grown} operations were added to a graph after its first run; the last is "
                f"{op.name!r}, made at {op.where}. A step that builds ops gets slower each time: "
                "build them once before the loop, and call graph.finalize() to find the line.",
                stacklevel=2,
            )

    def note_run(self) -> None:
        """Remember that the graph was run, to warn when it keeps growing."""
        if self._ops_when_first_run is None:
            self._ops_when_first_run = len(self._ops)

    # -- names ------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` under the current scope, with ``_1``, ``_2`` ... when it is taken."""
        scope = self._thread.name_scope
        return self.claim(f"{scope}/{name}" if scope else name, mark_as_used)

    def state_key(self, name: str) -> str:
        """Return the key under which the state keeps the variable of that unique name: the name."""
        return name

    def claim(self, name: str, mark_as_used: bool = True) -> str:
        """Return the full `name` made unique. Names differ regardless of case, as TensorFlow's."""
        names, key = self._names, name.lower()
        # No thread comes between what setdefault looks for and what it puts there. An object, not
        # a number: the garbage collector has nothing to look through.
        mine = object()
        claim = names.setdefault if mark_as_used else names.get
        found = claim(key, mine)
        if found is mine:
            return name
        number = found if type(found) is int else 1
        while claim(f"{key}_{number}", mine) is not mine:
            number += 1
        if mark_as_used:
            names[key] = number + 1
        return f"{name}_{number}"

    def op_name(self, name: str | None, default: str) -> str:
        """Return the full unique name for an op asked to be called `name`.

        A name ending in "/" is taken as it is: the scope of an enclosing `name_scope`.

        Raises:
          TypeError: it is no string.
          ValueError: it has characters that names do not have.
        """
        if not name:
            return self.unique_name(default)
        if type(name) is not str:
            name = _text(name)
        if name[-1] == "/":
            return name[:-1]
        if not _is_legal(name, self._thread.name_scope != ""):
            raise ValueError(
                f"'{name}' is not a valid operation name: letters, digits and any of _.-/\\> "
                "are allowed, beginning with a letter, digit or '.'"
            )
        return self.unique_name(name)

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Prefix the names of ops made in the block; its value is the scope, ending in "/"."""
        return NameScope(self, name if not name or type(name) is str else _text(name))

    def _scope_called(self, name: str) -> str:
        if not _is_legal(name, self._thread.name_scope != ""):
            raise ValueError(f"'{name}' is not a valid scope name")
        return self.unique_name(name)

    def get_name_scope(self) -> str:
        """Return the current name scope, without a trailing "/"."""
        return self._thread.name_scope

    def _get_control_flow_context(self) -> Any:
        """Return the branch or loop that operations are made in, None outside of any.

        Programs ask for it by TensorFlow's name, to see whether there is one.
        """
        return None

    # -- stacks -----------------------------------------------------------------------------

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Make ops of the block run after `control_inputs`; None forgets enclosing blocks."""
        thread = self._thread
        saved = thread.controllers
        if control_inputs is None:
            thread.controllers = ()
        else:
            ops = []
            for item in control_inputs:
                element = self.as_graph_element(
                    item.values if isinstance(item, IndexedSlices) else item
                )
                ops.append(element.op if isinstance(element, Tensor) else element)
            thread.controllers = (*saved, Controller(tuple(dict.fromkeys(ops))))
        try:
            yield
        finally:
            thread.controllers = saved

    @property
    def has_control_dependencies(self) -> bool:
        """Whether ops made now would get control inputs."""
        return any(controller.ops for controller in self._thread.controllers)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this the graph that ops are added to."""
        with scopes.entered(self):
            yield self

    # -- looking up -------------------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order in which they were made."""
        return list(self._ops)

    @property
    def version(self) -> int:
        """The number of operations."""
        return len(self._ops)

    def has_operation(self, name: str) -> bool:
        """Return whether there is an operation `name`."""
        return name in self._ops_by_name

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of a name.

        Raises:
          KeyError: there is none.
          ValueError: it is the name of a tensor.
          TypeError: it is no text.
        """
        return self._named("Operation", name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor ``<operation>:<index>``.

        Raises:
          KeyError: there is none.
          ValueError: it is the name of an operation.
          TypeError: it is no text.
        """
        return self._named("Tensor", name, allow_operation=False)

    def _named(self, kind: str, name: object, **allowed: bool) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"{kind} names are strings, not {type(name).__name__}")
        return self.as_graph_element(name, **allowed)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the Tensor or Operation that `obj` (an object or a name) stands for.

        Raises:
          TypeError: `obj` is nothing of a graph.
          ValueError: it belongs to another graph, or the name is malformed.
          KeyError: there is nothing of that name.
        """
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        if hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, str | bytes):
            obj = obj if isinstance(obj, str) else obj.decode()
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if (isinstance(obj, Tensor) and allow_tensor) or (
            isinstance(obj, Operation) and allow_operation
        ):
            if obj.graph is not self and getattr(obj.graph, "is_body", False):
                raise ValueError(
                    f"Operation {obj.name!r} has been marked as not fetchable: it is in the body "
                    "of a branch or loop. Make it a result of that body."
                )
            if obj.graph is not self:
                way = (
                    "It is an eager value: use its numpy()."
                    if obj.graph is None
                    else "Run it in a session of its own graph: Session(graph=tensor.graph)."
                )
                raise ValueError(f"{wanted} {obj!r} is not an element of this graph. {way}")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        op_name, colon, index = name.partition(":")
        if not colon:
            if not allow_operation:
                kind, hint = "looks like an (invalid) Operation name", ""
                if name in self._ops_by_name:
                    kind, hint = "refers to an Operation", f", as in '{name}:0'"
                raise ValueError(
                    f"The name '{name}' {kind}, not a Tensor. Tensor names must be of the form "
                    f'"<op_name>:<output_index>"{hint}.'
                )
            if name not in self._ops_by_name:
                raise KeyError(
                    f"The name '{name}' refers to an Operation not in the graph"
                    f"{did_you_mean(name, self._ops_by_name)}."
                )
            return self._ops_by_name[name]
        if not allow_tensor:
            raise ValueError(f"The name '{name}' refers to a Tensor, not an Operation.")
        if not index.isdigit():
            raise ValueError(
                f"The name '{name}' looks like a Tensor name, but is not a valid one. Tensor names "
                'must be of the form "<op_name>:<output_index>".'
            )
        op = self._ops_by_name.get(op_name)
        if op is None:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{op_name}', does not exist in the graph"
                f"{did_you_mean(op_name, self._ops_by_name)}."
            )
        if int(index) >= len(op.outputs):
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{op_name}', exists but only has {len(op.outputs)} outputs."
            )
        return op.outputs[int(index)]

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbid feeding `tensor`."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether `tensor` may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Any) -> None:
        """Forbid fetching `op`."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Return whether `tensor_or_op` may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return tensor_or_op not in self._unfetchable and op not in self._unfetchable

    # -- finalizing -------------------------------------------------------------------------

    finalized: bool = forwards("_finalized", "Whether the graph is read-only.")

    def finalize(self) -> None:
        """Make the graph read-only: building an op in a training loop becomes an error."""
        self._finalized = True

    def unfinalize(self) -> None:
        """Let the graph grow again: what finalized it for the time of a training is over."""
        self._finalized = False

    _unsafe_unfinalize = unfinalize  # what TensorFlow 1 calls it

    def check_not_finalized(self) -> None:
        """Raise RuntimeError when the graph is finalized, naming the user's line."""
        if self._finalized:
            file, line = user_line()
            raise RuntimeError(
                f"Graph is finalized and cannot be modified: {file}:{line} adds to it. Build all "
                "operations, and fill collections, before the training loop."
            )


def describe(graph: Any) -> str:
    """Return a short text for a graph in an error message."""
    if graph is None:
        return "the eager program"
    if hasattr(graph, "captures"):
        return f"the body of {graph.name!r}"
    first = next(iter(graph.get_operations()), None)
    if first is None:
        return "a graph without operations"
    return f"the graph that begins with {first.name!r}, made at {first.where}"
