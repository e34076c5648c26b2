"""Moving averages: values, names, restoring; what must be TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import initialized

# TensorFlow 2.21's compat.v1 averages of v and v * 2 after four steps, by the constructor's
# arguments (num_updates, zero_debias).
GOLDEN = {
    (False, False): ([1.9746094, -1.5126953], [3.3164062, -1.7597656]),
    (True, False): ([2.7502496, -1.1248752], [5.4905095, -2.2297702]),
    (False, True): ([1.9746094, -1.5126953], [4.8514285, -2.5742857]),
    (True, True): ([2.7502496, -1.1248752], [5.5813136, -2.2666469]),
}


pytestmark = pytest.mark.usefixtures("graph_unless_eager")


@pytest.mark.parametrize("num_updates, zero_debias", GOLDEN)
def test_averages_of_variables_and_tensors(num_updates, zero_debias):
    v, step = tf.Variable([1.0, -2.0], name="v"), tf.Variable(0, name="step", trainable=False)
    doubled = v * 2.0
    moved = tf.group(v.assign_add([0.5, 0.25]), step.assign_add(1))
    averages = tf.train.ExponentialMovingAverage(
        0.75, num_updates=step if num_updates else None, zero_debias=zero_debias
    )
    with tf.control_dependencies([moved]):
        of_variable = averages.apply([v])
    of_tensor = averages.apply([doubled])
    with initialized() as sess:
        for _ in range(4):
            sess.run(of_variable)
            sess.run(of_tensor)
        found = sess.run([averages.average(v), averages.average(doubled)])
    np.testing.assert_allclose(found, GOLDEN[num_updates, zero_debias], rtol=1e-6)
    debias = ["mul/ExponentialMovingAverage/biased", "mul/ExponentialMovingAverage/local_step"]
    assert sorted(w.op.name for w in tf.global_variables()) == sorted(
        ["mul/ExponentialMovingAverage", "step", "v", "v/ExponentialMovingAverage"]
        + debias * zero_debias
    )


def test_names_collections_and_what_is_restored():
    v, w = tf.Variable([1.0], name="v"), tf.Variable([1.0], name="w", trainable=False)
    with tf.name_scope("scope"):
        t = tf.Variable([1.0], name="t")
    averages = tf.train.ExponentialMovingAverage(0.9, name="average")
    assert averages.name == "average"
    assert averages.average(v) is None
    assert averages.average_name(v) == "v/average"
    update = averages.apply([v, t])
    assert update.name == "average"
    names = [averages.average_name(x) for x in (v, t, w)]
    assert names == ["v/average", "scope/t/average", "w/average"]
    assert averages.average(v).op.name == "v/average"
    assert not averages.average(v).trainable
    assert tf.moving_average_variables() == [v, t]
    assert averages.variables_to_restore() == {"v/average": v, "scope/t/average": t, "w": w}
    assert averages.variables_to_restore([v]) == {
        "v/average": v,
        "scope/t": t,
        "scope/t/average": averages.average(t),
        "w": w,
    }


def test_apply_twice_keeps_the_shadows():
    v = tf.Variable([1.0], name="v")
    averages = tf.train.ExponentialMovingAverage(0.5)
    averages.apply()
    shadow = averages.average(v)
    averages.apply([v])
    assert averages.average(v) is shadow
    assert tf.moving_average_variables() == [v]


def averaged(v, decay, value):
    """Return averages, and what sets the variable and then averages it."""
    averages = tf.train.ExponentialMovingAverage(decay)
    with tf.control_dependencies([v.assign(value)]):
        return averages, averages.apply([v])


def test_a_model_is_restored_from_its_averages(tmp_path):
    v = tf.Variable([1.0], name="v")
    averages, update = averaged(v, 0.5, [3.0])
    with initialized() as sess:
        sess.run(update)
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        assert sess.run(v).tolist() == [3.0]
        tf.train.Saver(averages.variables_to_restore()).restore(sess, path)
        assert sess.run(v).tolist() == [2.0]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_dtypes(dtype):
    v = tf.Variable([4.0], dtype=dtype, name="v")
    averages, update = averaged(v, 0.75, [8.0])
    with initialized() as sess:
        sess.run(update)
        assert averages.average(v).dtype.base_dtype == dtype
        assert sess.run(averages.average(v)).astype(np.float64).tolist() == [5.0]


def test_what_cannot_be_averaged():
    averages = tf.train.ExponentialMovingAverage(0.9)
    with pytest.raises(TypeError, match="must be half, float, or double: n:0 is int32"):
        averages.apply([tf.Variable(1, name="n")])


def test_assign_moving_average():
    v = tf.Variable([10.0, 11.0], name="v")
    plain = tf.train.assign_moving_average(v, tf.constant([1.0, 2.0]), 0.25, zero_debias=False)
    with initialized() as sess:
        np.testing.assert_allclose(sess.run(plain), [3.25, 4.25])
        np.testing.assert_allclose(sess.run(v), [3.25, 4.25])


def test_the_variables_of_the_debiased_average():
    with tf.variable_scope("one"), tf.variable_scope("two"):
        v = tf.get_variable("foo", [], initializer=tf.zeros_initializer())
        first = tf.train.assign_moving_average(v, 8.0, 0.75)
        tf.train.assign_moving_average(v, 8.0, 0.75)
    assert [w.op.name for w in tf.global_variables()[1:]] == [
        "one/two/one/two/foo/biased",
        "one/two/one/two/foo/local_step",
        "one/two/one/two/foo/biased_1",
        "one/two/one/two/foo/local_step_1",
    ]
    with initialized() as sess:
        assert [sess.run(first) for _ in range(3)] == [8.0, 8.0, 8.0]


@pytest.mark.parametrize("truediv, wanted", [(True, 3.5), (False, 3.5)])
def test_weighted_moving_average(truediv, wanted):
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    average = tf.train.weighted_moving_average(value, 0.5, weight, truediv)
    assert [w.op.name for w in tf.global_variables()] == [
        "WeightedMovingAvg/value_x_weight",
        "WeightedMovingAvg/weight",
    ]
    with initialized() as sess:
        assert sess.run(average, {value: 2.0, weight: 3.0}) == 2.0
        assert sess.run(average, {value: 5.0, weight: 1.5}) == pytest.approx(wanted)


def test_eager_averages():
    v = dv.Variable([1.0, -2.0], name="averaged")
    averages = dv.train.ExponentialMovingAverage(0.75)
    averages.apply([v])
    for _ in range(4):
        v.assign_add([0.5, 0.25])
        assert averages.apply([v]) is None
    np.testing.assert_allclose(averages.average(v).numpy(), GOLDEN[False, False][0], rtol=1e-6)
    assert averages.average_name(v) == averages.average(v).op.name
    with pytest.raises(TypeError, match="assign it to a Variable"):
        averages.apply([dv.constant([1.0])])


def test_a_shadow_is_colocated_with_its_variable():
    v = tf.Variable(1.0, name="v1")
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply([v])
    shadow = averages.average(v)
    assert shadow.op.colocation_groups() == shadow.initializer.colocation_groups() == [b"loc:@v1"]


def test_averages_are_placed_by_their_variable_or_by_where_they_are_made():
    with tf.device("/job:ps"):
        v = tf.Variable(1.0, name="v")
    averages = tf.train.ExponentialMovingAverage(0.5)
    doubled = v * 2.0
    with tf.device("/job:worker"):
        averages.apply([v, doubled])
    assert averages.average(v).device == "/job:ps"
    assert averages.average(doubled).device == "/job:worker"
