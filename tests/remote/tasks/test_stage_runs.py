"""What a stage takes of its own worker, and how it gives what others take."""

import types

import numpy as np
import pytest

from daskvars.remote.task_outputs import GONE, CountedOutput
from daskvars.remote.tasks.block_arguments import Take
from daskvars.remote.tasks.stage_tasks import BlockCall, Source, StageProgram, StageRun, WorkerStage
from daskvars.remote.versions.shared_versions import LostKeysError

LARGE, SMALL = np.ones(100_000), np.ones(10)


def run_of(calls, sources, outputs, times, arguments):
    def region(steps, values, pulled, made_by):
        return [values[step.dependency] + 1 for step in steps]

    region.label = "layer"
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
