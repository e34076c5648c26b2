"""Server: a task of a cluster that lives in this process, and the target of its sessions.

Sessions on the targets of one cluster share their variables, whatever graphs they run. While all of
the cluster's tasks are servers of this process, that is all: sessions run here. If some are in
other processes, the server becomes a worker of a Dask cluster, named after its task, when a session
is opened on it or the program joins it (`cluster_member`); sessions run on that cluster.
"""

from __future__ import annotations

import copy
import socket
import threading
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

from daskvars.errors import InternalError, NotFoundError, UnknownError, invalid
from daskvars.execution.config_proto import ConfigProto
from daskvars.execution.engine.saving import targets
from daskvars.surface.forwarding import forwards
from daskvars.v1.servers.cluster_member import ClusterMember
from daskvars.v1.servers.cluster_spec import ClusterDef, ClusterSpec


@dataclass
class ServerDef:
    """What a server is, as plain data.

    Attributes:
      cluster: the cluster that it belongs to.
      job_name: the job that it is a task of.
      task_index: its number in that job.
      default_session_config: configuration given to the server.
      protocol: "grpc".

    Source: TensorFlow 1.15, ``tf.train.ServerDef``.

    >>> own = tf.train.Server.create_local_server().server_def
    >>> own.job_name, own.task_index, own.protocol
    ('localhost', 0, 'grpc')
    """

    cluster: ClusterDef = field(default_factory=ClusterDef)
    job_name: str = ""
    task_index: int = 0
    default_session_config: Any = None
    protocol: str = ""


class Server:
    """A task of a cluster, in this process.

    Args:
      server_or_cluster_def: a `ServerDef`, or the cluster: anything that makes a `ClusterSpec`.
        The address of the task is "host:port"; port 0 takes a free one.
      job_name: its job; by default the only one.
      task_index: its number in that job; by default the only one.
      protocol: "grpc"; accepted: what is sent between servers is Dask's.
      config: configuration, kept in `server_def`.
      start: whether sessions can connect at once, or only after `start`.

    Raises:
      TypeError: `server_or_cluster_def` is no server and no cluster.
      ValueError: there are several jobs or tasks and it is not said which this is.
      InvalidArgumentError: the task's address has no port.
      InternalError: the cluster has no such task.
      NotFoundError: the protocol is unknown.
      UnknownError: the port is taken.

    Source: TensorFlow 1.15, ``tf.train.Server``.

    >>> server = tf.train.Server.create_local_server()
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    ...     with tf.Session(server.target) as first:
    ...         first.run(v.initializer)
    ...     with tf.Session(server.target) as second:
    ...         float(second.run(v))
    1.0
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        self._server_def = _server_def(
            server_or_cluster_def, job_name, task_index, protocol, config
        )
        self._address = _address_of(self._server_def)
        self._socket, self._port = _taken_port(self._address)
        self._member: ClusterMember | None = None
        self._lock = threading.Lock()
        if start:
            self.start()

    def __repr__(self) -> str:
        own = self._server_def
        return f"<tf.train.Server /job:{own.job_name}/task:{own.task_index}, {self.target!r}>"

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """Return the server of a cluster of one task, on a free port. See `Server`."""
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    server_def: ServerDef = forwards("_server_def", "What the server is, as plain data.")

    @property
    def target(self) -> str:
        """What a session takes as its target to connect to this server."""
        return f"{targets.PREFIX}localhost:{self._port}"

    def start(self) -> None:
        """Let sessions connect."""
        cluster = ClusterSpec(self._server_def.cluster)
        is_alone = sum(map(cluster.num_tasks, cluster.jobs)) == 1 or self._address.endswith(":0")
        store = self.target if is_alone else f"{targets.PREFIX}{cluster}"
        for target in (self.target, targets.PREFIX + self._address):
            targets.serve(target, store, self._connect, self._server_def.job_name)

    def join(self) -> None:
        """Serve until the process ends."""
        self._join_cluster()
        threading.Event().wait()

    def _connect(self) -> Client | None:
        """Return the client of the cluster, None while all of its tasks are in this process."""
        member = self._join_cluster()
        return None if member is None else member.client

    def _join_cluster(self) -> ClusterMember | None:
        cluster, own = ClusterSpec(self._server_def.cluster), self._server_def
        addresses = [a for job in cluster.jobs for a in cluster.job_tasks(job) if a is not None]
        with self._lock:
            alone = all(targets.is_served(targets.PREFIX + address) for address in addresses)
            if self._member is None and not alone and not self._address.endswith(":0"):
                self._socket.close()
                self._member = ClusterMember(cluster, own.job_name, own.task_index)
            return self._member


def _server_def(
    given: Any,
    job_name: str | None,
    task_index: int | None,
    protocol: str | None,
    config: ConfigProto,
) -> ServerDef:
    """Return what the server is: `given`, overridden by what else is said."""
    if isinstance(given, ServerDef):
        found = copy.copy(given)
    else:
        try:
            cluster = ClusterSpec(given)
        except TypeError as error:
            raise TypeError(
                f"Could not convert `server_or_cluster_def` to a ServerDef or ClusterSpec: {error}"
            ) from None
        if job_name is None:
            job_name = _only(cluster.jobs, "job_name")
        if task_index is None and job_name in cluster.jobs:
            task_index = _only(cluster.task_indices(job_name), "task_index")
        found = ServerDef(cluster.as_cluster_def())
    for name, value in (
        ("job_name", job_name),
        ("task_index", task_index),
        ("protocol", protocol),
        ("default_session_config", config),
    ):
        if value is not None:
            setattr(found, name, value)
    found.protocol = found.protocol or "grpc"
    return found


def _only(items: list[Any], what: str) -> Any:
    if len(items) != 1:
        raise ValueError(f"Must specify an explicit `{what}`: the cluster has {items}.")
    return items[0]


def _address_of(server: ServerDef) -> str:
    """Return the address of the server's task."""
    cluster = ClusterSpec(server.cluster)
    job, task = server.job_name, server.task_index
    if server.protocol.partition("+")[0] != "grpc":
        raise NotFoundError.saying(
            f"No server is known for the protocol {server.protocol!r}; use 'grpc'."
        )
    if job not in cluster.jobs:
        raise InternalError.saying(f'Job "{job}" was not defined in cluster: {cluster}')
    if task not in cluster.task_indices(job):
        raise InternalError.saying(f'Task {task} was not defined in job "{job}": {cluster}')
    return cluster.task_address(job, task)


def _taken_port(address: str) -> tuple[socket.socket, int]:
    """Return the port of an address, and what keeps it for this process."""
    port = address.rpartition(":")[2]
    if ":" not in address or not port.isdigit():
        raise invalid(f'Could not parse port for local server from "{address}"; write host:port.')
    taken = socket.socket()
    try:
        _bind(taken, int(port))
    except (OSError, OverflowError) as error:
        taken.close()
        raise UnknownError.saying(
            f"Could not start a server at {address}: {error}. Port 0 takes a free one."
        ) from None
    _taken.append(taken)  # stays bound until the process ends, as a server lives
    return taken, taken.getsockname()[1]


def _bind(own: socket.socket, port: int) -> None:
    """Take a port that nobody has, also one of whose connections the last are not forgotten yet.

    Such a port is a program's that ended a moment ago. The option that says so is asked for only
    then: two that have it can both take a port.
    """
    try:
        own.bind(("127.0.0.1", port))
    except OSError:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(("127.0.0.1", port))


_taken: list[socket.socket] = []
