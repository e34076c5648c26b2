"""Distributions made of others: mixtures, batches as one draw, correlated normal numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

from daskvars.distributions.distribution import (
    NOT_REPARAMETERIZED,
    Distribution,
    OfAnother,
    Settings,
)
from daskvars.distributions.kullback_leibler import RegisterKL, kl_divergence
from daskvars.distributions.vector_distributions import Categorical
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.array.joining import stack
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.linalg.decompositions import cholesky, matrix_triangular_solve
from daskvars.ops.linalg.matrix_parts import matrix_band_part, matrix_diag_part
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import abs as absolute, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.reduce import reduce_logsumexp, reduce_sum
from daskvars.ops.math.transcendental import log
from daskvars.ops.nn.softmax import log_softmax, softmax
from daskvars.ops.random.distributions import random_normal
from daskvars.shapes import TensorShape


class Independent(OfAnother):
    """A distribution whose last batch dimensions are dimensions of a draw.

    Args:
      distribution: with a batch of known rank.
      reinterpreted_batch_ndims: how many dimensions; by default all but the first.
      validate_args: see `Distribution`.
      name: name scope, by default "Independent" and that of the distribution.

    Raises:
      ValueError: the batch has no so many dimensions, or their number is not known.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Independent``.

    >>> pixels = dv.distributions.Bernoulli(probs=[[0.5, 0.5, 0.5], [0.1, 0.1, 0.1]])
    >>> images = dv.distributions.Independent(pixels)
    >>> images.batch_shape.as_list(), images.event_shape.as_list()
    ([2], [3])
    >>> [round(float(p), 3) for p in images.prob([1, 0, 1])]
    [0.125, 0.009]
    """

    def __init__(
        self,
        distribution: Any,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        name = name or f"Independent{distribution.name}"
        super().__init__(distribution, validate_args, name)
        rank = distribution.batch_shape.ndims
        if rank is None:
            raise ValueError("Independent: the rank of the distribution's batch must be known")
        moved = max(rank - 1, 0) if reinterpreted_batch_ndims is None else reinterpreted_batch_ndims
        if not 0 <= moved <= rank:
            raise ValueError(
                f"reinterpreted_batch_ndims({moved}) cannot exceed distribution.batch_ndims({rank})"
            )
        self._moved, self._kept = moved, rank - moved
        self._event_rank = distribution._event_rank + moved  # type: ignore[misc]
        self._given = {"distribution": distribution, "reinterpreted_batch_ndims": moved}

    @property
    def event_shape(self) -> TensorShape:
        """The others, and those of a draw."""
        return self.distribution.batch_shape[self._kept :].concatenate(
            self.distribution.event_shape
        )

    def _value(self, value: TensorLike) -> Tensor:
        return self.distribution._value(value)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return self.distribution._sample(shape, full, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._summed(self.distribution._log_prob(x))

    def _entropy(self) -> Tensor:
        return self._summed(self.distribution._entropy())

    def _mean(self) -> Tensor:
        return self.distribution._mean()

    def _variance(self) -> Tensor:
        return self.distribution._variance()

    def _mode(self) -> Tensor:
        return self.distribution._mode()


@RegisterKL(Independent, Independent)
def _kl_independent(a: Any, b: Any, name: str | None = None) -> Tensor:
    with name_scope(name or "kl_independent"):
        return a._summed(kl_divergence(a.distribution, b.distribution))


class _Mixed(Distribution):
    """A draw is one of a component, which is drawn first."""

    reparameterization_type = NOT_REPARAMETERIZED
    choice: Any

    def _weights(self) -> Tensor:
        """Return the probabilities of components, [*batch, components]."""
        return softmax(self.choice.logits)

    def _each(self, function: str, *given: Any) -> Tensor:
        """Return a function of each component, [..., components, *event]."""
        raise NotImplementedError

    def _beside(self, weights: Tensor) -> Tensor:
        """Return weights of components beside draws of them."""
        for _ in range(self._event_rank):
            weights = expand_dims(weights, -1)
        return weights

    def _over(self, values: Tensor) -> Tensor:
        """Return the sum over components of [..., components, *event]."""
        return reduce_sum(values, -1 - self._event_rank)

    def _batch_tensors(self) -> list[Tensor]:
        return [self.choice.logits[..., 0]]

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_logsumexp(log_softmax(self.choice.logits) + self._each("_log_prob", x), -1)

    def _mean(self) -> Tensor:
        return self._over(self._beside(self._weights()) * self._each("_mean"))

    def _variance(self) -> Tensor:
        weights, means = self._beside(self._weights()), self._each("_mean")
        within = self._over(weights * self._each("_variance"))
        return within + self._over(weights * square(means)) - square(self._over(weights * means))

    def _chosen(self, shape: Tensor, drawn: Tensor, seed: int | None) -> Tensor:
        """Return of draws of all components those of the one that is drawn."""
        number = self.choice.sample(shape, seed)
        mask = one_hot(number, self.choice.event_size, dtype=self.dtype)
        return self._over(drawn * self._beside(mask))


class MixtureSameFamily(_Mixed):
    """A mixture of distributions of one kind: the last dimension of a batch.

    Args:
      mixture_distribution: a `Categorical`, [..., components], how often each is drawn.
      components_distribution: with a batch [..., components].

    Raises:
      ValueError: the first is no `Categorical`.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.MixtureSameFamily``.

    >>> peaks = dv.distributions.MixtureSameFamily(
    ...     dv.distributions.Categorical(probs=[0.25, 0.75]),
    ...     dv.distributions.Normal([-1.0, 1.0], [0.1, 0.5]))
    >>> float(peaks.mean()), peaks.sample(3, seed=1).shape.as_list()
    (0.5, [3])
    """

    def __init__(
        self, mixture_distribution: Any, components_distribution: Any, **settings: Unpack[Settings]
    ) -> None:
        super().__init__(**settings)
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(f"mixture_distribution must be Categorical, is {mixture_distribution}")
        self.mixture_distribution = self.choice = mixture_distribution
        self.components_distribution = components_distribution
        self.dtype = components_distribution.dtype
        self._event_rank = components_distribution._event_rank  # type: ignore[misc]
        self._given = {
            "mixture_distribution": mixture_distribution,
            "components_distribution": components_distribution,
        }

    @property
    def batch_shape(self) -> TensorShape:
        """That of the components, without themselves."""
        return self.components_distribution.batch_shape[:-1]

    @property
    def event_shape(self) -> TensorShape:
        """That of a component."""
        return self.components_distribution.event_shape

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the batch shape, [rank] int32."""
        return self.components_distribution.batch_shape_tensor(name)[:-1]

    def _each(self, function: str, *given: Any) -> Tensor:
        arguments = [expand_dims(x, -1 - self._event_rank) for x in given]
        return getattr(self.components_distribution, function)(*arguments)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return self._chosen(shape, self.components_distribution.sample(shape, seed), seed)


class Mixture(_Mixed):
    """A mixture of distributions of any kinds.

    Args:
      cat: a `Categorical`, [*batch, components], how often each is drawn.
      components: as many distributions, of one dtype and of the same batch and event shapes.

    Raises:
      TypeError: `cat` is no `Categorical`, or dtypes differ.
      ValueError: there are no components, or others than `cat` says.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Mixture``.

    >>> both = dv.distributions.Mixture(
    ...     dv.distributions.Categorical(probs=[0.5, 0.5]),
    ...     [dv.distributions.Normal(0.0, 1.0), dv.distributions.Laplace(2.0, 1.0)])
    >>> float(both.mean()), round(float(both.prob(0.0)), 4)
    (1.0, 0.2333)
    """

    def __init__(self, cat: Any, components: Sequence[Any], **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be non-empty")
        if not isinstance(cat.event_size, int):
            raise ValueError("the number of classes of cat must be known, to compare components")
        if len(components) != cat.event_size:
            raise ValueError(
                f"cat is of {cat.event_size} components, but {len(components)} are given"
            )
        if len({each.dtype for each in components}) > 1:
            raise TypeError(
                "All components must have the same dtype, but saw dtypes: "
                f"{[each.dtype.name for each in components]}"
            )
        self.cat = self.choice = cat
        self.components = tuple(components)
        self.dtype = components[0].dtype
        self._event_rank = components[0]._event_rank  # type: ignore[misc]
        self._given = {"cat": cat, "components": self.components}

    @property
    def event_shape(self) -> TensorShape:
        """That of a component."""
        return self.components[0].event_shape

    def _each(self, function: str, *given: Any) -> Tensor:
        axis = -1 if function == "_log_prob" else -1 - self._event_rank
        return stack([getattr(each, function)(*given) for each in self.components], axis)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        drawn = [
            each.sample(shape, None if seed is None else seed + place + 1)
            for place, each in enumerate(self.components)
        ]
        return self._chosen(shape, stack(drawn, -1 - self._event_rank), seed)


class MultivariateNormalTriL(Distribution):
    """Vectors of normal numbers with covariances, by a triangular factor.

    Args:
      loc: [..., size] floating, the means, by default 0.
      scale_tril: [..., size, size] floating, lower triangular with a diagonal that is not zero; the
        covariances are its product with its transpose.

    Raises:
      ValueError: there is no factor.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.MultivariateNormalTriL``.

    >>> cloud = dv.distributions.MultivariateNormalTriL([0.0, 1.0], [[1.0, 0.0], [1.0, 2.0]])
    >>> cloud.covariance().numpy().tolist(), round(float(cloud.log_prob([0.0, 1.0])), 4)
    ([[1.0, 1.0], [1.0, 5.0]], -2.531)
    """

    _event_rank = 1

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        if scale_tril is None:
            raise ValueError("Must pass scale_tril.")
        factor = convert_to_tensor(scale_tril)
        loc = zeros_like(factor[..., 0]) if loc is None else loc
        self.loc, self.scale_tril = self._take(loc=loc, scale_tril=factor)
        self._factor = matrix_band_part(self.scale_tril, -1, 0)

    @property
    def event_shape(self) -> TensorShape:
        """[size]."""
        return self.scale_tril.get_shape()[-1:]

    def _batch_tensors(self) -> list[Tensor]:
        return [self.loc[..., 0], self.scale_tril[..., 0, 0]]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        row = expand_dims(random_normal(full, dtype=self.dtype, seed=seed), -2)
        return reduce_sum(self._factor * row, -1) + self.loc

    def _log_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(matrix_diag_part(self._factor))), -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        away = expand_dims(x - self.loc, -1)
        factor = self._factor + zeros_like(away)  # of the shape of all values
        inner = matrix_triangular_solve(factor, away + zeros_like(self._factor[..., :1]))
        size = math.log(2 * math.pi) * cast(self._size(), self.dtype)
        return -0.5 * (reduce_sum(square(inner), [-2, -1]) + size) - self._log_determinant()

    def _size(self) -> Any:
        return self.event_shape_tensor()[0]

    def _entropy(self) -> Tensor:
        size = (1 + math.log(2 * math.pi)) * cast(self._size(), self.dtype)
        return 0.5 * size + self._log_determinant() + zeros_like(self.loc[..., 0])

    def _mean(self) -> Tensor:
        return self.loc + zeros_like(self.scale_tril[..., 0])

    def _mode(self) -> Tensor:
        return self._mean()

    def _covariance(self) -> Tensor:
        return matmul(self._factor, self._factor, transpose_b=True)

    def _variance(self) -> Tensor:
        return reduce_sum(square(self._factor), -1)


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Vectors of normal numbers with covariances.

    Args:
      loc: [..., size] floating, the means, by default 0.
      covariance_matrix: [..., size, size] floating, symmetric and positive definite.

    Raises:
      ValueError: there are no covariances.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.MultivariateNormalFullCovariance``.

    >>> cloud = dv.distributions.MultivariateNormalFullCovariance(
    ...     covariance_matrix=[[4.0, 2.0], [2.0, 5.0]])
    >>> cloud.scale_tril.numpy().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        covariance_matrix: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        if covariance_matrix is None:
            raise ValueError("Must pass covariance_matrix.")
        with name_scope(settings["name"]):
            factor = cholesky(convert_to_tensor(covariance_matrix))
        super().__init__(loc, factor, **settings)
        self._given = {"loc": loc, "covariance_matrix": covariance_matrix}
