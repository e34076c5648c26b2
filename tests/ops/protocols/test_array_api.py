"""The array API standard: our functions give what the standard's reference library gives."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
from daskvars.ops.protocols import array_api as xp

strict = pytest.importorskip("array_api_strict")

A = np.array([[0.5, -0.25, 0.75], [0.125, 0.875, -0.5]])
B = np.array([[2.0, -1.0, 0.5], [1.0, 3.0, -2.0]], "float32")
WIDE, NARROW = np.array([[5, 3, 8], [1, 2, 7]], "int32"), np.array([[1, 2, 3], [3, 1, 2]], "int16")
T = np.array([[True, False, True], [False, False, True]])

ONE_OF_FLOATS = (
    *("abs", "negative", "positive", "sign", "square", "exp", "expm1", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "ceil", "floor", "round"),
    *("isnan", "isinf", "isfinite", "reciprocal"),
)
ONE_OF_POSITIVE = ("sqrt", "log", "log1p", "log2", "log10")
TWO_OF_NUMBERS = (
    *("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less"),
    *("less_equal", "greater", "greater_equal", "floor_divide", "remainder"),
)
CALLS = {
    **{name: (name, (A,), {}) for name in ONE_OF_FLOATS},
    **{name: (name, (np.abs(A),), {}) for name in ONE_OF_POSITIVE},
    **{f"{name} of floats": (name, (A, B), {}) for name in TWO_OF_NUMBERS},
    **{f"{name} of integers": (name, (WIDE, NARROW), {}) for name in TWO_OF_NUMBERS},
    **{name: (name, (A, B), {}) for name in ("divide", "atan2")},
    **{name: (name, (T, ~T), {}) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: (name, (WIDE, NARROW), {}) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: (name, (WIDE, NARROW), {}) for name in ("bitwise_left_shift", "bitwise_right_shift")},
    "acosh": ("acosh", (np.abs(A) + 1,), {}),
    "pow": ("pow", (np.abs(A), B), {}),
    "logical_not": ("logical_not", (T,), {}),
    "bitwise_invert": ("bitwise_invert", (WIDE,), {}),
    "conj": ("conj", (A + 1j * A,), {}),
    "real": ("real", (A + 1j,), {}),
    "imag": ("imag", (A + 1j,), {}),
    "clip": ("clip", (A, -0.25, 0.5), {}),
    "where": ("where", (T, A, B), {}),
    **{
        f"{name} {number}": (name, (A,), options)
        for name in ("sum", "prod", "mean", "max", "min")
        for number, options in enumerate([{}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}])
    },
    "sum of small integers": ("sum", (NARROW,), {}),
    "prod of small integers": ("prod", (NARROW,), {"axis": 0}),
    "all": ("all", (T,), {"axis": 1}),
    "any": ("any", (WIDE,), {}),
    "count_nonzero": ("count_nonzero", (T,), {"axis": 1}),
    "var": ("var", (A,), {"axis": 1, "correction": 1.0}),
    "std": ("std", (A,), {}),
    "cumulative_sum": ("cumulative_sum", (NARROW,), {"axis": 1}),
    "argmax": ("argmax", (A,), {"axis": 1, "keepdims": True}),
    "argmin": ("argmin", (A,), {}),
    "sort": ("sort", (A,), {"descending": True}),
    "searchsorted": ("searchsorted", (np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0])), {}),
    "reshape": ("reshape", (A, (3, 2)), {}),
    "permute_dims": ("permute_dims", (A, (1, 0)), {}),
    "matrix_transpose": ("matrix_transpose", (A,), {}),
    "moveaxis": ("moveaxis", (A[None], 0, 2), {}),
    "expand_dims": ("expand_dims", (A,), {"axis": -1}),
    "squeeze": ("squeeze", (A[None], 0), {}),
    "broadcast_to": ("broadcast_to", (A, (2, 2, 3)), {}),
    "flip": ("flip", (A,), {}),
    "roll": ("roll", (A, 1), {}),
    "roll along": ("roll", (A, 1), {"axis": 1}),
    "tile": ("tile", (A, (2, 1, 2)), {}),
    "take": ("take", (A, np.array([2, 0])), {"axis": 1}),
    "matmul": ("matmul", (A, B.T), {}),
    "tensordot": ("tensordot", (A, B), {"axes": 2}),
    "vecdot": ("vecdot", (A, B), {}),
    "zeros_like": ("zeros_like", (WIDE,), {}),
    "ones_like": ("ones_like", (B,), {}),
    "full_like": ("full_like", (WIDE, 7), {}),
}


def given(library, value):
    return library.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", CALLS)
def test_it_is_what_the_reference_gives(name):
    function, args, options = CALLS[name]
    wanted = getattr(strict, function)(*(given(strict, a) for a in args), **options)
    found = getattr(xp, function)(*(given(xp, a) for a in args), **options)
    assert isinstance(found, dv.Tensor)
    expected = np.asarray(wanted)
    assert found.dtype.np == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_making_arrays():
    for name, args in {
        "zeros": ((2, 3),),
        "ones": (4,),
        "full": ((2,), 5),
        "eye": (3,),
        "arange": (2, 9, 3),
        "linspace": (0.0, 1.0, 5),
    }.items():
        found, wanted = (np.asarray(getattr(library, name)(*args)) for library in (xp, strict))
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype, name
    x = xp.concat([xp.asarray([1, 2]), xp.asarray([0.5])])
    assert x.dtype == dv.float64 and xp.stack([x, x]).shape == (2, 3)
    assert [part.numpy().tolist() for part in xp.unstack(x)] == [1.0, 2.0, 0.5]
    assert [a.shape for a in xp.broadcast_arrays(x, xp.ones((2, 1)))] == [(2, 3), (2, 3)]


def test_dtypes():
    assert xp.result_type(xp.float32, xp.int8) == xp.result_type(dv.constant(1.0), 2) == xp.float32
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert xp.isdtype(xp.uint8, ("bool", "unsigned integer")) and not xp.isdtype(xp.bool, xp.int8)
    assert xp.iinfo(xp.int16).max == 32767 and xp.finfo(xp.float32).bits == 32
    assert set(xp.__array_namespace_info__().dtypes(kind="real floating")) == {"float32", "float64"}


@pytest.mark.parametrize("make", [dv.constant, dv.Variable])
def test_values_say_where_their_functions_are(make):
    value = make(A)
    assert value.__array_namespace__() is xp
    assert value.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match=r"version 2024\.12 of the array API"):
        value.__array_namespace__(api_version="1999.12")


@pytest.mark.parametrize("make", [dv.constant, dv.Variable])
def test_dlpack_gives_and_takes_copies(make):
    value = make(A)
    taken = np.from_dlpack(value)
    np.testing.assert_array_equal(taken, A)
    assert value.__dlpack_device__() == A.__dlpack_device__()
    with pytest.raises(BufferError, match="never changes"):
        value.__dlpack__(copy=False)
    mine = A.copy()
    given = xp.from_dlpack(mine)
    mine[:] = 0
    np.testing.assert_array_equal(given.numpy(), A)
    np.testing.assert_array_equal(xp.from_dlpack(value).numpy(), A)
    with pytest.raises(ValueError, match="takes a copy"):
        xp.from_dlpack(mine, copy=False)


def test_gradients_go_through_the_functions():
    v = dv.Variable(A)
    with dv.GradientTape() as tape:
        loss = xp.sum(xp.square(xp.multiply(v, xp.asarray(2))))
    np.testing.assert_allclose(tape.gradient(loss, v).numpy(), 8 * A)
