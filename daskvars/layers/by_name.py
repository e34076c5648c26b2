"""What arguments of layers may give by name: activations, initializers, regularizers, constraints.

Names and what they stand for are Keras's, which TensorFlow's layers are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from daskvars.errors import did_you_mean
from daskvars.graph.tensor import Tensor
from daskvars.ops.math import transcendental
from daskvars.ops.math.arithmetic import abs, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.clip import clip_by_value
from daskvars.ops.math.comparison import greater_equal
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn import activation as nn_activation, softmax as nn_softmax
from daskvars.variables import initializers

# A function of a tensor, or its name.
Activation: TypeAlias = str | Callable[[Any], Any]

_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # in `HeNormal`, what `he_normal` has
# What Keras takes where a name alone is given.
_SCALE, _STDDEV, _LIMIT, _NORM, _EPSILON = 0.01, 0.05, 0.05, 2.0, 1e-7


def _hard_sigmoid(x: Tensor) -> Tensor:
    return clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def _l1(w: Tensor) -> Tensor:
    return _SCALE * reduce_sum(abs(w))


def _l2(w: Tensor) -> Tensor:
    return _SCALE * reduce_sum(square(w))


def _of_norm(w: Tensor, most: Callable[[Tensor], Any]) -> Tensor:
    lengths = sqrt(reduce_sum(square(w), axis=0, keepdims=True))
    return w * (most(lengths) / (_EPSILON + lengths))


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "elu": nn_activation.elu,
    "exponential": transcendental.exp,
    "gelu": nn_activation.gelu,
    "hard_sigmoid": _hard_sigmoid,
    "leaky_relu": nn_activation.leaky_relu,
    "linear": lambda x: x,
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

_random_normal = partial(initializers.RandomNormal, stddev=_STDDEV)
_random_uniform = partial(initializers.RandomUniform, -_LIMIT, _LIMIT)
_INITIALIZERS: dict[str, Callable[[], initializers.Initializer]] = {
    "constant": initializers.Constant,
    "glorot_normal": initializers.GlorotNormal,
    "glorot_uniform": initializers.GlorotUniform,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "identity": initializers.Identity,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
    "normal": _random_normal,
    "ones": initializers.Ones,
    "orthogonal": initializers.Orthogonal,
    "random_normal": _random_normal,
    "random_uniform": _random_uniform,
    "truncated_normal": partial(initializers.TruncatedNormal, stddev=_STDDEV),
    "uniform": _random_uniform,
    "variance_scaling": initializers.VarianceScaling,
    "zeros": initializers.Zeros,
}
_REGULARIZERS: dict[str, Callable[[Any], Any]] = {
    "l1": _l1,
    "l1_l2": lambda w: _l1(w) + _l2(w),
    "l2": _l2,
}
_CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    "max_norm": partial(_of_norm, most=lambda lengths: clip_by_value(lengths, 0.0, _NORM)),
    "non_neg": lambda w: w * cast(greater_equal(w, 0.0), w.dtype),
    "unit_norm": partial(_of_norm, most=lambda lengths: 1.0),
}


def activation_of(value: Activation | None) -> Callable[[Any], Any] | None:
    """Return a function, the one of that name, or None as it is.

    Raises:
      ValueError: there is no function of that name.

    >>> activation_of("tanh")(0.0).numpy().item()
    0.0
    """
    return _named("activation function", value, _ACTIVATIONS)


def initializer_of(value: Any) -> Any:
    """Return a new initializer of that name (`glorot_uniform` or `GlorotUniform`, say), or `value`.

    Raises:
      ValueError: there is no initializer of that name.

    >>> initializer_of("ones")([2]).numpy().tolist()
    [1.0, 1.0]
    """
    if not isinstance(value, str):
        return value
    return _named("initializer", value, _INITIALIZERS)()


def regularizer_of(value: Any) -> Any:
    """Return the regularizer of that name, with a scale of 0.01, or `value`.

    Raises:
      ValueError: there is no regularizer of that name.

    >>> regularizer_of("l2")([3.0, 4.0]).numpy().item()
    0.25
    """
    return _named("regularizer", value, _REGULARIZERS)


def constraint_of(value: Any) -> Any:
    """Return the constraint of that name, or `value`; norms are those of columns, at most 2.

    Raises:
      ValueError: there is no constraint of that name.

    >>> constraint_of("non_neg")(dv.constant([-1.0, 2.0])).numpy().tolist()
    [-0.0, 2.0]
    """
    return _named("constraint", value, _CONSTRAINTS)


def _named(what: str, value: Any, found: dict[str, Any]) -> Any:
    if not isinstance(value, str):
        return value
    name = value if value in found else _CAPITALS.sub("_", value).lower()
    if name not in found:
        raise ValueError(f"Unknown {what}: {value!r}{did_you_mean(value, found)}")
    return found[name]
