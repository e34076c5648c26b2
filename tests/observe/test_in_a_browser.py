"""What people look at, in a real browser: Dask's dashboard with our page, and TensorBoard."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests import browser, clusters

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(browser.PROGRAM is None, reason="there is no Chromium"),
]

OURS = "/daskvars"
SCOPES = {  # page -> scopes that it shows of a program's
    OURS: ("layer0", "gradients/layer1", "loss", "layer1/weights"),
    "/status": ("gradients",),  # with the task stream and the progress of scopes
    "/individual-task-stream": ("gradients",),
    "/individual-progress": ("gradients",),
    "/groups": ("gradients",),
    "/graph": ("gradients",),
    "/individual-fine-performance-metrics": ("layer0", "gradients/layer1", "matmul"),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with browser.browsing(tmp_path_factory.mktemp("profile")) as page:
        yield page


@contextmanager
def repeated(call):
    """Do something again and again beside the block."""
    is_over = threading.Event()

    def work():
        while not is_over.wait(0.1):
            call()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.cluster
def test_the_dashboard_shows_the_program_s_names_during_and_after_it(page, tmp_path):
    with (
        clusters.running(2, dashboard=True, set_as_default=True) as client,
        tf.Graph().as_default(),
    ):
        port = client.scheduler_info()["services"]["dashboard"]
        x = tf.placeholder(tf.float32, [None, 32])
        y = x
        for i in range(2):
            with tf.variable_scope(f"layer{i}"):
                y = tf.nn.relu(tf.matmul(y, tf.get_variable("weights", [32, 32], chunks=(16, 32))))
        loss = tf.reduce_mean(tf.square(y - 1.0), name="loss")
        train = tf.train.AdamOptimizer().minimize(loss)
        with tf.Session(store=str(tmp_path / "state")) as session:
            session.run(tf.global_variables_initializer())

            def step():
                session.run([train, loss], {x: np.ones((64, 32), np.float32)})

            def look():
                for path, scopes in SCOPES.items():
                    assert page.open(f"http://127.0.0.1:{port}{path}") == 200
                    page.shows(*scopes)
                    assert not page.failures, path

            with repeated(step):
                look()
                page.open(f"http://127.0.0.1:{port}{OURS}")
                page.shows("dirty")
            session.seal()
            look()
            page.open(f"http://127.0.0.1:{port}{OURS}")
            page.shows("durable", str(tmp_path / "state"))


TABS = {  # of TensorBoard -> what it shows of a program's
    "scalars": ("loss",),
    "images": ("picture",),
    "audio": ("sound",),
    "graphs": ("layer", "gradients"),
    "histograms": ("w",),
    "text": ("note", "first"),
    "projector": ("words/table", "200"),
}


def test_tensorboard_shows_the_program_s_names(page, tmp_path):
    pytest.importorskip("tensorboard")
    from tests.summary.test_tensorboard import serving, train

    train(str(tmp_path))
    words = [f"word{i}" for i in range(200)]
    table = np.random.default_rng(0).normal(size=(200, 8))
    dv.summary.projector(tmp_path, {"words/table": table}, {"words/table": words})
    with serving(str(tmp_path)) as address:
        for tab, texts in TABS.items():
            assert page.open(f"{address}/#{tab}") == 200
            page.shows(*texts)
            assert not page.failures, tab
