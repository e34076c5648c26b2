"""The dashboard's page of states, its JSON and its metrics, during training and without any."""

import json
import urllib.request

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.remote import tracing
from tests.clusters import running
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(200)]


@pytest.fixture(scope="module")
def client():
    with running(2, dashboard=True) as client:
        yield client


def answer(client, page):
    port = client.scheduler_info()["services"]["dashboard"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=60) as response:
        assert response.status == 200
        return response.read().decode()


def level(client):
    def found(dask_worker):
        tracer = dask_worker.plugins["daskvars-exchange"].tracer
        return tracing.OFF if tracer is None else tracer.level

    return set(client.run(found).values())


def test_the_page_is_there_with_a_state_and_says_what_it_does(client, tmp_path):
    with client.as_current(), tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 64])
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [64, 64], chunks=(32, 64))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session(store=str(tmp_path / "state")) as session:
            session.run(tf.global_variables_initializer())
            assert level(client) == {tracing.OFF}

            def step():
                session.run([train, loss], {x: np.ones((32, 64), np.float32)})
                return json.loads(answer(client, "/json/daskvars.json"))

            wait_until(
                lambda: {"stage", "exchange"} <= {s["kind"] for s in step()["last_step"]}, "a step"
            )
            wait_until(lambda: level(client) == {tracing.STAGES}, "workers tell")
            (state,) = wait_until(
                lambda: [s for s in step()["states"] if s["scalars"] and s["steps_per_second"]],
                "scalars",
            )
            assert state["name"] == str(tmp_path / "state") and state["version"] >= 2
            (variable,) = state["variables"]
            assert (variable["name"], variable["shape"], variable["chunks"]) == (
                "layer/w",
                [64, 64],
                2,
            )
            assert variable["shards"] == {"0": 1, "1": 1} and variable["bytes"] == 64 * 64 * 4
            (series,) = state["scalars"].values()
            assert series["values"][0] > series["last"][1] > 0

            def scopes():
                return {s for one in step()["last_step"] for s in one["scopes"] or ()}

            wait_until(lambda: any(s.startswith("gradients/") for s in scopes()), "a backward pass")
            wait_until(
                lambda: all(worker["exchange_bytes"] > 0 for worker in step()["workers"].values()),
                "heartbeats",
            )
            session.seal()
            (state,) = step()["states"]
            assert state["seals"]["count"] >= 1 and state["seals"]["durable_version"] is not None
            assert 'href="daskvars"' in answer(client, "/status")
            assert "Bokeh" in answer(client, "/daskvars")
            metrics = answer(client, "/metrics")
            assert "daskvars_steps_total{state=" in metrics
            assert 'variable="layer/w"' in metrics


def test_workers_tell_nothing_when_nobody_looks_any_more(client, monkeypatch):
    def forget_page(dask_scheduler):
        dask_scheduler.plugins["daskvars-observer"].looked_s -= 1_000

    with client.as_current(), tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=np.ones((8, 8), np.float32))
        session.run(v.initializer)
        answer(client, "/json/daskvars.json")
        wait_until(lambda: level(client) == {tracing.STAGES}, "workers tell")
        client.run_on_scheduler(forget_page)

        def has_stopped():
            session.run(v.assign_add(dv.ones([8, 8])).op)
            session.engine.sync()
            return level(client) == {tracing.OFF}

        wait_until(has_stopped, "workers stop telling")
