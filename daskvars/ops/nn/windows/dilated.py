"""Windows with holes as plain windows over the phases of an image, each a batch of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import size_along, zeros, zeros_like
from daskvars.ops.array.joining import stack, unstack
from daskvars.ops.array.rearranging import batch_to_space_nd, space_to_batch_nd
from daskvars.ops.math.arithmetic import add, multiply, negative, subtract
from daskvars.ops.math.division import floordiv, floormod


def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the least paddings with which blocks divide sizes, and what to crop for them later.

    They are the arguments of `space_to_batch_nd`, and of `batch_to_space_nd` after it.

    Args:
      input_shape: [m] int32, the sizes.
      block_shape: [m] int32, the sizes of blocks; m must be known.
      base_paddings: [m, 2] int32, what is padded in any case before and after, by default nothing.
      name: name scope, by default "required_space_to_batch_paddings".

    Returns:
      paddings: [m, 2] int32, `base_paddings` and what is missing, after each dimension.
      crops: [m, 2] int32, zero before, and after each dimension what was missing.

    Raises:
      ValueError: m is not known, or the shapes do not fit each other.

    >>> paddings, crops = required_space_to_batch_paddings([7, 4], [3, 2], [[1, 0], [0, 0]])
    >>> paddings.numpy().tolist(), crops.numpy().tolist()
    ([[1, 1], [0, 0]], [[0, 1], [0, 0]])
    """
    given = [input_shape, block_shape]
    with name_scope(name, "required_space_to_batch_paddings", given):
        sizes = convert_to_tensor(input_shape, int32, name="input_shape")
        blocks = convert_to_tensor(block_shape, int32, name="block_shape")
        count = _length(blocks, "block_shape")
        base = zeros([count, 2], int32) if base_paddings is None else base_paddings
        base = convert_to_tensor(base, int32, name="base_paddings")
        for tensor, wanted in ((sizes, (count,)), (base, (count, 2))):
            if not shapes.compatible(tensor.spec.shape, wanted):
                raise ValueError(
                    f"{count} blocks need shape {shapes.show(wanted)} of {tensor.name}, got "
                    f"{tensor.shape}"
                )
        if not count:
            return base, zeros_like(base)
        base.set_shape([count, 2])
        before, after = unstack(base, axis=1)
        missing = floormod(negative(add(add(sizes, before), after)), blocks)
        paddings = stack([before, add(after, missing)], axis=1, name="paddings")
        return paddings, stack([zeros_like(missing), missing], axis=1, name="crops")


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: TensorLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Return what a function of windows gives if its windows see every `dilation_rate`-th pixel.

    The function is called with the phases of the images as batches (`space_to_batch_nd`), and its
    result woven together again. Several ops one after the other can be one function of a call; they
    then see zeros beyond the image's end only where the rates divide its size.

    Args:
      input: [batch, *spatial, channels] any dtype, or in the order of `data_format`.
      dilation_rate: [m] int32, for each dimension of space; m must be known.
      padding: "SAME" or "VALID".
      op: called with the phases, m and "VALID"; where all rates are 1, with `input`, m and
        `padding`.
      filter_shape: [m or more] int32, the sizes of windows; for "SAME" it must be there.
      spatial_dims: the dimensions of space, ascending, by default the m after the batch (and
        the channels, if they are first).
      data_format: one that begins with "NC" where the channels are first.

    Returns:
      A tensor, of the dtype that the function gives.

    Raises:
      ValueError: an argument is not as described, a rate is not positive, or the input's rank is
        too small.

    >>> def mean_of_two(x, num_spatial_dims, padding):
    ...     return dv.nn.pool(x, [2], "AVG", padding)
    >>> x = dv.reshape(dv.range(6.0), [1, 6, 1])
    >>> with_space_to_batch(x, [2], "VALID", mean_of_two).numpy().ravel().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    images = convert_to_tensor(input, name="input")
    rates = convert_to_tensor(dilation_rate, int32, name="dilation_rate")
    count = _length(rates, "dilation_rate")
    dims = _spatial_dims(images, count, spatial_dims, data_format)
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be 'SAME' or 'VALID', got {padding!r}")
    known = constant_value(rates)
    if known is not None and (known < 1).any():
        raise ValueError(f"dilation_rate must be positive, got {known.tolist()}")
    if known is not None and (known == 1).all():
        return op(images, count, padding)
    around = None if padding == "VALID" else _same_paddings(rates, filter_shape, count)
    paddings, crops = required_space_to_batch_paddings(_sizes(images, dims), rates, around)
    rates, paddings, crops = (
        _at(dims, values, other)
        for values, other in ((rates, 1), (paddings, [0, 0]), (crops, [0, 0]))
    )
    result = op(space_to_batch_nd(images, rates, paddings), count, "VALID")
    return batch_to_space_nd(result, rates, crops)


def _length(vector: Tensor, what: str) -> int:
    """Return the known number of elements of a vector."""
    shape = vector.spec.shape
    if shape is None or len(shape) != 1 or shape[0] is None:
        raise ValueError(f"{what} must be a vector of known length, got shape {vector.shape}")
    return shape[0]


def _spatial_dims(
    images: Tensor, count: int, given: Sequence[int] | None, data_format: str | None
) -> list[int]:
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    dims = list(range(first, first + count)) if given is None else [int(n) for n in given]
    if dims != sorted(set(dims)) or any(n < 1 for n in dims):
        raise ValueError(
            "spatial_dims must be a monotonically increasing sequence of positive integers, got "
            f"{dims}"
        )
    if len(dims) != count:
        raise ValueError(f"dilation_rate is of {count} dimensions, but spatial_dims is {dims}")
    shape = images.spec.shape
    if shape is not None and dims and len(shape) <= dims[-1]:
        raise ValueError(f"input must have rank {dims[-1] + 1} at least, got shape {images.shape}")
    return dims


def _same_paddings(rates: Tensor, filter_shape: TensorLike | None, count: int) -> Tensor:
    """Return how much is added at both ends for as many windows as there are pixels."""
    if filter_shape is None:
        raise ValueError("filter_shape must be specified for padding 'SAME'")
    sizes = convert_to_tensor(filter_shape, int32, name="filter_shape")[:count]
    holes = multiply(subtract(sizes, 1), rates)
    before = floordiv(holes, 2)
    return stack([before, subtract(holes, before)], axis=1)


def _sizes(images: Tensor, dims: Sequence[int]) -> Tensor:
    """Return sizes of images, known ones as constants."""
    return convert_to_tensor([size_along(images, n) for n in dims], int32)


def _at(dims: Sequence[int], values: Tensor, other: Any) -> Tensor:
    """Return values for all dimensions after the batch, `other` where they are none of `dims`."""
    rows: list[Any] = [other] * dims[-1]
    for dim, value in zip(dims, unstack(values), strict=True):
        rows[dim - 1] = value
    return stack(rows)
