"""What workers run for the regions of a plan.

A region's program travels as bytes under a key of its own, on which the region's tasks depend; a
worker unpacks and compiles it once, whatever becomes of the key's copies. The tasks themselves
carry a block's index and what differs from run to run.

Bits must not depend on which worker ran what. So arrays that came over the network are copied
where they lie at an address that NumPy's kernels treat differently.

Dask counts freed memory against a worker's limit, so only some of it is kept for the next task.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, NamedTuple

import numpy

from daskvars import backend
from daskvars.device_array import as_input, as_result
from daskvars.remote.dask_internals import current_key, pickle, remeasure, show_seconds
from daskvars.remote.regions.compilation import compiled
from daskvars.remote.regions.inplace import RegionSplit
from daskvars.remote.regions.program import RegionProgram
from daskvars.remote.regions.region_check import check_positions, check_region
from daskvars.remote.regions.row_updates import inputs_read_by_rows, recording, row_updates
from daskvars.remote.task_outputs import TaskOutputs
from daskvars.remote.tasks.block_arguments import arguments_of
from daskvars.remote.worker_memory import ValueSizes, keep_freed_memory, reserve_memory
from daskvars.versioned import VERSIONED_BYTES, Versioned, changed

# A figure costs the worker and the scheduler some 50 us: with one for each kernel, a step of a
# small network took 23 ms instead of 20.
MIN_SHOWN_S = 1e-3


class PackedRegion(NamedTuple):
    """What a worker needs to run the blocks of a region, as bytes."""

    key: str
    data: bytes


def pack_region(
    key: str,
    program: RegionProgram,
    steps: dict[Any, list[Any]],
    pairs: dict[int, int],
    kept: Sequence[int],
    device_type: str = "CPU",
    nbytes: int = 0,
    values: ValueSizes = (),
) -> PackedRegion:
    """Return a region as bytes.

    Args:
      key: its Dask key.
      program: its kernel calls.
      steps: block -> the steps of `run_block`.
      pairs: position of an output -> the input that is the variable which it is a new value of.
      kept: positions of all outputs that are values of variables.
      device_type: of the device that it is placed on.
      nbytes: of memory that a block's results take, about.
      values: the variables among them, with their bytes.
    """
    packed = program, steps, pairs, tuple(kept), device_type, nbytes, values
    return PackedRegion(key, pickle.dumps(packed))


@lru_cache(maxsize=512)
def unpacked(packed: PackedRegion) -> WorkerRegion:
    """Return a region that can be called, made once per process."""
    keep_freed_memory()
    return WorkerRegion(*pickle.loads(packed.data))


class WorkerRegion:
    """A region compiled for this worker.

    Large values of variables are `Versioned`. Of one whose rows change, the new value is the next
    version, in the same memory; where only rows of it are read, an old version need not be copied.

    On a GPU results are `DeviceArray`, and have no versions: there a copy is cheap.

    Args:
      program, steps, pairs, kept, device_type, nbytes, values: see `pack_region`.
    """

    def __init__(
        self,
        program: RegionProgram,
        steps: dict[Any, list[Any]],
        pairs: dict[int, int],
        kept: Sequence[int],
        device_type: str,
        nbytes: int,
        values: ValueSizes,
    ) -> None:
        check_region(program)
        check_positions(program, "kept", kept)
        self.label, self.nbytes, self.values = program.label, nbytes, values
        self.steps, self.kept = steps, kept
        self.xp = backend.namespace(device_type)
        is_here = self.xp is numpy
        self.split = row_updates(program, pairs) if is_here else None
        meter = to_dashboard if is_here else None  # a GPU's kernels run on after their calls
        self.main = compiled(program if self.split is None else self.split.main, self.xp, meter)
        if self.split is not None:
            self.second = compiled(self.split.program, numpy, meter)
        self.by_rows = inputs_read_by_rows(program, self.split) if is_here else frozenset()

    def __call__(self, block: Any, dependencies: Sequence[Any]) -> tuple:
        """Return the outputs of one block, as one result."""
        with ExitStack() as lent:

            def as_argument(value: Any, number: int) -> Any:
                if isinstance(value, Versioned):
                    if number in self.by_rows:
                        return value
                    value = lent.enter_context(value.lend())
                return as_input(self.xp, value)

            arguments = arguments_of(self.steps[block], dependencies, as_argument, self.xp)
            found = list(self.main(*arguments))
        if self.split is not None:
            found = self._updated(self.split, arguments, found)
        for position in self.kept:
            found[position] = versioned(found[position])
        return TaskOutputs([as_result(self.xp, value) for value in found])

    def _updated(self, split: RegionSplit, arguments: list[Any], found: list[Any]) -> list[Any]:
        """Change rows of the variables, and return all outputs in their order."""
        passed = found[len(split.kept) :]

        def write(arrays: list[Any], record: Any) -> None:
            with recording(record):
                self.second(*arrays, *passed)

        blocks, key = [arguments[number] for number in split.variables], current_key()
        new = changed(blocks, key, write)
        if key is not None:
            remeasure(key)
        outputs = dict(zip(split.kept, found, strict=False))
        outputs.update(zip(split.updates, new, strict=True))
        return [outputs[position] for position in range(len(outputs))]


def to_dashboard(labels: Sequence[str], times: Sequence[float]) -> None:
    """Add the seconds of kernels to this worker's metrics ("Fine Performance Metrics").

    Those that took less than `MIN_SHOWN_S` in a task stay in its CPU time.
    """
    spent: dict[str, float] = {}
    for label, start, stop in zip(labels, times, times[1:], strict=False):
        spent[label] = spent.get(label, 0.0) + stop - start
    for label, seconds in spent.items():
        if seconds >= MIN_SHOWN_S:
            show_seconds(label, seconds)


def versioned(value: Any) -> Any:
    """Return a value of a variable as the first of its versions, if it is large."""
    if isinstance(value, numpy.ndarray) and value.ndim and value.dtype != object:
        return Versioned(value) if value.nbytes >= VERSIONED_BYTES else value
    return value


def run_region(
    packed: PackedRegion, block: Any, positions: Sequence[int | None] | None, *dependencies: Any
) -> tuple:
    """Run one block of a region.

    Args:
      packed: the region.
      block: the block's index.
      positions: for each dependency which of its outputs is meant where the plan could not
        know that, or None; None where that is so for all.
      dependencies: outputs of tasks, arrays, plain data.

    Returns:
      The region's outputs, as one result.
    """
    region = unpacked(packed)
    if positions is not None:
        dependencies = tuple(
            d if p is None else d[p] for d, p in zip(dependencies, positions, strict=True)
        )
    with (
        reserve_memory(region.nbytes, region.label, region.values),
        backend.one_blas_thread,
        numpy.errstate(all="ignore"),
    ):
        return region(block, tuple(map(aligned, dependencies)))


def aligned(value: Any) -> Any:
    """Return an array, or a task's arrays, at addresses that are multiples of the item size.

    NumPy reads other arrays through a buffer, piece by piece, and sums then round differently.
    """
    if isinstance(value, tuple):
        return tuple(map(aligned, value))
    if isinstance(value, numpy.ndarray) and not value.flags.aligned:
        return value.copy(order="K")
    return value


def pick(outputs: tuple, positions: Sequence[int]) -> tuple:
    """Return some outputs of a task, so that the others need not travel with them."""
    return TaskOutputs([outputs[position] for position in positions])


def identity(value: Any) -> Any:
    """Return a block of a variable as a result of its own, which may be fetched."""
    return value


def shape_of(outputs: tuple, position: int | None) -> tuple[int, ...]:
    """Return the shape of a result that nobody could know before."""
    return numpy.shape(outputs if position is None else outputs[position])
