"""Kernels of connectionist temporal classification: labels without their times (Graves, 2006).

A path gives each time a label or a blank, the last class; the labels of a path are what is left
when repetitions are made one and blanks are taken out. All sums are of logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid
from daskvars.kernels.sparse.indices import of_rows

NONE = -np.inf  # the logarithm of what cannot be
# The same among sums of what can be, none of which is below `LEAST`: differences are numbers.
NEVER, LEAST = -1e300, -1e200
BLOCK_ELEMENTS = 1 << 20  # of logits, whose sequences are gone through side by side


def _logs(logits: np.ndarray) -> np.ndarray:
    """Return the logarithms of softmax along the last dimension."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _check(lengths: np.ndarray, times: int) -> None:
    if lengths.size and (int(lengths.max()) > times or int(lengths.min()) < 0):
        place = int(np.argmax((lengths > times) | (lengths < 0)))
        raise invalid(f"sequence_length({place}) <= {times}: it is {int(lengths[place])}")


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
        raise invalid("batch_size must not be 0")
    _check(lengths, times)
    losses = np.zeros(len(wanted), given.dtype)
    slopes = np.zeros(given.shape, given.dtype)
    found: dict[int, list[int]] = {}
    for number, (row, length) in enumerate(zip(wanted.tolist(), lengths.tolist(), strict=True)):
        said = [label for label in row if label >= 0]
        if preprocess_collapse_repeated:
            said = _merged(said)
        if _has_time(said, length, number, classes, ignore_longer_outputs_than_inputs):
            found[number] = said
    numbers, most = list(found), max(1, BLOCK_ELEMENTS // max(1, times * classes))
    for start in range(0, len(numbers), most):
        some = numbers[start : start + most]
        paths = _Paths([found[number] for number in some], lengths[some], classes)
        logs = _logs(given[:, some].astype(np.float64))
        losses[some], slopes[:, some] = _some(logs, paths, ctc_merge_repeated)
    return losses, slopes


def _has_time(
    labels: list[int], length: int, number: int, classes: int, ignores_longer: bool
) -> bool:
    """Return whether a sequence has times for its labels. Raises where there is no such class."""
    if labels and max(labels) >= classes - 1:
        raise invalid(
            f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: "
            f"{number} num_classes: {classes} labels: {labels}"
        )
    if not labels:
        raise invalid(f"Labels length is zero in batch {number}")
    if length and len(labels) > length and not ignores_longer:
        raise invalid(
            f"Not enough time for target transition sequence (required: {len(labels)}, "
            f"available: {length}), {number}. You can turn this error into a warning by using "
            "the flag ignore_longer_outputs_than_inputs"
        )
    return bool(length) and len(labels) <= length


class _Paths:
    """The labels of sequences with blanks about them, side by side.

    Attributes:
      lengths: [batch] int, how many times there are.
      sizes: [batch] int, how many places.
      classes: [places, batch] int, that of each; a blank behind a sequence's last.
    """

    def __init__(self, labels: list[list[int]], lengths: np.ndarray, classes: int) -> None:
        self.lengths = lengths
        self.sizes = np.array([2 * len(each) + 1 for each in labels])
        self.classes = np.full((int(self.sizes.max()), len(labels)), classes - 1)
        for path, each in zip(self.classes.T, labels, strict=True):
            path[1 : 2 * len(each) : 2] = each

    def turned(self, times: int) -> np.ndarray:
        """Return [time, places, batch]: the element of such an array that is as far from the end.

        What is behind the end is any element.
        """
        places, batch = self.classes.shape
        time = np.maximum(self.lengths - 1 - np.arange(times)[:, None], 0)
        place = np.maximum(self.sizes - 1 - np.arange(places)[:, None], 0)
        return time[:, None] * (places * batch) + (place * batch + np.arange(batch))


def _ways(classes: np.ndarray, blank: int, merge: bool) -> np.ndarray:
    """Return [3, places, batch]: 0 or `NEVER`, by whether a place is come to from where.

    From two before, over a blank; from the one before; from itself.
    """
    is_label = classes != blank
    same = np.zeros(is_label.shape, bool)
    same[2:] = classes[2:] == classes[:-2]
    may = [is_label & ~(same & merge), np.ones_like(same), ~is_label | merge]
    return np.where(may, 0.0, NEVER)


def _some(logs: np.ndarray, paths: _Paths, merge: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return losses [batch] and gradients [time, batch, classes], given logarithms of softmax."""
    times, batch, classes = logs.shape
    numbers, turned = np.arange(batch), paths.turned(times)
    rows = np.arange(0, logs.size, batch * classes)[:, None, None]
    rows = rows + (paths.classes + numbers * classes)
    here = np.maximum(logs.reshape(-1).take(rows), LEAST)
    # From its end a path is a path as well, so that both ways are gone at once.
    both = np.concatenate([here, here.reshape(-1).take(turned)], axis=2)
    from_end = paths.classes.reshape(-1).take(turned[-1])  # its time is the first
    of_both = np.concatenate([paths.classes, from_end], axis=1)
    before = _sums(both, _ways(of_both, classes - 1, merge))
    reached = before + both
    last = reached[paths.lengths - 1, :, numbers]
    whole = np.logaddexp(*(last[numbers, paths.sizes - n] for n in (1, 2)))
    is_possible = ~(whole <= LEAST)  # of NaN as well: so is the loss then
    shares = np.ascontiguousarray(reached[..., batch:]).reshape(-1).take(turned)
    shares += before[..., :batch]
    shares -= np.where(is_possible, whole, 0)
    np.exp(shares, out=shares)
    shares *= np.arange(len(paths.classes))[:, None] < paths.sizes
    slope = np.exp(logs)
    slope -= np.bincount(rows.reshape(-1), shares.reshape(-1), logs.size).reshape(logs.shape)
    slope[np.arange(times)[:, None] >= paths.lengths] = 0
    return np.where(is_possible, -whole, np.inf), slope


def _sums(here: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return the logarithms of what comes to each place, without what is said there.

    Args:
      here: [time, places, batch], of what is said.
      ways: see `_ways`.
    """
    before = np.full(here.shape, NEVER)
    before[0, :2] = 0
    # The places, of which there are two more in front: from there nothing comes.
    now = np.full((here.shape[1] + 2, here.shape[2]), NEVER)
    from_where = sliding_window_view(now, here.shape[1], axis=0).swapaxes(1, 2)
    coming, most = np.empty(ways.shape), np.empty(ways.shape[1:])
    for time, (said, total) in enumerate(zip(here, before, strict=True)):
        if time:
            np.add(from_where, ways, out=coming)
            np.maximum.reduce(coming, axis=0, out=most)
            coming -= most
            np.exp(coming, out=coming)
            np.add.reduce(coming, axis=0, out=total)
            np.log(total, out=total)
            total += most
        np.add(total, said, out=now[2:])
    return before


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
                raise invalid(f"top_paths {top_paths} is more than the leaves of the beam search")
    tables = [of_rows(rows, np.int64) for rows in paths]
    return (*[part for parts in zip(*tables, strict=True) for part in parts], scores)


def _beams(logs: np.ndarray, width: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the likeliest labels, and the logarithms of their probabilities, the best first."""
    blank = logs.shape[1] - 1
    beams: list[tuple[int, ...]] = [()]
    # Of paths that end in a blank, and of those that end in their last label.
    quiet, loud = np.zeros(1), np.full(1, NONE)
    for row in logs:
        both = np.logaddexp(quiet, loud)
        last = np.array([labels[-1] if labels else blank for labels in beams])
        ends = np.flatnonzero(last < blank)
        longer = both[:, None] + row[:blank]
        longer[ends, last[ends]] = quiet[ends] + row[last[ends]]  # else it is said only once
        quiet, loud = both + row[blank], np.where(last < blank, loud + row[last], NONE)
        # What is longer by a label may be among the beams already.
        number = {labels: place for place, labels in enumerate(beams)}
        shorter = np.array([number.get(labels[:-1], -1) if labels else -1 for labels in beams])
        known = np.flatnonzero(shorter >= 0)
        again = shorter[known], last[known]
        loud[known] = np.logaddexp(loud[known], longer[again])
        is_new = np.ones((len(beams), blank + 1), bool)
        is_new[again[0], again[1] + 1] = False
        found = np.flatnonzero(is_new)
        sums = np.hstack([np.logaddexp(quiet, loud)[:, None], longer]).reshape(-1)
        found = found[np.argsort(-sums[found], kind="stable")[:width]]
        beam, added = np.divmod(found, blank + 1)  # 0 of none, else a label more
        quiet = np.where(added == 0, quiet[beam], NONE)
        loud = np.where(added == 0, loud[beam], sums[found])
        beams = [
            (*beams[place], label - 1) if label else beams[place]
            for place, label in zip(beam.tolist(), added.tolist(), strict=True)
        ]
    return list(zip(beams, np.logaddexp(quiet, loud).tolist(), strict=True))
