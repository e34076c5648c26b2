"""A scalar counted up: what a run costs when there is nothing to compute.

python benchmarks/counter.py [--quick] [--rounds N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import measure
import numpy as np

import daskvars as dv
import daskvars.v1 as tf

# The longest that a run may take, seconds.
LIMITS = {"Session.run": 40e-6, "make_callable": 25e-6, "function": 25e-6}


def sides() -> dict[str, Callable[[], float]]:
    """Return a step of each side; where a step has a result, it is the count."""
    return {**session_sides(), "function": function_side(), "NumPy": baseline()}


def session_sides() -> dict[str, Callable[[], float]]:
    """Return the step through `Session.run` and through a callable, each with its own session."""
    with tf.Graph().as_default():
        counter = tf.get_variable("counter", [], tf.float32, tf.zeros_initializer())
        count = tf.assign_add(counter, 1.0)
        first, second = tf.Session(), tf.Session()
        for session in (first, second):
            session.run(tf.global_variables_initializer())
        return {
            "Session.run": lambda: first.run(count),
            "make_callable": second.make_callable(count),
        }


def function_side() -> Callable[[], float]:
    """Return the step through a compiled function."""
    counter = dv.Variable(0.0, name="counter")

    @dv.function
    def count() -> dv.Tensor:
        return counter.assign_add(1.0)

    return count


def baseline() -> Callable[[], float]:
    """Return the step on an array."""
    counter, one = np.zeros((), np.float32), np.float32(1)

    def step() -> float:
        return np.add(counter, one, out=counter)

    return step


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=15)
    report = measure.Report("counter")
    times = measure.interleaved(
        {name: measure.Side(step) for name, step in sides().items()},
        options.rounds,
        20 if options.quick else 2000,
    )
    report.note(f"NumPy {measure.spelled(times['NumPy'])}/step")
    for name, limit in LIMITS.items():
        report.against_limit(name, times[name], limit)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
