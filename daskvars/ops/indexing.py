"""What ``t[...]`` means: NumPy's basic indexing, with tensors as bounds, and boolean masks."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.dtypes import int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.ops.axes import is_symbolic
from daskvars.ops.casting import cast
from daskvars.ops.gather import boolean_mask
from daskvars.ops.slicing import strided_slice

newaxis = None


def slice_helper(tensor: Any, key: Any) -> Tensor:
    """Return ``tensor[key]``.

    Args:
      tensor: [...] any dtype.
      key: integers, slices, Ellipsis and None (`newaxis`), one or a tuple of them; integers and
        bounds of slices may be scalar int32 or int64 tensors. Or a bool mask, see `boolean_mask`.

    Returns:
      The part of the tensor, of its dtype. Dimensions taken whole (``:``) keep their chunks.
      That of a Variable can be assigned to: ``v[1:3].assign(value)``.

    Raises:
      TypeError: the key holds something else.
      ValueError: an index is out of bounds of the static shape.
      InvalidArgumentError: (when run) an index is out of bounds.

    >>> import daskvars as dv
    >>> slice_helper(dv.constant([[1, 2], [3, 4]]), (-1, slice(1, None))).numpy().tolist()
    [4]
    """
    if _is_mask(key):
        return boolean_mask(tensor, key)
    items = list(key) if isinstance(key, tuple | list) else [key]
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


def _is_mask(key: Any) -> bool:
    if isinstance(key, numpy.ndarray):
        return key.dtype == bool
    return isinstance(key, Tensor) and key.dtype.base_dtype is dtypes.bool


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
    if is_symbolic(item) and not isinstance(item, list | tuple):
        tensor = convert_to_tensor(item)
        if tensor.dtype.base_dtype in (int32, int64) and tensor.spec.shape in (None, ()):
            return tensor
    elif not isinstance(item, bool | numpy.bool_):
        try:
            return operator.index(item)
        except TypeError:
            pass
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and scalar int32/int64 "
        f"tensors are valid indices, got {item!r}"
    )


def _of_one_dtype(*parts: list[Any]) -> list[list[Any]]:
    """Return the bounds with all tensors int64 where they are not all of one dtype."""
    found = {
        bound.dtype.base_dtype for part in parts for bound in part if isinstance(bound, Tensor)
    }
    if len(found) < 2:
        return list(parts)
    return [[cast(b, int64) if isinstance(b, Tensor) else b for b in part] for part in parts]
