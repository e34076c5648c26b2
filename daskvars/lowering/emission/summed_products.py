"""Sums over the turns of a loop whose terms are products: they are emitted as their factors.

What is summed over in a product may be joined before: a product lacks the label of what it is
summed over, and so of several turns' factors, one behind the other along that, it is the sum.
"""

from __future__ import annotations

from typing import Any

from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.lowering.program import PARAMETER, Leaf, Node, Program, Ref, ranked

Products = tuple[tuple[int, tuple[int, int]], ...]
"""Which sums are products, and for each the axes of its two factors that are summed over."""


def products_in(node: Node) -> Products:
    """Return which of the sums that a loop gives are sums of products."""
    flow = node.flow
    if flow is None or flow.replays is None:
        return ()
    found = []
    for place, (_, _, (branch, position)) in enumerate(flow.summed):
        axes = _joined_axes(node.subgraphs[branch], position)
        if axes is not None:
            found.append((place, axes))
    return tuple(found)


def _joined_axes(body: Program, position: int) -> tuple[int, int] | None:
    """Return along which axes the factors of a result are joined; None if that is no product."""
    ref = body.outputs[position]
    product = ref.node
    if isinstance(product, Leaf) or not isinstance(product.pattern, Contraction):
        return None
    is_plain = len(product.inputs) == 2 and not product.operands and product.rules.block is None
    shapes = [each.spec.shape for each in (*product.inputs, ref)]
    # Sizes may be unknown, as in a plan for several: it has the bits of a plan for each.
    if not is_plain or body.outputs.count(ref) > 1 or None in shapes:
        return None
    if any(ref in other.inputs for other in body.nodes):
        return None
    a, b, given = map(ranked, shapes)
    access = product.pattern.access((a, b), (given,), product.attrs)
    kept = {dim.label for dims in access.outputs for dim in dims if dim}
    taken = [[dim.label if dim and dim.factor == 1 else None for dim in d] for d in access.inputs]
    over = [label for label in taken[0] if label is not None and label not in kept]
    is_sum = access.combine_of(0) == "add" and len(over) == 1
    if not is_sum or any(labels.count(over[0]) != 1 for labels in taken):
        return None
    return taken[0].index(over[0]), taken[1].index(over[0])


def with_factors(
    body: Program, first: int, products: Products
) -> tuple[Program, tuple[Program, ...]]:
    """Return a body that gives factors, after all else, and what multiplies them.

    Args:
      body: of the loop.
      first: where its sums are among its results.
    """
    positions = [first + place for place, _ in products]
    multiplied = [body.outputs[position].producer for position in positions]
    others = [ref for i, ref in enumerate(body.outputs) if i not in positions]
    factors = [ref for product in multiplied for ref in product.inputs]
    gone = {id(product) for product in multiplied}
    nodes = [node for node in body.nodes if id(node) not in gone]
    new = Program(nodes, [*others, *factors], leaves=body.leaves)
    made = [
        _product(product, axes) for product, (_, axes) in zip(multiplied, products, strict=True)
    ]
    return new, tuple(made)


def _product(node: Node, axes: tuple[int, int]) -> Program:
    """Return the program of a product of factors that are as long as several turns make them."""
    program, copy = Program(), node.copy()
    copy.inputs = []
    for number, (ref, axis) in enumerate(zip(node.inputs, axes, strict=True)):
        sizes: list[Any] = list(ranked(ref.spec.shape))
        sizes[axis] = None
        copy.inputs.append(program.leaf(PARAMETER, number, Spec(ref.spec.dtype, tuple(sizes))))
    program.nodes, program.outputs = [copy], [Ref(copy)]
    return program
