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

        def listen(dask_worker):
            hear = dask_worker.stream_handlers["remove-worker"]

            def hear_and_begin(**message):
                hear(**message)
                if dask_worker.attempt is None:
                    dask_worker.attempt = asyncio.ensure_future(dask_worker.rpc.connect(gone))

            dask_worker.attempt = None
            dask_worker.stream_handlers["remove-worker"] = hear_and_begin

        def broken_off(dask_worker):
            attempt = dask_worker.attempt
            done = attempt is not None and attempt.done()
            return done and type(attempt.exception()).__name__ == "CommClosedError"

        client.run(listen)
        client.retire_workers([gone])
        wait_until(lambda: gone not in client.scheduler_info()["workers"], "it is gone", 20)
        wait_until(lambda: all(client.run(broken_off).values()), "they end", 20)
