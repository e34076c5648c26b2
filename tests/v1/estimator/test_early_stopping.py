"""Trainings that end by what their evaluations found."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.slow  # they train whole models

early = tf.contrib.estimator


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.losses.mean_squared_error(labels, w * features)
    descent = tf.train.GradientDescentOptimizer(0.1)
    train = descent.minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def rows(labels=3.0):
    data = np.float32([1.0, 2.0])
    return tf.estimator.inputs.numpy_input_fn(
        data, labels * data, batch_size=2, shuffle=False, num_epochs=None
    )


@pytest.fixture
def estimator(tmp_path):
    config = tf.estimator.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=2)
    return tf.estimator.Estimator(model_fn, config=config)


def trained(estimator, *hooks, eval_labels=3.0):
    """Return the step that a training ends at, which evaluates at each second step."""
    train = tf.estimator.TrainSpec(rows(), max_steps=40, hooks=hooks)
    evaluation = tf.estimator.EvalSpec(rows(eval_labels), steps=1, throttle_secs=0)
    tf.estimator.train_and_evaluate(estimator, train, evaluation)
    return int(estimator.get_variable_value("global_step"))


EACH = {"run_every_secs": None, "run_every_steps": 1}


def test_a_training_ends_when_the_loss_no_longer_falls(estimator):
    hook = early.stop_if_no_decrease_hook(estimator, "loss", 4, **EACH)
    step = trained(estimator, hook, eval_labels=2.0)  # the best w is passed on the way to 3
    found = early.read_eval_metrics(estimator.eval_dir())
    best = min(found, key=lambda at: found[at]["loss"])
    assert best < step < 40 and list(found) == sorted(found)
    assert step <= best + 4 + 2


def test_a_training_ends_at_a_threshold(estimator):
    hook = early.stop_if_lower_hook(estimator, "loss", 0.1, **EACH)
    step = trained(estimator, hook)
    losses = early.read_eval_metrics(estimator.eval_dir())
    assert step < 40 and min(found["loss"] for found in losses.values()) < 0.1


@pytest.mark.slow
def test_a_training_goes_on_where_nothing_is_wrong(estimator):
    """For each of them: any one would end it, and says so."""
    hooks = [
        make(estimator, "loss", argument, **EACH)
        for make, argument in [
            (early.stop_if_higher_hook, 1e9),
            (early.stop_if_lower_hook, -1.0),
            (early.stop_if_no_decrease_hook, 1000),
            (early.stop_if_no_increase_hook, 1000),
        ]
    ]
    assert trained(estimator, *hooks) == 40


def test_evaluations_before_a_step_do_not_count(estimator):
    hook = early.stop_if_no_increase_hook(estimator, "loss", 2, min_steps=20, **EACH)
    assert 20 <= trained(estimator, hook) < 40


def test_a_function_of_ones_own(estimator):
    asked = []
    hook = tf.estimator.experimental.make_early_stopping_hook(
        estimator, lambda: bool(asked.append(None)) or len(asked) == 3, None, run_every_steps=5
    )
    estimator.train(rows(), hooks=[hook], max_steps=40)
    assert int(estimator.get_variable_value("global_step")) == 11 and len(asked) == 3


def test_what_is_refused(estimator):
    with pytest.raises(TypeError, match=r"must be a tf\.estimator\.Estimator"):
        early.make_early_stopping_hook("model", lambda: True)
    with pytest.raises(TypeError, match="must be a function"):
        early.make_early_stopping_hook(estimator, True)
    with pytest.raises(ValueError, match="Only one of"):
        early.stop_if_lower_hook(estimator, "loss", 0.1, run_every_steps=3)
    assert not early.read_eval_metrics(estimator.eval_dir())
    assert estimator.eval_dir("test").endswith("eval_test")
