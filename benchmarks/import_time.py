"""What `import daskvars` costs, and a first line of eager code, beside importing Dask and Zarr.

python benchmarks/import_time.py [--quick] [--rounds N]

A machine may take half as long again a minute later, so limits are shares of what importing
dask.array, distributed and zarr takes in the same process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

import measure

# The first edition took 0.183 of it, 0.366 s where it was 2.0 s; half of that is asked for.
IMPORT_LIMIT = 0.183 / 2
# What is loaded with the first name may not cost more than when the import loaded it.
FIRST_LINE_LIMIT = 0.183
PROGRAM = """
from time import perf_counter
start = perf_counter()
import dask.array, distributed, zarr
others = perf_counter()
import daskvars as dv
imported = perf_counter()
dv.constant(1) + 1
print(others - start, imported - others, perf_counter() - others)
"""


def process() -> tuple[float, ...]:
    """Return the seconds of a fresh process: others' imports, ours, ours with a first line."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=15)
    process()  # compiles what was not compiled yet
    times = zip(*[process() for _ in range(options.rounds)], strict=True)
    others_s, import_s, first_line_s = map(statistics.median, times)
    report = measure.Report("import_time")
    for what, seconds, limit in (
        ("import", import_s, IMPORT_LIMIT),
        ("import and first line", first_line_s, FIRST_LINE_LIMIT),
    ):
        both = {f"daskvars {what}": seconds, "dask.array, distributed, zarr": others_s}
        report.against_baseline(both, limit, "process")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
