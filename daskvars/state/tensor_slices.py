"""Checkpoints written and read from inside a graph: the kernels of its save and restore ops.

A *slice* says which part of a larger array a tensor is, in TensorFlow's notation: ``"10 4
0,5:0,4"`` is rows 0 to 4 of an array of shape [10, 4]; ``"-"`` is all of an axis; "" is no slice.
Parts of one array are saved as one array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from daskvars.device_array import host_kernel
from daskvars.dtypes import DType, as_dtype
from daskvars.errors import invalid
from daskvars.shapes import whole
from daskvars.state.checkpoint import OpenedCheckpoint, check_wanted, read_at, save
from daskvars.state.format.grids import Selection
from daskvars.state.format.manifest import VariableRecord


def parse_slice(text: str) -> tuple[tuple[int, ...], Selection] | None:
    """Return the shape of the whole and the selection of the part, None where there is no slice.

    Raises:
        InvalidArgumentError: the text is no slice.

    >>> parse_slice("10 4 0,5:-")
    ((10, 4), (slice(0, 5, None), slice(0, 4, None)))
    """
    if not text:
        return None
    *sizes, selections = text.split()
    try:
        shape = tuple(map(int, sizes))
        selection = []
        for size, axis in zip(shape, selections.split(":"), strict=True):
            start, length = (0, size) if axis == "-" else map(int, axis.split(","))
            selection.append(slice(start, start + length))
            if not 0 <= start <= start + length <= size:
                raise ValueError(f"{axis} is not within {size}")
    except ValueError as error:
        raise invalid(f"{text!r} is no slice of a tensor: {error}") from None
    return shape, tuple(selection)


def text_of(prefix: Any) -> str:
    """Return a path that was computed by a graph."""
    found = np.asarray(prefix).item()
    return found.decode() if isinstance(found, bytes) else str(found)


@host_kernel
def save_tensors(
    xp: Any,
    prefix: Any,
    *tensors: np.ndarray,
    tensor_names: Sequence[str],
    shape_and_slices: Sequence[str],
) -> tuple[()]:
    """Write a checkpoint at `prefix`: tensors, or the slices of larger ones, by name.

    Raises:
        InvalidArgumentError: the slices of a name do not fill the whole.
    """
    parts: dict[str, list[Any]] = {}
    for name, text, tensor in zip(tensor_names, shape_and_slices, tensors, strict=True):
        parts.setdefault(name, []).append((parse_slice(text), np.asarray(tensor)))
    values = {}
    for name, found in parts.items():
        array = joined(name, found)
        record = VariableRecord(name, as_dtype(array.dtype).name, array.shape, whole(array.shape))
        values[name] = (record, {(0,) * array.ndim: array})
    save(values, text_of(prefix))
    return ()


def joined(name: str, parts: Sequence[tuple[Any, np.ndarray]]) -> np.ndarray:
    """Return the whole that parts make, as one array."""
    if parts[0][0] is None:
        return np.ascontiguousarray(parts[0][1]).reshape(parts[0][1].shape)
    shape = parts[0][0][0]
    if sum(part.size for _, part in parts) != math.prod(shape):
        raise invalid(f"the slices of {name!r} do not fill its shape {shape}")
    array = np.empty(shape, parts[0][1].dtype)
    for (_, selection), part in parts:
        array[selection] = part
    return array


@host_kernel
def restore_tensors(
    xp: Any,
    prefix: Any,
    *,
    tensor_names: Sequence[str],
    shape_and_slices: Sequence[str],
    dtypes: Sequence[DType],
    shapes: Sequence[Any],
) -> tuple[np.ndarray, ...]:
    """Read tensors, or slices of them, from the checkpoint at `prefix`.

    Raises:
        RestoreError: listing every name that is missing, or of another shape or dtype.
    """
    slices = [parse_slice(text) for text in shape_and_slices]

    def read(source: OpenedCheckpoint) -> tuple[np.ndarray, ...]:
        wanted, names = {}, {}
        for number, (name, found, dtype, shape) in enumerate(
            zip(tensor_names, slices, dtypes, shapes, strict=True)
        ):
            if found is not None:
                shape = found[0]
            elif shape is None and name in source.records:
                shape = source.records[name].shape
            label = name if name not in wanted else f"{name} ({number})"
            wanted[label], names[label] = (dtype, shape or (), ()), name
        check_wanted(source, wanted, names, allow_unexpected=True)
        return tuple(
            [
                source.whole(name) if found is None else source.part(name, found[1])
                for name, found in zip(tensor_names, slices, strict=True)
            ]
        )

    return read_at(text_of(prefix), read)
