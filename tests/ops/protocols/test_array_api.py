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
    "signbit": ("signbit", (np.array([1.0, -0.0, np.nan, -np.inf]),), {}),
    "trunc": ("trunc", (3.7 * A,), {}),
    "trunc of integers": ("trunc", (WIDE,), {}),
    "floor of integers": ("floor", (WIDE,), {}),
    "isfinite of integers": ("isfinite", (WIDE,), {}),
    **{name: (name, (A, B), {}) for name in ("copysign", "hypot", "logaddexp", "nextafter")},
    "hypot of what overflows": (
        "hypot",
        (np.array([1e300, np.inf]), np.array([1e300, np.nan])),
        {},
    ),
    "logaddexp of infinities": ("logaddexp", (np.array([-np.inf, np.inf]),) * 2, {}),
    "cumulative_prod": ("cumulative_prod", (NARROW,), {"axis": 0, "include_initial": True}),
    "diff": ("diff", (A,), {"axis": 1, "n": 2}),
    "argsort": ("argsort", (A,), {"axis": 0, "descending": True}),
    "repeat": ("repeat", (A, 2), {"axis": -1}),
    "take of the last": ("take", (A, np.array([-1, 0])), {"axis": 1}),
    "take_along_axis": ("take_along_axis", (A, np.array([[-1], [1]])), {"axis": 1}),
    "moveaxis of several": ("moveaxis", (A[None], (0, 1), (2, 0)), {}),
    "tril": ("tril", (A,), {"k": 1}),
    "triu": ("triu", (A,), {"k": 1}),
    "unique_values": ("unique_values", (WIDE,), {}),
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


S = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, -1.0], [0.0, -1.0, 4.0]])
SIGNAL = np.array([[0.5, -1.0, 2.0, 0.25, 3.0], [1.0, 0.0, -2.0, 4.0, 0.5]])
OF_LINALG = {
    **{name: (name, (S,), {}) for name in ("det", "inv", "eigvalsh", "svdvals", "matrix_rank")},
    **{name: (name, (S,), {}) for name in ("cholesky", "pinv", "trace", "diagonal")},
    "upper": ("cholesky", (S,), {"upper": True}),
    "pinv of what is not square": ("pinv", (A,), {}),
    "diagonal beside": ("diagonal", (A,), {"offset": -1}),
    "outer": ("outer", (A[0], B[1]), {}),
    "cross": ("cross", (A, B.astype(float)), {}),
    "solve": ("solve", (S, A.T.copy()), {}),
    "solve of a vector": ("solve", (S, A[0]), {}),
    **{f"power {n}": ("matrix_power", (S, n), {}) for n in (-2, 0, 5)},
    **{
        f"matrix_norm {ord}": ("matrix_norm", (A,), {"ord": ord, "keepdims": True})
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    **{
        f"vector_norm {ord}": ("vector_norm", (A,), {"ord": ord, "axis": 1})
        for ord in (0, 1, 2, 3, np.inf, -np.inf)
    },
    "vector_norm of all": ("vector_norm", (A,), {}),
}
OF_FFT = {
    **{
        f"{name} {norm}": (name, (SIGNAL,), {"n": n, "norm": norm})
        for name in ("rfft", "ihfft")
        for norm, n in (("backward", None), ("ortho", 4), ("forward", 8))
    },
    **{
        f"{name} {norm}": (name, (SIGNAL + 0j,), {"n": n, "norm": norm})
        for name in ("fft", "ifft", "irfft", "hfft")
        for norm, n in (("backward", None), ("ortho", 3), ("forward", 8))
    },
    **{name: (name, (SIGNAL + 0.5j,), {}) for name in ("fftn", "ifftn", "irfftn", "fftshift")},
    "rfftn": ("rfftn", (SIGNAL,), {"s": (3, 4)}),
    "irfftn": ("irfftn", (SIGNAL + 0j,), {"axes": (1, 0)}),
    "ifftshift": ("ifftshift", (SIGNAL,), {"axes": 1}),
    "fftfreq": ("fftfreq", (5,), {"d": 0.5}),
    "rfftfreq": ("rfftfreq", (4,), {}),
}


@pytest.mark.parametrize(
    "extension, name",
    [*(("linalg", name) for name in OF_LINALG), *(("fft", name) for name in OF_FFT)],
)
def test_extensions_are_what_the_reference_gives(extension, name):
    function, args, options = (OF_LINALG if extension == "linalg" else OF_FFT)[name]
    theirs, ours = (getattr(library, extension) for library in (strict, xp))
    wanted = np.asarray(getattr(theirs, function)(*(given(strict, a) for a in args), **options))
    found = getattr(ours, function)(*(given(xp, a) for a in args), **options)
    assert found.dtype.np == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, atol=1e-12)


def test_decompositions_are_of_the_matrix():
    x = xp.asarray(A)
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(u.numpy() * s.numpy() @ vh.numpy(), A)
    q, r = xp.linalg.qr(x, mode="complete")
    assert q.shape == (2, 2) and r.shape == (2, 3)
    np.testing.assert_allclose(q.numpy() @ r.numpy(), A)
    values, vectors = xp.linalg.eigh(xp.asarray(S))
    np.testing.assert_allclose(S @ vectors.numpy(), vectors.numpy() * values.numpy())
    sign, logarithm = xp.linalg.slogdet(xp.asarray(-S))
    assert float(sign) == -1 and float(logarithm) == pytest.approx(np.linalg.slogdet(S)[1])


def test_gradients_go_through_transforms():
    v = dv.Variable(SIGNAL)
    with dv.GradientTape() as tape:
        found = xp.fft.irfft(xp.fft.rfft(v, norm="ortho"), n=5, norm="ortho")
        loss = xp.sum(xp.square(found))
    np.testing.assert_allclose(tape.gradient(loss, v).numpy(), 2 * SIGNAL)


def test_what_depends_on_values():
    x = xp.asarray([[3, 1, 3], [0, 1, 0]])
    assert [at.numpy().tolist() for at in xp.nonzero(x)] == [[0, 0, 0, 1], [0, 1, 2, 1]]
    found = xp.unique_all(x)
    assert found.values.numpy().tolist() == [0, 1, 3] and found.counts.numpy().tolist() == [2] * 3
    assert xp.unique_inverse(x).inverse_indices.shape == (2, 3)
    assert xp.unique_counts(x).counts.dtype == dv.int64
    with pytest.raises(ValueError, match="scalar"):
        xp.nonzero(xp.asarray(1))
    with dv.Graph().as_default(), pytest.raises(NotImplementedError, match="symbolic"):
        xp.unique_values(dv.placeholder(dv.int32, [None]))


def test_attributes_and_operators_of_eager_values():
    x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.T.shape == x.mT.shape == (3, 2) and x.size == 6 and x.ndim == 2
    assert isinstance(x.shape, tuple) and x.shape[0].value == x.shape[0] == 2
    assert x.to_device("cpu") is x and complex(xp.asarray(2j)) == 2j
    with pytest.raises(ValueError, match="on 'cpu'"):
        x.to_device("cuda")
    with pytest.raises(ValueError, match=r"\.T is of a matrix"):
        xp.zeros((2, 2, 2)).T  # noqa: B018
    i, j = xp.asarray([6, 3]), xp.asarray([3, 5])
    for found, wanted in (
        (i & j, [2, 1]),
        (i | j, [7, 7]),
        (i ^ j, [5, 6]),
        (~i, [-7, -4]),
        (i << 1, [12, 6]),
        (i >> 1, [3, 1]),
        (1 << i, [64, 8]),
        (+i, [6, 3]),
    ):
        assert found.numpy().tolist() == wanted


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
    for indexing in ("xy", "ij"):
        found, wanted = (
            [
                np.asarray(a)
                for a in library.meshgrid(*map(library.asarray, (A[0], A[1])), indexing=indexing)
            ]
            for library in (xp, strict)
        )
        np.testing.assert_array_equal(found, wanted)
    x = xp.concat([xp.asarray([1, 2]), xp.asarray([0.5])])
    assert x.dtype == dv.float64 and xp.stack([x, x]).shape == (2, 3)
    assert [part.numpy().tolist() for part in xp.unstack(x)] == [1.0, 2.0, 0.5]
    assert [a.shape for a in xp.broadcast_arrays(x, xp.ones((2, 1)))] == [(2, 3), (2, 3)]


def test_dtypes():
    assert xp.result_type(xp.float32, xp.int8) == xp.result_type(dv.constant(1.0), 2) == xp.float32
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert xp.isdtype(xp.uint8, ("bool", "unsigned integer")) and not xp.isdtype(xp.bool, xp.int8)
    assert xp.iinfo(xp.int16).max == 32767 and xp.finfo(xp.float32).bits == 32
    assert xp.finfo(xp.complex64).dtype == xp.float32 and isinstance(xp.finfo(A).eps, float)
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


def test_what_was_computed_is_an_index_too():
    """A computed value has no history any more, from which a static value could be told."""
    x, i = xp.asarray([10, 20, 30]), xp.asarray([[2, 0]])
    for picked in (xp.reshape(i, (2,)), xp.squeeze(i, 0), xp.broadcast_to(i, (2, 2))[0]):
        assert picked.numpy().tolist() == [2, 0]
        assert int(x[picked[0]]) == 30 and int(x[(picked[1],)]) == 10


def test_axes_are_counted_from_either_end():
    x = xp.zeros((2, 3, 4))
    assert xp.permute_dims(x, (-1, 0, 1)).shape == (4, 2, 3)
    with pytest.raises(IndexError, match="no axis 4 of 4"):
        xp.expand_dims(x, 4)
    assert xp.expand_dims(x, -4).shape == (1, 2, 3, 4)


@pytest.mark.parametrize("correction", [3, 3.0, 4])
def test_no_degree_of_freedom_is_no_error(correction):
    x = dv.constant([1.0, 2.0, 4.0])
    assert np.isnan(float(xp.var(x, correction=correction)))
    assert np.isnan(float(xp.std(x, correction=correction)))
