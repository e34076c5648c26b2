"""What each pass promises to the next. Tests have it checked at every lowering, between all passes.

`config.set(verify_programs=True)` switches it on; a promise broken is an AssertionError that names
the pass and the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from daskvars import config
from daskvars.graph.definitions.patterns import ADD
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering.plan import Plan, PlanValue
from daskvars.lowering.planner.fuse import Group, lines_up
from daskvars.lowering.planner.propagate import is_cut
from daskvars.lowering.program import STALE, STATE, Leaf, Node, Program, Ref, is_visible
from daskvars.remote.regions.region_check import check_region

Taken = ParamSpec("Taken")
Given = TypeVar("Given")


def passed(step: Callable[Taken, Given], *args: Taken.args, **kwargs: Taken.kwargs) -> Given:
    """Return what a pass makes of its arguments.

    Raises:
      AssertionError: programs are verified, and it breaks a promise.
    """
    result = step(*args, **kwargs)
    if config.get().verify_programs:
        name = step.__module__.rpartition(".")[2]
        try:
            PROMISES[name](result, *args)
        except AssertionError as error:
            raise AssertionError(f"after {name}: {error}") from error
    return result


def verify_order(
    operations: Sequence[Operation],
    fetches: Iterable[Tensor],
    targets: Iterable[Operation],
    feeds: Collection[Tensor],
    ran: Collection[Operation] = (),
) -> None:
    """Everything needed is there, once, and after the values that it needs (`prune`).

    A handle is no value: where its operation stands says nothing.
    """
    fed, done = set(map(id, feeds)), set[Operation]()
    for op in operations:
        assert op not in done, f"{op.name!r} is to be run twice"
        values = [t for t in op.inputs if id(t) not in fed and not _is_handle(t)]
        before = {*op._control_inputs, *(t.op for t in values)}.difference(ran)
        assert done.issuperset(before), f"{op.name!r} comes before what it needs"
        done.add(op)
    wanted = [*targets, *(t.op for t in fetches if id(t) not in fed)]
    assert done.issuperset(wanted), f"{[op.name for op in wanted if op not in done]} is not run"


def _is_handle(tensor: Tensor) -> bool:
    return tensor.spec.dtype.is_ref


def verify_values(program: Program, *_: Any) -> None:
    """Every value used is made before (`functionalize`)."""
    known = {id(leaf) for leaf in program.leaves.values()}
    for (kind, _), leaf in program.leaves.items():
        assert leaf.kind == kind, f"leaf {leaf.what!r} is filed as {kind}"
        assert len(leaf.specs) == len(leaf.layouts) == 1, f"leaf {leaf.what!r} is several values"
    for node in program.nodes:
        for ref in node.inputs:
            assert id(ref.node) in known, f"{node.name!r} uses a value that comes later or never"
            assert 0 <= ref.index < len(ref.node.specs), (
                f"{node.name!r} uses an output that is none"
            )
        assert id(node) not in known, f"{node.name!r} is in the program twice"
        known.add(id(node))
        for subgraph in node.subgraphs:
            verify_values(subgraph)
    for ref in program.results():
        assert id(ref.node) in known, "a result is of no node in the program"


def verify_specialized(program: Program, *_: Any) -> None:
    """Every node computes something, and for somebody (`specialize`, `route_updates`)."""
    verify_values(program)
    used = {id(ref.node) for ref in program.results()}
    for node in reversed(program.nodes):
        assert node.kernel is not None or node.subgraphs, f"{node.name!r} only gives on its inputs"
        assert id(node) in used or is_visible(node), f"nobody uses {node.name!r}"
        used.update(id(ref.node) for ref in node.inputs)
        for subgraph in node.subgraphs:
            verify_specialized(subgraph)
    unused = [leaf.what for leaf in program.leaves.values() if id(leaf) not in used]
    assert not unused, f"nobody uses the leaves {unused}"


def verify_layouts(program: Program, *_: Any) -> None:
    """Every value is cut in a known way, and partial results are merged (`cut_feeds`)."""
    verify_values(program)
    partial: set[Ref] = set()
    for node in program.nodes:
        _verify_layout(node)
        taken = [ref for ref in node.inputs if ref in partial]
        assert not taken or node.merges is not None or _is_by_parts(node), (
            f"{node.name!r} uses a partial result of {taken[0].producer.name!r}"
        )
        assert node.merges is None or taken or node.kernel != ADD, (
            f"{node.name!r} adds up what each block of {node.inputs[0].producer.name!r} gives alike"
        )
        assert not taken or len(taken) == len(node.inputs), (
            f"{node.name!r} adds a value to each part of {taken[0].producer.name!r}"
        )
        partial |= _partial_results(node, bool(taken))
    for ref in program.results():
        assert ref not in partial, f"a partial result of {ref.producer.name!r} is given away"
    for key, layout in program.stored.items():
        if key in program.updates:
            wanted = layout if is_cut(layout) else None
            found = program.updates[key].layout
            assert found == wanted, f"variable {key!r} is kept as {wanted}, not {found}"


def _verify_layout(node: Node) -> None:
    name = repr(node.name)
    assert len(node.layouts) == len(node.out_maps) == len(node.specs), f"{name} lacks a layout"
    assert len(node.wanted) == len(node.in_maps) == len(node.inputs), (
        f"{name} does not say what chunks it wants"
    )
    taken = [(ref.spec, layout) for ref, layout in zip(node.inputs, node.wanted, strict=True)]
    for spec, layout in [*zip(node.specs, node.layouts, strict=True), *taken]:
        if layout is not None:
            assert tuple(map(sum, layout)) == spec.shape, f"{name}: {layout} is not {spec}"
    for axes in (*node.in_maps, *node.out_maps):
        assert all(-1 <= axis < len(node.grid) for axis in axes), f"{name}: bad map {axes}"
    if node.merges is not None:
        (ref,) = node.inputs
        assert max(node.merges) < len(ref.producer.grid), (
            f"{name} merges other axes than {ref.producer.name!r} has"
        )
        rest = [n for axis, n in enumerate(ref.producer.grid) if axis not in node.merges]
        assert not rest or node.grid == tuple(rest), (
            f"{name} merges other axes than {ref.producer.name!r} has"
        )


def _is_by_parts(node: Node) -> bool:
    """Return whether a node computes what is linear of partial results, part by part."""
    is_linear = getattr(node.pattern, "linear", False)
    return is_linear and all(lines_up(node, i) for i in range(len(node.inputs)))


def _partial_results(node: Node, takes_partial: bool) -> set[Ref]:
    """Return the results that have a part for each block of an axis that they do not have.

    What takes nothing that is cut, or partial, gives the same in each block.
    """
    takes_cut = any(axis >= 0 for axes in node.in_maps for axis in axes)
    if node.merges is not None or not (takes_cut or takes_partial):
        return set()
    maps = enumerate(node.out_maps)
    return {Ref(node, i) for i, axes in maps if len({*axes} - {-1}) < len(node.grid)}


def verify_places(program: Program, _: Program, places: Any = None, *__: Any) -> None:
    """What asks for a device has a place, if there are places (`place`).

    What the client does is nowhere else, and needs no variable.
    """
    verify_layouts(program)
    is_here = places is None or program.client_s is not None
    assert program.client_s is None or not program.updates, "the client changes a variable"
    for node in program.nodes:
        assert not node.place or not is_here, f"{node.name!r} is at {node.place}: nowhere"
        assert not node.device or node.place or is_here, (
            f"{node.name!r} asks for {node.device} and is nowhere in particular"
        )


def verify_newest(program: Program, _: Program) -> None:
    """What takes the newest version is marked, and so is all that takes that (`split_update`)."""
    verify_layouts(program)
    for node in program.nodes:
        assert node.needs_newest or not any(_is_newest(ref.node) for ref in node.inputs), (
            f"{node.name!r} takes what is newest, and does not say so"
        )


def _is_newest(node: Leaf | Node) -> bool:
    return node.kind == STATE if isinstance(node, Leaf) else node.needs_newest


def verify_groups(groups: Sequence[Group], program: Program, *_: Any) -> None:
    """Each node is in one region, at its place, and regions can run one by one.

    So after `fuse` and after `segments`.
    """
    number = {id(node): i for i, group in enumerate(groups) for node in group.nodes}
    count = sum(len(group.nodes) for group in groups)
    assert count == len(number) == len(program.nodes), "a node is in no region, or in two"
    for group in groups:
        for node in group.nodes:
            same = node.grid == group.grid and node.place == group.place
            assert same and node.needs_newest == group.nodes[0].needs_newest, (
                f"{node.name!r} is in a region of another grid, place or version"
            )
    for node in program.nodes:
        for i, ref in enumerate(node.inputs):
            if isinstance(ref.node, Leaf):
                continue
            before, here = number[id(ref.node)], number[id(node)]
            assert before <= here, (
                f"{node.name!r} is in a region before that of {ref.producer.name!r}"
            )
            assert before < here or lines_up(node, i), (
                f"{node.name!r} is in the region of {ref.producer.name!r}, and needs others' blocks"
            )


def verify_plan(plan: Plan, *_: Any) -> None:
    """Each region takes what is outside or of a region before it (`emit`)."""
    for i, region in enumerate(plan.regions):
        check_region(region.program)
        assert region.program.num_inputs == len(region.inputs), (
            f"region {region.label!r} takes other inputs than it says"
        )
        for taken in region.inputs:
            if taken.value is not None:
                _verify_value(plan, taken.value, i)
    for value in plan.results:
        _verify_value(plan, value, len(plan.regions))
    assert all(leaf.kind != STALE for leaf in plan.leaves), "a leaf is of no executor's kind"


def _verify_value(plan: Plan, value: PlanValue, before: int) -> None:
    region, position = value.origin
    assert region < before, f"region {before} takes a value of region {region}, which is not before"
    made = plan.regions[region].program.outputs if region >= 0 else plan.leaves
    assert 0 <= position < len(made), f"value {position} of region {region} is none"


PROMISES: Mapping[str, Callable[..., None]] = {
    "prune": verify_order,
    "functionalize": verify_values,
    "specialize": verify_specialized,
    "compute_once": verify_specialized,
    "align_rows": verify_specialized,
    "keep_values": verify_specialized,
    "split_branches": verify_specialized,
    "split_rows": verify_specialized,
    "join_products": verify_specialized,
    "route_updates": verify_specialized,
    "cut_feeds": verify_layouts,
    "place": verify_places,
    "split_update": verify_newest,
    "fuse": verify_groups,
    "segments": verify_groups,
    "emit": verify_plan,
}
