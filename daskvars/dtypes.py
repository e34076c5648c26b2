"""Element types: TensorFlow's `DType` objects and the rules that turn Python values into arrays.

A `DType` is interned: there is one object per type, so `is` and `==` agree and a pickled dtype
comes back as the same object. Each has a reference twin (`int32_ref`), which is what a variable's
`dtype` shows. A numpy array of a quantized type holds the plain integers, one of `string` holds
`bytes` objects, and `bfloat16` is that of ml_dtypes.

Source: tensorflow/python/framework/dtypes.py and tensor_util.py of TensorFlow 1.15.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import ml_dtypes
import numpy as np

_REF_OFFSET = 100
_INTERNED: dict[int, DType] = {}


class DType:
    """The type of a tensor's elements.

    Args:
        type_enum: the DT_ number of the type; references are 100 higher.

    Raises:
        TypeError: there is no type of that number.

    Source: `tf.DType`.

    >>> print(repr(DType(1)), DType(103), DType(103).base_dtype is int32)
    tf.float32 <dtype: 'int32_ref'> True
    """

    __slots__ = (
        "_as_ref",
        "_is_ref_dtype",
        "as_datatype_enum",
        "as_numpy_dtype",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numpy_compatible",
        "is_quantized",
        "is_ref",
        "is_unsigned",
        "name",
        "np",
        "real_dtype",
        "size",
    )

    def __new__(cls, type_enum: int) -> DType:
        try:
            return _INTERNED[type_enum]
        except KeyError:
            raise TypeError(f"type_enum is not a valid DataType: {type_enum!r}") from None

    @property
    def dtype(self) -> np.dtype[Any]:
        """What NumPy takes it for, wherever it takes a dtype.

        >>> np.zeros(2, float32).dtype
        dtype('float32')
        """
        return np.dtype(self.np)

    @property
    def min(self) -> Any:
        """The least finite value; TypeError where there is no order."""
        return self._range("minimum").min

    @property
    def max(self) -> Any:
        """The greatest finite value; TypeError where there is no order."""
        return self._range("maximum").max

    def _range(self, which: str) -> Any:
        if self.is_floating or self.is_integer:
            return ml_dtypes.finfo(self.np) if self.is_floating else np.iinfo(self.np)
        raise TypeError(f"Cannot find {which} value of {self}.")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of image intensities: 0 to 1 for floats and bool, else 0 to `max`."""
        if self.is_bool:
            return False, True
        return (0, 1) if self.is_floating else (0, self._range("maximum").max)

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Whether a tensor of `other` can be used as one of this type (references lend values)."""
        return self in (as_dtype(other), as_dtype(other).base_dtype)

    def __eq__(self, other: Any) -> builtins.bool:
        try:
            return self is other or as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple:
        return DType, (self.as_datatype_enum,)

    def _describe(self, enum: int, name: str, storage: np.dtype, kind: str, *twins: DType) -> None:
        plain, self._as_ref = twins
        self.as_datatype_enum = enum
        self.name = name
        self.np = storage
        self.as_numpy_dtype = np.dtype([(name, storage)]) if kind == "q" else storage.type
        self.base_dtype = plain
        self.real_dtype = self
        self._is_ref_dtype = self.is_ref = self is not plain
        self.is_floating = kind == "f"
        self.is_integer = kind in ("i", "u")
        self.is_unsigned = kind == "u"
        self.is_bool = kind == "b"
        self.is_complex = kind == "c"
        self.is_quantized = kind == "q"
        self.is_numpy_compatible = kind != "handle"
        self.size = storage.itemsize if self.is_numpy_compatible else 1


def _intern(enum: int, name: str, storage: Any, kind: str) -> DType:
    plain, ref = object.__new__(DType), object.__new__(DType)
    plain._describe(enum, name, np.dtype(storage), kind, plain, ref)
    ref._describe(enum + _REF_OFFSET, f"{name}_ref", np.dtype(storage), kind, plain, ref)
    _INTERNED[enum], _INTERNED[enum + _REF_OFFSET] = plain, ref
    return plain


float32 = _intern(1, "float32", np.float32, "f")
float64 = double = _intern(2, "float64", np.float64, "f")
int32 = _intern(3, "int32", np.int32, "i")
uint8 = _intern(4, "uint8", np.uint8, "u")
int16 = _intern(5, "int16", np.int16, "i")
int8 = _intern(6, "int8", np.int8, "i")
string = _intern(7, "string", np.object_, "s")
complex64 = _intern(8, "complex64", np.complex64, "c")
int64 = _intern(9, "int64", np.int64, "i")
bool = bool_ = _intern(10, "bool", np.bool_, "b")
qint8 = _intern(11, "qint8", np.int8, "q")
quint8 = _intern(12, "quint8", np.uint8, "q")
qint32 = _intern(13, "qint32", np.int32, "q")
bfloat16 = _intern(14, "bfloat16", ml_dtypes.bfloat16, "f")
qint16 = _intern(15, "qint16", np.int16, "q")
quint16 = _intern(16, "quint16", np.uint16, "q")
uint16 = _intern(17, "uint16", np.uint16, "u")
complex128 = _intern(18, "complex128", np.complex128, "c")
float16 = half = _intern(19, "float16", np.float16, "f")
resource = _intern(20, "resource", np.object_, "handle")
variant = _intern(21, "variant", np.object_, "handle")
uint32 = _intern(22, "uint32", np.uint32, "u")
uint64 = _intern(23, "uint64", np.uint64, "u")

complex64.real_dtype = complex64._as_ref.real_dtype = float32
complex128.real_dtype = complex128._as_ref.real_dtype = float64

_PLAIN = frozenset(dtype for dtype in _INTERNED.values() if not dtype.is_ref)
FLOATING = frozenset(dtype for dtype in _PLAIN if dtype.is_floating)
INTEGER = frozenset(dtype for dtype in _PLAIN if dtype.is_integer)
COMPLEX = frozenset(dtype for dtype in _PLAIN if dtype.is_complex)
QUANTIZED = frozenset(dtype for dtype in _PLAIN if dtype.is_quantized)
REAL = FLOATING | INTEGER
NUMERIC = REAL | COMPLEX
INDEX = frozenset({int32, int64})

# A Python type stands for what `tf.constant` makes of a value of that type.
_PYTHON = {
    builtins.float: float32,
    builtins.int: int32,
    builtins.bool: bool,
    builtins.complex: complex128,
    builtins.str: string,
    builtins.bytes: string,
    builtins.object: string,
}
_NUMPY = {
    **{dtype.np.type: dtype for dtype in NUMERIC | {bool, string}},
    np.str_: string,
    np.bytes_: string,
    np.longlong: int64,
    np.ulonglong: uint64,
}
# Quantized numbers are NumPy's structured type of one field, named as they are.
_QUANTIZED = {d.as_numpy_dtype: d for d in _PLAIN if d.is_quantized}
_NAMES = {
    "half": half,
    "half_ref": half._as_ref,
    "float": float32,
    "float_ref": float32._as_ref,
    "double": double,
    "double_ref": double._as_ref,
    **{dtype.name: dtype for dtype in _INTERNED.values()},
}
_LOOKUP: dict[Any, DType] = {**_NAMES, **_PYTHON, **_NUMPY}


class HasDType(Protocol):
    """An array or the like."""

    @property
    def dtype(self) -> Any: ...


# What `as_dtype` takes.
DTypeLike: TypeAlias = DType | np.dtype[Any] | type | str | int | HasDType


def as_dtype(type_value: DTypeLike) -> DType:
    """The `DType` that a value stands for.

    Args:
        type_value: a `DType`, a name, a DT_ number, a numpy dtype or scalar type, a Python type,
            or an object with a ``dtype``.

    Returns:
        The interned dtype; `float` is float32 and `int` int32, as a constant of them has.

    Raises:
        TypeError: the value stands for no type.

    Source: `tf.as_dtype`.

    >>> as_dtype("float32") is as_dtype(np.dtype("float32")) is as_dtype(float) is float32
    True
    """
    if type(type_value) is DType:
        return type_value
    if isinstance(type_value, (str, type)):
        found = _LOOKUP.get(type_value)
    elif isinstance(type_value, np.dtype):
        found = _NUMPY.get(type_value.type) or _QUANTIZED.get(type_value)
    elif type(type_value) is int:
        found = _INTERNED.get(type_value)
    else:
        inner = getattr(type_value, "dtype", None)
        if isinstance(inner, (DType, np.dtype)):
            return as_dtype(inner)
        found = None
    if found is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return found


def infer_dtype(value: Any) -> DType:
    """The dtype that `tf.constant(value)` has.

    Args:
        value: a Python scalar, nested sequence, numpy array or object with `__array__`.

    Returns:
        A plain (not reference) dtype: int is int32 when every value fits, else int64; float and
        mixed numbers float32; numpy values keep theirs.

    Raises:
        TypeError: the value holds something that is no element of any dtype.
        ValueError: the value is None, or its nesting is ragged.

    >>> infer_dtype([1, 2.5]), infer_dtype(2**40), infer_dtype("a"), infer_dtype(np.float64(1))
    (tf.float32, tf.int64, tf.string, tf.float64)
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return as_dtype(value.dtype)
    return _from_python(value, None, None)[1]


OBJECTS = (
    " An array of Python objects is taken for text; make one of numbers or booleans with their "
    "dtype, as in array.astype('float32')."
)


def to_numpy(value: Any, dtype: DType | None = None, name: str | None = None) -> np.ndarray:
    """An array of a value, with TensorFlow's type checks.

    Args:
        value: a Python scalar, nested sequence, numpy array or object with `__array__`.
        dtype: the element type wanted; None infers it (see `infer_dtype`).
        name: what the value is called in errors.

    Returns:
        An array of `dtype.np`; it may share memory with `value`. A numpy value is cast to `dtype`
        as numpy casts, Python values must fit it in kind: an int is a float, a float no int.

    Raises:
        TypeError: an element does not fit `dtype`.
        ValueError: the value is None, or its nesting is ragged.

    Source: `tf.make_tensor_proto`.

    >>> to_numpy([1, 2], float32)
    array([1., 2.], dtype=float32)
    >>> to_numpy(1.5, int32, name="step")
    Traceback (most recent call last):
    TypeError: Expected int32 for 'step', got 1.5 of type 'float' instead.
    """
    if dtype is not None:
        dtype = as_dtype(dtype).base_dtype
        if type(value) is np.ndarray and value.dtype == dtype.np and dtype is not string:
            return value
    if isinstance(value, (np.ndarray, np.generic)):
        check_unmasked(value, name)
        return _cast(np.asarray(value), dtype, name)
    return _from_python(value, dtype, name)[0]


def check_unmasked(value: Any, name: str | None = None) -> None:
    """Refuse an array of `numpy.ma` of which elements are masked: they would count as values.

    >>> check_unmasked(np.ma.array([1.0, 2.0], mask=[False, True]), "x")
    Traceback (most recent call last):
    TypeError: 1 of 2 elements for 'x' are masked, and have no value. Fill them, as in \
array.filled(0.0), or leave them out.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        found = f"{np.ma.count_masked(value)} of {value.size} elements{_for(name)} are masked"
        raise TypeError(
            f"{found}, and have no value. Fill them, as in array.filled(0.0), or leave them out."
        )


def check_keeps_values(value: Any, dtype: DType, name: str) -> None:
    """Refuse an array that would lose what it holds as another dtype: fractions, large integers.

    Args:
      value: anything; what is no array is looked at as it is converted.
      dtype: what it is to become.
      name: what the value is called in errors.

    Raises:
      TypeError: floating numbers would become integers, or integers do not fit.

    >>> check_keeps_values(np.array([1.5]), int32, "y")
    Traceback (most recent call last):
    TypeError: Expected int32 for 'y', got an array of float64. Cast it before it is passed.
    """
    found = getattr(value, "dtype", None)
    if not isinstance(found, np.dtype) or dtype.np.kind not in "iu" or found == dtype.np:
        return
    if found.kind == "f" or found == bfloat16.np:
        raise _uncast(dtype, name, found)
    if found.kind in "iu" and isinstance(value, (np.ndarray, np.generic)) and value.size:
        _check_range(value, dtype, name)


def _check_range(array: Any, dtype: DType, name: str | None) -> None:
    limits = np.iinfo(dtype.np)
    for extreme in (int(array.min()), int(array.max())):
        if not limits.min <= extreme <= limits.max:
            raise _too_wide(extreme, dtype, name)


def _check_parts_unmasked(value: Any, name: str | None) -> None:
    """Refuse masked arrays in lists; a list that begins with a number has none."""
    if isinstance(value, (list, tuple)):
        for part in value:
            if isinstance(part, (list, tuple)):
                _check_parts_unmasked(part, name)
            elif isinstance(part, np.ndarray):
                check_unmasked(part, name)
            else:
                break


def _cast(array: np.ndarray, dtype: DType | None, name: str | None) -> np.ndarray:
    """A numpy array as another dtype: any number to any number, except complex to real."""
    found = _NUMPY.get(array.dtype.type) or _QUANTIZED.get(array.dtype)
    if found is None and array.dtype.names:
        raise TypeError(
            f"Expected numbers or text{_for(name)}, got an array with fields {array.dtype.names}. "
            f"Give one of them, as in array[{array.dtype.names[0]!r}]."
        )
    if found is None:
        raise TypeError(f"Expected numbers or text{_for(name)}, got an array of {array.dtype}.")
    wanted = found if dtype is None else dtype
    if wanted is string and found is string:
        return _as_bytes(array, name, OBJECTS if array.dtype == object else "")
    convertible = found is wanted or (
        found is not string
        and wanted is not string
        and wanted.is_numpy_compatible
        and (wanted.is_complex or not found.is_complex)
    )
    if not convertible:
        raise _uncast(wanted, name, array.dtype)
    return array.astype(wanted.np, copy=False)


def _from_python(value: Any, dtype: DType | None, name: str | None) -> tuple[np.ndarray, DType]:
    """The array and dtype of anything that is not a numpy value."""
    if type(value) in (float, int, builtins.bool):
        return _from_scalar(value, dtype, name)
    if value is None:
        raise ValueError(f"None values not supported{_for(name)}.")
    if hasattr(value, "__array__"):
        array = _cast(np.asarray(value), dtype, name)
        return array, dtype or as_dtype(array.dtype)
    _check_parts_unmasked(value, name)
    if dtype is string or (dtype is None and isinstance(next(_leaves(value), 0), (str, bytes))):
        return _as_bytes(_array(value, object, name), name), string
    array = _array(value, None, name)
    if array.dtype == object:
        array = _from_indices(array, value, dtype, name)
    elif array.dtype == np.float64 and isinstance(next(_leaves(value), 0.0), (int, np.integer)):
        array = _wide_integers(array, value, dtype, name)
    found = as_dtype(array.dtype)
    wanted = dtype or _preferred(array, found)
    if array.size and not _fits_kind(found, wanted):
        raise _refusal(value, wanted, name)
    if wanted.np.kind in "iu" and found.is_integer and array.size:
        _check_range(array, wanted, name)
    return array.astype(wanted.np, copy=False), wanted


def _from_scalar(value: Any, dtype: DType | None, name: str | None) -> tuple[np.ndarray, DType]:
    if dtype is None:
        dtype = _PYTHON[type(value)]
        if dtype is int32 and not -(2**31) <= value < 2**31:
            dtype = int64 if value < 2**63 else uint64
    elif not _fits_kind(_PYTHON[type(value)], dtype):
        raise _refusal(value, dtype, name)
    try:
        return np.array(value, dtype.np), dtype
    except OverflowError:
        raise _too_wide(value, dtype, name) from None


def _fits_kind(found: DType, wanted: DType) -> builtins.bool:
    """Whether Python values of one dtype may stand for elements of another."""
    if wanted.is_complex:
        return found in NUMERIC or found.is_bool
    if wanted.is_floating:
        return found in REAL or found.is_bool
    if wanted.is_integer or wanted.is_quantized:
        return found.is_integer or found.is_bool
    return wanted.is_bool and found.is_bool


def _preferred(array: np.ndarray, found: DType) -> DType:
    """TensorFlow's choice where numpy would take the widest type."""
    if found is int64 and (not array.size or -(2**31) <= array.min() <= array.max() < 2**31):
        return int32
    return float32 if found is float64 else found


def _array(value: Any, storage: Any, name: str | None) -> np.ndarray:
    try:
        return np.array(value, dtype=storage)
    except ValueError as error:
        raise ValueError(
            f"Cannot make a rectangular array of the value{_for(name)}, which must be a dense one: "
            f"{error}. Every row needs the same length."
        ) from None


def _from_indices(
    array: np.ndarray, value: Any, dtype: DType | None, name: str | None
) -> np.ndarray:
    """An object array as numbers, for values such as `Dimension` that can serve as an index."""
    storage = float64 if dtype is not None and dtype.np.kind not in "iu" else int64
    try:
        indices = list(map(operator.index, array.flat))
        return np.array(indices, storage.np).reshape(array.shape)
    except TypeError:
        raise _refusal(value, dtype or float32, name) from None
    except OverflowError:
        raise _too_wide(max(indices, key=abs), dtype or storage, name) from None


def _wide_integers(
    array: np.ndarray, value: Any, dtype: DType | None, name: str | None
) -> np.ndarray:
    """Integers that numpy made floats of, as some of them need uint64, as such."""
    leaves = list(_leaves(value))
    if array.max() < 2**63 or not all(isinstance(leaf, (int, np.integer)) for leaf in leaves):
        return array
    if min(leaves) < 0 or max(leaves) >= 2**64:
        wanted = dtype or uint64
        if wanted.np.kind not in "iu":
            return array
        is_negative = wanted.np.kind == "u" and min(leaves) < 0
        raise _too_wide(min(leaves) if is_negative else max(leaves), wanted, name)
    return np.array(leaves, np.uint64).reshape(array.shape)


def _as_bytes(array: np.ndarray, name: str | None, advice: str = "") -> np.ndarray:
    """An object array of `bytes`, text encoded as UTF-8; the array itself if it is one."""
    leaves = array.ravel().tolist()
    if array.dtype == object and all(type(leaf) is bytes for leaf in leaves):
        return array
    out = np.empty(len(leaves), object)
    for position, leaf in enumerate(leaves):
        if not isinstance(leaf, (str, bytes)):
            raise TypeError(f"{_refusal(leaf, string, name)}{advice}")
        out[position] = leaf.encode() if isinstance(leaf, str) else bytes(leaf)
    return out.reshape(array.shape)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _refusal(value: Any, wanted: DType, name: str | None) -> TypeError:
    """The error that names the first element which does not fit."""
    for leaf in _leaves(value):
        found = _PYTHON.get(type(leaf)) or _NUMPY.get(type(leaf))
        if found is None or not _fits_kind(found, wanted):
            break
    return TypeError(
        f"Expected {wanted.name}{_for(name)}, got {leaf!r} of type {type(leaf).__name__!r} instead."
    )


def _uncast(wanted: DType, name: str | None, found: np.dtype) -> TypeError:
    return TypeError(
        f"Expected {wanted.name}{_for(name)}, got an array of {found}. Cast it before it is passed."
    )


def _too_wide(value: int, wanted: DType, name: str | None) -> TypeError:
    return TypeError(f"{value} does not fit {wanted.name}{_for(name)}. Use a wider dtype.")


def _for(name: str | None) -> str:
    return f" for {name!r}" if name else ""
