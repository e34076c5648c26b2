import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import daskvars as dv
import daskvars.v1 as tf
from daskvars.v1.sampling import candidates as ops

TRUE = [[1, 2], [0, 4], [3, 3]]
# Expected counts of four candidates that may repeat, from TensorFlow.
GOLDEN = {
    "uniform": [[0.8, 0.8], [0.8, 0.8], [0.8, 0.8]],
    "log_uniform": [[0.90517753, 0.64223367], [1.5474112, 0.4070224], [0.49815515, 0.49815515]],
    "distorted": [[0.6042318, 0.8189776], [0.35927835, 1.2013197], [1.0161927, 1.0161927]],
    "reserved": [[0.0, 0.6666667], [0.0, 2.0], [1.3333334, 1.3333334]],
}
SAMPLERS = {
    "uniform": (ops.uniform_candidate_sampler, {}),
    "log_uniform": (ops.log_uniform_candidate_sampler, {}),
    "distorted": (
        ops.fixed_unigram_candidate_sampler,
        {"unigrams": [1.0, 2.0, 3.0, 4.0, 5.0], "distortion": 0.75},
    ),
    "reserved": (
        ops.fixed_unigram_candidate_sampler,
        {"unigrams": [1.0, 2.0, 3.0], "num_reserved_ids": 2},
    ),
}


@pytest.mark.parametrize("case", SAMPLERS)
def test_expected_counts_are_tensorflows(case):
    sampler, options = SAMPLERS[case]
    drawn = sampler(TRUE, 2, 4, False, 5, **options)
    assert_allclose(drawn.true_expected_count.numpy(), GOLDEN[case], rtol=1e-6)
    by_class = dict(zip(numpy.ravel(TRUE), numpy.ravel(GOLDEN[case]), strict=True))
    wanted = [by_class[c] for c in drawn.sampled_candidates.numpy()]
    assert_allclose(drawn.sampled_expected_count.numpy(), wanted, rtol=1e-6)


def test_distinct_candidates_differ_from_run_to_run_and_repeat_by_seed():
    def draws(seed):
        with dv.Graph().as_default(), dv.Session() as session:
            drawn = tf.nn.log_uniform_candidate_sampler(TRUE, 2, 20, True, 1000, seed=seed)
            assert [t.shape.as_list() for t in drawn] == [[20], [3, 2], [20]]
            return [session.run(drawn.sampled_candidates).tolist() for _ in range(3)]

    first, second, third = draws(5)
    assert len(set(first)) == 20 and first != second != third
    assert draws(5) == [first, second, third] != draws(6)


def test_numbers_do_not_depend_on_chunks():
    with dv.Graph().as_default(), dv.Session() as session:
        classes = tf.constant(numpy.arange(8).reshape(8, 1))
        cut = tf.constant(numpy.arange(8).reshape(8, 1), chunks=(2, 1))
        for sampler in (tf.nn.uniform_candidate_sampler, tf.nn.log_uniform_candidate_sampler):
            whole, parts = session.run([sampler(c, 1, 5, True, 9, seed=2) for c in (classes, cut)])
            for a, b in zip(whole, parts, strict=True):
                assert_array_equal(a, b)


def test_vocabulary_in_a_file_and_in_shards(tmp_path):
    path = tmp_path / "vocabulary.csv"
    path.write_text("the,4\nof,2\n3\nto,it,1\n")
    options = {"num_true": 1, "num_sampled": 2, "unique": False}
    drawn = ops.fixed_unigram_candidate_sampler(
        [[0], [3]], range_max=4, vocab_file=str(path), **options
    )
    assert_allclose(drawn.true_expected_count.numpy(), [[0.8], [0.2]], rtol=1e-6)
    drawn = ops.fixed_unigram_candidate_sampler(
        [[0], [1]], range_max=2, vocab_file=str(path), num_shards=2, shard=1, **options
    )
    assert_allclose(drawn.true_expected_count.numpy(), [[4 / 3], [2 / 3]], rtol=1e-6)
    path.write_text("the,many\n")
    with pytest.raises(ValueError, match=r"vocabulary\.csv"):
        ops.fixed_unigram_candidate_sampler([[0]], range_max=1, vocab_file=str(path), **options)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"num_sampled": 6}, "range is too small"),
        ({"true_classes": [1, 2]}, "rank 2 but is rank 1"),
        ({"num_true": 1}, "must have 1 columns"),
        ({"unigrams": [1.0]}, "range_max is 5 but there are 1 weights"),
        ({"unigrams": [0.0, 0.0, 1.0, 2.0, 3.0]}, "3 possible classes"),
        ({"unigrams": []}, "either vocab_file or unigrams"),
        ({"vocab_file": "words"}, "either vocab_file or unigrams"),
    ],
)
def test_what_cannot_be_drawn(changes, message):
    arguments = {
        "true_classes": TRUE,
        "num_true": 2,
        "num_sampled": 4,
        "unique": True,
        "range_max": 5,
        "unigrams": [1.0] * 5,
    }
    with pytest.raises(ValueError, match=message):
        ops.fixed_unigram_candidate_sampler(**{**arguments, **changes})


def test_all_candidates():
    drawn = ops.all_candidate_sampler(TRUE, 2, 5, True)
    assert drawn.sampled_candidates.numpy().tolist() == [0, 1, 2, 3, 4]
    assert drawn.true_expected_count.numpy().tolist() == [[1.0, 1.0]] * 3
    assert drawn.sampled_expected_count.numpy().tolist() == [1.0] * 5


def test_accidental_hits_are_tensorflows():
    hits = ops.compute_accidental_hits(TRUE, [3, 1, 3, 7, 0], 2)
    assert hits.indices.numpy().tolist() == [0, 1, 2, 2]
    assert hits.ids.numpy().tolist() == [1, 4, 2, 2]
    assert set(hits.weights.numpy().tolist()) == {float(numpy.finfo("f4").min)}
