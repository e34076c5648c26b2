"""TensorFlow's clusters of named tasks, on Dask's schedulers and workers.

TensorFlow 1 names the processes of a training by *job* and *task* (``/job:ps/task:0``), and each is
told the addresses of all. Dask has one scheduler, which knows its workers. Here the first task's
process holds the scheduler, and each task is a worker of its name; as long as all tasks are servers
of one process, none of that is needed, and sessions run there.

- ``cluster_spec``: jobs of numbered addresses, as TensorFlow writes them;
- ``server``: `Server` makes this process one of the tasks, until the program ends;
- ``cluster_member``: the scheduler or worker that it is then;
- ``device_setter``: variables in turn on the parameter servers, all else on the workers.

An eager program starts a Dask cluster as any Dask program does, and makes a `Client`.
"""

from daskvars.v1.servers.cluster_spec import ClusterDef, ClusterSpec, JobDef
from daskvars.v1.servers.device_setter import (
    GreedyLoadBalancingStrategy,
    byte_size_load_fn,
    replica_device_setter,
)
from daskvars.v1.servers.server import Server, ServerDef

__all__ = [
    "ClusterDef",
    "ClusterSpec",
    "GreedyLoadBalancingStrategy",
    "JobDef",
    "Server",
    "ServerDef",
    "byte_size_load_fn",
    "replica_device_setter",
]
