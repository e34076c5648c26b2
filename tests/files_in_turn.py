"""Hands out files of tests to processes, as ``--dist loadfile`` does, and looks at none twice.

What xdist has for it goes through all that a process was ever given with each of the six messages
about a test, and searches the list of all tests for each that it hands out: of 29,000 tests that is
nine seconds of a core, while the processes that run them wait for it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from xdist.scheduler import LoadFileScheduling


class FilesInTurn(LoadFileScheduling):
    """Keeps of what a process was given only the tests that it has not finished."""

    @cached_property
    def _places(self) -> dict[str, int]:
        return {nodeid: place for place, nodeid in enumerate(self.collection)}

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        nodeid = self.registered_collections[node][item_index]
        files, file = self.assigned_work[node], self._split_scope(nodeid)
        del files[file][nodeid]
        if not files[file]:
            del files[file]
        self._reschedule(node)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        return sum(map(len, workload.values()))

    def _assign_work_unit(self, node: Any) -> None:
        file, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][file] = tests
        node.send_runtest_some([self._places[nodeid] for nodeid in tests])
