"""The ops of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from daskvars.backend import ArrayModule
from daskvars.dtypes import DType, int64, string
from daskvars.errors import invalid
from daskvars.execution.host_ops.resources import Call
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import HostCall, Opaque
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.rules.shapes import merged_shape, no_results
from daskvars.shapes import in_brackets
from daskvars.v1.lookup.contents import Table, table_of
from daskvars.v1.lookup.files import pairs_of_lines

_Array = NDArray[Any]
_HANDLE = Spec(string, ())
_ATTRIBUTES = {
    "container": kinds_of.TEXT,
    "delimiter": kinds_of.TEXT,
    "dtypes": kinds_of.tuple_of(kinds_of.DTYPE),
    "grows": kinds_of.BOOL,
    "indices": kinds_of.PAIR,
    "shape": kinds_of.SHAPE,
    "shared_name": kinds_of.TEXT,
    "vocab_size": kinds_of.INT,
}


def _op(type: str, signature: str, infer: Any, kernel: Any, in_bodies: bool = False) -> OpDef:
    pattern = Opaque(pure=False) if in_bodies else HostCall()
    return without_gradient(type, signature, infer, kernel, pattern, attributes=_ATTRIBUTES)


# -- in the process of a session ------------------------------------------------------------------


def _make(
    call: Call,
    *,
    shared_name: str,
    container: str = "",
    dtypes: tuple[DType, DType],
    shape: Any,
    grows: bool,
) -> _Array:
    name = call.name_of(shared_name, container)
    found = call.resources.get(name, lambda: Table(name, dtypes, shape, grows))
    wanted = (*dtypes, shape, grows)
    if (
        not isinstance(found, Table)
        or (found.key_dtype, found.value_dtype, found.shape, found.grows) != wanted
    ):
        raise invalid(f"what is shared as '{name}' is no table, or one of other keys and values")
    return numpy.array(found.handle, object)


def _fill(call: Call, handle: _Array, keys: _Array, values: _Array) -> tuple:
    if not keys.size:
        raise invalid("keys and values cannot be empty tensors.")
    if keys.shape != values.shape:
        raise invalid(
            f"Expected shape {in_brackets(keys.shape)} for value, got {in_brackets(values.shape)}"
        )
    table_of(handle).fill(keys.reshape(-1).tolist(), values.reshape(-1).tolist())
    return ()


def _fill_from_file(
    call: Call,
    handle: _Array,
    filename: _Array,
    *,
    indices: tuple[int, int],
    vocab_size: int,
    delimiter: str,
) -> tuple:
    table = table_of(handle)
    dtypes = table.key_dtype, table.value_dtype
    table.fill(*pairs_of_lines(filename.item(), indices, dtypes, vocab_size, delimiter))
    return ()


def _insert(call: Call, handle: _Array, keys: _Array, values: _Array) -> tuple:
    table_of(handle).put(keys, values)
    return ()


def _remove(call: Call, handle: _Array, keys: _Array) -> tuple:
    table_of(handle).take_out(keys)
    return ()


def _import(call: Call, handle: _Array, keys: _Array, values: _Array) -> tuple:
    table_of(handle).replace(keys, values)
    return ()


def _export(call: Call, handle: _Array, **attrs: Any) -> tuple[_Array, _Array]:
    return table_of(handle).exported()


def _exported(
    inputs: Sequence[Spec], *, dtypes: tuple[DType, DType], shape: Any
) -> tuple[Spec, Spec]:
    return Spec(dtypes[0], (None,)), Spec(dtypes[1], (None, *shape))


# -- there, and in bodies of functions ------------------------------------------------------------


def _find(place: Call | ArrayModule, handle: _Array, keys: _Array, default: _Array) -> _Array:
    return table_of(handle).find(keys, default)


def _found(inputs: Sequence[Spec]) -> Spec:
    _, keys, default = inputs
    if keys.shape is None or default.shape is None:
        return Spec(default.dtype.base_dtype, None)
    return Spec(default.dtype.base_dtype, (*keys.shape, *default.shape))


def _size(place: Call | ArrayModule, handle: _Array) -> _Array:
    return numpy.asarray(table_of(handle).size(), numpy.int64)


def _both(type: str, signature: str, infer: Any, kernel: Any) -> Callable[..., Tensor]:
    outside = _op(type, signature, infer, kernel)
    inside = _op(f"{type}InBody", signature, infer, kernel, in_bodies=True)

    def made(*inputs: Any, name: str | None = None) -> Tensor:
        is_body = builder_for(()).is_body
        return apply(inside if is_body else outside, *inputs, name=name or type)

    return made


find = _both("LookupTableFindV2", "handle:S, keys:A, default:A", _found, _find)
size = _both("LookupTableSizeV2", "handle:S", lambda inputs: Spec(int64, ()), _size)
HASH_TABLE, MUTABLE = (
    _op(type, "", lambda inputs, **attrs: _HANDLE, _make)
    for type in ("HashTableV2", "MutableHashTableV2")
)


def _pairs(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, ...]:
    merged_shape(inputs[1].shape, inputs[2].shape)
    return ()


def _of_file(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, ...]:
    if inputs[1].shape not in (None, ()):
        raise ValueError(
            f"a table is filled from one file, whose name is a scalar; got names of shape "
            f"{in_brackets(inputs[1].shape)}"
        )
    return ()


FILL = _op("InitializeTableV2", "handle:S, keys:A, values:A", _pairs, _fill)
FILL_FROM_FILE = _op(
    "InitializeTableFromTextFileV2", "handle:S, filename:S", _of_file, _fill_from_file
)
INSERT = _op("LookupTableInsertV2", "handle:S, keys:A, values:A", no_results, _insert)
REMOVE = _op("LookupTableRemoveV2", "handle:S, keys:A", no_results, _remove)
IMPORT = _op("LookupTableImportV2", "handle:S, keys:A, values:A", no_results, _import)
EXPORT = _op("LookupTableExportV2", "handle:S", _exported, _export)


def make(
    dtypes: tuple[DType, DType], shape: Any, grows: bool, shared_name: str | None, name: str
) -> Tensor:
    """Return the handle of a new table."""
    return apply(
        MUTABLE if grows else HASH_TABLE,
        name=name,
        dtypes=dtypes,
        shape=tuple(shape),
        grows=grows,
        shared_name=shared_name or "",
        container=builder_for(()).container_name,
    )


def changed(opdef: OpDef, *inputs: Any, name: str | None, **attrs: Any) -> Operation:
    """Return an operation that changes a table."""
    return apply_op(opdef, *inputs, name=name or opdef.type, **attrs)


def export(handle: Tensor, dtypes: tuple[DType, DType], shape: Any, name: str) -> Any:
    """Return all keys and values of a table."""
    return apply(EXPORT, handle, name=name, dtypes=dtypes, shape=tuple(shape))
