"""Programs for TPUs, where there are none: they run as programs of an estimator."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import UnimplementedError

TPU = tf.contrib.tpu


def model_fn(features, labels, mode, params):
    logits = tf.squeeze(tf.layers.dense(features["x"], 1), -1)
    predictions = {"size": tf.fill([tf.shape(logits)[0]], params["batch_size"]), "y": logits}
    assert params["use_tpu"] is False and params["scale"] == 2.0
    if mode == tf.estimator.ModeKeys.PREDICT:
        return TPU.TPUEstimatorSpec(mode=mode, predictions=predictions)
    loss = tf.losses.mean_squared_error(labels, logits)

    def metrics(labels, logits):
        return {"error": tf.metrics.mean_absolute_error(labels, logits)}

    if mode == tf.estimator.ModeKeys.EVAL:
        return TPU.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metrics, [labels, logits]))
    train = TPU.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    step = tf.train.get_global_step()
    calls = tf.get_variable("calls", [], initializer=tf.zeros_initializer(), trainable=False)
    return TPU.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=train.minimize(loss, step),
        scaffold_fn=lambda: tf.train.Scaffold(),
        host_call=(lambda n: calls.assign_add(n), {"n": 1.0}),
    )


def input_fn(params):
    x = np.arange(12, dtype=np.float32).reshape(12, 1) / 12
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, params["scale"] * x[:, 0]))
    return data.repeat(20 if params["batch_size"] == 4 else 1).batch(params["batch_size"])


def estimator(tmp_path, **kwargs):
    config = TPU.RunConfig(
        cluster=None,
        master=None,
        model_dir=str(tmp_path),
        save_checkpoints_steps=10,
        tpu_config=TPU.TPUConfig(
            iterations_per_loop=10,
            num_shards=8,
            per_host_input_for_training=TPU.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    sizes = {"train_batch_size": 4, "eval_batch_size": 3, "predict_batch_size": 6}
    given = {"config": config, "params": {"scale": 2.0}, "use_tpu": False, **sizes, **kwargs}
    return TPU.TPUEstimator(model_fn=model_fn, **given)


def test_a_program_for_tpus_is_trained_evaluated_and_asked(tmp_path):
    made = estimator(tmp_path)
    made.train(input_fn, max_steps=30)
    assert made.get_variable_value("calls") == 30.0
    found = made.evaluate(input_fn, steps=2)
    assert found["global_step"] == 30 and 0 < found["error"] < 1.0
    answers = list(made.predict(input_fn))
    assert len(answers) == 12 and {int(a["size"]) for a in answers} == {6}


def test_what_only_tpus_do_is_refused(tmp_path):
    with pytest.raises(UnimplementedError, match="use_tpu=False"):
        estimator(tmp_path, use_tpu=True)
    with pytest.raises(UnimplementedError, match="leave master and cluster out"):
        TPU.RunConfig(master="grpc://10.0.0.1:8470")
    with pytest.raises(ValueError, match="must be provided with type"):
        estimator(tmp_path, config=tf.estimator.RunConfig())
    with pytest.raises(ValueError, match="reserved keys"):
        estimator(tmp_path, params={"batch_size": 3})
    with pytest.raises(ValueError, match=r"input_fn .* does not include params"):
        estimator(tmp_path).train(lambda: None, max_steps=1)
    with pytest.raises(ValueError, match="Unsupported reduction"):
        TPU.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1), reduction="none")


def test_bfloat16_variables_are_kept_as_float32_and_trained(graph):
    with tf.variable_scope("model"), tf.tpu.bfloat16_scope():
        w = tf.get_variable("w", [2], tf.bfloat16, tf.ones_initializer())
        steps = tf.get_variable("steps", [], tf.int32, tf.zeros_initializer(), trainable=False)
    (variable,) = tf.trainable_variables()
    assert variable.op.name == "model/w" and steps.dtype.base_dtype == tf.int32
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.cast(w, tf.float32)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(variable).tolist() == [0.5, 0.5]
