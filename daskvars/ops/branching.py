"""Branches and loops: ops whose bodies are graphs of their own.

An op with branches takes every outer value that a body uses as an input; `positions` says for
each body which inputs its own inputs are. Gradients differentiate a copy of the body: a branch is
computed again, a loop is run backward over the values that its variables had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32, variant
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.opdef import OpDef, Spec
from daskvars.graph.operation import Operation
from daskvars.graph.patterns import Effect, Opaque, Source
from daskvars.graph.tensor import Tensor
from daskvars.kernels import control_kernels
from daskvars.kernels.effect_kernels import unreachable
from daskvars.ops.casting import cast
from daskvars.ops.comparison import equal, less_equal
from daskvars.ops.constant import zeros_like
from daskvars.ops.control import Assert, control_dependencies
from daskvars.ops.joining import stack
from daskvars.ops.reduce import reduce_sum
from daskvars.ops.reshaping import identity
from daskvars.ops.tensor_array import TensorArray
from daskvars.ops.tensor_list_ops import zero_list

_differentiate: list[Callable[..., list[Any]]] = []


def use_gradients(gradients: Callable[..., list[Any]]) -> None:
    """Differentiate bodies with `gradients`, which lives above the catalogue of ops."""
    _differentiate[:] = [gradients]


def differentiate(ys: list[Tensor], xs: list[Tensor], grad_ys: list[Tensor]) -> list[Any]:
    """Return the gradients of a body's results."""
    return _differentiate[0](ys, xs, grad_ys)


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
            tensor = graph.capture(tensor) if tensor.graph is not graph else tensor
            if isinstance(item, TensorArray):
                graph.arrays[tensor] = item
            return tensor

        structure = nest.map_structure(result, results)
    graph.results = [t for t in nest.flatten(structure) if t is not None]
    return graph, structure


def captures_of(graphs: Sequence[FuncGraph]) -> list[Tensor]:
    """Return the outer tensors that any of the bodies uses, each once."""
    return list(dict.fromkeys(t for graph in graphs for t in graph.captures))


def positions_in(graph: FuncGraph, first: int, captured: list[Tensor]) -> tuple[int, ...]:
    """Return where among the op's inputs the inputs of a body are: arguments, then captures."""
    outer = {inner: first + captured.index(t) for t, inner in graph.captures.items()}
    return tuple(outer.get(t, i) for i, t in enumerate(graph.inputs))


def first_if_true(pred: Any) -> int:
    """Return which branch a known predicate takes."""
    return 0 if pred else 1


def merged_specs(inputs: tuple[Spec, ...], *, _specs: tuple[Spec, ...], **attrs: Any):
    """Return the specs that were found when the bodies were traced."""
    return _specs


def _cond_gradient(op: Operation, *dys: Any) -> list[Any]:
    floats = [i for i, t in enumerate(op.inputs) if i and is_differentiable(t)]
    grads = [dy for dy in dys if dy is not None]

    def branch(number: int) -> Callable[[], list[Any]]:
        def slopes() -> list[Any]:
            results = copy_body(op.attrs["branches"][number], _arguments(op, number))
            ys = [y for y, dy in zip(results, dys, strict=False) if dy is not None]
            found = differentiate(ys, [op.inputs[i] for i in floats], grads)
            return [
                zeros_for(op.inputs[i]) if d is None else convert_to_tensor(d)
                for i, d in zip(floats, found, strict=True)
            ]

        return slopes

    results = cond(op.inputs[0], branch(0), branch(1), True, "cond_grad") if floats else []
    found = dict(zip(floats, results, strict=True))
    return [found.get(i) for i in range(len(op.inputs))]


def _arguments(op: Operation, number: int) -> list[Tensor]:
    return [op.inputs[p] for p in op.attrs["positions"][number]]


def is_differentiable(tensor: Tensor) -> bool:
    """Return whether a tensor can have a gradient: it is floating or complex, or a list."""
    dtype = tensor.spec.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype is variant


def zeros_for(tensor: Tensor) -> Tensor:
    """Return the gradient of what nothing depends on: zeros, or a list of them."""
    return zero_list() if tensor.spec.dtype is variant else zeros_like(tensor)


COND = OpDef(
    "If", "pred:B, *inputs:A", infer=merged_specs, kernel=control_kernels.cond,
    pattern=Opaque(branches=True, choose=first_if_true), gradient=_cond_gradient,
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
        *(
            trace(fn, (), f"{full}/{kind}", outer)
            for fn, kind in ((true_fn, "true"), (false_fn, "false"))
        ),
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
    captured = captures_of(graphs)
    specs = tuple(
        Spec(a.spec.dtype.base_dtype, _common(a.spec.shape, b.spec.shape))
        for a, b in zip(first, second, strict=True)
    )
    op = apply_op(
        COND, pred, *captured, name=full + "/", branches=graphs, _specs=specs,
        positions=tuple(positions_in(g, 1, captured) for g in graphs),
    )  # fmt: skip
    if not specs:
        return op
    outputs = iter(op.outputs)

    def output(result: Tensor | None) -> Any:
        if result is None:
            return op
        array = graphs[0].arrays.get(result)
        return next(outputs) if array is None else array.with_flow(next(outputs))

    return _single(nest.map_structure(output, structures[0]), strict)


def _single(result: Any, strict: bool) -> Any:
    return (
        result[0]
        if not strict and isinstance(result, list | tuple) and len(result) == 1
        else result
    )


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
      exclusive: fail the run where more than one predicate is true; otherwise the first counts.
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
    if exclusive and len(pairs) > 1:
        pairs = _exclusive(pairs)
    result = default
    for pred, function in reversed(pairs):
        result = _chosen(pred, function, result, strict, name)
    return result()


def _exclusive(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the pairs with predicates that are there only if at most one of them is true."""
    preds = stack([convert_to_tensor(pred) for pred, _ in pairs])
    is_one = less_equal(reduce_sum(cast(preds, int32)), 1)
    message = "Input error: exclusive=True: more than 1 conditions evaluated as True:"
    with control_dependencies([Assert(is_one, [message, preds], summarize=len(pairs))]):
        return [(identity(pred), function) for pred, function in pairs]


def _chosen(pred: Any, function: Any, otherwise: Any, strict: bool, name: str) -> Callable[[], Any]:
    return lambda: cond(pred, function, otherwise, strict, name)


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:  # fmt: skip
    """Return what the function of a number gives.

    Args:
      branch_index: scalar int32 tensor.
      branch_fns: a list of functions, or a dict or pairs of numbers and functions.
      default: the function of all other numbers; without it that of the greatest.
      name: name of the operation.

    Raises:
      TypeError: `branch_fns` holds something else, or no function.

    Source: TensorFlow 1.15, ``tf.switch_case``.

    >>> import daskvars as dv
    >>> float(switch_case(dv.constant(1), [lambda: dv.constant(3.0), lambda: dv.constant(4.0)]))
    4.0
    """
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(map(callable, pairs)):
        pairs = list(enumerate(pairs))
    if not pairs or not all(isinstance(p, tuple) and len(p) == 2 and callable(p[1]) for p in pairs):
        raise TypeError(
            f"switch_case takes functions, or pairs of a number and a function, got {branch_fns!r}"
        )
    pairs.sort(key=lambda pair: pair[0])
    index = convert_to_tensor(branch_index, name="branch_index")
    if default is None:
        default = pairs.pop()[1]
    return case([(equal(index, number), fn) for number, fn in pairs], default, name=name)
