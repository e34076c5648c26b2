"""Batch normalization: outputs, moving averages, phases, axes."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import initialized, run

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
    with initialized() as sess:
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
    np.testing.assert_allclose(*run(found), atol=1e-5)


def test_names_and_kinds_of_variables(graph):
    tf.layers.batch_normalization(IMAGES, name="bn")
    assert [v.name for v in tf.trainable_variables()] == ["bn/gamma:0", "bn/beta:0"]
    names = [v.name for v in tf.global_variables()]
    assert names[2:] == ["bn/moving_mean:0", "bn/moving_variance:0"]
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)


def test_renormalization_follows_its_own_averages(graph):
    limits = {"rmax": 1.1, "rmin": 0.9, "dmax": 0.1}
    fed = tf.placeholder(tf.bool)
    layer = tf.layers.BatchNormalization(
        momentum=0.9,
        renorm=True,
        renorm_clipping=limits,
        renorm_momentum=0.75,
        gamma_initializer=tf.constant_initializer(2.0),
        beta_initializer=tf.ones_initializer(),
    )
    x = tf.placeholder(tf.float32, [8, 3])
    y = layer(x, training=fed)
    names = [v.op.name.rpartition("/")[2] for v in tf.global_variables()[4:]]
    assert names == ["moving_stddev", "renorm_mean", "renorm_stddev"]
    mean, stddev, own_mean, own_stddev = 0.0, 1.0, 0.0, 1.0
    with initialized() as sess:
        for step in range(4):
            rows = ROWS + np.float32(step)
            batch_mean, batch_stddev = rows.mean(0), np.sqrt(rows.var(0) + 1e-3)
            r = (batch_stddev / own_stddev).clip(0.9, 1.1)
            d = ((batch_mean - own_mean) / own_stddev).clip(-0.1, 0.1)
            wanted = ((rows - batch_mean) / batch_stddev * r + d) * 2 + 1
            own_mean += 0.25 * (batch_mean - own_mean)
            own_stddev += 0.25 * (batch_stddev - own_stddev)
            mean += 0.1 * (batch_mean - mean)
            stddev += 0.1 * (batch_stddev - stddev)
            found, _ = sess.run([y, layer.updates], {x: rows, fed: True})
            np.testing.assert_allclose(found, wanted, atol=1e-4)
            found, _ = sess.run([y, layer.updates], {x: rows, fed: False})
            np.testing.assert_allclose(found, (rows - mean) / stddev * 2 + 1, atol=1e-4)


def test_virtual_batches_have_moments_of_their_own(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    layer = tf.layers.BatchNormalization(momentum=0.5, virtual_batch_size=4)
    y = layer(x, training=True)
    parts = ROWS.reshape(4, 2, 3)
    with initialized() as sess:
        found, _ = sess.run([y, layer.updates], {x: ROWS})
        np.testing.assert_allclose(found, normalized(parts, 0).reshape(8, 3), atol=1e-4)
        mean, variance = sess.run([layer.moving_mean, layer.moving_variance])
        assert mean.shape == (1, 1, 3)
        np.testing.assert_allclose(mean[0, 0], 0.5 * ROWS.mean(0), rtol=1e-4)
        np.testing.assert_allclose(variance[0, 0], 0.5 + 0.5 * parts.var(0).mean(0), rtol=1e-4)


def test_an_adjustment_is_for_training(graph):
    fed = tf.placeholder(tf.bool)
    y = tf.layers.batch_normalization(
        tf.constant(ROWS),
        training=fed,
        adjustment=lambda shape: (tf.constant(3.0), tf.cast(shape[:1], tf.float32)),
    )
    with initialized() as sess:
        found = sess.run(y, {fed: True})
        np.testing.assert_allclose(found, normalized(ROWS, 0) * 3 + 8, atol=1e-4)
        np.testing.assert_allclose(sess.run(y, {fed: False}), ROWS / np.sqrt(1.001), rtol=1e-5)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"renorm": True, "fused": True}, "fused=True"),
        ({"renorm": True, "renorm_clipping": {"max": 1}}, "keys not in"),
        ({"virtual_batch_size": 0}, "positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, "cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": lambda shape: (1, 2)}, "cannot be specified"),
    ],
)
def test_what_does_not_go_together(graph, options, message):
    with pytest.raises(ValueError, match=message):
        tf.layers.batch_normalization(ROWS, **options)


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


def test_without_scale_and_offset_it_can_be_built_before_it_is_called():
    layer = dv.layers.BatchNormalization(scale=False, center=False, name="bare_bn")
    layer.build([None, 3])
    assert [v.op.name for v in layer.variables] == [
        "bare_bn/moving_mean",
        "bare_bn/moving_variance",
    ]
