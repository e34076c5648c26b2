"""Names that TensorFlow 1 itself calls old, and what they are called now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from daskvars import dtypes
from daskvars.dtypes import DTypeLike
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.reshaping import identity
from daskvars.ops.image.patches import extract_image_patches
from daskvars.ops.linalg.matrix_functions import sqrtm as matrix_square_root
from daskvars.ops.math.casting import cast
from daskvars.ops.math.fake_quantization import (
    fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient,
)
from daskvars.ops.math.quantization import Quantized, dequantize, quantize
from daskvars.ops.math.reduce import argmax, argmin
from daskvars.ops.signal.spectra import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from daskvars.ops.sparse.serializing import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from daskvars.surface.signatures import named, with_arguments_of
from daskvars.variables.collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    variables_initializer,
)
from daskvars.variables.scopes.variable_scope import variable_scope

__all__ = [
    "all_variables", "arg_max", "arg_min", "convert_to_tensor_or_sparse_tensor", "dequantize",
    "deserialize_many_sparse", "extract_image_patches", "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient", "fft", "fft2d", "fft3d", "guarantee_const",
    "ifft", "ifft2d", "ifft3d", "initialize_all_variables", "initialize_local_variables",
    "initialize_variables", "matrix_square_root", "op_scope", "quantize", "quantize_v2",
    "serialize_many_sparse", "serialize_sparse", "to_bfloat16", "to_complex64", "to_complex128",
    "to_double", "to_float", "to_int32", "to_int64", "variable_op_scope",
]  # fmt: skip

all_variables = global_variables
initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer


def _cast_to(function_name: str, dtype: dtypes.DType, default: str, example: str) -> Any:
    """Return a function that converts.

    Args:
      default: the operation's name, by default.
      example: a value -> the array that becomes of it.
    """
    value, _, found = example.partition(" -> ")

    def to_dtype(x: TensorLike, name: str = default) -> Any:
        return cast(x, dtype, name=name)

    doc = f"""Convert a tensor to {dtype.name}.

    Args:
      x: [...] number, or a sparse tensor.
      name: name of the operation.

    Returns:
      The shape of `x` in {dtype.name}; a sparse tensor for one.

    Raises:
      TypeError: there is no conversion, as of strings.

    Source: TensorFlow 1.15, ``tf.{function_name}``. See `cast`.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.{function_name}({value}))
    {found}
    """
    return named(to_dtype, function_name, doc)


to_float = _cast_to(
    "to_float", dtypes.float32, "ToFloat", "[1, 2] -> array([1., 2.], dtype=float32)"
)
to_double = _cast_to("to_double", dtypes.float64, "ToDouble", "[1, 2] -> array([1., 2.])")
to_int32 = _cast_to(
    "to_int32", dtypes.int32, "ToInt32", "[1.9, -1.9] -> array([ 1, -1], dtype=int32)"
)
to_int64 = _cast_to("to_int64", dtypes.int64, "ToInt64", "[1.9, -1.9] -> array([ 1, -1])")
to_bfloat16 = _cast_to(
    "to_bfloat16", dtypes.bfloat16, "ToBFloat16", "[1.01] -> array([1.00781], dtype=bfloat16)"
)
to_complex64 = _cast_to(
    "to_complex64", dtypes.complex64, "ToComplex64", "[1.5] -> array([1.5+0.j], dtype=complex64)"
)
to_complex128 = _cast_to(
    "to_complex128", dtypes.complex128, "ToComplex128", "[1.5] -> array([1.5+0.j])"
)


def arg_max(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Return the position of the largest element along a dimension. The old name of `argmax`.

    Args:
      input: [...] number.
      dimension: the dimension, which the result does not have.
      output_type: int32 or int64, of the result.
      name: name of the operation.

    Returns:
      [...] without the dimension, of dtype `output_type`.

    Raises:
      ValueError: there is no such dimension.
      TypeError: `output_type` is another dtype.

    Source: TensorFlow 1.15, ``tf.arg_max``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.arg_max([[1, 5, 3], [6, 2, 4]], 1))
    array([1, 0])
    """
    return argmax(input, dimension, name=name, output_type=output_type)


@with_arguments_of(arg_max)
def arg_min(**arguments: Any) -> Tensor:
    """Return the position of the smallest element along a dimension. The old name of `argmin`.

    Source: TensorFlow 1.15, ``tf.arg_min``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.arg_min([[1, 5, 3], [6, 2, 4]], 1))
    array([0, 1])
    """
    return argmin(**arguments)


def op_scope(
    values: Iterable[Any], name: str | None, default_name: str | None = None
) -> name_scope:
    """Return ``name_scope(name, default_name, values)``, TensorFlow's older order of arguments.

    Args:
      values, name, default_name: as of `name_scope`.

    Source: TensorFlow 1.15, ``tf.op_scope``.

    >>> with tf.Graph().as_default(), tf.op_scope([], None, "layer"):
    ...     tf.constant(1.0, name="c").name
    'layer/c:0'
    """
    return name_scope(name, default_name, values)


def variable_op_scope(
    values: Iterable[Any],
    name_or_scope: Any,
    default_name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> variable_scope:
    """Open a variable scope: an older order of the arguments of `variable_scope`.

    Args:
      values, name_or_scope, default_name: as of `variable_scope`.
      *args, **kwargs: its other arguments.

    Source: TensorFlow 1.15, ``tf.variable_op_scope``.

    >>> with tf.Graph().as_default(), tf.variable_op_scope([], None, "layer"):
    ...     tf.get_variable("w", [2]).name
    'layer/w:0'
    """
    return variable_scope(name_or_scope, default_name, values, *args, **kwargs)


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """Return a sparse tensor as such, anything else as a tensor. See `convert_to_tensor`.

    Args:
      value: a `SparseTensor`, or its value; or what `convert_to_tensor` takes.
      dtype: of the result; None for that of the value.
      name: name of the operation.

    Raises:
      TypeError: the sparse tensor has another dtype.

    Source: TensorFlow 1.15, ``tf.convert_to_tensor_or_sparse_tensor``.

    >>> with tf.Graph().as_default():
    ...     dense = tf.convert_to_tensor_or_sparse_tensor([1, 2])
    ...     sparse = tf.convert_to_tensor_or_sparse_tensor(tf.SparseTensorValue([[0]], [1.0], [3]))
    >>> type(dense).__name__, type(sparse).__name__, sparse.shape.as_list()
    ('Tensor', 'SparseTensor', [3])
    """
    if not isinstance(value, SparseTensor | SparseTensorValue):
        return convert_to_tensor(value, dtype, name=name)
    found = SparseTensor.from_value(value)
    if dtype is not None and dtypes.as_dtype(dtype).base_dtype is not found.dtype.base_dtype:
        raise TypeError(
            f"Sparse dtype {found.dtype.name} is not {dtypes.as_dtype(dtype).name}: cast() it"
        )
    return found


@with_arguments_of(quantize)
def quantize_v2(**arguments: Any) -> Quantized:
    """Return numbers as integers between two limits. See `quantize`, whose arguments it has.

    >>> with tf.Session() as sess:
    ...     sess.run(tf.quantize_v2([0.0, 6.0], 0.0, 6.0, tf.quint8).output).tolist()
    [0, 255]
    """
    return quantize(**arguments)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Return `input`: what is constant is computed once here without being told so.

    Args:
      input: [...] any dtype.
      name: name of the operation, by default "GuaranteeConst".

    Returns:
      A tensor of the shape and dtype of `input`.

    >>> tf.guarantee_const(3).op.name
    'GuaranteeConst'
    """
    return identity(input, name=name or "GuaranteeConst")
