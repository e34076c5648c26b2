"""warm_start: which variables, under which names, and what is refused."""

import numpy as np
import pytest

import daskvars.v1 as tf


@pytest.fixture
def earlier(tmp_path):
    """The directory of a checkpoint: a trained weight, its slot, and a table in parts."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("layer/w", initializer=[1.0, 2.0])
        tf.get_variable("layer/w/slot", initializer=[3.0, 4.0], trainable=False)
        tf.get_variable("table", initializer=np.arange(6.0).reshape(3, 2))
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "m"))
    return str(tmp_path)


def model():
    zeros = tf.zeros_initializer()
    w = tf.get_variable("layer/w", [2], initializer=zeros)
    slot = tf.get_variable("layer/w/slot", [2], initializer=zeros, trainable=False)
    parts = tf.fixed_size_partitioner(2)
    table = tf.get_variable("words", [3, 2], tf.float64, zeros, partitioner=parts)
    return w, slot, table


@pytest.mark.parametrize(
    "which, started",
    [
        (".*", (True, False, True)),
        ("layer", (True, False, False)),
        (["layer"], (True, True, False)),
        (["layer/w/", "words"], (False, True, True)),
        (None, (False, False, False)),
    ],
)
def test_variables_are_chosen_by_name(earlier, which, started):
    names = {"words": "table"} if started[2] else None
    with tf.Graph().as_default(), tf.Session() as sess:
        w, slot, table = model()
        tf.train.warm_start(earlier, which, var_name_to_prev_var_name=names)
        sess.run(tf.global_variables_initializer())
        found = sess.run([w, slot, tf.convert_to_tensor(table)])
    wanted = ([1.0, 2.0], [3.0, 4.0], np.arange(6.0).reshape(3, 2))
    for value, full, is_started in zip(found, wanted, started, strict=True):
        np.testing.assert_array_equal(value, np.multiply(full, is_started))


def test_variables_themselves(earlier):
    with tf.Graph().as_default(), tf.Session() as sess:
        _, slot, _ = model()
        tf.train.warm_start(earlier, [slot], var_name_to_prev_var_name={"layer/w/slot": "layer/w"})
        sess.run(slot.initializer)
        assert sess.run(slot).tolist() == [1.0, 2.0]


def test_what_is_refused(earlier):
    with tf.Graph().as_default():
        w, _, _ = model()
        with pytest.raises(ValueError, match=r"not used: \['layer/v'\]"):
            tf.train.warm_start(earlier, "layer", None, {"layer/v": "layer/w"})
        with pytest.raises(ValueError, match="regular expression"):
            tf.train.warm_start(earlier, [w, "layer"])
        with pytest.raises(ValueError, match=r"Tensor words .* is not found"):
            tf.train.warm_start(earlier)
        with pytest.raises(NotImplementedError, match="vocabulary"):
            tf.train.warm_start(earlier, "layer", {"layer/w": object()})
