"""Runs of ufuncs on a GPU are one kernel each; what no ufunc computes comes between them."""

import numpy as np
import pytest

import daskvars as dv
from daskvars.remote.regions.chains.device_chains import chains
from tests import fake_cupy
from tests.gpus import STAND_IN


def launches(build, x):
    """The result of a function of `x`, and what ran on the device for it."""
    with dv.Graph().as_default() as graph, dv.device("/gpu:0"), dv.Session(graph=graph) as session:
        given = dv.placeholder(dv.float32, x.shape)
        result = build(given)
        fake_cupy.kernels.clear()
        return session.run(result, {given: x}), list(fake_cupy.kernels)


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    "build, wanted, numpy",
    [
        (lambda x: dv.exp(x) * 2.0 + x, ["daskvars_chain"], lambda x: np.exp(x) * 2 + x),
        (lambda x: dv.exp(x), ["exp"], np.exp),
        (
            lambda x: dv.tanh(dv.matmul(x + 1.0, x * 2.0, transpose_b=True)) - 1.0,
            ["daskvars_chain", "daskvars_chain"],
            lambda x: np.tanh((x + 1) @ (x * 2).T) - 1,
        ),
        (lambda x: dv.sigmoid(x), ["daskvars_sigmoid"], lambda x: 1 / (1 + np.exp(-x))),
        (
            lambda x: dv.sigmoid(x + 1.0) * dv.tanh(x) + dv.nn.relu(x) * dv.rsqrt(x * x + 1.0),
            ["daskvars_chain"],
            lambda x: np.tanh(x) / (1 + np.exp(-1 - x)) + np.maximum(x, 0) / np.sqrt(x * x + 1),
        ),
    ],
)
def test_a_run_of_ufuncs_is_one_kernel(build, wanted, numpy, gpu):
    found, kernels = launches(build, X)
    assert kernels == wanted or gpu != STAND_IN
    np.testing.assert_allclose(found, numpy(X), rtol=1e-6 if gpu == STAND_IN else 1e-5)


def test_a_chain_ends_where_the_shape_changes():
    class Call:
        def __init__(self, shape, fits=True):
            self.shapes, self.fits = (shape,), fits

    calls = [
        Call((2,)),
        Call((2,)),
        Call((3,)),
        Call((2,)),
        Call((2,), False),
        Call((4,)),
        Call((4,)),
        Call((4,)),
    ]
    assert chains(calls, lambda call: call.fits) == {0: 2, 5: 8}
