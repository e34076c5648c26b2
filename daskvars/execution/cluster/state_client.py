"""A client's part in a state on a cluster, as the files see it that the executor is made of.

`executor.ClusterExecutor` has it. What one of those files needs of the executor besides, it says in
a protocol of its own.
"""

from __future__ import annotations

from typing import Any, Protocol

from distributed import Client

from daskvars.execution.cluster.transfers import Transfers
from daskvars.execution.cluster.workers.placement import ClusterPlacement
from daskvars.state import Values


class StateClient(Protocol):
    """A client's part in a state on a cluster.

    Attributes:
      values: records of the variables; their blocks are on workers.
      placement: where tasks run and variables live.
      transfers: what moves blocks between this process and workers.
      token: a text that no other executor has, for keys.
      is_private: whether nobody else can know the state.
    """

    client: Client
    values: Values
    placement: ClusterPlacement
    transfers: Transfers
    name: str
    token: str
    scheduler: str
    is_private: bool

    @property
    def description(self) -> str:
        """The state, in words."""

    def next_number(self) -> int:
        """Return a number that was not used for anything."""

    def check_connected(self) -> None:
        """Raise UnavailableError where the cluster cannot be reached any more."""

    def call_scheduler(self, what: str, **arguments: Any) -> Any:
        """Ask the scheduler for something; see the requests of `VersionKeeper`."""

    def refresh(self) -> None:
        """Look up which variables there are."""

    def sync(self) -> None:
        """Wait for all runs in flight."""
