"""Pass 3: concrete shapes, and everything that they determine.

Shape rules run again with the shapes that are really fed. What is computed from shapes and
constants alone is computed now; attributes that were given as tensors become plain data.

What a variable takes must have its shape; where only the run tells, that is checked there.

The branches of an op take the shapes that it is given. What a turn of a loop takes has the shapes
that the loop begins with and those that a turn gives, where they are the same; else the loop is
specialized again with what they have in common, until that is so. A branch that the shapes do not
fit at all may be one that is never taken: it keeps the shapes that it was traced with.

Where shapes do not fit an op, an assertion before it that is known to fail is what the run says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy

from daskvars import shapes
from daskvars.errors import InvalidArgumentError, OpError
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import (
    Access,
    Effect,
    Elementwise,
    Flow,
    Held,
    Items,
    Part,
    common,
)
from daskvars.graph.definitions.static_values import (
    MAX_STATIC_ELEMENTS,
    as_attr,
    can_fold,
    compute,
    full_value,
)
from daskvars.graph.interpreter import changed_key, shape_problem
from daskvars.kernels.control.checks import check as assertion
from daskvars.lowering.program import CONSTANT, PARAMETER, UNKNOWN, Node, Program, Ref
from daskvars.ops.array.reshaping import ENSURE_SHAPE
from daskvars.remote.regions.result_check import check_results
from daskvars.shapes import is_known

MAX_ROUNDS = 8  # in which the shapes of a loop's values are found
MAX_TURNS = 256  # that are counted
TURNS = 10  # of a loop of which nothing is known


def specialize(program: Program) -> Program:
    """Return `program` with concrete specs, and known values folded into constants."""
    known: dict[Ref, numpy.ndarray] = {}
    replaced: dict[Ref, Ref] = {}
    for leaf in program.leaves.values():
        if leaf.kind == CONSTANT and leaf.what.size <= MAX_STATIC_ELEMENTS:
            known[Ref(leaf)] = leaf.what
    kept: list[Node] = []
    for node in program.nodes:
        if replaced:
            node.inputs = [replaced.get(ref, ref) for ref in node.inputs]
        _bind_operands(node, known)
        try:
            _infer(node, known)
        except InvalidArgumentError:
            _assert_known(kept, known)
            raise
        check = _check_of_shape(node)
        if check is not None:
            kept.append(check)
            node.inputs[-1] = Ref(check)
            _infer(node, known)
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


def _check_of_shape(node: Node) -> Node | None:
    """Return what checks the shape of a value that a variable is to take, if only the run tells it.

    What is assigned would be the variable's value in whatever shape it is, and what is added be
    broadcast.
    """
    pattern = node.pattern
    if not isinstance(pattern, Effect) or not isinstance(node.kernel_pattern, Elementwise):
        return None
    if not pattern.writes or not node.rule_attrs.get("validate_shape", True):
        return None
    value = node.inputs[-1]
    variable = node.inputs[0].spec if node.assigned is None else node.assigned
    if is_known(value.spec.shape) or not is_known(variable.shape):
        return None
    spec, attrs = Spec(value.spec.dtype, variable.shape), {"shape": variable.shape}
    rules, device = ENSURE_SHAPE, node.device
    check = Node(node.name, rules, rules.kernel, [value], attrs, (spec,), op=node.op, device=device)
    taken, given = ((None,) * len(s or ()) for s in (value.spec.shape, variable.shape))
    check.pinned = Access((taken,), (given,))  # whole: what is cut is of a known size
    return check


def _gives_its_input(node: Node) -> bool:
    """Return whether the results are the first inputs themselves, so that nothing needs to run."""
    if node.kernel is None:
        return not node.subgraphs
    if not node.rules.same_if_same_shape or node.operands:
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


def _assert_known(nodes: Sequence[Node], known: Mapping[Ref, numpy.ndarray]) -> None:
    """Raise the error of the first assertion that is known to fail."""
    for node in nodes:
        if node.kernel is not assertion or not all(ref in known for ref in node.inputs):
            continue
        try:
            compute(node.rules, [known[ref] for ref in node.inputs], node.attrs)
        except InvalidArgumentError as error:
            message = f"{error.message} [op {node.name!r}]"
            raise InvalidArgumentError(None, node.name, message) from None


def _infer(node: Node, known: Mapping[Ref, numpy.ndarray]) -> None:
    if node.subgraphs:
        _specialize_branches(node, known)
        return
    opdef, specs = node.rules, _specs_of(node)
    if node.assigned is not None:
        specs.insert(0, node.assigned)
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
    pattern = opdef.pattern
    if isinstance(pattern, Items | Part):
        _infer_held(node, pattern, known)


def _infer_held(node: Node, pattern: Items | Part, known: Mapping[Ref, numpy.ndarray]) -> None:
    """Add what is known of the results of an op on values that hold arrays."""
    taken, given = ([spec.shape for spec in specs] for specs in (_specs_of(node), node.specs))
    found: Sequence[shapes.Shape]
    if isinstance(pattern, Items):
        values = [known.get(ref) for ref in node.inputs]
        found = pattern.shapes(taken, given, values, node.attrs)
    else:
        found = [pattern.shape(taken[0], given[0], node.attrs)]
    node.specs = tuple(map(Spec, [spec.dtype for spec in node.specs], found))


def _specs_of(node: Node) -> list[Spec]:
    return [ref.spec for ref in node.inputs]


# -- branches and loops ------------------------------------------------------------------------


def _specialize_branches(node: Node, known: Mapping[Ref, numpy.ndarray]) -> None:
    flow = node.flow
    if flow is not None and _found_shapes(node, flow, known):
        node.turns = _turns(node, flow, known)
        return
    node.subgraphs = tuple(
        _specialized(subgraph, [Spec(ref.spec.dtype, None) for ref in node.inputs], {})
        for subgraph in node.subgraphs
    )


def _found_shapes(node: Node, flow: Flow, known: Mapping[Ref, numpy.ndarray]) -> bool:
    """Specialize the branches with the shapes of what they take, if these fit."""
    taken = [ref.spec for ref in node.inputs]
    changing = {i for _, i, _ in (*flow.carried, *flow.summed, *flow.joined)}
    constants = {i: r for i, r in enumerate(node.inputs) if r in known and i not in changing}
    for _ in range(MAX_ROUNDS):
        try:
            branches = [_specialized(branch, taken, constants) for branch in node.subgraphs]
        except (InvalidArgumentError, ValueError):
            return False
        is_done = True
        for _, i, (branch, result) in flow.carried:
            shape = common(taken[i].shape, branches[branch].outputs[result].spec.shape)
            if not _is_same(shape, taken[i].shape):
                taken[i], is_done = Spec(taken[i].dtype, shape), False
        if is_done:
            node.subgraphs = tuple(branches)
            _set_shapes(node, flow, taken)
            return True
    return False


def _specialized(branch: Program, taken: Sequence[Spec], constants: Mapping[int, Ref]) -> Program:
    """Return a branch with the specs of what it takes, and what is known of that."""
    new = branch.copy()
    replaced = {}
    for leaf in list(new.leaves.values()):
        if leaf.kind != PARAMETER or leaf.what >= len(taken):
            continue
        if leaf.what in constants:
            value = constants[leaf.what]
            replaced[Ref(leaf)] = new.leaf(CONSTANT, value.leaf.what, value.spec)
            continue
        (traced,), spec = leaf.specs, taken[leaf.what]
        shape = (
            spec.shape if isinstance(spec.shape, Held) else shapes.merge(spec.shape, traced.shape)
        )
        leaf.specs = (Spec(spec.dtype if traced is UNKNOWN else traced.dtype, shape),)
    for node in new.nodes:
        node.attrs = dict(node.attrs)
    new.map_refs(lambda ref: replaced.get(ref, ref))
    return specialize(new)


def _is_same(a: shapes.Shape, b: shapes.Shape) -> bool:
    return a.is_same(b) if isinstance(a, Held) else a == b and not isinstance(b, Held)


def _set_shapes(node: Node, flow: Flow, taken: Sequence[Spec]) -> None:
    """Give the results the shapes that were found of what goes through the branches."""

    def shape_of(result: tuple[int, int]) -> shapes.Shape:
        branch, position = result
        return node.subgraphs[branch].outputs[position].spec.shape

    found: dict[int, shapes.Shape] = {}
    for output, results in flow.given:
        found[output] = reduce(common, map(shape_of, results))
    for output, i, _ in flow.carried:
        found[output] = taken[i].shape
    for output, i, result in flow.summed:
        found[output] = common(taken[i].shape, shape_of(result))
    if flow.history is not None:
        output, inputs, results = flow.history
        held = found[output] = Held([*(taken[i].shape for i in inputs), *map(shape_of, results)])
        node.attrs["ranks"] = tuple(len(part or ()) for part in held.parts)
    specs = list(node.specs)
    for output, shape in found.items():
        dtype, traced = specs[output]
        merged = shape if isinstance(shape, Held) else shapes.merge(shape, traced)
        specs[output] = Spec(dtype, merged)
    node.specs = tuple(specs)


def _turns(node: Node, flow: Flow, known: Mapping[Ref, numpy.ndarray]) -> int:
    """Return how often a loop goes round, about.

    That is counted where it depends on nothing but what is known, as it does where steps are
    counted. A loop over the history of another goes round as often as that.
    """
    if not flow.carried:
        return 1
    if not flow.decides:
        return max((getattr(ref.node, "turns", 1) for ref in node.inputs), default=1)
    results = {i: result for _, i, result in flow.carried}
    counted = dict.fromkeys(_inputs_of(node, *flow.decides[0]))
    waiting = list(counted)
    while waiting:
        i = waiting.pop()
        if i not in results or node.inputs[i] not in known:
            return flow.most_turns or TURNS
        more = [j for j in _inputs_of(node, *results[i]) if j not in counted]
        counted.update(dict.fromkeys(more))
        waiting += more
    values: dict[int, Any] = {i: known[node.inputs[i]] for i in counted}
    most = MAX_TURNS if flow.most_turns is None else min(MAX_TURNS, flow.most_turns)
    for turns in range(most):
        goes_on = _computed(node, *flow.decides[0], values)
        values = {i: _computed(node, *results[i], values) for i in counted}
        if goes_on is None or any(value is None for value in values.values()):
            return flow.most_turns or TURNS
        if not goes_on:
            return turns
    return most


def _needed(node: Node, branch: int, result: int) -> set[int]:
    """Return the ids of the nodes and leaves of a branch that one of its results needs."""
    subgraph = node.subgraphs[branch]
    needed = {id(subgraph.outputs[result].node)}
    for inner in reversed(subgraph.nodes):
        if id(inner) in needed:
            needed.update(id(ref.node) for ref in inner.inputs)
    return needed


def _inputs_of(node: Node, branch: int, result: int) -> list[int]:
    """Return which inputs of an op a result of one of its branches depends on."""
    needed = _needed(node, branch, result)
    leaves = node.subgraphs[branch].leaves.values()
    return [leaf.what for leaf in leaves if leaf.kind == PARAMETER and id(leaf) in needed]


def _computed(node: Node, branch: int, result: int, taken: Mapping[int, Any]) -> Any:
    """Return a result of a branch for some inputs, None if only a run can tell it."""
    subgraph, needed = node.subgraphs[branch], _needed(node, branch, result)
    values: dict[Ref, Any] = {
        Ref(leaf): taken.get(leaf.what) if leaf.kind == PARAMETER else leaf.what
        for leaf in subgraph.leaves.values()
    }
    for inner in subgraph.nodes:
        if id(inner) not in needed:
            continue
        is_plain = not inner.operands and not inner.subgraphs and inner.rules.trusted
        if not is_plain or not can_fold(inner.rules, inner.attrs):
            return None
        inputs = [values[ref] for ref in inner.inputs]
        if not all(map(_small, inner.specs)) or any(value is None for value in inputs):
            return None
        found = compute(inner.rules, inputs, inner.attrs)
        for i, value in enumerate(found if inner.multiple else [found]):
            values[Ref(inner, i)] = value
    return values[subgraph.outputs[result]]


def _fold(node: Node, known: dict[Ref, numpy.ndarray]) -> list[numpy.ndarray] | None:
    opdef = node.rules
    if opdef.static is not None:
        specs = [ref.spec for ref in node.inputs]
        inputs = [as_attr(known[ref]) if ref in known else None for ref in node.inputs]
        value = full_value(opdef.static(inputs, specs, node.attrs), node.specs[0])
        return None if value is None else [value]
    if not node.inputs or node.operands or node.subgraphs or not can_fold(opdef, node.attrs):
        return None
    if not all(ref in known for ref in node.inputs) or not all(map(_small, node.specs)):
        return None
    try:
        result = compute(opdef, [known[ref] for ref in node.inputs], node.attrs)
    except (OpError, ArithmeticError, ValueError):  # told when it runs, with its name
        return None
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
    return (
        not isinstance(shape, Held)
        and shapes.is_known(shape)
        and math.prod(shape) <= MAX_STATIC_ELEMENTS
    )
