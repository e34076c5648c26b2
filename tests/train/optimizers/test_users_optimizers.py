"""Optimizers as TensorFlow-1 users write them, by the names of TensorFlow's base class."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.sessions import initialized

pytestmark = pytest.mark.usefixtures("graph")


class AMSGrad(tf.train.Optimizer):
    """Adam with the largest second moment so far: every hook of the template, dense and sparse."""

    def __init__(self, learning_rate=0.01, beta1=0.9, beta2=0.99, epsilon=1e-8, use_locking=False):
        super().__init__(use_locking, "AMSGrad")
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._beta1_power = self._beta2_power = None

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda x: x.name)
        if self._beta1_power is None or self._beta1_power.graph is not first.graph:
            with tf.colocate_with(first):
                self._beta1_power = tf.Variable(self._beta1, name="beta1_power", trainable=False)
                self._beta2_power = tf.Variable(self._beta2, name="beta2_power", trainable=False)
        for v in var_list:
            for name in ("m", "v", "vhat"):
                self._zeros_slot(v, name, self._name)

    def _prepare(self):
        self._beta1_t = tf.convert_to_tensor(self._beta1)
        self._beta2_t = tf.convert_to_tensor(self._beta2)

    def _rate(self):
        return self._lr * tf.sqrt(1 - self._beta2_power) / (1 - self._beta1_power)

    def _moved(self, var, m_t, v_t):
        vhat = self.get_slot(var, "vhat")
        vhat_t = tf.assign(vhat, tf.maximum(v_t, vhat))
        step = self._rate() * m_t / (tf.sqrt(vhat_t) + self._epsilon)
        moved = tf.assign_sub(var, step, use_locking=self._use_locking)
        return tf.group(*[moved, m_t, v_t, vhat_t])

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = tf.assign(m, self._beta1_t * m + (1 - self._beta1_t) * grad)
        v_t = tf.assign(v, self._beta2_t * v + (1 - self._beta2_t) * grad * grad)
        return self._moved(var, m_t, v_t)

    def _decayed(self, slot, beta, indices, rows):
        decayed = tf.assign(slot, slot * beta, use_locking=self._use_locking)
        with tf.control_dependencies([decayed]):
            return tf.scatter_add(slot, indices, rows, use_locking=self._use_locking)

    def _apply_sparse(self, grad, var):
        rows = grad.values
        m_t = self._decayed(
            self.get_slot(var, "m"), self._beta1_t, grad.indices, rows * (1 - self._beta1_t)
        )
        v_t = self._decayed(
            self.get_slot(var, "v"), self._beta2_t, grad.indices, rows**2 * (1 - self._beta2_t)
        )
        return self._moved(var, m_t, v_t)

    def _finish(self, update_ops, name_scope):
        with tf.control_dependencies(update_ops), tf.colocate_with(self._beta1_power):
            raised = [
                self._beta1_power.assign(self._beta1_power * self._beta1_t),
                self._beta2_power.assign(self._beta2_power * self._beta2_t),
            ]
        return tf.group(*update_ops + raised, name=name_scope)


def test_every_hook_of_the_template():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    b = tf.Variable([1.0, 1.0], name="b")
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(w, [0, 0]) + b))
    train = AMSGrad().minimize(loss, global_step=tf.train.get_or_create_global_step())
    with initialized() as sess:
        for _ in range(5):
            sess.run(train)
        found = sess.run([w, b, loss])
    # TensorFlow 2.21's compat.v1 with reference variables.
    np.testing.assert_allclose(found[0], [[0.95004237, 1.9500276], [3.0, 4.0]], rtol=1e-6)
    np.testing.assert_allclose(found[1], [0.95004237, 0.95002764], rtol=1e-6)
    assert found[2] == pytest.approx(24.041285, rel=1e-6)


class WeightDecay(tf.train.Optimizer):
    """Adam that overrides `apply_gradients`, as public transformer code does."""

    def __init__(self, learning_rate):
        super().__init__(False, "WeightDecay")
        self.learning_rate = learning_rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        assignments = []
        for grad, param in grads_and_vars:
            m, v = (
                tf.get_variable(
                    name=f"{param.op.name}/adam_{part}",
                    shape=param.shape.as_list(),
                    dtype=tf.float32,
                    trainable=False,
                    initializer=tf.zeros_initializer(),
                )
                for part in "mv"
            )
            next_m = tf.multiply(0.9, m) + tf.multiply(1.0 - 0.9, grad)
            next_v = tf.multiply(0.999, v) + tf.multiply(1.0 - 0.999, tf.square(grad))
            update = next_m / (tf.sqrt(next_v) + 1e-6) + 0.01 * param
            moved = param - self.learning_rate * update
            assignments.extend([param.assign(moved), m.assign(next_m), v.assign(next_v)])
        return tf.group(*assignments, name=name)


def test_an_optimizer_that_applies_gradients_itself():
    global_step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3], initializer=tf.constant_initializer(1.0))
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w + b - 2.0))
    rate = tf.train.polynomial_decay(0.1, global_step, 100, end_learning_rate=0.0)
    warm = tf.cast(global_step < 10, tf.float32)
    rate = (1.0 - warm) * rate + warm * 0.1 * tf.cast(global_step, tf.float32) / 10.0
    variables = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), clip_norm=1.0)
    train = WeightDecay(rate).apply_gradients(zip(grads, variables, strict=True))
    train = tf.group(train, [global_step.assign(global_step + 1)])
    with initialized() as sess:
        for _ in range(50):
            sess.run(train)
        # TensorFlow 2.21's compat.v1: 0.0069492296.
        assert sess.run(loss) == pytest.approx(0.0069492, rel=2e-4)
        assert sess.run(global_step) == 50


class Accumulating(tf.train.Optimizer):
    """Wraps an optimizer, which is applied at every n-th step within a `cond`."""

    def __init__(self, opt, n):
        super().__init__(False, "Accumulating")
        self._opt, self._n = opt, n

    def compute_gradients(self, *args, **kwargs):
        return [
            (tf.clip_by_norm(g, 1.0), v) for g, v in self._opt.compute_gradients(*args, **kwargs)
        ]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = list(grads_and_vars)
        sums = [self._zeros_slot(v, "sum", self._name) for _, v in pairs]
        count = self._create_non_slot_variable(
            initial_value=0, name="counter", colocate_with=pairs[0][1]
        )
        added = [s.assign_add(g) for s, (g, _) in zip(sums, pairs, strict=True)]

        def update():
            means = [(s.read_value() / self._n, v) for s, (_, v) in zip(sums, pairs, strict=True)]
            step = self._opt.apply_gradients(means, global_step)
            with tf.control_dependencies([step]):
                return tf.group(*[s.assign(tf.zeros_like(s)) for s in sums])

        with tf.control_dependencies([*added, count.assign_add(1)]):
            return tf.cond(tf.equal(count.read_value() % self._n, 0), update, tf.no_op)


def test_an_optimizer_within_a_branch():
    v, step = tf.Variable([4.0], name="v"), tf.train.get_or_create_global_step()
    optimizer = Accumulating(tf.train.AdamOptimizer(0.5), 2)
    train = optimizer.minimize(tf.reduce_sum(v * v), global_step=step)
    assert [w.name for w in optimizer.variables()] == ["counter:0", "v/Accumulating:0"]
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [], "no op of a branch's body"
    found = []
    with initialized() as sess:
        for _ in range(4):
            sess.run(train)
            found.append((float(sess.run(v)[0]), int(sess.run(step))))
    assert found == [
        (4.0, 0),
        (pytest.approx(3.5), 1),
        (pytest.approx(3.5), 1),
        (pytest.approx(3.0), 2),
    ]


def test_a_tensor_cannot_be_updated():
    x = tf.constant(1.0)
    optimizer = tf.train.GradientDescentOptimizer(3.0)
    pairs = optimizer.compute_gradients(x * x, [x])
    assert pairs[0][1] is x
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        optimizer.apply_gradients(pairs)


@pytest.mark.parametrize(
    "make, slots",
    [
        (lambda: tf.train.AdagradOptimizer(0.5, 0.75), [0.75 + 4.0]),
        (lambda: tf.train.FtrlOptimizer(0.5, initial_accumulator_value=0.75), [4.75, None]),
        (lambda: tf.train.MomentumOptimizer(0.5, 0.5), [2.0]),
    ],
)
def test_slots_of_a_variable_without_a_static_shape(make, slots):
    v = tf.get_variable("v", initializer=tf.constant([1.0]), validate_shape=False)
    assert not v.shape.is_fully_defined()
    optimizer = make()
    train = optimizer.minimize(tf.reduce_sum(2.0 * v))
    with initialized() as sess:
        sess.run(train)
        for name, wanted in zip(optimizer.get_slot_names(), slots, strict=True):
            found = sess.run(optimizer.get_slot(v, name))
            assert found.shape == (1,)
            assert wanted is None or found[0] == pytest.approx(wanted)
