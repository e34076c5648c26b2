"""Elements turned round, shifted, and moved between space, depth and batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, Dim, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.array import rearranging as kernels
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import adjoint

# -- reverse and roll --------------------------------------------------------------------------


def _axis_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    axis = attrs["axis"]
    if not axes.is_complete(axis):
        return axes.whole(inputs, outputs)
    return axes.aligned_except(inputs, outputs, axis if isinstance(axis, tuple) else (axis,))


def _reversed(inputs: Sequence[Spec], *, axis: Any, **attrs: Any) -> Spec:
    if axes.is_complete(axis) and inputs[0].shape is not None:
        rank = len(inputs[0].shape)
        problem = kernels.axes_problem(axis, rank)
        if problem:
            raise ValueError(problem)
    return inputs[0]


REVERSE = OpDef(
    "ReverseV2",
    "tensor:T",
    infer=_reversed,
    pattern=Movement(_axis_access),
    kernel=kernels.reverse,
    operands=("axis",),
    gradient=adjoint("ReverseV2"),
)


def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor with the order along some dimensions reversed.

    Args:
      tensor: [...] any dtype.
      axis: [n] int32 or int64, the dimensions; negative ones count from the end.
      name: name of the operation, by default "ReverseV2".

    Returns:
      [...] as `tensor`.

    Raises:
      ValueError: there is no such dimension, or one is named twice.

    >>> reverse([[1, 2], [3, 4]], [1]).numpy().tolist()
    [[2, 1], [4, 3]]
    """
    places = axes.as_integers(axis=axis)["axis"]
    return apply(REVERSE, tensor, name=name, axis=(places,) if isinstance(places, int) else places)


def _rolled(inputs: Sequence[Spec], *, shift: Any, axis: Any, **attrs: Any) -> Spec:
    shape = inputs[0].shape
    if shape == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: input must be 1-D or higher")
    counts = {}
    for what, value in (("shift", shift), ("axis", axis)):
        rank = numpy.ndim(value)
        if rank > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {rank}: {what} is {value}")
        if rank or isinstance(value, int):
            counts[what] = numpy.size(value)
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"shift and axis have {counts['shift']} and {counts['axis']} numbers: both shapes "
            "must be equal"
        )
    if shape is not None and axis is not None and axes.is_complete(axis):
        for one in axis if isinstance(axis, tuple) else (axis,):
            shapes.normalize_axis(one, len(shape))
    return inputs[0]


ROLL: OpDef = OpDef(
    "Roll",
    "input:T",
    infer=_rolled,
    pattern=Movement(_axis_access, view=False),
    kernel=kernels.roll,
    operands=("shift", "axis"),
    gradient=lambda op, dy: apply(
        ROLL,
        dy,
        shift=axes.operand_of(op, "shift"),
        axis=axes.operand_of(op, "axis"),
        back=not op.attrs["back"],
    ),
)


def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor shifted along dimensions; what leaves at one end comes in at the other.

    Args:
      input: [...] any dtype.
      shift: integer or [n], how far; negative numbers shift towards the front.
      axis: integer or [n], along which dimensions.
      name: name of the operation, by default "Roll".

    Returns:
      [...] as `input`.

    Raises:
      ValueError: there is no such dimension.

    >>> roll([0, 1, 2, 3, 4], 2, 0).numpy().tolist()
    [3, 4, 0, 1, 2]
    """
    return apply(ROLL, input, name=name, back=False, **axes.as_integers(shift=shift, axis=axis))


def _sequences(inputs: Sequence[Spec], *, seq_axis: Any, batch_axis: Any) -> Spec:
    shape, lengths = inputs[0].shape, inputs[1].shape
    if lengths is not None and len(lengths) != 1:
        raise ValueError(f"seq_lengths must be a vector, got shape {shapes.show(lengths)}")
    if shape is not None:
        for name, axis in (("seq_dim", seq_axis), ("batch_dim", batch_axis)):
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"{name} must be < input rank ({len(shape)}), got {axis}")
        batch = shape[batch_axis]
        if lengths is not None and not shapes.compatible((batch,), lengths):
            raise ValueError(f"seq_lengths must have {batch} elements, got {lengths[0]}")
        if batch is None and lengths is not None:
            known = list(shape)
            known[batch_axis] = lengths[0]
            shape = tuple(known)
    return Spec(inputs[0].dtype, shape)


def _sequence_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    dims = tuple(None if i == attrs["seq_axis"] else Dim(i) for i in range(len(inputs[0])))
    return Access((dims, (dims[attrs["batch_axis"]],)), (dims,))


REVERSE_SEQUENCE: OpDef = OpDef(
    "ReverseSequence",
    "input:T, seq_lengths:I",
    infer=_sequences,
    pattern=Movement(_sequence_access, view=False),
    kernel=kernels.reverse_sequence,
    gradient=lambda op, dy: (apply(REVERSE_SEQUENCE, dy, op.inputs[1], **op.attrs), None),
)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Return a batch of sequences, each reversed up to its own length.

    Args:
      input: [...] any dtype.
      seq_lengths: [batch] int32 or int64, at most the size of `seq_axis`.
      seq_axis: the dimension along which the sequences lie.
      batch_axis: the dimension that numbers the sequences, by default 0.
      name: name of the operation, by default "ReverseSequence".
      seq_dim: deprecated name of `seq_axis`.
      batch_dim: deprecated name of `batch_axis`.

    Returns:
      [...] as `input`.

    Raises:
      ValueError: `seq_axis` is not given, or the lengths do not fit the batch.
      InvalidArgumentError: (when run) a length is too great or negative.

    >>> reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy().tolist()
    [[2, 1, 3], [6, 5, 4]]
    """
    seq_axis = axes.either(seq_axis, seq_dim, "seq_axis", "seq_dim")
    batch_axis = axes.either(batch_axis, batch_dim, "batch_axis", "batch_dim") or 0
    if seq_axis is None:
        raise ValueError("reverse_sequence() needs seq_axis: the dimension of the sequences")
    input = convert_to_tensor(input)
    if input.spec.shape is not None:
        rank = len(input.spec.shape)
        for what, axis in (("seq_dim", seq_axis), ("batch_dim", batch_axis)):
            if axis >= rank:
                raise ValueError(f"{what} must be < input rank, got {axis} of rank {rank}")
        seq_axis = shapes.normalize_axis(seq_axis, rank, "seq_axis")
        batch_axis = shapes.normalize_axis(batch_axis, rank, "batch_axis")
    return apply(
        REVERSE_SEQUENCE, input, seq_lengths, name=name, seq_axis=seq_axis, batch_axis=batch_axis
    )


# -- space, depth and batch --------------------------------------------------------------------


def _image(shape: Any, data_format: str) -> list[int | None]:
    """Return [batch, height, width, depth] of an image shape."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be NHWC or NCHW, got {data_format!r}")
    if shape is None:
        return [None] * 4
    if len(shape) != 4:
        raise ValueError(f"Shape must be rank 4 but is rank {len(shape)}")
    return list(shape) if data_format == "NHWC" else [shape[0], shape[2], shape[3], shape[1]]


def _in_format(n: Any, height: Any, width: Any, depth: Any, data_format: str) -> Any:
    return (n, height, width, depth) if data_format == "NHWC" else (n, depth, height, width)


def _over(n: int | None, divisor: int, what: str) -> int | None:
    if n is not None and n % divisor:
        raise ValueError(f"Dimension size must be evenly divisible by {divisor} but is {n}: {what}")
    return None if n is None else n // divisor


def _times(n: int | None, factor: int) -> int | None:
    return None if n is None else n * factor


def _to_depth(inputs: Sequence[Spec], *, block_size: int, data_format: str) -> Spec:
    n, height, width, depth = _image(inputs[0].shape, data_format)
    height, width = _over(height, block_size, "height"), _over(width, block_size, "width")
    depth = _times(depth, block_size * block_size)
    return Spec(inputs[0].dtype, _in_format(n, height, width, depth, data_format))


def _to_space(inputs: Sequence[Spec], *, block_size: int, data_format: str) -> Spec:
    n, height, width, depth = _image(inputs[0].shape, data_format)
    depth = _over(depth, block_size * block_size, "depth")
    height, width = _times(height, block_size), _times(width, block_size)
    return Spec(inputs[0].dtype, _in_format(n, height, width, depth, data_format))


def _of_pixels(type: str, infer: Any, kernel: Any, inverse: str) -> OpDef:
    return OpDef(type, "input:T", infer, Movement("n___->n___"), kernel, adjoint(inverse))


SPACE_TO_DEPTH = _of_pixels("SpaceToDepth", _to_depth, kernels.space_to_depth, "DepthToSpace")
DEPTH_TO_SPACE = _of_pixels("DepthToSpace", _to_space, kernels.depth_to_space, "SpaceToDepth")


def _by_blocks(
    definition: OpDef, input: TensorLike, block_size: int, name: str | None, data_format: str
) -> Tensor:
    if block_size < 2:
        raise ValueError(f"Block size should be > 1, but was: {block_size}")
    options = {"block_size": int(block_size), "data_format": data_format}
    return apply(definition, input, name=name, **options)


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Return images whose blocks of pixels became the channels of one pixel.

    Args:
      input: [batch, height, width, depth] any dtype ("NCHW": [batch, depth, height, width]).
      block_size: side of a block, at least 2, a divisor of height and width.
      name: name of the operation, by default "SpaceToDepth".
      data_format: "NHWC" or "NCHW".

    Returns:
      [batch, height / block_size, width / block_size, depth * block_size²].

    Raises:
      ValueError: the sizes are not divisible, or the input has another rank than 4.

    >>> space_to_depth(dv.ones([1, 4, 4, 2]), 2).shape.as_list()
    [1, 2, 2, 8]
    """
    return _by_blocks(SPACE_TO_DEPTH, input, block_size, name, data_format)


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Return images whose channels became blocks of pixels. The inverse of `space_to_depth`.

    >>> depth_to_space(dv.ones([1, 2, 2, 8]), 2).shape.as_list()
    [1, 4, 4, 2]
    """
    return _by_blocks(DEPTH_TO_SPACE, input, block_size, name, data_format)


def _batched(inputs: Sequence[Spec], blocks: Any, pairs: Any, sign: Any) -> Spec:
    """Return the spec of batches of phases (sign 1), or of what they are woven into (-1)."""
    shape, rank = inputs[0].shape, _number_of_blocks(inputs, blocks, pairs)
    if blocks is not None and any(b is not None and b < 1 for b in blocks):
        raise ValueError(f"block_shape must be positive, got {list(blocks)}")
    what = "paddings" if sign > 0 else "crops"
    if pairs is not None and any(n is not None and n < 0 for pair in pairs for n in pair):
        raise ValueError(f"{what} cannot be negative, got {list(pairs)}")
    if shape is None or rank is None:
        return Spec(inputs[0].dtype, None if shape is None else (None,) * len(shape))
    if len(shape) <= rank or any(
        given is not None and len(given) != rank for given in (blocks, pairs)
    ):
        raise ValueError(
            f"block_shape {blocks and list(blocks)} and {pairs and list(pairs)} do not fit shape "
            f"{shapes.show(shape)}"
        )
    blocks = blocks or (None,) * rank
    pairs = pairs or ((None, None),) * rank
    count = None if None in blocks else math.prod(blocks)
    spatial = list(zip(shape[1 : 1 + rank], blocks, pairs, strict=True))
    if sign > 0:
        batch = None if shape[0] is None or count is None else shape[0] * count
        sizes = [
            None if None in (n, block, *pair) else _over(n + sum(pair), block, "padded size")
            for n, block, pair in spatial
        ]
    else:
        batch = None if count is None else _over(shape[0], count, "batch")
        sizes = [
            None if None in (n, block, *pair) else n * block - sum(pair)
            for n, block, pair in spatial
        ]
        if any(n is not None and n < 0 for n in sizes):
            raise ValueError(f"Negative dimension size caused by crops {list(pairs)}")
    return Spec(inputs[0].dtype, (batch, *sizes, *shape[1 + rank :]))


def _number_of_blocks(inputs: Sequence[Spec], blocks: Any, pairs: Any) -> int | None:
    """Return how many dimensions are cut into blocks, as far as any argument tells."""
    for given in (blocks, pairs):
        if given is not None:
            return len(given)
    known = [spec.shape[0] for spec in inputs[1:] if spec.shape]
    return next((n for n in known if n is not None), None)


def _spatial_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if not axes.is_complete(attrs["block_shape"]):
        return axes.whole(inputs, outputs)
    return axes.aligned_except(inputs, outputs, range(1 + len(attrs["block_shape"])))


SPACE_TO_BATCH = OpDef(
    "SpaceToBatchND",
    "input:T",
    operands=("block_shape", "paddings"),
    infer=lambda inputs, *, block_shape, paddings, **attrs: _batched(
        inputs, block_shape, paddings, 1
    ),
    pattern=Movement(_spatial_access, view=False),
    kernel=kernels.space_to_batch,
    gradient=adjoint("BatchToSpaceND", paddings="crops"),
)

BATCH_TO_SPACE = OpDef(
    "BatchToSpaceND",
    "input:T",
    operands=("block_shape", "crops"),
    infer=lambda inputs, *, block_shape, crops, **attrs: _batched(inputs, block_shape, crops, -1),
    pattern=Movement(_spatial_access, view=False),
    kernel=kernels.batch_to_space,
    gradient=adjoint("SpaceToBatchND", crops="paddings"),
)


def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Return each phase of the spatial dimensions as a batch of its own.

    Args:
      input: [batch, *spatial, ...] any dtype.
      block_shape: [m] int32 or int64, the number of phases of each spatial dimension.
      paddings: [m, 2] int32 or int64, zeros added before and after each; then block_shape must
        divide the sizes.
      name: name of the operation, by default "SpaceToBatchND".

    Returns:
      [batch * prod(block_shape), *(spatial / block_shape), ...].

    Raises:
      ValueError: the sizes are not divisible.

    >>> space_to_batch_nd([[1, 2, 3, 4]], [2], [[0, 0]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    options = axes.as_operands(block_shape=block_shape, paddings=paddings)
    return apply(SPACE_TO_BATCH, input, name=name, **options)


def batch_to_space_nd(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """Return batches woven into each other: the inverse of `space_to_batch_nd`.

    Args:
      input: [batch, *spatial, ...] any dtype.
      block_shape: [m] int32 or int64; its product must divide the batch.
      crops: [m, 2] int32 or int64, elements dropped before and after each spatial dimension.
      name: name of the operation, by default "BatchToSpaceND".

    >>> batch_to_space_nd([[1], [2], [3], [4]], [2], [[0, 0]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    options = axes.as_operands(block_shape=block_shape, crops=crops)
    return apply(BATCH_TO_SPACE, input, name=name, **options)


def _of_images(
    function: Callable[..., Tensor], input: TensorLike, block: Any, pairs: TensorLike, name: str
) -> Tensor:
    """Call a function of blocks; one number is the block's height and width, of images."""
    block = axes.as_operand(block)
    if not isinstance(block, int):
        return function(input, block, pairs, name)
    images = convert_to_tensor(input)
    found = function(images, (block, block), pairs, name)
    if images.spec.shape is None:
        found.set_shape([None] * 4)
    return found


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Return the phases of images as batches. See `space_to_batch_nd`; `block_size` counts for
    height and width.

    >>> space_to_batch(dv.ones([1, 4, 4, 3]), [[0, 0], [0, 0]], 2).shape.as_list()
    [4, 2, 2, 3]
    """
    block = axes.either(block_size, block_shape, "block_size", "block_shape")
    return _of_images(space_to_batch_nd, input, block, paddings, name or "SpaceToBatch")


def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Return the batches of images woven together. See `batch_to_space_nd`.

    Args:
      input, crops, name: as of `batch_to_space_nd`.
      block_size: the size of blocks in both dimensions of images.
      block_shape: instead, the sizes of blocks; then all is as of `batch_to_space_nd`.

    Returns:
      [batch / blocks, height, width, ...], of the dtype of `input`.

    >>> batch_to_space(dv.reshape([1, 2, 3, 4], [4, 1, 1, 1]), [[0, 0], [0, 0]], 2).shape.as_list()
    [1, 2, 2, 1]
    """
    block = axes.either(block_size, block_shape, "block_size", "block_shape")
    images = convert_to_tensor(input)
    return _of_images(batch_to_space_nd, images, block, crops, name or "BatchToSpace")
