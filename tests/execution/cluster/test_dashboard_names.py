"""The dashboard speaks the model's scopes, however many steps, parts and chunks there are."""

import numpy as np
import pytest

import daskvars as dv
from tests import clusters
from tests.waiting import wait_until

# What the executor itself puts on the workers: inputs, programs, and the variables' durable copies.
OWN = {"constant", "feed", "gather", "load", "program", "read", "seal", "shape", "stage", "value"}


def prefixes(dask_scheduler):
    return sorted(dask_scheduler.task_prefixes)


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_task_prefixes_are_scopes_and_do_not_grow():
    with clusters.running(set_as_default=True) as client, dv.Graph().as_default() as graph:
        x = dv.placeholder(dv.float32, [None, 8, 8, 1])
        y = dv.placeholder(dv.int32, [None])
        with dv.variable_scope("features"):
            kernel = dv.get_variable("kernel", [3, 3, 1, 4])
            h = dv.reshape(dv.nn.relu(dv.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")), [-1, 256])
        with dv.variable_scope("head"):
            scores = dv.matmul(h, dv.get_variable("weights", [256, 10]))
        loss = dv.reduce_mean(
            dv.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)
        )
        with dv.name_scope("backward"):
            train = dv.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        scopes = {op.name.rpartition("/")[0] for op in graph.get_operations()}
        scopes |= {s.rpartition("/")[0] for s in scopes} | {"Mean"}
        rng = np.random.default_rng(0)
        seen = []
        with dv.Session() as session:
            session.run(dv.global_variables_initializer())
            for parts in (2, 2, 4):
                with dv.config.set(batch_parts=parts):
                    for _ in range(20):
                        batch = rng.random((8 * parts, 8, 8, 1)), rng.integers(0, 10, 8 * parts)
                        session.run(train, {x: batch[0], y: batch[1]})
                    session.run(h, {x: batch[0]})
                session.engine.sync()
                seen.append(set(client.run_on_scheduler(prefixes)) - OWN)
    assert all(name in scopes for name in seen[-1]), seen[-1] - scopes
    assert "features" in seen[0]
    assert any(name.split("/")[0] == "backward" for name in seen[0]), seen[0]
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def spent_on(dask_scheduler):
    """Return the (task prefix, activity) pairs that workers have reported seconds of."""
    metrics = dask_scheduler.cumulative_worker_metrics
    return {
        key[1:3]
        for key, value in metrics.items()
        if key[0] == "execute" and key[-1] == "seconds" and value > 0
    }


def told_of(dask_scheduler, tag):
    """Return scope -> the kernels that workers have told of, in the spans of a tag."""
    spans = dask_scheduler.extensions["spans"].merge_by_tags(tag)
    found = {}
    for context, scope, activity, unit in spans.cumulative_worker_metrics:
        if (context, unit) == ("execute", "seconds"):
            found.setdefault(scope, set()).add(activity)
    return found


@pytest.mark.cluster
def test_kernels_show_by_scope_in_the_fine_performance_metrics():
    with (
        clusters.running(1, processes=False, protocol="tcp://", set_as_default=True) as client,
        dv.Graph().as_default(),
    ):
        x = dv.placeholder(dv.float32, [None, 300])
        with dv.variable_scope("first"):
            y = dv.nn.relu(dv.matmul(x, dv.get_variable("w", [300, 300])))
        with dv.variable_scope("second"):
            loss = dv.reduce_mean(dv.matmul(y, dv.get_variable("w", [300, 300])))
        train = dv.train.GradientDescentOptimizer(0.1).minimize(loss)
        with dv.Session() as session:
            session.run(dv.global_variables_initializer())
            for _ in range(3):
                session.run([train, loss], {x: np.ones((300, 300), np.float32)})
            wanted = {("first", "matmul"), ("gradients/first", "matmul"), ("second", "matmul")}
            wait_until(lambda: wanted <= client.run_on_scheduler(spent_on), f"{wanted} show")
            found = client.run_on_scheduler(told_of, tag="first")
            assert "matmul" in found["first"] and "matmul" in found["gradients/first"]
            assert not any("second" in scope for scope in found)
            for _ in range(20):
                session.run([train, loss], {x: np.ones((300, 300), np.float32)})
            session.engine.sync()
            names, most = client.run_on_scheduler(spans)
            assert len(names) == len(set(names)) and most <= 3


def spans(dask_scheduler):
    """Return the names of all spans, and how many groups of tasks one has at most."""
    found = dask_scheduler.extensions["spans"].spans.values()
    return [span.name for span in found], max(len(span.groups) for span in found)
