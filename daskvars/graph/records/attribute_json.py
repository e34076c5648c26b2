"""Attributes of operations as JSON data and back: numbers, texts, dtypes, shapes, arrays.

What JSON has no word for is an object with one key that says what it is: ``{"dtype": "int32"}``,
``{"array": {...}}``. Tuples are JSON arrays. Reading makes nothing but these kinds of data: there
is no way to write a call, a class or an import, so a file cannot do anything but describe.

An array's bytes are base64 text, under ``"data"``; of one that repeats a single element without
keeping it more than once, that element's, under ``"fill"``. In data that are not text yet, a large
array stands for its text itself (`ArrayBytes`), so that a graph as data holds it no second time.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy

from daskvars import dtypes
from daskvars.dtypes import DType, as_dtype
from daskvars.errors import FailedPreconditionError
from daskvars.graph.definitions.opdef import Spec

MAX_ELEMENTS = 1 << 40  # of an array: more is damage
LARGE_BYTES = 1 << 16  # arrays of more are no text before a file is written
_PIECE_BYTES = 3 << 20  # three bytes are four letters, so that pieces can be put together
_AS_THEY_ARE = frozenset({type(None), bool, int, str})  # JSON has words for them
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

Special = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class ArrayBytes:
    """The bytes of a large array, where JSON data has base64 text for those of a small one.

    Attributes:
      array: the array, of numbers; nobody writes to it.
    """

    array: numpy.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayBytes) and bytes_of(self.array) == bytes_of(other.array)

    __hash__ = None  # type: ignore[assignment]

    def base64(self) -> Iterator[bytes]:
        """Give the text in pieces, none of them large."""
        found = bytes_of(self.array)
        for start in range(0, len(found), _PIECE_BYTES):
            yield base64.b64encode(found[start : start + _PIECE_BYTES])


def bytes_of(array: numpy.ndarray) -> memoryview:
    """Return the bytes of an array of numbers, row by row; no copy of one that is so already."""
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data


class Unavailable:
    """Stands for a Python function in a graph that was read from a file, which holds no code.

    Args:
      name: the function's name where the graph was written.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> NoReturn:
        raise FailedPreconditionError.saying(
            f"the Python function {self.name!r} of a py_func is not in the file that "
            "the graph was read from: files hold no code. Build that part of the graph again, or "
            "replace its result with input_map= when importing."
        )


def encode(value: Any, special: Special) -> Any:
    """Return an attribute as JSON data.

    Args:
      value: the attribute.
      special: encodes what belongs to a graph: ``special(value)`` gives JSON data, or None.

    Raises:
      TypeError: it is of a kind that no attribute is of.

    >>> encode((1, None, dtypes.float32), lambda value: None)
    [1, None, {'dtype': 'float32'}]
    """
    if type(value) in _AS_THEY_ARE:
        return value
    if type(value) is DType:
        return {"dtype": value.name}
    if isinstance(value, Spec):
        return {"spec": [value.dtype.name, shape_json(value.shape)]}
    if isinstance(value, tuple):
        return [v if type(v) in _AS_THEY_ARE else encode(v, special) for v in value]
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    if isinstance(value, list):
        return {"list": [encode(item, special) for item in value]}
    found = special(value)
    if found is None and callable(value):
        return {"function": f"{value.__module__}.{getattr(value, '__qualname__', value)}"}
    if found is None:
        raise TypeError(f"an attribute of type {type(value).__name__} cannot be written: {value!r}")
    return found


def decode(data: Any, special: Callable[[str, Any], Any]) -> Any:
    """Return the attribute that JSON data describes.

    Args:
      data: what `encode` gave, after any journey.
      special: reads what belongs to a graph: ``special(kind, data)``; raises ValueError.

    Raises:
      ValueError: it is no such data.

    >>> decode([1, None, {"dtype": "float32"}], print)
    (1, None, tf.float32)
    """
    if data is None or isinstance(data, bool | str | int | float):
        return data
    if isinstance(data, list):
        return tuple([decode(item, special) for item in data])
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError(f"{shortened(data)} where an attribute belongs")
    ((kind, content),) = data.items()
    if kind == "list" and isinstance(content, list):
        return [decode(item, special) for item in content]
    read = _READERS.get(kind)
    return special(kind, content) if read is None else read(content)


def shape_json(shape: Any) -> Any:
    """Return a shape, as far as it is known, as JSON data."""
    return None if shape is None else [None if n is None else int(n) for n in shape]


def shape_of(data: Any) -> Any:
    """Return the shape that JSON data describes. Raises ValueError where it is none."""
    if data is None:
        return None
    if not isinstance(data, list) or not all(n is None or (is_int(n) and n >= 0) for n in data):
        raise ValueError(f"{shortened(data)} where a shape belongs")
    return tuple(data)


def is_int(value: Any) -> bool:
    """Return whether JSON data is an integer (JSON's true is none, Python's is)."""
    return isinstance(value, int) and not isinstance(value, bool)


def shortened(data: Any) -> str:
    """Return a short text of data for an error."""
    text = repr(data)
    return text if len(text) <= 80 else f"{text[:77]}..."


def dtype_of(name: Any) -> DType:
    """Return the dtype of a name. Raises ValueError where there is none."""
    try:
        dtype = as_dtype(name.removesuffix("_ref"))
    except (TypeError, AttributeError):
        raise ValueError(f"{shortened(name)} where a dtype belongs") from None
    return dtype._as_ref if name.endswith("_ref") else dtype


def _float_json(value: float) -> Any:
    return float(value) if math.isfinite(value) else {"float": repr(float(value))}


def _array_json(array: numpy.ndarray) -> Any:
    dtype = as_dtype(array.dtype)
    found: dict[str, Any] = {"dtype": dtype.name, "shape": list(array.shape)}
    if dtype is dtypes.string:
        found["data"] = [_text(item) for item in array.ravel().tolist()]
    elif array.size > 1 and is_filled(array):
        found["fill"] = _text(array.flat[0].tobytes())
    elif array.nbytes > LARGE_BYTES:
        found["data"] = ArrayBytes(array)
    else:
        found["data"] = _text(array.tobytes())
    return {"array": found}


def is_filled(array: numpy.ndarray) -> bool:
    """Return whether an array is one element, kept once and repeated."""
    return all(step == 0 or n == 1 for step, n in zip(array.strides, array.shape, strict=True))


def _text(value: Any) -> str:
    raw = value.encode() if isinstance(value, str) else value
    return base64.b64encode(raw).decode("ascii")


def _bytes_of(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ValueError(f"{shortened(data)} where base64 text belongs") from None


def _array_of(data: Any) -> numpy.ndarray:
    kinds = {"dtype", "shape", "data"}, {"dtype", "shape", "fill"}
    if not isinstance(data, dict) or set(data) not in kinds:
        raise ValueError(f"{shortened(data)} where an array belongs")
    dtype, shape = dtype_of(data["dtype"]), shape_of(data["shape"])
    if shape is None or None in shape or math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(f"an array of shape {shortened(data['shape'])}")
    size = math.prod(shape)
    if dtype is dtypes.string:
        if not isinstance(data.get("data"), list) or len(data["data"]) != size:
            raise ValueError(f"an array of shape {shape} whose data are not {size} texts")
        array = numpy.empty(size, object)
        array[:] = [_bytes_of(item) for item in data["data"]]
        array = array.reshape(shape)
        array.flags.writeable = False
        return array
    kept, kind = () if "fill" in data else shape, dtype.np
    found = data["fill" if "fill" in data else "data"]
    raw = bytes_of(found.array) if isinstance(found, ArrayBytes) else _bytes_of(found)
    if kind.hasobject or len(raw) != math.prod(kept) * kind.itemsize:
        raise ValueError(f"an array of {math.prod(kept)} {dtype.name} in {len(raw)} bytes")
    array = numpy.frombuffer(raw, kind).reshape(kept)
    array.flags.writeable = False
    return array if kept == shape else numpy.broadcast_to(array, shape)


def _spec_of(data: Any) -> Spec:
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError(f"{shortened(data)} where dtype and shape belong")
    return Spec(dtype_of(data[0]), shape_of(data[1]))


def _float_of(data: Any) -> float:
    if data not in _FLOATS:
        raise ValueError(f"{shortened(data)} where nan, inf or -inf belongs")
    return _FLOATS[data]


def _complex_of(data: Any) -> complex:
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError(f"{shortened(data)} where a complex number belongs")
    parts = [item if isinstance(item, int | float) else _float_of(item) for item in data]
    return complex(*parts)


def _complex_json(value: complex) -> Any:
    parts = (value.real, value.imag)
    return {"complex": [part if math.isfinite(part) else repr(part) for part in parts]}


_WRITERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str),
    (bytes, lambda value: {"bytes": _text(value)}),
    (numpy.ndarray, _array_json),
    (numpy.bool, lambda value: bool(value)),
    (numpy.integer | int, lambda value: int(value)),
    (float | numpy.floating, _float_json),
    (numpy.generic, lambda value: {"scalar": _array_json(numpy.asarray(value))["array"]}),
    (complex, _complex_json),
)
_READERS: dict[str, Callable[[Any], Any]] = {
    "dtype": dtype_of,
    "bytes": _bytes_of,
    "array": _array_of,
    "scalar": lambda data: _array_of(data)[()],
    "float": _float_of,
    "complex": _complex_of,
    "spec": _spec_of,
    "function": lambda data: Unavailable(shortened(data).strip("'")),
}
