"""What a ``model_fn`` is asked for, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from daskvars.v1.sessions.scaffold import Scaffold


class ModeKeys:
    """What a model is built for.

    Source: TensorFlow 1.15, ``tf.estimator.ModeKeys``.

    >>> ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT
    ('train', 'eval', 'infer')
    """

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class WarmStartSettings(NamedTuple):
    """Values of another model that variables begin with: the arguments of `train.warm_start`.

    Args:
      ckpt_to_initialize_from: path of a checkpoint, or of a directory that has some.
      vars_to_warm_start: a regular expression that the variables' names match, or several; or the
        variables.
      var_name_to_vocab_info: name -> `train.VocabInfo`, as of `train.warm_start`.
      var_name_to_prev_var_name: variable's name -> its name in the checkpoint.

    Source: TensorFlow 1.15, ``tf.estimator.WarmStartSettings``.

    >>> WarmStartSettings("model.ckpt-100", vars_to_warm_start="hidden/.*").vars_to_warm_start
    'hidden/.*'
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Mapping[str, Any] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None


@dataclass(frozen=True)
class EstimatorSpec:
    """A model in one mode.

    Args:
      mode: one of `ModeKeys`.
      predictions: a tensor or a dict of them; needed to predict.
      loss: [] or [1] number; needed to train and evaluate.
      train_op: what trains; needed to train.
      eval_metric_ops: name -> (value, update), as functions of `tf.metrics` return them.
      export_outputs: name -> `tf.estimator.export.ExportOutput`: the uses of an exported model; by
        default one, the predictions.
      training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks: `SessionRunHook`
        objects.
      scaffold: a `Scaffold`, by default a new one.

    Raises:
      ValueError: what the mode needs is missing, or the loss is no scalar.
      TypeError: a metric is no pair of a value and an update.

    Source: TensorFlow 1.15, ``tf.estimator.EstimatorSpec``.

    >>> with tf.Graph().as_default():
    ...     tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.TRAIN, loss=tf.constant(1.0))
    Traceback (most recent call last):
    ValueError: Missing train_op.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Mapping[str, Any] | None = None
    export_outputs: Mapping[str, Any] | None = None
    training_chief_hooks: Any = ()
    training_hooks: Any = ()
    scaffold: Any = None
    evaluation_hooks: Any = ()
    prediction_hooks: Any = ()

    def __post_init__(self) -> None:
        if self.scaffold is None:
            object.__setattr__(self, "scaffold", Scaffold())
        if self.mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise ValueError(f"mode is one of tf.estimator.ModeKeys, got {self.mode!r}")
        for name, modes in (
            ("train_op", (ModeKeys.TRAIN,)),
            ("loss", (ModeKeys.TRAIN, ModeKeys.EVAL)),
            ("predictions", (ModeKeys.PREDICT,)),
        ):
            if self.mode in modes and getattr(self, name) is None:
                raise ValueError(f"Missing {name}.")
        shape = None if self.loss is None else self.loss.get_shape().num_elements()
        if shape not in (None, 1):
            raise ValueError(f"Loss must be scalar, given: {self.loss}")
        for name, pair in (self.eval_metric_ops or {}).items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                    f"{pair} for key: {name}"
                )

    def _replace(self, **changes: Any) -> EstimatorSpec:
        """Return a spec that differs in what is given, as that of a named tuple."""
        return replace(self, **changes)
