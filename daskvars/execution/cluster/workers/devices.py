"""Which workers a device names, and what happens where there are none.

A device's job and task are told from the names of workers, its GPUs from their resources (see
`worker_info`). A device whose workers are gone, or are starting, is waited for; one that no worker
offers is refused at once, or with soft placement softened until some worker meets it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from daskvars.errors import PlacementError, UnavailableError
from daskvars.execution.cluster.workers.worker_info import WorkerInfo, Workers, listed
from daskvars.graph.scopes.device import DeviceSpec

logger = logging.getLogger("daskvars")

START_PATIENCE_S = 60.0  # for a task of the cluster that has not been there yet
PATIENCE_S = 3.0  # for one that is gone: a nanny needs about two to replace its worker
POLL_S = 0.1  # between two looks


class DeviceWorkers:
    """Gives devices their workers, for one executor.

    Args:
      workers: the cluster's workers.

    Attributes:
      soft: whether a device that no worker offers is replaced by one that is like it.
    """

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.soft = False
        self._seen: set[str] = set()
        self._found: dict[tuple[str, bool], list[WorkerInfo]] = {}
        self._softly_placed: set[str] = set()
        self._version = -1

    @property
    def worker_infos(self) -> tuple[WorkerInfo, ...]:
        """What the live workers offer; what was found out about them before is forgotten."""
        worker_infos = self.workers.worker_infos
        if self._version != self.workers.version:
            self._version = self.workers.version
            self._on_change()
        return worker_infos

    def _on_change(self) -> None:
        """Forget what was found out about workers before they changed."""
        self._found = {}
        self._softly_placed = set()

    @property
    def version(self) -> int:
        """Counts how often the workers have changed."""
        return self.workers.version if self.worker_infos is not None else 0

    @property
    def addresses(self) -> list[str]:
        """The workers that any task may run on."""
        return [info.address for info in self.fitting("")]

    def fitting(self, device: str) -> list[WorkerInfo]:
        """Return the workers of a device; may be none."""
        worker_infos, key = self.worker_infos, (device, self.soft)
        if key not in self._found:
            wanted = self._softened(device) if self.soft else device
            self._found[key] = matching(worker_infos, wanted)
        return self._found[key]

    def is_bound(self, device: str) -> bool:
        """Return whether a device may not be left to Dask: it is only some of the workers.

        One that names a task or a GPU is bound even while there are no other workers.
        """
        spec = DeviceSpec.from_string(device)
        named = spec.task is not None or spec.device_type == "GPU"
        return named or len(self.fitting(device)) < len(self.worker_infos)

    def require(self, device: str, what: str, op: str | None = None) -> list[WorkerInfo]:
        """Return the workers of a device, waited for if they were there before or are starting.

        Raises:
          PlacementError: no worker is, or was, one of that device.
          UnavailableError: those that were are gone.
        """
        found = self.fitting(device)
        if not found and device:
            if device in self._seen:
                self._wait_for(device, PATIENCE_S)
            elif self._is_starting(device):
                self._wait_for(device, START_PATIENCE_S)
            found = self.fitting(device)
            if not found:
                raise self._refusal(device, what, op)
        self._seen.add(device)
        return found

    def _wait_for(self, device: str, patience_s: float) -> None:
        """Wait until some worker fits a device, or that time is over."""
        end = time.monotonic() + patience_s
        while not matching(self.workers.worker_infos, device) and time.monotonic() < end:
            time.sleep(POLL_S)
            self.workers.refresh()

    def _is_starting(self, device: str) -> bool:
        spec = DeviceSpec.from_string(device)
        return any(
            spec.job == job and spec.task in (None, task) for job, task in self.workers.expected
        )

    def _refusal(self, device: str, what: str, op: str | None) -> Exception:
        wanted = f"Cannot assign a device for {what}: it asks for {device}"
        listing = f"Workers: {listed(self.worker_infos)}."
        if device in self._seen:
            return UnavailableError(
                None,
                op,
                f"{wanted}, whose workers are gone. {listing} It goes on when a worker of "
                "that name is there again; or set ConfigProto(allow_soft_placement=True).",
            )
        return PlacementError(
            None,
            op,
            f"{wanted}, which no worker offers. {listing} Start a worker that does "
            "(`dask worker --name ps-0 --resources GPU=1`), ask for another device, or set "
            "ConfigProto(allow_soft_placement=True).",
        )

    def _softened(self, device: str) -> str:
        """Return the device with the fewest demands dropped that some worker meets."""
        spec = DeviceSpec.from_string(device)
        for dropped in ((), ("device_index",), ("device_type",), ("task",)):
            spec = spec.replace(**dict.fromkeys(dropped))
            if matching(self.worker_infos, spec.to_string()):
                return spec.to_string()
        return ""

    def of_device(self, device: str, name: str) -> tuple[str, str]:
        """Return the place of an operation on a device, and the reason in words.

        Raises:
          PlacementError, UnavailableError: there is none; see `require`.
        """
        wanted = normal(device)
        self.require(wanted, op_in_words(name), name)
        if not self.soft or matching(self.worker_infos, wanted):
            return wanted, "pinned by tf.device" if wanted else ""
        if wanted not in self._softly_placed:
            logger.warning(
                "soft placement: %s asks for %s, which no worker offers; it runs on %s, as what "
                "else asks for it. Workers: %s",
                name,
                device,
                self._softened(wanted) or "any worker",
                listed(self.worker_infos),
            )
            self._softly_placed.add(wanted)
        return wanted, f"soft-placed: no worker offers {wanted}"

    def described(self, device: str) -> str:
        """Return a device, and the workers on which its tasks run."""
        names = ", ".join(dict.fromkeys(info.name for info in self.fitting(normal(device))))
        return f"{device or 'anywhere'} (workers {names or 'none'})"


def matching(worker_infos: Sequence[WorkerInfo], device: str) -> list[WorkerInfo]:
    """Return the workers on which operations of a device may run.

    A GPU's number counts those of the task, or without a task those of all workers that fit the
    rest. A CPU is one of a worker without GPUs, if there is any.
    """
    spec = DeviceSpec.from_string(device)
    if spec.replica not in (None, 0):
        return []
    found = [o for o in worker_infos if spec.job in (None, o.job) and spec.task in (None, o.task)]
    if spec.device_type is None:
        return found
    if spec.device_type == "CPU":
        return [info for info in found if not info.num_gpus] or found
    if spec.device_type != "GPU":
        return []
    found = [info for info in found if info.num_gpus]
    if spec.device_index is None:
        return found
    gpus = [info for info in found for _ in range(info.num_gpus)]
    return gpus[spec.device_index : spec.device_index + 1]


def normal(device: str) -> str:
    """Return what matters of a device: there is one replica, and CPUs are not told apart.

    >>> normal("/job:ps/replica:0/task:1/cpu:0"), normal("/gpu:1")
    ('/job:ps/task:1/device:CPU:*', '/device:GPU:1')
    """
    spec = DeviceSpec.from_string(device)
    if spec.replica == 0:
        spec.replica = None
    if spec.device_type == "CPU":
        spec.device_index = None
    return spec.to_string()


def op_in_words(name: str) -> str:
    """Return an operation's name for an error, with its scope.

    >>> op_in_words("layer/MatMul")
    "operation 'layer/MatMul' (scope 'layer')"
    """
    scope = name.rpartition("/")[0]
    return f"operation {name!r} (scope {scope!r})" if scope else f"operation {name!r}"
