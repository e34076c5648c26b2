"""Device specifications, "/job:ps/task:7/device:GPU:1": read, merged, printed as TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias


def _device_type(value: Any) -> str:
    """Return a type of device; those in every machine are also known in lower case."""
    return value.upper() if value in ("cpu", "gpu") else str(value)


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "job": str,
    "replica": int,
    "task": int,
    "device_type": _device_type,
    "device_index": int,
}


class DeviceSpec:
    """A possibly partial description of where an op runs.

    Args:
      job: the job of the cluster, "ps".
      replica: the replica's number.
      task: the task's number within the job.
      device_type: "CPU" or "GPU".
      device_index: the number of the device within the task; None is any.

    All five are attributes that may be set. Source: TensorFlow 1.15, ``tf.DeviceSpec``.

    >>> DeviceSpec.from_string("/job:ps/gpu:1").to_string()
    '/job:ps/device:GPU:1'
    """

    __slots__ = tuple(_FIELDS)
    job: str | None
    replica: int | None
    task: int | None
    device_type: str | None
    device_index: int | None

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: Any = None,
        device_index: Any = None,
    ) -> None:
        self._set(job, replica, task, device_type, device_index)

    def _set(self, *values: Any) -> None:
        for name, value in zip(_FIELDS, values, strict=True):
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        known = _FIELDS.get(name, str)  # of any other name, Python itself says that it is none
        object.__setattr__(self, name, None if value is None else known(value))

    @classmethod
    def from_string(cls, spec: str | None) -> DeviceSpec:
        """Return what the text says, "/job:<name>/replica:<n>/task:<n>/device:<type>:<n>".

        Raises:
          ValueError: a part is unknown or has no number, or there are two devices.
        """
        return cls(*_parsed(spec or ""))

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Set all fields to what the text says, and return this spec. See `from_string`."""
        self._set(*_parsed(spec or ""))
        return self

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

    def merge_from(self, dev: DeviceSpec) -> None:
        """Set the fields that `dev` has to its values."""
        for name in _FIELDS:
            value = getattr(dev, name)
            if value is not None:
                setattr(self, name, value)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return a new spec with the fields of `dev`, and this one's where `dev` has none.

        >>> DeviceSpec(job="ps", device_type="CPU").make_merged_spec(DeviceSpec(task=1)).to_string()
        '/job:ps/task:1/device:CPU:*'
        """
        merged = self.replace()
        merged.merge_from(dev)
        return merged

    def replace(self, **fields: Any) -> DeviceSpec:
        """Return a new spec with other values for the fields named; None clears one."""
        return type(self)(**{name: getattr(self, name) for name in _FIELDS} | fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        fields = {name: getattr(self, name) for name in _FIELDS}
        return f"DeviceSpec({', '.join(f'{k}={v!r}' for k, v in fields.items() if v is not None)})"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Any, ...]:
    """Return the five fields of a device string."""
    found: dict[str, Any] = {}
    for part in filter(None, text.split("/")):
        key, *values = part.split(":")
        if key in ("job", "replica", "task") and len(values) == 1:
            found[key] = values[0] if key == "job" else int(values[0])
            continue
        if key.upper() in ("CPU", "GPU") and len(values) <= 1:
            kind, number = key.upper(), values[0] if values else "*"
        elif key == "device" and len(values) == 2:
            kind, number = values
        else:
            raise ValueError(
                f"Unknown attribute: {key!r} in {text!r}. A device is written "
                "'/job:<name>/replica:<n>/task:<n>/device:<type>:<n>', each part optional."
            )
        if "device_type" in found:
            raise ValueError(f"Cannot specify multiple device types: {text}")
        found["device_type"] = kind
        found["device_index"] = None if number == "*" else int(number)
    return tuple(map(found.get, _FIELDS))


@lru_cache(maxsize=16384)
def canonical(text: str) -> str:
    """Return a device string in its canonical form. Raises ValueError for what is none."""
    return DeviceSpec.from_string(text).to_string()


@lru_cache(maxsize=16384)
def merged(outer: str, inner: str) -> str:
    """Return `outer` with the fields of `inner` laid over it, as strings."""
    return DeviceSpec.from_string(outer).make_merged_spec(DeviceSpec.from_string(inner)).to_string()


def merge_device(spec: Any) -> Callable[[Any], Any]:
    """Return a device function that fills in `spec` where an op's own device is silent.

    Args:
      spec: a device string or `DeviceSpec`.

    Raises:
      TypeError: it is something else.
      ValueError: the string is none of a device.
    """
    if not isinstance(spec, str | DeviceSpec):
        raise TypeError(
            "a device is a string as '/gpu:0' or '/job:ps/task:1', a DeviceSpec, a function of the "
            f"operation, or None; found {spec!r}"
        )
    text = spec if isinstance(spec, str) else spec.to_string()
    canonical(text)
    return lambda node: merged(text, getattr(node, "device", node) or "")


# What `device` takes, but functions of the operation that is placed.
DeviceLike: TypeAlias = str | DeviceSpec | None
