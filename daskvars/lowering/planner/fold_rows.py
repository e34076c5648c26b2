"""A large sum over everything is the sum of what its rows sum up to.

So the gradients of a variable that workers own by rows are summed up where they are (for the norm
that they are clipped by), and so is the variable (for its decay): a number for each row travels.
How often such a variable is cut is a matter of the number of workers, which no bit of a result may
depend on. Parts would have other sums, so that all of it had to come to one worker; rows are the
same however they are cut. What the user, or the batch, has cut is summed up by its parts.

It costs nothing where nothing is cut: what squares a large array and sums its rows does so tile by
tile, and writes no squares.
"""

from __future__ import annotations

import math

from daskvars.dtypes import FLOATING
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Reduction
from daskvars.lowering.planner.propagate import by_dimension
from daskvars.lowering.program import Node, Program, Ref, concrete, spec_bytes
from daskvars.ops.math.reduce import SUM
from daskvars.shapes import is_known

MIN_CUT_BYTES = 1 << 20  # of a variable that is cut for its update: a chunk is worth its message
SHORT_ROW = 16  # elements: what begins each row costs more than to add up so few


def fold_rows(program: Program) -> Program:
    """Return `program` with large sums over everything in two steps."""
    nodes: list[Node] = []
    for node in program.nodes:
        if not node.grid and _is_large_sum(node):
            nodes.append(_rows_of(node))
            node.opdef, node.kernel, node.inputs = SUM, SUM.kernel, [Ref(nodes[-1])]
            node.attrs, node.in_maps = {"axis": (0,), "keepdims": False}, [(-1,)]
        nodes.append(node)
    program.nodes = nodes
    return program


def _is_large_sum(node: Node) -> bool:
    pattern = node.pattern
    if not isinstance(pattern, Reduction) or pattern.rows is None or node.operands:
        return False
    spec = node.inputs[0].spec
    shape, rank = spec.shape, len(spec.shape or ())
    if not is_known(shape) or rank < 2 or len(pattern.folded(node.attrs, rank)) < rank:
        return False
    is_precise = spec.dtype in FLOATING and spec.dtype.np.itemsize >= 4
    is_large = spec_bytes(spec) >= MIN_CUT_BYTES and math.prod(shape[1:]) >= SHORT_ROW
    return is_precise and is_large and not node.attrs.get("keepdims")


def _rows_of(node: Node) -> Node:
    """Return what sums up the rows of what a node does, in the blocks that these are in."""
    rows, (ref,) = node.copy(), node.inputs
    assert isinstance(node.pattern, Reduction)
    shape = concrete(ref.spec.shape)
    rows.kernel, rows.attrs = node.pattern.rows, {"axis": tuple(range(1, len(shape)))}
    rows.specs, rows.layouts = (Spec(ref.spec.dtype, shape[:1]),), [None]
    rows.out_maps = [(-1,)]
    if ref.layout is not None and all(len(sizes) == 1 for sizes in ref.layout[1:]):
        rows.wanted, rows.layouts = [ref.layout], [ref.layout[:1]]
        axes, rows.grid = by_dimension(ref.layout)
        rows.in_maps, rows.out_maps = [axes], [axes[:1]]
    return rows
