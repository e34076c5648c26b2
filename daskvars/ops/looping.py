"""Loops: `while_loop` and its gradient, which runs the body backward over its history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import shapes
from daskvars.dtypes import variant
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.opdef import OpDef, Spec
from daskvars.graph.operation import Operation
from daskvars.graph.patterns import Opaque
from daskvars.graph.tensor import Tensor
from daskvars.kernels import control_kernels
from daskvars.ops.branching import (
    captures_of,
    copy_body,
    differentiate,
    is_differentiable,
    merged_specs,
    positions_in,
    trace,
    zeros_for,
)
from daskvars.ops.reshaping import stop_gradient
from daskvars.ops.tensor_array import TensorArray


def _while_gradient(op: Operation, *dys: Any) -> list[Any]:
    count = op.attrs["num_vars"]
    inputs = op.inputs
    grads = [i for i in range(count) if is_differentiable(inputs[i])]
    sums = [i for i in range(count, len(inputs)) if is_differentiable(inputs[i])]
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
        found = differentiate(ys, xs, list(dvars))
        return [
            zeros_for(x) if d is None else convert_to_tensor(d)
            for x, d in zip(xs, found, strict=True)
        ]

    start = [zeros_for(inputs[i]) if dys[i] is None else dys[i] for i in grads]
    zeros = [zeros_for(inputs[i]) for i in sums]
    specs = [op.outputs[count].spec, *(t.spec for t in start)]
    graph, _ = trace(backward, specs, outer.op_name("while_grad", "while_grad"), outer)
    captured = list(graph.captures)
    positions = positions_in(graph, 1 + len(grads) + len(sums), captured)
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
    "While", "*loop_vars:A", infer=merged_specs, pattern=Opaque(branches=True),
    kernel=control_kernels.while_loop, gradient=_while_gradient,
)  # fmt: skip
WHILE_GRADIENT = OpDef(
    "WhileGradient", "history:A, *inputs:A", infer=merged_specs, pattern=Opaque(branches=True),
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
      back_prop: False takes the results as constants in gradients.
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
    if not back_prop:
        results = nest.map_structure(
            lambda t: stop_gradient(t) if isinstance(t, Tensor) else t, results
        )
    return results if return_same_structure or len(loop_vars) != 1 else results[0]


def _eager_loop(cond: Any, body: Any, loop_vars: Any, maximum: Any, same: bool) -> Any:
    def value(item: Any) -> Any:
        return item if isinstance(item, TensorArray) else convert_to_tensor(item)

    values = nest.map_structure(value, loop_vars)
    iteration = 0
    while (maximum is None or iteration < maximum) and bool(cond(*values)):
        results = body(*values)
        values = results if isinstance(results, list | tuple) else [results]
        values = nest.map_structure(value, values)
        iteration += 1
    return values if same or len(values) != 1 else values[0]


def _while(
    cond: Any, body: Any, loop_vars: Any, invariants: Any, name: Any, maximum: Any, outer: Graph
):
    full = outer.op_name(name or "while", "while")
    leaves = nest.flatten(loop_vars)
    start = [convert_to_tensor(leaf) for leaf in leaves]

    def packed(tensors: Any) -> Any:
        """Return values of the loop variables in their structure, lists as TensorArrays."""
        return nest.pack(loop_vars, [
            leaf.with_flow(t) if isinstance(leaf, TensorArray) else t
            for leaf, t in zip(leaves, tensors, strict=True)
        ])  # fmt: skip

    specs = [Spec(t.spec.dtype.base_dtype, t.spec.shape) for t in start]
    if invariants is not None:
        given = [shapes.as_tuple(s) for s in _flatten_shapes(invariants, len(specs))]
        specs = [
            s if s.dtype is variant else Spec(s.dtype, shape)
            for s, shape in zip(specs, given, strict=True)
        ]
    test, _ = trace(lambda *v: cond(*packed(v)), specs, f"{full}/cond", outer)

    def step(*values: Any) -> Any:
        results = body(*packed(values))
        return results if isinstance(results, list | tuple) else [results]

    loop, results = trace(step, specs, f"{full}/body", outer)
    _check_results(full, loop_vars, results, specs, loop.results)
    captured = captures_of((test, loop))
    count = len(start)
    op = apply_op(
        WHILE, *start, *captured, name=full + "/", branches=(test, loop), num_vars=count,
        positions=tuple(positions_in(g, count, captured) for g in (test, loop)),
        maximum=maximum if maximum is None else int(maximum), _specs=(*specs, Spec(variant, ())),
    )  # fmt: skip
    return packed(op.outputs[:count])


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
                f"loop {name!r}: variable {i} enters with shape {shapes.TensorShape(spec.shape)} "
                f"and leaves the body with {shapes.TensorShape(new.spec.shape)}. Give "
                "shape_invariants."
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


