"""Variables of eager code that nobody has any more, where a state is set back."""

import gc

import numpy as np
import pytest

import daskvars as dv
from daskvars.execution.cluster.workers import placement
from daskvars.execution.eager import EAGER_CONTEXT

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("unsealed", [False, True])
def test_they_do_not_come_back_under_the_name_of_another(two_workers, monkeypatch, unsealed):
    monkeypatch.setattr(placement, "MIN_CUT_BYTES", 1)
    with two_workers.as_current():
        old = dv.Variable(np.ones((5, 8), "f4"), name="reused")
        kept = dv.Variable(np.zeros(3, "f4"), name="kept")
        dv.sync()
        executor = EAGER_CONTEXT.engine.acquire()
        executor.seal()
        if unsealed:
            old.assign_add(dv.ones([5, 8]))
        kept.assign_add(dv.ones([3]))
        dv.sync()
        del old
        gc.collect()
        dv.reset()
        executor.in_flight.lost_runs.repeat()
        new = dv.Variable(np.zeros((7, 3), "f4"), name="reused")
        new.assign_add(dv.ones([7, 3]))
        assert new.handle.op.attrs["key"] == "reused"
        assert new.numpy().tolist() == [[1] * 3] * 7
        assert kept.numpy().tolist() == [1] * 3
