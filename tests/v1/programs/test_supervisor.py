"""A program under a Supervisor, whole: digits are learned, saved, and learned on from there."""

import numpy as np
import pytest

import daskvars.v1 as tf


@pytest.fixture(scope="module")
def digits():
    """Images of ten patterns with noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=400)
    images = rng.random((10, 64))[labels] + rng.normal(0, 0.2, (400, 64))
    return images.astype(np.float32), labels


def trained(logdir, digits, num_steps):
    images, labels = digits
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 64], name="x-input")
        y = tf.placeholder(tf.int64, [None], name="y-input")
        with tf.variable_scope("hidden"):
            weights = tf.get_variable("weights", [64, 32])
            biases = tf.get_variable("biases", [32], initializer=tf.zeros_initializer())
            hidden = tf.nn.relu(tf.nn.xw_plus_b(x, weights, biases))
        logits = tf.layers.dense(hidden, 10, name="logits")
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        )
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
        tf.summary.scalar("loss", loss)
        merged = tf.summary.merge_all()
        global_step = tf.Variable(0, name="global_step", trainable=False)
        train_op = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=global_step)
        sv = tf.train.Supervisor(
            logdir=logdir, summary_op=None, global_step=global_step, save_model_secs=0
        )
        with sv.managed_session() as sess:
            first = step = sess.run(global_step)
            while not sv.should_stop() and step < first + num_steps:
                rows = np.arange(step * 50, step * 50 + 50) % len(images)
                _, summary, step = sess.run(
                    [train_op, merged, global_step], {x: images[rows], y: labels[rows]}
                )
                sv.summary_computed(sess, summary)
            sv.saver.save(sess, sv.save_path, global_step=global_step)
            return first, sess.run(accuracy, {x: images, y: labels})


def test_digits_are_learned_in_two_sittings(tmp_path, digits):
    assert trained(str(tmp_path), digits, 10)[0] == 0
    first, accuracy = trained(str(tmp_path), digits, 60)
    assert first == 10
    assert accuracy > 0.95
