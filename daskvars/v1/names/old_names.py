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
from daskvars.ops.math.reduce import argmax, argmin
from daskvars.ops.signal.spectra import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from daskvars.ops.sparse.serializing import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from daskvars.variables.collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    variables_initializer,
)
from daskvars.variables.scopes.variable_scope import variable_scope

__all__ = [
    "all_variables",
    "arg_max",
    "arg_min",
    "convert_to_tensor_or_sparse_tensor",
    "deserialize_many_sparse",
    "extract_image_patches",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "fft",
    "fft2d",
    "fft3d",
    "ifft",
    "ifft2d",
    "ifft3d",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "matrix_square_root",
    "op_scope",
    "serialize_many_sparse",
    "serialize_sparse",
    "to_bfloat16",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "variable_op_scope",
]

all_variables = global_variables
initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer


def _cast_to(function_name: str, dtype: dtypes.DType, default: str) -> Any:
    def to_dtype(x: TensorLike, name: str = default) -> Any:
        return cast(x, dtype, name=name)

    to_dtype.__name__ = to_dtype.__qualname__ = function_name
    to_dtype.__doc__ = f"Convert a tensor to {dtype.name}. See `cast`."
    return to_dtype


to_float = _cast_to("to_float", dtypes.float32, "ToFloat")
to_double = _cast_to("to_double", dtypes.float64, "ToDouble")
to_int32 = _cast_to("to_int32", dtypes.int32, "ToInt32")
to_int64 = _cast_to("to_int64", dtypes.int64, "ToInt64")
to_bfloat16 = _cast_to("to_bfloat16", dtypes.bfloat16, "ToBFloat16")
to_complex64 = _cast_to("to_complex64", dtypes.complex64, "ToComplex64")
to_complex128 = _cast_to("to_complex128", dtypes.complex128, "ToComplex128")


def arg_max(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Return the position of the largest element. The old name of `argmax`."""
    return argmax(input, dimension, name=name, output_type=output_type)


def arg_min(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Return the position of the smallest element. The old name of `argmin`."""
    return argmin(input, dimension, name=name, output_type=output_type)


def op_scope(
    values: Iterable[Any], name: str | None, default_name: str | None = None
) -> name_scope:
    """Return ``name_scope(name, default_name, values)``, TensorFlow's older order of arguments."""
    return name_scope(name, default_name, values)


def variable_op_scope(
    values: Iterable[Any],
    name_or_scope: Any,
    default_name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> variable_scope:
    """Open a variable scope: an older order of the arguments of `variable_scope`."""
    return variable_scope(name_or_scope, default_name, values, *args, **kwargs)


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """Return a sparse tensor as such, anything else as a tensor. See `convert_to_tensor`.

    Raises:
      TypeError: the sparse tensor has another dtype.
    """
    if not isinstance(value, SparseTensor | SparseTensorValue):
        return convert_to_tensor(value, dtype, name=name)
    found = SparseTensor.from_value(value)
    if dtype is not None and dtypes.as_dtype(dtype).base_dtype is not found.dtype.base_dtype:
        raise TypeError(
            f"Sparse dtype {found.dtype.name} is not {dtypes.as_dtype(dtype).name}: cast() it"
        )
    return found
