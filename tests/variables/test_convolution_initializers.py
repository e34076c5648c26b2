"""Initializers of convolutions' kernels: what they are applied to keeps its norm."""

import itertools

import numpy
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.variables.convolution_initializers import (
    ConvolutionDeltaOrthogonal,
    ConvolutionOrthogonal1D,
    ConvolutionOrthogonal2D,
    ConvolutionOrthogonal3D,
)

FAMILY = {1: ConvolutionOrthogonal1D, 2: ConvolutionOrthogonal2D, 3: ConvolutionOrthogonal3D}


def ratio_of_norms(kernel, circular):
    """Return how much longer the convolution of an image with a kernel is than the image."""
    sizes, inputs = kernel.shape[:-2], kernel.shape[-2]
    image = numpy.random.default_rng(0).normal(size=(5, *[7] * len(sizes), inputs))
    mode = "wrap" if circular else "constant"
    pads = [((s - 1) // 2, s // 2) for s in sizes]
    padded = numpy.pad(image, [(0, 0), *pads, (0, 0)], mode)
    result = dv.nn.convolution(padded, kernel.astype("f8"), "VALID").numpy()
    return numpy.linalg.norm(result) / numpy.linalg.norm(image)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("num_dims", [1, 2, 3])
def test_circular_convolution_keeps_norms(num_dims, size):
    make = FAMILY[num_dims](gain=3.0, seed=5, dtype="float64")
    kernel = make([size] * num_dims + [3, 4]).numpy()
    assert kernel.dtype == numpy.float64
    assert ratio_of_norms(kernel, circular=True) == pytest.approx(3)
    assert (numpy.abs(kernel).max((-1, -2)) > 0).sum() > (size > 1)


@pytest.mark.parametrize("pixels", [[3], [8], [3, 5], [2, 4], [2, 3, 3]])
def test_delta_is_a_matrix_in_the_middle(pixels):
    kernel = ConvolutionDeltaOrthogonal(gain=2.0, seed=5)([*pixels, 3, 4]).numpy()
    middle = kernel[tuple((size - 1) // 2 for size in pixels)]
    numpy.testing.assert_allclose(middle @ middle.T, 4 * numpy.eye(3), atol=1e-5)
    assert numpy.count_nonzero(kernel) == numpy.count_nonzero(middle)
    assert ratio_of_norms(kernel, circular=False) == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize("make", [ConvolutionDeltaOrthogonal, *FAMILY.values()])
def test_shapes_seeds_and_dtypes(graph, make):
    rank = getattr(make, "num_dims", 2)
    shape = [2] * rank + [3, 3]
    seeded, unseeded = make(seed=1), make()
    same = [seeded(shape), seeded(shape), make(seed=1)(shape)]
    different = [same[0], make(seed=2)(shape), unseeded(shape), unseeded(shape)]
    with tf.Session(graph=graph) as session:
        same, different = session.run([same, different])
    assert all((same[0] == other).all() for other in same)
    assert not any((a == b).all() for a, b in itertools.combinations(different, 2))
    with pytest.raises(ValueError, match=r"greater than out_filters, got 4 and 3 of shape"):
        make()([2] * rank + [4, 3])
    with pytest.raises(ValueError, match=r"must have .* dimensions"):
        make()([3, 3])
    with pytest.raises(ValueError, match="floating point"):
        make(dtype="string")


def test_sizes_must_be_equal():
    with pytest.raises(ValueError, match=r"Kernel sizes must be equal, got \[2, 3\]"):
        ConvolutionOrthogonal2D()([2, 3, 1, 1])


def test_in_a_layer_and_under_the_names_of_contrib(graph):
    make = tf.contrib.framework.convolutional_orthogonal_2d
    images = tf.ones([1, 5, 5, 3])
    layer = tf.layers.conv2d(images, 4, 3, use_bias=False, kernel_initializer=make)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(layer).shape == (1, 3, 3, 4)
        kernel = session.run(tf.trainable_variables()[0])
    assert numpy.square(kernel).sum() == pytest.approx(3, abs=1e-4)
