"""Where the tasks of plans run, and on which workers the chunks of variables live.

`lowering.planner.place` asks here for places, which name no worker; a run's tasks get their workers
when it is sent, from whoever is there then. Where a device leaves no choice a task is bound to its
workers (and fails, to be placed anew, when they are gone: see `WorkerWatch`). Otherwise the worker
is a preference: Dask lets a task run elsewhere if the worker is gone.

Chunks of a variable are spread over its device's workers in order. With which worker they begin is
chosen by the bytes that each has been given so far; but variables keep together as long as that
costs little balance, because those that begin alike are updated by one task.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from daskvars import chunk_grid
from daskvars.chunk_grid import Chunks
from daskvars.errors import ResourceExhaustedError
from daskvars.execution.cluster.workers.devices import DeviceWorkers, op_in_words
from daskvars.execution.cluster.workers.worker_info import WorkerInfo, Workers
from daskvars.graph.definitions.opdef import Spec
from daskvars.kernels.math.row_sums import ROWS_TOGETHER
from daskvars.lowering.emission.stages import ANYWHERE, Stage, StagePlan, stages
from daskvars.lowering.plan import Plan, Region
from daskvars.lowering.planner.fold_rows import MIN_CUT_BYTES
from daskvars.lowering.planner.place import device_of, device_type_of
from daskvars.lowering.planner.propagate import is_cut
from daskvars.lowering.program import spec_bytes
from daskvars.shape_arithmetic import is_known

SLACK_BYTES = 2 << 20  # of imbalance that no task of its own is worth
SLACK_SHARE = 1 / 8
MAX_VARIABLES = 1_000  # before those of variables that are gone are forgotten
# Of a worker's memory, what a task of each of its threads should take and give: half of it is the
# task's own before and after, and Dask begins to spill at 60 % and keeps tasks back at 80 %.
TASK_SHARE = 1 / 8
# Of a worker's memory, what may be used before Dask spills; and what its process has to begin with.
SPARE_SHARE, PROCESS_BYTES = 0.6, 200 << 20
# Of the memory of all workers, for new values of variables that runs in flight make.
FLIGHT_SHARE = 1 / 4


class VariablePlace(NamedTuple):
    """Where a variable lives, and how large it is."""

    place: str
    nbytes: int
    num_chunks: int


class ClusterPlacement(DeviceWorkers):
    """Gives places and workers to the plans of one executor; its devices: see `DeviceWorkers`.

    Args:
      is_alive: tells of a key whether there is a variable of it.

    Attributes:
      variable_places: where variables live, by key.
      why_anywhere: the reason, in words, of what may run anywhere.
      most_awaited_bytes: that a region waits for before its work begins: some ms of a network.
    """

    why_anywhere = "by cost: next to what it takes"
    most_awaited_bytes: float = 8 << 20

    def __init__(self, workers: Workers, is_alive: Callable[[str], bool]) -> None:
        super().__init__(workers)
        self._is_alive = is_alive
        self._most_variables = MAX_VARIABLES
        self.variable_places: dict[str, VariablePlace] = {}
        self._loads: Counter[str] = Counter()
        self._used: dict[tuple[str, int], list[str]] = {}  # the latest last

    def _on_change(self) -> None:
        super()._on_change()
        self._loads = Counter()
        for variable_place in self.variable_places.values():
            self._loads.update(self._shares(variable_place))

    # -- memory ---------------------------------------------------------------------------------

    @property
    def most_task_bytes(self) -> float:
        """What a task should take and give; more is split (`lowering.planner.fuse`)."""
        limits = [
            o.memory_limit_bytes / o.num_threads for o in self.worker_infos if o.memory_limit_bytes
        ]
        return TASK_SHARE * min(limits, default=math.inf)

    @property
    def spare_bytes(self) -> float:
        """What a thread has for variables and one task; infinity without limits."""
        limits = [
            (SPARE_SHARE * o.memory_limit_bytes - PROCESS_BYTES) / o.num_threads
            for o in self.worker_infos
            if o.memory_limit_bytes
        ]
        return min(limits, default=math.inf)

    @property
    def most_in_flight_bytes(self) -> float:
        """How many bytes of new values the runs in flight may make; infinity without limits."""
        limits = [info.memory_limit_bytes for info in self.worker_infos]
        return FLIGHT_SHARE * sum(limits) if all(limits) else math.inf

    # -- variables ------------------------------------------------------------------------------

    def automatic_chunks(self, spec: Spec, device: str, found: Chunks | None) -> Chunks | None:
        """Return how a variable is cut of which nobody has said that; None: not at all.

        A large one is cut by rows, a chunk for each worker, so that all take part in its update;
        where BLAS would, so that its sums have the same bits. What is cut stays so when there are
        more workers, or fewer.

        Args:
          spec: its dtype and shape.
          device: that it asks for: there it stays, whole.
        """
        if found is not None and is_cut(found) and tuple(map(sum, found)) == spec.shape:
            return found
        shape, count = spec.shape, len(self.fitting(""))
        if device or count < 2 or spec.dtype is None:
            return None
        if not shape or not is_known(shape) or shape[0] < count:
            return None
        if spec_bytes(spec) < MIN_CUT_BYTES:
            return None
        unit = ROWS_TOGETHER if shape[0] > ROWS_TOGETHER * (count - 1) else 1
        groups = math.ceil(shape[0] / unit)
        *sizes, last = (unit * n for n in chunk_grid.split_evenly(groups, count))
        rows = (*sizes, last + shape[0] - unit * groups)
        return (rows, *chunk_grid.whole(shape[1:]))

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
        for info in self._overfull(shares):
            share, limit = shares[info.address], info.memory_limit_bytes
            raise ResourceExhaustedError(
                None,
                key,
                f"variable {key!r} of shape {spec.shape} has {placed.nbytes:,} bytes "
                f"in {placed.num_chunks} chunks, of which worker {info.name} would have "
                f"{share:,}, but its memory is {limit:,}. Nothing was sent. Cut it in more "
                "chunks (chunks=, a partitioner), or use more workers, or with more memory",
            )

    def _overfull(self, shares: Mapping[str, int]) -> list[WorkerInfo]:
        """Return the workers that cannot hold their shares of one variable, bytes by worker."""
        return [o for o in self.worker_infos if 0 < o.memory_limit_bytes < shares.get(o.address, 0)]

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
        if self._is_too_small(place, nbytes, num_chunks):  # others may have more memory
            places = [p for p in places if not self._is_too_small(p, nbytes, num_chunks)] or [place]
            place = min(places, key=lambda p: self._peak(p, nbytes, num_chunks))
        self._used[device, num_chunks] = [p for p in used if p != place] + [place]
        return place

    def _is_too_small(self, place: str, nbytes: int, num_chunks: int) -> bool:
        return bool(self._overfull(self._shares(VariablePlace(place, nbytes, num_chunks))))

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
            wanted = {"workers": [info.address for info in self._own(found)]}
        else:
            return {}
        return wanted if bound else {**wanted, "allow_other_workers": True}

    def staged(self, plan: Plan) -> tuple[StagePlan, list[dict[str, Any]]]:
        """Return the stages of a plan on the workers that there are, and of each its annotations.

        Raises:
          PlacementError, UnavailableError: there is none for some; see `require`.
        """
        while True:
            version = self.version
            try:
                found = self._stages(plan)
                annotations = [self._stage_annotations(plan, stage) for stage in found.stages]
            except LookupError:
                if self.version == version:
                    raise
            else:
                if self.version == version:
                    return found, annotations

    def _stages(self, plan: Plan) -> StagePlan:
        numbers = {info.address: i for i, info in enumerate(self.worker_infos)}
        is_uncut = len({region.place for region in plan.regions}) == 1 and all(
            region.num_tasks == 1 and "@" not in region.place for region in plan.regions
        )

        def worker_of(region: Region, number: int) -> int:
            device, count = device_of(region.place), region.num_tasks
            found = self.fitting(device)
            if not found or is_uncut:
                return ANYWHERE
            if count > 1 or "@" in region.place:
                return numbers[self._worker(region.place, number, count)]
            return numbers[self._own(found)[0].address] if self.is_bound(device) else ANYWHERE

        def state_worker_of(key: str, index: Any, number: int) -> int:
            where = self.variable_places.get(key)
            if where is None or not self.fitting(device_of(where.place)):
                return ANYWHERE
            return numbers[self._worker(where.place, number, where.num_chunks)]

        return stages(plan, len(numbers), worker_of, state_worker_of, self.most_task_bytes)

    def _own(self, found: list[WorkerInfo]) -> list[WorkerInfo]:
        """Return of some workers the program's own, if it is one, else all."""
        return [o for o in found if (o.job, o.task) == self.workers.preferred] or found

    def _stage_annotations(self, plan: Plan, stage: Stage) -> dict[str, Any]:
        numbers = [found.region for found in stage.blocks]
        numbers += [block_id.origin.region for block_id in stage.passed]
        places = {plan.regions[number].place for number in numbers}
        if stage.worker == ANYWHERE:
            return self.annotations_at(min(places))
        devices = {device_of(place) for place in places}
        for device in devices:
            self.require(device, "tasks")
        is_bound = any(map(self.is_bound, devices))
        if not is_bound and len(self.worker_infos) < 2:
            return {}
        wanted = {"workers": [self.worker_infos[stage.worker].address]}
        return wanted if is_bound else {**wanted, "allow_other_workers": True}

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
            self.require(device_of(region.place), op_in_words(op.name), op.name)

    def check_variables(self, keys: Iterable[str]) -> None:
        """Raise where a variable has no worker to be on; see `require`."""
        for key in keys:
            if key in self.variable_places:
                self.require(device_of(self.variable_places[key].place), f"variable {key!r}")

    def where(self, region: Region) -> str:
        """Return where the tasks of a region run, in words."""
        return self.described(device_of(region.place))


def by_annotation(annotations_of: Mapping[Any, dict[str, Any]]) -> dict[str, dict[Any, Any]]:
    """Return key -> annotation -> value as annotation -> key -> value, as graphs have it."""
    found: dict[str, dict[Any, Any]] = {}
    for key, found_at in annotations_of.items():
        for name, value in found_at.items():
            found.setdefault(name, {})[key] = value
    return found


def _place(device: str, offset: int) -> str:
    return device if device and not offset else f"{device}@{offset}"
