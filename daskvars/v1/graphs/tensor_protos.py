"""Arrays as messages of TensorFlow's, ``TensorProto``, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, string, to_numpy
from daskvars.graph.tensor import TensorLike
from daskvars.kernels.example_protos import message_class
from daskvars.kernels.tensor_protos import decode, encode
from daskvars.shapes import in_brackets

__all__ = ["make_ndarray", "make_tensor_proto"]

# Fields of elements one by one; all other dtypes are in `int_val`.
_FIELDS = {
    "bfloat16": "half_val",
    "bool": "bool_val",
    "complex128": "dcomplex_val",
    "complex64": "scomplex_val",
    "float16": "half_val",
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "string": "string_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def make_tensor_proto(
    values: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Return an array as a ``TensorProto``, the message that TensorFlow writes and reads.

    Args:
      values: an array, a number, a text, or nested lists of them; a message is returned as it is.
      dtype: of the elements, by default that of an array; int32 and float32 for Python's numbers.
      shape: of the tensor, by default that of the values. Of fewer values the last one stands for
        all that are missing.
      verify_shape: demand that the values have the shape.
      allow_broadcast: demand that they have as many elements as it, or one.

    Returns:
      A message of protobuf's (``pip install daskvars[protobuf]``); `make_ndarray` is the way back.

    Raises:
      TypeError: the values have no such dtype, or not the shape that was demanded.
      ValueError: there are more values than elements, or both demands are made.

    Source: TensorFlow 1.15, ``tf.make_tensor_proto``.

    >>> message = make_tensor_proto([[1, 2], [3, 4]])
    >>> [dim.size for dim in message.tensor_shape.dim], make_ndarray(message).tolist()
    ([2, 2], [[1, 2], [3, 4]])
    """
    make = message_class("TensorProto")
    if isinstance(values, make):
        return values
    if verify_shape and allow_broadcast:
        raise ValueError("verify_shape and allow_broadcast are not both allowed.")
    array = to_numpy(values, None if dtype is None else as_dtype(dtype), "values")
    found = as_dtype(array.dtype) if dtype is None else as_dtype(dtype).base_dtype
    sizes = array.shape if shape is None else tuple(map(int, shape))
    count = math.prod(sizes)
    if shape is not None:
        _check(array, sizes, count, verify_shape, allow_broadcast)
    if array.size == count and count > 1:
        return make.FromString(encode(array.reshape(sizes), found, strings_apart=True))
    message = make.FromString(encode(numpy.empty((0,), found.np), found, strings_apart=True))
    del message.tensor_shape.dim[:]
    for size in sizes:
        message.tensor_shape.dim.add(size=size)
    getattr(message, _FIELDS.get(found.name, "int_val")).extend(_one_by_one(array, found))
    return message


def _check(
    array: Any, shape: tuple[int, ...], count: int, verify_shape: bool, allow_broadcast: bool
) -> None:
    fits = array.shape == shape if verify_shape else array.size in (1, count)
    if (verify_shape or allow_broadcast) and not fits:
        raise TypeError(
            f"Expected Tensor's shape: {in_brackets(shape)}, got {in_brackets(array.shape)}."
        )
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Needed at most {count}, but received {array.size}"
        )


def _one_by_one(array: Any, dtype: DType) -> list[Any]:
    """Return elements as a message takes them: complex numbers as two, of halves the bits."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if dtype.is_complex:
        flat = flat.view(flat.real.dtype)
    elif dtype.is_floating and flat.dtype.itemsize == 2:
        flat = flat.view(numpy.uint16)
    return flat.tolist()


def make_ndarray(tensor: Any) -> numpy.ndarray:
    """Return what a message of `make_tensor_proto`, or the tensor of a summary's value, holds.

    Args:
      tensor: a ``TensorProto``, protobuf's or what has the same bytes; or ``value.tensor`` of a
        value of `Summary`.

    Returns:
      An array, of bytes for strings.

    Raises:
      InvalidArgumentError: it is no such message.

    Source: TensorFlow 1.15, ``tf.make_ndarray``.

    >>> make_ndarray(make_tensor_proto(1.5)).item()
    1.5
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     text = sess.run(tf.summary.tensor_summary("t", tf.constant([True, False])))
    >>> make_ndarray(tf.Summary.FromString(text).value[0].tensor).tolist()
    [True, False]
    """
    if not isinstance(tensor, Mapping):
        return decode(tensor.SerializeToString(), as_dtype(tensor.dtype))
    dtype, values = as_dtype(tensor["dtype"]), tensor["values"]
    if dtype is string:
        values = [v.encode() if isinstance(v, str) else v for v in values]
    elif dtype.is_complex:
        values = list(map(complex, values))
    elif dtype.is_floating:
        values = list(map(float, values))  # what is not finite is a text
    found = numpy.empty(len(values), dtype.np)
    found[:] = values
    return found.reshape(tensor["shape"])
