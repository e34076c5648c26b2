"""Probability distributions, the names of ``tf.distributions``.

A distribution is its parameters and formulas of them: ops like any others, so that densities and
samples have gradients, are cut into chunks as tensors are, and run in either mode. Its *batch
shape* is that of the parameters broadcast together, its *event shape* that of one draw, and samples
have shape [*sample shape, *batch shape, *event shape]. Samples are *reparameterized* where they are
a differentiable function of the parameters.

Files: ``distribution`` (what all are), ``scalar_distributions`` (one number a draw),
``contrib_distributions`` (more of them, those of ``tf.contrib``),
``vector_distributions`` (classes, counts and vectors), ``relaxed_distributions`` (classes drawn
smoothly), ``composed_distributions`` (made of others, mixtures above all),
``transformed_distribution`` and ``bijectors`` (functions of draws), ``divergence``
(Kullback-Leibler, by pairs), ``kullback_leibler`` (which pair has which).
"""

# fmt: off
from daskvars.distributions.composed_distributions import (
    Independent,
    Mixture,
    MixtureSameFamily,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from daskvars.distributions.contrib_distributions import (
    Binomial,
    Cauchy,
    Chi2,
    Deterministic,
    Geometric,
    HalfNormal,
    InverseGamma,
    NegativeBinomial,
)
from daskvars.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from daskvars.distributions.divergence import RegisterKL, kl_divergence
from daskvars.distributions.relaxed_distributions import (
    ExpRelaxedOneHotCategorical,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from daskvars.distributions.scalar_distributions import (
    Bernoulli,
    Beta,
    Exponential,
    Gamma,
    Laplace,
    Logistic,
    Normal,
    Poisson,
    StudentT,
    Uniform,
)
from daskvars.distributions.transformed_distribution import TransformedDistribution
from daskvars.distributions.vector_distributions import (
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    Multinomial,
    MultivariateNormalDiag,
    OneHotCategorical,
)

__all__ = [
    "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "Bernoulli", "Beta", "Binomial", "Categorical",
    "Cauchy", "Chi2", "Deterministic", "Dirichlet", "DirichletMultinomial", "Distribution",
    "ExpRelaxedOneHotCategorical", "Exponential", "Gamma", "Geometric", "HalfNormal", "Independent",
    "InverseGamma", "Laplace", "Logistic", "Mixture", "MixtureSameFamily", "Multinomial",
    "MultivariateNormalDiag", "MultivariateNormalFullCovariance", "MultivariateNormalTriL",
    "NegativeBinomial", "Normal", "OneHotCategorical", "Poisson", "RegisterKL", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "ReparameterizationType", "StudentT", "TransformedDistribution",
    "Uniform", "kl_divergence",
]
