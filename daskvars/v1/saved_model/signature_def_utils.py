"""Signatures: which tensors of a model are fed and fetched, under names of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daskvars.dtypes import DType, as_dtype, float32, string
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.v1.graphs.signatures import SignatureDef, TensorInfo
from daskvars.v1.saved_model import signature_constants as names
from daskvars.v1.saved_model.tensor_infos import build_tensor_info

__all__ = [
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
) -> SignatureDef:
    """Return a signature.

    Args:
      inputs, outputs: name -> what `build_tensor_info` returns.
      method_name: what kind of use it is, as in ``signature_constants``.

    >>> tf.saved_model.build_signature_def(method_name="m").method_name
    'm'
    """
    return SignatureDef(dict(inputs or {}), dict(outputs or {}), method_name or "")


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """Return the signature of a prediction.

    Args:
      inputs, outputs: name -> tensor.

    Raises:
      ValueError: there are none.

    Source: TensorFlow 1.15, ``tf.saved_model.predict_signature_def``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], "x")
    ...     signature = tf.saved_model.predict_signature_def({"rows": x}, {"double": 2.0 * x})
    ...     signature.method_name, signature.inputs["rows"].name
    ('tensorflow/serving/predict', 'x:0')
    """
    for what, found in (("inputs", inputs), ("outputs", outputs)):
        if not found:
            raise ValueError(f"Prediction {what} cannot be None or empty.")
    given, made = (
        {key: build_tensor_info(tensor) for key, tensor in found.items()}
        for found in (inputs, outputs)
    )
    return build_signature_def(given, made, names.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Tensor, predictions: Tensor) -> SignatureDef:
    """Return the signature of a regression.

    Args:
      examples: string, serialized examples.
      predictions: float32.

    Raises:
      ValueError: one of them is missing, or of another dtype.

    Source: TensorFlow 1.15, ``tf.saved_model.regression_signature_def``.

    >>> with tf.Graph().as_default():
    ...     examples = tf.placeholder(tf.string, [None])
    ...     signature = tf.saved_model.regression_signature_def(examples, tf.constant([0.5]))
    ...     signature.method_name, list(signature.inputs)
    ('tensorflow/serving/regress', ['inputs'])
    """
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    given = _examples(examples, "Regression")
    outputs = {names.REGRESS_OUTPUTS: _output(predictions, float32, "Regression output", "float")}
    return build_signature_def({names.REGRESS_INPUTS: given}, outputs, names.REGRESS_METHOD_NAME)


def classification_signature_def(
    examples: Tensor, classes: Tensor | None, scores: Tensor | None
) -> SignatureDef:
    """Return the signature of a classification.

    Args:
      examples: string, serialized examples.
      classes: string, names of classes; or None.
      scores: float32, or None.

    Raises:
      ValueError: examples or both others are missing, or something is of another dtype.

    Source: TensorFlow 1.15, ``tf.saved_model.classification_signature_def``.

    >>> with tf.Graph().as_default():
    ...     examples, scores = tf.placeholder(tf.string, [None]), tf.constant([[0.1, 0.9]])
    ...     signature = tf.saved_model.classification_signature_def(examples, None, scores)
    ...     signature.method_name, list(signature.outputs)
    ('tensorflow/serving/classify', ['scores'])
    """
    given = _examples(examples, "Classification")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        found = _output(classes, string, "Classification classes", "string")
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = found
    if scores is not None:
        found = _output(scores, float32, "Classification scores", "float")
        outputs[names.CLASSIFY_OUTPUT_SCORES] = found
    return build_signature_def({names.CLASSIFY_INPUTS: given}, outputs, names.CLASSIFY_METHOD_NAME)


def _examples(examples: Any, what: str) -> TensorInfo:
    if examples is None:
        raise ValueError(f"{what} examples cannot be None.")
    if not isinstance(examples, Tensor | SparseTensor) or examples.dtype.base_dtype is not string:
        raise ValueError(f"{what} examples must be a string Tensor.")
    return build_tensor_info(examples)


def _output(tensor: Tensor, dtype: DType, what: str, kind: str) -> TensorInfo:
    found = build_tensor_info(tensor)
    if found.dtype != dtype.as_datatype_enum:
        raise ValueError(f"{what} must be a {kind} Tensor.")
    return found


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Return whether a server could use a signature: its method, and what that takes and gives.

    Args:
      signature_def: a `SignatureDef`, or None, which is none.

    Source: TensorFlow 1.15, ``tf.saved_model.is_valid_signature``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None])
    ...     signature = tf.saved_model.predict_signature_def({"x": x}, {"y": x})
    ...     other = tf.saved_model.build_signature_def(signature.inputs, {}, signature.method_name)
    ...     [tf.saved_model.is_valid_signature(s) for s in (signature, other)]
    [True, False]
    """
    if signature_def is None:
        return False
    given = {k: as_dtype(info.dtype) for k, info in signature_def.inputs.items()}
    found = {k: as_dtype(info.dtype) for k, info in signature_def.outputs.items()}
    if signature_def.method_name == names.PREDICT_METHOD_NAME:
        return bool(given) and bool(found)
    if signature_def.method_name == names.REGRESS_METHOD_NAME:
        return given == {names.REGRESS_INPUTS: string} and found == {names.REGRESS_OUTPUTS: float32}
    kinds = {names.CLASSIFY_OUTPUT_CLASSES: string, names.CLASSIFY_OUTPUT_SCORES: float32}
    return (
        signature_def.method_name == names.CLASSIFY_METHOD_NAME
        and given == {names.CLASSIFY_INPUTS: string}
        and bool(found)
        and all(kinds.get(key) is dtype for key, dtype in found.items())
    )
