"""Large variables of which nobody said how they are cut: on a cluster every worker has its rows."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.execution.cluster.test_same_bits import initialized

pytestmark = pytest.mark.cluster

ROWS, COLUMNS = 1024, 512  # 2 MiB
HALVES = ((ROWS // 2, ROWS // 2), (COLUMNS,))


def model():
    x = tf.placeholder(tf.float32, [64, ROWS])
    w = tf.get_variable("w", [ROWS, COLUMNS], initializer=tf.glorot_uniform_initializer(seed=1))
    small = tf.get_variable("small", [COLUMNS], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) * small))
    return x, w, loss, tf.train.AdamOptimizer(0.01).minimize(loss)


def batch():
    return np.random.default_rng(0).normal(size=(64, ROWS)).astype("f4")


def chunks_of(session, name):
    return session.engine.values.record(name).chunks


def test_rows_and_slots_are_on_all_workers_and_gradients_go_there(two_workers):
    with tf.Graph().as_default(), two_workers.as_current(), initialized_model() as (session, made):
        x, _, loss, train = made
        session.run([loss, train], {x: batch()})
        assert chunks_of(session, "w") == chunks_of(session, "w/Adam") == HALVES
        assert chunks_of(session, "small") == ((COLUMNS,),)
        fed, values = session._feeds({x: batch()})
        plan = session._executable([loss, train], fed)[0].plan(values)
        kinds = {exchange.kind for exchange in plan.sharding.exchanges if exchange.nbytes > 1 << 20}
        assert kinds == {"all-gathered", "reduce-scattered"}


class initialized_model:
    """A session with the model, its work cut in two."""

    def __enter__(self):
        self.knobs = dv.config.set(batch_parts=2)
        made = model()
        self.session = initialized()
        return self.session, made

    def __exit__(self, *error):
        self.session.close()
        self.knobs.__exit__(*error)


def test_a_checkpoint_is_read_in_the_chunks_that_the_cluster_has(two_workers, tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default():
        model()
        with initialized() as session:
            tf.train.Saver().save(session, path)
            saved = session.run("w:0")
            assert chunks_of(session, "w") == ((ROWS,), (COLUMNS,))
    with tf.Graph().as_default(), two_workers.as_current():
        model()
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            assert chunks_of(session, "w") == HALVES
            np.testing.assert_array_equal(session.run("w:0"), saved)
            tf.train.Saver().save(session, path)
    with tf.Graph().as_default():
        model()
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            assert chunks_of(session, "w") == ((ROWS,), (COLUMNS,))
            np.testing.assert_array_equal(session.run("w:0"), saved)


def test_a_variable_that_was_made_here_is_cut_when_it_is_used_there(two_workers):
    w = dv.Variable(np.ones((ROWS, COLUMNS), "f4"), name="moved")
    assert float(dv.reduce_sum(w)) == ROWS * COLUMNS
    with two_workers.as_current():
        w.assign_add(np.ones((ROWS, COLUMNS), "f4"))
        assert float(dv.reduce_sum(w)) == 2 * ROWS * COLUMNS
        np.testing.assert_array_equal(w.numpy(), np.full((ROWS, COLUMNS), 2.0, "f4"))


def test_what_a_device_or_chunks_say_is_obeyed(two_workers):
    with tf.Graph().as_default(), two_workers.as_current():
        tf.get_variable("asked", [ROWS, COLUMNS], chunks=(ROWS, COLUMNS))
        with tf.device("/job:worker/task:1"):
            tf.get_variable("pinned", [ROWS, COLUMNS])
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            for name in ("asked", "pinned"):
                assert chunks_of(session, name) == ((ROWS,), (COLUMNS,))


def test_what_ran_here_runs_there_once_the_values_have_moved(two_workers):
    """A plan that is cached for this process is not for what a client has taken over."""
    w = dv.Variable(np.ones((4, 2), "f4"), name="read_here_first")
    assert w.numpy().sum() == 8  # the read is planned for this process
    with two_workers.as_current():
        assert w.numpy().sum() == 8
        w.assign_add(np.ones((4, 2), "f4"))
        assert w.numpy().sum() == 16


@pytest.mark.parametrize("make", [dv.train.MomentumOptimizer, dv.train.AdamOptimizer])
def test_rows_are_updated_as_they_are_stored_whatever_the_work_is_cut_into(two_workers, make):
    """In a first eager step: the values that it begins with are cut as the work is, in three."""

    def trained():
        dv.reset()
        start, ids = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)), [[3, 1000], [511, 3]]
        table = dv.Variable(start.astype("f4"))
        optimizer = make(0.1, 0.9)
        with dv.GradientTape() as tape:
            loss = dv.reduce_mean(dv.square(dv.nn.embedding_lookup(table, ids)))
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
        return table.numpy()

    with dv.config.set(batch_parts=3):
        wanted = trained()
        with two_workers.as_current():
            np.testing.assert_array_equal(trained(), wanted)
    dv.reset()
