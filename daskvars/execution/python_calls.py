"""Python functions as operations of a graph that get eager tensors, and have gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from daskvars.dtypes import DType, as_dtype
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.tape import GradientTape
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.scopes.stacks import entered
from daskvars.graph.tensor import Operation, Tensor
from daskvars.kernels.control import flow as control_kernels
from daskvars.ops.array.constant import constant
from daskvars.ops.control.dependencies import called


def _gradient(op: Operation, *dys: Tensor | None) -> Any:
    """The function is called again, on a tape, by a function of the same kind."""
    inputs = [t for t in op.inputs if t.dtype.is_floating]
    if not inputs:
        return [None] * len(op.inputs)
    backward = partial(
        _backward,
        op.attrs["function"].args[0],
        [t.dtype.base_dtype for t in op.outputs],
        [t.dtype.is_floating for t in op.inputs],
        [dy is not None for dy in dys],
    )
    seeds = [dy for dy in dys if dy is not None]
    kinds = tuple(t.dtype.base_dtype for t in inputs)
    function = partial(_forward, backward, kinds)
    found = iter(apply(EAGER_PY_FUNC, *op.inputs, *seeds, function=function, dtypes=kinds))
    gradients = [next(found) if t.dtype.is_floating else None for t in op.inputs]
    for gradient, source in zip(gradients, op.inputs, strict=True):
        if gradient is not None:
            gradient.set_shape(source.shape)
    return gradients


EAGER_PY_FUNC = OpDef(
    "EagerPyFunc",
    "*inp:A",
    infer=called,
    pattern=Opaque(pure=False, beside=control_kernels.PYTHON_BESIDE),
    kernel=control_kernels.call_python,
    gradient=_gradient,
)


def _results(func: Callable[..., Any], arguments: Sequence[Any], kinds: Sequence[DType]) -> list:
    """Call a function of tensors; its results are converted to the dtypes declared."""
    found = func(*arguments)
    found = [] if found is None else found if isinstance(found, list | tuple) else [found]
    if len(found) != len(kinds):
        raise ValueError(
            f"py_function returned {len(found)} values, but {len(kinds)} were declared in Tout"
        )
    return [convert_to_tensor(r, kind) for r, kind in zip(found, kinds, strict=True)]


def _forward(func: Callable[..., Any], kinds: Sequence[DType], *arrays: Any) -> list:
    with entered(EAGER_CONTEXT):
        results = _results(func, [constant(array) for array in arrays], kinds)
        return [numpy.asarray(result.numpy()) for result in results]


def _backward(
    func: Callable[..., Any],
    kinds: Sequence[DType],
    floating: Sequence[bool],
    used: Sequence[bool],
    *given: Tensor,
) -> list:
    """Give the gradients of the floating inputs; last are given those of the results used."""
    sources, seeds = given[: len(floating)], given[len(floating) :]
    wanted = [s for s, is_floating in zip(sources, floating, strict=True) if is_floating]
    with GradientTape() as tape:
        results = _results(func, sources, kinds)
    results = [result for result, is_used in zip(results, used, strict=True) if is_used]
    return tape.gradient(results, wanted, list(seeds), unconnected_gradients="zero")


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] = (),
    Tout: Any = (),
    name: str | None = None,
) -> Any:
    """Call a Python function of eager tensors, which may be differentiated.

    Args:
      func: takes eager tensors and returns tensors or arrays of the dtypes `Tout`. On a cluster it
        runs on a worker, where it may run more than once (after the loss of a worker).
      inp: the tensors.
      Tout: a dtype, or a list of them, of the results.
      name: name of the operation, by default "EagerPyFunc".

    Returns:
      A tensor of unknown shape, or a list of them (an Operation when `Tout` is empty).

    Raises:
      ValueError: `func` is not given.

    Source: TensorFlow 1.15, ``tf.py_function``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1.0, 2.0])
    ...     y = tf.py_function(lambda a: a * a, [x], tf.float32)
    ...     dx = tf.gradients(y, x)[0]
    ...     sess.run([y, dx])
    [array([1., 4.], dtype=float32), array([2., 4.], dtype=float32)]
    """
    if func is None:
        raise ValueError("py_function needs a function to call: pass func")
    single = not isinstance(Tout, list | tuple)
    kinds = tuple(as_dtype(t) for t in ([Tout] if single else Tout))
    if builder_for(tuple(inp)).is_eager:
        results = _results(func, [convert_to_tensor(value) for value in inp], kinds)
        return results[0] if single else results
    op = apply_op(
        EAGER_PY_FUNC, *inp, name=name, function=partial(_forward, func, kinds), dtypes=kinds
    )
    if single:
        return op.outputs[0]
    return list(op.outputs) if kinds else op
