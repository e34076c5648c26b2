import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import dropout as ops


def test_kept_elements_are_scaled():
    y = ops.dropout(dv.ones([100, 100]), keep_prob=0.8, seed=1).numpy()
    assert set(numpy.unique(y)) == {0.0, numpy.float32(1.25)}
    assert abs((y != 0).mean() - 0.8) < 0.02


def test_rate_is_the_other_way_round():
    y = ops.dropout(dv.ones([100, 100]), rate=0.8, seed=1).numpy()
    assert abs((y != 0).mean() - 0.2) < 0.02


def test_what_looks_like_a_rate_is_told_of():
    with pytest.warns(UserWarning, match=r"keeps 0\.1 .* write rate=0\.1") as told:
        dv.nn.dropout(dv.ones([3]), 0.1)
    assert told[0].filename == __file__


def test_noise_shape_decides_for_rows():
    y = ops.dropout(dv.ones([50, 4]), 0.5, noise_shape=[50, 1], seed=1).numpy()
    assert all(len(set(row)) == 1 for row in y)
    assert 0 < y.mean() < 2


def test_open_sizes_of_the_noise_shape_are_those_of_x():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float32, [None, 4])
        y = session.run(ops.dropout(x, 0.5, [None, 1]), {x: numpy.ones((50, 4))})
    assert all(len(set(row)) == 1 for row in y)


def test_keep_prob_may_be_fed():
    with dv.Graph().as_default(), dv.Session() as session:
        x, keep = tf.constant(numpy.ones((20, 20), "f4")), tf.placeholder(dv.float32)
        y = ops.dropout(x, keep)
        assert y.shape.as_list() == [20, 20]
        assert session.run(y, {keep: 1.0}).tolist() == numpy.ones((20, 20)).tolist()
        assert set(numpy.unique(session.run(y, {keep: 0.5}))) == {0, 2}


def test_gradient_has_the_same_mask():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.constant(numpy.ones(100, "f4"))
        y = ops.dropout(x, 0.5)
        (dx,) = dv.gradients(y, [x])
        value, slope = session.run([y, dx])
    assert_allclose(value, slope)


def test_chunks_do_not_change_the_mask():
    import dask.array

    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float32, [60, 3])
        y = ops.dropout(x, 0.5, seed=3)
        ones = numpy.ones((60, 3), "f4")
        whole = session.run(y, {x: ones})
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float32, [60, 3])
        y = ops.dropout(x, 0.5, seed=3)
        cut = session.run(y, {x: dask.array.from_array(ones, chunks=(20, 3))})
    assert whole.tolist() == cut.tolist()


def test_nothing_dropped_is_x_itself():
    x = dv.ones([3])
    assert ops.dropout(x, keep_prob=1.0) is x
    assert ops.dropout(x, rate=0) is x


def test_arguments():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 3])
        assert ops.dropout(x, 0.5).op.name == "dropout"
        assert ops.dropout(x, 0.5).shape.as_list() == [None, 3]
        for bad in ({}, {"keep_prob": 0.5, "rate": 0.5}):
            with pytest.raises(ValueError, match="keep_prob"):
                ops.dropout(x, **bad)
        for bad in ({"keep_prob": 0.0}, {"keep_prob": 1.5}, {"rate": 1.0}, {"rate": -0.1}):
            with pytest.raises(ValueError, match="range"):
                ops.dropout(x, **bad)
        with pytest.raises(ValueError, match="floating point number"):
            ops.dropout(x, "half")
        with pytest.raises(ValueError, match="floating point tensor"):
            ops.dropout(tf.placeholder(dv.int32, [3]), 0.5)
        with pytest.raises(ValueError, match="noise_shape"):
            ops.dropout(x, 0.5, [None])


def test_the_shape_is_that_of_x_and_the_rate_of_its_dtype():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [4, 3])
        noise = tf.placeholder(dv.int32)
        assert ops.dropout(x, 0.5, noise_shape=noise).shape.as_list() == [4, 3]
        with pytest.raises(ValueError, match="must have the dtype of x, float32"):
            ops.dropout(x, tf.placeholder(dv.float64))
        with pytest.raises(ValueError, match="5"):
            ops.dropout(x, 0.5, noise_shape=[4, 3, 5])
        with pytest.raises(ValueError, match="noise_shape <unknown>"):
            ops.dropout(x, 0.5, noise_shape=dv.TensorShape(None))


def test_a_constant_that_keeps_all_changes_nothing():
    with tf.Graph().as_default():
        x = tf.zeros([5])
        assert tf.nn.dropout(x, tf.constant(1.0)) is x
        assert tf.nn.dropout(x, rate=tf.constant(0.0)) is x
