"""`DType` against TensorFlow's table, and the conversion of Python values."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from daskvars import dtypes
from daskvars.dtypes import DType, as_dtype, infer_dtype, to_numpy

ENUMS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "qint8": 11,
    "quint8": 12,
    "qint32": 13,
    "bfloat16": 14,
    "qint16": 15,
    "quint16": 16,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "resource": 20,
    "variant": 21,
    "uint32": 22,
    "uint64": 23,
}
KINDS = {
    "is_floating": {"float16", "bfloat16", "float32", "float64"},
    "is_integer": {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
    "is_unsigned": {"uint8", "uint16", "uint32", "uint64"},
    "is_bool": {"bool"},
    "is_complex": {"complex64", "complex128"},
    "is_quantized": {"qint8", "quint8", "qint16", "quint16", "qint32"},
}
SIZES = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "qint8": 1,
    "quint8": 1,
    "qint16": 2,
    "quint16": 2,
    "qint32": 4,
    "resource": 1,
    "variant": 1,
}


@pytest.mark.parametrize(("name", "enum"), ENUMS.items())
def test_table(name, enum):
    dtype = getattr(dtypes, name)
    ref = dtype._as_ref
    assert (dtype.name, ref.name) == (name, f"{name}_ref")
    assert int(dtype.as_datatype_enum) == enum == int(dtype) and int(ref) == enum + 100
    assert ref.base_dtype is dtype.base_dtype is dtype and ref._as_ref is ref
    assert ref.is_ref and ref._is_ref_dtype and not dtype.is_ref and not dtype._is_ref_dtype
    assert repr(dtype) == f"tf.{name}" and str(ref) == f"<dtype: '{name}_ref'>"
    assert DType(enum) is as_dtype(enum) is as_dtype(name) is as_dtype(dtype) is dtype
    assert as_dtype(f"{name}_ref") is ref and ref != dtype and dtype == name
    assert dtype.is_compatible_with(ref) and not ref.is_compatible_with(dtype)
    pickled = pickle.dumps(ref)
    for copied in (pickle.loads(pickled), copy.deepcopy(ref), copy.copy(ref)):
        assert copied is ref
    for predicate, names in KINDS.items():
        assert getattr(dtype, predicate) == getattr(ref, predicate) == (name in names), predicate
    if name in SIZES:
        assert dtype.size == SIZES[name]


@pytest.mark.parametrize(
    "name", sorted(KINDS["is_floating"] | KINDS["is_integer"] | {"bool"} | KINDS["is_complex"])
)
def test_numpy_round_trip(name):
    dtype = as_dtype(name)
    assert as_dtype(dtype.np) is as_dtype(dtype.as_numpy_dtype) is dtype
    assert as_dtype(np.zeros(2, dtype.np)) is dtype
    assert as_dtype(np.dtype(dtype.np).newbyteorder()) is dtype
    assert dtype == dtype.np and dtype == dtype.as_numpy_dtype


def test_python_types_and_aliases():
    assert as_dtype(float) is as_dtype("float") is dtypes.float32
    assert as_dtype(int) is dtypes.int32
    assert as_dtype(complex) is dtypes.complex128
    assert as_dtype(bool) is dtypes.bool is dtypes.bool_
    assert as_dtype(str) is as_dtype(bytes) is as_dtype(object) is dtypes.string
    assert as_dtype(np.dtype("S3")) is as_dtype(np.dtype("<U2")) is dtypes.string
    assert as_dtype(np.longlong) is dtypes.int64
    assert dtypes.half is dtypes.float16 is as_dtype("half")
    assert dtypes.double is dtypes.float64 is as_dtype("double")


@pytest.mark.parametrize("junk", ["flot32", None, 99, 1.0, True, [], {}, np.dtype("M8[s]"), list])
def test_junk_is_no_dtype(junk):
    with pytest.raises(TypeError, match="to a TensorFlow DType"):
        as_dtype(junk)
    assert dtypes.float32 != junk and junk != dtypes.float32


def test_unknown_number():
    with pytest.raises(TypeError, match="valid DataType"):
        DType(77)


def test_ranges():
    assert (dtypes.int8.min, dtypes.int8.max) == (-128, 127)
    assert (dtypes.uint16.min, dtypes.uint16.max) == (0, 65535)
    assert dtypes.float32.max == np.finfo(np.float32).max
    assert float(dtypes.bfloat16.max) == float.fromhex("0x1.FEp127")
    assert dtypes.float32._as_ref.min == np.finfo(np.float32).min
    assert dtypes.uint8.limits == (0, 255) and dtypes.float32.limits == (0, 1)
    assert dtypes.bool.limits == (False, True)
    for dtype in (dtypes.bool, dtypes.string, dtypes.complex64, dtypes.qint8, dtypes.variant):
        with pytest.raises(TypeError, match="Cannot find"):
            _ = dtype.max


def test_real_dtype():
    assert dtypes.complex64.real_dtype is dtypes.complex64._as_ref.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32


def test_sets():
    assert {dtypes.int32, dtypes.int64} == dtypes.INDEX
    assert dtypes.NUMERIC == dtypes.FLOATING | dtypes.INTEGER | dtypes.COMPLEX
    assert dtypes.REAL.isdisjoint(dtypes.COMPLEX) and dtypes.NUMERIC.isdisjoint(dtypes.QUANTIZED)
    for kind, names in (
        ("FLOATING", "is_floating"),
        ("INTEGER", "is_integer"),
        ("COMPLEX", "is_complex"),
        ("QUANTIZED", "is_quantized"),
    ):
        assert {dtype.name for dtype in getattr(dtypes, kind)} == KINDS[names]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "int32"),
        (2**31 - 1, "int32"),
        (-(2**31), "int32"),
        (2**31, "int64"),
        (2**63, "uint64"),
        (1.5, "float32"),
        (True, "bool"),
        (1j, "complex128"),
        ("a", "string"),
        (b"a", "string"),
        ([1, 2], "int32"),
        ([1, 2**31], "int64"),
        ([-(2**31)], "int32"),
        ([2**63], "uint64"),
        ([1, 2.5], "float32"),
        ([True, False], "bool"),
        ([True, 2], "int32"),
        ([[1j], [1]], "complex128"),
        (["a", b"\xff"], "string"),
        ([], "float32"),
        ([[], []], "float32"),
        (np.float64(1), "float64"),
        (np.int8([1]), "int8"),
        (np.array(["a"]), "string"),
        ([np.float64(1.5)], "float32"),
        ([np.float16(1.5)], "float16"),
        ([ml_dtypes.bfloat16(1)], "bfloat16"),
        (range(3), "int32"),
        ([2**63, 1], "uint64"),
        ([1, np.uint64(2**64 - 1)], "uint64"),
        ([1.0, 2**63], "float32"),
    ],
)
def test_inference(value, name):
    dtype = as_dtype(name)
    assert infer_dtype(value) is dtype
    array = to_numpy(value)
    assert type(array) is np.ndarray and array.dtype == dtype.np


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "int32"),
        ("a", "float32"),
        (1, "string"),
        (1, "bool"),
        (1.0, "bool"),
        (1j, "float32"),
        ([1, 1.5], "int32"),
        (["a", 1], "string"),
        ([1, "a"], None),
        ([1, None], "float32"),
        ([1, None], None),
        ([0, 2], "bool"),
        ({"a": 1}, None),
        (300, "uint8"),
        (-1, "uint8"),
        ([1, 300], "uint8"),
        (2**70, None),
        ([2**70], None),
        (2**40, "int32"),
        (1.0, "qint8"),
        (np.array(["a"]), "int32"),
        (np.array([1.0]), "string"),
        (np.array([1j]), "float32"),
        (np.array([1, "a"], object), None),
        (np.array([0], "M8[s]"), None),
        (np.zeros(1, [("a", "f4"), ("b", "f4")]), "float32"),
        ([2**63, -1], "uint64"),
        ([2**63, -1], "int64"),
        ([2**63, -1], None),
        ([2**64, 1.5], "uint64"),
        ([np.ma.array([1, 2], mask=[0, 1])], None),
        (([np.ma.array([1.0, 2.0], mask=[0, 1])],), "float32"),
        (1, "resource"),
        (object(), None),
        ([object()], "int32"),
    ],
)
def test_values_that_do_not_fit(value, dtype):
    with pytest.raises(TypeError):
        to_numpy(value, dtype and as_dtype(dtype), name="x")


def test_errors_name_the_culprit():
    with pytest.raises(TypeError, match=r"Expected int32 for 'w', got 1\.5 of type 'float'"):
        to_numpy([[1, 2], [3, 1.5]], dtypes.int32, name="w")
    with pytest.raises(TypeError, match="Expected string, got 3 of type 'int'"):
        to_numpy(["a", 3])
    with pytest.raises(TypeError, match="300 does not fit uint8 for 'w'"):
        to_numpy([1, 300], dtypes.uint8, name="w")
    with pytest.raises(ValueError, match="None values not supported"):
        to_numpy(None)
    with pytest.raises(ValueError, match="rectangular array of the value for 'w'"):
        to_numpy([[1, 2], [3]], name="w")
    with pytest.raises(ValueError, match="rectangular"):
        infer_dtype([[1.0], 2.0])


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (1, "float32", 1.0),
        (True, "int32", 1),
        (1, "complex64", 1),
        ([1, 2], "qint8", [1, 2]),
        ([1, True], "float64", [1, 1]),
        (2**70, "float64", 2.0**70),
        ([2**70], "float32", [2.0**70]),
        (1.5, "bfloat16", 1.5),
        (1.5, "float32_ref", 1.5),
        (np.array([1.7]), "int32", [1]),
        (np.int64(3), "float32", 3.0),
        (np.bool_(True), "int8", 1),
    ],
)
def test_values_that_fit(value, dtype, wanted):
    array = to_numpy(value, as_dtype(dtype))
    assert array.dtype == as_dtype(dtype).np
    np.testing.assert_array_equal(array, wanted)


def test_integers_that_need_64_bits_keep_them():
    for value in ([2**64 - 1, 1], [[0], [2**63 + 1]], [5, 2**63]):
        for dtype in (None, dtypes.uint64):
            assert to_numpy(value, dtype).tolist() == value
    assert to_numpy([2**64, -1], dtypes.float32).tolist() == [2.0**64, -1.0]
    with pytest.raises(TypeError, match=r"^-1 does not fit uint64 for 'x'"):
        to_numpy([2**63, -1], dtypes.uint64, "x")
    with pytest.raises(TypeError, match=rf"^{2**63} does not fit int64 for 'x'"):
        to_numpy([2**63, -1], dtypes.int64, "x")


def test_strings_are_bytes():
    array = to_numpy(["", "longer \u00e9", b"\x00\x01\x00"])
    assert array.dtype == object and array.shape == (3,)
    assert array.tolist() == [b"", "longer \u00e9".encode(), b"\x00\x01\x00"]
    assert to_numpy(array) is array and to_numpy(array, dtypes.string) is array
    assert to_numpy("a").shape == () and to_numpy("a")[()] == b"a"
    assert to_numpy([["a"], ["b"]]).shape == (2, 1)
    assert to_numpy([], dtypes.string).shape == (0,)
    assert to_numpy(np.array(["x", "y"])).tolist() == [b"x", b"y"]
    assert all(type(leaf) is bytes for leaf in to_numpy(np.array([b"x"])))


def test_right_array_is_passed_through():
    array = np.ones(3, np.float32)
    assert to_numpy(array) is array and to_numpy(array, dtypes.float32) is array
    swapped = to_numpy(array.astype(">f4"))
    assert swapped.dtype.isnative and swapped.tolist() == [1, 1, 1]


def test_objects_that_serve_as_index():
    class Index:
        def __index__(self):
            return 7

    assert to_numpy([Index(), 2]).tolist() == [7, 2]
    assert to_numpy([Index(), 2]).dtype == np.int32


NESTED = st.recursive(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3), lambda rows: rows.map(lambda r: [r, r])
)


@given(NESTED)
def test_integers_keep_their_values(value):
    array = to_numpy(value)
    if array.size:
        assert array.tolist() == value
    assert infer_dtype(value).np == array.dtype


@pytest.mark.parametrize(
    "name, storage",
    [
        ("qint8", np.int8),
        ("quint8", np.uint8),
        ("qint16", np.int16),
        ("quint16", np.uint16),
        ("qint32", np.int32),
    ],
)
def test_quantized_types_are_structured_in_numpy(name, storage):
    dtype = getattr(dtypes, name)
    structured = np.dtype([(name, storage)])
    assert dtype.as_numpy_dtype == structured
    assert dtypes.as_dtype(structured) is dtype
    assert np.empty((1, 1), dtype.as_numpy_dtype)[name].dtype == storage
    assert dtypes.to_numpy(np.array([(3,)], structured), dtype).tolist() == [3]


@pytest.mark.parametrize(
    "dtype",
    sorted(
        {d for d in vars(dtypes).values() if isinstance(d, dtypes.DType)}
        - {dtypes.resource, dtypes.variant},
        key=int,
    ),
    ids=str,
)
def test_numpy_types_lead_back(dtype):
    assert dtypes.as_dtype(np.dtype(dtype.as_numpy_dtype)) is dtype
