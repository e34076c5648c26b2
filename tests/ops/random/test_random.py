"""Random ops: seeds, names, repeatability, and independence of the layout."""

import dask.array
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.ops.random.distributions import DEFAULT_GRAPH_SEED, get_seed


def draws(build, seed=None, runs=2):
    """Return what `runs` runs of a session give, in a graph of its own."""
    with tf.Graph().as_default():
        tf.set_random_seed(seed)
        tensor = build()
        with tf.Session() as session:
            return [session.run(tensor) for _ in range(runs)]


# -- seeds -------------------------------------------------------------------------------------


def test_rules_of_seeds():
    with tf.Graph().as_default() as graph:
        assert get_seed(None) == (None, None)
        assert get_seed(3) == (DEFAULT_GRAPH_SEED, 3)
        tf.set_random_seed(5)
        assert graph.seed == 5
        tf.constant(1)
        tf.constant(2)
        assert get_seed(None) == (5, 2)
        assert get_seed(3) == (5, 3)
        tf.set_random_seed(0)
        assert get_seed(0) == (0, 2**31 - 1)
        assert get_seed(2**31) == (0, 1)


def test_a_seeded_graph_repeats_itself():
    def build():
        return [tf.random_uniform([3]), tf.random_normal([3]), tf.random_uniform([3])]

    first, again = draws(build, 7), draws(build, 7)
    np.testing.assert_array_equal(first, again)
    one, two = first
    assert not np.array_equal(one, two)  # each run draws anew
    assert not np.array_equal(one[0], one[2])  # and so does each operation
    assert not np.array_equal(first, draws(build, 8))


def test_a_seeded_operation_repeats_itself():
    def build():
        return tf.random_uniform([3], seed=1)

    np.testing.assert_array_equal(draws(build), draws(build))


def test_without_seeds_nothing_repeats():
    def build():
        return tf.random_uniform([3])

    assert not np.array_equal(draws(build), draws(build))


def test_eager_draws():
    dv.set_random_seed(3)
    first = [dv.random_uniform([2]).numpy() for _ in range(2)]
    dv.set_random_seed(3)
    again = [dv.random_uniform([2]).numpy() for _ in range(2)]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(*first)
    seeded = [dv.random_uniform([2], seed=4).numpy() for _ in range(2)]
    assert not np.array_equal(*seeded)
    dv.set_random_seed(None)


# -- values ------------------------------------------------------------------------------------


def test_distributions():
    uniform, integers, normal, truncated = draws(
        lambda: [
            tf.random_uniform([4000], -1.0, 3.0),
            tf.random_uniform([4000], 2, 5, tf.int32),
            tf.random_normal([4000], 1.0, 2.0),
            tf.truncated_normal([4000], 0.0, 0.5),
        ],
        runs=1,
    )[0]
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.1
    assert sorted(set(integers.tolist())) == [2, 3, 4] and integers.dtype == np.int32
    assert abs(normal.mean() - 1) < 0.2 and abs(normal.std() - 2) < 0.2
    assert np.abs(truncated).max() <= 1.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes(dtype):
    (value,) = draws(lambda: tf.random_normal([8], dtype=dtype), runs=1)
    assert value.dtype == tf.as_dtype(dtype).np


def test_bounds_may_be_tensors():
    with tf.Graph().as_default():
        high = tf.placeholder(tf.float32, [2])
        drawn = tf.random_uniform([1000, 2], 0.0, high)
        limit = tf.placeholder(tf.int32, [])
        integers = tf.random_uniform([1000], limit - 2, limit, tf.int32)
        with tf.Session() as session:
            a, b = session.run([drawn, integers], {high: [1.0, 100.0], limit: 12})
            with pytest.raises(InvalidArgumentError, match="minval < maxval"):
                session.run(tf.random_uniform([2], 3, limit, tf.int32), {limit: 3})
    assert a[:, 0].max() < 1 < a[:, 1].max() < 100
    assert sorted(set(b.tolist())) == [10, 11]


def test_the_layout_does_not_change_the_numbers():
    x = np.zeros((6, 4), "f4")
    values = []
    for feed in (x, dask.array.from_array(x, (2, 3))):
        with tf.Graph().as_default():
            p = tf.placeholder(tf.float32, [6, 4])
            noisy = p + tf.random_normal([6, 4], seed=1)
            with tf.Session() as session:
                values.append(session.run(noisy, {p: feed}))
    np.testing.assert_array_equal(*values)


def test_shuffle_and_crop():
    rows = np.arange(20).reshape(10, 2)
    shuffled, crop = draws(
        lambda: [tf.random_shuffle(rows, seed=1), tf.random_crop(rows, [3, 2], seed=1)], runs=1
    )[0]
    assert sorted(map(tuple, shuffled)) == sorted(map(tuple, rows))
    assert np.diff(crop[:, 0]).tolist() == [2, 2]


def test_multinomial_follows_the_logits():
    (value,) = draws(lambda: tf.multinomial(np.log([[0.1, 0.6, 0.3]]), 4000), runs=1)
    assert value.dtype == np.int64
    share = np.bincount(value[0], minlength=3) / 4000
    np.testing.assert_allclose(share, [0.1, 0.6, 0.3], atol=0.04)


# -- mistakes and names ------------------------------------------------------------------------


def test_mistakes():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Must specify maxval"):
            tf.random_uniform([2], dtype=tf.int32)
        with pytest.raises(ValueError, match="rank 2"):
            tf.multinomial(tf.zeros([3]), 2)
        with pytest.raises(ValueError, match=r"Need value\.shape >= size"):
            tf.random_crop(tf.zeros([2, 2]), [3, 1])
        with pytest.raises(TypeError, match="floating"):
            tf.random_normal([2], dtype=tf.int32)


def test_names():
    with tf.Graph().as_default() as graph:
        assert tf.random_uniform([2], 0.0, 2.0).op.name == "random_uniform"
        assert tf.random_normal([2], 1.0).op.name == "random_normal"
        assert tf.truncated_normal([2]).op.name == "truncated_normal"
        assert tf.random_shuffle([1, 2]).op.name == "RandomShuffle"
        # Bounds that are numbers are the source's own business; tensors scale what it draws.
        assert len(graph.get_operations()) == 5
        assert tf.random_uniform([2], 0.0, tf.constant(2.0)).op.name == "random_uniform_1"
        names = [op.name for op in graph.get_operations()]
        assert names[-4:] == [
            "random_uniform_1/RandomUniform",
            "random_uniform_1/sub",
            "random_uniform_1/mul",
            "random_uniform_1",
        ]


def test_random_ops_have_no_gradient():
    with tf.Graph().as_default():
        scale = tf.constant(2.0)
        (gradient,) = tf.gradients(tf.random_normal([3], stddev=scale, seed=1), scale)
        drawn = tf.random_normal([3], seed=1)
        with tf.Session() as session:
            assert session.run(gradient) == pytest.approx(session.run(drawn).sum(), rel=1e-5)
