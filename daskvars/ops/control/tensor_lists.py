"""Ops on lists of tensors, what `TensorArray` is made of.

A list is a value of dtype variant. The gradient of a list is a list as well, in which a missing
item counts as zero; so gradients pass through loops that read and write item by item without any
tensor of all items being made on the way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32, variant
from daskvars.graph.definitions.opdef import NO_GRADIENT, OpDef, Spec
from daskvars.graph.definitions.patterns import Block, Items
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor
from daskvars.kernels.control import tensor_lists as kernels
from daskvars.shapes import RankedShape

LIST = Spec(variant, None)


def _list(inputs: tuple[Spec, ...], **attrs: Any) -> Spec:
    return LIST


def _item(inputs: tuple[Spec, ...], *, dtype: Any, shape: Any) -> Spec:
    return Spec(dtype, shape)


def _rows(inputs: tuple[Spec, ...], *, dtype: Any, shape: Any) -> Spec:
    count = inputs[1].shape if len(inputs) > 1 else (None,)
    return Spec(dtype, None if shape is None else (*(count or (None,)), *shape))


def _joined(inputs: tuple[Spec, ...], *, dtype: Any, shape: Any) -> Spec:
    return Spec(dtype, None if shape is None else (None, *shape[1:]))


def _like(place: int) -> Any:
    return lambda inputs, **attrs: inputs[place]


def _op(
    type: str, signature: str, dims: str, infer: Any, chained: Any = "", gives_on: bool = False
) -> Callable[..., OpDef]:
    """Return what defines the op of this type, given its kernel, its gradient and other rules."""
    pattern = Items(dims=dims, chained=chained, gives_on=gives_on)
    return functools.partial(OpDef, type, signature, infer, pattern)


def _sizes_of_block(item: Callable[[RankedShape], RankedShape]) -> Any:
    """Return the rule for the attributes of a block that gives items of its lists.

    What is not known of the items, so that a missing one is an error, stays unknown.

    Args:
      item: gives the shape of the items, of that of the result.
    """

    def block(attrs: Mapping[str, Any], block: Block) -> dict[str, Any]:
        if attrs["shape"] is None:
            return dict(attrs)
        sizes = zip(attrs["shape"], item(block.out_shapes[0] or ()), strict=True)
        return {**attrs, "shape": tuple(None if old is None else n for old, n in sizes)}

    return block


_read_of_block = _sizes_of_block(lambda shape: shape)
_rows_of_block = _sizes_of_block(lambda shape: shape[1:])


def _first(op: Operation, dy: Tensor, *rest: Any) -> tuple[Any, ...]:
    return (dy, *[None] * (len(op.inputs) - 1))


# -- gradients: lists of any size, in which a missing item counts as zero --------------------------

LIST_ADD = _op("ListAdd", "*lists:T", "[...]*->[...]", _list)(
    kernels.total, lambda op, dy: [dy] * len(op.inputs)
)
ITEM_LIKE: OpDef = _op("ListItemLike", "list:A, index:I, like:A", "[...],,...->...", _like(2))(
    kernels.item_like, lambda op, dy: (apply(ONLY_ITEM, op.inputs[1], dy), None, None)
)
ONLY_ITEM: OpDef = _op("ListOfItem", "index:I, value:A", ",...->[...]", _list)(
    kernels.only_item, lambda op, dy: (None, apply(ITEM_LIKE, dy, *op.inputs))
)
ROWS_LIKE: OpDef = _op("ListRowsLike", "list:A, like:A", "[...],_...->_...", _like(1))(
    kernels.rows_like, lambda op, dy: (apply(LIST_OF_ROWS, dy), None)
)
LIST_OF_ROWS: OpDef = _op("ListOfRows", "value:A", "_...->[...]", _list)(
    kernels.rows, lambda op, dy: apply(ROWS_LIKE, dy, op.inputs[0])
)
PICKED_LIKE: OpDef = _op(
    "ListPickedLike", "list:A, indices:I, like:A", "[...],,_...->_...", _like(2)
)(kernels.picked_like, lambda op, dy: (apply(LIST_OF_PICKED, op.inputs[1], dy), None, None))
LIST_OF_PICKED: OpDef = _op("ListOfPicked", "indices:I, value:A", ",_...->[...]", _list)(
    kernels.only_items, lambda op, dy: (None, apply(PICKED_LIKE, dy, *op.inputs))
)
JOINED_LIKE = _op("ListJoinedLike", "list:A, like:A, lengths:I", "[_...],_...->_...", _like(1))(
    kernels.joined_like, NO_GRADIENT
)
LIST_OF_JOINED = _op("ListOfJoined", "value:A, list:A", "_...,[_...]->[_...]", _list)(
    kernels.cut_like, NO_GRADIENT
)


def list_sum(lists: list[Tensor]) -> Tensor:
    """Return the sum of lists, item by item."""
    return lists[0] if len(lists) == 1 else apply(LIST_ADD, *lists)


def zero_list() -> Tensor:
    """Return a list in which every item is zero."""
    return apply(RESERVE, -1)


# -- lists -----------------------------------------------------------------------------------------


def _write_gradient(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    _, index, value = op.inputs
    return dy, None, apply(ITEM_LIKE, dy, index, value)


def _unstack_gradient(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    return dy, apply(ROWS_LIKE, dy, op.inputs[1])


def _scatter_gradient(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    _, indices, value = op.inputs
    return dy, None, apply(PICKED_LIKE, dy, indices, value)


def _split_gradient(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    _, value, lengths = op.inputs
    return dy, apply(JOINED_LIKE, dy, value, lengths), None


RESERVE = _op("ListReserve", "size:I", "#->[...]", _list)(kernels.reserve, NO_GRADIENT)
ZEROS = _op("ListZeros", "list:A, empty:A", "[...]->[...]", _list)(kernels.zeros, NO_GRADIENT)
# The gradient of the list that was written to is that of the new one: nothing ever reads, of the
# old list, the item that was not there.
WRITE = _op("ListWrite", "list:A, index:I, value:A", "[...],,...->[...]", _list)(
    kernels.write, _write_gradient
)
READ = _op("ListRead", "list:A, index:I", "[...]->...", _item)(
    kernels.read, lambda op, dy: (apply(ONLY_ITEM, op.inputs[1], dy), None), block=_read_of_block
)
STACK = _op("ListStack", "list:A", "[...]->#...", _rows)(
    kernels.stack, lambda op, dy: apply(LIST_OF_ROWS, dy), block=_rows_of_block
)
UNSTACK = _op("ListUnstack", "list:A, value:A", "[...],_...->[...]", _list)(
    kernels.unstack, _unstack_gradient
)
GATHER = _op("ListGather", "list:A, indices:I", "[...]->_...", _rows)(
    kernels.gather,
    lambda op, dy: (apply(LIST_OF_PICKED, op.inputs[1], dy), None),
    block=_rows_of_block,
)
SCATTER = _op("ListScatter", "list:A, indices:I, value:A", "[...],,_...->[...]", _list)(
    kernels.scatter, _scatter_gradient
)
CONCAT = _op("ListConcat", "list:A", "[_...]->_...", _joined)(
    kernels.concat, lambda op, dy: apply(LIST_OF_JOINED, dy, op.inputs[0]), block=_read_of_block
)


def _split(inputs: tuple[Spec, ...], **attrs: Any) -> Spec:
    value, lengths = inputs[1].shape, inputs[2].shape
    if value == ():
        raise ValueError("Expected value to be at least a vector, but received shape: []")
    if lengths is not None and len(lengths) != 1:
        raise ValueError(
            f"Expected lengths to be a vector, received shape: {shapes.in_brackets(lengths)}"
        )
    return LIST


SPLIT = _op("ListSplit", "list:A, value:A, lengths:I", "[_...],_...->[_...]", _split)(
    kernels.split, _split_gradient
)
SIZE = _op("ListSize", "list:A", "[...]->", lambda inputs: Spec(int32, ()))(
    kernels.size, NO_GRADIENT
)

# -- what changes in a run: what was read of an array, and arrays of gradients ---------------------


def _list_at(inputs: tuple[Spec, ...]) -> Spec:
    """Return what a list is whose indices, or all of it, is looked up in what was read."""
    if len(inputs) not in (2, 3) or inputs[-1].dtype is not variant:
        raise ValueError("wants a list, indices of it or none, and the list that it began with")
    return LIST


READ_ONCE = _op(
    "ListReadOnce",
    "list:A, *indices_and_begin:A",
    "[...]->[...],[]",
    lambda inputs: (_list_at(inputs), LIST),
    "changes",
    gives_on=True,
)(kernels.read_once, _first)
NOT_READ = _op(
    "ListNotRead", "list:A, *indices_and_begin:A", "[...]->[...]", _list_at, "sees", gives_on=True
)(kernels.not_read, _first)
PRESENT = _op("ListPresent", "list:A, begin:A", "[...],[...]->[...]", _list, "sees")(
    kernels.present, _first
)
AGGREGATE = _op(
    "ListAggregate", "list:A, more:A, begin:A", "[...],[...],[...]->[...]", _list, "changes"
)(kernels.aggregate, lambda op, dy: (dy, dy, None))


def built_again(definition: OpDef, inputs: Sequence[Tensor]) -> Tensor:
    """Return the first result of a chained op in a body that is computed a second time.

    A gradient does that: nothing is read or added up twice.
    """
    return apply(LIST_ADD, *inputs[:2]) if definition is AGGREGATE else inputs[0]
