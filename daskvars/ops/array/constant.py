"""Constants, values made of one number, and the shapes of tensors as tensors.

The default conversions of numbers, strings, lists, arrays and shapes to tensors are registered
here: they become constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import dask
import numpy

from daskvars import chunk_grid, config, dtypes, shapes
from daskvars.device_array import brought_here
from daskvars.dtypes import DTypeLike, as_dtype, int32, int64
from daskvars.errors import kind_of
from daskvars.graph.convert import convert_to_tensor, register_tensor_conversion_function
from daskvars.graph.definitions.opdef import OpDef, Spec, opdef, without_gradient
from daskvars.graph.definitions.patterns import Elementwise, Source
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.scopes.stacks import stacks
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.array import movement as kernels
from daskvars.kernels.control.checks import unreachable
from daskvars.ops.rules import axes
from daskvars.shapes import Dimension, TensorShape

# Larger zeros and ones are computed rather than kept, as in TensorFlow.
_MAX_KEPT = 1000
_MAX_REPEATED_BYTES = 1 << 16  # of an array that keeps one element as often as it has it

CONST = without_gradient(
    "Const",
    "",
    infer=lambda inputs, *, value, dtype, chunks: Spec(dtype, value.shape),
    kernel=unreachable,
    pattern=Source(),
)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    name: str | bytes | None = "Const",
    verify_shape: bool = False,
    chunks: Any = None,
) -> Tensor:
    """Return a tensor of known values.

    Args:
      value: a number, bool, string, nested list, NumPy array or dask array; it is copied.
      dtype: dtype of the result; by default int32 or float32 for Python numbers, the array's own
        for arrays.
      shape: shape of the result; missing elements repeat the last one. By default that of `value`.
      name: name of the operation, by default "Const".
      verify_shape: `value` must have exactly the shape `shape`.
      chunks: layout in Dask's notation; by default that of a dask array, else one chunk.

    Returns:
      [*shape] `dtype`.

    Raises:
      TypeError: an element does not fit `dtype`, or `verify_shape` finds another shape.
      ValueError: there are more elements than `shape` takes, or the nesting is ragged; in eager
        code also a number that is too large for float32, unless `dtype` says so.

    >>> constant([1, 2, 3], shape=[2, 2]).numpy().tolist()
    [[1, 2], [3, 3]]
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    name = name.decode() if isinstance(name, bytes) else name
    is_plain = isinstance(value, bool | int | float | complex | str | bytes | list | tuple)
    if not is_plain:
        value, chunks = _from_elsewhere(value, chunks, shape, name)
    label = None if name is None or name == "Const" else name.strip("/")
    is_eager = not stacks.builders or stacks.builders[-1].is_eager
    is_float32_by_default = is_plain and wanted is None and is_eager
    try:
        with numpy.errstate(over="raise") if is_float32_by_default else nullcontext():
            array = dtypes.to_numpy(value, wanted, label)
    except FloatingPointError:
        raise ValueError(
            f"a number for {label or 'Const'!r} is too large for float32, which Python's become: "
            "give dtype=float64, or float32 to have infinity"
        ) from None
    if not is_plain:
        array = numpy.array(array, order="C")  # the caller may write into what was given
    if shape is not None:
        array = _filled_up(array, shapes.as_tuple(shape), verify_shape)
    array.flags.writeable = False
    found = wanted or as_dtype(array.dtype)
    if chunks is not None:
        limit = config.get().chunk_bytes
        chunks = chunk_grid.normalize_chunks(chunks, array.shape, found, limit_bytes=limit)
    return apply(CONST, name=name, value=array, dtype=found, chunks=chunks)


def _from_elsewhere(value: Any, chunks: Any, shape: Any, name: Any) -> tuple[Any, Any]:
    """Return what stands for an array as NumPy's, and the chunks of the constant made of it."""
    label = (name or "Const").strip("/")
    if chunks is None and shape is None and dask.is_dask_collection(value):
        found = getattr(value, "chunks", None)
        chunks = found if isinstance(found, tuple) else None  # a Delayed has whatever is asked for
        if any(math.isnan(size) for sizes in chunks or () for size in sizes):
            raise ValueError(
                f"Cannot make the constant {label!r} of a dask array of which the sizes of chunks "
                f"are not known, shape {value.shape}: call its compute_chunk_sizes() before"
            )
    try:
        lazy = dask.is_dask_collection(value)
        found = dask.compute(value)[0] if lazy else brought_here(value)
        dtypes.check_unmasked(found, None if name in (None, "Const") else label)
        return numpy.asarray(found) if hasattr(found, "__array__") else found, chunks
    except (TypeError, ValueError):
        raise
    except Exception as error:
        raise kind_of(error).saying(
            f"the value given for the constant {label!r} cannot be had: "
            f"{type(error).__name__}: {error}"
        ) from error


def _filled_up(array: numpy.ndarray, shape: Any, verify: bool) -> numpy.ndarray:
    """Return `array` in `shape`, its last element repeated where elements are missing."""
    if array.shape == shape:
        return array
    if verify:
        raise TypeError(f"Expected Tensor's shape: {shape}, got {array.shape}.")
    if not shapes.is_known(shape):
        raise ValueError(f"A constant needs a fully known shape, got {shapes.show(shape)}")
    size = math.prod(shape)
    if not size:
        return numpy.empty(shape, array.dtype)
    if array.size > size:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size}"
        )
    if array.size == size:
        return array.reshape(shape)
    if not array.size:
        raise ValueError(f"No element to fill a constant of shape {shapes.show(shape)} with")
    flat = array.reshape(-1)
    if flat.size == 1 and size * array.itemsize > _MAX_REPEATED_BYTES:
        return numpy.broadcast_to(array.reshape(()), shape)
    full = numpy.full(size, flat[-1], array.dtype)
    full[: flat.size] = flat
    return full.reshape(shape)


# -- conversions -------------------------------------------------------------------------------


def _constant_of(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    return constant(value, dtype, name=name or "Const")


def _constant_of_shape(
    value: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    if dtype is not None and dtype not in (int32, int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    sizes: Any = value.as_list()
    fits = all(size < 2**31 for size in sizes)
    if dtype is int32 and not fits:
        raise ValueError(
            f"Cannot convert a TensorShape to dtype: int32; a dimension is too large ({max(sizes)})"
        )
    return constant(sizes, dtype or (int32 if fits else int64), name=name or "shape_as_tensor")


def _constant_of_dimension(
    value: Dimension, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype is not None and dtype not in (int32, int64):
        raise TypeError(f"Cannot convert a Dimension to dtype: {dtype.name}")
    fits = value.value < 2**31
    return constant(value.value, dtype or (int32 if fits else int64), name=name or "Const")


register_tensor_conversion_function(TensorShape, _constant_of_shape)
register_tensor_conversion_function(Dimension, _constant_of_dimension)
register_tensor_conversion_function(object, _constant_of, 200)


def convert_to_tensor_or_indexed_slices(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """Return an IndexedSlices as it is, anything else as a tensor. See `convert_to_tensor`.

    Raises:
      ValueError: the slices have another dtype than `dtype`.

    >>> slices = dv.IndexedSlices(dv.constant([1.0]), dv.constant([2]))
    >>> convert_to_tensor_or_indexed_slices(slices) is slices
    True
    >>> convert_to_tensor_or_indexed_slices([1, 2]).numpy().tolist()
    [1, 2]
    """
    if not isinstance(value, IndexedSlices):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and as_dtype(dtype).base_dtype is not value.dtype.base_dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for IndexedSlices with "
            f"dtype {value.dtype.name}"
        )
    return value


# -- one value everywhere ----------------------------------------------------------------------


def sum_down(gradient: Tensor, shape: TensorLike) -> Tensor:
    """Return the adjoint of a broadcast: `gradient` summed to `shape`.

    The op is looked up by name, since it is defined to the right of all that broadcast.
    """
    return apply(opdef("SumToShape"), gradient, shape=shape)


def _filled(inputs: Sequence[Spec], *, dims: Any, **attrs: Any) -> Spec:
    if inputs[0].shape not in (None, ()):
        raise ValueError(f"value must be a scalar, got shape {shapes.show(inputs[0].shape)}")
    return Spec(inputs[0].dtype, axes.sizes_of(dims, inputs[1:]))


FILL = OpDef(
    "Fill",
    "value:T",
    infer=_filled,
    pattern=Source(),
    kernel=kernels.fill,
    **axes.shaped_by("dims"),
    gradient=lambda op, dy: sum_down(dy, ()),
)


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of which every element is `value`.

    Args:
      dims: [rank] int32 or int64, the shape.
      value: scalar of any dtype.
      name: name of the operation, by default "Fill".

    Returns:
      [*dims], of the dtype of `value`.

    Raises:
      ValueError: `value` is no scalar, or a size is negative.

    >>> fill([2, 2], 9).numpy().tolist()
    [[9, 9], [9, 9]]
    """
    return apply(FILL, value, name=name, dims=axes.as_sizes(dims))


def is_uniform(value: TensorLike, shape: Any, dtype: dtypes.DType) -> bool:
    """Return whether `value` is a number and `shape` known, so that `uniform` will do."""
    is_number = isinstance(value, int | float) and (dtype.is_floating or dtype.is_integer)
    given = shape is not None and not isinstance(shape, Tensor)
    return is_number and given and shapes.is_known(shapes.as_tuple(shape))


def uniform(
    value: TensorLike, shape: TensorLike, dtype: DTypeLike, name: str | None, default: str
) -> Tensor:
    """Return one number everywhere: large, it is made where it is needed, block by block."""
    dtype = as_dtype(dtype).base_dtype
    value = b"" if dtype is dtypes.string and not value else bool(value) if dtype.is_bool else value
    with name_scope(name, default, [shape]) as scope:
        if isinstance(shape, Tensor) and shape.shape.rank is None:
            shape = apply(opdef("Reshape"), shape, shape=(-1,))  # it may be a number
        sizes = axes.as_sizes(shape)
        if not axes.is_symbolic(sizes) and (shapes.size(sizes) or 0) < _MAX_KEPT:
            return constant(value, dtype, sizes, name=scope)
        return apply(FILL, constant(value, dtype), name=scope, dims=sizes)


def zeros(shape: TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a tensor of zeros (empty strings, False).

    Args:
      shape: [rank] int32 or int64; numbers, a TensorShape or a tensor.
      dtype: its dtype.
      name: name of the operation, by default "zeros".

    Returns:
      [*shape] `dtype`.

    Raises:
      ValueError: a size is negative or not known.

    >>> print(zeros([2, 2]))
    [[0. 0.]
     [0. 0.]]
    """
    return uniform(0, shape, dtype, name, "zeros")


def ones(shape: TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a tensor of ones, of `shape` and `dtype`; True of bools. See `zeros`.

    Args:
      shape: list of ints, or an integer tensor [rank].
      dtype: the dtype wanted.
      name: name of the operation, by default "ones".

    >>> print(ones([2], dv.int32))
    [1 1]
    """
    return uniform(1, shape, dtype, name, "ones")


LIKE = {
    value: without_gradient(
        type,
        "x:T",
        infer=lambda inputs, *, number, dtype: Spec(dtype, inputs[0].shape),
        kernel=kernels.fill_like,
        pattern=Elementwise(),
    )
    for value, type in enumerate(("ZerosLike", "OnesLike"))
}


def _uniform_like(
    value: int, tensor: Any, dtype: Any, name: str | None, default: str, optimize: bool
) -> Tensor:
    with name_scope(name, default, [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.spec.dtype if dtype is None else as_dtype(dtype)
        if optimize and shapes.is_known(tensor.spec.shape):
            return uniform(value, tensor.spec.shape, wanted, scope, default)
        wanted = wanted.base_dtype
        number: Any = value
        if wanted is dtypes.string:
            number = dtypes.to_numpy(value or b"", wanted, default).item()
        return apply(LIKE[value], tensor, name=scope, number=number, dtype=wanted)


def zeros_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Return zeros of the shape of `tensor`.

    Args:
      tensor: [...] any dtype.
      dtype: dtype of the result, by default that of `tensor`.
      name: name of the operation, by default "zeros_like".
      optimize: use the static shape where it is known.

    Returns:
      [...] `dtype`.

    >>> print(zeros_like([[3, 4]]))
    [[0 0]]
    """
    return _uniform_like(0, tensor, dtype, name, "zeros_like", optimize)


def ones_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Return ones of the shape of `tensor`. See `zeros_like`.

    >>> print(ones_like([[3, 4]]))
    [[1 1]]
    """
    return _uniform_like(1, tensor, dtype, name, "ones_like", optimize)


# -- shapes of tensors -------------------------------------------------------------------------

SHAPE = without_gradient(
    "Shape",
    "input:T",
    infer=lambda inputs, *, out_type: Spec(
        out_type, (None if inputs[0].shape is None else len(inputs[0].shape),)
    ),
    kernel=kernels.shape_of,
    static=lambda values, specs, attrs: specs[0].shape,
    static_of_specs=True,
)

SIZE = without_gradient(
    "Size",
    "input:T",
    infer=lambda inputs, *, out_type: Spec(out_type, ()),
    kernel=kernels.size_of,
    static=lambda values, specs, attrs: shapes.size(specs[0].shape),
    static_of_specs=True,
)

RANK = without_gradient(
    "Rank",
    "input:T",
    infer=lambda inputs: Spec(int32, ()),
    kernel=kernels.rank_of,
    static=lambda values, specs, attrs: None if specs[0].shape is None else len(specs[0].shape),
    static_of_specs=True,
)


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Tensor:
    """Return the shape of a tensor as a tensor: a constant where it is known already.

    Args:
      input: [...] any dtype, or a `SparseTensor`.
      name: name of the operation, by default "Shape".
      out_type: int32 or int64.

    Returns:
      [rank] `out_type`.

    >>> shape([[1, 2, 3]]).numpy().tolist()
    [1, 3]
    """
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            sizes = convert_to_tensor(input.dense_shape)
            return apply(opdef("Cast"), sizes, name=scope, dtype=as_dtype(out_type))
        input = convert_to_tensor(input, name="input")
        out_type = as_dtype(out_type)
        if shapes.is_known(input.spec.shape):
            return constant(input.spec.shape, out_type, name=scope)
        return apply(SHAPE, input, name=scope, out_type=out_type)


def shape_n(
    input: Sequence[Any], out_type: DTypeLike = int32, name: str | None = None
) -> list[Tensor]:
    """Return the shapes of several tensors. See `shape`.

    >>> [shape.numpy().tolist() for shape in shape_n([dv.zeros([2, 3]), dv.zeros([4])])]
    [[2, 3], [4]]
    """
    with name_scope(name, "ShapeN", input):
        return [shape(item, out_type=out_type) for item in input]


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Tensor:
    """Return the number of elements of a tensor, a scalar `out_type`. See `shape`.

    >>> print(size([[1, 2], [3, 4]]))
    4
    """
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            sizes = shape(input, out_type=out_type)
            return apply(opdef("Prod"), sizes, name=scope, axis=None, keepdims=False)
        input = convert_to_tensor(input, name="input")
        out_type = as_dtype(out_type)
        known = shapes.size(input.spec.shape)
        if known is not None:
            return constant(known, out_type, name=scope)
        return apply(SIZE, input, name=scope, out_type=out_type)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of dimensions of a tensor, a scalar int32. See `shape`.

    >>> print(rank([[1, 2], [3, 4]]))
    2
    """
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            return size(input.dense_shape, name=scope)
        input = convert_to_tensor(input, name="input")
        if input.spec.shape is not None:
            return constant(len(input.spec.shape), int32, name=scope)
        return apply(RANK, input, name=scope)


def full_shape(x: Tensor) -> Any:
    """Return the shape of `x`: numbers where all of them are known, else a tensor."""
    return x.spec.shape if shapes.is_known(x.spec.shape) else shape(x)


def size_along(tensor: Tensor, axis: Any) -> Any:
    """Return the size of an axis: a number where it is known, else a scalar tensor."""
    known = None if isinstance(axis, Tensor) else tensor.spec.shape
    return shape(tensor)[axis] if known is None or known[axis] is None else known[axis]


def sizes_filled(tensor: Tensor, sizes: Sequence[Any]) -> list[Any]:
    """Return sizes with those of `tensor`, scalar tensors, in place of None."""
    if None not in sizes:
        return list(sizes)
    own = shape(tensor)
    return [own[i] if size is None else size for i, size in enumerate(sizes)]


def sizes_like(tensor: Tensor) -> Any:
    """Return what reshapes something to the shape of `tensor`: numbers if these can tell, else a
    tensor."""
    known = tensor.spec.shape
    if known is None or known.count(None) > 1 or (None in known and 0 in known):
        return shape(tensor)
    return tuple(-1 if n is None else n for n in known)
