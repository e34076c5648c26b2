"""Programs as people write them: all of their work is cut, and no number changes.

Batch sizes are static, dimensions are numbers, layers are TensorFlow 1's.
"""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.lowering.explain import explain

B, PARTS, CLASSES, WORDS = 32, 4, 5, 50


def floats(*shape):
    return tf.placeholder(tf.float32, shape)


def numbers(*shape):
    return tf.placeholder(tf.int32, shape)


def cross_entropy(logits, labels):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)


def classified(features):
    labels = numbers(*[int(n) for n in features.shape[:-1]])
    return cross_entropy(tf.layers.dense(features, CLASSES), labels)


def embedded(ids, name="table"):
    return tf.nn.embedding_lookup(tf.get_variable(name, [WORDS, 16]), ids)


def convnet():
    h = tf.layers.conv2d(floats(B, 28, 28, 1), 8, 5, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.conv2d(h, 16, 5, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.dense(tf.reshape(h, [-1, 7 * 7 * 16]), 64, activation=tf.nn.relu)
    return classified(tf.layers.dropout(h, 0.4, training=True, seed=1))


def normalized_over_the_batch():
    h = floats(B, 16, 16, 3)
    for _ in range(2):
        h = tf.layers.conv2d(h, 8, 3, use_bias=False)
        h = tf.nn.relu(tf.layers.batch_normalization(h, training=True))
    return classified(tf.reduce_mean(h, [1, 2]))


def transposed_convolutions():
    h = tf.reshape(tf.layers.dense(floats(B, 16), 4 * 4 * 8), [B, 4, 4, 8])
    h = tf.layers.conv2d_transpose(h, 4, 3, 2, padding="same", activation=tf.nn.relu)
    return tf.reduce_mean(tf.square(tf.layers.conv2d_transpose(h, 1, 3, 2, padding="same")))


def separable_convolution():
    h = tf.nn.lrn(tf.layers.separable_conv2d(floats(B, 12, 12, 4), 8, 3))
    h = tf.pad(tf.layers.average_pooling2d(h, 2, 2), [[0, 0], [1, 1], [1, 1], [0, 0]])
    return tf.reduce_mean(tf.square(tf.layers.flatten(h)))


def variational_autoencoder():
    x = floats(B, 64)
    h = tf.layers.dense(x, 32, tf.nn.tanh)
    mean, spread = tf.layers.dense(h, 8), tf.layers.dense(h, 8)
    z = mean + tf.exp(0.5 * spread) * tf.random_normal([B, 8], seed=3)
    found = tf.layers.dense(tf.layers.dense(z, 32, tf.nn.tanh), 64, tf.nn.sigmoid)
    divergence = 1 + spread - tf.square(mean) - tf.exp(spread)
    return tf.reduce_mean(tf.reduce_sum(tf.square(found - x), 1)) - 0.5 * tf.reduce_mean(
        tf.reduce_sum(divergence, 1)
    )


def recurrent_with_lengths():
    lengths = tf.minimum(numbers(B) + 1, 12)
    cell = tf.nn.rnn_cell.LSTMCell(16)
    _, state = tf.nn.dynamic_rnn(
        cell, embedded(numbers(B, 12)), sequence_length=lengths, dtype=tf.float32
    )
    return classified(state.h)


def bidirectional_time_major():
    x = floats(12, B, 16)
    cells = [tf.nn.rnn_cell.GRUCell(16) for _ in range(2)]
    found, _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32, time_major=True)
    return classified(tf.concat(found, -1))


def unrolled():
    steps = tf.unstack(floats(B, 6, 16), 6, 1)
    found, _ = tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(16), steps, dtype=tf.float32)
    return classified(found[-1])


def words_by_noise():
    weights, biases = tf.get_variable("w", [WORDS, 16]), tf.get_variable("b", [WORDS])
    x = embedded(numbers(B))
    return tf.reduce_mean(tf.nn.nce_loss(weights, biases, numbers(B, 1), x, 16, WORDS))


def pairs_of_one_batch():
    def side(x):
        return tf.nn.l2_normalize(tf.layers.dense(x, 16, name="side", reuse=tf.AUTO_REUSE), 1)

    likeness = tf.matmul(side(floats(B, 32)), side(floats(B, 32)), transpose_b=True)
    return cross_entropy(likeness, tf.range(B))


def text_by_convolutions():
    x = embedded(numbers(B, 20))
    found = [tf.reduce_max(tf.layers.conv1d(x, 8, n, activation=tf.nn.relu), 1) for n in (3, 4, 5)]
    return classified(tf.concat(found, 1))


def attention():
    x = floats(B, 6, 16)
    q, k, v = (tf.layers.dense(x, 16, name=name) for name in "qkv")
    weights = tf.nn.softmax(tf.einsum("bqd,bkd->bqk", q, k) / 4.0)
    return tf.reduce_mean(tf.square(tf.einsum("bqk,bkd->bqd", weights, v) - floats(B, 6, 16)))


def mixture_of_densities():
    h = tf.layers.dense(floats(B, 4), 32, tf.nn.tanh)
    shares, means, spreads = tf.split(tf.layers.dense(h, 15), 3, axis=1)
    away = tf.square((floats(B, 1) - means) / tf.exp(spreads)) / 2
    return -tf.reduce_mean(tf.reduce_logsumexp(tf.nn.log_softmax(shares) - away - spreads, axis=1))


def values_of_actions():
    actions, wanted = numbers(B) % 4, floats(B)
    values = tf.layers.dense(tf.layers.dense(floats(B, 8), 32, tf.nn.relu), 4)
    masked = tf.reduce_sum(values * tf.one_hot(actions, 4), 1)
    picked = tf.gather_nd(values, tf.stack([tf.range(B), actions], 1))
    return tf.losses.huber_loss(wanted, masked) + 0.1 * tf.reduce_mean(tf.square(picked - wanted))


def open_batch_with_decay():
    h = tf.layers.dense(tf.placeholder(tf.float32, [None, 32]), 64, tf.nn.relu, name="hidden")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 1) - tf.placeholder(tf.float32, [None, 1])))
    return loss + 0.01 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])


def generator_of_noise():
    def judged(x):
        h = tf.layers.dense(x, 64, tf.nn.leaky_relu, name="judge", reuse=tf.AUTO_REUSE)
        return tf.layers.dense(h, 1, name="verdict", reuse=tf.AUTO_REUSE)

    noise = tf.random_normal([B, 16], seed=3)
    made = tf.layers.dense(tf.layers.dense(noise, 64, tf.nn.relu), 48, tf.tanh)
    return tf.reduce_mean(tf.nn.softplus(judged(made)) + tf.nn.softplus(-judged(floats(B, 48))))


def images_of_random_numbers():
    labels = tf.random_uniform([B], 0, CLASSES, tf.int32, seed=4)
    h = tf.layers.conv2d(tf.random_normal([B, 12, 12, 1], seed=3), 8, 3, activation=tf.nn.relu)
    return cross_entropy(tf.layers.dense(tf.layers.flatten(h), CLASSES), labels)


def rows_by_chance():
    rows = tf.constant(np.random.default_rng(1).normal(size=(40, 32)), tf.float32)
    picked = tf.gather(rows, tf.random_uniform([B], 0, 40, tf.int32, seed=3))
    return tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(picked, 64, tf.nn.relu), 1)))


MODELS = [
    convnet,
    normalized_over_the_batch,
    transposed_convolutions,
    separable_convolution,
    variational_autoencoder,
    recurrent_with_lengths,
    bidirectional_time_major,
    unrolled,
    words_by_noise,
    pairs_of_one_batch,
    text_by_convolutions,
    attention,
    mixture_of_densities,
    values_of_actions,
    open_batch_with_decay,
    generator_of_noise,
    images_of_random_numbers,
    rows_by_chance,
]


def fed_values(graph):
    rng = np.random.default_rng(0)
    found = {}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            (x,) = op.outputs
            shape = [B if n is None else n for n in x.shape.as_list()]
            is_float = x.dtype == tf.float32
            found[x] = rng.normal(size=shape) if is_float else rng.integers(0, CLASSES, shape)
    return found


def trained(model, parts):
    """Return the losses of some steps in so many parts, and the plan of one."""
    with tf.Graph().as_default() as graph, config.set(batch_parts=parts), tf.Session() as session:
        tf.set_random_seed(5)
        loss = model()
        optimizer = tf.train.AdamOptimizer(1e-2)
        pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
        clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
        train = optimizer.apply_gradients(
            [(g, v) for g, (_, v) in zip(clipped, pairs, strict=True)]
        )
        session.run(tf.global_variables_initializer())
        feeds = fed_values(graph)
        fed, values = session._feeds(feeds)
        plan = session._executable([loss, train], fed)[0].plan(values)
        return [session.run([loss, train], feeds)[0] for _ in range(3)], plan


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_all_work_is_cut_and_no_number_changes(model):
    whole, single = trained(model, 1)
    found, plan = trained(model, PARTS)
    assert single.is_single and single.sharding.cut_share == 0
    assert plan.sharding.cut_share > 0.99, explain(plan)
    np.testing.assert_allclose(found, whole, rtol=1e-4)
