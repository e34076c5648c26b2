"""Hooks that end a training by what its evaluations found, which they read from event files.

They are of ``tf.contrib.estimator``, and later of ``tf.estimator.experimental``. Give one to a
`TrainSpec` of `train_and_evaluate`: evaluations are then written while the training goes on.
"""

from __future__ import annotations

import glob
import operator
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from daskvars.summary.event_files import summary_iterator
from daskvars.surface.signatures import Argument, Family, with_example
from daskvars.v1 import logging
from daskvars.v1.estimator.estimator import Estimator
from daskvars.v1.sessions.hook_timers import SecondOrStepTimer, StepHook
from daskvars.v1.sessions.session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

__all__ = [
    "make_early_stopping_hook",
    "read_eval_metrics",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]

Metrics = Mapping[int, Mapping[str, float]]


def metrics_of_events(path: str) -> Iterator[tuple[int, dict[str, float]]]:
    """Give (step, metrics) of each evaluation in an event file."""
    for event in summary_iterator(path):
        found = {
            value.tag: value.simple_value
            for value in event.summary.value
            if value.HasField("simple_value")
        }
        if found:
            yield event.step, found


def read_eval_metrics(eval_dir: str) -> OrderedDict[int, dict[str, float]]:
    """Return the metrics of all evaluations so far, by their steps.

    Args:
      eval_dir: the directory that evaluations write to, `Estimator.eval_dir`.

    Source: TensorFlow 1.15, ``tf.estimator.experimental.read_eval_metrics``.

    >>> read_eval_metrics("no/such/directory")
    OrderedDict()
    """
    found: dict[int, dict[str, float]] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(eval_dir), "*.tfevents.*"))):
        for step, metrics in metrics_of_events(path):
            found.setdefault(step, {}).update(metrics)
    return OrderedDict(sorted(found.items()))


class _StopIf(StepHook):
    """Ends a training when a function says so."""

    def __init__(
        self, should_stop: Callable[[], bool], every_secs: float | None, every_steps: int | None
    ) -> None:
        self._should_stop = should_stop
        self._timer = SecondOrStepTimer(every_secs=every_secs, every_steps=every_steps)

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError where there is none."""
        super().begin()
        self._timer.reset()

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop, if it is time to look and the function says so."""
        step = int(run_values.results)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.request_stop()


def make_early_stopping_hook(
    estimator: Any,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends a training when a function says so.

    Args:
      estimator: an `Estimator`, the one that is trained.
      should_stop_fn: function of nothing that returns a bool.
      run_every_secs: seconds between two calls of it.
      run_every_steps: steps between them, instead.

    Raises:
      TypeError: `estimator` is none, or `should_stop_fn` no function.
      ValueError: both or none of seconds and steps are given.

    Source: TensorFlow 1.15, ``tf.estimator.experimental.make_early_stopping_hook``.

    >>> hook = make_early_stopping_hook(
    ...     tf.estimator.Estimator(lambda features: None), lambda: True, None, run_every_steps=1)
    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     with tf.train.MonitoredSession(hooks=[hook]) as sess:
    ...         while not sess.should_stop():
    ...             last = sess.run(step)
    >>> int(last)
    1
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must be a tf.estimator.Estimator, given: {estimator!r}")
    if not callable(should_stop_fn):
        raise TypeError(f"`should_stop_fn` must be a function, given: {should_stop_fn!r}")
    if (run_every_secs is None) == (run_every_steps is None):
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopIf(should_stop_fn, run_every_secs, run_every_steps)


_FAMILY = Family(
    {
        "estimator": Argument("an `Estimator`, the one that is trained.", type="Any"),
        "metric_name": Argument('of the metric, as in "loss".', type="str"),
        "threshold": Argument("a number.", type="float"),
        "max_steps_without_decrease": Argument("how many steps that may be.", type="int"),
        "max_steps_without_increase": Argument("how many steps that may be.", type="int"),
        "eval_dir": Argument(
            "where evaluations are written, by default ``estimator.eval_dir()``.",
            None,
            "str | None",
        ),
        "min_steps": Argument("evaluations before this step do not count.", 0, "int"),
        "run_every_secs": Argument("seconds between two looks.", 60, "float | None"),
        "run_every_steps": Argument("steps between them, instead.", None, "int | None"),
    },
    returns="A `SessionRunHook`.",
    raises="""
        TypeError: `estimator` is none.
        ValueError: both or none of seconds and steps are given.
        KeyError: (when it looks) an evaluation has no such metric.""",
    result="SessionRunHook",
)
_OF_THRESHOLD = "estimator metric_name threshold eval_dir min_steps run_every_secs run_every_steps"


_EXAMPLE = """model = tf.estimator.Estimator(lambda features: None)
hook = tf.estimator.experimental.{name}(model, "loss", 100)
isinstance(hook, tf.train.SessionRunHook) -> True"""


def _hook(name: str, order: str, doc: str, decided: Callable[..., bool]) -> Callable[..., Any]:
    """Return a public function, whose hook stops where `decided` of (metrics, argument) says so."""

    def make(a: dict[str, Any]) -> SessionRunHook:
        estimator, limit = a["estimator"], a[order.split()[2]]

        def should_stop() -> bool:
            found = read_eval_metrics(a["eval_dir"] or estimator.eval_dir())
            counted = [
                (step, metrics[a["metric_name"]])
                for step, metrics in found.items()
                if step >= a["min_steps"]
            ]
            return decided(counted, limit)

        return make_early_stopping_hook(
            estimator, should_stop, a["run_every_secs"], a["run_every_steps"]
        )

    doc = f"{doc}\n\nSource: TensorFlow 1.15, ``tf.estimator.experimental.{name}``."
    doc = with_example(doc, _EXAMPLE.format(name=name))
    return _FAMILY.function(__name__, name, order, make, doc)


def _stalls(is_better: Callable[[float, float], bool]) -> Callable[..., bool]:
    """Return whether a metric has not become better for some steps."""

    def decided(counted: list[tuple[int, float]], max_steps: int) -> bool:
        best: tuple[int, float] | None = None
        for step, value in counted:
            if best is None or is_better(value, best[1]):
                best = step, value
            if step - best[0] >= max_steps:
                return True
        return False

    return decided


def _passes(is_beyond: Callable[[float, float], bool]) -> Callable[..., bool]:
    """Return whether a metric was beyond a threshold."""
    return lambda counted, threshold: any(is_beyond(value, threshold) for _, value in counted)


stop_if_higher_hook = _hook(
    "stop_if_higher_hook",
    _OF_THRESHOLD,
    "Return a hook that ends a training when a metric was higher than a threshold.",
    _passes(operator.gt),
)
stop_if_lower_hook = _hook(
    "stop_if_lower_hook",
    _OF_THRESHOLD,
    "Return a hook that ends a training when a metric was lower than a threshold.",
    _passes(operator.lt),
)
stop_if_no_increase_hook = _hook(
    "stop_if_no_increase_hook",
    _OF_THRESHOLD.replace("threshold", "max_steps_without_increase"),
    "Return a hook that ends a training when a metric has not been higher for some steps.",
    _stalls(operator.gt),
)
stop_if_no_decrease_hook = _hook(
    "stop_if_no_decrease_hook",
    _OF_THRESHOLD.replace("threshold", "max_steps_without_decrease"),
    "Return a hook that ends a training when a metric has not been lower for some steps.",
    _stalls(operator.lt),
)
