"""Windows with holes by phases: against convolutions with dilations, of known and unknown sizes."""

import itertools

import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf

rng = numpy.random.default_rng(0)
X, W = rng.normal(size=(2, 9, 8, 3)), rng.normal(size=(3, 2, 3, 4))


def convolved(images, num_spatial_dims, padding):
    assert num_spatial_dims == 2
    return dv.nn.convolution(images, W, padding)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rate", [(1, 1), (2, 1), (2, 3), (3, 3)])
def test_phases_make_dilated_convolutions(rate, padding):
    found = dv.nn.with_space_to_batch(X, rate, padding, convolved, W.shape)
    wanted = dv.nn.convolution(X, W, padding, dilation_rate=rate).numpy()
    assert_allclose(found.numpy(), wanted, atol=1e-12)


def test_of_sizes_that_only_a_run_knows(graph):
    images = tf.placeholder(tf.float64, [None, None, None, 3])
    rate = tf.placeholder(tf.int32, [2])
    fixed = tf.nn.with_space_to_batch(images, [2, 3], "SAME", convolved, tf.shape(W))
    fed = tf.nn.with_space_to_batch(images, rate, "SAME", convolved, tf.shape(W))
    wanted = tf.nn.convolution(images, W, "SAME", dilation_rate=[2, 3])
    with tf.Session() as session:
        *found, wanted = session.run([fixed, fed, wanted], {images: X, rate: [2, 3]})
    for value in found:
        assert_allclose(value, wanted, atol=1e-12)


def test_several_ops_are_one_function():
    def both(images, num_spatial_dims, padding):
        assert padding == "VALID"
        return dv.nn.convolution(dv.nn.convolution(images, square, "SAME"), square, "SAME")

    square = rng.normal(size=(3, 3, 3, 3))
    images = X[:, :8]  # the rate divides the sizes
    found = dv.nn.with_space_to_batch(images, [2, 2], "VALID", both)
    wanted = images
    for _ in range(2):
        wanted = dv.nn.convolution(wanted, square, "SAME", dilation_rate=[2, 2])
    assert_allclose(found.numpy(), wanted.numpy(), atol=1e-12)


def test_dimensions_of_space_by_name_and_by_format():
    def along_last(images, num_spatial_dims, padding):
        return images[..., 1:] + images[..., :-1]

    x = X[..., 0]  # [2, 9, 8]
    wanted = x[..., 2:] + x[..., :-2]
    by_name = dv.nn.with_space_to_batch(x, [2], "VALID", along_last, spatial_dims=[2])
    by_format = dv.nn.with_space_to_batch(x, [2], "VALID", along_last, data_format="NCW")
    assert_allclose(by_name.numpy(), wanted)
    assert_allclose(by_format.numpy(), wanted)


def test_paddings_are_the_least_that_divide():
    for size, block, before, after in itertools.product(range(1, 8), range(1, 5), (0, 2), (0, 3)):
        base = [[before, after]]
        paddings, crops = dv.required_space_to_batch_paddings([size], [block], base)
        (first, last), (none, missing) = paddings.numpy()[0], crops.numpy()[0]
        assert (first, last - missing, none) == (before, after, 0)
        assert 0 <= missing < block and (size + first + last) % block == 0
    for empty in dv.required_space_to_batch_paddings(numpy.zeros(0, "i4"), numpy.zeros(0, "i4")):
        assert empty.shape == (0, 2)


def test_paddings_of_known_sizes_are_known(graph):
    paddings, crops = tf.required_space_to_batch_paddings([7, 4], [3, 2])
    assert tf.get_static_value(paddings).tolist() == [[0, 2], [0, 0]]
    assert tf.get_static_value(crops).tolist() == [[0, 2], [0, 0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"padding": "FULL"}, "padding must be 'SAME' or 'VALID'"),
        ({"padding": "SAME"}, "filter_shape must be specified"),
        ({"dilation_rate": [0, 2]}, r"dilation_rate must be positive, got \[0, 2\]"),
        ({"dilation_rate": 2}, "dilation_rate must be a vector of known length"),
        ({"spatial_dims": [2, 1]}, "monotonically increasing"),
        ({"spatial_dims": [1]}, "of 2 dimensions, but spatial_dims is"),
        ({"spatial_dims": [3, 4]}, "input must have rank 5 at least"),
    ],
)
def test_what_is_refused(arguments, message):
    given = {"dilation_rate": [2, 2], "padding": "VALID", "op": convolved, **arguments}
    with pytest.raises(ValueError, match=message):
        dv.nn.with_space_to_batch(X, **given)


def test_shapes_of_paddings_must_fit():
    with pytest.raises(ValueError, match="2 blocks need shape"):
        dv.required_space_to_batch_paddings([7], [3, 2])
    with pytest.raises(ValueError, match="2 blocks need shape"):
        dv.required_space_to_batch_paddings([7, 4], [3, 2], [[0, 0]])
