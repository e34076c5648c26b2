"""What TensorFlow's inner modules tell of functions, and how they decorate them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["fn_args", "get_func_name", "getargspec", "has_kwargs", "make_decorator", "unwrap"]


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments, without those that are bound.

    Args:
      fn: a function, a method, a `functools.partial`, or what has ``__call__``.

    >>> fn_args(functools.partial(lambda a, b, c: None, 1, c=2))
    ('b',)
    """
    if isinstance(fn, functools.partial):
        return tuple(a for a in fn_args(fn.func)[len(fn.args) :] if a not in fn.keywords)
    called = _called(fn)
    bound = getattr(called, "__self__", None) is not None
    return tuple(inspect.getfullargspec(called).args[1 if bound else 0 :])


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Return whether a function takes any arguments by name.

    Raises:
      TypeError: `fn` cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    inner = fn.func if isinstance(fn, functools.partial) else _called(fn)
    return inspect.getfullargspec(inner).varkw is not None


class ArgSpec(NamedTuple):
    """A function's arguments, as Python's `inspect` told of them until 3.10."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(obj: Callable[..., Any]) -> ArgSpec:
    """Return a function's arguments; the first one of a method is among them.

    Args:
      obj: a function, a method, a class, a `functools.partial`, or what has ``__call__``.

    Raises:
      ValueError: it has arguments that are given by name alone.

    >>> getargspec(lambda a, *b, c=2: None)
    Traceback (most recent call last):
    ...
    ValueError: a function has arguments that are given by name alone: c
    >>> getargspec(lambda a, b=1, **c: None)
    ArgSpec(args=['a', 'b'], varargs=None, keywords='c', defaults=(1,))
    """
    spec = inspect.getfullargspec(obj if inspect.isroutine(obj) else _called(obj))
    if spec.kwonlyargs:
        raise ValueError(
            f"a function has arguments that are given by name alone: {', '.join(spec.kwonlyargs)}"
        )
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def get_func_name(func: Callable[..., Any]) -> str:
    """Return the name of a function; a method's begins with its class.

    Raises:
      ValueError: `func` cannot be called.
    """
    if not callable(func):
        raise ValueError("Argument must be callable")
    if inspect.ismethod(func):
        return f"{type(func.__self__).__name__}.{func.__func__.__name__}"
    return func.__name__ if inspect.isfunction(func) else str(type(func))


def make_decorator(
    target: Callable[..., Any], decorator_func: Callable[..., Any], *args: Any, **kwargs: Any
) -> Callable[..., Any]:
    """Return a function with the name and the documentation of the one that it decorates.

    Args:
      target: what is decorated.
      decorator_func: what is called in its place.
      *args: what TensorFlow's tools are told of a decorator, which nobody here asks for.
      **kwargs: likewise.
    """
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_tf_decorator: Callable[..., Any]) -> tuple[list[Any], Callable[..., Any]]:
    """Return the decorators of a function, of which none is kept, and what they decorate."""
    return [], inspect.unwrap(maybe_tf_decorator)


def _called(fn: Callable[..., Any]) -> Callable[..., Any]:
    own = getattr(fn, "__call__", None)  # noqa: B004 -- the method is wanted, not whether
    return own if inspect.ismethod(own) else fn
