"""Invariants of a program between passes: what each pass may rely on. Run in tests."""

from __future__ import annotations

from daskvars.lowering.program import Leaf, Program


def verify(program: Program) -> Program:
    """Return `program` unchanged. Raises AssertionError where an invariant is broken."""
    known = {id(leaf) for leaf in program.leaves.values()}
    for (kind, _), leaf in program.leaves.items():
        assert leaf.kind == kind, f"leaf {leaf.what!r} is filed as {kind}"
        assert len(leaf.specs) == len(leaf.layouts) == 1
    for node in program.nodes:
        for ref in node.inputs:
            assert id(ref.node) in known, f"{node.name!r} uses a value that comes later or never"
            assert 0 <= ref.index < len(ref.node.specs), (
                f"{node.name!r} uses an output that is none"
            )
        assert id(node) not in known, f"{node.name!r} is in the program twice"
        known.add(id(node))
        if node.layouts:
            _verify_layouts(node)
    for ref in program.results():
        assert id(ref.node) in known, "a result is of no node in the program"
    return program


def _verify_layouts(node) -> None:
    assert len(node.layouts) == len(node.specs), f"{node.name!r} lacks a layout"
    assert len(node.wanted) == len(node.inputs), f"{node.name!r} does not say what chunks it wants"
    for spec, layout in zip(node.specs, node.layouts, strict=True):
        if layout is not None:
            assert tuple(map(sum, layout)) == spec.shape, f"{node.name!r}: {layout} is not {spec}"
    for ref, layout in zip(node.inputs, node.wanted, strict=True):
        if layout is not None:
            assert tuple(map(sum, layout)) == ref.spec.shape
    for axes in (*node.in_maps, *node.out_maps):
        assert all(-1 <= axis < len(node.grid) for axis in axes), f"{node.name!r}: bad map {axes}"
    if not isinstance(node, Leaf) and node.merges is not None:
        (ref,) = node.inputs
        assert len(node.grid) + len(node.merges) == len(ref.node.grid)
