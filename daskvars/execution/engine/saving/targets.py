"""Targets: the addresses of servers, which sessions connect to in place of naming a store.

A server in this process tells here which store its sessions share, and how to reach the cluster
that it belongs to (`serve`); a session's target leads there (`served_by`, `client_of`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from distributed import Client

from daskvars.errors import UnavailableError, permanent

PREFIX = "grpc://"
# What addresses of Dask begin with: neither stores nor servers have such.
_DASK_PREFIXES = ("tcp://", "tls://", "ucx://", "ucxx://", "ws://", "wss://", "inproc://")


class Served(NamedTuple):
    """What is behind a target.

    Attributes:
      store: the name of the store that its sessions share.
      connect: gives the client of the cluster, None where this process is all there is.
      job: the name of the server's job, which its default container has too.
    """

    store: str
    connect: Callable[[], Client | None]
    job: str = ""


_served: dict[str, Served] = {}


def serve(
    target: str, store: str, connect: Callable[[], Client | None] = lambda: None, job: str = ""
) -> None:
    """Let sessions on `target` share the variables of `store`, on the cluster of a client."""
    _served[target] = Served(store, connect, job)


def default_containers(target: str) -> set[str]:
    """Return by which names variables are meant that were made in no container of their own."""
    found = _served.get(target)
    return {""} if found is None else {"", found.job}


def is_served(target: str) -> bool:
    """Return whether a server of this process has that target."""
    return target in _served


def served_by(name: str) -> str:
    """Return the store behind a target; any other name of a store is given back.

    Raises:
      UnavailableError: no running server of this process has that target.
      ValueError: it is the address of a Dask cluster.
    """
    if name in _served:
        return _served[name].store
    if name.startswith(_DASK_PREFIXES):
        raise ValueError(
            f"{name!r} is the address of a Dask cluster, neither a store nor a tf.train.Server. "
            f"Connect to it, client = distributed.Client({name!r}), and open a session without a "
            "target: it runs on the client of the process"
        )
    if not name.startswith(PREFIX):
        return name
    raise permanent(
        UnavailableError.saying(
            f"no server at {name}: a target is that of a tf.train.Server running in this "
            f"process ({', '.join(sorted(_served)) or 'there is none'}). To run on a cluster, "
            "connect a dask.distributed.Client and open a session without a target."
        )
    )


def client_of(name: Any) -> Client | None:
    """Return the client that sessions on a target use, if it is that of a server on a cluster.

    Raises:
      UnavailableError: the cluster cannot be reached.
    """
    found = _served.get(name) if isinstance(name, str) else None
    return None if found is None else found.connect()
