"""Candidate samplers: classes drawn to stand for all, and how often each is expected among them.

The candidates are drawn once for a batch, by an op that takes no part of it; the expected counts
of the batch's true classes are computed where the batch lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from daskvars import shapes
from daskvars.dtypes import float32, int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.nn import candidates as kernels
from daskvars.ops.array.constant import constant, ones, ones_like
from daskvars.ops.array.ranges import range as number_range
from daskvars.ops.random.distributions import drawn_with
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_in_order, with_arguments_of


class Candidates(NamedTuple):
    """What a candidate sampler returns."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class AccidentalHits(NamedTuple):
    """What `compute_accidental_hits` returns."""

    indices: Tensor
    ids: Tensor
    weights: Tensor


CANDIDATE_SAMPLER = without_gradient(
    "CandidateSampler",
    "*totals:F",
    infer=lambda inputs, *, num_sampled, **attrs: (Spec(int64, (num_sampled,)), Spec(int64, ())),
    kernel=kernels.candidates,
    seeded=True,
)
EXPECTED_COUNT = without_gradient(
    "CandidateExpectedCount",
    "classes:I, tries:A, *totals:F",
    infer=lambda inputs, **attrs: Spec(float32, inputs[0].shape),
    kernel=kernels.expected_counts,
    pattern=Contraction("...->...", None),
)


def _candidates(
    base: str,
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    name: str | None,
    weights: Any = None,
) -> Candidates:
    """Draw from a base distribution, or from the one that `weights`, [range_max], say."""
    possible = range_max if weights is None else int(numpy.count_nonzero(weights))
    check_distinct(num_sampled, unique, possible)
    default = "".join(part.title() for part in base.split("_")) + "CandidateSampler"
    with name_scope(name, default, [true_classes]):
        true_classes = checked_true_classes(true_classes, num_true)
        totals = () if weights is None else (constant(_totals(weights), name="distribution"),)
        return drawn_candidates(base, true_classes, num_sampled, unique, range_max, seed, totals)


def drawn_candidates(
    base: str,
    true_classes: Tensor,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    totals: tuple[Tensor, ...],
) -> Candidates:
    """Draw candidates by ops in the present name scope.

    Args:
      base: name of the base distribution.
      true_classes: [batch, num_true] int64.
      num_sampled, unique, range_max, seed: see `uniform_candidate_sampler`.
      totals: the cumulative distribution, [range_max + 1] float64, ending with 1; or nothing.
    """
    options = {"base": base, "num_sampled": int(num_sampled), "range_max": int(range_max)}
    sampled, tries = apply(
        CANDIDATE_SAMPLER,
        *totals,
        name="sampled_candidates",
        unique=bool(unique),
        _seed=drawn_with(seed),
        **options,
    )
    true, false = (
        apply(EXPECTED_COUNT, classes, tries, *totals, name=name, **options)
        for classes, name in (
            (true_classes, "true_expected_count"),
            (sampled, "sampled_expected_count"),
        )
    )
    return Candidates(sampled, true, false)


def check_distinct(num_sampled: int, unique: bool, possible: int) -> None:
    """Raise ValueError where more distinct candidates are wanted than there are classes."""
    if unique and num_sampled > possible:
        raise ValueError(
            f"Sampler's range is too small: {num_sampled} distinct candidates are wanted of "
            f"{possible} possible classes; lower num_sampled or pass unique=False"
        )


def _totals(weights: Any) -> Any:
    """Return the cumulative distribution, [range_max + 1]; it ends with exactly 1."""
    totals = numpy.concatenate([[0.0], numpy.cumsum(weights)])
    return totals / totals[-1]


def checked_true_classes(true_classes: TensorLike, num_true: int) -> Tensor:
    """Return classes as a tensor. Raises ValueError unless they are [batch, num_true]."""
    classes = convert_to_tensor(true_classes, int64, name="true_classes")
    shape = classes.spec.shape
    if shape is not None and len(shape) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(shape)}")
    if shape is not None and shape[1] not in (None, num_true):
        raise ValueError(f"true_classes must have {num_true} columns, got {shapes.show(shape)}")
    return classes


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draw classes, each equally likely.

    Args:
      true_classes: [batch, num_true] int64, the classes of each example.
      num_true: how many there are per example.
      num_sampled: how many candidates are drawn, for the whole batch.
      unique: whether they are distinct.
      range_max: number of classes.
      seed: int, see `set_random_seed`.
      name: name scope of the operations, by default "UniformCandidateSampler".

    Returns:
      sampled_candidates: [num_sampled] int64, in [0, range_max); true classes may be among them.
      true_expected_count: [batch, num_true] float32, how often each true class is expected among
        the candidates; of distinct ones, the probability that it is there.
      sampled_expected_count: [num_sampled] float32, the same of the candidates.

    Raises:
      ValueError: `true_classes` has another shape, or there are fewer classes than distinct
        candidates wanted.
      InvalidArgumentError: (when run) a true class is out of range.

    Source: TensorFlow 1.15, ``tf.nn.uniform_candidate_sampler``.

    >>> drawn = uniform_candidate_sampler([[2]], 1, num_sampled=2, unique=False, range_max=8)
    >>> drawn.true_expected_count.numpy().tolist()
    [[0.25]]
    """
    return _candidates(
        "uniform", true_classes, num_true, num_sampled, unique, range_max, seed, name
    )


@with_arguments_of(uniform_candidate_sampler)
def log_uniform_candidate_sampler(**arguments: Any) -> Candidates:
    """Draw classes by Zipf's law: class c with log((c + 2) / (c + 1)) / log(range_max + 1).

    It suits classes, such as words, in the order of falling frequency.

    Args:
      name: name scope of the operations, by default "LogUniformCandidateSampler".

    >>> drawn = log_uniform_candidate_sampler([[0]], 1, num_sampled=2, unique=False, range_max=3)
    >>> drawn.true_expected_count.numpy().tolist()
    [[1.0]]
    """
    return _candidates("log_uniform", **arguments)


@with_arguments_in_order(
    "true_classes num_true num_sampled unique range_max vocab_file distortion num_reserved_ids "
    "num_shards shard unigrams seed name",
    uniform_candidate_sampler,
)
def fixed_unigram_candidate_sampler(
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    **arguments: Any,
) -> Candidates:
    """Draw classes as often as a vocabulary says.

    Args:
      range_max: number of classes, that of the weights.
      vocab_file: a file with a line per class that ends with its count, after a comma where other
        columns come before it; read when this is called.
      distortion: power that counts are raised to.
      num_reserved_ids: classes of weight 0 before those of the vocabulary.
      num_shards: how many samplers share the classes.
      shard: which one this is: it draws those classes c with c % num_shards == shard, numbered
        without gaps.
      unigrams: the counts, in place of `vocab_file`.
      name: name scope of the operations, by default "FixedUnigramCandidateSampler".

    Returns:
      See `uniform_candidate_sampler`.

    Raises:
      ValueError: neither or both of `vocab_file` and `unigrams` are given, a line ends with no
        number, or there are more or fewer weights than `range_max`.

    >>> drawn = fixed_unigram_candidate_sampler([[1]], 1, 2, False, 3, unigrams=[1.0, 2.0, 1.0])
    >>> drawn.true_expected_count.numpy().tolist()
    [[1.0]]
    """
    if bool(vocab_file) == (len(unigrams) > 0):
        raise ValueError("Must provide either vocab_file or unigrams, and not both")
    counts = _counts_of(vocab_file) if vocab_file else numpy.asarray(unigrams, float)
    weights = numpy.concatenate([numpy.zeros(num_reserved_ids), counts**distortion])
    weights, range_max = weights[shard::num_shards], arguments["range_max"]
    if len(weights) != range_max or not weights.any():
        raise ValueError(
            f"range_max is {range_max} but there are {len(weights)} weights, "
            f"{numpy.count_nonzero(weights)} of them above 0: reserved ids and the vocabulary "
            "together must give each class a weight"
        )
    return _candidates("fixed_unigram", weights=weights, **arguments)


def _counts_of(vocab_file: str) -> Any:
    with open(vocab_file) as lines:
        last = [line.rstrip("\n").rpartition(",")[2] for line in lines]
    try:
        return numpy.array(last, float)
    except ValueError as error:
        raise ValueError(f"Wrong vocabulary format in {vocab_file!r}: {error}") from error


@accepts("unique", "seed")
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Return all classes as candidates, to test a sampled loss with.

    Args:
      true_classes: see `uniform_candidate_sampler`, also for the other arguments.
      num_sampled: the number of classes.
      name: name scope of the operations, by default "AllCandidateSampler".

    Returns:
      See `uniform_candidate_sampler`; every count is 1.

    >>> all_candidate_sampler([[1]], 1, 3, True).sampled_candidates.numpy().tolist()
    [0, 1, 2]
    """
    with name_scope(name, "AllCandidateSampler", [true_classes]):
        true_classes = checked_true_classes(true_classes, num_true)
        everything = number_range(constant(num_sampled, int64), name="sampled_candidates")
        return Candidates(everything, ones_like(true_classes, float32), ones([num_sampled]))


ACCIDENTAL_HITS = without_gradient(
    "ComputeAccidentalHits",
    "true_classes:I, sampled_candidates:I",
    infer=lambda inputs: (Spec(int32, (None,)), Spec(int64, (None,)), Spec(float32, (None,))),
    kernel=kernels.accidental_hits,
)


@accepts("seed")
def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> AccidentalHits:
    """Return where candidates are true classes.

    Args:
      true_classes: [batch, num_true] int64.
      sampled_candidates: [num_sampled] int64; of equal ones the last counts.
      num_true: number of true classes per example.
      name: name of the operation, by default "ComputeAccidentalHits".

    Returns:
      indices: [hits] int32, the row of `true_classes`.
      ids: [hits] int64, the place among the candidates.
      weights: [hits] float32, each the least number there is.

    Raises:
      ValueError: `true_classes` has another shape.

    >>> [t.numpy().tolist() for t in compute_accidental_hits([[5], [4]], [4, 3], 1)[:2]]
    [[1], [0]]
    """
    sampled = convert_to_tensor(sampled_candidates, int64, name="sampled_candidates")
    true_classes = checked_true_classes(true_classes, num_true)
    return AccidentalHits(*apply(ACCIDENTAL_HITS, true_classes, sampled, name=name))
