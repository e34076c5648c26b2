"""Where operations are to run: the part of a graph that keeps its stacks of devices.

One list serves both stacks. Its functions are asked in turn, innermost first, for the device of a
new operation; `colocate_with` puts one at its bottom, which so has the last word, as TensorFlow's
colocation has. An operation made outside of all blocks costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from daskvars.graph.definitions.patterns import Effect
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.scopes.device import DeviceLike, merge_device
from daskvars.graph.tensor import Operation

DeviceFunction: TypeAlias = Callable[[Operation], DeviceLike]


class Placement:
    """The part of a graph that keeps the container, and each thread's devices and colocations."""

    _thread: Any

    def __init__(self) -> None:
        super().__init__()
        self.container_name = ""

    @property
    def places_ops(self) -> bool:
        """Whether ops made now are put on a device."""
        return bool(self._thread.devices)

    @contextmanager
    def device(self, device_name_or_function: DeviceLike | DeviceFunction) -> Iterator[None]:
        """Place ops made in the block: a string, a DeviceSpec, a function of the op, or None.

        Inner specifications override outer ones field by field; None forgets the outer ones.
        """
        thread = self._thread
        saved = thread.devices
        if device_name_or_function is None:
            thread.devices = saved[: bool(thread.colocated)]
        else:
            spec = device_name_or_function
            function = spec if callable(spec) else merge_device(spec)
            thread.devices = (*saved, (function, spec))
        try:
            yield
        finally:
            thread.devices = saved

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Place ops made in the block where `op` is, and in its colocation group.

        Devices asked for outside are forgotten; of those asked for inside, what `op` says wins.

        Args:
          op: an Operation, Tensor or Variable, or None to end colocations.
          ignore_existing: forget enclosing colocations too.

        Raises:
          ValueError: `op` is None and `ignore_existing` is not set.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        thread = self._thread
        saved = thread.devices, thread.colocated
        outer = () if ignore_existing else thread.colocated
        colocated = outer if op is None else (*outer, getattr(op, "op", op))
        devices = ((_at(colocated), None),) if colocated else ()
        thread.devices, thread.colocated = devices, colocated
        try:
            yield
        finally:
            thread.devices, thread.colocated = saved

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Make variables, queues and tables of the block in the container of that name.

        The name is kept as an attribute of them; variables' values live with the session's store.
        """
        saved = self.container_name
        self.container_name = container_name
        try:
            yield container_name
        finally:
            self.container_name = saved

    def _place(self, op: Operation) -> None:
        if isinstance(op.opdef.pattern, Effect):
            op.device = op.inputs[0].op.device  # an op on a variable runs where the variable lives
            return
        for function, _ in reversed(self._thread.devices):
            device = function(op)
            if device is None:
                raise TypeError(
                    f"the device function {function!r} returned None for operation {op.name!r}; "
                    "return a device string or DeviceSpec, op.device to leave it as it is"
                )
            op.device = scopes.device_string(device)


def _at(ops: tuple[Operation, ...]) -> Callable[[Operation], str]:
    """Return a device function that puts an operation where `ops` are, the last one first."""
    groups = [group.decode() for op in ops for group in op.colocation_groups()]
    device = next((op.device for op in reversed(ops) if op.device), "")

    def place(op: Operation) -> str:
        op.attrs["_class"] = tuple(dict.fromkeys(groups))
        return device or op.device

    return place
