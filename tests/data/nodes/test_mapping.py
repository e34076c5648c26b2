"""Functions of elements in several threads, and in the thread that takes the elements."""

import itertools
import threading

import numpy as np

import daskvars.v1 as tf
from daskvars.data.nodes.mapping import _ParallelMap
from daskvars.data.nodes.node import InTurn


class FromList:
    """Elements of a list; where it has an error that is raised."""

    def __init__(self, items):
        self._items = iter(items)

    def __next__(self):
        item = next(self._items)
        if isinstance(item, Exception):
            raise item
        return item

    def close(self):
        pass


def threads_of(count, seconds, meet=lambda: None):
    """Return which threads called a function, in two calls at once, that takes so long."""
    found = []

    def call(element, number):
        meet()
        found.append(threading.current_thread())
        return element, number

    elements = _ParallelMap(InTurn(range(count)), call, 2, ticking(seconds))
    assert list(elements) == [(i, i) for i in range(count)]
    elements.close()
    return found


def ticking(seconds):
    """Return a clock that goes on by so much each time that somebody looks."""
    times = itertools.count(0.0, seconds)
    return lambda: next(times)


def test_short_calls_are_made_by_the_thread_that_takes_the_elements():
    assert set(threads_of(100, 0.0)[-20:]) == {threading.current_thread()}


def test_long_calls_are_made_by_threads_of_their_own():
    together = threading.Barrier(2, timeout=60)
    found = threads_of(12, 1.0, together.wait)
    assert len(set(found)) == 2
    assert threading.current_thread() not in found


def test_an_element_that_cannot_be_made_counts_whoever_makes_it():
    """The number of an element, which its random numbers depend on, is its place."""
    for seconds in (0.0, 1.0):
        items = [*range(30), tf.errors.DataLossError(None, None, "lost"), *range(31, 40)]
        elements = _ParallelMap(FromList(items), lambda e, n: n, 2, ticking(seconds))
        numbers = []
        while True:
            try:
                numbers.append(next(elements))
            except StopIteration:
                break
            except tf.errors.DataLossError:
                numbers.append("lost")
        elements.close()
        assert numbers == [*range(30), "lost", *range(31, 40)]


def test_random_numbers_are_the_same_however_many_calls_there_are():
    def drawn(calls):
        tf.set_random_seed(3)
        data = tf.data.Dataset.range(200).map(lambda x: tf.random_uniform([2], seed=5), calls)
        with tf.Session() as sess:
            item = data.batch(200).make_one_shot_iterator().get_next()
            return sess.run(item)

    with tf.Graph().as_default():
        alone = drawn(None)
    with tf.Graph().as_default():
        np.testing.assert_array_equal(alone, drawn(3))
