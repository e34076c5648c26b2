"""Kernels of crossed features: for each row, all combinations of one element of each input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.segments import check_ids
from daskvars.kernels.optional_packages import needing
from daskvars.kernels.sparse.indices import of_rows
from daskvars.kernels.string_hashes import MASK, MURMUR_FACTOR, MURMUR_SHIFT, WHY

LARGEST = (1 << 63) - 1  # a hash without buckets is the rest of a division by it


def _counted_rows(arrays: Sequence[Any], forms: Sequence[str]) -> list[tuple[Any, Any]]:
    """Return for each input how many elements each row has, and all of them, row by row;
    the sparse inputs come first."""
    inputs, left = [], [*arrays]
    for form in forms:
        if form == "sparse":
            places, values, shape = left[:3]
            left = left[3:]
            if len(shape) != 2 or places.shape[1] != 2:
                raise invalid(f"inputs must be [rows, n], got shape {shape.tolist()}")
            rows = places[:, 0]
            check_ids(np, rows, size=int(shape[0]))
            if not (rows[1:] >= rows[:-1]).all():
                values = values[rows.argsort(kind="stable")]
            inputs.append((np.bincount(rows, minlength=int(shape[0])), values))
        else:
            values, left = left[0], left[1:]
            inputs.append((np.full(len(values), values.shape[1]), values.reshape(-1)))
    numbers = [len(counts) for counts, _ in inputs]
    if len(set(numbers)) > 1:
        raise invalid(f"inputs must have as many rows, got {numbers}")
    return inputs


@host_kernel
def cross(
    xp: ArrayModule, *arrays: Array, forms: Sequence[str], separator: bytes
) -> tuple[Any, Any, Any]:
    """Give (places, values, shape) of all combinations, as strings."""
    inputs = [
        [row.tolist() for row in np.split(values, np.cumsum(counts))[:-1]]
        for counts, values in _counted_rows(arrays, forms)
    ]
    crossed = [
        [
            separator.join(item if isinstance(item, bytes) else b"%d" % item for item in items)
            for items in itertools.product(*row)
        ]
        for row in zip(*inputs, strict=True)
    ]
    return of_rows(crossed, object)


@host_kernel
def cross_hashed(
    xp: ArrayModule, *arrays: Array, forms: Sequence[str], num_buckets: int, hash_key: int
) -> tuple[Any, Any, Any]:
    """Give (places, values, shape) of all combinations, as numbers of buckets."""
    with needing("strings", WHY):
        fingerprint = import_module("farmhash").fingerprint64

    inputs = _counted_rows(arrays, forms)
    rows, numbers, places = _combinations([counts for counts, _ in inputs])
    found: Array = np.full(len(rows), hash_key & MASK, np.uint64)
    for (_, values), which in zip(inputs, places, strict=True):
        if values.dtype.kind == "O":
            words = np.fromiter(map(fingerprint, values.tolist()), np.uint64, len(values))
        else:
            words = values.astype(np.int64, copy=False).view(np.uint64)
        found = _both(found, words[which])
    buckets = (found % np.uint64(num_buckets or LARGEST)).astype(np.int64)
    most = int(numbers.max()) + 1 if len(numbers) else 0
    shape = np.array([len(inputs[0][0]), most], np.int64)
    return np.stack([rows, numbers], axis=1), buckets, shape


def _combinations(counts: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    """Return all combinations of an element of each input, row by row, the last varying fastest.

    Args:
        counts: of each input, [rows] int: how many elements each row has.

    Returns:
        (the row of each, its number in the row, for each input which of its elements it has).

    >>> [f.tolist() for f in _combinations([np.array([1, 2]), np.array([1, 1])])[:2]]
    [[0, 1, 1], [0, 0, 1]]
    """
    totals = math.prod(counts[1:], start=counts[0])
    rows = np.repeat(np.arange(len(totals)), totals)
    if (totals == 1).all():  # as most often: each has one
        return rows, np.zeros_like(rows), [slice(None)] * len(counts)
    numbers = np.arange(len(rows)) - (np.cumsum(totals) - totals)[rows]
    left: Any = numbers
    places: list[Any] = []
    for each in reversed(counts):
        starts = np.cumsum(each) - each
        left, place = np.divmod(left, each[rows])
        places.append(starts[rows] + place)
    return rows, numbers, places[::-1]


def _mixed(value: Array) -> Array:
    return value ^ value >> MURMUR_SHIFT


def _both(first: Array, second: Array) -> Array:
    """Return the fingerprints of two, one after the other, as TensorFlow makes them: uint64."""
    found = first ^ MURMUR_FACTOR
    found ^= _mixed(second * MURMUR_FACTOR) * MURMUR_FACTOR
    found *= MURMUR_FACTOR
    return _mixed(_mixed(found) * MURMUR_FACTOR)
