"""Sparse tensors as components of queues: packed into one string each, and unpacked as a batch."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from daskvars.dtypes import DType, int64, string
from daskvars.errors import invalid
from daskvars.execution.host_ops.resources import Call, host_op
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor

_Array = NDArray[Any]


def _written(*arrays: _Array) -> bytes:
    file = io.BytesIO()
    for array in arrays:
        if array.dtype == object:  # of strings: their lengths, and all of them
            lengths = numpy.array([len(item) for item in array], numpy.int64)
            joined = numpy.frombuffer(b"".join(array), numpy.uint8)
            file.write(_written(lengths, joined))
        else:
            numpy.save(file, array, allow_pickle=False)
    return file.getvalue()


def _read(packed: bytes, dtype: DType) -> tuple[_Array, _Array, _Array]:
    """Return the indices, values and shape of a packed tensor."""
    file = io.BytesIO(packed)

    def array() -> _Array:
        found: _Array = numpy.load(file, allow_pickle=False)
        return found

    places, sizes = array(), array()
    if dtype != string:
        return places, array(), sizes
    ends, joined = array().cumsum(), array().tobytes()
    starts = [0, *ends[:-1].tolist()]
    values = [joined[start:end] for start, end in zip(starts, ends.tolist(), strict=False)]
    return places, numpy.array(values, object), sizes


def _pack(call: Call, places: _Array, values: _Array, sizes: _Array, *, many: bool) -> _Array:
    if not many:
        return numpy.array(_written(places, sizes, values), object)
    # The places are in the order of rows: one row's elements are side by side.
    rows = numpy.arange(sizes[0] + 1)
    ends = numpy.searchsorted(places[:, 0], rows)
    each = numpy.empty(int(sizes[0]), object)
    for row, (start, end) in enumerate(itertools.pairwise(ends.tolist())):
        each[row] = _written(places[start:end, 1:], sizes[1:], values[start:end])
    return each


def _unpack(call: Call, packed: _Array, *, dtype: DType, rank: int | None) -> tuple[_Array, ...]:
    found = [_read(item, dtype) for item in packed]
    sizes = [each[2] for each in found]
    if any(size.shape != sizes[0].shape for size in sizes):
        raise invalid(f"sparse tensors of different ranks make no batch: {sizes}")
    places = [
        numpy.insert(each[0], 0, row, axis=1) for row, each in enumerate(found) if len(each[0])
    ]
    inner = numpy.max(sizes, axis=0) if sizes else numpy.zeros(rank or 0, numpy.int64)
    kind = dtype.as_numpy_dtype if dtype != string else object
    return (
        numpy.concatenate([*places, numpy.empty((0, len(inner) + 1), numpy.int64)]),
        numpy.concatenate([*(each[1] for each in found), numpy.empty(0, kind)]).astype(kind),
        numpy.array([len(found), *inner], numpy.int64),
    )


def _unpacked(inputs: Sequence[Spec], *, dtype: DType, rank: int | None) -> tuple[Spec, ...]:
    of_batch = None if rank is None else rank + 1
    return (Spec(int64, (None, of_batch)), Spec(dtype, (None,)), Spec(int64, (of_batch,)))


PACK = host_op(
    "PackSparse",
    "indices:I, values:A, dense_shape:I",
    infer=lambda inputs, *, many: Spec(string, (None,) if many else ()),
    kernel=_pack,
    attributes={"many": kinds_of.BOOL},
)
UNPACK = host_op(
    "UnpackSparse",
    "packed:S",
    infer=_unpacked,
    kernel=_unpack,
    attributes={"dtype": kinds_of.DTYPE, "rank": kinds_of.either(kinds_of.NONE, kinds_of.INT)},
)


def packed(sp: SparseTensor, many: bool) -> Tensor:
    """Return a sparse tensor as a string, or with `many` each row of it."""
    return apply(PACK, sp.indices, sp.values, sp.dense_shape, many=many)


def unpacked(batch: Tensor, dtype: DType, rank: int | None) -> SparseTensor:
    """Return a batch of packed tensors, of known or unknown rank, as one with a dimension more."""
    return SparseTensor(*apply(UNPACK, batch, dtype=dtype, rank=rank))
