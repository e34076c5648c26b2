"""1 GiB of variables saved and restored, beside one plain file of the same bytes on the same disk.

    python benchmarks/checkpoint.py [--quick] [--rounds N]

Plain I/O is one stream: each array written to one file, and read from it into new arrays, while
the old ones are still there, as they are when a checkpoint is restored. TMPDIR says which disk.
1,000 small variables are saved into one file, a path that ends in ``.zip``, and restored from it.
An asynchronous save stalls the training for as long as its call takes; what the steps beside it
cost, against steps alone, is printed too: they share the processor and the memory with it.
"""

from __future__ import annotations

import gc
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import measure
import numpy as np

import daskvars.v1 as tf

SHAPE, COUNT = (4096, 4096), 16  # 64 MiB each
QUICK_SHAPE, QUICK_COUNT = (64, 64), 2
MAX_SAVE, MAX_RESTORE = 1.0, 1 / 0.7  # seconds, over those of plain I/O
SMALL_COUNT, QUICK_SMALL_COUNT, SMALL_SHAPE = 1000, 10, (8, 8)
MAX_SMALL_S = {"save": 0.06, "restore": 0.04}  # of 1,000 small variables in one file
MAX_STALL = 0.05  # of the time that the save takes


class Clock:
    """Seconds by name, of each round."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        self.times[name].append(time.perf_counter() - began)
        return result

    def median(self, name: str) -> float:
        """Return the median of all rounds but the first, which is the first use of everything."""
        return statistics.median(self.times[name][1:])


def write_plain(path: Path, arrays: Sequence[np.ndarray]) -> None:
    """Write arrays to one file."""
    with open(path, "wb", buffering=0) as file:
        for array in arrays:
            file.write(array.data)


def read_plain(path: Path, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Read arrays like some others from one file."""
    found = [np.empty_like(array) for array in arrays]
    with open(path, "rb", buffering=0) as file:
        for array in found:
            file.readinto(array.data.cast("B"))
    return found


def in_turns(clock: Clock, sess: Any, saver: Any, variables: Any, directory: Path) -> None:
    """Save, write plainly, restore, read plainly."""
    arrays, plain = sess.run(variables), directory / "plain"
    path = clock("save", lambda: saver.save(sess, str(directory / "m")))
    clock("plain write", lambda: write_plain(plain, arrays))
    clock("restore", lambda: saver.restore(sess, path))
    again = clock("plain read", lambda: read_plain(plain, arrays))
    if not all(map(np.array_equal, again, sess.run(variables))):
        raise AssertionError("what was restored is not what was saved")
    shutil.rmtree(path)
    plain.unlink()


def training_beside(clock: Clock, sess: Any, step: Any, begin: Callable[[], Any]) -> Any:
    """Time steps alone, the call that begins a save, and the steps until it is written."""
    for _ in range(3):
        clock("step alone", lambda: sess.run(step))
    began = time.perf_counter()
    saving = clock("call", begin)
    while not saving.done():
        clock("step beside", lambda: sess.run(step))
    clock.times["save beside"].append(time.perf_counter() - began)
    return saving.result()


def measured(shape: tuple[int, int], count: int, rounds: int, directory: Path) -> Clock:
    """Return the times of everything, in turns."""
    clock = Clock()
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = [
            tf.get_variable(f"v{i}", shape, initializer=tf.random_normal_initializer(seed=i))
            for i in range(count)
        ]
        step = tf.group(*[v.assign_add(tf.ones_like(v)) for v in variables])
        saver = tf.train.Saver(max_to_keep=0)
        sess.run(tf.global_variables_initializer())
        for _ in range(rounds + 1):
            in_turns(clock, sess, saver, variables, directory)
            path = training_beside(
                clock, sess, step, lambda: saver.save_async(sess, str(directory / "a"))
            )
            shutil.rmtree(path)
    return clock


def small_in_one_file(count: int, rounds: int, directory: Path) -> Clock:
    """Return the times of saving small variables into one file, and restoring them."""
    clock = Clock()
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = [
            tf.get_variable(f"layer{i // 10}/v{i}", initializer=np.full(SMALL_SHAPE, i, "f4"))
            for i in range(count)
        ]
        saver = tf.train.Saver(max_to_keep=0)
        sess.run(tf.global_variables_initializer())
        wanted = sess.run(variables)
        zero = tf.group(*[v.assign(tf.zeros_like(v)) for v in variables])
        for turn in range(rounds + 1):
            path = str(directory / f"{turn}.zip")
            gc.collect()  # what the round before left is no business of this one
            clock("save", lambda path=path: saver.save(sess, path, write_meta_graph=False))
            sess.run(zero)
            clock("restore", lambda path=path: saver.restore(sess, path))
        if not all(map(np.array_equal, wanted, sess.run(variables))):
            raise AssertionError("what was restored is not what was saved")
    return clock


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=5)
    shape, count = (QUICK_SHAPE, QUICK_COUNT) if options.quick else (SHAPE, COUNT)
    report = measure.Report("checkpoint")
    with tempfile.TemporaryDirectory() as directory:
        clock = measured(shape, count, options.rounds, Path(directory))
        num_small = QUICK_SMALL_COUNT if options.quick else SMALL_COUNT
        small = small_in_one_file(num_small, 2 * options.rounds, Path(directory))
    size = f"{count * 4 * shape[0] * shape[1] / 2**20:.3g} MiB"
    for what, plain, limit in [
        ("save", "plain write", MAX_SAVE),
        ("restore", "plain read", MAX_RESTORE),
    ]:
        times = {name: clock.median(name) for name in (what, plain)}
        report.against_baseline(times, limit, size)
    duration = clock.median("save beside")
    report.note(
        f"asynchronous save of {size} {measure.spelled(duration)}; training steps beside it"
        f" {measure.spelled(clock.median('step beside'))}, alone"
        f" {measure.spelled(clock.median('step alone'))}"
    )
    report.against_limit("its call stalls for", clock.median("call"), MAX_STALL * duration)
    for what, limit in MAX_SMALL_S.items():
        name = f"{num_small:,} small variables in one file: {what}"
        report.against_limit(name, small.median(what), limit)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
