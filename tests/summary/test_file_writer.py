"""Event files: one line of JSON per value, written, reopened and read back."""

import glob
import json

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.summary.file_writer import FILE_VERSION


def scalar(tag, value):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def files(directory):
    return sorted(glob.glob(f"{directory}/events*"))


def events(directory):
    return [e for path in files(directory) for e in tf.train.summary_iterator(path)]


def test_lines_hold_time_step_tag_and_value(tmp_path):
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


def test_everything_comes_back_as_it_was_added(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.constant(0, name="zero")
    writer = tf.summary.FileWriter(tmp_path, graph)
    writer.add_graph(graph.as_graph_def(), 7)
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
    _, drawn, again, started, nan, both, run, late = events(tmp_path)
    assert [node["name"] for node in drawn.graph_def] == ["zero"]
    assert (again.step, again.graph_def) == (7, drawn.graph_def)
    assert (started.step, started.session_log.status) == (1, tf.SessionLog.START)
    assert np.isnan(nan.summary.value[0].simple_value)
    assert [(v.tag, v.simple_value) for v in both.summary.value] == [("x", 0.0), ("y", 2.0)]
    assert tf.RunMetadata.FromString(run.tagged_run_metadata.run_metadata) == metadata
    assert (late.wall_time, late.step) == (12.5, 6)


def test_events_wait_for_the_queue_or_a_flush(tmp_path):
    writer = tf.summary.FileWriter(tmp_path, max_queue=2)
    writer.add_summary(scalar("a", 1), 1)
    assert len(events(tmp_path)) == 1
    writer.add_summary(scalar("a", 2), 2)
    assert len(events(tmp_path)) == 3
    writer.add_summary(scalar("a", 3), 3)
    writer.flush()
    assert [e.step for e in events(tmp_path)[1:]] == [1, 2, 3]
    writer.close()


def test_a_line_that_is_not_complete_is_left_out(tmp_path):
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(scalar("a", 1), 1)
    (path,) = files(tmp_path)
    with open(path, "a") as file:
        file.write('{"wall_time": 1.0, "st')
    assert len(events(tmp_path)) == 2


def test_a_closed_writer_drops_events_until_it_is_reopened(tmp_path):
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
