"""Several threads at once: eager code, functions, sessions, one graph that all build; forks."""

from __future__ import annotations

import os
import threading
from functools import partial

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from tests import fresh
from tests.at_once import at_once

THREADS = 8


pytestmark = pytest.mark.usefixtures("switching_often")


def in_threads(work):
    """Call ``work(number)`` in threads that begin together; raise what one of them raised."""
    at_once(*[partial(work, number) for number in range(THREADS)])


@pytest.mark.slow
def test_eager_code_functions_and_tapes_of_many_threads_are_exact():
    total, large = dv.Variable(np.zeros(3)), dv.Variable(np.zeros(200_000))

    @dv.function
    def doubled(x):
        return dv.reduce_sum(x * 2.0) + 1.0

    def work(k):
        mine, x = dv.Variable(float(k)), np.arange(5.0) + k
        for i in range(100):
            total.assign_add(np.ones(3))
            if i % 10 == 0:
                large.assign_add(np.ones(200_000))
            with dv.name_scope(f"thread{k}"):
                assert float(dv.reduce_sum(dv.constant(x) * x)) == np.sum(x**2)
            with dv.GradientTape() as tape:
                y = dv.reduce_sum(mine * mine * float(k))
            assert float(tape.gradient(y, mine)) == 2 * k * k
            assert float(doubled(x)) == 2 * x.sum() + 1

    in_threads(work)
    assert total.numpy().tolist() == [100 * THREADS] * 3
    assert (large.numpy() == 10 * THREADS).all()


def test_a_thread_sees_what_another_did_before_it():
    v = dv.Variable(0.0)
    turn = [threading.Event() for _ in range(THREADS + 1)]
    turn[0].set()

    def work(k):
        assert turn[k].wait(60)
        before = v.read_value()  # not looked at until the others have gone on
        v.assign_add(1.0)
        after = v * 1.0
        turn[k + 1].set()
        assert turn[THREADS].wait(60)
        assert (float(before), float(after)) == (k, k + 1)

    in_threads(work)


def test_a_tensor_goes_from_thread_to_thread():
    found = {}

    def first():
        found["x"] = dv.constant(2.0) * 3.0

    maker = threading.Thread(target=first)
    maker.start()
    maker.join()
    assert float(found["x"] + 1.0) == 7.0


def test_an_error_is_raised_in_the_thread_whose_it_is():
    v, done, looked = dv.Variable(1.0), threading.Event(), threading.Event()
    seen = []

    def bad():
        v.assign_add(1.0)
        dv.check_numerics(dv.constant(np.nan), "not a number")
        done.set()
        assert looked.wait(60)
        with pytest.raises(InvalidArgumentError, match="not a number"):
            dv.sync()
        seen.append(True)

    thread = threading.Thread(target=bad)
    thread.start()
    assert done.wait(60)
    assert float(v) == 2.0
    looked.set()
    thread.join(60)
    assert seen == [True]


def test_scopes_and_tapes_are_the_threads_own():
    inside, left = threading.Event(), threading.Event()

    def hold():
        with dv.name_scope("held"), dv.GradientTape() as tape, dv.device("/cpu:7"):
            inside.set()
            assert left.wait(60)
            v = dv.Variable(3.0)
            y = v * v
        assert float(tape.gradient(y, v)) == 6.0

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)
    x = dv.constant(1.0) + 1.0
    left.set()
    thread.join(60)
    assert not x.op.name.startswith("held")
    assert x.device == ""


def test_one_graph_is_built_by_many_threads():
    graph = tf.Graph()
    results = {}

    def work(k):
        with graph.as_default(), tf.name_scope(f"of_{k}"):
            x = tf.constant(float(k))
            for i in range(100):
                with tf.control_dependencies([x.op]), tf.device(f"/cpu:{k}"):
                    x = x + float(i)
                assert x.device.endswith(f"{k}")
                assert x.op.name.startswith(f"of_{k}")
            results[k] = x

    in_threads(work)
    names = [op.name for op in graph.get_operations()]
    assert len(set(names)) == len(names)
    assert [op.id for op in graph.get_operations()] == list(range(len(names)))
    with tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)) as session:
        found = session.run([results[k] for k in range(THREADS)])
    assert found == [k + 4950.0 for k in range(THREADS)]


def test_runs_of_one_session_from_many_threads_are_exact():
    with tf.Graph().as_default():
        count, x = tf.Variable(0), tf.placeholder(tf.float32, [None])
        add, doubled = count.assign_add(1), x * 2.0
        with tf.Session() as session:
            session.run(count.initializer)

            def work(k):
                for i in range(100):
                    session.run(add)
                    fed = np.full(1 + (k + i) % 5, k, "f4")
                    assert (session.run(doubled, {x: fed}) == 2 * fed).all()

            in_threads(work)
            assert session.run(count) == 100 * THREADS


def test_a_function_is_traced_once_for_all_threads():
    @dv.function
    def grow(x):
        if not kept:
            kept.append(dv.Variable(0.0))
        return kept[0].assign_add(x)

    kept = []
    in_threads(lambda k: grow(np.float32(1.0)))
    assert (len(kept), grow.num_traces) == (1, 1)
    assert float(kept[0]) == THREADS


@pytest.mark.parametrize(("size", "is_worth_it"), [(4_000, False), (4_000_000, True)])
def test_only_work_that_is_worth_it_is_handed_to_threads(size, is_worth_it):
    def of_pools():
        return {thread for thread in threading.enumerate() if "daskvars" in thread.name}

    before = of_pools()
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [size], chunks=size // 4, initializer=tf.ones_initializer())
        session.run(w.initializer)
        assert session.run(tf.reduce_sum(tf.sqrt(w))) == size
        assert bool(of_pools() - before) == is_worth_it


CHUNKED = """
import os, sys, numpy as np, daskvars as dv
v = dv.Variable(np.zeros(4_000_000), chunks=1_000_000)
@dv.function
def total():
    return dv.reduce_sum(v)
large = dv.constant(np.ones(1_000_000))
assert float(total()) == 0.0
assert float(dv.reduce_sum(large * 2.0 + 1.0)) == 3e6
sys.stdout.flush()
child = os.fork()
if not child:
    try:
        assert float(dv.reduce_sum(large * 2.0 + 1.0)) == 3e6
        total()
    except dv.errors.FailedPreconditionError as error:
        print(error.message)
        sys.stdout.flush()
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_child_is_told_that_chunks_need_threads():
    told = fresh.printed("-c", CHUNKED, after=fresh.PACKAGE)
    assert "forked" in told
    assert "spawn" in told
