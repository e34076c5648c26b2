"""Which kernels of a chain are called as ufuncs."""

from __future__ import annotations

import numpy as np
import pytest

from daskvars import config
from daskvars.kernels.math.without_ufunc import add_n, power, squared_difference
from daskvars.remote.regions.chains import tiling
from daskvars.remote.regions.chains.ufunc_steps import in_steps
from tests.remote.regions.programs import elementwise, region


@pytest.mark.parametrize(
    ("kernel", "args", "ufuncs"),
    [
        (add_n, (0, 1, 2), ["add", "add"]),
        (add_n, (0, 0), ["add"]),
        (add_n, (0,), [add_n]),  # a copy
        (power, (0, 3), ["square"]),
        (power, (0, 4), ["square", "multiply"]),
        (power, (0, 5), [power]),
        (power, (0, 1), [power]),
        (squared_difference, (0, 1), ["subtract", "multiply"]),
    ],
)
def test_kernels_of_chains_in_steps(kernel, args, ufuncs):
    constants = {3: np.float32(2), 4: np.float32(3), 5: np.float32(0.5)}
    program = region(3, [elementwise(kernel, args, 6)], (6,), constants)
    with config.set(tile_min_elements=1):
        chains = tiling.chains(program.calls)
    assert [call.kernel for call in in_steps(program, chains)] == ufuncs
    assert list(in_steps(program, {})) == list(program.calls)  # alone each is one call
