"""Which cluster there is, and its executors: one for all sessions that share variables."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from distributed import Client

from daskvars.execution.engine.interrupts import before_threads_end
from daskvars.lowering.plan import Plan
from daskvars.lowering.planner.place import Places
from daskvars.remote import dask_internals
from daskvars.remote.tasks.stage_tasks import in_stage

logger = logging.getLogger("daskvars")
Executor = TypeVar("Executor", bound=Any)


class Form(NamedTuple):
    """What results of a run are to be.

    Attributes:
      as_futures: whether they may be `ResultFuture`, where waiting for them costs time.
      names: of dask arrays that stay where they are, if they are to be these.
    """

    as_futures: bool = False
    names: Sequence[str] | None = None


VALUES, FUTURES = Form(), Form(as_futures=True)


class Bound(Protocol):
    """A plan as an executor runs it.

    Attributes:
      plan: the plan.
      tasks_by_scope: how many Dask tasks a run has, by scope.
      transfer_bytes: bytes that move in a run, between workers or else between tasks.
      lock: held from a run to its commit.
    """

    plan: Plan
    lock: Any

    @property
    def tasks_by_scope(self) -> Counter[str]:
        """See above."""

    @property
    def transfer_bytes(self) -> int:
        """See above."""

    def explain(self) -> str:
        """Return the plan as text: what runs where, and why."""

    def run(self, feeds: Sequence[Any], key_of: Any, form: Form) -> Any:
        """Compute on the newest version of the variables, and return what `commit` takes.

        Args:
          feeds: the values fed, in order.
          key_of: ``key_of(op) -> key`` gives what stands for a random op in the plan its key in
            this run; None if there is none.
          form: of the results.
        """

    def commit(self, ran: Any, form: Form) -> list[Any]:
        """Make the new values a version, all or none, and return the results."""


class Binder(Protocol):
    """What runs plans: an executor, here or on a cluster."""

    @property
    def placement(self) -> Places | None:
        """Where things may be; None where everything is in one place."""

    @property
    def num_workers(self) -> int:
        """How many blocks can run at once."""

    def bind(self, plan: Plan, names: Sequence[str] = (), has_lazy: bool = False) -> Bound:
        """Return a plan as it is run.

        Args:
          names: of its outputs, in order, for people.
          has_lazy: whether dask arrays are fed.
        """


class Leaving(Protocol):
    """An executor whose values are on a cluster."""

    def retrieve_values(self, is_exit: bool = False) -> None:
        """Take the values from the cluster, whose client is about to be closed."""

    def seal_at_exit(self) -> None:
        """Write what changed to its store, as the program ends."""


def active_client() -> Client | None:
    """Return the Dask client that collections would compute on, if one can be reached.

    What a stage calls has none: it is work of its worker, in whatever process.

    Raises:
      UnimplementedError: it is an asynchronous one, or is sending something just now.
    """
    client = dask_internals.current_client()
    if client is None or in_stage.get():
        return None
    if client.status != "running":
        _warn_of_closed(client)
        return None  # what was on its cluster is lost, and its engine says so
    dask_internals.check_may_wait(client)
    return client


@dask_internals.once_per_client
def _warn_of_closed(client: Client) -> None:
    """Say, once, that a client is current which nothing can be run on."""
    logger.warning(
        "the current Dask client is %s: programs run in this process. "
        "Make another, or leave the block of its as_current()",
        client.status,
    )


def registered(key: Hashable, make: Callable[[], Executor]) -> Executor:
    """Return the executor of that key, made if need be, with one more user."""
    with _shared_lock:
        found = _shared.get(key)
        if found is None or found.is_closed:
            found = _shared[key] = make()
        found.users += 1
        return found


def forget_executor(executor: object) -> None:
    """Have whoever asks for an executor like this one get another."""
    for key in [key for key, found in _shared.items() if found is executor]:
        del _shared[key]


def forget_closed() -> None:
    """Keep no executor whose cluster cannot be reached any more."""
    for executor in list(_shared.values()):
        if executor.is_closed:
            forget_executor(executor)


def before_close(client: Client, executor: Leaving) -> None:
    """Retrieve an executor's values before its client is closed in order."""
    found = weakref.ref(executor)

    def retrieve_values() -> None:
        executor = found()
        if executor is not None:
            executor.retrieve_values(is_exit=_exiting.is_set())

    dask_internals.before_close(client, retrieve_values)


_shared: dict[Any, Any] = {}
_shared_lock = threading.Lock()
_exiting = threading.Event()
atexit.register(_exiting.set)  # after Dask's own, which closes clients, and so called before it


@before_threads_end  # and so before Dask closes clients
def _seal_at_exit() -> None:
    for executor in tuple(_shared.values()):
        executor.seal_at_exit()
