"""Pass 12 of asynchronous training: the update apart from the gradients.

A training run reads variables twice: forward and backward compute gradients from the values that
the variables had when the run began; the update makes a new value of each variable from its value
and the gradient. Where other clients update the variables meanwhile, gradients may be stale (of an
older version), but the update must not be, or theirs were lost. So an operation that changes a
variable (``assign_add``, ``scatter_sub``) takes its newest value, and so do the reads that
optimizers make for their formulas (`ops.state.assign.reading_newest`); all other reads may be
stale. What depends on the newest version (`Node.needs_newest`) forms regions of its own, which run
on whatever is newest by then.

A value that is assigned replaces what others have made of the variable, unless it was computed from
the newest one: ``v.assign(v + 1)`` of two clients may add one, ``v.assign_add(1)`` adds two.
"""

from __future__ import annotations

from collections import defaultdict

from daskvars.graph.definitions.patterns import Elementwise
from daskvars.lowering.program import STATE, Leaf, Node, Program


def split_update(program: Program) -> Program:
    """Mark the nodes that need the newest version."""
    consumers: dict[int, list[Node]] = defaultdict(list)
    for node in program.nodes:
        for ref in node.inputs:
            consumers[id(ref.node)].append(node)
        node.needs_newest = any(
            ref.node.kind == STATE if isinstance(ref.node, Leaf) else ref.node.needs_newest
            for ref in node.inputs
        )
    wanted = {id(ref.node) for ref in program.results()}
    for node in reversed(program.nodes):
        users = consumers[id(node)]
        if users and id(node) not in wanted and all(user.needs_newest for user in users):
            node.needs_newest = node.needs_newest or _is_scaling(node)
    return program


def _is_scaling(node: Node) -> bool:
    """Return whether a node is elementwise on one array, so that to move it costs no transfers."""
    pattern = node.pattern
    arrays = {ref for ref in node.inputs if ref.spec.shape != () and not isinstance(ref.node, Leaf)}
    return isinstance(pattern, Elementwise) and len(arrays) <= 1
