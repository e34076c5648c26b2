"""Branches by a predicate that may be known when the graph is built: then only one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.control.cond import cond


def smart_constant_value(pred: TensorLike) -> bool | None:
    """Return a predicate's value where it is known, and None where a run decides.

    Args:
      pred: [] bool, a bool, 0 or 1.

    Raises:
      TypeError: it is none of these.

    Source: TensorFlow 1.15, ``tf.contrib.framework.smart_constant_value``.

    >>> with tf.Graph().as_default():
    ...     known, fed = tf.constant(True), tf.placeholder(tf.bool, [])
    ...     [tf.contrib.framework.smart_constant_value(p) for p in (known, fed, 0)]
    [True, None, False]
    """
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if not isinstance(pred, bool | int) or pred not in (0, 1):
        raise TypeError(
            f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}"
        )
    return bool(pred)


def smart_cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return what one of two functions gives: the one that is known, or by `tf.cond`.

    Args:
      pred: [] bool, a bool, 0 or 1.
      true_fn: what is called where it is true.
      false_fn: what is called where it is false.
      name: name of the `tf.cond`.

    Raises:
      TypeError: the predicate is none, or one of both is no function.

    Source: TensorFlow 1.15, ``tf.contrib.framework.smart_cond``.

    >>> tf.contrib.framework.smart_cond(True, lambda: "yes", lambda: "no")
    'yes'
    """
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"`{argument}` must be callable.")
    known = smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()  # type: ignore[misc]
