"""Which memory a kernel call may write over: a static analysis of what shares memory with what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from daskvars.remote.regions.region_program import Call


class AliasAnalysis:
    """Which registers of a region own memory that nothing else looks at."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.root: dict[int, int] = {}
        self.owned: dict[int, tuple[Any, Any]] = {}  # register -> shape, dtype; freshly made here
        self.sharing: dict[int, list[int]] = {}
        for call in calls:
            view = call.views and call.args
            for register, shape, dtype in zip(call.outs, call.shapes, call.dtypes, strict=False):
                root = self.root.get(call.args[0], call.args[0]) if view else register
                self.root[register] = root
                self.sharing.setdefault(root, [root]).append(register)
                fresh = (call.elementwise or call.fresh) and len(call.outs) == 1
                if fresh and not view and shape != ():
                    self.owned[register] = (shape, dtype)

    def reusable(
        self, call: Call, registers: Iterable[int], start: int, end: int, last_use: dict[int, int]
    ) -> int | None:
        """Return one of `registers` that `call` may write over, if any.

        Calls ``start ... end - 1`` read the register last, and what shares its memory was read
        before. Where shapes are not known, the run sees whether they are the same.
        """
        shape, dtype = call.shapes[0], call.dtypes[0]
        if shape == ():
            return None
        for register in registers:
            others = (other for other in self.sharing.get(register, ()) if other != register)
            if (
                self.owned.get(register) == (shape, dtype)
                and last_use.get(register, -1) < end
                and all(last_use.get(other, -1) < start for other in others)
            ):
                return register
        return None
