"""Heads of models: what logits mean. Each has a loss, predictions, metrics and exported outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from daskvars import metrics
from daskvars.dtypes import float32, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.losses.classification import sigmoid_cross_entropy, sparse_softmax_cross_entropy
from daskvars.losses.differences import mean_squared_error
from daskvars.losses.reduction import Reduction, compute_weighted_loss
from daskvars.ops.array.constant import constant, shape as shape_of
from daskvars.ops.array.joining import concat
from daskvars.ops.array.repeating import tile
from daskvars.ops.array.reshaping import expand_dims, identity, reshape
from daskvars.ops.checks.assertions import assert_less, assert_less_equal, assert_non_negative
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import maximum
from daskvars.ops.math.casting import cast
from daskvars.ops.math.reduce import argmax, reduce_sum
from daskvars.ops.math.transcendental import sigmoid
from daskvars.ops.nn.softmax import softmax
from daskvars.ops.nn.weighting import broadcast_weights
from daskvars.ops.strings import as_string
from daskvars.summary.summary_ops import scalar
from daskvars.v1.estimator.export import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from daskvars.v1.estimator.specs import EstimatorSpec, ModeKeys
from daskvars.v1.feature_column.numeric import NumericColumn
from daskvars.v1.lookup.vocabularies import (
    index_table_from_tensor,
    index_to_string_table_from_tensor,
)
from daskvars.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Loss(NamedTuple):
    """What a head says of a batch with labels.

    Attributes:
      total: what is trained, a scalar.
      each: [batch, ...], the losses of examples.
      weights: of these, a number or [batch, 1].
      labels: as metrics take them.
    """

    total: Tensor
    each: Tensor
    weights: Any
    labels: Tensor


class Head(ABC):
    """What logits mean.

    Args:
      weight_column: the feature that weighs losses: its key, or a numeric column.
      loss_reduction: how losses of examples become one, of `tf.losses.Reduction`.

    Raises:
      ValueError: there is no such reduction, or it leaves them as they are.
      TypeError: `weight_column` is neither a key nor a numeric column.
    """

    logits_dimension: int

    def __init__(self, weight_column: Any, loss_reduction: str) -> None:
        Reduction.validate(loss_reduction)
        if loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        if weight_column is not None and not isinstance(weight_column, str | NumericColumn):
            raise TypeError(
                "Weight column must be either a string or NumericColumn. Given type: "
                f"{type(weight_column)}."
            )
        self.weight_column, self._reduction = weight_column, loss_reduction

    @abstractmethod
    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        """Return what is predicted, by name, of logits [batch, logits_dimension]."""

    @abstractmethod
    def outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        """Return what an exported model can be asked for, by name."""

    @abstractmethod
    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of examples, and the labels as metrics take them."""

    @abstractmethod
    def metrics(self, predictions: Mapping[str, Tensor], loss: Loss) -> dict[str, Any]:
        """Return the metrics of an evaluation, by name."""

    def _weights(self, features: Mapping[str, Any]) -> Any:
        """Return the weights of examples, [batch, 1], or 1."""
        column = self.weight_column
        if column is None:
            return 1.0
        if isinstance(column, str):
            column = NumericColumn(column, (1,), None, float32, None)
        if column.key not in features:
            raise ValueError(
                f"Weights are in the feature {column.key!r}, which is not among {sorted(features)}"
            )
        weights = convert_to_tensor(features[column.key])
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise ValueError(f"Weight column should be castable to float, found {weights.dtype}")
        weights = reshape(cast(weights, float32), [-1, 1])
        return weights if column.normalizer_fn is None else column.normalizer_fn(weights)

    def loss(self, features: Mapping[str, Any], logits: Tensor, labels: Any) -> Loss:
        """Return the loss of a batch.

        Args:
          features: key -> tensor, of which one may be weights.
          logits: [batch, logits_dimension].
          labels: [batch] or [batch, labels of an example].

        Raises:
          ValueError: there are no labels, or their shape or dtype does not fit.
        """
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: "
                "Check that your data contains your label feature. Check that your input_fn "
                "properly parses and returns labels."
            )
        each, known = self.losses(logits, _as_matrix(labels))
        weights = self._weights(features)
        total = compute_weighted_loss(each, weights, reduction=self._reduction)
        return Loss(total, each, weights, known)

    def spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Tensor,
        labels: Any,
        train_op_fn: Callable[[Tensor], Any],
    ) -> EstimatorSpec:
        """Return what a ``model_fn`` returns.

        Args:
          features: key -> tensor.
          mode: one of `ModeKeys`.
          logits: [batch, logits_dimension].
          labels: [batch] or [batch, labels of an example].
          train_op_fn: takes the loss, and returns the operation that trains.
        """
        with name_scope("head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = self.outputs(predictions)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            loss = self.loss(features, logits, labels)
            if mode == ModeKeys.EVAL:
                found = self.metrics(predictions, loss)
                return EstimatorSpec(mode, predictions, loss.total, eval_metric_ops=found)
            train_op = train_op_fn(loss.total)
        with name_scope(""):
            scalar("loss", loss.total)
            if self._reduction == Reduction.SUM:
                weight = reduce_sum(broadcast_weights(loss.weights, loss.each))
                scalar("average_loss", loss.total / weight)
        return EstimatorSpec(mode, predictions, loss.total, train_op)


def _as_matrix(labels: Any) -> Tensor:
    """Return labels with a dimension for those of an example."""
    found = convert_to_tensor(labels)
    rank = found.shape.ndims
    if rank is None:
        raise ValueError("the rank of labels is not known: set_shape() says it")
    return expand_dims(found, -1) if rank == 1 else found


def _check_dimension(labels: Tensor, wanted: int) -> None:
    size = labels.shape.as_list()[-1]
    if size not in (None, wanted):
        raise ValueError(
            "Mismatched label shape. Classifier configured with n_classes=1 or label_dimension="
            f"{wanted}, received {size}. Suggested Fix: check your n_classes argument to the "
            f"estimator and/or the shape of your label. Expected labels dimension={wanted}."
        )


class _Classes(Head):
    """A head of classes, which have names or numbers.

    Args:
      n_classes: how many there are.
      weight_column, loss_reduction: see `Head`.
      label_vocabulary: the names that labels are; by default they are numbers.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any,
        label_vocabulary: Sequence[str] | None,
        loss_reduction: str,
    ) -> None:
        super().__init__(weight_column, loss_reduction)
        if label_vocabulary is not None and not isinstance(label_vocabulary, list | tuple):
            raise ValueError(
                f"label_vocabulary should be a list or tuple. Given type: {type(label_vocabulary)}"
            )
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f"label_vocabulary has {len(label_vocabulary)} names for {n_classes} classes"
            )
        self._n_classes, self._vocabulary = n_classes, label_vocabulary

    def _ids(self, labels: Tensor) -> Tensor:
        """Return labels as numbers, by their names if they have some."""
        _check_dimension(labels, 1)
        if self._vocabulary is None:
            return labels
        if labels.dtype.base_dtype is not string:
            raise ValueError(
                "Labels dtype should be string if there is a vocabulary. Instead got "
                f"{labels.dtype}"
            )
        table = index_table_from_tensor(list(self._vocabulary), name="class_id_lookup")
        return table.lookup(labels)

    def _checked(self, ids: Tensor, largest: int, check: Callable[..., Any]) -> Tensor:
        """Return labels that are checked to be those of classes when they are run."""
        checks = [
            check(
                ids,
                constant(largest, ids.dtype.base_dtype),
                message=f"Labels must be <= n_classes - 1: {self._n_classes - 1}",
            ),
            assert_non_negative(ids, message="Labels must be >= 0"),
        ]
        with control_dependencies(checks):
            return identity(ids)

    def _names(self, ids: Tensor) -> Tensor:
        """Return the names of classes, or their numbers as text."""
        if self._vocabulary is None:
            return as_string(ids, name="str_classes")
        table = index_to_string_table_from_tensor(
            list(self._vocabulary), name="class_string_lookup"
        )
        return table.lookup(ids)

    def outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        scores = predictions["probabilities"]
        names = self._vocabulary or [str(number) for number in range(self._n_classes)]
        classes = tile(expand_dims(constant(list(names)), 0), [shape_of(scores)[0], 1])
        classified = ClassificationOutput(scores, classes)
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: classified,
            "classification": classified,
            "predict": PredictOutput(dict(predictions)),
        }


class MultiClassHead(_Classes):
    """Of several classes each example has one: softmax.

    Args:
      n_classes: how many there are, three at least.
      weight_column, label_vocabulary, loss_reduction: see `Head` and `BinaryClassHead`.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction)
        self.logits_dimension = n_classes

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        ids = expand_dims(argmax(logits, -1, name="class_ids"), -1)
        return {
            "logits": logits,
            "probabilities": softmax(logits, name="probabilities"),
            "class_ids": ids,
            "classes": self._names(ids),
        }

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        ids = self._ids(labels)
        if not ids.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {ids.dtype}.")
        ids = self._checked(ids, self._n_classes, assert_less)
        each = sparse_softmax_cross_entropy(
            ids, logits, reduction=Reduction.NONE, loss_collection=None
        )
        return reshape(each, [-1, 1]), ids

    def metrics(self, predictions: Mapping[str, Tensor], loss: Loss) -> dict[str, Any]:
        with name_scope("metrics"):
            return {
                "average_loss": metrics.mean(loss.each, loss.weights, name="average_loss"),
                "accuracy": metrics.accuracy(
                    loss.labels, predictions["class_ids"], loss.weights, name="accuracy"
                ),
            }


class BinaryClassHead(_Classes):
    """Each example is of one of two classes: the logistic function.

    Args:
      weight_column, loss_reduction: see `Head`.
      label_vocabulary: the names that labels are, the second that of the class which is predicted;
        by default they are numbers from 0 to 1, or bools.
    """

    logits_dimension = 1

    def __init__(
        self,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        super().__init__(2, weight_column, label_vocabulary, loss_reduction)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        logistic = sigmoid(logits, name="logistic")
        both = concat([constant(0.0) * logits, logits], -1)
        ids = expand_dims(argmax(both, -1, name="class_ids"), -1)
        return {
            "logits": logits,
            "logistic": logistic,
            "probabilities": softmax(both, name="probabilities"),
            "class_ids": ids,
            "classes": self._names(ids),
        }

    def outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        return {
            **super().outputs(predictions),
            "regression": RegressionOutput(predictions["logistic"]),
        }

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        ids = self._ids(labels)
        if ids.dtype.base_dtype is string:
            raise ValueError(
                "Labels are strings: label_vocabulary says which is which class, in their order"
            )
        ids = self._checked(cast(ids, float32), 1, assert_less_equal)
        return sigmoid_cross_entropy(
            ids, logits, reduction=Reduction.NONE, loss_collection=None
        ), ids

    def metrics(self, predictions: Mapping[str, Tensor], loss: Loss) -> dict[str, Any]:
        labels, weights = loss.labels, loss.weights
        logistic, ids = predictions["logistic"], predictions["class_ids"]
        with name_scope("metrics"):
            share = metrics.mean(labels, weights, name="label/mean")
            baseline = tuple(maximum(part, 1.0 - part) for part in share)
            return {
                "average_loss": metrics.mean(loss.each, weights, name="average_loss"),
                "accuracy": metrics.accuracy(labels, ids, weights, name="accuracy"),
                "precision": metrics.precision(labels, ids, weights, name="precision"),
                "recall": metrics.recall(labels, ids, weights, name="recall"),
                "prediction/mean": metrics.mean(logistic, weights, name="prediction/mean"),
                "label/mean": share,
                "accuracy_baseline": baseline,
                "auc": metrics.auc(labels, logistic, weights, name="auc"),
                "auc_precision_recall": metrics.auc(
                    labels,
                    logistic,
                    weights,
                    curve="PR",
                    summation_method="careful_interpolation",
                    name="auc_precision_recall",
                ),
            }


class RegressionHead(Head):
    """Logits are numbers that labels are close to: the squared error.

    Args:
      weight_column, loss_reduction: see `Head`.
      label_dimension: how many numbers an example has.
    """

    def __init__(
        self,
        weight_column: Any = None,
        label_dimension: int = 1,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        super().__init__(weight_column, loss_reduction)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self.logits_dimension = label_dimension

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"predictions": logits}

    def outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        regression = RegressionOutput(predictions["predictions"])
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: regression,
            "regression": regression,
            "predict": PredictOutput(dict(predictions)),
        }

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        _check_dimension(labels, self.logits_dimension)
        known = cast(labels, float32)
        return mean_squared_error(
            known, logits, reduction=Reduction.NONE, loss_collection=None
        ), known

    def metrics(self, predictions: Mapping[str, Tensor], loss: Loss) -> dict[str, Any]:
        found = predictions["predictions"]
        with name_scope("metrics"):
            return {
                "average_loss": metrics.mean(loss.each, loss.weights, name="average_loss"),
                "prediction/mean": metrics.mean(found, loss.weights, name="prediction/mean"),
                "label/mean": metrics.mean(loss.labels, loss.weights, name="label/mean"),
            }
