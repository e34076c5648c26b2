"""Models that are there already: what they learn, measure and export is what they say."""

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(64, 2)).astype("float32")
WORDS = RNG.choice(["a", "b", "c"], 64)
COLUMNS = [
    tf.feature_column.numeric_column("x", shape=(2,)),
    tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"]),
]
DENSE = [COLUMNS[0], tf.feature_column.indicator_column(COLUMNS[1])]
SCORES = NUMBERS @ [1.0, -2.0] + (WORDS == "a") * 2.0


def batches(labels, epochs=1, **features):
    given = {"x": NUMBERS, "word": WORDS, **features}
    return tf.estimator.inputs.numpy_input_fn(given, labels, 16, epochs, shuffle=False)


def made(kind, **arguments):
    """Return a model of a kind: "Linear", "DNN" or "DNNLinearCombined"."""

    def adam():
        return tf.train.AdamOptimizer(0.05)

    if kind.startswith("Linear"):
        given = {"feature_columns": COLUMNS, "optimizer": adam}
    elif kind.startswith("DNNLinear"):
        given = {
            "linear_feature_columns": COLUMNS,
            "linear_optimizer": adam,
            "dnn_feature_columns": DENSE,
            "dnn_optimizer": adam,
            "dnn_hidden_units": [8, 4],
        }
    else:
        given = {"feature_columns": DENSE, "hidden_units": [8, 4], "optimizer": adam}
    return getattr(tf.estimator, kind)(**given, **arguments)


KINDS = ["Linear", "DNN", "DNNLinearCombined"]


@pytest.mark.parametrize("kind", KINDS)
def test_two_classes(kind):
    labels = (SCORES > 0).astype(int)
    model = made(f"{kind}Classifier").train(batches(labels, None), steps=150)
    found = model.evaluate(batches(labels))
    predicted = list(model.predict(batches(None)))
    logits = np.array([each["logits"][0] for each in predicted])
    chance = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose([each["logistic"][0] for each in predicted], chance, rtol=1e-4)
    np.testing.assert_allclose(
        [each["probabilities"] for each in predicted],
        np.stack([1 - chance, chance], 1),
        rtol=1e-3,
        atol=1e-6,
    )
    assert [each["class_ids"][0] for each in predicted] == (logits > 0).tolist()
    assert [each["classes"][0] for each in predicted] == [b"%d" % n for n in logits > 0]
    losses = np.logaddexp(0, logits) - labels * logits
    wanted = {
        "accuracy": np.mean((logits > 0) == labels),
        "accuracy_baseline": max(labels.mean(), 1 - labels.mean()),
        "average_loss": losses.mean(),
        "label/mean": labels.mean(),
        "loss": losses.reshape(4, 16).sum(1).mean(),
        "precision": np.mean(labels[logits > 0]),
        "prediction/mean": chance.mean(),
        "recall": np.mean(logits[labels == 1] > 0),
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, err_msg=name)
    assert found["accuracy"] > 0.9
    assert found["auc"] > 0.95
    assert found["global_step"] == 150


@pytest.mark.parametrize("kind", KINDS)
def test_several_classes_with_names(kind):
    names = ["low", "middle", "high"]
    labels = np.array(names)[np.digitize(SCORES, [-1.0, 1.0])]
    model = made(f"{kind}Classifier", n_classes=3, label_vocabulary=names)
    model.train(batches(labels, None), steps=200)
    found = model.evaluate(batches(labels))
    predicted = [each["classes"][0].decode() for each in model.predict(batches(None))]
    assert found["accuracy"] == np.float32(np.mean(np.array(predicted) == labels))
    assert found["accuracy"] > 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_numbers(kind):
    labels = np.stack([SCORES, -SCORES], 1).astype("float32")
    model = made(f"{kind}Regressor", label_dimension=2).train(batches(labels, None), steps=400)
    found = model.evaluate(batches(labels))
    predicted = np.array([each["predictions"] for each in model.predict(batches(None))])
    np.testing.assert_allclose(found["average_loss"], np.mean((predicted - labels) ** 2), rtol=1e-3)
    assert found["average_loss"] < 0.1 * np.var(labels)


def test_weights_of_examples():
    labels, weights = (SCORES > 0).astype(int), RNG.uniform(size=64).astype("float32")
    model = made("LinearClassifier", weight_column="weight")
    model.train(batches(labels, None, weight=weights), steps=5)
    found = model.evaluate(batches(labels, weight=weights))
    predicted = model.predict(batches(None, weight=weights))
    logits = np.array([each["logits"][0] for each in predicted])
    losses = np.logaddexp(0, logits) - labels * logits
    np.testing.assert_allclose(
        found["average_loss"], (losses * weights).sum() / weights.sum(), rtol=1e-4
    )


def test_variables_have_tensorflows_names():
    model = made("DNNLinearCombinedClassifier").train(batches(SCORES > 0, None), steps=1)
    names = {name for name in model.get_variable_names() if "Adam" not in name}
    assert names >= {
        "dnn/hiddenlayer_0/bias",
        "dnn/hiddenlayer_0/kernel",
        "dnn/hiddenlayer_1/bias",
        "dnn/hiddenlayer_1/kernel",
        "dnn/logits/bias",
        "dnn/logits/kernel",
        "global_step",
        "linear/linear_model/bias_weights",
        "linear/linear_model/word/weights",
        "linear/linear_model/x/weights",
    }
    assert model.get_variable_value("dnn/hiddenlayer_0/kernel").shape == (5, 8)


def test_hidden_layers_are_left_out_and_normalized_in_training():
    model = made("DNNClassifier", dropout=0.2, batch_norm=True)
    labels = SCORES > 0
    model.train(batches(labels, None), steps=200)
    first, second = [[each["logits"][0] for each in model.predict(batches(None))] for _ in "12"]
    assert first == second
    moved = model.get_variable_value("dnn/hiddenlayer_0/batchnorm_0/moving_mean")
    assert np.abs(moved).sum() > 0


def test_a_baseline_is_the_mean():
    classes = np.array([0, 1, 1, 1] * 16)
    optimizer = tf.train.AdamOptimizer(0.1)
    model = tf.estimator.BaselineClassifier(optimizer=optimizer)
    found = model.train(batches(classes, None), steps=200).evaluate(batches(classes))
    np.testing.assert_allclose(found["prediction/mean"], 0.75, atol=1e-2)
    model = tf.estimator.BaselineRegressor(optimizer=tf.train.AdamOptimizer(0.1))
    model.train(batches(SCORES, None), steps=300)
    predicted = next(iter(model.predict(batches(None))))["predictions"]
    np.testing.assert_allclose(predicted, SCORES.mean(), atol=0.1)


def test_an_exported_model_is_asked_with_examples(tmp_path):
    model = made("DNNLinearCombinedClassifier").train(batches(SCORES > 0, None), steps=3)
    spec = tf.feature_column.make_parse_example_spec(COLUMNS)
    receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    ask = tf.contrib.predictor.from_saved_model(
        model.export_saved_model(str(tmp_path), receive), signature_def_key="predict"
    )
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=NUMBERS[0])),
        "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=[WORDS[0].encode()])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    found = ask({"examples": [example.SerializeToString()]})
    wanted = next(iter(model.predict(batches(None))))
    np.testing.assert_allclose(found["logits"][0], wanted["logits"], rtol=1e-5)


@pytest.mark.parametrize(
    "make, labels, error, words",
    [
        (lambda: made("LinearClassifier", n_classes=3), SCORES, ValueError, "should be integer"),
        (lambda: made("LinearClassifier"), WORDS, ValueError, "label_vocabulary says"),
        (lambda: made("LinearClassifier"), NUMBERS, ValueError, "Mismatched label shape"),
        (lambda: made("LinearClassifier"), np.arange(64), tf.errors.OpError, "n_classes - 1: 1"),
        (
            lambda: made("LinearClassifier", weight_column="w"),
            SCORES > 0,
            ValueError,
            "in the feature 'w', which is not among",
        ),
        (
            lambda: tf.estimator.LinearClassifier(COLUMNS, optimizer="Best"),
            SCORES > 0,
            ValueError,
            "Unsupported optimizer name: Best",
        ),
        (
            lambda: tf.estimator.DNNLinearCombinedRegressor(),
            SCORES,
            ValueError,
            "Either linear_feature_columns or",
        ),
        (
            lambda: tf.estimator.DNNLinearCombinedRegressor(dnn_feature_columns=DENSE),
            SCORES,
            ValueError,
            "dnn_hidden_units must be defined",
        ),
        (
            lambda: made("DNNClassifier", n_classes=3, label_vocabulary=["a"]),
            SCORES,
            ValueError,
            "1 names for 3 classes",
        ),
        (
            lambda: made("DNNRegressor", loss_reduction="none"),
            SCORES,
            ValueError,
            "Invalid loss_reduction",
        ),
    ],
)
def test_refusals(make, labels, error, words):
    with pytest.raises(error, match=words):
        make().train(batches(labels, None), steps=1)


def test_a_model_is_given_hyperparameters_as_they_are():
    """As by TensorFlow, which copies what it is given and asks nothing of it."""
    given = tf.contrib.training.HParams(rate=0.5, layers=[3, 4])

    def model_fn(features, labels, mode, params):
        assert isinstance(params, tf.contrib.training.HParams) and params is not given
        assert params.layers == [3, 4]
        y = tf.squeeze(tf.layers.dense(features, 1), 1)
        loss = tf.losses.mean_squared_error(labels, y)
        optimizer = tf.train.GradientDescentOptimizer(params.rate)
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    x = np.ones([8, 2], np.float32)
    inputs = tf.estimator.inputs.numpy_input_fn(x, x[:, 0], 4, shuffle=False)
    model = tf.estimator.Estimator(model_fn, params=given).train(inputs)
    given.rate = 0.1
    assert model.params.rate == 0.5 and model.get_variable_value("global_step") == 2
