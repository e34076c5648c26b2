"""Training on a cluster whose workers are killed: it must finish with the same bits.

    python benchmarks/worker_loss.py --trials 20 --steps 200

Each trial trains a small network on three single-threaded worker processes, one whose variables are
whole or one whose weights and table are cut, and lets something happen to the workers, drawn from
the trial's number: SIGKILL to one, with or without a new one in its place, to two of them, or a
graceful retirement. In half of the trials a worker kills itself at a point of an exchange (before,
while or after it sends or receives), in others the moment is random, or while a seal or a
checkpoint is being written. The variables, and the checkpoints saved on the way, must be bitwise
those of an undisturbed run in one process, and the runs that were computed again must be fewer than
those between two seals.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any

import cloudpickle
import clusters
import numpy as np
import zarr
from distributed import Client, LocalCluster

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine import events
from daskvars.remote.exchange import Exchanges

NUM_WORKERS = 3
SAVES = 3  # checkpoints in a run
SCATTERED_STEP = 4  # every so many steps a batch travels by reference
WORKER = ("--no-nanny", "--nthreads", "1", *clusters.LOCAL)
HAPPENINGS = ("kill", "replace", "two kills", "retire", "restart")
MOMENTS = ("exchange", "step", "exchange", "seal", "exchange", "save")  # all pairs come
# A method of a worker's exchanges, and when in it the worker kills itself.
POINTS = {
    "before it is asked where something is": ("references", "before"),
    "before it sends": ("parts_of", "before"),
    "while it sends": ("answer", "soon"),
    "before it receives": ("pull", "before"),
    "while it receives": ("pull", "soon"),
    "after it has received": ("pull", "after"),
    "before it asks for rows": ("take_rows", "before"),
    "while it gets rows": ("take_rows", "soon"),
}
WORDS, COLUMNS = 3_000, 8


class Workers:
    """Three worker processes and a scheduler, on 127.0.0.1.

    Args:
      nannies: whether each has a process that starts it again.
    """

    def __init__(self, nannies: bool) -> None:
        self.nannies = nannies
        self.cluster = LocalCluster(
            n_workers=NUM_WORKERS if nannies else 0,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        self.client = Client(self.cluster, set_as_default=False)
        self.started: list[BaseProcess] = []
        self.fill()

    def start(self) -> None:
        """Start one more worker; do not wait for it."""
        address = self.cluster.scheduler_address
        self.started.append(clusters.started("worker", *WORKER, address))

    def fill(self) -> dict[str, int]:
        """Wait until there are three, started anew where needed; return address -> process."""
        while self._reached().keys() != self._known():
            time.sleep(0.1)  # one that a trial killed at its end is known until that is noticed
        if not self.nannies:
            for _ in range(NUM_WORKERS - len(self._known())):
                self.start()
        self.client.wait_for_workers(NUM_WORKERS, timeout=60)
        return self._reached()

    def _known(self) -> set[str]:
        return set(self.client.scheduler_info()["workers"])

    def _reached(self) -> dict[str, int]:
        return self.client.run(os.getpid, on_error="ignore")

    def close(self) -> None:
        """End all processes."""
        self.client.close()
        self.cluster.close()
        for process in self.started:
            process.kill()
            process.join()


@dataclass
class Trial:
    """What is to happen in a run, and when.

    Attributes:
      happening: one of HAPPENINGS.
      moment: "step", "exchange", or what is being written: "seal" or "save".
      numbers: draws everything else.
      steps: of training.
      model: one of MODELS.
      strikes: number of the step or of the writing, and a delay in seconds, per worker hit.
      missed: how many workers did not come to the point where they were to kill themselves.
    """

    happening: str
    moment: str
    numbers: random.Random
    steps: int
    model: str = "parallel"
    strikes: list[tuple[int, float]] = field(default_factory=list)
    missed: int = 0

    def __post_init__(self) -> None:
        first, last = (0, 2) if self.is_written else (2, self.steps)
        for _ in range(2 if self.happening == "two kills" else 1):
            at = self.numbers.randrange(first, last)
            self.strikes.append((at, self.numbers.uniform(0.0, 0.03)))

    @property
    def is_written(self) -> bool:
        """Whether the moment is while something is written, not at a step."""
        return self.moment in ("seal", "save")

    @property
    def is_aimed(self) -> bool:
        """Whether workers kill themselves in an exchange: one that is retired cannot."""
        return self.moment == "exchange" and self.happening != "retire"


class Striker:
    """Lets a trial's events happen, in threads of their own."""

    def __init__(self, workers: Workers, trial: Trial) -> None:
        self.workers, self.trial = workers, trial
        self.victims = list(workers.fill().items())
        trial.numbers.shuffle(self.victims)
        self.counts: dict[str, int] = {}
        self.aimed: list[tuple[str, int]] = []  # workers that are to kill themselves
        self.left = list(trial.strikes)
        self.timers: list[threading.Timer] = []

    def note(self, moment: str) -> None:
        """Take note that a step is about to be made, or something to be written."""
        if moment != (self.trial.moment if self.trial.is_written else "step"):
            return
        count = self.counts[moment] = self.counts.get(moment, -1) + 1
        for strike in [s for s in self.left if s[0] == count]:
            self.left.remove(strike)
            timer = threading.Timer(strike[1], self.strike, self.victims.pop())
            timer.start()
            self.timers.append(timer)

    def strike(self, address: str, pid: int) -> None:
        """Take one worker away."""
        if self.trial.happening == "retire":
            self.workers.client.retire_workers([address])
            return
        if self.trial.is_aimed:
            names = [name for name in POINTS if "rows" not in name or self.trial.model == "sharded"]
            point = POINTS[self.trial.numbers.choice(names)]
            self.aimed.append((address, pid))
            self.workers.client.run(arm, *point, workers=[address], on_error="ignore")
        else:
            os.kill(pid, signal.SIGKILL)
        if self.trial.happening == "replace" and not self.workers.nannies:
            self.workers.start()

    def finish(self) -> int:
        """Wait for all that is under way; kill workers that did not come to the point, and return
        how many these are."""
        for timer in self.timers:
            timer.join()
        there = self.workers.client.scheduler_info()["workers"]
        late = [pid for address, pid in self.aimed if address in there]
        for pid in late:
            os.kill(pid, signal.SIGKILL)
        return len(late)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """See what is sent to the scheduler in the block."""
        client, send = self.workers.client, self.workers.client.get

        def get(expression: Any, keys: Any, **options: Any) -> Any:
            self.note(str(keys[0]).split("-")[0] if keys else "")
            return send(expression, keys, **options)

        client.get = get
        try:
            yield
        finally:
            del client.get


# Workers have no such module: what is sent to them is sent whole.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def arm(name: str, moment: str) -> None:
    """Have this worker kill itself at the next call of a method of its exchanges."""
    (here,) = Exchanges.here.values()
    method = getattr(here, name)

    def strike() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def armed(*args: Any, **named: Any) -> Any:
        if moment == "before":
            strike()
        if moment == "soon":
            here.worker.loop.add_callback(here.worker.loop.call_later, 0.0005, strike)
        return method(*args, **named)

    async def armed_after(*args: Any, **named: Any) -> None:
        await method(*args, **named)
        strike()

    found = armed_after if moment == "after" else armed
    setattr(here, name, found)
    operations = {"answer": "daskvars_pull", "references": "daskvars_refer"}
    if name in operations:
        here.worker.handlers[operations[name]] = found


def network() -> tuple[Any, ...]:
    """Two layers with dropout and Adam, in one block; beside them a walk of three shards."""
    x, y = tf.placeholder(tf.float32, [None, 32]), tf.placeholder(tf.float32, [None, 8])
    first = tf.get_variable(
        "first", [32, 1536], initializer=tf.random_normal_initializer(stddev=0.1, seed=1)
    )
    second = tf.get_variable("second", [1536, 8], initializer=tf.random_normal_initializer(seed=2))
    walk = tf.get_variable(
        "walk", [1536, 64], initializer=tf.zeros_initializer(), trainable=False, chunks=(512, 64)
    )
    hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(x, first)), 0.8, seed=3)
    loss = tf.reduce_mean(tf.square(tf.matmul(hidden, second) - y))
    count = tf.train.get_or_create_global_step()
    step = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=count)
    wander = walk.assign(0.9 * walk + tf.random_normal([1536, 64], seed=4) * loss)
    return x, y, loss, tf.group(step, wander)


def sharded() -> tuple[Any, ...]:
    """Layers whose weights are in three chunks, and a table of words, cut by rows, with Adam."""
    x, y = tf.placeholder(tf.float32, [None, 32]), tf.placeholder(tf.float32, [None, 8])
    words = tf.cast(tf.floormod(tf.abs(x[:, :4]) * 997.0, float(WORDS)), tf.int32)
    table = tf.get_variable(
        "table",
        [WORDS, COLUMNS],
        initializer=tf.random_normal_initializer(seed=1),
        chunks=(WORDS // 3, COLUMNS),
    )
    found = tf.reduce_sum(tf.nn.embedding_lookup(table, words), 1)
    hidden = tf.concat([x, found], 1)
    for number, units in enumerate((48, 48)):
        w = tf.get_variable(
            f"w{number}",
            [hidden.shape[1], units],
            initializer=tf.random_normal_initializer(stddev=0.1, seed=2 + number),
            chunks=(hidden.shape[1], units // 3),
        )
        hidden = tf.nn.dropout(tf.tanh(tf.matmul(hidden, w)), 0.9, seed=4 + number)
    loss = tf.reduce_mean(tf.square(hidden[:, :8] - y))
    count = tf.train.get_or_create_global_step()
    return x, y, loss, tf.train.AdamOptimizer(0.01).minimize(loss, global_step=count)


MODELS = {"parallel": network, "sharded": sharded}


def train(
    steps: int, place: str, before_step: Callable[[], None], model: str = "parallel"
) -> dict[str, np.ndarray]:
    """Train, saving checkpoints in `place`; return the variables by name, and the losses seen."""
    with tf.Graph().as_default(), contextlib.ExitStack() as stack:
        stack.enter_context(config.set(batch_parts=NUM_WORKERS, seal_every_s=0.5))
        tf.set_random_seed(5)
        x, y, loss, step = MODELS[model]()
        saver = tf.train.Saver(max_to_keep=None)
        rng = np.random.default_rng(0)
        losses = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for number in range(steps):
                before_step()
                batch = {
                    x: rng.normal(size=(24, 32)).astype("f4"),
                    y: rng.normal(size=(24, 8)).astype("f4"),
                }
                limit = 1 if number % SCATTERED_STEP == 0 else 1 << 20
                with config.set(feed_scatter_bytes=limit):
                    if number % 7 == 0:
                        losses.append(session.run([loss, step], batch)[0])
                    else:
                        session.run(step, batch)
                if number % (steps // SAVES) == steps // SAVES - 1:
                    saver.save(session, os.path.join(place, "model"), global_step=number)
            variables = tf.global_variables()
            found = dict(zip([v.op.name for v in variables], session.run(variables), strict=True))
    return {**found, "losses": np.array(losses)}


def checkpoints(place: str) -> dict[str, np.ndarray]:
    """Return everything in the checkpoints below a directory."""
    found = {}
    for name in sorted(os.listdir(place)):
        if os.path.isdir(os.path.join(place, name)):
            group = zarr.open_group(os.path.join(place, name), mode="r")
            found.update(
                {
                    f"{name}:{key}": array[...]
                    for key, array in group.members(max_depth=None)
                    if isinstance(array, zarr.Array)
                }
            )
    return found


def same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> list[str]:
    """Return what is not bitwise equal, or only on one side."""
    return [
        key
        for key in sorted(found.keys() | wanted.keys())
        if key not in found
        or key not in wanted
        or np.asarray(found[key]).tobytes() != np.asarray(wanted[key]).tobytes()
    ]


def undisturbed(steps: int, model: str = "parallel") -> dict[str, np.ndarray]:
    """Return what a run in this process gives."""
    with tempfile.TemporaryDirectory() as place:
        return {**train(steps, place, lambda: None, model), **checkpoints(place)}


def disturbed(workers: Workers, trial: Trial) -> tuple[dict[str, np.ndarray], list[Any]]:
    """Return what a run on the workers gives that a trial happens to, and its events."""
    striker = Striker(workers, trial)
    heard: list[Any] = []
    with (
        tempfile.TemporaryDirectory() as place,
        workers.client.as_current(),
        events.subscribed(heard.append),
        striker.watching(),
    ):
        values = train(trial.steps, place, lambda: striker.note("step"), trial.model)
        found = {**values, **checkpoints(place)}
    trial.missed = striker.finish()
    return found, heard


@dataclass
class Repeats:
    """What was computed again: the runs told of, each time with the runs since the last seal."""

    told: list[tuple[int, int]]

    @property
    def are_bounded(self) -> bool:
        """Whether never more was repeated than was done since a seal; one run may be under way."""
        return all(repeated <= since + 1 for repeated, since in self.told)

    def __str__(self) -> str:
        told = [f"{repeated} of {since} runs" for repeated, since in self.told]
        return ", ".join(told) or "nothing"


def repeats(heard: list[Any]) -> Repeats:
    """Return what the events of a run say of runs that were computed again."""
    found, since = [], 0
    for event in heard:
        if isinstance(event, events.RunFinished):
            since += 1
        elif isinstance(event, events.Sealed):
            since = 0
        elif isinstance(event, events.RunsRepeated):
            found.append((event.num_runs, since))
    return Repeats(found)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the result is 1 if a trial failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args(arguments)
    wanted = {model: undisturbed(options.steps, model) for model in MODELS}
    failures = 0
    running: dict[bool, Workers] = {}
    for number in range(options.first, options.first + options.trials):
        happening = HAPPENINGS[number % len(HAPPENINGS)]
        moment, model = MOMENTS[number % len(MOMENTS)], [*MODELS][number // 2 % len(MODELS)]
        trial = Trial(happening, moment, random.Random(number), options.steps, model)
        nannies = happening == "restart"
        if nannies not in running:
            running[nannies] = Workers(nannies)
        start = time.monotonic()
        found, heard = disturbed(running[nannies], trial)
        wrong, again = same(found, wanted[model]), repeats(heard)
        failures += bool(wrong) or not again.are_bounded
        seconds = time.monotonic() - start
        print(
            f"trial {number}: {model}, {happening} at {trial.moment}"
            f"{f' ({trial.missed} not reached)' if trial.missed else ''}, {seconds:.1f} s, "
            f"{sum(isinstance(e, events.Sealed) for e in heard)} seals, "
            f"repeated {again}{'' if again.are_bounded else ' (TOO MANY)'}, "
            f"{'DIFFERENT: ' + ', '.join(wrong) if wrong else 'same bits'}",
            flush=True,
        )
    for workers in running.values():
        workers.close()
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
