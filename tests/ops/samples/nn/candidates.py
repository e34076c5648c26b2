import numpy

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.v1.sampling import candidates as ops, sampled_loss as losses
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
TRUE = numpy.array([[1, 2], [0, 4], [3, 3], [2, 0]])
WEIGHTS, BIASES, INPUTS = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=(4, 3))
FIXED = numpy.array([3, 1, 5]), rng.uniform(0.1, 1, (4, 2)), rng.uniform(0.1, 1, 3)


def drawn(sampler, unique, **options):
    return lambda true_classes: list(sampler(true_classes, 2, 4, unique, 5, **options))


def expected(classes, **options):
    return apply(ops.EXPECTED_COUNT, classes, dv.constant(7, dv.int64), num_sampled=4, **options)


def loss(function, **options):
    return lambda w, b, x, labels, drawn, true, false: function(
        w, b, labels, x, 3, 6, 2, (drawn, true, false), **options
    )


ARGUMENTS = WEIGHTS, BIASES, INPUTS, TRUE, *FIXED
SAMPLES = [
    Sample(
        "CandidateSampler", drawn(ops.log_uniform_candidate_sampler, True), (TRUE,), random=True
    ),
    Sample(
        "CandidateSampler",
        drawn(ops.fixed_unigram_candidate_sampler, False, unigrams=[1.0, 2.0, 3.0, 0.0, 5.0]),
        (TRUE,),
        random=True,
        id="weights",
    ),
    Sample(
        "CandidateExpectedCount", lambda t: expected(t, base="log_uniform", range_max=9), (TRUE,)
    ),
    Sample(
        "ComputeAccidentalHits",
        lambda t, s: list(ops.compute_accidental_hits(t, s, 2)),
        (TRUE, numpy.array([3, 1, 3, 7, 0])),
    ),
    Sample("Sum", loss(losses.nce_loss), ARGUMENTS, (0, 1, 2), id="nce_loss"),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        loss(losses.sampled_softmax_loss),
        ARGUMENTS,
        (0, 1, 2),
        id="sampled",
    ),
]
