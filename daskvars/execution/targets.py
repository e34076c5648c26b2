"""Targets: the addresses of servers, which sessions connect to in place of naming a store.

A server in this process tells here which store its sessions share (`serve`); a session's target
leads there (`served_by`). Whatever runs the plans is the engine's business, so a server may stand
for one process or for a cluster.
"""

from __future__ import annotations

from daskvars.errors import UnavailableError

PREFIX = "grpc://"
_stores: dict[str, str] = {}


def serve(target: str, store: str) -> None:
    """Let sessions on `target` share the variables of `store`."""
    _stores[target] = store


def served_by(name: str) -> str:
    """Return the store behind a target; any other name of a store is given back.

    Raises:
      UnavailableError: no running server of this process has that target.
    """
    if name in _stores or not name.startswith(PREFIX):
        return _stores.get(name, name)
    raise UnavailableError(
        None, None, f"no server at {name}: a target is that of a tf.train.Server running in this "
        f"process ({', '.join(sorted(_stores)) or 'there is none'}). To run on a cluster, connect "
        "a dask.distributed.Client and open a session without a target."
    )  # fmt: skip
