"""Kernels of connectionist temporal classification: labels without their times (Graves, 2006).

A path gives each time a label or a blank, the last class; the labels of a path are what is left
when repetitions are made one and blanks are taken out. All sums are of logarithms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import InvalidArgumentError
from daskvars.kernels.sparse.indices import of_rows

NONE = -np.inf  # the logarithm of what cannot be


def _logs(logits: np.ndarray) -> np.ndarray:
    """Return the logarithms of softmax along the last dimension."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _check(lengths: np.ndarray, times: int) -> None:
    if lengths.size and (int(lengths.max()) > times or int(lengths.min()) < 0):
        place = int(np.argmax((lengths > times) | (lengths < 0)))
        raise InvalidArgumentError(
            None, None, f"sequence_length({place}) <= {times}: it is {int(lengths[place])}"
        )


@host_kernel
def ctc_loss(
    xp: ArrayModule,
    logits: Array,
    labels: Array,
    lengths: Array,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:
    """Give losses [batch] and their gradients [time, batch, classes].

    `labels` [batch, n] have -1 behind their last one.
    """
    given, wanted, lengths = (np.asarray(each) for each in (logits, labels, lengths))
    times, batch, classes = given.shape
    if not batch:
        raise InvalidArgumentError(None, None, "batch_size must not be 0")
    _check(lengths, times)
    losses = np.zeros(len(wanted), given.dtype)
    slopes = np.zeros(given.shape, given.dtype)
    for number, (row, length) in enumerate(zip(wanted.tolist(), lengths.tolist(), strict=True)):
        found = [label for label in row if label >= 0]
        if preprocess_collapse_repeated:
            found = [x for i, x in enumerate(found) if not i or x != found[i - 1]]
        if found and max(found) >= classes - 1:
            raise InvalidArgumentError(
                None,
                None,
                f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: "
                f"{number} num_classes: {classes} labels: {found}",
            )
        if not found:
            raise InvalidArgumentError(None, None, f"Labels length is zero in batch {number}")
        if not length:
            continue
        if len(found) > length:
            if ignore_longer_outputs_than_inputs:
                continue
            raise InvalidArgumentError(
                None,
                None,
                f"Not enough time for target transition sequence (required: {len(found)}, "
                f"available: {length}), {number}. You can turn this error into a warning by using "
                "the flag ignore_longer_outputs_than_inputs",
            )
        logs = _logs(given[:length, number].astype(np.float64))
        loss, slope = _one(logs, found, ctc_merge_repeated)
        losses[number], slopes[:length, number] = loss, slope
    return losses, slopes


def _one(logs: np.ndarray, labels: list[int], merge: bool) -> tuple[float, np.ndarray]:
    """Return the loss of one sequence, and its gradient [time, classes]."""
    times, classes = logs.shape
    path = np.full(2 * len(labels) + 1, classes - 1)
    path[1::2] = labels
    is_label = path != classes - 1
    # Whether a place may be stayed at, and come to from two before, over a blank.
    stays = np.where(~is_label | merge, 0.0, NONE)
    same = np.zeros(len(path), bool)
    same[2:] = path[2:] == path[:-2]
    leaps = np.where(is_label & ~(same & merge), 0.0, NONE)[2:]
    here = logs[:, path]
    forward, backward = (np.full(here.shape, NONE) for _ in range(2))
    forward[0, :2], backward[-1, -2:] = here[0, :2], 0.0
    for time in range(1, times):
        before = forward[time - 1]
        total = before + stays
        total[1:] = np.logaddexp(total[1:], before[:-1])
        total[2:] = np.logaddexp(total[2:], before[:-2] + leaps)
        forward[time] = total + here[time]
    for time in range(times - 2, -1, -1):
        after = backward[time + 1] + here[time + 1]
        total = after + stays
        total[:-1] = np.logaddexp(total[:-1], after[1:])
        total[:-2] = np.logaddexp(total[:-2], after[2:] + leaps)
        backward[time] = total
    whole = np.logaddexp.reduce(forward[-1, -2:])
    slope = np.exp(logs)
    if np.isfinite(whole):
        shares = np.exp(forward + backward - whole)
        for place, label in enumerate(path):
            slope[:, label] -= shares[:, place]
    return -whole, slope


def _merged(path: list[int]) -> list[int]:
    return [label for i, label in enumerate(path) if not i or label != path[i - 1]]


@host_kernel
def greedy_decoder(
    xp: ArrayModule, logits: Array, lengths: Array, *, merge_repeated: bool
) -> tuple[Any, Any, Any, Any]:
    """Give (places, values, shape) of the best label of each time, and minus their logits' sum."""
    given, lengths = np.asarray(logits), np.asarray(lengths)
    _check(lengths, len(given))
    blank = given.shape[2] - 1
    rows, sums = [], np.zeros((given.shape[1], 1), given.dtype)
    for number, length in enumerate(lengths.tolist()):
        mine = given[:length, number]
        best = mine.argmax(axis=1).tolist() if length else []
        sums[number] = -mine.max(axis=1).sum() if length else 0
        path = _merged(best) if merge_repeated else best
        rows.append([label for label in path if label != blank])
    return (*of_rows(rows, np.int64), sums)


@host_kernel
def beam_search_decoder(
    xp: ArrayModule,
    logits: Array,
    lengths: Array,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
) -> tuple[Any, ...]:
    """Give places, values and shapes of the best labels, as many each as paths, and their logs."""
    given, lengths = np.asarray(logits), np.asarray(lengths)
    _check(lengths, len(given))
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    scores = np.zeros((given.shape[1], top_paths), given.dtype)
    for number, length in enumerate(lengths.tolist()):
        logs = _logs(given[:length, number].astype(np.float64)) if length else given[:0, number]
        for rank, (labels, score) in enumerate(_beams(logs, beam_width)[:top_paths]):
            found = list(labels)
            paths[rank].append(_merged(found) if merge_repeated else found)
            scores[number, rank] = score
        for rows in paths:
            if len(rows) <= number:
                raise InvalidArgumentError(
                    None, None, f"top_paths {top_paths} is more than the leaves of the beam search"
                )
    tables = [of_rows(rows, np.int64) for rows in paths]
    return (*[part for parts in zip(*tables, strict=True) for part in parts], scores)


def _sum(logs: Sequence[float]) -> float:
    return float(np.logaddexp(logs[0], logs[1]))


def _beams(logs: np.ndarray, width: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the likeliest labels, and the logarithms of their probabilities, the best first."""
    blank = logs.shape[1] - 1
    # Labels -> (of paths that end in a blank, of those that end in their last label)
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, NONE)}
    for row in logs:
        grown: dict[tuple[int, ...], list[float]] = defaultdict(lambda: [NONE, NONE])
        for labels, (quiet, loud) in beams.items():
            both = np.logaddexp(quiet, loud)
            mine = grown[labels]
            mine[0] = np.logaddexp(mine[0], both + row[blank])
            if labels:
                mine[1] = np.logaddexp(mine[1], loud + row[labels[-1]])
            for label in range(blank):
                before = quiet if labels and labels[-1] == label else both
                longer = grown[*labels, label]
                longer[1] = np.logaddexp(longer[1], before + row[label])
        best = sorted(grown.items(), key=lambda item: -_sum(item[1]))[:width]
        beams = {labels: (quiet, loud) for labels, (quiet, loud) in best}
    found = [(labels, _sum(both)) for labels, both in beams.items()]
    return sorted(found, key=lambda item: -item[1])
