"""`tf.contrib.opt`: averages that are saved in a variable's place, and SciPy's algorithms."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.v1.contrib.trainings.averaged_optimizer import MovingAverageOptimizer
from tests.sessions import initialized

opt = tf.contrib.opt


# -- averages ------------------------------------------------------------------------------------


def averaged():
    optimizer = opt.MovingAverageOptimizer(tf.train.MomentumOptimizer(0.5, 0.5), 0.75)
    step = tf.train.get_or_create_global_step()
    return (
        optimizer,
        step,
        optimizer.minimize(tf.reduce_sum(tf.square(tf.trainable_variables()[0])), step),
    )


def test_averages_follow_updates_and_are_saved_in_the_place_of_variables(graph, tmp_path):
    v = tf.Variable([2.0, -4.0], name="v")
    optimizer, step, train = averaged()
    saver = optimizer.swapping_saver()
    shadow = wanted = np.float32([2.0, -4.0])
    with initialized() as sess:
        for _ in range(3):
            sess.run(train)
            wanted = sess.run(v)
            shadow = shadow * 0.75 + wanted * 0.25
        path = saver.save(sess, str(tmp_path / "model"))
        assert sess.run(step) == 3 and optimizer.get_slot(v, "momentum") in optimizer.variables()
        sess.run(tf.global_variables_initializer())
        saver.restore(sess, path)
        np.testing.assert_allclose(sess.run(v), wanted, rtol=1e-6)
    np.testing.assert_allclose(tf.train.load_variable(path, "v"), shadow, rtol=1e-6)
    average = tf.train.load_variable(path, "v/ExponentialMovingAverage")
    np.testing.assert_allclose(average, wanted, rtol=1e-6)


def test_parts_of_a_variable_are_exchanged_each(graph, tmp_path):
    parts = tf.get_variable(
        "v", [4], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2)
    )
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5)
    pairs = [(tf.constant([1.0, 2.0]), part) for part in parts]
    train, saver = optimizer.apply_gradients(pairs), optimizer.swapping_saver()
    with initialized() as sess:
        sess.run(train)
        path = saver.save(sess, str(tmp_path / "model"))
        saver.restore(sess, path)
        assert sess.run(parts.as_tensor()).tolist() == [0.0, -1.0, 0.0, -1.0]
    assert tf.train.load_variable(path, "v").tolist() == [0.5, 0.0, 0.5, 0.0]


def test_averages_may_be_of_the_variables_before_the_update(graph):
    v = tf.Variable(4.0)
    descent = tf.train.GradientDescentOptimizer(1.0)
    optimizer = opt.MovingAverageOptimizer(descent, 0.75, sequential_update=False)
    train = optimizer.apply_gradients([(tf.constant(4.0), v)])
    (average,) = tf.global_variables()[1:]
    with initialized() as sess:
        sess.run(train)
        assert sess.run([v, average]) == [0.0, 4.0]


def test_what_averages_refuse(graph):
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0))
    with pytest.raises(RuntimeError, match="Must call apply_gradients"):
        optimizer.swapping_saver()
    v = tf.Variable(1.0, name="v")
    optimizer.minimize(v * v)
    with pytest.raises(ValueError, match="'v/ExponentialMovingAverage' is not among"):
        optimizer.swapping_saver([v])


def test_eager_code_averages_by_itself():
    optimizer = MovingAverageOptimizer(dv.train.GradientDescentOptimizer(1.0))
    with pytest.raises(RuntimeError, match="ExponentialMovingAverage after each step"):
        optimizer.apply_gradients([(1.0, dv.Variable(1.0))])


# -- algorithms outside of the graph --------------------------------------------------------------


def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def test_variables_of_any_shape_come_to_the_minimum_and_callbacks_are_called(graph):
    x, y = tf.Variable(-1.0), tf.Variable([[2.0]], dtype=tf.float64)
    unused = tf.Variable([1.0, 2.0])
    a = tf.placeholder(tf.float32, [])
    loss = a * rosenbrock(x, tf.cast(y[0, 0], tf.float32))
    seen, steps = [], []
    optimizer = opt.ScipyOptimizerInterface(loss, options={"maxiter": 200})
    with initialized() as sess:
        optimizer.minimize(
            feed_dict={a: 0.5},
            fetches=[loss, x],
            loss_callback=lambda *values: seen.append(values),
            step_callback=lambda vector: steps.append(vector.copy()),
        )
        np.testing.assert_allclose([sess.run(x), sess.run(y)[0, 0]], [1.0, 1.0], atol=1e-2)
        assert sess.run(unused).tolist() == [1.0, 2.0]
        assert seen[0][0] == sess.run(loss, {a: 0.5, x: -1.0, y: [[2.0]]})
    assert seen[0][1] == -1.0 and len(seen) >= len(steps) > 1 and steps[-1].shape == (4,)


def test_constraints_hold(graph):
    v = tf.Variable([7.0, 7.0])
    loss = tf.reduce_sum(tf.square(v))
    constrained = opt.ScipyOptimizerInterface(
        loss, equalities=[v[1] - 1.0], inequalities=[v[0] - 2.0], method="SLSQP"
    )
    bounded = opt.ScipyOptimizerInterface(loss, [v], var_to_bounds={v: ([-np.inf, 3.0], 5.0)})
    with initialized() as sess:
        constrained.minimize(sess)
        np.testing.assert_allclose(sess.run(v), [2.0, 1.0], atol=1e-5)
        bounded.minimize(sess)
        np.testing.assert_allclose(sess.run(v), [0.0, 3.0], atol=1e-5)


def test_what_external_optimizers_refuse(graph):
    with pytest.raises(ValueError, match="No variables to optimize"):
        opt.ScipyOptimizerInterface(tf.constant(1.0))
    v = tf.Variable([1.0])
    loss = tf.reduce_sum(v * v)
    with pytest.raises(ValueError, match="needs a session"):
        opt.ScipyOptimizerInterface(loss).minimize()
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(ValueError, match=r"bounds= .* use var_to_bounds="):
            opt.ScipyOptimizerInterface(loss, bounds=[(0.0, 1.0)]).minimize(sess)
        with pytest.raises(NotImplementedError, match=r"implement the _minimize\(\)"):
            opt.ExternalOptimizerInterface(loss).minimize(sess)
    unknown = tf.Variable(tf.placeholder(tf.float32, None), validate_shape=False)
    with pytest.raises(ValueError, match="must be known"):
        opt.ScipyOptimizerInterface(loss, [unknown])
