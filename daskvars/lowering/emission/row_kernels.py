"""What a block calls where rows are cut: the kernels that deal in rows that a block owns."""

from __future__ import annotations

import itertools
from typing import Any

from daskvars import chunk_grid
from daskvars.graph.definitions.patterns import ASSEMBLE_ROWS, CONCATENATE_ROWS
from daskvars.kernels.gather_scatter.row_shards import (
    ask_for_rows,
    assemble_rows,
    concatenate_rows,
    rows_given,
    rows_of_table,
)
from daskvars.lowering.plan import RegionInput
from daskvars.lowering.program import Node, concrete
from daskvars.remote.regions.region_program import Call


def block_kernel(node: Node) -> Any:
    """Return what computes a block: another kernel where that gives the rows it owns alone.

    A block of which no input is cut has all rows: small work is repeated in each.
    """
    taken = {axis for axes in node.in_maps for axis in axes if axis >= 0}
    is_partial = any(taken - set(axes) for axes in node.out_maps)
    if is_partial and node.access.combine == ASSEMBLE_ROWS:
        return getattr(node.pattern, "partial", None)
    return node.kernel


def row_attrs(node: Node) -> RegionInput:
    """Return a source of the rows that each block owns, as `own_rows` takes them."""
    (sizes,) = node.cut.values()
    starts = tuple(itertools.accumulate(sizes, initial=0))
    axis, size = node.out_maps[0][0], sum(sizes)
    table: dict[tuple[int, ...], dict[str, Any]] = {
        block: {"offset": starts[block[axis]], "count": sizes[block[axis]], "size": size}
        for block in itertools.product(*map(range, node.grid))
    }
    return RegionInput(None, "attrs", attrs=table)


def own_rows_call(node: Node, args: tuple[int, ...], outs: tuple[int, ...], block: int) -> Call:
    """Return the call that takes a block's own rows out of all."""
    dtypes = tuple(spec.dtype.np for spec in node.specs)
    return Call(
        node.kernel,
        args,
        outs,
        {},
        block=block,
        multiple=True,
        name=node.name,
        views=len(args),  # a slice of each, where they are in order
        shapes=(None,) * len(outs),
        dtypes=dtypes,
    )


def _starts(node: Node) -> dict[str, Any]:
    """Return what tells a lookup how its table is cut, if it is."""
    (sizes, *_) = node.wanted[0] or chunk_grid.whole(concrete(node.inputs[0].spec.shape))
    return {"starts": tuple(itertools.accumulate(sizes, initial=0))}


def ask_call(node: Node, args: tuple[int, ...], out: int) -> Call:
    """Return the call that asks a cut table for rows."""
    attrs = _starts(node)
    return Call(ask_for_rows, args, (out,), attrs, name=node.name, shapes=(None,), dtypes=(None,))


def looked_up_call(
    node: Node, args: tuple[int, ...], outs: tuple[int, ...], shape: Any, is_asked: bool = False
) -> Call:
    """Return the call that looks rows up in a cut table, or waits for those asked for."""
    return Call(
        rows_given if is_asked else rows_of_table,
        args,
        outs,
        {} if is_asked else _starts(node),
        name=node.name,
        shapes=(shape,),
        dtypes=(node.specs[0].dtype.np,),
        fresh=True,
    )


_KERNELS = {ASSEMBLE_ROWS: assemble_rows, CONCATENATE_ROWS: concatenate_rows}  # of `ROW_MERGES`


def merge_rows_call(node: Node, parts: tuple[int, ...], out: int, shape: Any) -> Call:
    """Return the call that puts the rows of all parts together."""
    dtypes = (node.specs[0].dtype.np,)
    return Call(
        _KERNELS[node.kernel],
        parts,
        (out,),
        {},
        name=node.name,
        shapes=(None if node.ragged else shape,),
        dtypes=dtypes,
        views=len(parts) if node.kernel == CONCATENATE_ROWS else 0,  # those of one part alone
        fresh=node.kernel == ASSEMBLE_ROWS,
    )
