"""Updates of rows of a variable cut by rows run where the rows are."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.lowering.rewrites import split_rows

pytestmark = pytest.mark.usefixtures("graph")

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.5),
    "momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adam": lambda: tf.train.AdamOptimizer(0.5),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.5, momentum=0.5),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.01),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "add": None,
    "update": None,
}
ROWS, IDS = 11, np.array([[3, 10, 3], [0, 7, 10]])


def step_of(name, table, ids, again, norm=None):
    if name == "add":
        return tf.scatter_add(table, tf.reshape(ids, [-1]), tf.ones([6, 2]))
    if name == "update":
        rows = tf.gather(table, [1, 5, 8]) * 2.0 + tf.constant([[1.0], [2.0], [3.0]])
        return tf.scatter_update(table, [1, 5, 8], rows)
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 0.3))
    if again:
        loss += tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids[:, 0] + 1) + 0.2))
    optimizer = OPTIMIZERS[name]()
    if norm is None:
        return optimizer.minimize(loss)
    (gradient,), _ = tf.clip_by_global_norm(tf.gradients(loss, [table]), norm)
    return optimizer.apply_gradients([(gradient, table)])


def trained(name, chunks, again=False, norm=None):
    start = np.random.default_rng(0).normal(size=(ROWS, 2))
    with tf.Graph().as_default():
        table = tf.get_variable("t", initializer=start.astype("f"), chunks=chunks)
        ids = tf.placeholder(tf.int64, [2, 3])
        step = step_of(name, table, ids, again, norm)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for shift in range(3):
                session.run(
                    step.op if hasattr(step, "op") else step, {ids: (IDS + shift) % (ROWS - 1)}
                )
            return session.run(tf.global_variables())


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("chunks", [(4, 2), (3, 1), (11, 1)])
def test_a_cut_table_is_trained_as_a_whole_one(name, chunks):
    for whole, cut in zip(trained(name, None), trained(name, chunks), strict=True):
        np.testing.assert_allclose(whole, cut, rtol=1e-6)


@pytest.mark.parametrize("name", ["adagrad", "momentum", "sgd", "rmsprop", "ftrl"])
def test_an_update_is_one_task_for_each_block(name, plans):
    trained(name, (4, 2))
    plan = plans[-2]  # the last one fetches
    assert [region.num_tasks for region in plan.regions] == [3, 3]
    kernels = {getattr(call.kernel, "__name__", "") for call in plan.regions[-1].program.calls}
    adds_up = name != "sgd"  # which takes all rows as they come
    assert {"own_sums" if adds_up else "own_rows", "scatter_rows"} <= kernels
    assert ("deduplicate" in kernels) is adds_up


@pytest.mark.parametrize("name", ["adagrad", "sgd", "adam"])
def test_what_several_lookups_give_is_routed_lookup_by_lookup(name, plans):
    for whole, cut in zip(trained(name, None, True), trained(name, (4, 2), True), strict=True):
        np.testing.assert_allclose(whole, cut, rtol=1e-6)
    plan = plans[-2]  # the last one fetches
    for region in plan.regions:
        kernels = [getattr(call.kernel, "__name__", "") for call in region.program.calls]
        assert "concat" not in kernels or region.num_tasks == 3
    kernels = [getattr(call.kernel, "__name__", "") for call in plan.regions[-1].program.calls]
    assert kernels.count("concat") == 2
    assert kernels.count("own_rows" if name == "sgd" else "own_sums") == 2


@pytest.mark.parametrize("name", ["adagrad", "momentum", "rmsprop", "ftrl", "adam"])
def test_gradients_are_added_up_where_the_columns_are(name, plans):
    trained(name, (11, 1))
    plan = plans[-2]  # the last one fetches
    assert plan.regions[-1].num_tasks == 2
    kernels = {getattr(call.kernel, "__name__", "") for call in plan.regions[-1].program.calls}
    assert {"deduplicate", "scatter_rows"} <= kernels


def test_rows_of_a_cut_table_travel_once(plans):
    with tf.Session() as session:
        table = tf.get_variable("t", [1000, 8], chunks=(10, 8))
        found = tf.gather(table, list(range(40)))
        session.run(table.initializer)
        session.run(found)
    assert plans[-1].transfer_bytes <= 40 * 8 * 4


def test_an_id_out_of_range_is_refused_and_nothing_changes():
    table = tf.get_variable("t", [6, 2], chunks=(3, 2), initializer=tf.zeros_initializer())
    ids = tf.placeholder(tf.int32, [2])
    step = tf.scatter_add(table, ids, tf.ones([2, 2])).op
    with tf.Session() as session:
        session.run(table.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 6 is not in"):
            session.run(step, {ids: [0, 6]})
        assert not session.run(table).any()


@pytest.mark.parametrize("chunks", [((4, 4), (3,)), ((8,), (1, 2))])
def test_an_update_made_from_rows_that_another_has_updated_is_routed_after_it(chunks):
    """Nadam: rows of the average are updated, read, and moved by."""

    def trained(chunks):
        with tf.Graph().as_default(), tf.Session() as session:
            start = tf.constant_initializer(np.arange(24.0).reshape(8, 3))
            table = tf.get_variable("table", [8, 3], initializer=start, chunks=chunks)
            ids = tf.placeholder(tf.int32, [None])
            loss = tf.reduce_sum(tf.square(tf.gather(table, ids)))
            step = tf.train.NadamOptimizer(0.1).minimize(loss)
            session.run(tf.global_variables_initializer())
            for fed in ([1, 5, 1], [7, 0, 2], [4, 3, 6]):
                session.run(step, {ids: fed})
            return session.run(table)

    np.testing.assert_allclose(trained(chunks), trained(None), rtol=1e-6)


def test_rows_that_one_part_alone_has_are_not_written_over():
    """They are that part's own memory, which others read too."""
    table = tf.get_variable("t", [4, 2], chunks=(2, 2), initializer=tf.zeros_initializer())
    fed = tf.placeholder(tf.float32, [4, 2])
    rows = tf.cumsum(fed, axis=1)
    step = tf.scatter_add(table, [0, 1, 2, 3], rows * tf.tanh(tf.get_variable("s", [])))
    with config.set(batch_parts=2), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([rows, step.op], {fed: np.ones([4, 2])})[0]
    np.testing.assert_array_equal(found, [[1, 2]] * 4)


def test_rows_in_order_are_not_written_over_while_they_wait():
    """A part's own of them are a slice of all."""
    table = tf.get_variable("t", [4, 2], chunks=(2, 2), initializer=tf.zeros_initializer())
    fed = tf.placeholder(tf.float32, [4, 2])
    rows = tf.cumsum(fed, axis=1)
    steps = [tf.scatter_add(table, [0, 1, 2, 3], added).op for added in (rows + fed, rows)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(steps, {fed: np.ones([4, 2])})
        np.testing.assert_array_equal(session.run(table), [[3, 5]] * 4)


@pytest.mark.parametrize("name", ["adagrad", "sgd"])
def test_what_is_clipped_is_summed_up_and_routed_lookup_by_lookup(name, plans, monkeypatch):
    monkeypatch.setattr(split_rows, "MIN_BYTES", 1)
    whole, cut = (trained(name, chunks, True, norm=0.1) for chunks in (None, (4, 2)))
    np.testing.assert_allclose(whole[0], cut[0], rtol=1e-6)
    first, *_, last = plans[-2].regions
    called = [getattr(call.kernel, "__name__", "") for call in first.program.calls]
    assert "concat" not in called
    called = [getattr(call.kernel, "__name__", "") for call in last.program.calls]
    assert called.count("own_rows" if name == "sgd" else "own_sums") == 2


@pytest.mark.parametrize("chunks", [None, 1])
def test_what_is_added_to_each_row_is_no_part_of_the_table_though_it_be_cut(chunks):
    found = []
    for cut in (None, (4, 2)):
        with tf.Graph().as_default():
            table = tf.get_variable("t", initializer=np.ones((ROWS, 2), "f4"), chunks=cut)
            bias = tf.get_variable("b", initializer=np.array([1.0, 2.0], "f4"), chunks=chunks)
            rows = tf.placeholder(tf.float32, [3, 2])
            step = tf.scatter_sub(table, [1, 5, 8], tf.gather(table, [1, 5, 8]) * (rows + bias))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(step.op, {rows: np.arange(6.0).reshape(3, 2)})
                found.append(session.run(table))
    np.testing.assert_array_equal(*found)


def test_what_is_wanted_whole_as_well_is_not_computed_again_for_its_sum(plans, monkeypatch):
    monkeypatch.setattr(split_rows, "MIN_BYTES", 1)
    x = tf.placeholder(tf.float32, [3, 2])
    both = tf.exp(tf.concat([x, x + 1.0], 0))
    with tf.Session() as session:
        total, _ = session.run([tf.reduce_sum(both), both], {x: np.zeros((3, 2))})
    called = [call.kernel for region in plans[-1].regions for call in region.program.calls]
    assert called.count("exp") == 1
    assert total == pytest.approx(6 + 6 * np.e)
