"""Optimizer: names, slots, collections, devices, templates and errors."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.sessions import initialized, run

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def v():
    return tf.Variable(1.0, name="v")


def names(variables):
    return sorted(variable.name for variable in variables)


def test_operation_is_named_after_the_optimizer(v):
    train = [tf.train.GradientDescentOptimizer(0.1).minimize(v * v) for _ in range(2)]
    assert all(isinstance(op, tf.Operation) for op in train)
    assert [op.name for op in train] == ["GradientDescent", "GradientDescent_1"]
    assert tf.train.AdamOptimizer().minimize(v * v, name="mine").name == "mine"


def test_operation_with_global_step(v, graph):
    step = tf.Variable(0, name="step", trainable=False)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=step)
    assert (train.name, train.type) == ("GradientDescent", "AssignAdd")
    assert graph.get_operation_by_name("GradientDescent/update")
    with initialized() as sess:
        for n in range(3):
            assert sess.run(step) == n
            assert sess.run(train) is None
        assert sess.run(step) == 3


def test_updates_are_under_the_variables_name(graph):
    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [2])
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(w * w))
    inside = [op.name for op in graph.get_operations() if "update_" in op.name]
    assert inside and all(name.startswith("Momentum/update_layer/w/") for name in inside)
    assert graph.get_operation_by_name("Momentum/learning_rate")
    assert graph.get_operation_by_name("Momentum/momentum")


def test_train_op_collection(v):
    train = tf.train.GradientDescentOptimizer(0.1).minimize(v * v)
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]


def test_updates_lie_on_the_variables_device(graph):
    with tf.device("/job:ps/task:1"):
        w = tf.Variable([1.0, 2.0], name="w")
    with tf.device("/job:worker"):
        loss = tf.reduce_sum(w * w)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(loss)
    updates = [op for op in graph.get_operations() if op.name.startswith("Momentum/update_w/")]
    assert updates and {op.device for op in updates} == {"/job:ps/task:1"}
    assert optimizer.get_slot(w, "momentum").device == "/job:ps/task:1"


@pytest.mark.parametrize(
    "make, wanted",
    [
        (lambda: tf.train.GradientDescentOptimizer(0.1), []),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), ["v/Momentum:0"]),
        (lambda: tf.train.AdagradOptimizer(0.1), ["v/Adagrad:0"]),
        (lambda: tf.train.AdadeltaOptimizer(), ["v/Adadelta:0", "v/Adadelta_1:0"]),
        (lambda: tf.train.RMSPropOptimizer(0.1), ["v/RMSProp:0", "v/RMSProp_1:0"]),
        (
            lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
            ["v/RMSProp:0", "v/RMSProp_1:0", "v/RMSProp_2:0"],
        ),
        (
            lambda: tf.train.AdamOptimizer(),
            ["beta1_power:0", "beta2_power:0", "v/Adam:0", "v/Adam_1:0"],
        ),
    ],
)
def test_slot_names(v, make, wanted):
    optimizer = make()
    optimizer.minimize(v * v)
    assert names(optimizer.variables()) == wanted
    assert names(tf.global_variables()) == sorted([*wanted, "v:0"])
    assert tf.trainable_variables() == [v]


def test_rmsprop_slots_are_in_tensorflows_order(v):
    optimizer = tf.train.RMSPropOptimizer(0.1, centered=True)
    optimizer.minimize(v * v)
    assert optimizer.get_slot_names() == ["mg", "momentum", "rms"]
    found = [optimizer.get_slot(v, name).name for name in ("rms", "mg", "momentum")]
    assert found == ["v/RMSProp:0", "v/RMSProp_1:0", "v/RMSProp_2:0"]


def test_slots_are_made_once_per_optimizer(v):
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(v * v)
    optimizer.minimize(v * v)
    assert names(tf.global_variables()) == ["v/Momentum:0", "v:0"]
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(v * v)
    assert names(tf.global_variables()) == ["v/Momentum:0", "v/Momentum_1:0", "v:0"]


def test_slots_have_shape_dtype_and_chunks_of_their_variable():
    w = tf.Variable(np.zeros([6, 4]), name="w", chunks=(2, 4))
    optimizer = tf.train.RMSPropOptimizer(0.1)
    optimizer.minimize(tf.reduce_sum(w * w))
    for name in ("rms", "momentum"):
        slot = optimizer.get_slot(w, name)
        assert slot.shape.as_list() == [6, 4] and slot.dtype.base_dtype is tf.float64
        assert slot.chunks == w.chunks


def test_slots_of_nothing(v):
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    assert optimizer.get_slot(v, "momentum") is None and optimizer.get_slot_names() == []
    assert optimizer.get_name() == "Momentum"


def test_slots_of_a_variable_of_unknown_shape():
    w = tf.Variable(tf.placeholder_with_default([1.0, 2.0], [None]), validate_shape=False, name="w")
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(w * w))
    with initialized() as sess:
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [0.8, 1.6])


def test_var_list_forms(v):
    w = tf.Variable(1.0, name="w")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for var_list in (v, [v], (v,), {"a": v}, [[v], []]):
        assert [x for _, x in optimizer.compute_gradients(v * w, var_list=var_list)] == [v]
    assert [x for _, x in optimizer.compute_gradients(v * w)] == [v, w]


def test_grad_loss_scales(v):
    ((gradient, _),) = tf.train.GradientDescentOptimizer(0.1).compute_gradients(
        v * v, grad_loss=tf.constant(5.0)
    )
    assert run(gradient) == 10.0


def test_nothing_to_train():
    frozen = tf.Variable(1.0, trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No variables to optimize"):
        optimizer.minimize(frozen * frozen)
    with pytest.raises(ValueError, match="No variables to optimize"):
        optimizer.minimize(frozen * frozen, var_list=[])
    v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(frozen * frozen, var_list=[v])
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, v)])
    with pytest.raises(ValueError, match="No variables provided"):
        optimizer.apply_gradients([])


def test_wrong_arguments(v):
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        tf.train.GradientDescentOptimizer(0.1, name="")
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive: 0"):
        tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        optimizer.compute_gradients(v * v, gate_gradients=7)
    with pytest.raises(ValueError, match="Invalid type"):
        optimizer.minimize(tf.constant(1))
    with pytest.raises(TypeError, match="Gradient must be convertible"):
        optimizer.apply_gradients([(object(), v)])


def test_gates_are_accepted(v):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for gate in (optimizer.GATE_NONE, optimizer.GATE_OP, optimizer.GATE_GRAPH):
        assert optimizer.compute_gradients(v * v, gate_gradients=gate)[0][0] is not None


def test_constraint_is_applied_after_the_update():
    w = tf.Variable([1.0, -1.0], name="w", constraint=lambda x: tf.maximum(x, 0.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w))
    with initialized() as sess:
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [0.9, 0.0])


def test_constraint_of_a_sparse_update():
    w = tf.Variable([[1.0], [1.0]], name="w", constraint=lambda x: x)
    with pytest.raises(RuntimeError, match="constraint function on a sparse variable"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(w, [0])))


class Halving(tf.train.Optimizer):
    """Written for reference variables, as in TensorFlow's documentation."""

    def __init__(self):
        super().__init__(False, "Halving")

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "count", self._name)

    def _prepare(self):
        self._half = tf.constant(0.5, name="half")

    def _apply_dense(self, grad, var):
        count = self.get_slot(var, "count")
        return tf.group(var.assign(var * self._half), count.assign_add(tf.ones_like(var)))

    def _apply_sparse(self, grad, var):
        return tf.scatter_update(var, grad.indices, grad.values)


class Resource(tf.train.Optimizer):
    """Written for resource variables."""

    def __init__(self):
        super().__init__(False, "Resource")

    def _resource_apply_dense(self, grad, handle):
        return handle.assign_sub(grad)

    def _resource_apply_sparse(self, grad, handle, indices):
        return tf.scatter_sub(handle, indices, grad)


def test_users_optimizer(v):
    optimizer = Halving()
    train = optimizer.minimize(v * v)
    with initialized() as sess:
        sess.run(train)
        sess.run(train)
        assert sess.run([v, optimizer.get_slot(v, "count")]) == [0.25, 2.0]


@pytest.mark.parametrize("make, wanted", [(Halving, [3.0, 1.0]), (Resource, [-2.0, 1.0])])
def test_users_sparse_optimizer_gets_distinct_indices(make, wanted):
    w = tf.Variable([1.0, 1.0], name="w")
    slices = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 0]))
    train = make().apply_gradients([(slices, w)])
    with initialized() as sess:
        sess.run(train)
        assert sess.run(w).tolist() == wanted


def test_users_resource_optimizer(v):
    train = Resource().minimize(v * v)
    with initialized() as sess:
        sess.run(train)
        assert sess.run(v) == -1.0


def test_template_methods_are_required(v):
    class Nothing(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Nothing")

    with pytest.raises(NotImplementedError, match="Nothing has no _apply_dense"):
        Nothing().minimize(v * v)
    w = tf.Variable([[1.0]], name="w")
    with pytest.raises(NotImplementedError, match="Nothing has no _apply_sparse"):
        Nothing().minimize(tf.reduce_sum(tf.gather(w, [0])))


def test_update_uses_what_assign_returned(v, graph):
    tf.train.AdamOptimizer().minimize(v * v)
    updates = [op for op in graph.get_operations() if op.name.startswith("Adam/update_v/")]
    reads = [op.inputs[0].op.name for op in updates if op.type == "ReadVariable"]
    assert sorted(reads) == ["v/Adam", "v/Adam_1"]  # each once, before it is assigned
