"""The step of `mlp_wide` on a GPU, beside hand-written CuPy whose optimizer is one kernel.

    python benchmarks/gpu.py [--quick] [--rounds N]

Both sides are given each batch in host memory and give the loss back as a float. Needs a GPU and
CuPy; the time on the CPU is printed beside. On an H100 the kernels of both take 1.8 ms; what is
measured beyond is how long Python takes to launch them. The steps of `convnet` and `char_lm` on the
GPU are printed too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import char_lm
import convnet
import measure
import mlp_small
import numpy as np
from adam_big import BETA1, BETA2, EPSILON
from mlp_wide import BATCH, QUICK_BATCH, QUICK_UNITS, RATE, UNITS

import daskvars.v1 as tf
from daskvars import backend

LIMIT = 2.0


def sides(units: Sequence[int], batch: int) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    steps = {
        "daskvars": mlp_small.program(units, tf.train.AdamOptimizer(RATE), "/gpu:0"),
        "CuPy": baseline(units, batch),
    }
    given = mlp_small.batches(units, batch)
    return {name: mlp_small.fed(step, given) for name, step in steps.items()}


def baseline(units: Sequence[int], batch: int) -> Callable[..., float]:
    """Return the hand-written step."""
    cp = backend.cupy
    mlp = mlp_small.HandwrittenMlp(mlp_small.initial_weights(units), batch, cp)
    adam = adam_kernel(cp)
    m, v = cp.zeros_like(mlp.flat), cp.zeros_like(mlp.flat)
    steps = 0

    def step(x: np.ndarray, labels: np.ndarray) -> float:
        nonlocal steps
        steps += 1
        loss = mlp.loss_and_gradients(cp.asarray(x), cp.asarray(labels))
        rate = RATE * np.sqrt(1 - BETA2**steps) / (1 - BETA1**steps)
        adam(mlp.flat_gradient, np.float32(rate), mlp.flat, m, v)
        return loss

    return step


def adam_kernel(cp: Any) -> Callable[..., Any]:
    """Return ``adam(gradient, rate, w, m, v)``, which updates the last three in place."""
    return cp.ElementwiseKernel(
        "T g, T rate",
        "T w, T m, T v",
        f"m = T({BETA1}) * m + T({1 - BETA1}) * g;"
        f"v = T({BETA2}) * v + T({1 - BETA2}) * g * g;"
        f"w -= rate * m / (sqrt(v) + T({EPSILON}))",
        "handwritten_adam",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=15)
    if not backend.GPU_AVAILABLE:
        sys.exit("gpu: needs a GPU and CuPy")
    units, batch = (QUICK_UNITS, QUICK_BATCH) if options.quick else (UNITS, BATCH)
    times = measure.interleaved(
        {name: measure.Side(step) for name, step in sides(units, batch).items()},
        options.rounds,
        2 if options.quick else 20,
    )
    report = measure.Report("gpu")
    on_cpu = mlp_small.fed(
        mlp_small.program(units, tf.train.AdamOptimizer(RATE)), mlp_small.batches(units, batch)
    )
    report.note(f"on the CPU {measure.spelled(measure.seconds(on_cpu, 2))}/step")
    report.against_baseline(times, LIMIT)
    for model, sizes in ((convnet, convnet.Sizes()), (char_lm, char_lm.SIZES)):
        sizes = model.QUICK if options.quick else sizes
        step = mlp_small.fed(model.program(sizes, "/gpu:0"), model.batches(sizes))
        (median_s,) = measure.interleaved({"": measure.Side(step)}, options.rounds, 5).values()
        report.note(f"{model.__name__} {measure.spelled(median_s)}/step")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
