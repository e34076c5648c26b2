"""Slices by position, and their adjoints, which put a slice back among zeros."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from daskvars import shapes
from daskvars.errors import InvalidArgumentError
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.array import slicing as kernels
from daskvars.ops.array import constant
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import of_shape
from daskvars.shapes import Shape

# -- slice -------------------------------------------------------------------------------------


def _sliced(inputs: Sequence[Spec], *, begin: Any, size: Any, **attrs: Any) -> Spec:
    shape, dtype = inputs[0].shape, inputs[0].dtype
    if isinstance(begin, int) or isinstance(size, int):
        raise ValueError(f"begin and size must be vectors, got begin {begin} and size {size}")
    known = next((v for v in (size, begin, shape) if isinstance(v, tuple)), None)
    if known is None:
        return Spec(dtype, None)
    rank = len(known)
    parts = [v if v is not None else (None,) * rank for v in (shape, begin, size)]
    if any(len(part) != rank for part in parts):
        raise ValueError(
            f"Expected begin and size to have a number for each dimension of shape "
            f"{shapes.show(shape)}, got begin {begin} and size {size}"
        )
    sizes = (_slice_size(i, *item) for i, item in enumerate(zip(*parts, strict=True)))
    return Spec(dtype, tuple(sizes))


def _slice_size(i: int, n: int | None, first: int | None, count: int | None) -> int | None:
    if count == -1:
        count = None if n is None or first is None else n - first
    if n is not None and first is not None and not 0 <= first <= n:
        raise ValueError(f"Expected begin[{i}] in [0, {n}], but got {first}")
    if count is not None and (count < 0 or (n is not None and (first or 0) + count > n)):
        raise ValueError(f"Expected size[{i}] in [0, {n}] from begin {first}, but got {count}")
    return count


def _slice_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    begin = attrs["begin"]
    if begin is None or not axes.is_complete(attrs["size" if "size" in attrs else "shape"]):
        return axes.whole(inputs, outputs)
    return axes.aligned(inputs, outputs, ((i, i) for i, first in enumerate(begin) if first == 0))


def _slice_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    arrays = axes.known_arrays(values[:1], specs[:1])
    begin, size = attrs["begin"], attrs["size"]
    if arrays is None or not axes.is_complete(begin) or not axes.is_complete(size):
        return None
    return axes.as_value(arrays[0][kernels.slice_bounds(arrays[0].shape, begin, size)])


def _slice_gradient(op: Operation, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    return slice_grad(dy, constant.full_shape(x), axes.operand_of(op, "begin"))


SLICE = OpDef(
    "Slice",
    "input:T",
    infer=_sliced,
    pattern=Movement(_slice_access, linear=True),
    kernel=kernels.slice_array,
    operands=("begin", "size"),
    static=_slice_value,
    gradient=_slice_gradient,
    block=axes.shaped_as_block("size"),
)


def slice(
    input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:
    """Return `size` elements along each dimension of a tensor, from `begin` on.

    Args:
      input_: [...] any dtype.
      begin: [rank] int32 or int64.
      size: [rank] int32 or int64; -1 means up to the end.
      name: name of the operation, by default "Slice".

    Returns:
      [*size], of the dtype of `input_`.

    Raises:
      ValueError: the slice does not lie within the static shape.
      InvalidArgumentError: (when run) the slice does not lie within the tensor.

    >>> dv.slice([[1, 2, 3], [4, 5, 6]], [1, 0], [1, 2]).numpy().tolist()
    [[4, 5]]
    """
    places = axes.as_integers(begin=begin)
    return apply(SLICE, input_, name=name, size=axes.as_operand(size), **places)


SLICE_GRAD = OpDef(
    "SliceGrad",
    "dy:T",
    kernel=kernels.slice_grad,
    infer=of_shape,
    pattern=Movement(_slice_access, view=False, linear=True),
    gradient=lambda op, dy: slice(dy, axes.operand_of(op, "begin"), constant.shape(op.inputs[0])),
    **axes.shaped_by("shape", "begin"),
)


def slice_grad(
    dy: TensorLike, shape: TensorLike, begin: TensorLike, name: str | None = None
) -> Tensor:
    """Return zeros of `shape` with `dy` at `begin`: the adjoint of `slice`.

    Args:
      dy: [...] any dtype.
      shape: [rank] int32 or int64.
      begin: [rank] int32 or int64.
      name: name of the operation, by default "SliceGrad".
    """
    return apply(
        SLICE_GRAD, dy, name=name, shape=axes.as_sizes(shape), begin=axes.as_operand(begin)
    )


# -- strided slice -----------------------------------------------------------------------------

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _key(attrs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the key as far as it is known: None for bounds that are not; None if nothing is."""
    bounds = [attrs["begin"], attrs["end"], attrs["strides"]]
    known = next((part for part in bounds if part is not None), None)
    if known is None:
        return None
    bounds = [(None,) * len(known) if part is None else part for part in bounds]
    if len({len(part) for part in bounds}) > 1:
        raise ValueError(f"begin, end and strides must have equal lengths, got {bounds}")
    # An unknown bound is told from an open one by what is put in its place.
    begin, end, strides = ([_UNKNOWN if n is None else n for n in part] for part in bounds)
    try:
        return kernels.index_key(begin, end, strides, **{mask: attrs[mask] for mask in MASKS})
    except InvalidArgumentError as error:
        raise ValueError(error.message) from None


class _Unknown:
    """A bound that is not known before a run."""

    def __lt__(self, other: object) -> bool:
        return False


_UNKNOWN = _Unknown()


def _walk(key: tuple[Any, ...], rank: int) -> Iterator[tuple[int | None, Any]]:
    """Yield (input dimension or None, item) for each item of the key, its ellipsis spelled out."""
    count = sum(item is not None and item is not Ellipsis for item in key)
    if count > rank:
        raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    axis = 0
    for item in key:
        if item is Ellipsis:
            for _ in range(rank - count):
                yield axis, builtins.slice(None)
                axis += 1
        elif item is None:
            yield None, None
        else:
            yield axis, item
            axis += 1


def _part_size(n: int | None, part: builtins.slice) -> int | None:
    bounds = (part.start, part.stop, part.step)
    if part.start is None and part.stop is None and part.step in (None, 1, -1):
        return n
    if n is None or _UNKNOWN in bounds:
        return None
    return len(range(*part.indices(n)))


def sliced_shape(key: tuple[Any, ...] | None, shape: Shape) -> Shape:
    """Return the shape that a key of slices, indices, None and Ellipsis cuts out of `shape`.

    Raises:
      ValueError: an index is out of bounds, or there are too many.
    """
    if key is None or shape is None:
        return None
    sizes: list[int | None] = []
    for axis, item in _walk(key, len(shape)):
        if axis is None:
            sizes.append(1)
        elif isinstance(item, builtins.slice):
            sizes.append(_part_size(shape[axis], item))
        else:
            _check_index(item, axis, shape[axis])
    return tuple(sizes)


def _check_index(index: Any, axis: int, size: int | None) -> None:
    if index is not _UNKNOWN and size is not None and not -size <= index < size:
        raise ValueError(f"slice index {index} of dimension {axis} out of bounds.")


def _uncut(key: tuple[Any, ...] | None, rank: int) -> list[tuple[int, int]]:
    """Return (dimension before, dimension after slicing) of those that the key takes whole."""
    pairs: list[tuple[Any, int]] = []
    place = 0
    for axis, item in _walk(key, rank) if key is not None else ():
        if item == builtins.slice(None) or item == builtins.slice(None, None, 1):
            pairs.append((axis, place))
        place += item is None or isinstance(item, builtins.slice)
    return pairs


def _strided_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    arrays = axes.known_arrays(values[:1], specs[:1])
    if arrays is None or not all(
        axes.is_complete(attrs[name]) for name in ("begin", "end", "strides")
    ):
        return None
    key = _key(attrs)
    if key is None or sliced_shape(key, arrays[0].shape) is None:
        return None
    return axes.as_value(arrays[0][(*key, ...) if Ellipsis not in key else key])


def _strided_gradient(op: Operation, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    bounds = {name: axes.operand_of(op, name) for name in ("begin", "end", "strides")}
    masks = {mask: op.attrs[mask] for mask in MASKS}
    return apply(STRIDED_SLICE_GRAD, dy, **bounds, **masks, shape=constant.full_shape(x))


STRIDED_SLICE = OpDef(
    "StridedSlice",
    "input:T",
    operands=("begin", "end", "strides"),
    kernel=kernels.strided_slice,
    infer=lambda inputs, **attrs: Spec(inputs[0].dtype, sliced_shape(_key(attrs), inputs[0].shape)),
    pattern=Movement(
        lambda inputs, outputs, attrs: axes.aligned(
            inputs, outputs, _uncut(_key(attrs), len(inputs[0] or ()))
        ),
        linear=True,
    ),
    static=_strided_value,
    gradient=_strided_gradient,
)


def strided_slice(
    input_: TensorLike,
    begin: Any,
    end: TensorLike,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a part of a tensor, as ``t[begin:end:strides]``.

    Args:
      input_: [...] any dtype.
      begin: [n] int32 or int64, for each item of the key its first index.
      end: [n], the index after the last.
      strides: [n], the step, by default ones.
      begin_mask: bit i: item i begins where the dimension does.
      end_mask: bit i: item i ends where the dimension does.
      ellipsis_mask: bit i: item i is an Ellipsis.
      new_axis_mask: bit i: item i is a new dimension.
      shrink_axis_mask: bit i: item i is an index, and its dimension is dropped.
      var: the Variable that `input_` is the value of, if it is one.
      name: name of the operation, by default "StridedSlice".

    Returns:
      [...], of the dtype of `input_`. Where `var` is given it has a method ``assign(value, name)``
      that sets the part in the variable and returns the variable's new value.

    Raises:
      ValueError: an index is out of bounds of the static shape, or a stride is 0.
      InvalidArgumentError: (when run) the same of the shape.

    >>> strided_slice([[1, 2, 3], [4, 5, 6]], [1, 0], [2, 3], [1, 2]).numpy().tolist()
    [[4, 6]]
    """
    begin, end = axes.as_operand(begin), axes.as_operand(end)
    if strides is None:
        listed = isinstance(begin, list | tuple)
        strides = (1,) * len(begin) if listed else constant.ones_like(begin)
    bounds = {
        "begin": begin,
        "end": end,
        "strides": axes.as_operand(strides),
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    sliced = apply(STRIDED_SLICE, input_, name=name, **bounds)
    return sliced if var is None else _slice_of(var, sliced, bounds)


class VariableSlice:
    """What the slice of a variable has besides what tensors have."""

    __slots__ = ()
    op: Operation
    variable: Any
    bounds: dict[str, Any]

    def assign(self, value: TensorLike, name: str | None = None) -> Tensor:
        """Set this part of the variable, and return the new value of the whole variable.

        Args:
          value: of the variable's dtype, of the shape of the slice or one that broadcasts to it.
          name: name of the operation, by default that of the slice and "/_assign".
        """
        return self.variable._assign_slice(value, name, self.op.name, self.bounds)


@lru_cache
def _slice_class(tensor_class: Any) -> type:
    slots = {"__slots__": ("bounds", "variable"), "__doc__": tensor_class.__doc__}
    return type(tensor_class.__name__, (VariableSlice, tensor_class), slots)


def _slice_of(variable: Any, sliced: Any, bounds: dict[str, Any]) -> Any:
    """Return the output of a new operation as one that knows the variable it is a slice of."""
    tensor_class: Any = type(sliced)
    part = _slice_class(tensor_class)(sliced.op, sliced.index, sliced.spec)
    for slot in set(tensor_class.__slots__) - {"__weakref__"}:
        setattr(part, slot, getattr(sliced, slot))
    part.variable, part.bounds = variable, bounds
    sliced.op.outputs = (part,)
    return part


def _strided_grad_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if not axes.is_complete(attrs["shape"]):
        return axes.whole(inputs, outputs)
    pairs = [(after, before) for before, after in _uncut(_key(attrs), len(outputs[0]))]
    return axes.aligned(inputs, outputs, pairs)


STRIDED_SLICE_GRAD = OpDef(
    "StridedSliceGrad",
    "dy:T",
    infer=of_shape,
    pattern=Movement(_strided_grad_access, view=False, linear=True),
    kernel=kernels.strided_slice_grad,
    gradient=lambda op, dy: strided_slice(
        dy,
        *(axes.operand_of(op, name) for name in ("begin", "end", "strides")),
        *(op.attrs[mask] for mask in MASKS),
    ),
    **axes.shaped_by("shape", "begin", "end", "strides"),
)
