"""The network of `train_digits` as TensorFlow-1 code: a graph, placeholders and a session.

python examples/train_digits_v1.py [--store PATH]
"""

from __future__ import annotations

import argparse

import digits
import numpy as np

import daskvars.v1 as tf


def conv_relu(x, filters):
    weights = tf.get_variable(
        "weights", [3, 3, x.get_shape()[-1], filters], initializer=tf.initializers.he_normal()
    )
    biases = tf.get_variable("biases", [filters], initializer=tf.zeros_initializer())
    return tf.nn.relu(tf.nn.conv2d(x, weights, strides=[1, 1, 1, 1], padding="SAME") + biases)


def dense(x, units):
    weights = tf.get_variable("weights", [x.get_shape()[-1], units])
    biases = tf.get_variable("biases", [units], initializer=tf.zeros_initializer())
    return tf.matmul(x, weights) + biases


def build():
    """Build the graph and return its ends."""
    images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    with tf.variable_scope("features"):
        x = images
        for name, filters in (("conv1", 16), ("conv2", 32)):
            with tf.variable_scope(name):
                x = conv_relu(x, filters)
        x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        x = tf.reshape(x, [-1, 4 * 4 * 32])
    with tf.variable_scope("classifier"):
        with tf.variable_scope("hidden"):
            x = tf.nn.relu(dense(x, 64))
        with tf.variable_scope("output"):
            scores = dense(x, 10)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    )
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.AdamOptimizer(0.003).minimize(loss, global_step=global_step)
    return images, labels, loss, train_op, tf.argmax(scores, 1, name="digit")


def main(arguments: list[str] | None = None) -> float:
    """Run the command line and return the held-out accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--store", metavar="PATH")
    options = parser.parse_args(arguments)
    (train_images, train_labels), (test_images, test_labels) = digits.load()
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        images, labels, loss, train_op, digit = build()
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for epoch in range(options.epochs):
                losses = []
                for x, y in digits.batches(train_images, train_labels, 64, epoch):
                    value, _ = sess.run([loss, train_op], {images: x, labels: y})
                    losses.append(value)
                predicted = sess.run(digit, {images: test_images})
                accuracy = float(np.mean(predicted == test_labels))
                print(
                    f"epoch {epoch + 1:2}/{options.epochs}  loss {np.mean(losses):.4f}  "
                    f"held-out accuracy {accuracy:.4f}",
                    flush=True,
                )
            if options.store:
                print("variables saved in", saver.save(sess, options.store))
    return accuracy


if __name__ == "__main__":
    main()
