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

    crossed = [list(itertools.product(*row)) for row in zip(*_rows(arrays, forms), strict=True)]
    all_items = list(itertools.chain.from_iterable(crossed))
    found: Array = np.full(len(all_items), hash_key & MASK, np.uint64)
    for column in zip(*all_items, strict=True):
        words = [fingerprint(each) if isinstance(each, bytes) else each & MASK for each in column]
        found = _both(found, np.array(words, np.uint64))
    buckets = iter((found % (num_buckets or LARGEST)).tolist())
    return of_rows([list(itertools.islice(buckets, len(row))) for row in crossed], np.int64)


def _mixed(value: Array) -> Array:
    return value ^ value >> MURMUR_SHIFT


def _both(first: Array, second: Array) -> Array:
    """Return the fingerprints of two, one after the other, as TensorFlow makes them: uint64."""
    found = first ^ MURMUR_FACTOR
    found ^= _mixed(second * MURMUR_FACTOR) * MURMUR_FACTOR
    found *= MURMUR_FACTOR
    return _mixed(_mixed(found) * MURMUR_FACTOR)
