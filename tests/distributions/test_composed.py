"""Mixtures, batches as draws, correlated normal numbers: against NumPy's and SciPy's formulas."""

import numpy as np
import pytest
import scipy  # whose `stats` are imported when they are asked for, which takes long

import daskvars as dv

d = dv.distributions
RNG = np.random.default_rng(0)
LOC = RNG.normal(size=(4, 3)).astype("float32")
SCALE = RNG.uniform(0.5, 2, size=(4, 3)).astype("float32")
WEIGHTS = np.array([0.5, 0.3, 0.2], "float32")
POINTS = RNG.normal(size=(4,)).astype("float32")


def logs(points):
    parts = scipy.stats.norm.logpdf(points[..., None], LOC, SCALE) + np.log(WEIGHTS)
    return np.logaddexp.reduce(parts, -1)


def mixtures():
    choice = d.Categorical(probs=np.tile(WEIGHTS, (4, 1)))
    several = [d.Normal(LOC[:, n], SCALE[:, n]) for n in range(3)]
    return d.MixtureSameFamily(choice, d.Normal(LOC, SCALE)), d.Mixture(choice, several)


@pytest.mark.parametrize("kind", [0, 1])
def test_mixtures_of_numbers(kind):
    mixture = mixtures()[kind]
    assert (mixture.batch_shape.as_list(), mixture.event_shape.as_list()) == ([4], [])
    np.testing.assert_allclose(mixture.log_prob(POINTS).numpy(), logs(POINTS), rtol=1e-4)
    drawn = mixture.sample(20000, seed=1).numpy()
    assert drawn.shape == (20000, 4)
    mean = (LOC * WEIGHTS).sum(1)
    variance = ((SCALE**2 + LOC**2) * WEIGHTS).sum(1) - mean**2
    for found in (mixture.mean().numpy(), drawn.mean(0)):
        np.testing.assert_allclose(found, mean, atol=0.06)
    for found in (mixture.variance().numpy(), drawn.var(0)):
        np.testing.assert_allclose(found, variance, rtol=0.08)


def test_a_mixture_of_vectors_has_gradients():
    loc, logits = dv.Variable(LOC), dv.Variable([0.1, 0.2, 0.3, 0.4])
    clouds = d.MultivariateNormalDiag(loc, SCALE)
    with dv.GradientTape() as tape:
        clouds = d.MultivariateNormalDiag(loc, SCALE)
        mixture = d.MixtureSameFamily(d.Categorical(logits=logits), clouds)
        found = mixture.log_prob(POINTS[:3])
    assert mixture.event_shape.as_list() == [3]
    assert mixture.sample([5, 2], seed=1).shape.as_list() == [5, 2, 3]
    parts = scipy.stats.norm.logpdf(POINTS[:3], LOC, SCALE).sum(1)
    weights = np.exp([0.1, 0.2, 0.3, 0.4]) / np.exp([0.1, 0.2, 0.3, 0.4]).sum()
    np.testing.assert_allclose(
        float(found), np.logaddexp.reduce(parts + np.log(weights)), rtol=1e-4
    )
    by_loc, by_logits = tape.gradient(found, [loc, logits])
    shares = np.exp(parts) * weights / (np.exp(parts) * weights).sum()
    np.testing.assert_allclose(by_logits.numpy(), shares - weights, atol=1e-5)
    np.testing.assert_allclose(
        by_loc.numpy(), shares[:, None] * (POINTS[:3] - LOC) / SCALE**2, rtol=1e-3, atol=1e-5
    )
    mixed = d.Mixture(
        d.Categorical(logits=logits[:2]),
        [d.MultivariateNormalDiag(LOC[n], SCALE[n]) for n in range(2)],
    )
    assert mixed.sample(6, seed=2).shape.as_list() == [6, 3]
    assert mixed.mean().shape.as_list() == [3]


def test_batches_are_one_draw():
    each = d.Normal(LOC, SCALE)
    whole = d.Independent(each)
    assert (whole.batch_shape.as_list(), whole.event_shape.as_list()) == ([4], [3])
    x = RNG.normal(size=(4, 3)).astype("float32")
    wanted = scipy.stats.norm.logpdf(x, LOC, SCALE).sum(1)
    np.testing.assert_allclose(whole.log_prob(x).numpy(), wanted, rtol=1e-4)
    np.testing.assert_allclose(whole.entropy().numpy(), each.entropy().numpy().sum(1), rtol=1e-5)
    assert whole.sample(2, seed=1).shape.as_list() == [2, 4, 3]
    other = d.Normal(0.0, np.ones_like(SCALE))
    divergence = d.kl_divergence(whole, d.Independent(other))
    np.testing.assert_allclose(
        divergence.numpy(), d.kl_divergence(each, other).numpy().sum(1), rtol=1e-4
    )
    assert d.Independent(each, 2).event_shape.as_list() == [4, 3]
    assert whole.copy(reinterpreted_batch_ndims=0).event_shape.as_list() == []
    with pytest.raises(ValueError, match="cannot exceed"):
        d.Independent(each, 3)


def test_normal_vectors_with_covariances():
    factor = np.tril(RNG.normal(size=(3, 3))) + 2 * np.eye(3)
    covariances = (factor @ factor.T).astype("float32")
    x = RNG.normal(size=(5, 3)).astype("float32")
    wanted = scipy.stats.multivariate_normal(LOC[0], covariances)
    by_factor = d.MultivariateNormalTriL(LOC[0], factor.astype("float32"))
    for cloud in (by_factor, d.MultivariateNormalFullCovariance(LOC[0], covariances)):
        np.testing.assert_allclose(cloud.log_prob(x).numpy(), wanted.logpdf(x), rtol=1e-4)
        np.testing.assert_allclose(float(cloud.entropy()), wanted.entropy(), rtol=1e-4)
        np.testing.assert_allclose(cloud.covariance().numpy(), covariances, rtol=1e-4)
        np.testing.assert_allclose(cloud.variance().numpy(), np.diag(covariances), rtol=1e-4)
        drawn = cloud.sample(20000, seed=1).numpy()
        np.testing.assert_allclose(np.cov(drawn.T), covariances, atol=0.5)
        np.testing.assert_allclose(drawn.mean(0), LOC[0], atol=0.1)
    batch = d.MultivariateNormalTriL(LOC, factor.astype("float32"))
    assert batch.batch_shape.as_list() == [4]
    assert batch.sample(2, seed=1).shape.as_list() == [2, 4, 3]
    assert batch.log_prob(LOC).shape.as_list() == [4]


def test_refusals():
    choice, normal = d.Categorical(probs=[0.5, 0.5]), d.Normal(0.0, 1.0)
    with pytest.raises(TypeError, match="cat must be a Categorical"):
        d.Mixture(normal, [normal])
    with pytest.raises(ValueError, match="must be non-empty"):
        d.Mixture(choice, [])
    with pytest.raises(ValueError, match="cat is of 2 components, but 1"):
        d.Mixture(choice, [normal])
    with pytest.raises(TypeError, match="same dtype"):
        d.Mixture(choice, [normal, d.Normal(np.float64(0), np.float64(1))])
    with pytest.raises(ValueError, match="must be Categorical"):
        d.MixtureSameFamily(normal, normal)
    with pytest.raises(ValueError, match="scale_tril"):
        d.MultivariateNormalTriL([0.0])
    with pytest.raises(ValueError, match="covariance_matrix"):
        d.MultivariateNormalFullCovariance([0.0])


def test_divergences_of_correlated_normal_numbers():
    rng = np.random.default_rng(1)
    factors = np.tril(rng.normal(size=(2, 3, 3))) + 2 * np.eye(3)
    means = rng.normal(size=(2, 3))
    single = d.MultivariateNormalTriL(means[0], factors[0])
    several = d.MultivariateNormalTriL(means, factors)
    full = d.MultivariateNormalFullCovariance(means, factors @ factors.swapaxes(1, 2))
    plain = d.MultivariateNormalDiag(means[1], np.array([1.0, 2.0, 0.5]))

    def expected(a, b):
        mean_a, of_a = np.broadcast_to(a.mean(), (2, 3)), np.asarray(a.covariance())
        mean_b, of_b = np.broadcast_to(b.mean(), (2, 3)), np.asarray(b.covariance())
        inverse, away = np.linalg.inv(of_b), mean_b - mean_a
        traces = np.trace(inverse @ of_a, axis1=-2, axis2=-1)
        distances = (away[:, None] @ inverse @ away[..., None])[:, 0, 0]
        ratio = np.log(np.linalg.det(of_b) / np.linalg.det(of_a))
        return np.broadcast_to(0.5 * (traces + distances - 3 + ratio), 2)

    for a, b in [(several, single), (single, full), (full, plain), (plain, several)]:
        found = np.broadcast_to(d.kl_divergence(a, b).numpy(), 2)
        np.testing.assert_allclose(found, expected(a, b), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(d.kl_divergence(several, full).numpy(), 0, atol=1e-12)
    both = d.kl_divergence(single, plain)
    assert both.shape.as_list() == []
