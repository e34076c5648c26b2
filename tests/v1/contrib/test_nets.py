"""Networks of slim: how large they are, what their variables are called, and dense predictions."""

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.sessions import run

slim = tf.contrib.slim
nets = slim.nets


def count():
    return sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables())


def convolutions(*sizes):
    return sum(window * window * a * b + b for window, a, b in sizes)


@pytest.mark.parametrize(
    ("net", "scope", "total"),
    [
        (nets.vgg.vgg_a, nets.vgg.vgg_arg_scope, 132_863_336),
        (nets.vgg.vgg_16, nets.vgg.vgg_arg_scope, 138_357_544),
        (nets.vgg.vgg_19, nets.vgg.vgg_arg_scope, 143_667_240),
        (
            nets.alexnet.alexnet_v2,
            nets.alexnet.alexnet_v2_arg_scope,
            convolutions((11, 3, 64), (5, 64, 192), (3, 192, 384), (3, 384, 384), (3, 384, 256))
            + convolutions((5, 256, 4096), (1, 4096, 4096), (1, 4096, 1000)),
        ),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_plain_networks_are_as_large_as_published(graph, net, scope, total):
    x = tf.placeholder(tf.float32, [None, net.default_image_size, net.default_image_size, 3])
    with slim.arg_scope(scope()):
        logits, end_points = net(x)
        dense, _ = net(
            tf.placeholder(tf.float32, [2, 256, 288, 3]),
            num_classes=7,
            is_training=False,
            spatial_squeeze=False,
            scope="dense",
        )
    name = net.__name__
    assert logits.shape.as_list() == [None, 1000]
    assert end_points[f"{name}/fc8"] is logits and f"{name}/pool5" in end_points
    assert dense.shape.as_list() == [2, 2, 3, 7]
    own = [v for v in tf.trainable_variables() if v.op.name.startswith(f"{name}/")]
    assert sum(int(np.prod(v.shape.as_list())) for v in own) == total
    weights = [v for v in tf.trainable_variables() if v.op.name.endswith("/weights")]
    assert len(tf.losses.get_regularization_losses()) == len(weights) > 0


@pytest.mark.parametrize(
    ("net", "total", "names"),
    [
        (nets.resnet_v1.resnet_v1_50, 25_557_032, ["conv1/weights", "conv1/BatchNorm/gamma"]),
        (nets.resnet_v1.resnet_v1_101, 44_549_160, ["block3/unit_23/bottleneck_v1/conv3/weights"]),
        (nets.resnet_v2.resnet_v2_50, 25_568_360, ["conv1/biases", "postnorm/beta"]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_residual_networks_are_as_large_as_published(graph, net, total, names):
    x = tf.placeholder(tf.float32, [None, 224, 224, 3])
    with slim.arg_scope(nets.resnet_v1.resnet_arg_scope()):
        logits, end_points = net(x, 1000)
    name = net.__name__
    assert logits.shape.as_list() == [None, 1, 1, 1000]
    shapes = {k: t.shape.as_list()[1:] for k, t in end_points.items()}
    assert shapes[f"{name}/block1"] == [28, 28, 256] and shapes[f"{name}/block4"] == [7, 7, 2048]
    assert shapes["predictions"] == [1, 1, 1000]
    assert count() == total
    found = {v.op.name for v in tf.model_variables()}
    assert {f"{name}/{n}" for n in names} <= found
    assert f"{name}/block1/unit_1/bottleneck_v{name[8]}/shortcut/weights" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "size", "total", "last"),
    [
        (nets.inception.inception_v1_base, 224, 5_607_184, [7, 7, 1024]),
        (nets.inception.inception_v3_base, 299, 21_802_784, [8, 8, 2048]),
    ],
    ids=["v1", "v3"],
)
def test_inception_is_as_large_as_tensorflows(graph, base, size, total, last):
    with slim.arg_scope(nets.inception.inception_v3_arg_scope()):
        y, end_points = base(tf.placeholder(tf.float32, [5, size, size, 3]))
    assert y.shape.as_list() == [5, *last]
    found, _ = slim.model_analyzer.analyze_vars(slim.get_model_variables())
    assert found == total
    assert len(end_points) == (16 if size == 224 else 18)
    assert len(tf.get_collection("moving_vars")) == len(tf.get_collection("update_ops")) > 0
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9"):
        base(tf.zeros([1, 64, 64, 3]), final_endpoint="Mixed_9", scope="other")


def test_names_of_inceptions_variables_are_those_of_checkpoints(graph):
    x = tf.placeholder(tf.float32, [2, 299, 299, 3])
    inception = nets.inception
    logits, end_points = inception.inception_v3(x, 7, depth_multiplier=0.25)
    assert logits.shape.as_list() == [2, 7] == end_points["AuxLogits"].shape.as_list()
    small_x = tf.placeholder(tf.float32, [2, 224, 224, 3])
    assert inception.inception_v1(small_x, 7)[1]["Predictions"].shape.as_list() == [2, 7]
    names = {v.op.name for v in tf.model_variables()}
    for name in (
        "InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights",
        "InceptionV3/Mixed_6a/Branch_0/Conv2d_1a_1x1/weights",
        "InceptionV3/Mixed_7b/Branch_1/Conv2d_0b_3x1/weights",
        "InceptionV3/AuxLogits/Conv2d_2a_5x5/weights",
        "InceptionV3/Logits/Conv2d_1c_1x1/biases",
        "InceptionV1/Mixed_5b/Branch_2/Conv2d_0a_3x3/weights",
        "InceptionV1/Logits/Conv2d_0c_1x1/biases",
    ):
        assert name in names, name


def small(version, x, **given):
    """Return a small ResNet's output."""
    block = getattr(nets, f"resnet_v{version}")
    make, unit = getattr(block, f"resnet_v{version}"), getattr(block, f"resnet_v{version}_block")
    blocks = [unit("block1", 2, 2, 2), unit("block2", 3, 2, 2), unit("block3", 4, 2, 1)]
    with slim.arg_scope(block.resnet_arg_scope()):
        return make(x, blocks, is_training=False, global_pool=False, scope="net", **given)[0]


@pytest.mark.parametrize("version", [1, 2])
def test_dense_predictions_are_those_at_each_place(graph, version):
    x = tf.constant(np.random.default_rng(0).normal(size=(1, 65, 49, 3)).astype("f4"))
    coarse = small(version, x)
    dense = small(version, x, output_stride=8, reuse=True)
    assert coarse.shape.as_list() == [1, 5, 4, 16] and dense.shape.as_list() == [1, 9, 7, 16]
    few, many = run([coarse, dense])
    np.testing.assert_allclose(many[:, ::2, ::2], few, rtol=1e-3, atol=1e-4)


def test_strides_that_cannot_be(graph):
    x = tf.zeros([1, 65, 65, 3])
    reached = "cannot be reached"
    for stride, said in ((6, "multiple of 4"), (12, reached), (64, reached)):
        with pytest.raises(ValueError, match=said):
            small(1, x, output_stride=stride, reuse=tf.AUTO_REUSE)


@pytest.mark.slow
def test_a_residual_network_learns(graph):
    rng = np.random.default_rng(1)
    images, labels = rng.normal(size=(8, 33, 33, 3)).astype("f4"), rng.integers(0, 3, 8)
    block = nets.resnet_v2
    with slim.arg_scope(block.resnet_arg_scope(weight_decay=0.0)):
        unit = block.resnet_v2_block("block1", 4, 2, 2)
        logits, _ = block.resnet_v2(tf.constant(images), [unit], 3)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.squeeze(logits, [1, 2]))
    train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.02))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first = sess.run(loss)
        for _ in range(40):
            last = sess.run(train)
    assert last < 0.3 * first
