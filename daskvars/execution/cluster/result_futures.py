"""Results of runs that were sent and not waited for: they are fetched when they are looked at.

So a loop that keeps each step's loss has many steps in flight. What is fetched is fetched together:
the results looked at, and those of all other runs that have finished by then. A seal fetches the
rest, since it lets go of what they could be computed again from.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Outcome:
    """All results of one run.

    Attributes:
      executor: what sent the run.
      run: the run, None once its results are here.
      values: the results, None before they are fetched.
    """

    def __init__(self, executor: Any, run: Any) -> None:
        self.executor, self.run = executor, run
        self.values: list[Any] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the results can be fetched without waiting."""
        return self.run is not None and self.run.is_done

    def get(self) -> list[Any]:
        """Return the results, once they are there.

        Raises:
          OpError: the run failed, or one before it.
        """
        if self.values is None:
            self.executor.fetch(self)
        return self.values


class Deferred(NamedTuple):
    """One result of a run, to be had later.

    Attributes:
      outcome: the results of the run.
      number: which of them.
      shape: its shape.
    """

    outcome: Outcome
    number: int
    shape: tuple[int, ...]

    def result(self) -> Any:
        """Return the value; see `Outcome.get`."""
        return self.outcome.get()[self.number]
