"""`vectorized_map`: results of any structure, gradients, eager code; `timestamp` beside it."""

import pytest

import daskvars as dv
import daskvars.v1 as tf

ROWS = [[1.0, 2.0], [3.0, 4.0]]


def both(row):
    return {"sum": dv.reduce_sum(row), "rest": (row * 2.0, dv.constant(3))}


def test_results_have_the_structure_of_the_function(sess):
    found = sess.run(tf.vectorized_map(both, tf.constant(ROWS)))
    assert found["sum"].tolist() == [3.0, 7.0]
    assert [a.tolist() for a in found["rest"]] == [[[2.0, 4.0], [6.0, 8.0]], [3, 3]]
    x, y = tf.constant(ROWS), tf.constant([5.0, 6.0])
    z = tf.vectorized_map(lambda rows: rows[0] * rows[1], (x, y))
    (dx,) = tf.gradients(z, x)
    assert sess.run(z).tolist() == [[5.0, 10.0], [18.0, 24.0]]
    assert sess.run(dx).tolist() == [[5.0, 5.0], [6.0, 6.0]]


def test_it_is_the_same_in_eager_code():
    found = dv.vectorized_map(both, dv.constant(ROWS))
    assert found["rest"][1].numpy().tolist() == [3, 3]
    with pytest.raises(ValueError, match="has no rows"):
        dv.vectorized_map(both, dv.constant(1.0))


def test_each_run_has_its_time(sess):
    before = tf.timestamp()
    with tf.control_dependencies([before]):
        after = tf.timestamp()
    times = [*sess.run([before, after]), *sess.run([before, after])]
    assert times == sorted(times)
    assert times[0] < times[2]
