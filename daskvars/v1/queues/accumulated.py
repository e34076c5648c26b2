"""What an accumulator is while a program runs: gradients added up in the session's process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.execution.host_ops.resources import Waiting
from daskvars.shapes import Shape, compatible, in_brackets


class Accumulator:
    """Gradients of one step, added up until enough of them are there.

    Args:
      name: for errors.
      shape: of each, as far as it is known.
      reduction_type: "MEAN" or "SUM".

    Attributes:
      count: how many gradients there are.
      global_step: gradients of earlier steps are left out.
      changed: entered by who reads or changes these, and notified.
    """

    kind = "ConditionalAccumulator"

    def __init__(self, name: str, dtype: DType, shape: Shape, reduction_type: str) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.reduction_type = reduction_type
        self.changed = threading.Condition()
        self.count = 0
        self.global_step = 0
        self._sum: Any = None

    def set_global_step(self, step: int) -> None:
        """Leave gradients of steps before this one out from now on."""
        with self.changed:
            self.global_step = step

    def apply(self, local_step: int, gradient: Any) -> None:
        """Add a gradient, unless it is of a step before the present one.

        Args:
          local_step: the step whose gradient it is.
          gradient: an array; of some rows their numbers, the rows, and the shape of the whole.

        Raises:
          InvalidArgumentError: it does not fit.
        """
        with self.changed:
            self._check(gradient)
            if local_step < self.global_step:
                return
            self._add(gradient)
            self.count += 1
            self.changed.notify_all()

    def take(self, num_required: int, waiting: Waiting) -> tuple[Any, Callable[[], None]]:
        """Take the gradients, as one, as soon as enough are there; the next step begins.

        Args:
          num_required: how many there must be.
          waiting: how to wait.

        Returns:
          What was taken, and what puts it back.

        Raises:
          InvalidArgumentError: `num_required` is not positive.
          CancelledError: the wait was cancelled.
        """
        if num_required <= 0:
            raise invalid(f"Argument num_required must be positive, got {num_required}")
        with self.changed:
            is_enough = lambda: self.count >= num_required  # noqa: E731
            if not is_enough():
                waiting.until(self.changed, is_enough, "TakeGrad operation")
            before = (self.count, self._sum)
            found = self._taken()
            self.count, self._sum = 0, None
            self.global_step += 1

        def put_back() -> None:
            with self.changed:
                if self.count == 0:
                    self.count, self._sum = before
                    self.global_step -= 1
                    self.changed.notify_all()

        return found, put_back

    # -- how gradients are kept: what differs between accumulators --------------------------------

    def _check(self, gradient: Any) -> None:
        wanted = self.shape if self._sum is None else self._sum.shape
        if not compatible(wanted, gradient.shape):
            raise invalid(
                f"Shape mismatch: expected {in_brackets(wanted)}, got "
                f"{in_brackets(gradient.shape)} in accumulator {self.name!r}"
            )

    def _add(self, gradient: Any) -> None:
        self._sum = gradient.copy() if self._sum is None else self._sum + gradient

    def _taken(self) -> Any:
        if self.reduction_type == "SUM":
            return self._sum
        return (self._sum / self.dtype.np.type(self.count)).astype(self.dtype.np)


class SparseAccumulator(Accumulator):
    """Gradients of some rows; the mean of a row is over the gradients that have it."""

    kind = "SparseConditionalAccumulator"

    def _check(self, gradient: Any) -> None:
        indices, values, sizes = gradient
        if indices.ndim != 1:
            raise invalid(
                f"Input indices should be vector but received shape: {in_brackets(indices.shape)}"
            )
        if not values.ndim:
            raise invalid("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            raise invalid(f"Expected {len(indices)} non-empty input values, got {len(values)}")
        known: Sequence[int | None] = self.shape or ()
        if sizes is not None:
            self._compare("shape", known, tuple(sizes.tolist()), 0)
        if known and known[0] is not None:
            for place, index in enumerate(indices.tolist()):
                if not 0 <= index < known[0]:
                    raise invalid(
                        f"Shape mismatch: index of slice {place} exceeded limits of shape; "
                        f"index is {index} exceeded {known[0]}"
                    )
        if self._sum is None:
            self._compare("values", known, values.shape, 1)
            return
        rows = self._sum[1].shape
        if len(rows) != values.ndim:
            raise invalid(f"Shape mismatch: expected values rank {len(rows)}, got {values.ndim}")
        self._compare("values", rows, values.shape, 1)

    @staticmethod
    def _compare(
        what: str, wanted: Sequence[int | None], found: tuple[int, ...], first: int
    ) -> None:
        if len(wanted) > len(found):
            raise invalid(
                f"Shape mismatch: expected {what} rank at least {len(wanted)}, got {len(found)}"
            )
        for axis in range(first, len(wanted)):
            if wanted[axis] not in (None, found[axis]):
                raise invalid(
                    f"Shape mismatch: expected {what} dim {axis} to be {wanted[axis]}, got "
                    f"{found[axis]}"
                )

    def _add(self, gradient: Any) -> None:
        indices, values, _ = gradient
        rows, which = numpy.unique(indices, return_inverse=True)
        sums = numpy.zeros((len(rows), *values.shape[1:]), values.dtype)
        numpy.add.at(sums, which, values)
        counts = numpy.ones(len(rows), numpy.int64)
        if self._sum is not None:
            old, old_sums, old_counts = self._sum
            rows, which = numpy.unique(numpy.concatenate([old, rows]), return_inverse=True)
            parts = ((old_sums, sums), (old_counts, counts))
            sums, counts = (numpy.zeros((len(rows), *a.shape[1:]), a.dtype) for a in (sums, counts))
            for into, pair in zip((sums, counts), parts, strict=True):
                numpy.add.at(into, which, numpy.concatenate(pair))
        self._sum = (rows, sums, counts)

    def _taken(self) -> Any:
        rows, sums, counts = self._sum
        if self.reduction_type == "MEAN":
            many = counts.reshape(-1, *(1,) * (sums.ndim - 1)).astype(sums.dtype)
            sums = sums / many
        first = self.shape[0] if self.shape else None
        sizes = numpy.array([-1 if first is None else first, *sums.shape[1:]], numpy.int64)
        return rows.astype(numpy.int64), sums, sizes
