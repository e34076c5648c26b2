"""What computes on the GPU in a test: a stand-in for CuPy, and CuPy itself where there is a GPU."""

import numpy as np
import pytest

from daskvars import backend
from tests import fake_cupy

STAND_IN = "stand-in"


def kinds():
    """Return what tests are run with: where there is no GPU, no test of CuPy is made.

    A process that has asked for a GPU cannot fork one that uses it: it is asked for after the
    server that workers are forked from was made, not when this module is imported.
    """
    return [STAND_IN, *[pytest.param("cupy", marks=pytest.mark.gpu)] * backend.GPU_AVAILABLE]


def install(gpu, put=setattr):
    """Give this process the GPU of a test."""
    if gpu == STAND_IN:
        fake_cupy.install(backend, put)


def assert_same(found, wanted, gpu, bits=True):
    """Arrays are equal: to the bit where NumPy computed both, unless `bits` says otherwise."""
    rtol = 1e-6 if gpu == STAND_IN else 1e-4
    for array, other in zip(found, wanted, strict=True):
        assert type(array) is type(other)
        if np.asarray(other).dtype.kind in "fc" and not (bits and gpu == STAND_IN):
            np.testing.assert_allclose(array, other, rtol=rtol, atol=1e-6)
        else:
            np.testing.assert_array_equal(array, other)
