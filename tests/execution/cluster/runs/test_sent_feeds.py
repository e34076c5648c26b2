"""Feeds that are scattered to workers."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.cluster.executor import prepare
from daskvars.execution.cluster.runs import sent_feeds as run_feeds
from daskvars.remote import exchange
from tests.clusters import running
from tests.execution.cluster.test_same_bits import initialized
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_what_arrived_is_not_sent_again_where_a_worker_is_gone(two_workers, monkeypatch):
    monkeypatch.setattr(run_feeds, "SCATTER_PAUSE_S", 0.0)
    monkeypatch.setattr(run_feeds, "_reaches_workers", {two_workers: False})
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


def held(key, dask_worker):
    return key in dask_worker.data


def test_arrays_go_straight_to_their_workers(two_workers, monkeypatch):
    async def scatter(*arguments, **options):
        raise AssertionError("through the scheduler")

    prepare(two_workers)
    monkeypatch.setattr(two_workers, "scatter", scatter)
    addresses = sorted(two_workers.nthreads())
    data = {f"straight-{n}": np.full(3, n) for n in range(4)}
    found = run_feeds.scattered(two_workers, data, addresses)
    for number, (key, future) in enumerate(found.items()):
        assert list(two_workers.who_has([future])[key]) == [addresses[number // 2]]
        assert two_workers.run(held, key)[addresses[number // 2]]
        np.testing.assert_array_equal(future.result(), data[key])
    del found, future
    wait_until(
        lambda: not any(two_workers.run(held, "straight-0").values()), "they are let go of", 20
    )


@pytest.mark.parametrize("why", ["a worker that takes nothing", "no way to it"])
def test_what_a_worker_has_not_taken_goes_through_the_scheduler(two_workers, monkeypatch, why):
    reaches, tried = {}, []
    monkeypatch.setattr(run_feeds, "_reaches_workers", reaches)

    async def given(client, address, operation, data, timeout_s):
        tried.append(address)
        if why == "no way to it":
            raise OSError("no route")
        return None

    monkeypatch.setattr(run_feeds, "give_to_worker", given)
    there = sorted(two_workers.nthreads())[0]
    for number in range(2):
        key = f"{why}-{number}"  # a key given anew could be let go by the word about the old one
        found = run_feeds.scattered(two_workers, {key: np.full(3, number)}, [there])
        assert found[key].result().tolist() == [number] * 3
    if why == "no way to it":
        assert tried == [there] and reaches == {two_workers: False}  # it is not tried again
    else:
        assert tried == [there, there] and reaches == {two_workers: True}


def test_all_that_workers_were_given_is_told_to_the_scheduler_at_once(two_workers, monkeypatch):
    prepare(two_workers)
    told, tell = [], run_feeds.tell_given

    async def noted(client, given):
        told.append({address: sorted(data) for address, data in given.items()})
        gone = "tcp://127.0.0.1:9"
        with_gone = {**given, gone: {"told-gone": 8}}
        assert await tell(client, with_gone) == {gone}
        return set()

    monkeypatch.setattr(run_feeds, "tell_given", noted)
    first, second = sorted(two_workers.nthreads())
    data = {f"told-{n}": np.full(3, n) for n in range(4)}
    found = run_feeds.scattered(two_workers, data, [first, second])
    assert told == [{first: ["told-0", "told-1"], second: ["told-2", "told-3"]}]
    held_by = two_workers.who_has(list(found.values()))
    assert held_by == {key: ((first, second)[n // 2],) for n, key in enumerate(data)}


def step_of_cut_weights(client):
    """Train once on two workers, of which each has half of the weights and of the batch; return the
    loss and who has which key then: until variables are sealed what was fed is where it is."""
    with tf.Graph().as_default(), client.as_current():
        x, y = (tf.placeholder(tf.float32, [None, 8]) for _ in range(2))
        w = tf.get_variable("w", [8, 8], chunks=(8, 4), initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(x @ w - y))
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
        fed = {x: np.arange(64.0).reshape(8, 8), y: np.ones((8, 8))}
        with config.set(batch_parts=2, feed_scatter_bytes=8), initialized() as session:
            return session.run([loss, train], fed)[0], client.who_has()


def test_parts_of_all_feeds_are_sent_to_the_workers_that_take_them(two_workers):
    _, found = step_of_cut_weights(two_workers)
    parts = {}
    for key, holders in found.items():
        if key.startswith("feed-"):  # feed-STAMP-RUN-LEAF-PART-0
            parts.setdefault(key.split("-")[-2], []).append(tuple(holders))
    assert sorted(parts) == ["0", "1"]
    assert all(len(holders) == 2 and len(set(holders)) == 1 for holders in parts.values()), found
    assert {len(holders[0]) for holders in parts.values()} == {1}, "one has moved"
    assert parts["0"] != parts["1"]


def test_what_a_run_that_changes_nothing_was_fed_is_let_go_of(two_workers):
    with tf.Graph().as_default(), two_workers.as_current():
        x = tf.placeholder(tf.float32, [None, 8])
        w = tf.get_variable("w", [8, 8], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(x @ w))
        with config.set(batch_parts=2, feed_scatter_bytes=8), initialized() as session:
            for _ in range(3):
                assert session.run(loss, {x: np.ones((8, 8))}) == 64.0
            wait_until(
                lambda: not [key for key in two_workers.who_has() if key.startswith("feed-")],
                "no feed is kept",
            )


def test_workers_of_one_process_hand_over_without_a_message(monkeypatch):
    asked, ask = [], exchange.ask_worker

    async def noted(worker, address, operation, **message):
        asked.append(operation)
        return await ask(worker, address, operation, **message)

    monkeypatch.setattr(exchange, "ask_worker", noted)
    with running(2, processes=False, protocol="tcp://") as client:
        found, _ = step_of_cut_weights(client)
    x = np.arange(64.0).reshape(8, 8)
    assert not asked
    np.testing.assert_allclose(found, np.mean((x @ np.ones((8, 8)) - 1) ** 2), rtol=1e-6)
