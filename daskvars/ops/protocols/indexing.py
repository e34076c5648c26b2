"""What ``t[...]`` means: NumPy's indexing, with tensors as bounds, indices and masks.

Lists and arrays of integers pick slices, as NumPy's do. TensorFlow takes a list for a tuple, so
that ``m[[0, 2]]`` is one element, and so it is in a graph of TensorFlow 1's programs; what else is
here TensorFlow refuses. What of NumPy's rules would need a transposition (arrays with a slice
between them) is refused.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.dtypes import int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import stack
from daskvars.ops.array.slicing import strided_slice
from daskvars.ops.gather_scatter.gather import boolean_mask, gather
from daskvars.ops.gather_scatter.scatter import gather_nd
from daskvars.ops.math.arithmetic import add, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import less, where_v2
from daskvars.ops.rules.axes import is_symbolic

newaxis = None
_NOT_AN_INDEX = (
    "Only integers, slices (`:`), ellipsis (`...`), newaxis (`None`), int32/int64 tensors, and "
    "lists or arrays of integers are valid indices"
)


def slice_helper(tensor: TensorLike, key: Any) -> Tensor:
    """Return ``tensor[key]``.

    Args:
      tensor: [...] any dtype.
      key: integers, slices, Ellipsis and None (`newaxis`), one or a tuple of them; integers and
        bounds of slices may be scalar int32 or int64 tensors. In the place of an integer there may
        be a list, array or tensor of them, which picks slices: ``m[[0, 2]]`` are two rows (in a
        graph of TensorFlow 1 one element: there a list of integers is a tuple). Several such stand
        side by side and are broadcast together: ``m[[0, 1], [1, 0]]`` are two elements. Or a bool
        mask, see `boolean_mask`.

    Returns:
      The part of the tensor, of its dtype. Dimensions taken whole (``:``) keep their chunks.
      That of a Variable can be assigned to where nothing is picked: ``v[1:3].assign(value)``.

    Raises:
      TypeError: the key holds something else, or a mask beside something else.
      ValueError: an index is out of bounds of the static shape.
      IndexError: there are more indices than dimensions.
      NotImplementedError: slices stand before or between several integers, some of them arrays.
      InvalidArgumentError: (when run) an index is out of bounds.

    Gradient:
      An IndexedSlices where only rows are picked (``t[indices]``).

    >>> slice_helper(dv.constant([[1, 2], [3, 4]]), (-1, slice(1, None))).numpy().tolist()
    [4]
    >>> slice_helper(dv.constant([[1, 2], [3, 4], [5, 6]]), [0, -1]).numpy().tolist()
    [[1, 2], [5, 6]]
    """
    if isinstance(key, list) and (any(map(_is_basic, key)) or _is_tuple_to(tensor, key)):
        key = tuple(key)
    if _is_mask(key):
        return boolean_mask(tensor, key)
    items = list(key) if isinstance(key, tuple) else [key]
    if any(map(_is_array, items)):
        return _picked(tensor, items)
    return _sliced(tensor, items)


def _sliced(tensor: Any, items: list[Any]) -> Tensor:
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks: dict[str, Any] = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    for i, item in enumerate(items):
        bounds, open_ends = _bounds(item)
        for part, bound in zip((begin, end, strides), bounds, strict=True):
            part.append(bound)
        for mask in open_ends:
            masks[mask] |= 1 << i
    with name_scope(None, "strided_slice", [tensor]) as scope:
        begin, end, strides = _of_one_dtype(begin, end, strides)
        var = tensor if hasattr(tensor, "_assign_slice") else None
        return strided_slice(tensor, begin, end, strides, name=scope, var=var, **masks)


def _is_tuple_to(tensor: Any, key: list[Any]) -> bool:
    """Return whether a list is taken for a tuple, as by TensorFlow 1: it has integers alone."""
    graph = getattr(tensor, "graph", None)
    is_tensorflow1 = graph is not None and not graph.is_like_eager
    return is_tensorflow1 and not _is_mask(key) and not any(map(_is_array, key))


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, slice)


def _is_mask(key: Any) -> bool:
    if is_symbolic(key) and not isinstance(key, list | tuple):
        return key.dtype.base_dtype is dtypes.bool
    if isinstance(key, list):
        return bool(key) and all(_is_mask(k) or isinstance(k, bool | numpy.bool_) for k in key)
    return isinstance(key, numpy.ndarray) and key.dtype == bool


def _is_array(item: Any) -> bool:
    """Return whether an item of a key has several integers, or a mask's answers."""
    if isinstance(item, list | tuple | range):
        return True
    if is_symbolic(item):
        return item.shape.ndims is None or item.shape.ndims > 0
    return isinstance(item, numpy.ndarray) and item.ndim > 0


# -- arrays of integers ----------------------------------------------------------------------------


def _picked(tensor: Any, items: list[Any]) -> Tensor:
    """Return the slices that arrays of integers pick; integers beside several are broadcast."""
    if any(map(_is_mask, items)):
        raise TypeError(
            f"A bool mask stands alone in [...], got {items!r}. Use boolean_mask(tensor, mask, "
            "axis), and index its result."
        )
    items = _without_ellipsis(tensor, items)
    chosen = [i for i, item in enumerate(items) if not _is_basic(item)]
    arrays = [i for i in chosen if _is_array(items[i])]
    first = chosen[0]
    if chosen[-1] - first + 1 != len(chosen) or (len(arrays) > 1 and first):
        raise NotImplementedError(
            f"{items!r} has slices, ... or None before or between several integers of which some "
            "are an array; NumPy would transpose the result. Index in two steps, or use gather "
            "with axis=, or gather_nd."
        )
    with name_scope(None, "picked", [tensor]):
        if len(arrays) == 1:
            (i,) = arrays
            rest = [*items[:i], slice(None), *items[i + 1 :]]
            whole = tensor if all(map(_is_whole, rest)) else _sliced(tensor, rest)
            return gather(whole, _from_front(items[i], whole, first), axis=first)
        coordinates = [_from_front(items[i], tensor, i) for i in chosen]
        found = gather_nd(tensor, _broadcast_together(coordinates))
        rest = items[chosen[-1] + 1 :]
        return found if all(map(_is_whole, rest)) else _sliced(found, [Ellipsis, *rest])


def _without_ellipsis(tensor: Any, items: list[Any]) -> list[Any]:
    """Return the key with a slice for each dimension, where it has an ``...``."""
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    rank = tensor.shape.ndims
    used = sum(item is not None and item is not Ellipsis for item in items)
    if rank is not None and used > rank:
        raise IndexError(f"{used} indices are too many for a tensor of shape {tensor.shape}")
    if not places and rank is None:
        return items
    if len(places) > 1 or rank is None:
        raise IndexError(f"{items!r} with an array takes one ... at most, and a known rank")
    (place,) = places or (len(items),)
    return [*items[:place], *[slice(None)] * (rank - used), *items[place + 1 :]]


def _is_whole(item: Any) -> bool:
    return isinstance(item, slice) and item == slice(None)


def _from_front(item: Any, tensor: Any, axis: int) -> Any:
    """Return indices along a dimension without negative ones, which count from its end."""
    shape = tensor.shape
    size = None if shape.ndims is None else shape.as_list()[axis]
    if is_symbolic(item):
        indices: Any = convert_to_tensor(item)
        if indices.dtype.base_dtype not in (int32, int64):
            raise TypeError(f"{_NOT_AN_INDEX}, got {indices!r}")
    else:
        array = numpy.asarray(item)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"{_NOT_AN_INDEX}, got {item!r}")
        indices = array.astype(numpy.int64)
        if size is not None:
            return _checked_from_front(indices, axis, size)
    length = shape_of(tensor, out_type=int64)[axis] if size is None else size
    indices = cast(indices, int64)
    return where_v2(less(indices, numpy.int64(0)), add(indices, length), indices)


def _checked_from_front(indices: numpy.ndarray, axis: int, size: int) -> numpy.ndarray:
    wrong = indices[(indices < -size) | (indices >= size)]
    if wrong.size:
        raise ValueError(
            f"index {wrong.flat[0]} is out of bounds for dimension {axis}, which has size {size}"
        )
    return numpy.where(indices < 0, indices + size, indices)


def _broadcast_together(indices: list[Any]) -> Any:
    """Return coordinates, [..., number of dimensions], of indices along each dimension."""
    if not any(map(is_symbolic, indices)):
        return numpy.stack(numpy.broadcast_arrays(*indices), axis=-1)
    total = functools.reduce(add, indices)
    nothing = subtract(total, total)
    return stack([add(nothing, i) for i in indices], axis=-1)


# -- integers, slices, ... and None ----------------------------------------------------------------


def _bounds(item: Any) -> tuple[tuple[Any, Any, Any], tuple[str, ...]]:
    """Return (begin, end, stride) of one item of a key, and the masks that it sets."""
    if item is Ellipsis:
        return (0, 0, 1), ("ellipsis_mask",)
    if item is None:
        return (0, 0, 1), ("new_axis_mask",)
    if isinstance(item, slice):
        begin, end, step = (
            None if bound is None else _index(bound) for bound in (item.start, item.stop, item.step)
        )
        masks = (("begin_mask", begin), ("end_mask", end))
        return (
            (0 if begin is None else begin, 0 if end is None else end, 1 if step is None else step),
            tuple(mask for mask, bound in masks if bound is None),
        )
    index = _index(item)
    return (index, index, 1), ("shrink_axis_mask",)


def _index(item: Any) -> Any:
    # What a program has a conversion function for is asked for its dtype, as a tensor is.
    as_tensor = is_symbolic(item) or isinstance(getattr(item, "dtype", None), dtypes.DType)
    if as_tensor and not isinstance(item, list | tuple):
        tensor = convert_to_tensor(item)
        if tensor.dtype.base_dtype in (int32, int64) and tensor.spec.shape in (None, ()):
            return tensor
    elif not isinstance(item, bool | numpy.bool_):
        try:
            return operator.index(item)
        except TypeError:
            pass
    raise TypeError(f"{_NOT_AN_INDEX}, got {item!r}")


def _of_one_dtype(*parts: list[Any]) -> list[list[Any]]:
    """Return the bounds with all tensors int64 where they are not all of one dtype."""
    found = {
        bound.dtype.base_dtype for part in parts for bound in part if isinstance(bound, Tensor)
    }
    if len(found) < 2:
        return list(parts)
    return [[cast(b, int64) if isinstance(b, Tensor) else b for b in part] for part in parts]
