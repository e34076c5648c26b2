import tracemalloc

import numpy as np
import pytest

from daskvars.kernels.nn import convolution, depthwise
from daskvars.kernels.nn.windows import patches, strips
from daskvars.kernels.nn.windows.sliding import conv_shape, depthwise_conv2d_shape, place_windows
from tests.kernels.numerical import assert_gradient, frozen, normal

SAME = {"strides": (1, 1, 1, 1), "padding": "SAME"}

# height, width, inputs, outputs (or multiplier), filter, stride, dilation, padding
CASES = [
    (7, 9, 3, 4, (3, 3), 1, 1, "SAME"),
    (8, 7, 1, 2, (5, 3), 1, 1, "SAME"),
    (9, 9, 2, 3, (3, 2), 2, 1, "SAME"),
    (9, 9, 9, 2, (3, 2), 2, 1, "SAME"),
    (9, 9, 2, 3, (3, 3), 2, 1, "VALID"),
    (9, 10, 3, 9, (3, 3), 1, 2, "SAME"),
    (9, 10, 3, 2, (3, 3), 1, 2, "VALID"),
    (6, 6, 2, 3, (1, 1), 2, 1, "VALID"),
    (6, 6, 2, 3, (1, 1), 1, 1, "SAME"),
    (6, 7, 2, 3, (3, 3), 1, 1, ((0, 0), (2, 1), (0, 3), (0, 0))),
    (6, 7, 2, 3, (3, 3), 2, 1, ((0, 0), (3, 4), (0, 3), (0, 0))),
    (7, 5, 2, 3, (2, 2), 1, 1, ((0, 0), (3, 0), (0, 0), (0, 0))),
    (12, 30, 1, 3, (4, 4), 1, 1, "SAME"),
    (5, 5, 2, 2, (2, 2), 3, 1, "SAME"),
    (7, 4, 2, 5, (3, 4), 1, 1, "VALID"),
    (7, 4, 1, 3, (3, 4), 2, 1, "VALID"),
    (4, 3, 2, 9, (4, 3), 1, 1, "VALID"),
]


def reference(x, w, windows, product):
    padded = np.zeros((len(x), *windows.padded, x.shape[3]))
    padded[windows.interior()] = x
    return sum(product(padded[seen], w[i, j]) for i, j, seen in windows.taps())


def conv_product(pixels, w):
    return pixels @ w


def depthwise_product(pixels, w):
    return (pixels[..., None] * w).reshape(*pixels.shape[:3], -1)


def setting(case, data_format):
    height, width, inputs, outputs, size, stride, dilation, padding = case
    attrs = {
        "strides": (1, stride, stride, 1),
        "dilations": (1, dilation, dilation, 1),
        "padding": padding,
    }
    windows = place_windows((height, width), size, data_format="NHWC", **attrs)
    if data_format == "NCHW":
        attrs["strides"] = (1, 1, stride, stride)
        attrs["dilations"] = (1, 1, dilation, dilation)
        if not isinstance(padding, str):
            attrs["padding"] = (padding[0], padding[3], padding[1], padding[2])
    attrs["data_format"] = data_format
    return normal(3, height, width, inputs), normal(*size, inputs, outputs, seed=1), windows, attrs


def turn(x, data_format):
    return x if data_format == "NHWC" else frozen(x.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "kernels, product, shape",
    [
        (
            (
                convolution.conv2d,
                convolution.conv2d_backprop_input,
                convolution.conv2d_backprop_filter,
            ),
            conv_product,
            conv_shape,
        ),
        (
            (
                depthwise.depthwise_conv2d,
                depthwise.depthwise_conv2d_backprop_input,
                depthwise.depthwise_conv2d_backprop_filter,
            ),
            depthwise_product,
            depthwise_conv2d_shape,
        ),
    ],
    ids=["conv2d", "depthwise"],
)
def test_forward_and_both_gradients(kernels, product, shape, case, data_format):
    forward, backprop_input, backprop_filter = kernels
    x, w, windows, attrs = setting(case, data_format)
    wanted = reference(x, w, windows, product)
    y = forward(np, turn(x, data_format), w, **attrs)
    np.testing.assert_allclose(y, turn(wanted, data_format), rtol=1e-12, atol=1e-12)
    assert y.flags.c_contiguous
    assert y.shape == shape(turn(x, data_format).shape, w.shape, **attrs)
    # Both gradients are adjoints of a linear map, which one number each decides.
    dy, u, v = normal(*wanted.shape, seed=2), normal(*w.shape, seed=3), normal(*x.shape, seed=4)
    dx = backprop_input(
        np, w, turn(dy, data_format), input_shape=turn(x, data_format).shape, **attrs
    )
    dw = backprop_filter(
        np, turn(x, data_format), turn(dy, data_format), filter_shape=w.shape, **attrs
    )
    np.testing.assert_allclose(
        (turn(v, data_format) * dx).sum(), (reference(v, w, windows, product) * dy).sum()
    )
    np.testing.assert_allclose((u * dw).sum(), (reference(x, u, windows, product) * dy).sum())


@pytest.mark.parametrize("case", CASES)
def test_results_are_written_where_they_belong(case):
    x, w, windows, attrs = setting(case, "NHWC")
    dy = normal(3, *windows.count, w.shape[3], seed=2)
    for run in (
        lambda **out: convolution.conv2d(np, x, w, **attrs, **out),
        lambda **out: convolution.conv2d_backprop_input(
            np, w, dy, input_shape=x.shape, **attrs, **out
        ),
    ):
        wanted = run()
        room = np.empty_like(wanted)
        assert run(out=room) is room
        np.testing.assert_array_equal(room, wanted)
        np.testing.assert_array_equal(run(out=np.stack([room, room], -1)[..., 0]), wanted)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (4, 4)])
def test_products_of_no_channels_are_zeros(size):
    x, w = np.empty((2, 4, 4, 0)), np.empty((*size, 0, 3))
    attrs = {"strides": (1, 1, 1, 1), "padding": "VALID"}
    shape = convolution.conv2d(np, x, w, **attrs).shape
    np.full(shape, 7.0)  # what is in the memory that the next result takes
    y = convolution.conv2d(np, x, w, **attrs)
    assert not y.any()
    dx = convolution.conv2d_backprop_input(np, w, y, input_shape=x.shape, **attrs)
    dw = convolution.conv2d_backprop_filter(np, x, y, filter_shape=w.shape, **attrs)
    assert (dx.shape, dw.shape) == (x.shape, w.shape)


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_are_numerical_ones(stride):
    attrs = {"strides": (1, stride, stride, 1), "padding": "SAME"}
    x, w = normal(1, 5, 4, 2), normal(3, 3, 2, 2, seed=1)
    dy = normal(*convolution.conv2d(np, x, w, **attrs).shape, seed=2)
    assert_gradient(
        lambda x: convolution.conv2d(np, x, w, **attrs),
        x,
        dy,
        convolution.conv2d_backprop_input(np, w, dy, input_shape=x.shape, **attrs),
    )
    assert_gradient(
        lambda w: convolution.conv2d(np, x, w, **attrs),
        w,
        dy,
        convolution.conv2d_backprop_filter(np, x, dy, filter_shape=w.shape, **attrs),
    )


@pytest.mark.parametrize("channels", [1, 4])
def test_blocks_of_a_few_rows_give_the_same(monkeypatch, channels):
    x, w = normal(5, 20, 16, channels), normal(3, 3, channels, 4, seed=1)
    dy = normal(5, 20, 16, 4, seed=2)
    run = [
        lambda: convolution.conv2d(np, x, w, **SAME),
        lambda: convolution.conv2d_backprop_filter(np, x, dy, filter_shape=w.shape, **SAME),
        lambda: convolution.conv2d_backprop_input(np, w, dy, input_shape=x.shape, **SAME),
    ]
    whole = [call() for call in run]
    monkeypatch.setattr(patches, "PATCH_BYTES", 1)
    monkeypatch.setattr(strips, "STRIP_BYTES", 1)
    monkeypatch.setattr(patches, "PATCH_ROWS", 40)
    for call, wanted in zip(run, whole, strict=True):
        np.testing.assert_allclose(call(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("case", CASES)
def test_strips_give_what_patches_give(monkeypatch, case, data_format):
    x, w, windows, attrs = setting(case, data_format)
    x, dy = turn(x, data_format), turn(normal(3, *windows.count, w.shape[3], seed=2), data_format)

    def run():
        return (
            convolution.conv2d(np, x, w, **attrs),
            convolution.conv2d_backprop_input(np, w, dy, input_shape=x.shape, **attrs),
            convolution.conv2d_backprop_filter(np, x, dy, filter_shape=w.shape, **attrs),
        )

    for name in ("MAX_OUTPUTS", "MAX_SUMMED_OUTPUTS"):
        monkeypatch.setattr(strips, name, 0)
    wanted = run()
    monkeypatch.setattr(strips, "MAX_OUTPUTS", 64)
    monkeypatch.setattr(strips, "MAX_SUMMED_OUTPUTS", 64)
    monkeypatch.setattr(strips, "MAX_OUTPUTS_SEEN", 64)
    monkeypatch.setattr(strips, "MIN_POSITIONS", 1)
    monkeypatch.setattr(strips, "FEW_SEEN", 0)
    for most in (strips.SMALL_PRODUCT, 200):  # all rows at once, and few of them
        monkeypatch.setattr(strips, "SMALL_PRODUCT", most)
        for found, value in zip(run(), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)


def test_sums_of_strips_take_a_block_of_memory():
    x, w = np.ones((128, 32, 32, 4), "float32"), np.ones((3, 3, 4, 16), "float32")
    tracemalloc.start()
    convolution.conv2d(np, x, w, **SAME)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 128 * 32 * 32 * 16 * 4 + 2 * strips.STRIP_BYTES  # the result and a block


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtype_is_kept(dtype):
    x, w = normal(2, 6, 6, 3, dtype=dtype), normal(3, 3, 3, 4, seed=1, dtype=dtype)
    y = convolution.conv2d(np, x, w, **SAME)
    wanted = convolution.conv2d(np, x.astype("float64"), w.astype("float64"), **SAME)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, wanted, rtol=3e-3 if dtype == "float16" else 1e-5, atol=1e-2)
    dx = convolution.conv2d_backprop_input(np, w, y, input_shape=x.shape, **SAME)
    dw = convolution.conv2d_backprop_filter(np, x, y, filter_shape=w.shape, **SAME)
    assert dx.dtype == dw.dtype == dtype


def test_an_empty_batch_has_an_empty_result_and_no_filter_gradient():
    x, w = np.zeros((0, 6, 6, 3)), normal(3, 3, 3, 4)
    y = convolution.conv2d(np, x, w, **SAME)
    assert y.shape == (0, 6, 6, 4)
    dw = convolution.conv2d_backprop_filter(np, x, y, filter_shape=w.shape, **SAME)
    assert not dw.any()


def test_the_gradient_takes_its_batch_from_dy():
    w, dy = normal(3, 3, 2, 4), normal(5, 6, 6, 4, seed=1)
    for batch in (99, -1, None):
        dx = convolution.conv2d_backprop_input(np, w, dy, input_shape=(batch, 6, 6, 2), **SAME)
        assert dx.shape == (5, 6, 6, 2)
