"""Training and evaluation in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.surface.accepted import accepts
from daskvars.v1.estimator.estimator import Estimator
from daskvars.v1.estimator.exporters import exporters_of
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

    >>> tf.estimator.TrainSpec(lambda: None, max_steps=0)
    Traceback (most recent call last):
    ValueError: Must specify max_steps > 0, given: 0
    """

    input_fn: Callable[..., Any]
    max_steps: int | None = None
    hooks: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.max_steps is not None and self.max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {self.max_steps}")


@accepts("start_delay_secs")
@dataclass(frozen=True)
class EvalSpec:
    """How `train_and_evaluate` evaluates.

    Args:
      input_fn: gives the data.
      steps: how many batches; None for all.
      name: of the evaluation, in the name of its directory.
      hooks: `SessionRunHook` objects.
      exporters: an `Exporter` or several: which models are exported.
      throttle_secs: seconds from one evaluation to the next at least.

    Raises:
      ValueError: `steps` is not positive, or two exporters have one name.
      TypeError: an exporter is none.

    Source: TensorFlow 1.15, ``tf.estimator.EvalSpec``.

    >>> tf.estimator.EvalSpec(lambda: None, steps=10, name="short").throttle_secs
    600
    """

    input_fn: Callable[..., Any]
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[Any] | None = None
    exporters: Any = None
    start_delay_secs: float = 120
    throttle_secs: float = 600

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {self.steps}")
        object.__setattr__(self, "exporters", exporters_of(self.exporters))


class _Evaluating(CheckpointSaverListener):
    """Evaluates each checkpoint that a training saves, if the last one was not just before."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self._timer = _Throttle(spec.throttle_secs)
        self.last_step: int | None = None
        self.metrics: dict[str, Any] | None = None
        self.exported: list[Any] = []
        self._is_final = False
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluate, but not what the training begins with."""
        if self._is_first:
            self._is_first = False
        elif self._timer.is_over():
            self.evaluate(global_step_value)

    def evaluate(self, step: int) -> None:
        """Evaluate the newest checkpoint, unless it was, and export it."""
        if step != self.last_step:
            spec = self._spec
            self.metrics = self._estimator.evaluate(
                spec.input_fn, steps=spec.steps, hooks=spec.hooks, name=spec.name
            )
            self.last_step = step
            self._export(self._max_steps is not None and step >= self._max_steps)

    def evaluate_last(self, step: int) -> None:
        """Evaluate what the training has ended with, unless it was, and export it as the last."""
        self._max_steps = step
        self.evaluate(step)
        if not self._is_final:  # evaluated before it was known to be the last
            self._export(True)

    def _export(self, is_final: bool) -> None:
        self._is_final = is_final
        estimator = self._estimator
        self.exported = [
            exporter.export(
                estimator,
                os.path.join(estimator.model_dir, "export", exporter.name),
                estimator.latest_checkpoint(),
                self.metrics,
                is_final,
            )
            for exporter in self._spec.exporters
        ]


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
      The metrics of the last evaluation, and what each exporter then exported.

    Raises:
      ValueError: an argument is of another kind.

    Source: TensorFlow 1.15, ``tf.estimator.train_and_evaluate``.

    >>> def model_fn(features, labels, mode):
    ...     loss = tf.losses.mean_squared_error(labels, tf.get_variable("w", []) * features)
    ...     step = tf.train.GradientDescentOptimizer(0.1)
    ...     step = step.minimize(loss, tf.train.get_or_create_global_step())
    ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)
    >>> data = np.float32([1.0, 2.0])
    >>> rows = tf.estimator.inputs.numpy_input_fn(data, 3 * data, shuffle=False, num_epochs=None)
    >>> metrics, _ = tf.estimator.train_and_evaluate(
    ...     tf.estimator.Estimator(model_fn), tf.estimator.TrainSpec(rows, max_steps=20),
    ...     tf.estimator.EvalSpec(rows, steps=1))
    >>> bool(metrics["loss"] < 1e-3), int(metrics["global_step"])
    (True, 20)
    """
    for given, kind in ((estimator, Estimator), (train_spec, TrainSpec), (eval_spec, EvalSpec)):
        if not isinstance(given, kind):
            raise ValueError(f"expected a tf.estimator.{kind.__name__}, given: {type(given)}")
    evaluating = _Evaluating(estimator, eval_spec, train_spec.max_steps)
    most = train_spec.max_steps
    estimator.train(
        train_spec.input_fn, hooks=train_spec.hooks, max_steps=most, saving_listeners=[evaluating]
    )
    evaluating.evaluate_last(int(estimator.get_variable_value("global_step")))
    return evaluating.metrics, evaluating.exported
