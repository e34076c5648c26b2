"""Layer normalization: each row to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars import shapes
from daskvars.dtypes import float32
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import normalization as normalize
from daskvars.ops.array.broadcasting import sum_to_shape
from daskvars.ops.array.constant import full_shape, ones_like
from daskvars.ops.math.arithmetic import add, multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.reduce import reduce_mean
from daskvars.ops.nn.windows.arguments import check_equal


def _normalized(inputs: Sequence[Spec], *, epsilon: float) -> tuple[Spec, ...]:
    x = inputs[0]
    work = float32 if x.dtype.size < 4 else x.dtype
    if x.shape is None:
        return x, Spec(work, None), Spec(work, None)
    if not x.shape:
        raise ValueError("layer_norm takes tensors of at least rank 1, got a scalar")
    for spec, what in zip(inputs[1:], ("gamma", "beta"), strict=True):
        if spec.shape is not None and len(spec.shape) != 1:
            raise ValueError(f"{what} must be a vector, got shape {shapes.show(spec.shape)}")
        if spec.shape is not None:
            check_equal(x.shape[-1], spec.shape[0], f"the last dimension of x, and {what}")
    moment = Spec(work, (*x.shape[:-1], 1))
    return x, moment, moment


def _layer_norm_gradient(op: Operation, dy: Tensor, *moments: Tensor) -> Tensor:
    x, gamma, _ = op.inputs
    _, mean, rstd = op.outputs
    return apply(LAYER_NORM_GRAD, x, mean, rstd, gamma, dy)


LAYER_NORM = OpDef(
    "LayerNorm",
    "x:D1, gamma:D2, beta:D2",
    infer=_normalized,
    pattern=Contraction("..._,_,_->..._,..._,..._", None),
    kernel=normalize.layer_norm,
    gradient=_layer_norm_gradient,
)


def _grad_specs(inputs: Sequence[Spec]) -> tuple[Spec, ...]:
    return inputs[4], inputs[3], inputs[3]


def _layer_norm_grad_gradient(
    op: Operation, g: Tensor, g_gamma: Tensor, g_beta: Tensor
) -> Gradients:
    """Differentiate dx = P(dy gamma), dgamma = sum dy h, dbeta = sum dy.

    h is the normalized row and P v = rstd (v - mean(v) - h mean(v h)) its derivative by x applied
    to v; what x does through mean and rstd is part of its gradient.
    """
    x, mean, rstd, gamma, dy = op.inputs
    dtype = x.dtype.base_dtype
    mean_x, rstd_x, gamma_x = (cast(t, dtype) for t in (mean, rstd, gamma))
    ones = ones_like(gamma)

    def pulled(v: Tensor) -> Tensor:
        return apply(LAYER_NORM_GRAD, x, mean, rstd, ones, v)[0]

    def row_mean(a: Tensor, b: Tensor) -> Tensor:
        return reduce_mean(multiply(a, b), -1, keepdims=True)

    h = multiply(subtract(x, mean_x), rstd_x)
    slope = multiply(dy, gamma_x)
    pulled_g = pulled(g)
    along_gamma = multiply(h, cast(g_gamma, dtype))
    for_dy = add(add(multiply(pulled_g, gamma_x), along_gamma), cast(g_beta, dtype))
    for_gamma = cast(sum_to_shape(multiply(dy, pulled_g), full_shape(gamma)), gamma.dtype)
    bent = add(multiply(row_mean(h, slope), g), multiply(row_mean(g, h), slope))
    bent = add(multiply(row_mean(g, op.outputs[0]), h), pulled(bent))
    for_x = subtract(pulled(multiply(dy, cast(g_gamma, dtype))), multiply(rstd_x, bent))
    return for_x, None, None, for_gamma, for_dy


LAYER_NORM_GRAD = OpDef(
    "LayerNormGrad",
    "x:D1, mean:D3, rstd:D3, gamma:D2, gradients:D1",
    infer=_grad_specs,
    pattern=Contraction("..._,..._,..._,_,..._->..._,_,_"),
    kernel=normalize.layer_norm_grad,
    gradient=_layer_norm_grad_gradient,
)


def layer_norm(
    x: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    epsilon: float = 1e-12,
    name: str | None = None,
) -> Tensor:
    """Normalize each row to mean 0 and variance 1, then scale and shift it.

    Args:
      x: [..., n] floating.
      gamma: [n] floating, scale.
      beta: [n] of the dtype of `gamma`, shift.
      epsilon: added to the variance.
      name: name of the operation, by default "LayerNorm".

    Returns:
      [..., n] of the dtype of `x`.

    Raises:
      ValueError: the sizes of x, gamma and beta differ.

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.

    >>> layer_norm([[1.0, 3.0]], [1.0, 1.0], [0.0, 0.0]).numpy().tolist()
    [[-1.0, 1.0]]
    """
    return apply(LAYER_NORM, x, gamma, beta, name=name, epsilon=float(epsilon))[0]
