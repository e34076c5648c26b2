"""Nobody waits for a worker that is gone."""

import asyncio

import pytest

from daskvars.remote.scheduler.worker_watch import WorkerWatch
from tests import clusters
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_an_attempt_that_begins_after_a_worker_was_removed_is_broken_off():
    # As where a worker is about to fetch from another when it hears that that is gone; what it
    # then began went on for 30 s, in which a run that needed the value stood still.
    with clusters.running(3, processes=False, protocol="tcp://") as client:
        client.register_plugin(WorkerWatch())
        gone = next(iter(client.scheduler_info()["workers"]))

        async def begin(dask_worker):
            await asyncio.sleep(0.05)  # Dask's own message has been heard
            dask_worker.attempt = asyncio.ensure_future(dask_worker.rpc.connect(gone))

        def broken_off(dask_worker):
            attempt = dask_worker.attempt
            return attempt.done() and type(attempt.exception()).__name__ == "CommClosedError"

        client.retire_workers([gone])
        wait_until(lambda: gone not in client.scheduler_info()["workers"], "it is gone", 20)
        client.run(begin)
        wait_until(lambda: all(client.run(broken_off).values()), "they end", 20)
