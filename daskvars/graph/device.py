"""Device specifications, "/job:ps/task:7/device:GPU:1": read, merged, printed as TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A possibly partial description of where an op runs.

    Args:
      job: the job of the cluster, "ps".
      replica: the replica's number.
      task: the task's number within the job.
      device_type: "CPU" or "GPU".
      device_index: the number of the device within the task.

    >>> DeviceSpec.from_string("/job:ps/gpu:1").to_string()
    '/job:ps/device:GPU:1'
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @staticmethod
    @lru_cache(maxsize=4096)
    def from_string(text: str) -> DeviceSpec:
        """Parse `text`. Raises ValueError on an unknown part."""
        found: dict[str, Any] = {}
        for part in filter(None, (text or "").split("/")):
            key, _, value = part.partition(":")
            lowered = key.lower()
            if key == "job" and value:
                found["job"] = value
            elif key in ("replica", "task") and value.isdigit():
                found[key] = int(value)
            elif lowered in ("cpu", "gpu") and (value.isdigit() or value == "*"):
                found.update(_device(key, value))
            elif key == "device" and value:
                kind, _, number = value.partition(":")
                found.update(_device(kind, number or "*"))
            else:
                raise ValueError(f"Unknown attribute {part!r} is encountered in device {text!r}")
        return DeviceSpec(**found)

    def to_string(self) -> str:
        """Return the canonical string."""
        parts = []
        if self.job is not None:
            parts.append(f"/job:{self.job}")
        if self.replica is not None:
            parts.append(f"/replica:{self.replica}")
        if self.task is not None:
            parts.append(f"/task:{self.task}")
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type}:{index}")
        return "".join(parts)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return a spec with the fields of `dev`, and this one's where `dev` has none."""
        return replace(
            self, **{k: v for k in self.__slots__ if (v := getattr(dev, k)) is not None}
        )

    merge_from = make_merged_spec

    def __str__(self) -> str:
        return self.to_string()


def _device(kind: str, number: str) -> dict[str, Any]:
    index = None if number == "*" else int(number)
    return {"device_type": kind.upper(), "device_index": index}


@lru_cache(maxsize=16384)
def merged(outer: str, inner: str) -> str:
    """Return `outer` with the fields of `inner` laid over it, as strings."""
    return (
        DeviceSpec.from_string(outer).make_merged_spec(DeviceSpec.from_string(inner)).to_string()
    )


def merge_device(spec: Any) -> Callable[[Any], Any]:
    """Return a device function that fills in `spec` where an op's own device is silent."""
    text = spec if isinstance(spec, str) else spec.to_string()
    DeviceSpec.from_string(text)
    return lambda node: merged(text, getattr(node, "device", node) or "")
