"""Pass 9: a sum of products, each summed over the rows of its factors, is one operation.

The gradient by a weight of a network that is written out step after step is a sum of as many
products. Of few rows each is as large as the weight and made in no time, so that what takes the
time is to write all of them and to add them up (m, a step of an LSTM of two layers of 650 units, 35
times written out, of 20 examples: 1.5 s, without it 1.0). As one operation the rows of all steps
are multiplied at once (`kernels.control.summed_products`), as those of a loop are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.patterns import Sum
from daskvars.lowering.program import Leaf, Node, Program, Ref, used_values

FEWEST = 4  # products: of two or three small ones it takes longer to see to it (m, 48 us and 38)


def join_products(program: Program) -> Program:
    """Return `program` with sums of products of alike factors as one operation each."""
    for node in program.nodes:
        for subgraph in node.subgraphs:
            join_products(subgraph)
    if not any(isinstance(node.pattern, Sum) for node in program.nodes):
        return program
    nodes, num_uses = list[Node](), used_values(program)
    for node in program.nodes:
        if isinstance(node.pattern, Sum):
            _join(node, nodes, num_uses)
        nodes.append(node)
    program.nodes = nodes
    program.drop_dead()
    return program


def _join(node: Node, made: list[Node], num_uses: Counter[Ref]) -> None:
    """Let a sum take the sums of products in their place, or be one; `made` gets these."""
    alike = defaultdict[tuple[Any, ...], list[Ref]](list)
    for ref in node.inputs:
        opdef = _op_of_sum(ref, node, num_uses)
        if opdef is not None:
            alike[opdef, *(factor.spec for factor in ref.producer.inputs)].append(ref)
    for (opdef, *_), products in alike.items():
        if len(products) < FEWEST:
            continue
        gone, is_all = set(products), len(products) == len(node.inputs)
        total = node if is_all else node.copy()
        others = [ref for ref in node.inputs if ref not in gone]
        total.opdef, total.kernel = opdef, opdef.kernel
        total.inputs = [factor for ref in products for factor in ref.producer.inputs]
        if not is_all:
            made.append(total)
            node.inputs = [Ref(total), *others]


def _op_of_sum(ref: Ref, total: Node, num_uses: Counter[Ref]) -> OpDef | None:
    """Return the op that makes the sum of values such as this one, which nothing else takes."""
    node = ref.node
    if isinstance(node, Leaf) or num_uses[ref] > 1 or node.device != total.device:
        return None
    if node.opdef is None or node.opdef.summed is None:
        return None
    return node.opdef.summed([factor.spec for factor in node.inputs], node.attrs)
