"""Pass 4: what operations compute of the same in the same way is computed once.

Programs say things twice where each of their parts sees to what it needs: of a feature column each
layer that takes it looks up its texts, and gradients go through the same steps. TensorFlow does as
much before it runs a graph.

What takes no time beside what it costs to keep it is made again: large arrays of elementwise
operations, which are gone through tile by tile. So are results, which are memory of their own.
"""

from __future__ import annotations

import math
from typing import Any

from daskvars import config
from daskvars.graph.definitions.patterns import Effect, Elementwise, Held, Opaque, Source
from daskvars.lowering.program import CONSTANT, Node, Program, Ref, is_visible
from daskvars.lowering.rewrites.keep_values import identity, same_call
from daskvars.shape_arithmetic import is_known


def compute_once(program: Program) -> Program:
    """Return `program` without what it computes a second time."""
    for node in program.nodes:
        for subgraph in node.subgraphs:
            compute_once(subgraph)
    first: dict[Any, Ref] = {}
    same: dict[Ref, Ref] = {}
    for leaf in program.leaves.values():
        if leaf.kind == CONSTANT:
            same[Ref(leaf)] = first.setdefault((identity(leaf), leaf.specs[0]), Ref(leaf))
    results = {id(ref.node) for ref in program.results()}
    made: dict[Any, Node] = {}
    for node in program.nodes:
        node.inputs = [same.get(ref, ref) for ref in node.inputs]
        if id(node) in results or not _may_be_shared(node):
            continue
        other = made.setdefault(same_call(node, node.inputs), node)
        if other is not node:
            same.update((Ref(node, i), Ref(other, i)) for i in range(len(node.specs)))
    program.drop_dead()
    return program


def _may_be_shared(node: Node) -> bool:
    """Return whether nobody can tell how often a node is run, and once is less work."""
    pattern = node.pattern
    if node.subgraphs or is_visible(node) or isinstance(pattern, Effect | Source):
        return False
    if isinstance(pattern, Opaque) and (pattern.chained or pattern.gives_on):
        return False
    shapes = [spec.shape for spec in node.specs]
    if any(isinstance(shape, Held) for shape in shapes):
        return False
    is_large = is_known(shapes[0]) and math.prod(shapes[0]) >= config.get().tile_min_elements
    return not (isinstance(pattern, Elementwise) and is_large)
