"""A program of an Estimator, whole: a model function is trained, evaluated, and predicts."""

import numpy as np
import pytest

import daskvars.v1 as tf


def model_fn(features, labels, mode, params):
    hidden = tf.layers.dense(features["x"], params["units"], tf.nn.relu)
    logits = tf.layers.dense(hidden, 2)
    classes = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        found = {"class": classes, "probability": tf.nn.softmax(logits)}
        return tf.estimator.EstimatorSpec(mode, predictions=found)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = {"accuracy": tf.metrics.accuracy(labels, classes)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=accuracy)
    optimizer = tf.train.AdamOptimizer(0.05)
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    return x, (x.sum(1) > 0).astype(np.int64)


def inputs(x, y=None, epochs=1, shuffle=False):
    return tf.estimator.inputs.numpy_input_fn({"x": x}, y, 32, epochs, shuffle)


def test_trained_evaluated_and_asked(tmp_path, data):
    x, y = data
    config = tf.estimator.RunConfig(save_checkpoints_steps=20, save_summary_steps=10)
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), config, {"units": 8})
    with pytest.raises(ValueError, match="Could not find trained model"):
        estimator.evaluate(inputs(x, y))
    estimator.train(inputs(x, y, None, True), steps=30).train(inputs(x, y, None, True), steps=30)
    found = estimator.evaluate(inputs(x, y))
    assert found["global_step"] == 60
    assert found["accuracy"] > 0.9
    predictions = list(estimator.predict(inputs(x)))
    assert len(predictions) == 100
    assert np.mean([p["class"] for p in predictions] == y) == pytest.approx(found["accuracy"])
    assert [*next(estimator.predict(inputs(x), predict_keys="class"))] == ["class"]
    assert estimator.latest_checkpoint().endswith("model.ckpt-60")
    assert estimator.train(inputs(x, y), max_steps=60).get_variable_value("global_step") == 60
    with pytest.raises(ValueError, match="both steps and max_steps"):
        estimator.train(inputs(x, y), steps=1, max_steps=2)


def test_in_turns_and_from_datasets(tmp_path, data):
    def input_fn():
        rows = tf.data.Dataset.from_tensor_slices(({"x": data[0]}, data[1]))
        return rows.repeat(2).batch(25)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), params={"units": 4})
    found, exported = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=100),
        tf.estimator.EvalSpec(input_fn, steps=4),
    )
    assert (found["global_step"], exported) == (8, [])


class Begun(tf.train.SessionRunHook):
    """Notes what trainable variables are before the first step."""

    def after_create_session(self, session, coord):
        self.found = session.run({v.op.name: v for v in tf.trainable_variables()})


def test_begun_with_the_values_of_another(tmp_path, data):
    x, y = data
    first = tf.estimator.Estimator(model_fn, str(tmp_path / "first"), params={"units": 4})
    first.train(inputs(x, y, None), steps=3)
    for start in (
        str(tmp_path / "first"),
        tf.estimator.WarmStartSettings(first.latest_checkpoint(), vars_to_warm_start="dense/"),
    ):
        place = str(tmp_path / type(start).__name__)
        second, begun = tf.estimator.Estimator(model_fn, place, None, {"units": 4}, start), Begun()
        second.train(inputs(x, y, None), hooks=[begun], steps=1)
        for name, value in begun.found.items():
            is_taken = isinstance(start, str) or name.startswith("dense/")
            before = first.get_variable_value(name)
            assert np.array_equal(value, before) == is_taken or not before.any(), name
    with pytest.raises(ValueError, match="warm_start_from must be a path or"):
        tf.estimator.Estimator(model_fn, params={"units": 4}, warm_start_from=3)


def test_a_configuration_says_that_its_program_is_the_only_one():
    config = tf.estimator.RunConfig(train_distribute=None, protocol="grpc", device_fn=None)
    assert config.is_chief and (config.task_type, config.task_id) == ("worker", 0)
    assert (config.num_worker_replicas, config.num_ps_replicas, config.master) == (1, 0, "")
    assert config.cluster_spec.jobs == [] and config.protocol == "grpc"
    with pytest.raises(NotImplementedError, match="train_distribute is not None: a Dask client"):
        tf.estimator.RunConfig(train_distribute=object())
