"""Results of runs that were sent and not waited for: they are fetched when they are looked at.

So a loop that keeps each step's loss has many steps in flight. What is fetched is fetched together:
the results looked at, and those of all other runs that have finished by then. A seal fetches the
rest, since it lets go of what they could be computed again from.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Fetcher(Protocol):
    """What brings the results of runs: `executor.ClusterExecutor`."""

    def fetch(self, wanted: RunResults | None = None) -> None:
        """Bring those wanted, and all that are there."""


class RunResults:
    """All results of one run.

    Attributes:
      run: the run, None once its results are here.
      values: the results, None before they are fetched.
    """

    def __init__(self, executor: Fetcher, run: Any) -> None:
        self.executor, self.run = executor, run
        self.values: list[Any] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the results can be fetched without waiting."""
        return self.run is not None and self.run.is_done

    def get(self) -> list[Any]:
        """Return the results, once they are there.

        Raises:
          OpError: the run failed, or one before it.
        """
        if self.values is None:
            self.executor.fetch(self)
        assert self.values is not None
        return self.values


class ResultFuture(NamedTuple):
    """One result of a run, to be had later.

    Attributes:
      results: the results of the run.
      number: which of them.
      shape: its shape.
    """

    results: RunResults
    number: int
    shape: tuple[int, ...]

    def result(self) -> Any:
        """Return the value; see `RunResults.get`."""
        return self.results.get()[self.number]
