"""The bodies of branches and loops: how they are traced, and built again for a gradient.

An op with bodies takes every outer value that a body uses as an input; `positions_in` says which
of them a body's own inputs are. Variables reach a body in one of two ways. One that the body only
reads is read around it and passed in, so that gradients flow. One that it also assigns is read
inside, at the place of the read. A gradient that builds the body a second time can neither read it
again nor assign it: the values that were read, and those that assignments gave, are results of the
op as well (they are `kept`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from daskvars import shapes
from daskvars.dtypes import DType, bool_, int64, variant
from daskvars.graph import nest
from daskvars.graph.by_identity import ByIdentity, each_once
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Effect, HostCall, Opaque, Source
from daskvars.graph.func_graph import FuncGraph, operations_inside
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor
from daskvars.kernels.control.checks import unreachable
from daskvars.ops.array.constant import shape, zeros, zeros_like
from daskvars.ops.array.ranges import range as range_
from daskvars.ops.array.slicing import strided_slice
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.control.tensor_lists import built_again, zero_list
from daskvars.ops.math.casting import cast
from daskvars.ops.rules.families import elementwise
from daskvars.ops.state.assign import READ
from daskvars.shapes import is_known

_differentiate: list[Callable[..., list[Any]]] = []


def use_gradients(gradients: Callable[..., list[Any]]) -> None:
    """Differentiate bodies with `gradients`, which lives above the catalogue of ops."""
    _differentiate[:] = [gradients]


def differentiate(ys: list[Tensor], xs: list[Tensor], grad_ys: list[Tensor]) -> list[Any]:
    """Return the gradients of a body's results."""
    return _differentiate[0](ys, xs, grad_ys)


PARAMETER = OpDef(
    "Parameter", "", lambda inputs, *, spec: spec, Source(), unreachable, lambda op: ()
)
KEPT_READ = elementwise(
    "KeptRead",
    "value:T, variable:T",
    infer=lambda inputs: inputs[0],
    kernel=None,
    gradient=lambda op, dy: (None, dy),
)


def parameter(graph: FuncGraph, tensor: Tensor) -> Tensor:
    """Return a new input of `graph` that stands for `tensor`."""
    spec = Spec(tensor.spec.dtype.base_dtype, tensor.spec.shape)
    with graph.as_default():
        return apply(PARAMETER, name="input", spec=spec)


# -- slices and sparse tensors as values -----------------------------------------------------------


class SlicesParts(NamedTuple):
    """The parts of an `IndexedSlices` that has no dense shape, as values of a body."""

    values: Any
    indices: Any


class ShapedSlicesParts(NamedTuple):
    """The parts of an `IndexedSlices`, as values of a body."""

    values: Any
    indices: Any
    dense_shape: Any


class SparseParts(NamedTuple):
    """The parts of a `SparseTensor`, as values of a body."""

    indices: Any
    values: Any
    dense_shape: Any


def taken_apart(structure: Any) -> Any:
    """Return the structure with the parts of slices and sparse tensors in their place."""

    def parts(item: Any) -> Any:
        if isinstance(item, SparseTensor):
            return SparseParts(item.indices, item.values, item.dense_shape)
        if not isinstance(item, IndexedSlices):
            return item
        if item.dense_shape is None:
            return SlicesParts(item.values, item.indices)
        return ShapedSlicesParts(item.values, item.indices, item.dense_shape)

    return nest.map_structure(parts, structure)


def assemble_chunk(structure: Any) -> Any:
    """Return what `taken_apart` was given."""
    if isinstance(structure, SlicesParts | ShapedSlicesParts):
        return IndexedSlices(*structure)
    if isinstance(structure, SparseParts):
        return SparseTensor(*structure)
    if isinstance(structure, list | tuple | dict):
        items = structure.values() if isinstance(structure, dict) else structure
        whole = [assemble_chunk(item) for item in items]
        if isinstance(structure, dict):
            return type(structure)(zip(structure, whole, strict=True))
        return type(structure)(*whole) if hasattr(structure, "_fields") else type(structure)(whole)
    return structure


def indices_in(structure: Any) -> Iterator[Tensor]:
    """Yield the indices of all slices in what `taken_apart` gave."""
    if isinstance(structure, SlicesParts | ShapedSlicesParts):
        yield structure.indices
    elif isinstance(structure, list | tuple | dict):
        for item in structure.values() if isinstance(structure, dict) else structure:
            yield from indices_in(item)


def slices_parts(gradient: Any, x: Tensor) -> SlicesParts:
    """Return a gradient of `x` (dense, or None for zeros) as rows of it."""
    if isinstance(gradient, SlicesParts | ShapedSlicesParts):
        return SlicesParts(gradient.values, cast(gradient.indices, int64))
    if gradient is not None:
        return SlicesParts(gradient, range_(cast(shape(gradient)[0], int64)))
    columns = x.spec.shape[1:] if x.spec.shape else None
    if is_known(columns):
        values = zeros([0, *columns], x.spec.dtype.base_dtype)
    else:
        values = zeros_like(strided_slice(x, [0], [0]))
    return SlicesParts(values, zeros([0], int64))


def effects_in(graph: Graph) -> list[Operation]:
    """Return the operations of a graph that run even where nobody needs their results."""
    return [op for op in graph.get_operations() if has_effect(op)]


# -- tracing ---------------------------------------------------------------------------------------


def trace(
    function: Callable[..., Any],
    specs: Sequence[Spec],
    name: str,
    outer: Graph,
    done: Any = None,
    chosen_by: tuple[Tensor, bool] | None = None,
) -> tuple[FuncGraph, Any]:
    """Build a body: return (graph, structure of its results, `taken_apart`).

    A result that is an operation becomes a scalar `done`, which is there when it has run. For
    `chosen_by` see `FuncGraph`.
    """
    graph = FuncGraph(name, outer if not outer.is_eager else None, parameter)
    graph.chosen_by = chosen_by
    with graph.as_default(), graph.name_scope(name + "/"):
        for spec in specs:
            graph.inputs.append(apply(PARAMETER, name="argument", spec=spec))
        results = function(*graph.inputs)

        def result(item: Any) -> Any:
            if item is None:
                return None
            if isinstance(item, Operation):
                with graph.control_dependencies([item]):
                    return convert_to_tensor(done, name="done")
            tensor = convert_to_tensor(item)
            tensor = graph.capture(tensor) if tensor.graph is not graph else tensor
            if isinstance(item, TensorArray):
                graph.arrays[tensor] = item
            return tensor

        structure = nest.map_structure(result, taken_apart(results))
    graph.results = [t for t in nest.flatten(structure) if t is not None]
    if graph.is_like_eager:
        graph.effects = effects_in(graph)
    return graph, structure


def merged_specs(
    inputs: tuple[Spec, ...], *, _specs: tuple[Spec, ...], **attrs: Any
) -> tuple[Spec, ...]:
    """Return the specs that were found when the bodies were traced."""
    return _specs


def check_results(graph: FuncGraph, dtypes: Sequence[DType]) -> None:
    """Raise ValueError unless the results of a body that was read from a file are of dtypes."""
    found = [t.spec.dtype.base_dtype for t in graph.results]
    if found != [dtype.base_dtype for dtype in dtypes]:
        raise ValueError(
            f"the results of {graph.name!r} are {[d.name for d in found]}, not "
            f"{[d.name for d in dtypes]}"
        )


def check_kept(kept: Sequence[int], inputs: Sequence[Tensor], dtypes: Sequence[DType]) -> None:
    """Raise ValueError unless the last results, of `dtypes`, can be values of the inputs `kept`."""
    for place in kept:
        if len(kept) > len(dtypes) or not -1 <= place < len(inputs):
            raise ValueError(f"attribute 'kept' is {kept!r} for {len(inputs)} inputs")
    for place, dtype in zip(kept, dtypes[len(dtypes) - len(kept) :], strict=True):
        if place >= 0 and inputs[place].spec.dtype.base_dtype is not dtype.base_dtype:
            raise ValueError(f"attribute 'kept' has {place}, an input that is not {dtype.name}")


def has_effect(op: Operation) -> bool:
    """Return whether an operation runs even where nobody needs its result."""
    pattern = op.opdef.pattern
    if isinstance(pattern, Effect):
        return pattern.writes
    if not isinstance(pattern, Opaque):
        return False
    return not pattern.pure or any(map(has_effect, operations_inside(op)))


def captures_of(graphs: Sequence[FuncGraph]) -> list[Tensor]:
    """Return the outer tensors that any of the bodies uses, each once."""
    return each_once(t for graph in graphs for t in graph.captures)


def position_of(captured: list[Tensor]) -> ByIdentity[int]:
    """Return the places of captured tensors among themselves."""
    return ByIdentity((t, i) for i, t in enumerate(captured))


def positions_in(graph: FuncGraph, first: int, captured: list[Tensor]) -> tuple[int, ...]:
    """Return where among the op's inputs the inputs of a body are: arguments, then captures."""
    places = position_of(captured)
    outer = {inner: first + places[t] for t, inner in graph.captures.items()}
    return tuple(outer.get(t, i) for i, t in enumerate(graph.inputs))


def awaited_by(graphs: Sequence[FuncGraph]) -> list[Operation]:
    """Return the outer operations that must have run before the bodies do."""
    return list(dict.fromkeys(op for graph in graphs for op in graph.awaited))


# -- variables -------------------------------------------------------------------------------------


def keys_written(ops: Iterable[Operation]) -> set[str]:
    """Return the keys of the variables that operations assign, in bodies of theirs or at once."""
    keys: set[str] = set()
    for op in ops:
        pattern = op.opdef.pattern
        if isinstance(pattern, Effect) and pattern.writes:
            keys.add(op.inputs[0].op.attrs["key"])
        elif isinstance(pattern, Opaque):
            keys |= keys_written(operations_inside(op))
    return keys


def read_inside(graph: FuncGraph, written: set[str]) -> dict[Tensor, Tensor | None]:
    """Read the variables that are `written` where the body uses them, not around it.

    Returns:
      What the body cannot make a second time and its results are made of: what is read -> the
      outer tensor that would have been passed in, to which gradients go; what an assignment gave,
      and what branches that assign keep -> None.
    """
    found: dict[Tensor, Tensor | None] = {}
    outer = {inner: tensor for tensor, inner in graph.captures.items()}
    for op, handle in graph.reads.items():
        if handle.op.attrs["key"] in written:
            found[op.outputs[0]] = outer[op.inputs[0]]
            op.opdef, op.inputs = READ, (handle,)
    needed = _needed(graph, graph.results, ByIdentity(found), False)
    used = ByIdentity(
        (t, None) for ts in (graph.results, *(op.inputs for op in needed)) for t in ts
    )
    changing = [op for op in needed if keys_written([op])]
    return found | {t: None for op in changing for t in _kept_by(op, used)}


def _kept_by(op: Operation, used: Collection[Tensor]) -> Sequence[Tensor]:
    """Return the outputs of an operation that assigns which no copy of it makes.

    There are none of a loop, nor of branches of which not all results are `used`: what they do
    for the others is not done.
    """
    if isinstance(op.opdef.pattern, Effect):
        return op.outputs
    first = len(op.outputs) - len(op.attrs.get("kept", ()))
    is_used = _has_branches(op) and all(t in used for t in op.outputs[:first])
    return op.outputs[first:] if is_used else ()


def _has_branches(op: Operation) -> bool:
    pattern = op.opdef.pattern
    return isinstance(pattern, Opaque) and pattern.choose is not None


def places_of(kept: Iterable[Tensor | None], captured: list[Tensor], first: int) -> tuple[int, ...]:
    """Return the attribute `kept`: inputs of the op that gradients go to, -1 where they stop."""
    places = position_of(captured)
    return tuple(-1 if t is None else first + places[t] for t in kept)


def known_again(
    results: Sequence[Tensor],
    values: Sequence[Tensor],
    inputs: Sequence[Tensor],
    kept: Sequence[int],
) -> dict[Tensor, Tensor]:
    """Return what stands for the last results of a body, of which an op has the values `kept`."""
    return {
        t: value if place < 0 else apply(KEPT_READ, value, inputs[place])
        for t, value, place in zip(results, values, kept, strict=True)
    }


def branch_again(
    op: Operation, number: int, inputs: Sequence[Tensor], values: Sequence[Tensor]
) -> list[Tensor]:
    """Build a branch again, without its assignments; return its results.

    Args:
      inputs: what stands for the operation's inputs.
      values: what stands for those of its outputs that are kept.
    """
    body, first = op.attrs["branches"][number], len(op.outputs) - len(values)
    known = known_again(body.results[first:], values, inputs, op.attrs.get("kept", ()))
    arguments = [inputs[place] for place in op.attrs["positions"][number]]
    return copy_body(body, arguments, known=known, results=body.results[:first])


def branched(opdef: OpDef, pred: Tensor, graphs: list[FuncGraph], name: str) -> Operation:
    """Make the operation of two traced branches; after their results it gives what they keep."""
    kept: list[Tensor | None] = []
    for graph, other in zip(graphs, reversed(graphs), strict=True):
        found = read_inside(graph, keys_written(graph.get_operations()))
        for value, outer in found.items():
            graph.results.append(value)
            with other.as_default():
                other.results.append(apply(READ, _variable_behind(value)))
            kept.append(outer)
    captured = captures_of(graphs)
    specs = tuple(
        Spec(a.spec.dtype.base_dtype, shapes.common(a.spec.shape, b.spec.shape))
        for a, b in zip(*(graph.results for graph in graphs), strict=True)
    )
    with control_dependencies(awaited_by(graphs)):
        return apply_op(
            opdef,
            pred,
            *captured,
            name=name + "/",
            branches=tuple(graphs),
            _specs=specs,
            positions=tuple(positions_in(g, 1, captured) for g in graphs),
            kept=places_of(kept, captured, 1),
        )


def _variable_behind(kept: Tensor) -> Tensor:
    """Return the handle of the variable of which a value is kept."""
    if isinstance(kept.op.opdef.pattern, Effect):
        return kept.op.inputs[0]
    return _variable_behind(kept.op.attrs["branches"][0].results[kept.index])


# -- building again --------------------------------------------------------------------------------


def is_differentiable(tensor: Tensor) -> bool:
    """Return whether a tensor can have a gradient: it is floating or complex, or a list."""
    dtype = tensor.spec.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype is variant


def zeros_for(tensor: Tensor) -> Tensor:
    """Return the gradient of what nothing depends on: zeros, or a list of them."""
    return zero_list() if tensor.spec.dtype is variant else zeros_like(tensor)


def copy_body(
    graph: FuncGraph,
    arguments: Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    effects: bool = False,
    known: Mapping[Tensor, Tensor] | None = None,
    seeds_of: Callable[[Operation], tuple[int, int]] | None = None,
    results: Sequence[Tensor] | None = None,
) -> list[Tensor]:
    """Build the operations of a body again, on other inputs, in the graph being built.

    Args:
      arguments: what stands for its inputs.
      inputs: its inputs in the order of `arguments`; by default ``graph.inputs``.
      effects: build its assignments and other effects too. Without them (for a gradient, which
        computes the body a second time) random ops draw the same numbers as the originals.
      known: other tensors of the body and what stands for them.
      seeds_of: with `effects`, the seeds that this copy of a random op draws with.
      results: what of the body is wanted, by default its results.

    Raises:
      LookupError: a result depends on a loop that assigns, which must not be done twice, or on
        branches that assign and have other results that nothing needs.
    """
    inputs = graph.inputs if inputs is None else inputs
    results = graph.results if results is None else results
    builder = builder_for(())

    def seen(tensor: Tensor) -> Tensor:
        return tensor if tensor.graph is builder.graph else builder.capture(tensor)

    given = [*zip(inputs, arguments, strict=True), *(known or {}).items()]
    copies = ByIdentity((t, seen(argument)) for t, argument in given)
    for op in _needed(graph, results, copies, effects):
        inputs = tuple([copies[t] if t in copies else seen(t) for t in op.inputs])
        if not effects and keys_written([op]):
            made = _without_assignments(op, inputs, copies)
        else:
            made = _copied(op, inputs, effects, seeds_of)
        copies.update(zip(op.outputs, made, strict=False))
    return [copies[t] for t in results]


def _copied(
    op: Operation,
    inputs: tuple[Tensor, ...],
    effects: bool,
    seeds_of: Callable[[Operation], tuple[int, int]] | None = None,
) -> Sequence[Tensor]:
    """Build an operation again on other inputs, as `copy_body` does; return its outputs.

    Of a chained op that is computed a second time that is the first of them.
    """
    if not effects and isinstance(op.opdef.pattern, Opaque) and op.opdef.pattern.chained:
        return [built_again(op.opdef, inputs)]
    attrs = op.attrs
    if op.opdef.seeded and not effects:
        attrs = {"_key_of": op.attrs.get("_key_of", op), **attrs}
    elif op.opdef.seeded and seeds_of is not None:
        attrs = {key: value for key, value in attrs.items() if key != "_key_of"}
        attrs["_seed"] = seeds_of(op.attrs.get("_key_of", op))
    builder = builder_for(())
    specs = tuple(t.spec for t in op.outputs)
    name = builder.op_name(op.name.rpartition("/")[2], op.type)
    return builder.create(op.opdef, inputs, attrs, specs if op.multiple else specs[0], name).outputs


def _without_assignments(
    op: Operation, inputs: tuple[Tensor, ...], copies: Mapping[Tensor, Tensor]
) -> Sequence[Tensor]:
    """Build branches that assign again as `copy_body` does; return their results."""
    kept = op.outputs[len(op.outputs) - len(op.attrs.get("kept", ())) :]
    if not _has_branches(op) or any(t not in copies for t in kept):
        raise LookupError(
            "gradient through a loop, or branches of which some result is unused, that assign a "
            f"variable on the way ({op.name!r}); assign after them instead"
        )
    values, outer = [copies[t] for t in kept], builder_for(())
    name = outer.op_name(op.name.rpartition("/")[2], op.type)

    def branch(number: int) -> FuncGraph:
        again = partial(branch_again, op, number, inputs, values)
        return trace(again, (), f"{name}/{number}", outer)[0]

    return branched(op.opdef, inputs[0], [branch(0), branch(1)], name).outputs


def copy_dependents(
    results: Sequence[Tensor],
    begins: Callable[[Operation], bool],
    passes: Callable[[Operation], bool],
) -> list[Tensor]:
    """Build again, in the body being built, what of some tensors around it depends on operations.

    Args:
      results: tensors of one graph.
      begins: which operations; all others are taken from around the body as they are.
      passes: which of these only pass on their first input here.

    Returns:
      What stands for the results. Random ops draw the same numbers as the originals.

    Raises:
      NotImplementedError: an operation that is to be built again has effects on what lasts.
    """
    builder = builder_for(())
    again: dict[Operation, Sequence[Tensor]] = {}

    def seen(tensor: Tensor) -> Tensor:
        if tensor.op in again:
            return again[tensor.op][tensor.index]
        return tensor if tensor.graph is builder.graph else builder.capture(tensor)

    for op in slice_of(results):
        if not begins(op) and not any(t.op in again for t in op.inputs):
            continue
        if not is_repeatable(op):
            raise NotImplementedError(
                f"{op.name!r} ({op.type}), which depends on a switch, cannot be done a second time:"
                " make it in a branch of cond(...) instead"
            )
        inputs = tuple(map(seen, op.inputs))
        again[op] = inputs[:1] if passes(op) else _copied(op, inputs, effects=False)
    return list(map(seen, results))


def slice_of(tensors: Sequence[Tensor]) -> list[Operation]:
    """Return the operations of a graph that compute some of its tensors, in their order."""
    found: set[Operation] = set()
    stack = [t.op for t in tensors]
    while stack:
        op = stack.pop()
        if op not in found:
            found.add(op)
            stack.extend(t.op for t in op.inputs)
    return sorted(found, key=lambda op: op.id)


def _needed(
    graph: FuncGraph, results: Sequence[Tensor], known: Collection[Tensor], effects: bool
) -> list[Operation]:
    """Return the operations that make results in a body, up to what is known, in their order."""
    needed: set[Operation] = set()
    stack = [t.op for t in results if t not in known]
    stack += graph.effects if effects else ()
    while stack:
        op = stack.pop()
        if op not in needed and not (op.outputs and op.outputs[0] in known):
            needed.add(op)
            stack.extend(t.op for t in op.inputs if t not in known and t.graph is graph)
    return sorted(needed, key=lambda op: op.id)


def check_predicate(pred: Tensor, what: str) -> None:
    """Refuse what can be no predicate.

    Raises:
      TypeError: it is not bool.
      ValueError: it is known to be no scalar.
    """
    if pred.spec.dtype.base_dtype is not bool_:
        raise TypeError(
            f"{what} must be a scalar bool, but is {pred.spec.dtype.base_dtype.name}: compare it, "
            "as in `x > 0` or not_equal(x, 0)"
        )
    if pred.spec.shape:
        raise ValueError(
            f"{what} must be a scalar bool (Shape must be rank 0), but has shape "
            f"{tuple(pred.spec.shape)}: take reduce_all(...) or reduce_any(...) of it"
        )


def is_repeatable(op: Operation) -> bool:
    """Return whether an operation may be done twice: it neither changes what lasts nor reads it."""
    return not isinstance(op.opdef.pattern, Effect | HostCall) and not keys_written([op])


def draws_inside(op: Operation) -> bool:
    """Return whether an operation has bodies in which random numbers are drawn."""
    return any(o.opdef.seeded or draws_inside(o) for o in operations_inside(op))
