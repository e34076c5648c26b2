"""Blocks in and out of tasks: what a task takes from the tasks before it, and whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from daskvars import chunk_grid
from daskvars.chunk_grid import Chunks
from daskvars.device_array import on_host
from daskvars.dtypes import variant
from daskvars.execution.engine.values.dask_arrays import read_only
from daskvars.kernels.control.tensor_lists import joined
from daskvars.lowering.plan import BlockId, PlanValue, Region
from daskvars.lowering.program import concrete
from daskvars.remote.tasks.block_arguments import Cut, Take
from daskvars.remote.tasks.table_rows import Rows


def block_steps(
    region: Region, block: Any, position_of: Callable[[BlockId], int | None]
) -> tuple[list[Any], list[BlockId]]:
    """Return how the inputs of one block are had, and the blocks that it depends on.

    Args:
      block: the block's index.
      position_of: gives the position of a block among the results of its task, None where it is
        from outside.

    Returns:
      The steps hold positions in the other list, which has one block of each task.
    """
    positions: dict[Any, int] = {}
    taken_from: list[BlockId] = []

    def take(block_id: BlockId) -> Take:
        task = block_id.task
        if task not in positions:
            positions[task] = len(taken_from)
            taken_from.append(block_id)
        return Take(positions[task], position_of(block_id))

    steps: list[Any] = []
    for region_input in region.inputs:
        taken = region_input.take(block)
        if isinstance(taken, BlockId):
            steps.append(take(taken))
        elif isinstance(taken, Cut):
            steps.append(Cut(taken.shape, tuple((take(p), s, t) for p, s, t in taken.parts)))
        elif isinstance(taken, Rows):
            steps.append(Rows(tuple(map(take, taken.parts))))
        else:
            steps.append(taken)
    return steps, taken_from


def whole(value: PlanValue, fetch: Callable[[BlockId], Any]) -> Any:
    """Return a value's blocks as one array."""
    if value.layout is None:
        return on_host(fetch(value.block_id(value.indices()[0])))
    shape = concrete(value.spec.shape)
    blocks = (
        (on_host(fetch(value.block_id(index))), chunk_grid.block_slices(value.layout, index))
        for index in value.indices()
    )
    if value.spec.dtype is variant:
        every = (slice(None),) * len(value.layout)
        return joined(numpy, shape, [(block, every, target) for block, target in blocks])
    result = None
    for block, target in blocks:
        if result is None:
            result = numpy.empty(shape, block.dtype)
        result[target] = block
    return result


def cut(value: Any, layout: Chunks | None, block: Any) -> Any:
    """Return one block of an array; a part of one in C order."""
    if layout is None:
        return value
    return numpy.asarray(value[chunk_grid.block_slices(layout, block)], order="C")


def owned(value: Any) -> Any:
    """Return a copy of an array that somebody else holds; what never changes as it is."""
    return value.copy() if isinstance(value, numpy.ndarray) else value


def kept(value: Any) -> Any:
    """Return a value that was given, to be read later: whoever gave an array may write into it.

    So an array is copied, unless nobody can write into it, or it is a file (`numpy.memmap`).
    """
    if not isinstance(value, numpy.ndarray) or _is_settled(value):
        return value
    return read_only(value.copy())


def _is_settled(array: numpy.ndarray) -> bool:
    """Return whether neither an array nor those that it is a view of can be written into."""
    found: Any = array
    while isinstance(found, numpy.ndarray):
        if isinstance(found, numpy.memmap):
            return True
        if found.flags.writeable:
            return False
        found = found.base
    return True
