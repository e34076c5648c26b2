"""Pass 9: a sum of products, each summed over the rows of its factors, is one operation.

The gradient by a weight of a network that is written out step after step is a sum of as many
products. Of few rows each is as large as the weight and made in no time, so that what takes the
time is to write all of them and to add them up (m, a step of an LSTM of two layers of 650 units, 35
times written out, of 20 examples: 1.5 s, without it 1.0). As one operation the rows of all steps
are multiplied at once (`kernels.control.summed_products`), as those of a loop are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable

from daskvars.kernels.control.summed_products import are_joined
from daskvars.lowering.program import Leaf, Node, Program, Ref, used_values
from daskvars.ops.linalg.products import MATMUL, SUM_OF_PRODUCTS
from daskvars.ops.math.arithmetic import ADD_N

MIN_ITEMSIZE = 4  # bytes: 16-bit floats are rounded, each product and each sum, as TensorFlow's are
FEWEST = 4  # products: of two or three small ones it takes longer to see to it (m, 48 us and 38)


def join_products(program: Program) -> Program:
    """Return `program` with sums of products of alike factors as one operation each."""
    for node in program.nodes:
        for subgraph in node.subgraphs:
            join_products(subgraph)
    if not any(node.opdef is ADD_N for node in program.nodes):
        return program
    nodes, num_uses = list[Node](), used_values(program)
    for node in program.nodes:
        if node.opdef is ADD_N:
            _join(node, nodes, num_uses)
        nodes.append(node)
    program.nodes = nodes
    program.drop_dead()
    return program


def _join(node: Node, made: list[Node], num_uses: Counter[Ref]) -> None:
    """Let a sum take the sums of products in their place, or be one; `made` gets these."""
    alike = defaultdict[Hashable, list[Ref]](list)
    for ref in node.inputs:
        if _may_be_joined(ref, node, num_uses):
            alike[tuple(factor.spec for factor in ref.producer.inputs)].append(ref)
    for products in alike.values():
        if len(products) < FEWEST:
            continue
        gone, is_all = set(products), len(products) == len(node.inputs)
        total = node if is_all else node.copy()
        others = [ref for ref in node.inputs if ref not in gone]
        total.opdef, total.kernel = SUM_OF_PRODUCTS, SUM_OF_PRODUCTS.kernel
        total.inputs = [factor for ref in products for factor in ref.producer.inputs]
        if not is_all:
            made.append(total)
            node.inputs = [Ref(total), *others]


def _may_be_joined(ref: Ref, total: Node, num_uses: Counter[Ref]) -> bool:
    """Return whether only a sum takes a value, a product whose factors are less than it."""
    node = ref.node
    if isinstance(node, Leaf) or node.opdef is not MATMUL or num_uses[ref] > 1:
        return False
    over_rows = node.attrs["transpose_a"] and not node.attrs["transpose_b"]
    if node.device != total.device or not over_rows:
        return False
    a, b = (factor.spec.shape for factor in node.inputs)
    if ref.spec.dtype.np.itemsize < MIN_ITEMSIZE or a is None or b is None:
        return False
    (rows, m), (_, n) = a, b
    # How many rows there are the kernel sees as well.
    if m is None or n is None:
        return False
    return rows is None or are_joined(rows, m, n)
