"""The names of `tf.contrib`: where they lead, what they do that the core does not."""

import importlib
import inspect

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.v1.contrib.tables import INSTEAD, NAMESPACES
from tests.sessions import initialized, run

contrib = tf.contrib


def namespaces(names=NAMESPACES, path="daskvars.v1.contrib"):
    for name, values in names.items():
        if isinstance(values, dict) and name.islower():
            yield f"{path}.{name}"
            yield from namespaces(values, f"{path}.{name}")


@pytest.mark.parametrize("path", list(namespaces()))
def test_namespaces_are_modules_whose_names_are_there_and_said(path):
    module = importlib.import_module(path)
    for name in module.__all__:
        value = getattr(module, name)
        assert not callable(value) or inspect.getdoc(value), name
    with pytest.raises(AttributeError, match=r"tf\.contrib\..* has no 'name_of_nothing' here"):
        module.name_of_nothing  # noqa: B018


@pytest.mark.parametrize("path", [p for p in INSTEAD if p and p not in NAMESPACES])
def test_what_is_missing_says_what_to_use(path):
    target = contrib
    *before, last = path.split(".")
    for name in before:
        target = getattr(target, name)
    with pytest.raises(AttributeError, match=f"no '{last}' here: use "):
        getattr(target, last)


def test_columns_that_are_meant_by_old_ones_are_there():
    meant = [told for told in INSTEAD.values() if told.startswith("tf.feature_column.")]
    assert meant and all(hasattr(tf.feature_column, told.rpartition(".")[2]) for told in meant)


def test_cells_and_input_of_the_core_are_the_cores(graph):
    assert issubclass(contrib.rnn.BasicLSTMCell, tf.nn.rnn_cell.RNNCell)
    cell = contrib.rnn.MultiRNNCell([contrib.rnn.LSTMCell(3) for _ in range(2)])
    steps = [tf.ones([2, 4]) for _ in range(3)]
    outputs, _ = contrib.rnn.static_rnn(cell, steps, dtype=tf.float32)
    weights = [tf.ones([2])] * 3
    targets = [tf.constant([0, 1])] * 3
    cost = contrib.legacy_seq2seq.sequence_loss_by_example(outputs, targets, weights)
    logits = tf.stack(outputs, 1)
    mean = contrib.seq2seq.sequence_loss(logits, tf.stack(targets, 1), tf.stack(weights, 1))
    per_example, of_all = run([cost, mean])
    np.testing.assert_allclose(per_example.mean(), of_all, rtol=1e-6)


def test_arg_scopes_nest_and_are_left_by_an_error():
    @contrib.framework.add_arg_scope
    def called(a, b=1, c=2):
        return a, b, c

    scope = contrib.framework.arg_scope
    with scope([called], b=5) as outer:
        assert called(0) == (0, 5, 2)
        with scope([called], c=7):
            assert called(0) == (0, 5, 7) and called(0, b=0) == (0, 0, 7)
        with pytest.raises(KeyError), scope({}):
            assert called(0) == (0, 1, 2)
            raise KeyError
        assert called(0) == (0, 5, 2)
    assert called(0) == (0, 1, 2)
    with scope(outer):
        assert called(0) == (0, 5, 2)
    assert contrib.framework.arg_scoped_arguments(called) == ("b", "c")
    with pytest.raises(ValueError, match="not decorated with @add_arg_scope"), scope([len], b=1):
        pass
    with pytest.raises(ValueError, match="kwargs must be empty"), scope(outer, b=1):
        pass


def test_layers_collect_variables_and_outputs_and_share_by_scope(graph):
    x = tf.ones([2, 3])
    layers = contrib.layers
    given = {"variables_collections": {"weights": ["w"], "biases": ["b"]}, "scope": "fc"}
    y = layers.fully_connected(x, 4, outputs_collections="out", trainable=False, **given)
    again = layers.fully_connected(x, 4, reuse=True, **given)
    assert [v.op.name for v in tf.get_collection("w")] == ["fc/weights"]
    assert [v.op.name for v in tf.get_collection("b")] == ["fc/biases"]
    assert tf.get_collection("out") == [y] and not tf.trainable_variables()
    assert len(tf.model_variables()) == 2 and again.op.name == "fc_1/Relu"
    with pytest.raises(ValueError, match="fc/weights already exists"):
        layers.fully_connected(x, 4, scope="fc")
    no_bias = layers.fully_connected(x, 4, normalizer_fn=layers.layer_norm, activation_fn=None)
    assert no_bias.op.name.startswith("fully_connected/LayerNorm/")
    assert not contrib.framework.get_variables("fully_connected/biases")


CONVOLUTIONS = {
    "in_plane": (lambda x: contrib.slim.conv2d_in_plane(x, [3, 1]), [2, 6, 6, 3], 3 + 3),
    "depthwise": (lambda x: contrib.slim.separable_conv2d(x, None, 3, 2), [2, 6, 6, 6], 54 + 6),
    "separable": (lambda x: contrib.slim.separable_conv2d(x, 5, 3), [2, 6, 6, 5], 27 + 15 + 5),
    "transpose": (lambda x: contrib.slim.conv2d_transpose(x, 5, 3, 2), [2, 12, 12, 5], 135 + 5),
    "maxout": (lambda x: contrib.slim.maxout(x, 1), [2, 6, 6, 1], 0),
    "group": (lambda x: contrib.layers.group_norm(x, 3), [2, 6, 6, 3], 6),
    "instance": (lambda x: contrib.layers.instance_norm(x), [2, 6, 6, 3], 6),
    "unit": (lambda x: contrib.layers.unit_norm(x, 3), [2, 6, 6, 3], 0),
    "spatial": (lambda x: contrib.layers.spatial_softmax(x), [2, 6], 1),
    "average": (lambda x: contrib.layers.avg_pool2d(x, 3, 3), [2, 2, 2, 3], 0),
    "sequence": (lambda x: contrib.layers.images_to_sequence(x), [6, 12, 3], 0),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_layers_have_shapes_and_numbers_of_parameters(graph, name):
    make, shape, count = CONVOLUTIONS[name]
    y = make(tf.ones([2, 6, 6, 3]))
    assert y.get_shape().as_list() == shape
    size, _ = contrib.slim.model_analyzer.analyze_vars(tf.global_variables())
    assert size == count
    assert np.isfinite(run(y)).all()


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", tf.train.AdagradOptimizer])
@pytest.mark.parametrize("clip", [None, 1.0, contrib.layers.adaptive_clipping_fn()])
def test_optimize_loss_makes_a_step(graph, optimizer, clip):
    w = tf.get_variable("w", initializer=[4.0, 3.0])
    step = tf.train.get_or_create_global_step()
    train = contrib.layers.optimize_loss(
        tf.reduce_sum(w * w),
        step,
        0.1,
        optimizer,
        clip_gradients=clip,
        gradient_multipliers={"w": 0.5},
        learning_rate_decay_fn=lambda rate, step: rate * 0.5,
        summaries=contrib.layers.OPTIMIZER_SUMMARIES,
    )
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == (5 if clip is None else 6)
    with initialized() as session:
        assert session.run(train) == 25.0
        value, count = session.run([w, step])
    assert count == 1 and (value < [4.0, 3.0]).all()
    if (optimizer, clip) == ("SGD", 1.0):
        np.testing.assert_allclose(value, [4 - 0.05 * 0.8, 3 - 0.05 * 0.6])


def test_hparams_are_typed_and_read_from_text():
    settings = contrib.training.HParams(rate=0.1, units=[8, 4], name="a", flag=True)
    settings.parse("rate=1,units[1]=9,name=b,flag=false")
    assert settings.values() == {"rate": 1.0, "units": [8, 9], "name": "b", "flag": False}
    for text in ("other=1", "units=1.5", "flag=maybe", "rate"):
        with pytest.raises(ValueError):
            settings.parse(text)
    assert (settings.get("rate", 2), settings.get("units", [1]), settings.get("x", 3)) == (
        1.0,
        [8, 9],
        3,
    )
    for name, default in (("rate", False), ("units", 1), ("units", [1.5]), ("name", 1)):
        with pytest.raises(ValueError, match=f"'{name}' of type .* is incompatible"):
            settings.get(name, default)


def test_old_losses_take_predictions_first_and_weights_of_examples(graph):
    predictions, labels = tf.constant([[1.0, 2.0], [3.0, 5.0]]), tf.zeros([2, 2])
    loss = contrib.losses.mean_squared_error(predictions, labels, weights=[1.0, 0.0])
    pairs = contrib.losses.mean_pairwise_squared_error(predictions, labels)
    with contrib.framework.arg_scope([contrib.losses.add_loss], loss_collection=None):
        contrib.losses.absolute_difference(predictions, labels)
    assert contrib.losses.get_losses() == [loss, pairs]
    with tf.Session() as session:
        assert session.run(loss) == 2.5
        assert session.run(pairs) == pytest.approx(0.5 + 2.0)


def test_datasets_and_distributions_of_contrib_are_those_of_the_core():
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.contrib.data
        numbers = data.Dataset.range(5).apply(data.map_and_batch(lambda x: x * x, 2))
        pairs = tf.data.Dataset.range(5).apply(data.batch_and_drop_remainder(2))
        one, other = (x.make_one_shot_iterator().get_next() for x in (numbers, pairs))
        assert session.run([one, other])[0].tolist() == [0, 1]
        assert session.run(other).tolist() == [2, 3]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(other)
        normal = tf.contrib.distributions.Normal(0.0, 1.0)
        assert isinstance(normal, tf.distributions.Normal)
        assert session.run(tf.contrib.distributions.kl_divergence(normal, normal)) == 0
    with pytest.raises(AttributeError, match="use a method of tf"):
        tf.contrib.data.sliding_window_batch  # noqa: B018


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 3.0, 1.0]])
def test_correlations_over_batches_are_those_of_all(graph, weights):
    rng = np.random.default_rng(0)
    x = rng.normal(size=15).astype("f4") + 1000.0
    y = x + rng.normal(size=15).astype("f4")
    predictions, labels = tf.placeholder(tf.float32, [5]), tf.placeholder(tf.float32, [5])
    metrics = contrib.metrics
    pairs = [
        f(predictions, labels, weights)
        for f in (metrics.streaming_covariance, metrics.streaming_pearson_correlation)
    ]
    values, updates = zip(*pairs, strict=True)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert np.isnan(session.run(values)).all()
        for i in range(0, 15, 5):
            found = session.run(updates, {predictions: x[i : i + 5], labels: y[i : i + 5]})
        of_all = np.cov(x.astype("f8"), y.astype("f8"), fweights=np.tile(weights or [1] * 5, 3))
        r = of_all[0, 1] / np.sqrt(of_all[0, 0] * of_all[1, 1])
        np.testing.assert_allclose(found, [of_all[0, 1], r], rtol=1e-3)
        np.testing.assert_array_equal(session.run(values), found)


def test_a_projector_is_told_of_tables(tmp_path):
    from daskvars.v1.contrib.tensorboard.plugins import projector

    config = projector.ProjectorConfig(model_checkpoint_path="model-1")
    table = config.embeddings.add()
    table.tensor_name, table.metadata_path = "words", 'of "words".tsv'
    table.sprite.image_path = "a.png"
    table.sprite.single_image_dim.extend([28, 14])
    config.embeddings.add(tensor_name="tags")
    projector.visualize_embeddings(tf.summary.FileWriter(str(tmp_path)), config)
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'model_checkpoint_path: "model-1"\n'
        'embeddings {\n  tensor_name: "words"\n  metadata_path: "of \\"words\\".tsv"\n'
        '  sprite {\n    image_path: "a.png"\n    single_image_dim: 28\n'
        "    single_image_dim: 14\n  }\n}\n"
        'embeddings {\n  tensor_name: "tags"\n}\n'
    )


def test_a_scope_to_compile_changes_nothing(graph):
    from daskvars.v1.contrib.compiler import jit

    with jit.experimental_jit_scope(compile_ops=False):
        total = tf.constant(1.0) + 2.0
    with tf.Session() as session:
        assert session.run(total) == 3.0


def test_f1_is_that_of_the_best_threshold(graph):
    labels, scores = [1, 0, 1, 1, 0, 0], [0.9, 0.8, 0.7, 0.4, 0.35, 0.1]
    value, update = contrib.metrics.f1_score(labels, scores)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        np.testing.assert_allclose(session.run(update), 6 / 7, rtol=1e-5)  # above 0.375
        assert session.run(value) == session.run(update)


def test_values_of_towers_are_put_together_on_the_device_of_each(graph):
    towers = []
    for i in range(2):
        with tf.device(f"/job:worker/task:{i}"):
            towers.append(tf.constant([1.0 + i, 3.0 - i]))
    sums = contrib.nccl.all_sum(towers)
    assert [t.device for t in sums] == [t.device for t in towers]
    found = [combine(towers)[1] for combine in (contrib.nccl.all_prod, contrib.nccl.all_max)]
    with tf.Session() as session:
        assert [value.tolist() for value in session.run(sums)] == [[3.0, 5.0]] * 2
        assert [value.tolist() for value in session.run(found)] == [[2.0, 6.0], [2.0, 3.0]]
    with pytest.raises(ValueError, match=">0 tensors"):
        contrib.nccl.all_sum([])


def test_what_is_sorted(graph):
    rows = tf.constant([[3.0, 1.0, 2.0]])
    order = contrib.framework.argsort(rows, direction="DESCENDING")
    ascending, descending = run([contrib.framework.sort(rows), order])
    np.testing.assert_array_equal(ascending, [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(descending, [[0, 2, 1]])
