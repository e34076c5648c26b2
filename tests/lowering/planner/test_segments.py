"""Regions that take much from other blocks are segments, each of what comes next."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import lowering
from daskvars.execution.engine.values.checked_feeds import feed_specs
from daskvars.lowering.emission.stages import stages
from daskvars.lowering.planner.cut_feeds import Machine
from tests.lowering.places import Anywhere

UNITS, ROWS, PARTS = 16, 8, 2


def dense_step(num_layers=3):
    """A step of a dense model whose weights are cut in two by rows."""
    x = h = tf.placeholder(tf.float32, [None, UNITS])
    for i in range(num_layers):
        with tf.variable_scope(f"layer{i}"):
            w = tf.get_variable("w", [UNITS, UNITS], chunks=(UNITS // 2, UNITS))
            h = tf.nn.relu(tf.matmul(h, w))
    loss = tf.reduce_mean(tf.square(h))
    return x, loss, tf.train.AdamOptimizer().minimize(loss)


def plan_of(x, fetches, targets, most_awaited_bytes=1, most_task_bytes=float("inf")):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fed, values = session._feeds({x: np.ones((ROWS, UNITS), np.float32)})
        return lowering.lower(
            fetches,
            targets,
            feed_specs(fed, values),
            session.engine.state_of,
            places=Anywhere(most_task_bytes, most_awaited_bytes),
            machine=Machine(PARTS, True),
        )


def segments_of(plan, number):
    """Return the operations of each segment of the region that begins at a number."""
    end = number + 1
    while end < len(plan.regions) and plan.regions[end].follows:
        end += 1
    return [{op.name for op in region.ops} for region in plan.regions[number:end]]


def test_a_layer_is_computed_while_the_next_one_is_on_its_way(graph):
    x, loss, step = dense_step()
    names = segments_of(plan_of(x, [loss], [step]), 0)
    assert [f"layer{i}/Relu" in names[i] for i in range(3)] == [True] * 3
    assert not any("Relu" in name and "_grad" not in name for found in names[3:] for name in found)


def test_a_layers_weights_go_when_its_gradients_are_there(graph):
    """What a segment takes is held until it ends: those of all layers, if it were one."""
    x, loss, step = dense_step()
    names = segments_of(plan_of(x, [loss], [step]), 0)
    made = [
        {n.split("/")[1] for n in found if n.endswith("MatMul_grad/MatMul_1")} for found in names
    ]
    assert [found for found in made if found] == [{"layer2"}, {"layer1"}, {"layer0"}]
    whole = segments_of(plan_of(x, [loss], [step], UNITS * UNITS * 4), 0)
    assert len(whole) < len(names), "what is small is made together"


def test_a_variable_is_updated_when_its_gradient_is_there(graph):
    x, loss, step = dense_step()
    plan = plan_of(x, [loss], [step])
    firsts = [i for i, region in enumerate(plan.regions) if not region.follows]
    names = max(
        (segments_of(plan, i) for i in firsts), key=lambda found: str(found).count("update_")
    )
    updated = [{n.split("/")[1] for n in found if "update_" in n} for found in names]
    assert sorted(map(len, updated)) == [1, 1, 1]
    assert set.union(*updated) == {f"update_layer{i}" for i in range(3)}


@pytest.mark.parametrize("most", [UNITS * UNITS * 4 * 3, float("inf")])
def test_what_waits_for_little_is_one_region(graph, most):
    x, loss, step = dense_step()
    assert not any(region.follows for region in plan_of(x, [loss], [step], most).regions)


def test_what_comes_together_is_one_segment(graph):
    x, loss, _ = dense_step()
    assert len(segments_of(plan_of(x, [loss], [], 2 * UNITS * UNITS * 4), 0)) == 2


def test_effects_keep_their_order(graph):
    x = tf.placeholder(tf.float32, [None, UNITS])
    ws = [tf.get_variable(f"w{i}", [UNITS, UNITS], chunks=(UNITS // 2, UNITS)) for i in range(2)]
    first = tf.Print(tf.matmul(x, ws[0]), ["first"])
    second = tf.Print(tf.matmul(first, ws[1]), ["second"])
    with tf.control_dependencies([second]):
        third = tf.Print(x, ["third"])
    plan = plan_of(x, [second, third], [])
    printed = [op.name for region in plan.regions for op in region.ops if "Print" in op.name]
    assert printed == ["Print", "Print_1", "Print_2"]
    assert sum(region.follows for region in plan.regions) >= 1


def test_a_worker_with_several_blocks_computes_one_after_the_other(graph):
    """Else what the first segment leaves to the next were there for all blocks at once."""
    x, loss, step = dense_step()
    plan = plan_of(x, [loss], [step])
    found = stages(plan, 1, lambda region, number: 0, lambda key, index, number: 0, float("inf"))
    blocks = [(b.region, b.number) for b in found.stages[0].blocks]
    count = len(segments_of(plan, 0))
    assert blocks[: count * PARTS] == [(r, b) for b in range(PARTS) for r in range(count)]


def test_segments_are_on_one_worker(graph):
    x, loss, step = dense_step()
    plan = plan_of(x, [loss], [step])
    found = stages(plan, 2, lambda region, number: number, lambda *_: 0, float("inf"))
    for number, region in enumerate(plan.regions):
        if region.follows:
            assert found.stage_of[number] == found.stage_of[number - 1]


@pytest.mark.parametrize("most", [10_000, 3_000, 1])
def test_what_blocks_repeat_is_in_each_part_and_what_they_gather_in_one(graph, most):
    x = h = tf.placeholder(tf.float32, [None, UNITS])
    for i in range(3):
        w = tf.get_variable(f"w{i}", [UNITS, UNITS], chunks=(UNITS // 2, UNITS))
        h = tf.nn.relu(tf.matmul(h, w))
        h -= tf.reduce_mean(h, 0)
    loss = tf.reduce_mean(tf.square(h))
    step = tf.train.AdamOptimizer().minimize(loss)
    plan = plan_of(x, [loss], [step], float("inf"), most)
    updates = [r for r in plan.regions if any("AssignSub" in op.name for op in r.ops)]
    assert len(updates) == 3
    assert all(any(op.name == "Adam/truediv" for op in region.ops) for region in updates)
    gathers = [op.name for region in plan.regions for op in region.ops if op.name in ("w1", "w2")]
    assert sorted(gathers) == ["w1", "w2"]
