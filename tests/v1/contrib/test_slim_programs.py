"""Models and training loops written with slim."""

import daskvars.v1.contrib.slim as slim
import numpy as np
import pytest
from daskvars.v1.contrib.layers import xavier_initializer

import daskvars.v1 as tf


def bottleneck(inputs, depth, bottleneck_depth, stride, scope=None, outputs_collections=None):
    """A unit of a residual network, as the models written with slim have it."""
    with tf.variable_scope(scope, "bottleneck_v1", [inputs]) as sc:
        depth_in = slim.utils.last_dimension(inputs.get_shape(), min_rank=4)
        if depth == depth_in:
            shortcut = inputs if stride == 1 else slim.max_pool2d(inputs, [1, 1], stride=stride)
        else:
            shortcut = slim.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = slim.conv2d(inputs, bottleneck_depth, [1, 1], stride=1, scope="conv1")
        residual = slim.conv2d(residual, bottleneck_depth, 3, stride=stride, scope="conv2")
        residual = slim.conv2d(residual, depth, [1, 1], activation_fn=None, scope="conv3")
        output = tf.nn.relu(shortcut + residual)
        return slim.utils.collect_named_outputs(outputs_collections, sc.name, output)


bottleneck = slim.add_arg_scope(bottleneck)


def residual_arg_scope(is_training, decay=0.9):
    batch_norm_params = {
        "is_training": is_training,
        "decay": decay,
        "scale": True,
        "updates_collections": tf.GraphKeys.UPDATE_OPS,
    }
    with (
        slim.arg_scope(
            [slim.conv2d],
            weights_regularizer=slim.l2_regularizer(1e-4),
            weights_initializer=slim.variance_scaling_initializer(),
            normalizer_fn=slim.batch_norm,
            normalizer_params=batch_norm_params,
        ),
        slim.arg_scope([slim.batch_norm], **batch_norm_params),
        slim.arg_scope([slim.max_pool2d], padding="SAME") as scope,
    ):
        return scope


def residual_network(images, num_classes, reuse=None):
    with tf.variable_scope("resnet", "resnet", [images], reuse=reuse) as sc:
        collected = f"{sc.original_name_scope}_end_points"
        with slim.arg_scope([slim.conv2d, bottleneck], outputs_collections=collected):
            net = slim.conv2d(images, 8, 3, stride=2, scope="conv1")
            net = slim.max_pool2d(net, [2, 2], stride=1, scope="pool1")
            for number, stride in enumerate((1, 2)):
                net = bottleneck(net, 16, 4, stride, scope=f"block{number}")
            net = tf.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            net = slim.conv2d(
                net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
            )
            net = tf.squeeze(net, [1, 2])
            end_points = slim.utils.convert_collection_to_dict(collected)
            end_points["predictions"] = slim.softmax(net, scope="predictions")
            return net, end_points


def data():
    rng = np.random.default_rng(0)
    labels = np.arange(8) % 2
    images = rng.normal(size=(8, 8, 8, 3)) + labels[:, None, None, None]
    return images.astype("float32"), labels


@pytest.mark.slow
def test_a_residual_network_is_trained_restored_and_fine_tuned(graph, tmp_path):
    images, labels = data()
    with slim.arg_scope(residual_arg_scope(is_training=True)):
        logits, end_points = residual_network(tf.constant(images), 2)
    names = [v.op.name for v in slim.get_model_variables("resnet/block0")]
    assert names[:5] == [
        "resnet/block0/shortcut/weights",
        *(f"resnet/block0/shortcut/BatchNorm/{n}" for n in ("gamma", "beta")),
        *(f"resnet/block0/shortcut/BatchNorm/moving_{n}" for n in ("mean", "variance")),
    ]
    assert list(end_points)[:2] == ["resnet/conv1", "resnet/block0/shortcut"]
    assert {"resnet/block1", "resnet/logits", "predictions"} <= set(end_points)
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss = slim.losses.get_total_loss()
    assert len(tf.losses.get_regularization_losses()) == 9
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    train_op = slim.learning.create_train_op(loss, optimizer, clip_gradient_norm=5.0)
    first = slim.learning.train(train_op, str(tmp_path), number_of_steps=1)
    last = slim.learning.train(train_op, str(tmp_path), number_of_steps=25)  # goes on from step 1
    assert last < first / 2

    path = tf.train.latest_checkpoint(str(tmp_path))
    assert path.endswith("-25")
    with tf.Graph().as_default(), tf.Session() as session:
        with slim.arg_scope(residual_arg_scope(is_training=False)):
            logits, _ = residual_network(tf.constant(images), 3)
        kept = slim.get_variables_to_restore(exclude=["resnet/logits", "global_step"])
        start = slim.assign_from_checkpoint_fn(path, kept)
        session.run(tf.global_variables_initializer())
        start(session)
        weights, mean = session.run([v for v in kept if v.op.name in (names[0], names[3])])
        reader = tf.train.NewCheckpointReader(path)
        assert (weights == reader.get_tensor(names[0])).all()
        assert (mean == reader.get_tensor(names[3])).all() and mean.any()
        assert session.run(logits).shape == (8, 3)


def test_a_model_of_repeated_layers_is_evaluated_with_moving_averages(graph, tmp_path):
    images, labels = data()

    def model(inputs, is_training):
        with slim.arg_scope(
            [slim.conv2d, slim.fully_connected],
            weights_initializer=xavier_initializer(seed=1),
            biases_initializer=tf.constant_initializer(0.1),
        ):
            net = slim.repeat(inputs, 2, slim.conv2d, 4, [3, 3], scope="conv1")
            net = slim.max_pool2d(net, [2, 2], scope="pool1")
            net = slim.flatten(net)
            net = slim.stack(net, slim.fully_connected, [8, 4], scope="fc")
            net = slim.dropout(net, 0.9, is_training=is_training, scope="dropout")
            return slim.fully_connected(net, 2, activation_fn=None, scope="out")

    logits = model(tf.constant(images), True)
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train_op = slim.learning.create_train_op(
        tf.losses.get_total_loss(), tf.train.AdamOptimizer(0.02)
    )
    slim.learning.train(train_op, str(tmp_path), number_of_steps=30)
    with tf.Graph().as_default():
        found = tf.argmax(model(tf.constant(images), False), 1)
        values, updates = slim.metrics.aggregate_metric_map(
            {"accuracy": slim.metrics.streaming_accuracy(found, labels)}
        )
        accuracy = slim.evaluation.evaluate_once(
            "",
            tf.train.latest_checkpoint(str(tmp_path)),
            str(tmp_path / "eval"),
            num_evals=2,
            eval_op=list(updates.values()),
            final_op=values["accuracy"],
        )
    assert accuracy == 1.0


@pytest.mark.parametrize("argument", ["fused", "plain"])
def test_batch_norm_moves_its_averages_in_training_only(graph, argument):
    x = tf.placeholder(tf.float32, [4, 3])
    phase = tf.placeholder(tf.bool, [])
    y = slim.batch_norm(
        x,
        decay=0.5,
        is_training=phase,
        updates_collections=None,
        fused=argument == "fused",
        batch_weights=None if argument == "fused" else np.ones(4, "float32"),
    )
    values = np.array([[0, 1, 2], [2, 1, 0], [4, 5, 3], [2, 1, 3]], "float32")
    mean, variance = slim.get_variables("BatchNorm/moving")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(y, {x: values, phase: False})
        np.testing.assert_allclose(before, values / np.sqrt(1.001), rtol=1e-5)
        trained = session.run(y, {x: values, phase: True})
        expected = (values - values.mean(0)) / np.sqrt(values.var(0) + 1e-3)
        np.testing.assert_allclose(trained, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(session.run(mean), values.mean(0) / 2, rtol=1e-5)
        ddof = 1 if argument == "fused" else 0
        np.testing.assert_allclose(session.run(variance), (1 + values.var(0, ddof=ddof)) / 2)


def test_queues_are_filled_for_the_length_of_a_block():
    with tf.Graph().as_default(), tf.Session() as session:
        batch = tf.train.batch([tf.constant(3.0)], batch_size=2)
        with slim.queues.QueueRunners(session):
            assert session.run(batch).tolist() == [3.0, 3.0]
        assert session.run(tf.constant(1)) == 1  # the session is open


def written_examples(path, rng):
    """Write images whose first pixel is their label; return all of their pixels."""
    pixels = rng.integers(0, 255, (3, 2, 4, 3), dtype="u1")
    pixels[:, 0, 0, 0] = range(3)
    with tf.Graph().as_default(), tf.Session() as sess, tf.python_io.TFRecordWriter(path) as writer:
        for label, image in enumerate(pixels):
            file = image.tobytes() if label == 2 else sess.run(tf.image.encode_png(image))
            values = {
                "image/encoded": tf.train.BytesList(value=[file]),
                "image/format": tf.train.BytesList(value=[b"RAW" if label == 2 else b"png"]),
                "image/label": tf.train.Int64List(value=[label]),
                "sizes": tf.train.Int64List(value=[label + 1]),
                "numbers": tf.train.Int64List(value=list(range(label + 1))),
                **{
                    f"box/{side}": tf.train.FloatList(value=[i + label / 4] * label)
                    for i, side in enumerate(("ymin", "xmin", "ymax", "xmax"))
                },
            }
            kinds = {
                "BytesList": "bytes_list",
                "Int64List": "int64_list",
                "FloatList": "float_list",
            }
            feature = {
                key: tf.train.Feature(**{kinds[type(value).__name__]: value})
                for key, value in values.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return pixels


def test_a_data_set_of_files_is_given_in_items(tmp_path):
    pixels = written_examples(str(tmp_path / "train-0"), np.random.default_rng(0))
    decoder = slim.tfexample_decoder
    items = {
        "image": decoder.Image(shape=[2, 4, 3]),
        "label": decoder.Tensor("image/label"),
        "numbers": decoder.Tensor("numbers", shape_keys="sizes", default_value=9),
        "boxes": decoder.BoundingBox(prefix="box/"),
        "double": decoder.ItemHandlerCallback("image/label", lambda x: x["image/label"] * 2),
    }
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, "png"),
        **dict.fromkeys(("image/label", "sizes"), tf.FixedLenFeature([], tf.int64)),
        **dict.fromkeys(("box/ymin", "box/xmin"), tf.VarLenFeature(tf.float32)),
        **dict.fromkeys(("box/ymax", "box/xmax"), tf.VarLenFeature(tf.float32)),
        "numbers": tf.VarLenFeature(tf.int64),
    }
    dataset = slim.dataset.Dataset(
        data_sources=str(tmp_path / "train-*"),
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(features, items),
        num_samples=3,
        items_to_descriptions={},
    )
    with tf.Graph().as_default():
        provider = slim.dataset_data_provider.DatasetDataProvider(
            dataset, num_readers=2, num_epochs=2, common_queue_capacity=8, common_queue_min=4
        )
        assert provider.num_samples() == 3
        found = provider.get(list(items))
        with pytest.raises(ValueError, match=r"Item \[x\] is invalid"):
            provider.get(["x"])
        assert found[0].shape.as_list() == [2, 4, 3]
        batch = tf.train.batch(found[:2], batch_size=1, allow_smaller_final_batch=True)
        tensors = dict(zip("il", batch, strict=True))
        ready = slim.prefetch_queue.prefetch_queue(tensors, dynamic_pad=True).dequeue()
        with tf.train.MonitoredSession() as sess:
            rows = [sess.run(ready) for _ in range(3)]
        for row in rows:
            np.testing.assert_array_equal(row["i"][0], pixels[row["l"][0]])
    with tf.Graph().as_default():
        _, record = slim.parallel_reader.single_pass_read(dataset.data_sources, dataset.reader)
        _, label, numbers, boxes, double = dataset.decoder.decode(record)
        with tf.train.MonitoredSession() as sess:
            rows = [sess.run([label, numbers, boxes, double]) for _ in range(3)]
    assert [row[0] for row in rows] == [0, 1, 2]
    assert [row[1].tolist() for row in rows] == [[0], [0, 1], [0, 1, 2]]
    assert [row[2].tolist() for row in rows][1:] == [
        [[0.25, 1.25, 2.25, 3.25]],
        [[0.5, 1.5, 2.5, 3.5]] * 2,
    ]
    assert [row[3] for row in rows] == [0, 2, 4]
