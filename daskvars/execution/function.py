"""`function`: a Python function compiled into one plan per input signature."""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import islice
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload
from weakref import WeakMethod

import dask
import dask.array
import numpy

from daskvars import config
from daskvars.dtypes import as_dtype, to_numpy
from daskvars.execution.eager import EAGER_CONTEXT, EagerTensor, computed, evaluated
from daskvars.execution.engine.plans.exact_keys import exactly
from daskvars.execution.engine.plans.executables import Executable
from daskvars.execution.engine.values.checked_feeds import as_array, feed_value
from daskvars.graph import nest
from daskvars.graph.by_identity import is_among
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering.program import concrete
from daskvars.ops.control.subgraphs import (
    PARAMETER,
    assemble_chunk,
    copy_body,
    draws_inside,
    effects_in,
    parameter,
    taken_apart,
)
from daskvars.ops.random.distributions import next_stream
from daskvars.surface.notebooks import ShownInNotebooks

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class Function(ShownInNotebooks, Generic[P, R_co]):
    """A compiled function; made by `function`.

    Attributes:
      num_traces: how often the Python function was run to be traced.
      as_dask: whether its results are dask arrays.
    """

    def __init__(
        self, python_function: Callable[P, R_co], name: str | None = None, as_dask: bool = False
    ) -> None:
        self.as_dask = as_dask
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.name = name or getattr(python_function, "__name__", "function").strip("<>")
        self.num_traces = 0
        self._traces: dict[Hashable, _Trace] = {}
        self._stream = -1  # which function it is, for random numbers; known when it is traced
        self._num_draws: dict[str, int] = {}
        self._lock = threading.RLock()  # held while it is traced
        self._of_objects: dict[int, _OfObject] = {}  # as their method

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Copy or pickle the Python function; the copy is traced by itself."""
        return Function, (self.python_function, self.name, self.as_dask)

    def __repr__(self) -> str:
        return f"<daskvars.function {self.name!r}, {self.num_traces} traces>"

    def traced(self) -> list[tuple[list[str], Any]]:
        """Return for each signature its inputs as text, and the plan that ran last (or None)."""
        with self._lock:
            traces = list(self._traces.values())
        bound = [trace.executable.last_bound for trace in traces]
        plans = [found and found.plan for found in bound]
        inputs = [[f"{t.dtype.name} {t.shape}" for t in trace.parameters] for trace in traces]
        return list(zip(inputs, plans, strict=True))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        builder = scopes.current_builder()
        if builder is not None and not builder.is_eager:
            return self.python_function(*args, **kwargs)  # part of the graph being built
        trace, tensors = self._trace(args, kwargs)
        if scopes.stacks.histories:
            if self.as_dask:
                raise TypeError(
                    f"function {self.name!r} returns dask arrays (as_dask=True), through which a "
                    "GradientTape cannot see: call it outside the tape, or compile it without"
                )
            return trace.assembled(trace.inline(tensors))
        return trace.assembled(trace.run(tensors, self.as_dask))

    def _random_key(self, op: Operation) -> tuple[int, int]:
        """Return the random key of the next use of an operation of any trace of this function.

        The draws are counted by function: a new one begins anew, as it would in a new process.
        """
        with self._lock:
            count = self._num_draws.get(op.name, 0)
            self._num_draws[op.name] = count + 1
        return EAGER_CONTEXT.engine.random_key(op, count, self._stream)

    def _trace(self, args: Any, kwargs: Any) -> tuple[_Trace, list[Any]]:
        tensors: list[Any] = []
        engine = EAGER_CONTEXT.engine
        if not args and not kwargs:
            key: Hashable = engine
        else:
            named = dict(sorted(kwargs.items()))
            key = (engine, _signature(args, tensors), _signature(named, tensors))
        trace = self._traces.get(key)
        if trace is None:
            with self._lock:
                trace = self._traces.get(key)
                if trace is None:
                    trace = self._traces[key] = self._new_trace(args, kwargs, tensors)
                    if len(self._traces) > config.get().plan_cache_size:
                        del self._traces[next(iter(self._traces))]  # would be traced anew
        return trace, tensors

    def _new_trace(self, args: Any, kwargs: Any, tensors: list[Any]) -> _Trace:
        first = not self._traces  # what failed has made nothing that calls go on with
        before = EAGER_CONTEXT.here.num_variables
        self.num_traces += 1
        if self._stream < 0:
            self._stream = next_stream(EAGER_CONTEXT)
        if self.num_traces == config.get().retrace_warning + 1:
            warnings.warn(
                f"function {self.name!r} was traced {self.num_traces} times: each new Python value "
                "or array shape among its arguments is a new signature. Pass numbers that change "
                "as arrays or tensors, and batches in one shape.",
                stacklevel=4,
            )
        here, made = EAGER_CONTEXT.here, dict[str, weakref.ref[Any]]()
        outer, here.made = here.made, made
        try:
            trace = _Trace(self, args, kwargs, tensors)
        finally:
            here.made = outer
        lost = [name for name, variable in made.items() if variable() is None]
        if lost and first:
            raise ValueError(
                f"function {self.name!r} makes variables that nobody has once it is traced: "
                f"{', '.join(lost)}. Each call would go on with their values, where eager code "
                "makes new ones. Make them outside of the function, keep them when they are made "
                "(in an attribute or a list), or use get_variable."
            )
        if not first and here.num_variables != before:
            raise ValueError(
                f"function {self.name!r} made variables when it was traced again. Make variables "
                "once: outside the function, or only on its first call."
            )
        return trace

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Function[P, R_co]: ...
    @overload
    def __get__(
        self: Function[Concatenate[S, Q], R_co], instance: S, owner: type | None = None
    ) -> Function[Q, R_co]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self._of(instance), instance)

    def _of(self, instance: Any) -> Function[..., Any]:
        """Return the function of an object whose method this is; it goes when the object does."""
        found = self._of_objects.get(id(instance))
        if found is None:
            try:
                found = _OfObject(self, instance)
            except TypeError:  # there are no weak references to it: it is an argument like others
                return self
        return self._of_objects.setdefault(id(instance), found)

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return how a call would run: tasks, regions, devices, bytes. Nothing is run."""
        trace, tensors = self._trace(args, kwargs)
        return trace.executable.explain(trace.values(tensors))

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the plan of a call: a frozen object that answers questions. Nothing is run."""
        trace, tensors = self._trace(args, kwargs)
        return trace.executable.plan(trace.values(tensors))


class _OfObject(Function[..., Any]):
    """A function as the method of one object, which it does not keep: both go together.

    So an object makes variables in the first call of its method, whatever others have done.
    """

    def __init__(self, whole: Function[..., Any], instance: Any) -> None:
        forget = functools.partial(whole._of_objects.pop, id(instance))
        method = WeakMethod(MethodType(whole.python_function, instance), forget)

        @functools.wraps(whole.python_function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return cast(Any, method())(*args, **kwargs)

        super().__init__(called, whole.name, whole.as_dask)
        self._whole = whole

    def __call__(self, instance: Any, *args: Any, **kwargs: Any) -> Any:
        # A copy of the method that was made along with its object has this function still.
        return Function.__call__(self._whole._of(instance), *args, **kwargs)


class _Trace:
    """One signature of a function: its graph and the program that runs it."""

    def __init__(
        self, owner: Function[..., Any], args: Any, kwargs: Any, tensors: list[Any]
    ) -> None:
        self.owner = owner
        self._given = iter(tensors)
        graph = self.graph = FuncGraph(owner.name, None, parameter)
        graph.seed, graph.place = EAGER_CONTEXT.seed, 1 + owner._stream
        with graph.as_default():
            args, kwargs = nest.map_structure(self._parameter, (args, kwargs))
            self.parameters = list(graph.inputs)
            results = owner.python_function(*args, **kwargs)
            self.structure = nest.map_structure(self._result, taken_apart(results))
        graph.arguments = {}
        self.has_parts = any(
            isinstance(item, SparseTensor | IndexedSlices) for item in nest.flatten(results)
        )
        graph.results = [t for t in nest.flatten(self.structure) if isinstance(t, Tensor)]
        graph.effects = effects_in(graph)
        self.captured = [outer for outer in graph.captures if not is_among(outer, self.parameters)]
        inputs = [*self.parameters, *(graph.captures[t] for t in self.captured)]
        self.executable = Executable(
            EAGER_CONTEXT.engine,
            ("function", graph),
            graph.results,
            graph.effects,
            inputs,
            sequential=True,
            key_of=owner._random_key,
        )
        self.is_single = isinstance(self.structure, Tensor)

    def _parameter(self, item: Any) -> Any:
        if isinstance(item, SparseTensor):
            return self._sparse_parameter(item)
        if not is_data(item) and not stands_for_array(item):
            return item
        item = next(self._given)
        if isinstance(item, Tensor):
            spec = Spec(
                item.spec.dtype,
                tuple(numpy.shape(item))
                if item.spec.shape is None or None in item.spec.shape
                else item.spec.shape,
            )
        else:
            empty = to_numpy(numpy.empty(0, item.dtype), name="argument")
            spec = Spec(as_dtype(empty.dtype), tuple(item.shape))
        tensor = self._input(spec, item)
        if not isinstance(item, Tensor):
            feed_value(tensor, item)  # or an error, before the function is traced with it
        return tensor

    def _sparse_parameter(self, item: SparseTensor) -> SparseTensor:
        """Return what stands for a sparse tensor of any number of elements."""
        rank = item.shape.rank
        shapes, count = ((None, rank), (None,), (rank,)), len(_given_parts(item))
        parts = [
            self._input(Spec(part.spec.dtype, shape), part)
            for shape, part in zip(shapes, islice(self._given, count), strict=False)
        ]
        indices, values, *rest = parts
        shape: Any = rest[0] if rest else concrete(tuple(item.shape.as_list()))
        return SparseTensor(indices, values, shape)

    def _input(self, spec: Spec, given: Any) -> Tensor:
        tensor = apply(PARAMETER, name="argument", spec=spec)
        self.graph.inputs.append(tensor)
        self.graph.arguments[tensor] = given
        return tensor

    def _result(self, item: Any) -> Any:
        if item is None or isinstance(item, Operation):
            return None
        tensor = convert_to_tensor(item)
        return self.graph.capture(tensor) if tensor.graph is not self.graph else tensor

    def values(self, tensors: list[Any]) -> list[Any]:
        """Return the values that the program is fed with."""
        EAGER_CONTEXT.sync()
        if not tensors and not self.captured:
            return []
        given = [
            computed(t) if isinstance(t, EagerTensor) else feed_value(p, t)
            for p, t in zip(self.parameters, tensors, strict=True)
        ]
        return given + evaluated(self.captured) if self.captured else given

    def assembled(self, results: Any) -> Any:
        """Return results with their parts put together: slices, and sparse tensors."""
        return assemble_chunk(results) if self.has_parts else results

    def run(self, tensors: list[Any], as_dask: bool) -> Any:
        """Run and return the results as eager tensors, or as dask arrays."""
        results = self.executable(self.values(tensors), as_futures=True, as_dask=as_dask)
        if not results:
            return self.structure
        if as_dask:
            return self._packed(results)
        if self.is_single:
            return EAGER_CONTEXT.constant(results[0], self.graph.results[0].spec.dtype)
        return self._packed(
            [
                EAGER_CONTEXT.constant(v, t.spec.dtype)
                for v, t in zip(results, self.graph.results, strict=True)
            ]
        )

    def _packed(self, results: Iterable[Any]) -> Any:
        """Return results in the structure of what the function returned."""
        rest = iter(results)
        return nest.map_structure(
            lambda t: next(rest) if isinstance(t, Tensor) else t, self.structure
        )

    def inline(self, tensors: list[Any]) -> Any:
        """Record the operations one by one, for a tape that watches.

        Raises:
          NotImplementedError: random numbers are drawn in a branch or loop. What is recorded knows
            its own draws, of which the gradient of a body would have to be told.
        """
        drawing = next(filter(draws_inside, self.graph.get_operations()), None)
        if drawing is not None:
            raise NotImplementedError(
                f"function {self.owner.name!r} draws random numbers in {drawing.name!r} "
                f"({drawing.type}), which a GradientTape around the call cannot differentiate: "
                "open the tape in the function, or draw the numbers before the branch or loop"
            )
        seeds_of = functools.cache(self.owner._random_key)  # a gradient in here draws the same
        outer = [*map(convert_to_tensor, tensors), *self.captured]
        inner = [*self.parameters, *(self.graph.captures[t] for t in self.captured)]
        return self._packed(copy_body(self.graph, outer, inner, True, seeds_of=seeds_of))


def is_data(item: Any) -> bool:
    """Return whether an argument is fed: arrays and tensors are, Python values are not."""
    return isinstance(item, Tensor | numpy.ndarray | numpy.generic | dask.array.Array)


def stands_for_array(item: Any) -> bool:
    """Return whether an argument is fed as an array: Zarr's, pandas', xarray's, CuPy's are."""
    is_array = hasattr(item, "__array__") or dask.is_dask_collection(item)
    return is_array and not isinstance(item, type) and not hasattr(item, "_as_graph_element")


def _given_parts(item: SparseTensor) -> list[Tensor]:
    """Return the parts of a sparse tensor that are fed: not its shape where that is known."""
    parts = [item.indices, item.values]
    return parts if item.shape.is_fully_defined() else [*parts, item.dense_shape]


def _signature(item: Any, tensors: list[Any]) -> Hashable:
    """Return what a trace for this argument is right for, and append the data in it to `tensors`.

    That is nesting, the dtypes and shapes of data, and the exact values of all else. The data comes
    in the order of `nest.flatten`.
    """
    if is_data(item):
        tensors.append(item)
        return _data_signature(item)
    if isinstance(item, Mapping):  # the order of the keys is seen by who goes through it
        parts = [_signature(item[key], tensors) for key in sorted(item)]
        return type(item), tuple(map(exactly, item)), *parts
    if isinstance(item, list | tuple):
        return type(item), *[_signature(part, tensors) for part in item]
    if isinstance(item, SparseTensor):
        given = _given_parts(item)
        tensors.extend(given)
        return "sparse", str(item.shape), *[part.spec.dtype for part in given]
    if stands_for_array(item):
        return _signature(as_array(item, "argument"), tensors)
    return exactly(item)


def _data_signature(item: Any) -> Hashable:
    if isinstance(item, dask.array.Array):
        return "dask", item.dtype, item.chunks
    if isinstance(item, Tensor):
        spec = item.spec
        if spec.shape is None or None in spec.shape:
            return "tensor", spec.dtype, numpy.shape(item)
        return "tensor", spec.dtype, spec.shape
    return "array", item.dtype, item.shape


@overload
def function(func: Callable[P, R_co], *, name: str | None = None) -> Function[P, R_co]: ...
@overload
def function(
    func: None = None, *, name: str | None = None
) -> Callable[[Callable[P, R_co]], Function[P, R_co]]: ...
@overload
def function(
    func: Callable[P, Any], *, name: str | None = None, as_dask: bool
) -> Function[P, Any]: ...
@overload
def function(
    func: None = None, *, name: str | None = None, as_dask: bool
) -> Callable[[Callable[P, Any]], Function[P, Any]]: ...
def function(
    func: Callable[..., Any] | None = None, *, name: str | None = None, as_dask: bool = False
) -> Any:
    """Compile a Python function: it is traced once per signature, then run as one plan.

    Args:
      func: takes tensors, arrays and Python values (nested); arrays and tensors become inputs of
        the plan, sparse tensors with any number of elements; Python values are part of the
        signature. It may read and assign variables, in
        program order; variables may be made on the first call only, to be kept.
      name: name of the function, for messages.
      as_dask: whether results are dask arrays, which stay on the workers that computed them: for
        what is too large for this process. Their shapes must be known before they are computed.

    Returns:
      The compiled function; its results are eager tensors, or dask arrays.

    Raises:
      InvalidArgumentError: when called with ``as_dask=True``, and a result has a shape that only
        the run knows; nothing has run.
      TypeError: `func` is no function; or, when called with ``as_dask=True``, under a
        `GradientTape`.
      ValueError: when called, and it makes variables that nobody has afterwards, or not in the
        first trace.

    >>> @dv.function
    ... def norm(x):
    ...     return dv.sqrt(dv.reduce_sum(x * x))
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    >>> large = dv.function(lambda x: x + 1.0, as_dask=True)(np.zeros((4, 2)))
    >>> large.mean(axis=0).compute().tolist()
    [1.0, 1.0]
    """
    if func is None:
        return functools.partial(function, name=name, as_dask=as_dask)
    if not callable(func):
        raise TypeError(f"function() takes a Python function, found {func!r}")
    return Function(func, name, as_dask)
