"""A candidate sampler that learns how frequent classes are: its counts are a variable."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import float64
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import TensorLike
from daskvars.ops.array.constant import ones, ones_like, zeros
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import identity, reshape
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.division import divide
from daskvars.ops.math.scans import cumsum
from daskvars.ops.state.assign import scatter_add
from daskvars.surface.signatures import with_arguments_of
from daskvars.v1.sampling.candidates import (
    Candidates,
    check_distinct,
    checked_true_classes,
    drawn_candidates,
    uniform_candidate_sampler,
)
from daskvars.variables.variable import Variable


@with_arguments_of(uniform_candidate_sampler)
def learned_unigram_candidate_sampler(
    true_classes: TensorLike, num_true: int, name: str | None, **arguments: Any
) -> Candidates:
    """Draw classes as often as they were true classes of earlier runs.

    The counts, from 1 on, are the global variable ``counts`` [range_max] float64 under the name
    scope: initialized, saved and restored with all others. Each run adds its true classes.

    Args:
      name: name scope of the operations, by default "LearnedUnigramCandidateSampler".

    Returns:
      See `uniform_candidate_sampler`; by the counts before the run.

    Raises:
      RuntimeError: in eager code, where nothing keeps the counts from one call to the next.
      ValueError: `true_classes` has another shape, or there are fewer classes than distinct
        candidates wanted.
      InvalidArgumentError: (when run) a true class is out of range.

    Source: TensorFlow 1.15, ``tf.nn.learned_unigram_candidate_sampler``.

    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     drawn = tf.nn.learned_unigram_candidate_sampler([[2]], 1, 1, False, 4)
    ...     session.run(tf.global_variables_initializer())
    ...     [session.run(drawn.true_expected_count).item() for _ in range(2)]
    [0.25, 0.4000000059604645]
    """
    if builder_for((true_classes,)).is_eager:
        raise RuntimeError(
            "learned_unigram_candidate_sampler keeps counts from run to run: build it in a graph, "
            "or count classes in a Variable and use fixed_unigram_candidate_sampler"
        )
    range_max = arguments["range_max"]
    check_distinct(arguments["num_sampled"], arguments["unique"], range_max)
    with name_scope(name, "LearnedUnigramCandidateSampler", [true_classes]):
        true_classes = checked_true_classes(true_classes, num_true)
        counts = Variable(
            ones([range_max], float64), trainable=False, name="counts", chunks=(range_max,)
        )
        sums = concat([zeros([1], float64), cumsum(counts.value())], 0)
        totals = divide(sums, sums[range_max], name="distribution")
        drawn = drawn_candidates("fixed_unigram", true_classes, totals=(totals,), **arguments)
        seen = reshape(true_classes, [-1])
        with control_dependencies([scatter_add(counts, seen, ones_like(seen, float64))]):
            return Candidates(*map(identity, drawn))
