"""Samples of labels of sequences without their times."""

import numpy as np

import daskvars as dv
from tests.ops.sample import Sample

RNG = np.random.default_rng(9)
LOGITS = RNG.normal(size=(5, 3, 4))
LENGTHS = np.array([5, 4, 2], np.int32)
PLACES = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]])
LABELS = np.array([1, 1, 0, 2, 0, 2], np.int32)


def loss(x, lengths, **options):
    labels = dv.SparseTensor(PLACES, dv.constant(LABELS), [3, 3])
    return dv.nn.ctc_loss(labels, x, lengths, **options)


def decoded(function, x, lengths, **options):
    found, scores = function(x, lengths, **options)
    return [part for sp in found for part in (sp.indices, sp.values, sp.dense_shape)] + [scores]


SAMPLES = [
    Sample("CTCLoss", loss, (LOGITS, LENGTHS), (0,), chunked=()),
    Sample(
        "CTCLoss",
        lambda x, n: loss(x, n, time_major=False, ctc_merge_repeated=False),
        (LOGITS.swapaxes(0, 1), LENGTHS),
        (0,),
        id="batch first",
    ),
    Sample(
        "CTCGreedyDecoder",
        lambda x, n: decoded(dv.nn.ctc_greedy_decoder, x, n),
        (LOGITS, LENGTHS),
        chunked=(),
    ),
    Sample(
        "CTCBeamSearchDecoder",
        lambda x, n: decoded(dv.nn.ctc_beam_search_decoder, x, n, top_paths=2),
        (LOGITS, LENGTHS),
        chunked=(),
    ),
]
