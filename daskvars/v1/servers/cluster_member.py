"""What a server is of a Dask cluster: the worker of its task, and for the first task the scheduler.

The cluster of a `ClusterSpec` needs one address that everybody knows. That is the address of its
first task: the lowest of the job "ps", whose programs only wait, or else of the first job by name.
The scheduler listens there; all workers, and each program's client, connect to it. Workers are
named after their tasks ("ps-0"), which is what devices refer to.

Both run on a thread of this process, as TensorFlow's servers do, and end with it. A worker runs
one task at a time unless `config.num_threads` says more; its resources, and what secures the
connections, are those of Dask's configuration.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from contextlib import AsyncExitStack

import dask
from distributed import Client, Scheduler, Worker

from daskvars import config
from daskvars.errors import UnavailableError
from daskvars.execution.cluster.workers.worker_info import workers_of
from daskvars.v1.servers.cluster_spec import ClusterSpec

PATIENCE_S = 60.0  # for the first task, whose program may start later
LOCAL = ("localhost", "127.0.0.1", "::1")


class ClusterMember:
    """A task of a cluster, on a thread of this process."""

    def __init__(self, cluster: ClusterSpec, job: str, task: int) -> None:
        self.cluster, self.job, self.task = cluster, job, task
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._error: BaseException | None = None
        self._client: Client | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"daskvars-{job}-{task}")
        self._thread.daemon = True
        atexit.register(self.close)
        self._thread.start()

    @property
    def is_first(self) -> bool:
        """Whether the scheduler is here."""
        return (self.job, self.task) == first_task(self.cluster)

    @property
    def scheduler_address(self) -> str:
        """Where the scheduler is."""
        scheme = dask.config.get("distributed.comm.default-scheme")
        return f"{scheme}://{numeric(self.cluster.task_address(*first_task(self.cluster)))}"

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except Exception as error:  # noqa: BLE001 told to whoever asks for the client
            self._error = error

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        host, _, port = numeric(self.cluster.task_address(self.job, self.task)).rpartition(":")
        async with AsyncExitStack() as stack:
            if self.is_first:
                await stack.enter_async_context(
                    Scheduler(host=host, port=int(port), dashboard_address=f"{host}:0")
                )
            worker = Worker(
                self.scheduler_address,
                name=f"{self.job}-{self.task}",
                host=host,
                nthreads=config.get().num_threads or 1,
                port=0 if self.is_first else int(port),
                memory_limit=0,
                dashboard_address=f"{host}:0",
            )
            await stack.enter_async_context(worker)
            await self._stop.wait()

    @property
    def client(self) -> Client:
        """The client of the cluster, once its scheduler and this task's worker are there.

        Raises:
          UnavailableError: they are not, after a minute.
        """
        with self._lock:
            if self._client is None or self._client.status in ("closed", "closing"):
                self._client = self._connected()
            return self._client

    def _connected(self) -> Client:
        first = "/job:{}/task:{}".format(*first_task(self.cluster))
        where = f"the cluster's scheduler, which is in the process of {first}"
        try:
            client = Client(self.scheduler_address, timeout=PATIENCE_S, set_as_default=False)
        except OSError as error:
            raise self._unreachable(where) from error
        workers = workers_of(client)
        workers.expected = {
            (job, task) for job in self.cluster.jobs for task in self.cluster.task_indices(job)
        }
        workers.preferred = self.job, self.task
        end = time.monotonic() + PATIENCE_S
        while not any((o.job, o.task) == workers.preferred for o in workers.worker_infos):
            if self._error is not None or time.monotonic() > end:
                raise self._unreachable(f"the worker of this task, at {self.scheduler_address}")
            time.sleep(0.05)
            workers.refresh()
        return client

    def _unreachable(self, what: str) -> UnavailableError:
        reason = f": {self._error}" if self._error is not None else ""
        return UnavailableError.saying(
            f"/job:{self.job}/task:{self.task} cannot reach {what}, at "
            f"{self.scheduler_address}{reason}. Start the program of each task of {self.cluster}"
        )

    def close(self) -> None:
        """Leave the cluster."""
        if self._client is not None:
            self._client.close()
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)


def first_task(cluster: ClusterSpec) -> tuple[str, int]:
    """Return the job and number of the task that everybody connects to.

    >>> first_task(ClusterSpec({"worker": ["a:1"], "ps": ["b:1"]}))
    ('ps', 0)
    """
    job = "ps" if "ps" in cluster.jobs else min(cluster.jobs)
    return job, cluster.task_indices(job)[0]


def numeric(address: str) -> str:
    """Return an address that listens, and is reached, on loopback if it says this machine."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in LOCAL else address
