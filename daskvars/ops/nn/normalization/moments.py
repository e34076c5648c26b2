"""Normalization by given moments, by neighbouring channels, and to unit length."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import normalization as kernels
from daskvars.ops.math.arithmetic import add, maximum, multiply, negative, number, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import exp, log, rsqrt
from daskvars.ops.nn.windows.arguments import image_shape
from daskvars.ops.rules.axes import either
from daskvars.ops.rules.shapes import like_first


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """Return scale (x - mean) / sqrt(variance + variance_epsilon) + offset.

    Args:
      x: [...] floating.
      mean: floating, of a shape that broadcasts with `x`.
      variance: likewise.
      offset: likewise, or None for 0.
      scale: likewise, or None for 1.
      variance_epsilon: small number that keeps the root away from 0.
      name: name scope of the operations, by default "batchnorm".

    Returns:
      [...] of the dtype of `x`.

    Source: Ioffe and Szegedy, "Batch Normalization", 2015.

    >>> batch_normalization([3.0], 1.0, 4.0, 10.0, 2.0, 0.0).numpy().tolist()
    [12.0]
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x, variance = convert_to_tensor(x, name="x"), convert_to_tensor(variance, name="variance")
        dtype = x.dtype.base_dtype
        inverse = rsqrt(add(variance, number(variance_epsilon, variance), name="add"))
        if scale is not None:
            inverse = multiply(inverse, scale, name="mul")
        scaled = multiply(x, cast(inverse, dtype), name="mul")
        if offset is None:
            shift = multiply(negative(mean), inverse, name="mul")
        else:
            shift = subtract(offset, multiply(mean, inverse, name="mul"), name="sub")
        return add(scaled, cast(shift, dtype), name="add")


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: TensorLike | None = None,
    variance_epsilon: float = 0.001,
    scale_after_normalization: bool = False,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """Normalize by given moments: the old form of `batch_normalization`.

    Args:
      t: [batch, height, width, channels] floating.
      m: [channels], the mean.
      v: [channels], the variance.
      beta: [channels], added at the end.
      gamma: [channels], the scale.
      variance_epsilon: small number that keeps the root away from 0.
      scale_after_normalization: whether `gamma` counts.
      name: name scope of the operations, by default "batchnorm".
      input: the new name of `t`.
      mean: the new name of `m`.
      variance: the new name of `v`.

    Returns:
      [batch, height, width, channels] of the dtype of `t`.

    >>> batch_norm_with_global_normalization([[[[3.0]]]], [1.0], [4.0], [10.0], [2.0], 0.0,
    ...                                      True).numpy().ravel().tolist()
    [12.0]
    """
    t, m = either(input, t, "input", "t"), either(mean, m, "mean", "m")
    v = either(variance, v, "variance", "v")
    scale = gamma if scale_after_normalization else None
    return batch_normalization(t, m, v, beta, scale, variance_epsilon, name)


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Scale x so that the sum of squares along an axis is 1.

    Args:
      x: [...] floating.
      axis: int or list of ints: the axes of the sum, None for all.
      epsilon: the least sum of squares to divide by.
      name: name of the operation, by default "l2_normalize".
      dim: the old name of `axis`.

    Returns:
      [...] of the dtype of `x`.

    Raises:
      ValueError: an axis is given under both of its names, or there is no such axis.

    >>> [round(float(v), 4) for v in l2_normalize([3.0, 4.0], axis=0).numpy()]
    [0.6, 0.8]
    """
    axis = either(axis, dim, "axis", "dim")
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(square(x), axis, keepdims=True)
        return multiply(x, rsqrt(maximum(total, number(epsilon, total))), name=scope)


# -- neighbouring channels ---------------------------------------------------------------------


def _window(x: Tensor, op: Any) -> Tensor:
    return apply(CHANNEL_WINDOW_SUM, x, depth_radius=op.attrs["depth_radius"])


CHANNEL_WINDOW_SUM = OpDef(
    "ChannelWindowSum",
    "x:F",
    infer=like_first,
    pattern=Contraction("..._->..._", None),
    kernel=kernels.channel_window_sum,
    gradient=lambda op, dy: _window(dy, op),
)


def _local_response_gradient(op: Operation, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    bias, alpha, beta = (number(op.attrs[key], x) for key in ("bias", "alpha", "beta"))
    logarithm = log(add(bias, multiply(alpha, _window(square(x), op))))
    power = exp(negative(multiply(beta, logarithm)))
    slope = multiply(dy, power)
    inner = _window(multiply(multiply(slope, x), exp(negative(logarithm))), op)
    factor = number(2 * op.attrs["alpha"] * op.attrs["beta"], x)
    return subtract(slope, multiply(multiply(factor, x), inner))


LRN = OpDef(
    "LRN",
    "input:D",
    infer=lambda inputs, **attrs: Spec(inputs[0].dtype, image_shape(inputs[0])),
    pattern=Contraction("..._->..._", None),
    kernel=kernels.local_response,
    gradient=_local_response_gradient,
)


def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Divide by (bias + alpha times the sum of squares of the neighbouring channels)^beta.

    Args:
      input: [batch, height, width, channels] floating.
      depth_radius: how far away a channel counts as a neighbour.
      bias: positive, keeps the divisor away from 0.
      alpha: weight of the squares.
      beta: exponent.
      name: name of the operation, by default "LRN".

    Returns:
      [batch, height, width, channels] of the dtype of `input`.

    Raises:
      ValueError: the rank is not 4.

    Source: Krizhevsky, Sutskever and Hinton, "ImageNet Classification with Deep Convolutional
    Neural Networks", 2012.

    >>> [round(float(v), 4) for v in lrn([[[[3.0, 4.0]]]], bias=0.0).numpy().ravel()]
    [0.6, 0.8]
    """
    return apply(
        LRN,
        input,
        name=name,
        depth_radius=int(depth_radius),
        bias=float(bias),
        alpha=float(alpha),
        beta=float(beta),
    )


lrn = local_response_normalization
