"""Models of many tables: they are asked together, and steps on cut ones are shared by workers."""

import numpy as np

import daskvars.v1 as tf
from daskvars import config

ROWS, BATCH = 40, 8


def step_of(tables):
    ids = tf.placeholder(tf.int64, [BATCH, 2])
    found = []
    for number in range(tables):
        table = tf.get_variable(f"t{number}", [ROWS, 4], chunks=(ROWS // 2, 4))
        found.append(tf.reduce_sum(tf.nn.embedding_lookup(table, ids), axis=1))
    # The last table is asked for what the others gave: it cannot be asked before.
    picked = tf.cast(tf.reduce_sum(tf.abs(found[0]), axis=1) > 1e9, tf.int64)
    table = tf.get_variable("last", [ROWS, 4], chunks=(ROWS // 2, 4))
    found.append(tf.nn.embedding_lookup(table, picked))
    loss = tf.reduce_mean(tf.square(tf.add_n(found) - 1.0))
    return ids, loss, tf.train.AdagradOptimizer(0.1).minimize(loss)


def trained(tables, parts):
    batches = np.random.default_rng(0).integers(0, ROWS, (3, BATCH, 2))
    with tf.Graph().as_default(), config.set(batch_parts=parts), tf.Session() as session:
        tf.set_random_seed(1)
        ids, loss, step = step_of(tables)
        session.run(tf.global_variables_initializer())
        return [session.run([loss, step], {ids: batch})[0] for batch in batches]


def kernels(plan):
    calls = (call for region in plan.regions for call in region.program.calls)
    return [getattr(call.kernel, "__name__", "") for call in calls]


def test_all_tables_are_asked_before_any_answer_is_waited_for(plans):
    cut = trained(3, 2)
    names = kernels(plans[-1])
    asked = [i for i, name in enumerate(names) if name == "ask_for_rows"]
    given = [i for i, name in enumerate(names) if name == "rows_given"]
    assert len(asked) == len(given) == 3 and max(asked) < min(given)
    assert names.count("rows_of_table") == 1  # whose ids depend on an answer
    np.testing.assert_allclose(cut, trained(3, 1), rtol=1e-5)


def test_memory_that_rows_take_is_work_where_variables_are_cut(plans):
    ids = np.zeros((100_000, 64), np.int64)
    with tf.Graph().as_default(), config.set(num_threads=2), tf.Session() as session:
        tables = [tf.get_variable("t", [ROWS, 4], chunks=(n, 4)) for n in (ROWS // 2,)]
        tables.append(tf.get_variable("whole", [ROWS, 4]))
        fed = tf.placeholder(tf.int64, [None, 64])
        session.run(tf.global_variables_initializer())
        for table in tables:
            session.run(tf.reduce_sum(tf.gather(table, fed)), {fed: ids})
        session.run(tf.reduce_sum(tf.gather(tables[0], fed)), {fed: ids[:10]})
    large, whole, small = (plan.sharding.chosen for plan in plans[-3:])
    assert large is not None and large.dims
    assert whole is None and small is None
