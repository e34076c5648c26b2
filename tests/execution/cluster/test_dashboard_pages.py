"""Every page of Dask's dashboard can be looked at while something is trained."""

import importlib
import itertools
import types
import urllib.error
import urllib.request
from contextlib import ExitStack

import dask.array
import dask.config
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from tests import clusters

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]
NO_COLLECTOR = types.SimpleNamespace(collect=lambda: 0)
STATIC = ["/info/main/workers.html", "/info/main/logs.html", "/json/counts.json", "/health"]


@pytest.fixture(scope="module")
def client():
    # What a page shows is drawn again and again, unless it is known that nobody looks any more.
    unseen = "distributed.scheduler.dashboard.bokeh-application"
    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set({f"{unseen}.unused_session_lifetime_milliseconds": 1}),
        dask.config.set({"distributed.worker.profile.enabled": True}),  # there are pages of it
        clusters.running(dashboard=True) as client,
    ):
        # For each page that is closed Bokeh has Python look through all that tests have left.
        patch.setattr(importlib.import_module("bokeh.document.document"), "gc", NO_COLLECTOR)
        yield client


def pages():
    """Return the paths of all pages that are drawn; to import them takes a while.

    Whoever opens the last one has all workers measure memory, disk and network for seconds.
    """
    from distributed.dashboard.scheduler import applications

    return sorted(applications, key=lambda page: (page == "/hardware", page))


def answer(client, page):
    """Return the status and, if it failed, the end of what the dashboard answers for a page."""
    port = client.scheduler_info()["services"]["dashboard"]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=60) as response:
            return response.status, ""
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()[-300:]


def two_layers():
    """Return placeholder, loss, two training ops on overlapping variables, and an evaluation.

    The parts of a step share scopes with one another and with the evaluation; the two training
    ops read what the other one writes.
    """
    x = dv.placeholder(dv.float32, [None, 32])
    with dv.variable_scope("features"):
        kernel = dv.get_variable("kernel", [32, 64], chunks=(16, 64))
        h = dv.nn.relu(dv.matmul(x, kernel))
    with dv.variable_scope("head"):
        weights = dv.get_variable("weights", [64, 4])
        scores = dv.matmul(h, weights)
    with dv.name_scope("features/check"):
        check = dv.reduce_mean(scores)
    loss = dv.reduce_mean(dv.square(scores))
    with dv.name_scope("backward"):
        train = tf.train.AdamOptimizer(0.01).minimize(loss, var_list=[kernel])
    with dv.name_scope("other"):
        other = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss + check, var_list=[weights])
    return x, loss, train, other, check


def test_every_page_answers_while_training(client, tmp_path):
    stores = [None, str(tmp_path / "store.zarr"), "pages"]  # private, on disk, shared
    rng = np.random.default_rng(0)
    with ExitStack() as stack:
        stack.enter_context(client.as_current())
        stack.enter_context(dv.Graph().as_default())
        stack.enter_context(config.set(seal_every_s=1.0))
        x, loss, train, other, check = two_layers()
        sessions = [stack.enter_context(dv.Session(store=store)) for store in stores]
        for session in sessions:
            session.run(dv.global_variables_initializer())
        asked = ["/groups"] * 9 + [*STATIC, *pages()]
        fetches = [train, [other, loss], check]
        turns = itertools.cycle(itertools.product(sessions, range(3)))
        for page, (session, number) in zip(asked, turns, strict=False):
            batch = rng.random((16, 32)).astype(np.float32)
            lazy = 2 * dask.array.from_array(batch, chunks=(8, 32)) + 1
            session.run(fetches[number], {x: lazy if fetches[number] is check else batch})
            if page == "/tasks":
                session.seal()
            assert answer(client, page) == (200, ""), page


def test_the_page_of_groups_draws_groups_of_dasks_own(client):
    with client.as_current():
        dv.constant(1.0)
        random = dask.array.random.random((8, 8), chunks=4)
        (random + 1).T.persist()
    assert answer(client, "/groups") == (200, "")
