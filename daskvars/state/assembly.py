"""Values in pieces: from a variable's blocks to its stored chunks, and from chunks to any other
blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from daskvars.shapes import Chunks, block_indices, block_shape, block_slices
from daskvars.state.encoding import memory_dtype, on_host
from daskvars.state.failures import invalid
from daskvars.state.grids import (
    Blocks,
    Index,
    Region,
    covers,
    layout_shape,
    overlaps,
    plain_region,
    stored_chunks,
)
from daskvars.state.manifest import VariableRecord

Load = Callable[[VariableRecord, Index], np.ndarray]
"""Gives a stored chunk of a variable."""

Run = Callable[[Callable[[Any], None], Iterable[Any]], object]
"""Calls a function with each of many arguments, in any order, perhaps from several threads."""


def stored_chunk(record: VariableRecord, blocks: Blocks, index: Index) -> np.ndarray:
    """Cut one stored chunk out of a variable's blocks.

    Args:
        record: the variable.
        blocks: block index -> block, in ``record.chunks``; at least those that the chunk touches.
        index: the chunk's index in ``stored_chunks(record.chunks)``.

    Returns:
        The chunk; a view where it lies in one block.

    Raises:
        InvalidArgumentError: a block is missing or of another shape than the layout says.
    """
    region = block_slices(stored_chunks(record.chunks), index)
    parts = [
        (on_host(part_of(block_at(record, blocks, position), source)), target)
        for position, source, target in overlaps(record.chunks, region)
    ]
    if len(parts) == 1:
        return parts[0][0]
    chunk = np.empty([part.stop - part.start for part in region], parts[0][0].dtype)
    for part, target in parts:
        chunk[target] = part
    return chunk


def part_of(array: np.ndarray, region: Region) -> np.ndarray:
    """Give a region of an array as a view, of a scalar as well."""
    whole_or_part: Any = (*region, ...)
    return array[whole_or_part]


def block_at(record: VariableRecord, blocks: Blocks, position: Index) -> np.ndarray:
    """Give the block at a position of a variable's layout."""
    wanted = block_shape(record.chunks, position)
    block = blocks.get(position)
    if block is None or block.shape != wanted:
        found = "missing" if block is None else f"of shape {block.shape}"
        raise invalid(
            f"variable {record.key!r}: block {position} is {found}, where the layout has {wanted}"
        )
    return block


def assemble_region(record: VariableRecord, region: Region, load: Load, run: Run) -> np.ndarray:
    """Give a region of a variable, whatever its chunks, as a new array.

    Raises:
        InvalidArgumentError: `region` is not one slice with step 1 per axis.
    """
    try:
        region = plain_region(region, record.shape)
    except ValueError as error:
        raise invalid(f"variable {record.key!r}: {error}") from None
    layout = tuple((part.stop - part.start,) for part in region)
    assembly = Assembly(layout, record.dtype)

    def add(piece: tuple[Index, Region, Region]) -> None:
        index, source, target = piece
        chunk = load(record, index)
        assembly.add(chunk if covers(source, chunk.shape) else chunk[source].copy(), target)

    run(add, list(overlaps(stored_chunks(record.chunks), region)))
    return assembly.blocks()[(0,) * len(layout)]


def assemble_values(
    wanted: Mapping[str, tuple[VariableRecord, Chunks]], load: Load, run: Run
) -> dict[str, dict[Index, np.ndarray]]:
    """Give variables in blocks, having loaded each chunk once.

    Args:
        wanted: name -> the variable and the layout to give its value in.
        load: gives a stored chunk.
        run: calls it for many.

    Returns:
        name -> block index -> new array.

    Raises:
        InvalidArgumentError: a layout of another shape than its variable.
    """
    for record, layout in wanted.values():
        if layout_shape(layout) != record.shape:
            raise invalid(
                f"variable {record.key!r}: chunks {layout} do not add up to shape {record.shape}"
            )
    assemblies = {name: Assembly(layout, record.dtype) for name, (record, layout) in wanted.items()}

    def add(chunk: tuple[str, Index]) -> None:
        name, index = chunk
        record = wanted[name][0]
        region = block_slices(stored_chunks(record.chunks), index)
        assemblies[name].add(load(record, index), region)

    chunks = [
        (name, index)
        for name, (record, _) in wanted.items()
        for index in block_indices(stored_chunks(record.chunks))
    ]
    run(add, chunks)
    return {name: assembly.blocks() for name, assembly in assemblies.items()}


class Assembly:
    """A value that is put together from pieces, in the blocks of a layout.

    A piece that is a whole block becomes that block without a copy. A block is allocated with its
    first piece, that is after a chunk of its size has been read.
    """

    def __init__(self, layout: Chunks, dtype: str) -> None:
        self.layout, self.dtype = layout, memory_dtype(dtype)
        self.found: dict[Index, np.ndarray] = {}
        self.lock = threading.Lock()

    def add(self, piece: np.ndarray, region: Region) -> None:
        """Put a piece where its region of the whole value is."""
        for index, target, source in overlaps(self.layout, region):
            shape = block_shape(self.layout, index)
            if covers(target, shape) and piece.shape == shape:
                self.found[index] = piece
            else:
                self.block(index, shape)[target] = piece[source]

    def block(self, index: Index, shape: tuple[int, ...]) -> np.ndarray:
        """Give the block of an index to write into."""
        with self.lock:
            if index not in self.found:
                self.found[index] = np.empty(shape, self.dtype)
            return self.found[index]

    def blocks(self) -> dict[Index, np.ndarray]:
        """Give all blocks in C order; those without elements had no piece and are made here."""
        return {
            index: self.block(index, block_shape(self.layout, index))
            for index in block_indices(self.layout)
        }
