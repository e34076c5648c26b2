"""Changes of dtype, and the parts of complex numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from daskvars import dtypes
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import without_ufunc as kernels
from daskvars.ops.array.broadcasting import broadcast_gradients
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.rules.families import elementwise
from daskvars.ops.rules.shapes import broadcasted, like_first


def _cast_known(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    """Convert what is known of a shape-like value; what does not fit is left to the kernel."""
    dtype = attrs["dtype"]

    def converted(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(converted, item))
        if not isinstance(item, int | float) or not math.isfinite(item):
            return None
        if dtype.is_floating:
            return float(item)
        return int(item) if dtype.is_integer and dtype.min <= item <= dtype.max else None

    return converted(values[0])


def _cast_gradient(op: Operation, dy: Tensor) -> Tensor | None:
    source = op.inputs[0].spec.dtype
    return cast(dy, source) if source.is_floating or source.is_complex else None


CAST = elementwise(
    "Cast",
    "x:T",
    infer=lambda inputs, *, dtype: Spec(dtype, inputs[0].shape),
    kernel=kernels.cast,
    static=_cast_known,
    gradient=_cast_gradient,
)


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """Convert a tensor to another dtype.

    Args:
      x: [...] a number or bool; Tensor, SparseTensor, Variable, IndexedSlices or data.
      dtype: the dtype wanted. Floats become integers by cutting towards zero, complex numbers
        lose their imaginary part.
      name: name of the operation, by default "Cast".

    Returns:
      [...] `dtype`; `x` itself where it has that dtype already.

    Raises:
      TypeError: strings cannot be cast.

    >>> cast([1.8, -2.2], dv.int32).numpy().tolist()
    [1, -2]
    """
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, wanted, name), x.indices, x.dense_shape)
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, wanted, name), x.dense_shape)
    if isinstance(x, Tensor) and x.spec.dtype is wanted:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        found = x.spec.dtype.base_dtype
        if found is wanted:
            return x
        if not (found.is_numpy_compatible and wanted.is_numpy_compatible) or dtypes.string in (
            found,
            wanted,
        ):
            raise TypeError(f"Cast {found.name} to {wanted.name} is not supported")
        return apply(CAST, x, name=scope, dtype=wanted)


# -- complex numbers ---------------------------------------------------------------------------


def _real_part(inputs: Sequence[Spec]) -> Spec:
    return Spec(inputs[0].dtype.real_dtype, inputs[0].shape)


CONJ = elementwise("Conj", "input:N", "conjugate", lambda op, dy: conj(dy), infer=like_first)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the complex conjugate, element by element.

    Args:
      x: [...] any number; a real tensor is returned as it is.
      name: name of the operation, by default "Conj".

    Returns:
      [...] of the dtype of `x`.

    Raises:
      TypeError: `x` is no number.

    >>> print(conj([1 + 2j]))
    [1.-2.j]
    """
    x = convert_to_tensor(x)
    if x.spec.dtype.base_dtype not in dtypes.NUMERIC:
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype.name}: {x.name}")
    return apply(CONJ, x, name=name) if x.spec.dtype.base_dtype.is_complex else x


REAL = elementwise(
    "Real", "input:F", kernels.real, lambda op, dy: complex(dy, zeros_like(dy)), infer=_real_part
)


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the real part, element by element.

    Args:
      input: [...] any number; a real tensor is returned as it is.
      name: name of the operation, by default "Real".

    Returns:
      [...] float32 of complex64, float64 of complex128.

    >>> print(real([1 + 2j]))
    [1.]
    """
    input = convert_to_tensor(input)
    return apply(REAL, input, name=name) if input.spec.dtype.base_dtype.is_complex else input


IMAG = elementwise(
    "Imag", "input:F", kernels.imag, lambda op, dy: complex(zeros_like(dy), dy), infer=_real_part
)


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the imaginary part, element by element; zeros of a real tensor. See `real`.

    >>> print(imag([1 + 2j]))
    [2.]
    """
    input = convert_to_tensor(input)
    if not input.spec.dtype.base_dtype.is_complex:
        return zeros_like(input, name=name)
    return apply(IMAG, input, name=name)


def _joined(inputs: Sequence[Spec]) -> Spec:
    parts = broadcasted(inputs)
    wide = parts.dtype is dtypes.float64
    return Spec(dtypes.complex128 if wide else dtypes.complex64, parts.shape)


COMPLEX = elementwise(
    "Complex",
    "real:R, imag:R",
    infer=_joined,
    kernel=kernels.join_complex,
    gradient=lambda op, dy: broadcast_gradients(op, real(dy), imag(dy)),
)


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Make complex numbers of their parts.

    Args:
      real: [...] float32 or float64.
      imag: [...] of the dtype of `real`; shapes are broadcast.
      name: name of the operation, by default "Complex".

    Returns:
      [...] complex64 or complex128.

    Raises:
      TypeError: the parts are not both float32 or both float64.

    >>> complex([2.25, 3.25], [4.75, 5.75]).numpy().tolist()
    [(2.25+4.75j), (3.25+5.75j)]
    """
    found = [getattr(part, "dtype", None) for part in (real, imag)]
    named = [as_dtype(dtype).base_dtype for dtype in found if dtype is not None]
    if any(dtype not in (dtypes.float32, dtypes.float64) for dtype in named) or len(set(named)) > 1:
        names = " and ".join(dtype.name for dtype in named)
        raise TypeError(f"real and imag have incorrect types: {names}; cast both to one float type")
    return apply(COMPLEX, real, imag, name=name)
