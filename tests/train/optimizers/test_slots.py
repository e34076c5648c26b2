"""Slots: what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.train.optimizers import slots
from tests.sessions import initialized, run

pytestmark = pytest.mark.usefixtures("graph")


def test_slot_of_a_value():
    v = tf.Variable([1.0, 2.0], name="v")
    slot = slots.create_slot(v, v.initialized_value(), "copy")
    assert slot.name == "v/copy:0" and slot.op.name == "v/copy"
    assert slot in tf.global_variables() and slot not in tf.trainable_variables()
    assert run(slot).tolist() == [1.0, 2.0]


def test_slot_of_a_tensor():
    tensor = tf.constant([1.0, 2.0], name="t")
    known = slots.create_zeros_slot(tensor, "ema")
    unknown = slots.create_zeros_slot(tf.placeholder_with_default(tensor, [None], name="p"), "ema")
    assert (known.op.name, unknown.op.name) == ("t/ema", "p/ema")
    with initialized() as session:
        assert session.run(known).tolist() == session.run(unknown).tolist() == [0.0, 0.0]


def test_slot_of_zeros_may_have_another_dtype():
    v = tf.Variable([1.0, 2.0], name="v")
    slot = slots.create_zeros_slot(v, "zeros", dtype=tf.float64)
    assert slot.dtype.base_dtype is tf.float64
    assert run(slot).tolist() == [0.0, 0.0]


def test_slot_of_an_initializer():
    v = tf.Variable(np.zeros([2, 3], np.float32), name="v")
    slot = slots.create_slot_with_initializer(
        v, tf.constant_initializer(0.5), v.shape, tf.float32, "half"
    )
    assert (run(slot) == 0.5).all()


def test_slot_under_a_variable_scope():
    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [2])
    assert slots.create_zeros_slot(w, "Adam").name == "layer/w/Adam:0"
    assert slots.create_zeros_slot(w, "Adam").name == "layer/w/Adam_1:0"


def test_slot_of_a_partitioned_scope_is_whole():
    with tf.variable_scope("cut", partitioner=tf.fixed_size_partitioner(2)):
        v = tf.Variable(np.zeros([4, 2], np.float32), name="v")
        slot = slots.create_zeros_slot(v, "zeros")
    assert slot.shape.as_list() == [4, 2] and slot.chunks == v.chunks


def test_slots_of_the_parts_of_a_variable_know_their_place():
    with tf.variable_scope("cut", partitioner=tf.fixed_size_partitioner(2)):
        w = tf.get_variable("w", [4, 2])
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(tf.reduce_sum(tf.square(w)), var_list=w)
    first, second = (optimizer.get_slot(part, "momentum") for part in w)
    assert first.name == "cut/w/part_0/Momentum:0"
    info = second._get_save_slice_info()
    assert info.full_name == "cut/w/Momentum" and tuple(info.var_offset) == (2, 0)


def test_nothing_of_the_scope_around_applies_to_a_slot():
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.variable_scope("scope", regularizer=tf.reduce_sum, constraint=tf.abs):
        slot = slots.create_zeros_slot(v, "zeros")
    assert slot.constraint is None
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []
