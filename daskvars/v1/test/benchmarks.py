"""Benchmarks of programs, as TensorFlow 1 has them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy

from daskvars.execution.config_proto import ConfigProto
from daskvars.execution.session import Session
from daskvars.surface.one_line import ShownByArguments


class Benchmark(ShownByArguments):
    """A class of benchmarks: its methods whose names begin with "benchmark".

    ``tf.test.main()`` runs them with ``--benchmarks=REGEX``, which is searched in "Class.method".

    Source: TensorFlow 1.15, ``tf.test.Benchmark``.

    >>> class Sums(tf.test.Benchmark):
    ...     def benchmark_small(self):
    ...         with tf.Session() as sess:
    ...             return self.run_op_benchmark(sess, tf.constant(1.0) + 2.0, min_iters=3)
    >>> with tf.Graph().as_default():
    ...     Sums().benchmark_small()["iters"]  # doctest: +ELLIPSIS
    Sums: iters: 3, wall_time: ...
    3
    """

    classes: ClassVar[list[type[Benchmark]]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Benchmark.classes.append(cls)

    def run_op_benchmark(
        self,
        sess: Session,
        op_or_tensor: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Time runs of fetches, report them, and return what was reported.

        Args:
          sess: the session.
          op_or_tensor: what is run.
          feed_dict: with what.
          burn_iters: runs before those that are timed.
          min_iters: runs that are timed.
          name: of the entry; by default of the method.
          extras: numbers and texts to report besides.
          mbs: megabytes that a run moves, for the throughput.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        walls = numpy.empty(min_iters)
        for index in range(min_iters):
            began = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            walls[index] = time.perf_counter() - began
        median = float(numpy.median(walls)) if min_iters else 0.0
        throughput = mbs / median if mbs and median else None
        said = {"wall_time_stdev": float(walls.std()) if min_iters else 0.0, **(extras or {})}
        self.report_benchmark(min_iters, None, median, throughput, said, name)
        return {"iters": min_iters, "wall_time": median, "throughput": throughput, "extras": said}

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Print an entry: what was measured, and of how many runs.

        Args:
          iters: how many runs.
          cpu_time: seconds of a run on the processor.
          wall_time: seconds of a run by the clock.
          throughput: megabytes a second.
          extras: numbers and texts besides.
          name: of the entry; by default of the class.
        """
        measured = {
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            **(extras or {}),
        }
        said = (f"{key}: {value}" for key, value in measured.items() if value is not None)
        print(f"{name or type(self).__name__}: {', '.join(said)}", flush=True)

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors, by a session of their own."""
        with Session(config=benchmark_config()) as session:
            return session.run(tensors)


def benchmark_config() -> ConfigProto:
    """Return the configuration that benchmarks run with: the usual one."""
    return ConfigProto()


def run_benchmarks(chosen: str) -> None:
    """Run the benchmarks whose "Class.method" a regular expression is found in."""
    for kind in Benchmark.classes:
        for name in dir(kind):
            if name.startswith("benchmark") and re.search(chosen, f"{kind.__name__}.{name}"):
                getattr(kind(), name)()
