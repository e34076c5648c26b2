"""Which cluster there is, and its executors: one for all sessions that share variables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from distributed import Client

from daskvars.errors import UnimplementedError
from daskvars.remote.dask_internals import current_client

Executor = TypeVar("Executor", bound=Any)


def active_client() -> Client | None:
    """Return the Dask client that collections would compute on, if there is one.

    Raises:
      UnimplementedError: it is an asynchronous one.
    """
    client = current_client()
    if client is not None and client.asynchronous:
        raise UnimplementedError(
            None, None, "runs need a synchronous Dask client: make it with asynchronous=False"
        )
    return client


def registered(key: Hashable, make: Callable[[], Executor]) -> Executor:
    """Return the executor of that key, made if need be, with one more user."""
    with _shared_lock:
        found = _shared.get(key)
        if found is None:
            found = _shared[key] = make()
        found.users += 1
        return found


def forget_executor(executor: Any) -> None:
    """Have whoever asks for an executor like this one get another."""
    for key in [key for key, found in _shared.items() if found is executor]:
        del _shared[key]


def abandon_closed() -> None:
    """Forget variables with a name that were on clusters whose clients have been closed."""
    for executor in list(_shared.values()):
        if executor.is_closed:
            executor.abandon()


_shared: dict[Any, Any] = {}
_shared_lock = threading.Lock()
