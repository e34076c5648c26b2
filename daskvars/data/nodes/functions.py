"""Functions of elements: traced once into a graph, which then runs in this process.

A function sees tensors, as that of `daskvars.function` does, and may use tensors around it: of a
graph, whose values are those of the moment when an iterator is initialized, or of eager code.
Variables of eager code are not read, as there is no run that says at which version.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy

from daskvars import idle_threads
from daskvars.data.nodes.elements import (
    ComponentSpec,
    DatasetSpec,
    Element,
    SparseSpec,
    Window,
    flatten,
    is_tuple,
    map_structure,
    pack,
    spec_of,
)
from daskvars.data.nodes.node import Elements, InTurn, Node, Pass
from daskvars.data.nodes.together import Calls, FunctionTogether, PlansTogether, is_one_computation
from daskvars.dtypes import int64, to_numpy
from daskvars.errors import UnimplementedError
from daskvars.execution.engine.engine import Engine, random_key
from daskvars.execution.engine.executors import Binder
from daskvars.execution.engine.plans.executables import Executable
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.func_graph import FuncGraph, operations_inside
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering.plan import Origin
from daskvars.lowering.planner.cut_feeds import Machine
from daskvars.lowering.program import CONSTANT, FEED
from daskvars.ops.control.subgraphs import PARAMETER, effects_in, parameter
from daskvars.ops.random.distributions import next_stream
from daskvars.remote.tasks.element_tasks import GIVEN, RESULT, VALUE, ElementProgram, pack_elements
from daskvars.remote.tasks.feed_tasks import fed_array
from daskvars.shape_arithmetic import is_known


class _Here(Engine):
    """Runs functions in this process, with or without a Dask client, on one thread each."""

    def _client(self) -> None:
        return None


class _OfElements(Executable):
    """Fetches of a function of elements, which are never cut: so bits are the same anywhere."""

    __slots__ = ()

    def machine(self, executor: Binder) -> Machine:
        return Machine(1, True)


class _Engines:
    """The engine that functions run on, made when the first of them runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: Engine | None = None

    def get(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = _Here(num_threads=1)
            return self._engine


_ENGINES = _Engines()


def tensors_of(spec: ComponentSpec) -> list[Spec]:
    """Return the specs of the tensors that a component is made of."""
    if isinstance(spec, DatasetSpec):
        return []
    if not isinstance(spec, SparseSpec):
        return [spec]
    rank = None if spec.shape is None else len(spec.shape)
    return [Spec(int64, (None, rank)), Spec(spec.dtype, (None,)), Spec(int64, (rank,))]


def arrays_of(element: Element) -> list[Any]:
    """Return the arrays that the components of an element are made of."""
    return [
        array
        for part in element
        if not isinstance(part, Window)
        for array in (part if isinstance(part, SparseTensorValue) else (part,))
    ]


def components_of(
    specs: Sequence[ComponentSpec], arrays: Sequence[Any], kind: Any, nodes: Sequence[Node] = ()
) -> list[Any]:
    """Return components of what they are made of.

    Args:
      arrays: what dense and sparse ones are made of.
      kind: makes a sparse one of three parts.
    """
    rest, datasets = iter(arrays), iter(nodes)

    def component(spec: ComponentSpec) -> Any:
        if isinstance(spec, DatasetSpec):
            return spec.kind(next(datasets))
        if isinstance(spec, SparseSpec):
            return kind(next(rest), next(rest), next(rest))
        return next(rest)

    return [component(spec) for spec in specs]


class ElementGraph(FuncGraph):
    """The body of a function of elements: it runs in this process, one element after the other."""


class Given(Node):
    """What a function of elements is given where a component is a dataset.

    Args:
      here: the windows that the function has been given, of the thread that runs it.
    """

    def __init__(self, spec: DatasetSpec, here: threading.local, place: int) -> None:
        self.structure, self._here, self._place = spec.structure, here, place

    def count(self, pass_: Pass) -> float:
        return len(self._window(pass_).elements)

    def elements(self, pass_: Pass) -> Elements:
        return InTurn(self._window(pass_).elements)

    def _window(self, pass_: Pass) -> Window:
        found: Window = pass_.given(self)
        return found

    def now(self) -> Window:
        """Return the window that the function which runs now has been given.

        Raises:
          UnimplementedError: another function runs.
        """
        windows: list[Window] | None = getattr(self._here, "windows", None)
        if windows is None:
            raise UnimplementedError.saying(
                "a window is gone through in a function inside of the one that was given it: "
                "reduce it before, and use the result"
            )
        return windows[self._place]


class Traced:
    """A function of elements as a graph.

    Args:
      function: takes an element: the items of a tuple, or one structure.
      what: how it is called in errors, and its graph.

    Attributes:
      operands: tensors around that it uses.
      given: the nodes that it was given where components are datasets.
    """

    def __init__(self, function: Callable[..., Any], structure: Any, what: str) -> None:
        builder = builder_for(())
        self.graph = ElementGraph(what, None if builder.is_eager else builder, parameter)
        if builder.is_eager:
            self.graph.seed, self.graph.place = builder.seed, 1 + next_stream(builder)
        specs = flatten(structure)
        self._here = threading.local()
        windows = [spec for spec in specs if isinstance(spec, DatasetSpec)]
        self.given = [Given(spec, self._here, place) for place, spec in enumerate(windows)]
        with self.graph.as_default():
            self._parameters = [
                apply(PARAMETER, name="argument", spec=spec)
                for component in specs
                for spec in tensors_of(component)
            ]
            self.graph.inputs.extend(self._parameters)
            parts = components_of(specs, self._parameters, SparseTensor, self.given)
            given = pack(structure, parts)
            # What has names is given whole, as TensorFlow does.
            is_plain = is_tuple(structure) and not hasattr(structure, "_fields")
            self.returned = function(*given) if is_plain else function(given)
        self._executable: Executable | None = None
        self._making = threading.Lock()

    def end(self, results: Sequence[Any]) -> None:
        """Say what is computed: tensors, of the function's graph or around it."""
        graph = self.graph
        with graph.as_default():
            graph.results = [
                graph.capture(tensor) if tensor.graph is not graph else tensor for tensor in results
            ]
        graph.effects = effects_in(graph)
        for op in graph.get_operations():
            for tensor in op.inputs:
                if tensor.spec.dtype.is_ref:
                    raise UnimplementedError.saying(
                        f"the function of {graph.name} uses the variable {tensor.op.name!r}, which "
                        "may change while elements are prepared: use it where the elements are, or "
                        "give the function its value as an array"
                    )
        parameters = set(map(id, self._parameters))
        pairs = [(o, i) for o, i in graph.captures.items() if id(i) not in parameters]
        self._captured = [inner for _, inner in pairs]
        self.operands = [
            numpy.asarray(outer.numpy()) if hasattr(outer, "numpy") else outer for outer, _ in pairs
        ]

    @functools.cached_property
    def may_wait(self) -> bool:
        """Whether a call may do more than compute: call Python, read files, wait for others."""
        return any(map(_may_wait, self.graph.get_operations()))

    @property
    def only_computes(self) -> bool:
        """Whether nobody can tell when it is called."""
        return not (self.may_wait or self.graph.effects)

    def bound(self, pass_: Pass) -> Callable[[Element, int], list[Any]]:
        """Return what runs it in a pass: takes an element, and a number for random draws."""
        captured = self._captured_values(pass_)
        parameters = [(t.spec.dtype.base_dtype, t.name) for t in self._parameters]
        executable, here = self._made(), self._here
        streams: dict[Operation, int] = {}
        # What waits leaves its thread to others.
        computing: AbstractContextManager[Any] = idle_threads.beside_a_run
        if self.may_wait:
            computing = nullcontext()
        dtypes = [t.spec.dtype.base_dtype for t in self.graph.results]

        def run(element: Element, number: int) -> list[Any]:
            arrays = [
                fed_array(array, dtype, name)
                for array, (dtype, name) in zip(arrays_of(element), parameters, strict=True)
            ]
            here.draw = number, pass_.entropy, streams
            here.windows = [part for part in element if isinstance(part, Window)]
            try:
                with computing:
                    found = executable(arrays + captured)
            finally:
                del here.windows
            return [to_numpy(value, dtype) for value, dtype in zip(found, dtypes, strict=True)]

        return run

    def _captured_values(self, pass_: Pass) -> list[numpy.ndarray]:
        return [
            fed_array(pass_.value(operand), inner.spec.dtype.base_dtype, inner.name)
            for operand, inner in zip(self.operands, self._captured, strict=True)
        ]

    def _made(self) -> Executable:
        with self._making:
            if self._executable is None:
                graph = self.graph
                self._executable = _OfElements(
                    _ENGINES.get(),
                    ("dataset", graph),
                    graph.results,
                    graph.effects,
                    [*self._parameters, *self._captured],
                    True,
                    key_of=self._key_of,
                )
            return self._executable

    def _key_of(self, op: Operation) -> tuple[int, int]:
        number, entropy, streams = self._here.draw
        if op not in streams:
            streams[op], _ = random_key(op, number, entropy)
        return streams[op], number


def _may_wait(op: Operation) -> bool:
    pattern = op.opdef.pattern
    if not isinstance(pattern, Opaque):
        return False
    waits = not pattern.pure or pattern.beside is not None
    return waits or any(map(_may_wait, operations_inside(op)))


class ElementFunction(Traced):
    """A function of elements that gives elements."""

    def __init__(self, function: Callable[..., Any], structure: Any, what: str) -> None:
        super().__init__(function, structure, what)
        returned = self.returned
        if isinstance(returned, list):  # what py_func and unstack return, for one
            returned = tuple(returned)
        with self.graph.as_default():
            found = map_structure(_as_tensor, returned)
        self._components = flatten(found)
        if not self._components:
            raise TypeError(f"the function of {what} returned no tensor: {self.returned!r}")
        self.structure = map_structure(spec_of, found)
        self._plans = PlansTogether(lambda arrays: self._made().plan(arrays))
        self._given_specs, self._specs = flatten(structure), flatten(self.structure)
        self.end(
            [
                tensor
                for part in self._components
                for tensor in (
                    (part.indices, part.values, part.dense_shape)
                    if isinstance(part, SparseTensor)
                    else (part,)
                )
            ]
        )

    def elements_of(self, pass_: Pass) -> Callable[[Element, int], Element]:
        """Return the function in a pass: takes an element, and a number for random draws."""
        run, specs = self.bound(pass_), self._specs
        if not any(isinstance(spec, SparseSpec) for spec in specs):
            return lambda element, number: tuple(run(element, number))
        return lambda element, number: tuple(
            components_of(specs, run(element, number), SparseTensorValue)
        )

    def numbered(self, pass_: Pass, first: int) -> Callable[[Element, int], Element]:
        """Return the function in a pass: takes an element, and which it is from the first on."""
        function = self.elements_of(pass_)
        return lambda element, at: function(element, pass_.number(first + at))

    def calls(self, pass_: Pass, first: int) -> Calls:
        """Return what `numbered` does, to be called for several elements as well."""

        def number(at: int) -> int:
            return pass_.number(first + at)

        return Calls(self.elements_of(pass_), self._together(pass_), number)

    def _together(self, pass_: Pass) -> FunctionTogether | None:
        """Return the function in a pass for several elements; None if it is called for each."""
        if not self.only_computes or self.given:
            return None
        if any(isinstance(spec, SparseSpec) for spec in [*self._given_specs, *self._specs]):
            return None
        return FunctionTogether(
            self._plans,
            self._captured_values(pass_),
            [tensor.spec.dtype.base_dtype for tensor in self.graph.results],
            lambda op: random_key(op, 0, pass_.entropy)[0],
            idle_threads.beside_a_run,
        )

    def for_workers(self, pass_: Pass) -> ElementProgram | None:
        """Return the function in a pass as what workers can run; None where it cannot be.

        It can where it has no effect, draws no random numbers, is one region, and where all shapes
        are known: those of what a batch will be.
        """
        specs = [tensor.spec for tensor in self._parameters]
        if self.graph.effects or not all(is_known(spec.shape) for spec in specs):
            return None
        if self.given or any(isinstance(spec, SparseSpec) for spec in self._specs):
            return None
        captured = self._captured_values(pass_)
        given = [numpy.empty(spec.shape, spec.dtype.base_dtype.np) for spec in specs]
        plan = self._made().plan([*given, *captured])
        leaves = plan.leaves
        if (
            plan.num_tasks > 1
            or plan.updates
            or plan.pieces
            or {leaf.kind for leaf in leaves} - {FEED, CONSTANT}
        ):
            return None
        if not all(is_known(output.spec.shape) for output in plan.outputs):
            return None

        def source(origin: Origin) -> tuple[str, Any]:
            if origin.region >= 0:
                return RESULT, origin.position
            leaf = leaves[origin.position]
            if leaf.kind == CONSTANT:
                return VALUE, leaf.what
            is_given = leaf.what < len(given)
            return (GIVEN, leaf.what) if is_given else (VALUE, captured[leaf.what - len(given)])

        region = plan.regions[0] if plan.regions else None
        return ElementProgram(
            pack_elements(None if region is None else region.program),
            tuple(
                (spec.dtype.base_dtype, t.name)
                for spec, t in zip(specs, self._parameters, strict=True)
            ),
            () if region is None else tuple(source(each.origin) for each in region.inputs),
            tuple(source(output.origin) for output in plan.outputs),
            tuple((output.spec.dtype.base_dtype, output.spec.shape) for output in plan.outputs),
            region is not None and self.only_computes and is_one_computation(plan),
        )


def number_function(
    function: Callable[..., Any], structure: Any, name: str, what: str
) -> ElementFunction:
    """Return a function of elements that gives a scalar int64.

    Args:
      name: of the dataset's function, in errors.
      what: what it is called where it gives something else.

    Raises:
      ValueError: it does.
    """
    made = ElementFunction(function, structure, name)
    found = flatten(made.structure)
    if len(found) != 1 or found[0].dtype is not int64 or found[0].shape not in ((), None):
        raise ValueError(f"{what} must return a single tf.int64 scalar, found {made.structure}")
    return made


def _as_tensor(item: Any) -> Any:
    if isinstance(item, SparseTensor):
        return item
    if isinstance(item, SparseTensorValue):
        return SparseTensor(*item)
    if item is None or hasattr(item, "node"):
        raise TypeError(
            f"the function of a dataset returned {item!r} where a tensor was wanted; flat_map() "
            "and interleave() take functions that return datasets"
        )
    return convert_to_tensor(item)


class DatasetFunction(Traced):
    """A function of elements that gives datasets."""

    def __init__(self, function: Callable[..., Any], structure: Any, what: str) -> None:
        super().__init__(function, structure, what)
        node = getattr(self.returned, "node", None)
        if not isinstance(node, Node):
            raise TypeError(
                f"the function of {what} must return a `Dataset` object, got {self.returned!r}"
            )
        self.node = node
        self._inner: list[Tensor] = node.tensors()
        self.end(self._inner)

    def passes(self, pass_: Pass) -> Callable[[Element, int], Pass]:
        """Return the function in a pass: gives the pass through what it makes of an element."""
        run = self.bound(pass_)

        def inside(element: Element, number: int) -> Pass:
            values = dict(
                zip(self._inner, run(element, number) if self._inner else (), strict=True)
            )
            windows = [part for part in element if isinstance(part, Window)]
            return pass_.inside(values, number, dict(zip(self.given, windows, strict=True)))

        return inside
