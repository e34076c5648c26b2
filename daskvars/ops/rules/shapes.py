"""Shape and dtype rules that many ops share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from daskvars import dtypes, shapes
from daskvars.graph.definitions.opdef import Spec

_Shape = TypeVar("_Shape", shapes.RankedShape, shapes.Shape)


def of_numbers(dtype: dtypes.DType) -> dtypes.DType:
    """Return the dtype of a result that is made of numbers.

    Raises:
      TypeError: it is that of texts.
    """
    if dtype is dtypes.string:
        raise TypeError("Expected string, but the result is made of numbers: as_string() them")
    return dtype


def merged_shape(first: _Shape, *others: _Shape) -> _Shape:
    """Return what is known from the shapes of inputs that have the same one.

    Raises:
      ValueError: they cannot be the same; it names the first size that differs.
    """
    merged = first
    for shape in others:
        if not shapes.compatible(merged, shape):
            raise ValueError(shapes.difference(merged, shape))
        merged = shapes.merge(merged, shape)
    return merged


def like_first(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The result is shaped and typed as the first input."""
    return inputs[0]


def of_shape(inputs: Sequence[Spec], *, shape: shapes.Shape, **attrs: Any) -> Spec:
    """The result has the dtype of the first input and the shape that an attribute says."""
    return Spec(inputs[0].dtype, shape)


def broadcasted(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The result has the dtype of the first input and the inputs' broadcast shape."""
    return Spec(inputs[0].dtype, shapes.broadcast(*[spec.shape for spec in inputs]))


def compared(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The result is bool, of the inputs' broadcast shape."""
    return Spec(dtypes.bool, shapes.broadcast(*[spec.shape for spec in inputs]))


def no_results(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, ...]:
    """The rule of an op without results."""
    return ()
