"""What a stage asks others for before it is needed."""

from __future__ import annotations

import types

import numpy as np

from daskvars.remote.task_outputs import RemoteOutput
from daskvars.remote.tasks import stage_tasks
from daskvars.remote.tasks.block_arguments import Take
from daskvars.remote.tasks.stage_tasks import BlockCall, Source, StageProgram, StageRun, WorkerStage


def test_what_the_first_block_waits_for_comes_alone(monkeypatch):
    monkeypatch.setattr(stage_tasks, "GROUP_BYTES", 1)
    monkeypatch.setattr(stage_tasks, "ALONG_BYTES", 0)
    monkeypatch.setattr(stage_tasks, "has_room", lambda nbytes: True)
    asked = []

    def region(steps, values, pulled, made_by):
        return [np.zeros(1)]

    region.xp = np

    def begin(groups, arrived):
        asked.append([group[0].output.position for group in groups])
        for group in groups:
            arrived(group, [np.zeros(1)], None)

    taken = [(0, 1), (2,), (3,)]
    calls = [BlockCall(0, (), tuple(Take(s, None) for s in slots), ()) for slots in taken]
    sources = tuple(Source(slot, slot, (), None, 1) for slot in range(5))
    stage = WorkerStage(StageProgram(5, sources, (), tuple(calls), (4,), (0,), (), True), [region])
    region.label = "layer"
    worker = types.SimpleNamespace(num_threads=1, tracer=None, begin=begin)
    StageRun(stage, [RemoteOutput("k", "a", n) for n in range(5)], "task", worker).outputs()
    assert asked == [[0, 1], [2, 3, 4]], "the rest while the first block is computed"


def test_what_is_kept_for_later_does_not_count_as_waiting(monkeypatch):
    """A weight that the gradient takes as well; that of the next layer is asked for meanwhile."""
    monkeypatch.setattr(stage_tasks, "MAX_WAITING_BYTES", 2)
    monkeypatch.setattr(stage_tasks, "GROUP_BYTES", 1)
    monkeypatch.setattr(stage_tasks, "ALONG_BYTES", 0)
    monkeypatch.setattr(stage_tasks, "has_room", lambda nbytes: True)
    told = []

    def region(steps, values, pulled, made_by):
        told.append(("call", made_by[1]))
        return [np.zeros(1)]

    region.xp = np

    def begin(asked, arrived):
        for group in asked:
            told.append(("ask", group[0].output.position))
            arrived(group, [np.zeros(1)], None)

    calls = [BlockCall(0, (), (Take(slot, None),), ()) for slot in (0, 1, 2, 1, 0)]
    sources = tuple(Source(slot, slot, (), None, 1) for slot in range(3))
    stage = WorkerStage(StageProgram(3, sources, (), tuple(calls), (), (), (), True), [region])
    region.label = "layer"
    worker = types.SimpleNamespace(num_threads=1, tracer=None, begin=begin)
    StageRun(stage, [RemoteOutput("k", "a", n) for n in range(3)], "task", worker).outputs()
    before = {number: told.index(("call", number)) for number in range(5)}
    assert told.index(("ask", 1)) < before[0], "two may wait"
    assert told.index(("ask", 2)) < before[1], "the first is in use, and does not wait any more"
    assert [n for what, n in told if what == "call"] == [0, 1, 2, 3, 4]
