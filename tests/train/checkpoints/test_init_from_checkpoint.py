"""Initial values from checkpoints: by name, by variable, by scope, for parts of variables."""

import shutil

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import run


@pytest.fixture
def saved(tmp_path):
    """A checkpoint of four variables in the root and in a scope."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("a", initializer=np.float32([1, 2]))
        tf.get_variable("scope/b", initializer=np.float32([3]))
        tf.get_variable("scope/table", initializer=np.arange(12, dtype="f4").reshape(6, 2))
        tf.get_variable("scope/count", initializer=7)
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(tmp_path / "m"))


def initialized():
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return {v.op.name: sess.run(v).tolist() for v in tf.global_variables()}


@pytest.mark.parametrize("as_map", [dict, list])
def test_by_name_and_by_variable(saved, as_map):
    with tf.Graph().as_default():
        a = tf.get_variable("mine/a", [2])
        tf.get_variable("b", [1])
        twice = tf.get_variable("twice", [2])
        other = tf.get_variable("other", initializer=9.0)
        after = tf.Variable(a.initialized_value() * 10.0, name="after")
        pairs = [("a", a), ("scope/b", "b")] + ([("a", twice)] if as_map is list else [])
        tf.train.init_from_checkpoint(saved, as_map(pairs))
        found = initialized()
    assert (found["mine/a"], found["b"], found[other.op.name]) == ([1, 2], [3], 9)
    assert (found["twice"] == [1, 2]) is (as_map is list)
    assert np.shape(found[after.op.name]) == (2,)


@pytest.mark.parametrize("stored, mine", [("scope/", "new/"), ("scope/", "new"), ("scope/", "/")])
def test_by_scope(saved, stored, mine):
    prefix = "" if mine == "/" else "new/"
    with tf.Graph().as_default():
        tf.get_variable(f"{prefix}b", [1])
        tf.get_variable(f"{prefix}count", [], tf.int32)
        tf.get_variable(f"{prefix}table", [6, 2], partitioner=lambda shape, dtype: [4, 1])
        if prefix:
            tf.get_variable("newer/b", initializer=[5.0])
        if mine == "new":
            with pytest.raises(ValueError, match=r"Tensor scope/b .*not found|should map to scope"):
                tf.train.init_from_checkpoint(saved, {"scope": "new"})
            mine = "new/"
        tf.train.init_from_checkpoint(saved, {stored: mine})
        found = initialized()
    assert (found[f"{prefix}b"], found[f"{prefix}count"]) == ([3], 7)
    parts = [found[f"{prefix}table/part_{i}"] for i in range(4)]
    assert [x for part in parts for x in part] == np.arange(12.0).reshape(6, 2).tolist()
    assert found.get("newer/b", [5.0]) == [5.0]


def test_from_the_root(saved):
    with tf.Graph().as_default():
        tf.get_variable("s/a", [2])
        tf.get_variable("s/scope/b", [1])
        tf.train.init_from_checkpoint(saved, {"/": "s/"})
        assert initialized() == {"s/a": [1, 2], "s/scope/b": [3]}


@pytest.mark.parametrize("cut", ["variable", "list", "name"])
@pytest.mark.parametrize("parts", [[3, 1], [1, 2], [1, 1]])
def test_parts_of_a_variable(saved, parts, cut):
    with tf.Graph().as_default():
        table = tf.get_variable("t", [6, 2], partitioner=lambda shape, dtype: parts)
        given = {"variable": table, "list": list(table), "name": "t"}[cut]
        tf.train.init_from_checkpoint(saved, {"scope/table": given})
        whole = run(tf.convert_to_tensor(table))
    np.testing.assert_array_equal(whole, np.arange(12).reshape(6, 2))


def test_chunked_variables_and_devices(saved):
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            v = tf.get_variable("v", [6, 2], chunks=((4, 2), (1, 1)))
        tf.train.init_from_checkpoint(saved, {"scope/table": v})
        assert {op.device for op in (v.initializer, v.initial_value.op)} == {"/job:ps"}
    with tf.Graph().as_default():
        v = tf.get_variable("v", [6, 2], chunks=((4, 2), (1, 1)))
        tf.train.init_from_checkpoint(saved, {"scope/table": v})
        assert initialized()["v"] == np.arange(12).reshape(6, 2).tolist()


def test_one_error_lists_all_that_does_not_fit_and_nothing_is_changed(saved):
    with tf.Graph().as_default():
        wide = tf.get_variable("wide", [3])
        other = tf.get_variable("other", [1], tf.int32)
        fine = tf.get_variable("fine", [2])
        first = fine.initializer
        with pytest.raises(ValueError, match=r".") as caught:
            tf.train.init_from_checkpoint(
                saved, [("a", wide), ("scope/b", other), ("scope/tabel", other), ("a", fine)]
            )
        assert fine.initializer is first
    said = str(caught.value)
    assert "Shape of variable wide:0 ((3,)) doesn't match with shape of tensor a ((2,))" in said
    assert "Variable other:0 is of int32, tensor scope/b of the checkpoint of float32" in said
    assert "Tensor scope/tabel (for other:0) is not found" in said
    assert "did you mean 'scope/table'" in said


def test_an_unknown_variable_is_taken_for_a_scope(saved):
    with tf.Graph().as_default():
        tf.get_variable("kernel", [2])
        with pytest.raises(ValueError, match=r"scope only a\..*did you mean 'kernel'"):
            tf.train.init_from_checkpoint(saved, {"a": "kernal"})


def test_a_path_is_from_the_folder_of_the_program_whoever_reads_it(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default():
        a = tf.get_variable("a", [2])
        tf.train.init_from_checkpoint("m", {"a": a})
        monkeypatch.chdir("/")  # a worker begins in a folder of its own
        assert initialized()["a"] == [1, 2]


def test_eager_variables_are_set_at_once(saved):
    v = dv.Variable([0.0, 0.0], name="test_init_from_checkpoint/v")
    dv.train.init_from_checkpoint(saved, {"a": v})
    shutil.rmtree(saved)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_eager_variables_by_scope(saved):
    with dv.variable_scope("test_init_from_checkpoint"):
        table = dv.get_variable("table", [6, 2], partitioner=dv.fixed_size_partitioner(2))
        b = dv.get_variable("b", [1])
        count = dv.get_variable("count", [], dv.int32)
    dv.train.init_from_checkpoint(saved, {"scope/": "test_init_from_checkpoint/"})
    assert (b.numpy().tolist(), int(count)) == ([3.0], 7)
    parts = [part.numpy() for part in table]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(12).reshape(6, 2))
