"""Exporters: which models `train_and_evaluate` exports, and how many it keeps."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.surface.signatures import with_arguments_of_method
from daskvars.v1 import logging
from daskvars.v1.estimator.early_stopping import metrics_of_events


class Exporter(ShownByArguments):
    """What `EvalSpec.exporters` has: it is called after each evaluation.

    Source: TensorFlow 1.15, ``tf.estimator.Exporter``.

    >>> class Noted(tf.estimator.Exporter):
    ...     name = "noted"
    ...     def export(self, estimator, export_path, checkpoint_path, eval_result, is_final):
    ...         print("noted", eval_result["loss"])
    >>> spec = tf.estimator.EvalSpec(lambda: None, exporters=Noted())
    >>> spec.exporters[0].export(None, "export/noted", "model.ckpt-5", {"loss": 0.5}, True)
    noted 0.5
    """

    @property
    def name(self) -> str:
        """The name of its directory, in ``export`` of the model's."""
        raise NotImplementedError

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Export, if there is reason to.

        Args:
          estimator: the `Estimator`.
          export_path: the directory of its exports.
          checkpoint_path: the checkpoint that was evaluated.
          eval_result: its metrics.
          is_the_final_export: whether the training has ended.

        Returns:
          The path of what was exported, None if nothing was.
        """
        raise NotImplementedError


class _SavedModelExporter(Exporter):
    """Exports saved models: those of the evaluations that are wanted."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Any,
        exports_to_keep: int | None = None,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be positive number")
        self._name, self._receive, self._assets = name, serving_input_receiver_fn, assets_extra
        self._to_keep = exports_to_keep

    name: str = forwards("_name", "The name of its directory.")

    def _wants(self, estimator: Any, eval_result: dict[str, Any], is_last: bool) -> bool:
        """Whether a model is exported, given its metrics."""
        return True

    @with_arguments_of_method(Exporter.export)
    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, **found: Any
    ) -> bytes | None:
        """Export the model if it is wanted, and delete the oldest."""
        if not self._wants(estimator, found["eval_result"], found["is_the_final_export"]):
            return None
        exported: bytes = estimator.export_saved_model(
            export_path, self._receive, self._assets, checkpoint_path=checkpoint_path
        )
        delete_oldest(export_path, self._to_keep)
        return exported


@accepts("as_text")
class FinalExporter(_SavedModelExporter):
    """Exports one model, when the training has ended.

    Args:
      name: name of the directory.
      serving_input_receiver_fn: returns a `ServingInputReceiver`.
      assets_extra: path -> file, see `Estimator.export_saved_model`.

    Source: TensorFlow 1.15, ``tf.estimator.FinalExporter``.

    >>> exporter = tf.estimator.FinalExporter("last", lambda: None)
    >>> exporter.export(None, "exports", "model.ckpt-5", {}, is_the_final_export=False) is None
    True
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra)

    def _wants(self, estimator: Any, eval_result: dict[str, Any], is_last: bool) -> bool:
        if is_last:
            logging.info("Performing the final export in the end of training.")
        return is_last


@accepts("as_text")
class LatestExporter(_SavedModelExporter):
    """Exports each model that is evaluated, and keeps the newest.

    Args:
      name: name of the directory.
      serving_input_receiver_fn: returns a `ServingInputReceiver`.
      assets_extra: path -> file, see `Estimator.export_saved_model`.
      exports_to_keep: how many are kept; None keeps all.

    Raises:
      ValueError: that number is not positive.

    Source: TensorFlow 1.15, ``tf.estimator.LatestExporter``.

    >>> exporter = tf.estimator.LatestExporter("newest", lambda: None, exports_to_keep=2)
    >>> tf.estimator.EvalSpec(lambda: None, exporters=exporter).exporters[0].name
    'newest'
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, exports_to_keep)


@accepts("as_text")
class BestExporter(_SavedModelExporter):
    """Exports a model that is better than all before it.

    Args:
      name: name of the directory.
      serving_input_receiver_fn: returns a `ServingInputReceiver`.
      event_file_pattern: pattern of event files below the model's directory, which have the metrics
        of earlier trainings; None for none.
      compare_fn: ``compare_fn(best_eval_result, current_eval_result)``: whether the second is
        better; by default by a smaller "loss".
      assets_extra: path -> file, see `Estimator.export_saved_model`.
      exports_to_keep: how many are kept; None keeps all.

    Raises:
      ValueError: that number is not positive, or there is no function.

    Source: TensorFlow 1.15, ``tf.estimator.BestExporter``.

    >>> by_accuracy = tf.estimator.BestExporter(
    ...     serving_input_receiver_fn=lambda: None,
    ...     compare_fn=lambda best, current: current["accuracy"] > best["accuracy"])
    >>> by_accuracy.name
    'best_exporter'
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] | None = None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, exports_to_keep)
        self._compare, self._pattern = compare_fn or is_loss_smaller, event_file_pattern
        self._model_dir: str | None = None
        self._best: dict[str, Any] | None = None
        self._has_exported = False

    def _wants(self, estimator: Any, eval_result: dict[str, Any], is_last: bool) -> bool:
        if self._pattern and self._model_dir != estimator.model_dir:
            self._model_dir = estimator.model_dir
            self._best = self._best_of_events(os.path.join(estimator.model_dir, self._pattern))
        # The present evaluation is among the events already, so that nothing is better than it.
        if self._best is not None and self._has_exported and not self._is_better(eval_result):
            return False
        logging.info("Performing best model export.")
        self._best, self._has_exported = eval_result, True
        return True

    def _is_better(self, found: dict[str, Any]) -> bool:
        return bool(self._compare(best_eval_result=self._best, current_eval_result=found))

    def _best_of_events(self, pattern: str) -> dict[str, Any] | None:
        self._best = None
        for path in sorted(glob.glob(pattern)):
            for _, found in metrics_of_events(path):
                if self._best is None or self._is_better(found):
                    self._best = found
        return self._best


def is_loss_smaller(best_eval_result: Any, current_eval_result: Any) -> bool:
    """Return whether an evaluation has a smaller "loss" than the best one.

    Raises:
      ValueError: one of them has none.
    """
    for name, found in (("best", best_eval_result), ("current", current_eval_result)):
        if not found or "loss" not in found:
            raise ValueError(f"{name}_eval_result cannot be empty or no loss is found in it.")
    return best_eval_result["loss"] > current_eval_result["loss"]


def delete_oldest(export_path: str, to_keep: int | None) -> None:
    """Delete the exports of a directory, named by numbers, that are older than so many."""
    if to_keep is None:
        return
    numbers = sorted(int(name) for name in os.listdir(export_path) if name.isdecimal())
    for number in numbers[: max(0, len(numbers) - to_keep)]:
        shutil.rmtree(os.path.join(export_path, str(number)))


def exporters_of(exporters: Any) -> tuple[Exporter, ...]:
    """Return the exporters of an `EvalSpec`: one, several, or None.

    Raises:
      TypeError: something in it is no exporter.
      ValueError: two have one name, or one has none.
    """
    if exporters is None:
        return ()
    found = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters)
    for exporter in found:
        if not isinstance(exporter, Exporter):
            raise TypeError(
                "`exporters` must be an Exporter, an iterable of Exporter, or `None`, found "
                f"{exporters}."
            )
    names = [exporter.name for exporter in found]
    if len(set(names)) < len(names) or not all(names):
        raise ValueError(
            "`exporters` must have unique names. Such a name cannot be `None`. All exporter names: "
            f"{names}"
        )
    return found
