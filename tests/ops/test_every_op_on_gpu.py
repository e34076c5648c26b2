"""Every registered op on a GPU: the results are NumPy's, and arrays move at the edges only.

Here it is a stand-in for CuPy that refuses what CuPy refuses; where there is a GPU, CuPy itself.
"""

import numpy
import pytest

from daskvars import backend
from daskvars.device_array import DeviceArray
from tests import fake_cupy
from tests.gpus import STAND_IN
from tests.ops import checks
from tests.ops.each_op import each_op


@pytest.fixture
def moves(monkeypatch):
    """A list of the copies that the engine makes, in both directions."""
    found = []
    for name in ("to_device", "to_host"):
        move = getattr(backend, name)

        def noted(array, name=name, move=move):
            found.append((name, array.nbytes))
            return move(array)

        monkeypatch.setattr(backend, name, noted)
    return found


@each_op
def test_a_gpu_computes_what_numpy_does(sample, gpu, moves, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(backend, "GPU_AVAILABLE", False)
        _, wanted = checks.whole(sample)
    fake_cupy.transfers.clear()
    moves.clear()
    tensors, found = checks.graph_run(sample, device="/gpu:0")
    for tensor, value in zip(tensors, found, strict=True):
        assert not isinstance(value, DeviceArray)
        checks.assert_inferred(tensor, value)
    if sample.any_sign and gpu != STAND_IN:
        found, wanted = map(numpy.abs, found), map(numpy.abs, wanted)
    checks.assert_same(list(found), list(wanted), sample.rtol)
    if gpu == STAND_IN:  # nothing was copied besides what the engine copies
        asked = [(name.replace("_", " "), n) for name, n in moves if n]
        assert sum(n for _, n in fake_cupy.transfers) <= sum(n for _, n in asked)
