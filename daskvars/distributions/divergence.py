"""The Kullback-Leibler divergences that have a formula, by pairs of classes."""

from __future__ import annotations

from typing import Any

from daskvars.distributions.composed_distributions import MultivariateNormalTriL
from daskvars.distributions.contrib_distributions import HalfNormal
from daskvars.distributions.kullback_leibler import RegisterKL, kl_divergence
from daskvars.distributions.scalar_distributions import Bernoulli, Beta, Gamma, Normal, Poisson
from daskvars.distributions.vector_distributions import (
    Categorical,
    Dirichlet,
    MultivariateNormalDiag,
    OneHotCategorical,
    multiply_no_nan,
)
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import size_along, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.linalg.decompositions import matrix_triangular_solve
from daskvars.ops.linalg.matrix_parts import matrix_band_part, matrix_diag, matrix_diag_part
from daskvars.ops.math.arithmetic import abs as absolute, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import digamma, exp, lgamma, log, softplus
from daskvars.ops.nn.softmax import log_softmax

__all__ = ["RegisterKL", "kl_divergence"]


@RegisterKL(Normal, Normal)
def _normal(a: Any, b: Any, name: str | None = None) -> Tensor:
    variance, ratio = b.scale * b.scale, (a.scale * a.scale) / (b.scale * b.scale)
    distance = a.loc - b.loc
    return distance * distance / (2 * variance) + 0.5 * (ratio - 1 - log(ratio))


@RegisterKL(HalfNormal, HalfNormal)
def _half_normal(a: Any, b: Any, name: str | None = None) -> Tensor:
    variance = b.scale * b.scale
    return log(b.scale) - log(a.scale) + (a.scale * a.scale - variance) / (2 * variance)


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _vectors(a: Any, b: Any, name: str | None = None) -> Tensor:
    return reduce_sum(_normal(a.each, b.each), -1)


@RegisterKL(MultivariateNormalTriL, MultivariateNormalTriL)
@RegisterKL(MultivariateNormalTriL, MultivariateNormalDiag)
@RegisterKL(MultivariateNormalDiag, MultivariateNormalTriL)
def _vectors_with_covariances(a: Any, b: Any, name: str | None = None) -> Tensor:
    of_a, of_b = _factor(a), _factor(b)
    away = expand_dims(b.loc - a.loc, -1)
    all_zero = zeros_like(of_a) + zeros_like(of_b) + zeros_like(away)  # of the shape of all batches
    right = concat([of_a + all_zero, away + all_zero[..., :1]], -1)
    inner = reduce_sum(square(matrix_triangular_solve(of_b + all_zero, right)), [-2, -1])
    size = cast(size_along(of_a, -1), a.dtype)
    return 0.5 * (inner - size) + _log_determinant(of_b) - _log_determinant(of_a)


def _factor(of: Any) -> Tensor:
    """Return the triangular matrices whose products with their transposes are the covariances."""
    if isinstance(of, MultivariateNormalTriL):
        return matrix_band_part(of.scale_tril, -1, 0)
    return matrix_diag(of.scale_diag)


def _log_determinant(factor: Tensor) -> Tensor:
    return reduce_sum(log(absolute(matrix_diag_part(factor))), -1)


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli(a: Any, b: Any, name: str | None = None) -> Tensor:
    of_one = softplus(-b.logits) - softplus(-a.logits)
    of_zero = softplus(b.logits) - softplus(a.logits)
    return a.probs * of_one + (1 - a.probs) * of_zero


@RegisterKL(OneHotCategorical, OneHotCategorical)
@RegisterKL(Categorical, Categorical)
def _categorical(a: Any, b: Any, name: str | None = None) -> Tensor:
    logs = log_softmax(a.logits)
    return reduce_sum(multiply_no_nan(logs - log_softmax(b.logits), exp(logs)), -1)


@RegisterKL(Poisson, Poisson)
def _poisson(a: Any, b: Any, name: str | None = None) -> Tensor:
    return a.rate * (a.log_rate - b.log_rate) - a.rate + b.rate


@RegisterKL(Gamma, Gamma)
def _gamma(a: Any, b: Any, name: str | None = None) -> Tensor:
    rates = log(a.rate) - log(b.rate)
    return (
        (a.concentration - b.concentration) * digamma(a.concentration)
        + lgamma(b.concentration)
        - lgamma(a.concentration)
        + b.concentration * rates
        + a.concentration * (b.rate / a.rate - 1)
    )


@RegisterKL(Beta, Beta)
def _beta(a: Any, b: Any, name: str | None = None) -> Tensor:
    one, zero = a.concentration1, a.concentration0
    total = a.total_concentration - b.total_concentration
    return (
        b.log_normalization()
        - a.log_normalization()
        + (one - b.concentration1) * digamma(one)
        + (zero - b.concentration0) * digamma(zero)
        - total * digamma(a.total_concentration)
    )


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet(a: Any, b: Any, name: str | None = None) -> Tensor:
    slopes = digamma(a.concentration) - expand_dims(digamma(a.total_concentration), -1)
    shift = reduce_sum((a.concentration - b.concentration) * slopes, -1)
    return b.log_normalization() - a.log_normalization() + shift
