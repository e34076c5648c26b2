"""What a block calls where rows are cut: the kernels that deal in rows that a block owns."""

from __future__ import annotations

import itertools
from typing import Any

from daskvars.graph.definitions.patterns import ASSEMBLE_ROWS
from daskvars.kernels.gather_scatter.row_shards import assemble_rows
from daskvars.lowering.plan import RegionInput
from daskvars.lowering.program import Node
from daskvars.remote.regions.program import Call


def block_kernel(node: Node) -> Any:
    """Return what computes a block: another kernel where that gives the rows it owns alone."""
    is_partial = any(set(range(len(node.grid))) - set(axes) for axes in node.out_maps)
    if is_partial and node.access.combine == ASSEMBLE_ROWS:
        return getattr(node.pattern, "partial", None)
    return node.kernel


def row_attrs(node: Node) -> RegionInput:
    """Return a source of the rows that each block owns, as `own_rows` takes them."""
    (sizes,) = node.cut.values()
    starts = itertools.accumulate(sizes, initial=0)
    table: dict[tuple[int, ...], dict[str, Any]] = {
        (number,): {"offset": start, "count": count, "size": sum(sizes)}
        for number, (start, count) in enumerate(zip(starts, sizes, strict=False))
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
        shapes=(None,) * len(outs),
        dtypes=dtypes,
    )


def assemble_rows_call(node: Node, parts: tuple[int, ...], out: int, shape: Any) -> Call:
    """Return the call that puts the rows of all parts together."""
    dtypes = (node.specs[0].dtype.np,)
    return Call(
        assemble_rows, parts, (out,), {}, name=node.name, shapes=(shape,), dtypes=dtypes, fresh=True
    )
