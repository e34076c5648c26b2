"""The stand-in for CuPy refuses what CuPy refuses, and counts copies."""

import numpy as np
import pytest

from tests import fake_cupy as cp

DEVICE = cp.asarray(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.asarray(DEVICE),
        lambda: DEVICE + np.ones(3),
        lambda: np.ones(3) * DEVICE,
        lambda: np.sum(DEVICE),
        lambda: cp.where(DEVICE > 1, DEVICE, np.zeros(3)),
        lambda: DEVICE[np.array([0])],
        lambda: DEVICE.__setitem__(0, np.ones(3)),
        lambda: cp.add(DEVICE, 1, where=DEVICE > 1),
        lambda: cp.add(DEVICE, 1, out=np.empty((2, 3))),
        lambda: cp.exp(DEVICE.astype("O")),
        lambda: DEVICE.take(cp.zeros(1, int), mode="clip"),
        lambda: cp.einsum_path("i->", DEVICE),
        lambda: cp.bitwise_and(DEVICE, DEVICE),
        lambda: range(cp.zeros((), int)),
        lambda: DEVICE.flags.writeable,
        lambda: cp.array([DEVICE, DEVICE]),
    ],
)
def test_it_refuses(call):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        call()


def test_it_computes_as_numpy_does_and_counts_copies():
    cp.transfers.clear()
    x = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    y = (2 * cp.asarray(x) + np.float32(1)) @ cp.ones((3, 1), np.float32)
    assert isinstance(y, cp.ndarray) and y.dtype == np.float32
    assert float(y.sum()) == float(((2 * x + np.float32(1)) @ np.ones((3, 1), np.float32)).sum())
    np.testing.assert_array_equal(y.get(), (2 * x + np.float32(1)) @ np.ones((3, 1), np.float32))
    assert cp.transfers == [("to device", x.nbytes), ("to host", y.nbytes)]
