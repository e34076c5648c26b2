"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from daskvars.errors import did_you_mean
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math import transcendental
from daskvars.ops.nn import activation as nn_activation
from daskvars.ops.nn import softmax as nn_softmax

# A function of a tensor, or its name.
Activation: TypeAlias = str | Callable[[Any], Any]

_BY_NAME: dict[str, Callable[[Any], Any]] = {
    "elu": nn_activation.elu,
    "gelu": nn_activation.gelu,
    "linear": identity,
    "relu": nn_activation.relu,
    "relu6": nn_activation.relu6,
    "selu": nn_activation.selu,
    "sigmoid": transcendental.sigmoid,
    "softmax": nn_softmax.softmax,
    "softplus": transcendental.softplus,
    "softsign": transcendental.softsign,
    "swish": nn_activation.swish,
    "tanh": transcendental.tanh,
}


def activation_of(value: Activation | None) -> Callable[[Any], Any] | None:
    """Return a function, the one of that name, or None as it is.

    Raises:
      ValueError: there is no function of that name.

    >>> activation_of("tanh")(0.0).numpy().item()
    0.0
    """
    if not isinstance(value, str):
        return value
    if value not in _BY_NAME:
        raise ValueError(f"Unknown activation function: {value!r}{did_you_mean(value, _BY_NAME)}")
    return _BY_NAME[value]
