"""Optimizers as programs use them: what changes, what is made, what goes wrong."""

import numpy as np
import pytest

import daskvars.v1 as tf


def test_only_the_variables_given_change(initialized):
    with tf.variable_scope("discriminator"):
        v = tf.get_variable("v", [3], initializer=tf.zeros_initializer)
    with tf.variable_scope("generator"):
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer)
    loss = tf.reduce_sum(tf.square(v - 1.0)) + tf.reduce_sum(tf.square(w - 1.0))
    steps = [
        tf.train.GradientDescentOptimizer(0.1).minimize(
            loss, var_list=tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=scope)
        )
        for scope in ("discriminator", "generator")
    ]
    assert [step.name for step in steps] == ["GradientDescent", "GradientDescent_1"]
    session = initialized()
    assert session.run(steps[0]) is None
    np.testing.assert_allclose(session.run(tf.concat([v, w], 0)), [0.2, 0.2, 0.2, 0.0, 0.0])
    session.run(steps[1])
    np.testing.assert_allclose(session.run(tf.concat([v, w], 0)), [0.2] * 5)


def test_variables_that_are_not_trainable_stay(initialized):
    v, frozen = tf.Variable(2.0), tf.Variable(5.0, trainable=False)
    step = tf.Variable(0, trainable=False)
    loss = tf.square(v - 1.0) + tf.square(frozen)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)
    session = initialized()
    for number in range(2):
        assert session.run(step) == number
        session.run(train)
    assert session.run([v, frozen, step]) == [1.25, 5.0, 2]


# One step on the square of 1 at rate 0.1, as TensorFlow computes it.
@pytest.mark.parametrize(
    ("make", "wanted", "slots"),
    [
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), 0.8, ["v/Momentum"]),
        (
            lambda: tf.train.AdamOptimizer(0.1),
            0.9,
            ["beta1_power", "beta2_power", "v/Adam", "v/Adam_1"],
        ),
        (lambda: tf.train.AdagradOptimizer(0.1), 0.901227, ["v/Adagrad"]),
        (lambda: tf.train.RMSPropOptimizer(0.1), 0.824589, ["v/RMSProp", "v/RMSProp_1"]),
    ],
)
def test_the_first_step_and_the_slots(make, wanted, slots, initialized):
    v = tf.Variable(1.0, name="v")
    train = make().minimize(v * v)
    made = [x.op.name for x in tf.global_variables() if x is not v]
    assert sorted(made) == slots and tf.trainable_variables() == [v]
    session = initialized()
    session.run(train)
    assert session.run(v) == pytest.approx(wanted, abs=1e-4)


def test_gradients_are_computed_and_applied(initialized):
    v, w = tf.Variable([2.0, 3.0]), tf.Variable(1.0)
    factor = tf.Variable(5.0, trainable=False)
    loss = tf.reduce_sum(v * v) * factor
    of_v, of_factor, of_w = tf.gradients(loss, [v, factor, w])
    assert of_w is None
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    assert [x for _, x in pairs] == [v, w] and pairs[1][0] is None
    step = optimizer.apply_gradients(pairs)
    session = initialized()
    found = session.run([of_v, of_factor])
    assert found[0].tolist() == [20.0, 30.0] and found[1] == 13.0
    session.run(step)
    assert session.run(v).tolist() == [0.0, 0.0] and session.run(w) == 1.0


def test_variables_and_slots_without_values_are_named_at_once():
    variables = [tf.Variable(1.0, name=name) for name in "vwxyz"]
    loss = tf.square(variables[0]) * tf.add_n([v.value() for v in variables])
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, var_list=variables[:1])
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as error:
        session.run(train)
    words = str(error.value).replace(",", " ").replace(":", " ").split()
    assert {"v", "w", "x", "y", "z", "v/Momentum"} <= {*words}
    assert "6 of the variables" in str(error.value)
    assert "global_variables_initializer()" in str(error.value)


class Averaging(tf.train.AdamOptimizer):
    """An optimizer whose gradients are averaged over workers, as Horovod's and MPI's are."""

    def compute_gradients(self, loss, var_list, **kwargs):
        pairs = super().compute_gradients(loss, var_list, **kwargs)
        return [(gradient / 2.0, variable) for gradient, variable in pairs]

    def apply_gradients(self, grads_and_vars, **kwargs):
        return super().apply_gradients(grads_and_vars, **kwargs)


def test_a_subclass_takes_over_a_half_of_minimize(initialized):
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))
    step = Averaging(0.1).minimize(w * w, var_list=[w])
    with initialized() as session:
        session.run(step)
        assert abs(session.run(w) - 1.9) < 1e-3


def test_programs_read_a_tensors_operation_by_tensorflows_own_attribute():
    assert tf.placeholder(tf.float32)._op.type == "Placeholder"


class Densely(tf.train.Optimizer):
    """An optimizer that updates a table's rows as if all were in the gradient."""

    def __init__(self):
        super().__init__(use_locking=False, name="Densely")

    def _apply_dense(self, grad, var):
        return var.assign_sub(grad)

    def _apply_sparse(self, grad, var):
        return self._apply_dense(tf.convert_to_tensor(grad), var)


def test_a_gradient_of_rows_becomes_a_dense_one_in_a_programs_own_optimizer(initialized):
    table = tf.get_variable("table", [3, 1], initializer=tf.zeros_initializer())
    step = Densely().minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, [2, 0, 2])))
    with initialized() as session:
        session.run(step)
        assert session.run(table).tolist() == [[-1.0], [0.0], [-2.0]]


def test_the_gradient_given_of_a_reshape_may_have_another_shape():
    """ACER's is one of `tf.gradients`, a list, from which a tensor was subtracted."""
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.reshape(2.0 * x, [6, 1])
    given = [tf.ones([6, 1])] - tf.zeros([6, 1])
    assert given.shape == [1, 6, 1]
    (found,) = tf.gradients(y, x, given)
    with tf.Session() as session:
        assert session.run(found).tolist() == [[2.0] * 3] * 2
    with pytest.raises(ValueError, match=r"grad_ys\[0\] has shape"):
        tf.gradients(y, x, tf.ones([5]))
    with pytest.raises(ValueError, match=r"grad_ys\[0\] has shape"):
        tf.gradients(2.0 * x, x, tf.ones([6]))
