"""Iterators of graphs: kept by a session, which takes the next element before it runs anything.

The element that a run takes is fed to what uses it, so it is one however often it is read; a run
that fails gives it back. Where a checkpoint has the position (`make_saveable_from_iterator`), that
is a variable, which the run that takes an element sets in the same transaction.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from daskvars import shapes
from daskvars.data.iterators.cursor import Cursor
from daskvars.data.nodes.elements import (
    Element,
    classes_of,
    flatten,
    no_datasets,
    pack,
    shapes_of,
    structure_of,
    types_of,
)
from daskvars.data.nodes.functions import arrays_of, components_of, tensors_of
from daskvars.data.nodes.node import Node
from daskvars.dtypes import int64, string
from daskvars.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
)
from daskvars.execution.engine.executors import active_client
from daskvars.execution.engine.values.blocks import kept
from daskvars.execution.engine.values.rows_arrays import RowsArray
from daskvars.execution.host_ops.resources import Call, host_op, run_along
from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.constant import constant
from daskvars.ops.control.cond import cond
from daskvars.ops.control.dependencies import group, no_op
from daskvars.ops.math.comparison import equal, logical_not
from daskvars.ops.state.assign import assign
from daskvars.variables.tracking import Trackable
from daskvars.variables.variable import Variable

MANY_CALLS = 32  # of get_next: as many are a mistake
POSITION = Spec(int64, (3,))
_NUMBERS = itertools.count()
_ITERATORS = "iterators"  # the note of a graph: name -> `_Iterated`


class _Iterated:
    """What a graph knows of an iterator.

    Args:
      resource: under which sessions keep it.

    Attributes:
      nodes: the datasets that it may be initialized from, and the tensors that each of them needs.
      is_one_shot: whether it begins by itself.
      has_run: whether a run has begun it, or taken an element.
      position: the variable that has its position, if a checkpoint is to have it.
      num_next: how many operations take elements of it.
    """

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.nodes: list[tuple[Node, list[Tensor]]] = []
        self.is_one_shot = self.has_run = False
        self.position: Variable | None = None
        self.num_next = 0


class _Running(NamedTuple):
    """What a session has of an iterator.

    Attributes:
      updates: how often values of variables had come from elsewhere when it was last looked at.
    """

    cursor: Cursor
    updates: list[int]

    def end(self) -> None:
        """Let go of files and threads: the session is closed, or another iterator follows."""
        self.cursor.close()


# -- what a session does ---------------------------------------------------------------------------


def _make(call: Call, *arrays: Any, key: str, index: int) -> numpy.ndarray:
    """Begin to iterate; what was begun before ends."""
    iterated = _iterated(call, key)
    before = call.resources.find(iterated.resource)
    call.resources.forget(iterated.resource)
    if before is not None:
        before.end()
    running = call.resources.get(
        iterated.resource, lambda: _begun(call, iterated.nodes[index], arrays)
    )
    return numpy.array(running.cursor.state, numpy.int64)


def _begun(call: Call, begun: tuple[Node, list[Tensor]], arrays: Sequence[Any]) -> _Running:
    node, tensors = begun
    values = ByIdentity(zip(tensors, map(kept, arrays), strict=True))
    cursor = Cursor(node, values, as_dask=active_client() is not None)
    return _Running(cursor, [call.engine.values.external_updates])


def _iterated(call: Call, key: str) -> _Iterated:
    found: _Iterated | None = call.op.graph.notes.get(_ITERATORS, {}).get(key)
    if found is None:
        raise NotFoundError(
            None,
            call.op.name,
            f"the graph has no iterator {key!r}: a handle is of an iterator of the same graph, and "
            "a graph that is read from a file comes without its datasets",
        )
    found.has_run = True
    return found


def _next_if(
    call: Call, is_wanted: Any, handle: Any, *arrays: Any, _specs: Sequence[Spec]
) -> tuple[Any, ...]:
    """Take the next element if the branch that uses it runs."""
    if is_wanted:
        return _next(call, handle, *arrays, _specs=_specs)
    running = call.resources.find(_iterated(call, _key_of(handle)).resource)
    # What is of the right shape is the element that will be taken.
    element = None if running is None else running.cursor.peek()
    state = (0, 0, 0) if running is None else running.cursor.state
    found = arrays_of(element) if element is not None else map(_nothing, _specs)
    return (*found, numpy.array(state, numpy.int64))


def _nothing(spec: Spec) -> numpy.ndarray:
    return numpy.zeros([1 if size is None else size for size in spec.shape or ()], spec.dtype.np)


def _key_of(handle: Any) -> str:
    key: str = handle[()].decode("utf-8", "replace")
    return key


def _next(call: Call, handle: Any, *arrays: Any, _specs: Sequence[Spec]) -> tuple[Any, ...]:
    """Take the next element."""
    key = _key_of(handle)
    iterated = _iterated(call, key)
    if iterated.is_one_shot:
        begun = iterated.nodes[0]
        running = call.resources.get(iterated.resource, lambda: _begun(call, begun, arrays))
        if iterated.position is not None and running.cursor.state[0] == 0:
            running.updates[0] = -1
    else:
        running = call.resources.find(iterated.resource)
    if running is None:
        raise FailedPreconditionError(
            None,
            call.op.name,
            "GetNext() failed because the iterator has not been initialized. Ensure that you have "
            "run the initializer operation for this iterator before getting the next element.",
        )
    cursor = running.cursor
    if iterated.position is not None:
        _follow(call, running, iterated.position)
    taken: list[Element] = []
    call.undo(lambda: cursor.give_back(*taken))
    try:
        taken = cursor.take(_once_there)
    except StopIteration:
        raise OutOfRangeError(None, call.op.name, "End of sequence") from None
    found = arrays_of(*taken)
    if len(found) != len(_specs):
        raise InvalidArgumentError(
            None,
            call.op.name,
            f"the next element is of {len(found)} tensors, but the iterator was declared with "
            f"{len(_specs)}",
        )
    for array, spec in zip(found, _specs, strict=True):
        if array.dtype != spec.dtype.np:
            raise InvalidArgumentError(
                None,
                call.op.name,
                f"the next element has a component of dtype {array.dtype}, but the iterator was "
                f"declared with {spec.dtype.name}",
            )
        if not shapes.compatible(spec.shape, array.shape):
            raise InvalidArgumentError(
                None,
                call.op.name,
                f"the next element has a component of shape {tuple(array.shape)}, but the iterator "
                f"was declared with {shapes.show(spec.shape)}",
            )
    return (*found, numpy.array(cursor.state, numpy.int64))


def _once_there(element: Element) -> list[Element]:
    """Return an element when it is made: one that cannot be is passed by, here or on a worker."""
    for array in arrays_of(element):
        if isinstance(array, RowsArray) and array.wait is not None:
            array.wait()
    return [element]


def _follow(call: Call, running: _Running, position: Variable) -> None:
    """Go to the position that a variable was restored to."""
    updates = call.engine.values.external_updates
    if running.updates[0] == updates:
        return
    running.updates[0] = updates
    key = position.handle.op.attrs["key"]
    if key not in call.engine.values:
        return
    state = numpy.asarray(call.engine.dask_array(key).compute())
    if tuple(state.tolist()) != running.cursor.state:
        running.cursor.restore(state)


def _element(inputs: Sequence[Spec], *, _specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    return (*_specs, POSITION)


MAKE_ITERATOR = host_op("MakeIterator", "*values:A", lambda inputs, *, key, index: POSITION, _make)
GET_NEXT = host_op("IteratorGetNext", "handle:S, *values:A", _element, _next)
GET_NEXT_IF = host_op("IteratorGetNextIf", "is_wanted:B, handle:S, *values:A", _element, _next_if)

# -- what a program has ----------------------------------------------------------------------------


class Iterator(Trackable):
    """An iterator of a graph; datasets and the methods below make them.

    Each `Session` has a position of its own. `get_next` returns tensors, which in each run are the
    next element.

    Args:
      structure: the specs of components, in the structure of elements.
      handle: [] string, the name of its position in a session.
      key: its name among the graph's iterators; "" for one of another one's handle.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     iterator = tf.data.Dataset.range(2).make_one_shot_iterator()
    ...     number = iterator.get_next()
    ...     print(*sess.run([number, number + 10]), sess.run(number))
    0 10 1
    """

    def __init__(self, structure: Any, handle: Tensor, key: str = "") -> None:
        self._structure, self._handle, self._key = structure, handle, key
        self._initializer: Operation | None = None
        self._values: list[Tensor] = []

    def __repr__(self) -> str:
        return f"<tf.data.Iterator shapes: {self.output_shapes}, types: {self.output_types}>"

    # -- made -------------------------------------------------------------------------------------

    @classmethod
    def one_shot(cls, node: Node) -> Iterator:
        """Return an iterator of a node that begins by itself.

        Args:
          node: the last step of a dataset.

        Raises:
          ValueError: it depends on placeholders or variables.
        """
        values = node.tensors()
        _check_capturable(values)
        iterator = cls._kept(node.structure, None)
        iterated = iterator._iterated
        iterated.is_one_shot = True
        iterated.nodes.append((node, values))
        iterator._values = values
        return iterator

    @classmethod
    def initializable(cls, node: Node, shared_name: str | None = None) -> Iterator:
        """Return an iterator of a node that begins when its `initializer` is run.

        Args:
          node: the last step of a dataset.
          shared_name: under which others of the session are the same.
        """
        iterator = cls._kept(node.structure, shared_name)
        iterator._initializer = iterator._made_from(node, None)
        return iterator

    @classmethod
    def _kept(cls, structure: Any, shared_name: str | None) -> Iterator:
        no_datasets(structure, "an iterator of a graph")
        graph = builder_for(())
        key = f"iterator {shared_name}" if shared_name else graph.unique_name("Iterator")
        # Sessions that share what they keep may run several graphs, in which names are the same.
        resource = key if shared_name else f"{key} {next(_NUMBERS)}"
        graph.notes.setdefault(_ITERATORS, {}).setdefault(key, _Iterated(resource))
        with graph.control_dependencies(None):
            handle = constant(key, string, name="IteratorToStringHandle")
        return cls(structure, handle, key)

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return an iterator that is initialized from any dataset of a structure.

        Args:
          output_types: the dtypes of components, in the structure of elements.
          output_shapes: their shapes, by default not known.
          shared_name: under which other iterators of the session are the same.
          output_classes: `Tensor` or `SparseTensor` for each, by default the first.
        """
        structure = structure_of(output_types, output_shapes, output_classes)
        return Iterator._kept(structure, shared_name)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Return the iterator whose handle a tensor is, in each run another one if it is fed so.

        Args:
          string_handle: scalar string, what `string_handle` of an iterator of the graph gives.
          output_types: the dtypes of components, in the structure of elements.
          output_shapes: their shapes, by default not known.
          output_classes: `Tensor` or `SparseTensor` for each, by default the first.
        """
        structure = structure_of(output_types, output_shapes, output_classes)
        return Iterator(structure, convert_to_tensor(string_handle, string))

    # -- begun ------------------------------------------------------------------------------------

    @property
    def _iterated(self) -> _Iterated:
        found: _Iterated = self._handle.graph.notes[_ITERATORS][self._key]
        return found

    @property
    def initializer(self) -> Operation:
        """The operation that begins it anew.

        Raises:
          ValueError: it has none: it begins by itself, or `make_initializer` gives them.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Return an operation that begins to iterate a dataset.

        Args:
          dataset: of elements of this structure.
          name: name of the operation, by default "MakeIterator".

        Raises:
          TypeError: types, shapes or classes of its elements are others.
          ValueError: this iterator is known by a handle alone.
        """
        if not self._key:
            raise ValueError("an iterator from a string handle is initialized where it was made")
        node = dataset.node
        for what, of in (("types", types_of), ("classes", classes_of)):
            if of(node.structure) != of(self._structure):
                raise TypeError(
                    f"Expected output {what} {of(self._structure)} but got dataset with output "
                    f"{what} {of(node.structure)}."
                )
        pairs = zip(flatten(self._structure), flatten(node.structure), strict=True)
        if not all(shapes.compatible(a.shape, b.shape) for a, b in pairs):
            raise TypeError(
                f"Expected output shapes compatible with {shapes_of(self._structure)} but got "
                f"dataset with output shapes {shapes_of(node.structure)}."
            )
        with scopes.entered(self._handle.graph):
            return self._made_from(node, name)

    def _made_from(self, node: Node, name: str | None) -> Operation:
        iterated, tensors = self._iterated, node.tensors()
        iterated.nodes.append((node, tensors))
        index = len(iterated.nodes) - 1
        made = apply_op(MAKE_ITERATOR, *tensors, name=name, key=self._key, index=index)
        if iterated.position is not None:
            _note_position(made, self._key, iterated.position)
        return made

    # -- used -------------------------------------------------------------------------------------

    def get_next(self, name: str | None = None) -> Any:
        """Return the tensors that are the next element in each run.

        Args:
          name: name of the operation, by default "IteratorGetNext".

        Returns:
          Tensors, in the structure of elements.

        Raises:
          UnimplementedError: in the body of a loop or function, or of a branch in another body: a
            run takes its elements before it begins, those of a `cond`'s branch if that will run.
          OutOfRangeError: (when run) there is no further element; nothing has run.
          FailedPreconditionError: (when run) it was not initialized.
        """
        body = builder_for(())
        branch = body.chosen_by if isinstance(body, FuncGraph) else None
        if isinstance(body, FuncGraph) and (branch is None or isinstance(body.outer, FuncGraph)):
            raise UnimplementedError.saying(
                "get_next() is called in the body of a loop or function, or of a branch in another "
                "body, but a run takes its elements before it begins, as long as it can tell which "
                "branch it will take: call it around the body and use the element in it. "
                "To choose between datasets, feed the handle of an iterator (from_string_handle), "
                "or initialize one iterator from either (from_structure)"
            )
        if self._key:
            self._iterated.num_next += 1
            if self._iterated.num_next == MANY_CALLS:
                warnings.warn(
                    "An unusually high number of `Iterator.get_next()` calls was detected. Call it "
                    "once, outside of the loop that runs steps: what it returns is the next "
                    "element in each run.",
                    stacklevel=2,
                )
        specs = flatten(self._structure)
        parts = tuple(part for spec in specs for part in tensors_of(spec))
        with scopes.entered(self._handle.graph):
            taken = self._handle, *self._values
            if branch is None:
                outputs = apply(GET_NEXT, *taken, name=name, _specs=parts)
            else:
                is_wanted = branch[0] if branch[1] else logical_not(branch[0])
                outputs = apply(GET_NEXT_IF, is_wanted, *taken, name=name, _specs=parts)
            for key, iterated in self._handle.graph.notes.get(_ITERATORS, {}).items():
                if iterated.position is not None and self._key in ("", key):
                    _note_position(outputs[-1].op, key, iterated.position)
        return pack(self._structure, components_of(specs, outputs[:-1], SparseTensor))

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return the handle for `from_string_handle`, a scalar string, to be run and fed.

        Args:
          name: name of the operation.
        """
        if name is None or not self._key:
            return self._handle
        with scopes.entered(self._handle.graph):
            return constant(self._key, string, name=name)

    @property
    def output_types(self) -> Any:
        """The dtypes of components, in the structure of elements."""
        return types_of(self._structure)

    @property
    def output_shapes(self) -> Any:
        """The shapes of components, in the structure of elements."""
        return shapes_of(self._structure)

    @property
    def output_classes(self) -> Any:
        """`Tensor` or `SparseTensor` for each component, in the structure of elements."""
        return classes_of(self._structure)

    def _tracked_children(self) -> dict[str, Any]:
        return {"position": self.position()}

    def position(self) -> Variable:
        """Return the variable that has its position, made when it is first asked for.

        Raises:
          ValueError: this iterator is known by a handle alone.
          RuntimeError: it was run before, by what does not set the variable.
        """
        if not self._key:
            raise ValueError("the position is that of the iterator which a string handle is of")
        iterated, graph = self._iterated, self._handle.graph
        if iterated.position is None:
            if iterated.has_run:
                raise RuntimeError(
                    "the position of an iterator that was run already is asked for: make it "
                    "saveable before the first run, so that each run sets it"
                )
            with scopes.entered(graph), graph.control_dependencies(None):
                name = f"{self._key.replace(' ', '_')}/position"
                iterated.position = Variable(
                    numpy.zeros(3, numpy.int64), trainable=False, collections=[], name=name
                )
                for op in graph.get_operations():
                    if _concerns(op, self._key):
                        _note_position(op, self._key, iterated.position)
        return iterated.position


def _concerns(op: Operation, key: str) -> bool:
    """Return whether an operation may move the iterator of a name."""
    if op.opdef is MAKE_ITERATOR:
        return op.attrs["key"] == key
    taken = _handle_of(op)
    known: Any = None if taken is None else constant_value(taken)
    return taken is not None and (known is None or known[()].decode() == key)


def _handle_of(op: Operation) -> Tensor | None:
    """Return the handle of the iterator that an operation takes an element of, if it does."""
    place = {GET_NEXT: 0, GET_NEXT_IF: 1}.get(op.opdef)
    return None if place is None else op.inputs[place]


def _note_position(op: Operation, key: str, position: Variable) -> None:
    """Have each run that moves an iterator set the variable of its position."""
    state = op.outputs[-1]
    handle = _handle_of(op)
    if handle is None or constant_value(handle) is not None:
        update = assign(position, state).op
    else:
        update = cond(equal(handle, key), lambda: group(assign(position, state)), no_op)
    run_along(op, update.op if isinstance(update, Tensor) else update)


def _check_capturable(tensors: Sequence[Tensor]) -> None:
    """Raise ValueError where a tensor has no value before somebody gives one."""
    stack, seen = [tensor.op for tensor in tensors], set()
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type == "Placeholder":
            raise ValueError(
                f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value: a "
                "one-shot iterator begins by itself; use make_initializable_iterator()"
            )
        if any(output.spec.dtype.is_ref for output in op.outputs):
            raise ValueError(
                "`Dataset.make_one_shot_iterator()` does not support datasets that capture "
                "stateful objects, such as a `Variable` or `LookupTable`. In these cases, use "
                "`Dataset.make_initializable_iterator()`. (Cannot capture a stateful node "
                f"(name:{op.name}, type:{op.type}) by value: the iterator begins by itself)"
            )
        stack.extend(tensor.op for tensor in op.inputs)
