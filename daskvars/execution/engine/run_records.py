"""What a session tells of itself and of its runs: run metadata, placement, devices."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from daskvars.execution.config_proto import DeviceStepStats, RunMetadata, RunOptions
from daskvars.execution.engine.engine import Engine
from daskvars.execution.engine.executables import Executable
from daskvars.execution.local.devices import CPU
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.lowering.place import device_of
from daskvars.lowering.plan import Plan
from daskvars.lowering.prune import prune


class DeviceAttributes(NamedTuple):
    """A device that operations can run on.

    Attributes:
      name: such as "/job:localhost/replica:0/task:0/device:CPU:0".
      device_type: "CPU" or "GPU".
      memory_limit_bytes: how much memory it may use.
    """

    name: str
    device_type: str
    memory_limit_bytes: int


def recorded_run(
    executable: Executable, values: Sequence[Any], options: Any, metadata: RunMetadata
) -> list[Any]:
    """Run a program and write into `metadata` what `options` ask for."""
    wall, start = time.time(), time.perf_counter()
    results = executable(values)
    duration_s = time.perf_counter() - start
    plan = executable.last_plan
    metadata.Clear()
    metadata.num_tasks = plan.num_tasks
    metadata.transfer_bytes = plan.transfer_bytes
    metadata.duration_s = duration_s
    options = options or RunOptions()
    if options.trace_level > RunOptions.NO_TRACE:
        _record_steps(plan, metadata, int(wall * 1e6), int(duration_s * 1e6))
    if options.output_partition_graphs:
        metadata.partition_graphs.append(plan.explain())
    return results


def _record_steps(plan: Plan, metadata: RunMetadata, start: int, duration: int) -> None:
    devices: dict[str, DeviceStepStats] = {}
    for region in plan.regions:
        device = device_of(region.place) or CPU
        if device not in devices:
            devices[device] = metadata.step_stats.dev_stats.add(device=device)
        names = dict.fromkeys(op.name for op in region.ops)
        devices[device].node_stats.add(
            node_name=region.label,
            timeline_label=", ".join(names),
            all_start_micros=start,
            all_end_rel_micros=duration if len(plan.regions) == 1 else 0,
        )
    if not devices:
        metadata.step_stats.dev_stats.add(device=CPU)


def log_placement(
    engine: Engine, fetches: Iterable[Any], targets: Iterable[Any], fed: Iterable[Any]
) -> None:
    """Print the device of each operation that a run needs, as `log_device_placement` asks.

    On a cluster the workers that offer it follow.
    """
    placement = engine.executor.placement
    for op in prune(list(fetches), list(targets), fed):
        device = op.device or CPU
        if placement is not None:
            device = placement.described(op.device)
        print(f"{op.name}: ({op.type}): {device}", file=sys.stderr)


def devices_of(engine: Engine) -> list[DeviceAttributes]:
    """Return the devices of this process, or of the workers of the active cluster."""
    executor = engine.executor
    if executor.placement is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return [DeviceAttributes(CPU, "CPU", memory)]
    found = []
    for info in executor.placement.worker_infos:
        place = DeviceSpec(job=info.job, replica=0, task=info.task)
        found += [
            DeviceAttributes(
                f"{place.to_string()}/device:{kind}:{index}", kind, info.memory_limit_bytes
            )
            for kind, count in (("CPU", 1), ("GPU", info.num_gpus))
            for index in range(count)
        ]
    return found
