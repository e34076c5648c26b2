"""`tf.estimator.export`: what an exported model is fed, and what it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from daskvars.dtypes import float32, string
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.placeholders import placeholder
from daskvars.ops.parsing import parse_example
from daskvars.surface.one_line import ShownByArguments
from daskvars.v1 import logging
from daskvars.v1.graphs.signatures import SignatureDef
from daskvars.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from daskvars.v1.saved_model.signature_def_utils import (
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "TensorServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]


# -- what it is fed -------------------------------------------------------------------------------


class _Received(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


class ServingInputReceiver(_Received):
    """What a ``serving_input_receiver_fn`` returns: features, and the tensors that are fed.

    Args:
      features: a tensor, or a dict of tensors: what the ``model_fn`` is given.
      receiver_tensors: a tensor, or a dict of tensors, that are fed.
      receiver_tensors_alternatives: name -> other tensors that may be fed instead.

    Raises:
      ValueError: something is missing, or is no tensor.

    Source: TensorFlow 1.15, ``tf.estimator.export.ServingInputReceiver``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], "x")
    ...     receiver = ServingInputReceiver({"x": x}, x)
    ...     receiver.features["x"] is x, receiver.receiver_tensors["input"] is x
    (True, True)
    """

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        named = _named(features, "features", "feature")
        return _received(cls, named, receiver_tensors, receiver_tensors_alternatives)


class TensorServingInputReceiver(_Received):
    """The same for a ``model_fn`` whose features are one tensor.

    Args:
      features: the tensor.
      receiver_tensors, receiver_tensors_alternatives: see `ServingInputReceiver`.

    Raises:
      ValueError: something is missing, or is no tensor.

    Source: TensorFlow 1.15, ``tf.estimator.export.TensorServingInputReceiver``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], "x")
    ...     TensorServingInputReceiver(x, {"rows": x}).features is x
    True
    """

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        _named(features, "features", "feature")
        if not isinstance(features, Tensor | SparseTensor):
            raise ValueError("feature must be a Tensor or SparseTensor.")
        return _received(cls, features, receiver_tensors, receiver_tensors_alternatives)


def _received(cls: Any, features: Any, tensors: Any, alternatives: Any) -> Any:
    if alternatives is not None and not isinstance(alternatives, Mapping):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
    others = None
    if alternatives is not None:
        others = {
            key: _named(found, f"receiver_tensors_alternatives {key!r}", "input")
            for key, found in alternatives.items()
        }
    return _Received.__new__(cls, features, _named(tensors, "receiver_tensors", "input"), others)


def _named(tensors: Any, what: str, name: str) -> dict[str, Any]:
    """Return tensors by names: `name` for a single one."""
    if tensors is None:
        raise ValueError(f"{what} must be defined.")
    found = dict(tensors) if isinstance(tensors, Mapping) else {name: tensors}
    for key, tensor in found.items():
        if not isinstance(key, str):
            raise ValueError(f"{what} keys must be strings: {key}.")
        if not isinstance(tensor, Tensor | SparseTensor):
            raise ValueError(f"{what} {key} must be a Tensor or SparseTensor.")
    return found


def build_raw_serving_input_receiver_fn(
    features: Any, default_batch_size: int | None = None
) -> Callable[[], Any]:
    """Return a function that makes a placeholder like each feature, which is fed as it is.

    Args:
      features: name -> tensor, or one tensor.
      default_batch_size: the first dimension of the placeholders; None for any.

    Source: TensorFlow 1.15, ``tf.estimator.export.build_raw_serving_input_receiver_fn``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [8, 2], name="x")
    ...     receive = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": x})
    >>> with tf.Graph().as_default():
    ...     receive().features["x"].shape.as_list()
    [None, 2]
    """

    def serving_input_receiver_fn() -> Any:
        if not isinstance(features, Mapping):
            single = _like(features, default_batch_size)
            return TensorServingInputReceiver(single, single)
        found = {key: _like(tensor, default_batch_size) for key, tensor in features.items()}
        return ServingInputReceiver(found, found)

    return serving_input_receiver_fn


def _like(tensor: Tensor, batch_size: int | None) -> Tensor:
    shape = None if tensor.shape.ndims is None else [batch_size, *tensor.shape.as_list()[1:]]
    name = tensor.op.name if tensor.graph is not None else None
    return placeholder(tensor.dtype.base_dtype, shape, name)


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function that makes features of serialized examples, which are fed.

    Args:
      feature_spec: as `parse_example` takes it.
      default_batch_size: how many examples; None for any number.

    Returns:
      A function of no arguments that returns a `ServingInputReceiver`: the features of serialized
      examples, which are fed as [default_batch_size] string.

    Source: TensorFlow 1.15, ``tf.estimator.export.build_parsing_serving_input_receiver_fn``.

    >>> features = {"x": tf.FixedLenFeature([2], tf.float32)}
    >>> with tf.Graph().as_default():
    ...     receiver = build_parsing_serving_input_receiver_fn(features)()
    ...     receiver.receiver_tensors["examples"].name, receiver.features["x"].shape.as_list()
    ('input_example_tensor:0', [None, 2])
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        examples = placeholder(string, [default_batch_size], "input_example_tensor")
        features = parse_example(examples, dict(feature_spec))
        return ServingInputReceiver(features, {"examples": examples})

    return serving_input_receiver_fn


# -- what it is asked for -------------------------------------------------------------------------


class ExportOutput(ShownByArguments):
    """One use of an exported model: what is in ``EstimatorSpec.export_outputs``.

    Source: TensorFlow 1.15, ``tf.estimator.export.ExportOutput``.

    >>> with tf.Graph().as_default():
    ...     output = tf.estimator.export.PredictOutput({"double": tf.constant([2.0])})
    ...     isinstance(output, tf.estimator.export.ExportOutput)
    True
    """

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        """Return the signature of the use, for the tensors that are fed.

        Raises:
          ValueError: these tensors cannot be fed in such a use.
        """
        raise NotImplementedError


class PredictOutput(ExportOutput):
    """Any tensors, by name.

    Args:
      outputs: a tensor, or a dict of them.

    Raises:
      ValueError: a name is no text, or a value no tensor.

    Source: TensorFlow 1.15, ``tf.estimator.export.PredictOutput``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], "x")
    ...     signature = PredictOutput({"double": 2.0 * x}).as_signature_def({"x": x})
    ...     list(signature.inputs), list(signature.outputs)
    (['x'], ['double'])
    """

    def __init__(self, outputs: Any) -> None:
        self.outputs = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        for key, tensor in self.outputs.items():
            if not isinstance(key, str):
                raise ValueError(f"Prediction output key must be a string; got {key!r}")
            if not isinstance(tensor, Tensor | SparseTensor):
                raise ValueError(f"Prediction output value must be a Tensor; got {tensor}")

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        """Return the signature of a prediction."""
        return predict_signature_def(receiver_tensors, self.outputs)


class RegressionOutput(ExportOutput):
    """A number for each serialized example.

    Args:
      value: floating.

    Raises:
      ValueError: it is not.

    Source: TensorFlow 1.15, ``tf.estimator.export.RegressionOutput``.

    >>> with tf.Graph().as_default():
    ...     examples = tf.placeholder(tf.string, [None], "examples")
    ...     output = RegressionOutput(tf.constant([0.5]))
    ...     list(output.as_signature_def({"examples": examples}).outputs)
    ['outputs']
    """

    def __init__(self, value: Tensor) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        """Return the signature of a regression."""
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


class ClassificationOutput(ExportOutput):
    """Classes, and how likely each is, for each serialized example.

    Args:
      scores: floating, [batch] or [batch, classes].
      classes: string, [batch] or [batch, classes].

    Raises:
      ValueError: both are missing, or one is of another dtype.

    Source: TensorFlow 1.15, ``tf.estimator.export.ClassificationOutput``.

    >>> with tf.Graph().as_default():
    ...     examples = tf.placeholder(tf.string, [None], "examples")
    ...     output = tf.estimator.export.ClassificationOutput(scores=tf.constant([[0.1, 0.9]]))
    ...     output.as_signature_def({"examples": examples}).method_name
    'tensorflow/serving/classify'
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (
            isinstance(classes, Tensor) and classes.dtype.base_dtype is string
        ):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> SignatureDef:
        """Return the signature of a classification."""
        examples = _examples(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


def _examples(receiver_tensors: Mapping[str, Any], what: str) -> Any:
    found = list(receiver_tensors.values())
    if len(found) != 1 or found[0].dtype.base_dtype is not string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return found[0]


# -- both together --------------------------------------------------------------------------------


def export_outputs_of(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """Return the uses of a model by name, one of them the default.

    Args:
      export_outputs: what the ``model_fn`` says, None for the predictions alone.
      predictions: a tensor or a dict of them.

    Raises:
      TypeError: `export_outputs` is no dict, or has other values.
      ValueError: of several none is the default.
    """
    key = DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        return {key: PredictOutput(predictions)}
    if not isinstance(export_outputs, Mapping):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for output in export_outputs.values():
        if not isinstance(output, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
            )
    found = dict(export_outputs)
    if len(found) == 1:
        return {**found, key: next(iter(found.values()))}
    if key not in found:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default. "
            " Do this by naming one of them with "
            "signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return found


def signatures_for(
    received: Any, export_outputs: Mapping[str, ExportOutput]
) -> dict[str, SignatureDef]:
    """Return the signatures of a model that a server could use, by their keys.

    Raises:
      ValueError: there is none.
    """
    given = {"": received.receiver_tensors, **(received.receiver_tensors_alternatives or {})}
    found, excluded = {}, []
    for receiver, tensors in given.items():
        for key, output in export_outputs.items():
            name = f"{receiver}:{key}" if receiver else key
            try:
                signature = output.as_signature_def(tensors)
            except ValueError as error:
                excluded.append(f"{name}: {error}")
                continue
            if is_valid_signature(signature):
                found[name] = signature
            else:
                excluded.append(f"{name}: {float32.name} outputs and string examples are needed")
    for why in excluded:
        logging.info("Signature excluded from export because it cannot be served: %s", why)
    if not found:
        raise ValueError(
            "none of export_outputs can be served with what serving_input_receiver_fn gives: "
            + "; ".join(excluded)
        )
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in found:
        logging.warning("Export includes no default signature!")
    return found
