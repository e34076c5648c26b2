"""Classes drawn as candidates for losses over many classes, and how often each is expected.

Draw n depends on (key, n) alone. Distinct candidates are the first distinct ones of that stream,
and how many draws they took tells how likely each class was to be among them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.random.distributions import random_uniform
from daskvars.kernels.random.philox import Key

LARGEST_DRAW = 1 << 20  # draws at a time, so that a hard search takes time but not memory


def candidates(
    xp: ArrayModule,
    key: Key,
    *totals: Array,
    base: str,
    num_sampled: int,
    unique: bool,
    range_max: int,
) -> tuple[Any, Any]:
    """Draw classes from a base distribution over [0, range_max).

    Args:
        key: two 64-bit ints naming the stream.
        totals: for the base "fixed_unigram", [range_max + 1] float64: the cumulative distribution.
        base: "uniform", "log_uniform" (class c has log((c + 2) / (c + 1)) of log(range_max + 1)),
            or "fixed_unigram".
        num_sampled: how many are drawn.
        unique: draw until they are distinct.
        range_max: number of classes.

    Returns:
        (classes [num_sampled] int64, in the order drawn; number of draws [] int64).

    >>> drawn, tries = candidates(np, (1, 2), base="uniform", num_sampled=4, unique=True,
    ...                           range_max=4)
    >>> sorted(drawn.tolist()), bool(tries >= 4)
    ([0, 1, 2, 3], True)
    """
    if not unique:
        return draws(xp, key, totals, base, range_max, 0, num_sampled), xp.asarray(num_sampled)
    found, first = xp.empty(0, np.int64), xp.empty(0, np.int64)
    start, count = 0, 2 * num_sampled
    while len(found) < num_sampled:
        drawn = draws(xp, key, totals, base, range_max, start, count)
        places = xp.concatenate([first, xp.arange(start, start + count)])
        found, earliest = xp.unique(xp.concatenate([found, drawn]), return_index=True)
        first = places[earliest]
        start, count = start + count, min(2 * count, LARGEST_DRAW)
    order = xp.argsort(first)[:num_sampled]
    tries = first[order[-1:]].sum() + 1
    return found[order], xp.asarray(tries)


def draws(
    xp: ArrayModule, key: Key, totals: tuple, base: str, range_max: int, start: int, count: int
) -> Array:
    """Return draws ``start`` to ``start + count`` of the stream, [count] int64."""
    part = {"shape": (count,), "offset": (start,), "full_shape": (start + count,)}
    if base == "uniform":
        return random_uniform(xp, key, dtype="int64", maxval=range_max, **part)
    points = random_uniform(xp, key, dtype="float64", **part)
    if base == "log_uniform":
        drawn = xp.exp(points * math.log(range_max + 1)).astype(np.int64) - 1
        return xp.minimum(drawn, range_max - 1)
    # The class whose share of the whole the point falls into; one without a share has no points.
    return xp.searchsorted(totals[0], points, side="right").astype(np.int64) - 1


def expected_counts(
    xp: ArrayModule,
    classes: Any,
    tries: Any,
    *totals: Array,
    base: str,
    num_sampled: int,
    range_max: int,
) -> Array:
    """Return how often each class is expected among the candidates of `candidates`.

    Args:
        classes: [...] int64.
        tries: [] int64, the number of draws.
        totals, base, num_sampled, range_max: as for `candidates`.

    Returns:
        [...] float32: the probability p of a class times the draws; of distinct candidates that
        took more draws, 1 - (1 - p)^draws.

    Raises:
        InvalidArgumentError: a class is out of range.
    """
    if classes.size and not 0 <= classes.min() <= classes.max() < range_max:
        raise invalid(
            f"true classes must be in [0, {range_max}), got {classes.min()} to {classes.max()}"
        )
    share = shares(xp, classes, totals, base, range_max)
    # Candidates that repeat take num_sampled draws; distinct ones can take as few by chance.
    counts = xp.where(
        tries == num_sampled, share * num_sampled, -xp.expm1(tries * xp.log1p(-share))
    )
    return counts.astype(np.float32)


def shares(xp: ArrayModule, classes: Any, totals: tuple, base: str, range_max: int) -> Array:
    """Return the probabilities of classes, [...] float64."""
    if base == "uniform":
        return xp.full(classes.shape, 1.0 / range_max)
    if base == "log_uniform":
        return xp.log1p(1.0 / (classes + 1.0)) / math.log(range_max + 1)
    return totals[0][classes + 1] - totals[0][classes]


def accidental_hits(xp: ArrayModule, true_classes: Any, candidates: Any) -> tuple[Any, Any, Any]:
    """Return where candidates are true classes.

    Args:
        true_classes: [batch, num_true] int64.
        candidates: [num_sampled] int64; of equal ones the last counts.

    Returns:
        (rows [hits] int32, places among the candidates [hits] int64, weights [hits] float32, each
        the least number there is).

    >>> accidental_hits(np, np.array([[1, 2], [0, 3]]), np.array([3, 1]))[:2]
    (array([0, 1], dtype=int32), array([1, 0]))
    """
    values, from_the_end = xp.unique(candidates[::-1], return_index=True)
    flat = true_classes.reshape(-1)
    place = xp.minimum(xp.searchsorted(values, flat), len(values) - 1)
    (hits,) = xp.nonzero(values[place] == flat)
    rows = (hits // true_classes.shape[1]).astype(np.int32)
    places = len(candidates) - 1 - from_the_end[place[hits]]
    return rows, places, xp.full(len(hits), np.finfo(np.float32).min, np.float32)
