"""Pass 3: concrete shapes, and everything that they determine.

Shape rules run again with the shapes that are really fed. What is computed from shapes and
constants alone is computed now; attributes that were given as tensors become plain data.
"""

from __future__ import annotations

from typing import Any

import numpy

from daskvars import shapes
from daskvars.errors import InvalidArgumentError
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.static_values import (
    MAX_STATIC_ELEMENTS,
    as_attr,
    can_fold,
    compute,
    full_value,
)
from daskvars.graph.interpreter import changed_key, shape_problem
from daskvars.lowering.program import CONSTANT, PARAMETER, Node, Program, Ref
from daskvars.remote.regions.result_check import check_results


def specialize(program: Program) -> Program:
    """Return `program` with concrete specs, and known values folded into constants."""
    known: dict[Ref, numpy.ndarray] = {}
    replaced: dict[Ref, Ref] = {}
    for leaf in program.leaves.values():
        if leaf.kind == CONSTANT and leaf.what.size <= MAX_STATIC_ELEMENTS:
            known[Ref(leaf)] = leaf.what
    kept = []
    for node in program.nodes:
        if replaced:
            node.inputs = [replaced.get(ref, ref) for ref in node.inputs]
        _bind_operands(node, known)
        _infer(node)
        if _gives_its_input(node):
            for i in range(len(node.specs)):
                replaced[Ref(node, i)] = node.inputs[i]
            continue
        values = _fold(node, known)
        if values is None:
            kept.append(node)
            continue
        for i, value in enumerate(values):
            ref = program.leaf(CONSTANT, value, node.specs[i])
            known[ref] = value
            replaced[Ref(node, i)] = ref
    program.nodes = kept
    program.map_refs(lambda ref: replaced.get(ref, ref))
    program.drop_dead()
    return program


def _gives_its_input(node: Node) -> bool:
    """Return whether the results are the first inputs themselves, so that nothing needs to run."""
    if node.kernel is None:
        return not node.subgraphs
    if not node.opdef.same_if_same_shape or node.operands:
        return False
    shape = node.specs[0].shape
    return shape is not None and None not in shape and shape == node.inputs[0].spec.shape


def _bind_operands(node: Node, known: dict[Ref, numpy.ndarray]) -> None:
    """Move trailing inputs whose values are known into the attributes."""
    if not node.operands:
        return
    count = len(node.operands)
    left = []
    fixed, trailing = node.inputs[:-count], node.inputs[-count:]
    for name, ref in zip(node.operands, trailing, strict=True):
        value = known.get(ref)
        if value is None:
            left.append((name, ref))
        else:
            node.attrs[name] = as_attr(value)
    node.operands = tuple(name for name, _ in left)
    node.inputs = [*fixed, *(ref for _, ref in left)]


def _infer(node: Node) -> None:
    opdef = node.opdef
    specs = [ref.spec for ref in node.inputs]
    if node.assigned is not None:
        specs.insert(0, node.assigned)
    if node.subgraphs:
        for subgraph in node.subgraphs:
            _specialize_subgraph(subgraph, specs)
        return
    if opdef.seeded:
        specs = specs[1:]
    static = node.specs
    try:
        inferred = opdef.infer(tuple(specs), **node.rule_attrs)
    except ValueError as error:
        where = f" (made at {node.op.where})" if node.op is not None else ""
        key = changed_key(node.op.inputs) if node.op is not None else ""
        problem = shape_problem(error, node.name, opdef, [spec.shape for spec in specs], key)
        raise InvalidArgumentError(None, node.op, problem + where) from None
    found = (inferred,) if isinstance(inferred, Spec) else tuple(inferred)
    node.specs = tuple(
        spec
        if spec.shape is not None and None not in spec.shape
        else Spec(spec.dtype, shapes.merge(spec.shape, old.shape))
        for spec, old in zip(found, static, strict=True)
    )


def _specialize_subgraph(subgraph: Program, specs: list[Spec]) -> None:
    """Specialize the program of a branch; a loop's parameters keep the shapes they were given."""
    for leaf in subgraph.leaves.values():
        if leaf.kind == PARAMETER and leaf.specs[0].shape is None and leaf.what < len(specs):
            leaf.specs = (Spec(specs[leaf.what].dtype, None),)
    specialize(subgraph)


def _fold(node: Node, known: dict[Ref, numpy.ndarray]) -> list[numpy.ndarray] | None:
    opdef = node.opdef
    if opdef.static is not None:
        specs = [ref.spec for ref in node.inputs]
        inputs = [as_attr(known[ref]) if ref in known else None for ref in node.inputs]
        value = full_value(opdef.static(inputs, specs, node.attrs), node.specs[0])
        return None if value is None else [value]
    if not node.inputs or node.operands or node.subgraphs or not can_fold(opdef, node.attrs):
        return None
    if not all(ref in known for ref in node.inputs) or not all(map(_small, node.specs)):
        return None
    result = compute(opdef, [known[ref] for ref in node.inputs], node.attrs)
    results: Any = result if node.multiple else [result]
    if not opdef.trusted:
        _check(node, results)
    return [
        numpy.asarray(value, spec.dtype.np) for value, spec in zip(results, node.specs, strict=True)
    ]


def _check(node: Node, results: Any) -> None:
    try:
        check_results(results, [(spec.dtype.np, spec.shape) for spec in node.specs])
    except InvalidArgumentError as error:
        message = f"{error.message} [op {node.name!r}]"
        raise InvalidArgumentError(None, node.op, message) from None


def _small(spec: Spec) -> bool:
    shape = spec.shape
    return shape is not None and None not in shape and shapes.size(shape) <= MAX_STATIC_ELEMENTS
