"""A typed program of TensorFlow 1: placeholders, scopes, an optimizer and a session."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import daskvars.v1 as tf


def layer(x: tf.Tensor, units: int, name: str) -> tf.Tensor:
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE) as scope:
        assert_type(scope, tf.VariableScope)
        w = tf.get_variable(
            "w",
            shape=[x.get_shape()[1], units],
            initializer=tf.truncated_normal_initializer(stddev=0.1),
            regularizer=tf.l2_regularizer(1e-4),
        )
        b = tf.get_variable("b", shape=[units], initializer=tf.constant_initializer(0.1))
    assert_type(w, tf.Variable)
    cut = tf.get_variable("cut", [8, 2], partitioner=tf.fixed_size_partitioner(2))
    assert_type(cut, tf.PartitionedVariable)
    return tf.nn.relu(tf.nn.xw_plus_b(x, w, b), name="relu")


def main() -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.device("/cpu:0"):
        images = tf.placeholder(tf.float32, [None, 64], name="images")
        labels = tf.placeholder(tf.int64, [None], name="labels")
        logits = tf.layers.dense(layer(images, 32, "hidden"), 10, name="logits")
        assert_type(logits, tf.Tensor)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(learning_rate=0.01)
        pairs = optimizer.compute_gradients(loss)
        train = optimizer.apply_gradients(pairs, global_step=step)
        assert_type(train, tf.Operation | None)
        right = tf.equal(tf.argmax(logits, 1), labels)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        assert_type(accuracy, tf.Tensor)
        tf.summary.scalar("loss", loss)
        init = tf.global_variables_initializer()
        assert_type(init, tf.Operation)
        saver = tf.train.Saver(tf.trainable_variables())
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 64)).astype("float32")
    y = rng.integers(0, 10, 16)
    with tf.Session(graph=graph) as sess:
        assert_type(sess, tf.Session)
        assert_type(sess.run(init), None)
        assert_type(sess.run((init, loss), {images: x, labels: y}), tuple[None, NDArray[Any]])
        feeds = {images: x, labels: y}
        for _ in range(3):
            _, value = sess.run([train, loss], feed_dict=feeds)
            print(f"loss {value:.2f}")
        assert_type(sess.run(accuracy, feeds), NDArray[Any])
        assert_type(sess.run([loss, accuracy], feeds), list[NDArray[Any]])
        both = sess.run({"loss": loss, "accuracy": accuracy}, feeds)
        assert_type(both, dict[str, NDArray[Any]])
        assert_type(sess.run(step), NDArray[Any])
        assert_type(loss.eval(feeds), NDArray[Any])
        path = saver.save(sess, "checkpoints/digits", global_step=step)
        assert_type(path, str | None)
        saver.restore(sess, path or "checkpoints/digits-0")
    assert_type(graph.get_tensor_by_name("images:0"), tf.Tensor)
    assert_type(graph.get_operations(), list[tf.Operation])
    assert_type([v.name for v in tf.global_variables()], list[str])


def monitored(train: tf.Operation) -> None:
    hooks = [tf.train.StopAtStepHook(last_step=10)]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:
        while not sess.should_stop():
            sess.run(train)


def wrong(x: tf.Tensor) -> None:
    print(tf.no_such_name)  # type: ignore[attr-defined]
    print(tf.train.NoSuchOptimizer)  # type: ignore[attr-defined]
    tf.get_variable("w", [2]).no_such_method()  # type: ignore[attr-defined]
    tf.nn.relu(x, nam="relu")  # type: ignore[call-arg]


if __name__ == "__main__":
    main()
