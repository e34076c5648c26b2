"""Functions of `nn` that are made of others: values from TensorFlow, and shapes left open."""

import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars.v1 as tf
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")

nn = tf.nn
generator = numpy.random.RandomState(0)
VOLUMES = generator.randn(2, 3, 4, 5, 2).astype("f4")
# The first image's first channel, pooled by windows [2, 2, 3] at [2, 2, 2] with "SAME" padding.
MEANS = [
    [[-0.06415287, 0.21284807, -0.09756022], [-0.25481346, 0.13163072, -0.16229311]],
    [[-0.22359732, 0.61797261, 0.06135977], [0.40474975, -0.50653404, 0.7676636]],
]
MAXIMA = [
    [[1.76405239, 1.867558, 1.494079], [1.13940072, 2.26975465, 1.53277922]],
    [[0.46566245, 1.48825216, 1.1787796], [1.8831507, 0.94725198, 1.92294204]],
]


@pytest.mark.parametrize("pool, golden", [(nn.avg_pool3d, MEANS), (nn.max_pool3d, MAXIMA)])
def test_volumes_are_pooled_as_tensorflow_does(pool, golden):
    last = pool(VOLUMES, [1, 2, 2, 3, 1], [1, 2, 2, 2, 1], "SAME")
    assert last.shape.as_list() == [2, 2, 2, 3, 2]
    turned = numpy.moveaxis(VOLUMES, -1, 1)
    first = pool(turned, [2, 2, 3], 2, "SAME", data_format="NCDHW")
    shapes = [[None, 3, 4, 5, 2], [None, None, 4, None, 2], None]
    fed = {tf.placeholder(tf.float32, shape): VOLUMES for shape in shapes}
    found = run([last, first, *(pool(x, [2, 2, 3], 2, "SAME") for x in fed)], fed)
    assert_allclose(found[0][0, ..., 0], golden, rtol=1e-5)
    assert_allclose(numpy.moveaxis(found[1], 1, -1), found[0], rtol=1e-6)
    for of_placeholder in found[2:]:
        assert_allclose(of_placeholder, found[0], rtol=1e-6)


def test_pooling_a_volume_has_a_gradient():
    volume = tf.constant(VOLUMES)
    slope = tf.gradients(nn.avg_pool3d(volume, 1, 1, "VALID"), [volume])[0]
    assert (run(slope) == 1).all()
    with pytest.raises(ValueError, match="of rank 5"):
        nn.avg_pool3d(tf.placeholder(tf.float32, [None, 3, 3, 1]), 1, 1, "VALID")
    with pytest.raises(ValueError, match="batch and channels must be 1"):
        nn.avg_pool3d(volume, [2, 1, 1, 1, 1], 1, "VALID")


@pytest.mark.parametrize(
    "pool, wanted", [(nn.max_pool1d, [3, 3, 9]), (nn.avg_pool1d, [2, 2.5, 5.5])]
)
def test_sequences_are_pooled(pool, wanted):
    last = pool([[[1.0], [3.0], [2.0], [9.0]]], 2, [1, 1, 1], "VALID")
    first = pool([[[1.0, 3.0, 2.0, 9.0]]], [2], 1, "VALID", data_format="NCW")
    assert [v.ravel().tolist() for v in run([last, first])] == [wanted, wanted]


def test_transposes_spread_values():
    spread = nn.atrous_conv2d_transpose(
        tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1]), [1, 4, 4, 1], 2, "VALID"
    )
    sequence = tf.reshape(tf.range(1.0, 4.0), [1, 3, 1])
    taps = tf.ones([2, 1, 1])
    last = nn.conv1d_transpose(sequence, taps, tf.constant([1, 6, 1]), 2)
    first = nn.conv1d_transpose(
        tf.transpose(sequence, [0, 2, 1]), taps, [1, 1, 6], [1, 1, 2], data_format="NCW"
    )
    old = nn.conv1d_transpose(sequence, taps, [1, 6, 1], stride=2)
    found = run([spread, last, first, old])
    assert (found[0] == 1).all()
    for value in found[1:]:
        assert value.ravel().tolist() == [1, 1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="needs strides"):
        nn.conv1d_transpose(sequence, taps, [1, 6, 1])
    with pytest.raises(ValueError, match="both 'strides' and 'stride'"):
        nn.conv1d_transpose(sequence, taps, [1, 6, 1], 2, stride=2)


def test_gradients_of_depthwise_convolution_are_public():
    images = tf.constant(generator.randn(1, 4, 4, 2))
    taps = tf.constant(generator.randn(2, 2, 2, 3))
    result = nn.depthwise_conv2d_native(images, taps, [1, 1, 1, 1], "SAME")
    arguments = tf.ones_like(result), [1, 1, 1, 1], "SAME"
    found = run(
        [
            nn.depthwise_conv2d_native_backprop_input([1, 4, 4, 2], taps, *arguments),
            nn.depthwise_conv2d_native_backprop_filter(images, [2, 2, 2, 3], *arguments),
            *tf.gradients(result, [images, taps]),
        ]
    )
    assert_allclose(found[0], found[2])
    assert_allclose(found[1], found[3])


@pytest.mark.parametrize("shift", [None, 1.0])
@pytest.mark.parametrize("known", [False, True])
def test_sufficient_statistics_give_the_moments(shift, known):
    x = VOLUMES[0, 0]
    fed = tf.placeholder(tf.float32, x.shape if known else [None, None, 2])
    statistics = nn.sufficient_statistics(fed, [0, 1], shift=shift, keep_dims=True)
    assert (statistics[3] is None) == (shift is None)
    moments = nn.normalize_moments(*statistics)
    count, mean, variance = run([statistics[0], *moments], {fed: x})
    assert count == 20 and mean.shape == (1, 1, 2)
    assert_allclose(mean.ravel(), x.mean((0, 1)), rtol=1e-4)
    assert_allclose(variance.ravel(), x.var((0, 1)), rtol=1e-4)


def test_old_batch_normalization():
    images = tf.reshape(tf.range(4.0), [1, 1, 2, 2])
    arguments = images, [1.0, 2.0], [4.0, 1.0], [0.5, 0.25], [2.0, 3.0], 0.0
    plain = nn.batch_norm_with_global_normalization(*arguments, False)
    scaled = nn.batch_norm_with_global_normalization(*arguments, True)
    assert [v.ravel().tolist() for v in run([plain, scaled])] == [
        [0.0, -0.75, 1.0, 1.25],
        [-0.5, -2.75, 1.5, 3.25],
    ]


def test_small_compositions():
    layer = nn.relu_layer([[2.0]], [[3.0, -4.0]], [1.0, 1.0])
    assert layer.op.name == "relu_layer"
    found = run([layer, nn.zero_fraction([[0, 1], [2, 0]]), nn.zero_fraction(tf.zeros([0]))])
    assert found[0].tolist() == [[7.0, 0.0]]
    assert found[1] == 0.5 and numpy.isnan(found[2])
