"""Branches: `cond`, `case`, `switch_case`. The gradient of a branch is a branch.

It computes the branch taken again: see ``subgraphs`` for what it passes in and what it keeps.

What is made in a branch may be used elsewhere, in a run that takes the branch: it is built again
there behind a `SWITCH`, which fails a run that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars.dtypes import int32, int64
from daskvars.graph import nest
from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.patterns import Flow, Movement, Opaque
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.control import flow as control_kernels
from daskvars.ops.array.constant import shape
from daskvars.ops.array.joining import stack
from daskvars.ops.array.reshaping import identity
from daskvars.ops.control import subgraphs
from daskvars.ops.control.dependencies import Assert, control_dependencies
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, less_equal
from daskvars.ops.math.reduce import reduce_any, reduce_sum
from daskvars.ops.rules import axes


def first_if_true(pred: TensorLike) -> int:
    """Return which branch a known predicate takes."""
    return 0 if control_kernels.truth(pred) else 1


def _cond_gradient(op: Operation, *dys: Any) -> list[Any]:
    count = len(op.inputs)
    floats = [i for i, t in enumerate(op.inputs) if i and subgraphs.is_differentiable(t)]
    if not floats:
        return [None] * count
    xs = [op.inputs[i] for i in floats]
    outer = builder_for(op.inputs)
    name = outer.op_name("cond_grad", "cond")
    graphs, slopes = [], []
    for number in (0, 1):
        graph, found = subgraphs.trace(
            lambda number=number: _slopes(op, number, xs, dys), (), f"{name}/{number}", outer
        )
        graphs.append(graph)
        slopes.append(found)
    alike = [_alike(graphs, pair, x) for x, pair in zip(xs, zip(*slopes, strict=True), strict=True)]
    for number, graph in enumerate(graphs):
        graph.results = nest.flatten([pair[number] for pair in alike if pair is not None])
    if not graphs[0].results:
        return [None] * count
    outputs = iter(subgraphs.branched(COND, op.inputs[0], graphs, name).outputs)
    gradients: list[Any] = [None] * count
    for i, x, pair in zip(floats, xs, alike, strict=True):
        if pair is not None:
            first = next(outputs)
            is_sparse = isinstance(pair[0], tuple)
            gradients[i] = IndexedSlices(first, next(outputs), shape(x)) if is_sparse else first
    return gradients


def _slopes(op: Operation, number: int, xs: list[Tensor], dys: Sequence[Any]) -> list[Any]:
    """Build the gradients of a branch with respect to inputs of the operation."""
    kept = op.outputs[len(op.outputs) - len(op.attrs.get("kept", ())) :]
    results = subgraphs.branch_again(op, number, op.inputs, kept)
    wanted = [(y, dy) for y, dy in zip(results, dys, strict=False) if dy is not None]
    return subgraphs.differentiate([y for y, _ in wanted], xs, [dy for _, dy in wanted])


def _alike(graphs: list[FuncGraph], gradients: tuple[Any, Any], x: Tensor) -> Any:
    """Return the gradients of x in two branches in one form, None where there is none in either."""
    if gradients[0] is None and gradients[1] is None:
        return None
    is_sparse = any(isinstance(g, tuple) for g in gradients)
    found: list[Any] = []
    for graph, gradient in zip(graphs, gradients, strict=True):
        with graph.as_default():
            if is_sparse:
                found.append(tuple(subgraphs.slices_parts(gradient, x)))
            else:
                found.append(subgraphs.zeros_for(x) if gradient is None else gradient)
    return found


def _valid(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> None:
    if len(attrs["branches"]) != 2:
        raise ValueError(f"attribute 'branches' has {len(attrs['branches'])}, not 2")
    for branch in attrs["branches"]:
        subgraphs.check_results(branch, [spec.dtype for spec in attrs["_specs"]])
    subgraphs.check_kept(attrs.get("kept", ()), inputs, [spec.dtype for spec in attrs["_specs"]])


def _flow(attrs: Mapping[str, Any], num_outputs: int) -> Flow:
    return Flow(given=tuple((i, ((0, i), (1, i))) for i in range(num_outputs)))


COND = OpDef(
    "If",
    "pred:B, *inputs:A",
    infer=subgraphs.merged_specs,
    kernel=control_kernels.cond,
    pattern=Opaque(branches=True, choose=first_if_true, flow=_flow),
    gradient=_cond_gradient,
    valid=_valid,
)


# -- one side -------------------------------------------------------------------------------------


def is_switch(op: Operation) -> bool:
    """Return whether an operation passes its first input on where a predicate is as it wants."""
    return op.opdef is SWITCH


def is_pure(op: Operation) -> bool:
    """Return whether an operation gives the same whenever it is done, and does nothing else."""
    pattern = op.opdef.pattern
    return not isinstance(pattern, Opaque) or pattern.pure


def is_like(op: Operation, switch: Operation) -> bool:
    """Return whether an operation is a switch that passes on where another one does."""
    return (
        is_switch(op)
        and op.inputs[1] is switch.inputs[1]
        and op.attrs["side"] is switch.attrs["side"]
    )


def _switch_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    """Return the gradient where the value is there, zeros where it is not."""

    def here() -> Tensor:
        return subgraphs.copy_dependents([dy], is_switch, lambda other: is_like(other, op))[0]

    def elsewhere() -> Tensor:
        return subgraphs.zeros_for(op.inputs[0])

    functions = (here, elsewhere) if op.attrs["side"] else (elsewhere, here)
    return [cond(op.inputs[1], *functions), None]


SWITCH = OpDef(
    "SwitchSide",
    "data:A, pred:B",
    infer=lambda inputs, *, side: inputs[0],
    kernel=control_kernels.switch,
    pattern=Movement(
        lambda inputs, outputs, attrs: axes.aligned(
            inputs, outputs, ((i, i) for i in range(len(inputs[0])))
        )
    ),
    gradient=_switch_gradient,
    attributes={"side": kinds_of.BOOL},
)


def one_side(data: TensorLike, pred: TensorLike, side: bool, name: str | None = None) -> Tensor:
    """Return a tensor that is there only where `pred` is `side`; else what needs it fails."""
    pred = convert_to_tensor(pred)
    subgraphs.check_predicate(pred, "switch: pred")
    return apply(SWITCH, data, pred, name=name or "Switch", side=side)


def _seen_outside(branch: FuncGraph) -> Callable[[Tensor, Graph], Tensor | None]:
    """Return what gives the value of a tensor of a branch elsewhere: built again, on one side."""
    known: dict[Graph, ByIdentity[Tensor]] = {}

    def outside(tensor: Tensor, user: Graph) -> Tensor | None:
        chosen_by = _choices_before(branch, user)
        ops = subgraphs.slice_of([tensor])
        if None in chosen_by or not all(subgraphs.is_repeatable(op) and is_pure(op) for op in ops):
            return None
        found = known.setdefault(user, ByIdentity())
        if tensor not in found:
            outer = {inner: given for given, inner in branch.captures.items()}
            arguments = [outer[t] for t in branch.inputs]
            with user.as_default():
                value = subgraphs.copy_body(branch, arguments, results=[tensor])[0]
                for pred, side in filter(None, chosen_by):
                    value = one_side(value, pred, side)
            found[tensor] = value
        return found[tensor]

    return outside


def _choices_before(branch: FuncGraph, user: Graph) -> list[tuple[Tensor, bool] | None]:
    """Return what a branch, and the bodies around it but not around a user, are chosen by."""
    around: list[Any] = [user]
    while around[-1] is not None:
        around.append(getattr(around[-1], "outer", None))
    found, graph = [], branch
    while graph not in around:
        found.append(graph.chosen_by)  # None of the body of a loop
        graph = graph.outer
    return found


# -- both ------------------------------------------------------------------------------------------


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return what `true_fn` gives where `pred` is true, else what `false_fn` gives.

    Args:
      pred: scalar bool tensor. In eager code a Python bool or an eager value decides at once.
      true_fn, false_fn: functions without arguments, of results of one structure and dtypes:
        tensors, `SparseTensor`s, `IndexedSlices`, `TensorArray`s; an operation becomes a bool,
        there when it has run. Only the ops made in the branch taken run, those that the results
        asked for need (all where the cond itself is run, as an operation or a control dependency);
        what the branches use from outside is computed anyway, save for a read of a variable.
      strict: keep a list of one result a list.
      name: name of the operation.
      fn1, fn2: older names of `true_fn` and `false_fn`.

    Returns:
      The results of that branch, in their structure, of the dtypes that both share; a dimension in
      which their shapes differ is not known.

    Raises:
      TypeError: `pred` is a Python bool and a graph is built; a branch is not a function, or
        is given twice; the results are in lists of different types.
      ValueError: a branch has no result; the results differ in structure or dtype.

    Source: TensorFlow 1.15, ``tf.cond``.

    >>> x = dv.constant(2.0)
    >>> float(dv.cond(x > 1.0, lambda: x * 10.0, lambda: x))
    20.0
    """
    true_fn = _one_of("true_fn", true_fn, "fn1", fn1)
    false_fn = _one_of("false_fn", false_fn, "fn2", fn2)
    outer = builder_for((pred,))
    if outer.is_eager and getattr(pred, "graph", None) is None:
        result = true_fn() if pred else false_fn()
        return result if strict else _single(result)
    if isinstance(pred, bool):
        raise TypeError(
            "pred must not be a Python bool: a graph's cond decides when it is run. Use an if "
            "statement, or make it a tensor"
        )
    with outer.as_default():
        return _cond(convert_to_tensor(pred), (true_fn, false_fn), strict, name, outer)


def _one_of(name: str, function: Any, old_name: str, old: Any) -> Callable[[], Any]:
    if function is not None and old is not None:
        raise TypeError(f"cond(): {name} and {old_name} may not be set simultaneously.")
    function = old if function is None else function
    if function is None:
        raise TypeError(f"cond(): {name} argument required")
    if not callable(function):
        raise TypeError(f"{name} must be callable.")
    return function


def _cond(pred: Tensor, functions: tuple[Any, Any], strict: bool, name: Any, outer: Graph) -> Any:
    full = outer.op_name(name or "cond", "cond")
    subgraphs.check_predicate(pred, f"cond {full!r}: pred")
    graphs, structures = [], []
    for function, kind, done in zip(functions, ("true", "false"), (True, False), strict=True):
        graph, structure = subgraphs.trace(
            function, (), f"{full}/{kind}", outer, done, (pred, done)
        )
        graph.outside = _seen_outside(graph) if graph.is_body else None
        if structure is None or any(item is None for item in nest.flatten(structure)):
            raise ValueError(f"cond {full!r}: {kind}_fn must have a return value.")
        graphs.append(graph)
        structures.append(structure if strict else _single(structure))
    what = f"cond {full!r}: results of true_fn and false_fn"
    nest.assert_same_structure(structures[0], structures[1], what)
    _same_index_types(graphs, structures)
    for a, b in zip(*(graph.results for graph in graphs), strict=True):
        if a.spec.dtype.base_dtype is not b.spec.dtype.base_dtype:
            raise ValueError(
                f"cond {full!r}: Outputs of true_fn and false_fn must have the same type: "
                f"{a.dtype.name}, {b.dtype.name}"
            )
    arrays = [graphs[0].arrays.get(t) for t in graphs[0].results]
    if not arrays:
        raise ValueError(f"cond {full!r}: true_fn and false_fn must return at least one result.")
    outputs = subgraphs.branched(COND, pred, graphs, full).outputs[: len(arrays)]
    return subgraphs.assemble_chunk(
        nest.pack(
            structures[0],
            [
                output if array is None else array.with_flow(output)
                for output, array in zip(outputs, arrays, strict=True)
            ],
        )
    )


def _single(result: Any) -> Any:
    return result[0] if isinstance(result, list | tuple) and len(result) == 1 else result


def _same_index_types(graphs: list[FuncGraph], structures: list[Any]) -> None:
    """Give the slices that two branches return indices of one dtype."""
    for pair in zip(*map(subgraphs.indices_in, structures), strict=True):
        if pair[0].dtype is not pair[1].dtype:
            for graph, indices in zip(graphs, pair, strict=True):
                with graph.as_default():
                    new = cast(indices, int64)
                graph.results = [new if t is indices else t for t in graph.results]


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
      default: the function taken where no predicate is true; without it the run fails.
      exclusive: fail the run where more than one predicate is true; otherwise the first counts.
      strict: see `cond`.
      name: name of the operation.

    Returns:
      The results of that function, in their structure, of the dtypes that all of them share; a
      dimension in which their shapes differ is not known.

    Raises:
      TypeError: something in `pred_fn_pairs` is no pair of a predicate and a function.
      ValueError: there are neither pairs nor a default.
      InvalidArgumentError: (when run) none is true and there is no default; or several are, with
        `exclusive`.

    >>> x = dv.constant(3.0)
    >>> float(case([(x < 2.0, lambda: x)], default=lambda: x * 10.0))
    30.0
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case takes pairs of a predicate and a function, got {pair!r}")
    if default is None:
        if not pairs:
            raise ValueError("case needs at least one pair")
        default = _last_of(pairs, name)
    if exclusive and len(pairs) > 1:
        pairs = _exclusive(pairs)
    result = default
    for pred, function in reversed(pairs):
        result = _chosen(pred, function, result, strict, name)
    return result()


def _last_of(pairs: list[tuple[Any, Any]], name: str) -> Callable[[], Any]:
    """Return the function of the last pair, which fails unless one of the predicates is true."""

    def checked() -> Any:
        preds = stack([convert_to_tensor(pred) for pred, _ in pairs])
        message = f"Input error: None of the conditions of {name!r} evaluated as True:"
        with control_dependencies([Assert(reduce_any(preds), [message, preds])]):
            results = subgraphs.taken_apart(pairs[-1][1]())
            return subgraphs.assemble_chunk(nest.map_structure(_again, results))

    return checked


def _again(item: Any) -> Any:
    """Return the same value, to be had after the control dependencies of this moment."""
    if item is None or isinstance(item, Operation):
        return item
    return item.identity() if isinstance(item, TensorArray) else identity(item)


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
    branch_index: TensorLike,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return what the function of a number gives.

    Args:
      branch_index: scalar int32 tensor.
      branch_fns: a list of functions, or a dict or pairs of numbers and functions.
      default: the function of all other numbers; without it that of the greatest.
      name: name of the operation.

    Returns:
      The results of that function, in their structure, of the dtypes that all of them share; a
      dimension in which their shapes differ is not known.

    Raises:
      TypeError: `branch_fns` holds something else, or no function.
      ValueError: its numbers are not 0, 1, 2 and so on, each once.

    Source: TensorFlow 1.15, ``tf.switch_case``.

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
    if not all(isinstance(number, int) for number, _ in pairs):
        raise TypeError(f"the number of a branch must be a Python `int`, got {branch_fns!r}")
    pairs.sort(key=lambda pair: pair[0])
    if [number for number, _ in pairs] != list(range(len(pairs))):
        raise ValueError(
            f"branch indices must form contiguous [0 to {len(pairs)}), each once, but found "
            f"{[number for number, _ in pairs]}"
        )
    index = convert_to_tensor(branch_index, name="branch_index")
    if default is None:
        default = pairs.pop()[1]
    return case([(equal(index, number), fn) for number, fn in pairs], default, name=name)
