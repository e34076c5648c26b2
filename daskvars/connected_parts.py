"""What is joined by links, directly or by way of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


def connected(count: int, links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the parts of ``range(count)`` between which there is no link, each in order.

    >>> connected(5, [(0, 3), (3, 4)])
    [[0, 3, 4], [1], [2]]
    """
    above = list(range(count))

    def root(number: int) -> int:
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    for one, other in links:
        above[root(one)] = root(other)
    parts: dict[int, list[int]] = defaultdict(list)
    for number in range(count):
        parts[root(number)].append(number)
    return list(parts.values())
