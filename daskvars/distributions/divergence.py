"""Kullback-Leibler divergences, by pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.distributions.distribution import Distribution
from daskvars.distributions.scalar_distributions import Bernoulli, Beta, Gamma, Normal
from daskvars.distributions.vector_distributions import (
    Categorical,
    Dirichlet,
    MultivariateNormalDiag,
    multiply_no_nan,
)
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.control.dependencies import check_numerics
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import digamma, exp, lgamma, log, softplus
from daskvars.ops.nn.softmax import log_softmax

_DIVERGENCES: dict[tuple[type, type], Callable[..., Tensor]] = {}


class RegisterKL:
    """A decorator that makes a function the divergence of two classes.

    Args:
      dist_cls_a, dist_cls_b: the classes; subclasses of them have it too.

    Raises:
      ValueError: they have one.

    >>> class Mine(Normal):
    ...     pass
    >>> @RegisterKL(Mine, Mine)
    ... def mine(p, q, name=None):
    ...     return p.loc - q.loc
    >>> float(kl_divergence(Mine(3.0, 1.0), Mine(1.0, 1.0)))
    2.0
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Register the function, of two distributions and a name."""
        if self._key in _DIVERGENCES:
            names = " || ".join(cls.__name__ for cls in self._key)
            raise ValueError(f"KL({names}) has already been registered")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def kl_divergence(
    distribution_a: Distribution,
    distribution_b: Distribution,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return the mean, over draws of ``a``, of the difference of the logarithms of both densities.

    Args:
      distribution_a, distribution_b: the distributions, whose batches broadcast.
      allow_nan_stats: see `Distribution`; False raises where the result is NaN.
      name: name scope, by default "KullbackLeibler".

    Raises:
      NotImplementedError: there is none for the two classes.

    >>> round(float(kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))), 4)
    0.5
    """
    kl_fn = _registered(type(distribution_a), type(distribution_b))
    with name_scope(name or "KullbackLeibler") as scope:
        result = kl_fn(distribution_a, distribution_b, name=scope)
        return result if allow_nan_stats else check_numerics(result, "KL is not defined")


def _registered(a: type, b: type) -> Callable[..., Tensor]:
    """Return the divergence of the nearest ancestors."""
    pairs = [(i + j, p, q) for i, p in enumerate(a.__mro__) for j, q in enumerate(b.__mro__)]
    for _, p, q in sorted(pairs, key=lambda found: found[0]):
        # A class that v1 made of one of these is that one.
        known = _DIVERGENCES.get((p, q))
        if known is not None:
            return known
    raise NotImplementedError(
        f"No KL(distribution_a || distribution_b) registered for distribution_a type {a.__name__} "
        f"and distribution_b type {b.__name__}"
    )


@RegisterKL(Normal, Normal)
def _normal(a: Any, b: Any, name: str | None = None) -> Tensor:
    variance, ratio = b.scale * b.scale, (a.scale * a.scale) / (b.scale * b.scale)
    distance = a.loc - b.loc
    return distance * distance / (2 * variance) + 0.5 * (ratio - 1 - log(ratio))


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _vectors(a: Any, b: Any, name: str | None = None) -> Tensor:
    return reduce_sum(_normal(a.each, b.each), -1)


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli(a: Any, b: Any, name: str | None = None) -> Tensor:
    of_one = softplus(-b.logits) - softplus(-a.logits)
    of_zero = softplus(b.logits) - softplus(a.logits)
    return a.probs * of_one + (1 - a.probs) * of_zero


@RegisterKL(Categorical, Categorical)
def _categorical(a: Any, b: Any, name: str | None = None) -> Tensor:
    logs = log_softmax(a.logits)
    return reduce_sum(multiply_no_nan(logs - log_softmax(b.logits), exp(logs)), -1)


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
