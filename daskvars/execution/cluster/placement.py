"""Where the tasks of plans run, and on which workers the chunks of variables live.

`lowering.place` asks here for places, which name no worker; a run's tasks get their workers when it
is sent, from whoever is there then. Where a device leaves no choice a task is bound to its workers
(and fails, to be placed anew, when they are gone: see `WorkerWatch`). Otherwise the worker
is a preference: Dask lets a task run elsewhere if the worker is gone.

Chunks of a variable are spread over its device's workers in order. With which worker they begin is
chosen by the bytes that each has been given so far; but variables keep together as long as that
costs little balance, because those that begin alike are updated by one task.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from daskvars.chunk_grid import Chunks
from daskvars.errors import PlacementError, ResourceExhaustedError, UnavailableError
from daskvars.execution.cluster.worker_info import WorkerInfo, Workers, listed, matching
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.lowering.place import device_of, device_type_of
from daskvars.lowering.plan import Plan, Region

logger = logging.getLogger("daskvars")

START_PATIENCE_S = 60.0  # for a task of the cluster that has not been there yet
PATIENCE_S = 3.0  # for one that is gone: a nanny needs about two to replace its worker
SLACK_BYTES = 2 << 20  # of imbalance that no task of its own is worth
SLACK_SHARE = 1 / 8
MAX_VARIABLES = 1_000  # before those of variables that are gone are forgotten
# Of a worker's memory, what a task of each of its threads should take and give: half of it is the
# task's own before and after, and Dask begins to spill at 60 % and keeps tasks back at 80 %.
TASK_SHARE = 1 / 8
# Of the memory of all workers, for new values of variables that runs in flight make.
FLIGHT_SHARE = 1 / 4


class VariablePlace(NamedTuple):
    """Where a variable lives, and how large it is."""

    place: str
    nbytes: int
    num_chunks: int


class ClusterPlacement:
    """Gives places and workers to the plans of one executor.

    Args:
      workers: the cluster's workers.
      is_alive: tells of a key whether there is a variable of it.

    Attributes:
      workers: as given.
      soft: whether a device that no worker offers is replaced by one that is like it.
      variable_places: where variables live, by key.
      why_anywhere: the reason, in words, of what may run anywhere.
    """

    why_anywhere = "by cost: next to what it takes"

    def __init__(self, workers: Workers, is_alive: Callable[[str], bool]) -> None:
        self.workers, self._is_alive = workers, is_alive
        self.soft = False
        self._most_variables = MAX_VARIABLES
        self.variable_places: dict[str, VariablePlace] = {}
        self._seen: set[str] = set()
        self._found: dict[tuple[str, bool], list[WorkerInfo]] = {}
        self._loads: Counter[str] = Counter()
        self._used: dict[tuple[str, int], list[str]] = {}  # the latest last
        self._version = -1

    # -- devices --------------------------------------------------------------------------------

    @property
    def worker_infos(self) -> tuple[WorkerInfo, ...]:
        """What the live workers offer; what was found out about them before is forgotten."""
        worker_infos = self.workers.worker_infos
        if self._version != self.workers.version:
            self._version = self.workers.version
            self._found = {}
            self._loads = Counter()
            for variable_place in self.variable_places.values():
                self._loads.update(self._shares(variable_place))
        return worker_infos

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

    def require(self, device: str, what: str, op: Any = None) -> list[WorkerInfo]:
        """Return the workers of a device, waited for if they were there before or are starting.

        Raises:
          PlacementError: no worker is, or was, one of that device.
          UnavailableError: those that were are gone.
        """
        found = self.fitting(device)
        if not found and device:
            if device in self._seen:
                self.workers.wait_for(device, PATIENCE_S)
            elif self._is_starting(device):
                self.workers.wait_for(device, START_PATIENCE_S)
            found = self.fitting(device)
            if not found:
                raise self._refusal(device, what, op)
        self._seen.add(device)
        return found

    def _is_starting(self, device: str) -> bool:
        spec = DeviceSpec.from_string(device)
        return any(
            spec.job == job and spec.task in (None, task) for job, task in self.workers.expected
        )

    def _refusal(self, device: str, what: str, op: Any) -> Exception:
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
        self.require(wanted, _named(name), name)
        if not self.soft or matching(self.worker_infos, wanted):
            return wanted, "pinned by tf.device" if wanted else ""
        logger.warning(
            "soft placement: %s asks for %s, which no worker offers; it runs on %s. Workers: %s",
            name,
            device,
            self._softened(wanted) or "any worker",
            listed(self.worker_infos),
        )
        return wanted, f"soft-placed: no worker offers {wanted}"

    # -- memory ---------------------------------------------------------------------------------

    @property
    def most_task_bytes(self) -> float:
        """What a task should take and give: more is split where it can be; see `lowering.fuse`."""
        limits = [
            o.memory_limit_bytes / o.num_threads for o in self.worker_infos if o.memory_limit_bytes
        ]
        return TASK_SHARE * min(limits, default=math.inf)

    @property
    def most_in_flight_bytes(self) -> float:
        """How many bytes of new values the runs in flight may make; infinity without limits."""
        limits = [info.memory_limit_bytes for info in self.worker_infos]
        return FLIGHT_SHARE * sum(limits) if all(limits) else math.inf

    # -- variables ------------------------------------------------------------------------------

    def of_variable(self, key: str, device: str, spec: Spec, layout: Chunks | None) -> str:
        """Return the place of a variable that a program writes; it is chosen once.

        Raises:
          PlacementError, UnavailableError: no worker is there for it; see `require`.
          ResourceExhaustedError: it is larger than the memory of a worker that it would live on.
        """
        device = self.of_device(device, key)[0]
        num_chunks = math.prod(len(sizes) for sizes in layout or ())
        found = self.variable_places.get(key)
        if found and (device_of(found.place), found.num_chunks) == (device, num_chunks):
            return found.place
        itemsize = spec.dtype.np.itemsize if spec.dtype is not None else 0
        nbytes = itemsize * math.prod(n or 1 for n in spec.shape or ())
        self._forget(key)
        parent = self.variable_places.get(key.rpartition("/")[0])
        if parent and (device_of(parent.place), parent.num_chunks) == (device, num_chunks):
            place = parent.place  # a slot lives with its variable
        else:
            place = self._balanced(device, nbytes, num_chunks)
        if len(self.variable_places) >= self._most_variables:
            for gone in [k for k in self.variable_places if not self._is_alive(k)]:
                self._forget(gone)
            self._most_variables = 2 * len(self.variable_places) + MAX_VARIABLES
        variable_place = VariablePlace(place, nbytes, num_chunks)
        shares = self._shares(variable_place)
        self._check_memory(key, spec, variable_place, shares)
        self.variable_places[key] = variable_place
        self._loads.update(shares)
        return place

    def _check_memory(
        self, key: str, spec: Spec, placed: VariablePlace, shares: Mapping[str, int]
    ) -> None:
        """Raise where a variable cannot be in the memory of the workers that it would live on."""
        for info in self.worker_infos:
            share, limit = shares.get(info.address, 0), info.memory_limit_bytes
            if 0 < limit < share:
                raise ResourceExhaustedError(
                    None,
                    key,
                    f"variable {key!r} of shape {spec.shape} has {placed.nbytes:,} bytes "
                    f"in {placed.num_chunks} chunks, of which worker {info.name} would have "
                    f"{share:,}, but its memory is {limit:,}. Nothing was sent. Cut it in more "
                    "chunks (chunks=, a partitioner), or use more workers, or with more memory",
                )

    def _forget(self, key: str) -> None:
        found = self.variable_places.pop(key, None)
        if found is not None:
            self._loads.subtract(self._shares(found))

    def _balanced(self, device: str, nbytes: int, num_chunks: int) -> str:
        """Return the place of a new variable: that of the one before it, if balance allows."""
        if not self.fitting(device):
            return _place(device, 0)  # until there are workers
        used = self._used.get((device, num_chunks), [])
        mean = (self._loads.total() + nbytes) / len(self.worker_infos)
        # What has to be spread is spread evenly; what need not be stays in one place.
        slack = max(SLACK_BYTES, SLACK_SHARE * mean) if len(used) < 2 else 0
        places = [_place(device, offset) for offset in range(len(self.fitting(device)))]
        place = used[-1] if used and used[-1] in places else places[0]
        if self._peak(place, nbytes, num_chunks) > mean + slack:
            place = min([place, *places], key=lambda p: self._peak(p, nbytes, num_chunks))
        self._used[device, num_chunks] = [p for p in used if p != place] + [place]
        return place

    def _peak(self, place: str, nbytes: int, num_chunks: int) -> int:
        """Return the most bytes of a worker that would have chunks of such a variable."""
        shares = self._shares(VariablePlace(place, nbytes, num_chunks))
        return max(self._loads[address] + share for address, share in shares.items())

    def _shares(self, variable_place: VariablePlace) -> Counter[str]:
        """Return the bytes of a variable by worker."""
        found: Counter[str] = Counter()
        if self.fitting(device_of(variable_place.place)):
            for number in range(variable_place.num_chunks):
                address = self._worker(variable_place.place, number, variable_place.num_chunks)
                found[address] += variable_place.nbytes // variable_place.num_chunks
        return found

    # -- tasks ----------------------------------------------------------------------------------

    def _worker(self, place: str, number: int, count: int) -> str:
        device, _, offset = place.partition("@")
        found = self.fitting(device)
        return found[(int(offset or 0) + number * len(found) // count) % len(found)].address

    def annotations_at(self, place: str, number: int = 0, count: int = 1) -> dict[str, Any]:
        """Return the Dask annotations of task `number` of `count` at a place."""
        device = device_of(place)
        bound = self.is_bound(device)
        if not bound and len(self.worker_infos) < 2:
            return {}
        found = self.require(device, "tasks")
        if found and (count > 1 or "@" in place):
            wanted: dict[str, Any] = {"workers": [self._worker(place, number, count)]}
        elif bound:
            own = [o for o in found if (o.job, o.task) == self.workers.preferred]
            wanted = {"workers": [info.address for info in own or found]}
        else:
            return {}
        return wanted if bound else {**wanted, "allow_other_workers": True}

    def variable_annotations(self, key: str, number: int, count: int) -> dict[str, Any]:
        """Return the Dask annotations of a task that makes chunk `number` of a variable."""
        variable_place = self.variable_places.get(key)
        return self.annotations_at(variable_place.place if variable_place else "", number, count)

    def type_of(self, key: str) -> str:
        """Return the type of the device that a variable lives on."""
        variable_place = self.variable_places.get(key)
        return device_type_of(variable_place.place if variable_place else "")

    def check(self, plan: Plan) -> None:
        """Raise where a region has no worker to be on; see `require`."""
        for region in plan.regions:
            op = region.ops[0]
            self.require(device_of(region.place), _named(op.name), op.name)

    def check_variables(self, keys: Iterable[str]) -> None:
        """Raise where a variable has no worker to be on; see `require`."""
        for key in keys:
            if key in self.variable_places:
                self.require(device_of(self.variable_places[key].place), f"variable {key!r}")

    def where(self, region: Region) -> str:
        """Return where the tasks of a region run, in words."""
        return self.described(device_of(region.place))

    def described(self, device: str) -> str:
        """Return a device, and the workers on which its tasks run."""
        names = ", ".join(dict.fromkeys(info.name for info in self.fitting(normal(device))))
        return f"{device or 'anywhere'} (workers {names or 'none'})"


def by_annotation(annotations_of: Mapping[Any, dict[str, Any]]) -> dict[str, dict[Any, Any]]:
    """Return key -> annotation -> value as annotation -> key -> value, as graphs have it."""
    found: dict[str, dict[Any, Any]] = {}
    for key, found_at in annotations_of.items():
        for name, value in found_at.items():
            found.setdefault(name, {})[key] = value
    return found


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


def _place(device: str, offset: int) -> str:
    return device if device and not offset else f"{device}@{offset}"


def _named(name: str) -> str:
    scope = name.rpartition("/")[0]
    return f"operation {name!r} (scope {scope!r})" if scope else f"operation {name!r}"
