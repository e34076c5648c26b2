"""What a task gives, weighed so that Dask sees its bytes.

Dask measures each result once, when a worker has it; its memory pages, spilling, limits and choice
of workers go by that. Of a tuple of more than ten it measures ten that it draws, so a variable
beside many small results weighs anything; and it measures memory as often as it is met.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.sizeof import sizeof

from daskvars.versioned import Versioned


class TaskOutputs(tuple):
    """The outputs of one task, under one key.

    >>> array = np.zeros(1000)
    >>> sizeof(TaskOutputs([array, array[:500], 1.0])) // 1000
    8
    """

    __slots__ = ()


def memory_of(value: Any) -> tuple[Any, int, int]:
    """Return whose memory a value is in, how large that is, and how much of it the value takes."""
    if isinstance(value, Versioned):
        return value.memory, value.nbytes, value.__sizeof__()
    if isinstance(value, np.ndarray) and value.dtype != object:
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        return root, root.nbytes, sizeof(value)
    size = sizeof(value)
    return value, size, size


@sizeof.register(TaskOutputs)
def outputs_bytes(outputs: TaskOutputs) -> int:
    """Return the bytes of all outputs; what several of them are views of counts once."""
    roots: dict[int, int] = {}
    taken: dict[int, int] = {}
    for root, nbytes, part in map(memory_of, outputs):
        roots[id(root)] = nbytes
        taken[id(root)] = taken.get(id(root), 0) + part
    found = sum(min(nbytes, taken[root]) for root, nbytes in roots.items())
    return tuple.__sizeof__(outputs) + found
