"""Conditional random fields, against all sequences of tags."""

import itertools

import numpy as np
import pytest

import daskvars.v1 as tf

TAGS, LENGTH = 3, 4
rng = np.random.default_rng(0)
POTENTIALS = rng.normal(size=(5, LENGTH, TAGS)).astype(np.float32)
TRANSITIONS = rng.normal(size=(TAGS, TAGS)).astype(np.float32)
LENGTHS = np.array([4, 3, 1, 0, 2], np.int32)
RIGHT = rng.integers(0, TAGS, (5, LENGTH))


def score(row, tags):
    steps = sum(POTENTIALS[row, i, tag] for i, tag in enumerate(tags))
    return steps + sum(TRANSITIONS[pair] for pair in itertools.pairwise(tags))


def all_scores(row):
    return {tags: score(row, tags) for tags in itertools.product(range(TAGS), repeat=LENGTHS[row])}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("length", [None, LENGTH])
def test_likelihoods_and_best_tags_are_those_of_all_sequences(dtype, length):
    with tf.Graph().as_default(), tf.Session() as session:
        potentials = tf.placeholder(tf.float32, [None, length, TAGS])
        lengths, right = tf.placeholder(dtype, [None]), tf.placeholder(dtype, [None, length])
        likelihood, _ = tf.contrib.crf.crf_log_likelihood(potentials, right, lengths, TRANSITIONS)
        norm = tf.contrib.crf.crf_log_norm(potentials, lengths, TRANSITIONS)
        best = tf.contrib.crf.crf_decode(potentials, TRANSITIONS, lengths)
        feeds = {potentials: POTENTIALS, lengths: LENGTHS, right: RIGHT}
        likelihood, norm, (tags, scores) = session.run([likelihood, norm, best], feeds)
    for row, count in enumerate(LENGTHS):
        if count:
            found = all_scores(row)
            wanted = np.log(np.sum(np.exp(list(found.values()))))
            np.testing.assert_allclose(norm[row], wanted, rtol=1e-5)
            own = score(row, RIGHT[row, :count])
            np.testing.assert_allclose(likelihood[row], own - wanted, rtol=1e-4)
            assert tuple(tags[row, :count]) == max(found, key=found.get)
            np.testing.assert_allclose(scores[row], max(found.values()), rtol=1e-5)
            one, value = tf.contrib.crf.viterbi_decode(POTENTIALS[row, :count], TRANSITIONS)
            assert tuple(one) == max(found, key=found.get)
            np.testing.assert_allclose(value, scores[row], rtol=1e-5)
        else:
            assert norm[row] == likelihood[row] == 0
        assert not tags[row, count:].any()


def test_one_step_is_a_softmax():
    with tf.Graph().as_default(), tf.Session() as session:
        likelihood, _ = tf.contrib.crf.crf_log_likelihood(
            POTENTIALS[:, :1], RIGHT[:, :1], [1] * 5, TRANSITIONS
        )
        tags, _ = tf.contrib.crf.crf_decode(POTENTIALS[:, :1], TRANSITIONS, [1] * 5)
        likelihood, tags = session.run([likelihood, tags])
    first = np.exp(POTENTIALS[:, 0])
    wanted = np.log(np.take_along_axis(first, RIGHT[:, :1], 1)[:, 0] / first.sum(1))
    np.testing.assert_allclose(likelihood, wanted, rtol=1e-5)
    np.testing.assert_array_equal(tags, POTENTIALS[:, :1].argmax(2))


@pytest.mark.slow
def test_a_tagger_learns_its_transitions():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        potentials = tf.constant(POTENTIALS)
        likelihood, transitions = tf.contrib.crf.crf_log_likelihood(potentials, RIGHT, LENGTHS)
        assert transitions.op.name == "transitions"
        loss = tf.reduce_mean(-likelihood)
        train = tf.train.AdamOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train])[0] for _ in range(30)]
        (gradient,) = tf.gradients(loss, [transitions])
        analytic, start = session.run([gradient, transitions])
        for place in [(0, 0), (1, 2)]:
            nudged = []
            for step in (1e-2, -1e-2):
                value = start.copy()
                value[place] += step
                transitions.load(value, session)
                nudged.append(session.run(loss))
            assert abs((nudged[0] - nudged[1]) / 2e-2 - analytic[place]) < 2e-3
    assert losses[-1] < losses[0] / 1.2


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match="potentials"):
        tf.contrib.crf.viterbi_decode(np.zeros((2, 3)), np.zeros((2, 2)))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="number of tags"):
        unknown = tf.placeholder(tf.float32, [None, None, None])
        tf.contrib.crf.crf_log_likelihood(unknown, [[0]], [1])
