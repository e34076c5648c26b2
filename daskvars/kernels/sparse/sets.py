"""Kernels of sets: along the last dimension, the elements of a row that are distinct, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid

Groups = dict[tuple[int, ...], set[Any]]
OPERATIONS = {
    "intersection": set.intersection,
    "union": set.union,
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
}


def _of_dense(values: Any) -> tuple[Groups, tuple[int, ...]]:
    groups: Groups = {key: set(values[key].tolist()) for key in np.ndindex(values.shape[:-1])}
    return groups, values.shape[:-1]


def _of_sparse(places: Any, values: Any, shape: Any) -> tuple[Groups, tuple[int, ...]]:
    groups: Groups = defaultdict(set)
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        groups[tuple(place[:-1])].add(value)
    return groups, tuple(shape.tolist()[:-1])


@host_kernel
def set_operation(
    xp: ArrayModule, *arrays: Array, forms: Sequence[str], operation: str
) -> tuple[Any, Any, Any]:
    """Give (places, values, shape) of what two sets of each row make together.

    `forms` says of each of the two whether it is "dense", one array, or "sparse", three.
    """
    left = list(arrays)
    sides = []
    for form in forms:
        count = 1 if form == "dense" else 3
        parts, left = left[:count], left[count:]
        kind = parts[0 if form == "dense" else 1].dtype
        sides.append(_of_dense(*parts) if form == "dense" else _of_sparse(*parts))
    (a, shape), (b, other) = sides
    if shape != other:
        raise invalid(f"Mismatched group shapes: {list(shape)} and {list(other)}")
    both = OPERATIONS[operation]
    rows = [(key, sorted(both(a.get(key, set()), b.get(key, set())))) for key in sorted({*a, *b})]
    places = [(*key, number) for key, values in rows for number in range(len(values))]
    found = np.array([value for _, values in rows for value in values], kind)
    most = max((len(values) for _, values in rows), default=0)
    table = np.array(places, np.int64).reshape(len(places), len(shape) + 1)
    return table, found, np.array([*shape, most], np.int64)


@host_kernel
def set_size(xp: ArrayModule, places: Array, values: Array, shape: Array) -> Array:
    """Give how many distinct elements each row of a sparse tensor has."""
    groups, sizes = _of_sparse(places, values, shape)
    counts = np.zeros(sizes, np.int32)
    for key, elements in groups.items():
        counts[key] = len(elements)
    return counts


@host_kernel
def edit_distance(
    xp: ArrayModule,
    places: Array,
    values: Array,
    shape: Array,
    truth_places: Array,
    truth_values: Array,
    truth_shape: Array,
    *,
    normalize: bool,
) -> Array:
    """Give how many changes make each row of one sparse tensor that of the other."""
    sides = []
    for where, what in ((places, values), (truth_places, truth_values)):
        rows: dict[tuple[int, ...], list[Any]] = defaultdict(list)
        for place, value in zip(np.asarray(where).tolist(), np.asarray(what).tolist(), strict=True):
            rows[tuple(place[:-1])].append(value)
        sides.append(rows)
    sizes = np.maximum(np.asarray(shape), np.asarray(truth_shape)).tolist()[:-1]
    distances = np.zeros(sizes, np.float32)
    for key in {*sides[0], *sides[1]}:
        mine, truth = sides[0].get(key, []), sides[1].get(key, [])
        found = float(_changes(mine, truth))
        distances[key] = found if not normalize else found / len(truth) if truth else np.inf
    return distances


def _changes(a: list[Any], b: list[Any]) -> int:
    """Return Levenshtein's distance.

    >>> _changes([*"kitten"], [*"sitting"])
    3
    """
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (one != other))
    return row[-1]
