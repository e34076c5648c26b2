"""Dropout: random elements set to zero, the others scaled up."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.nn import dropout as kernels
from daskvars.ops.array.constant import full_shape, sizes_filled
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater_equal
from daskvars.ops.random.distributions import random_uniform
from daskvars.ops.rules.axes import is_symbolic, operand_of
from daskvars.ops.rules.families import elementwise
from daskvars.ops.rules.shapes import broadcasted


def _like_x(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    x = inputs[0]
    return Spec(x.dtype, shapes.merge(x.shape, broadcasted(inputs[:2]).shape))


# Its gradient is the same op on the same mask.
DROPOUT: OpDef = elementwise(
    "Dropout",
    "x:F, kept:B",
    infer=_like_x,
    kernel=kernels.scale_kept,
    operands=("rate",),
    gradient=lambda op, dy: (apply(DROPOUT, dy, op.inputs[1], rate=operand_of(op, "rate")), None),
)


def dropout(
    x: TensorLike,
    keep_prob: TensorLike | None = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike | None = None,
) -> Tensor:
    """Set random elements to zero and divide the others by the probability of keeping one.

    Args:
      x: [...] floating.
      keep_prob: probability that an element is kept, a number or a scalar tensor. Of one below
        0.5 a warning tells: TensorFlow 2 has the rate in its place.
      noise_shape: shape of what is decided; it broadcasts to `x`, so that size 1 keeps or drops a
        whole dimension together. By default the shape of `x`.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "dropout".
      rate: probability that an element is dropped; given instead of `keep_prob`.

    Returns:
      [...] of the dtype of `x`.

    Raises:
      ValueError: neither or both of `keep_prob` and `rate` are given, a rate lies outside [0, 1),
        or `x` is not floating.

    Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", 2014.

    >>> dropout(dv.ones([3]), rate=0.0).numpy().tolist()
    [1.0, 1.0, 1.0]
    """
    rate = _rate(keep_prob, rate)
    with name_scope(name, "dropout", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. Got a "
                f"{x.dtype.name} tensor instead."
            )
        if _is_known(rate, 0) or _is_known(keep_prob, 1):
            return x
        if not isinstance(rate, numbers.Real):
            rate = _scalar(rate, x)
        uniform = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=float32)
        threshold = cast(rate, float32) if isinstance(rate, Tensor) else rate
        return apply(DROPOUT, x, greater_equal(uniform, threshold), name=scope, rate=rate)


def _is_known(value: Any, number: int) -> bool:
    """Return whether the program says that a value is some number: no run is asked."""
    if isinstance(value, Tensor):
        return value.graph is not None and constant_value(value) == number
    return isinstance(value, numbers.Real) and value == number


def _rate(keep_prob: Any, rate: Any) -> Any:
    if (keep_prob is None) == (rate is None):
        raise ValueError("You must provide either a rate or a keep_prob to dropout, not both.")
    for given, what, legal in ((keep_prob, "keep_prob", "(0, 1]"), (rate, "rate", "[0, 1)")):
        if given is None or is_symbolic(given):
            continue
        if not isinstance(given, numbers.Real):
            raise ValueError(f"{what} must be a floating point number or Tensor (got {given!r})")
        dropped: Any = 1.0 - given if what == "keep_prob" else given
        if not 0 <= dropped < 1:
            raise ValueError(
                f"{what} must be a scalar tensor or a float in the range {legal}, got {given:g}"
            )
    if isinstance(keep_prob, numbers.Real) and keep_prob < 0.5:
        warnings.warn(
            f"dropout() keeps {keep_prob:g} of the elements: its second argument is keep_prob, as "
            f"in TensorFlow 1. For TensorFlow 2's rate write rate={keep_prob:g}.",
            stacklevel=3,
        )
    return 1.0 - keep_prob if rate is None else rate


def _scalar(rate: Any, x: Tensor) -> Tensor:
    rate = convert_to_tensor(rate, name="rate")
    if rate.dtype.base_dtype is not x.dtype.base_dtype:
        raise ValueError(
            f"the rate of dropout must have the dtype of x, {x.dtype.name}, but is "
            f"{rate.dtype.name}: cast it"
        )
    if rate.spec.shape is None:
        return reshape(rate, ())
    if rate.spec.shape != ():
        raise ValueError(f"rate must be a scalar tensor, got shape {rate.shape}")
    return rate


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    found = x.spec.shape
    if noise_shape is None:
        return full_shape(x)
    if is_symbolic(noise_shape):
        return noise_shape
    wanted = shapes.as_tuple(noise_shape)
    if shapes.is_known(wanted):
        return wanted
    if wanted is None or found is None or len(found) != len(wanted):
        raise ValueError(
            f"noise_shape {shapes.show(wanted)} of dropout does not fit x of shape "
            f"{shapes.show(found)}: give a size for each dimension"
        )
    filled = tuple(n if m is None else m for m, n in zip(wanted, found, strict=True))
    return filled if shapes.is_known(filled) else sizes_filled(x, filled)
