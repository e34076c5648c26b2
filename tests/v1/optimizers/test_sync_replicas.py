"""SyncReplicasOptimizer: runs of replicas add up to one update."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.v1.optimizers import SyncReplicasOptimizer
from tests.at_once import at_once

LOCAL = ["sync_rep_local_step:0", "sync_rep_count:0"]


class Model:
    """A dense and a sparse variable whose gradients are fed."""

    def __init__(self, aggregate, opt=None, **options):
        self.step = tf.train.create_global_step()
        self.v = tf.Variable([1.0, 2.0], name="v")
        self.table = tf.Variable([[3.0], [4.0], [5.0]], name="table")
        self.unused = tf.Variable(7.0, name="unused")
        self.gradient = tf.placeholder(tf.float32, [2])
        self.values = tf.placeholder(tf.float32, [None, 1])
        self.rows = tf.placeholder(tf.int64, [None])
        self.optimizer = tf.train.SyncReplicasOptimizer(
            opt or tf.train.GradientDescentOptimizer(2.0), aggregate, **options
        )
        pairs = [
            (self.gradient, self.v),
            (tf.IndexedSlices(self.values, self.rows, [3, 1]), self.table),
            (None, self.unused),
        ]
        self.train = self.optimizer.apply_gradients(pairs, global_step=self.step)

    def start(self, sess):
        sess.run(tf.global_variables_initializer())
        sess.run(self.optimizer.chief_init_op)

    def contribute(self, sess, gradient, rows, values):
        feed = {self.gradient: gradient, self.rows: rows, self.values: np.reshape(values, (-1, 1))}
        sess.run(self.train, feed)

    def state(self, sess):
        step, v, table = sess.run([self.step, self.v, self.table])
        return int(step), v.tolist(), table.ravel().tolist()


pytestmark = pytest.mark.usefixtures("graph_unless_eager")


def test_the_last_gradient_needed_applies_the_mean():
    model = Model(2)
    with tf.Session() as sess:
        model.start(sess)
        model.contribute(sess, [1.0, 0.0], [2, 2], [0.5, 0.5])
        assert model.state(sess) == (0, [1.0, 2.0], [3.0, 4.0, 5.0])
        model.contribute(sess, [0.0, 1.0], [0, 2], [1.0, 3.0])
        # Rows: the mean over those that have the row, as TensorFlow's sparse accumulator.
        assert model.state(sess) == (1, [0.0, 1.0], [1.0, 4.0, 1.0])
        for _ in range(2):
            model.contribute(sess, [0.5, 0.5], [1], [0.25])
        assert model.state(sess) == (2, [-1.0, 0.0], [1.0, 3.5, 1.0])
        assert sess.run(model.optimizer._local_step) == 2


def test_one_replica_updates_at_every_run():
    model = Model(1, total_num_replicas=3)
    with tf.Session() as sess:
        model.start(sess)
        for count in (1, 2, 3):
            model.contribute(sess, [0.5, 0.0], [1], [0.0])
            assert model.state(sess)[:2] == (count, [1.0 - count, 2.0])


def test_an_optimizer_with_slots_and_averages():
    with tf.Graph().as_default(), tf.Session() as sess:
        averages = tf.train.ExponentialMovingAverage(0.5)
        v, step = tf.Variable(4.0, name="v"), tf.train.create_global_step()
        momentum = tf.train.MomentumOptimizer(1.0, 0.5)
        optimizer = tf.train.SyncReplicasOptimizer(
            momentum, 2, variable_averages=averages, variables_to_average=[v]
        )
        train = optimizer.minimize(v * 1.0, global_step=step)
        assert optimizer.get_slot_names() == ["momentum"]
        assert optimizer.get_slot(v, "momentum") is momentum.get_slot(v, "momentum")
        assert [w.name for w in optimizer.variables()] == ["v/Momentum:0"]
        sess.run(tf.global_variables_initializer())
        sess.run(optimizer.chief_init_op)
        found = []
        for _ in range(4):
            sess.run(train)
            found.append(sess.run([v, averages.average(v), optimizer.get_slot(v, "momentum")]))
    assert found == [[4.0, 4.0, 0.0], [3.0, 3.5, 1.0], [3.0, 3.5, 1.0], [1.5, 2.5, 1.5]]


def test_what_it_makes_is_local_and_what_it_returns_is_the_train_op(graph):
    model = Model(2)
    assert [v.name for v in tf.local_variables()] == LOCAL + [
        f"sync_replicas/{name}:0"
        for name in ("v/grad_accum", "table/grad_accum", "table/grad_count")
    ]
    assert tf.trainable_variables() == [model.v, model.table, model.unused]
    assert graph.get_collection(tf.GraphKeys.TRAIN_OP) == [model.train]


def test_replicas_in_threads_are_all_counted():
    model = Model(4)
    with tf.Session() as sess:
        model.start(sess)

        def replica():
            for _ in range(8):
                model.contribute(sess, [0.25, 0.0], [0], [0.0])

        at_once(*[replica] * 4)
        assert model.state(sess)[:2] == (8, [-3.0, 2.0])


def test_a_run_that_fails_contributes_nothing():
    model = Model(2)
    with tf.Session() as sess:
        model.start(sess)
        with pytest.raises(Exception, match="99"):
            model.contribute(sess, [1.0, 1.0], [99], [1.0])
        model.contribute(sess, [1.0, 0.0], [0], [0.0])
        assert model.state(sess)[:2] == (0, [1.0, 2.0])
        model.contribute(sess, [0.0, 0.0], [0], [0.0])
        assert model.state(sess)[:2] == (1, [0.0, 2.0])


def test_chunked_variables():
    with tf.Session() as sess:
        v = tf.Variable(np.arange(6.0, dtype="float32"), name="v", chunks=2)
        g, step = tf.placeholder(tf.float32, [6]), tf.train.create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
        train = optimizer.apply_gradients([(g, v)], global_step=step)
        sess.run(tf.global_variables_initializer())
        sess.run(optimizer.chief_init_op)
        for gradient in ([2, 0, 0, 0, 0, 4], [0, 2, 0, 0, 0, 0]):
            sess.run(train, {g: gradient})
        assert sess.run(v).tolist() == [-1.0, 0.0, 2.0, 3.0, 4.0, 3.0]


@pytest.mark.parametrize("is_chief", [True, False])
def test_hook(is_chief):
    early = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    with pytest.raises(ValueError, match="apply_gradient should be called before"):
        early.make_session_run_hook(True).begin()
    model = Model(1)
    hook = model.optimizer.make_session_run_hook(is_chief)
    hook.begin()
    with tf.Session() as sess:
        with pytest.raises(RuntimeError, match=r"did not make model ready.*global_step"):
            hook.after_create_session(sess, None)
        sess.run(tf.global_variables_initializer())
        hook.after_create_session(sess, None)
        assert sess.run(model.optimizer._local_step) == 0
        hook.before_run(None)
        hook.after_run(None, None)
        hook.end(sess)


def test_tokens_and_the_chief_s_thread():
    early = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    for method in ("get_chief_queue_runner", "get_init_tokens_op"):
        with pytest.raises(ValueError, match=rf"{method}\(\) should be called after"):
            getattr(early, method)()
    optimizer = Model(4, total_num_replicas=2).optimizer
    with pytest.raises(ValueError, match=r"Too few tokens .* 1 \(given\) vs 2 \(needed\)"):
        optimizer.get_init_tokens_op(num_tokens=1)
    with tf.Session() as sess:
        assert optimizer.get_chief_queue_runner().create_threads(sess, start=True) == []
        assert sess.run(optimizer.get_init_tokens_op()) is None


def test_what_is_needed():
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="at least one variable"):
        optimizer.apply_gradients([], global_step=v)
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(tf.constant(1.0), v)])
    with pytest.raises(ValueError, match="Unknown grad type"):
        optimizer.apply_gradients([(1.0, v)], global_step=tf.train.create_global_step())


def test_eager_code_has_one_replica():
    v = dv.Variable(1.0)
    optimizer = SyncReplicasOptimizer(dv.train.GradientDescentOptimizer(1.0), 1)
    with pytest.raises(RuntimeError, match="give their mean to the optimizer"):
        optimizer.apply_gradients([(dv.constant(1.0), v)], global_step=v)
