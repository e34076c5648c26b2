"""arg_scope: defaults of functions' arguments, for a block of code."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
Scope = dict[str, dict[str, Any]]


class _Scopes(threading.local):
    """The scopes that a thread has opened, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Scope] = [{}]


_scopes = _Scopes()
_arguments: dict[str, tuple[str, ...]] = {}  # of functions that take part, those with defaults


def arg_scope_func_key(op: Any) -> str:
    """Return what a function is known by in scopes."""
    return getattr(op, "_key_op", str(op))


def current_arg_scope() -> Scope:
    """Return the arguments that are set now, by function."""
    return _scopes.stack[-1]


def has_arg_scope(func: Any) -> bool:
    """Return whether a function takes arguments from scopes."""
    return arg_scope_func_key(func) in _arguments


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the names of the arguments of `func` that have defaults, which scopes may set.

    Raises:
      ValueError: it takes none from scopes.
    """
    _check(func)
    return _arguments[arg_scope_func_key(func)]


def add_arg_scope(func: _Function) -> _Function:
    """Return `func` such that `arg_scope` can set its arguments.

    >>> @add_arg_scope
    ... def power(x, exponent=1):
    ...     return x ** exponent
    >>> with arg_scope([power], exponent=2):
    ...     power(3), power(3, exponent=3)
    (9, 27)
    """
    key = arg_scope_func_key(func)
    parameters = inspect.signature(func).parameters.values()
    _arguments[key] = tuple(p.name for p in parameters if p.default is not p.empty)

    @functools.wraps(func)
    def with_scope(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    with_scope._key_op = key  # type: ignore[attr-defined]
    return with_scope  # type: ignore[return-value]


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Any] | Mapping[str, Any], **kwargs: Any) -> Iterator[Any]:
    """Set arguments of functions in a block; what a call gives itself counts more.

    Args:
      list_ops_or_scope: functions that take part (`add_arg_scope`), or a scope that was opened
        before, what ``as`` gave, which takes the place of the present one.
      **kwargs: the arguments. Inner scopes add to those of outer ones.

    Raises:
      TypeError: `list_ops_or_scope` is neither.
      ValueError: a function does not take part, or a scope is given along with arguments.

    >>> slim = tf.contrib.slim
    >>> with tf.Graph().as_default():
    ...     with slim.arg_scope([slim.conv2d], padding="VALID", activation_fn=None):
    ...         slim.conv2d(tf.ones([1, 5, 5, 3]), 4, [3, 3]).shape.as_list()
    [1, 3, 3, 4]
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by supplying a dictionary, kwargs must be "
                f"empty: {sorted(kwargs)}."
            )
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, list | tuple):
        scope = dict(current_arg_scope())
        for op in list_ops_or_scope:
            _check(op)
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    else:
        raise TypeError(
            "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), got "
            f"{list_ops_or_scope!r}"
        )
    _scopes.stack.append(scope)
    try:
        yield scope
    finally:
        _scopes.stack.pop()


def _check(op: Any) -> None:
    if not has_arg_scope(op):
        name = getattr(op, "__module__", ""), getattr(op, "__name__", repr(op))
        raise ValueError(f"{name} is not decorated with @add_arg_scope")
