"""Joining and splitting: concat, split, stack, unstack; and lists of tensors as tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import as_dtype
from daskvars.errors import InvalidArgumentError
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor, register_tensor_conversion_function
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, Dim, KnownShapes, Movement
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.array import movement as kernels
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.reshaping import identity
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import merged_shape


def single_axis(axis: TensorLike, function: str) -> Any:
    """Return an axis as a number; as a tensor where only the run tells it.

    Raises:
      ValueError: it is no scalar.
      TypeError: it is no integer.
    """
    if not axes.is_symbolic(axis):
        try:
            return operator.index(axes.as_operand(axis))
        except TypeError:
            raise TypeError(f"{function}() takes an integer axis, got {axis!r}") from None
    tensor = convert_to_tensor(axis)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{function}() takes an integer axis, got one of {tensor.dtype.name}")
    if tensor.spec.shape not in (None, ()):
        raise ValueError(f"{function}() takes a scalar axis, got one of shape {tensor.shape}")
    value = constant_value(tensor)
    if value is not None:
        return int(value)
    return tensor


def check_axis(inputs: Sequence[Spec], operands: Sequence[str]) -> None:
    """Raise ValueError for an axis that comes as a tensor, as the last input, and is no scalar."""
    if "axis" in operands and inputs[-1].shape not in (None, ()):
        raise ValueError(
            "the axis must have exactly one element and be a scalar; got one of shape "
            f"{shapes.in_brackets(inputs[-1].shape)}"
        )


# -- concat ------------------------------------------------------------------------------------


def _concatenated(inputs: Sequence[Spec], *, axis: Any, operands: Sequence[str] = ()) -> Spec:
    check_axis(inputs, operands)
    inputs = inputs[: len(inputs) - len(operands)]
    known = [spec.shape for spec in inputs if spec.shape is not None]
    if not known:
        return Spec(inputs[0].dtype, None)
    rank = len(known[0])
    if not rank:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    if operands:
        ranks = sorted({len(shape) for shape in known})
        if len(ranks) > 1:
            raise ValueError(f"Ranks of all inputs should match, got {ranks}")
        return Spec(inputs[0].dtype, (None,) * rank)
    place = shapes.normalize_axis(axis, rank, "Concat axis")
    for shape in known:
        if len(shape) != rank:
            raise ValueError(f"Shape must be rank {rank} but is rank {len(shape)}")
    merged = merged_shape(*[(*shape[:place], None, *shape[place + 1 :]) for shape in known])
    sizes = tuple([None if spec.shape is None else spec.shape[place] for spec in inputs])
    total = sum(sizes) if shapes.is_known(sizes) else None
    return Spec(inputs[0].dtype, (*merged[:place], total, *merged[place + 1 :]))


def _joined_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if "operands" in attrs:
        return axes.whole(inputs, outputs)
    place = attrs["axis"] % len(outputs[0])
    dims = tuple(None if i == place else Dim(i) for i in range(len(outputs[0])))
    return Access((dims,) * len(inputs), (dims,))


def _concatenated_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    if attrs["axis"] is None:
        return None
    arrays = axes.known_arrays(values, specs)
    return None if arrays is None else axes.as_value(numpy.concatenate(arrays, attrs["axis"]))


def _concat_gradient(op: Operation, dy: Tensor) -> Sequence[Tensor]:
    axis = axes.operand_of(op, "axis")
    values = op.inputs[: len(op.inputs) - len(op.attrs.get("operands", ()))]
    sizes = [size_along(x, axis) for x in values]
    return [dy] if len(sizes) == 1 else split(dy, sizes, axis)


CONCAT = OpDef(
    "ConcatV2",
    "*values:T",
    infer=_concatenated,
    pattern=Movement(_joined_access, view=False, linear=True),
    kernel=kernels.concat,
    static=_concatenated_value,
    gradient=_concat_gradient,
    operands=("axis",),
)


def concat(values: TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """Return tensors put one after the other along a dimension.

    Args:
      values: a tensor or a list of them, of one dtype and of equal sizes but along `axis`.
      axis: the dimension, scalar integer; negative counts from the end.
      name: name of the operation, by default "concat".

    Returns:
      [..., sum of the sizes, ...], of the dtype of `values`. Chunks of the other dimensions stay.

    Raises:
      TypeError: `axis` is a list: the values come first.
      ValueError: the other sizes differ, or `values` are scalars or an empty list.

    >>> concat([[[1], [2]], [[3], [4]]], 1).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    if not isinstance(values, list | tuple):
        values = [values]
    if not len(values):
        raise ValueError("concat(values, axis) needs at least one tensor, got an empty list")
    if isinstance(axis, list | tuple):
        raise TypeError(f"concat(values, axis) takes an integer axis second, got {axis!r}")
    axis = single_axis(axis, "concat")
    if len(values) == 1:
        return identity(values[0], name=name)
    return apply(CONCAT, *values, name=name, axis=axis)


# -- split -------------------------------------------------------------------------------------


def _with_size(spec: Spec, place: int, size: int | None) -> Spec:
    shape: Any = spec.shape
    return Spec(spec.dtype, (*shape[:place], size, *shape[place + 1 :]))


def _split_evenly(
    inputs: Sequence[Spec], *, num_split: Any, axis: Any, operands: Sequence[str] = ()
) -> Spec:
    check_axis(inputs, operands)
    if inputs[0].shape is None or operands:
        return (_unsized(inputs[0]),) * num_split
    place = shapes.normalize_axis(axis, len(inputs[0].shape), "split axis")
    size = inputs[0].shape[place]
    if size is not None and size % num_split:
        raise ValueError(
            f"Dimension size must be evenly divisible by {num_split} but is {size}: the number of "
            f"ways to split should evenly divide the split dimension, and {num_split} parts of "
            f"shape {shapes.show(inputs[0].shape)} along axis {axis} do not"
        )
    part = _with_size(inputs[0], place, None if size is None else size // num_split)
    return (part,) * num_split


def _unsized(spec: Spec) -> Spec:
    return Spec(spec.dtype, None if spec.shape is None else (None,) * len(spec.shape))


def _split_by_size(
    inputs: Sequence[Spec], *, size_splits: Any, axis: Any, _num: Any, operands: Sequence[str] = ()
) -> tuple[Spec, ...]:
    check_axis(inputs, operands)
    sizes = size_splits if isinstance(size_splits, tuple) else (None,) * _num
    for given in inputs[1:2] if "size_splits" in operands else ():
        if not shapes.compatible(given.shape, (_num,)):
            raise ValueError(
                f"Length of size_splits should be equal to num = {_num}, but its shape is "
                f"{shapes.show(given.shape)}"
            )
    if inputs[0].shape is None or "axis" in operands:
        return (_unsized(inputs[0]),) * _num
    place = shapes.normalize_axis(axis, len(inputs[0].shape), "split axis")
    total = inputs[0].shape[place]
    if total is not None and None not in sizes:
        try:
            sizes = kernels.resolved_sizes(sizes, total)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None
    return tuple(_with_size(inputs[0], place, None if n is None or n < 0 else n) for n in sizes)


def _split_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if "axis" in attrs.get("operands", ()):
        return axes.whole(inputs, outputs)
    return axes.aligned_except(inputs, outputs, (attrs["axis"],))


SPLIT = OpDef(
    "Split",
    "value:T",
    infer=_split_evenly,
    pattern=Movement(_split_access, linear=True),
    kernel=kernels.split,
    gradient=lambda op, *dys: concat(dys, axes.operand_of(op, "axis")),
    operands=("axis",),
)

SPLIT_V = OpDef(
    "SplitV",
    "value:T",
    infer=_split_by_size,
    pattern=Movement(_split_access, linear=True),
    kernel=kernels.split_sizes,
    operands=("size_splits", "axis"),
    gradient=lambda op, *dys: concat(dys, axes.operand_of(op, "axis")),
)


def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Return the parts of a tensor along a dimension.

    Args:
      value: [...] any dtype.
      num_or_size_splits: the number of parts of equal size; or [n] int32 or int64, their sizes, of
        which one may be -1: what the others leave.
      axis: the dimension, scalar integer; negative counts from the end.
      num: the number of sizes, needed where that cannot be told from `num_or_size_splits`.
      name: name of the operation, by default "split".

    Returns:
      A list of tensors, of the dtype of `value`.

    Raises:
      ValueError: the parts do not add up to the dimension, their number is not known, or it is
        not `num`.

    >>> [part.numpy().tolist() for part in split([1, 2, 3, 4, 5], [2, 3])]
    [[1, 2], [3, 4, 5]]
    """
    axis = single_axis(axis, "split")
    sizes = axes.as_operand(num_or_size_splits)
    if isinstance(sizes, int):
        if sizes < 1:
            raise ValueError(f"num_split must be positive, got {sizes}")
        return list(apply(SPLIT, value, name=name, num_split=sizes, axis=axis))
    if not isinstance(sizes, list | tuple):
        known = convert_to_tensor(sizes)
        if known.spec.shape == ():
            raise ValueError("split() needs a number of parts that is known: pass a Python integer")
        found = known.spec.shape[0] if known.spec.shape else None
        if num is None and found is None:
            raise ValueError(f"Cannot infer num from shape {known.shape}: pass num")
    else:
        found = len(sizes)
    if num is None:
        num = found
    elif found is not None and num != found:
        raise ValueError(
            f"Length of size_splits should be equal to num: {found} sizes are given, and num={num}"
        )
    return list(apply(SPLIT_V, value, name=name, size_splits=sizes, axis=axis, _num=num))


# -- stack -------------------------------------------------------------------------------------


def _place(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis = {axis} not in [{-rank}, {rank}): out of range for rank {rank}")
    return axis % rank


def _stacked(inputs: Sequence[Spec], *, axis: Any) -> Spec:
    merged = merged_shape(*[spec.shape for spec in inputs])
    if merged is None:
        return Spec(inputs[0].dtype, None)
    place = _place(axis, len(merged) + 1)
    return Spec(inputs[0].dtype, (*merged[:place], len(inputs), *merged[place:]))


def _stacked_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    place = attrs["axis"] % len(outputs[0])
    dims = tuple(map(Dim, range(len(inputs[0]))))
    return Access((dims,) * len(inputs), ((*dims[:place], None, *dims[place:]),))


def _stacked_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    merged = merged_shape(*[spec.shape for spec in specs])  # of those whose own is not known too
    arrays = axes.known_arrays(values, [Spec(spec.dtype, merged) for spec in specs])
    return None if arrays is None else axes.as_value(numpy.stack(arrays, attrs["axis"]))


STACK = OpDef(
    "Pack",
    "*values:T",
    infer=_stacked,
    pattern=Movement(_stacked_access, view=False, linear=True),
    kernel=kernels.stack,
    static=_stacked_value,
    gradient=lambda op, dy: unstack(dy, num=len(op.inputs), axis=op.attrs["axis"]),
)


def stack(values: Sequence[Any], axis: int = 0, name: str = "stack") -> Tensor:
    """Return tensors as the slices of one, along a new dimension.

    Args:
      values: a list of [...] tensors of one dtype and shape, or for axis 0 a tensor as it is.
      axis: where the new dimension is; negative counts from the end.
      name: name of the operation, by default "stack".

    Returns:
      [..., len(values), ...], of the dtype of `values`.

    Raises:
      ValueError: the shapes differ, or there is no such place.

    >>> stack([[1, 4], [2, 5]], axis=1).numpy().tolist()
    [[1, 2], [4, 5]]
    """
    if axis == 0 and (isinstance(values, Tensor) or not axes.is_symbolic(values)):
        return convert_to_tensor(values, name=name)
    return apply(STACK, *values, name=name, axis=int(axis))


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """Return tensors as the slices of one, along a new first dimension. See `stack`.

    >>> print(parallel_stack([[1, 2], [3, 4]]).numpy().tolist())
    [[1, 2], [3, 4]]
    """
    return stack(values, name=name)


def _unstacked(inputs: Sequence[Spec], *, num: Any, axis: Any) -> Spec:
    shape = inputs[0].shape
    if shape is None:
        return (inputs[0],) * num
    place = _place(axis, len(shape))
    if shape[place] not in (num, None):
        raise ValueError(
            f"Dimension must be {num} but is {shape[place]}: cannot unstack "
            f"{shapes.show(shape)} along axis {axis}"
        )
    return (Spec(inputs[0].dtype, (*shape[:place], *shape[place + 1 :])),) * num


def _unstacked_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if not outputs:
        return axes.whole(inputs, outputs)
    place = attrs["axis"] % len(inputs[0])
    return axes.aligned(
        inputs, outputs, ((i, i - (i > place)) for i in range(len(inputs[0])) if i != place)
    )


UNSTACK = OpDef(
    "Unpack",
    "value:T",
    infer=_unstacked,
    pattern=Movement(_unstacked_access, linear=True),
    kernel=kernels.unstack,
    gradient=lambda op, *dys: stack(dys, axis=op.attrs["axis"]),
)


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Return the slices of a tensor along a dimension.

    Args:
      value: [...] any dtype.
      num: the size of that dimension, where it is not known statically.
      axis: the dimension; negative counts from the end.
      name: name of the operation, by default "unstack".

    Returns:
      A list of `num` tensors of the dtype of `value` and of its shape without the dimension.

    Raises:
      ValueError: `num` is not given and not known, or differs from the size.

    >>> [int(x) for x in unstack([5, 6])]
    [5, 6]
    """
    value, axis = convert_to_tensor(value), single_axis(axis, "unstack")
    shape = value.spec.shape
    if num is None:
        if shape is not None:
            num = shape[_place(axis, len(shape))]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {shapes.show(shape)}")
    if not num:
        return []
    return list(apply(UNSTACK, value, name=name, num=int(num), axis=int(axis)))


# -- lists that hold tensors -------------------------------------------------------------------


def _first_dtype(values: Any) -> Any:
    """Return the dtype of the first tensor in a nested list, None where there is none."""
    if isinstance(values, list | tuple):
        return next((d for d in map(_first_dtype, values) if d is not None), None)
    return convert_to_tensor(values).dtype.base_dtype if axes.is_symbolic(values) else None


def _packed(values: Any, dtype: Any, name: str) -> Tensor:
    if not axes.is_symbolic(values):
        return convert_to_tensor(values, dtype)
    if not isinstance(values, list | tuple):
        tensor = convert_to_tensor(values)
        if tensor.dtype.base_dtype is not as_dtype(dtype).base_dtype:
            raise TypeError(
                f"Cannot convert a list containing a tensor of dtype {tensor.dtype!r} to "
                f"{as_dtype(dtype)!r} (Tensor is: {tensor!r}). Use cast()."
            )
        return tensor
    with name_scope(name, "packed", nest.flatten(values)) as scope:
        return stack([_packed(item, dtype, str(i)) for i, item in enumerate(values)], name=scope)


def _tensor_of_list(
    value: Sequence[Any], dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Convert a nested list that holds tensors: numbers take the dtype of the tensors."""
    if not axes.is_symbolic(value):
        return NotImplemented
    return _packed(value, dtype or _first_dtype(value), name or "packed")


register_tensor_conversion_function((list, tuple), _tensor_of_list, 99)
