"""Loops: `while_loop` and its gradient, which runs the body backward over its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import bool_, variant
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Flow, Opaque, Part
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.control import flow as control_kernels
from daskvars.ops.array.constant import shape, zeros
from daskvars.ops.array.reshaping import stop_gradient
from daskvars.ops.control import subgraphs
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.math.comparison import less, logical_and
from daskvars.surface.accepted import accepts


def _while_gradient(op: Operation, *dys: Any) -> list[Any]:
    count, inputs = op.attrs["num_vars"], op.inputs
    grads = [i for i in range(count) if subgraphs.is_differentiable(inputs[i])]
    sums = [i for i in range(count, len(inputs)) if subgraphs.is_differentiable(inputs[i])]
    outer = builder_for(inputs)
    start = [subgraphs.zeros_for(inputs[i]) if dys[i] is None else dys[i] for i in grads]
    dense: list[int] = []
    sparse: list[int] = []

    def backward(item: Tensor, *dvars: Tensor) -> list[Tensor]:
        found = dict(zip([*grads, *sums], _turn(op, item, dvars, grads, sums), strict=True))
        sparse.extend(i for i in sums if isinstance(found[i], IndexedSlices))
        dense.extend(i for i in sums if i not in sparse and found[i] is not None)
        rows = [subgraphs.slices_parts(subgraphs.taken_apart(found[i]), inputs[i]) for i in sparse]
        return [
            subgraphs.zeros_for(inputs[i]) if found[i] is None else convert_to_tensor(found[i])
            for i in [*grads, *dense]
        ] + nest.flatten(rows)

    specs = [op.outputs[count].spec, *(t.spec for t in start)]
    graph, _ = subgraphs.trace(backward, specs, outer.op_name("while_grad", "while_grad"), outer)
    zeros = [subgraphs.zeros_for(inputs[i]) for i in dense]
    rows = nest.flatten([subgraphs.slices_parts(None, inputs[i]) for i in sparse])
    captured = list(graph.captures)
    first = 1 + len(grads) + len(zeros) + len(rows)
    results = iter(
        apply(
            WHILE_GRADIENT,
            op.outputs[count],
            *start,
            *zeros,
            *rows,
            *captured,
            branches=(graph,),
            positions=(subgraphs.positions_in(graph, first, captured),),
            num_grads=len(grads),
            num_sums=len(zeros),
            num_rows=len(rows),
            _specs=(*(t.spec for t in [*start, *zeros]), *map(_any_number, rows)),
        )
    )
    found: dict[int, Any] = {i: next(results) for i in [*grads, *dense]}
    found |= {i: IndexedSlices(next(results), next(results), shape(inputs[i])) for i in sparse}
    return [found.get(i) for i in range(len(inputs))]


def _turn(
    op: Operation, item: Tensor, dvars: Sequence[Tensor], grads: list[int], sums: list[int]
) -> list[Any]:
    """Build the gradients of one turn of a loop, with respect to variables and captured values."""
    count, inputs, kept = op.attrs["num_vars"], op.inputs, op.attrs.get("kept", ())
    body = op.attrs["branches"][1]

    def before(index: int, spec: Spec) -> Tensor:
        return apply(HISTORY_ITEM, item, index=index, _spec=spec)

    values = [before(i, op.outputs[i].spec) if i < count else t for i, t in enumerate(inputs)]
    last = body.results[count:]
    read = [before(count + k, t.spec) for k, t in enumerate(last)]
    known = subgraphs.known_again(last, read, inputs, kept)
    arguments = [values[p] for p in op.attrs["positions"][1]]
    results = subgraphs.copy_body(body, arguments, known=known)
    xs = [values[i] for i in grads] + [inputs[i] for i in sums]
    return subgraphs.differentiate([results[i] for i in grads], xs, list(dvars))


def _any_number(rows: Tensor) -> Spec:
    columns = rows.spec.shape
    return Spec(rows.spec.dtype, None if columns is None else (None, *columns[1:]))


def _no_second_order(op: Operation, *dys: Any) -> Any:
    raise TypeError(
        f"Second-order gradient for while loops not supported ({op.name!r}), as in TensorFlow 1; "
        "unroll the loop to differentiate it twice"
    )


def _check_loop(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> None:
    count, kept, specs = attrs["num_vars"], attrs.get("kept", ()), attrs["_specs"]
    if len(attrs["branches"]) != 2 or not 0 <= count <= len(inputs) or len(specs) != count + 1:
        raise ValueError(
            f"a loop of {count} of {len(inputs)} values with {len(attrs['branches'])} bodies and "
            f"{len(specs)} results"
        )
    dtypes = [spec.dtype for spec in specs[:count]]
    if dtypes != [t.spec.dtype.base_dtype for t in inputs[:count]] or specs[count].dtype != variant:
        raise ValueError("attribute '_specs' has other dtypes than the loop's variables")
    test, body = attrs["branches"]
    subgraphs.check_results(test, [bool_])
    subgraphs.check_kept(kept, inputs, [t.spec.dtype for t in body.results])
    subgraphs.check_results(body, [*dtypes, *(inputs[place].spec.dtype for place in kept)])


def _check_slopes(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> None:
    counts = [attrs["num_grads"], attrs["num_sums"], attrs.get("num_rows", 0)]
    first = 1 + sum(counts)
    if len(attrs["branches"]) != 1 or min(counts) < 0 or first > len(inputs):
        raise ValueError(
            f"the gradient of a loop with {counts} of {len(inputs)} values and "
            f"{len(attrs['branches'])} bodies"
        )
    dtypes = [t.spec.dtype for t in inputs[1:first]]
    if [spec.dtype for spec in attrs["_specs"]] != dtypes:
        raise ValueError("attribute '_specs' has other dtypes than the values that are summed")
    subgraphs.check_results(attrs["branches"][0], dtypes)


def _loop_flow(attrs: Mapping[str, Any], num_outputs: int) -> Flow:
    count, written, end = attrs["num_vars"], attrs["written"], num_outputs - len(attrs["written"])
    first = count + len(attrs.get("kept", ())) + attrs.get("saved", 0)
    return Flow(
        carried=(
            *((i, i, (1, i)) for i in range(count)),
            *((end + i, position, (1, first + i)) for i, position in enumerate(written)),
        ),
        history=(count, tuple(range(count)), tuple((1, i) for i in range(count, first))),
        decides=((0, 0),),
        most_turns=attrs["maximum"],
    )


def _gradient_flow(attrs: Mapping[str, Any], num_outputs: int) -> Flow:
    """Return how gradients go; the first input, the history, is a turn's values to the body."""
    flows = [(i, 1 + i, (0, i)) for i in range(num_outputs)]
    first, last = attrs["num_grads"], attrs["num_grads"] + attrs["num_sums"]
    return Flow(
        carried=tuple(flows[:first]),
        summed=tuple(flows[first:last]),
        joined=tuple(flows[last:]),
        replays=0,
    )


WHILE = OpDef(
    "While",
    "*loop_vars:A",
    infer=subgraphs.merged_specs,
    pattern=Opaque(branches=True, flow=_loop_flow),
    kernel=control_kernels.while_loop,
    gradient=_while_gradient,
    valid=_check_loop,
)
WHILE_GRADIENT = OpDef(
    "WhileGradient",
    "history:A, *inputs:A",
    infer=subgraphs.merged_specs,
    pattern=Opaque(branches=True, flow=_gradient_flow),
    kernel=control_kernels.while_gradient,
    gradient=_no_second_order,
    valid=_check_slopes,
)
HISTORY_ITEM = OpDef(
    "HistoryItem",
    "history:A",
    infer=lambda inputs, *, index, _spec: _spec,
    pattern=Part(view=True),
    kernel=control_kernels.history_item,
    gradient=_no_second_order,
)


@accepts("parallel_iterations", "swap_memory")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: int | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat `body` on the loop variables while `cond` of them is true.

    Args:
      cond: takes the loop variables, returns a scalar bool tensor.
      body: takes them, returns their next values in the same structure.
      loop_vars: the first values, a (nested) list or tuple of tensors, `SparseTensor`s,
        `IndexedSlices` and `TensorArray`s.
      shape_invariants: shapes in the same structure; None dimensions may change in the loop. That
        of slices is the shape of their values; that of a sparse tensor is [rank], the shape of its
        ``dense_shape``, and it may then have more elements or fewer.
      back_prop: False takes the results as constants in gradients.
      name: name of the operation.
      maximum_iterations: bound on the number of iterations, a number or a scalar integer tensor.
      return_same_structure: return a list or tuple of one variable as such.

    Returns:
      The last values, in the structure of `loop_vars` (a single variable as itself), of their
      dtypes, and of their shapes or those of `shape_invariants`.

    Raises:
      ValueError: there are no loop variables; `body` changes their structure or shapes (use
        `shape_invariants`); a shape invariant does not fit the first value.
      TypeError: `cond` or `body` is no function; `body` changes a dtype or a type of list;
        `parallel_iterations` is not positive.

    Source: TensorFlow 1.15, ``tf.while_loop``.

    >>> int(dv.while_loop(lambda i: i < 10, lambda i: i * 2, [dv.constant(1)]))
    16
    """
    if not loop_vars:
        raise ValueError("No loop variables provided")
    for argument, function in (("cond", cond), ("body", body)):
        if not callable(function):
            raise TypeError(f"{argument} must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    outer = builder_for(tuple(nest.flatten(subgraphs.taken_apart(loop_vars))))
    if outer.is_eager:
        return _eager_loop(cond, body, loop_vars, maximum_iterations, return_same_structure)
    with outer.as_default():
        maximum = _bound(maximum_iterations)
        if isinstance(maximum, Tensor):
            results = _counted(cond, body, loop_vars, shape_invariants, name, maximum, outer)
        else:
            results = _while(cond, body, loop_vars, shape_invariants, name, maximum, outer)
    if not back_prop:
        results = nest.map_structure(_constant, results)
    results = subgraphs.assemble_chunk(results)
    return results if return_same_structure or len(loop_vars) != 1 else results[0]


def _constant(result: Any) -> Any:
    """Return a loop's result that gradients stop at."""
    if isinstance(result, TensorArray):
        return result.with_flow(stop_gradient(result.flow))
    return stop_gradient(result)


def _eager_loop(cond: Any, body: Any, loop_vars: Any, maximum: Any, same: bool) -> Any:
    def value(item: Any) -> Any:
        return item if isinstance(item, TensorArray) else convert_to_tensor(item)

    values = subgraphs.assemble_chunk(nest.map_structure(value, subgraphs.taken_apart(loop_vars)))
    iteration = 0
    while (maximum is None or iteration < maximum) and bool(cond(*values)):
        results = body(*values)
        values = results if isinstance(results, list | tuple) else [results]
        values = subgraphs.assemble_chunk(nest.map_structure(value, subgraphs.taken_apart(values)))
        iteration += 1
    return values if same or len(values) != 1 else values[0]


def _bound(maximum: Any) -> Any:
    """Return a number of iterations as an int where it is known, else as a tensor."""
    if maximum is None or isinstance(maximum, int):
        return maximum
    tensor = convert_to_tensor(maximum, name="maximum_iterations")
    if tensor.spec.shape not in (None, ()):
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {tensor.shape}")
    known = constant_value(tensor)
    return tensor if known is None else int(known)


def _counted(
    cond: Any, body: Any, loop_vars: Any, invariants: Any, name: Any, maximum: Tensor, outer: Graph
) -> Any:
    """Build a loop that counts its iterations, up to a number that only the run knows."""

    def step(i: Tensor, *values: TensorLike) -> tuple[Any, ...]:
        results = body(*values)
        return i + 1, *(results if isinstance(results, list | tuple) else [results])

    def test(i: Tensor, *values: TensorLike) -> Tensor:
        return logical_and(less(i, maximum), cond(*values))

    start = zeros([], maximum.spec.dtype.base_dtype)
    shapes_of_all = None if invariants is None else [shapes.TensorShape([]), *invariants]
    results = _while(test, step, (start, *loop_vars), shapes_of_all, name, None, outer)[1:]
    return list(results) if isinstance(loop_vars, list) else results


def _while(
    cond: Any, body: Any, loop_vars: Any, invariants: Any, name: Any, maximum: Any, outer: Graph
) -> Any:
    full = outer.op_name(name or "while", "while")
    parts = subgraphs.taken_apart(loop_vars)
    leaves = nest.flatten(parts)
    start = [convert_to_tensor(leaf) for leaf in leaves]

    def packed(tensors: Any) -> Any:
        """Return values of the loop variables in their structure, lists as TensorArrays."""
        return nest.pack(
            parts,
            [
                leaf.with_flow(t) if isinstance(leaf, TensorArray) else t
                for leaf, t in zip(leaves, tensors, strict=True)
            ],
        )

    specs = [Spec(t.spec.dtype.base_dtype, t.spec.shape) for t in start]
    if invariants is not None:
        specs = _with_invariants(full, specs, _shapes_of_leaves(parts, invariants))
    test, _ = subgraphs.trace(
        lambda *v: cond(*subgraphs.assemble_chunk(packed(v))), specs, f"{full}/cond", outer
    )
    if len(test.results) != 1:
        raise ValueError(
            f"while_loop {full!r}: cond must return one scalar bool, got {len(test.results)} values"
        )
    subgraphs.check_predicate(test.results[0], f"while_loop {full!r}: what cond returns")

    def step(*values: TensorLike) -> Any:
        results = body(*subgraphs.assemble_chunk(packed(values)))
        return results if isinstance(results, list | tuple) else [results]

    loop, results = subgraphs.trace(step, specs, f"{full}/body", outer)
    _check_results(full, parts, results, start, specs, loop.results)
    written = subgraphs.keys_written([*test.get_operations(), *loop.get_operations()])
    subgraphs.read_inside(test, written)
    kept = subgraphs.read_inside(loop, written)
    loop.results += kept
    captured = subgraphs.captures_of((test, loop))
    count = len(start)
    with control_dependencies(subgraphs.awaited_by((test, loop))):
        op = apply_op(
            WHILE,
            *start,
            *captured,
            name=full + "/",
            branches=(test, loop),
            num_vars=count,
            positions=tuple(subgraphs.positions_in(g, count, captured) for g in (test, loop)),
            kept=subgraphs.places_of(kept.values(), captured, count),
            maximum=maximum,
            _specs=(*specs, Spec(variant, ())),
        )
    return packed(op.outputs[:count])


def _shapes_of_leaves(parts: Any, invariants: Any) -> list[shapes.Shape]:
    """Return the invariants of all leaves; one of slices is that of their values.

    One of a sparse tensor is that of its `dense_shape`, a vector, or of a matrix or more that of
    the whole: it may have any number of elements either way.
    """
    if isinstance(parts, subgraphs.SparseParts):
        given = shapes.as_tuple(invariants)
        rank = None if given is None else given[0] if len(given) == 1 else len(given)
        return [(None, rank), (None,), (rank,)]
    if isinstance(parts, subgraphs.SlicesParts | subgraphs.ShapedSlicesParts):
        values = shapes.as_tuple(invariants)
        found: list[shapes.Shape] = [values, None if values is None else values[:1]]
        sizes = None if values is None else (len(values),)
        return [*found, sizes] if isinstance(parts, subgraphs.ShapedSlicesParts) else found
    if not isinstance(parts, list | tuple | dict):
        return [shapes.as_tuple(invariants)]
    if isinstance(parts, dict):
        pairs = [(parts[key], invariants[key]) for key in sorted(parts)]
    else:
        if len(parts) != len(invariants):
            raise ValueError(
                f"shape_invariants must be structured as loop_vars: {invariants!r} has "
                f"{len(invariants)} parts, not {len(parts)}"
            )
        pairs = list(zip(parts, invariants, strict=True))
    return [shape for part, inner in pairs for shape in _shapes_of_leaves(part, inner)]


def _with_invariants(name: str, specs: list[Spec], given: list[shapes.Shape]) -> list[Spec]:
    for i, (spec, wanted) in enumerate(zip(specs, given, strict=True)):
        if spec.dtype is not variant and not _within(wanted, spec.shape):
            raise ValueError(
                f"The shape invariant specified for variable {i} of loop {name!r} is not "
                "compatible with the initial shape of the loop variable. It enters the loop with "
                f"shape {shapes.TensorShape(spec.shape)}, but the specified shape invariant is "
                f"{shapes.TensorShape(wanted)}."
            )
    return [
        s if s.dtype is variant else Spec(s.dtype, wanted)
        for s, wanted in zip(specs, given, strict=True)
    ]


def _check_results(
    name: str, structure: Any, results: Any, start: list[Tensor], specs: list[Spec], found: list
) -> None:
    nest.assert_same_structure(list(structure), list(results), f"loop variables of {name!r}")
    for i, (spec, new) in enumerate(zip(specs, found, strict=True)):
        if new.spec.dtype.base_dtype is not spec.dtype:
            raise TypeError(
                f"loop {name!r}: variable {i} enters as {spec.dtype.name} and leaves the body as "
                f"{new.spec.dtype.name}"
            )
        if not _within(spec.shape, new.spec.shape):
            raise ValueError(
                f"loop {name!r}, variable {i}: Input tensor {start[i].name!r} enters the loop "
                f"with shape {shapes.TensorShape(spec.shape)}, but has shape "
                f"{shapes.TensorShape(new.spec.shape)} after one iteration. To allow the shape to "
                "vary across iterations, use the `shape_invariants` argument of tf.while_loop to "
                "specify a less-specific shape."
            )


def _within(wanted: shapes.Shape, found: shapes.Shape) -> bool:
    if wanted is None:
        return True
    if found is None or len(found) != len(wanted):
        return False
    return all(w is None or w == f for w, f in zip(wanted, found, strict=True))
