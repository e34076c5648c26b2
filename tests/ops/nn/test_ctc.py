"""Labels of sequences without their times: results are TensorFlow's."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.kernels.nn import ctc as kernels
from tests.ops.nn import ctc_cases

OPTIONS = {
    "preprocess_collapse_repeated": False,
    "ctc_merge_repeated": True,
    "ignore_longer_outputs_than_inputs": True,
}
EXPECTED = json.loads(Path(__file__).with_name("ctc_results.json").read_text())


def test_results_are_those_of_tensorflow():
    found = ctc_cases.results(tf)
    assert len(found) == len(EXPECTED)
    for mine, wanted in zip(found, EXPECTED, strict=True):
        assert np.shape(mine) == np.shape(wanted)
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-5)


def loss(labels, lengths):
    sparse = dv.SparseTensor([[0, n] for n in range(len(labels))], labels, [1, len(labels)])
    return dv.nn.ctc_loss(sparse, np.zeros((2, 1, 3), "f"), lengths).numpy()


@pytest.mark.parametrize(
    "labels, lengths, words",
    [
        ([0, 1, 0], [2], "required: 3, available: 2"),
        ([2], [2], "num_classes: 3"),
        ([0], [3], "sequence_length"),
        ([-1], [2], "Labels length is zero in batch 0"),
    ],
)
def test_what_cannot_be_is_refused_in_words(labels, lengths, words):
    with pytest.raises(InvalidArgumentError, match=words):
        loss(np.array(labels, np.int32), np.array(lengths, np.int32))


def test_the_loss_of_nan_is_nan():
    logits = np.zeros((3, 2, 3))
    logits[1, 0, 2] = np.nan
    labels = np.zeros((2, 1), np.int32)
    with np.errstate(invalid="ignore"):
        losses, slopes = kernels.ctc_loss(np, logits, labels, np.array([3, 3]), **OPTIONS)
    assert np.isnan(losses).tolist() == [True, False]
    assert np.isnan(slopes[:, 0]).any() and np.isfinite(slopes[:, 1]).all()


def test_beams_that_leave_nothing_out_are_all_paths():
    logits = np.random.default_rng(0).normal(size=(5, 1, 3))
    shares = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    wanted: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(3), repeat=5):
        labels = tuple(n for i, n in enumerate(path) if n < 2 and (not i or n != path[i - 1]))
        share = math.prod(shares[time, 0, n] for time, n in enumerate(path))
        wanted[labels] = wanted.get(labels, 0) + share
    options = {"beam_width": 500, "top_paths": 8, "merge_repeated": False}
    found = kernels.beam_search_decoder(np, logits, np.array([5]), **options)
    best = sorted(wanted, key=wanted.__getitem__, reverse=True)[:8]
    assert [tuple(values.tolist()) for values in found[8:16]] == best
    np.testing.assert_allclose(np.exp(found[-1][0]), [wanted[labels] for labels in best])


def test_the_loss_is_cut_along_the_batch():
    places = [[n, 0] for n in range(4)]
    labels = tf.SparseTensorValue(places, np.array([1, 2, 0, 3], np.int32), [4, 1])
    with dv.config.set(batch_parts=2), tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [7, 4, 5])
        weights = tf.Variable(tf.ones([5, 5]))
        logits = tf.reshape(tf.reshape(x, [-1, 5]) @ weights, [7, 4, 5])
        total = tf.reduce_sum(tf.nn.ctc_loss(labels, logits, [7, 5, 3, 6]))
        session.run(tf.global_variables_initializer())
        assert np.isfinite(session.run(total, {x: ctc_cases.logits()}))


@pytest.mark.parametrize("scale", [1, 1000])
@pytest.mark.parametrize("merge", [True, False])
def test_sequences_side_by_side_are_as_each_alone(scale, merge):
    """Whatever their lengths are, and however unlikely their labels."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(9, 6, 4)) * scale).astype("f")
    labels = rng.integers(0, 3, (6, 4))
    labels[np.arange(4) >= rng.integers(1, 5, 6)[:, None]] = -1
    lengths = rng.integers(0, 10, 6)
    x[np.arange(9)[:, None] >= lengths] = np.nan  # is not looked at
    options = OPTIONS | {"ctc_merge_repeated": merge}
    with np.errstate(all="ignore"):
        losses, slopes = kernels.ctc_loss(np, x, labels, lengths, **options)
        for n in range(6):
            one = slice(n, n + 1)
            length = lengths[n]
            if not length:
                assert losses[n] == 0 and not slopes[:, n].any()
                continue
            loss, slope = kernels.ctc_loss(
                np, x[:length, one], labels[one], lengths[one], **options
            )
            np.testing.assert_allclose(losses[one], loss, rtol=1e-5)
            np.testing.assert_allclose(slopes[:length, one], slope, rtol=1e-4, atol=1e-6)
            assert not slopes[length:, n].any()
