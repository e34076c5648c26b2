"""Staging areas: what is put in comes out in its order, can be looked at, and has its limits."""

import threading

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.waiting import wait_until

StagingArea = tf.contrib.staging.StagingArea


def test_a_step_takes_what_the_step_before_has_put_in(sess):
    x = tf.placeholder(tf.float32, [])
    area = StagingArea([tf.float32, tf.float32], shapes=[[], [4]], names=["x", "rows"])
    put, ready = area.put({"x": x, "rows": tf.fill([4], x)}), area.get()
    assert ready["rows"].shape.as_list() == [4]
    result = ready["x"] * tf.reduce_sum(ready["rows"])
    sess.run(put, {x: -1.0})
    found = [sess.run([result, put], {x: step})[0] for step in range(3)]
    assert found == [4.0, 0.0, 4.0]


def test_what_is_in_it_can_be_looked_at_counted_and_cleared(sess):
    x, place = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    area = StagingArea([tf.int32])
    put, look, size, clear = area.put(x), area.peek(place), area.size(), area.clear()
    for value in range(3):
        sess.run(put, {x: value})
    assert [sess.run(look, {place: i}) for i in (2, 0, 1)] == [[2], [0], [1]]
    assert sess.run(size) == 3
    sess.run(clear)
    assert sess.run(size) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="no element -1"):
        sess.run(look, {place: -1})


@pytest.mark.parametrize("limit", [{"capacity": 2}, {"memory_limit": 24}])
def test_put_waits_for_room(sess, limit):
    area = StagingArea([tf.float32], **limit)
    x = tf.placeholder(tf.float32, [3])
    put, (ready,), size = area.put([x]), area.get(), area.size()
    done = []

    def fill():
        for value in range(4):
            sess.run(put, {x: [value] * 3})
            done.append(value)

    thread = threading.Thread(target=fill)
    thread.start()
    wait_until(lambda: len(done) == 2, "two elements were put in")
    assert sess.run(size) == 2
    assert [sess.run(ready)[0] for _ in range(4)] == [0, 1, 2, 3]
    thread.join()
    assert sess.run(size) == 0


def test_get_and_peek_wait_for_elements(sess):
    area = StagingArea([tf.int32], [[]])
    put, ready, second = area.put(tf.constant(5)), area.get(), area.peek(1)
    found = []
    threads = [
        threading.Thread(target=lambda fetch=fetch: found.append(sess.run(fetch)))
        for fetch in (second, ready)
    ]
    threads[0].start()
    sess.run(put)
    sess.run(put)
    threads[0].join()
    threads[1].start()
    threads[1].join()
    assert found == [[5], [5]] and sess.run(area.size()) == 1


def test_what_can_never_be_put_in_is_refused(sess):
    area = StagingArea([tf.string, tf.int32], shapes=[[], [2]], memory_limit=16)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"'17' bytes .* limit of '16'"):
        sess.run(area.put([tf.constant("nine byte"), tf.constant([1, 2])]))
    with pytest.raises(ValueError, match="not compatible"):
        area.put([tf.constant("text"), tf.constant([1, 2, 3])])
    fed = tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
        sess.run(area.put([tf.constant("text"), fed]), {fed: [1]})
    for arguments in ({"shapes": [[]]}, {"names": ["one"]}, {"shared_name": 3}):
        with pytest.raises(ValueError, match=r"shared_name|must be the same length as dtypes"):
            StagingArea([tf.string, tf.int32], **arguments)


def test_what_an_area_says_of_itself(sess):
    area = StagingArea([tf.float32], [[2]], ["x"], "mine", 3, 100)
    assert (area.name, area.dtypes, area.names) == ("mine", [tf.float32], ["x"])
    assert (area.capacity, area.memory_limit) == (3, 100)
    assert [shape.as_list() for shape in area.shapes] == [[2]]
    assert repr(area) == "<tf.contrib.staging.StagingArea 'mine' of float32>"
    again = StagingArea([tf.float32], [[2]], ["x"], "mine", 3, 100)
    sess.run(area.put({"x": [1.0, 2.0]}))
    assert np.array_equal(sess.run(again.get()["x"]), [1.0, 2.0])
    other = StagingArea([tf.float32], [[2]], ["x"], "mine", 4, 100)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has capacity 3, but 4"):
        sess.run(other.size())


def test_what_is_in_it_is_nobody_s_to_write_into(sess):
    x = tf.placeholder(tf.float32, [2])
    area, given = StagingArea([tf.float32], shapes=[[2]]), np.ones(2, np.float32)
    put, look, ready = area.put(x), area.peek(0), area.get()
    sess.run(put, {x: given})
    given[:] = -1
    (seen,) = sess.run(look)
    np.testing.assert_array_equal(seen, [1, 1])
    seen[:] = -1
    np.testing.assert_array_equal(sess.run(ready), [[1, 1]])
