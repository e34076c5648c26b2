"""Running a file of tests, and what tests ask about where they run."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from absl.testing import absltest

from daskvars.execution.session import Session
from daskvars.graph.graph import Graph
from daskvars.surface.accepted import accepts
from daskvars.v1 import app
from daskvars.v1.servers import ClusterSpec, Server
from daskvars.v1.test.benchmarks import run_benchmarks


def main(argv: Sequence[str] | None = None) -> None:
    """Run the tests of the script, or with ``--benchmarks=REGEX`` those benchmarks, and exit.

    Args:
      argv: the program's name and arguments, by default the command line.

    Raises:
      SystemExit: always.

    Source: TensorFlow 1.15, ``tf.test.main``.

    >>> try:
    ...     tf.test.main(["benchmarks.py", "--benchmarks=nothing of that name"])
    ... except SystemExit as error:
    ...     print("exit code", error.code)
    exit code None
    """
    arguments = list(sys.argv if argv is None else argv)
    chosen = [a.partition("=")[2] for a in arguments if a.startswith("--benchmarks=")]
    if chosen:
        app.run(lambda _: run_benchmarks(chosen[-1]), arguments)
    app.run(lambda rest: absltest.main(argv=rest), arguments)


_folders: list[str] = []  # of this process, made when it is first asked for


def get_temp_dir() -> str:
    """Return a folder for the tests of this process, which goes when it ends.

    Source: TensorFlow 1.15, ``tf.test.get_temp_dir``.

    >>> import os
    >>> os.path.isdir(tf.test.get_temp_dir()), tf.test.get_temp_dir() == tf.test.get_temp_dir()
    (True, True)
    """
    if not _folders:
        script = Path(sys.argv[0] or "tests").stem
        _folders.append(tempfile.mkdtemp(prefix=script, dir=os.environ.get("TEST_TMPDIR")))
        atexit.register(shutil.rmtree, _folders[0], ignore_errors=True)
    return _folders[0]


def test_src_dir_path(relative_path: str) -> str:
    """Return the path of a file beside the tests: in the folder of the script, or TEST_SRCDIR.

    Args:
      relative_path: its path from there.

    Source: TensorFlow 1.15, ``tf.test.test_src_dir_path``.

    >>> import os
    >>> os.path.basename(tf.test.test_src_dir_path("data/few.csv"))
    'few.csv'
    """
    root = os.environ.get("TEST_SRCDIR") or os.path.dirname(os.path.abspath(sys.argv[0]))
    return os.path.join(root, relative_path)


def gpu_device_name() -> str:
    """Return the name of a GPU that operations can run on, or "" where there is none.

    >>> gpu_device_name()
    ''
    """
    with Session(graph=Graph()) as session:
        found = [d.name for d in session.list_devices() if d.device_type == "GPU"]
    return found[0] if found else ""


@accepts("cuda_only")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Return whether operations can run on a GPU.

    Args:
      min_cuda_compute_capability: (major, minor) that it must have.

    Raises:
      ValueError: there is a GPU, and it is asked for a capability that its worker does not tell.

    Source: TensorFlow 1.15, ``tf.test.is_gpu_available``.

    >>> tf.test.is_gpu_available() == bool(tf.test.gpu_device_name())
    True
    """
    found = bool(gpu_device_name())
    if found and min_cuda_compute_capability is not None:
        raise ValueError("workers do not say the compute capability of their GPUs: ask CuPy there")
    return found


def is_built_with_cuda() -> bool:
    """Return False: nothing was built; GPUs are used through CuPy, where that is installed.

    >>> tf.test.is_built_with_cuda()
    False
    """
    return False


is_built_with_rocm = is_built_with_gpu_support = is_built_with_cuda


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Server], list[Server]]:
    """Return the servers of a cluster in this process: (workers, parameter servers).

    Args:
      num_workers: how many tasks the job "worker" has.
      num_ps: how many the job "ps" has.
      protocol: as `Server` takes it.
      worker_config: configuration of the workers.
      ps_config: configuration of the parameter servers.

    >>> workers, ps = tf.test.create_local_cluster(1, 1)
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", initializer=2.0)
    ...     with tf.Session(ps[0].target) as first, tf.Session(workers[0].target) as second:
    ...         first.run(v.initializer)
    ...         float(second.run(v))
    2.0
    """
    ports = iter(_free_ports(num_workers + num_ps))
    spec = ClusterSpec(
        {
            job: [f"localhost:{next(ports)}" for _ in range(count)]
            for job, count in (("worker", num_workers), ("ps", num_ps))
            if count
        }
    )

    def servers(job: str, count: int, config: Any) -> list[Server]:
        return [Server(spec, job, index, protocol, config) for index in range(count)]

    return servers("worker", num_workers, worker_config), servers("ps", num_ps, ps_config)


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on. Each is held until all are found."""
    with ExitStack() as held:
        found = []
        for _ in range(count):
            listening = held.enter_context(socket.socket())
            listening.bind(("127.0.0.1", 0))
            found.append(listening.getsockname()[1])
    return found
