import numpy as np
import pytest

from daskvars.kernels.nn import batch_norm as kernels
from daskvars.kernels.nn.batch_norm import batch_norm_inference
from tests.kernels.numerical import frozen, normal


def plain(x, scale, offset, mean, variance):
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + offset


@pytest.mark.parametrize("line", [1, 7, 1024])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_inference(monkeypatch, line, data_format):
    monkeypatch.setattr(kernels, "LINE_ELEMENTS", line)
    monkeypatch.setattr(kernels, "BLOCK_ELEMENTS", 5 * line)
    x = normal(2, 3, 5, 3)
    scale, offset, mean = (normal(3, seed=seed) for seed in (2, 3, 4))
    variance = frozen(normal(3, seed=5) ** 2)
    wanted = plain(x, scale, offset, mean, variance)
    if data_format == "NCHW":
        x, wanted = frozen(x.transpose(0, 3, 1, 2)), wanted.transpose(0, 3, 1, 2)
    y = batch_norm_inference(np, x, scale, offset, mean, variance, data_format=data_format)
    np.testing.assert_allclose(y, wanted, rtol=1e-10, atol=1e-12)


def test_half_images_with_single_statistics():
    x, ones = normal(4, 5, 5, 3, dtype="float16"), frozen(np.ones(3, "float32"))
    y = batch_norm_inference(np, x, ones, ones, ones, ones)
    assert y.dtype == "float16"
    wanted = plain(x.astype("float64"), 1.0, 1.0, 1.0, 1.0)
    np.testing.assert_allclose(y, wanted, rtol=5e-3, atol=5e-3)
