"""Initial values: made under the variable's name, and safe to compute in any order.

An initial value may be an expression of other variables, which have no value yet when everything
is initialized at once. Such an expression is rebuilt on the variables' *initialized values*: the
value a variable has, or else its own initial value, the very tensor that its initializer assigns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.patterns import Effect
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.control.cond import cond
from daskvars.ops.control.subgraphs import PARAMETER, copy_body, is_repeatable
from daskvars.ops.state.assign import READ, is_variable_initialized, read_variable
from daskvars.variables.colocation import building_in, place


def made_by_function(
    builder: Any, name: str, function: Callable[[], Any], dtype: DTypeLike
) -> Tensor:
    """Return what `function` makes, its ops under ``<name>/Initializer/``.

    In a graph they are placed later, with the variable: see `place_initial_value`.
    """
    with builder.name_scope(builder.claim(f"{name}/Initializer") + "/"):
        if builder.is_eager or not builder.places_ops:
            value = function()
        else:
            with builder.device(None):
                value = function()
        if type(value) is Tensor and value.spec.dtype is dtype:
            return value
        return convert_to_tensor(value, dtype, "initial_value")


def made_of_value(builder: Any, name: str, value: TensorLike, dtype: DTypeLike) -> Tensor:
    """Return `value` as a tensor, a constant ``<name>/initial_value`` if it is data.

    Raises:
      ValueError: it is computed in a body, and cannot be around it.
    """
    if isinstance(value, Tensor):
        if isinstance(value.graph, FuncGraph):
            value = _lifted(builder, name, value)
        return convert_to_tensor(value, dtype)
    return convert_to_tensor(value, dtype, builder.claim(f"{name}/initial_value") + "/")


def _lifted(builder: Any, name: str, value: Tensor) -> Tensor:
    """Return what a body computes, computed in the eager program around it, as TensorFlow 2 does.
    An argument of a function is what the call in which the variable is made gives. Raises
    ValueError in a graph, and where it depends on a variable, which the body may change, or on what
    a branch or loop is given."""
    body: Any = value.graph
    ops, _ = _ancestors(value)
    given = [*((inner, outer) for outer, inner in body.captures.items()), *body.arguments.items()]
    around = {inner.op: outer for inner, outer in given if inner.op in ops}
    own = [op for op in ops if op not in around]
    if not builder.is_eager or any(op.opdef is PARAMETER or not is_repeatable(op) for op in own):
        raise ValueError(
            f"Initializer for variable {name} is from inside a control-flow construct, such as a "
            "function, a loop or a conditional. When creating a variable there, use a lambda as "
            "the initializer."
        )
    outer = [
        _lifted(builder, name, t)
        if isinstance(t, Tensor) and isinstance(t.graph, FuncGraph)
        else convert_to_tensor(t)
        for t in around.values()
    ]
    inner = [op.outputs[0] for op in around]
    return copy_body(body, outer, inner, effects=True, results=[value])[0]


def value_or_initial(handle: Tensor, initial_value: Tensor) -> Tensor:
    """Return the value of a variable, or the initial one where it has none yet."""
    with building_in(handle.graph):
        value = cond(
            is_variable_initialized(handle),
            lambda: read_variable(handle, "read"),
            lambda: initial_value,
        )
    place(value.op, handle.op.device)
    return value


def place_initial_value(made: Sequence[Operation], name: str, device: str) -> None:
    """Put ops made by an initial value's function where the variable is: its group, its device.

    Args:
      made: the operations of the graph since the function was called.
    """
    prefix, group = f"{name}/Initializer", (f"loc:@{name}",)
    for op in made:
        if op.name.startswith(prefix):  # else another thread has made it
            op.attrs.setdefault("_class", group)
            if device and not op.device:
                op._set_device(device)


def guarded(builder: Any, name: str, value: Tensor, variables: dict[Operation, Any]) -> Tensor:
    """Return `value` computed from initialized values in place of what it reads.

    Args:
      name: name of the variable that `value` is for.
      variables: the graph's variables by operation.
    """
    if not variables or not value.op.inputs:
        return value
    ancestors, reads = _ancestors(value)
    if not reads:
        return value
    replaced: dict[Tensor, Tensor] = {}
    safe: dict[Tensor, Tensor] = {}
    for handle, read in reads:
        variable = variables.get(handle.op)
        if variable is not None:
            if handle not in safe:
                safe[handle] = variable.initialized_value()
            replaced[read] = safe[handle]
    for op in sorted(ancestors, key=lambda op: op.id):
        if any(t in replaced for t in op.inputs) and not isinstance(op.opdef.pattern, Effect):
            inputs = tuple([replaced.get(t, t) for t in op.inputs])
            specs = tuple([t.spec for t in op.outputs])
            new_name = builder.claim(f"{op.name}_{name}")
            new = builder.create(
                op.opdef, inputs, dict(op.attrs), specs if op.multiple else specs[0], new_name
            )
            replaced.update(zip(op.outputs, new.outputs, strict=True))
    return replaced.get(value, value)


def _ancestors(value: Tensor) -> tuple[list[Operation], list[tuple[Tensor, Tensor]]]:
    """Return the ops that `value` is computed by, and (handle, tensor) for what they read.

    A read that waits for something (it has control inputs) was put there on purpose and is left.
    What changes a variable keeps its handle.
    """
    ops: list[Operation] = []
    reads = []
    seen = {value.op}
    stack = [value.op]
    while stack:
        op = stack.pop()
        ops.append(op)
        if op.opdef is READ and not op.control_inputs:
            reads.append((op.inputs[0], op.outputs[0]))
            continue
        is_effect = isinstance(op.opdef.pattern, Effect)
        for tensor in op.inputs:
            if tensor.spec.dtype.is_ref:
                if not is_effect:
                    reads.append((tensor, tensor))
            elif tensor.op not in seen:
                seen.add(tensor.op)
                stack.append(tensor.op)
    return ops, reads
