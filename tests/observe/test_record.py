"""Records: exact counts, bounded memory, files that load, all of it when the cluster is gone."""

import json

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine import events
from daskvars.observe import Record, progress_line, recorded, variable_bytes
from tests.clusters import running

pytestmark = pytest.mark.usefixtures("graph_unless_eager")


def counted(name="count"):
    count = tf.get_variable(name, [], tf.int64, initializer=tf.zeros_initializer())
    with tf.name_scope("counting"):
        return count, count.assign_add(1)


@pytest.mark.slow
def test_counts_are_exact_and_memory_is_bounded():
    """The 250,000 tasks are told to a record as execution tells them, without running."""
    count, add = counted()
    heard = []
    with tf.Session() as session, events.subscribed(heard.append):
        session.run(count.initializer)
        session.run(add)
    finished = [event for event in heard if isinstance(event, events.RunFinished)]
    assert [event.version for event in finished] == [1, 2]
    record = Record(num_slices=100)
    for version in range(250_000):
        record(events.RunFinished(finished[1].plan, version, 0.5, {"counting": 1}))
    metrics = record.metrics()
    assert (metrics["runs"], metrics["tasks"], metrics["version"]) == (250_000, 250_000, 249_999)
    assert metrics["scopes"] == {"counting": 250_000}
    assert metrics["run_seconds"] == 125_000.0
    trace = record.trace()
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [event["args"]["version"] for event in slices] == [*range(249_900, 250_000)]
    assert trace["otherData"]["dropped"] == 249_900


def test_nothing_is_made_when_nobody_listens(monkeypatch):
    count, add = counted()
    with tf.Session() as session:
        with recorded() as record:
            session.run(count.initializer)
            session.run(add)
        monkeypatch.setattr(events, "RunFinished", None)
        session.run(add)
    assert not events.subscribers
    assert record.metrics()["runs"] == 2


def test_a_run_that_is_made_again_is_one_run(tmp_path):
    count, add = counted()
    place = str(tmp_path / "store")
    with config.set(seal_every_s=0), tf.Session(store=place) as session:
        session.run(count.initializer)
        durable, attempts = session.engine.durable, []

        def attempt(run):
            attempts.append(run())
            return run()

        durable._attempt = attempt
        with recorded() as record:
            assert session.run(add) == 2
    assert len(attempts) == 1
    assert record.metrics()["runs"] == 1


def test_eager_code_and_functions_are_recorded(eager):
    twice = dv.function(lambda x: x * 2.0)
    with recorded() as record:
        for _ in range(5):
            twice(np.ones(3, np.float32))
        (dv.constant(np.zeros(3)) + 1.0).numpy()
    metrics = record.metrics()
    assert (metrics["runs"], metrics["lowerings"]["count"]) == (6, 2)


def test_failed_runs_are_not_counted():
    x = tf.placeholder(tf.float32, [])
    checked = tf.check_numerics(x, "no number")
    with tf.Session() as session, recorded() as record:
        session.run(checked, {x: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: np.nan})
    assert record.metrics()["runs"] == 1


@pytest.mark.cluster
@pytest.mark.parametrize("store", [None, "state"])
def test_everything_is_there_when_the_cluster_is_gone(tmp_path, store):
    v = tf.get_variable("v", initializer=np.zeros((7, 6)), chunks=((4, 3), (6,)))
    step = v.assign_add(tf.ones_like(v), name="step/add").op
    with (
        running(2) as client,
        client.as_current(),
        recorded() as record,
        tf.Session(store=store and str(tmp_path / store)) as session,
    ):
        session.run(v.initializer)
        for _ in range(10):
            session.run(step)
        session.engine.acquire().seal()
        places = variable_bytes(session)
    assert list(places) == ["v"] and sum(places["v"].values()) == 7 * 6 * 8
    assert set(places["v"]) <= {"/job:worker/task:0", "/job:worker/task:1"}
    record.write_metrics(tmp_path / "metrics.json")
    record.write_trace(tmp_path / "trace.json")
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert (metrics["runs"], metrics["repeated_runs"]) == (11, 0)
    assert metrics["plans"]["step"]["runs"] == 10
    assert metrics["plans"]["step"]["tasks"] == metrics["scopes"]["step"] == 20
    assert metrics["seals"]["count"] >= 1 and metrics["seals"]["bytes"] >= 336
    assert metrics["seals"]["version"] is not None and metrics["version"] is not None
    trace = json.loads((tmp_path / "trace.json").read_text())
    here = [event for event in trace["traceEvents"] if event["pid"] == 0]
    names = {e["args"]["name"]: e["tid"] for e in here if e["name"] == "thread_name"}
    rows = [event["tid"] for event in here if event["ph"] == "X"]
    assert rows.count(names["runs"]) == 11
    assert rows.count(names["lowerings"]) == metrics["lowerings"]["count"]
    assert rows.count(names["seals"]) == metrics["seals"]["count"]


def test_bytes_in_this_process_are_those_of_the_values():
    tf.get_variable("a", initializer=np.zeros((3, 5), np.float32), chunks=2)
    tf.get_variable("b", initializer=np.int64(3))
    with tf.Session() as session:
        assert variable_bytes(session) == {}
        session.run(tf.global_variables_initializer())
        found = variable_bytes(session)
    assert {key: sum(places.values()) for key, places in found.items()} == {"a": 60, "b": 8}


def test_progress_is_a_line_now_and_then(capsys):
    count, add = counted()
    with tf.Session() as session:
        with progress_line(every_s=1e-9):
            session.run(count.initializer)
            events.publish(events.Sealed("place", 1, 1234, 0.1))
            session.run(add)
        with progress_line(every_s=1e9):
            session.run(add)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("version 1, ") and first.endswith(" runs/s")
    assert second.startswith("version 2, ")
    assert second.endswith("runs/s, sealed version 1 (1,234 bytes)")
