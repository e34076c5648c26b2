import numpy as np
import pytest

from daskvars.kernels import batch_norm as kernels
from daskvars.kernels.batch_norm import (
    batch_norm,
    batch_norm_grad,
    batch_norm_inference,
    batch_norm_inference_grad,
)
from tests.kernels.numerical import assert_gradient, frozen, normal


def plain(x, scale, offset, mean=None, variance=None):
    axes = (0, 1, 2)
    mean = x.mean(axis=axes) if mean is None else mean
    variance = x.var(axis=axes) if variance is None else variance
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + offset


@pytest.mark.parametrize("line", [1, 7, 1024])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_training_and_its_gradients(monkeypatch, line, data_format):
    monkeypatch.setattr(kernels, "LINE_ELEMENTS", line)
    monkeypatch.setattr(kernels, "BLOCK_ELEMENTS", 5 * line)
    x, dy = normal(2, 3, 5, 3), normal(2, 3, 5, 3, seed=1)
    scale, offset = normal(3, seed=2), normal(3, seed=3)

    def turn(array):
        return array if data_format == "NHWC" else frozen(array.transpose(0, 3, 1, 2))

    y, mean, variance = batch_norm(
        np, turn(x), scale, offset, epsilon=1e-3, data_format=data_format
    )
    np.testing.assert_allclose(y, turn(plain(x, scale, offset)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mean, x.mean(axis=(0, 1, 2)), atol=1e-14)
    np.testing.assert_allclose(variance, x.var(axis=(0, 1, 2), ddof=1))
    dx, dscale, doffset = batch_norm_grad(
        np, turn(x), scale, mean, variance, turn(dy), epsilon=1e-3, data_format=data_format
    )
    back = dx if data_format == "NHWC" else dx.transpose(0, 2, 3, 1)
    assert_gradient(lambda x: plain(x, scale, offset), x, dy, back)
    assert_gradient(lambda scale: plain(x, scale, offset), scale, dy, dscale)
    assert_gradient(lambda offset: plain(x, scale, offset), offset, dy, doffset)


def test_inference_and_its_gradients():
    x, dy = normal(2, 3, 5, 3), normal(2, 3, 5, 3, seed=1)
    scale, offset, mean = (normal(3, seed=seed) for seed in (2, 3, 4))
    variance = frozen(normal(3, seed=5) ** 2)
    y = batch_norm_inference(np, x, scale, offset, mean, variance)
    np.testing.assert_allclose(y, plain(x, scale, offset, mean, variance), rtol=1e-10, atol=1e-12)
    dx, dscale, doffset = batch_norm_inference_grad(np, x, scale, mean, variance, dy)
    assert_gradient(lambda x: plain(x, scale, offset, mean, variance), x, dy, dx)
    assert_gradient(lambda scale: plain(x, scale, offset, mean, variance), scale, dy, dscale)
    assert_gradient(lambda offset: plain(x, scale, offset, mean, variance), offset, dy, doffset)


def test_half_images_with_single_statistics():
    x, scale = normal(4, 5, 5, 3, dtype="float16"), normal(3, seed=1, dtype="float32")
    y, mean, variance = batch_norm(np, x, scale, scale)
    assert (y.dtype, mean.dtype, variance.dtype) == ("float16", "float32", "float32")
    np.testing.assert_allclose(
        y, plain(x.astype("float64"), scale, scale), rtol=5e-3, atol=5e-3
    )
    dx, dscale, doffset = batch_norm_grad(np, x, scale, mean, variance, x)
    assert (dx.dtype, dscale.dtype, doffset.dtype) == ("float16", "float32", "float32")


def test_a_large_mean_does_not_cost_the_variance():
    x = frozen(1000 + normal(8, 40, 40, 2, dtype="float32"))
    scale = frozen(np.ones(2, "float32"))
    _, mean, variance = batch_norm(np, x, scale, scale)
    np.testing.assert_allclose(mean, x.astype("float64").mean(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(variance, x.astype("float64").var(axis=(0, 1, 2), ddof=1), rtol=1e-3)


def test_one_pixel_has_no_variance():
    one = frozen(np.ones(2))
    y, mean, variance = batch_norm(np, normal(1, 1, 1, 2), one, one)
    np.testing.assert_allclose(y, np.ones((1, 1, 1, 2)))
    assert variance.tolist() == [0, 0]
    assert mean.shape == (2,)
