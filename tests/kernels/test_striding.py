import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.striding import (
    pad,
    pad_grad,
    reverse,
    slice_index,
    strided_slice,
    strided_slice_grad,
)
from tests.kernels.numerical import assert_gradient, frozen, normal

# (attributes, the same in Python)
SLICES = [
    ({"begin": (1,), "end": (3,), "strides": (1,)}, np.s_[1:3]),
    ({"begin": (0, -1), "end": (0, 0), "strides": (2, -1), "begin_mask": 1, "end_mask": 3},
     np.s_[::2, -1::-1]),
    ({"begin": (1, 0, 2), "end": (2, 0, 3), "strides": (1, 1, 1), "ellipsis_mask": 2,
      "shrink_axis_mask": 5}, np.s_[1, ..., 2]),
    ({"begin": (0, 1), "end": (0, 9), "strides": (1, 2), "new_axis_mask": 1}, np.s_[None, 1:9:2]),
    ({"begin": (-2,), "end": (0,), "strides": (1,), "shrink_axis_mask": 1}, np.s_[-2]),
]


@pytest.mark.parametrize("attrs, index", SLICES)
def test_strided_slices_and_their_adjoint(attrs, index):
    x = normal(4, 5, 6)
    got = strided_slice(np, x, **attrs)
    np.testing.assert_array_equal(got, x[index])
    dy = normal(*x[index].shape, seed=1)
    wanted = np.zeros(x.shape)
    wanted[index] = dy
    np.testing.assert_array_equal(strided_slice_grad(np, dy, shape=x.shape, **attrs), wanted)


def test_an_index_out_of_range_is_named():
    with pytest.raises(InvalidArgumentError, match="out of bounds"):
        strided_slice(np, normal(3), begin=(7,), end=(8,), strides=(1,), shrink_axis_mask=1)
    assert slice_index((0,), (0,), (1,), ellipsis_mask=1) == (Ellipsis,)


def test_reverse():
    x = normal(2, 3, 4)
    np.testing.assert_array_equal(reverse(np, x, axis=(0, 2)), x[::-1, :, ::-1])


@pytest.mark.parametrize("paddings", [((0, 0), (2, 1)), ((1, 2), (3, 0)), ((0, 0), (0, 0))])
@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "SYMMETRIC"])
def test_pads_and_their_gradients(paddings, mode):
    x = normal(3, 4)
    extra = {"constant_values": 7} if mode == "CONSTANT" else {}
    got = pad(np, x, paddings=paddings, mode=mode, constant=7)
    np.testing.assert_array_equal(got, np.pad(x, paddings, mode=mode.lower(), **extra))
    dy = normal(*got.shape, seed=1)
    assert_gradient(
        lambda x: pad(np, x, paddings=paddings, mode=mode, constant=7), x, dy,
        pad_grad(np, dy, paddings=paddings, mode=mode),
    )


def test_a_mirror_has_no_more_than_there_is():
    x = normal(3)
    assert pad(np, x, paddings=((3, 3),), mode="SYMMETRIC").shape == (9,)
    with pytest.raises(InvalidArgumentError, match="at most 2 for REFLECT"):
        pad(np, x, paddings=((3, 0),), mode="REFLECT")
    with pytest.raises(InvalidArgumentError, match="'reflect'"):
        pad(np, x, paddings=((1, 0),), mode="reflect")


def test_dtypes_are_kept():
    x = frozen(np.array([b"a", b"b"], dtype=object))
    assert pad(np, x, paddings=((1, 0),), constant=b"").tolist() == [b"", b"a", b"b"]
