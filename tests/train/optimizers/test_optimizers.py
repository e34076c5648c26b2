"""Each optimizer against TensorFlow's formulas: in graphs and eagerly, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.train.optimizers.decoupled_decay import (
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from tests.sessions import initialized
from tests.train.optimizers import numpy_optimizers as reference

pytestmark = pytest.mark.usefixtures("both_thresholds")

STEPS = 5
CASES = {
    "gradient_descent": (
        lambda train: train.GradientDescentOptimizer(0.1),
        reference.gradient_descent,
        {"lr": 0.1},
    ),
    "momentum": (
        lambda train: train.MomentumOptimizer(0.1, 0.9),
        reference.momentum,
        {"lr": 0.1, "mu": 0.9},
    ),
    "nesterov": (
        lambda train: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        reference.momentum,
        {"lr": 0.1, "mu": 0.9, "nesterov": True},
    ),
    "adagrad": (lambda train: train.AdagradOptimizer(0.1), reference.adagrad, {"lr": 0.1}),
    "adagrad_initial": (
        lambda train: train.AdagradOptimizer(0.1, initial_accumulator_value=1.0),
        reference.adagrad,
        {"lr": 0.1, "initial": 1.0},
    ),
    "adadelta": (
        lambda train: train.AdadeltaOptimizer(1.0, 0.9, 1e-6),
        reference.adadelta,
        {"lr": 1.0, "rho": 0.9, "epsilon": 1e-6},
    ),
    "rmsprop": (lambda train: train.RMSPropOptimizer(0.1), reference.rmsprop, {"lr": 0.1}),
    "rmsprop_momentum": (
        lambda train: train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
        reference.rmsprop,
        {"lr": 0.1, "decay": 0.8, "mu": 0.5, "epsilon": 1e-3},
    ),
    "rmsprop_centered": (
        lambda train: train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        reference.rmsprop,
        {"lr": 0.1, "mu": 0.5, "centered": True},
    ),
    "adam": (lambda train: train.AdamOptimizer(), reference.adam, {}),
    "adam_large": (
        lambda train: train.AdamOptimizer(0.1, 0.8, 0.9, 1e-2),
        reference.adam,
        {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-2},
    ),
    "adamw": (
        lambda train: train.AdamWOptimizer(0.01, 0.1),
        reference.adamw,
        {"weight_decay": 0.01, "lr": 0.1},
    ),
    "momentumw": (
        lambda train: MomentumWOptimizer(0.01, 0.1, 0.9, use_nesterov=True),
        reference.momentumw,
        {"weight_decay": 0.01, "lr": 0.1, "mu": 0.9, "nesterov": True},
    ),
    "lazy_adam": (lambda train: train.LazyAdamOptimizer(0.1), reference.lazy_adam, {"lr": 0.1}),
    "nadam": (
        lambda train: train.NadamOptimizer(0.1, 0.8, 0.9, 1e-2),
        reference.nadam,
        {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-2},
    ),
    "adamax": (
        lambda train: train.AdaMaxOptimizer(0.1, 0.8, 0.9, 1e-2),
        reference.adamax,
        {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-2},
    ),
}
DTYPES = [np.float32, np.float64]


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def start_of(dtype, rows=4):
    return np.linspace(-1.0, 2.0, rows * 3).reshape(rows, 3).astype(dtype)


def dense_gradients(dtype):
    rng = np.random.default_rng(3)
    return [rng.normal(size=(4, 3)).astype(dtype) for _ in range(STEPS)]


def dense_expected(step, parameters, dtype):
    w, slots = start_of(np.float64), {}
    for g in dense_gradients(dtype):
        step(w, g.astype(np.float64), slots, **parameters)
    return w, slots


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_in_a_graph(case, dtype):
    make, step, parameters = case
    with tf.Graph().as_default():
        v = tf.Variable(start_of(dtype), name="v")
        g = tf.placeholder(dtype, [4, 3])
        optimizer = make(tf.train)
        train = optimizer.apply_gradients([(g, v)])
        with initialized() as sess:
            for value in dense_gradients(dtype):
                sess.run(train, {g: value})
            found = sess.run(v)
            slots = {n: sess.run(optimizer.get_slot(v, n)) for n in optimizer.get_slot_names()}
    wanted, wanted_slots = dense_expected(step, parameters, dtype)
    assert found.dtype == dtype
    close(found, wanted)
    for name, value in slots.items():
        close(value, wanted_slots[name])


def test_dense_eagerly(case):
    make, step, parameters = case
    v = dv.Variable(start_of(np.float32), name="v")
    optimizer = make(dv.train)
    for value in dense_gradients(np.float32):
        assert optimizer.apply_gradients([(dv.constant(value), v)]) is None
    wanted, wanted_slots = dense_expected(step, parameters, np.float32)
    close(v.numpy(), wanted)
    for name in optimizer.get_slot_names():
        close(optimizer.get_slot(v, name).numpy(), wanted_slots[name])


INDICES = [[0, 2], [2, 2], [1, 0, 1], [3, 3], [0, 0]]


def sparse_steps(dtype):
    rng = np.random.default_rng(5)
    return [(np.array(i, np.int32), rng.normal(size=(len(i), 3)).astype(dtype)) for i in INDICES]


def sparse_expected(step, parameters, dtype):
    w, slots = start_of(np.float64, 5), {}
    for indices, values in sparse_steps(dtype):
        dense = np.zeros_like(w)
        np.add.at(dense, indices, values.astype(np.float64))
        step(w, dense, slots, np.unique(indices), **parameters)
    return w


def test_sparse_in_a_graph(case):
    make, step, parameters = case
    with tf.Graph().as_default():
        v = tf.Variable(start_of(np.float32, 5), name="v")
        values = tf.placeholder(tf.float32, [None, 3])
        indices = tf.placeholder(tf.int32, [None])
        train = make(tf.train).apply_gradients([(tf.IndexedSlices(values, indices), v)])
        with initialized() as sess:
            for i, g in sparse_steps(np.float32):
                sess.run(train, {indices: i, values: g})
            found = sess.run(v)
    close(found, sparse_expected(step, parameters, np.float32))


def test_sparse_eagerly(case):
    make, step, parameters = case
    v = dv.Variable(start_of(np.float32, 5), name="v")
    optimizer = make(dv.train)
    for i, g in sparse_steps(np.float32):
        slices = dv.IndexedSlices(dv.constant(g), dv.constant(i))
        optimizer.apply_gradients([(slices, v)])
    close(v.numpy(), sparse_expected(step, parameters, np.float32))


def test_a_row_decays_once_however_often_it_is_in_the_gradient():
    decaying = extend_with_decoupled_weight_decay(dv.train.GradientDescentOptimizer)
    table = dv.Variable(dv.ones([3, 1]))
    slices = dv.IndexedSlices(dv.constant([[1.0], [2.0]]), dv.constant([1, 1]))
    decaying(0.5, 0.125).apply_gradients([(slices, table)])
    assert table.numpy()[:, 0].tolist() == [1.0, 0.125, 1.0]


def test_rows_not_used_are_not_touched():
    with tf.Graph().as_default():
        table = tf.Variable(start_of(np.float32, 5), name="table")
        loss = tf.reduce_sum(tf.square(tf.gather(table, [1, 3])))
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        with initialized() as sess:
            before = sess.run(table)
            sess.run(train)
            after = sess.run(table)
    changed = (before != after).any(axis=1)
    assert changed.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("kind", ["number", "tensor", "variable", "callable", "integer"])
def test_hyperparameters_of_any_kind(kind):
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0])
        rate = {
            "number": lambda: 1.0,
            "tensor": lambda: tf.constant(1.0),
            "integer": lambda: 1,
            "variable": lambda: tf.Variable(1.0, trainable=False),
            "callable": lambda: lambda: 1.0,
        }[kind]()
        train = tf.train.MomentumOptimizer(rate, rate).apply_gradients([([0.5, 0.5], v)])
        with initialized() as sess:
            sess.run(train)
            sess.run(train)
            assert sess.run(v).tolist() == [-0.5, 0.5]


@pytest.mark.parametrize(
    "make",
    [
        tf.train.AdamOptimizer,
        tf.contrib.opt.NadamOptimizer,
        tf.contrib.opt.AdaMaxOptimizer,
        tf.contrib.opt.LazyAdamOptimizer,
    ],
)
def test_a_beta_of_0_may_be_an_int(make):
    found = []
    for beta in (0, 0.0):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.Variable([1.0, 2.0])
            step = make(0.1, beta1=beta).minimize(tf.reduce_sum(v * v))
            session.run(tf.global_variables_initializer())
            session.run(step)
            session.run(step)
            found.append(session.run(v).tolist())
    assert found[0] == found[1] != [1.0, 2.0]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float64])
def test_adam_s_rate_may_be_of_another_dtype_than_its_betas(graph, dtype):
    v, w = (tf.Variable([1.0, 2.0], dtype=tf.float64) for _ in range(2))
    rates = {v: tf.constant(0.125, dtype), w: 0.125}
    steps = [tf.train.AdamOptimizer(rates[x]).minimize(tf.reduce_sum(x * x)) for x in (v, w)]
    with initialized() as session:
        session.run(steps)
        np.testing.assert_allclose(*session.run([v, w]), rtol=1e-6)


def test_two_steps_in_one_run_are_two_steps():
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        first = optimizer.apply_gradients([(tf.constant(1.0), v)])
        with tf.control_dependencies([first]):
            second = optimizer.apply_gradients([(tf.constant(1.0), v)])
        with initialized() as sess:
            sess.run(second)
            assert sess.run(v) == pytest.approx(1.0 - 0.1 - 0.19)


def test_same_bits_for_any_chunks():
    def trained(chunks):
        with tf.Graph().as_default():
            v = tf.Variable(start_of(np.float32), name="v", chunks=chunks)
            train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(v)))
            with initialized() as sess:
                for _ in range(3):
                    sess.run(train)
                return sess.run(v).tobytes()

    assert trained(None) == trained((2, 3)) == trained((1, 3))


def test_eager_minimize_trains():
    v = dv.Variable([2.0, -3.0], name="v")
    optimizer = dv.train.GradientDescentOptimizer(0.25)
    for _ in range(20):
        assert optimizer.minimize(lambda: dv.reduce_sum(dv.square(v - 1.0)), var_list=[v]) is None
    np.testing.assert_allclose(v.numpy(), [1.0, 1.0], atol=1e-4)


def test_eager_minimize_watches_variables():
    v = dv.Variable(2.0, name="v")
    dv.train.GradientDescentOptimizer(0.25).minimize(lambda: v * v)
    assert float(v) == 1.0


def test_eager_global_step_and_slots():
    v, step = dv.Variable(2.0, name="v"), dv.Variable(0, name="step", trainable=False)
    optimizer = dv.train.MomentumOptimizer(0.1, 0.9)
    assert optimizer.variables() == []
    optimizer.minimize(lambda: v * v, global_step=step, var_list=[v])
    optimizer.minimize(lambda: v * v, global_step=step, var_list=[v])
    assert int(step) == 2
    assert [s.name for s in optimizer.variables()] == [f"{v.op.name}/Momentum:0"]


@pytest.mark.parametrize("make", [tf.train.AdamOptimizer, tf.train.GradientDescentOptimizer])
def test_a_graph_changes_no_eager_variable(make):
    w = dv.Variable([1.0, 2.0], name="w")
    with dv.GradientTape() as tape:
        loss = dv.reduce_sum(w * w)
    with pytest.raises(ValueError, match=r"variables of the eager program: w\w*:0\. Use the"):
        make(0.1).apply_gradients([(tape.gradient(loss, w), w)])
    assert w.numpy().tolist() == [1.0, 2.0]


def test_eager_loss_must_be_a_function():
    v = dv.Variable(2.0, name="v")
    with pytest.raises(RuntimeError, match="should be a function when eager"):
        dv.train.GradientDescentOptimizer(0.1).minimize(v * v, var_list=[v])


def test_in_a_compiled_function():
    v = dv.Variable([2.0, -3.0], name="v")
    optimizer = dv.train.AdamOptimizer(0.1)
    w, slots = np.array([2.0, -3.0]), {}

    @dv.function
    def train():
        loss = dv.reduce_sum(dv.square(v))
        optimizer.minimize(loss, var_list=[v])
        return loss

    for _ in range(3):
        assert float(train()) == pytest.approx((w**2).sum(), rel=1e-5)
        reference.adam(w, 2 * w, slots, lr=0.1)
    close(v.numpy(), w)
    assert train.num_traces == 1
    assert len(optimizer.variables()) == 4


def test_a_callable_loss_in_a_compiled_function():
    v = dv.Variable(2.0, name="v")
    optimizer = dv.train.MomentumOptimizer(0.25, 0.9)

    @dv.function
    def train():
        optimizer.minimize(lambda: v * v)

    train()
    assert float(v) == 1.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], dtype=dtype, name="v")
        train = tf.train.MomentumOptimizer(0.25, 0.5).minimize(tf.reduce_sum(v * v))
        with initialized() as sess:
            sess.run(train)
            assert sess.run(v).astype(float).tolist() == [0.5, 1.0]
