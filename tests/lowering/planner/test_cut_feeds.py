"""The planner cuts ordinary programs where it pays, and says what it did."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine.plans import executables
from daskvars.lowering.explain import explain
from daskvars.lowering.planner.cut_feeds import Machine

UNITS, BATCH, STEPS = 64, 8, 6


def dense(x, units=UNITS):
    return tf.layers.dense(x, units, kernel_initializer=tf.glorot_uniform_initializer(seed=1))


def static(seed=0):
    """Batch of a static size, merged with the steps by reshapes with numbers."""
    x = tf.placeholder(tf.float32, [BATCH, STEPS, UNITS])
    h = tf.nn.relu(dense(tf.reshape(x, [BATCH * STEPS, UNITS])))
    centred = h - tf.reduce_mean(h, axis=-1, keepdims=True)
    normal = centred * tf.rsqrt(tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True) + 1.0)
    return x, tf.reduce_mean(tf.square(dense(tf.reshape(normal, [BATCH, STEPS * UNITS]))))


def time_major():
    x = tf.placeholder(tf.float32, [STEPS, BATCH, UNITS])
    return x, tf.reduce_mean(tf.square(dense(tf.reduce_sum(dense(x), axis=0))))


def open_batch():
    x = tf.placeholder(tf.float32, [None, UNITS])
    return x, tf.reduce_mean(tf.square(dense(x)))


def trained(model, shape, **knobs):
    """Return losses of some steps, and the plan of one."""
    given = np.random.default_rng(0).normal(size=shape).astype("f4")
    with tf.Graph().as_default(), config.set(**knobs), tf.Session() as session:
        x, loss = model()
        train = tf.train.AdamOptimizer(1e-2).minimize(loss)
        session.run(tf.global_variables_initializer())
        fed, values = session._feeds({x: given})
        plan = session._executable([loss, train], fed)[0].plan(values)
        return [session.run([loss, train], {x: given})[0] for _ in range(4)], plan


MODELS = {
    "static": (static, (BATCH, STEPS, UNITS), 0),
    "time-major": (time_major, (STEPS, BATCH, UNITS), 1),
    "open": (open_batch, (24, UNITS), 0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_found_along_any_dimension_and_changes_no_number(name):
    model, shape, dim = MODELS[name]
    cut = {"num_threads": 4, "batch_parts_min_flops": 1.0}
    losses, plan = trained(model, shape, batch_parts=4, num_threads=4)
    assert plan.sharding.chosen.dims == ((next(iter(plan.sharding.chosen.dims))[0], dim),)
    assert plan.num_tasks <= 2 * 4 + 3
    whole, single = trained(model, shape, batch_parts=1)
    assert single.is_single and single.sharding.chosen is None
    np.testing.assert_allclose(losses, whole, rtol=1e-5)
    unasked, _ = trained(model, shape, **cut)
    np.testing.assert_allclose(unasked, whole, rtol=1e-5)


def test_little_work_stays_one_call():
    _, plan = trained(open_batch, (24, UNITS), num_threads=4)
    assert plan.is_single and plan.sharding.chosen is None


def test_what_does_not_pay_is_not_cut():
    """Elementwise work is shared by all threads in any case, large products by pieces."""

    def doubled():
        x = tf.placeholder(tf.float32, [16, 4])
        return x, tf.reduce_mean(dense(x, 1))

    def perceptron():
        x = tf.placeholder(tf.float32, [256, 512])
        return x, tf.reduce_mean(dense(x, 1024))

    for model, shape in ((doubled, (16, 4)), (perceptron, (256, 512))):
        _, plan = trained(model, shape, num_threads=2, batch_parts_min_flops=1.0)
        assert plan.is_single and plan.sharding.chosen.dims == ()


@pytest.mark.parametrize("shards", [1, 4, 16])
def test_cut_weights_are_gathered_and_gradients_scattered_to_them(shards):
    """Tasks are those of the parts and of the shards, not of every pair."""

    def model():
        x = tf.placeholder(tf.float32, [128, UNITS])
        h = x
        for i in range(3):
            w = tf.get_variable(f"w{i}", [UNITS, UNITS], chunks=(UNITS, UNITS // shards))
            h = tf.nn.relu(tf.matmul(h, w))
        return x, tf.reduce_mean(tf.square(h))

    _, plan = trained(model, (128, UNITS), batch_parts=shards)
    assert plan.num_tasks <= 2 * shards + 1
    if shards > 1:
        kinds = {exchange.name: exchange.kind for exchange in plan.sharding.exchanges}
        assert kinds["w1"] == "all-gathered"
        assert "reduce-scattered" in kinds.values()
        assert plan.sharding.chosen.gathers
        assert f"in {shards} parts along dimension 0, variables gathered" in explain(plan)


def test_weights_stay_where_a_worker_has_no_room_to_gather_them(monkeypatch):
    """The fastest way is taken of those that fit; without limits that is to gather them."""
    shards = 4

    def model():
        start = tf.glorot_uniform_initializer(seed=1)
        h = x = tf.placeholder(tf.float32, [32, UNITS])
        for i in range(3):
            h = tf.matmul(
                h,
                tf.get_variable(
                    f"w{i}", [UNITS, UNITS], chunks=(UNITS, UNITS // 4), initializer=start
                ),
            )
        return x, tf.reduce_mean(tf.square(h))

    def planned(spare_bytes):
        machine = Machine(shards, False, 1.0, spare_bytes)
        monkeypatch.setattr(executables, "machine_of", lambda executor: machine)
        losses, plan = trained(model, (32, UNITS))
        return losses, plan, explain(plan)

    losses, plan, _ = planned(float("inf"))
    assert plan.sharding.chosen.gathers
    state = 3 * 3 * UNITS * UNITS * 4 // shards
    found, plan, text = planned(state + 120_000)  # three matrices and their gradients are 98,304
    assert plan.sharding.chosen.gathers, text
    found, plan, text = planned(state + 80_000)
    assert not plan.sharding.chosen.gathers and plan.sharding.chosen.fits
    assert "for which workers have no room" in text
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    _, plan, _ = planned(0.0)  # nothing fits: the fastest, and whoever has no room says so
    assert plan.sharding.chosen.gathers and not plan.sharding.chosen.fits


def test_of_workers_as_few_stages_as_possible_are_asked_for(monkeypatch):
    """Activations that move at each layer take a little less time to send, and more stages: seconds
    that only what has workers pays for."""
    rows, units, shards = 64, 1024, 2
    with tf.Graph().as_default(), tf.Session() as session:
        h = x = tf.placeholder(tf.float32, [rows, units])
        for i in range(3):
            w = tf.get_variable(f"w{i}", [units, units], chunks=(units, units // shards))
            h = tf.nn.relu(tf.matmul(h, w))
        loss = tf.reduce_mean(tf.square(h))
        train = tf.train.AdamOptimizer().minimize(loss)
        session.run(tf.global_variables_initializer())

        def sharding(has_workers, is_forced=False):
            machine = Machine(shards, is_forced, has_workers=has_workers)
            monkeypatch.setattr(executables, "machine_of", lambda executor: machine)
            text = session.explain([loss, train], {x: np.ones((rows, units), "f4")})
            return next(line for line in text.splitlines() if line.startswith("sharding"))

        assert "variables gathered, 100% of the flops" not in sharding(False)
        assert "variables gathered, 100% of the flops" in sharding(True)
        # Parts that were asked for give the same bits anywhere, so they are the same anywhere.
        assert sharding(False, is_forced=True) == sharding(True, is_forced=True)


def test_explain_names_the_choice_and_what_the_next_would_have_cost():
    _, plan = trained(static, (BATCH, STEPS, UNITS), num_threads=2, batch_parts=2)
    text = explain(plan)
    assert "sharding: Placeholder:0 in 2 parts along dimension 0" in text
    assert "all-reduced" in text


def test_lowering_happens_once_per_signature():
    from daskvars import lowering

    with tf.Graph().as_default(), config.set(batch_parts=2), tf.Session() as session:
        x, loss = open_batch()
        session.run(tf.global_variables_initializer())
        before = lowering.num_lowerings
        for _ in range(3):
            session.run(loss, {x: np.ones((8, UNITS), "f4")})
        assert lowering.num_lowerings == before + 1


def constrained(parts):
    x = tf.placeholder(tf.float32, [BATCH, UNITS])
    return x, tf.reduce_mean(tf.square(dense(dv.shard(x, 0, parts))))


@pytest.mark.parametrize("parts", [2, 4])
def test_what_the_user_says_is_cut_is_cut(parts):
    losses, plan = trained(lambda: constrained(parts), (BATCH, UNITS), num_threads=1)
    assert (parts,) in [region.grid for region in plan.regions]
    whole, single = trained(lambda: constrained(1), (BATCH, UNITS), num_threads=2)
    assert single.is_single
    np.testing.assert_allclose(losses, whole, rtol=1e-5)


def test_a_constraint_that_makes_no_sense_is_refused():
    with pytest.raises(dv.errors.InvalidArgumentError, match="has no dimension 2"):
        dv.shard(dv.ones([4, 2]), 2)
    with pytest.raises(dv.errors.InvalidArgumentError, match="parts must be 1 or more, found 0"):
        dv.shard(dv.ones([4, 2]), 0, 0)
    assert dv.shard(dv.ones([3, 2]), 0, 5).numpy().shape == (3, 2)
