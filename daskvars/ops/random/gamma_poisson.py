"""Gamma and Poisson numbers, whose parameters are tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, Block, Dim, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.random import gamma_poisson as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.broadcasting import sum_to_shape
from daskvars.ops.math.arithmetic import add, maximum, multiply, negative, number, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.gamma_functions import igamma_slope
from daskvars.ops.math.transcendental import exp, lgamma, log
from daskvars.ops.random.distributions import drawn_with
from daskvars.ops.rules import axes
from daskvars.shapes import Shape


def _each(inputs: Sequence[Spec], *, shape: Shape, dtype: DType, **attrs: Any) -> Spec:
    lead, own = axes.sizes_of(shape, inputs[1:]), inputs[0].shape
    return Spec(as_dtype(dtype), None if lead is None or own is None else (*lead, *own))


def _own_dims(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    """The dimensions of the parameters may be cut; those of the draws of each are whole."""
    own = tuple(map(Dim, range(len(inputs[0]))))
    lead = (None,) * (len(outputs[0]) - len(own))
    others = tuple((None,) * len(shape) for shape in inputs[1:])
    return Access((own, *others), ((*lead, *own),))


def _part(attrs: Mapping[str, Any], block: Block) -> dict[str, Any]:
    lead = len(block.full_out_shapes[0]) - len(block.full_in_shapes[-1])
    shape = block.out_shapes[0][:lead]
    return axes.in_block(
        attrs, shape=shape, offset=block.out_offsets[0], full_shape=block.full_out_shapes[0]
    )


def _drawn_by(type: str, argument: str, kernel: Any, gradient: Any) -> OpDef:
    return OpDef(
        type,
        f"{argument}:R",
        infer=_each,
        pattern=Movement(_own_dims, view=False),
        kernel=kernel,
        gradient=gradient,
        operands=("shape",),
        block=_part,
        seeded=True,
    )


def _gamma_gradient(op: Operation, dy: Tensor) -> Tensor:
    """The derivative of a number of fixed probability: -dP/da over the density."""
    alpha, drawn = op.inputs[0], op.outputs[0]
    alpha, dy = cast(alpha, drawn.dtype), dy
    a = add(alpha, constant.zeros_like(drawn))
    log_density = subtract(multiply(subtract(a, number(1, a)), log(drawn)), add(drawn, lgamma(a)))
    slope = negative(realdiv(igamma_slope(a, drawn), exp(log_density)))
    known = op.inputs[0].spec.shape
    complete = known is not None and None not in known
    shape = known if complete else constant.shape(op.inputs[0])
    return cast(sum_to_shape(multiply(dy, slope), shape), op.inputs[0].dtype)


RANDOM_GAMMA = _drawn_by("RandomGamma", "alpha", kernels.random_gamma, _gamma_gradient)
RANDOM_POISSON = _drawn_by("RandomPoissonV2", "rate", kernels.random_poisson, UNDEFINED_GRADIENT)


def random_gamma(
    shape: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return numbers of gamma distributions, differentiable by their parameters.

    Args:
      shape: [rank] int32 or int64, how many numbers of each distribution.
      alpha: [...] floating, positive, the shapes of the distributions.
      beta: [...] the rates, by default 1; broadcast with `alpha`.
      dtype: a float dtype: of `alpha`, `beta` and the result.
      seed: int, see `set_random_seed`.
      name: name scope of the operations, by default "random_gamma".

    Returns:
      [*shape, *(alpha + beta).shape] `dtype`.

    Source: TensorFlow 1.15, ``tf.random_gamma``.

    >>> random_gamma([10], [0.5, 1.5]).shape.as_list()
    [10, 2]
    """
    dtype = as_dtype(dtype).base_dtype
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        both = add(alpha, constant.zeros_like(beta)) if beta.spec.shape != () else alpha
        drawn = apply(
            RANDOM_GAMMA, both, shape=axes.as_sizes(shape), dtype=dtype.name, _seed=drawn_with(seed)
        )
        least = number(float(numpy.finfo(dtype.np).tiny), drawn)
        return maximum(least, realdiv(drawn, beta))


def random_poisson(
    lam: TensorLike,
    shape: TensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return numbers of Poisson distributions.

    Args:
      lam: [...] floating, not negative, the rates of the distributions.
      shape: [rank] int32 or int64, how many numbers of each.
      dtype: dtype of the result: floating, int32 or int64.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "random_poisson".

    Returns:
      [*shape, *lam.shape] `dtype`. It has no gradient.

    Source: TensorFlow 1.15, ``tf.random_poisson``.

    >>> random_poisson([0.5, 100.0], [4]).shape.as_list()
    [4, 2]
    """
    axes.as_integers(shape=shape)  # TensorFlow 2 has it before lam
    return apply(
        RANDOM_POISSON,
        lam,
        name=name or "random_poisson",
        shape=axes.as_sizes(shape),
        dtype=as_dtype(dtype).base_dtype.name,
        _seed=drawn_with(seed),
    )
