"""Operators: ``+ - * / // % ** @``, comparisons, logic and ``[...]``, for tensors and their kin.

`Tensor` is ignorant of ops; its operators are attached here, from above. A class whose objects
convert to tensors gets the same ones by `override_operators`.

``==`` and ``!=`` compare element by element in eager code and in the functions it calls, as in
TensorFlow 2 and NumPy; what is of eager code has no hash then: `ref()` is a key for it. In a graph
they stay identity, as in TensorFlow 1, so that its tensors can be keys of a dict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import reshaping, transposing
from daskvars.ops.linalg import products as linalg
from daskvars.ops.math import arithmetic, bitwise, comparison, division, transcendental
from daskvars.ops.protocols.indexing import slice_helper
from daskvars.ops.protocols.numpy_functions import array_function, array_ufunc
from daskvars.ops.rules.axes import is_symbolic
from daskvars.ops.sparse.arithmetic import with_dense

Operator = Callable[..., Any]


def _of_bits(of_bools: Operator, of_bits: Operator) -> Operator:
    """Return an operator that is of bits where its first tensor has integers, else of bools."""

    def operator(x: Any, y: Any = None, name: str | None = None) -> Tensor:
        first = x if hasattr(x, "dtype") and hasattr(x, "graph") else y
        function = of_bits if first.dtype.base_dtype.is_integer else of_bools
        return function(x, name=name) if y is None else function(x, y, name=name)

    return operator


def _transposed(x: Any) -> Tensor:
    """The matrix with rows and columns exchanged. Raises ValueError where the rank is not 2."""
    if x.shape.ndims not in (None, 2):
        raise ValueError(f".T is of a matrix, and {x.name} has shape {x.shape}: use transpose()")
    return transposing.transpose(x)


def _matrices_transposed(x: Any) -> Tensor:
    """The matrices, [..., m, n], with rows and columns exchanged."""
    return transposing.matrix_transpose(x)


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
    "and": (_of_bits(comparison.logical_and, bitwise.bitwise_and), "and"),
    "or": (_of_bits(comparison.logical_or, bitwise.bitwise_or), "or"),
    "xor": (_of_bits(comparison.logical_xor, bitwise.bitwise_xor), "xor"),
    "lshift": (bitwise.left_shift, "lshift"),
    "rshift": (bitwise.right_shift, "rshift"),
}


def _named(method: str, operator: Operator) -> Operator:
    operator.__name__ = operator.__qualname__ = f"__{method}__"
    return operator


def _product(x: TensorLike, y: Any) -> Any:
    """``x * y``, where `y` may be sparse, which has the product then."""
    return NotImplemented if isinstance(y, SparseTensor) else arithmetic.multiply(x, y, name="mul")


def _is_foreign(value: Any) -> bool:
    """Return whether a value is of a class that is neither ours nor Python's nor NumPy's."""
    return not is_symbolic(value) and type(value).__module__ not in ("builtins", "numpy")


def _forward(method: str, function: Operator, name: str) -> Operator:
    def operator(x: TensorLike, y: TensorLike) -> Any:
        try:
            return function(x, y, name=name)
        except TypeError:
            if _is_foreign(y) and hasattr(type(y), f"__r{method}__"):
                return NotImplemented  # it converts to no tensor, and may know what to do with one
            raise

    return _named(method, operator)


def _reflected(method: str, function: Operator, name: str) -> Operator:
    def operator(y: TensorLike, x: TensorLike) -> Tensor:
        return function(x, y, name=name)

    return _named(method, operator)


def _single(method: str, function: Operator) -> Operator:
    def operator(*operands: Any) -> Tensor:
        return function(*operands)

    return _named(method, operator)


def _comparison(method: str, function: Operator, of_others: bool) -> Operator:
    def operator(x: Any, y: TensorLike) -> Any:
        if getattr(type(y), "__array_ufunc__", y) is None:
            return NotImplemented  # NumPy's way of saying that such operators are the other's
        graph = x.graph
        if graph is not None and not graph.is_like_eager:
            return (x is y) is not of_others
        return of_others if y is None else function(x, y, name=method)

    return _named(method, operator)


def identity_hash(x: Any) -> int:
    """Return the hash of what compares by identity. Raises TypeError for what is of eager code."""
    if x.graph is None:
        kind = "Tensor" if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(
            f"{kind} is unhashable. Instead, use {kind.lower()}.ref() as the key. ({x.name} is of "
            "eager code, where == compares values.)"
        )
    return object.__hash__(x)


OPERATORS: dict[str, Any] = {
    **{f"__{method}__": _forward(method, *entry) for method, entry in _BINARY.items()},
    **{f"__r{method}__": _reflected(f"r{method}", *entry) for method, entry in _BINARY.items()},
    "__mul__": _named("mul", _product),
    "__neg__": _single("neg", arithmetic.negative),
    "__abs__": _single("abs", arithmetic.abs),
    "__pos__": _single("pos", reshaping.identity),
    "__invert__": _single("invert", _of_bits(comparison.logical_not, bitwise.invert)),
    "__lt__": _single("lt", comparison.less),
    "__le__": _single("le", comparison.less_equal),
    "__gt__": _single("gt", comparison.greater),
    "__ge__": _single("ge", comparison.greater_equal),
    "__eq__": _comparison("eq", comparison.equal, False),
    "__ne__": _comparison("ne", comparison.not_equal, True),
    "__hash__": _named("hash", identity_hash),
    "__getitem__": slice_helper,
    "T": property(_transposed),
    "mT": property(_matrices_transposed),
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
}

# What TensorFlow does not count among the operators: `Tensor.OVERLOADABLE_OPERATORS`.
_NOT_OVERLOADABLE = {
    *("__pos__", "__hash__", "__array_ufunc__", "__array_function__"),
    *("__lshift__", "__rlshift__", "__rshift__", "__rrshift__"),
}


def override_operators(cls: type) -> None:
    """Give `cls`, whose objects convert to tensors, the operators of `Tensor`.

    Methods that `cls` defines itself stay as they are.

    Args:
      cls: the class to change; its objects have a `graph`, None in eager code, and a `name`.
    """
    for name, operator in OPERATORS.items():
        if name not in vars(cls):
            setattr(cls, name, operator)


def _with_dense(method: str, function: Operator, type: str) -> Operator:
    def operator(sp: SparseTensor, dense: TensorLike) -> SparseTensor:
        return with_dense(sp, dense, function, type)

    return _named(method, operator)


override_operators(Tensor)
Tensor.OVERLOADABLE_OPERATORS = frozenset(
    name for name in OPERATORS if name.endswith("__") and name not in _NOT_OVERLOADABLE
)
# Of the operators, a sparse tensor has those that leave what is absent absent.
SPARSE_OPERATORS: dict[str, Operator] = {
    "__mul__": _with_dense("mul", arithmetic.multiply, "SparseDenseCwiseMul"),
    "__rmul__": _with_dense("rmul", arithmetic.multiply, "SparseDenseCwiseMul"),
    "__truediv__": _with_dense("truediv", division.truediv, "SparseDenseCwiseDiv"),
    "__div__": _with_dense("div", division.div, "SparseDenseCwiseDiv"),
}
for _method, _operator in SPARSE_OPERATORS.items():
    setattr(SparseTensor, _method, _operator)
