"""Interleaved medians: all sides of a comparison run in turns, in one process.

A machine's speed drifts by more than what is to be measured, so a figure means something only
beside another one from the same minute. In each round every side runs a number of steps; the time
of a side is the median over the rounds, and what is judged is the ratio to its limit.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from distributed.utils import get_mp_context
from threadpoolctl import ThreadpoolController

from daskvars import backend

MAX_BLAS_THREADS = 2


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
      step: what is timed; its result is dropped.
      blas_threads: threads that BLAS may use meanwhile, None for whatever is set.
    """

    step: Callable[[], Any]
    blas_threads: int | None = None


def numpy_sides(step: Callable[[], Any]) -> dict[str, Side]:
    """Return the hand-written step with each number of BLAS threads it may choose."""
    return {
        f"NumPy ({count} BLAS thread{'s' if count > 1 else ''})": Side(step, count)
        for count in range(1, MAX_BLAS_THREADS + 1)
    }


def compared(
    name: str,
    doc: str | None,
    arguments: Sequence[str] | None,
    sides: Callable[[bool], Mapping[str, Callable[[], Any]]],
    limit: float,
    *,
    rounds: int,
    steps: int,
    threads: bool = True,
) -> int:
    """Run a benchmark of "daskvars" against a hand-written step and return the exit status.

    Args:
      name: name of the benchmark.
      doc: what ``--help`` says.
      arguments: those of the command line.
      sides: function of whether it is to be quick that gives the steps.
      limit: how many times as long daskvars may take.
      rounds: how often, by default, the sides take turns.
      steps: how many steps each side takes in a turn.
      threads: whether NumPy is tried with each number of BLAS threads.
    """
    given = options(doc, arguments, rounds=rounds)
    found = sides(given.quick)
    if threads:
        tried = {"daskvars": Side(found["daskvars"]), **numpy_sides(found["NumPy"])}
    else:
        tried = {side: Side(step) for side, step in found.items()}
    report = Report(name)
    report.against_baseline(interleaved(tried, given.rounds, steps), limit)
    return report.status


def interleaved(sides: Mapping[str, Side], rounds: int, steps: int) -> dict[str, float]:
    """Return the median seconds per step of each side.

    Args:
      sides: name -> side.
      rounds: how often each side gets its turn.
      steps: timed steps in a turn; one more, before them, is not timed.
    """
    backend.keep_freed_memory()
    controller = ThreadpoolController()
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            count = side.blas_threads
            limit = controller.limit(limits=count, user_api="blas") if count else nullcontext()
            with limit:
                times[name].append(seconds(side.step, steps))
    return {name: statistics.median(found) for name, found in times.items()}


class Apart:
    """A step in a process of its own, which lives until it is closed.

    Dask's configuration says how processes are made (`distributed.worker.multiprocessing-method`).

    Args:
      build: function, defined in a module, that gives the step; called in that process.
      arguments: its arguments.
    """

    def __init__(self, build: Callable[..., Callable[..., Any]], *arguments: Any) -> None:
        context = get_mp_context()
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, build, arguments), daemon=True)
        self.process.start()
        theirs.close()

    def start(self, *arguments: Any) -> None:
        """Let a step begin."""
        self._pipe.send(arguments)

    def result(self, timeout_s: float | None = None) -> Any:
        """Return what the step that was begun gives.

        Raises:
          TimeoutError: it gives nothing in time.
          Exception: what it raises.
        """
        if not self._pipe.poll(timeout_s):
            raise TimeoutError(f"no result within {timeout_s} s")
        found = self._pipe.recv()
        if isinstance(found, Exception):
            raise found
        return found

    def __call__(self, *arguments: Any) -> Any:
        self.start(*arguments)
        return self.result()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.join()
        self._pipe.close()


def _serve(pipe: Any, build: Callable[..., Callable[..., Any]], arguments: Sequence[Any]) -> None:
    """Run in the other process: build the step, and make one each time when asked."""
    backend.keep_freed_memory()
    step = None
    while True:
        given = pipe.recv()
        try:
            step = step or build(*arguments)
            pipe.send(step(*given))
        except Exception as error:  # noqa: BLE001 - raised where the step is asked for
            pipe.send(error)


def seconds(step: Callable[[], Any], steps: int) -> float:
    """Return the seconds that one step takes on average, after one that is not timed."""
    step()
    gc.collect()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps


def pace_s() -> float:
    """Return the seconds that 50,000 squares take in pure Python: how fast the machine is now.

    Where neighbours share a core with it, that changes by 1.8 from one minute to the next, and all
    times with it. Limits that are times, not ratios, are to be read beside this.
    """
    start = time.perf_counter()
    sum(i * i for i in range(50_000))
    return time.perf_counter() - start


def spelled(value_s: float) -> str:
    """Return a time with three digits and its unit.

    >>> spelled(0.000215)
    '215 us'
    """
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
    unit = next((unit for unit, scale in units.items() if value_s >= scale), "us")
    number = value_s / units[unit]
    return f"{number:.3g} {unit}" if number < 999.5 else f"{number:.0f} {unit}"


class Report:
    """Prints one line per figure and remembers whether all are within their limits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ok = True

    def against_baseline(
        self, times: Mapping[str, float], limit: float, what: str = "step"
    ) -> None:
        """Judge the first side by the fastest of the others."""
        (ours, own_s), *others = times.items()
        best, best_s = min(others, key=lambda item: item[1])
        for other, other_s in others:
            if other != best:
                self.note(f"{other} {spelled(other_s)}/{what}")
        ratio = own_s / best_s
        self._judge(
            f"{ours} {spelled(own_s)}/{what}, {best} {spelled(best_s)}/{what}", ratio, limit
        )

    def against_rate(self, rates: Mapping[str, float], unit: str, least: float | None) -> None:
        """Judge how fast the first side is beside the second: not less than `least` of it."""
        (ours, own), (other, theirs) = rates.items()
        text = f"{ours} {own:.4g} {unit}, {other} {theirs:.4g} {unit}"
        if least is None:
            return self.note(f"{text}, ratio {own / theirs:.2f} (no limit)")
        self._judge(text, own / theirs, least, own >= least * theirs)

    def against_limit(self, what: str, value_s: float, limit_s: float) -> None:
        """Judge a time by the longest that it may take."""
        text = f"{what} {spelled(value_s)}, limit {spelled(limit_s)}"
        self._judge(text, value_s / limit_s, 1.0)

    def against_count(self, what: str, count: float, most: int) -> None:
        """Judge how many there are by how many there may be."""
        self._judge(f"{what} {count:,.6g}, limit {most:,}", count / most, 1.0)

    def fail(self, text: str) -> None:
        """Report that there is no figure where there has to be one."""
        self.ok = False
        self.note(f"{text} OVER")

    def against_bytes(
        self, what: str, nbytes: float, limit: float, unit_bytes: float, unit: str
    ) -> None:
        """Judge a number of bytes by another."""
        text = f"{what} {nbytes / 2**20:.4g} MiB, {unit} {unit_bytes / 2**20:.4g} MiB"
        self._judge(text, nbytes / unit_bytes, limit)

    def linear(self, what: str, per_item_s: Mapping[int, float], limit: float) -> None:
        """Judge whether the cost of an item stays what it is when there are more of them."""
        (few, first_s), *_, (many, last_s) = per_item_s.items()
        text = f"{what} at {few:,} {spelled(first_s)}, at {many:,} {spelled(last_s)}"
        self._judge(text, last_s / first_s, limit)

    def against_first(self, what: str, first: float, last: float, limit: float) -> None:
        """Judge whether a figure stays what it is in the course of time."""
        self._judge(f"{what} at first {first:.6g}, at last {last:.6g}", last / first, limit)

    def note(self, text: str) -> None:
        """Print a figure that has no limit."""
        print(f"{self.name}: {text}", flush=True)

    def _judge(self, text: str, ratio: float, limit: float, ok: bool | None = None) -> None:
        ok = ratio <= limit if ok is None else ok
        self.ok = self.ok and ok
        self.note(f"{text}, ratio {ratio:.2f} (limit {limit:.2f}) {'ok' if ok else 'OVER'}")

    @property
    def status(self) -> int:
        """The exit status: 1 if any figure is over its limit."""
        return 0 if self.ok else 1


def options(
    doc: str, arguments: Sequence[str] | None, rounds: int, **more: Mapping[str, Any]
) -> argparse.Namespace:
    """Return the command line of a benchmark: `quick`, `rounds`, and more if there is."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--rounds", type=int, default=None, help=f"turns of each side ({rounds})")
    for name, how in more.items():
        parser.add_argument(f"--{name}", **how)
    found = parser.parse_args(arguments)
    found.rounds = found.rounds or (1 if found.quick else rounds)
    return found
