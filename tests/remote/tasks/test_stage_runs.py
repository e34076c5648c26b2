"""What a stage takes of its own worker, and how it gives what others take."""

import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from daskvars.remote.dask_internals import Reschedule
from daskvars.remote.task_outputs import GONE, CountedOutput, RemoteOutput
from daskvars.remote.tasks import stage_tasks
from daskvars.remote.tasks.block_arguments import Take
from daskvars.remote.tasks.stage_tasks import BlockCall, Source, StageProgram, StageRun, WorkerStage
from daskvars.remote.versions.commit_order import LostKeysError

LARGE, SMALL = np.ones(100_000), np.ones(10)


def run_of(calls, sources, outputs, times, arguments):
    def region(steps, values, pulled, made_by):
        return [values[step.dependency] + 1 for step in steps]

    region.xp, region.label = np, "layer"
    slots = 1 + max([source.slot for source in sources] + [s for c in calls for _, s in c.outputs])
    program = StageProgram(slots, sources, (), calls, outputs, times, (), False)
    worker = types.SimpleNamespace(num_threads=1, tracer=None)
    return StageRun(WorkerStage(program, [region]), arguments, "task", worker)


def test_an_output_of_its_own_worker_goes_after_its_last_call():
    calls = tuple(BlockCall(0, (), (Take(0, None),), ((0, slot),)) for slot in (1, 2))
    taken = CountedOutput(LARGE, 1)
    run = run_of(calls, (Source(0, 0, (0,), None, 0),), (1, 2), (0, 0), [[taken]])
    assert taken.value is LARGE, "it is not taken before it was used"
    found = run.outputs()
    assert taken.value is GONE
    assert [value[0] for value in found] == [2, 2]


def test_what_was_taken_before_is_lost():
    calls = (BlockCall(0, (), (Take(0, None),), ((0, 1),)),)
    taken = CountedOutput(LARGE, 1)
    taken.note_taken()
    with pytest.raises(LostKeysError, match="task takes of its own worker"):
        run_of(calls, (Source(0, 0, (0,), None, 0),), (1,), (0,), [[taken]])


def test_large_outputs_are_counted_and_small_ones_and_variables_stay():
    calls = tuple(BlockCall(0, (), (Take(n, None),), ((0, n + 3),)) for n in range(3))
    sources = tuple(Source(n, n, (), None, 0) for n in range(3))
    found = run_of(calls, sources, (3, 4, 5), (2, 2, 0), [LARGE, SMALL, LARGE]).outputs()
    assert [type(value) for value in found] == [CountedOutput, np.ndarray, np.ndarray]
    found[0].note_taken()
    assert found[0].value[0] == 2
    found[0].note_taken()
    assert found[0].value is GONE


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_stage_that_was_given_back_goes_on_with_what_it_has(monkeypatch, num_threads):
    """What it has taken is not there again: others may have let go of it."""
    monkeypatch.setattr(stage_tasks, "GROUP_BYTES", 1)
    monkeypatch.setattr(stage_tasks, "ALONG_BYTES", 0)
    asked, computed, lost = [], [], {1}

    def region(steps, values, pulled, made_by):
        computed.append(made_by[1])
        return [values[step.dependency] + 1 for step in steps]

    def begin(groups, arrived):
        for group in groups:
            position = group[0].output.position
            asked.append(position)
            if position in lost:
                arrived(group, None, Reschedule())
            else:
                arrived(group, [np.full(1, position)], None)

    region.xp, region.label = np, "layer"
    calls = tuple(BlockCall(0, (), (Take(n, None),), ((0, n + 3),)) for n in range(3))
    sources = tuple(Source(n, n, (), None, 1) for n in range(3))
    program = StageProgram(6, sources, (), calls, (3, 4, 5), (0, 0, 0), (), False)
    with ThreadPoolExecutor(num_threads) as pool:
        worker = types.SimpleNamespace(
            num_threads=num_threads, tracer=None, begin=begin, threads=lambda: pool
        )
        arguments = [RemoteOutput("k", "a", n) for n in range(3)]
        run = StageRun(WorkerStage(program, [region]), arguments, "task", worker)
        with pytest.raises(Reschedule):
            run.outputs()
        lost.clear()
        assert [value.tolist() for value in run.outputs()] == [[1], [2], [3]]
    assert sorted(asked) == [0, 1, 1, 2] and sorted(computed) == [0, 1, 2]


def test_a_block_that_was_given_back_is_computed_again():
    tried = []

    def region(steps, values, pulled, made_by):
        tried.append(made_by[1])
        if len(tried) == 1:
            raise Reschedule
        return [values[step.dependency] + 1 for step in steps]

    region.xp, region.label = np, "layer"
    calls = (BlockCall(0, (), (Take(0, None),), ((0, 1),)),)
    program = StageProgram(2, (Source(0, 0, (), None, 0),), (), calls, (1,), (0,), (), False)
    worker = types.SimpleNamespace(num_threads=1, tracer=None)
    run = StageRun(WorkerStage(program, [region]), [SMALL], "task", worker)
    with pytest.raises(Reschedule):
        run.outputs()
    (found,) = run.outputs()
    assert found[0] == 2 and tried == [0, 0]
