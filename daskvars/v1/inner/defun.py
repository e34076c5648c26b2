"""`Defun`: functions of tensors with a gradient of their own, of TensorFlow's inner modules."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.default_graph import in_graph_of_inputs
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.control.custom_gradient import custom_gradient

__all__ = ["Defun"]


@dataclass(frozen=True)
class _Call:
    """What a gradient function in Python is told of a call, as of an operation."""

    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]


class Defun:
    """Makes a function of tensors one that may be given a gradient, by one of two functions.

    The function's operations are made where it is called, each time; TensorFlow makes them once.

    Args:
      *input_types: the dtypes of its arguments; without any they are those of what it is given.
      func_name: the name scope of its operations, by default its own name.
      grad_func: a function of the arguments and the gradients of the results that returns the
        gradients of the arguments.
      python_grad_func: likewise, a function of the call, with ``inputs`` and ``outputs``, and the
        gradients of the results. It is used where both are given.
      out_names, shape_func, **attributes: accepted and not used: names of outputs, their shapes,
        which are inferred, and what tells TensorFlow how to keep and to compile a function.

    Source: TensorFlow 1.15, ``tensorflow.python.framework.function.Defun``.

    >>> from daskvars.v1.python.framework import function
    >>> @function.Defun(tf.float32, python_grad_func=lambda op, dy: tf.clip_by_value(dy, -1., 1.))
    ... def clipped(x):
    ...     return tf.identity(x)
    >>> x = tf.constant(3.0)
    >>> with tf.Session() as sess:
    ...     print(sess.run(tf.gradients(clipped(x) * 5.0, x)))
    [np.float32(1.0)]
    """

    def __init__(
        self,
        *input_types: DTypeLike,
        func_name: str | None = None,
        grad_func: Callable[..., Any] | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[..., Any] | None = None,
        **attributes: Any,
    ) -> None:
        self._types = input_types
        self._name = func_name
        self._of_tensors = grad_func
        self._of_call = python_grad_func

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes the tensors, and ``name``, the name scope of a call.

        It returns a tensor, or a tuple of several.
        """

        scope = self._name or re.sub(r"\W", "", func.__name__).lstrip("_") or "Defun"

        @functools.wraps(func)
        def defined(*args: TensorLike, name: str | None = None) -> Any:
            with name_scope(name, scope):
                tensors = self._converted(args, func.__name__)
                has_gradient = self._of_call is not None or self._of_tensors is not None
                called = custom_gradient(self._with_gradient(func)) if has_gradient else func
                results = nest.flatten(called(*tensors))
            return results[0] if len(results) == 1 else tuple(results)

        return in_graph_of_inputs(defined)

    def _converted(self, args: Sequence[TensorLike], name: str) -> list[Tensor]:
        if not self._types:
            return list(map(convert_to_tensor, args))
        if len(args) != len(self._types):
            raise ValueError(
                f"Expected number of arguments: {len(self._types)}, received: {len(args)} ({name})"
            )
        return [convert_to_tensor(x, t) for x, t in zip(args, self._types, strict=True)]

    def _with_gradient(self, func: Callable[..., Any]) -> Callable[..., Any]:
        def called(*inputs: Tensor) -> tuple[Any, Callable[..., Any]]:
            outputs = func(*inputs)

            def gradient(*dys: Tensor, variables: Sequence[Any] = ()) -> Any:
                found = self._gradient(_Call(inputs, nest.flatten(outputs)), dys)
                return (found, [None] * len(variables)) if variables else found

            return outputs, gradient

        return called

    def _gradient(self, call: _Call, dys: Sequence[Tensor]) -> Any:
        if self._of_call is not None:
            return self._of_call(call, *dys)
        assert self._of_tensors is not None
        return self._of_tensors(*call.inputs, *dys)
