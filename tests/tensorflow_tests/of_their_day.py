"""What NumPy 1 and Python 3.5 gave to TensorFlow 1.8's tests, and their successors do not.

Only the checkout's own files get it: what they import as ``numpy`` is a `Dated` module, and their
source is compiled with two rules of NumPy 1 (`Rules`). NumPy itself stays as it is, so that what
`daskvars` computes with it is untouched. Restored are

- names that were removed (``numpy.float``, ``numpy.testing.utils``, ``collections.Iterable``);
- arguments: ``newshape`` of ``reshape``, generators to stack, numbers that ``array`` let overflow,
  and an axis that ``squeeze`` overlooked where it was given no array;
- an index that is a list with slices in it, which was a tuple;
- the dtype of a NumPy scalar with a number of Python's: both decided (``float32(1) * 1.0`` was a
  float64).

Not restored is what arrays do themselves: that one of no elements is false, the dtype of an array
with a scalar, and what NumPy's functions return.
"""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import importlib.machinery
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy

OPERATORS = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
}


def array(values: Any, dtype: Any = None, **kwargs: Any) -> numpy.ndarray:
    """Return an array; integers that do not fit its dtype wrap around."""
    try:
        return numpy.array(values, dtype, **kwargs)
    except OverflowError:
        return numpy.array(values, **kwargs).astype(dtype)


def reshape(a: Any, newshape: Any, order: str = "C") -> numpy.ndarray:
    """Return an array with another shape."""
    return numpy.reshape(a, newshape, order=order)


def squeeze(a: Any, axis: Any = None) -> numpy.ndarray:
    """Return an array without dimensions of size one; of what is no array `axis` is overlooked."""
    return numpy.squeeze(a, axis if hasattr(a, "squeeze") else None)


def asfarray(a: Any, dtype: Any = numpy.float64) -> numpy.ndarray:
    """Return an array of floats."""
    kind = numpy.dtype(dtype)
    return numpy.asarray(a, kind if issubclass(kind.type, numpy.inexact) else numpy.float64)


def stacking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays that takes a generator of them too."""

    def stack(arrays: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        return function(arrays if isinstance(arrays, numpy.ndarray) else [*arrays], *args, **kwargs)

    return stack


class Matrix(numpy.matrix):
    """A matrix that says its bytes by their old name."""

    tostring = numpy.matrix.tobytes


class Dated(types.ModuleType):
    """A module with some names as they were, the others as they are.

    Args:
      module: the module of today.
      names: what was otherwise.
    """

    def __init__(self, module: types.ModuleType, names: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self._today = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._today, name)


NUMPY_1 = {
    **{kind.__name__: kind for kind in (bool, complex, float, int, object, str)},
    **{name: stacking(getattr(numpy, name)) for name in ("hstack", "stack", "vstack")},
    "array": array,
    "asfarray": asfarray,
    "asscalar": operator.methodcaller("item"),
    "infty": numpy.inf,
    "matrix": Matrix,
    "product": numpy.prod,
    "reshape": reshape,
    "squeeze": squeeze,
    "string_": numpy.bytes_,
    "testing": Dated(numpy.testing, {"utils": numpy.testing}),
    "unicode": str,
}
DATED = {
    numpy: Dated(numpy, NUMPY_1),
    collections: Dated(collections, {"Iterable": collections.abc.Iterable}),
}


def import_dated(*args: Any, **kwargs: Any) -> types.ModuleType:
    """Import a module as it was: what ``import`` is in the checkout's files."""
    module = builtins.__import__(*args, **kwargs)
    return DATED.get(module, module)


def index(value: Any) -> Any:
    """Return an index: a list with slices in it is a tuple."""
    is_tuple = isinstance(value, list) and any(isinstance(part, slice) for part in value)
    return tuple(value) if is_tuple else value


def arithmetic(name: str, left: Any, right: Any) -> Any:
    """Return an operation of two values; of a NumPy scalar and a number both dtypes decide."""
    return OPERATORS[name](beside(right, left), beside(left, right))


def beside(other: Any, value: Any) -> Any:
    """Return a value as it is computed with another: beside a NumPy scalar a number is one."""
    is_number = type(value) in (int, float, complex)
    return numpy.asarray(value)[()] if is_number and isinstance(other, numpy.number) else value


BUILTINS = {**vars(builtins), "__import__": import_dated}
# The rules, by names that no file has.
BUILTINS |= {"__index__": index, "__arithmetic__": arithmetic}


class Rules(ast.NodeTransformer):
    """Makes a file's indices and arithmetic go through `index` and `arithmetic`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Ask `index` for what may be a list."""
        self.generic_visit(node)
        if not isinstance(node.slice, ast.Constant | ast.Slice | ast.Tuple | ast.UnaryOp):
            node.slice = ast.Call(ast.Name("__index__", ast.Load()), [node.slice], [])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Ask `arithmetic` for a sum, a product and the like."""
        self.generic_visit(node)
        name = type(node.op).__name__
        if name not in OPERATORS:
            return node
        operands = [ast.Constant(name), node.left, node.right]
        return ast.Call(ast.Name("__arithmetic__", ast.Load()), operands, [])


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a file of the checkout, each time from its source."""

    def get_code(self, fullname: str) -> types.CodeType:
        """Return the file's code, with the rules of NumPy 1."""
        path = self.get_filename(fullname)
        tree = Rules().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec")

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the file, with what its day had built in."""
        vars(module)["__builtins__"] = BUILTINS
        super().exec_module(module)
