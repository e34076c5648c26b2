"""What notebooks show: well-formed, escaped, and what the program knows, of every kind."""

import contextlib
from html.parser import HTMLParser

import numpy as np
import pytest
import zarr

import daskvars as dv
import daskvars.v1 as tf
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.observe import draw, html
from daskvars.observe.drawing import quoted
from daskvars.state.stores.memory_store import MemoryStore
from tests import clusters

VOID = {"line", "br", "polygon", "path", "ellipse", "rect", "polyline"}


class Page(HTMLParser):
    """The text of some HTML, whose elements must be closed in order."""

    def __init__(self, source):
        super().__init__()
        self.open, self.words, self.tags = [], [], []
        self.feed(source)
        self.close()
        assert not self.open
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def page(shown):
    return Page(shown._repr_html_())


@pytest.fixture
def model():
    """A graph with a model in scopes, and a session in which its variables have values."""
    with dv.Graph().as_default() as graph, dv.Session() as session:
        x = dv.placeholder(dv.float32, [None, 6], name="x")
        with dv.variable_scope("net/layer"):
            w = dv.get_variable("w", [6, 4], chunks=(3, 4))
            y = dv.matmul(x, w, name="y")
        session.run(w.initializer)
        yield graph, session, w, y


def test_a_variable_of_eager_code():
    v = dv.Variable(np.ones((40, 30), "f4"), chunks=(20, 30), name="html_eager")
    dv.sync()
    found = page(v)
    assert "svg" in found.tags
    for fact in ("html_eager:0", "(40, 30)", "float32", "4.69 kiB", "2 chunks of (20, 30)"):
        assert fact in found.text
    assert "CPU:0 2 chunks: (0, 0), (1, 0) 4.69 kiB" in found.text


def test_a_small_value_is_shown_and_a_large_one_is_not_computed(monkeypatch):
    assert "numpy=array([1., 2.]" in page(dv.Variable([1.0, 2.0], name="html_small")).text
    lazy = dv.Variable(lambda: dv.random.uniform([1000, 64]), name="html_lazy")
    with monkeypatch.context() as patch:
        patch.setattr(EAGER_CONTEXT, "compute", None)
        found = page(lazy)
    dv.sync()
    assert "not computed yet" in found.text and "250.00 kiB" in found.text


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3, 4, 5)])
def test_variables_of_any_rank(shape):
    v = dv.Variable(np.zeros(shape), name="html_rank")
    found = page(v)
    assert str(shape) in found.text
    assert ("svg" in found.tags) == (0 not in shape and shape != ())


def test_a_variable_of_a_graph_and_the_session_that_has_it(model):
    graph, session, w, _ = model
    found = page(w)
    assert "2 chunks of (3, 4)" in found.text and "CPU:0 2 chunks" in found.text
    assert "float32" in found.text and "float32_ref" not in found.text
    found = page(session)
    assert "net/layer/w (6, 4) float32 96 B 2 chunks of (3, 4)" in found.text
    session.run(w.assign(np.ones((6, 4))))
    assert "version 2" in page(session).text
    other = dv.Session(graph=graph)
    with other.as_default():
        assert "none yet: run its initializer" in page(w).text
    other.close()
    assert "closed" in page(other).text and repr(other) == "<tf.Session, closed>"


def test_a_variable_of_a_graph_without_a_session():
    with dv.Graph().as_default():
        assert "in sessions" in page(dv.get_variable("w", [2])).text


@pytest.mark.cluster
def test_each_chunk_s_worker_on_a_cluster():
    with (
        clusters.running(2) as client,
        client.as_current(),
        dv.Graph().as_default(),
        dv.Session() as session,
    ):
        w = dv.get_variable("w", [6, 4], chunks=(3, 4))
        session.run(w.initializer)
        found = page(w).text
        places = dv.observe.variable_bytes(session)["w"]
    assert sum(places.values()) == 96
    for place in places:
        assert f"{place} " in found


@pytest.mark.cluster
def test_values_that_went_with_a_cluster_are_not_those_of_a_session():
    with contextlib.closing(clusters.Doomed()) as cluster, dv.Graph().as_default():
        client = cluster.connected()
        session = dv.Session()
        session.run(dv.get_variable("w", [6, 4]).initializer)
        assert "1 variable with a value" in page(session).text
        cluster.kill()
        client.close()
    assert "0 variables with a value" in page(session).text


def test_tensors(model):
    *_, y = model
    found = page(y)
    assert "MatMul(x:0, net/layer/w/read:0)" in found.text and __file__ in found.text


def test_tensors_of_eager_code():
    assert "[[2., 2.]]" in page(dv.ones([1, 2]) * 2.0).text
    assert "not computed yet" in page(dv.ones([100, 100]) * 2.0).text


def test_a_graph_is_a_tree_of_scopes_that_folds(model):
    graph, *_ = model
    found = page(graph)
    assert found.tags.count("details") >= 4  # the graph, net, layer, w
    assert "layer/ (" in found.text and "1 variable of 96 B" in found.text
    assert "y = MatMul(x:0, net/layer/w/read:0) float32 (?, 4)" in found.text


def test_what_is_too_long_says_so():
    with dv.Graph().as_default() as graph:
        for _ in range(html.MAX_ROWS + 7):
            dv.no_op()
    assert "… 7 more" in page(graph).text
    assert html.table([(i,) for i in range(html.MAX_ROWS + 3)]).count("<tr>") == html.MAX_ROWS + 1


def test_functions_and_plans():
    v = dv.Variable(np.ones((4, 3), "f4"), chunks=(2, 3), name="html_function")

    @dv.function
    def total(x):
        return dv.reduce_sum(v * x)

    assert "0" in page(total).text
    total(np.ones((1, 3), "f4"))
    found = page(total)
    assert "float32 (1, 3)" in found.text and "traces 1" in found.text
    plan = total.plan(np.ones((1, 3), "f4"))
    found = page(plan)
    assert f"tasks {plan.num_tasks}" in found.text and "exchanges" in found.text
    for region in plan.regions:
        assert region.label in found.text
    assert repr(total) == "<daskvars.function 'total', 1 traces>"
    assert repr(plan).startswith(f"<Plan of {plan.num_tasks} tasks in ")


def test_stores_and_checkpoints(model, tmp_path):
    graph, session, w, _ = model
    path = dv.train.Saver([w]).save(session, tmp_path / "model", global_step=3)
    reader = dv.train.load_checkpoint(path)
    found = page(reader)
    assert "1 variable, 96 B" in found.text and "net/layer/w (6, 4) float32" in found.text
    assert repr(reader) == f"<CheckpointReader {path!r}: 1 variable, 96 bytes>"
    with dv.Session(graph=graph, store=tmp_path / "store") as stored:
        stored.run(w.initializer)
        stored.seal()
        store = stored.engine.store
        assert str(tmp_path / "store") in repr(stored)
    found = page(store)
    assert "head 1" in found.text and "net/layer/w" in found.text
    assert str(tmp_path / "store") in repr(store)
    assert repr(MemoryStore()) == "<MemoryStore in memory>" and "none" in page(MemoryStore()).text


def test_a_partitioned_variable():
    with dv.Graph().as_default():
        with dv.variable_scope("html", partitioner=dv.fixed_size_partitioner(2)):
            w = dv.get_variable("w", [4, 2])
        found = page(w)
    assert "html/w/part_1:0 (2, 2)" in found.text


def test_names_from_outside_are_no_html(tmp_path):
    """A checkpoint may come from anywhere, and so may text."""
    bad = "<img src=x onerror=alert(1)>"
    group = zarr.open_group(tmp_path / "any", mode="w")
    group.create_array(bad, data=np.zeros(2))
    found = page(dv.train.load_checkpoint(str(tmp_path / "any")))
    assert bad in found.text and "img" not in found.tags
    found = page(dv.constant([bad]))
    assert bad in found.text and "img" not in found.tags


@pytest.mark.parametrize("has_graphviz", [True, False])
def test_drawings(model, monkeypatch, has_graphviz, tmp_path):
    graph, session, _, y = model
    if has_graphviz:
        if not draw(graph).svg:
            pytest.skip("needs Graphviz")
    else:
        monkeypatch.setenv("PATH", "")
    plan = session._executable(y, (graph.get_tensor_by_name("x:0"),))[0].plan([np.ones((2, 6))])
    for drawing, name in ((draw(graph), "MatMul"), (draw(plan), "net/layer")):
        assert name in page(drawing).text
        assert ("svg" in page(drawing).tags) == has_graphviz
        if has_graphviz:
            drawing.save(tmp_path / "drawn.svg")
            assert (tmp_path / "drawn.svg").read_text().startswith("<svg")
        else:
            assert drawing.svg is None and "pre" in page(drawing).tags
            with pytest.raises(RuntimeError, match="Graphviz"):
                drawing.save(tmp_path / "drawn.svg")
    assert quoted('a"b\\\n') == '"a\\"b\\\\\\n"'
    with pytest.raises(TypeError, match="found Tensor"):
        draw(y)


def test_savers_and_graphs_have_short_reprs(model):
    graph, session, *_ = model
    assert repr(tf.train.Saver()) == "<tf.train.Saver of all variables>"
    for shown in (graph, session):
        assert "\n" not in repr(shown) and " object at 0x" not in repr(shown)
    assert repr(graph).startswith("<tf.Graph of ")


def test_ipython_takes_it(model):
    formatters = pytest.importorskip("IPython.core.formatters")
    data, _ = formatters.DisplayFormatter().format(model[2])
    assert data["text/html"].startswith("<table") and data["text/plain"].startswith("<tf.Variable")
