"""NumPy's functions on tensors and variables: they become ops, so gradients go through them.

NumPy hands a call over where an argument has `__array_ufunc__` or `__array_function__`; without
them it would take the array of an eager tensor, which is no longer on any tape, and fail with one
of a graph. A function that is not known here is refused, for the same reason. What only looks at
values (`allclose`, `array_equal`, printing, saving) takes the arrays of eager tensors, as
``np.asarray(tensor)`` does.

Here are tables of which function is which op; what NumPy has and TensorFlow has not (log2, log10,
exp2) is composed of ops where its kin are, in `ops.math.transcendental`.

Arguments are NumPy's, dtypes the ops': numbers of different dtypes are not mixed, and `sum` keeps
the dtype.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike, is_tensor_like
from daskvars.ops.array import constant, joining, rearranging, repeating, reshaping, transposing
from daskvars.ops.gather_scatter import searching, sorting, spreading
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.linalg import decompositions, einsum as contractions, norms, products as linalg
from daskvars.ops.math import (
    arithmetic,
    bitwise,
    casting,
    comparison,
    counting,
    division,
    moments,
    reduce,
    scans,
    transcendental,
)
from daskvars.shapes import is_known

Function = Callable[..., Any]


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Do ``ufunc(*inputs)`` as an op; with ``out=`` an array, on the arrays of eager tensors.

    Raises:
      TypeError: the function, the method of it, or an option is not known.
    """
    out = options.get("out", ())
    if out and not any(map(is_tensor_like, out)):
        return getattr(ufunc, method)(*map(_array, inputs), **options)
    if method != "__call__":
        raise TypeError(_refusal(f"{ufunc.__name__}.{method}", self))
    if options:
        name = next(iter(options))
        raise TypeError(f"{_refusal(ufunc.__name__, self, f' with {name}=')}")
    if ufunc in _EQUALITIES and isinstance(inputs[0], numpy.ndarray | numpy.generic):
        return _EQUALITIES[ufunc](inputs[1], inputs[0])  # ``array == tensor`` is no other call
    if ufunc not in _UFUNCS:
        raise TypeError(_refusal(ufunc.__name__, self))
    return _UFUNCS[ufunc](*inputs)


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Do ``function(*args, **kwargs)`` of NumPy as ops.

    Raises:
      TypeError: the function, or an argument of it, is not known.
    """
    if function in _LOOKING:
        args, kwargs = nest.map_structure(_array, (list(args), kwargs))
        return function(*args, **kwargs)
    name = function.__name__
    if function.__module__.startswith("numpy."):
        name = f"{function.__module__.removeprefix('numpy.')}.{name}"
    known = _FUNCTIONS.get(function)
    if known is None:
        raise TypeError(_refusal(name, self))
    try:
        bound = inspect.signature(known).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(_refusal(name, self, f" with these arguments ({error})")) from None
    return known(*bound.args, **bound.kwargs)


def _refusal(name: str, tensor: Any, how: str = "") -> str:
    instead = _INSTEAD.get(name)
    use = f"daskvars.{instead}" if instead else "functions of daskvars"
    array = "tensor.numpy()" if tensor.graph is None else "session.run(tensor)"
    if tensor.graph is not None and tensor.graph.is_like_eager:
        array = "numpy_function(...)"
    return (
        f"numpy.{name}{how} is not known for {tensor.name}: no gradient could go through it. Use "
        f"{use}, or, where no gradient is needed, call it on the array: {array}."
    )


def _array(value: Any) -> Any:
    return numpy.asarray(value) if is_tensor_like(value) else value


# -- ufuncs ----------------------------------------------------------------------------------------


def _of_bits(of_bools: Function, of_bits: Function) -> Function:
    """Return a function that is logic on bools, and of bits on integers."""

    def function(*values: Any) -> Tensor:
        return (of_bools if _dtype_of(*values) is dtypes.bool else of_bits)(*values)

    return function


def _floating(a: Any, *others: Any) -> Tensor:
    """Return `a` as a tensor, of float64 where it has no fractions, as NumPy's means do it."""
    dtype = _dtype_of(a, *others)
    a = convert_to_tensor(a, dtype)
    return casting.cast(a, dtypes.float64) if dtype.is_integer or dtype.is_bool else a


def _dtype_of(*values: Any) -> Any:
    symbolic = next(value for value in values if is_tensor_like(value))
    return dtypes.as_dtype(symbolic.dtype).base_dtype


_EQUALITIES = {numpy.equal: operator.eq, numpy.not_equal: operator.ne}
_UFUNCS: dict[Any, Function] = {
    # What an operator between an array and a tensor calls: its operations have the operator's name.
    numpy.add: partial(arithmetic.add, name="add"),
    numpy.subtract: partial(arithmetic.subtract, name="sub"),
    numpy.multiply: partial(arithmetic.multiply, name="mul"),
    numpy.divide: division.truediv,
    numpy.floor_divide: division.floordiv,
    numpy.remainder: partial(division.floormod, name="mod"),
    numpy.power: partial(transcendental.pow, name="pow"),
    numpy.matmul: partial(linalg.matmul, name="matmul"),
    numpy.fmod: division.truncatemod,
    numpy.negative: arithmetic.negative,
    numpy.positive: reshaping.identity,
    numpy.absolute: arithmetic.abs,
    numpy.sign: arithmetic.sign,
    numpy.rint: arithmetic.rint,
    numpy.floor: arithmetic.floor,
    numpy.ceil: arithmetic.ceil,
    numpy.square: arithmetic.square,
    numpy.sqrt: transcendental.sqrt,
    numpy.reciprocal: transcendental.reciprocal,
    numpy.maximum: arithmetic.maximum,
    numpy.minimum: arithmetic.minimum,
    numpy.exp: transcendental.exp,
    numpy.expm1: transcendental.expm1,
    numpy.log: transcendental.log,
    numpy.log1p: transcendental.log1p,
    numpy.log2: transcendental.log2,
    numpy.log10: transcendental.log10,
    numpy.exp2: transcendental.exp2,
    numpy.sin: transcendental.sin,
    numpy.cos: transcendental.cos,
    numpy.tan: transcendental.tan,
    numpy.arcsin: transcendental.asin,
    numpy.arccos: transcendental.acos,
    numpy.arctan: transcendental.atan,
    numpy.arctan2: lambda y, x: transcendental.atan2(_floating(y, x), _floating(x, y)),
    numpy.sinh: transcendental.sinh,
    numpy.cosh: transcendental.cosh,
    numpy.tanh: transcendental.tanh,
    numpy.arcsinh: transcendental.asinh,
    numpy.arccosh: transcendental.acosh,
    numpy.arctanh: transcendental.atanh,
    numpy.equal: comparison.equal,
    numpy.not_equal: comparison.not_equal,
    numpy.less: comparison.less,
    numpy.less_equal: comparison.less_equal,
    numpy.greater: comparison.greater,
    numpy.greater_equal: comparison.greater_equal,
    numpy.logical_and: comparison.logical_and,
    numpy.logical_or: comparison.logical_or,
    numpy.logical_xor: comparison.logical_xor,
    numpy.logical_not: comparison.logical_not,
    numpy.bitwise_and: _of_bits(comparison.logical_and, bitwise.bitwise_and),
    numpy.bitwise_or: _of_bits(comparison.logical_or, bitwise.bitwise_or),
    numpy.bitwise_xor: _of_bits(comparison.logical_xor, bitwise.bitwise_xor),
    numpy.invert: _of_bits(comparison.logical_not, bitwise.invert),
    numpy.left_shift: bitwise.left_shift,
    numpy.right_shift: bitwise.right_shift,
    numpy.isnan: comparison.is_nan,
    numpy.isinf: comparison.is_inf,
    numpy.isfinite: comparison.is_finite,
    numpy.conjugate: casting.conj,
}


# -- functions -------------------------------------------------------------------------------------


def _reducing(function: Function, to_float: bool = False) -> Function:
    def reduced(a: TensorLike, axis: TensorLike | None = None, *, keepdims: Any = False) -> Tensor:
        return function(_floating(a) if to_float else a, axis, bool(keepdims))

    return reduced


def _flat_without_axis(function: Function) -> Function:
    def along(a: TensorLike, axis: TensorLike | None = None) -> Tensor:
        return function(_ravel(a), 0) if axis is None else function(a, axis)

    return along


def _ravel(a: Any) -> Tensor:
    return reshaping.reshape(a, [-1])


def _concatenate(arrays: Sequence[Any], axis: Any = 0) -> Tensor:
    if axis is None:
        return joining.concat([_ravel(a) for a in arrays], 0)
    return joining.concat(list(arrays), axis)


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    if isinstance(indices_or_sections, int | numpy.integer):
        return joining.split(ary, int(indices_or_sections), axis)
    a, points = convert_to_tensor(ary), indices_or_sections
    if is_tensor_like(points):
        points = joining.unstack(points)
    before = (slice(None),) * (axis if axis >= 0 else axis + len(a.shape))
    bounds = zip([0, *points], [*points, None], strict=True)
    return [a[(*before, slice(first, last))] for first, last in bounds]


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = a if low is None else arithmetic.maximum(a, low)
    return a if high is None else arithmetic.minimum(a, high)


def _dot(a: Any, b: Any) -> Tensor:
    a, b = (convert_to_tensor(x, dtype=_dtype_of(a, b)) for x in (a, b))
    if a.shape.ndims == 0 or b.shape.ndims == 0:
        return arithmetic.multiply(a, b)
    return linalg.tensordot(a, b, [[-1], [0 if b.shape.ndims == 1 else b.shape.ndims - 2]])


def _einsum(equation: str, *operands: Any) -> Tensor:
    if not isinstance(equation, str):
        raise TypeError("numpy.einsum of tensors takes an equation, such as 'ij,jk->ik', first")
    return contractions.einsum(equation, *operands)


def _take(a: Any, indices: Any, axis: Any = None) -> Tensor:
    return gather(_ravel(a), indices) if axis is None else gather(a, indices, axis=axis)


def _swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    order = list(range(_ndim(a)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transposing.transpose(a, order)


def _moveaxis(a: Any, source: int, destination: int) -> Tensor:
    order = list(range(_ndim(a)))
    order.insert(range(len(order))[destination], order.pop(source))
    return transposing.transpose(a, order)


def _flip(m: Any, axis: Any = None) -> Tensor:
    every = range(_ndim(m)) if axis is None else axis
    return rearranging.reverse(m, list(every) if isinstance(every, range | tuple) else [every])


def _where(condition: Any, x: Any, y: Any, /) -> Tensor:
    return comparison.where_v2(condition, x, y)


def _round(a: Any) -> Tensor:
    return arithmetic.round(a)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    if ord is None:
        return norms.norm(x, axis=axis, keepdims=keepdims)
    if axis is None and _ndim(x) != 1:
        raise TypeError("numpy.linalg.norm(ord=) of a matrix: use daskvars.norm, which says axis=")
    return norms.norm(x, ord, axis, keepdims)


def _known_shape(a: Any) -> tuple[int, ...]:
    """Return the sizes as numbers, as NumPy does: the static ones, else those of the value."""
    a = convert_to_tensor(a) if not isinstance(a, Tensor) else a
    shape = a.spec.shape
    return numpy.asarray(a).shape if shape is None or None in shape else shape


def _shape(a: Any) -> Any:
    """Return the known sizes; of a tensor of a graph with unknown ones its shape, as TensorFlow."""
    a = convert_to_tensor(a) if not isinstance(a, Tensor) else a
    return _known_shape(a) if a.graph is None or is_known(a.spec.shape) else a.shape


def _ndim(a: Any) -> int:
    ndims = convert_to_tensor(a).shape.ndims
    return len(_known_shape(a)) if ndims is None else ndims


def _size(a: Any, axis: Any = None) -> int:
    return math.prod(_known_shape(a)) if axis is None else _shape(a)[axis]


def _like(function: Function) -> Function:
    def like(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
        return function(a, _own_dtype(dtype))

    return like


def _own_dtype(dtype: Any) -> Any:
    return dtype if dtype is None or isinstance(dtype, dtypes.DType) else numpy.dtype(dtype)


def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    a = convert_to_tensor(a)
    value = convert_to_tensor(fill_value, _own_dtype(dtype) or a.dtype.base_dtype)
    return constant.fill(constant.shape(a), value)


def _only(function: Function, *names: str) -> Function:
    """Return `function` as one of NumPy's arguments of these names, without options."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in names]

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, *(kwargs[name] for name in names[len(args) :]))

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


_FUNCTIONS: dict[Any, Function] = {
    numpy.sum: _reducing(reduce.reduce_sum),
    numpy.prod: _reducing(reduce.reduce_prod),
    numpy.mean: _reducing(reduce.reduce_mean, to_float=True),
    numpy.std: _reducing(moments.reduce_std, to_float=True),
    numpy.var: _reducing(moments.reduce_variance, to_float=True),
    numpy.max: _reducing(reduce.reduce_max),
    numpy.min: _reducing(reduce.reduce_min),
    numpy.amax: _reducing(reduce.reduce_max),
    numpy.amin: _reducing(reduce.reduce_min),
    numpy.all: _reducing(reduce.reduce_all),
    numpy.any: _reducing(reduce.reduce_any),
    numpy.count_nonzero: _reducing(counting.count_nonzero),
    numpy.argmax: _flat_without_axis(reduce.argmax),
    numpy.argmin: _flat_without_axis(reduce.argmin),
    numpy.cumsum: _flat_without_axis(scans.cumsum),
    numpy.cumprod: _flat_without_axis(scans.cumprod),
    numpy.sort: lambda a, axis=-1: sorting.sort(a, axis),
    numpy.argsort: lambda a, axis=-1: sorting.argsort(a, axis, stable=True),
    numpy.searchsorted: lambda a, v, side="left": searching.searchsorted(a, v, side, dtypes.int64),
    numpy.concatenate: _concatenate,
    numpy.stack: lambda arrays, axis=0: joining.stack(list(arrays), axis),
    numpy.split: _split,
    numpy.where: _where,
    numpy.clip: _clip,
    numpy.round: _round,
    numpy.around: _round,
    numpy.reshape: _only(reshaping.reshape, "a", "shape"),
    numpy.ravel: _only(_ravel, "a"),
    numpy.transpose: lambda a, axes=None: transposing.transpose(a, axes),
    numpy.swapaxes: _swapaxes,
    numpy.moveaxis: _moveaxis,
    numpy.expand_dims: _only(reshaping.expand_dims, "a", "axis"),
    numpy.squeeze: lambda a, axis=None: reshaping.squeeze(a, axis),
    numpy.broadcast_to: _only(repeating.broadcast_to, "array", "shape"),
    numpy.tile: lambda A, reps: repeating.tile(A, [reps] if isinstance(reps, int) else reps),
    numpy.repeat: lambda a, repeats, axis=None: spreading.repeat(a, repeats, axis),
    numpy.roll: _only(rearranging.roll, "a", "shift", "axis"),
    numpy.flip: _flip,
    numpy.take: _take,
    numpy.dot: _dot,
    numpy.tensordot: lambda a, b, axes=2: linalg.tensordot(a, b, axes),
    numpy.einsum: _einsum,
    numpy.trace: _only(linalg.trace, "a"),
    numpy.linalg.norm: _norm,
    numpy.linalg.inv: _only(decompositions.matrix_inverse, "a"),
    numpy.linalg.det: _only(decompositions.matrix_determinant, "a"),
    numpy.linalg.solve: _only(decompositions.matrix_solve, "a", "b"),
    numpy.linalg.cholesky: _only(decompositions.cholesky, "a"),
    numpy.real: _only(casting.real, "val"),
    numpy.imag: _only(casting.imag, "val"),
    numpy.zeros_like: _like(constant.zeros_like),
    numpy.ones_like: _like(constant.ones_like),
    numpy.full_like: _full_like,
    numpy.shape: _only(_shape, "a"),
    numpy.ndim: _only(_ndim, "a"),
    numpy.size: _size,
}

# What tells of values, or puts them elsewhere: a gradient through it is nothing that could be lost.
_LOOKING = frozenset(
    {
        numpy.allclose,
        numpy.array2string,
        numpy.array_equal,
        numpy.array_equiv,
        numpy.array_repr,
        numpy.array_str,
        numpy.copyto,
        numpy.iscomplexobj,
        numpy.isclose,
        numpy.isrealobj,
        numpy.may_share_memory,
        numpy.result_type,
        numpy.save,
        numpy.savetxt,
        numpy.savez,
        numpy.savez_compressed,
        numpy.shares_memory,
    }
)

# NumPy's functions that have a counterpart of another name or other arguments.
_INSTEAD = {
    "bincount": "bincount",
    "copy": "identity",
    "diag": "diag, of a matrix daskvars.diag_part",
    "diagonal": "diag_part",
    "fmax": "maximum",
    "fmin": "minimum",
    "histogram": "histogram_fixed_width",
    "hstack": "concat",
    "inner": "tensordot",
    "linalg.eigh": "self_adjoint_eig",
    "linalg.qr": "qr",
    "linalg.svd": "svd",
    "logaddexp": "reduce_logsumexp",
    "meshgrid": "meshgrid",
    "nonzero": "where",
    "outer": "tensordot",
    "pad": "pad",
    "trunc": "cast",
    "unique": "unique",
    "vstack": "concat",
    "where": "where",
    "add.reduce": "reduce_sum",
    "maximum.reduce": "reduce_max",
    "minimum.reduce": "reduce_min",
    "multiply.reduce": "reduce_prod",
    "add.accumulate": "cumsum",
    "multiply.accumulate": "cumprod",
}
