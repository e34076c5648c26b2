"""Which kernels may be called for pieces of their inputs (`remote.regions.pieces`)."""

from __future__ import annotations

from daskvars.graph.definitions.patterns import Contraction, Dims
from daskvars.lowering.program import Node, concrete
from daskvars.remote.regions.pieces import WHOLE, Pieces, cut_of, with_result
from daskvars.shapes import is_known


def pieces_of(node: Node) -> Pieces | None:
    """Return along what the arrays of a node may be cut that the planner has left whole.

    None for those of which it is known that they are small.
    """
    return may_be_in_pieces(node) if node.layouts else None


def may_be_in_pieces(node: Node) -> Pieces | None:
    """Return the same of a node that may not be laid out yet."""
    pattern, access = node.pattern, node.access
    is_cut = any(count > 1 for count in node.grid)
    if is_cut or not isinstance(pattern, Contraction) or node.operands or node.multiple:
        return None
    shapes = [ref.spec.shape for ref in node.inputs]
    result = node.specs[0].shape
    if result is None or None in shapes or not access.outputs:
        return None
    assert node.opdef is not None
    has_block_attrs = node.opdef.block is not None
    if has_block_attrs and not pattern.takes_any_batch:
        return None
    found = Pieces(
        tuple(map(_labels, access.inputs)),
        _labels(access.outputs[0]),
        access.combine_of(0) == "add",
        pattern.multiplied(access),
        has_block_attrs,
        tuple(result),
    )
    if all(map(is_known, (*shapes, result))):
        every = with_result(found, tuple(map(concrete, shapes)))
        itemsize = node.inputs[0].spec.dtype.np.itemsize
        if every is None or cut_of(found, every, itemsize) is None:
            return None
    return found


def _labels(dims: Dims) -> tuple[int, ...]:
    return tuple(WHOLE if dim is None or dim.factor != 1 else dim.label for dim in dims)
