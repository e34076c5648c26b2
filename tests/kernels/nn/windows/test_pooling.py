import numpy as np
import pytest

from daskvars.dtypes import as_dtype
from daskvars.kernels.nn.windows.pooling import (
    avg_pool,
    avg_pool_grad,
    max_pool,
    max_pool_grad,
    max_pool_grad_grad,
    max_pool_with_argmax,
)
from daskvars.kernels.nn.windows.sliding import place_windows
from tests.kernels.numerical import assert_gradient, frozen, normal

# window, stride, padding
CASES = [
    ((2, 2), (2, 2), "VALID"),
    ((2, 2), (2, 2), "SAME"),
    ((3, 2), (2, 1), "SAME"),
    ((3, 3), (2, 2), "VALID"),
    ((2, 2), (3, 3), "VALID"),
    ((1, 1), (2, 2), "SAME"),
    ((7, 6), (1, 1), "VALID"),
]


def attributes(case, data_format="NHWC"):
    (height, width), (down, across), padding = case
    if data_format == "NHWC":
        sizes, strides = (1, height, width, 1), (1, down, across, 1)
    else:
        sizes, strides = (1, 1, height, width), (1, 1, down, across)
    return {"ksize": sizes, "strides": strides, "padding": padding, "data_format": data_format}


def windows_of(x, case):
    size, (down, across), padding = case
    return place_windows(
        x.shape[1:3],
        size,
        strides=(1, down, across, 1),
        padding=padding,
        dilations=(1, 1, 1, 1),
        data_format="NHWC",
    )


def each_window(x, case):
    """Yield (row, column, top, left, pixels inside the image) of each window."""
    windows = windows_of(x, case)
    for row in range(windows.count[0]):
        for column in range(windows.count[1]):
            top = row * windows.stride[0] - windows.before[0]
            left = column * windows.stride[1] - windows.before[1]
            bottom, right = top + windows.size[0], left + windows.size[1]
            top, left = max(top, 0), max(left, 0)
            yield row, column, top, left, x[:, top:bottom, left:right]


def pooled(x, case, reduce):
    y = np.empty((len(x), *windows_of(x, case).count, x.shape[3]), x.dtype)
    for row, column, _, _, pixels in each_window(x, case):
        y[:, row, column] = reduce(pixels, axis=(1, 2))
    return y


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_pools_and_their_gradients(case, data_format):
    x = normal(2, 7, 6, 3)
    attrs = attributes(case, data_format)

    def turn(array):
        return array if data_format == "NHWC" else frozen(array.transpose(0, 3, 1, 2))

    for pool, reduce in ((max_pool, np.max), (avg_pool, np.mean)):
        y = pool(np, turn(x), **attrs)
        np.testing.assert_allclose(y, turn(pooled(x, case, reduce)), rtol=1e-13, atol=1e-14)
    y, dy = max_pool(np, turn(x), **attrs), normal(*y.shape, seed=1)
    dx = max_pool_grad(np, turn(x), y, dy, **attrs)
    assert_gradient(lambda x: max_pool(np, x, **attrs), turn(x), dy, dx)
    ddx = normal(*dx.shape, seed=2)
    ddy = max_pool_grad_grad(np, turn(x), y, ddx, **attrs)
    np.testing.assert_allclose((ddy * dy).sum(), (ddx * dx).sum())
    dx = avg_pool_grad(np, dy, input_shape=turn(x).shape, **attrs)
    assert_gradient(lambda x: avg_pool(np, x, **attrs), turn(x), dy, dx)


@pytest.mark.parametrize("case", CASES)
def test_ties_go_to_the_first_place(case):
    x = frozen(np.random.default_rng(0).integers(0, 3, (2, 7, 6, 3)).astype("float32"))
    attrs = attributes(case)
    y = max_pool(np, x, **attrs)
    dy = normal(*y.shape, dtype="float32")
    wanted = np.zeros(x.shape, "float32")
    for row, column, top, left, pixels in each_window(x, case):
        for image, channel in np.ndindex(2, 3):
            flat = pixels[image, :, :, channel]
            down, across = np.unravel_index(flat.argmax(), flat.shape)
            wanted[image, top + down, left + across, channel] += dy[image, row, column, channel]
    np.testing.assert_allclose(max_pool_grad(np, x, y, dy, **attrs), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("case", [*CASES, ((3, 3), (3, 3), "SAME"), ((4, 5), (2, 2), "SAME")])
def test_padding_is_no_maximum_where_all_is_as_low_as_can_be(case, dtype):
    x = frozen(np.full((2, 7, 6, 3), 0 if dtype == "uint8" else -np.inf, dtype))
    attrs = attributes(case)
    y, places = max_pool_with_argmax(np, x, dtype=as_dtype("int64"), **attrs)
    assert (y == x[0, 0, 0, 0]).all()
    ones, wanted = np.ones(y.shape, "float32"), np.zeros(x.shape, "float32")
    for row, column, top, left, _ in each_window(x, case):
        assert places[:, row, column].tolist() == [[(top * 6 + left) * 3 + c for c in range(3)]] * 2
        wanted[:, top, left] += 1
    np.testing.assert_array_equal(max_pool_grad(np, x, y, ones, **attrs), wanted)


def test_an_infinite_gradient_stays_in_its_place():
    attrs = attributes(((2, 2), (2, 2), "VALID"))
    x = frozen(np.arange(4.0).reshape(1, 2, 2, 1))
    dy = frozen(np.full((1, 1, 1, 1), np.inf))
    dx = max_pool_grad(np, x, max_pool(np, x, **attrs), dy, **attrs)
    assert dx.ravel().tolist() == [0, 0, 0, np.inf]


def test_a_window_without_a_maximum_gives_nothing():
    attrs = attributes(((1, 2), (1, 1), "VALID"))
    x = frozen(np.array([1.0, np.nan, 2.0, 3.0]).reshape(1, 1, 4, 1))
    dy = frozen(np.array([np.inf, np.inf, 5.0]).reshape(1, 1, 3, 1))
    dx = max_pool_grad(np, x, max_pool(np, x, **attrs), dy, **attrs)
    assert dx.ravel().tolist() == [0, 0, 0, 5]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_dtype_is_kept(dtype):
    x = frozen(np.arange(-40, 32).reshape(2, 6, 6, 1).astype(dtype))
    attrs = attributes(((3, 3), (2, 2), "SAME"))
    y = max_pool(np, x, **attrs)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, pooled(x, ((3, 3), (2, 2), "SAME"), np.max))
    if dtype != "int32":
        assert avg_pool(np, x, **attrs).dtype == dtype
        assert max_pool_grad(np, x, y, y, **attrs).dtype == dtype
        assert avg_pool_grad(np, y, input_shape=x.shape, **attrs).dtype == dtype
