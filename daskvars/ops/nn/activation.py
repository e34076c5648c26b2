"""Activations: elementwise functions between layers, each beside its gradient.

A gradient is an op of its own that takes the activation's result where that is enough, so that the
argument need not be kept, and is itself differentiable.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from daskvars.dtypes import float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import nonlinearities
from daskvars.kernels.nn import activation as kernels
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.math.arithmetic import add, multiply, negative, number, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import less, where_v2
from daskvars.ops.math.transcendental import exp, sigmoid, tanh
from daskvars.ops.rules.families import elementwise
from daskvars.ops.rules.shapes import like_first
from daskvars.surface.signatures import Argument, Family

_definition = functools.partial(elementwise, infer=like_first)
_ACTIVATIONS = Family(
    {
        "features": Argument("[...] {types}."),
        "name": Argument('name of the operation, by default "{type}".', None, "str"),
    },
    returns="[...] of the dtype of `features`.",
)

# -- rectifiers --------------------------------------------------------------------------------


def _rectifier(
    type: str, kernel: Callable[..., Any], grad_kernel: Callable[..., Any]
) -> tuple[OpDef, OpDef]:
    """Define a function that is constant or has slope 1, and its gradient by the result."""
    grad: OpDef = _definition(
        f"{type}Grad",
        "gradients:R, features:R",
        grad_kernel,
        lambda op, g: (apply(grad, g, op.inputs[1]), zeros_like(op.inputs[1])),
    )
    forward = _definition(type, "features:R", kernel, lambda op, dy: apply(grad, dy, op.outputs[0]))
    return forward, grad


RELU, RELU_GRAD = _rectifier("Relu", kernels.relu, kernels.relu_grad)
RELU6, RELU6_GRAD = _rectifier("Relu6", kernels.relu6, kernels.relu6_grad)


@_ACTIVATIONS.documents(types="real", type="Relu")
def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return max(features, 0), element by element.

    >>> relu([-1.0, 2.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(RELU, features, name=name)


@_ACTIVATIONS.documents(types="real", type="Relu6")
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Return min(max(features, 0), 6), element by element.

    Source: Krizhevsky, "Convolutional Deep Belief Networks on CIFAR-10", 2010.

    >>> relu6([-1.0, 2.0, 7.0]).numpy().tolist()
    [0.0, 2.0, 6.0]
    """
    return apply(RELU6, features, name=name)


def _leaky_slope(op: Operation, dy: Tensor) -> Tensor:
    return apply(LEAKY_RELU_GRAD, dy, op.inputs[-1], alpha=op.attrs["alpha"])


LEAKY_RELU = _definition("LeakyRelu", "features:D", kernels.leaky_relu, _leaky_slope)
LEAKY_RELU_GRAD = _definition(
    "LeakyReluGrad",
    "gradients:D, features:D",
    kernels.leaky_relu_grad,
    lambda op, g: (_leaky_slope(op, g), zeros_like(op.inputs[1])),
)


@_ACTIVATIONS.documents(types="", type="LeakyRelu")
def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Return features where they are positive, else alpha times them.

    Args:
      features: [...] floating; integers become float32.
      alpha: the slope below zero.

    Source: Maas, Hannun and Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic
    Models", 2013.

    >>> leaky_relu([-1.0, 2.0], alpha=0.5).numpy().tolist()
    [-0.5, 2.0]
    """
    with name_scope(name, "LeakyRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, float32)
        return apply(LEAKY_RELU, features, name=scope, alpha=float(alpha))


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Return the rectified features next to the rectified negative features.

    Args:
      features: [..., n, ...] real.
      name: name scope of the operations, by default "CRelu".
      axis: the axis that doubles in size.

    Returns:
      [..., 2 n, ...] of the dtype of `features`.

    Source: Shang et al., "Understanding and Improving Convolutional Neural Networks via
    Concatenated Rectified Linear Units", 2016.

    >>> crelu([-1.0, 2.0]).numpy().tolist()
    [0.0, 2.0, 1.0, 0.0]
    """
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return relu(concat([features, negative(features)], axis, name=scope), name="Relu")


# -- exponential units -------------------------------------------------------------------------


def _unit_slope(type: str, kernel: Callable[..., Any]) -> OpDef:
    """Define the gradient of a unit that is linear above zero and y + constant below."""

    def gradient(op: Operation, g: Tensor) -> Gradients:
        y, dy = op.inputs
        product = multiply(g, dy)
        below = where_v2(less(y, number(0, y)), product, number(0, product))
        return below, apply(definition, y, g)

    definition = _definition(type, "outputs:D, gradients:D", kernel, gradient)
    return definition


ELU_GRAD = _unit_slope("EluGrad", nonlinearities.elu_grad)
SELU_GRAD = _unit_slope("SeluGrad", nonlinearities.selu_grad)
ELU = _definition(
    "Elu", "features:D", nonlinearities.elu, lambda op, dy: apply(ELU_GRAD, op.outputs[0], dy)
)
SELU = _definition(
    "Selu", "features:D", nonlinearities.selu, lambda op, dy: apply(SELU_GRAD, op.outputs[0], dy)
)


@_ACTIVATIONS.documents(types="floating", type="Elu")
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return features where they are positive, else exp(features) - 1.

    Source: Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by
    Exponential Linear Units", 2015.

    >>> round(float(elu(-1.0)), 4)
    -0.6321
    """
    return apply(ELU, features, name=name)


@_ACTIVATIONS.documents(types="floating", type="Selu")
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return the exponential linear unit scaled so that activations keep mean 0 and variance 1.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> round(float(selu(1.0)), 4)
    1.0507
    """
    return apply(SELU, features, name=name)


# -- gated by themselves -----------------------------------------------------------------------


def _gelu_slope(op: Operation, dy: Tensor) -> Tensor:
    return apply(GELU_GRAD, op.inputs[0], dy, approximate=op.attrs["approximate"])


def _gelu_grad_gradient(op: Operation, g: Tensor) -> Gradients:
    x, dy = op.inputs
    bend = _tanh_bend(x) if op.attrs["approximate"] else _normal_bend(x)
    return multiply(multiply(g, dy), bend), _gelu_slope(op, g)


def _normal_bend(x: Tensor) -> Tensor:
    """Return the second derivative of x P(X <= x): the normal density times 2 - x²."""
    squared = square(x)
    density = exp(multiply(squared, number(-0.5, x)))
    scaled = multiply(density, number(1 / math.sqrt(2 * math.pi), x))
    return multiply(scaled, subtract(number(2, x), squared))


def _tanh_bend(x: Tensor) -> Tensor:
    """Return the second derivative of x (1 + tanh u) / 2, u = c (x + a x³)."""
    scale, cube = nonlinearities.TANH_SCALE, nonlinearities.TANH_CUBE
    squared, one = square(x), number(1, x)
    slope = multiply(number(scale, x), add(one, multiply(number(3 * cube, x), squared)))
    u = multiply(multiply(number(scale, x), x), add(one, multiply(number(cube, x), squared)))
    t = tanh(u)
    inner = subtract(slope, multiply(multiply(x, t), square(slope)))
    inner = add(inner, multiply(number(3 * scale * cube, x), squared))
    return multiply(subtract(one, square(t)), inner)


GELU = _definition("Gelu", "features:D", nonlinearities.gelu, _gelu_slope)
GELU_GRAD = _definition(
    "GeluGrad", "features:D, gradients:D", nonlinearities.gelu_grad, _gelu_grad_gradient
)


@_ACTIVATIONS.documents(types="floating", type="Gelu")
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return features times the probability that a normal variable is below them.

    Args:
      approximate: use the tanh formula instead of the error function.

    Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016; `tf.nn.gelu`.

    >>> round(float(gelu(1.0)), 4), round(float(gelu(1.0, approximate=True)), 4)
    (0.8413, 0.8412)
    """
    return apply(GELU, features, name=name, approximate=bool(approximate))


def _swish_grad_gradient(op: Operation, g: Tensor) -> Gradients:
    dy, x = op.inputs
    s, one, two = sigmoid(x), number(1, x), number(2, x)
    bend = add(two, multiply(x, subtract(one, multiply(two, s))))
    bend = multiply(multiply(s, subtract(one, s)), bend)
    return apply(SWISH_GRAD, g, x), multiply(multiply(g, dy), bend)


SWISH = _definition(
    "Swish", "features:D", kernels.swish, lambda op, dy: apply(SWISH_GRAD, dy, op.inputs[0])
)
SWISH_GRAD: OpDef = _definition(
    "SwishGrad", "gradients:D, features:D", kernels.swish_grad, _swish_grad_gradient
)


@_ACTIVATIONS.documents(types="floating", type="swish")
def swish(features: TensorLike, name: str | None = None) -> Tensor:
    """Return features times their sigmoid.

    Source: Ramachandran, Zoph and Le, "Searching for Activation Functions", 2017.

    >>> round(float(swish(1.0)), 4)
    0.7311
    """
    return apply(SWISH, features, name=name or "swish")


silu = swish
