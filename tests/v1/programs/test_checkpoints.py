"""Savers as programs use them: what is saved under which name, what is kept, what goes wrong."""

import os

import numpy as np
import pytest

import daskvars.v1 as tf


def names(path):
    return [name for name, _ in tf.train.list_variables(path)]


def test_saving_returns_the_path_and_overwrites_what_is_there(tmp_path, initialized):
    v = tf.Variable([1.0], name="v")
    saver = tf.train.Saver()
    session, path = initialized(), str(tmp_path / "new" / "model.ckpt")
    assert not tf.train.checkpoint_exists(path)
    for value in (1.0, 2.0):
        session.run(v.assign([value]))
        assert saver.save(session, path) == path and tf.train.checkpoint_exists(path)
    session.run(v.assign([3.0]))
    saver.restore(session, path)
    assert session.run(v).tolist() == [2.0]


def test_the_names_in_a_checkpoint(tmp_path, initialized):
    with tf.variable_scope("foo"):
        tf.get_variable("v", [1])
    for _ in range(2):
        x = tf.Variable(1.0, name="x")
    with tf.name_scope("ns"):
        tf.Variable(1.0, name="y", trainable=False)
    tf.get_variable("local", [1], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    whole, one = tf.train.Saver(), tf.train.Saver([x])
    renamed = tf.train.Saver({"other": x})
    tf.get_variable("late", [1])
    session = initialized()
    assert names(whole.save(session, str(tmp_path / "whole"))) == ["foo/v", "ns/y", "x", "x_1"]
    assert names(one.save(session, str(tmp_path / "one"))) == ["x_1"]
    path = renamed.save(session, str(tmp_path / "renamed"))
    assert names(path) == ["other"]
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(0.0, name="w")
        tf.train.Saver({"other": w}).restore(session, path)
        assert session.run(w) == 1.0


def test_restoring_is_initializing(tmp_path, initialized):
    v, w = tf.get_variable("v", [2]), tf.get_variable("w", [2])
    before = (session := initialized()).run([v, w])
    path = tf.train.Saver().save(session, str(tmp_path / "model"))
    report = tf.report_uninitialized_variables()
    with tf.Session() as session:
        tf.train.Saver([v]).restore(session, path)
        assert session.run(report).tolist() == [b"w"]
        tf.train.Saver().restore(session, path)
        assert session.run(report).size == 0
        assert [(a == b).all() for a, b in zip(session.run([v, w]), before, strict=True)]


def test_every_type_comes_back(tmp_path, initialized):
    variables = [
        tf.Variable(["Fruit", "", "\u00e9"]),
        tf.Variable([[True, False]]),
        tf.Variable([1, -2], dtype=tf.int64),
        tf.Variable([1, 255], dtype=tf.uint8),
        tf.Variable([1 + 2j], dtype=tf.complex64),
        tf.Variable([0.5], dtype=tf.float16),
        tf.Variable(3.25, dtype=tf.float64),
        tf.Variable(tf.cast([1, 2], tf.qint8)),
    ]
    saver = tf.train.Saver()
    before = (session := initialized()).run(variables)
    path = saver.save(session, str(tmp_path / "model"))
    with tf.Session() as session:
        saver.restore(session, path)
        for found, wanted in zip(session.run(variables), before, strict=True):
            assert found.dtype == wanted.dtype and (found == wanted).all()


def test_the_record_of_checkpoints(tmp_path, initialized):
    folder, base = str(tmp_path), str(tmp_path / "model")
    for place in (folder, str(tmp_path / "nowhere")):
        assert tf.train.get_checkpoint_state(place) is None
        assert tf.train.latest_checkpoint(place) is None
    v = tf.Variable(0, name="v")
    step = tf.Variable(77, name="step", trainable=False)
    saver = tf.train.Saver([v])
    session = initialized()
    for value, number in enumerate((0, 1000, step)):
        session.run(v.assign(value))
        saved = saver.save(session, base, global_step=number)
    state = tf.train.get_checkpoint_state(folder)
    paths = [f"{base}-{number}" for number in (0, 1000, 77)]
    assert [*state.all_model_checkpoint_paths] == paths
    assert state.model_checkpoint_path == tf.train.latest_checkpoint(folder) == saved == paths[-1]
    for value, path in enumerate(paths):
        saver.restore(session, path)
        assert session.run(v) == value


@pytest.mark.parametrize(("most", "kept"), [(5, 5), (np.int64(2), 2), (None, 7), (0, 7)])
def test_old_checkpoints_go(most, kept, tmp_path, initialized):
    tf.Variable(0)
    saver = tf.train.Saver(max_to_keep=most)
    session = initialized()
    paths = [saver.save(session, str(tmp_path / "m"), global_step=i) for i in range(7)]
    found = [tf.train.checkpoint_exists(path) for path in paths]
    assert found == [False] * (7 - kept) + [True] * kept
    if most:
        assert [*saver.last_checkpoints] == paths[-kept:]


def test_what_goes_wrong(tmp_path, initialized):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    tf.get_variable("v", [3])
    saver = tf.train.Saver()
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        saver.save(session, str(tmp_path / "model"))
    path = saver.save(initialized(), str(tmp_path / "model"))
    for name, shape, error in (
        ("other", [3], tf.errors.NotFoundError),
        ("v", [4], tf.errors.InvalidArgumentError),
    ):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable(name, shape)
            with pytest.raises(error, match=name):
                tf.train.Saver().restore(session, path)
            assert session.run(tf.report_uninitialized_variables()).tolist() == [name.encode()]
    for nothing in (os.path.join(tmp_path, "nothing"), None):
        with pytest.raises(ValueError, match=r"checkpoint|save_path"):
            saver.restore(session, nothing)


def layers(count):
    """Make `count` layers, and return what trains them."""
    for number in range(count):
        with tf.variable_scope(f"layer{number}"):
            tf.get_variable("kernel", [2, 2])
    loss = tf.add_n([tf.reduce_sum(tf.square(v)) for v in tf.trainable_variables()])
    return tf.train.AdamOptimizer().minimize(loss)


def test_a_larger_model_is_told_all_that_it_misses(tmp_path, initialized):
    with tf.Graph().as_default():
        layers(12)
        path = tf.train.Saver().save(initialized(), str(tmp_path / "model"))
    layers(16)
    saver = tf.train.Saver()
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError) as error:
            saver.restore(session, path)
        for number in range(12, 16):
            for slot in ("", "/Adam", "/Adam_1"):
                assert f"layer{number}/kernel{slot}:" in str(error.value)
        assert "layer11/kernel:" not in str(error.value)
        unset = session.run(tf.report_uninitialized_variables())
        assert len(unset) == len(tf.global_variables()) == 16 * 3 + 2  # nothing was assigned


@pytest.mark.parametrize("rows", [12, 6])
def test_a_checkpoint_is_restored_into_other_chunks_slots_too(rows, tmp_path, initialized):
    def build(chunks):
        v = tf.get_variable("v", [rows, 3], chunks=chunks)
        return tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(v)))

    with tf.Graph().as_default():
        train = build((-(-rows // 4), 3))
        names = [v.name for v in tf.global_variables()]
        session = initialized()
        session.run(train)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        before, after = session.run(names), (session.run(train), session.run(names))[1]
    for parts in (1, 3, 7):
        with tf.Graph().as_default(), tf.Session() as session:
            train = build((-(-rows // parts), 2))
            tf.train.Saver().restore(session, path)
            found = [session.run(names), (session.run(train), session.run(names))[1]]
            for values, wanted in zip(found, (before, after), strict=True):
                assert [v.tobytes() for v in values] == [v.tobytes() for v in wanted]
