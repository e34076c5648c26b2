"""What is fed and then taken apart, rows after rows, is fed in those pieces.

So programs are cut that have a copy of the network for each piece of a batch (towers, one for each
GPU): the batch is no dimension of what they compute with, but that of each piece is. Pieces are
views of what is fed, and it costs nothing to send them instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy

from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Movement
from daskvars.lowering.program import (
    CONSTANT,
    FEED,
    FeedRows,
    Leaf,
    Node,
    Program,
    Ref,
    concrete,
)


def take_apart(
    program: Program, names: Sequence[str], leaves: dict[tuple[str, Any], Leaf]
) -> list[str]:
    """Have feeds that are only taken apart replaced by their pieces, and return names for all.

    Args:
      program: with shapes and labels.
      names: of the feeds; pieces are numbered after them.
      leaves: those that may be cut; pieces take the place of what they are of.
    """
    users: dict[int, list[Node]] = defaultdict(list)
    for node in program.nodes:
        for ref in dict.fromkeys(node.inputs):
            users[id(ref.node)].append(node)
    given = {id(ref.node) for ref in program.results()}
    found, moved = list(names), dict[Ref, Ref]()
    for identity, leaf in list(leaves.items()):
        pieces = _pieces(leaf, users[id(leaf)]) if id(leaf) not in given else {}
        for ref, (start, stop) in pieces.items():
            leaves.pop(identity, None)
            moved[ref] = program.leaf(FEED, len(found), ref.spec)
            leaves[FEED, len(found)] = moved[ref].leaf
            program.pieces += (FeedRows(leaf.what, start, stop),)
            found.append(f"{names[leaf.what]}[{start}:{stop}]")
    if moved:
        program.map_refs(lambda ref: moved.get(ref, ref))
        program.drop_dead()
    return found


def _pieces(leaf: Leaf, users: list[Node]) -> dict[Ref, tuple[int, int]]:
    """Return the pieces of a feed: {} unless it is only taken apart, each row for one of them."""
    spec = leaf.specs[0]
    if leaf.kind != FEED:
        return {}
    found: dict[Ref, tuple[int, int]] = {}
    for node in users:
        rows = _rows_given(node, spec) if node.inputs[0] == Ref(leaf) else None
        if rows is None:
            return {}
        found.update((Ref(node, i), each) for i, each in enumerate(rows))
    num_rows = sum(stop - start for start, stop in found.values())
    return found if num_rows <= concrete(spec.shape)[0] else {}


def _rows_given(node: Node, spec: Spec) -> list[tuple[int, int]] | None:
    """Return which rows of its first input each output of a node is, None if they are none.

    Its kernel is asked, which moves elements and looks at none.
    """
    is_fixed = all(isinstance(r.node, Leaf) and r.node.kind == CONSTANT for r in node.inputs[1:])
    if not isinstance(node.pattern, Movement) or not is_fixed or node.operands or not spec.shape:
        return None
    shape, (first, *rest) = concrete(spec.shape), node.access.inputs[0]
    if 0 in shape or first is not None:
        return None  # nothing to take apart, or its rows go together through what it does
    for dims, (_, given) in zip(node.access.outputs, node.specs, strict=True):
        if not given or given[1:] != shape[1:] or list(dims[1:]) != rest:
            return None
    if any(dim is None and n > 1 for dim, n in zip(rest, shape[1:], strict=True)):
        return None
    numbers = numpy.broadcast_to(numpy.arange(shape[0]).reshape(-1, *[1] * len(rest)), shape)
    attrs = {k: v for k, v in node.attrs.items() if k[0] != "_"}
    kernel = getattr(numpy, node.kernel) if isinstance(node.kernel, str) else node.kernel
    parts = kernel(numpy, numbers, *(ref.leaf.what for ref in node.inputs[1:]), **attrs)
    found = []
    for part in parts if node.multiple else (parts,):
        rows = part.reshape(len(part), -1)[:, 0]
        if not len(rows) or (numpy.diff(rows) != 1).any():
            return None
        found.append((int(rows[0]), int(rows[-1]) + 1))
    return found
