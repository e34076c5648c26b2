"""Nobody waits for a worker that is gone."""

import asyncio

import pytest

from daskvars.remote.scheduler.worker_watch import WorkerWatch
from tests import clusters
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster

GONE = "tcp://127.0.0.1:9"  # where nobody is


def test_an_attempt_that_begins_after_a_worker_was_removed_is_broken_off():
    # As where a worker is about to fetch from another when it hears that that is gone; what it
    # then began went on for 30 s, in which a run that needed the value stood still.
    with clusters.running(processes=False, protocol="tcp://") as client:
        client.register_plugin(WorkerWatch())

        async def begin(dask_worker):
            dask_worker.attempt = asyncio.ensure_future(dask_worker.rpc.connect(GONE))

        async def remove(dask_scheduler):  # as Dask tells its plugins, last of all
            dask_scheduler.plugins[WorkerWatch.name].remove_worker(dask_scheduler, GONE)

        def broken_off(dask_worker):
            attempt = dask_worker.attempt
            return attempt.done() and type(attempt.exception()).__name__ == "CommClosedError"

        client.run(begin)
        client.run_on_scheduler(remove)
        wait_until(lambda: all(client.run(broken_off).values()), "they end", 20)
