"""Each optimizer against TensorFlow itself: values after four steps, and names.

The numbers in golden_optimizers.json are TensorFlow's: `start` is the variable, `dense` and
`sparse` the gradients of the steps (with repeated indices), and each case has the variable and
the slots at the end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.v1 import optimizers

pytestmark = pytest.mark.usefixtures("both_thresholds")

GOLDEN = json.loads((Path(__file__).parent / "golden_optimizers.json").read_text())
CASES = GOLDEN["cases"]
# All optimizers as eager code uses them.
EAGER = SimpleNamespace(**vars(dv.train), **{n: getattr(optimizers, n) for n in optimizers.__all__})


def made(case, train, step):
    arguments = dict(case["arguments"])
    if case["optimizer"] == "AdagradDAOptimizer":
        arguments["global_step"] = step
    return getattr(train, case["optimizer"])(**arguments)


def gradients_of(kind):
    if kind == "dense":
        return [dv.constant(g) for g in GOLDEN["dense"]]
    return [
        dv.IndexedSlices(dv.constant(s["values"]), dv.constant(s["indices"]), [3, 2])
        for s in GOLDEN["sparse"]
    ]


def feeds_of(kind, values, indices):
    if kind == "dense":
        return [{values: g} for g in GOLDEN["dense"]]
    return [{values: s["values"], indices: s["indices"]} for s in GOLDEN["sparse"]]


def trained(case, kind, chunks=None):
    """Return the values at the end, of the variable and of its slots, and the names made."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(GOLDEN["start"], name="v", chunks=chunks)
        step = tf.Variable(0, name="step", trainable=False, dtype=tf.int64)
        optimizer = made(case, tf.train, step)
        values, indices = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
        gradient = values if kind == "dense" else tf.IndexedSlices(values, indices, [3, 2])
        train = optimizer.apply_gradients([(gradient, v)], global_step=step)
        sess.run(tf.global_variables_initializer())
        for feed in feeds_of(kind, values, indices):
            sess.run(train, feed)
        slots = {name: optimizer.get_slot(v, name) for name in optimizer.get_slot_names()}
        return sess.run({"variable": v, **slots}), [w.op.name for w in optimizer.variables()]


def check(found, wanted):
    assert sorted(found) == sorted(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", CASES)
def test_in_a_graph(name, kind):
    found, names = trained(CASES[name], kind)
    check(found, CASES[name][kind])
    assert names == CASES[name]["variables"]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["adagrad_da_l1_l2", "ftrl_l1_l2", "proximal_adagrad_l1_l2"])
def test_eagerly(name, kind):
    v = dv.Variable(GOLDEN["start"], name="v")
    step = dv.Variable(0, trainable=False, dtype=dv.int64)
    optimizer = made(CASES[name], EAGER, step)
    for gradient in gradients_of(kind):
        optimizer.apply_gradients([(gradient, v)], global_step=step)
    slots = {name: optimizer.get_slot(v, name).numpy() for name in optimizer.get_slot_names()}
    check({"variable": v.numpy(), **slots}, CASES[name][kind])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["adagrad_da_l1_l2", "ftrl_shrinkage", "proximal_adagrad_l1_l2"])
def test_in_chunks(name, kind):
    found, _ = trained(CASES[name], kind, chunks=(2, 1))
    check(found, CASES[name][kind])


OPTIMIZERS = {name: case for name, case in CASES.items() if not name[-1].isdigit()}


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_slots_and_results_have_the_dtype_of_the_variable(name, dtype):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(GOLDEN["start"], name="v", dtype=dtype)
        step = tf.Variable(0, name="step", trainable=False, dtype=tf.int64)
        optimizer = made(CASES[name], tf.train, step)
        train = optimizer.apply_gradients([(tf.constant(GOLDEN["dense"][0], dtype), v)], step)
        slots = [optimizer.get_slot(v, name) for name in optimizer.get_slot_names()]
        assert {slot.dtype.base_dtype for slot in [v, *slots]} == {dtype}
        sess.run(tf.global_variables_initializer())
        before, _ = sess.run(v), sess.run(train)
        assert sess.run(v).dtype == before.dtype == dtype.as_numpy_dtype
        assert (sess.run(v) != before).any()


# What Keras 3.15's `Lamb(0.1, epsilon=1e-6)` makes of the dense steps.
LAMB = [[0.58350521, -0.59609777], [-0.04827978, 1.11039805], [-2.98197556, 0.11199792]]


@pytest.mark.parametrize("chunks", [None, (1, 2), (2, 1)])
def test_lamb(chunks):
    case = {"optimizer": "LAMBOptimizer", "arguments": {"learning_rate": 0.1}}
    found, names = trained(case, "dense", chunks)
    np.testing.assert_allclose(found["variable"], LAMB, rtol=1e-5)
    assert names == ["beta1_power", "beta2_power", "v/LAMB", "v/LAMB_1"]


def lamb_by_hand(w, gradients, rate, decay, is_scaled):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        d = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + decay * w
        norms = np.linalg.norm(w), np.linalg.norm(d)
        w = w - rate * (norms[0] / norms[1] if is_scaled and all(norms) else 1.0) * d
    return w


@pytest.mark.parametrize(
    "arguments, decay, is_scaled",
    [
        ({}, 0.3, True),
        ({"exclude_from_weight_decay": ["^v$"]}, 0.0, False),
        ({"exclude_from_weight_decay": ["v"], "exclude_from_layer_adaptation": []}, 0.0, True),
        ({"exclude_from_layer_adaptation": ["v"]}, 0.3, False),
    ],
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_lamb_with_weight_decay(arguments, decay, is_scaled, kind):
    given = {"learning_rate": 0.1, "weight_decay_rate": 0.3, **arguments}
    found, _ = trained({"optimizer": "LAMBOptimizer", "arguments": given}, kind)
    gradients = [np.array(g) for g in GOLDEN["dense"]]
    if kind == "sparse":
        gradients = [np.zeros((3, 2)) for _ in GOLDEN["sparse"]]
        for g, s in zip(gradients, GOLDEN["sparse"], strict=True):
            np.add.at(g, s["indices"], s["values"])
    wanted = lamb_by_hand(np.array(GOLDEN["start"]), gradients, 0.1, decay, is_scaled)
    np.testing.assert_allclose(found["variable"], wanted, rtol=2e-5)


def test_lamb_of_a_zero_variable_is_a_plain_step():
    v = dv.Variable([0.0, 0.0])
    dv.train.LAMBOptimizer(0.5).apply_gradients([(dv.constant([1.0, -2.0]), v)])
    np.testing.assert_allclose(v.numpy(), [-0.5, 0.5], rtol=1e-5)


def test_adamw_decays_the_listed_variables_only():
    with tf.Graph().as_default(), tf.Session() as sess:
        v, w = tf.Variable([1.0], name="v"), tf.Variable([1.0], name="w")
        optimizer = tf.train.AdamWOptimizer(0.25, 0.1)
        train = optimizer.minimize(tf.reduce_sum(v + w), decay_var_list=[w])
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run([v, w]), [[0.9], [0.65]], rtol=1e-5)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda t: t.FtrlOptimizer(0.1, learning_rate_power=0.5), "learning_rate_power 0.5 needs"),
        (
            lambda t: t.FtrlOptimizer(0.1, initial_accumulator_value=-1.0),
            "initial_accumulator_value",
        ),
        (lambda t: t.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), "l1_regularization"),
        (lambda t: t.FtrlOptimizer(0.1, l2_regularization_strength=-1.0), "l2_regularization"),
        (lambda t: t.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0), "l2_shrinkage"),
        (lambda t: t.AdagradDAOptimizer(0.1, 0, 0.0), "must be positive"),
        (lambda t: t.ProximalAdagradOptimizer(0.1, 0.0), "must be positive"),
    ],
)
def test_arguments_of_the_wrong_sign(make, message):
    with pytest.raises(ValueError, match=message):
        make(tf.train)


def test_ftrl_slots_of_other_names():
    with tf.Graph().as_default():
        v = tf.Variable([1.0], name="v")
        optimizer = tf.train.FtrlOptimizer(0.1, accum_name="squares", linear_name="sums")
        optimizer.minimize(tf.reduce_sum(v))
        assert [w.name for w in optimizer.variables()] == ["v/squares:0", "v/sums:0"]


@pytest.mark.parametrize("name", ["ftrl_l1_l2", "proximal_adagrad_l1_l2", "adagrad_da_l1_l2"])
def test_an_update_is_one_region(name):
    with dv.Graph().as_default(), dv.Session() as sess:
        v = dv.Variable(np.ones((8, 4), "float32"), name="v", chunks=(4, 4))
        step = dv.Variable(0, name="step", trainable=False, dtype=dv.int64)
        g = dv.placeholder(dv.float32, [8, 4])
        train = made(CASES[name], EAGER, step).apply_gradients([(g, v)])
        sess.run(dv.global_variables_initializer())
        program, _ = sess._executable(train, (g,))
        plan = program.plan([np.ones((8, 4), "float32")])
    # AdagradDA takes the step, which is read once for all chunks where it does not count as small.
    reads_apart = (
        name.startswith("adagrad_da")
        and not sys.modules["daskvars.lowering.planner.fuse"].SMALL_BYTES
    )
    assert plan.num_tasks == 2 + reads_apart  # one for each chunk
