"""What workers have little memory for: finished by spilling, or refused in time with the numbers.

A worker that has imported the package takes about 150 MiB, of which Dask's arrays are 120.
"""

import contextlib
import logging
import time

import dask
import numpy as np
import psutil
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import backend, config
from daskvars.errors import ResourceExhaustedError
from daskvars.remote import worker_memory
from daskvars.remote.dask_internals import spill_one
from daskvars.remote.scheduler import paused_workers
from tests import clusters
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
WITHIN_S = 30
SIZE = 5_000_000  # of float32: 20 MB


@contextlib.contextmanager
def workers_of(memory, count=1):
    """A client of workers of so much memory, each a process with a nanny, that look after it."""
    with (
        dask.config.set({"distributed.worker.memory.monitor-interval": "100ms"}),  # Dask's own
        clusters.running(count, memory_limit=memory) as client,
        client.as_current(),
        dv.Graph().as_default(),
        tf.Session() as session,
    ):
        with config.set(client_work_s=0):
            session.run(tf.no_op())  # for it workers import all that they need
        yield client, session


@contextlib.contextmanager
def in_time():
    """What takes no longer than anybody waits for a sign."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < WITHIN_S


def variables(number, size=SIZE, chunks=None):
    zeros = tf.zeros_initializer()
    return [
        dv.get_variable(f"v{i}", [size], initializer=zeros, chunks=chunks) for i in range(number)
    ]


def step_of(values):
    return tf.group(*[v.assign_add(dv.ones_like(v)) for v in values])


@pytest.mark.parametrize("memory", ["800MiB", "600MiB", "400MiB"])
def test_ten_variables_of_20_MB_are_trained_on_one_worker(memory):
    with workers_of(memory) as (client, session):
        values = variables(10)
        step, sums = step_of(values), [dv.reduce_sum(v) for v in values]
        processes = client.run(lambda: psutil.Process().pid)
        with in_time():
            session.run(tf.global_variables_initializer())
            for _ in range(4):
                session.run(step)
            assert np.unique(session.run(values[0])).tolist() == [4]
            assert session.run(sums) == [4 * SIZE] * 10
        assert client.run(lambda: psutil.Process().pid) == processes, "no worker was killed"


@pytest.mark.parametrize("num_chunks", [8, 4])
def test_a_variable_in_chunks_is_trained_on_two_workers_that_could_not_hold_it_twice(num_chunks):
    with workers_of("300MiB", 2) as (_, session):
        (value,) = values = variables(1, 8 * SIZE, chunks=(8 * SIZE // num_chunks,))
        step = step_of(values)
        with in_time():
            session.run(value.initializer)
            for _ in range(4):
                session.run(step)
            assert session.run(dv.reduce_sum(value)) == 4 * 8 * SIZE


def test_what_is_larger_than_a_worker_s_memory_goes_to_disk():
    """600 MB of variables on 400 MiB: nothing to refuse, since Dask spills them."""
    with workers_of("400MiB") as (_, session):
        values = variables(30)
        with in_time():
            session.run(tf.global_variables_initializer())
            session.run(step_of(values))
            assert session.run([dv.reduce_max(v) for v in values[::10]]) == [1, 1, 1]


def test_what_no_worker_can_compute_says_so_with_the_numbers():
    """The old value and the new one of 160 MB each, beside the interpreter, are 450 MiB."""
    with workers_of("400MiB") as (client, session):
        (value,) = values = variables(1, 8 * SIZE)
        step = step_of(values)
        session.run(value.initializer)
        client.run(be_impatient)
        with in_time(), pytest.raises(ResourceExhaustedError) as caught:
            session.run(step)
            session.run(value[:2])
        message = caught.value.message
        (worker,) = client.scheduler_info()["workers"]
        limit = f"limit is {400 << 20:,}"
        for wanted in (worker, "v0 (160,000,000 bytes)", limit, "memory_limit="):
            assert wanted in message
        assert session.run(value[:2]).tolist() == [0, 0], "nothing was changed"


def be_impatient():
    worker_memory.PATIENCE_S = 3.0


def fill_memory(share, dask_worker):
    """Take memory that Dask cannot spill, up to a share of the limit.

    What Dask has is on disk before: none of it becomes free later, an old version of a variable,
    say, which is let go of a moment after the step that made the new one.
    """
    while spill_one(dask_worker):
        pass
    backend.give_back_freed_memory()
    limit = dask_worker.memory_manager.memory_limit
    size = int(share * limit) - psutil.Process().memory_info().rss
    dask_worker.ballast = np.ones(size, "u1")


def free_memory(dask_worker):
    del dask_worker.ballast


def until_paused(client):
    wait_until(
        lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.running)),
        "all workers are paused",
    )


@pytest.fixture
def warned():
    """What is logged, as lines: silencing Dask's logs silences caplog's handler as well."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("daskvars").addHandler(handler)
    yield lines
    logging.getLogger("daskvars").removeHandler(handler)


def test_a_worker_that_stays_paused_fails_what_waits_for_it(warned, monkeypatch):
    monkeypatch.setattr(paused_workers, "STALLED_S", 4.0)  # the scheduler is in this process
    with workers_of("400MiB") as (client, session):
        (value,) = values = variables(1)
        step = step_of(values)
        session.run(value.initializer)
        session.run(step)
        assert session.run(value[:2]).tolist() == [1, 1]
        client.run(fill_memory, 0.88)
        until_paused(client)
        with in_time(), pytest.raises(ResourceExhaustedError) as caught:
            session.run(step)
            session.run(value[:2])
        (worker,) = client.scheduler_info()["workers"]
        for wanted in (worker, "is paused", "v0 (20,000,000 bytes)", f"limit is {400 << 20:,}"):
            assert wanted in caught.value.message
        assert any(f"{worker} is paused" in line for line in warned)
        client.run(free_memory)
        with in_time():
            session.run(step)
            assert session.run(value[:2]).tolist() == [2, 2], "it goes on when there is room"


def test_a_worker_that_is_paused_for_a_while_is_waited_for(warned):
    with workers_of("400MiB") as (client, session):
        (value,) = values = variables(1)
        step = step_of(values)
        session.run(value.initializer)
        client.run(fill_memory, 0.88)
        until_paused(client)
        session.run(step)
        wait_until(lambda: any("is paused" in line for line in warned), "the pause is logged")
        client.run(free_memory)
        with in_time():
            assert session.run(value[:2]).tolist() == [1, 1]
