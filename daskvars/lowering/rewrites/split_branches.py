"""Pass 7: of a branch's results, those that share no work become operations of their own.

An optimizer's step that is taken only where gradients are finite, or at each fourth batch, is one
operation that gives every variable. It would be one task, or one for each way in which the blocks
of all variables go together. Apart, each variable's part is cut as its update would be outside of
a branch, by its owners; all of them ask the same predicate.

What is small is computed again by each that takes it (a learning rate), or stays with what else is
small: an operation more costs a few microseconds a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from daskvars.lowering.program import (
    PARAMETER,
    Leaf,
    Node,
    Program,
    Ref,
    runs_visibly,
    spec_bytes,
)
from daskvars.shapes import is_known

MIN_APART_BYTES = 1 << 16  # of a result, or of what it takes, to be an operation of its own


def split_branches(program: Program) -> Program:
    """Return `program` with a node for each part of a branch that shares no work with others."""
    for node in program.nodes:
        for subgraph in node.subgraphs:
            split_branches(subgraph)
    moved: dict[Ref, Ref] = {}
    nodes: list[Node] = []
    for node in program.nodes:
        parts = _parts(node)
        if len(parts) < 2:
            nodes.append(node)
            continue
        for outputs in parts:
            part = _part(node, outputs)
            nodes.append(part)
            moved.update((Ref(node, i), Ref(part, n)) for n, i in enumerate(outputs))
    if moved:
        program.nodes = nodes
        program.map_refs(lambda ref: moved.get(ref, ref))
        program.drop_dead()
    return program


def _parts(node: Node) -> list[list[int]]:
    """Return the outputs of a node in groups that share no work; one group if it is to stay."""
    flow = node.flow
    if (
        flow is None
        or len(flow.given) != len(node.specs)
        or len(node.specs) < 2
        or runs_visibly(node)
    ):
        return []
    groups = list(range(len(node.specs)))  # of each output, the first of those it shares work with
    is_large = [not _is_small(Ref(node, i)) for i in groups]
    for branch in node.subgraphs:
        is_light = _is_light(branch)
        first: dict[int, int] = {}  # node of the branch -> the first output that it works for
        for i, ref in enumerate(branch.outputs):
            is_large[i] |= not (_is_small(ref) and is_light.get(id(ref.node), True))
            ahead = [ref.node]
            while ahead:
                inner = ahead.pop()
                if isinstance(inner, Leaf) or is_light[id(inner)]:
                    continue
                if id(inner) in first:
                    own, other = groups[i], groups[first[id(inner)]]
                    groups = [other if each == own else each for each in groups]
                    continue
                first[id(inner)] = i
                ahead += [taken.node for taken in inner.inputs]
    members: dict[int, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    parts = [each for each in members.values() if any(is_large[i] for i in each)]
    rest = [i for each in members.values() if each not in parts for i in each]
    return [*parts, rest] if rest else parts


def _is_light(branch: Program) -> dict[int, bool]:
    """Return of each node whether it, and all that it is made from, is small: it is made again."""
    found: dict[int, bool] = {}
    for node in branch.nodes:
        refs = [*node.inputs, *(Ref(node, i) for i in range(len(node.specs)))]
        found[id(node)] = not node.subgraphs and all(
            _is_small(ref) and found.get(id(ref.node), True) for ref in refs
        )
    return found


def _is_small(ref: Ref) -> bool:
    return is_known(ref.spec.shape) and spec_bytes(ref.spec) < MIN_APART_BYTES


def _part(node: Node, outputs: Sequence[int]) -> Node:
    """Return a node that gives some of the outputs, and takes what these need."""
    branches = [_only(branch, outputs) for branch in node.subgraphs]
    leaves = [leaf for branch in branches for leaf in branch.leaves.values()]
    used = {0, *(leaf.what for leaf in leaves if leaf.kind == PARAMETER)}  # the predicate is first
    places = {old: new for new, old in enumerate(sorted(used))}
    for branch in branches:
        branch.renumber(places)
    part = node.copy()
    part.inputs = [node.inputs[place] for place in places]
    part.specs = tuple(node.specs[i] for i in outputs)
    part.attrs = {
        **node.attrs,
        "written": tuple(places[at] for at in node.attrs["written"] if at in places),
        "keyed": tuple(places[at] for at in node.attrs["keyed"] if at in places),
    }
    part.subgraphs = tuple(branches)
    return part


def _only(branch: Program, outputs: Sequence[int]) -> Program:
    """Return the part of a branch that gives some of its outputs."""
    part = branch.copy()
    part.outputs = [part.outputs[i] for i in outputs]
    part.drop_dead()
    return part
