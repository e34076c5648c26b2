"""Saving and restoring: what is saved under which name, strictly, in any layout and dtype."""

import errno
import os
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zarr

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError, RestoreError, StoreError
from daskvars.state.stores import disk
from tests.at_once import at_once

pytestmark = pytest.mark.usefixtures("both_thresholds")


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()
    yield
    tf.reset_default_graph()


def session():
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return sess


def model(num_layers, slots=True, **kwargs):
    """Build layers with a slot each, as an optimizer has them."""
    variables = []
    for i in range(num_layers):
        w = tf.get_variable(f"layer{i}/w", initializer=np.full((6, 4), i, "f4"), **kwargs)
        variables.append(w)
        if slots:
            slot = np.arange(24, dtype="f4").reshape(6, 4) + i
            variables.append(tf.get_variable(f"layer{i}/w/Adam", initializer=slot, **kwargs))
    return variables


def test_a_larger_model_is_refused_with_all_names_and_nothing_is_assigned(tmp_path):
    model(12)
    with session() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default():
        variables = model(16)
        with session() as sess:
            sess.run([v.assign(v * 0.0 - 7.0) for v in variables])
            with pytest.raises(tf.errors.NotFoundError) as caught:
                tf.train.Saver().restore(sess, path)
            missing = {f"layer{i}/w{end}" for i in range(12, 16) for end in ("", "/Adam")}
            assert set(caught.value.missing) == missing
            assert all(np.all(value == -7.0) for value in sess.run(variables))


def test_one_error_lists_all_differences_with_near_matches(tmp_path):
    tf.get_variable("kernel", [2])
    tf.get_variable("shape", [2])
    tf.get_variable("dtype", [2])
    with session() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default():
        tf.get_variable("kernal", [2])
        tf.get_variable("shape", [3])
        tf.get_variable("dtype", [2], tf.int32)
        with session() as sess, pytest.raises(RestoreError) as caught:
            tf.train.Saver().restore(sess, path)
    error = caught.value
    assert (error.missing, error.unexpected) == (("kernal",), ("kernel",))
    assert error.shapes == (("shape", (3,), (2,)),)
    assert error.dtypes == (("dtype", "int32", "float32"),)
    assert "did you mean 'kernel'" in str(error)


VALUES = {
    "string": np.array([b"a", b"", b"\xff\0"], object),
    "bool": np.array([True, False]),
    "complex64": np.complex64([1 + 2j, -0j]),
    "bfloat16": np.arange(3).astype("f4"),
    "qint8": np.array([-1, 2], "i1"),
    "float64": np.float64(np.pi),
    "uint16": np.uint16([[1], [2]]),
    "int64": np.arange(0, dtype="i8"),
    "float16": np.float16([np.inf, np.nan]),
}


def test_every_dtype_survives(tmp_path):
    for name, value in VALUES.items():
        dtype = tf.as_dtype(name)
        tf.Variable(tf.constant(value.tolist(), dtype, value.shape), name=name)
    with session() as sess:
        before = sess.run(tf.global_variables())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        fresh = tf.Session()
        tf.train.Saver().restore(fresh, path)
        for a, b in zip(before, fresh.run(tf.global_variables()), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
        for variable, value in zip(tf.global_variables(), before, strict=True):
            found = tf.train.load_variable(path, variable.op.name)
            np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("written", [None, ((4, 2), (4,)), ((2, 2, 2), (1, 3))])
@pytest.mark.parametrize("read", [None, ((1, 5), (2, 2)), ((6,), (1, 1, 2))])
def test_any_layout_is_restored_into_any_other_slots_included(tmp_path, written, read):
    model(2, chunks=written)
    with session() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        expected = sess.run(tf.global_variables())
    with tf.Graph().as_default(), tf.Session() as sess:
        model(2, chunks=read)
        tf.train.Saver().restore(sess, path)
        for a, b in zip(expected, sess.run(tf.global_variables()), strict=True):
            np.testing.assert_array_equal(a, b)


def partitioned(count, axis=0, **kwargs):
    parts = [1, 1]
    parts[axis] = count
    return tf.get_variable(
        "table",
        [7, 4],
        initializer=tf.random_normal_initializer(seed=1),
        partitioner=lambda shape, dtype: parts,
        **kwargs,
    )


@pytest.mark.parametrize("count, axis, chunks", [(3, 0, None), (2, 1, None), (4, 0, (1, 2))])
@pytest.mark.parametrize("other", [1, 2, 5])
def test_a_partitioned_variable_is_one_array(tmp_path, count, axis, chunks, other):
    table = partitioned(count, axis, chunks=chunks)
    with session() as sess:
        whole = sess.run(tf.convert_to_tensor(table))
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        np.testing.assert_array_equal(zarr.open_group(path)["table"][:], whole)
        by_ops = tf.train.Saver({"table": table}).saver_def
        sess.run(by_ops.save_tensor_name, {by_ops.filename_tensor_name: path + "-op"})
        np.testing.assert_array_equal(tf.train.load_variable(path + "-op", "table"), whole)
    with tf.Graph().as_default(), tf.Session() as sess:
        again = partitioned(other)
        saver = tf.train.Saver([again])
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(tf.convert_to_tensor(again)), whole)
        names = saver.saver_def
        sess.run([v.assign(v * 0.0) for v in again])
        sess.run(names.restore_op_name, {names.filename_tensor_name: path})
        np.testing.assert_array_equal(sess.run(tf.convert_to_tensor(again)), whole)


def test_parts_whose_chunks_do_not_line_up_are_saved_all_the_same(tmp_path):
    table = partitioned(2)
    table._get_variable_list()[0].handle.op.attrs["chunks"] = ((4,), (1, 3))
    with session() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        whole = sess.run(tf.convert_to_tensor(table))
    np.testing.assert_array_equal(tf.train.load_variable(path, "table"), whole)


def test_of_a_partitioned_variable_a_difference_is_told_once(tmp_path):
    partitioned(2)
    with session() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("table", [8, 4], tf.float64, partitioner=lambda shape, dtype: [2, 1])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.train.Saver().restore(sess, path)
    assert [*caught.value.shapes] == [("table", (8, 4), (7, 4))]
    assert [*caught.value.dtypes] == [("table", "float64", "float32")]


def test_some_parts_do_not_make_the_whole(tmp_path):
    table = partitioned(3)
    with session() as sess:
        saver = tf.train.Saver(table._get_variable_list()[:2])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"'table'.*give all of its parts"):
            saver.save(sess, str(tmp_path / "m"))


def test_restored_in_another_shape_of_as_many_elements(tmp_path):
    tf.Variable(np.arange(6.0), name="v")
    with session() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.zeros((2, 3)), name="v")
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.train.Saver().restore(sess, path)
        tf.train.Saver(reshape=True).restore(sess, path)
        assert sess.run(v).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_variable_of_no_fixed_shape(tmp_path):
    v = tf.Variable(tf.placeholder(tf.float32, name="first"), validate_shape=False, name="v")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer, {"first:0": [1.0, 2.0]})
        path = saver.save(sess, str(tmp_path / "m"))
    with tf.Session() as sess:
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda v, w: [v, w, v], ValueError, "At least two variables have the same name: v"),
        (lambda v, w: {"a": v, "b": v}, ValueError, "restored with two names: a and b"),
        (lambda v, w: [tf.constant(1.0)], TypeError, "Variable to save is not a Variable"),
        (lambda v, w: {"a": 7}, TypeError, "Variable to save is not a Variable: 7"),
        (lambda v, w: {1: v}, TypeError, "Names to save variables under are strings, got 1"),
        (lambda v, w: v.op.name, TypeError, "passed in a dict or a list"),
        (lambda v, w: [], ValueError, "No variables to save"),
    ],
)
def test_what_cannot_be_saved(make, error, message):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    with pytest.raises(error, match=message):
        tf.train.Saver(make(v, w))


def test_handles_and_nested_lists_are_variables_too(tmp_path):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    with session() as sess:
        path = tf.train.Saver([v.op.outputs[0], [[w]]]).save(sess, str(tmp_path / "m"))
    assert [name for name, _ in tf.train.list_variables(path)] == ["v", "w"]


def test_the_arguments_of_save_are_checked(tmp_path):
    tf.Variable(1.0)
    saver, path = tf.train.Saver(), str(tmp_path / "m")
    with session() as sess:
        with pytest.raises(ValueError, match="must not contain path components"):
            saver.save(sess, path, latest_filename="a/b")
        with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
            saver.save(sess, str(tmp_path / "checkpoint"))
        with pytest.raises(TypeError, match="'sess' must be a Session; 7"):
            saver.save(7, path)
        with pytest.raises(TypeError, match="global_step must be an integer"):
            saver.save(sess, path, global_step="abc:0 def")
        (tmp_path / "file").write_text("")
        with pytest.raises(ValueError, match="Parent directory of"):
            saver.save(sess, str(tmp_path / "file" / "m"))
    assert os.listdir(tmp_path) == ["file"]


def test_deferred_and_empty_savers(tmp_path):
    saver = tf.train.Saver(defer_build=True)
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tf.train.Saver([tf.Variable(1.0)], defer_build=True)
    with session() as sess:
        with pytest.raises(RuntimeError, match=r"`build\(\)` should be called"):
            saver.save(sess, str(tmp_path / "m"))
        saver.build()
        path = saver.save(sess, str(tmp_path / "m"))
        saver.restore(sess, path)
    with tf.Graph().as_default():
        empty = tf.train.Saver(allow_empty=True)
        tf.constant(1.0)
        with tf.Session() as sess:
            assert empty.save(sess, str(tmp_path / "none")) is None
            empty.restore(sess, "nowhere")
    assert not (tmp_path / "none").exists()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="chunk by chunk"):
        tf.train.Saver(builder=object())


def test_the_step_may_be_a_number_a_variable_a_tensor_or_its_name(tmp_path):
    step = tf.Variable(7, name="step")
    with session() as sess:
        saver = tf.train.Saver(pad_step_number=True)
        for given in (7, np.int64(7), step, step.value(), "step:0"):
            assert saver.save(sess, str(tmp_path / "m"), given).endswith("m-00000007")


def test_saver_defs_find_their_operations_again(tmp_path):
    v = tf.Variable(1.0, name="v")
    with tf.name_scope("outer"):
        saver = tf.train.Saver({"kept": v}, max_to_keep=3)
    with session() as sess:
        path = saver.save(sess, str(tmp_path / "m"))
        saver.restore(sess, path)
    names = saver.to_proto("outer")
    assert names.save_tensor_name == "save/control_dependency:0"
    assert saver.to_proto("other") is None
    again = tf.train.Saver.from_proto(names, "outer")
    assert (again.as_saver_def(), names.max_to_keep) == (saver.as_saver_def(), 3)
    with tf.Session() as sess:
        again.restore(sess, path)
        assert sess.run(v) == 1.0
    with pytest.raises(ValueError, match="saver_def must be a SaverDef"):
        tf.train.Saver(saver_def=7)
    with pytest.raises(ValueError, match="must specify the save_tensor_name"):
        tf.train.Saver(saver_def=tf.train.SaverDef())


def names_of(paths):
    return [os.path.basename(path) for path in paths]


def test_old_checkpoints_go_with_their_graphs(tmp_path, monkeypatch):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=2)
    monkeypatch.chdir(tmp_path)
    with session() as sess:
        for step in (1, 2, 3):
            saver.save(sess, str(tmp_path / "m"), step)
        for path in ("./m", "m"):  # the same place
            saver.save(sess, path, 2)
    assert names_of(saver.last_checkpoints) == ["m-3", "m-2"]
    left = {p.name for p in tmp_path.iterdir()}
    assert left >= {"m-2", "m-2.meta", "m-3", "m-3.meta", "checkpoint"}
    assert "m-1.meta" not in left
    assert not tf.train.checkpoint_exists(str(tmp_path / "m-1"))


def test_a_checkpoint_counts_whose_graph_could_not_be_written(tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=1)
    (tmp_path / "m-2.meta").mkdir()
    with session() as sess:
        saver.save(sess, str(tmp_path / "m"), 1)
        with pytest.raises(StoreError, match=r"m-2\.meta"):
            saver.save(sess, str(tmp_path / "m"), 2)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-2")
    assert not tf.train.checkpoint_exists(str(tmp_path / "m-1"))


def test_checkpoints_known_from_before_a_restart_are_kept_count_of(tmp_path):
    tf.Variable(1.0)
    with session() as sess:
        first = tf.train.Saver()
        paths = [first.save(sess, str(tmp_path / "m"), step) for step in (1, 2)]
        again = tf.train.Saver(max_to_keep=2)
        again.recover_last_checkpoints([*paths, str(tmp_path / "gone")])
        assert again.last_checkpoints == paths
        again.save(sess, str(tmp_path / "m"), 3)
        assert not tf.train.checkpoint_exists(paths[0])
        for_ever = tf.train.Saver(max_to_keep=1)
        for_ever.set_last_checkpoints([paths[1]])
        for_ever.save(sess, str(tmp_path / "m"), 4)
        assert tf.train.checkpoint_exists(paths[1])
        with pytest.raises(AssertionError):
            for_ever.set_last_checkpoints_with_time((paths[1], 1.0))


def test_one_is_kept_for_ever_each_so_many_hours(tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    with session() as sess:
        paths = [saver.save(sess, str(tmp_path / "m"), step) for step in range(3)]
    assert all(map(tf.train.checkpoint_exists, paths))


def test_hours_go_on_when_the_clock_is_set_back(tmp_path, monkeypatch):
    tf.Variable(1.0)
    clock = SimpleNamespace(hours=1000.0)
    monkeypatch.setattr("time.time", lambda: clock.hours * 3600)
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2.0)
    paths = []
    with session() as sess:
        for clock.hours in (1001.0, 10.0, 11.0, 12.5, 14.0, 15.0):
            paths.append(saver.save(sess, str(tmp_path / "m"), len(paths)))
    kept = [tf.train.checkpoint_exists(path) for path in paths]
    assert kept == [True, False, False, False, True, True]


def test_a_copied_directory_is_used_on_its_own(tmp_path):
    v = tf.Variable(1.0, name="v")
    run, copy = str(tmp_path / "run"), str(tmp_path / "copy")
    with session() as sess:
        saver = tf.train.Saver(save_relative_paths=True, max_to_keep=2)
        for step in (1, 2):
            saver.save(sess, os.path.join(run, "m"), step)
        shutil.copytree(run, copy)
        state = tf.train.get_checkpoint_state(copy)
        assert state.all_model_checkpoint_paths == [os.path.join(copy, f"m-{i}") for i in (1, 2)]
        again = tf.train.Saver(save_relative_paths=True, max_to_keep=1)
        again.recover_last_checkpoints(state.all_model_checkpoint_paths)
        again.save(sess, os.path.join(copy, "m"), 3)
        shutil.rmtree(copy)
        for step in (1, 2):
            saver.restore(sess, os.path.join(run, f"m-{step}"))
        assert sess.run(v) == 1.0


@pytest.mark.parametrize("scheme", ["file://", "memory://"])
def test_paths_may_be_urls(tmp_path, monkeypatch, scheme):
    monkeypatch.chdir(tmp_path)
    v = tf.Variable(1.0, name="v")
    run = f"{scheme}{tmp_path}/run"
    with session() as sess:
        saver = tf.train.Saver(max_to_keep=1)
        paths = [saver.save(sess, f"{run}/m", step) for step in (1, 2)]
        assert tf.train.latest_checkpoint(run) == paths[1]
        assert not tf.train.checkpoint_exists(paths[0])
        sess.run(v.assign(5.0))
        saver.restore(sess, paths[1])
        assert sess.run(v) == 1.0
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(paths[1] + ".meta").restore(sess, paths[1])
        with pytest.raises(OSError, match="does not exist"):
            tf.train.import_meta_graph(paths[0] + ".meta")
    assert {p.name for p in tmp_path.iterdir()} <= {"run"}, "nothing beside it"


def test_a_file_by_its_url_is_found_by_its_path(tmp_path):
    tf.Variable(1.0, name="v")
    with session() as sess:
        for relative in (False, True):
            run = tmp_path / f"run {relative}"
            saver = tf.train.Saver(save_relative_paths=relative)
            saver.save(sess, f"FILE://localhost{run}/m", 1)
            saver.restore(sess, tf.train.latest_checkpoint(str(run)))
            saver.restore(sess, tf.train.latest_checkpoint(f"file://{run}"))
            assert relative == (b"localhost" not in (run / "checkpoint").read_bytes())


@pytest.mark.parametrize("path", [Path("s3://bucket/run"), "file:/run", "memory:/run/m"])
def test_what_pathlib_made_of_a_url_is_no_folder(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    tf.Variable(1.0, name="v")
    with session() as sess:
        saver = tf.train.Saver()
        calls = partial(saver.save, sess, path), partial(tf.train.latest_checkpoint, path)
        for call in (*calls, partial(saver.restore, sess, path), partial(tf.Session, store=path)):
            with pytest.raises(InvalidArgumentError, match=r"is no URL.*Give URLs as text"):
                call()
        saver.save(sess, f"./{path}")  # it is meant
    assert [p.name for p in tmp_path.iterdir()] == [str(path).partition("/")[0]]


def test_a_path_that_is_none_is_said_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tf.Variable(1.0, name="v")
    with session() as sess:
        with pytest.raises(ValueError, match="save_path is empty"):
            tf.train.Saver().save(sess, "")
        with pytest.raises(InvalidArgumentError, match="null character"):
            tf.train.Saver().save(sess, "a\0b")
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_may_not_be_read_is_not_a_fresh_start(tmp_path, monkeypatch):
    tf.Variable(1.0, name="v")
    with session() as sess:
        saver = tf.train.Saver()
        path = saver.save(sess, str(tmp_path / "m"), 1)

        def refuse(place, *_):
            raise PermissionError(errno.EACCES, "Permission denied", place)

        monkeypatch.setattr(disk, "open_plain", refuse)
        latest = partial(tf.train.latest_checkpoint, str(tmp_path))
        there = partial(tf.train.checkpoint_exists, path)
        for call in latest, there, partial(saver.restore, sess, path):
            with pytest.raises(StoreError, match=r"cannot read '.*': Permission denied"):
                call()


def test_saving_adds_no_operations_and_works_on_a_finalized_graph(tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver()
    with session() as sess:
        sess.graph.finalize()
        saver.restore(sess, saver.save(sess, str(tmp_path / "m")))


def test_eager_variables_have_a_saver_without_a_graph(tmp_path):
    name = f"test_saver/{tmp_path.name}"  # eager names are unique in the whole process
    v = dv.Variable([1.0, 2.0], name=name)
    saver = dv.train.Saver([v])
    path = saver.save(None, str(tmp_path / "m"))
    v.assign([5.0, 6.0])
    saver.restore(None, path)
    assert v.numpy().tolist() == [1.0, 2.0]
    assert not os.path.exists(path + ".meta")
    assert dv.train.list_variables(path) == [(name, [2])]


def test_a_session_s_store_is_restored_at_its_head(tmp_path):
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session(store=str(tmp_path / "run.zarr")) as sess:
        for value in (2.0, 3.0):
            sess.run(v.assign(value))
            sess.seal()
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, str(tmp_path / "run.zarr"))
        assert sess.run(v) == 3.0


def test_threads_that_save_at_one_path_take_turns(tmp_path):
    """As a Supervisor and its program do: the last one stands, as in TensorFlow."""
    variables = model(4)
    saver, path = tf.train.Saver(), str(tmp_path / "m")
    with session() as sess:

        def save():
            for _ in range(5):
                assert saver.save(sess, path) == path

        at_once(save, save, save)
        expected = sess.run(variables)
        saver.restore(sess, path)
        for value, wanted in zip(sess.run(variables), expected, strict=True):
            np.testing.assert_array_equal(value, wanted)

        def save_steps(steps):
            for step in steps:
                saver.save(sess, path, global_step=step)

        at_once(*(partial(save_steps, range(i, 12, 3)) for i in range(3)))
        assert len(saver.last_checkpoints) == 5
        assert all(map(tf.train.checkpoint_exists, saver.last_checkpoints))
