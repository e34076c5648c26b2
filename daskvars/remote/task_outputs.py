"""What a task gives: outputs under one key, which stay where they were made.

A stage's outputs are of use to other workers slice by slice, so they do not travel: whoever asks
for the key from elsewhere gets an `OutputsReference`, which says where they are, and takes of them
what it needs (`daskvars.remote.exchange`). Only Dask itself moves them as they are: to disk, and to
another worker where one is retired.

To Dask they weigh what they hold. It measures each result once, when a worker has it; its memory
pages, spilling, limits and choice of workers go by that. Of a tuple of more than ten it measures
ten that it draws, so a variable beside many small results weighs anything; and it measures memory
as often as it is met.

What each of a known number of tasks takes once, such as the gradient of a part, goes when all have
it (`CountedOutput`): the key that it is under is released only when the last task of the run that
takes anything of it is done, and gradients are as large as all weights.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof

from daskvars.device_array import DeviceArray, on_host
from daskvars.versioned import Versioned

MAX_SHOWN_BYTES = 1_024  # of an output that a reference shows, if its task is told to
MAX_NUMBERS = 64  # single numbers that a reference shows whatever its task was told
COUNTED_BYTES = 64 << 10  # of an output that is let go before its key is


class Outputs(tuple):
    """Outputs of one task, under one key, that travel as they are: only the client wants them.

    >>> array = np.zeros(1000)
    >>> sizeof(TaskOutputs([array, array[:500], 1.0])) // 1000
    8
    """

    __slots__ = ()


class TaskOutputs(Outputs):
    """Outputs that stay where they are.

    Attributes:
      shown: positions of small outputs that are looked at elsewhere, the loss of a step, say: a
        reference has them.
    """

    shown: frozenset[int] = frozenset()

    def showing(self, positions: Iterable[int]) -> TaskOutputs:
        """Return these outputs, of which a reference has those."""
        self.shown = frozenset(positions)
        return self

    def referred_to(self, key: Any, address: str, shown: bool = True) -> OutputsReference:
        """Return what stands for them elsewhere.

        Args:
          shown: whether it has the outputs that are looked at; single numbers it has anyway.
        """
        return OutputsReference(key, address, self._along(shown))

    def _along(self, is_shown: bool) -> dict[int, Any]:
        positions = self.shown if is_shown else ()
        shown = {position: on_host(self[position]) for position in positions}
        for position, value in enumerate(self):
            if len(shown) >= len(positions) + MAX_NUMBERS:
                break
            if isinstance(value, np.generic | bool | int | float):
                shown[position] = value
        return shown


class Gone(enum.Enum):
    """In place of an output that all have taken who were to take it."""

    GONE = "gone"


class CountedOutput:
    """An output that is let go when it was taken so often.

    >>> output = CountedOutput(np.ones(2), 1)
    >>> output.note_taken()
    >>> output.value
    <Gone.GONE: 'gone'>
    """

    __slots__ = ("_lock", "_times", "value")

    def __init__(self, value: Any, times: int) -> None:
        self.value, self._times = value, times
        self._lock = threading.Lock()

    def note_taken(self) -> None:
        """Take note that one of those who take it has it."""
        with self._lock:
            self._times -= 1
            if not self._times:
                self.value = GONE

    def __reduce__(self) -> Any:
        with self._lock:
            return CountedOutput, (self.value, self._times)


GONE = Gone.GONE


@sizeof.register(CountedOutput)
def counted_bytes(output: CountedOutput) -> int:
    """Return the bytes of an output; none once it is let go."""
    return sizeof(output.value)


def counted(value: Any, times: int) -> Any:
    """Return an output that is let go when it was taken so often; 0 is never, small ones stay."""
    is_large = isinstance(value, np.ndarray | DeviceArray) and value.nbytes >= COUNTED_BYTES
    return CountedOutput(value, times) if times and is_large else value


class RemoteOutput(NamedTuple):
    """An output that is elsewhere.

    Attributes:
      key: of the task that made it.
      address: of the worker that has it, or had.
    """

    key: Any
    address: str
    position: int


class OutputsReference:
    """Stands for the outputs of a task on another worker.

    Attributes:
      shown: position -> value, of those that came along.

    >>> found = TaskOutputs([np.ones(3), 0.5]).showing([1]).referred_to("step-7", "tcp://a:1")
    >>> found[0], found[1]
    (RemoteOutput(key='step-7', address='tcp://a:1', position=0), 0.5)
    """

    __slots__ = ("address", "key", "shown")

    def __init__(self, key: Any, address: str, shown: Mapping[int, Any]) -> None:
        self.key, self.address, self.shown = key, address, shown

    def __getitem__(self, position: int) -> Any:
        if position in self.shown:
            return self.shown[position]
        return RemoteOutput(self.key, self.address, position)

    def __reduce__(self) -> Any:
        return OutputsReference, (self.key, self.address, self.shown)


def memory_of(value: Any) -> tuple[Any, int, int]:
    """Return whose memory a value is in, how large that is, and how much of it the value takes."""
    if isinstance(value, CountedOutput):
        return memory_of(value.value)
    if isinstance(value, Versioned):
        return value.memory, value.nbytes, value.__sizeof__()
    if isinstance(value, np.ndarray) and value.dtype != object:
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        return root, root.nbytes, sizeof(value)
    size = sizeof(value)
    return value, size, size


@sizeof.register(Outputs)
def outputs_bytes(outputs: Outputs) -> int:
    """Return the bytes of all outputs; what several of them are views of counts once."""
    roots: dict[int, int] = {}
    taken: dict[int, int] = {}
    for root, nbytes, part in map(memory_of, outputs):
        roots[id(root)] = nbytes
        taken[id(root)] = taken.get(id(root), 0) + part
    found = sum(min(nbytes, taken[root]) for root, nbytes in roots.items())
    return tuple.__sizeof__(outputs) + found
