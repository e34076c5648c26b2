"""The one interception point: "apply this op to these inputs".

`apply` converts the inputs, checks them against the op's signature, infers shapes and dtypes, and
hands the result to whatever records ops at the moment: the body of a function that was entered,
the graph of the inputs, the graph that was entered, or else the eager program, whose recorder
registers itself here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

from daskvars.dtypes import check_keeps_values
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Argument, OpDef, Spec, registered
from daskvars.graph.definitions.patterns import Effect, Pattern
from daskvars.graph.definitions.static_values import as_attr, constant_value, partial_value
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Operation, Tensor
from daskvars.shapes import Shape, in_brackets
from daskvars.surface.loading import load_until

_eager: list[Any] = []
_spec_of = operator.attrgetter("spec")


def register_eager(recorder: Any) -> None:
    """Record ops that belong to no graph with `recorder` (one method, `create`)."""
    _eager[:] = [recorder]


def builder_for(inputs: tuple[Any, ...]) -> Any:
    """Return what an op with these inputs is recorded into."""
    builders = scopes.stacks.builders  # not by `current_builder`: every op asks several times
    builder = builders[-1] if builders else None
    if builder is not None and not builder.is_plain:
        return builder
    for value in inputs:
        graph = value.op.graph if type(value) is Tensor else graph_of(value)
        while graph is not None and graph.is_body:
            graph = graph.outer  # what a finished body holds cannot be used, says `capture`
        if graph is not None and graph.is_plain:
            return graph
    if builder is None:
        if not _eager:
            load_until(lambda: _eager)
        return _eager[0]
    return builder


def graph_of(value: Any) -> Any:
    """Return the graph that a value is in; that of a program's own class may be of another kind."""
    graph = getattr(value, "graph", None)
    return graph if hasattr(graph, "is_body") else None


def apply(opdef: OpDef, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
    """Apply an op and return its output tensor, a tuple of them, or its Operation if it has none.

    Args:
      opdef: the op.
      *inputs: its inputs, anything that `convert_to_tensor` takes.
      name: the name wanted for the operation; by default the op's type.
      **attrs: its attributes. Those in ``opdef.operands`` may be tensors.

    Raises:
      TypeError: an input has a dtype that the op does not take.
      ValueError: shapes do not fit, or inputs are from different graphs.
    """
    op = _applied(opdef, inputs, name, attrs)
    outputs = op.outputs
    if op.multiple:
        return outputs if outputs else op
    return outputs[0]


def apply_op(opdef: OpDef, *inputs: Any, name: str | None = None, **attrs: Any) -> Operation:
    """Apply an op and return its Operation. See `apply`."""
    return _applied(opdef, inputs, name, attrs)


def _applied(
    opdef: OpDef, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Operation:
    builder = builder_for(inputs)
    full_name = builder.op_name(name, opdef.type)
    tensors = inputs
    for value in inputs:
        if type(value) is not builder.tensor_class:
            with scopes.entered(builder):
                tensors = _converted(opdef, inputs, builder, full_name)
            break
    for attribute in opdef.operands:
        if _is_symbolic(attrs.get(attribute)):
            with scopes.entered(builder):
                tensors = _bind_operands(opdef, tensors, attrs, builder)
            break
    graph = builder.graph
    for tensor in tensors:
        if tensor.op.graph is not graph:
            tensors = tuple([t if t.op.graph is graph else builder.capture(t) for t in tensors])
            break
    if not opdef.takes_anything:
        operands = attrs.get("operands")
        check_types(opdef, tensors[: -len(operands)] if operands else tensors, full_name)
    try:
        specs = opdef.infer(given_specs(opdef, tensors), **attrs)
    except ValueError as error:
        raise ValueError(
            shape_problem(
                error, full_name, opdef, [t.spec.shape for t in tensors], changed_key(tensors)
            )
        ) from None
    if opdef.operands:
        _check_sizes(opdef, specs, full_name)
    return builder.create(opdef, tensors, attrs, specs, full_name)


def _check_sizes(opdef: OpDef, specs: Spec | Sequence[Spec], name: str) -> None:
    """Refuse sizes that no kernel takes: negative ones, and those with a fraction, be it 0 as in
    ``6 / 2`` of Python 3."""
    for spec in (specs,) if isinstance(specs, Spec) else specs:
        for size in spec.shape or ():
            if type(size) is float:
                raise TypeError(
                    f"Sizes must be int32 or int64, but are {in_brackets(spec.shape)} for {name!r} "
                    f"(op: {opdef.type!r}). Divide them with // in Python 3."
                )
            if size is not None and size < 0:
                raise ValueError(
                    f"Sizes must be >= 0, but are {in_brackets(spec.shape)} for {name!r} "
                    f"(op: {opdef.type!r})."
                )


def given_specs(opdef: OpDef, tensors: Sequence[Tensor]) -> tuple[Spec, ...]:
    """Return the specs of an op's inputs: to all but effects a variable's handle is its value."""
    specs = tuple(map(_spec_of, tensors))
    if isinstance(opdef.pattern, Effect):
        return specs
    for spec in specs:
        if spec.dtype is not None and spec.dtype.is_ref:
            return tuple([Spec(s.dtype and s.dtype.base_dtype, s.shape) for s in specs])
    return specs


def changed_key(tensors: Sequence[Tensor]) -> str:
    """Return the key of the variable that an op is to change, "" if there is none."""
    return tensors[0].op.attrs.get("key", "") if tensors and tensors[0].spec.dtype.is_ref else ""


def shape_problem(
    error: Exception, name: str, opdef: OpDef, given: Sequence[Shape], key: str = ""
) -> str:
    """Return the text of an `infer` that failed, with the operation named as TensorFlow does."""
    problem, _, more = str(error).partition(". ")
    inputs = f" with input shapes: {', '.join(map(in_brackets, given))}" if given else ""
    return (
        f"{problem.rstrip('.')} for '{name}' (op: '{opdef.type}'){inputs}"
        f"{key and f', of which the first is variable {key!r}'}." + (more and f" {more}")
    )


def _converted(
    opdef: OpDef, inputs: tuple[Any, ...], builder: Any, name: str
) -> tuple[Tensor, ...]:
    """Convert all inputs; one without a dtype of its own takes that of its type variable."""
    arguments = _arguments_of(opdef, len(inputs))
    tensors: list[Any] = [None] * len(inputs)
    dtypes: dict[str | int, Any] = {}
    for i, (argument, value) in enumerate(zip(arguments, inputs, strict=True)):
        if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
            tensors[i] = value if isinstance(value, Tensor) else convert_to_tensor(value)
            dtypes.setdefault(argument.variable or i, tensors[i].spec.dtype.base_dtype)
    for i, (argument, value) in enumerate(zip(arguments, inputs, strict=True)):
        if tensors[i] is None:
            wanted = dtypes.get(argument.variable or i)
            if wanted is None and argument.allowed is not None and len(argument.allowed) == 1:
                (wanted,) = argument.allowed
            try:
                constant = builder.claim(f"{name}/{argument.name}") + "/"
                if wanted is not None and builder.is_like_eager:  # TensorFlow 1 casts in silence
                    check_keeps_values(value, wanted, constant[:-1])
                tensors[i] = convert_to_tensor(value, wanted, constant)
            except (TypeError, ValueError) as error:
                raise type(error)(
                    f"{error} (input {argument.name!r} of op {name!r}, type {opdef.type})"
                ) from None
            dtypes.setdefault(argument.variable or i, tensors[i].spec.dtype.base_dtype)
    return tuple(tensors)


def _arguments_of(opdef: OpDef, count: int) -> tuple[Any, ...]:
    arguments = opdef.arguments
    if arguments and arguments[-1].many:
        arguments = arguments[:-1] + arguments[-1:] * (count - len(arguments) + 1)
    if len(arguments) != count:
        names = ", ".join(argument.name for argument in opdef.arguments)
        raise TypeError(f"{opdef.type} takes {len(arguments)} inputs ({names}), got {count}")
    return arguments


def check_types(opdef: OpDef, tensors: Sequence[Tensor], op_name: str = "") -> None:
    """Raise TypeError unless an op takes these inputs."""
    bound: dict[str, Any] = {}
    arguments: Iterable[Argument] = opdef.arguments
    if opdef.arguments and opdef.arguments[-1].many:
        arguments = chain(opdef.arguments, repeat(opdef.arguments[-1]))
    # Tensors beyond those declared are given for attributes; where the last argument repeats, the
    # caller has taken them away.
    for (name, variable, allowed, _), tensor in zip(arguments, tensors, strict=False):
        dtype = tensor.spec.dtype.base_dtype
        other = bound.setdefault(variable, dtype) if variable else dtype
        if other is not dtype:
            first = next(a.name for a in opdef.arguments if a.variable == variable)
            key = changed_key(tensors)
            raise TypeError(
                f"Input {name!r} of {opdef.type!r} Op has type {dtype.name} that does "
                f"not match type {other.name} of argument {first!r}"
                f"{op_name and f' (operation {op_name!r}'}{key and f' on variable {key!r}'}"
                f"{op_name and ')'}. Use cast()."
            )
        if allowed is not None and dtype not in allowed:
            names = ", ".join(sorted(d.name for d in allowed))
            raise TypeError(
                f"Value passed to parameter {name!r} of {opdef.type!r} has DataType "
                f"{dtype.name} not in list of allowed values: {names}"
                f"{op_name and f' (operation {op_name!r})'}. Use cast()."
            )


def _bind_operands(
    opdef: OpDef, tensors: tuple[Tensor, ...], attrs: dict[str, Any], builder: Any
) -> tuple[Tensor, ...]:
    """Turn attributes given as tensors into plain data, or into trailing inputs if unknown.

    Returns:
      All inputs.
    """
    dynamic, trailing = [], []
    for attribute in opdef.operands:
        value = attrs.get(attribute)
        if not _is_symbolic(value):
            continue
        tensor = convert_to_tensor(value)
        known = constant_value(tensor)
        if known is not None:
            attrs[attribute] = as_attr(known)
            if not builder.is_eager:
                _prevent_feeding(tensor)
        else:
            trailing.append(tensor)
            attrs[attribute] = partial_value(tensor)
            dynamic.append(attribute)
    if dynamic:
        attrs["operands"] = tuple(dynamic)
    return (*tensors, *trailing)


def _prevent_feeding(tensor: Tensor) -> None:
    """Have no run feed what became plain data, nor the numbers it was computed from."""
    stack, seen = [tensor], {tensor}
    while stack:
        tensor = stack.pop()
        if tensor.spec.dtype.is_integer and constant_value(tensor) is not None:
            tensor.op.graph.prevent_feeding(tensor)
            stack.extend(t for t in tensor.op.inputs if t not in seen)
            seen.update(tensor.op.inputs)


def _is_symbolic(value: Any) -> bool:
    if type(value) in _PLAIN:
        return False
    if isinstance(value, _SEQUENCES):
        for item in value:  # noqa: SIM110 - a generator costs more than what it goes through
            if type(item) not in _PLAIN and _is_symbolic(item):
                return True
        return False
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


_PLAIN = frozenset({int, float, bool, str, type(None)})
_SEQUENCES = (list, tuple)  # a union would be made anew at each call


def register_op(
    type: str,
    signature: str,
    *,
    infer: Callable[..., Any],
    pattern: Pattern,
    kernel: Any,
    gradient: Any,
    **rules: Any,
) -> Callable[..., Any]:
    """Define an op of your own and return its function.

    The arguments are those of `OpDef`; every op of the library is defined in the same way, so
    yours is chunked, fused, differentiated, placed and shown like one of them. On a cluster the
    kernel must be importable on the workers (or picklable by value, as a function of ``__main__``).

    Args:
      type: name of the op.
      signature, infer, pattern, kernel, gradient: as of `OpDef`.
      **rules: what else that takes.

    Returns:
      ``function(*inputs, name=None, **attrs)``.

    Raises:
      ValueError: an op of that type exists.
      InvalidArgumentError: (in the first run of a plan) the kernel gives another dtype or shape
        than `infer` says.

    >>> from daskvars.graph.definitions.patterns import Elementwise
    >>> def cube(xp, x):
    ...     return x * x * x
    >>> cubed = dv.register_op(
    ...     "Cube", "x:F", infer=lambda inputs: inputs[0], pattern=Elementwise(), kernel=cube,
    ...     gradient=lambda op, dy: 3.0 * dv.square(op.inputs[0]) * dy)
    >>> float(cubed(dv.constant(2.0)))
    8.0
    """
    if registered(type) is not None:
        raise ValueError(f"op {type!r} is already registered; choose another type name")
    rules.setdefault("trusted", False)
    rules.setdefault("attributes", {})  # what the library's ops call so may be something else here
    definition = OpDef(
        type, signature, infer=infer, pattern=pattern, kernel=kernel, gradient=gradient, **rules
    )

    def function(*inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        return apply(definition, *inputs, name=name, **attrs)

    function.__name__ = function.__qualname__ = type
    return function
