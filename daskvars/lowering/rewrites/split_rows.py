"""Pass 8: a large sum over rows that are put together is the sum of what each piece sums up to.

The gradient of a table that is looked up several times is the rows of all lookups, one after the
other: to put them together they would all come to one worker, for no more than the norm that they
are clipped by. Their update takes them lookup by lookup as well (`route_updates`, `in_pieces`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Elementwise, Movement, Reduction
from daskvars.lowering.program import (
    Leaf,
    Node,
    Program,
    Ref,
    concrete,
    num_elements,
    spec_bytes,
    used_values,
)
from daskvars.ops.math.arithmetic import ADD_N
from daskvars.shapes import is_known

MIN_BYTES = 1 << 16  # of what is summed up: a sum more for each piece costs a few microseconds


def split_rows(program: Program) -> Program:
    """Return `program` with large sums over everything made piece by piece."""
    if not any(map(_is_large_sum, program.nodes)):
        return program
    nodes: list[Node] = []
    num_uses = used_values(program)
    for node in program.nodes:
        pieces = in_pieces(node.inputs[0], nodes, num_uses) if _is_large_sum(node) else None
        if pieces is not None:
            sums = [_of(node, [piece], node.specs[0]) for piece in pieces.values]
            nodes += sums
            node.opdef, node.kernel, node.attrs = ADD_N, ADD_N.kernel, {}
            node.inputs = [Ref(each) for each in sums]
        nodes.append(node)
    if len(nodes) > len(program.nodes):
        program.nodes = nodes
        program.drop_dead()
    return program


def _is_large_sum(node: Node) -> bool:
    pattern = node.pattern
    if not isinstance(pattern, Reduction) or pattern.rows is None or node.operands:
        return False
    return num_elements(node.specs[0].shape) == 1 and spec_bytes(node.inputs[0].spec) >= MIN_BYTES


class Pieces(NamedTuple):
    """Values that are put together, row after row, and the node that does, or did."""

    node: Node
    values: list[Ref]


def in_pieces(
    ref: Ref, made: list[Node], num_uses: Mapping[Ref, int] | None = None
) -> Pieces | None:
    """Return what a value is put together from, None if it is not.

    Args:
      ref: a value.
      made: to it goes what is computed of a piece where the value is computed of all of them.
      num_uses: how often values are taken: nothing is computed again that others take.
    """
    node, shape = ref.node, ref.spec.shape
    if isinstance(node, Leaf) or not shape or not is_known(shape):
        return None
    if _puts_together(node):
        return Pieces(node, list(node.inputs))
    if not isinstance(node.pattern, Elementwise) or node.operands or len(node.specs) > 1:
        return None
    if num_uses is not None and num_uses[ref] > 1:
        return None
    has_rows = [len(taken.spec.shape or ()) == len(shape) for taken in node.inputs]
    if sum(has_rows) != 1:
        return None
    pieces = in_pieces(node.inputs[has_rows.index(True)], made, num_uses)
    if pieces is None:
        return None
    found = []
    for piece in pieces.values:
        inputs = [piece if has else t for t, has in zip(node.inputs, has_rows, strict=True)]
        rows = concrete(piece.spec.shape)[0]
        found.append(_of(node, inputs, Spec(ref.spec.dtype, (rows, *shape[1:]))))
    made += found
    return Pieces(pieces.node, [Ref(each) for each in found])


def _of(node: Node, inputs: list[Ref], spec: Spec) -> Node:
    """Return a node that computes the same of other inputs."""
    copy = node.copy()
    copy.inputs, copy.specs = inputs, (spec,)
    return copy


def _puts_together(node: Node) -> bool:
    """Return whether a node puts what it takes one after the other."""
    shapes = [ref.spec.shape for ref in node.inputs]
    if not isinstance(node.pattern, Movement) or node.operands or node.attrs.get("axis") != 0:
        return False
    if not all(map(is_known, [*shapes, node.specs[0].shape])):
        return False
    lengths = [concrete(shape)[0] for shape in shapes]
    return len(lengths) > 1 and concrete(node.specs[0].shape)[:1] == (sum(lengths),)
