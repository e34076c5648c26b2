"""Which memory a kernel call may write over: a static analysis of what shares memory with what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from daskvars.remote.regions.program import Call


class SlotMemory:
    """Which slots of a region own memory that nothing else looks at."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.root: dict[int, int] = {}
        self.owned: dict[int, tuple[Any, Any]] = {}  # slot -> shape, dtype; freshly made here
        self.sharing: dict[int, list[int]] = {}
        for call in calls:
            view = call.views and call.args
            for slot, shape, dtype in zip(call.outs, call.shapes, call.dtypes, strict=False):
                root = self.root.get(call.args[0], call.args[0]) if view else slot
                self.root[slot] = root
                self.sharing.setdefault(root, [root]).append(slot)
                fresh = (call.elementwise or call.fresh) and len(call.outs) == 1
                if fresh and not view and shape != ():
                    self.owned[slot] = (shape, dtype)

    def reusable(
        self, call: Call, slots: Iterable[int], start: int, end: int, last_use: dict[int, int]
    ) -> int | None:
        """Return one of `slots` that `call` may write over, if any.

        Calls ``start ... end - 1`` read the slot last, and what shares its memory was read before.
        Where shapes are not known, the run sees whether they are the same.
        """
        shape, dtype = call.shapes[0], call.dtypes[0]
        if shape == ():
            return None
        for slot in slots:
            others = (other for other in self.sharing.get(slot, ()) if other != slot)
            if (
                self.owned.get(slot) == (shape, dtype)
                and last_use.get(slot, -1) < end
                and all(last_use.get(other, -1) < start for other in others)
            ):
                return slot
        return None
