"""Initializers that functions give, called by programs: ``tf.Variable(initializer([2, 3]))``."""

from __future__ import annotations

import pytest

import daskvars.v1 as tf

MADE = {
    "xavier": tf.contrib.layers.xavier_initializer,
    "xavier_conv2d": tf.contrib.layers.xavier_initializer_conv2d,
    "scaling": tf.contrib.layers.variance_scaling_initializer,
    "slim": tf.contrib.slim.xavier_initializer,
    "he_normal": tf.initializers.he_normal,
    "lecun_uniform": tf.initializers.lecun_uniform,
    "glorot": tf.glorot_uniform_initializer,
}


@pytest.fixture
def default_graph():
    tf.reset_default_graph()
    yield tf.get_default_graph()
    tf.reset_default_graph()


@pytest.mark.parametrize("name", sorted(MADE))
def test_they_build_into_the_default_graph(name, default_graph):
    initializer = MADE[name]()
    assert isinstance(initializer, tf.variance_scaling_initializer)
    values = initializer([2, 3])
    v = tf.Variable(values)
    w = tf.Variable(lambda: initializer(shape=[2, 3]), dtype=tf.float32)
    assert values.graph is v.graph is w.graph is default_graph
    with tf.Session() as session:
        session.run([v.initializer, w.initializer])
        assert session.run(v).shape == session.run(w).shape == (2, 3)
