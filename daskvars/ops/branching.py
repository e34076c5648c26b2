"""Branches and loops: ops whose bodies are graphs of their own.

An op with branches takes every outer value that a body uses as an input; `positions` says for
each body which inputs its own inputs are. Gradients differentiate a copy of the body: a branch is
computed again, a loop is run backward over the values that its variables had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import variant
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.graph import FuncGraph, Graph
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.opdef import OpDef, Spec
from daskvars.graph.operation import Operation
from daskvars.graph.patterns import Effect, Opaque, Source
from daskvars.graph.tensor import Tensor
from daskvars.kernels import control_kernels
from daskvars.kernels.effect_kernels import unreachable
from daskvars.ops.constant import zeros_like

_differentiate: list[Callable[..., list[Any]]] = []


def use_gradients(gradients: Callable[..., list[Any]]) -> None:
    """Differentiate bodies with `gradients`, which lives above the catalogue of ops."""
    _differentiate[:] = [gradients]


PARAMETER = OpDef(
    "Parameter", "", infer=lambda inputs, *, spec: spec, pattern=Source(), kernel=unreachable,
    gradient=lambda op: (),
)  # fmt: skip


def parameter(graph: FuncGraph, tensor: Tensor) -> Tensor:
    """Return a new input of `graph` that stands for `tensor`."""
    spec = Spec(tensor.spec.dtype.base_dtype, tensor.spec.shape)
    with graph.as_default():
        return apply(PARAMETER, name="input", spec=spec)


def trace(function: Callable[..., Any], specs: Sequence[Spec], name: str, outer: Graph) -> tuple:
    """Build the body of a branch: return (graph, structure of its results).

    Results that are operations become effects of the body; None stands for them.
    """
    graph = FuncGraph(name, outer if not outer.is_eager else None, parameter)
    with graph.as_default(), graph.name_scope(name + "/"):
        for spec in specs:
            graph.inputs.append(apply(PARAMETER, name="argument", spec=spec))
        results = function(*graph.inputs)

        def result(item: Any) -> Any:
            if item is None or isinstance(item, Operation):
                graph.effects.extend([] if item is None else [item])
                return None
            tensor = convert_to_tensor(item)
            return graph.capture(tensor) if tensor.graph is not graph else tensor

        structure = nest.map_structure(result, results)
    graph.results = [t for t in nest.flatten(structure) if t is not None]
    return graph, structure


def _captures(graphs: Sequence[FuncGraph]) -> list[Tensor]:
    return list(dict.fromkeys(t for graph in graphs for t in graph.captures))


def _positions(graph: FuncGraph, first: int, captured: list[Tensor]) -> tuple[int, ...]:
    """Return where among the op's inputs the inputs of a body are: arguments, then captures."""
    outer = {inner: first + captured.index(t) for t, inner in graph.captures.items()}
    return tuple(outer.get(t, i) for i, t in enumerate(graph.inputs))


def first_if_true(pred: Any) -> int:
    """Return which branch a known predicate takes."""
    return 0 if pred else 1


def _merged_specs(inputs: tuple[Spec, ...], *, _specs: tuple[Spec, ...], **attrs: Any):
    return _specs


def _cond_gradient(op: Operation, *dys: Any) -> list[Any]:
    floats = [i for i, t in enumerate(op.inputs) if i and _is_float(t)]
    grads = [dy for dy in dys if dy is not None]

    def branch(number: int) -> Callable[[], list[Any]]:
        def differentiate() -> list[Any]:
            results = copy_body(op.attrs["branches"][number], _arguments(op, number))
            ys = [y for y, dy in zip(results, dys, strict=False) if dy is not None]
            found = _differentiate[0](ys, [op.inputs[i] for i in floats], grads)
            return [
                zeros_like(op.inputs[i]) if d is None else convert_to_tensor(d)
                for i, d in zip(floats, found, strict=True)
            ]

        return differentiate

    results = cond(op.inputs[0], branch(0), branch(1), True, "cond_grad") if floats else []
    found = dict(zip(floats, results, strict=True))
    return [found.get(i) for i in range(len(op.inputs))]


def _arguments(op: Operation, number: int) -> list[Tensor]:
    return [op.inputs[p] for p in op.attrs["positions"][number]]


def _is_float(tensor: Tensor) -> bool:
    dtype = tensor.spec.dtype
    return dtype.is_floating or dtype.is_complex


COND = OpDef(
    "If", "pred:B, *inputs:A", infer=_merged_specs, pattern=Opaque(branches=True),
    kernel=control_kernels.cond, gradient=_cond_gradient,
)  # fmt: skip


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return what `true_fn` gives where `pred` is true, else what `false_fn` gives.

    Args:
      pred: scalar bool tensor. A Python bool or an eager value decides at once.
      true_fn, false_fn: functions without arguments, of results of one structure and dtypes.
        Only the ops made in the branch taken run; what they use from outside is computed anyway.
      strict: keep a list of one result a list.
      name: name of the operation.

    Raises:
      TypeError: a branch is not a function.
      ValueError: the branches' results differ in structure or dtype.
    """
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("cond takes two functions: true_fn and false_fn must be callable")
    outer = builder_for((pred,))
    if isinstance(pred, bool) or (outer.is_eager and getattr(pred, "graph", None) is None):
        return _single(true_fn() if pred else false_fn(), strict)
    with outer.as_default():
        return _cond(convert_to_tensor(pred), true_fn, false_fn, strict, name, outer)


def _cond(pred: Tensor, true_fn: Any, false_fn: Any, strict: bool, name: Any, outer: Graph) -> Any:
    full = outer.op_name(name or "cond", "cond")
    graphs, structures = zip(
        *(trace(fn, (), f"{full}/{kind}", outer) for fn, kind in ((true_fn, "true"), (false_fn, "false"))),
        strict=True,
    )
    first, second = (graph.results for graph in graphs)
    if len(first) != len(second):
        raise ValueError(
            f"cond {full!r}: true_fn and false_fn must return the same number of results, got "
            f"{len(first)} and {len(second)}"
        )
    for a, b in zip(first, second, strict=True):
        if a.spec.dtype.base_dtype is not b.spec.dtype.base_dtype:
            raise TypeError(
                f"cond {full!r}: outputs of true_fn and false_fn must have the same type: "
                f"{a.dtype.name}, {b.dtype.name}"
            )
    captured = _captures(graphs)
    specs = tuple(
        Spec(a.spec.dtype.base_dtype, _common(a.spec.shape, b.spec.shape))
        for a, b in zip(first, second, strict=True)
    )
    op = apply_op(
        COND, pred, *captured, name=full + "/", branches=graphs, choose=first_if_true, _specs=specs,
        positions=tuple(_positions(g, 1, captured) for g in graphs),
    )  # fmt: skip
    if not specs:
        return op
    outputs = iter(op.outputs)
    return _single(
        nest.map_structure(lambda t: op if t is None else next(outputs), structures[0]), strict
    )


def _single(result: Any, strict: bool) -> Any:
    return result[0] if not strict and isinstance(result, list | tuple) and len(result) == 1 else result


def _common(a: shapes.Shape, b: shapes.Shape) -> shapes.Shape:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def copy_body(
    graph: FuncGraph,
    arguments: Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    effects: bool = False,
) -> list[Tensor]:
    """Build the operations of a body again, on other inputs, in the graph being built.

    Args:
      graph: the body.
      arguments: what stands for its inputs.
      inputs: its inputs in the order of `arguments`; by default ``graph.inputs``.
      effects: build its assignments and other effects too. Without them (for a gradient, which
        computes the body a second time) random ops draw the same numbers as the originals.

    Raises:
      LookupError: a result depends on an assignment, which must not be made twice.
    """
    inputs = graph.inputs if inputs is None else inputs
    builder = builder_for(())

    def seen(tensor: Tensor) -> Tensor:
        return tensor if tensor.graph is builder.graph else builder.capture(tensor)

    copies = {t: seen(argument) for t, argument in zip(inputs, arguments, strict=True)}
    needed: set[Operation] = set()
    stack = [*(t.op for t in graph.results), *(graph.effects if effects else ())]
    while stack:
        op = stack.pop()
        if op not in needed and not (op.outputs and op.outputs[0] in copies):
            needed.add(op)
            stack.extend(t.op for t in op.inputs if t not in copies and t.graph is graph)
    for op in sorted(needed, key=lambda op: op.id):
        if not effects and isinstance(op.opdef.pattern, Effect) and op.opdef.pattern.writes:
            raise LookupError(
                f"gradient through a branch or loop that assigns a variable on the way "
                f"({op.name!r}); assign after it instead"
            )
        inputs = tuple(copies[t] if t in copies else seen(t) for t in op.inputs)
        attrs = op.attrs
        if op.opdef.seeded and not effects:
            attrs = {"_key_of": op.attrs.get("_key_of", op), **attrs}
        specs = tuple(t.spec for t in op.outputs)
        name = builder.op_name(op.name.rpartition("/")[2], op.type)
        new = builder.create(op.opdef, inputs, attrs, specs if op.multiple else specs[0], name)
        copies.update(zip(op.outputs, new.outputs, strict=True))
    return [copies[t] for t in graph.results]


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return what the function of the first true predicate gives, else what `default` gives.

    Args:
      pred_fn_pairs: pairs (scalar bool tensor, function), a list or a dict.
      default: the function taken where no predicate is true; without it the last pair's.
      exclusive: accepted; the first true predicate counts.
      strict: see `cond`.
      name: name of the operation.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case takes pairs of a predicate and a function, got {pair!r}")
    if default is None:
        if not pairs:
            raise ValueError("case needs at least one pair")
        default = pairs[-1][1]
    result = default
    for pred, function in reversed(pairs):
        result = _chosen(pred, function, result, strict, name)
    return result()


def _chosen(pred: Any, function: Any, otherwise: Any, strict: bool, name: str) -> Callable[[], Any]:
    return lambda: cond(pred, function, otherwise, strict, name)


# -- loops ------------------------------------------------------------------------------------


def _while_gradient(op: Operation, *dys: Any) -> list[Any]:
    count = op.attrs["num_vars"]
    inputs = op.inputs
    grads = [i for i in range(count) if _is_float(inputs[i])]
    sums = [i for i in range(count, len(inputs)) if _is_float(inputs[i])]
    body_positions, body = op.attrs["positions"][1], op.attrs["branches"][1]
    outer = builder_for(inputs)

    def backward(item: Tensor, *dvars: Tensor) -> list[Tensor]:
        values = [
            apply(HISTORY_ITEM, item, index=i, _spec=_item_spec(op, i)) if i < count else inputs[i]
            for i in range(len(inputs))
        ]
        arguments = [values[p] for p in body_positions]
        results = copy_body(body, arguments)
        ys = [results[i] for i in grads]
        xs = [values[i] for i in grads] + [inputs[i] for i in sums]
        found = _differentiate[0](ys, xs, list(dvars))
        return [
            zeros_like(x) if d is None else convert_to_tensor(d)
            for x, d in zip(xs, found, strict=True)
        ]

    start = [dys[i] for i in grads]
    zeros = [zeros_like(inputs[i]) for i in sums]
    specs = [op.outputs[count].spec, *(t.spec for t in start)]
    graph, _ = trace(backward, specs, outer.op_name("while_grad", "while_grad"), outer)
    captured = list(graph.captures)
    positions = _positions(graph, 1 + len(grads) + len(sums), captured)
    results = apply(
        WHILE_GRADIENT, op.outputs[count], *start, *zeros, *captured, branches=(graph,),
        positions=(positions,), num_grads=len(grads), num_sums=len(sums),
        _specs=tuple(t.spec for t in [*start, *zeros]),
    )  # fmt: skip
    found = dict(zip([*grads, *sums], results, strict=True))
    return [found.get(i) for i in range(len(inputs))]


def _item_spec(op: Operation, index: int) -> Spec:
    return op.outputs[index].spec


def _no_second_order(op: Operation, *dys: Any) -> Any:
    raise LookupError(
        f"second-order gradients through while_loop are not supported ({op.name!r}), as in "
        "TensorFlow 1; unroll the loop to differentiate it twice"
    )


WHILE = OpDef(
    "While", "*loop_vars:A", infer=_merged_specs, pattern=Opaque(branches=True),
    kernel=control_kernels.while_loop, gradient=_while_gradient,
)  # fmt: skip
WHILE_GRADIENT = OpDef(
    "WhileGradient", "history:A, *inputs:A", infer=_merged_specs, pattern=Opaque(branches=True),
    kernel=control_kernels.while_gradient, gradient=_no_second_order,
)  # fmt: skip
HISTORY_ITEM = OpDef(
    "HistoryItem", "history:A", infer=lambda inputs, *, index, _spec: _spec, pattern=Opaque(),
    kernel=control_kernels.history_item, gradient=_no_second_order,
)  # fmt: skip


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
      loop_vars: the first values, a (nested) list or tuple.
      shape_invariants: shapes in the same structure; None dimensions may change in the loop.
      parallel_iterations, swap_memory: accepted; iterations run one after another.
      back_prop: accepted; gradients cost nothing unless asked for.
      name: name of the operation.
      maximum_iterations: bound on the number of iterations.
      return_same_structure: return a list or tuple of one variable as such.

    Returns:
      The last values, in the structure of `loop_vars` (a single variable as itself).

    Raises:
      ValueError: there are no loop variables, or `body` changes their structure, dtypes or shapes
        (use `shape_invariants`).
    """
    if not loop_vars:
        raise ValueError("No loop variables provided")
    if not callable(cond) or not callable(body):
        raise TypeError("while_loop takes two functions: cond and body must be callable")
    outer = builder_for(tuple(nest.flatten(loop_vars)))
    if outer.is_eager:
        return _eager_loop(cond, body, loop_vars, maximum_iterations, return_same_structure)
    with outer.as_default():
        results = _while(cond, body, loop_vars, shape_invariants, name, maximum_iterations, outer)
    return results if return_same_structure or len(loop_vars) != 1 else results[0]


def _eager_loop(cond: Any, body: Any, loop_vars: Any, maximum: Any, same: bool) -> Any:
    values = nest.map_structure(convert_to_tensor, loop_vars)
    iteration = 0
    while (maximum is None or iteration < maximum) and bool(cond(*values)):
        results = body(*values)
        values = results if isinstance(results, list | tuple) else [results]
        values = nest.map_structure(convert_to_tensor, values)
        iteration += 1
    return values if same or len(values) != 1 else values[0]


def _while(cond: Any, body: Any, loop_vars: Any, invariants: Any, name: Any, maximum: Any, outer: Graph):
    full = outer.op_name(name or "while", "while")
    structure = nest.map_structure(convert_to_tensor, loop_vars)
    start = nest.flatten(structure)
    specs = [Spec(t.spec.dtype.base_dtype, t.spec.shape) for t in start]
    if invariants is not None:
        given = [shapes.as_tuple(s) for s in _flatten_shapes(invariants, len(specs))]
        specs = [Spec(s.dtype, shape) for s, shape in zip(specs, given, strict=True)]
    test, _ = trace(lambda *v: cond(*nest.pack(structure, list(v))), specs, f"{full}/cond", outer)

    def step(*values: Any) -> Any:
        results = body(*nest.pack(structure, list(values)))
        return results if isinstance(results, list | tuple) else [results]

    loop, results = trace(step, specs, f"{full}/body", outer)
    _check_results(full, structure, results, specs, loop.results)
    captured = _captures((test, loop))
    count = len(start)
    op = apply_op(
        WHILE, *start, *captured, name=full + "/", branches=(test, loop), num_vars=count,
        positions=tuple(_positions(g, count, captured) for g in (test, loop)),
        maximum=maximum if maximum is None else int(maximum), _specs=(*specs, Spec(variant, ())),
    )  # fmt: skip
    return nest.pack(structure, list(op.outputs[:count]))


def _check_results(name: str, structure: Any, results: Any, specs: list[Spec], found: list) -> None:
    nest.assert_same_structure(list(structure), list(results), f"loop variables of {name!r}")
    for i, (spec, new) in enumerate(zip(specs, found, strict=True)):
        if new.spec.dtype.base_dtype is not spec.dtype:
            raise TypeError(
                f"loop {name!r}: variable {i} enters as {spec.dtype.name} and leaves the body as "
                f"{new.spec.dtype.name}"
            )
        if not _within(spec.shape, new.spec.shape):
            raise ValueError(
                f"loop {name!r}: variable {i} enters with shape {shapes.TensorShape(spec.shape)} and "
                f"leaves the body with {shapes.TensorShape(new.spec.shape)}. Give shape_invariants."
            )


def _within(wanted: shapes.Shape, found: shapes.Shape) -> bool:
    if wanted is None:
        return True
    if found is None or len(found) != len(wanted):
        return False
    return all(w is None or w == f for w, f in zip(wanted, found, strict=True))


def _flatten_shapes(invariants: Any, count: int) -> list[Any]:
    flat = nest.flatten(invariants)
    if len(flat) == count:
        return flat
    return list(invariants)


