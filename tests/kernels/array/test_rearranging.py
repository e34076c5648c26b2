import numpy as np
import pytest

from daskvars.kernels.array import rearranging
from tests.kernels.numerical import frozen, normal


@pytest.mark.parametrize("seq_axis, batch_axis", [(1, 0), (0, 1), (2, 0), (-1, 1)])
def test_reverse_sequence(seq_axis, batch_axis):
    x = normal(4, 4, 4, 2) if seq_axis >= 0 else normal(4, 4, 4)
    lengths = frozen([0, 1, 3, 4])
    got = rearranging.reversed_sequences(np, x, lengths, seq_axis=seq_axis, batch_axis=batch_axis)
    axis = seq_axis % x.ndim
    for batch, length in enumerate(lengths):
        pick = np.moveaxis(np.take(x, batch, axis=batch_axis), axis - (axis > batch_axis), 0)
        wanted = np.concatenate([pick[:length][::-1], pick[length:]])
        part = np.moveaxis(np.take(got, batch, axis=batch_axis), axis - (axis > batch_axis), 0)
        np.testing.assert_array_equal(part, wanted)
