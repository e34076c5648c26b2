"""A table of 8M x 64 with Adagrad, 4 GiB in all, on two workers of 4 GiB each.

    python benchmarks/large_embedding.py [--quick] [--rounds N]

Beside it a table of 64K rows takes the same batches. What is judged: the time of a step, the bytes
that workers send each other in a step, and the most memory that a worker has had, initialization,
seals, a checkpoint and restoring it included.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import measure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import train_embedding

LARGE, SMALL, BATCH, DIM = 8_000_000, 65_536, 8192, 64
QUICK_LARGE, QUICK_SMALL, QUICK_BATCH = 40_000, 4_096, 512
STEP_LIMIT, MEMORY_LIMIT = 1.5, 1.25
# A row touched may travel to the gradient and its gradient back, each with its id and place.
BYTES_LIMIT = 2.0
PROCESS_BYTES = 160 << 20  # of a worker that has run nothing


def found(rows: int, batch: int, steps: int) -> dict:
    """Return what a trial with so many rows took, in a cluster of its own."""
    options = train_embedding.parser().parse_args([])
    options.rows, options.dim, options.batch, options.steps = rows, DIM, batch, steps
    options.seal_every = 30.0
    return train_embedding.run(options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=60)
    rows, few, batch = (
        (QUICK_LARGE, QUICK_SMALL, QUICK_BATCH) if options.quick else (LARGE, SMALL, BATCH)
    )
    small, large = found(few, batch, options.rounds), found(rows, batch, options.rounds)
    report = measure.Report("large_embedding")
    for count, trial in ((few, small), (rows, large)):
        report.note(
            f"{count:,} rows: initialized in {trial['init_s']:.1f} s, saved in "
            f"{trial['save_s']:.1f} s, restored in {trial['restore_s']:.1f} s, "
            f"{trial['moved'] / 2**20:.2f} MiB moved a step"
        )
    report.against_baseline(
        {f"{rows:,} rows": large["step_s"], f"{few:,} rows": small["step_s"]}, STEP_LIMIT
    )
    touched = batch * DIM * 4
    report.against_bytes("moved a step", large["moved"], BYTES_LIMIT, touched, "rows touched")
    share = large["share"] + (PROCESS_BYTES if options.quick else 0)
    report.against_bytes("peak of a worker", large["peak"], MEMORY_LIMIT, share, "share")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
