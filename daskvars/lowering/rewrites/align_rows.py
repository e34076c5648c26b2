"""Pass 5: what is picked by the number of its own row is picked row by row.

Programs that pick an element of each row count the rows themselves, in one of two ways, and so do
the gradients of what they pick:

- ``gather_nd(x, stack([range(n), i], 1))``: coordinates that only count become batch dimensions,
  as if the program had said so.
- ``gather(reshape(x, [n * m, d]), range(n) * m + i)``: indices that count in steps have the labels
  of the rows that they count. `i` may be anything: what names a row of another block is an error
  then, which says so.

By its indices alone each row could need any other, and all of them would go to one worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from daskvars.errors import OpError
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import (
    ADD,
    Access,
    Coordinates,
    Dim,
    Dims,
    Elementwise,
    Gather,
    Movement,
    Scatter,
)
from daskvars.graph.definitions.static_values import can_fold, compute
from daskvars.lowering.program import CONSTANT, Leaf, Node, Program, Ref, concrete, is_variable
from daskvars.shapes import is_known

MAX_ELEMENTS = 1 << 20  # of indices that are looked into
MAX_DEPTH = 64  # of what they are computed with

Known = Callable[[Ref], numpy.ndarray | None]


def align_rows(program: Program) -> Program:
    """Return `program` with what counts its own rows cut as these are."""
    for node in program.nodes:
        for subgraph in node.subgraphs:
            align_rows(subgraph)
    known = _known_values()
    nodes: list[Node] = []
    for node in program.nodes:
        if isinstance(node.pattern, Coordinates) and not node.operands:
            _batch(node, node.pattern, nodes, known)
        elif isinstance(node.pattern, Gather | Scatter) and not node.operands:
            _align(node, known)
        nodes.append(node)
    if len(nodes) > len(program.nodes):
        program.nodes = nodes
        program.drop_dead()
    return program


def _known_values() -> Known:
    """Return what gives the value of integers that depend on nothing but constants."""
    found: dict[Ref, numpy.ndarray | None] = {}

    def known(ref: Ref, depth: int = 0) -> numpy.ndarray | None:
        if ref not in found:
            found[ref] = None if depth > MAX_DEPTH else _value(ref, lambda r: known(r, depth + 1))
        return found[ref]

    return known


def _value(ref: Ref, known: Known) -> numpy.ndarray | None:
    node, shape = ref.node, ref.spec.shape
    if isinstance(node, Leaf):
        return node.what if node.kind == CONSTANT else None
    if not is_known(shape) or math.prod(shape) > MAX_ELEMENTS or not ref.spec.dtype.is_integer:
        return None
    if node.operands or node.multiple or node.subgraphs or not can_fold(node.rules, node.attrs):
        return None
    values = [known(taken) for taken in node.inputs]
    if any(value is None for value in values):
        return None
    try:
        return numpy.asarray(compute(node.rules, values, node.attrs))
    except (OpError, ArithmeticError, ValueError):  # told when it runs, with its name
        return None


# -- coordinates -----------------------------------------------------------------------------------


def _batch(node: Node, pattern: Coordinates, nodes: list[Node], known: Known) -> None:
    """Make batch dimensions of the coordinates that only count; to `nodes` goes what is new."""
    ids = node.inputs[pattern.coordinates]
    table = (node.inputs[0].spec if pattern.coordinates else node.specs[0]).shape
    joined, shape = ids.node, ids.spec.shape
    if isinstance(joined, Leaf) or not is_known(table) or not _joins_coordinates(joined, shape):
        return
    rows, batch, num_counting = concrete(shape)[:-1], node.attrs["batch_dims"], 0
    for ref in joined.inputs[:-1]:
        value = known(ref)
        if value is None:
            break
        columns = value.reshape(*rows, -1)
        if batch + columns.shape[-1] > len(rows):
            break
        dims = range(batch, batch + columns.shape[-1])
        is_counted = (_counts(columns[..., i], dim) for i, dim in enumerate(dims))
        if concrete(table)[batch : dims.stop] != rows[batch : dims.stop] or not all(is_counted):
            break
        batch, num_counting = dims.stop, num_counting + 1
    if num_counting:
        rest = joined.copy()
        rest.inputs = joined.inputs[num_counting:]
        left = concrete(shape)[-1] - (batch - node.attrs["batch_dims"])
        rest.specs = (Spec(ids.spec.dtype, (*rows, left)),)
        nodes.append(rest)
        node.inputs = [Ref(rest) if taken == ids else taken for taken in node.inputs]
        node.attrs = {**node.attrs, "batch_dims": batch}


def _joins_coordinates(node: Node, shape: Any) -> bool:
    """Return whether a node puts coordinates beside each other."""
    known = [shape, *(ref.spec.shape for ref in node.inputs)]
    if not isinstance(node.pattern, Movement) or node.operands or not all(map(is_known, known)):
        return False
    is_join = len(node.inputs) > 1 and node.rules.arguments[0].many
    return is_join and node.attrs.get("axis") in (-1, len(shape) - 1)


def _counts(value: numpy.ndarray, dim: int, step: int = 1) -> bool:
    """Return whether elements count their places along a dimension, in steps."""
    places = numpy.arange(value.shape[dim]).reshape(-1, *(1,) * (value.ndim - dim - 1))
    return bool((value // step == places).all())


# -- steps -----------------------------------------------------------------------------------------


def _align(node: Node, known: Known) -> None:
    """Give the rows of a table, and the indices that count them in steps, one label."""
    is_gather = isinstance(node.pattern, Gather)
    specs = (node.inputs[0].spec, node.inputs[1].spec, node.specs[0])
    if is_variable(node.inputs[0]) or not all(
        spec.shape and is_known(spec.shape) for spec in specs
    ):
        return
    given, ids, made = (concrete(spec.shape) for spec in specs)
    table = given if is_gather else made
    count = _num_counted(node.inputs[1], table[0], known)
    if not count:
        return
    tail = tuple(map(Dim, range(1, len(table))))
    ids_dims: Dims = (Dim(0, ids[0] // count), *(None,) * (len(ids) - 1))
    table_dims: Dims = (Dim(0, table[0] // count), *tail)
    picked_dims: Dims = (*ids_dims, *tail)
    others = [(None,) * len(ref.spec.shape or ()) for ref in node.inputs[2:]]
    first, last = (table_dims, picked_dims) if is_gather else (picked_dims, table_dims)
    node.pinned = Access((first, ids_dims, *others), (last,))
    node.attrs = {**node.attrs, "closed": True}


def _num_counted(ref: Ref, num_rows: int, known: Known) -> int:
    """Return how many groups of so many rows indices count along their first dimension; 0: none.

    What is added to those that count is taken for less than what one group has.
    """
    while not isinstance(ref.node, Leaf):
        values = [known(taken) for taken in ref.node.inputs]
        found = [_num_groups(value, ref, num_rows) for value in values if value is not None]
        if any(found):
            return max(found)
        unknown = [i for i, value in enumerate(values) if value is None]
        if len(unknown) != 1 or not _keeps_rows(ref, unknown[0]):
            return 0
        ref = ref.node.inputs[unknown[0]]
    return 0


def _num_groups(value: numpy.ndarray, total: Ref, num_rows: int) -> int:
    """Return how many groups a term of a sum counts, 0 if it does not count."""
    shape = total.spec.shape
    if total.producer.kernel != ADD or not shape or value.ndim != len(shape):
        return 0
    if len(value) != shape[0] or len(value) < 2:
        return 0
    step, rest = divmod(num_rows, len(value))
    return len(value) if step > 1 and not rest and _counts(value, 0, step) else 0


def _keeps_rows(ref: Ref, place: int) -> bool:
    """Return whether rows are of the same numbers as those of an input, all others constants."""
    node = ref.producer
    shapes = [ref.spec.shape, *(taken.spec.shape for taken in node.inputs)]
    if node.operands or not all(map(is_known, shapes)) or not shapes[0]:
        return False
    if isinstance(node.pattern, Elementwise):
        makes_others = len(node.inputs) > 1 or node.rules.static is None
        if makes_others and node.kernel != ADD:
            return False
    elif not isinstance(node.pattern, Movement):
        return False
    given, *taken = map(concrete, shapes)
    access = node.pattern.access(taken, [given], node.attrs)
    first, last = (*access.inputs[place][:1], None)[0], access.outputs[0][0]
    return first is not None and last is not None and first.label == last.label
