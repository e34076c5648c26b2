from dataclasses import replace

import pytest

from daskvars.kernels.nn.windows.sliding import (
    conv_output_size,
    conv_padding,
    conv_shape,
    depthwise_conv2d_shape,
    place_windows,
    pool2d_shape,
    turned,
)


def test_windows_are_placed_once():
    first, again = (
        place_windows((5, 5), (3, 3), strides=(1, 1, 1, 1), padding="SAME") for _ in range(2)
    )
    assert first is again
    assert turned(first) is turned(again)


@pytest.mark.parametrize("padding", ["SAME", "VALID", (1, 2)])
@pytest.mark.parametrize("window, dilation", [(1, 1), (2, 1), (3, 2), (5, 1)])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_every_window_fits_and_no_further_one_does(padding, window, dilation, stride):
    for size in range(9, 16):
        count = conv_output_size(size, window, stride, dilation, padding)
        before, after = conv_padding(size, window, stride, dilation, padding)
        reach = (count - 1) * stride + (window - 1) * dilation + 1
        assert reach <= size + before + after
        if padding == "SAME":
            assert count == -(-size // stride)
            assert after - before in (0, 1)
        else:
            assert reach + stride > size + before + after


def test_unknown_extents_stay_unknown():
    assert conv_output_size(None, 3, 1, 1, "SAME") is None
    shape = conv_shape((None, None, 8, 3), (3, 3, 3, 7), strides=(1, 2, 2, 1), padding="SAME")
    assert shape == (None, None, 4, 7)
    assert depthwise_conv2d_shape(
        (2, 8, 8, 3), (3, 3, 3, 2), strides=(1, 1, 1, 1), padding="VALID"
    ) == (2, 6, 6, 6)
    assert pool2d_shape(
        (2, 3, 8, 8), ksize=(1, 1, 2, 2), strides=(1, 1, 2, 2), padding="SAME", data_format="NCHW"
    ) == (2, 3, 4, 4)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="subtracting 5"):
        conv_output_size(3, 5, 1, 1, "VALID")
    with pytest.raises(ValueError, match="'same'"):
        conv_output_size(3, 2, 1, 1, "same")
    with pytest.raises(ValueError, match="must not be negative"):
        conv_output_size(3, 2, 1, 1, (-1, 0))
    with pytest.raises(ValueError, match="'NHCW'"):
        conv_shape(
            (1, 4, 4, 1), (2, 2, 1, 1), strides=(1, 1, 1, 1), padding="SAME", data_format="NHCW"
        )


def test_turned_windows_give_back_the_image():
    ones = (1, 1, 1, 1)
    windows = place_windows(
        (7, 9), (3, 2), strides=ones, padding="SAME", dilations=ones, data_format="NHWC"
    )
    assert turned(windows).count == (7, 9)
    assert turned(replace(windows, stride=(2, 1))) is None
    assert turned(replace(windows, before=(3, 0))) is None
