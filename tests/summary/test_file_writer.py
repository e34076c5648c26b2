"""Event files of both formats: written, reopened and read back."""

import errno
import glob
import json
import logging
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.summary import event_files
from daskvars.summary.event_lines import FILE_VERSION


@pytest.fixture
def json_lines(monkeypatch):
    """TensorBoard is not installed."""
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    event_files._tell_once.cache_clear()


@pytest.fixture(params=["json_lines", "tfevents"])
def written_as(request):
    """Either format."""
    if request.param == "tfevents":
        pytest.importorskip("tensorboard")
    else:
        request.getfixturevalue("json_lines")
    return request.param


def scalar(tag, value):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def files(directory):
    return sorted(glob.glob(f"{directory}/events*"))


def events(directory):
    return [e for path in files(directory) for e in tf.train.summary_iterator(path)]


def test_lines_hold_time_step_tag_and_value(tmp_path, json_lines):
    with tf.Graph().as_default(), tf.Session() as session:
        both = tf.summary.merge([tf.summary.scalar("a", 1.5), tf.summary.histogram("h", [1.0])])
        with tf.summary.FileWriter(tmp_path) as writer:
            writer.add_summary(session.run(both), np.int64(7))
    (path,) = files(tmp_path)
    with open(path) as file:
        head, first, second = map(json.loads, file)
    assert head["file_version"] == FILE_VERSION
    assert (first["step"], first["tag"], first["kind"], first["value"]) == (7, "a", "scalar", 1.5)
    assert (second["tag"], second["kind"], second["value"]["num"]) == ("h", "histogram", 1.0)
    assert second["wall_time"] == first["wall_time"] >= head["wall_time"]


def test_everything_comes_back_as_it_was_added(tmp_path, written_as):
    with tf.Graph().as_default() as graph:
        tf.constant(0, name="zero")
    writer = tf.summary.FileWriter(tmp_path, graph)
    writer.add_graph(graph.as_graph_def(), 7)
    data = tf.train.export_meta_graph(graph=graph)
    writer.add_meta_graph(data, 8)
    with pytest.raises(TypeError, match="must be type MetaGraphDef"):
        writer.add_meta_graph(graph)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
    writer.add_summary(scalar("nan", np.nan), 2)
    summary = tf.Summary()
    summary.value.add(tag="x", simple_value=0.0)
    summary.value.add(tag="y", simple_value=2)
    writer.add_summary(summary, 3)
    metadata = tf.RunMetadata(num_tasks=4)
    writer.add_run_metadata(metadata, "run", 4)
    with pytest.raises(ValueError, match="already used"):
        writer.add_run_metadata(metadata, "run", 5)
    writer.add_event(tf.Event(wall_time=12.5, step=6, summary=scalar("late", 1.0)))
    writer.close()
    _, drawn, again, meta, started, nan, both, run, *words, late = events(tmp_path)
    assert tf.GraphDef.FromString(drawn.graph_def) == graph.as_graph_def()
    assert (again.step, again.graph_def) == (7, drawn.graph_def)
    assert (meta.step, tf.MetaGraphDef.FromString(meta.meta_graph_def)) == (8, data)
    assert (started.step, started.session_log.status) == (1, tf.SessionLog.START)
    assert np.isnan(nan.summary.value[0].simple_value)
    assert [(v.tag, v.simple_value) for v in both.summary.value] == [("x", 0.0), ("y", 2.0)]
    found = tf.RunMetadata.FromString(run.tagged_run_metadata.run_metadata)
    if written_as == "json_lines":
        assert found == metadata and not words
    else:  # TensorBoard's record has the steps alone: the rest is text
        assert words[0].summary.value[0].tensor["values"] == ["    num_tasks: 4"]
    assert (late.wall_time, late.step) == (12.5, 6)


def test_events_wait_for_the_queue_or_a_flush(tmp_path, json_lines):
    writer = tf.summary.FileWriter(tmp_path, max_queue=2)
    writer.add_summary(scalar("a", 1), 1)
    assert len(events(tmp_path)) == 1
    writer.add_summary(scalar("a", 2), 2)
    assert len(events(tmp_path)) == 3
    writer.add_summary(scalar("a", 3), 3)
    writer.flush()
    assert [e.step for e in events(tmp_path)[1:]] == [1, 2, 3]
    writer.close()


def test_a_writer_that_nobody_closed_loses_nothing(tmp_path, written_as):
    writer = tf.summary.FileWriter(tmp_path)
    for step in range(5):
        writer.add_summary(scalar("a", 1.0), step)
    del writer
    assert [e.step for e in events(tmp_path) if e.summary.value] == [0, 1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_tensorboards_thread_cannot_write_is_told_at_the_latest_by_close(tmp_path):
    pytest.importorskip("tensorboard")
    writer = tf.summary.FileWriter(tmp_path)
    writer.flush()
    full = OSError(errno.ENOSPC, "No space left on device")
    writer._file._writer._async_writer._writer.write = Mock(side_effect=full)
    with pytest.raises(tf.OpError, match=rf"{tmp_path}; No space left"):
        writer.add_summary(scalar("a", 1.0), 1)
        writer.close()


def test_an_end_that_is_not_complete_is_left_out(tmp_path, written_as):
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(scalar("a", 1), 1)
    (path,) = files(tmp_path)
    whole = Path(path).read_bytes()
    for end in (3, 13, 30):
        with open(path, "wb") as file:
            file.write(whole + whole[:end])
        assert len(events(tmp_path)) == 2


def test_a_closed_writer_drops_events_until_it_is_reopened(tmp_path, written_as):
    writer = tf.summary.FileWriter(tmp_path, filename_suffix=".mine")
    writer.close()
    with pytest.warns(UserWarning, match="reopen"):
        writer.add_summary(scalar("a", 1), 1)
    writer.close()
    writer.reopen()
    writer.reopen()
    writer.add_summary(scalar("a", 2), 2)
    writer.close()
    assert len(files(tmp_path)) == 2
    assert all(path.endswith(".mine") for path in files(tmp_path))
    assert [e.step for e in events(tmp_path) if e.HasField("summary")] == [2]


def test_the_log_says_once_that_tensorboard_is_missing(tmp_path, json_lines, caplog):
    with caplog.at_level(logging.WARNING, "daskvars"):
        for _ in range(2):
            tf.summary.FileWriter(tmp_path).close()
    (record,) = caplog.records
    assert "pip install 'daskvars[tensorboard]'" in record.getMessage()


def test_what_tensorboard_wrote_needs_it_to_be_read(tmp_path, request):
    pytest.importorskip("tensorboard")
    tf.summary.FileWriter(tmp_path).close()
    request.getfixturevalue("json_lines")
    with pytest.raises(tf.errors.UnimplementedError, match=r"daskvars\[tensorboard"):
        events(tmp_path)


def test_eager_summaries_are_written_as_they_are(tmp_path, written_as):
    with dv.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(dv.summary.scalar("loss", dv.constant(0.5)), 1)
    value = events(tmp_path)[-1].summary.value[0]
    assert (value.tag, value.simple_value) == ("loss", 0.5)


@pytest.mark.parametrize(
    "arguments, error", [({"graph": "text"}, TypeError), ({"graph": 1, "graph_def": 2}, ValueError)]
)
def test_what_is_no_graph(tmp_path, arguments, error):
    with pytest.raises(error):
        tf.summary.FileWriter(tmp_path, **arguments)


def test_writers_are_kept_by_directory(tmp_path):
    first, other = (tf.summary.FileWriterCache.get(str(tmp_path / d)) for d in "ab")
    assert tf.summary.FileWriterCache.get(str(tmp_path / "a")) is first
    assert other is not first
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path / "a")) is not first
    tf.summary.FileWriterCache.clear()
