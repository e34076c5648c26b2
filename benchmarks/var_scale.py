"""1,000 small variables: created, initialized, saved to Zarr and restored.

    python benchmarks/var_scale.py [--quick] [--rounds N]

They are saved to memory where the system has a directory there (/dev/shm): what a disk takes to
make a file is no figure of this library. It is printed how long as many plain files take.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import measure
import numpy as np

import daskvars.v1 as tf

# Seconds that 1,000 variables may take.
LIMITS_S = {"create": 0.1, "save": 0.4, "restore": 0.15}
# What a variable may cost among many, over what it costs among a quarter as many.
LINEAR_LIMIT = 1.5
MEMORY = "/dev/shm"
COUNTS, QUICK_COUNTS = (250, 500, 1000), (5, 10)
SHAPE = (8, 8)


def phases(count: int, directory: Path) -> dict[str, float]:
    """Return the seconds of each phase with `count` variables."""
    times: dict[str, float] = {}

    def timed(phase: str, work: Callable[[], Any]) -> Any:
        if count > QUICK_COUNTS[-1]:
            gc.collect()  # what the phases before left is no business of this one
        began = time.perf_counter()
        result = work()
        times[phase] = time.perf_counter() - began
        return result

    with tf.Graph().as_default():
        variables = timed("create", lambda: create(count))
        saver, initializer = tf.train.Saver(variables), tf.global_variables_initializer()
        with tf.Session() as sess:
            timed("initialize", lambda: sess.run(initializer))
            wanted = sess.run(variables)
            path = str(directory / "model")
            timed("save", lambda: saver.save(sess, path, write_meta_graph=False))
            timed("write the graph", lambda: saver.export_meta_graph(f"{path}.meta"))
        with tf.Session() as sess:
            timed("restore", lambda: saver.restore(sess, path))
            found = sess.run(variables)
    if not all(map(np.array_equal, wanted, found)):
        raise AssertionError("the variables restored are not those that were saved")
    return times


def create(count: int) -> list[tf.Variable]:
    """Create `count` variables, ten to a scope."""
    variables = []
    for first in range(0, count, 10):
        with tf.variable_scope(f"layer{first // 10}", initializer=tf.random_normal_initializer()):
            for i in range(min(10, count - first)):
                variables.append(tf.get_variable(f"weights{i}", SHAPE))
    return variables


def plain_files(count: int, directory: Path) -> float:
    """Return the seconds that it takes to make as many directories and files as variables need."""
    start = time.perf_counter()
    for i in range(count):
        place = directory / f"plain{i}"
        place.mkdir()
        (place / "zarr.json").write_bytes(bytes(600))
        (place / "c.0.0").write_bytes(bytes(260))
    return time.perf_counter() - start


def medians(counts: Sequence[int], rounds: int) -> dict[int, dict[str, float]]:
    """Return count -> phase -> median seconds.

    "pace" is that of `measure.pace_s`, "files" that of `plain_files`.
    """
    found: dict[int, list[dict[str, float]]] = {count: [] for count in counts}
    for turn in range(rounds + 1):
        for count, times in found.items():
            with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as name:
                directory = Path(name)
                measured = phases(count, directory)
                measured |= {"pace": measure.pace_s(), "files": plain_files(count, directory)}
            if turn:  # the first is the first use of everything
                times.append(measured)
    return {
        count: {phase: statistics.median(t[phase] for t in times) for phase in times[0]}
        for count, times in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=9)
    counts = QUICK_COUNTS if options.quick else COUNTS
    report = measure.Report("var_scale")
    times = medians(counts, options.rounds)
    most = counts[-1]
    pace = statistics.median(times[count].pop("pace") for count in counts)
    files = [times[count].pop("files") for count in counts][-1]
    report.note(f"50,000 squares in pure Python {measure.spelled(pace)}")
    report.note(f"{most:,} directories of two plain files {measure.spelled(files)}")
    for phase, value in times[most].items():
        if phase in LIMITS_S:
            report.against_limit(f"{most:,} variables: {phase}", value, LIMITS_S[phase])
        else:
            report.note(f"{most:,} variables: {phase} {measure.spelled(value)}")
    for phase in times[most]:
        each = {count: times[count][phase] / count for count in counts}
        report.linear(f"{phase} per variable", each, LINEAR_LIMIT)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
