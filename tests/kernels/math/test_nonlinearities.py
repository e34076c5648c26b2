import math

import numpy as np
import pytest

from daskvars.kernels.math import nonlinearities as kernels
from daskvars.kernels.math.special import erf
from tests.kernels.numerical import assert_gradient, frozen, normal

SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


def plain_gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def plain_elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


PLAIN = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "elu": plain_elu,
    "selu": lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
    "gelu": plain_gelu_tanh,
    "gelu_erf": lambda x: 0.5 * x * (1 + erf(np, x * math.sqrt(0.5))),
}
KERNELS = {name: getattr(kernels, name) for name in ("sigmoid", "softplus", "elu", "selu", "gelu")}
KERNELS["gelu_erf"] = lambda xp, x: kernels.gelu(xp, x, approximate=False)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values(name, dtype):
    x = frozen(np.concatenate([np.linspace(-9, 9, 20001), [0.0, 1e-4, -1e-4]]).astype(dtype))
    got = KERNELS[name](np, x)
    assert got.dtype == dtype
    relative = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(
        got,
        PLAIN[name](x.astype("float64")),
        rtol=relative,
        atol=relative if name.startswith("gelu") else {"float16": 1e-6}.get(dtype, 0),
    )


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.filterwarnings("error")
def test_large_arguments_do_not_overflow(name):
    for dtype in ("float32", "float64"):
        x = frozen(np.array([-1e4, 1e4], dtype))
        with np.errstate(over="ignore"):  # as in every run: one over infinity is meant
            low, high = KERNELS[name](np, x).tolist()
        assert low == pytest.approx({"elu": -1, "selu": -SCALE * ALPHA}.get(name, 0))
        assert name != "sigmoid" or low == 0  # a gate that is shut lets nothing through
        assert high == pytest.approx({"sigmoid": 1, "selu": SCALE * 1e4}.get(name, 1e4))


def test_gradients():
    x, dy = normal(4, 30), normal(4, 30, seed=1)
    for approximate in (True, False):
        assert_gradient(
            lambda x, approximate=approximate: kernels.gelu(np, x, approximate=approximate),
            x,
            dy,
            kernels.gelu_grad(np, x, dy, approximate=approximate),
        )
    for name in ("elu", "selu"):
        y = frozen(KERNELS[name](np, x))
        gradient = getattr(kernels, f"{name}_grad")(np, y, dy)
        assert_gradient(PLAIN[name], x, dy, gradient)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_gradients_keep_the_dtype(dtype):
    x, dy = normal(50, dtype=dtype), normal(50, seed=1, dtype=dtype)
    wide = x.astype("float64"), dy.astype("float64")
    for gradient in (kernels.gelu_grad, kernels.elu_grad, kernels.selu_grad):
        got = gradient(np, x, dy)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, gradient(np, *wide), rtol=3e-3, atol=3e-3)
