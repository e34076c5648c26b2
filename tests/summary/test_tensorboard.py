"""TensorBoard reads what is written: its own readers and its server open the files."""

import contextlib
import glob
import io
import json
import struct
import subprocess
import sys
import tracemalloc
import urllib.request
import wave
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
from google.protobuf import text_format

import daskvars as dv
import daskvars.v1 as tf
from tests import fresh
from tests.waiting import wait_until

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import config_pb2, event_pb2, summary_pb2, tensor_pb2
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.projector import ProjectorConfig

PIXELS = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 3), "u1")
SOUND = np.sin(np.arange(64, dtype="f4")).reshape(1, 64, 1)
SAID = tf.SummaryMetadata(
    display_name="a pair",
    plugin_data=tf.SummaryMetadata.PluginData(plugin_name="mine", content=b"\x00\xff"),
)


def train(logdir):
    """An ordinary TensorFlow-1 program: a step in a scope, summaries, the graph, a trace."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0), name="loss")
        step = tf.train.get_or_create_global_step()
        descend = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        tf.summary.scalar("loss", loss)
        tf.summary.histogram("w", w)
        tf.summary.image("picture", tf.constant(PIXELS), max_outputs=2)
        tf.summary.audio("sound", tf.constant(SOUND), 8000, max_outputs=1)
        tf.summary.text("note", tf.constant(["*first*", "zweite ü"]))
        tf.summary.tensor_summary("numbers", [[1.5, -2.0]], "*two*", summary_metadata=SAID)
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(logdir, tf.get_default_graph())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = []
            for _ in range(3):
                feeds = {x: np.eye(3)}
                summary, _, value = session.run([merged, descend, loss], feeds)
                losses.append(value)
                writer.add_summary(summary, tf.train.global_step(session, step))
            options, told = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
            session.run(descend, feeds, options=options, run_metadata=told)
            writer.add_run_metadata(told, "step4", 4)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 4)
        writer.close()
    return losses, told


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Directory, losses and run metadata of a program, and what TensorBoard accumulates."""
    logdir = str(tmp_path_factory.mktemp("logs"))
    losses, told = train(logdir)
    events = EventAccumulator(logdir, size_guidance={"images": 0, "audio": 0})
    return logdir, losses, told, events.Reload()


def test_scalars(trained):
    _, losses, _, events = trained
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [
        (i + 1, pytest.approx(loss)) for i, loss in enumerate(losses)
    ]


def test_histograms(trained):
    last = trained[3].Histograms("w")[-1]
    assert last.step == 3
    histogram = last.histogram_value
    assert (histogram.num, sum(histogram.bucket)) == (3, 3)
    assert histogram.min > 0 and len(histogram.bucket) == len(histogram.bucket_limit)


def test_images(trained):
    Image = pytest.importorskip("PIL.Image")
    events = trained[3]
    assert events.Tags()["images"] == ["picture/image/0", "picture/image/1"]
    image = events.Images("picture/image/1")[0]
    assert (image.height, image.width) == (5, 7)
    shown = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
    np.testing.assert_array_equal(shown, PIXELS[1])


def test_sound(trained):
    clip = trained[3].Audio("sound/audio")[0]
    assert (clip.sample_rate, clip.length_frames, clip.content_type) == (8000.0, 64, "audio/wav")
    with wave.open(io.BytesIO(clip.encoded_audio_string)) as file:
        assert file.getnframes() == 64


def test_text_and_tensors(trained):
    events = trained[3]
    note = events.Tensors("note")[0].tensor_proto
    assert [text.decode() for text in note.string_val] == ["*first*", "zweite ü"]
    assert events.SummaryMetadata("note").plugin_data.plugin_name == "text"
    said = events.SummaryMetadata("numbers")
    assert (said.display_name, said.summary_description) == ("a pair", "*two*")
    assert (said.plugin_data.plugin_name, said.plugin_data.content) == ("mine", b"\x00\xff")
    numbers = tf_ndarray(events.Tensors("numbers")[0].tensor_proto)
    np.testing.assert_array_equal(numbers, np.array([[1.5, -2.0]], "f4"))


def tf_ndarray(proto):
    from tensorboard.util import tensor_util

    return tensor_util.make_ndarray(proto)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "bfloat16", "float16", "complex64"])
def test_tensors_of_any_dtype(tmp_path, dtype):
    values = dv.cast(dv.constant([0.0, 1.0, 1.0]), dtype)
    with dv.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(dv.summary.tensor_summary("t", values), 1)
    found = EventAccumulator(str(tmp_path)).Reload().Tensors("t")[0].tensor_proto
    np.testing.assert_array_equal(tf_ndarray(found), values.numpy().astype(complex))


def test_the_graph(trained):
    graph = trained[3].Graph()
    nodes = {node.name: node for node in graph.node}
    product = nodes["layer/MatMul"]
    assert (product.op, product.input[0]) == ("MatMul", "x")
    assert {i.removeprefix("^").partition(":")[0] for n in graph.node for i in n.input} <= {*nodes}
    (shape,) = product.attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [-1, 1]


@pytest.mark.parametrize("as_data", [False, True])
def test_bodies_are_in_the_graph(tmp_path, as_data):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")

        def body(i):
            return tf.cond(i > x, lambda: i + 1.0, lambda: tf.multiply(i, 2.0, name="twice") + x)

        tf.while_loop(lambda i: i < 10.0, body, [x], name="loop")
    given = graph.as_graph_def() if as_data else graph
    tf.summary.FileWriter(tmp_path, given).close()
    found = EventAccumulator(str(tmp_path)).Reload().Graph()
    names = {node.name for node in found.node}
    assert [name for name in names if name.startswith("loop/") and name.endswith("/twice")]
    assert {i.removeprefix("^").partition(":")[0] for n in found.node for i in n.input} <= names


def test_a_graph_comes_back_as_it_is_but_for_long_constants(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.constant([2.0], name="short")
        tf.while_loop(lambda i: i < 10.0, lambda i: i * x[0], [1.0], name="loop")
    data = graph.as_graph_def()
    with graph.as_default():
        tf.constant(np.arange(500.0), name="long")
    with tf.summary.FileWriter(tmp_path, data) as writer:
        writer.add_graph(graph, 1)
        writer.add_graph(tf.Graph(), 2)
    (path,) = glob.glob(f"{tmp_path}/*")
    _, *events = tf.train.summary_iterator(path)
    found = [tf.GraphDef.FromString(event.graph_def) for event in events]
    assert (found[0], found[2]) == (data, tf.GraphDef())
    *same, long = found[1].node
    assert (same, long.name) == (data.node, "long")
    assert long.attr.keys() == {"dtype", "chunks", "_output_shapes"}


def test_a_graph_of_tensorflow_stays_as_it_is(tmp_path):
    data = GraphDef(node=[{"name": "x", "op": "Placeholder"}]).SerializeToString()
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_event(tf.Event(step=1, graph_def=data))
    (path,) = glob.glob(f"{tmp_path}/*")
    assert [e.graph_def for e in tf.train.summary_iterator(path)] == [b"", data]


def test_a_meta_graph_is_drawn_too(tmp_path):
    with tf.Graph().as_default(), tf.summary.FileWriter(tmp_path) as writer:
        tf.placeholder(tf.float32, [], name="x")
        writer.add_meta_graph(tf.train.export_meta_graph())
    found = EventAccumulator(str(tmp_path)).Reload().Graph()
    assert [node.name for node in found.node] == ["x"]


def test_a_meta_graph_of_tensorflow_stays_as_it_is(tmp_path):
    data = MetaGraphDef(meta_info_def={"tags": ["serve"]}).SerializeToString()
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_event(tf.Event(step=1, meta_graph_def=data))
    (path,) = glob.glob(f"{tmp_path}/*")
    assert [e.meta_graph_def for e in tf.train.summary_iterator(path)] == [b"", data]


def test_run_metadata(trained):
    _, _, told, events = trained
    found = events.RunMetadata("step4")
    assert isinstance(found, config_pb2.RunMetadata)
    nodes = [n for device in found.step_stats.dev_stats for n in device.node_stats]
    wanted = [n for device in told.step_stats.dev_stats for n in device.node_stats]
    assert [n.node_name for n in nodes] == [n.node_name for n in wanted] != []
    (words,) = events.Tensors("step4")[0].tensor_proto.string_val
    assert f"num_tasks: {told.num_tasks}".encode() in words


def test_what_plugins_of_tensorboard_make_is_written_as_it_is(tmp_path):
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(hparams.hparams_pb({"rate": 0.1}))
    events = EventAccumulator(str(tmp_path)).Reload()
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    assert b"rate" in content


def test_a_plugin_s_summary_needs_tensorboard(tmp_path, monkeypatch):
    summary = summary_pb2.Summary()
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with (
        tf.summary.FileWriter(tmp_path) as writer,
        pytest.raises(TypeError, match="extra 'tensorboard'"),
    ):
        writer.add_summary(summary)


@pytest.mark.slow
def test_importing_the_package_or_its_summaries_imports_no_tensorboard():
    code = "import sys, daskvars as dv; dv.summary.scalar; dv.train; print(*sys.modules)"
    imported = fresh.run(code).split()
    assert "daskvars.summary" in imported
    assert "tensorboard" not in imported
    assert "google.protobuf" not in imported


@contextlib.contextmanager
def serving(logdir):
    """Give the address of TensorBoard, the program that people start, once it has read a run."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", "0"]
    command += ["--host", "127.0.0.1", "--load_fast", "false"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        line = next(line for line in server.stderr if "127.0.0.1:" in line)
        address = "http://" + line.partition("http://")[2].partition(" ")[0].rstrip("/")

        def runs():
            with contextlib.suppress(ValueError):
                return "." in json.loads(ask(address, "plugin/scalars/tags"))

        wait_until(runs, "TensorBoard has read the files", 60)
        yield address
    finally:
        server.terminate()
        server.wait(30)
        server.stderr.close()


def ask(address, path):
    """Return what TensorBoard's page is told at a path."""
    with urllib.request.urlopen(f"{address}/data/{path}", timeout=30) as answer:
        assert answer.status == 200
        return answer.read()


@pytest.mark.slow
def test_tensorboard_s_server_shows_it(trained):
    """The program that people start, asked for what its page asks for."""
    with serving(trained[0]) as address:
        scalars = json.loads(ask(address, "plugin/scalars/scalars?run=.&tag=loss"))
        assert [(step, value) for _, step, value in scalars] == [
            (i + 1, pytest.approx(loss)) for i, loss in enumerate(trained[1])
        ]
        assert b"layer/MatMul" in ask(address, "plugin/graphs/graph?run=.")
        assert b"step4" in ask(address, "plugin/graphs/info")
        histograms = json.loads(ask(address, "plugin/histograms/histograms?run=.&tag=w"))
        assert histograms[-1][1] == 3
        images = json.loads(ask(address, "plugin/images/images?run=.&tag=picture/image/0&sample=0"))
        assert ask(address, "plugin/images/individualImage?" + images[0]["query"])[1:4] == b"PNG"
        text = ask(address, "plugin/text/text?run=.&tag=note")
        assert b"<em>first</em>" in text.replace(b"\\u003c", b"<")


def test_projector_files_are_of_a_checkpoint_s_tables(tmp_path):
    table = np.arange(12.0).reshape(4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("words/table", initializer=table)
        tf.get_variable("bias", initializer=1.0)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    labels = {"word": ["a\tb", "b", "c", b"d"], "count": [1, 2, 3, 4]}
    config = Path(dv.summary.projector(tmp_path / "logs", path, {"words/table": labels}))
    found = text_format.Parse(config.read_text(), ProjectorConfig()).embeddings[0]
    assert (found.tensor_name, list(found.tensor_shape)) == ("words/table", [4, 3])
    stored = np.fromfile(tmp_path / "logs" / found.tensor_path, "<f4")
    np.testing.assert_array_equal(stored.reshape(4, 3), table)
    lines = (tmp_path / "logs" / found.metadata_path).read_text().splitlines()
    assert lines == ["word\tcount", "a b\t1", "b\t2", "c\t3", "d\t4"]


@pytest.mark.parametrize(
    "tables, labels, message",
    [
        ({"t": np.zeros(3)}, {}, "is \\[rows, columns\\]"),
        ({"t": np.zeros((3, 2))}, {"t": ["a"]}, "has 3 rows, its labels 1"),
        ({"t": np.zeros((3, 2))}, {"u": ["a"]}, "labels of 'u' and no such table"),
        ({}, {}, "no table"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, tables, labels, message):
    with pytest.raises(dv.errors.InvalidArgumentError, match=message):
        dv.summary.projector(tmp_path / "logs", tables, labels)
    assert not (tmp_path / "logs").exists()


# -- reading what anybody may have written --------------------------------------------------------


def record(data, length=None):
    """A record of TensorFlow's, its checksums right."""

    def masked(part):
        found = google_crc32c.value(part)
        return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    head = struct.pack("<Q", len(data) if length is None else length)
    return head + masked(head) + data + masked(data)


def value_event(**fields):
    value = summary_pb2.Summary.Value(tag="t", **fields)
    event = event_pb2.Event(wall_time=1.0, step=2, summary=summary_pb2.Summary(value=[value]))
    return event.SerializeToString()


def huge_tensor():
    shape = {"dim": [{"size": 1 << 40}]}
    return value_event(tensor=tensor_pb2.TensorProto(dtype=1, tensor_shape=shape, float_val=[1.0]))


@pytest.mark.parametrize(
    "content, problem",
    [
        (record(b"\xff" * 9), "is no event"),
        (record(value_event(simple_value=1.0))[:-1] + b"\0", "checksum"),
        (record(huge_tensor()), "a tensor of shape"),
        (record(value_event(tensor=tensor_pb2.TensorProto(dtype=99))), "no event"),
    ],
)
def test_damaged_files_are_refused(tmp_path, content, problem):
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=problem) as found:
        list(tf.train.summary_iterator(str(path)))
    assert str(path) in str(found.value)


def test_a_length_that_is_merely_claimed_takes_no_memory(tmp_path):
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(record(value_event(simple_value=1.0)) + record(b"", length=1 << 45))
    list(tf.train.summary_iterator(str(path)))
    tracemalloc.start()
    try:
        (event,) = tf.train.summary_iterator(str(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert event.summary.value[0].simple_value == 1.0
    assert peak < 1 << 20


def test_every_value_is_read_back_as_it_was_given(trained):
    (path,) = glob.glob(f"{trained[0]}/events*")
    values = [v for e in tf.train.summary_iterator(path) if e.step == 1 for v in e.summary.value]
    found = {v.tag: v for v in values}
    assert found["picture/image/0"].image.colorspace == 3
    assert found["note"].tensor["values"] == ["*first*", "zweite ü"]
    assert found["note"].metadata.plugin_data.plugin_name == "text"
    assert found["numbers"].metadata.summary_description == "*two*"
    assert found["numbers"].metadata.plugin_data == SAID.plugin_data
    assert found["w"].histo.num == 3
