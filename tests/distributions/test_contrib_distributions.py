"""What TensorFlow has in contrib: classes drawn smoothly, counts, functions of draws."""

import functools

import numpy as np
import pytest
import scipy  # whose `stats` are imported when they are asked for, which takes long
import scipy.special

import daskvars as dv
import daskvars.v1 as tf
from daskvars.distributions import bijectors as b

d = dv.distributions
PROBS = np.float32([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])


# -- numbers ---------------------------------------------------------------------------------------


def test_logistic_is_scipys():
    made, wanted = d.Logistic([1.0, -2.0], 0.5), scipy.stats.logistic([1.0, -2.0], 0.5)
    x = np.float32([0.25, -60.0])
    for name in ("cdf", "pdf", "logcdf", "logpdf", "sf", "logsf"):
        ours = {"pdf": "prob", "logpdf": "log_prob", "logcdf": "log_cdf"}.get(name, name)
        ours = {"sf": "survival_function", "logsf": "log_survival_function"}.get(ours, ours)
        found = getattr(made, ours)(x).numpy()
        np.testing.assert_allclose(found, getattr(wanted, name)(x), rtol=2e-5, atol=1e-30)
    np.testing.assert_allclose(made.quantile(0.3).numpy(), wanted.ppf(0.3), rtol=1e-5)
    np.testing.assert_allclose(made.entropy().numpy(), wanted.entropy(), rtol=1e-5)
    np.testing.assert_allclose(made.variance().numpy(), wanted.var(), rtol=1e-5)
    drawn = made.sample(20000, seed=1).numpy()
    np.testing.assert_allclose(drawn.mean(0), [1.0, -2.0], atol=0.03)


@pytest.mark.parametrize("given", ["rate", "log_rate"])
def test_poisson_is_scipys(given):
    rate = np.float32([0.5, 30.0])
    made = d.Poisson(**{given: rate if given == "rate" else np.log(rate)})
    wanted = scipy.stats.poisson(rate)
    for x in (0.0, 3.0, 40.0):
        np.testing.assert_allclose(made.log_prob(x).numpy(), wanted.logpmf(x), rtol=1e-4)
        np.testing.assert_allclose(made.cdf(x).numpy(), wanted.cdf(x), rtol=1e-4)
    assert made.cdf(-0.5).numpy().tolist() == [0.0, 0.0] and made.mode().numpy()[0] == 0.0
    drawn = made.sample([100, 200], seed=1).numpy()
    assert drawn.shape == (100, 200, 2)
    np.testing.assert_allclose(drawn.mean((0, 1)), rate, rtol=0.03)
    exact = d.Poisson(rate, interpolate_nondiscrete=False)
    assert exact.prob(1.5).numpy().tolist() == [0.0, 0.0]
    np.testing.assert_allclose(exact.cdf(3.5).numpy(), wanted.cdf(3), rtol=1e-4)
    other = d.Poisson(2.0)
    counts = np.arange(200.0)
    p, q = scipy.stats.poisson(30.0), scipy.stats.poisson(2.0)
    divergence = (p.pmf(counts) * (p.logpmf(counts) - q.logpmf(counts))).sum()
    np.testing.assert_allclose(made.kl_divergence(other).numpy()[1], divergence, rtol=1e-4)
    with pytest.raises(ValueError, match="exactly one"):
        d.Poisson()


SCIPYS = {  # class -> (arguments, SciPy's distribution, values)
    "Binomial": (
        {"total_count": [4.0, 7.0], "probs": [0.25, 0.5]},
        lambda: scipy.stats.binom([4, 7], [0.25, 0.5]),
        [0.0, 2.0, 4.0],
    ),
    "NegativeBinomial": (
        {"total_count": [2.0, 5.5], "probs": [0.25, 0.5]},
        lambda: scipy.stats.nbinom([2.0, 5.5], [0.75, 0.5]),
        [0.0, 2.0, 9.0],
    ),
    "Geometric": (
        {"probs": [0.25, 0.5]},
        lambda: scipy.stats.geom([0.25, 0.5], loc=-1),
        [0.0, 2.0, 9.0],
    ),
    "Cauchy": (
        {"loc": [1.0, -2.0], "scale": 0.5},
        lambda: scipy.stats.cauchy([1.0, -2.0], 0.5),
        [0.25, -60.0],
    ),
    "HalfNormal": (
        {"scale": [0.5, 2.0]},
        lambda: scipy.stats.halfnorm(scale=[0.5, 2.0]),
        [0.25, 3.0, -1.0],
    ),
    "InverseGamma": (
        {"concentration": [0.5, 6.5], "rate": 2.0},
        lambda: scipy.stats.invgamma([0.5, 6.5], scale=2.0),
        [0.25, 3.0],
    ),
    "Chi2": ({"df": [1.5, 6.0]}, lambda: scipy.stats.chi2([1.5, 6.0]), [0.25, 3.0]),
}


@pytest.mark.parametrize("name", SCIPYS)
def test_distributions_of_a_number_are_scipys(name):
    arguments, of_scipy, values = SCIPYS[name]
    made, wanted = getattr(d, name)(**arguments), of_scipy()
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [])
    log_mass = wanted.logpmf if hasattr(wanted, "logpmf") else wanted.logpdf
    if name in ("Cauchy", "HalfNormal", "InverseGamma", "Chi2"):
        log_mass = wanted.logpdf
    for x in np.float32(values):
        np.testing.assert_allclose(made.log_prob(x).numpy(), log_mass(x), rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(made.prob(x).numpy(), np.exp(log_mass(x)), rtol=2e-5)
        np.testing.assert_allclose(made.cdf(x).numpy(), wanted.cdf(x), rtol=2e-5, atol=1e-7)
    mean, variance = (np.where(np.isfinite(v), v, np.nan) for v in (wanted.mean(), wanted.var()))
    np.testing.assert_allclose(made.mean().numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(made.variance().numpy(), variance, rtol=1e-5)
    if name not in ("Binomial", "NegativeBinomial"):  # as in TensorFlow
        np.testing.assert_allclose(made.entropy().numpy(), wanted.entropy(), rtol=1e-5)
    if name in ("Cauchy", "HalfNormal"):
        np.testing.assert_allclose(made.quantile(0.3).numpy(), wanted.ppf(0.3), rtol=1e-5)
    if name == "Binomial":
        with pytest.raises(NotImplementedError, match="sample is not implemented: Binomial"):
            made.sample(2)
        return
    drawn = made.sample([40, 500], seed=1).numpy()
    assert drawn.shape == (40, 500, 2)
    for x in np.float32(values):
        np.testing.assert_allclose((drawn <= x).mean((0, 1)), wanted.cdf(x), atol=0.015)
    assert made.copy(validate_args=True).sample(3).shape.as_list() == [3, 2]


def test_modes_are_tensorflows():
    for made, wanted in (
        (d.Binomial([4.0, 7.0], probs=[0.25, 0.5]), [1.0, 4.0]),
        (d.NegativeBinomial([0.5, 5.5], probs=[0.25, 0.5]), [0.0, 4.0]),
        (d.Geometric(probs=[0.25]), [0.0]),
        (d.Cauchy([1.0, 2.0], 3.0), [1.0, 2.0]),
        (d.HalfNormal([2.0]), [0.0]),
        (d.InverseGamma([3.0], 2.0), [0.5]),
        (d.Chi2([6.0]), [4.0]),
        (d.Deterministic([6.0]), [6.0]),
    ):
        np.testing.assert_allclose(made.mode().numpy(), wanted)


def test_what_draws_one_number_has_it_and_its_surroundings():
    made = d.Deterministic([1.0, -2.0], atol=0.5)
    assert made.sample([3], seed=1).numpy().tolist() == [[1.0, -2.0]] * 3
    assert made.prob([1.5, -2.75]).numpy().tolist() == [1.0, 0.0]
    assert made.log_prob([1.5, -2.75]).numpy().tolist() == [0.0, -np.inf]
    assert made.cdf([0.4, -2.5]).numpy().tolist() == [0.0, 1.0]
    near = d.Deterministic(100.0, rtol=0.01)
    assert near.prob([99.5, 98.5]).numpy().tolist() == [1.0, 0.0]
    assert float(near.variance()) == float(near.entropy()) == 0.0 and float(near.mean()) == 100.0


def test_what_is_not_defined_is_nan_or_raises():
    assert np.isnan(float(d.Cauchy(0.0, 1.0).mean()))
    with pytest.raises(ValueError, match="`mean` is undefined for Cauchy"):
        d.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()
    with pytest.raises(dv.errors.InvalidArgumentError, match="variance undefined"):
        d.InverseGamma(1.5, 1.0, allow_nan_stats=False).variance().numpy()
    with pytest.raises(dv.errors.InvalidArgumentError, match="counts are not less than"):
        d.Binomial(2.0, probs=0.5, validate_args=True).prob(3.0).numpy()
    divergence = float(d.HalfNormal(1.0).kl_divergence(d.HalfNormal(2.0)))
    np.testing.assert_allclose(divergence, np.log(2) - 3 / 8, rtol=1e-6)


# -- classes ---------------------------------------------------------------------------------------


def test_one_hot_classes_are_those_of_categorical():
    made, plain = d.OneHotCategorical(probs=PROBS), d.Categorical(probs=PROBS)
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [3])
    drawn = made.sample([50, 200], seed=1).numpy()
    assert drawn.dtype == np.int32 and (drawn.sum(-1) == 1).all()
    np.testing.assert_allclose(drawn.mean((0, 1)), PROBS, atol=0.02)
    np.testing.assert_allclose(
        made.log_prob(drawn).numpy(), plain.log_prob(drawn.argmax(-1)).numpy(), rtol=1e-5
    )
    np.testing.assert_allclose(made.entropy().numpy(), plain.entropy().numpy(), rtol=1e-6)
    np.testing.assert_allclose(made.mean().numpy(), PROBS, rtol=1e-6)
    assert made.mode().numpy().tolist() == [[0, 0, 1], [1, 0, 0]]
    np.testing.assert_allclose(made.covariance().numpy()[0, 0], [0.16, -0.06, -0.1], rtol=1e-5)
    other = d.OneHotCategorical(logits=[0.0, 1.0, 2.0]), d.Categorical(logits=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(
        made.kl_divergence(other[0]).numpy(), plain.kl_divergence(other[1]).numpy(), rtol=1e-5
    )
    assert float(d.OneHotCategorical(probs=[0.0, 1.0]).prob([0, 1])) == 1.0
    assert plain.prob([3, -1]).numpy().tolist() == [0.0, 0.0]  # they are no classes
    np.testing.assert_allclose(
        plain.cdf([[-1], [3], [9]]).numpy()[:, 0], [0.0, 1.0, 1.0], rtol=1e-6
    )


def test_relaxed_classes_are_near_corners_and_have_densities():
    made = d.RelaxedOneHotCategorical(0.1, probs=PROBS)
    drawn = made.sample(4000, seed=1).numpy()
    assert drawn.shape == (4000, 2, 3)
    np.testing.assert_allclose(drawn.sum(-1), 1.0, rtol=1e-5)
    largest = np.eye(3)[drawn.argmax(-1)].mean(0)
    np.testing.assert_allclose(largest, PROBS, atol=0.03)
    two = d.RelaxedOneHotCategorical(0.7, probs=[0.3, 0.7])
    one = d.RelaxedBernoulli(0.7, probs=0.3)
    x = np.float32([0.1, 0.5, 0.95])
    found = two.log_prob(np.stack([x, 1 - x], -1)).numpy()
    np.testing.assert_allclose(found, one.log_prob(x).numpy(), rtol=1e-4)
    logs = d.ExpRelaxedOneHotCategorical([0.5, 2.0], probs=PROBS).sample(7, seed=3).numpy()
    np.testing.assert_allclose(scipy.special.logsumexp(logs, -1), 0.0, atol=1e-5)


def test_relaxed_bernoulli_is_a_density_whose_cdf_and_quantile_fit():
    made = d.RelaxedBernoulli([0.5, 2.0], logits=1.0)
    x = np.linspace(0, 1, 20001, dtype="f8")[1:-1].astype("f4")[:, None]
    mass = made.prob(x).numpy().astype("f8")
    np.testing.assert_allclose(mass[:, 1].sum() / 20000, 1.0, rtol=1e-3)
    below = mass[:5000, 1].sum() / 20000
    np.testing.assert_allclose(made.cdf(0.25).numpy()[1], below, rtol=1e-2)
    np.testing.assert_allclose(made.cdf(made.quantile(0.3)).numpy(), [0.3, 0.3], rtol=1e-4)
    drawn = made.sample(20000, seed=2).numpy()
    half = (drawn > 0.5).mean(0)
    np.testing.assert_allclose(half, scipy.special.expit([1.0, 1.0]), atol=0.02)


def test_gradients_reach_log_probabilities_through_relaxed_draws():
    logits = dv.Variable([0.0, 1.0, 2.0])
    with dv.GradientTape() as tape:
        made = d.RelaxedOneHotCategorical(1.0, logits=logits)
        value = dv.reduce_mean(made.sample(500, seed=1)[:, 0])
    gradient = tape.gradient(value, logits).numpy()
    assert gradient[0] > 0 > gradient[2]
    assert made.reparameterization_type is d.FULLY_REPARAMETERIZED
    copied = made.copy(temperature=0.25)
    assert float(copied.temperature) == 0.25 and copied.logits.shape.as_list() == [3]


# -- functions of draws ----------------------------------------------------------------------------

TRIANGLE = np.float32([[2.0, 0.0], [0.5, 3.0]])
OF_NUMBERS = {
    "identity": b.Identity(),
    "exp": b.Exp(),
    "sigmoid": b.Sigmoid(),
    "softplus": b.Softplus(),
    "tanh": b.Tanh(),
    "affine_scalar": b.AffineScalar(1.0, -2.0),
    "chain": b.Chain([b.AffineScalar(1.0), b.Exp(), b.AffineScalar(scale=0.5)]),
    "invert": b.Invert(b.Softplus()),
}
OF_VECTORS = {
    "shift": b.Affine([1.0, 2.0]),
    "multiple": b.Affine(scale_identity_multiplier=3.0),
    "diagonal": b.Affine([1.0, 2.0], scale_diag=[2.0, -0.5]),
    "triangle": b.Affine([1.0, 2.0], scale_tril=TRIANGLE),
    "sum": b.Affine(scale_identity_multiplier=1.0, scale_diag=[1.0, 2.0], scale_tril=TRIANGLE),
    "chain": b.Chain([b.Exp(), b.Affine(scale_tril=TRIANGLE), b.Tanh()]),
    "batch": b.Affine(scale_tril=np.stack([TRIANGLE, 2 * TRIANGLE])),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_inverses_and_stretches_of_numbers(name):
    bijector = OF_NUMBERS[name]
    x = np.float32([0.25, 0.5, 1.5])
    with dv.GradientTape() as tape:
        given = dv.constant(x)
        tape.watch(given)
        y = bijector.forward(given)
    slope = tape.gradient(y, given).numpy()
    np.testing.assert_allclose(bijector.inverse(bijector.forward(x)).numpy(), x, rtol=1e-5)
    found = bijector.forward_log_det_jacobian(x, event_ndims=0).numpy()
    np.testing.assert_allclose(found, np.log(np.abs(slope)), rtol=1e-4, atol=1e-6)
    back = bijector.inverse_log_det_jacobian(bijector.forward(x), event_ndims=1).numpy()
    np.testing.assert_allclose(back, -found.sum(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OF_VECTORS)
def test_inverses_and_stretches_of_vectors(name):
    bijector = OF_VECTORS[name]
    x = np.float32([[0.25, -0.5], [1.0, 0.125]])
    y = bijector.forward(x).numpy()
    np.testing.assert_allclose(bijector.inverse(y).numpy(), x, rtol=1e-4)
    found = bijector.forward_log_det_jacobian(x, event_ndims=1).numpy()
    for row in range(2):
        step = 1e-2
        moved = np.stack(
            [
                bijector.forward(x + step * e).numpy()[row]
                - bijector.forward(x - step * e).numpy()[row]
                for e in np.eye(2, dtype="f4")
            ]
        )
        wanted = np.log(abs(np.linalg.det(moved / (2 * step))))
        np.testing.assert_allclose(found[row], wanted, rtol=2e-2, atol=2e-3)
    with pytest.raises(ValueError, match="must be at least 1"):
        bijector.forward_log_det_jacobian(x, event_ndims=0)


def test_a_log_normal_distribution_is_scipys():
    made = d.TransformedDistribution(d.Normal([0.5, -1.0], 0.75), b.Exp())
    wanted = scipy.stats.lognorm(0.75, scale=np.exp([0.5, -1.0]))
    x = np.float32([0.3, 2.0])
    np.testing.assert_allclose(made.log_prob(x).numpy(), wanted.logpdf(x), rtol=1e-4)
    np.testing.assert_allclose(made.cdf(x).numpy(), wanted.cdf(x), rtol=1e-4)
    np.testing.assert_allclose(made.survival_function(x).numpy(), wanted.sf(x), rtol=1e-4)
    np.testing.assert_allclose(made.quantile(0.3).numpy(), wanted.ppf(0.3), rtol=1e-4)
    drawn = made.sample([3, 5000], seed=1).numpy()
    np.testing.assert_allclose(np.log(drawn).mean((0, 1)), [0.5, -1.0], atol=0.03)
    with pytest.raises(NotImplementedError, match="mean is not implemented"):
        made.mean()
    assert made.copy(validate_args=True).event_shape.as_list() == []


@pytest.mark.parametrize(
    "base", [d.MultivariateNormalDiag([0.0, 0.0], [1.0, 1.0]), d.Normal([0.0, 0.0], 1.0)]
)
def test_vectors_are_moved_as_one(base):
    made = d.TransformedDistribution(base, b.Affine([1.0, 2.0], scale_tril=TRIANGLE))
    wanted = d.MultivariateNormalTriL([1.0, 2.0], TRIANGLE)
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([], [2])
    x = np.float32([[0.5, 0.25], [3.0, -1.0]])
    np.testing.assert_allclose(made.log_prob(x).numpy(), wanted.log_prob(x).numpy(), rtol=1e-5)
    np.testing.assert_allclose(made.entropy().numpy(), wanted.entropy().numpy(), rtol=1e-5)
    assert made.mean().numpy().tolist() == [1.0, 2.0]
    drawn = made.sample(20000, seed=1).numpy()
    np.testing.assert_allclose(np.cov(drawn.T), TRIANGLE @ TRIANGLE.T, rtol=0.1, atol=0.1)
    with pytest.raises(NotImplementedError, match="cdf is not implemented"):
        made.cdf(x)


def test_what_cannot_be_moved():
    with pytest.raises(TypeError, match="takes a bijector"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), np.exp)
    with pytest.raises(ValueError, match="those of Normal have 0 and its batch has 0"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), b.Affine(scale_diag=[1.0]))


def test_programs_build_them_in_graphs(graph):
    contrib = tf.contrib.distributions
    base = contrib.Normal(tf.zeros([3]), 1.0)
    moved = contrib.TransformedDistribution(base, contrib.bijectors.Sigmoid())
    relaxed = contrib.RelaxedOneHotCategorical(0.5, logits=tf.zeros([2, 4]))
    drawn = moved.sample(5)
    (gradient,) = tf.gradients(relaxed.log_prob(relaxed.sample()), [relaxed.logits])
    with tf.Session() as sess:
        values, slopes = sess.run([drawn, gradient])
    assert values.shape == (5, 3) and ((values > 0) & (values < 1)).all()
    assert slopes.shape == (2, 4) and np.isfinite(slopes).all()


def test_the_size_of_a_draw_may_be_known_to_the_run_alone(graph):
    loc = tf.placeholder(tf.float32, [None, None])
    made = tf.contrib.distributions.MultivariateNormalDiag(loc, tf.ones_like(loc))
    with tf.Session() as session:
        sizes, drawn = session.run(
            [made.event_shape_tensor(), made.sample(5, seed=1)], {loc: np.zeros([2, 3])}
        )
    assert sizes.tolist() == [3] and drawn.shape == (5, 2, 3)


def test_the_number_of_classes_may_be_known_to_the_run_alone(graph):
    contrib, weights = tf.contrib.distributions, [[0.5, -1.0, 2.0], [0.0, 0.0, 1.0]]
    made = {
        tf.distributions.Categorical: [2, 0],
        contrib.OneHotCategorical: np.eye(3)[[2, 0]],
        functools.partial(tf.distributions.Multinomial, 1.0): np.eye(3)[[1, 1]],
        functools.partial(contrib.RelaxedOneHotCategorical, 0.5): [
            [0.2, 0.3, 0.5],
            [0.1, 0.1, 0.8],
        ],
    }
    for kind, value in made.items():
        logits = tf.placeholder(tf.float32, [None, None])
        known, free = kind(logits=tf.constant(weights)), kind(logits=logits)
        wanted = [known.log_prob(value), known.sample([4], seed=3), known.event_shape_tensor()]
        found = [free.log_prob(value), free.sample([4], seed=3), free.event_shape_tensor()]
        with tf.Session() as session:
            pairs = zip(session.run(wanted), session.run(found, {logits: weights}), strict=True)
            for one, other in pairs:
                assert one.shape == other.shape and np.isfinite(other).all()
            np.testing.assert_allclose(*session.run([wanted[0], found[0]], {logits: weights}))
    with pytest.raises(ValueError, match="number of classes of cat must be known"):
        contrib.Mixture(
            tf.distributions.Categorical(logits[0]), [tf.distributions.Normal(0.0, 1.0)]
        )
