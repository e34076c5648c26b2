"""What the client does itself though there are workers: little work that needs none of them."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine.values.checked_feeds import feed_specs, feed_value
from daskvars.execution.local.devices import LocalPlaces
from daskvars.lowering import lower
from daskvars.lowering.explain import explain
from daskvars.lowering.planner.client_work import seconds_of_texts
from daskvars.lowering.planner.cut_feeds import Machine

pytestmark = pytest.mark.usefixtures("graph")
LARGE = np.zeros((1 << 20, 4), np.float32)


def planned(fetches, feeds=(), most_s=1e-3, **machine):
    values = [feed_value(tensor, value) for tensor, value in feeds]
    specs = feed_specs([tensor for tensor, _ in feeds], values)
    tensors = [f for f in fetches if isinstance(f, tf.Tensor)]
    targets = [f for f in fetches if isinstance(f, tf.Operation)]

    def state_of(handle):
        return handle.spec, None, True

    machine = Machine(client_work_s=most_s, **machine)
    return lower(tensors, targets, specs, state_of, places=LocalPlaces(), machine=machine)


def fed(shape, dtype=tf.float32):
    return tf.placeholder(dtype, shape)


def of_feed(function, value, shape, dtype=tf.float32):
    x = fed(shape, dtype)
    return [function(x)], [(x, value)]


def text_of(nbytes):
    return np.array(b"x" * nbytes, object)


def at(device, function):
    with tf.device(device):
        return function()


def checked(tensor):
    with tf.control_dependencies([tf.Assert(tf.reduce_all(tensor > 0), [tensor])]):
        return tf.check_numerics(tensor, "no number")


SMALL = np.arange(1.0, 5.0, dtype=np.float32)
CLIENTS = {
    "a constant": lambda: ([tf.constant(3.0)], []),
    "what is fed": lambda: of_feed(tf.identity, SMALL, [None]),
    "arithmetic": lambda: of_feed(lambda x: tf.reduce_sum(x * 2.0), SMALL, [None]),
    "rows of much data": lambda: of_feed(lambda i: tf.gather(LARGE, i), 7, [], tf.int64),
    "a slice of much data": lambda: of_feed(lambda i: tf.constant(LARGE)[i], 7, [], tf.int64),
    "random numbers": lambda: ([tf.random_normal([8], seed=1)], []),
    "a branch": lambda: of_feed(lambda x: tf.cond(x > 0, lambda: x, lambda: -x), 2.0, []),
    "checks": lambda: of_feed(checked, SMALL, [None]),
    "on a CPU": lambda: ([at("/cpu:0", lambda: tf.random_uniform([2]))], []),
    "a record": lambda: of_feed(
        lambda s: tf.reshape(tf.decode_raw(s, tf.uint8), [4]), b"abcd", [], tf.string
    ),
    "what is not zero": lambda: of_feed(tf.where, SMALL, [None]),
}
WORKERS = {
    "a variable": lambda: ([tf.Variable(1.0) + 1.0], []),
    "an update": lambda: ([tf.Variable(1.0).initializer], []),
    "whether one has a value": lambda: ([tf.is_variable_initialized(tf.Variable(1.0))], []),
    "a Python function": lambda: ([tf.py_func(lambda: 1.0, [], tf.float64)], []),
    "one in a branch": lambda: of_feed(
        lambda x: tf.cond(
            x > 0, lambda: tf.py_func(lambda: np.float32(1.0), [], tf.float32), lambda: x
        ),
        2.0,
        [],
    ),
    "printing": lambda: ([tf.Print(tf.constant(1.0), [1.0])], []),
    "a file": lambda: ([tf.read_file("/dev/null")], []),
    "a loop": lambda: of_feed(
        lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 1, [0]), 9, [], tf.int32
    ),
    "much data": lambda: of_feed(tf.reduce_sum, LARGE, [None, 4]),
    "much made of nothing": lambda: ([tf.random_normal([1 << 22])], []),
    "much made of a number": lambda: of_feed(lambda n: tf.zeros([n]), 3, [], tf.int32),
    "a large product": lambda: of_feed(
        lambda x: tf.matmul(x, x), np.zeros((512, 512), np.float32), [512, 512]
    ),
    "a decomposition": lambda: of_feed(
        tf.matrix_inverse, np.eye(128, dtype=np.float32), [128, 128]
    ),
    "a job": lambda: ([at("/job:ps/task:0/cpu:0", lambda: tf.random_uniform([2]))], []),
}


def fetched(case):
    fetches, feeds = case
    return [f for fetch in fetches for f in (fetch if isinstance(fetch, list) else [fetch])], feeds


@pytest.mark.parametrize("case", CLIENTS)
def test_little_work_that_needs_no_worker_is_the_clients(case):
    plan = planned(*fetched(CLIENTS[case]()))
    assert plan.is_client_work
    assert plan.num_tasks <= 1
    assert "done by the client" in explain(plan)


@pytest.mark.parametrize("case", WORKERS)
def test_what_needs_a_worker_or_is_much_work_is_theirs(case):
    fetches, feeds = fetched(WORKERS[case]())
    fetches = [f if isinstance(f, tf.Operation | tf.Tensor) else f.value() for f in fetches]
    plan = planned(fetches, feeds)
    assert not plan.is_client_work
    assert "done by the client" not in explain(plan)


def test_nothing_is_the_clients_where_there_is_no_cluster_or_it_is_not_to_be():
    x = tf.constant(1.0) + 1.0
    assert not planned([x], most_s=0.0).is_client_work
    with tf.Session() as session:
        assert not session._executable(x, ())[0].plan([]).is_client_work


def test_what_is_cut_is_not_the_clients():
    x = fed([None, 4])
    value = np.ones((8, 4), np.float32)
    y = tf.reduce_sum(tf.matmul(x, tf.ones([4, 4])))
    assert planned([y], [(x, value)]).is_client_work
    assert not planned([y], [(x, value)], parts=2, is_forced=True).is_client_work


def test_texts_that_are_fed_count_by_their_bytes():
    assert seconds_of_texts([np.zeros(1 << 20), text_of(0), np.array([b"", "abc"], object)]) < 1e-6
    assert seconds_of_texts([text_of(1 << 20)]) > config.get().client_work_s
