"""Values of a stage that are put together from slices of several blocks, as these come.

A weight that is cut comes from all of its owners. Its slices are copied to their place while others
are on their way, so that little is left to do when the last one is there; blocks that take the same
value share it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy

from daskvars.device_array import DeviceArray, as_input
from daskvars.kernels.control.tensor_lists import joined
from daskvars.remote.tasks.block_arguments import Cut, source_in
from daskvars.versioned import Versioned


class Join(NamedTuple):
    """A slot that is put together from others.

    Attributes:
      region: one of those that take it, which says where its memory is.
      cut: from which slots, and which slices of them; several.
    """

    slot: int
    region: int
    cut: Cut

    @property
    def parts(self) -> tuple[int, ...]:
        """The slots that it is made from."""
        return tuple(dict.fromkeys(take.dependency for take, _, _ in self.cut.parts))


class Joining:
    """One value while it is put together.

    Args:
      xp: the array module of its memory.
      pulled: the slots that hold the slices alone; of the others these are taken.
    """

    def __init__(self, xp: Any, cut: Cut, pulled: Collection[int]) -> None:
        self.xp, self.cut, self.pulled = xp, cut, pulled
        self._value: Any = None
        self._left = dict.fromkeys(range(len(cut.parts)))

    def copy(self, slots: Sequence[Any]) -> list[int]:
        """Copy the arrays that are there to their place; return the slots they were in."""
        copied = []
        for number in list(self._left):
            take, source, target = self.cut.parts[number]
            value = slots[take.dependency]
            if not isinstance(value, numpy.ndarray | Versioned | DeviceArray):
                continue  # not there yet, or no array
            with ExitStack() as lent:
                array = self._array(value, lent)
                if self._value is None:
                    self._value = self.xp.empty(self.cut.shape, array.dtype)
                is_pulled = take.dependency in self.pulled
                self._value[target] = array[source_in(value, is_pulled, source)]
            del self._left[number]
            copied.append(take.dependency)
        return copied

    def finished(self, slots: Sequence[Any]) -> Any:
        """Return the value; everything that it is made of is there."""
        self.copy(slots)
        if not self._left:
            return self._value
        # Lists of arrays, say.
        parts = [
            (slots[take.dependency], source, target) for take, source, target in self.cut.parts
        ]
        return joined(self.xp, self.cut.shape, parts)

    def _array(self, value: Any, lent: ExitStack) -> Any:
        if isinstance(value, Versioned):
            value = lent.enter_context(value.lend())
        return as_input(self.xp, value)
