"""Estimators' models as saved models: what is fed, what is asked for, which are exported and kept.

What is refused, in which words, is as in TensorFlow 1.15.
"""

import os

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.surface import accepted
from tests import clusters

export = tf.estimator.export
X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int64)


def model_fn(features, labels, mode):
    logits = tf.layers.dense(features["x"], 2)
    classes, scores = tf.argmax(logits, 1), tf.nn.softmax(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        found = {"class": classes, "scores": scores}
        uses = {
            "serving_default": export.PredictOutput(found),
            "classify": export.ClassificationOutput(scores=scores),
        }
        return tf.estimator.EstimatorSpec(mode, predictions=found, export_outputs=uses)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    optimizer = tf.train.AdamOptimizer(0.05)
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def inputs(epochs=None, labels=Y):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, labels, 32, epochs, shuffle=False)


def receive():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    return export.ServingInputReceiver({"x": x}, {"x": x})


def made(place, **options):
    return tf.estimator.Estimator(model_fn, str(place), tf.estimator.RunConfig(**options))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return made(tmp_path_factory.mktemp("model")).train(inputs(), steps=4)


def asked(path, key, fed):
    """Return the keys of a model's signatures, and what one of them gives."""
    with tf.Graph().as_default(), tf.Session() as sess:
        uses = tf.saved_model.load(sess, ["serve"], path).signature_def
        given = {info.name: fed for info in uses[key].inputs.values()}
        names = {name: info.name for name, info in uses[key].outputs.items()}
        return sorted(uses), sess.run(names, given)


def test_an_exported_model_predicts_as_the_estimator_does(trained, tmp_path):
    (tmp_path / "words").write_text("a")
    path = trained.export_saved_model(
        str(tmp_path / "out"), receive, assets_extra={"more/words": str(tmp_path / "words")}
    )
    (number,) = os.listdir(tmp_path / "out")
    assert path == os.fsencode(tmp_path / "out" / number) and number.isdecimal()
    assert (tmp_path / "out" / number / "assets.extra" / "more" / "words").read_text() == "a"
    keys, found = asked(path, "serving_default", X)
    assert keys == ["serving_default"]  # the other needs serialized examples
    wanted = [found["class"] for found in trained.predict(inputs(1, None))]
    assert found["class"].tolist() == wanted
    again = trained.export_savedmodel(str(tmp_path / "out"), receive)
    assert int(os.path.basename(again)) > int(number)


def test_serialized_examples_are_parsed(trained, tmp_path):
    spec = {"x": tf.FixedLenFeature([2], tf.float32)}
    parsing = export.build_parsing_serving_input_receiver_fn(spec)
    path = trained.export_saved_model(str(tmp_path), parsing)

    def example(row):
        values = tf.train.Feature(float_list=tf.train.FloatList(value=row))
        features = tf.train.Features(feature={"x": values})
        return tf.train.Example(features=features).SerializeToString()

    keys, found = asked(path, "classify", [example(row) for row in X])
    assert keys == ["classify", "serving_default"]
    wanted = [found["scores"] for found in trained.predict(inputs(1, None))]
    np.testing.assert_allclose(found["scores"], wanted, rtol=1e-6)


def test_placeholders_like_features():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [8, 3], name="x")
        single = export.build_raw_serving_input_receiver_fn(x, default_batch_size=5)
        several = export.build_raw_serving_input_receiver_fn({"a": x})
    with tf.Graph().as_default():
        found = several()
        assert found.features["a"] is found.receiver_tensors["a"]
        assert (found.features["a"].name, found.features["a"].shape.as_list()) == ("x:0", [None, 3])
        found = single()
        assert isinstance(found, export.TensorServingInputReceiver)
        assert found.features.shape.as_list() == [5, 3] and [*found.receiver_tensors] == ["input"]


def test_what_cannot_be_exported(trained, tmp_path):
    with tf.Graph().as_default():
        x, text = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.string, [2])
        single = export.ServingInputReceiver(x, text)
        assert [*single.features] == ["feature"] and [*single.receiver_tensors] == ["input"]
        outputs = {"a": export.PredictOutput(x), "b": export.RegressionOutput(x)}
        for call, kind, words in (
            (lambda: export.ServingInputReceiver(None, x), ValueError, "features must be defined"),
            (lambda: export.ServingInputReceiver({"x": 3}, x), ValueError, "must be a Tensor"),
            (lambda: export.ServingInputReceiver({3: x}, x), ValueError, "keys must be strings: 3"),
            (lambda: export.RegressionOutput(text), ValueError, "value must be a float32 Tensor"),
            (lambda: export.ClassificationOutput(text), ValueError, "scores must be a float32"),
            (lambda: export.ClassificationOutput(None, x), ValueError, "classes must be a string"),
            (lambda: export.ClassificationOutput(), ValueError, "At least one of scores and"),
            (lambda: export.PredictOutput(3), ValueError, "output value must be a Tensor; got 3"),
            (
                lambda: tf.estimator.Estimator(
                    lambda features: tf.estimator.EstimatorSpec(
                        "infer", predictions=features, export_outputs=outputs
                    ),
                    trained.model_dir,
                ).export_saved_model(str(tmp_path), receive),
                ValueError,
                "Multiple export_outputs were provided, but none of them is specified as",
            ),
            (
                lambda: trained.export_saved_model(
                    str(tmp_path), receive, experimental_mode=tf.estimator.ModeKeys.EVAL
                ),
                NotImplementedError,
                "exported to predict",
            ),
            (
                lambda: made(tmp_path / "no").export_saved_model(str(tmp_path), receive),
                ValueError,
                "Could not find trained model",
            ),
        ):
            with pytest.raises(kind, match=words):
                call()
    assert not [name for name in os.listdir(tmp_path) if name.isdecimal() or "temp" in name]


# -- exporters ------------------------------------------------------------------------------------


def test_exporters_of_a_training(tmp_path):
    estimator = made(tmp_path, save_checkpoints_steps=2)
    exporters = [
        tf.estimator.LatestExporter("latest", receive, exports_to_keep=2),
        tf.estimator.FinalExporter("final", receive),
        tf.estimator.BestExporter(serving_input_receiver_fn=receive, exports_to_keep=1),
    ]
    found, exported = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(inputs(), max_steps=8),
        tf.estimator.EvalSpec(inputs(1), exporters=exporters, throttle_secs=0),
    )
    assert found["global_step"] == 8
    names = {kind: os.listdir(tmp_path / "export" / kind) for kind in ("latest", "final")}
    assert (len(names["latest"]), len(names["final"])) == (2, 1)
    for path in exported:  # each evaluation was better: the last was exported by all
        assert tf.saved_model.maybe_saved_model_directory(path)
    assert os.path.basename(exported[0]).decode() == max(names["latest"])
    assert len(os.listdir(tmp_path / "export" / "best_exporter")) == 1


def test_a_training_to_the_end_of_its_data_has_an_end(tmp_path):
    estimator = made(tmp_path)
    _, exported = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(inputs(2)),
        tf.estimator.EvalSpec(inputs(1), exporters=tf.estimator.FinalExporter("final", receive)),
    )
    assert exported == [
        os.fsencode(tmp_path / "export" / "final" / n)
        for n in os.listdir(tmp_path / "export" / "final")
    ]
    assert len(exported) == 1


def test_only_what_is_better_is_exported(trained, tmp_path):
    exporter = tf.estimator.BestExporter("best", receive)
    path = trained.latest_checkpoint()
    found = [
        exporter.export(trained, str(tmp_path), path, {"loss": loss}, False) is not None
        for loss in (3.0, 4.0, 2.0, 2.0, 1.0)
    ]
    assert found == [True, False, True, False, True]
    with pytest.raises(ValueError, match="no loss is found in it"):
        exporter.export(trained, str(tmp_path), path, {"accuracy": 1.0}, False)


def test_exporters_that_mean_nothing():
    latest = tf.estimator.LatestExporter("a", receive)
    with pytest.raises(ValueError, match="`exporters` must have unique names"):
        tf.estimator.EvalSpec(inputs(1), exporters=[latest, latest])
    with pytest.raises(TypeError, match="`exporters` must be an Exporter, an iterable of"):
        tf.estimator.EvalSpec(inputs(1), exporters=[3])
    with pytest.raises(ValueError, match="must be positive number"):
        tf.estimator.LatestExporter("a", receive, exports_to_keep=0)


def test_a_delay_has_no_effect_and_says_so(monkeypatch):
    monkeypatch.setattr(accepted, "_warned", set())
    with pytest.warns(UserWarning, match="EvalSpec: start_delay_secs=1 has no effect"):
        tf.estimator.EvalSpec(inputs(1), start_delay_secs=1)


# -- on workers -----------------------------------------------------------------------------------


class Where(tf.train.SessionRunHook):
    """Notes what keeps the variables while a training runs."""

    def __init__(self):
        self.kinds = set()

    def after_run(self, run_context, run_values):
        executor = run_context.session.engine.acquire()
        self.kinds.add((type(executor).__name__, executor.placement is not None))


@pytest.mark.cluster
def test_an_estimator_on_a_cluster(tmp_path):
    with clusters.running() as client, client.as_current():
        estimator, where = made(tmp_path / "workers"), Where()
        estimator.train(inputs(), hooks=[where], steps=6)
        found = estimator.evaluate(inputs(1))
        predicted = list(estimator.predict(inputs(1, None)))
        path = estimator.export_saved_model(str(tmp_path / "out"), receive)
        _, asked_there = asked(path, "serving_default", X)
    assert where.kinds == {("ClusterExecutor", True)}
    here = made(tmp_path / "here").train(inputs(), steps=6)
    assert here.evaluate(inputs(1))["loss"] == pytest.approx(found["loss"], rel=1e-5)
    wanted = [found["class"] for found in here.predict(inputs(1, None))]
    assert [found["class"] for found in predicted] == wanted == asked_there["class"].tolist()
    for name in here.get_variable_names():
        values = [e.get_variable_value(name) for e in (here, estimator)]
        np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-7, err_msg=name)


def test_a_model_has_a_scaffold_of_its_own():
    spec = tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.PREDICT, tf.constant([1.0]))
    spec.scaffold.finalize()  # as tests of a model's heads do, to run what it begins with
    assert (
        spec._replace(predictions=None, loss=tf.constant(1.0), mode="eval").scaffold
        is spec.scaffold
    )
