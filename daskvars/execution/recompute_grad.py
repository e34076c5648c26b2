"""`recompute_grad`: a function that is computed a second time where its gradient is needed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from daskvars.execution.tape import GradientTape
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.reshaping import optimization_barrier
from daskvars.ops.control.custom_gradient import custom_gradient
from daskvars.ops.control.dependencies import control_dependencies


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with a gradient that computes `f` again, instead of keeping what lies within.

    Args:
      f: a function of tensors that returns a tensor or a nest of them; it may read variables.

    Source: TensorFlow 1.15, ``tf.recompute_grad``.

    >>> cube = dv.recompute_grad(lambda x: x * x * x)
    >>> x = dv.constant(2.0)
    >>> with dv.GradientTape() as tape:
    ...     y = cube(x)
    >>> float(tape.gradient(y, x))
    12.0
    """

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        function = functools.partial(f, **kwargs)
        return custom_gradient(lambda *tensors: _with_gradient(function, tensors))(*args)

    return recomputed


def _with_gradient(function: Callable[..., Any], args: tuple[Tensor, ...]) -> tuple[Any, Any]:
    """Return the results of `function`, and the gradient that begins by calling it again."""

    def gradient(*dys: Any, variables: Any = ()) -> Any:
        with GradientTape() as tape, control_dependencies(dys):
            tape.watch(variables)
            inputs = [
                optimization_barrier(arg) for arg in args
            ]  # variables get none of their gradients
            results = function(*inputs)
        found = tape.gradient(results, [*inputs, *variables], output_gradients=list(dys))
        of_arguments, of_variables = found[: len(args)], found[len(args) :]
        return (of_arguments, of_variables) if variables else of_arguments

    return function(*args), gradient
