"""Plans are counted: tasks per step, regions, lowerings."""

import itertools

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import lowering
from daskvars.execution.engine.values.checked_feeds import feed_specs
from daskvars.lowering.planner.cut_feeds import Machine
from tests.lowering.places import Anywhere
from tests.sessions import initialized


def mlp(units=(16, 32, 10)):
    """Return (x, y, loss, train op) of a small classifier in the graph being built."""
    x = tf.placeholder(tf.float32, [None, units[0]])
    y = tf.placeholder(tf.int32, [None])
    h = x
    for i, (n, m) in enumerate(itertools.pairwise(units)):
        with tf.variable_scope(f"layer{i}"):
            w = tf.get_variable("w", [n, m])
            b = tf.get_variable("b", [m], initializer=tf.zeros_initializer())
            h = tf.matmul(h, w) + b
            h = tf.nn.relu(h) if m != units[-1] else h
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, step, 100, 0.9)
    return x, y, loss, tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    return rng.normal(size=(24, 16)).astype("f4"), rng.integers(0, 10, 24).astype("i4")


def session_plan(session, fetches, feed):
    fed, values = session._feeds(feed)
    return session._executable(fetches, fed)[0].plan(values)


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_a_data_parallel_step_is_a_task_per_part_and_three(parts, batch):
    with tf.Graph().as_default(), dv.config.set(batch_parts=parts):
        x, y, loss, train = mlp()
        with initialized() as session:
            plan = session_plan(session, [loss, train], {x: batch[0], y: batch[1]})
    assert plan.num_tasks <= (1 if parts == 1 else 2 * parts + 3)
    assert plan.is_single == (parts == 1)


def test_only_gradients_and_weights_travel_between_two_workers(batch):
    with tf.Graph().as_default():
        x, y, loss, train = mlp()
        with initialized() as session:
            fed, values = session._feeds({x: batch[0], y: batch[1]})
            engine = session.engine
            places = AlternatePlaces()
            specs = feed_specs(fed, values)
            plan = lowering.lower(
                [loss], [train], specs, engine.state_of, places=places, machine=Machine(2, True)
            )
            gradients = sum(places.trainable)
    updates = [region for region in plan.regions if region.place]
    assert {region.place for region in updates} == {"@0", "@1"}
    assert [region.num_tasks for region in plan.regions].count(2) == 1  # forward and backward
    assert plan.transfer_bytes <= 2 * gradients + 1024


class AlternatePlaces:
    """Two workers; variables with their slots are on one or the other in turns."""

    why_anywhere = "anywhere"
    most_task_bytes = most_awaited_bytes = float("inf")

    def __init__(self):
        self.found, self.trainable = {}, []

    def of_device(self, device, name):
        return "", ""

    def of_variable(self, key, device, spec, layout):
        owner = key.removesuffix("_1").removesuffix("/Adam")
        if owner not in self.found:
            self.found[owner] = f"@{len(self.found) % 2}"
            if owner.startswith("layer"):
                self.trainable.append(4 * int(np.prod(spec.shape)))
        return self.found[owner]


def test_parts_do_not_change_the_numbers(batch):
    found = []
    for parts in (1, 2, 4):
        with tf.Graph().as_default(), dv.config.set(batch_parts=parts):
            tf.set_random_seed(3)
            x, y, loss, train = mlp()
            with initialized() as session:
                for _ in range(5):
                    session.run(train, {x: batch[0], y: batch[1]})
                found.append(
                    session.run([*tf.trainable_variables(), loss], {x: batch[0], y: batch[1]})
                )
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_chain_of_sixty_ops_is_one_task():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4])
        y = x
        for _ in range(60):
            y = tf.sin(y) + 1.0
        with tf.Session() as session:
            assert session_plan(session, y, {x: np.zeros(4)}).num_tasks == 1


def test_a_second_run_lowers_nothing(batch):
    with tf.Graph().as_default():
        x, y, loss, train = mlp()
        with initialized() as session:
            session.run([loss, train], {x: batch[0], y: batch[1]})
            before = lowering.num_lowerings
            for _ in range(3):
                session.run([loss, train], {x: batch[0], y: batch[1]})
            assert lowering.num_lowerings == before
            session.run([loss, train], {x: batch[0][:8], y: batch[1][:8]})
            assert lowering.num_lowerings > before


def test_an_eager_loop_is_lowered_in_its_first_turns(batch):
    v = dv.Variable(np.ones(3, "f4"))
    counts = []
    for i in range(6):
        v.assign_add(dv.constant(np.full(3, i, "f4")) * 2.0)
        v.numpy()
        counts.append(lowering.num_lowerings)
    assert counts[-1] == counts[2]
    assert v.numpy().tolist() == [31.0] * 3


@pytest.mark.parametrize("chunks", [((2, 2), (3, 3)), ((1, 3), (6,)), ((4,), (2, 2, 2))])
def test_a_chunked_variable_equals_a_whole_one(chunks):
    rng = np.random.default_rng(1)
    start, x = rng.normal(size=(4, 6)), rng.normal(size=(5, 4))
    found = []
    for layout in (None, chunks):
        with tf.Graph().as_default():
            w = tf.Variable(start, chunks=layout)
            loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
            train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
            with initialized() as session:
                for _ in range(3):
                    session.run(train)
                found.append(session.run([w, loss, tf.transpose(w) + 1.0]))
                record = session.engine.values.record(w.key)
                assert record.chunks == (layout or ((4,), (6,)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b)


def test_random_initial_values_do_not_depend_on_chunks():
    values = []
    for layout in (None, ((5, 5), (7,)), ((3, 3, 4), (2, 5))):
        with tf.Graph().as_default():
            tf.set_random_seed(11)
            w = tf.Variable(lambda: tf.truncated_normal([10, 7]), chunks=layout)
            with tf.Session() as session:
                session.run(w.initializer)
                values.append(session.run(w))
    assert (values[0] == values[1]).all()
    assert (values[0] == values[2]).all()


def test_explain_says_what_a_run_is_fed_and_it_is_not(sess):
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x) + tf.reduce_sum(tf.placeholder_with_default([1.0], [None]))
    fed = {x: np.ones((2, 4)), y: [1.0]}
    assert sess.explain([total, y], fed).startswith("1 task")
    assert sess.explain(total, {x: fed[x]}).startswith("1 task")
    head, text = sess.explain([total, y], {y: [1.0]}).split("\n", 1)
    assert head.startswith(f"not fed: {x.name} (?, 4). A run has another plan")
    assert text.startswith("1 task")


def test_explain_names_regions_and_operations(batch):
    with tf.Graph().as_default():
        x, y, _, train = mlp()
        with tf.Session() as session:
            text = session.explain(train, {x: batch[0], y: batch[1]})
    assert "1 task," in text
    assert "layer0/MatMul" in text


@pytest.mark.parametrize("size", [400_001, 400_000])
@pytest.mark.parametrize("columns", [1, 3])
def test_blocks_of_unequal_size_are_tiled_right(size, columns):
    x = np.random.default_rng(0).normal(size=(size, columns)).astype("f4")
    row = np.arange(columns, dtype="f4")
    with tf.Graph().as_default(), dv.config.set(batch_parts=3):
        p = tf.placeholder(tf.float32, [None, columns])
        y = tf.sqrt(tf.square(p * 2.0 + row) + 1.0) - p
        with tf.Session() as session:
            found = session.run([y, tf.reduce_sum(y, 0)], {p: x})
    wanted = np.sqrt((x * 2 + row) ** 2 + 1) - x
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
    np.testing.assert_allclose(found[1], wanted.sum(0), rtol=1e-4)


@pytest.mark.parametrize(("most", "tasks"), [(16_000, 5), (31_999, 5), (32_100, 3), (80_100, 1)])
def test_a_task_with_more_bytes_than_a_worker_can_spare_is_split(most, tasks):
    """Five variables of 8 kB: a task of two takes and gives 32 kB, besides constants."""
    with tf.Graph().as_default(), tf.Session() as session:
        values = [tf.get_variable(f"v{i}", [1000], tf.float64) for i in range(5)]
        step = tf.group(*[v.assign_add(tf.sin(v) + 1.0) for v in values])
        session.run(tf.global_variables_initializer())
        plan = lowering.lower([], [step], {}, session.engine.state_of, places=Anywhere(most))
    assert len(plan.regions) == tasks


def test_what_needs_one_another_or_is_seen_from_outside_is_not_split():
    with tf.Graph().as_default(), tf.Session() as session:
        values = [tf.get_variable(f"v{i}", [1000]) for i in range(5)]
        total = tf.add_n(values)
        coupled = tf.group(*[v.assign_add(total) for v in values])
        printed = [tf.Print(v, [v]) for v in values]
        session.run(tf.global_variables_initializer())
        for fetches, targets in ([], [coupled]), (printed, []):
            state_of = session.engine.state_of
            plan = lowering.lower(fetches, targets, {}, state_of, places=Anywhere(1))
            assert len(plan.regions) == 1
