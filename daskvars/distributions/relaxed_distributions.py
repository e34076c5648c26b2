"""Classes that are drawn smoothly: a draw is near a corner, and has gradients."""

from __future__ import annotations

from typing import Unpack

from daskvars.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, Settings
from daskvars.distributions.scalar_distributions import (
    check_one_given,
    draws_of_logistic,
    least_normal,
    log_odds,
)
from daskvars.distributions.vector_distributions import CLASSES, ByClass
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.math.casting import cast
from daskvars.ops.math.reduce import reduce_logsumexp, reduce_sum
from daskvars.ops.math.transcendental import exp, lgamma, log, log1p, sigmoid, softplus
from daskvars.ops.nn.softmax import log_softmax
from daskvars.ops.random.distributions import random_uniform


class RelaxedBernoulli(Distribution):
    """Numbers between 0 and 1, near either the more the lower the temperature is.

    Args:
      temperature: [...] floating, positive.
      logits: [...] floating, the log-odds of more than a half.
      probs: [...] floating, its probability, instead.

    Raises:
      ValueError: both `logits` and `probs` are given, or neither.

    Source: Maddison et al. 2017, "The Concrete Distribution"; TensorFlow 1.15,
    ``tf.contrib.distributions.RelaxedBernoulli``.

    >>> gate = dv.distributions.RelaxedBernoulli(0.5, probs=0.75)
    >>> round(float(gate.cdf(0.5)), 4), gate.sample(3, seed=1).shape.as_list()
    (0.25, [3])
    """

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        check_one_given(logits, probs)
        if probs is None:
            given, self.logits = self._take(temperature=temperature, logits=logits)
            self.probs = sigmoid(self.logits)
        else:
            given, self.probs = self._take(temperature=temperature, probs=probs)
            self.logits = log_odds(self.probs)
        self.temperature = self._positive(given, "temperature")

    def _batch_tensors(self) -> list[Tensor]:
        return [self.temperature, self.logits]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return sigmoid((self.logits + draws_of_logistic(full, self.dtype, seed)) / self.temperature)

    def _place(self, x: Tensor) -> Tensor:
        """Return where x is in the logistic distribution that a draw is a sigmoid of."""
        return self.temperature * log_odds(x) - self.logits

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._place(x)
        return log(self.temperature) - z - 2 * softplus(-z) - log(x) - log1p(-x)

    def _cdf(self, x: Tensor) -> Tensor:
        return sigmoid(self._place(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return sigmoid((self.logits + log(p) - log1p(-p)) / self.temperature)


@CLASSES.documents()
class ExpRelaxedOneHotCategorical(ByClass):
    """The logarithms of the draws of `RelaxedOneHotCategorical`, which are exact near 0.

    Source: Maddison et al. 2017, "The Concrete Distribution"; TensorFlow 1.15,
    ``tf.contrib.distributions.ExpRelaxedOneHotCategorical``.

    >>> logs = dv.distributions.ExpRelaxedOneHotCategorical(0.5, probs=[0.25, 0.75]).sample(seed=1)
    >>> round(float(np.exp(logs.numpy()).sum()), 4)
    1.0
    """

    reparameterization_type = FULLY_REPARAMETERIZED

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(logits, probs, **settings)
        self._given["temperature"] = temperature
        given = convert_to_tensor(temperature, self.dtype, name="temperature")
        self.temperature = self._positive(given, "temperature")

    @property
    def event_size(self) -> int | Tensor:
        """The number of classes; a scalar tensor where only the run knows."""
        return self._num_classes()

    def _batch_tensors(self) -> list[Tensor]:
        return [self.temperature, self.logits[..., 0]]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        drawn = random_uniform(full, least_normal(self.dtype), 1.0, self.dtype, seed)
        gumbel = -log(-log(drawn))
        return log_softmax((self.logits + gumbel) / expand_dims(self.temperature, -1))

    def _log_prob(self, x: Tensor) -> Tensor:
        size = cast(self._num_classes(), self.dtype)
        each = log_softmax(self.logits) - expand_dims(self.temperature, -1) * x
        constant = lgamma(size) + (size - 1) * log(self.temperature)
        return reduce_sum(each, -1) - size * reduce_logsumexp(each, -1) + constant


@CLASSES.documents()
class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """Vectors of shares, near one class the more the lower the temperature is (Gumbel-softmax).

    Source: Jang et al. 2017, "Categorical Reparameterization with Gumbel-Softmax"; TensorFlow
    1.15, ``tf.contrib.distributions.RelaxedOneHotCategorical``.

    >>> relaxed = dv.distributions.RelaxedOneHotCategorical(0.5, logits=[0.0, 1.0, 2.0])
    >>> draws = relaxed.sample(4, seed=1)
    >>> draws.shape.as_list(), float(dv.reduce_sum(draws).numpy().round(4))
    ([4, 3], 4.0)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return exp(super()._sample(shape, full, seed))

    def _log_prob(self, x: Tensor) -> Tensor:
        logs = log(x)
        return super()._log_prob(logs) - reduce_sum(logs, -1)
