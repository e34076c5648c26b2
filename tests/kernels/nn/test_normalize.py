import numpy as np
import pytest

from daskvars.kernels.nn import normalization as normalize
from daskvars.kernels.nn.normalization import (
    layer_norm,
    layer_norm_grad,
    log_softmax,
    log_softmax_grad,
    softmax,
    softmax_grad,
)
from tests.kernels.numerical import assert_gradient, frozen, normal

SHAPES = [((7,), 0), ((5, 3), -1), ((5, 3), 0), ((2, 40, 5), 1), ((3, 4, 20), -1), ((700, 10), 1)]


def plain_softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("shape, axis", SHAPES)
def test_softmax_and_its_logarithm(shape, axis):
    x = frozen(30 * normal(*shape))
    np.testing.assert_allclose(softmax(np, x, axis=axis), plain_softmax(x, axis), rtol=1e-12)
    np.testing.assert_allclose(
        np.exp(log_softmax(np, x, axis=axis)), plain_softmax(x, axis), rtol=1e-10
    )


@pytest.mark.parametrize("shape, axis", SHAPES[:-1])
def test_softmax_gradients(shape, axis):
    x, dy = normal(*shape), normal(*shape, seed=1)
    y = frozen(softmax(np, x, axis=axis))
    assert_gradient(lambda x: plain_softmax(x, axis), x, dy, softmax_grad(np, y, dy, axis=axis))
    y = frozen(log_softmax(np, x, axis=axis))
    assert_gradient(
        lambda x: log_softmax(np, x, axis=axis), x, dy, log_softmax_grad(np, y, dy, axis=axis)
    )


def test_blocks_of_rows_change_nothing(monkeypatch):
    x, gamma, beta = normal(50, 6), normal(6, seed=1), normal(6, seed=2)
    whole = [log_softmax(np, x), *layer_norm(np, x, gamma, beta)]
    monkeypatch.setattr(normalize, "BLOCK_ELEMENTS", 13)
    for got, wanted in zip(
        [log_softmax(np, x), *layer_norm(np, x, gamma, beta)], whole, strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-13)


def test_extreme_logits_do_not_overflow():
    x = frozen([[1e4, -1e4, 0.0], [-np.inf, 0.0, 0.0]])
    np.testing.assert_allclose(softmax(np, x), [[1, 0, 0], [0, 0.5, 0.5]])
    assert log_softmax(np, x)[0].tolist() == [0, -2e4, -1e4]


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 5), (7,), (0, 4)])
def test_layer_norm_and_its_gradients(shape):
    x, dy = normal(*shape), normal(*shape, seed=1)
    gamma, beta = normal(shape[-1], seed=2), normal(shape[-1], seed=3)

    def plain(x, gamma, beta):
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta

    y, mean, rstd = layer_norm(np, x, gamma, beta, epsilon=1e-3)
    np.testing.assert_allclose(y, plain(x, gamma, beta), rtol=1e-10, atol=1e-12)
    assert mean.shape == rstd.shape == (*shape[:-1], 1)
    dx, dgamma, dbeta = layer_norm_grad(np, x, mean, rstd, gamma, dy)
    assert_gradient(lambda x: plain(x, gamma, beta), x, dy, dx)
    assert_gradient(lambda gamma: plain(x, gamma, beta), gamma, dy, dgamma)
    assert_gradient(lambda beta: plain(x, gamma, beta), beta, dy, dbeta)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtype_is_kept(dtype):
    x, dy = normal(6, 10, dtype=dtype), normal(6, 10, seed=1, dtype=dtype)
    gamma, beta = normal(10, seed=2, dtype=dtype), normal(10, seed=3, dtype=dtype)
    tolerance = {"rtol": 3e-3, "atol": 3e-3} if dtype == "float16" else {"rtol": 1e-4, "atol": 1e-5}
    wide = [array.astype("float64") for array in (x, dy, gamma, beta)]
    y, mean, rstd = layer_norm(np, x, gamma, beta, epsilon=1e-3)
    double = layer_norm(np, wide[0], wide[2], wide[3], epsilon=1e-3)
    pairs = [(y, double[0])]
    pairs += zip(
        layer_norm_grad(np, x, mean, rstd, gamma, dy),
        layer_norm_grad(np, wide[0], double[1], double[2], wide[2], wide[1]),
        strict=True,
    )
    for function in (softmax, log_softmax):
        pairs.append((function(np, x), function(np, wide[0])))
    for function in (softmax_grad, log_softmax_grad):
        pairs.append((function(np, x, dy), function(np, wide[0], wide[1])))
    for got, wanted in pairs:
        assert got.dtype == dtype
        np.testing.assert_allclose(got, wanted, **tolerance)
