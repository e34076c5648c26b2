"""A perceptron of 1024-4096-4096-10 units, batches of 512, Adam: matrix products decide.

python benchmarks/mlp_wide.py [--quick] [--rounds N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import adam_big
import measure
import mlp_small

import daskvars.v1 as tf

LIMIT = 1.1
RATE = 0.0001
UNITS, QUICK_UNITS = (1024, 4096, 4096, 10), (32, 64, 48, 10)
BATCH, QUICK_BATCH = 512, 16


def sides(units: Sequence[int], batch: int) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    steps = {
        "daskvars": mlp_small.program(units, tf.train.AdamOptimizer(RATE)),
        "NumPy": baseline(units, batch),
    }
    given = mlp_small.batches(units, batch)
    return {name: mlp_small.fed(step, given) for name, step in steps.items()}


def baseline(units: Sequence[int], batch: int) -> Callable[..., float]:
    """Return the hand-written step."""
    return adam_big.trained(mlp_small.HandwrittenMlp(mlp_small.initial_weights(units), batch), RATE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    return measure.compared(
        "mlp_wide",
        __doc__,
        arguments,
        lambda quick: sides(*(QUICK_UNITS, QUICK_BATCH) if quick else (UNITS, BATCH)),
        LIMIT,
        rounds=5,
        steps=2,
    )


if __name__ == "__main__":
    sys.exit(main())
