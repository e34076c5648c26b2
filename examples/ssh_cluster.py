"""One program, and clusters as configuration: here, in processes, over SSH, or one that is there.

    python examples/ssh_cluster.py                        # in this process
    python examples/ssh_cluster.py cluster.json           # as the file says

where `cluster.json` is one of:

    {"kind": "LocalCluster", "n_workers": 2, "threads_per_worker": 1}
    {"kind": "SSHCluster", "hosts": ["head", "node1", "node2"],
     "connect_options": {"username": "me"}, "worker_options": {"nthreads": 1},
     "scheduler_options": {"port": 0, "dashboard_address": ":8797"}}
    {"kind": "Client", "address": "tcp://head:8786"}

The first host of `SSHCluster` gets the scheduler. Hosts need the same Python environment with
daskvars in it, and a file system for the store that all see, if there is one. `dask-jobqueue`,
`dask-kubernetes` and others are used alike: any cluster that `Client` takes will do. What an SSH
connection may do is a matter of keys and known hosts, as for `ssh`; who may reach the
scheduler is a matter of the network, or of Dask's TLS.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import distributed
import numpy as np

import daskvars as dv


@contextmanager
def connected(settings: dict[str, Any]) -> Iterator[distributed.Client | None]:
    """Give a client of the cluster that settings describe, None for this process."""
    settings = dict(settings)
    kind = settings.pop("kind", None)
    with ExitStack() as stack:
        if kind is None:
            yield None
        elif kind == "Client":
            yield stack.enter_context(distributed.Client(**settings))
        elif kind in ("LocalCluster", "SSHCluster"):
            cluster = stack.enter_context(getattr(distributed, kind)(**settings))
            yield stack.enter_context(distributed.Client(cluster))
        else:
            raise ValueError(f"kind must be LocalCluster, SSHCluster or Client, found {kind!r}")


def train(steps: int) -> np.ndarray:
    """Train a small model, wherever that is, and return its weights."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(512, 4)).astype("f4")
    y = x @ np.float32([[1.0], [-2.0], [0.5], [3.0]])
    weights = dv.get_variable("weights", [4, 1], initializer=dv.zeros_initializer())
    optimizer = dv.train.MomentumOptimizer(0.05, 0.9)

    @dv.function
    def step(x, y):
        with dv.GradientTape() as tape:
            loss = dv.reduce_mean(dv.square(dv.matmul(x, weights) - y))
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return loss

    for _ in range(steps):
        loss = step(x, y)
    print(f"loss {float(loss):.1e}, weights {weights.numpy().ravel().round(3)}")
    return weights.numpy()


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Run the command line, and return the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="?", type=Path, help="a JSON file: which cluster")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args(arguments)
    settings = json.loads(options.settings.read_text()) if options.settings else {}
    with connected(settings) as client:
        if client is not None:
            workers = client.scheduler_info(n_workers=-1)["workers"]
            print(f"{len(workers)} workers, dashboard {client.dashboard_link}")
        return train(options.steps)


if __name__ == "__main__":
    main()
