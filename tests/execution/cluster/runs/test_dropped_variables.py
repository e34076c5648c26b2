"""Variables of eager code that nobody has any more, where a state is set back or comes home."""

import gc
import threading

import numpy as np
import pytest

import daskvars as dv
from daskvars.execution.cluster.workers import placement
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine import engine
from tests.clusters import connected
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_they_are_gone_when_they_came_home_with_a_client_that_was_closed(cluster):
    old, kept = dv.Variable([1.0, 2.0, 3.0], name="came_home"), dv.Variable([5.0])
    with connected(cluster.scheduler.address, True):
        assert kept.numpy() == 5
    key = key_of(old)
    del old
    gc.collect()
    dv.sync()  # nothing was recorded: nobody has looked yet where the values are now
    assert key not in EAGER_CONTEXT.engine.present_values


def test_they_are_gone_where_values_move_to_meanwhile(two_workers, monkeypatch):
    old, kept = [dv.Variable([1.0, 2.0], name="moved_away")], dv.Variable([5.0])
    key, move = key_of(old[0]), engine.cluster_executor
    assert old[0].numpy().sum() == 3

    def moved(*args):
        found = move(*args)
        old.clear()  # what forgets it is another thread
        gc.collect()
        forgetter = threading.Thread(target=EAGER_CONTEXT._forget_dropped)
        forgetter.start()
        forgetter.join()
        return found

    monkeypatch.setattr(engine, "cluster_executor", moved)
    with two_workers.as_current():
        assert kept.numpy() == 5
        assert not old
        dv.sync()
        assert key not in EAGER_CONTEXT.engine.present_values


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


def key_of(variable):
    return variable.handle.op.attrs["key"]


def most_on_workers(client):
    """Return the bytes of the largest value that is there."""
    return client.run_on_scheduler(
        lambda dask_scheduler: max(task.nbytes for task in dask_scheduler.tasks.values())
    )


def known_to_scheduler(executor):
    return set(executor.call_scheduler("records", name=executor.name)[0])


def test_the_scheduler_and_workers_let_go_of_them_with_the_next_run(two_workers):
    with two_workers.as_current():
        kept = dv.Variable(np.zeros(3, "f4"))
        for number in range(4):
            old = dv.Variable(np.full((500, 70), number, "f4"))
            old.assign_add(dv.ones([500, 70]))
            dv.sync()
            executor = EAGER_CONTEXT.engine.acquire()
            assert key_of(old) in known_to_scheduler(executor)
            if number % 2:  # sealed before, or not
                executor.seal()
            key, total = key_of(old), dv.reduce_sum(old)
            del old
            gc.collect()
            kept.assign_add(dv.ones([3]))
            assert float(total) == 35_000 * (number + 1)
            kept.assign_add(dv.ones([3]))
            dv.sync()
            assert key not in known_to_scheduler(executor) | set(executor.values.capture()[1])
        assert not executor.in_flight.dropped
        executor.seal()
        assert most_on_workers(two_workers) < 10_000  # nothing is there of what is dropped
        assert kept.numpy().tolist() == [8] * 3


def test_they_leave_though_nothing_is_run(two_workers):
    with two_workers.as_current():
        kept = dv.Variable(np.zeros(3, "f4"))
        dv.sync()
        old = dv.Variable(np.ones((3, 10_000), "f4"))
        kept.assign_add(dv.reduce_sum(old, 1))
        dv.sync()
        key, executor = key_of(old), EAGER_CONTEXT.engine.acquire()
        assert most_on_workers(two_workers) >= 120_000
        del old
        gc.collect()
        wait_until(lambda: key not in known_to_scheduler(executor), "the scheduler lets go of it")
        wait_until(lambda: most_on_workers(two_workers) < 10_000, "and so do workers")
        executor.in_flight.lost_runs.repeat()  # among them the run that takes it
        assert kept.numpy().tolist() == [10_000] * 3


@pytest.mark.parametrize("is_again", [False, True])
def test_runs_that_are_sent_again_find_what_was_dropped_after_them(two_workers, is_again):
    with two_workers.as_current():
        kept = dv.Variable(np.zeros(3, "f4"))
        old = dv.Variable(np.full(3, 2, "f4"), name="again")
        dv.sync()
        executor = EAGER_CONTEXT.engine.acquire()
        executor.seal()
        kept.assign_add(old)  # reads it, and changes another
        dv.sync()
        key = key_of(old)
        del old
        gc.collect()
        for _ in range(2):
            kept.assign_add(dv.ones([3]))
            dv.sync()
        assert key not in known_to_scheduler(executor)
        if is_again:
            dv.reset()
            new = dv.Variable(np.zeros((2, 2), "f4"), name=key)
            new.assign_add(dv.ones([2, 2]))
            dv.sync()
            assert key_of(new) == key
        executor.in_flight.lost_runs.repeat()
        dv.sync()
        assert (key in known_to_scheduler(executor)) is is_again
        assert (key in executor.values) is is_again
        assert kept.numpy().tolist() == [4] * 3
        if is_again:
            assert new.numpy().tolist() == [[1, 1]] * 2
