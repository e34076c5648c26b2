"""Families of elementwise ops: one expression defines an op and its public function.

All members of a family take the same arguments, follow the same shape rule and are cut into
blocks in the same way; they differ in type, kernel, gradient and what they compute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from daskvars.dtypes import DType, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import NoGradient, OpDef, opdef
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.interpreter import apply
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike, is_tensor_like
from daskvars.ops.rules.axes import operand_of
from daskvars.ops.rules.shapes import broadcasted, like_first
from daskvars.surface.signatures import named, with_example

Kernel = str | Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Tensor])
Gradient = Callable[..., Any] | NoGradient

TYPES = {
    "N": "any number",
    "P": "any number or string",
    "F": "floating or complex",
    "D": "floating",
    "R": "real",
    "Z": "integer",
    "B": "bool",
    "T": "any dtype",
}

UNARY = """

Args:
  x: [...] {types}.
  name: name of the operation, by default "{type}".

Returns:
  [...], {result}.

Raises:
  TypeError: `x` has another dtype.
"""

BINARY = """

Args:
  x: [...] {types}.
  y: [...] of the dtype of `x`; the shapes are broadcast as NumPy's.
  name: name of the operation, by default "{type}".

Returns:
  [...] of the broadcast shape, {result}.

Raises:
  TypeError: the dtypes differ, or the op does not take them; nothing is converted silently.
  ValueError: the shapes do not broadcast.
"""


class UnaryFunction(Protocol):
    """A function of one tensor."""

    def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...


class BinaryFunction(Protocol):
    """A function of two tensors."""

    def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...


def elementwise(
    type: str,
    signature: str,
    kernel: Kernel | None,
    gradient: Gradient,
    infer: Callable[..., Any] = broadcasted,
    **rules: Any,
) -> OpDef:
    """Define an elementwise op, of inputs that are broadcast unless its rule says otherwise."""
    return OpDef(type, signature, infer, Elementwise(), kernel, gradient, **rules)


def adjoint(type: str, **renamed: str) -> Gradient:
    """Return the gradient of an op that is linear in its first input: its adjoint, another op.

    Args:
      type: type of the other op, which is given the same attributes and operands.
      **renamed: the names there of those that have other names.
    """

    def gradient(op: Operation, dy: Tensor) -> Any:
        given = [name for name in op.attrs if name[0] != "_" and name != "operands"]
        attrs = {renamed.get(name, name): operand_of(op, name) for name in given}
        return apply(opdef(type), dy, **attrs)

    return gradient


class Undocumented(NamedTuple, Generic[Function]):
    """A function of a family that lacks its docstring: ``unary(...)("Return x.", "f(1) -> 1")``.

    Attributes:
      function: the function.
      name: its name.
      doc: its docstring, all but the summary.
    """

    function: Function
    name: str
    doc: str

    def __call__(self, summary: str, example: str = "") -> Function:
        """Name and document it as if it were written where this is called, so that it pickles.

        Args:
          summary: first line of its docstring.
          example: of the docstring, "call -> what printing its result shows".
        """
        self.function.__module__ = sys._getframe(1).f_globals["__name__"]
        call, arrow, shown = example.partition(" -> ")
        doc = with_example(summary + self.doc, f"print({call}){arrow}{shown}" if example else "")
        return named(self.function, self.name, doc)


def unary(
    function_name: str,
    type: str,
    letter: str,
    kernel: Kernel,
    gradient: Gradient,
    infer: Callable[..., Any] = like_first,
    result: str = "of the dtype of `x`",
) -> Undocumented[UnaryFunction]:
    """Define an elementwise op of one input; its function is ``f(x, name=None)``.

    Args:
      type: the op's type.
      letter: the dtypes that it takes, a letter of a signature.
      kernel: see `OpDef`.
      gradient: see `OpDef`.
      infer: its shape and dtype rule.
      result: what the docstring says of the result.

    Returns:
      What gives the public function when it is called with the first line of its docstring, and
      an example.
    """
    definition = elementwise(type, f"x:{letter}", kernel, gradient, infer)

    def function(x: TensorLike, name: str | None = None) -> Tensor:
        if isinstance(x, SparseTensor):
            values = apply(definition, x.values, name=name)
            return SparseTensor(x.indices, values, x.dense_shape)  # type: ignore[return-value]
        return apply(definition, x, name=name)

    doc = UNARY.format(type=type, types=TYPES[letter], result=result)
    return Undocumented(function, function_name, doc)


def binary(
    function_name: str,
    type: str,
    letter: str,
    kernel: Kernel,
    gradient: Gradient,
    infer: Callable[..., Any] = broadcasted,
    result: str = "of the dtype of `x`",
    default_name: str | None = None,
) -> Undocumented[BinaryFunction]:
    """Define an elementwise op of two inputs; its function is ``f(x, y, name=None)``.

    `default_name` is the name of its operations where that is not `type`. See `unary`.
    """
    definition = elementwise(type, f"x:{letter}, y:{letter}", kernel, gradient, infer)
    default = default_name or type

    def function(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        return apply(definition, x, y, name=name or default)

    doc = BINARY.format(type=default, types=TYPES[letter], result=result)
    return Undocumented(function, function_name, doc)


def dtype_of(*values: Any) -> DType | None:
    """Return the dtype of the first tensor or variable; data takes the dtype that it meets."""
    for value in values:
        if is_tensor_like(value):
            return as_dtype(value.dtype).base_dtype
    return None


def same_dtype(x: TensorLike, y: TensorLike, op_name: str) -> tuple[Tensor, Tensor]:
    """Convert both operands of a composed op to tensors, data to the dtype of the other.

    Raises:
      TypeError: they have different dtypes.
    """
    wanted = dtype_of(x, y)
    if wanted is None:
        x = convert_to_tensor(x, name="x")
        wanted = x.dtype.base_dtype
    x, y = (
        convert_to_tensor(value, None if dtype_of(value) else wanted, name=name)
        for value, name in ((x, "x"), (y, "y"))
    )
    left, right = x.dtype.base_dtype, y.dtype.base_dtype
    if left is not right:
        raise TypeError(
            f"x and y must have the same dtype, got {left.name} and {right.name} (operation "
            f"{op_name.rstrip('/')!r}). Use cast()."
        )
    return x, y
