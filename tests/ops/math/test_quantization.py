"""Numbers as integers between two limits, and back; TensorFlow's formulas."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

KINDS = [dv.quint8, dv.qint8, dv.quint16, dv.qint16, dv.qint32]
NUMBERS = np.linspace(-1.5, 3.0, 41, dtype="f")


@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
@pytest.mark.parametrize("dtype", KINDS, ids=lambda dtype: dtype.name)
def test_numbers_come_back_within_a_step(dtype, mode):
    if mode == "MIN_COMBINED" and dtype is dv.qint32:
        pytest.skip("float32 has fewer digits than the integers")
    found = dv.quantization.quantize(NUMBERS, -1.5, 3.0, dtype, mode)
    assert found.output.dtype is dtype
    back = dv.quantization.dequantize(*found, mode=mode).numpy()
    step = float(found.output_max - found.output_min) / (2.0 ** (8 * dtype.size) - 1)
    inside = np.clip(NUMBERS, float(found.output_min), float(found.output_max))
    np.testing.assert_allclose(back, inside, atol=max(0.51 * step, 1e-6))


def test_the_numbers_are_those_of_tensorflows_tests():
    quantize, dequantize = dv.quantization.quantize, dv.quantization.dequantize
    x = [1.0, 1.25, 1.75, 127.0, 255.0, 500.0]
    found = quantize(x, 0.0, 255.0, dv.quint8, "MIN_FIRST").output
    assert found.numpy().tolist() == [1, 1, 2, 127, 255, 255]
    integers = dv.constant([-128, 0, 127], dv.qint8)
    expected = (np.array([0.0, 128, 255]) * 3 / 255) - 1
    np.testing.assert_allclose(dequantize(integers, -1.0, 2.0).numpy(), expected, rtol=1e-6)


def test_limits_are_moved_apart_and_around_0():
    found = dv.quantization.quantize([2.0], 1.0, 1.0, dv.quint8)
    assert (float(found.output_min), float(found.output_max)) == (0.0, 1.0)
    found = dv.quantization.quantize([0.0], 0.0, 0.0, dv.quint8)
    np.testing.assert_allclose(float(found.output_max), 0.01)


def test_halves_go_where_they_are_told():
    halves = np.array([0.5, 1.5, 2.5, -0.5, -2.5], "f")
    away = dv.quantization.quantize(halves, -128.0, 127.0, dv.qint8, "SCALED")
    even = dv.quantization.quantize(halves, -128.0, 127.0, dv.qint8, "SCALED", "HALF_TO_EVEN")
    assert away.output.numpy().tolist() == [1, 2, 3, -1, -3]
    assert even.output.numpy().tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize("limits", [(0.0, 255.0), (-3.0, 5.0)])
def test_a_convolution_of_integers_is_that_of_the_numbers(limits):
    rng = np.random.default_rng(1)
    x, w = (rng.integers(0, 256, shape).astype("u1") for shape in [(2, 5, 4, 3), (3, 2, 3, 4)])
    given = [dv.cast(dv.constant(value), dv.quint8) for value in (x, w)]
    options = {"strides": [1, 2, 1, 1], "padding": "SAME"}
    sums = dv.nn.quantized_conv2d(*given, *limits, *limits, **options)
    step = (limits[1] - limits[0]) / 255
    zero = round(-limits[0] / step)
    numbers = [(value.astype("f8") - zero) * step for value in (x, w)]
    expected = dv.nn.conv2d(*numbers, **options).numpy()
    level = float(sums.output_max) / (2**31 - 1)
    np.testing.assert_allclose(sums.output.numpy() * level, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(), None])
def test_the_gradient_of_limits_has_their_shape(shape):
    with tf.Graph().as_default(), tf.Session() as session:
        low, high = (tf.placeholder(tf.float32, shape) for _ in range(2))
        x = tf.constant([[-2.0, 0.0], [3.0, 4.0]])
        found = tf.gradients(tf.fake_quant_with_min_max_vars(x, low, high), [low, high])
        given = {low: -1.0, high: 2.0}
        np.testing.assert_array_equal(session.run(found, given), [1.0, 2.0], strict=False)
        assert [value.shape for value in session.run(found, given)] == [(), ()]


def test_what_cannot_be_is_refused():
    with pytest.raises(TypeError, match=r"T must be one of qint16.*got int32"):
        dv.quantization.quantize([1.0], 0.0, 1.0, dv.int32)
    with pytest.raises(ValueError, match="MIN_COMBINED, MIN_FIRST, SCALED; got 'MAX'"):
        dv.quantization.quantize([1.0], 0.0, 1.0, dv.quint8, "MAX")
    with pytest.raises(ValueError, match="round_mode must be"):
        dv.quantization.quantize([1.0], 0.0, 1.0, dv.quint8, round_mode="UP")
    with pytest.raises(TypeError, match=r"input must be one of.*got uint8"):
        dv.quantization.dequantize(dv.constant([1], dv.uint8), 0.0, 1.0)
    with pytest.raises(TypeError, match="out_type must be qint32"):
        image = dv.constant([[[[1]]]], dv.quint8)
        dv.nn.quantized_conv2d(image, image, 0, 1, 0, 1, [1] * 4, "SAME", dv.quint8)


def test_programs_of_tensorflow_1_have_them_at_the_top():
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.quantize_v2([0.0, 6.0], 0.0, 6.0, tf.quint8, round_mode="HALF_TO_EVEN")
        assert session.run(tf.dequantize(*found)).tolist() == [0.0, 6.0]
        assert session.run(tf.guarantee_const(tf.constant(2))) == 2
