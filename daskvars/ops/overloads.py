"""Operators: ``+ - * / // % ** @``, comparisons, logic and ``[...]``, for tensors and their kin.

`Tensor` is ignorant of ops; its operators are attached here, from above. A class whose objects
convert to tensors gets the same ones by `override_operators`. ``==`` and ``!=`` stay identity, as
in TensorFlow 1, so that tensors can be keys of a dict: `equal` compares values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.tensor import Tensor
from daskvars.ops import arithmetic, comparison, division, linalg, transcendental
from daskvars.ops.indexing import slice_helper

Operator = Callable[..., Any]

# method -> (function, name of its operations); each also has a reflected form.
_BINARY: dict[str, tuple[Operator, str]] = {
    "add": (arithmetic.add, "add"),
    "sub": (arithmetic.subtract, "sub"),
    "mul": (arithmetic.multiply, "mul"),
    "div": (division.div, "div"),
    "truediv": (division.truediv, "truediv"),
    "floordiv": (division.floordiv, "floordiv"),
    "mod": (division.floormod, "mod"),
    "pow": (transcendental.pow, "pow"),
    "matmul": (linalg.matmul, "matmul"),
    "and": (comparison.logical_and, "and"),
    "or": (comparison.logical_or, "or"),
    "xor": (comparison.logical_xor, "xor"),
}


def _named(method: str, operator: Operator) -> Operator:
    operator.__name__ = operator.__qualname__ = f"__{method}__"
    return operator


def _forward(method: str, function: Operator, name: str) -> Operator:
    def operator(x: Any, y: Any) -> Tensor:
        return function(x, y, name=name)

    return _named(method, operator)


def _reflected(method: str, function: Operator, name: str) -> Operator:
    def operator(y: Any, x: Any) -> Tensor:
        return function(x, y, name=name)

    return _named(method, operator)


def _single(method: str, function: Operator) -> Operator:
    def operator(*operands: Any) -> Tensor:
        return function(*operands)

    return _named(method, operator)


OPERATORS: dict[str, Operator] = {
    **{f"__{method}__": _forward(method, *entry) for method, entry in _BINARY.items()},
    **{f"__r{method}__": _reflected(f"r{method}", *entry) for method, entry in _BINARY.items()},
    "__neg__": _single("neg", arithmetic.negative),
    "__abs__": _single("abs", arithmetic.abs),
    "__invert__": _single("invert", comparison.logical_not),
    "__lt__": _single("lt", comparison.less),
    "__le__": _single("le", comparison.less_equal),
    "__gt__": _single("gt", comparison.greater),
    "__ge__": _single("ge", comparison.greater_equal),
    "__getitem__": slice_helper,
}


def override_operators(cls: type) -> None:
    """Give `cls`, whose objects convert to tensors, the operators of `Tensor`.

    Methods that `cls` defines itself stay as they are.

    Args:
      cls: the class to change.
    """
    for name, operator in OPERATORS.items():
        if name not in vars(cls):
            setattr(cls, name, operator)


override_operators(Tensor)
