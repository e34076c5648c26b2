"""Tensors and sparse tensors as strings, in TensorFlow's format, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels import tensor_protos as kernels
from daskvars.ops.sparse.indices import SparseLike, as_sparse, parts
from daskvars.surface.signatures import with_arguments_of

_KINDS = {"dtype": kinds_of.DTYPE}
_PARTS = "indices:I, values:T, shape:I"


def _op(type: str, signature: str, kernel: Any, infer: Any) -> OpDef:
    return without_gradient(type, signature, infer, kernel, attributes=_KINDS)


SERIALIZE_TENSOR = _op(
    "SerializeTensor",
    "tensor:T",
    kernels.serialize_tensor,
    lambda inputs, **attrs: Spec(string, ()),
)
PARSE_TENSOR = _op(
    "ParseTensor", "serialized:S", kernels.parse_tensor, lambda inputs, *, dtype: Spec(dtype, None)
)


def _rows(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    return Spec(string, (None, 3))


def _read(inputs: Sequence[Spec], *, dtype: DType) -> tuple[Spec, Spec, Spec]:
    if not shapes.compatible(inputs[0].shape, (None, 3)):
        raise ValueError(f"serialized_sparse must be [rows, 3], got {shapes.show(inputs[0].shape)}")
    return Spec(int64, (None, None)), Spec(dtype, (None,)), Spec(int64, (None,))


SERIALIZE_SPARSE = _op(
    "SerializeSparse", _PARTS, kernels.serialize_sparse, lambda inputs, **attrs: Spec(string, (3,))
)
SERIALIZE_MANY_SPARSE = _op("SerializeManySparse", _PARTS, kernels.serialize_many_sparse, _rows)
DESERIALIZE_MANY_SPARSE = _op(
    "DeserializeManySparse", "serialized_sparse:S", kernels.deserialize_many_sparse, _read
)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor as a string, a ``TensorProto`` of TensorFlow.

    Args:
      tensor: [...] any dtype.
      name: name of the operation, by default "SerializeTensor".

    Returns:
      [] string.

    Source: TensorFlow 1.15, ``tf.io.serialize_tensor``.

    >>> parse_tensor(serialize_tensor([1, 2]), "int32").numpy().tolist()
    [1, 2]
    """
    x = convert_to_tensor(tensor, name="tensor")
    return apply(SERIALIZE_TENSOR, x, name=name, dtype=x.dtype.base_dtype)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Return the tensor that a string of `serialize_tensor` is.

    Args:
      serialized: [] string.
      out_type: the dtype of the tensor.
      name: name of the operation, by default "ParseTensor".

    Returns:
      A tensor of `out_type`, of unknown shape.

    Raises:
      InvalidArgumentError: (when run) it is no such string, or of another dtype.

    Source: TensorFlow 1.15, ``tf.io.parse_tensor``.

    >>> float(parse_tensor(serialize_tensor(1.5), "float32"))
    1.5
    """
    return apply(PARSE_TENSOR, serialized, name=name, dtype=as_dtype(out_type).base_dtype)


def _check_strings(out_type: DTypeLike) -> None:
    if as_dtype(out_type).base_dtype is not string:
        raise ValueError(f"out_type must be string, got {as_dtype(out_type).name}")


def serialize_sparse(
    sp_input: SparseLike, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Return places, values and shape of a sparse tensor as strings.

    Args:
      sp_input: a `SparseTensor`.
      name: name of the operation, by default "SerializeSparse".
      out_type: must be string.

    Returns:
      [3] string, each a ``TensorProto`` of TensorFlow.

    Raises:
      TypeError: it is no sparse tensor.
      ValueError: `out_type` is another.

    Source: TensorFlow 1.15, ``tf.serialize_sparse``.

    >>> strings = serialize_sparse(dv.SparseTensor([[1]], [7.0], [2]))
    >>> strings.shape.as_list(), strings.dtype.name
    ([3], 'string')
    """
    _check_strings(out_type)
    sparse = as_sparse(sp_input)
    return apply(SERIALIZE_SPARSE, *parts(sparse), name=name, dtype=sparse.dtype.base_dtype)


@with_arguments_of(serialize_sparse)
def serialize_many_sparse(sp_input: SparseLike, name: str | None, out_type: DTypeLike) -> Tensor:
    """Return each row of a sparse tensor as strings. See `serialize_sparse`.

    Args:
      sp_input: a `SparseTensor` of rank 2 or more.
      name: name of the operation, by default "SerializeManySparse".

    Returns:
      [rows, 3] string.

    Source: TensorFlow 1.15, ``tf.serialize_many_sparse``.

    >>> sparse = dv.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    >>> rows = serialize_many_sparse(sparse)
    >>> rows.shape.as_list(), deserialize_many_sparse(rows, dv.int32).values.numpy().tolist()
    ([None, 3], [5, 6])
    """
    _check_strings(out_type)
    sparse = as_sparse(sp_input)
    return apply(SERIALIZE_MANY_SPARSE, *parts(sparse), name=name, dtype=sparse.dtype.base_dtype)


def deserialize_many_sparse(
    serialized_sparse: TensorLike,
    dtype: DTypeLike,
    rank: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Return the sparse tensor whose rows strings are.

    Args:
      serialized_sparse: [rows, 3] string, of `serialize_sparse` or `serialize_many_sparse`.
      dtype: of the values.
      rank: that of each row, where it is known.
      name: name of the operation, by default "DeserializeManySparse".

    Returns:
      A `SparseTensor` of a rank higher by one, as large as the largest row.

    Raises:
      InvalidArgumentError: (when run) they are no such strings, or of another dtype.

    Source: TensorFlow 1.15, ``tf.deserialize_many_sparse``.

    >>> one = dv.SparseTensor([[1]], [7.0], [2])
    >>> rows = dv.stack([serialize_sparse(one), serialize_sparse(one)])
    >>> dv.sparse.to_dense(deserialize_many_sparse(rows, dv.float32)).numpy().tolist()
    [[0.0, 7.0], [0.0, 7.0]]
    """
    kind = as_dtype(dtype).base_dtype
    where, what, shape = apply(DESERIALIZE_MANY_SPARSE, serialized_sparse, name=name, dtype=kind)
    if rank is not None:
        where.set_shape([None, rank + 1])
        shape.set_shape([rank + 1])
    return SparseTensor(where, what, shape)
