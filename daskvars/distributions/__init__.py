"""Probability distributions, the names of ``tf.distributions``.

A distribution is its parameters and formulas of them: ops like any others, so that densities and
samples have gradients, are cut into chunks as tensors are, and run in either mode. Its *batch
shape* is that of the parameters broadcast together, its *event shape* that of one draw, and samples
have shape [*sample shape, *batch shape, *event shape]. Samples are *reparameterized* where they are
a differentiable function of the parameters.

Files: ``distribution`` (what all are), ``scalar_distributions`` (one number a draw),
``vector_distributions`` (classes, counts and vectors), ``composed_distributions`` (made of others,
mixtures above all), ``divergence`` (Kullback-Leibler, by pairs),
``kullback_leibler`` (which pair has which).
"""

# fmt: off
from daskvars.distributions.composed_distributions import (
    Independent,
    Mixture,
    MixtureSameFamily,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from daskvars.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from daskvars.distributions.divergence import RegisterKL, kl_divergence
from daskvars.distributions.scalar_distributions import (
    Bernoulli,
    Beta,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from daskvars.distributions.vector_distributions import (
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    Multinomial,
    MultivariateNormalDiag,
)

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "Gamma",
    "Independent",
    "Laplace",
    "Mixture",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormalDiag",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]
