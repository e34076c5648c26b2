"""Dilation and erosion against loops over windows, ties, borders, and what is refused."""

import itertools

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import daskvars as dv

rng = numpy.random.default_rng(0)
X, W = rng.normal(size=(2, 7, 6, 3)), rng.normal(size=(3, 2, 3))


def naive(x, w, stride, rate, padding):
    """Return the dilation, a window after the other, of an image padded by minus infinity."""
    extent = [(size - 1) * rate + 1 for size in w.shape[:2]]
    if padding == "SAME":
        counts = [-(-size // stride) for size in x.shape[1:3]]
        total = [
            max((count - 1) * stride + window - size, 0)
            for count, window, size in zip(counts, extent, x.shape[1:3], strict=True)
        ]
        pads = [(0, 0), *((amount // 2, amount - amount // 2) for amount in total), (0, 0)]
        x = numpy.pad(x, pads, constant_values=-numpy.inf)
    counts = [(size - n) // stride + 1 for size, n in zip(x.shape[1:3], extent, strict=True)]
    y = numpy.empty((len(x), *counts, x.shape[3]))
    for row, column in itertools.product(*map(range, counts)):
        top, left = row * stride, column * stride
        window = x[:, top : top + extent[0] : rate, left : left + extent[1] : rate]
        y[:, row, column] = (window + w).max((1, 2))
    return y


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "rate"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 3)])
def test_dilation_and_erosion(stride, rate, padding):
    wanted = naive(X, W, stride, rate, padding)
    assert_allclose(dv.nn.dilation2d(X, W, stride, rate, padding).numpy(), wanted, rtol=1e-12)
    eroded = dv.nn.erosion2d(-X, W[::-1, ::-1], stride, rate, padding).numpy()
    assert_allclose(eroded, -wanted, rtol=1e-12)


def test_a_filter_of_zeros_pools():
    pooled = dv.nn.max_pool(X, [3, 2], 2, "SAME").numpy()
    assert_array_equal(dv.nn.dilation2d(X, numpy.zeros_like(W), 2, 1, "SAME").numpy(), pooled)


def test_of_equal_maxima_the_first_takes_the_gradient():
    image, filters = dv.zeros([1, 3, 3, 1]), dv.zeros([2, 2, 1])
    with dv.GradientTape() as tape:
        tape.watch([image, filters])
        y = dv.reduce_sum(dv.nn.dilation2d(image, filters, 1, 1, "SAME"))
    for_image, for_filter = tape.gradient(y, [image, filters])
    assert_array_equal(for_image.numpy()[0, ..., 0], numpy.ones((3, 3)))
    assert_array_equal(for_filter.numpy()[..., 0], [[9, 0], [0, 0]])


def test_windows_between_the_pixels_see_none_of_them():
    seen = dv.nn.dilation2d(dv.ones([1, 2, 2, 1]), dv.ones([2, 2, 1]), 1, 4, "SAME").numpy()
    assert (seen == -numpy.inf).all()
    whole = dv.nn.dilation2d(
        dv.ones([1, 2, 2, 1], "int32"), dv.ones([2, 2, 1], "int32"), 1, 4, "SAME"
    )
    assert (whole.numpy() == numpy.iinfo("i4").min).all()


def test_whole_numbers_do_not_overflow_at_borders():
    image, filters = numpy.full((1, 2, 2, 1), -100, "i1"), numpy.full((3, 3, 1), -20, "i1")
    assert_array_equal(dv.nn.dilation2d(image, filters, 1, 1, "SAME").numpy(), image - 20)


@pytest.mark.parametrize(
    ("filters", "options", "message"),
    [
        ((3, 2, 4), (1, 1, "SAME"), "Dimensions must be equal, but are 3 and 4"),
        ((3, 2), (1, 1, "SAME"), "Shape must be rank 3 but is rank 2"),
        ((8, 2, 3), (1, 1, "VALID"), "Negative dimension size"),
        ((3, 2, 3), (1, 1, "FULL"), "padding must be 'SAME' or 'VALID', got 'FULL'"),
        ((3, 2, 3), ([1, 1, 1, 2], 1, "SAME"), "strides in the batch and depth"),
        ((3, 2, 3), (1, [1, 2], "SAME"), None),
        ((3, 2, 3), (1, [2, 1, 1, 1], "SAME"), "rates in the batch and depth"),
    ],
)
def test_what_is_refused(filters, options, message):
    if message is None:
        assert dv.nn.dilation2d(X, numpy.ones(filters), *options).shape == X.shape
        return
    with pytest.raises(ValueError, match=message):
        dv.nn.dilation2d(X, numpy.ones(filters), *options)


def test_the_new_names_of_arguments():
    old = dv.nn.dilation2d(X, W, 1, 2, "SAME").numpy()
    new = dv.nn.dilation2d(X, filters=W, strides=1, dilations=2, padding="SAME").numpy()
    assert_array_equal(old, new)
