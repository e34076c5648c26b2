"""Estimator: a graph for each call, built by the ``model_fn``, run in a monitored session."""

from __future__ import annotations

import copy
import inspect
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy

from daskvars import metrics
from daskvars.data.dataset import Dataset
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.ops.control.dependencies import group
from daskvars.ops.random.distributions import set_random_seed
from daskvars.summary import Summary, summary_ops
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.train.checkpoints.checkpoint_state import latest_checkpoint
from daskvars.train.checkpoints.reader import list_variables, load_variable
from daskvars.train.checkpoints.warm_starting import warm_start
from daskvars.train.training_step import create_global_step, get_global_step
from daskvars.v1 import logging
from daskvars.v1.estimator.exporting import export_built
from daskvars.v1.estimator.run_config import RunConfig
from daskvars.v1.estimator.specs import EstimatorSpec, ModeKeys, WarmStartSettings
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.sessions.checkpoint_hooks import CheckpointSaverHook
from daskvars.v1.sessions.control_hooks import FinalOpsHook, StopAtStepHook
from daskvars.v1.sessions.monitored_session import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
)
from daskvars.v1.sessions.monitoring_hooks import LoggingTensorHook, NanTensorHook
from daskvars.v1.sessions.session_run_hook import SessionRunContext, SessionRunHook
from daskvars.v1.summary_writers import FileWriterCache


class Estimator(ShownByArguments):
    """Trains and evaluates a model that a function builds, and predicts by it.

    Each call builds a graph of its own, restores the newest checkpoint of `model_dir`, and runs on
    the active Dask cluster, if there is one, or in this process.

    Args:
      model_fn: ``model_fn(features, labels, mode, params, config)`` returns an `EstimatorSpec`; of
        the last four it is given those that it names.
      model_dir: directory of checkpoints and summaries; by default that of `config`, or a new one.
      config: a `RunConfig`.
      params: a dict for the function, or another object such as ``contrib.training.HParams``.
      warm_start_from: path of a checkpoint, or `WarmStartSettings`: where trainable variables begin
        when there is no checkpoint of the model yet.

    Raises:
      ValueError: the function does not take features, or not the `params`.

    Source: TensorFlow 1.15, ``tf.estimator.Estimator``.

    >>> def model_fn(features, labels, mode):
    ...     y = tf.squeeze(tf.layers.dense(features, 1), 1)
    ...     if mode == tf.estimator.ModeKeys.PREDICT:
    ...         return tf.estimator.EstimatorSpec(mode, predictions=y)
    ...     loss = tf.losses.mean_squared_error(labels, y)
    ...     step = tf.train.get_global_step()
    ...     train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    >>> x = np.ones([8, 2], np.float32)
    >>> batches = tf.estimator.inputs.numpy_input_fn(x, x[:, 0], 4, None, shuffle=False)
    >>> estimator = tf.estimator.Estimator(model_fn).train(batches, steps=3)
    >>> int(estimator.get_variable_value("global_step"))
    3
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: str | PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self._warm = None
        if warm_start_from is not None:
            is_path = isinstance(warm_start_from, str | PathLike)
            self._warm = WarmStartSettings(warm_start_from) if is_path else warm_start_from
            if not isinstance(self._warm, WarmStartSettings):
                raise ValueError(
                    "warm_start_from must be a path or a tf.estimator.WarmStartSettings: "
                    f"{warm_start_from!r}"
                )
        self._config = config or RunConfig()
        if model_dir is not None and self._config.model_dir not in (None, os.fspath(model_dir)):
            raise ValueError(
                "`model_dir` are set both in constructor and `RunConfig`, but with different "
                f"values. In constructor: '{model_dir}', in `RunConfig`: "
                f"'{self._config.model_dir}' "
            )
        folder = model_dir or self._config.model_dir or tempfile.mkdtemp()
        self._config = self._config.replace(model_dir=os.fspath(folder))
        self._names = set(inspect.signature(model_fn).parameters)
        if "features" not in self._names:
            raise ValueError(f"model_fn ({model_fn}) must include features argument.")
        if params is not None and "params" not in self._names:
            raise ValueError(f"model_fn ({model_fn}) does not include params argument.")
        self._model_fn, self._params = model_fn, copy.deepcopy(params or {})

    @property
    def model_dir(self) -> str:
        """The directory of checkpoints and summaries."""
        return os.fspath(self._config.model_dir or "")

    config: RunConfig = forwards("_config", "How it runs.")

    @property
    def params(self) -> Any:
        """A copy of what the function is given."""
        return copy.deepcopy(self._params)

    model_fn: Callable[..., Any] = forwards(
        "_call", "The function, of features, labels, mode and config."
    )

    def latest_checkpoint(self) -> str | None:
        """Return the path of the newest checkpoint, None if there is none."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the newest checkpoint."""
        return [name for name, _ in list_variables(self.model_dir)]

    def get_variable_value(self, name: str) -> numpy.ndarray:
        """Return the value of a variable in the newest checkpoint."""
        return load_variable(self.model_dir, name)

    # -- train --------------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[Any] | None = None,
    ) -> Estimator:
        """Train from the newest checkpoint on, and save.

        Args:
          input_fn: returns (features, labels), or a `Dataset` of them.
          hooks: `SessionRunHook` objects.
          steps: how many steps; None to the end of the data.
          max_steps: the global step to stop at, instead.
          saving_listeners: `CheckpointSaverListener` objects.

        Returns:
          The estimator.

        Raises:
          ValueError: both numbers are given, or one is not positive.
        """
        _check_steps(steps=steps, max_steps=max_steps)
        if max_steps is not None and self._step_saved() >= max_steps:
            logging.info("Skipping training since max_steps has already saved.")
            return self
        hooks = list(hooks or ())
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        with self._graph():
            create_global_step()
            spec = self._built(input_fn, ModeKeys.TRAIN, hooks)
            if self._warm is not None:
                warm_start(*self._warm)
            self._train(spec, hooks, saving_listeners)
        return self

    def _train(self, spec: EstimatorSpec, hooks: list[Any], listeners: Any) -> None:
        config, scaffold = self._config, spec.scaffold
        if scaffold.saver is None and not builder_for(()).get_collection(GraphKeys.SAVERS):
            saver = Saver(
                sharded=True,
                max_to_keep=config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                allow_empty=True,
            )
            builder_for(()).add_to_collection(GraphKeys.SAVERS, saver)
        summary_ops.scalar("loss", spec.loss)
        step = get_global_step()
        told = {"loss": spec.loss, "step": step}
        every = config.log_step_count_steps
        hooks = [*hooks, NanTensorHook(spec.loss), *spec.training_hooks]
        if every:
            hooks.append(LoggingTensorHook(told, every_n_iter=every))
        chief = list(spec.training_chief_hooks)
        if config.save_checkpoints_secs or config.save_checkpoints_steps:
            chief.append(
                CheckpointSaverHook(
                    self.model_dir,
                    config.save_checkpoints_secs,
                    config.save_checkpoints_steps,
                    scaffold=scaffold,
                    listeners=listeners,
                )
            )
        with MonitoredTrainingSession(
            checkpoint_dir=self.model_dir,
            scaffold=scaffold,
            hooks=hooks,
            chief_only_hooks=chief,
            save_checkpoint_secs=0,
            save_summaries_steps=config.save_summary_steps,
            config=config.session_config,
            log_step_count_steps=every,
        ) as session:
            while not session.should_stop():
                session.run([spec.train_op, spec.loss])

    def _step_saved(self) -> int:
        path = self.latest_checkpoint()
        return 0 if path is None else int(load_variable(path, GraphKeys.GLOBAL_STEP))

    def eval_dir(self, name: str | None = None) -> str:
        """Return the directory that evaluations write their metrics to, as event files.

        Args:
          name: of the evaluation, if it has one.
        """
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    # -- evaluate -----------------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics of a checkpoint, with "loss", their mean, and "global_step".

        Args:
          input_fn: returns (features, labels), or a `Dataset` of them.
          steps: how many batches; None to the end of the data.
          hooks: `SessionRunHook` objects.
          checkpoint_path: the checkpoint, by default the newest.
          name: of the evaluation: summaries are in "eval_NAME".

        Raises:
          ValueError: there is no checkpoint, or `steps` is not positive.
        """
        _check_steps(steps=steps)
        path = self._checkpoint(checkpoint_path)
        hooks = list(hooks or ())
        with self._graph():
            step = create_global_step()
            spec = self._built(input_fn, ModeKeys.EVAL, hooks)
            pairs = dict(spec.eval_metric_ops or {})
            if "loss" not in pairs:
                pairs["loss"] = metrics.mean(spec.loss)
            update = group(*[pair[1] for pair in pairs.values()])
            values = {key: pair[0] for key, pair in pairs.items()}
            values[GraphKeys.GLOBAL_STEP] = step
            last = FinalOpsHook(values)
            hooks += [*spec.evaluation_hooks, last]
            if steps is not None:
                hooks.append(_StopAfter(steps))
            with self._session(spec, path, hooks) as session:
                while not session.should_stop():
                    session.run(update)
        self._write(last.final_ops_values, name)
        return last.final_ops_values

    def _write(self, found: Mapping[str, Any], name: str | None) -> None:
        folder = self.eval_dir(name)
        values = [
            Summary.Value(tag=key, simple_value=float(value))
            for key, value in sorted(found.items())
            if key != GraphKeys.GLOBAL_STEP and numpy.ndim(value) == 0
        ]
        writer = FileWriterCache.get(folder)
        writer.add_summary(Summary(value=values), int(found[GraphKeys.GLOBAL_STEP]))
        writer.flush()
        logging.info("Saving dict for global step %s: %s", found[GraphKeys.GLOBAL_STEP], found)

    # -- predict ------------------------------------------------------------------------------

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yield predictions by a checkpoint, example by example.

        Args:
          input_fn: returns features, or (features, labels), or a `Dataset`.
          predict_keys: the keys of the predictions wanted, by default all.
          hooks: `SessionRunHook` objects.
          checkpoint_path: the checkpoint, by default the newest.
          yield_single_examples: False yields what the model gives for each batch.

        Raises:
          ValueError: there is no checkpoint, no prediction of such a key, or their batches differ.
        """
        path = self._checkpoint(checkpoint_path)
        hooks = list(hooks or ())
        with self._graph():
            create_global_step()
            spec = self._built(input_fn, ModeKeys.PREDICT, hooks)
            wanted = _selected(spec.predictions, predict_keys)
            with self._session(spec, path, [*hooks, *spec.prediction_hooks]) as session:
                while not session.should_stop():
                    found = session.run(wanted)
                    if not yield_single_examples:
                        yield found
                    elif not isinstance(found, Mapping):
                        yield from found
                    else:
                        yield from _examples(found)

    # -- export -------------------------------------------------------------------------------

    @accepts("as_text")
    def export_saved_model(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Export the model of a checkpoint, to be asked for predictions: see `tf.saved_model`.

        Args:
          export_dir_base: a directory; the model is in one of its own there, named by the time.
          serving_input_receiver_fn: makes what is fed, and features of it: returns a
            `tf.estimator.export.ServingInputReceiver`.
          assets_extra: path below the model's ``assets.extra`` -> path of a file to copy.
          checkpoint_path: the checkpoint, by default the newest.
          experimental_mode: ``ModeKeys.PREDICT``.

        Returns:
          The path of the model, as bytes.

        Raises:
          ValueError: there is no checkpoint, no such file, or no use of the model that can be
            served with what is fed.
          NotImplementedError: the mode is another.
        """
        if experimental_mode != ModeKeys.PREDICT:
            raise NotImplementedError("a model is exported to predict; save the others by a Saver")
        path = self._checkpoint(checkpoint_path)
        with self._graph():
            create_global_step()
            received = serving_input_receiver_fn()
            spec = self._spec(received.features, None, ModeKeys.PREDICT)
            config = self._config.session_config
            folder = os.fspath(export_dir_base)
            return export_built(spec, received, folder, path, config, assets_extra)

    export_savedmodel = export_saved_model

    # -- what they share ----------------------------------------------------------------------

    def _checkpoint(self, given: str | None) -> str:
        path = given or self.latest_checkpoint()
        if path is None:
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        return path

    @contextmanager
    def _graph(self) -> Iterator[None]:
        with Graph().as_default():
            if self._config.tf_random_seed is not None:
                set_random_seed(self._config.tf_random_seed)
            yield

    def _session(self, spec: EstimatorSpec, path: str, hooks: list[Any]) -> MonitoredSession:
        creator = ChiefSessionCreator(
            spec.scaffold, config=self._config.session_config, checkpoint_filename_with_path=path
        )
        return MonitoredSession(creator, hooks)

    def _built(self, input_fn: Callable[..., Any], mode: str, hooks: list[Any]) -> EstimatorSpec:
        with name_scope("input"):
            found = self._asked(input_fn, mode)
            if isinstance(found, Dataset):
                iterator = found.make_initializable_iterator()
                hooks.append(_Initializing(iterator.initializer))
                found = iterator.get_next()
        features, labels = found, None
        if isinstance(found, list | tuple):
            if len(found) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            features, labels = found
        return self._spec(features, labels, mode)

    def _spec(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        spec = self._call(features, labels, mode, self._config)
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _asked(self, input_fn: Callable[..., Any], mode: str) -> Any:
        given = {"mode": mode, "params": self._params_in(mode), "config": self._config}
        names = inspect.signature(input_fn).parameters
        return input_fn(**{name: value for name, value in given.items() if name in names})

    def _params_in(self, mode: str) -> Any:
        return self.params

    def _call(self, features: Any, labels: Any, mode: str, config: RunConfig) -> Any:
        return self._model(features, labels, mode, config, self._params_in(mode))

    def _model(self, features: Any, labels: Any, mode: str, config: RunConfig, params: Any) -> Any:
        given = {"labels": labels, "mode": mode, "params": params, "config": config}
        if labels is not None and "labels" not in self._names:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        named = {name: value for name, value in given.items() if name in self._names}
        return self._model_fn(features=features, **named)


class _Initializing(SessionRunHook):
    """Initializes an iterator in each new session."""

    def __init__(self, op: Any) -> None:
        self._op = op

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._op)


class _StopAfter(SessionRunHook):
    """Stops after so many runs."""

    def __init__(self, count: int) -> None:
        self._left = count

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()


def _check_steps(**given: int | None) -> None:
    if all(given.values()) and len(given) > 1:
        raise ValueError("Can not provide both steps and max_steps.")
    for name, value in given.items():
        if value is not None and value <= 0:
            raise ValueError(f"Must specify {name} > 0, given: {value}")


def _selected(predictions: Any, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, Mapping):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    keys = [keys] if isinstance(keys, str) else keys
    found = {key: predictions[key] for key in predictions if key in keys}
    if not found:
        raise ValueError(
            f"Expected to run at least one output from {list(predictions)}, provided {keys}."
        )
    return found


def _examples(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    counts = {key: len(value) for key, value in found.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"Batch length of predictions should be same. {counts}")
    for i in range(next(iter(counts.values()))):
        yield {key: value[i] for key, value in found.items()}
