"""Kernels of crossed features: for each row, all combinations of one element of each input."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid
from daskvars.kernels.optional_packages import needing
from daskvars.kernels.sparse.indices import of_rows
from daskvars.kernels.string_hashes import MASK, MURMUR_FACTOR, MURMUR_SHIFT, WHY

LARGEST = (1 << 63) - 1  # a hash without buckets is the rest of a division by it


def _rows(arrays: Sequence[Any], forms: Sequence[str]) -> list[list[list[Any]]]:
    """Return for each input its elements row by row; the sparse inputs come first."""
    inputs, left = [], [*arrays]
    for form in forms:
        if form == "sparse":
            places, values, shape = left[:3]
            left = left[3:]
            if len(shape) != 2 or places.shape[1] != 2:
                raise invalid(f"inputs must be [rows, n], got shape {shape.tolist()}")
            rows: list[list[Any]] = [[] for _ in range(int(shape[0]))]
            for place, value in zip(places[:, 0].tolist(), values.tolist(), strict=True):
                rows[place].append(value)
        else:
            rows, left = left[0].tolist(), left[1:]
        inputs.append(rows)
    if len({len(rows) for rows in inputs}) > 1:
        raise invalid(f"inputs must have as many rows, got {[len(rows) for rows in inputs]}")
    return inputs


@host_kernel
def cross(
    xp: ArrayModule, *arrays: Array, forms: Sequence[str], separator: bytes
) -> tuple[Any, Any, Any]:
    """Give (places, values, shape) of all combinations, as strings."""
    inputs = _rows(arrays, forms)
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

    def hashed(items: tuple[Any, ...]) -> int:
        found = hash_key
        for item in items:
            word = fingerprint(item) if isinstance(item, bytes) else item & MASK
            found = _both(found, word)
        return found % (num_buckets or LARGEST)

    crossed = [
        [hashed(items) for items in itertools.product(*row)]
        for row in zip(*_rows(arrays, forms), strict=True)
    ]
    return of_rows(crossed, np.int64)


def _mixed(value: int) -> int:
    return value ^ value >> MURMUR_SHIFT


def _both(first: int, second: int) -> int:
    """Return the fingerprint of two fingerprints, one after the other, as TensorFlow makes it."""
    found = first ^ MURMUR_FACTOR
    found ^= _mixed(second * MURMUR_FACTOR & MASK) * MURMUR_FACTOR & MASK
    found = found * MURMUR_FACTOR & MASK
    return _mixed(_mixed(found) * MURMUR_FACTOR & MASK)
