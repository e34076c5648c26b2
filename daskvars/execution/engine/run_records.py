"""What a session tells of itself and of its runs: run metadata, placement, devices."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from daskvars.execution.config_proto import DeviceStepStats, RunMetadata, RunOptions
from daskvars.execution.engine import events
from daskvars.execution.engine.engine import Engine
from daskvars.execution.engine.plans.executables import Executable
from daskvars.execution.local.devices import CPU
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.lowering.explain import explain
from daskvars.lowering.rewrites.prune import prune
from daskvars.remote import tracing


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
    executable: Executable,
    values: Sequence[Any],
    options: Any,
    metadata: RunMetadata,
    as_dask: bool = False,
) -> list[Any]:
    """Run a program and write into `metadata` what `options` ask for."""
    options = options or RunOptions()
    is_traced = options.trace_level > RunOptions.NO_TRACE
    heard: list[Any] = []
    start = time.perf_counter()
    if is_traced:
        with events.subscribed(heard.append, tracing.KERNELS):
            results = executable(values, as_dask=as_dask)
    else:
        results = executable(values, as_dask=as_dask)
    duration_s = time.perf_counter() - start
    bound = executable.last_bound
    metadata.Clear()
    if bound is not None:
        metadata.num_tasks = sum(bound.tasks_by_scope.values())
        metadata.transfer_bytes = bound.transfer_bytes
    metadata.duration_s = duration_s
    if is_traced:
        _record_steps(executable.engine, heard, metadata)
    if options.output_partition_graphs and bound is not None:
        metadata.partition_graphs.append(explain(bound.plan))
    return results


def _record_steps(engine: Engine, heard: Sequence[Any], metadata: RunMetadata) -> None:
    """Write what was heard of a run's work: a node for each stage, kernel and exchange."""
    placement = engine.acquire().placement
    infos = () if placement is None else placement.worker_infos
    names = {str(info.name): info.device for info in infos if info.task is not None}
    devices: dict[str, DeviceStepStats] = {}
    threads: dict[tuple[str, str], int] = {}
    for event in heard:
        if not isinstance(event, events.Worked):
            continue
        device = names.get(event.place, event.place) or CPU
        if device not in devices:
            devices[device] = metadata.step_stats.dev_stats.add(device=device)
        for kind, name, start_s, duration_s, thread, facts in tracing.slices_of(event.slices):
            if kind == "block":  # its kernels are there
                continue
            micros = int(duration_s * 1e6)
            devices[device].node_stats.add(
                node_name=name,
                timeline_label=f"{name} = {facts.get('kernel', kind)}",
                all_start_micros=int(start_s * 1e6),
                op_end_rel_micros=micros,
                all_end_rel_micros=micros,
                thread_id=threads.setdefault((device, thread), len(threads)),
            )
    if not devices:
        metadata.step_stats.dev_stats.add(device=CPU)


def log_placement(
    engine: Engine, fetches: Iterable[Any], targets: Iterable[Any], fed: Iterable[Any]
) -> None:
    """Print the device of each operation that a run needs, as `log_device_placement` asks.

    On a cluster the workers that offer it follow.
    """
    placement = engine.acquire().placement
    for op in prune(list(fetches), list(targets), fed):
        device = op.device or CPU
        if placement is not None:
            device = placement.described(op.device)
        print(f"{op.name}: ({op.type}): {device}", file=sys.stderr)


def devices_of(engine: Engine) -> list[DeviceAttributes]:
    """Return the devices of this process, or of the workers of the active cluster."""
    executor = engine.acquire()
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
