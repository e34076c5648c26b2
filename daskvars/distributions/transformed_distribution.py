"""A distribution of a function of what another one draws."""

from __future__ import annotations

from typing import Any

from daskvars.distributions import bijectors
from daskvars.distributions.distribution import OfAnother
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import zeros_like
from daskvars.shapes import TensorShape


class TransformedDistribution(OfAnother):
    """What a bijector makes of the draws of a distribution.

    Args:
      distribution: floating.
      bijector: see `bijectors.Bijector`; by default the identity. One of vectors makes vectors of
        a batch of numbers.
      validate_args: see `Distribution`.
      name: name scope, by default that of the bijector and of the distribution.

    Raises:
      TypeError: `bijector` is none.
      ValueError: the bijector is of more dimensions than draws and batch have.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.TransformedDistribution``.

    >>> log_normal = dv.distributions.TransformedDistribution(
    ...     dv.distributions.Normal(0.0, 1.0), dv.distributions.bijectors.Exp())
    >>> round(float(log_normal.prob(1.0)), 4), float(log_normal.cdf(1.0))
    (0.3989, 0.5)
    """

    def __init__(
        self,
        distribution: Any,
        bijector: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        bijector = bijectors.of(bijector)
        name = name or f"{bijector.name}{distribution.name}"
        super().__init__(distribution, validate_args, name)
        self.bijector = bijector
        own = distribution._event_rank
        self._event_rank = max(own, bijector.min_event_ndims)  # type: ignore[misc]
        self._moved = self._event_rank - own
        rank = distribution.batch_shape.ndims
        if self._moved and (rank is None or rank < self._moved):
            raise ValueError(
                f"{bijector.name} is of draws of {bijector.min_event_ndims} dimensions, those of "
                f"{distribution.name} have {own} and its batch has {rank}"
            )
        self._kept = None if rank is None else rank - self._moved
        self._given = {"distribution": distribution, "bijector": bijector}

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw."""
        moved = self.distribution.batch_shape[self._kept :] if self._moved else TensorShape([])
        return moved.concatenate(self.distribution.event_shape)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the event shape, [rank] int32."""
        if not self._moved:
            return self.distribution.event_shape_tensor(name)
        return self.distribution.batch_shape_tensor(name)[self._kept :]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return self.bijector._forward(self.distribution._sample(shape, full, seed))

    def _log_prob(self, y: Tensor) -> Tensor:
        x = self.bijector._inverse(y)
        stretch = self.bijector._summed(self.bijector._stretch(x), self._event_rank)
        return self._summed(self.distribution._log_prob(x)) - stretch

    def _of_increasing(self, function: str, y: TensorLike) -> Tensor:
        if self._event_rank or not self.bijector.is_increasing:
            return self._without(function)
        return getattr(self.distribution, f"_{function}")(y)

    def _cdf(self, y: Tensor) -> Tensor:
        return self._of_increasing("cdf", self.bijector._inverse(y))

    def _log_cdf(self, y: Tensor) -> Tensor:
        return self._of_increasing("log_cdf", self.bijector._inverse(y))

    def _survival(self, y: Tensor) -> Tensor:
        return self._of_increasing("survival", self.bijector._inverse(y))

    def _log_survival(self, y: Tensor) -> Tensor:
        return self._of_increasing("log_survival", self.bijector._inverse(y))

    def _quantile(self, p: Tensor) -> Tensor:
        return self.bijector._forward(self._of_increasing("quantile", p))

    def _mean(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            return self._without("mean")
        return self.bijector._forward(self.distribution._mean())

    def _entropy(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            return self._without("entropy")
        somewhere = zeros_like(self.distribution._mean())
        stretch = self.bijector._summed(self.bijector._stretch(somewhere), self._event_rank)
        return self._summed(self.distribution._entropy()) + stretch
