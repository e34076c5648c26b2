"""Dense, convolutions, pooling, dropout, flatten, embedding, layer norm: values and shapes."""

import inspect

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import run

ONES = tf.ones_initializer()


def test_dense_is_a_product_a_bias_and_an_activation(graph):
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.layers.dense(
        x,
        3,
        activation=tf.nn.relu,
        kernel_initializer=ONES,
        bias_initializer=tf.constant_initializer(-4.0),
    )
    assert y.op.name == "dense/Relu"
    assert y.shape.as_list() == [None, 3]
    assert run(y, {x: [[1.0, 2.0], [3.0, 4.0]]}).tolist() == [[0.0] * 3, [3.0] * 3]


@pytest.mark.parametrize("shape", [(2, 3), (5, 2, 3), (4, 5, 2, 3)])
def test_dense_works_along_the_last_axis(graph, shape):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    layer = tf.layers.Dense(2, use_bias=False)
    y, kernel = run([layer(tf.constant(x)), layer.kernel])
    np.testing.assert_allclose(y, x @ kernel, rtol=1e-5)
    assert layer.compute_output_shape(shape).as_list() == list(y.shape)
    assert layer.bias is None


@pytest.mark.parametrize("shape", [[None, None], [2]])
def test_dense_needs_a_last_size(graph, shape):
    with pytest.raises(ValueError, match=r"should be defined|min_ndim"):
        tf.layers.dense(tf.placeholder(tf.float32, shape), 2)


def test_activations_by_name(graph):
    assert tf.layers.Dense(2, activation="tanh").activation([0.0]).op.type == "Tanh"
    with pytest.raises(ValueError, match=r"'tanhh' \(did you mean 'tanh'\?\)"):
        tf.layers.Dense(2, activation="tanhh")


# What tf_keras 2.21 makes of the names: the standard deviation of 400 x 500 numbers, the largest.
@pytest.mark.parametrize(
    "name, stddev, limit",
    [
        ("glorot_uniform", 0.0471, 0.0817),
        ("GlorotUniform", 0.0471, 0.0817),
        ("he_normal", 0.0708, 0.1609),
        ("random_normal", 0.05, 0.3),
        ("random_uniform", 0.0289, 0.05),
        ("truncated_normal", 0.044, 0.1),
        ("lecun_normal", 0.05, 0.1138),
        ("variance_scaling", 0.05, 0.1138),
        ("zeros", 0, 0),
    ],
)
def test_initializers_by_name(graph, name, stddev, limit):
    layer = tf.layers.Dense(500, kernel_initializer=name)
    _, kernel = run([layer(tf.ones([1, 400])), layer.kernel])
    assert kernel.std() == pytest.approx(stddev, rel=0.02)
    assert limit * 0.6 <= np.abs(kernel).max() <= limit * 1.001


@pytest.mark.parametrize(
    "name, loss", [("l1", 0.02), ("l2", 0.02), ("l1_l2", 0.04), (lambda w: 3.0, 3.0)]
)
def test_regularizers_by_name(graph, name, loss):
    tf.layers.dense(tf.ones([1, 2]), 1, kernel_initializer="ones", kernel_regularizer=name)
    assert run(tf.losses.get_regularization_loss()) == pytest.approx(loss)


@pytest.mark.parametrize(
    "name, wanted", [("non_neg", [3.0, 0.0]), ("unit_norm", [0.6, -0.8]), ("max_norm", [1.2, -1.6])]
)
def test_constraints_by_name(graph, name, wanted):
    layer = tf.layers.Dense(1, use_bias=False, kernel_initializer="zeros", kernel_constraint=name)
    loss = -tf.reduce_sum(layer(tf.constant([[3.0, -4.0]])))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(layer.kernel)[:, 0], wanted, rtol=1e-5)


@pytest.mark.parametrize("what", ["initializer", "regularizer", "constraint"])
def test_what_has_no_such_name(graph, what):
    with pytest.raises(ValueError, match=f"Unknown {what}: 'zzeros'"):
        tf.layers.dense(tf.ones([1, 2]), 1, **{f"kernel_{what}": "zzeros"})


CONVOLUTIONS = [
    ("conv1d", (2, 8, 3), {"filters": 4, "kernel_size": 3}, (2, 6, 4)),
    ("conv1d", (2, 8, 3), {"filters": 4, "kernel_size": 3, "dilation_rate": 2}, (2, 4, 4)),
    (
        "conv1d",
        (2, 3, 8),
        {"filters": 4, "kernel_size": 3, "data_format": "channels_first"},
        (2, 4, 6),
    ),
    ("conv2d", (2, 7, 9, 3), {"filters": 4, "kernel_size": (3, 2), "strides": 2}, (2, 3, 4, 4)),
    ("conv2d", (2, 7, 9, 3), {"filters": 4, "kernel_size": 3, "padding": "same"}, (2, 7, 9, 4)),
    (
        "conv2d_transpose",
        (2, 3, 4, 3),
        {"filters": 4, "kernel_size": 3, "strides": 2},
        (2, 7, 9, 4),
    ),
    (
        "conv2d_transpose",
        (2, 3, 4, 3),
        {"filters": 4, "kernel_size": 3, "strides": 2, "padding": "same"},
        (2, 6, 8, 4),
    ),
    (
        "separable_conv1d",
        (2, 8, 3),
        {"filters": 4, "kernel_size": 3, "depth_multiplier": 2},
        (2, 6, 4),
    ),
    (
        "separable_conv2d",
        (2, 7, 9, 3),
        {"filters": 4, "kernel_size": 3, "strides": 2},
        (2, 3, 4, 4),
    ),
    (
        "conv3d",
        (2, 5, 6, 7, 3),
        {"filters": 4, "kernel_size": (1, 2, 3), "strides": 2},
        (2, 3, 3, 3, 4),
    ),
    (
        "conv3d_transpose",
        (2, 4, 2, 3, 2),
        {"filters": 3, "kernel_size": 3, "strides": 2, "data_format": "channels_first"},
        (2, 3, 5, 7, 5),
    ),
    ("max_pooling3d", (2, 4, 6, 7, 3), {"pool_size": 2, "strides": 2}, (2, 2, 3, 3, 3)),
    (
        "average_pooling3d",
        (2, 3, 4, 6, 7),
        {"pool_size": 2, "strides": 2, "padding": "same", "data_format": "channels_first"},
        (2, 3, 2, 3, 4),
    ),
    ("max_pooling1d", (2, 8, 3), {"pool_size": 2, "strides": 2}, (2, 4, 3)),
    ("average_pooling1d", (2, 8, 3), {"pool_size": 3, "strides": 2, "padding": "same"}, (2, 4, 3)),
    ("max_pooling2d", (2, 7, 9, 3), {"pool_size": 2, "strides": 2}, (2, 3, 4, 3)),
    ("average_pooling2d", (2, 7, 9, 3), {"pool_size": 2, "strides": (2, 3)}, (2, 3, 3, 3)),
]
CLASSES = {
    name: getattr(tf.layers, name.title().replace("_", "").replace("1D", "1D").replace("2D", "2D"))
    for name, *_ in CONVOLUTIONS
}


@pytest.mark.parametrize("name, shape, options, wanted", CONVOLUTIONS)
@pytest.mark.parametrize("batch", [2, None])
def test_windows(graph, name, shape, options, wanted, batch):
    x = tf.placeholder(tf.float32, [batch, *shape[1:]])
    y = getattr(tf.layers, name)(x, **options)
    assert y.shape.as_list() == [batch, *wanted[1:]]
    layer = CLASSES[name](**options)
    assert layer.compute_output_shape(x.shape).as_list() == [batch, *wanted[1:]]
    found, again = run([y, layer(x)], {x: np.ones(shape, "float32")})
    assert found.shape == again.shape == wanted


def test_a_convolution_by_hand(graph):
    x = np.arange(12, dtype="float32").reshape(1, 12, 1)
    y = tf.layers.conv1d(x, 1, 3, kernel_initializer=ONES, bias_initializer=ONES)
    np.testing.assert_array_equal(run(y)[0, :, 0], x[0, :-2, 0] * 3 + 3 + 1)


def test_names_of_kernels(graph):
    tf.layers.conv2d(tf.ones([1, 4, 4, 2]), 3, 2)
    tf.layers.separable_conv2d(tf.ones([1, 4, 4, 2]), 3, 2, name="s")
    found = {v.name: v.shape.as_list() for v in tf.trainable_variables()}
    assert found == {
        "conv2d/kernel:0": [2, 2, 2, 3],
        "conv2d/bias:0": [3],
        "s/depthwise_kernel:0": [2, 2, 2, 1],
        "s/pointwise_kernel:0": [1, 1, 2, 3],
        "s/bias:0": [3],
    }


@pytest.mark.parametrize(
    "options, message",
    [
        ({"strides": (1, 2, 3)}, "`strides` argument must be an int or a tuple of 2"),
        ({"kernel_size": None}, "`kernel_size` argument"),
        ({"data_format": "NHWC"}, "`data_format` argument must be one of"),
        ({"padding": "full"}, "`padding` argument must be one of"),
    ],
)
def test_arguments_of_windows_are_checked(graph, options, message):
    arguments = {"filters": 2, "kernel_size": 3, **options}
    with pytest.raises(ValueError, match=message):
        tf.layers.conv2d(tf.ones([1, 4, 4, 2]), **arguments)


def test_functional_forms_take_the_arguments_of_the_class():
    parameters = list(inspect.signature(dv.layers.conv2d).parameters)
    assert parameters[:3] == ["inputs", "filters", "kernel_size"]
    assert parameters[-3:] == ["trainable", "name", "reuse"]
    assert list(inspect.signature(dv.layers.max_pooling2d).parameters)[-1] == "name"


def test_dropout_in_training_only(graph):
    training = tf.placeholder(tf.bool, [])
    x = tf.ones([50, 40])
    y = tf.layers.dropout(x, rate=0.25, training=training, noise_shape=[None, 1])
    with tf.Session() as sess:
        assert sess.run(y, {training: False}).min() == 1.0
        dropped = sess.run(y, {training: True})
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert (dropped == dropped[:, :1]).all()
    assert tf.layers.dropout(x).op.type == "Identity"


@pytest.mark.parametrize(
    "shape, static", [((None, 2, 3), [None, 6]), ((5, None, 2), [5, None]), ((4, 6), [4, 6])]
)
def test_flatten(graph, shape, static):
    x = tf.placeholder(tf.float32, shape)
    y = tf.layers.flatten(x)
    assert y.shape.as_list() == static
    fed = np.ones([n or 4 for n in shape])
    assert run(y, {x: fed}).shape == (fed.shape[0], fed[0].size)


def test_embedding_keeps_its_gradient_sparse(graph):
    layer = tf.layers.Embedding(5, 3)
    y = layer(tf.constant([[0, 4]]))
    (gradient,) = tf.gradients(y, layer.embeddings)
    assert isinstance(gradient, tf.IndexedSlices)
    rows, table = run([y, layer.embeddings])
    np.testing.assert_array_equal(rows, table[[[0, 4]]])


def test_layer_norm(graph):
    x = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")
    y = run(tf.layers.layer_norm(x, epsilon=0.0))
    np.testing.assert_allclose(y, (x - x.mean(1)[:, None]) / x.std(1)[:, None], atol=1e-5)
    names = [v.name for v in tf.trainable_variables()]
    assert names == ["layer_normalization/gamma:0", "layer_normalization/beta:0"]


def test_layers_in_eager_code():
    layer = dv.layers.Dense(
        1,
        kernel_initializer=dv.ones_initializer(),
        name="eager_dense",
        kernel_regularizer=dv.l2_regularizer(1.0),
    )
    with dv.GradientTape() as tape:
        loss = dv.reduce_sum(layer([[1.0, 2.0]]))
    (gradient, _) = tape.gradient(loss, layer.trainable_variables)
    assert gradient.numpy().tolist() == [[1.0], [2.0]]
    assert float(layer.losses[0]) == 1.0
    layer.kernel.assign_add([[1.0], [1.0]])
    assert float(layer.losses[0]) == 4.0
    compiled = dv.function(lambda x: layer(x))
    assert compiled(dv.constant([[1.0, 2.0]])).numpy().tolist() == [[6.0]]
