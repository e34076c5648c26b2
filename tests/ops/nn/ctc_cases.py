"""Labels without times, by TensorFlow: ``python tests/ops/nn/ctc_cases.py`` writes the results.

Run it by a Python that has TensorFlow, into ``tests/ops/nn/ctc_results.json``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

OPTIONS: list[dict[str, Any]] = [
    {},
    {"preprocess_collapse_repeated": True},
    {"ctc_merge_repeated": False},
]


def logits() -> np.ndarray:
    return np.random.RandomState(3).uniform(-2, 2, (7, 4, 5)).astype(np.float32)


def fetches(tf: Any) -> list[Any]:
    """Return losses, their gradients, and what is decoded."""
    x, lengths = tf.constant(logits()), tf.constant([7, 5, 3, 6])
    places = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0], [3, 0]]
    labels = tf.SparseTensor(places, tf.constant([2, 2, 0, 1, 3, 0, 3]), [4, 3])
    found = []
    for options in OPTIONS:
        loss = tf.nn.ctc_loss(labels, x, lengths, **options)
        found += [loss, *tf.gradients(loss, x, tf.constant([1.0, 2.0, 3.0, 4.0]))]
    swapped = tf.transpose(x, [1, 0, 2])
    short = tf.constant([2, 5, 3, 6])
    found += [
        tf.nn.ctc_loss(labels, swapped, lengths, time_major=False),
        tf.nn.ctc_loss(labels, x, short, ignore_longer_outputs_than_inputs=True),
    ]
    for merge in (True, False):
        for decoded, scores in (
            tf.nn.ctc_greedy_decoder(x, lengths, merge_repeated=merge),
            tf.nn.ctc_beam_search_decoder(x, lengths, 20, 3, merge_repeated=merge),
        ):
            for sparse in decoded:
                found += [sparse.indices, sparse.values, sparse.dense_shape]
            found.append(scores)
    return found


def results(tf: Any) -> list[Any]:
    """Return what it gives, as plain data."""
    with tf.Graph().as_default(), tf.Session() as session:
        return [np.asarray(value).tolist() for value in session.run(fetches(tf))]


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    print(json.dumps(results(tensorflow)))
