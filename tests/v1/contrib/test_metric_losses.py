"""Losses of embeddings by their distances, against loops over pairs and triplets."""

import numpy as np
import pytest

import daskvars.v1 as tf

metric = tf.contrib.losses.metric_learning
LABELS = np.array([0, 1, 0, 2, 1, 0, 3])


def embeddings(seed=0):
    return np.random.default_rng(seed).normal(size=(7, 3)).astype("f4")


def distances(x):
    return np.sqrt(np.square(x[:, None] - x[None]).sum(-1))


def pairs():
    return [(a, p) for a in range(7) for p in range(7) if a != p and LABELS[a] == LABELS[p]]


def others(a):
    return [n for n in range(7) if LABELS[n] != LABELS[a]]


def triplet(x, margin):
    d, found = distances(x) ** 2, []
    for a, p in pairs():
        further = [d[a, n] for n in others(a) if d[a, n] > d[a, p]]
        negative = min(further) if further else max(d[a, n] for n in others(a))
        found.append(max(margin + d[a, p] - negative, 0.0))
    return np.mean(found)


def lifted(x, margin):
    d, found = distances(x), []
    for i, j in pairs():
        total = sum(np.exp(margin - d[k, n]) for k in (i, j) for n in others(k))
        found.append(max(np.log(total) + d[i, j], 0.0) ** 2)
    return 0.5 * np.mean(found)


@pytest.mark.parametrize("margin", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(
    ("loss", "wanted"),
    [(metric.triplet_semihard_loss, triplet), (metric.lifted_struct_loss, lifted)],
    ids=lambda f: f.__name__,
)
def test_losses_of_batches(graph, loss, wanted, margin):
    x = tf.placeholder(tf.float32, [None, 3])
    value = loss(tf.constant(LABELS), x, margin)
    with tf.Session() as sess:
        for seed in range(5):
            fed = embeddings(seed)
            np.testing.assert_allclose(sess.run(value, {x: fed}), wanted(fed, margin), rtol=1e-4)


def test_losses_of_pairs(graph):
    a, b = embeddings(1), embeddings(2)
    d = np.sqrt(np.square(a - b).sum(1))
    y = np.array([1, 0, 1, 0, 1, 0, 0])
    contrastive = np.mean(np.where(y, d**2, np.maximum(2.5 - d, 0) ** 2))
    products = a @ b.T
    logs = products - np.log(np.exp(products).sum(1, keepdims=True))
    alike = LABELS[:, None] == LABELS[None]
    entropy = -(logs * alike / alike.sum(1, keepdims=True)).sum(1).mean()
    lengths = np.square(a).sum(1).mean() + np.square(b).sum(1).mean()
    with tf.Session() as sess:
        found = sess.run(metric.contrastive_loss(y, a, b, 2.5))
        np.testing.assert_allclose(found, contrastive, rtol=1e-5)
        found = sess.run(metric.npairs_loss(LABELS, a, b, 0.1, print_losses=True))
        np.testing.assert_allclose(found, entropy + 0.025 * lengths, rtol=1e-5)


@pytest.mark.parametrize("name", ["triplet_semihard_loss", "lifted_struct_loss"])
def test_gradients_are_finite_where_examples_are_equal(graph, name):
    x = tf.constant([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    (gradient,) = tf.gradients(getattr(metric, name)([0, 0, 1, 1], x, 5.0), [x])
    with tf.Session() as sess:
        assert np.isfinite(sess.run(gradient)).all()


def test_a_step_pulls_alike_together(graph):
    x = tf.Variable(embeddings())
    loss = metric.triplet_semihard_loss(LABELS, tf.nn.l2_normalize(x, 1))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first = sess.run(loss)
        for _ in range(60):
            sess.run(train)
        assert sess.run(loss) < 0.3 * first
