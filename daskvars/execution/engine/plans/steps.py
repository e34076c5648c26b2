"""Regions compiled for this process, and what a plan says of the variables that they update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from daskvars import backend, chunk_grid
from daskvars.chunk_grid import Chunks
from daskvars.device_array import moving
from daskvars.errors import invalid
from daskvars.lowering.plan import Plan, PlanValue, Region
from daskvars.lowering.program import STATE, concrete
from daskvars.remote import tracing
from daskvars.remote.regions import region_split
from daskvars.remote.regions.compilation import compiled
from daskvars.remote.regions.region_program import RegionProgram
from daskvars.shape_arithmetic import compatible, is_known
from daskvars.state.format.manifest import VariableRecord


class Step:
    """One region compiled for this process: what may fail, and what is done in place after it."""

    def __init__(self, region: Region, split: region_split.RegionSplit | None) -> None:
        self.xp = backend.namespace(region.device_type)
        self.split = split
        main = region.program if self.split is None else self.split.main
        self.function = moving(self.xp, compiled(main, self.xp))
        self.label, self._main = region.label, main
        self._programs: dict[frozenset[int], RegionProgram] = {}
        self._traced: tuple[tracing.Tracer, Any] | None = None
        if self.split is not None:
            self.second = compiled(self.split.program, numpy)
            self.kept_position = {p: i for i, p in enumerate(self.split.kept)}
            self.updated_position = {p: i for i, p in enumerate(self.split.updates)}

    def traced(self, tracer: tracing.Tracer) -> Any:
        """Return its function as one that tells what it does. A GPU's kernels run on after their
        calls, so there the whole is told alone."""
        if self._traced is None or self._traced[0] is not tracer:
            meter = tracing.kernels_ran if self.xp is numpy else None
            function = moving(self.xp, compiled(self._main, self.xp, meter))
            self._traced = tracer, tracer.around("stage", self.label, function)
        return self._traced[1]

    def position(self, output: int) -> int:
        """Return where an output of the region is in what its first half returns."""
        return output if self.split is None else self.kept_position[output]

    def finish(
        self, arrays: list[Any], outputs: tuple[Any, ...], shared: frozenset[int] = frozenset()
    ) -> tuple[Any, ...]:
        """Run the second half on the variables' arrays, which it changes, save those at `shared`.

        The new values of these are written elsewhere on the way: that costs less than a copy.
        """
        split, tracer = self.split, tracing.here
        assert split is not None
        program = self._beside(shared, split.program) if shared else split.program
        if tracer is None:
            second = compiled(program, numpy) if shared else self.second
        else:
            second = compiled(program, numpy, tracing.kernels_ran)
            second = tracer.around("stage", self.label, second)
        return second(*arrays, *outputs[len(split.kept) :])

    def _beside(self, shared: frozenset[int], program: RegionProgram) -> RegionProgram:
        found = self._programs.get(shared)
        if found is None:
            into = {
                out: register for out, register in program.into.items() if register not in shared
            }
            found = self._programs[shared] = replace(program, into=into, cache={})
        return found


def steps_of(plan: Plan) -> list[Step]:
    """Return the regions of a plan compiled for this process.

    Second halves run one after the other: what one of them changes in place, no other may read, nor
    another block of its own. Such a region has no second half: its updates are fresh arrays.
    """
    splits: list[region_split.RegionSplit | None] = []
    for number, region in enumerate(plan.regions):
        is_here = backend.namespace(region.device_type) is numpy
        pairs = updated_inputs(plan, number) if is_here else {}
        splits.append(region_split.split(region.program, pairs) if pairs else None)
    for number, region in enumerate(plan.regions):
        split = splits[number]
        if split is not None and _read_late(region, split) & _changed(plan, splits):
            splits[number] = None
    return [Step(*pair) for pair in zip(plan.regions, splits, strict=True)]


def _changed(plan: Plan, splits: Sequence[region_split.RegionSplit | None]) -> set[Any]:
    """Return what second halves change in place."""
    return {
        region.inputs[register].origin
        for region, split in zip(plan.regions, splits, strict=True)
        if split is not None
        for register in split.variables
    }


def _read_late(region: Region, split: region_split.RegionSplit) -> set[Any]:
    """Return what a second half reads of what its region takes, but what it changes itself."""
    given: dict[int, int] = {i: i for i in range(len(region.inputs))}
    for call in region.program.calls:
        if call.views and call.args[0] in given:
            given.update(dict.fromkeys(call.outs, given[call.args[0]]))
    passed = split.main.outputs[len(split.kept) :]
    return {
        region.inputs[given[register]].origin
        for register in passed
        if register in given and region.inputs[given[register]].value is not None
    }


def updated_inputs(plan: Plan, number: int) -> dict[int, int]:
    """Return position of an output -> the input of a region that it takes the place of.

    That is where a variable is read and its new value goes nowhere else, block for block.
    """
    pairs = {}
    needed = Counter(value.origin for value in plan.results)
    needed.update(s.value.origin for r in plan.regions for s in r.inputs if s.value)
    registers = _registers_of_variables(plan, plan.regions[number])
    for key, value in plan.updates.items():
        if value.origin.region == number and needed[value.origin] == 1:
            register = registers.get((key, value.layout, value.axes if value.layout else None))
            if register is not None:
                pairs[value.origin.position] = register
    return pairs


def _registers_of_variables(plan: Plan, region: Region) -> dict[tuple[str, Any, Any], int]:
    """Return (key, layout, axes) -> the region's input that is that variable, block for block."""
    registers: dict[tuple[str, Any, Any], int] = {}
    for register, region_input in enumerate(region.inputs):
        if region_input.kind != "block" or region_input.origin.region >= 0:
            continue
        leaf = plan.leaves[region_input.origin.position]
        if leaf.kind == STATE:
            axes = region_input.axes if leaf.layout else None
            registers.setdefault((leaf.what, leaf.layout, axes), register)
    return registers


def only(blocks: Any) -> Any:
    """Return the one block of a variable that is not cut."""
    (block,) = blocks.values()
    return block


def full_layout(value: PlanValue) -> Chunks | None:
    """Return the chunks of a value, of one block where it is not cut; None if its shape is open."""
    shape = value.spec.shape
    return (value.layout or chunk_grid.whole(shape)) if is_known(shape) else None


def new_records(plan: Plan) -> dict[str, VariableRecord]:
    """Return the records of the variables that a plan gives values of known shape."""
    return {
        key: VariableRecord(key, value.spec.dtype.name, concrete(value.spec.shape), layout)
        for key, value in plan.updates.items()
        if (layout := full_layout(value)) is not None
    }


def doing(plan: Plan) -> str:
    """Return what a bar says when a run takes long: steps have bars around them."""
    is_initialization = plan.updates and not plan.required and not plan.outputs
    return "initialize" if is_initialization else ""


def measured(key: str, blocks: Any, spec: Any) -> tuple[VariableRecord, dict[Any, Any]]:
    """Return the record, and the blocks, of a variable whose new shape only the run told."""
    value = only(blocks)
    record = record_of(key, numpy.shape(value), spec)
    return record, {(0,) * len(record.shape): value}


def record_of(key: str, found: tuple[int, ...], spec: Any) -> VariableRecord:
    """Return the record of a variable of the shape that a run gave it.

    Raises:
      InvalidArgumentError: the shape contradicts what is known of it.
    """
    wanted = spec.shape
    if not compatible(wanted, found):
        raise invalid(f"variable {key!r} of shape {wanted} was assigned a value of shape {found}")
    return VariableRecord(key, spec.dtype.name, found, chunk_grid.whole(found))
