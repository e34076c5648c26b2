"""Tensors made by counting: ranges, identity matrices and masks of sequence lengths."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from daskvars import dtypes
from daskvars.dtypes import DType, DTypeLike, as_dtype, float32, float64, int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Movement, Source
from daskvars.graph.interpreter import apply
from daskvars.graph.records.attribute_kinds import ATTRIBUTES, INT
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.array import ranges as kernels
from daskvars.ops.array.constant import sum_down
from daskvars.ops.math.arithmetic import ceil, multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import of_numbers
from daskvars.shapes import Dimension

# A value of several dtypes takes the last of them.
_HIERARCHY = (int32, int64, float32, float64)
_MAX_KNOWN = 1024  # longer ranges are data, not axes or shapes


def _count(start: Any, limit: Any, delta: Any) -> int | None:
    """Return the length of a range, None where not all is known."""
    if delta == 0:
        raise ValueError("Requires delta != 0: 0")
    return None if None in (start, limit, delta) else kernels.range_count(start, limit, delta)


def _range_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    start, delta = attrs["start"], attrs["delta"]
    count = _count(start, attrs["limit"], delta)
    if count is None or count > _MAX_KNOWN or not attrs["dtype"].is_integer:
        return None
    return tuple(start + i * delta for i in builtins.range(count))


def _range_block(attrs: dict[str, Any], block: Any) -> dict[str, Any]:
    return axes.in_block(attrs, offset=block.out_offsets[0][0], count=block.out_shapes[0][0])


RANGE = without_gradient(
    "Range",
    "",
    infer=lambda inputs, *, start, limit, delta, dtype, **attrs: Spec(
        of_numbers(dtype), (_count(start, limit, delta),)
    ),
    kernel=kernels.range_values,
    pattern=Source(),
    operands=("start", "limit", "delta"),
    static=_range_value,
    block=_range_block,
)


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Return ``start, start + delta, ...`` up to but without `limit`.

    Args:
      start: scalar number, the first value; with `limit` None the limit of a range from 0.
      limit: scalar number.
      delta: scalar number other than 0, the distance of values.
      dtype: dtype of the result; by default the widest of int32, int64, float32, float64 among
        the arguments.
      name: name of the operation, by default "range".

    Returns:
      [ceil((limit - start) / delta)] `dtype`.

    Raises:
      ValueError: `delta` is 0 or of the wrong sign.
      TypeError: `dtype` is integer, and an argument is floating.

    >>> range(3, 18, 3).numpy().tolist()
    [3, 6, 9, 12, 15]
    """
    if limit is None:
        start, limit = 0, start
    found = [_dtype_of(value) for value in (start, limit, delta)]
    wanted = max(found, key=_HIERARCHY.index) if dtype is None else as_dtype(dtype).base_dtype
    if wanted.is_integer and any(each.is_floating for each in found):
        raise TypeError(f"Expected {wanted.name}, got {start, limit, delta}: cast() the floats")
    start, limit, delta = (axes.as_operand(value) for value in (start, limit, delta))
    return apply(RANGE, name=name, start=start, limit=limit, delta=delta, dtype=wanted)


def _dtype_of(value: Any) -> dtypes.DType:
    if isinstance(value, Dimension):
        value = int(value)  # int32 where it fits, as for a number
    found = convert_to_tensor(value).dtype if axes.is_symbolic(value) else dtypes.infer_dtype(value)
    if found.base_dtype not in _HIERARCHY:
        raise TypeError(
            f"range() counts in int32, int64, float32 or float64, found {found.name}: {value!r}. "
            "Cast it before it is passed."
        )
    return found.base_dtype


def _linspace_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    ends = [convert_to_tensor(end, dy.dtype) for end in (0.0, 1.0)]
    stop = sum_down(multiply(dy, apply(LINSPACE, *ends, num=axes.operand_of(op, "num"))), ())
    return subtract(sum_down(dy, ()), stop), stop


LINSPACE = OpDef(
    "LinSpace",
    "start:D, stop:D",
    infer=lambda inputs, *, num, **attrs: Spec(inputs[0].dtype, (_checked_num(num),)),
    kernel=kernels.linspace_values,
    pattern=Source(),
    gradient=_linspace_gradient,
    operands=("num",),
    attributes={**ATTRIBUTES, "num": INT},
    block=_range_block,
)


def _checked_num(num: int | None) -> int | None:
    if num is not None and num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    return num


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None
) -> Tensor:
    """Return `num` values from `start` to `stop` at equal distances.

    Args:
      start: scalar float, the first value.
      stop: scalar float, the last value.
      num: scalar integer, at least 1.
      name: name of the operation, by default "LinSpace".

    Returns:
      [num], of the dtype of `start` (float32 for Python numbers).

    Raises:
      ValueError: `num` is not positive.
      TypeError: `start` or `stop` is a tensor of integers.

    >>> linspace(10.0, 12.0, 3).numpy().tolist()
    [10.0, 11.0, 12.0]
    """
    tensors = [convert_to_tensor(end) for end in (start, stop) if axes.is_symbolic(end)]
    dtype = tensors[0].dtype.base_dtype if tensors else _float_dtype(start)
    if not dtype.is_floating:
        raise TypeError(f"linspace() needs floating start and stop, found {dtype.name}")
    with name_scope(name, "LinSpace", tensors) as scope:
        first = convert_to_tensor(start, dtype, name="start")
        last = convert_to_tensor(stop, dtype, name="stop")
        return apply(LINSPACE, first, last, name=scope, num=axes.as_operand(num))


def _float_dtype(value: Any) -> dtypes.DType:
    found = dtypes.infer_dtype(value)
    return found if found.is_floating else float32


lin_space = linspace


EYE = without_gradient(
    "Eye",
    "",
    infer=lambda inputs, *, num_rows, num_columns, batch_shape, dtype, **attrs: Spec(
        of_numbers(dtype), None if batch_shape is None else (*batch_shape, num_rows, num_columns)
    ),
    kernel=kernels.eye,
    pattern=Source(),
    operands=("num_rows", "num_columns", "batch_shape"),
    block=lambda attrs, block: axes.in_block(
        attrs,
        num_rows=block.out_shapes[0][-2],
        num_columns=block.out_shapes[0][-1],
        batch_shape=block.out_shapes[0][:-2],
        diagonal=block.out_offsets[0][-2] - block.out_offsets[0][-1],
    ),
)


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return an identity matrix, or a batch of them.

    Args:
      num_rows: scalar integer.
      num_columns: scalar integer, by default `num_rows`.
      batch_shape: [...] integer, the shape of the batch, by default a single matrix.
      dtype: dtype of the result.
      name: name of the operation, by default "eye".

    Returns:
      [*batch_shape, num_rows, num_columns] `dtype`.

    >>> eye(2, num_columns=3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows = axes.as_operand(num_rows)
    columns = rows if num_columns is None else axes.as_operand(num_columns)
    batch = () if batch_shape is None else axes.as_sizes(batch_shape)
    dtype = as_dtype(dtype).base_dtype
    return apply(
        EYE, name=name or "eye", num_rows=rows, num_columns=columns, batch_shape=batch, dtype=dtype
    )


def _masked(inputs: Sequence[Spec], *, maxlen: Any, dtype: DType, **attrs: Any) -> Spec:
    shape = inputs[0].shape
    if isinstance(maxlen, tuple) or any(given.shape for given in inputs[1:]):
        raise ValueError(f"maxlen must be scalar, got {maxlen or inputs[1].shape}")
    return Spec(of_numbers(dtype), None if shape is None else (*shape, maxlen))


SEQUENCE_MASK = without_gradient(
    "SequenceMask",
    "lengths:Z",
    infer=_masked,
    kernel=kernels.sequence_mask,
    pattern=Movement(
        lambda inputs, outputs, attrs: axes.aligned(
            inputs, outputs, ((i, i) for i, _ in enumerate(inputs[0] or ()))
        ),
        view=False,
    ),
    operands=("maxlen",),
)


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = dtypes.bool,
    name: str | None = None,
) -> Tensor:
    """Return for each sequence which of its places are filled: ``j < lengths[i]``.

    Args:
      lengths: [...] integer; a float is cut off where `maxlen` is given.
      maxlen: scalar integer, the number of places; by default the greatest length.
      dtype: dtype of the result, whose ones stand for True; None is bool.
      name: name of the operation, by default "SequenceMask".

    Returns:
      [..., maxlen] `dtype`.

    Raises:
      ValueError: `maxlen` is no scalar.

    >>> sequence_mask([1, 3], 4, dv.int32).numpy().tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0]]
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]) as scope:
        lengths = convert_to_tensor(lengths)
        dtype = dtypes.bool if dtype is None else as_dtype(dtype).base_dtype
        if maxlen is None:
            if lengths.spec.dtype.is_floating:  # j < 2.5 where j < 3
                lengths = cast(ceil(lengths), dtypes.int64)
            return apply(SEQUENCE_MASK_LONGEST, lengths, name=scope, dtype=dtype)
        maxlen = axes.as_operand(maxlen)
        if isinstance(maxlen, float):  # as many as range(maxlen) has
            maxlen = math.ceil(maxlen)
        if lengths.spec.dtype.is_floating:  # as TensorFlow, of the dtype of maxlen
            lengths = cast(lengths, dtypes.int64)
        return apply(SEQUENCE_MASK, lengths, name=scope, maxlen=maxlen, dtype=dtype)


SEQUENCE_MASK_LONGEST = without_gradient(
    "SequenceMaskLongest",
    "lengths:Z",
    infer=lambda inputs, *, dtype: _masked(inputs, maxlen=None, dtype=dtype),
    kernel=kernels.sequence_mask,
)
