"""Feeds that are scattered to workers."""

import numpy as np
import pytest

from daskvars.execution.cluster.runs import sent_feeds as run_feeds

pytestmark = pytest.mark.cluster


def test_what_arrived_is_not_sent_again_where_a_worker_is_gone(two_workers, monkeypatch):
    monkeypatch.setattr(run_feeds, "SCATTER_PAUSE_S", 0.0)
    client, sent = two_workers, []
    scatter = client.scatter

    async def noted(data, workers, **options):
        sent.append((sorted(data), workers))
        if workers == ["tcp://127.0.0.1:9"]:
            raise OSError("a worker that is gone")
        return await scatter(data, workers=workers, **options)

    monkeypatch.setattr(client, "scatter", noted)
    there = sorted(client.nthreads())[0]
    data = {f"kept-{n}": np.full(3, n) for n in range(4)}
    found = run_feeds.scattered(client, data, [there, "tcp://127.0.0.1:9"])
    assert list(found) == list(data)
    assert [np.asarray(future.result())[0] for future in found.values()] == [0, 1, 2, 3]
    assert sent[:2] == [
        (["kept-0", "kept-1"], [there]),
        (["kept-2", "kept-3"], ["tcp://127.0.0.1:9"]),
    ]
    assert sorted(key for keys, _ in sent[2:] for key in keys) == ["kept-2", "kept-3"]


def test_an_error_that_no_other_worker_would_spare_is_raised_at_once(two_workers, monkeypatch):
    calls = []

    async def refused(data, workers, **options):
        calls.append(workers)
        raise TypeError("cannot be sent")

    monkeypatch.setattr(two_workers, "scatter", refused)
    with pytest.raises(TypeError, match="cannot be sent"):
        run_feeds.scattered(two_workers, {"a": 1}, [])
    assert len(calls) == 1
