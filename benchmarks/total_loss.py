"""Training whose client, scheduler and workers are all killed at once: what does the store hold?

    python benchmarks/total_loss.py --trials 50

Each trial trains a small network on a cluster of processes of its own, on a store on disk, and
kills all of them with SIGKILL at a random moment of training, sealing or saving. Then the store,
and a copy of it (``cp -r``) that was taken while the training ran, must open at a complete version
whose values are bitwise those of an undisturbed run at that step; and no more steps are lost than
were made in a seal period.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from distributed import Client
from worker_loss import network

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import OpError
from daskvars.execution.engine import events

NUM_WORKERS = 2
STEPS = 100_000
SEAL_EVERY_S = 0.5
GRACE_S = 1.5  # for a seal to be written, and a machine to be busy
SAVE_EVERY = 40
CLI = {
    "scheduler": "--host 127.0.0.1 --port 0 --no-dashboard --scheduler-file",
    "worker": "--no-nanny --no-dashboard --nthreads 1 --host 127.0.0.1 --scheduler-file",
}


def train(store: str, steps: int, after_step: Callable[[tf.Session, int], None]) -> None:
    """Train on a store, and call ``after_step(session, number)`` after each step."""
    with tf.Graph().as_default(), config.set(batch_parts=NUM_WORKERS, seal_every_s=SEAL_EVERY_S):
        tf.set_random_seed(5)
        x, y, loss, step = network()
        saver = tf.train.Saver()
        rng = np.random.default_rng(0)
        with tf.Session(store=store) as session:
            session.run(tf.global_variables_initializer())
            for number in range(1, steps + 1):
                batch = {
                    x: rng.normal(size=(24, 32)).astype("f4"),
                    y: rng.normal(size=(24, 8)).astype("f4"),
                }
                session.run([loss, step], batch)  # returns when the step is done, not when sent
                after_step(session, number)
                if store and number % SAVE_EVERY == 0:
                    saver.save(session, f"{store}.saved", write_meta_graph=False)


def doomed(store: str) -> None:
    """Train on a cluster of processes of this process's group, and write down what was done."""
    place = f"{store}.scheduler"
    for role in ("scheduler", *["worker"] * NUM_WORKERS):
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *CLI[role].split(), place]
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(place):
        time.sleep(0.02)

    with open(f"{store}.log", "w", buffering=1) as log:

        def note(event: object) -> None:
            if isinstance(event, events.Sealed):
                log.write(f"sealed {time.time()}\n")

        with Client(scheduler_file=place) as client, events.subscribed(note):
            client.wait_for_workers(NUM_WORKERS)
            train(store, STEPS, lambda _, number: log.write(f"{number} {time.time()}\n"))


class Undisturbed:
    """The variables of an undisturbed run in one process after any step."""

    def __init__(self) -> None:
        self.values: dict[int, dict[str, bytes]] = {}

    def at(self, step: int) -> dict[str, bytes]:
        """Return the bytes of each variable after a step."""

        def note(session: tf.Session, number: int) -> None:
            if number == step:
                variables = tf.global_variables()
                values = session.run(variables)
                self.values[step] = {
                    v.op.name: np.asarray(value).tobytes()
                    for v, value in zip(variables, values, strict=True)
                }

        if step not in self.values:
            train("", step, note)
        return self.values[step]

    def step_of(self, place: str) -> int:
        """Return the step that a store or checkpoint holds, 0 for none.

        Raises:
          ValueError: it holds something else.
        """
        if not any(name.startswith("v") for name in os.listdir(place)):
            return 0
        reader = tf.train.load_checkpoint(place)
        if not reader.has_tensor("global_step"):
            return 0
        found = {n: reader.get_tensor(n).tobytes() for n in reader.get_variable_to_shape_map()}
        step = int(reader.get_tensor("global_step"))
        wanted = self.at(step) if step else found
        if found != wanted:
            wrong = [n for n in wanted if found.get(n) != wanted[n]]
            raise ValueError(f"{place} at step {step} differs in {wrong}")
        return step


def logged(place: str) -> tuple[dict[int, float], list[float]]:
    """Return when each step was done, and when each seal."""
    lines = [
        line.split()
        for line in Path(place).read_text().splitlines(keepends=True)
        if line.endswith("\n")
    ]
    steps = {int(what): float(when) for what, when in lines if what != "sealed"}
    return steps, [float(when) for what, when in lines if what == "sealed"]


def trial(number: int, undisturbed: Undisturbed, base: str) -> str:
    """Kill everything once; return what was found.

    Raises:
      ValueError, OpError: the store or its copy is not what it should be.
    """
    numbers = random.Random(number)
    store = os.path.join(base, f"trial{number}.zarr")
    command = [sys.executable, __file__, "--doomed", store]
    process = subprocess.Popen(command, start_new_session=True)
    num_seals = numbers.randrange(1, 5)
    try:
        while not os.path.exists(f"{store}.log") or len(logged(f"{store}.log")[1]) < num_seals:
            time.sleep(0.02)
            if process.poll() is not None:
                raise ValueError("the training ended by itself")
        time.sleep(numbers.uniform(0.0, SEAL_EVERY_S))
        subprocess.run(["cp", "-r", store, f"{store}.copy"], stderr=subprocess.DEVNULL)
        time.sleep(numbers.uniform(0.0, SEAL_EVERY_S))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        killed_s = time.time()
        process.wait()
    steps, seals = logged(f"{store}.log")
    found = undisturbed.step_of(store)
    lost = [when for step, when in steps.items() if step > found]
    age_s = killed_s - min(lost, default=killed_s)
    period_s = max([SEAL_EVERY_S, *(after - before for before, after in pairwise(seals))])
    if age_s > period_s + GRACE_S:
        raise ValueError(
            f"{len(lost)} steps of {age_s:.2f} s are lost, seals came every {period_s:.2f} s"
        )
    copied = undisturbed.step_of(f"{store}.copy")
    return (
        f"{len(steps)} steps, {len(seals)} seals; the store opens at step {found}, {age_s:.2f} s "
        f"before the end (seals came every {period_s:.2f} s or faster), its copy at step {copied}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the result is 1 if a trial failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--doomed", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.doomed:
        doomed(options.doomed)
        return 0
    undisturbed = Undisturbed()
    failures = 0
    with tempfile.TemporaryDirectory() as base:
        for number in range(options.first, options.first + options.trials):
            try:
                print(f"trial {number}: {trial(number, undisturbed, base)}", flush=True)
            except (OpError, ValueError) as error:
                failures += 1
                print(f"trial {number}: FAILED: {error}", flush=True)
    print(f"total_loss: {failures} of {options.trials} trials failed (limit 0)")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
