"""Training and evaluation in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.v1.estimator.estimator import Estimator
from daskvars.v1.sessions.checkpoint_hooks import CheckpointSaverListener


@dataclass(frozen=True)
class TrainSpec:
    """How `train_and_evaluate` trains.

    Args:
      input_fn: gives the data.
      max_steps: the global step at which the training ends; None to its data's end.
      hooks: `SessionRunHook` objects.

    Raises:
      ValueError: `max_steps` is not positive.

    Source: TensorFlow 1.15, ``tf.estimator.TrainSpec``.
    """

    input_fn: Callable[..., Any]
    max_steps: int | None = None
    hooks: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.max_steps is not None and self.max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {self.max_steps}")


@dataclass(frozen=True)
class EvalSpec:
    """How `train_and_evaluate` evaluates.

    Args:
      input_fn: gives the data.
      steps: how many batches; None for all.
      name: of the evaluation, in the name of its directory.
      hooks: `SessionRunHook` objects.
      start_delay_secs: for evaluators in processes of their own, which there are not.
      throttle_secs: seconds from one evaluation to the next at least.

    Raises:
      ValueError: `steps` is not positive.

    Source: TensorFlow 1.15, ``tf.estimator.EvalSpec``.
    """

    input_fn: Callable[..., Any]
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[Any] | None = None
    start_delay_secs: float = 120
    throttle_secs: float = 600

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {self.steps}")


class _Evaluating(CheckpointSaverListener):
    """Evaluates each checkpoint that a training saves, if the last one was not just before."""

    def __init__(self, estimator: Estimator, spec: EvalSpec) -> None:
        self._estimator, self._spec = estimator, spec
        self._timer = _Throttle(spec.throttle_secs)
        self.last_step: int | None = None
        self.metrics: dict[str, Any] | None = None
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluate, but not what the training begins with."""
        if self._is_first:
            self._is_first = False
        elif self._timer.is_over():
            self.evaluate(global_step_value)

    def evaluate(self, step: int) -> None:
        """Evaluate the newest checkpoint, unless it was."""
        if step != self.last_step:
            spec = self._spec
            self.metrics = self._estimator.evaluate(
                spec.input_fn, steps=spec.steps, hooks=spec.hooks, name=spec.name
            )
            self.last_step = step


class _Throttle:
    """Tells whether so many seconds are over since it last did."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last_s = seconds, time.monotonic()

    def is_over(self) -> bool:
        now_s = time.monotonic()
        if now_s - self._last_s < self._seconds:
            return False
        self._last_s = now_s
        return True


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]]:
    """Train, evaluate checkpoints on the way, and the last one.

    Args:
      estimator: an `Estimator`.
      train_spec: how to train.
      eval_spec: how to evaluate.

    Returns:
      The metrics of the last evaluation, and an empty list: nothing is exported.

    Raises:
      ValueError: an argument is of another kind.

    Source: TensorFlow 1.15, ``tf.estimator.train_and_evaluate``.
    """
    for given, kind in ((estimator, Estimator), (train_spec, TrainSpec), (eval_spec, EvalSpec)):
        if not isinstance(given, kind):
            raise ValueError(f"expected a tf.estimator.{kind.__name__}, given: {type(given)}")
    evaluating = _Evaluating(estimator, eval_spec)
    estimator.train(
        train_spec.input_fn,
        hooks=train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[evaluating],
    )
    evaluating.evaluate(int(estimator.get_variable_value("global_step")))
    return evaluating.metrics, []
