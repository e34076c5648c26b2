"""The record of a directory, and reading checkpoints without a graph."""

import json
import os
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.inspect_checkpoint import print_tensors_in_checkpoint_file
from daskvars.state import SnapshotWriter, VariableRecord, open_zarr_store
from daskvars.state.format import snapshot
from daskvars.state.format.manifest import Manifest
from daskvars.state.stores.objects import child_names


@pytest.fixture
def saved(tmp_path):
    """A directory with one checkpoint of two variables."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([[1.0, 2.0]], name="scope/w")
        tf.Variable([b"x", b"y"], name="texts")
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(tmp_path / "m"), 3)


def test_the_record_is_text_a_field_a_line(tmp_path):
    odd = 'a "quoted" \\ näme'
    tf.train.update_checkpoint_state(str(tmp_path), odd, ["first", odd], None, [1.5, 2.0])
    assert (tmp_path / "checkpoint").read_text().splitlines() == [
        'model_checkpoint_path: "a \\"quoted\\" \\\\ näme"',
        'all_model_checkpoint_paths: "first"',
        'all_model_checkpoint_paths: "a \\"quoted\\" \\\\ näme"',
        "all_model_checkpoint_timestamps: 1.5",
        "all_model_checkpoint_timestamps: 2.0",
    ]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == str(tmp_path / odd)
    assert state.all_model_checkpoint_paths == [str(tmp_path / "first"), str(tmp_path / odd)]
    assert state.all_model_checkpoint_timestamps == [1.5, 2.0]


def test_a_record_written_by_hand_is_read(tmp_path):
    (tmp_path / "other").write_text('\n  model_checkpoint_path:"/abs/m-1" \n')
    state = tf.train.get_checkpoint_state(str(tmp_path), "other")
    assert (state.model_checkpoint_path, state.all_model_checkpoint_paths) == ("/abs/m-1", [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        'model_checkpoint_path: "a',
        "model_checkpoint_path: 7",
        'unknown: "a"',
        'all_model_checkpoint_paths: "a"',
        "all_model_checkpoint_timestamps: x",
    ],
)
def test_a_damaged_record_is_an_error_not_a_fresh_start(tmp_path, text):
    (tmp_path / "checkpoint").write_text(text)
    with pytest.raises(ValueError, match=r"Invalid checkpoint state loaded from .*Remove it"):
        tf.train.latest_checkpoint(str(tmp_path))


def test_paths_under_a_relative_directory_are_relative_to_it():
    made = tf.train.generate_checkpoint_state_proto("train", os.path.join("train", "m-0"), ["x/m"])
    assert made.model_checkpoint_path == "m-0"
    assert made.all_model_checkpoint_paths == [os.path.join("..", "x", "m"), "m-0"]
    made = tf.train.generate_checkpoint_state_proto("/train", "/train/m-0", None)
    assert made.all_model_checkpoint_paths == ["/train/m-0"]
    with pytest.raises(ValueError, match="timestamps, if provided, must match"):
        tf.train.generate_checkpoint_state_proto("/train", "/train/m-0", ["a"], [1.0, 2.0])


def test_the_record_does_not_overwrite_a_checkpoint(tmp_path):
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))
    assert tf.train.get_checkpoint_state(str(tmp_path / "nosuch")) is None


def test_a_reader_gives_names_shapes_dtypes_and_values(saved):
    reader = tf.train.load_checkpoint(saved)
    assert reader.get_variable_to_shape_map() == {"scope/w": [1, 2], "texts": [2]}
    assert reader.get_variable_to_dtype_map() == {"scope/w": tf.float32, "texts": tf.string}
    assert reader.has_tensor("texts")
    assert not reader.has_tensor("scope")
    assert reader.get_tensor("texts").tolist() == [b"x", b"y"]
    assert reader.debug_string() == b"scope/w (DT_FLOAT) [1,2]\ntexts (DT_STRING) [2]"
    with pytest.raises(tf.errors.NotFoundError, match=r"Key text .*did you mean 'texts'\?"):
        reader.get_tensor("text")


def test_all_values_of_a_reader_are_of_one_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saver = dv.train.Saver({"a": dv.Variable(1.0), "b": dv.Variable(1.0)})
    saver.save(None, "m")
    first = tf.train.load_checkpoint("m")
    monkeypatch.chdir("/")
    assert first["a"] == 1
    saver.save(None, str(tmp_path / "m"))
    second = tf.train.load_checkpoint(str(tmp_path / "m"))
    with pytest.raises(tf.errors.AbortedError, match="Make a new reader"):
        first.get_tensor("b")
    tf.train.remove_checkpoint(str(tmp_path / "m"))
    with pytest.raises(tf.errors.AbortedError, match="'a' with it: another was saved there, or"):
        second.get_tensor("a")


def test_a_directory_stands_for_its_newest_checkpoint(saved):
    directory = os.path.dirname(saved)
    assert tf.train.list_variables(directory) == [("scope/w", [1, 2]), ("texts", [2])]
    np.testing.assert_array_equal(tf.train.load_variable(directory, "scope/w:0"), [[1, 2]])
    tf.train.remove_checkpoint(saved)
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file or checkpoints"):
        tf.train.load_checkpoint(directory)
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for"):
        tf.train.NewCheckpointReader(saved)


def test_only_a_whole_checkpoint_is_restored(saved):
    assert tf.train.checkpoint_exists(saved)
    assert tf.train.checkpoint_exists(saved + ".meta"), "a file of that name, as TensorFlow has it"
    assert not tf.train.checkpoint_exists(os.path.dirname(saved))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([[1.0, 2.0]], name="scope/w")
        with pytest.raises(ValueError, match="is not a valid checkpoint"):
            tf.train.Saver().restore(sess, saved + ".meta")


def test_whether_a_checkpoint_is_there_is_one_document(saved, monkeypatch, caplog):
    monkeypatch.setattr(Manifest, "from_json", None)  # to call it would be a TypeError
    assert tf.train.checkpoint_exists(saved)
    assert tf.train.latest_checkpoint(os.path.dirname(saved)) == saved
    document = json.loads(Path(saved, "zarr.json").read_text())
    document["attributes"]["daskvars_snapshot"]["complete"] = False
    Path(saved, "zarr.json").write_text(json.dumps(document))
    assert not tf.train.checkpoint_exists(saved)
    assert tf.train.latest_checkpoint(os.path.dirname(saved)) is None
    assert f"Couldn't match files for checkpoint {saved}" in caplog.text


def test_times_and_removal(saved, tmp_path):
    (time,) = tf.train.get_checkpoint_mtimes([saved, saved + "-gone"])
    assert time == pytest.approx(os.stat(saved + ".meta").st_mtime, abs=60)
    (tmp_path / "m-3" / "mine.txt").write_text("stays")
    tf.train.remove_checkpoint(saved)
    tf.train.remove_checkpoint(saved)
    assert not os.path.exists(saved + ".meta")
    assert [p.name for p in (tmp_path / "m-3").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_what_killed_processes_left_goes_with_the_next_save(tmp_path, monkeypatch, is_on_disk):
    where = str(tmp_path) if is_on_disk else "memory://killed"
    store, variables = open_zarr_store(where)[0], {"w": dv.Variable(1.0)}
    killed = Mock(side_effect=KeyboardInterrupt)

    def save(step):
        return dv.train.Saver(variables).save(None, f"{where}/m", step)

    def begun(name):
        writer = SnapshotWriter(store, name)
        writer.declare([VariableRecord("w", "float32", (), ())])
        writer.write_chunk("w", (), np.float32(1))
        return writer

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        deleted = save(1)
        patch.setattr(snapshot, "sweep", killed)
        tf.train.remove_checkpoint(deleted)
    for name in "m-2", "n-2", "m-x":
        begun(name)
    if is_on_disk:
        (tmp_path / f"checkpoint.{'0' * 32}.locked").touch()
    with begun("m-3").alone():  # whose writer lives
        save(4)
    others = {"checkpoint", "n-2", "m-x", "m-4"}
    # Where there are no locks, who had begun to write may be writing still.
    assert set(child_names(store, "")) == others | ({"m-3"} if is_on_disk else {"m-2", "m-3"})
    save(5)
    assert ("m-3" in child_names(store, "")) != is_on_disk


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (("texts", False), ["tensor_name:  texts", "[b'x' b'y']"]),
        (("", True), ["tensor_name:  scope/w", "[[1. 2.]]", "tensor_name:  texts", "[b'x' b'y']"]),
        (("", False, True), ["tensor_name:  scope/w", "tensor_name:  texts"]),
        (("", False), ["scope/w (DT_FLOAT) [1,2]", "texts (DT_STRING) [2]"]),
    ],
)
def test_printing_tensors(saved, capsys, arguments, expected):
    print_tensors_in_checkpoint_file(saved, *arguments)
    assert capsys.readouterr().out.splitlines() == [*expected, "# Total number of params: 4"]


def test_printing_counts_what_is_not_excluded(saved, capsys):
    print_tensors_in_checkpoint_file(saved, "", False, True, "scope")
    assert "# Total number of params: 2 (excluding scope)" in capsys.readouterr().out
    with pytest.raises(tf.errors.NotFoundError, match="texts"):
        print_tensors_in_checkpoint_file(saved, "text", False)


def test_new_checkpoints_one_after_the_other(saved):
    directory = os.path.dirname(saved)
    found = tf.train.checkpoints_iterator(directory, timeout=0)
    assert next(found) == saved
    newer = directory + "/m-4"
    os.rename(saved, newer)
    tf.train.update_checkpoint_state(directory, newer)
    assert list(found) == [newer]
    answers = iter([False, False, True])
    ended = tf.train.checkpoints_iterator(directory + "/none", 0, 0, lambda: next(answers))
    assert list(ended) == []
    assert next(answers, None) is None


@pytest.mark.parametrize("relative", [False, True])
def test_the_record_has_when_one_was_last_kept(tmp_path, relative):
    path = str(tmp_path / "m-1")
    tf.train.update_checkpoint_state(
        str(tmp_path), path, [path], None, [2.5], 1.5, save_relative_paths=relative
    )
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert (state.last_preserved_timestamp, state.model_checkpoint_path) == (1.5, path)
