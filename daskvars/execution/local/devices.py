"""The devices of this process, where there is no cluster.

A session here stands for every job and task, so these parts of a device are not looked at. What is
looked at is its type: an operation pinned to a GPU does not run on a CPU unless that is allowed. If
there is a GPU, and CuPy, it runs there, and a variable pinned to it lives there. What asks for no
device runs on the CPU, where TensorFlow would take the GPU, and a line in the log says so: small
steps are faster there, and which are large only who wrote them knows.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from daskvars import backend
from daskvars.device_array import on_device
from daskvars.errors import PlacementError
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.graph.tensor import Operation

logger = logging.getLogger("daskvars")

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


class LocalPlaces:
    """Gives lowering the two places of a process that has a GPU."""

    why_anywhere = ""
    most_task_bytes = spare_bytes = most_awaited_bytes = math.inf

    def of_device(self, device: str, name: str) -> tuple[str, str]:
        """Return the place of an operation on a device, and the reason in words."""
        kind = DeviceSpec.from_string(device).device_type
        return (f"/device:{kind}:0", "pinned by tf.device") if kind else ("", "")

    def of_variable(self, key: str, device: str, spec: Any, layout: Any) -> str:
        """Return the place of a variable."""
        return self.of_device(device, key)[0]


def local_places() -> LocalPlaces | None:
    """Return the places of this process, None if there is only one."""
    return LocalPlaces() if backend.GPU_AVAILABLE else None


def on_devices(values: dict[str, Any], devices: Mapping[str, str]) -> dict[str, Any]:
    """Return blocks of variables, by key, on the devices that the variables ask for."""
    if not backend.GPU_AVAILABLE:
        return values
    types = {key: DeviceSpec.from_string(device).device_type for key, device in devices.items()}
    return {
        key: {index: on_device(block) for index, block in blocks.items()}
        if types.get(key) == "GPU"
        else blocks
        for key, blocks in values.items()
    }


def check_devices(operations: Iterable[Operation], is_soft: bool) -> None:
    """Refuse operations that are pinned to a type of device that is not here.

    Args:
      operations: what a plan is made of.
      is_soft: whether they may run on the CPU instead, with a line in the log for each device.

    Raises:
      PlacementError: one is, and may not.
    """
    operations = list(operations)
    found = [op for op in operations if op.device and not _is_here(op.device)]
    if backend.GPU_AVAILABLE and not any(op.device for op in operations):
        _note_idle_gpu()
    if not found:
        return
    if not is_soft:
        raise _refusal(found)
    for device, count in Counter(op.device for op in found).items():
        logger.warning(
            "soft placement: %s asks for %s%s, which is not in this process; it runs on %s",
            next(op.name for op in found if op.device == device),
            device,
            f", as do {count - 1} others" if count > 1 else "",
            CPU,
        )


@cache
def _note_idle_gpu() -> None:
    """Say, once in this process, that nothing asks for the GPU that it has."""
    logger.warning(
        "this process has a GPU, but no operation of this run asks for a device: all of it runs on "
        'the CPU. Put what is large on the GPU by `with tf.device("/gpu:0"):`, or say "/cpu:0"'
    )


def _is_here(device: str) -> bool:
    kind = DeviceSpec.from_string(device).device_type
    return kind in (None, "CPU") or (kind == "GPU" and backend.GPU_AVAILABLE)


def _refusal(operations: list[Operation]) -> PlacementError:
    op = operations[0]
    scope = op.name.rpartition("/")[0]
    here = ", ".join([CPU, GPU] if backend.GPU_AVAILABLE else [CPU])
    others = f", as were {len(operations) - 1} others" if len(operations) > 1 else ""
    return PlacementError(
        op.node_def,
        op,
        f"Cannot assign a device for operation {op.name!r} (scope {scope!r}): it "
        f"was explicitly assigned to {op.device}{others}, but available devices are [ {here} ]. "
        "Make sure the device specification refers to a valid device. To go on without it, set "
        "ConfigProto(allow_soft_placement=True) or config.soft_placement; to have it, connect a "
        "Dask client to a cluster with GPU workers before the session's first run.",
    )
