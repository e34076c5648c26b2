"""The candidate sampler that learns from the classes it is shown."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.v1.sampling import learned_unigram_candidate_sampler
from tests.sessions import run


def sampler(classes, **options):
    return tf.nn.learned_unigram_candidate_sampler(
        classes, 1, **{"num_sampled": 400, "unique": False, "range_max": 4, "seed": 1, **options}
    )


def test_it_draws_by_what_it_has_seen(graph):
    classes = tf.placeholder(tf.int64, [None, 1])
    drawn = sampler(classes)
    (counts,) = tf.global_variables()
    assert counts.op.name == "LearnedUnigramCandidateSampler/counts"
    assert tf.trainable_variables() == []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(drawn.sampled_candidates, {classes: [[3]] * 96})
        assert session.run(counts).tolist() == [1, 1, 1, 97]
        found, expected = session.run(
            [drawn.sampled_candidates, drawn.sampled_expected_count], {classes: [[0]]}
        )
        assert np.count_nonzero(found == 3) > 360
        np.testing.assert_allclose(expected[found == 3], 400 * 0.97, rtol=1e-6)
        assert session.run(counts).tolist() == [2, 1, 1, 97]


def test_distinct_candidates_and_errors(graph):
    drawn = sampler([[1]], num_sampled=4, unique=True)
    assert sorted(run(drawn.sampled_candidates)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="range is too small"):
        sampler([[1]], num_sampled=5, unique=True)
    with pytest.raises(ValueError, match="1 columns"):
        sampler([[1, 2]])


def test_eager_code_has_nowhere_to_keep_counts():
    with pytest.raises(RuntimeError, match="build it in a graph"):
        learned_unigram_candidate_sampler([[1]], 1, 2, False, 4)
