"""Stages: how many tasks, how many exchanges of how many bytes, for workers that are described."""

import itertools
import time

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config, lowering
from daskvars.execution.engine.values.checked_feeds import feed_specs
from daskvars.lowering.emission.stages import ANYWHERE, described, stages
from daskvars.lowering.explain import explain
from daskvars.lowering.planner.cut_feeds import Machine
from tests.lowering.places import Anywhere
from tests.sessions import initialized

UNITS, ROWS = 64, 128
WORKERS = [1, 2, 8, 32]


def dense_step(num_layers=2, shards=1, units=UNITS):
    """A training step of a dense model whose weights are cut in columns."""
    x = tf.placeholder(tf.float32, [None, units])
    h = x
    for i in range(num_layers):
        w = tf.get_variable(f"w{i}", [units, units], chunks=(units, units // shards))
        h = tf.nn.relu(tf.matmul(h, w))
    loss = tf.reduce_mean(tf.square(h))
    return x, loss, tf.train.AdamOptimizer().minimize(loss)


def plan_of(x, *fetches, parts=1, rows=ROWS, units=UNITS):
    with config.set(batch_parts=parts), initialized() as session:
        program, _ = session._executable(list(fetches), (x,))
        return program.plan([np.ones((rows, units), np.float32)])


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("shards", [1, 4])
def test_a_task_for_each_worker_and_stage(graph, workers, shards):
    x, loss, step = dense_step(shards=shards)
    plan = plan_of(x, loss, step, parts=min(workers, 4))
    found = described(plan, workers)
    assert len(found.stages) <= found.num_stages * workers
    assert found.num_tasks <= found.num_stages * (workers + 1) + 1
    assert sum(len(stage.blocks) for stage in found.stages) == plan.num_tasks
    if workers == 1:
        assert (found.num_tasks, found.exchanged_bytes, found.exchanges) == (1, 0, {})


def test_neither_layers_nor_variables_nor_chunks_add_tasks_where_the_batch_is_cut(graph):
    counts = set()
    for num_layers, name in ((1, "a"), (3, "b")):
        with tf.variable_scope(name):
            x, _, step = dense_step(num_layers)
        counts.add(described(plan_of(x, step, parts=4), 4).num_tasks)
    assert len(counts) == 1
    assert counts.pop() <= 2 * 4 + 2


@pytest.mark.parametrize("workers", [2, 8, 32])
@pytest.mark.parametrize("dim", [0, 1])
def test_the_norm_that_gradients_are_clipped_by_is_found_where_they_are(graph, workers, dim):
    units = 512
    chunks = [units, units]
    chunks[dim] = units // workers
    x = tf.placeholder(tf.float32, [None, units])
    h = x
    for i in range(2):
        w = tf.get_variable(f"w{i}", [units, units], chunks=tuple(chunks))
        h = tf.nn.relu(h @ w + tf.get_variable(f"b{i}", [units]))
    optimizer = tf.train.AdamOptimizer()
    found = optimizer.compute_gradients(tf.reduce_mean(tf.square(h)))
    gradients, variables = zip(*found, strict=True)
    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
    step = optimizer.apply_gradients(zip(clipped, variables, strict=True))
    found = described(plan_of(x, step, parts=workers, units=units), workers)
    assert found.num_stages == 3
    assert found.num_tasks <= 3 * workers + 3
    weights, others = 2 * 4 * units * units, 2 * 4 * units
    assert found.exchanged_bytes <= workers * (2 * weights + 3 * others)
    assert found.exchanges[2].most_bytes <= 4 * 4 * workers


def used_again(decay):
    """A training step of a network that has the same weights in each of its layers."""
    x = tf.placeholder(tf.float32, [None, UNITS])
    start = np.random.default_rng(1).standard_normal((UNITS, UNITS)).astype("f4") / 8
    h, w = x, tf.get_variable("w", initializer=start, chunks=(UNITS // 2, UNITS))
    for _ in range(4):
        h = tf.tanh(tf.matmul(h, w))
    loss = tf.reduce_mean(tf.square(h - x)) + decay * tf.nn.l2_loss(w)
    return x, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_gradients_of_what_is_used_again_are_merged_once(graph, decay):
    x, loss, step = used_again(decay)
    found = described(plan_of(x, loss, step, parts=2), 2)
    assert found.exchanged_bytes <= 1.1 * 2 * 4 * UNITS**2
    fed = {x: np.random.default_rng(0).standard_normal((ROWS, UNITS))}
    losses = []
    for parts in (1, 2):
        with config.set(batch_parts=parts), initialized() as session:
            losses.append([session.run([loss, step], fed)[0] for _ in range(3)])
    np.testing.assert_allclose(*losses, rtol=1e-6)


@pytest.mark.parametrize("workers", [2, 8])
def test_weights_that_several_stages_take_are_gathered_once(graph, workers):
    x = tf.placeholder(tf.float32, [None, UNITS])
    h = x
    for i in range(2):
        w = tf.get_variable(f"w{i}", [UNITS, UNITS], chunks=(UNITS // workers, UNITS))
        h = tf.nn.relu(tf.matmul(h, w))
        h -= tf.reduce_mean(h, 0)  # the batch's: forward and backward are several stages
    loss = tf.reduce_mean(tf.square(h))
    step = tf.train.AdamOptimizer().minimize(loss)
    found = described(plan_of(x, loss, step, parts=workers), workers)
    assert found.num_stages > 4
    means = 8 * 4 * UNITS
    assert found.exchanged_bytes <= 2 * (workers - 1) * (2 * 4 * UNITS**2 + workers * means)


@pytest.mark.parametrize("workers", [2, 8])
def test_whole_weights_that_several_stages_take_come_once(graph, workers):
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    h = x
    for i in range(2):
        h = tf.tanh(tf.matmul(h, tf.get_variable(f"w{i}", [UNITS, UNITS])))
    # Of the batch: two stages of work.
    loss = tf.reduce_sum(tf.square(h)) / tf.stop_gradient(tf.reduce_max(h))
    step = tf.train.AdamOptimizer().minimize(loss)
    with initialized() as session:
        values = [np.ones((ROWS, UNITS), "f4")]
        machine = Machine(parts=workers, is_forced=True)
        plan = lowering.lower(
            [loss],
            [step],
            feed_specs([x], values),
            session.engine.state_of,
            places=Anywhere(),
            machine=machine,
        )
    found = described(plan, workers)
    assert found.num_stages == 3
    assert found.exchanged_bytes <= 1.1 * 2 * (workers - 1) * 2 * 4 * UNITS**2


@pytest.mark.parametrize("workers", [2, 8])
@pytest.mark.parametrize("is_float", [True, False])
def test_what_little_that_is_fed_tells_is_found_by_each_block(graph, workers, is_float):
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    used = tf.placeholder(tf.float32 if is_float else tf.int32, [ROWS])
    w = tf.get_variable("w", [UNITS, UNITS], chunks=(UNITS // workers, UNITS))
    mask = used if is_float else tf.cast(used < tf.reduce_max(used), tf.float32)
    losses = tf.reduce_mean(tf.square(tf.matmul(x, w)), 1)
    loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
    loss = tf.add_n([loss, tf.reduce_mean(losses), tf.reduce_mean(tf.square(mask))])
    loss /= tf.reduce_sum(mask) + tf.reduce_sum(tf.square(mask))
    step = tf.train.AdamOptimizer().minimize(loss)
    values = [np.ones((ROWS, UNITS), "f4"), np.arange(ROWS).astype("f4" if is_float else "i4")]
    found = []
    for parts in (1, workers):
        with config.set(batch_parts=parts), initialized() as session:
            session.run(w.assign(tf.ones([UNITS, UNITS]) / UNITS))
            program, _ = session._executable([loss, step], (x, used))
            plan = program.plan(values)
            fed = dict(zip((x, used), values, strict=True))
            found.append([session.run([loss, step], fed)[0] for _ in range(3)])
    assert described(plan, workers).num_stages == 2
    np.testing.assert_allclose(*found, rtol=1e-5)


def critic(h, name, chunks):
    """Return a number for each row; the same weights are used again."""
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [UNITS, UNITS], chunks=(UNITS // chunks, UNITS))
        last = tf.get_variable("last", [UNITS, 1], chunks=(UNITS // chunks, 1))
        return tf.matmul(tf.tanh(tf.matmul(h, w)), last)


@pytest.mark.parametrize("workers", [2, 8])
@pytest.mark.parametrize("is_cut", [True, False])
def test_gradients_by_what_is_fed_are_cut_as_that_is(graph, workers, is_cut):
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    (slope,) = tf.gradients(critic(x, "c", workers if is_cut else 1), x)
    (noise,) = tf.gradients(critic(x + scaled_noise(), "c", workers if is_cut else 1), x)
    loss = tf.reduce_mean(tf.square(tf.norm(slope, axis=1) - 1.0)) + tf.reduce_mean(noise)
    step = tf.train.AdamOptimizer().minimize(loss)
    found = described(plan_of(x, loss, step, parts=workers), workers)
    assert found.num_stages == 2
    assert found.exchanged_bytes <= 1.1 * 2 * (workers - 1) * 4 * (UNITS**2 + UNITS)


def scaled_noise():
    return tf.nn.l2_normalize(tf.random_normal([ROWS, UNITS], seed=1), 1)


@pytest.mark.parametrize("workers", [2, 8])
def test_noise_that_a_network_begins_with_is_cut_as_what_is_fed(graph, workers):
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    made = critic(tf.random_normal([ROWS, UNITS], seed=2), "g", workers) * x
    loss = tf.reduce_mean(critic(made, "c", workers))
    step = tf.train.AdamOptimizer().minimize(loss)
    found = described(plan_of(x, loss, step, parts=workers), workers)
    assert found.num_stages == 2
    assert found.exchanged_bytes <= 1.1 * 2 * (workers - 1) * 2 * 4 * (UNITS**2 + UNITS)


def test_rows_of_a_table_that_comes_whole_are_looked_up_in_it(graph):
    ids = tf.placeholder(tf.int32, [8])
    table = tf.get_variable("table", [1024, UNITS], chunks=(512, UNITS))
    h = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.nn.softmax(tf.matmul(h, table, transpose_b=True))[:, 0])
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with config.set(batch_parts=2), initialized() as session:
        program, _ = session._executable([loss, step], (ids,))
        plan = program.plan([np.arange(8, dtype="i4")])
    found = described(plan, 2)
    assert found.exchanges[0].nbytes <= 4 * 1024 * UNITS + 64


@pytest.mark.parametrize("workers", [2, 8, 32])
@pytest.mark.parametrize("dim", [0, 1])
def test_rows_that_are_looked_up_are_updated_in_the_stage_of_all_updates(graph, workers, dim):
    table_shape, chunks = [32, 64], [32, 64]
    chunks[dim] = table_shape[dim] // workers
    ids = tf.placeholder(tf.int32, [None, 4])
    table = tf.get_variable("table", table_shape, chunks=tuple(chunks))
    w = tf.get_variable("w", [64, 64], chunks=(64, 64 // workers))
    h = tf.matmul(tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1), w)
    loss = tf.reduce_mean(tf.square(h))
    step = tf.train.AdamOptimizer().minimize(loss)
    with config.set(batch_parts=workers), initialized() as session:
        program, _ = session._executable([loss, step], (ids,))
        plan = program.plan([np.zeros((256, 4), np.int32)])
    assert described(plan, workers).num_tasks <= 2 * workers + 2


@pytest.mark.parametrize("workers", [2, 8, 32])
def test_only_rows_that_are_looked_up_travel_and_no_stage_gives_them(graph, workers):
    rows, columns, count = 32_768, 16, 1024
    table = tf.get_variable("table", [rows, columns], chunks=(rows // workers, columns))
    ids = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids)))
    step = tf.train.AdagradOptimizer(0.1).minimize(loss)
    with config.set(batch_parts=workers), initialized() as session:
        program, _ = session._executable([loss, step], (ids,))
        plan = program.plan([np.zeros(count, np.int32)])
    found = described(plan, workers)
    assert found.num_tasks <= 2 * workers + 2
    there, back = count * 4 * columns, count * (4 * columns + 8)
    assert found.exchanged_bytes <= 1.05 * (there + back)


def test_stages_come_after_what_they_take(graph):
    x, loss, step = dense_step(3, shards=4)
    found = described(plan_of(x, loss, step, parts=4), 4)
    place = {}
    for number, stage in enumerate(found.stages):
        assert len({(stage.worker, stage.level)}) == 1
        for block in stage.blocks:
            place[block.region, block.number] = number
    for number, stage in enumerate(found.stages):
        for takings in stage.takings:
            for taking in takings:
                for before in taking.stages:
                    there = found.stages[before]
                    crossed = there.worker != stage.worker
                    assert before == number or there.level + crossed <= stage.level
                    assert before <= number
    for region, numbers in enumerate(found.stage_of):
        assert [place[region, i] for i in range(len(numbers))] == numbers


def test_bytes_are_those_of_the_slices_that_another_worker_has(graph):
    v = tf.get_variable("v", [8, 4], chunks=(4, 4))
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.reduce_sum(tf.matmul(x, v, transpose_b=True))
    plan = plan_of(x, y, parts=2, rows=6, units=4)
    found = described(plan, 2)
    of_variables = found.exchanges.get(0)
    results = sum(e.nbytes for level, e in found.exchanges.items() if level)
    assert found.exchanged_bytes == (of_variables.nbytes if of_variables else 0) + results
    assert all(e.most_bytes <= e.nbytes for e in found.exchanges.values())
    assert described(plan, 1).exchanged_bytes == 0


def test_bytes_of_what_a_loop_notes_are_those_of_its_arrays(graph):
    x = tf.placeholder(tf.float32, [None, UNITS])
    table = tf.get_variable("table", [ROWS, UNITS])
    ids = tf.cast(x[:, 0], tf.int32)

    def turn(i, h):
        return i + 1, tf.tanh(h + tf.nn.embedding_lookup(table, ids))

    # What is noted of two parts goes to the gradient, which is in one: it looks up rows.
    _, h = tf.while_loop(lambda i, h: i < 3, turn, [0, x])
    loss = tf.reduce_sum(tf.square(h))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    found = described(plan_of(x, loss, step, parts=2), 2)
    assert 0 < found.exchanged_bytes < 20 * ROWS * UNITS * 4


def test_what_nobody_placed_is_where_most_of_its_bytes_are(graph):
    v = tf.get_variable("v", [1000])
    w = tf.get_variable("w", [10])
    plan = plan_of(tf.placeholder(tf.float32, [None, UNITS]), tf.reduce_sum(v) + tf.reduce_sum(w))
    homes = {"v": 2, "w": 1}
    found = stages(plan, 3, lambda region, number: ANYWHERE, lambda key, i, n: homes[key])
    assert [stage.worker for stage in found.stages] == [2]
    assert found.exchanges[0].nbytes == 40


def test_a_stage_of_more_than_a_task_should_hold_is_several(graph):
    x, _, step = dense_step(2, shards=4)
    plan = plan_of(x, step, parts=4)

    def nowhere(*_):
        return ANYWHERE

    whole = stages(plan, 1, nowhere, nowhere)
    cut = stages(plan, 1, nowhere, nowhere, most_bytes=UNITS * UNITS)
    assert len(whole.stages) == 1
    assert len(cut.stages) > 1
    assert all(stage.level == 0 for stage in cut.stages)


def test_many_pairs_wait_for_one_task(graph):
    x, _, step = dense_step(1, shards=16)
    few, many = plan_of(x, step, parts=2), plan_of(x, step, parts=16)
    assert not any(e.has_barrier for level, e in described(few, 2).exchanges.items() if level)
    found = described(many, 16)
    assert any(e.has_barrier for e in found.exchanges.values())
    assert found.num_barriers == sum(e.has_barrier for e in found.exchanges.values())


def test_a_thousand_workers_are_laid_out_in_seconds(graph):
    x, loss, step = dense_step(2)
    plan = plan_of(x, loss, step, parts=1000, rows=1000)
    begun = time.perf_counter()
    found = described(plan, 1000)
    assert time.perf_counter() - begun < 10
    assert found.num_tasks <= 2 * 1000 + 2
    assert f"{found.num_tasks:,} Dask tasks on 1,000 workers" in found.summary()[0]


@pytest.mark.parametrize("parts", [4, 32])
def test_pairs_of_parts_and_chunks_are_looked_at_once_for_each_part(graph, parts):
    x, _, step = dense_step(1, shards=32)
    found = described(plan_of(x, step, parts=parts), parts)
    takings = {t for stage in found.stages for t in itertools.chain(*stage.takings)}
    assert max(t.num_slices for t in takings) == 32
    assert len(takings) < 10 * parts + 4 * 32  # of parts, and of chunks; 1,024 pairs are more
    pairs = 4 * 32 * parts * UNITS * UNITS // 32  # bytes of gradients, all of one part
    gradients = sum(t.nbytes * t.num_slices for t in takings if t.num_slices > 1)
    assert gradients == pairs
    received, sent = found.traffic()
    assert received.total() == sent.total() == found.exchanged_bytes


def test_a_plan_says_what_its_stages_cost(graph):
    x, loss, step = dense_step(1, shards=4)
    plan = plan_of(x, loss, step, parts=4)
    lines = described(plan, 4).summary()
    assert len(lines) == 1 + len(described(plan, 4).exchanges)
    assert all("bytes" in line for line in lines)
    assert "Dask tasks" not in explain(plan)
