"""Word vectors as TensorFlow-1 tutorials train them: skip-grams with a sampled loss."""

import numpy as np
import pytest

import daskvars.v1 as tf

WORDS = 8


def batches(count, size):
    """Words 0 to 3 only ever stand beside one another, and so do 4 to 7."""
    generator = np.random.default_rng(1)
    for _ in range(count):
        topics = generator.integers(0, 2, size)
        centre, shift = generator.integers(0, 4, size), generator.integers(1, 4, size)
        yield topics * 4 + centre, (topics * 4 + (centre + shift) % 4)[:, None]


def skip_gram(loss, shards):
    words, dim, batch = WORDS, 8, 32
    inputs = tf.placeholder(tf.int32, shape=[batch])
    labels = tf.placeholder(tf.int64, shape=[batch, 1])
    partitioner = tf.fixed_size_partitioner(shards) if shards > 1 else None
    with tf.variable_scope("model", partitioner=partitioner):
        embeddings = tf.get_variable(
            "embeddings", [words, dim], initializer=tf.random_uniform_initializer(-1.0, 1.0, seed=1)
        )
        weights = tf.get_variable(
            "weights", [words, dim], initializer=tf.truncated_normal_initializer(stddev=0.3, seed=2)
        )
        biases = tf.get_variable("biases", [words], initializer=tf.zeros_initializer())
    embed = tf.nn.embedding_lookup(embeddings, inputs, partition_strategy="div")
    sampled = tf.nn.uniform_candidate_sampler(labels, 1, 4, True, words, seed=3)
    cost = tf.reduce_mean(
        loss(
            weights,
            biases,
            labels,
            embed,
            4,
            words,
            sampled_values=sampled,
            partition_strategy="div",
        )
    )
    step = tf.train.GradientDescentOptimizer(1.0).minimize(cost)
    table = tf.convert_to_tensor(embeddings)
    unit = table / tf.sqrt(tf.reduce_sum(tf.square(table), 1, keep_dims=True))
    return inputs, labels, cost, step, tf.matmul(unit, unit, transpose_b=True)


@pytest.mark.parametrize("loss", [tf.nn.nce_loss, tf.nn.sampled_softmax_loss])
@pytest.mark.parametrize("shards", [1, 2])
def test_words_of_a_topic_come_to_be_alike(loss, shards):
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, labels, cost, step, similarity = skip_gram(loss, shards)
        session.run(tf.global_variables_initializer())
        costs = [
            session.run([cost, step], {inputs: centre, labels: beside})[0]
            for centre, beside in batches(120, 32)
        ]
        found = session.run(similarity)
    assert np.mean(costs[-20:]) < 0.8 * np.mean(costs[:20])
    within = np.mean([found[:4, :4], found[4:, 4:]])
    across = np.mean(found[:4, 4:])
    assert within > across + 0.5
