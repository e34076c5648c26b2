"""Which memory a kernel call may write over: a static analysis of what shares memory with what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from daskvars.remote.regions.region_program import Call, memory_roots


class AliasAnalysis:
    """Which registers of a region own memory that nothing else looks at."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.root = memory_roots(calls)
        self.owned: dict[int, tuple[Any, Any]] = {}  # register -> shape, dtype; freshly made here
        self.sharing: dict[int, list[int]] = {}
        for register, root in self.root.items():
            self.sharing.setdefault(root, []).append(register)
        for call in calls:
            is_own = (call.elementwise or call.fresh) and not call.args[: call.views]
            if is_own and len(call.outs) == 1:
                known = zip(call.outs, call.shapes, call.dtypes, strict=False)
                self.owned.update((r, (shape, dtype)) for r, shape, dtype in known if shape != ())

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
            sharing = self.sharing.get(self.root.get(register, register), ())
            others = (other for other in sharing if other != register)
            if (
                self.owned.get(register) == (shape, dtype)
                and last_use.get(register, -1) < end
                and all(last_use.get(other, -1) < start for other in others)
            ):
                return register
        return None
