"""Distributions: TensorFlow's numbers, samples with their moments, gradients."""

import json

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import errors
from tests.distributions import cases

D = dv.distributions


def test_results_are_tensorflows():
    expected = json.loads(cases.PATH.read_text())
    found = cases.results(D, lambda t: t.numpy().tolist())
    assert found.keys() == expected.keys()
    expected["Exponential.0.mode"] = [0.0, 0.0]  # TensorFlow has that of Gamma, which is NaN
    for name, wanted in expected.items():
        if wanted is None or found[name] is None or name.endswith("shapes"):
            assert found[name] == wanted, name
        else:
            np.testing.assert_allclose(found[name], wanted, rtol=2e-5, atol=1e-6, err_msg=name)


SAMPLED = {
    "Normal": {"loc": [1.0, -2.0], "scale": 2.0},
    "Laplace": {"loc": [1.0, -2.0], "scale": 2.0},
    "Uniform": {"low": [1.0, -2.0], "high": 2.0},
    "Exponential": {"rate": [1.0, 2.0]},
    "Gamma": {"concentration": [1.0, 3.0], "rate": 2.0},
    "Beta": {"concentration1": [1.0, 3.0], "concentration0": 2.0},
    "StudentT": {"df": [9.0, 5.0], "loc": 1.0, "scale": 2.0},
    "Bernoulli": {"probs": [0.25, 0.5]},
    "Dirichlet": {"concentration": [[0.5, 2.0, 3.0], [4.0, 2.0, 3.0]]},
    "Multinomial": {"total_count": 3.0, "probs": [[0.25, 0.75], [0.5, 0.5]]},
    "DirichletMultinomial": {"total_count": 3.0, "concentration": [[0.5, 2.0], [4.0, 2.0]]},
    "MultivariateNormalDiag": {"loc": [1.0, -2.0], "scale_diag": [2.0, 0.5]},
}


def test_densities_at_their_ends_and_far_away():
    """Of an exponent of 0 it is 1 there; the gradient by the exponent is the logarithm all over."""
    ends = [D.Exponential(2.0), D.Gamma(1.0, 2.0), D.Beta(1.0, 2.0)]
    assert [float(each.prob(0.0)) for each in ends] == [2, 2, 2]
    assert float(D.Beta(1.0, 1.0).prob(1.0)) == float(D.Dirichlet([1.0, 1.0]).prob([0.0, 1.0])) == 1
    with dv.GradientTape() as tape:
        exponents = dv.constant([1.0, 2.0])
        densities = (
            D.Gamma(exponents[0], 1.0).log_prob(3.0),
            D.Dirichlet(exponents).prob([0.5, 0.5]),
        )
    found = tape.gradient(densities, exponents).numpy()
    np.testing.assert_allclose(
        found, [np.log(3) + np.euler_gamma + 1.5 - np.log(2), 0.5 - np.log(2)], rtol=1e-5
    )
    far = D.Laplace(2.0, 2.0).log_survival_function([40.0, 400.0])
    np.testing.assert_allclose(far.numpy(), -np.log(2) - np.array([19, 199]), rtol=1e-6)


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_have_shape_moments_and_follow_from_the_seed(name):
    made = getattr(D, name)(**SAMPLED[name])
    drawn = made.sample([40, 100], seed=3).numpy()
    shape = made.batch_shape.as_list() + made.event_shape.as_list()
    assert list(drawn.shape) == [40, 100, *shape] and made.sample(seed=1).shape.as_list() == shape
    variance = made.variance().numpy()
    error = np.sqrt(variance / 4000)
    assert (np.abs(drawn.mean((0, 1)) - made.mean().numpy()) < 5 * error + 1e-6).all()
    np.testing.assert_allclose(drawn.var((0, 1)), variance, rtol=0.35)
    with tf.Graph().as_default(), tf.Session() as session:
        made = getattr(tf.distributions, name)(**SAMPLED[name])
        first, again = (session.run(made.sample(5, seed=3)) for _ in range(2))
    assert first.shape == again.shape == (5, *shape)


QUANTILES = ["Normal", "Laplace", "Uniform", "Exponential"]


@pytest.mark.parametrize("name", QUANTILES)
def test_a_quantile_is_what_the_cdf_says(name):
    made = getattr(D, name)(**SAMPLED[name])
    share = np.array([[0.001], [0.3], [0.5], [0.99]], "f4")
    np.testing.assert_allclose(
        made.cdf(made.quantile(share)).numpy(), np.broadcast_to(share, (4, 2)), rtol=1e-4
    )


def test_each_of_a_batch_draws_its_own_number():
    made = D.Multinomial([2.0, 5.0], probs=[[0.5, 0.5], [0.1, 0.9]])
    assert np.unique(made.sample(50, seed=1).numpy().sum(-1), axis=0).tolist() == [[2.0, 5.0]]


def test_vectors_have_covariances_and_what_has_no_formula_says_so():
    made = D.MultivariateNormalDiag([1.0, -2.0], [2.0, 0.5])
    np.testing.assert_allclose(made.covariance().numpy(), [[4.0, 0.0], [0.0, 0.25]])
    for call in (D.Normal(0.0, 1.0).covariance, lambda: D.Gamma(1.0, 1.0).quantile(0.5)):
        with pytest.raises(NotImplementedError, match=r"is not implemented: (Normal|Gamma)"):
            call()


def test_classes_are_drawn_with_their_probabilities():
    made = D.Categorical(probs=[[0.25, 0.75], [0.5, 0.5]])
    drawn = made.sample([2, 2000], seed=1).numpy()
    assert drawn.shape == (2, 2000, 2)
    np.testing.assert_allclose(drawn.mean((0, 1)), [0.75, 0.5], atol=0.04)


def test_gradients_reach_parameters_through_samples():
    loc, scale = dv.Variable(1.0, name="loc"), dv.Variable(2.0, name="scale")
    with dv.GradientTape() as tape:
        drawn = D.Normal(loc, scale).sample(1000, seed=1)
        mean = dv.reduce_mean(drawn)
    by_loc, by_scale = (float(g) for g in tape.gradient(mean, [loc, scale]))
    assert by_loc == pytest.approx(1.0)
    assert by_scale == pytest.approx((float(mean) - 1) / 2, abs=1e-6)
    assert D.Normal(0.0, 1.0).reparameterization_type is D.FULLY_REPARAMETERIZED
    assert D.Bernoulli(probs=0.5).reparameterization_type is D.NOT_REPARAMETERIZED


def test_arguments_are_checked_where_that_is_wanted():
    with pytest.raises(errors.InvalidArgumentError, match="scale must be positive"):
        D.Normal(0.0, -1.0, validate_args=True).mean().numpy()
        D.Normal(0.0, -1.0, validate_args=True).sample(2).numpy()
    with pytest.raises(errors.InvalidArgumentError, match="mode not defined"):
        D.Gamma(0.5, 1.0, allow_nan_stats=False).mode().numpy()
    assert np.isnan(float(D.Gamma(0.5, 1.0).mode()))
    counts = {"total_count": 4.0, "probs": [0.25, 0.75]}
    for name, arguments, value, problem in (
        ("Multinomial", counts, [3.0, 3.0], "must sum to `self.total_count`"),
        ("Multinomial", counts, [2.5, 1.5], "fractional"),
        ("Multinomial", counts, [-1.0, 5.0], "non-negative"),
        ("Dirichlet", {"concentration": [1.0, 2.0]}, [0.5, 0.6], "must sum to `1`"),
        ("Beta", {"concentration1": 1.0, "concentration0": 2.0}, 1.0, "less than `1`"),
    ):
        made = getattr(D, name)(**arguments, validate_args=True)
        with pytest.raises(errors.InvalidArgumentError, match=problem):
            made.prob(value).numpy()
    with pytest.raises(ValueError, match="probs or logits"):
        D.Bernoulli()
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Gamma(1.0, 1.0))
    assert float(D.Normal(0.0, 1.0).copy(loc=3.0).mean()) == 3.0


def test_what_only_the_run_knows_of_a_vector_changes_nothing():
    given = np.array([[2.5, 1.5, 3.0], [4.0, 2.0, 1.25]])
    shapes = [[2, 3], [None, None], None]
    with tf.Graph().as_default(), tf.Session() as session:
        found = []
        for shape in shapes:
            concentration = tf.placeholder(tf.float64, shape)
            made = tf.distributions.Dirichlet(concentration)
            fetches = [made.entropy(), made.mode(), made.variance(), made.event_shape_tensor()]
            found.append(session.run(fetches, {concentration: given}))
    for of_shape in found[1:]:
        for wanted, value in zip(found[0], of_shape, strict=True):
            np.testing.assert_array_equal(value, wanted)


def test_gradients_are_those_of_what_was_given():
    p = dv.constant([0.25, 0.5, 0.0, 1.0], dv.float64)
    weights = dv.constant([0.2, 0.3, 0.5], dv.float64)
    with dv.GradientTape(persistent=True) as tape:
        tape.watch([p, weights])
        quantile = D.Normal(np.float64(1.0), 2.0).quantile(p)
        entropy = D.Categorical(probs=weights).entropy()
    density = np.exp(-(((quantile.numpy()[:2] - 1) / 2) ** 2) / 2) / np.sqrt(8 * np.pi)
    slope = tape.gradient(quantile, p).numpy()
    np.testing.assert_allclose(slope[:2], 1 / density, rtol=1e-12)
    assert slope[2:].tolist() == [0, 0]
    assert quantile.numpy()[2:].tolist() == [-np.inf, np.inf]
    # As in TensorFlow: probabilities are not made to sum to 1 first.
    np.testing.assert_allclose(tape.gradient(entropy, weights).numpy(), -np.log(weights.numpy()))
