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
      dispatch: the run as it was sent last: data that is lost may have it sent again.
      values: the results, None before they are fetched.
    """

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.dispatch: Any = None
        self.values: list[Any] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the results can be fetched without waiting."""
        if self.dispatch is None:
            return False
        run = self.dispatch.run
        return run.undone is None and run.is_finished

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


def fetched(wanted: Outcome, others: list[Outcome]) -> None:
    """Bring the results of one run, waiting for it, and of others that have finished."""
    if wanted.dispatch.run.undone is not None:
        raise wanted.dispatch.run.undone
    outcomes = [wanted, *(other for other in others if other is not wanted)]
    found = [(outcome, outcome.dispatch) for outcome in outcomes]
    futures = {f.key: f for _, dispatch in found for f in dispatch.fetched_futures()}
    data = wanted.dispatch.gathered(list(futures.values()), None)
    by_key = dict(zip(futures, data, strict=True))
    for outcome, dispatch in found:
        outcome.values, outcome.dispatch = dispatch.assembled(by_key), None
