"""Pass 11: how the work of a step is cut, chosen by cost for the whole program.

What can be cut are the dimensions of what a step is fed with and of its large constants, into as
many parts as there are workers, and what follows from a choice is the same for all (`propagate`):
a dimension keeps its parts through products, reshapes and loops, sums over it become partial
results, which are merged. So the planner tries: each length that some input has, along the first
dimension of every input of that length, is a candidate; a few candidates, each laid out on a copy
of the program, and the one of the least estimated seconds is taken. Dimensions of static size are
like any other. What a step makes of nothing (the noise that a generator begins with, images of
random numbers) is cut as what takes it is; where that is not enough it is an input of the next
candidates. Where variables are cut, each candidate is tried with the variables gathered for its
parts and with them staying where they are, and so is no candidate at all.

Why not a search over every value's sharding: a step's data has one dimension that everything else
follows from, so a search over nodes found what the trials find, at many times the cost (trials of
2,000 operations: some 50 ms each; most programs need one, since the first candidate, the leading
dimension of the largest input, is within a few percent of what perfect division would give).

On workers, each exchange holds all of them up and each stage is a task for each of them, which the
scheduler hands out one after the other. So of two ways that compute and move about as much, the one
of fewer stages is taken: variables that are gathered once, rather than activations that move at
each layer.

Whatever is fast must fit: a candidate of which some task takes and gives more than a worker has
room for is taken only if all of them have such. So where weights that the user has cut are too
large to be gathered, they stay, and activations move.

What the user cut, chunks of a dask array that is fed, is a constraint: nothing else is cut then. A
dask array in one chunk is not cut: it is as if it were in memory.
A program of little work stays whole, and is one call. Where variables are cut, what is moved in
memory is work as well: a step on tables has few products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from daskvars import chunk_grid
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Constraint, Contraction, Elementwise, Source
from daskvars.lowering.planner.costs import (
    CALL_S,
    EXCHANGE_S,
    FLOPS_PER_S,
    MEMORY_BYTES_PER_S,
    MIN_GAIN,
    NEAR_IDEAL,
    PIECES_GAIN,
    SCHEDULING_S,
    TASK_S,
    THREAD_CALL_S,
    moved_bytes,
)
from daskvars.lowering.planner.feed_pieces import take_apart
from daskvars.lowering.planner.fold_rows import fold_rows
from daskvars.lowering.planner.fuse import Group, moved_values, without_repeats
from daskvars.lowering.planner.piecewise import may_be_in_pieces
from daskvars.lowering.planner.place import device_type_of
from daskvars.lowering.planner.propagate import full_access, is_cut, propagate
from daskvars.lowering.planner.sharding_report import Sharding, movement
from daskvars.lowering.program import (
    CONSTANT,
    FEED,
    STATE,
    Leaf,
    Node,
    Program,
    Ref,
    block_bytes,
    concrete,
    spec_bytes,
)
from daskvars.shapes import is_known

MAX_CANDIDATES = 8
MAX_NODES_TRIED = 4_000  # beyond the first two candidates: large programs are to be planned in time
MIN_CONSTANT_BYTES = 1 << 16  # of a constant that may be a data set


class Machine(NamedTuple):
    """What runs the plan.

    Attributes:
      parts: into how many parts work is cut.
      is_forced: whether the user said so: then the best candidate is taken, whether it pays or not.
      min_flops: of a step that is worth being cut.
      spare_bytes: of memory that a thread of a worker has for variables and one task.
      has_workers: whether the parts are those of workers, for which each stage costs time too.
      client_work_s: of work that is done without them where they are not needed (`client_work`).
    """

    parts: int = 1
    is_forced: bool = False
    min_flops: float = 0.0
    spare_bytes: float = math.inf
    has_workers: bool = False
    client_work_s: float = 0.0

    @property
    def stage_s(self) -> float:
        """What a stage costs, whatever is computed in it.

        Parts that were asked for are cut anywhere as workers would have them: the bits of a sum
        depend on how it is cut.
        """
        costs = self.has_workers or self.is_forced
        return EXCHANGE_S + SCHEDULING_S * self.parts if costs else 0.0


SOURCE = "source"
"""Beside the kinds of leaves: a node that makes values of nothing, by its number."""

Identity = tuple[str, Any]
_Input = tuple[Identity, Spec]
Cut = tuple[tuple[Identity, int], ...]
"""Which dimension of which leaves is cut: ((kind and identity of the leaf, dimension), ...)."""


ALONE = Machine()


def cut_feeds(program: Program, machine: Machine = ALONE, names: Sequence[str] = ()) -> Program:
    """Return `program` laid out: every value has a layout, and every node a grid of blocks.

    Args:
      program: with concrete shapes.
      machine: for what it is cut.
      names: of the feeds.
    """
    for node in program.nodes:
        node.access = full_access(node)
        _constrain(node, machine)
    open_leaves = _normalized(program)
    cuts: list[Cut] = []
    if open_leaves is not None and _is_worth_it(program, machine):
        if names:
            names = take_apart(program, names, open_leaves)
        cuts = _cuts(program, open_leaves, machine)
    if not cuts:
        return _propagated(program, machine.parts)
    has_cut_state = _has_cut_state(program)
    if machine.is_forced:
        best = _Trial(Sharding((), 1, False, math.inf, False), program)
        undivided = sum(node.flops for node in program.nodes)
    else:
        is_known = has_cut_state or math.isfinite(machine.spare_bytes)
        whole = _propagated(program.copy(), machine.parts) if is_known else program
        best = _tried(whole, machine)
        undivided = best.sharding.seconds
    tried = [best]
    ideal = undivided / machine.parts * NEAR_IDEAL
    for number, cut in enumerate(cuts):
        if number >= 2 and number * len(program.nodes) > MAX_NODES_TRIED:
            break
        trials = []
        dims = tuple((_name(program, identity, names), dim) for identity, dim in cut)
        for gathers in (True, False) if has_cut_state else (False,):
            trial = _laid_out(program.copy(), cut, machine.parts, gathers)
            trials.append(_tried(trial, machine, dims, gathers))
        tried += trials
        found = min(trials, key=lambda trial: (not trial.sharding.fits, trial.sharding.seconds))
        if found.sharding.fits != best.sharding.fits:
            best = max(best, found, key=lambda trial: trial.sharding.fits)
        elif found.cost(machine) < MIN_GAIN * best.cost(machine):
            best = found
        if best.sharding.fits and best.cost(machine) <= ideal:
            break
    others = (trial.sharding for trial in tried if trial is not best)
    best.program.sharding = best.sharding, min(others, key=lambda sharding: sharding.seconds)
    return _propagated(program, machine.parts) if best.program is program else best.program


def _propagated(program: Program, parts: int, gathers: bool = False) -> Program:
    return fold_rows(propagate(program, parts, gathers))


class _Trial(NamedTuple):
    """A program laid out in one way."""

    sharding: Sharding
    program: Program

    def cost(self, machine: Machine) -> float:
        """Return by what it is compared: where parts were asked for, by the work that is cut."""
        if not machine.is_forced or not self.sharding.dims:
            return self.sharding.seconds  # infinite where parts were asked for and there are none
        return sum(n.flops / min(math.prod(n.grid), machine.parts) for n in self.program.nodes)


def _constrain(node: Node, machine: Machine) -> None:
    """Cut what the user has said is cut (`dv.shard`)."""
    pattern = node.pattern
    if not isinstance(pattern, Constraint):
        return
    shape = node.specs[0].shape
    if is_known(shape):
        node.cut = pattern.cut(node.access, node.attrs, shape, machine.parts)


def _name(program: Program, identity: Identity, names: Sequence[str]) -> str:
    kind, what = identity
    if kind == SOURCE:
        return program.nodes[what].name
    return names[what] if kind == FEED and names else f"a {kind}"


def _normalized(program: Program) -> dict[Identity, Leaf] | None:
    """Return the leaves that may be cut: None if the user has cut what is fed.

    A layout of one block is given where the user said that it is one; passes know it as None.
    """
    is_cut_already = False
    found = {}
    for identity, leaf in program.leaves.items():
        given, leaf.layouts[0] = (
            leaf.layouts[0],
            leaf.layouts[0] if is_cut(leaf.layouts[0]) else None,
        )
        is_cut_already = is_cut_already or (leaf.kind == FEED and is_cut(given))
        if given is None and _may_be_cut(leaf):
            found[identity] = leaf
    return None if is_cut_already else found


def _is_worth_it(program: Program, machine: Machine) -> bool:
    """Return whether a step has work that can be shared; a GPU would take longer in parts.

    Elementwise work is shared among threads tile by tile, whatever is cut.
    """
    if machine.parts < 2:
        return False
    if machine.is_forced:
        return True
    nodes = [node for node in program.nodes if device_type_of(node.device) != "GPU"]
    flops = sum(node.flops for node in nodes)
    if _has_cut_state(program):  # the step is on several workers anyhow, and all of it counts
        flops += sum(map(moved_bytes, nodes)) / MEMORY_BYTES_PER_S * FLOPS_PER_S
    return flops >= machine.min_flops and flops > 0


def _has_cut_state(program: Program) -> bool:
    """Return whether a variable that is read or written is cut."""
    state = [leaf.layouts[0] for leaf in program.leaves.values() if leaf.kind == STATE]
    return any(map(is_cut, [*state, *program.stored.values()]))


# -- candidates -----------------------------------------------------------------------------------


def _cuts(program: Program, leaves: Mapping[Identity, Leaf], machine: Machine) -> list[Cut]:
    """Return what may be cut, the likeliest first: the leading dimension of the largest feed.

    Sources come along, or alone, only after all that is without them, but for those that are what a
    network begins with (a generator's noise): these are data as feeds are.
    """
    inputs = [(identity, leaf.specs[0]) for identity, leaf in leaves.items()]
    inputs.sort(key=lambda found: (found[0][0] != FEED, -spec_bytes(found[1])))
    sources = _sources(program)
    data = _begin_products(program, sources)
    found: list[Cut] = []
    for more in dict.fromkeys((tuple(data), (), tuple(sources))):
        found += [cut for cut in _cuts_of([*inputs, *more], machine) if cut not in found]
    return found


def _begin_products(program: Program, sources: Sequence[_Input]) -> list[_Input]:
    """Return the sources that reach a product before anything that is fed does."""
    fed = {id(leaf) for leaf in program.leaves.values() if leaf.kind == FEED}
    begins: dict[int, set[int]] = {id(program.nodes[n]): {n} for (_, n), _ in sources}
    found: set[int] = set()
    for node in program.nodes:
        taken = [id(ref.node) for ref in node.inputs]
        if not fed.isdisjoint(taken):
            fed.add(id(node))
            continue
        reached = set[int]().union(*(begins.get(each, ()) for each in taken))
        if node.flops:
            found |= reached
        elif reached:
            begins[id(node)] = reached
    return [source for source in sources if source[0][1] in found]


def _cuts_of(inputs: Sequence[_Input], machine: Machine) -> Iterator[Cut]:
    shapes = [(identity, concrete(spec.shape)) for identity, spec in inputs]
    seen: set[Cut] = set()
    dims = [
        (dim, identity, shape[dim])
        for identity, shape in shapes
        for dim in range(len(shape))
        if shape[dim] >= machine.parts
    ]
    dims.sort(key=lambda found: found[0])
    for dim, first, size in dims:
        cut = tuple(
            (identity, dim if identity == first else shape.index(size))
            for identity, shape in shapes
            if size in shape
        )
        if cut not in seen and len(seen) < MAX_CANDIDATES:
            seen.add(cut)
            yield cut


def _sources(program: Program) -> list[_Input]:
    """Return what the products of a step may begin with, besides what it is given."""
    if not any(node.flops for node in program.nodes):
        return []  # variables are initialized: each is cut as it is stored
    found = [
        ((SOURCE, number), node.specs[0])
        for number, node in enumerate(program.nodes)
        if isinstance(node.pattern, Source) and all(_is_cuttable(spec) for spec in node.specs)
    ]
    return sorted(found, key=lambda source: -spec_bytes(source[1]))


def _is_cuttable(spec: Spec) -> bool:
    return bool(spec.shape) and is_known(spec.shape) and 0 not in spec.shape


def _may_be_cut(leaf: Leaf) -> bool:
    if not _is_cuttable(leaf.specs[0]):
        return False
    is_large = leaf.kind == CONSTANT and leaf.what.nbytes >= MIN_CONSTANT_BYTES
    return leaf.kind == FEED or is_large


def _laid_out(program: Program, cut: Cut, parts: int, gathers: bool) -> Program:
    for (kind, what), dim in cut:
        if kind == SOURCE:
            node = program.nodes[what]
            label = node.access.outputs[0][dim]
            if label is not None:
                length = concrete(node.specs[0].shape)[dim] // label.factor
                node.cut = {label.label: chunk_grid.split_evenly(length, parts)}
            continue
        leaf = program.leaves[kind, what]
        shape = concrete(leaf.specs[0].shape)
        leaf.layouts[0] = tuple(
            chunk_grid.split_evenly(n, parts) if i == dim else (n,) for i, n in enumerate(shape)
        )
    return _propagated(program, parts, gathers)


# -- what it costs --------------------------------------------------------------------------------


def _tried(
    program: Program,
    machine: Machine,
    dims: tuple[tuple[str, int], ...] = (),
    gathers: bool = False,
) -> _Trial:
    """Return what a program that is laid out, or is not cut, costs."""
    seconds, fits = _work_seconds(program, machine), True
    if _is_laid_out(program):
        groups = without_repeats(program)
        num_tasks = sum(math.prod(group.grid) for group in groups)
        seconds += TASK_S * num_tasks if num_tasks > 1 else 0.0
        seconds += machine.stage_s * (1 + max((group.stage for group in groups), default=0))
        fits = _fits(program, machine, groups)
    parts = machine.parts if dims else 1
    return _Trial(Sharding(dims, parts, gathers, seconds, fits), program)


def _is_laid_out(program: Program) -> bool:
    return all(node.layouts for node in program.nodes)


def _work_seconds(program: Program, machine: Machine) -> float:
    """Return the estimated seconds of a step without what its tasks cost."""
    seconds = 0.0
    is_laid_out = _is_laid_out(program)
    for node in program.nodes:
        blocks = math.prod(node.grid)
        work = node.flops / FLOPS_PER_S
        if not isinstance(node.pattern, Contraction):
            work += moved_bytes(node) / MEMORY_BYTES_PER_S
        shared: float = machine.parts if _is_tiled(node) else min(blocks, machine.parts)
        if not machine.has_workers and may_be_in_pieces(node):
            shared = max(shared, 1 + PIECES_GAIN * (machine.parts - 1))
        seconds += work / shared + _call_seconds(node, machine)
        if is_laid_out:
            moves = [movement(node, i) for i in range(len(node.inputs))]
            seconds += sum(move.times * move.nbytes for move in moves) / MEMORY_BYTES_PER_S
    return seconds


def _call_seconds(node: Node, machine: Machine) -> float:
    """Return the estimated seconds that the kernels of a node take whatever they work on.

    Threads of one process call them one after the other: it has one interpreter.
    """
    blocks = math.prod(node.grid)
    if machine.has_workers or blocks == 1:
        return CALL_S * node.calls * math.ceil(blocks / machine.parts)
    return THREAD_CALL_S * node.calls * blocks


def _fits(program: Program, machine: Machine, groups: Sequence[Group]) -> bool:
    """Return whether what each task takes and gives has room on a worker, beside variables."""
    if math.isinf(machine.spare_bytes):
        return True
    state = sum(spec_bytes(x.specs[0]) for x in program.leaves.values() if x.kind == STATE)
    room = machine.spare_bytes - state / machine.parts
    moved = moved_values(program, groups)
    return all(_task_bytes(group, moved) <= room for group in groups)


def _task_bytes(group: Group, moved: set[Ref]) -> int:
    """Return the bytes that a task of a region takes from elsewhere and gives."""
    here = {id(node) for node in group.nodes}
    taken = {
        ref: spec_bytes(ref.spec) if wanted is None else block_bytes(ref.spec, wanted)
        for node in group.nodes
        for ref, wanted in zip(node.inputs, node.wanted, strict=True)
        if id(ref.node) not in here and not node.by_rows
    }
    given = (Ref(node, i) for node in group.nodes for i in range(len(node.specs)))
    return sum(taken.values()) + sum(block_bytes(r.spec, r.layout) for r in given if r in moved)


def _is_tiled(node: Node) -> bool:
    """Return whether all threads share the work of a node whatever is cut."""
    return node.merges is not None or isinstance(node.kernel_pattern, Elementwise)
