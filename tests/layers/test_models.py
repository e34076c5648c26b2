"""Models as tutorials for TensorFlow 1 write them: they train."""

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def digits(count, rng):
    """Images of 8 x 8 with a bright row; the label is which."""
    labels = rng.integers(0, 8, count)
    images = 0.3 * rng.normal(size=(count, 8, 8, 1)).astype("float32")
    images[np.arange(count), labels] += 1.0
    return images, labels.astype("int32")


def conv_net(features, is_training):
    net = tf.layers.conv2d(features, 8, 3, padding="same", use_bias=False)
    net = tf.layers.batch_normalization(net, momentum=0.8, training=is_training)
    net = tf.nn.relu(net)
    net = tf.layers.max_pooling2d(inputs=net, pool_size=[2, 2], strides=2)
    net = tf.layers.conv2d(inputs=net, filters=8, kernel_size=[3, 3], activation=tf.nn.relu)
    net = tf.layers.flatten(net)
    net = tf.layers.dense(net, 32, activation=tf.nn.relu, name="fc")
    net = tf.layers.dropout(net, rate=0.2, training=is_training)
    return tf.layers.dense(net, 8, name="logits")


def test_a_batch_normalized_convolutional_net():
    tf.set_random_seed(1)
    rng = np.random.default_rng(0)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    is_training = tf.placeholder(tf.bool, name="is_training")
    logits = conv_net(x, is_training)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(update_ops):
        train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
    correct = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        mean = tf.global_variables("batch_normalization/moving_mean")[0]
        assert not sess.run(mean).any()
        for _ in range(40):
            images, labels = digits(32, rng)
            sess.run(train_op, feed_dict={x: images, y: labels, is_training: True})
        images, labels = digits(64, rng)
        fed = {x: images, y: labels, is_training: False}
        before = sess.run(mean)
        assert before.any(), "the moving averages moved with the training steps"
        assert sess.run(accuracy, fed) > 0.9
        np.testing.assert_array_equal(sess.run(mean), before)


@pytest.mark.slow
def test_an_lstm_language_model():
    text = np.frombuffer(b"the cat sat on the mat. " * 20, "uint8")
    alphabet, ids = np.unique(text, return_inverse=True)
    batch, steps, size = 4, 12, len(alphabet)
    columns = ids[: batch * (len(ids) // batch)].reshape(batch, -1).astype("int32")

    inputs = tf.placeholder(tf.int32, [batch, steps])
    targets = tf.placeholder(tf.int32, [batch, steps])
    keep_prob = tf.placeholder_with_default(1.0, [])

    def make_cell():
        cell = tf.nn.rnn_cell.BasicLSTMCell(24, forget_bias=0.0)
        return tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=keep_prob)

    with tf.variable_scope("Model", initializer=tf.random_uniform_initializer(-0.2, 0.2, seed=3)):
        cell = tf.nn.rnn_cell.MultiRNNCell([make_cell() for _ in range(2)])
        initial_state = cell.zero_state(batch, tf.float32)
        embedding = tf.get_variable("embedding", [size, 16])
        embedded = tf.nn.embedding_lookup(embedding, inputs)
        outputs, final_state = tf.nn.dynamic_rnn(cell, embedded, initial_state=initial_state)
        logits = tf.layers.dense(tf.reshape(outputs, [-1, 24]), size)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(targets, [-1]), logits=logits
    )
    cost = tf.reduce_mean(losses)
    tvars = tf.trainable_variables()
    assert "Model/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel:0" in [v.name for v in tvars]
    grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), 5.0)
    train_op = tf.train.AdamOptimizer(0.03).apply_gradients(zip(grads, tvars, strict=True))
    costs = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(8):
            state = sess.run(initial_state)
            for start in range(0, columns.shape[1] - steps, steps):
                feed = {
                    inputs: columns[:, start : start + steps],
                    targets: columns[:, start + 1 : start + steps + 1],
                    keep_prob: 0.9,
                }
                for (c, h), (c_value, h_value) in zip(initial_state, state, strict=True):
                    feed[c], feed[h] = c_value, h_value
                value, state, _ = sess.run([cost, final_state, train_op], feed)
                costs.append(value)
    assert costs[0] > 2.0
    assert costs[-1] < 0.5
