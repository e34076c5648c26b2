"""Padding at the borders of a tensor, with a constant or with its mirror image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import DType, string, to_numpy
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.array import slicing as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.array.slicing import slice, strided_slice
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import adjoint


def _pairs(paddings: Any, rank: int | None) -> list[tuple[int | None, int | None]] | None:
    """Return the numbers before and after each dimension, None where not known."""
    if paddings is None:
        return None if rank is None else [(None, None)] * rank
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in paddings):
        raise ValueError(f"paddings must be a matrix of 2 columns, got {list(paddings)}")
    if rank is not None and len(paddings) != rank:
        raise ValueError(
            f"Shape must be rank {len(paddings)} but is rank {rank}: paddings {list(paddings)} "
            "need a row for each dimension"
        )
    if any(n is not None and n < 0 for pair in paddings for n in pair):
        raise ValueError(f"Paddings must be non-negative: {list(paddings)}")
    return list(paddings)


def _resized(inputs: Sequence[Spec], paddings: Any, sign: Any) -> Spec:
    shape, given = inputs[0].shape, [spec.shape for spec in inputs[1:]]
    if paddings is None and given and given[0] is not None:  # not None: of the run
        if len(given[0]) != 2 or given[0][1] not in (2, None):
            raise ValueError(
                f"paddings must be a matrix of 2 columns, got shape {shapes.show(given[0])}"
            )
        paddings = None if given[0][0] is None else ((None, None),) * given[0][0]
    pairs = _pairs(paddings, None if shape is None else len(shape))
    if pairs is None:
        return Spec(inputs[0].dtype, None)
    sizes = shape if shape is not None else (None,) * len(pairs)
    return Spec(
        inputs[0].dtype,
        tuple(
            None if n is None or a is None or b is None else n + sign * (a + b)
            for n, (a, b) in zip(sizes, pairs, strict=True)
        ),
    )


def _padded(inputs: Sequence[Spec], *, paddings: Any, **attrs: Any) -> Spec:
    return _resized(inputs, paddings, 1)


def _mirrored(inputs: Sequence[Spec], *, paddings: Any, mode: str, **attrs: Any) -> Spec:
    shape, border = inputs[0].shape, int(mode == "REFLECT")
    for n, pair in zip(shape or (), _pairs(paddings, None) or (), strict=False):
        if n is not None and shapes.is_known(pair) and max(pair) > max(n - border, 0):
            bound = "less than" if border else "no greater than"
            raise ValueError(
                f"paddings must be {bound} the dimension size: {pair[0]}, {pair[1]} for size {n}"
            )
    return _resized(inputs, paddings, 1)


def _padded_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    pairs = attrs["paddings"]
    if pairs is None:
        return axes.whole(inputs, outputs)
    return axes.aligned(
        inputs, outputs, ((i, i) for i, pair in enumerate(pairs) if tuple(pair) == (0, 0))
    )


def _pad_gradient(op: Operation, dy: Tensor) -> Tensor:
    x, paddings = op.inputs[0], axes.operand_of(op, "paddings")
    begin: Any
    if isinstance(paddings, Tensor):
        first = strided_slice(paddings, [0, 0], [0, 1], begin_mask=3, end_mask=1)
        begin = reshape(first, [-1])
    else:
        begin = [a for a, _ in paddings]
    return slice(dy, begin, constant.full_shape(x))


PAD = OpDef(
    "Pad",
    "tensor:T",
    infer=_padded,
    pattern=Movement(_padded_access, view=False),
    kernel=kernels.pad,
    operands=("paddings", "constant_values"),
    gradient=_pad_gradient,
)

MIRROR_PAD = OpDef(
    "MirrorPad",
    "tensor:T",
    infer=_mirrored,
    pattern=Movement(_padded_access, view=False),
    kernel=kernels.mirror_pad,
    operands=("paddings",),
    gradient=adjoint("MirrorPadGrad"),
)

MIRROR_PAD_GRAD = OpDef(
    "MirrorPadGrad",
    "dy:N",
    pattern=Movement(_padded_access, view=False),
    infer=lambda inputs, *, paddings, **attrs: _resized(inputs, paddings, -1),
    kernel=kernels.mirror_pad_grad,
    operands=("paddings",),
    gradient=adjoint("MirrorPad"),
)


def _filler(value: Any, dtype: DType) -> Any:
    """Return what is padded with; strings by default, which is a number, with empty ones."""
    if axes.is_symbolic(value):
        found = convert_to_tensor(value).spec.dtype.base_dtype
        if found is not dtype:
            raise TypeError(f"constant_values is {found.name}, the tensor {dtype.name}: cast() it")
        return value
    if dtype.is_bool or (type(value) is int and value == 0):
        return b"" if dtype is string else value
    return to_numpy(value, dtype, "constant_values").item()


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Return a tensor with more elements at its borders.

    Args:
      tensor: [...] any dtype.
      paddings: [rank, 2] int32 or int64, how many before and after each dimension.
      mode: "CONSTANT", "REFLECT" (mirrored, the border itself not repeated) or "SYMMETRIC"
        (mirrored, the border repeated).
      name: name of the operation, by default "Pad" or "MirrorPad".
      constant_values: scalar, what "CONSTANT" pads with; strings by default with empty ones.

    Returns:
      A tensor of the same rank, of the dtype of `tensor`.

    Raises:
      ValueError: `mode` is unknown, or the mirror would have to be larger than the tensor.
      TypeError: `constant_values` does not fit the dtype of `tensor`.

    >>> pad([[1, 2, 3]], [[0, 1], [1, 1]]).numpy().tolist()
    [[0, 1, 2, 3, 0], [0, 0, 0, 0, 0]]
    >>> pad([1, 2, 3], [[2, 0]], "REFLECT").numpy().tolist()
    [3, 2, 1, 2, 3]
    """
    mode = mode.upper()
    tensor, paddings = convert_to_tensor(tensor), axes.as_operand(paddings)
    if mode == "CONSTANT":
        value = axes.as_operand(_filler(constant_values, tensor.spec.dtype.base_dtype))
        return apply(PAD, tensor, name=name, paddings=paddings, constant_values=value)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    return apply(MIRROR_PAD, tensor, name=name, paddings=paddings, mode=mode)
