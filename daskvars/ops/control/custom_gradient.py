"""`custom_gradient`: a function whose gradient another function gives.

The results pass through one operation that also takes the function's arguments and the variables
that it read. Its gradient is the function's own; what lies between is never differentiated. When
run, that operation is nothing: its outputs are its first inputs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.graph import nest
from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply_op, builder_for
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.reshaping import identity


@dataclass(frozen=True, eq=False)
class _Rule:
    """The gradient of one call of a function."""

    function: Callable[..., tuple[Any, Callable[..., Any]]]
    gradient: Callable[..., Any]
    graph: Any
    variables: Sequence[Any]

    def __call__(self, op: Operation, *dys: TensorLike) -> list[Any]:
        gradient, variables = self.gradient, self.variables
        first, last = op.attrs["num_results"], len(op.inputs) - len(variables)
        arguments = op.inputs[first:last]
        if op.graph is not self.graph:  # a copy, in a body that is computed again
            _, gradient = self.function(*arguments)
        found: Any = gradient(*dys, variables=variables) if variables else (gradient(*dys), [])
        of_arguments, of_variables = found
        if not isinstance(of_arguments, list | tuple):
            of_arguments = [of_arguments]
        if len(of_arguments) != len(arguments) or len(of_variables) != len(variables):
            raise ValueError(
                f"custom_gradient function expected to return {len(arguments)} gradients and "
                f"{len(variables)} for variables, but returned {len(of_arguments)} and "
                f"{len(of_variables)} instead ({op.name!r})"
            )
        return [None] * first + [*of_arguments] + [*of_variables]


def _results(inputs: tuple[Spec, ...], *, num_results: int, **attrs: Any) -> tuple[Spec, ...]:
    return inputs[:num_results]


CUSTOM_GRADIENT = OpDef(
    "CustomGradient",
    "*inputs:A",
    infer=_results,
    pattern=Opaque(),
    kernel=None,
    gradient=lambda op, *dys: op.attrs["_rule"](op, *dys),
)


def custom_gradient(f: Callable[..., tuple[Any, Callable[..., Any]]]) -> Callable[..., Any]:
    """Return `f` without its second result, which becomes the gradient of the first.

    Args:
      f: a function of tensors that returns (results, gradient): a tensor or list of them, and a
        function of the results' gradients that returns those of the arguments. Where `f` reads
        variables, the gradient function also takes ``variables``, a list of them, and returns
        (gradients of the arguments, gradients of the variables).

    Raises:
      TypeError: (when called) `f` returns something else, or reads variables and its gradient
        function does not take them.

    Source: TensorFlow 1.15, ``tf.custom_gradient``.

    >>> @dv.custom_gradient
    ... def clipped(x):
    ...     return dv.identity(x), lambda dy: dv.clip_by_value(dy, -1.0, 1.0)
    >>> x = dv.constant(3.0)
    >>> with dv.GradientTape() as tape:
    ...     y = clipped(x) * 5.0
    >>> float(tape.gradient(y, x))
    1.0
    """

    @functools.wraps(f)
    def decorated(*args: TensorLike, **kwargs: Any) -> Any:
        return _call(functools.wraps(f)(lambda *tensors: f(*tensors, **kwargs)), args)

    return decorated


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with the gradient of the identity: each argument receives that of its result.

    Args:
      f: a function of tensors that returns as many results, of the same shapes; variables that it
        reads receive no gradient.

    Source: TensorFlow 1.15, ``tf.grad_pass_through``.

    >>> x = dv.constant(2.6)
    >>> with dv.GradientTape() as tape:
    ...     y = dv.grad_pass_through(dv.round)(x) * 4.0
    >>> float(y), float(tape.gradient(y, x))
    (12.0, 4.0)
    """

    def gradient(*dys: TensorLike, variables: Any = ()) -> Any:
        return (dys, [None] * len(variables)) if variables else dys

    @functools.wraps(f)
    def passing(*args: TensorLike, **kwargs: Any) -> Any:
        return custom_gradient(lambda *tensors: (f(*tensors, **kwargs), gradient))(*args)

    return passing


def _call(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    arguments = [identity(convert_to_tensor(arg)) for arg in args]
    found = function(*arguments)
    if not isinstance(found, tuple | list) or len(found) != 2 or not callable(found[1]):
        raise TypeError(
            "a function under @custom_gradient returns (results, gradient), of which the second is "
            f"a function of the results' gradients; {getattr(function, '__name__', function)} "
            f"returned {found!r}"
        )
    structure, gradient = found
    results = [convert_to_tensor(t) for t in nest.flatten(structure)]
    reads = _variables_read(results, arguments)
    parameters = inspect.signature(gradient).parameters.values()
    takes = any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)
    if reads and not takes:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must "
            f"accept a 'variables' keyword argument; {getattr(function, '__name__', function)} "
            f"reads {', '.join(sorted(t.op.inputs[0].op.name for t in reads))}."
        )
    graph = builder_for(tuple(results)).graph
    known = graph.notes.get("variables_by_op", {}) if graph is not None else {}
    variables = [known.get(t.op.inputs[0].op, t.op.inputs[0]) for t in reads]
    rule = _Rule(function, gradient, graph, variables)
    op = apply_op(
        CUSTOM_GRADIENT, *results, *arguments, *reads, num_results=len(results), _rule=rule
    )
    return nest.pack(structure, list(op.outputs))


def _variables_read(results: list[Tensor], arguments: list[Tensor]) -> list[Tensor]:
    """Return a read of each variable that the function did to get from arguments to results.

    A tensor that was there before the function began is given, whatever it was made of.
    """
    found: dict[Operation, Tensor] = {}
    began = min((t.op.id for t in arguments), default=-1)
    seen = ByIdentity([(t, True) for t in arguments])
    stack = list(results)
    while stack:
        tensor = stack.pop()
        if tensor in seen:
            continue
        seen[tensor] = True
        inputs = tensor.op.inputs
        if inputs and inputs[0].spec.dtype.is_ref:
            found.setdefault(inputs[0].op, tensor)
        if tensor.op.id >= began:
            stack.extend(inputs)
    return list(found.values())
