"""Batch normalization: outputs, moving averages, phases, axes."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

RNG = np.random.default_rng(1)
IMAGES = (3.0 * RNG.normal(size=(4, 3, 5, 2)) + 1.0).astype("float32")
ROWS = (2.0 * RNG.normal(size=(8, 3)) - 1.0).astype("float32")


def normalized(x, axes, epsilon=1e-3):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


@pytest.mark.parametrize(
    "x, options, axes",
    [
        (IMAGES, {}, (0, 1, 2)),
        (IMAGES, {"fused": False}, (0, 1, 2)),
        (IMAGES, {"axis": 1}, (0, 2, 3)),
        (IMAGES, {"axis": 2}, (0, 1, 3)),
        (IMAGES, {"axis": [1, 3]}, (0, 2)),
        (ROWS, {}, (0,)),
        (ROWS, {"center": False, "scale": False}, (0,)),
    ],
)
@pytest.mark.parametrize("is_fed", [False, True])
def test_training_and_inference(graph, x, options, axes, is_fed):
    training = tf.placeholder_with_default(True, []) if is_fed else True
    layer = tf.layers.BatchNormalization(momentum=0.75, **options)
    y = layer(x, training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert updates == layer.updates
    assert len(updates) == 2
    count = np.prod([x.shape[a] for a in axes])
    bias = count / (count - 1) if layer.fused else 1.0  # fused ones divide by one less
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found, _ = sess.run([y, updates])
        np.testing.assert_allclose(found, normalized(x, axes), atol=1e-4)
        mean, variance = sess.run([layer.moving_mean, layer.moving_variance])
        np.testing.assert_allclose(mean.ravel(), 0.25 * x.mean(axes).ravel(), atol=1e-5)
        wanted = 0.75 + 0.25 * x.var(axes) * bias
        np.testing.assert_allclose(variance.ravel(), wanted.ravel(), rtol=1e-4)
        shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
        inference = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-3)
        fetched = sess.run([y, updates], {training: False})[0] if is_fed else sess.run(layer(x))
        np.testing.assert_allclose(fetched, inference, atol=1e-4)
        if is_fed:
            np.testing.assert_array_equal(sess.run(layer.moving_mean), mean)


def test_the_gradient_does_not_depend_on_how_the_phase_is_known(graph):
    x = tf.constant(IMAGES)
    weights = tf.constant(RNG.normal(size=IMAGES.shape).astype("float32"))
    fed = tf.placeholder_with_default(True, [])
    found = []
    for training in (True, fed):
        y = tf.layers.batch_normalization(x, training=training)
        found += tf.gradients(y * weights, x)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*sess.run(found), atol=1e-5)


def test_names_and_kinds_of_variables(graph):
    tf.layers.batch_normalization(IMAGES, name="bn")
    assert [v.name for v in tf.trainable_variables()] == ["bn/gamma:0", "bn/beta:0"]
    names = [v.name for v in tf.global_variables()]
    assert names[2:] == ["bn/moving_mean:0", "bn/moving_variance:0"]
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)


@pytest.mark.parametrize("option", [{"renorm": True}, {"virtual_batch_size": 2}])
def test_what_is_refused(option):
    with pytest.raises(NotImplementedError, match=rf"{next(iter(option))}.*daskvars has no"):
        dv.layers.BatchNormalization(**option)


@pytest.mark.parametrize("axis, message", [([1, 4], "Invalid"), ([1, -3], "Duplicate")])
def test_axes_are_checked(graph, axis, message):
    with pytest.raises(ValueError, match=message):
        tf.layers.batch_normalization(IMAGES, axis=axis)


def test_half_precision_keeps_its_variables_in_float32(graph):
    y = tf.layers.batch_normalization(tf.constant(IMAGES.astype("float16")), training=True)
    assert y.dtype is tf.float16
    assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float32}


def test_eager_averages_move_in_the_call():
    layer = dv.layers.BatchNormalization(momentum=0.5, name="eager_bn")
    layer(ROWS, training=True)
    np.testing.assert_allclose(layer.moving_mean.numpy(), 0.5 * ROWS.mean(0), rtol=1e-5)
    assert layer.updates == []
