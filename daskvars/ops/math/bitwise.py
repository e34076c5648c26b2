"""Integers bit by bit, and elements whose bits are read as another dtype."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.definitions.opdef import NO_GRADIENT, UNDEFINED_GRADIENT, Spec, without_gradient
from daskvars.graph.definitions.patterns import Access, Attrs, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.math import without_ufunc as kernels
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import binary, unary

bitwise_and = binary("bitwise_and", "BitwiseAnd", "Z", "bitwise_and", NO_GRADIENT)(
    "Return the bits that are set in x and in y.", "bitwise_and([6, 3], [3, 1]) -> [2 1]"
)
bitwise_or = binary("bitwise_or", "BitwiseOr", "Z", "bitwise_or", NO_GRADIENT)(
    "Return the bits that are set in x or in y.", "bitwise_or([6, 3], [3, 1]) -> [7 3]"
)
bitwise_xor = binary("bitwise_xor", "BitwiseXor", "Z", "bitwise_xor", NO_GRADIENT)(
    "Return the bits that are set in exactly one of x and y.",
    "bitwise_xor([6, 3], [3, 1]) -> [5 2]",
)
left_shift = binary("left_shift", "LeftShift", "Z", "left_shift", NO_GRADIENT)(
    "Return x with its bits moved up by y places, from 0 to less than the width of x.",
    "left_shift([6, 3], [3, 1]) -> [48  6]",
)
right_shift = binary("right_shift", "RightShift", "Z", "right_shift", NO_GRADIENT)(
    "Return x with its bits moved down by y places; a negative x stays negative.",
    "right_shift([6, 3], [3, 1]) -> [0 1]",
)
invert = unary("invert", "Invert", "Z", "invert", NO_GRADIENT)(
    "Return x with every bit flipped.", "invert([6, 3]) -> [-7 -4]"
)


def _recast(inputs: Sequence[Spec], *, dtype: DType) -> Spec:
    source, shape = inputs[0].dtype.base_dtype, inputs[0].shape
    if dtype.size == source.size or shape is None:
        return Spec(dtype, shape)
    if dtype.size < source.size:
        return Spec(dtype, (*shape, source.size // dtype.size))
    count = dtype.size // source.size
    if not shape or shape[-1] not in (count, None):
        raise ValueError(
            f"Cannot bitcast due to shape: from {source.name} to {dtype.name}, the last dimension "
            f"of {shapes.show(shape)} must be {count}"
        )
    return Spec(dtype, shape[:-1])


def _recast_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    """What is left of the dimension that one of the shapes may have more is whole."""
    alike = range(min(len(inputs[0]), len(outputs[0])))
    return axes.aligned(inputs, outputs, [(i, i) for i in alike])


BITCAST = without_gradient(
    "Bitcast",
    "input:N",
    _recast,
    kernels.bitcast,
    pattern=Movement(_recast_access),
    gradient=UNDEFINED_GRADIENT,
)


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Return a tensor whose elements are the bits of another's, read as `type`.

    Args:
      input: [...] any number; where `type` is n times as wide, the last dimension is n.
      type: a dtype of numbers.
      name: name of the operation, by default "Bitcast".

    Returns:
      [...] `type`, with one more dimension where `type` is narrower. It has no gradient.

    Raises:
      ValueError: the last dimension does not make up whole elements.

    Source: TensorFlow 1.15, ``tf.bitcast``.

    >>> hex(int(bitcast(1.0, dv.int32)))
    '0x3f800000'
    """
    return apply(BITCAST, input, name=name, dtype=as_dtype(type).base_dtype)
