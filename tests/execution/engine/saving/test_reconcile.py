"""A session on a store whose variables are not as its graph declares them."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.state import ZarrStore, forget_values


@pytest.fixture(params=["in process", pytest.param("cluster", marks=pytest.mark.cluster)])
def where(request):
    """Runs the test here and on a cluster."""
    if request.param == "cluster":
        request.getfixturevalue("cluster")
    return request.param


@pytest.fixture
def store(tmp_path, where):
    place = str(tmp_path / "store")
    yield place
    tf.Session.reset(place)


def opened(store):
    """A session on a store, as another program would open it."""
    forget_values(store)
    return tf.Session(store=store)


def model(chunks, shape=(6, 2), dtype=tf.float32):
    """A table, a counter, and what changes both; in a graph of their own."""
    start = tf.reshape(tf.range(float(np.prod(shape))), shape)
    table = tf.get_variable("table", initializer=tf.cast(start, dtype), chunks=chunks)
    count = tf.get_variable("count", [], tf.int64, initializer=tf.zeros_initializer())
    return table, count, tf.group(table.assign_add(tf.ones(shape, dtype)), count.assign_add(1))


def begun(store, chunks, **kinds):
    """A store with a model that has run once; its table."""
    with tf.Graph().as_default(), opened(store) as session:
        table, _, step = model(chunks, **kinds)
        session.run(tf.global_variables_initializer())
        session.run(step)
        return session.run(table)


@pytest.mark.parametrize("first, then", [(4, None), (None, 2), (((1, 5), (1, 1)), ((3, 3), (2,)))])
def test_another_layout_is_cut_anew(store, first, then):
    expected = begun(store, first)
    with tf.Graph().as_default(), opened(store) as session:
        table, _, step = model(then)
        assert np.array_equal(session.run(table), expected)
        session.run(step)
    with tf.Graph().as_default(), opened(store) as session:
        table, count, step = model(first)
        session.run(step)  # which writes what it has not read before
        assert np.array_equal(session.run(table), expected + 2)
        assert session.run(count) == 3


def test_sessions_of_two_layouts_take_turns(store):
    with tf.Graph().as_default() as one, tf.Session(store=store) as first:
        table, _, step = model(4)
        first.run(tf.global_variables_initializer())
        start = first.run(table)
        with tf.Graph().as_default(), tf.Session(store=store) as second:
            other_table, _, other_step = model(None)
            for turn in range(3):
                with one.as_default():
                    first.run(step)
                second.run(other_step)
                assert np.array_equal(second.run(other_table), start + 2 * turn + 2)
                assert np.array_equal(first.run(table), start + 2 * turn + 2)


@pytest.mark.parametrize("where", ["in process"], indirect=True)
def test_reading_in_another_layout_writes_nothing(store):
    begun(store, 4)
    version = ZarrStore(store).head().version
    with tf.Graph().as_default(), opened(store) as session:
        session.run(model(2)[0])
        session.seal()
    assert ZarrStore(store).head().version == version


@pytest.mark.parametrize("where", ["in process"], indirect=True)
def test_what_is_in_the_right_layout_is_not_touched(store):
    begun(store, 4)
    with tf.Graph().as_default(), opened(store) as session:
        table = model(4)[0]
        before = dict(session.engine.values.get("table"))
        session.run(table)
        after = session.engine.values.get("table")
        assert all(after[index] is block for index, block in before.items())


@pytest.mark.parametrize("fetch", ["read", "update", "initialize"])
def test_another_dtype_or_shape_is_refused(store, fetch):
    expected = begun(store, 4)
    with tf.Graph().as_default(), opened(store) as session:
        table = tf.get_variable("table", [7, 2], initializer=tf.zeros_initializer())
        count = tf.get_variable("count", [], tf.int32, initializer=tf.zeros_initializer())
        fetches = {
            "read": [table, count],
            "update": [table.assign_add(tf.ones([7, 2])).op, count.assign_add(1).op],
            "initialize": tf.global_variables_initializer(),
        }
        with pytest.raises(InvalidArgumentError) as error:
            session.run(fetches[fetch])
    message = str(error.value)
    assert "2 of the variables" in message and store in message and "Saver" in message
    assert "table: float32 of shape (6, 2) there, float32 of shape (7, 2) in the graph" in message
    assert "count: int64 of shape () there, int32 of shape () in the graph" in message
    with tf.Graph().as_default(), opened(store) as session:
        table, count, _ = model(4)
        assert np.array_equal(session.run(table), expected)
        assert session.run(count) == 1
