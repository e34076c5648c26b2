"""How often variable scopes of each name were opened, to make default names unique."""

from __future__ import annotations


class ScopeCounts:
    """Counts by full scope name, which leaving a scope forgets for everything below it.

    Where a scope is entered by jumping to it, what was counted inside is undone on leaving. That
    takes time in proportion to what happened inside, not to the number of scopes there are.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._below: dict[str, set[str]] = {}
        self._journals: list[list[tuple[str, int]]] = []
        self._next: dict[str, int] = {}  # numbers below these are in use

    def unique(self, prefix: str, parent: str) -> str:
        """Return `prefix`, with ``_1``, ``_2`` ... when it was opened under `parent` before."""
        full = f"{parent}/{prefix}" if parent else prefix
        if not self._counts.get(full):
            return prefix
        number = self._next.get(full, 1)
        while self._counts.get(f"{full}_{number}"):
            number += 1
        self._next[full] = number
        return f"{prefix}_{number}"

    def opened(self, name: str) -> None:
        """Count the opening of the scope `name`."""
        self._set(name, self._counts.get(name, 0) + 1)

    def closed(self, name: str) -> None:
        """Forget the scopes below `name`."""
        for below in self._below.pop(name, ()):
            if below in self._counts:
                self._set(below, 0)

    def begin_jump(self) -> None:
        """Remember the counts as they are."""
        self._journals.append([])

    def end_jump(self) -> None:
        """Bring back the counts of the last `begin_jump`."""
        for name, count in reversed(self._journals.pop()):
            self._put(name, count)

    def _set(self, name: str, count: int) -> None:
        if self._journals:
            self._journals[-1].append((name, self._counts.get(name, 0)))
        self._put(name, count)

    def _put(self, name: str, count: int) -> None:
        if not count:
            self._counts.pop(name, None)
            self._next.pop(name.rpartition("_")[0], None)
            return
        self._counts[name] = count
        parent = name.rpartition("/")[0]
        while parent:
            self._below.setdefault(parent, set()).add(name)
            parent = parent.rpartition("/")[0]
