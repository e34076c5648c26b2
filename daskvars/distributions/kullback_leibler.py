"""Kullback-Leibler divergences of pairs of classes, whichever they are: see `divergence`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.ops.control.dependencies import check_numerics

_DIVERGENCES: dict[tuple[type, type], Callable[..., Tensor]] = {}


class RegisterKL:
    """A decorator that makes a function the divergence of two classes.

    Args:
      dist_cls_a, dist_cls_b: the classes; subclasses of them have it too.

    Raises:
      ValueError: they have one.

    >>> class Mine(dv.distributions.Normal):
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
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Return the mean, over draws of ``a``, of the difference of the logarithms of both densities.

    Args:
      distribution_a, distribution_b: the distributions, whose batches broadcast.
      allow_nan_stats: see `Distribution`; False raises where the result is NaN.
      name: name scope, by default "KullbackLeibler".

    Returns:
      [*batch_shape] of the dtype of the distributions, in nats.

    Raises:
      NotImplementedError: there is none for the two classes.

    >>> normal = dv.distributions.Normal
    >>> round(float(kl_divergence(normal(1.0, 1.0), normal(0.0, 1.0))), 4)
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
