"""Products of which only the sum over the turns of a loop is needed: most gradients of weights.

So it is of steps that are written out one after the other (`sum_of_products`).

Nothing in the loop waits for them. So they are made where a thread has nothing else to do, beside
the turns that follow. Factors of few rows come together first: a product that sums over the rows of
several turns is the sum of theirs. How many come together depends on their shapes alone, and sums
are added up in the order of the turns: so bits do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from daskvars import idle_threads
from daskvars.backend import Array, ArrayModule
from daskvars.kernels.linalg.products import matmul, widened

ROWS = 512  # of which a product is made at once: of more, factors would be copied for nothing
# Multiplications from which on another thread pays (0.1 ms): to hand them over takes 0.02.
WORTH_HANDING_OVER = 4e6
# Of two factors, which are put together at once whatever they make: calls cost more than copies.
FEW_ELEMENTS = 1 << 12


def sum_of_products(xp: ArrayModule, *factors: Array) -> Array:
    """Return the sum of the products of pairs, each of them summed over its rows.

    Args:
        factors: [rows, m] and [rows, n] of one pair after the other.

    Returns:
        [m, n], dtype of the factors.

    >>> sum_of_products(np, *[np.ones((3, 2)), np.ones((3, 1))] * 4)
    array([[12.],
           [12.]])
    """
    dtype, kept = factors[0].dtype, [widened(factor) for factor in factors]
    pairs = list(zip(kept[::2], kept[1::2], strict=True))
    a, b = pairs[0]

    def product(a: Array, b: Array) -> tuple[Array]:
        return (matmul(xp, a, b, transpose_a=True),)

    if are_joined(len(a), a.shape[1], b.shape[1]):
        found = SummedProducts(xp, product, (0, 0))
        for pair in pairs:
            found.add(*pair)
        return found.total().astype(dtype, copy=False)
    (total,) = product(a, b)
    for pair in pairs[1:]:
        (term,) = product(*pair)
        xp.add(total, term, out=total)
    return total.astype(dtype, copy=False)


def are_joined(rows: int, m: int, n: int) -> bool:
    """Return whether factors [rows, m] and [rows, n] are less to copy than their product to add."""
    return rows * (m + n) <= max(m * n, FEW_ELEMENTS)


class SummedProducts:
    """The sum of the products of two factors of each turn.

    Args:
      xp: the array namespace.
      product: gives the product of two factors, in a tuple.
      axes: of each factor the one that is summed over.
    """

    def __init__(
        self, xp: ArrayModule, product: Callable[..., tuple], axes: tuple[int, int]
    ) -> None:
        self._xp, self._product, self._axes = xp, product, axes
        self._waiting: list[tuple[Array, Array]] = []
        self._rows = 0
        self._sum: Any = None  # so far, or what will be that

    def add(self, a: Array, b: Array) -> None:
        """Add the product of the factors of a turn."""
        self._waiting.append((a, b))
        self._rows += a.shape[self._axes[0]]
        if self._rows >= ROWS:
            self._multiply()

    def total(self, start: Any = None) -> Any:
        """Return the sum of all products, and of `start`, which it is if there are none."""
        if self._waiting:
            self._multiply()
        found = _ended(self._sum)
        if found is None or start is None:
            return start if found is None else found
        return start + found

    def _multiply(self) -> None:
        """Add the products of the factors that wait."""
        taken, rows = self._waiting, self._rows
        self._waiting, self._rows = [], 0
        a, b = taken[0]
        work = float(a.size) * b.size * len(taken) ** 2 / max(rows, 1)
        add = partial(self._added, self._sum, taken)
        begun = None
        if self._xp.__name__ == "numpy" and work >= WORTH_HANDING_OVER:
            begun = idle_threads.begun_in_turn(add)
        self._sum = add() if begun is None else begun

    def _added(self, before: Any, taken: list[tuple[Array, Array]]) -> Any:
        xp = self._xp
        a, b = (
            factors[0] if len(taken) == 1 else xp.concatenate(factors, axis=axis)
            for factors, axis in zip(zip(*taken, strict=True), self._axes, strict=True)
        )
        (found,) = self._product(a, b)
        total = _ended(before)
        if total is None:
            return found
        return xp.add(total, found, out=total) if isinstance(total, xp.ndarray) else total + found


def _ended(value: Any) -> Any:
    return value.result() if isinstance(value, Future) else value
