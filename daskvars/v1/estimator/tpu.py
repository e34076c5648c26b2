"""`tf.estimator.tpu`: estimators of programs for TPUs, which run where ``use_tpu=False`` has them.

There are no TPUs here. Programs written for them say so by one flag, and are then as
`tf.estimator.Estimator` but for three things: functions find the size of a batch in ``params``,
metrics are a function and its tensors, and a scaffold is a function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from os import PathLike
from typing import Any

from daskvars.errors import UnimplementedError
from daskvars.surface.accepted import accepts
from daskvars.v1.estimator.estimator import Estimator
from daskvars.v1.estimator.run_config import RunConfig as EstimatorRunConfig
from daskvars.v1.estimator.specs import EstimatorSpec, ModeKeys
from daskvars.v1.sessions.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook

__all__ = ["InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec"]


class InputPipelineConfig(Enum):
    """How often an ``input_fn`` is called on TPUs; without them, once.

    Source: TensorFlow 1.15, ``tf.estimator.tpu.InputPipelineConfig``.

    >>> InputPipelineConfig.PER_HOST_V2.value
    3
    """

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


@dataclass(frozen=True)
class TPUConfig:
    """What a program says of its TPUs: kept for those who ask, and used by nobody without them.

    Args:
      iterations_per_loop: steps of one run.
      num_shards: how many TPU cores there are.
      num_cores_per_replica: how many of them one model is on.
      per_host_input_for_training: an `InputPipelineConfig`, or whether each host has its input.
      tpu_job_name: name of their job.
      initial_infeed_sleep_secs: how long the input waits at first.
      input_partition_dims: how many parts each dimension of the input is cut into.
      eval_training_input_configuration: an `InputPipelineConfig` of evaluations in a training.
      experimental_host_call_every_n_steps: steps between two calls of the host.

    Source: TensorFlow 1.15, ``tf.estimator.tpu.TPUConfig``.

    >>> TPUConfig(iterations_per_loop=100).iterations_per_loop
    100
    """

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: InputPipelineConfig = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


@dataclass(frozen=True)
class RunConfig(EstimatorRunConfig):
    """A `tf.estimator.RunConfig` that says something of TPUs too.

    Args:
      tpu_config: a `TPUConfig`.
      evaluation_master, master: addresses of TPUs, None or "".
      cluster: None; it finds TPUs.
      model_dir, tf_random_seed, session_config, device_fn, protocol: as of
        `tf.estimator.RunConfig`, as are the following.
      save_summary_steps, save_checkpoints_steps, save_checkpoints_secs: see there.
      keep_checkpoint_max, keep_checkpoint_every_n_hours, log_step_count_steps: see there.
      train_distribute, eval_distribute, experimental_distribute: see there.
      experimental_max_worker_delay_secs, session_creation_timeout_secs: see there.

    Raises:
      UnimplementedError: it has the address of a TPU.

    Source: TensorFlow 1.15, ``tf.estimator.tpu.RunConfig``.

    >>> config = RunConfig(model_dir="model", tpu_config=TPUConfig(num_shards=8))
    >>> config.model_dir, config.tpu_config.num_shards
    ('model', 8)
    """

    tpu_config: TPUConfig = field(default_factory=TPUConfig)
    evaluation_master: Any = ""
    master: Any = ""
    cluster: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tpu_config is None:
            object.__setattr__(self, "tpu_config", TPUConfig())
        if self.master or self.evaluation_master or self.cluster is not None:
            raise UnimplementedError.saying(f"{_NO_TPUS}; leave master and cluster out")


_NO_TPUS = "there are no TPUs here: a program for them runs with use_tpu=False"


@dataclass(frozen=True)
class TPUEstimatorSpec:
    """A model in one mode, as a program for TPUs gives it.

    Args:
      mode: one of `tf.estimator.ModeKeys`.
      predictions, loss, train_op, export_outputs: as of `tf.estimator.EstimatorSpec`.
      eval_metrics: (function, tensors): it is called with them, a list, or by the names of a dict,
        and returns name -> (value, update).
      scaffold_fn: returns a `tf.train.Scaffold`.
      host_call: (function, tensors): what it returns is run with each step.
      training_hooks, evaluation_hooks, prediction_hooks: `SessionRunHook` objects.

    Source: TensorFlow 1.15, ``tf.estimator.tpu.TPUEstimatorSpec``.

    >>> with tf.Graph().as_default():
    ...     metrics = lambda loss: {"mean": tf.metrics.mean(loss)}
    ...     loss = tf.constant(1.0)
    ...     spec = TPUEstimatorSpec("eval", loss=loss, eval_metrics=(metrics, [loss]))
    ...     sorted(spec.as_estimator_spec().eval_metric_ops)
    ['mean']
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Mapping[str, Any] | None = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None

    def _replace(self, **changes: Any) -> TPUEstimatorSpec:
        """Return a spec that differs in what is given, as that of a named tuple."""
        return replace(self, **changes)

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return the `tf.estimator.EstimatorSpec` that says the same."""
        calls = (_Fetching(_called("host_call", self.host_call)),) if self.host_call else ()
        metrics = _called("eval_metrics", self.eval_metrics) if self.eval_metrics else None
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=(*(self.training_hooks or ()), *calls),
            evaluation_hooks=(*(self.evaluation_hooks or ()), *calls),
            prediction_hooks=(*(self.prediction_hooks or ()), *calls),
        )


def _called(name: str, call: Any) -> Any:
    if not isinstance(call, tuple | list) or len(call) != 2 or not callable(call[0]):
        raise ValueError(f"{name} should be a tuple of a function and its tensors, got {call!r}")
    function, tensors = call
    if isinstance(tensors, Mapping):
        return function(**tensors)
    return function(*tensors) if isinstance(tensors, tuple | list) else function(tensors)


class _Fetching(SessionRunHook):
    """Fetches values in each run."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._fetches)


@accepts(
    "batch_axis",
    "embedding_config_spec",
    "eval_on_tpu",
    "export_saved_model_api_version",
    "export_to_cpu",
    "export_to_tpu",
)
class TPUEstimator(Estimator):
    """A `tf.estimator.Estimator` for programs that were written for TPUs.

    The size of a batch is in ``params["batch_size"]``, for the ``input_fn`` and the ``model_fn``,
    which has ``params["use_tpu"]`` too.

    Args:
      model_fn: as of `tf.estimator.Estimator`, with `params`; it may return a `TPUEstimatorSpec`.
      model_dir, params, warm_start_from: as of `tf.estimator.Estimator`.
      config: a `RunConfig` of this namespace.
      use_tpu: False.
      train_batch_size, eval_batch_size, predict_batch_size: examples of a batch.

    Raises:
      UnimplementedError: `use_tpu` is set.
      ValueError: `config` is no `RunConfig` of this namespace, `params` has "batch_size" or
        "context", or a function does not take them.

    Source: TensorFlow 1.15, ``tf.estimator.tpu.TPUEstimator``.

    >>> def model_fn(features, labels, mode, params):
    ...     loss = tf.reduce_mean(tf.square(tf.layers.dense(features, 1)))
    ...     train = tf.train.GradientDescentOptimizer(0.1)
    ...     train = tf.tpu.CrossShardOptimizer(train)
    ...     train_op = train.minimize(loss, tf.train.get_global_step())
    ...     return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    >>> def input_fn(params):
    ...     return tf.data.Dataset.from_tensors((tf.ones([3]), 0)).repeat().batch(
    ...         params["batch_size"])
    >>> estimator = tf.estimator.tpu.TPUEstimator(
    ...     model_fn, config=tf.estimator.tpu.RunConfig(), use_tpu=False, train_batch_size=8)
    >>> estimator = estimator.train(input_fn, max_steps=2)
    >>> int(estimator.get_variable_value("global_step"))
    2
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type tf.estimator.tpu.RunConfig")
        reserved = {"batch_size", "context"} & set(params or ())
        if reserved:
            raise ValueError(f"{sorted(reserved)} are reserved keys but existed in params {params}")
        if use_tpu:
            raise UnimplementedError.saying(_NO_TPUS)
        super().__init__(model_fn, model_dir, config, params, warm_start_from)
        if "params" not in self._names:
            raise ValueError(_without_params("model_fn", model_fn))
        self._batch_sizes: dict[str, int | None] = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        self._is_exporting = False

    def _asked(self, input_fn: Callable[..., Any], mode: str) -> Any:
        if "params" not in inspect.signature(input_fn).parameters:
            raise ValueError(_without_params("input_fn", input_fn))
        return super()._asked(input_fn, mode)

    def _call(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        params = {**self._params_in(mode), "use_tpu": False}
        spec = self._model(features, labels, mode, config, params)
        return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

    def _params_in(self, mode: str) -> dict[str, Any]:
        params, size = self.params, self._batch_sizes[mode]
        return params if size is None or self._is_exporting else {**params, "batch_size": size}

    def export_saved_model(self, *args: Any, **kwargs: Any) -> bytes:
        """Export the model of a checkpoint: see `tf.estimator.Estimator`.

        Functions find no size of a batch then: that of what is asked for is not known before.
        """
        self._is_exporting = True
        try:
            return super().export_saved_model(*args, **kwargs)
        finally:
            self._is_exporting = False

    export_savedmodel = export_saved_model


def _without_params(kind: str, function: Callable[..., Any]) -> str:
    return (
        f"{kind} ({function}) does not include params argument, required by TPUEstimator to pass "
        "batch size as params['batch_size']"
    )
