"""Values in pieces: a variable's blocks to its stored chunks, and chunks to any other blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from daskvars.device_array import on_host
from daskvars.errors import invalid
from daskvars.shapes import Chunks, block_indices, block_shape, whole
from daskvars.state.format.encoding import memory_dtype
from daskvars.state.format.grids import (
    Blocks,
    Index,
    Layout,
    Overlap,
    Selection,
    layout_shape,
    normalized_selection,
    selection_shape,
)
from daskvars.state.format.manifest import VariableRecord, shorten

Load = Callable[[VariableRecord, Index], np.ndarray]
"""Gives a stored chunk of a variable."""

Run = Callable[[Callable[[Any], None], Iterable[Any]], object]
"""Calls a function with each of many arguments, in any order, perhaps from several threads."""


def stored_chunk(record: VariableRecord, blocks: Blocks, index: Index) -> np.ndarray:
    """Cut one stored chunk out of a variable's blocks.

    Args:
        record: the variable.
        blocks: block index -> block, in ``record.chunks``; at least those that the chunk touches.
        index: the chunk's index in ``record.grid``.

    Returns:
        The chunk; the block or a view where it lies in one block.

    Raises:
        InvalidArgumentError: a block is missing, or of another shape or dtype than the record says.
    """
    if record.is_regular:
        return on_host(block_at(record, blocks, index))
    selection = record.grid.selection(index)
    parts = [
        (on_host(part_of(block_at(record, blocks, position), source)), target)
        for position, source, target in Layout(record.chunks).overlaps(selection)
    ]
    if len(parts) == 1:
        return parts[0][0]
    chunk = np.empty(selection_shape(selection), memory_dtype(record.dtype))
    for part, target in parts:
        chunk[target] = part
    return chunk


def part_of(array: np.ndarray, selection: Selection) -> np.ndarray:
    """Give a selection of an array as a view, of a scalar as well."""
    whole_or_part: Any = (*selection, ...)
    return array[whole_or_part]


def block_at(record: VariableRecord, blocks: Blocks, position: Index) -> np.ndarray:
    """Give the block at a position of a variable's layout."""
    wanted = block_shape(record.chunks, position)
    block = blocks.get(position)
    if block is None:
        raise invalid(f"variable {record.key!r}: block {position} is missing")
    if block.shape != wanted or block.dtype != memory_dtype(record.dtype):
        raise invalid(
            f"variable {record.key!r}: block {position} is {block.dtype} of shape {block.shape},"
            f" where the record has {record.dtype} of shape {wanted}"
        )
    return block


def assemble_selection(
    record: VariableRecord, selection: Selection, load: Load, run: Run
) -> np.ndarray:
    """Give a selection of a variable, whatever its chunks, as a new array.

    Raises:
        InvalidArgumentError: `selection` is not one slice with step 1 per axis.
    """
    try:
        selection = normalized_selection(selection, record.shape)
    except ValueError as error:
        raise invalid(f"variable {record.key!r}: {error}") from None
    shape = selection_shape(selection)
    assembly = Assembly(whole(shape), record.dtype)

    def add(piece: Overlap) -> None:
        index, source, target = piece
        chunk, size = load(record, index), selection_shape(source)
        assembly.add(chunk if chunk.shape == size else chunk[source].copy(), target)

    run(add, list(record.grid.overlaps(selection)))
    return assembly.blocks()[(0,) * len(shape)]


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
                f"variable {record.key!r}: chunks {shorten(layout)} do not add up to shape"
                f" {record.shape}"
            )
    aligned: dict[str, dict[Index, Any]] = {}
    assemblies = {}
    chunks: list[tuple[str, Index]] = []
    for name, (record, layout) in wanted.items():
        indices = list(record.grid)
        chunks += [(name, index) for index in indices]
        if record.grid.chunks == layout:
            aligned[name] = dict.fromkeys(indices)
        else:
            assemblies[name] = Assembly(layout, record.dtype)

    def add(chunk: tuple[str, Index]) -> None:
        name, index = chunk
        record = wanted[name][0]
        if name in aligned:
            aligned[name][index] = load(record, index)
        else:
            assemblies[name].add(load(record, index), record.grid.selection(index))

    run(add, chunks)
    return {
        name: aligned[name] if name in aligned else assemblies[name].blocks() for name in wanted
    }


class Assembly:
    """A value that is put together from pieces, in the blocks of a layout.

    A piece that is a whole block becomes that block without a copy. A block is allocated with its
    first piece, that is after a chunk of its size has been read.
    """

    def __init__(self, layout: Chunks, dtype: str) -> None:
        self.layout, self.dtype = Layout(layout), memory_dtype(dtype)
        self.found: dict[Index, np.ndarray] = {}
        self.lock = threading.Lock()

    def add(self, piece: np.ndarray, selection: Selection) -> None:
        """Put a piece where its selection of the whole value is."""
        for index, target, source in self.layout.overlaps(selection):
            shape = block_shape(self.layout.chunks, index)
            if piece.shape == shape == selection_shape(target):
                self.found[index] = piece
            else:
                self.block(index)[target] = piece[source]

    def block(self, index: Index) -> np.ndarray:
        """Give the block of an index to write into."""
        with self.lock:
            if index not in self.found:
                shape = block_shape(self.layout.chunks, index)
                self.found[index] = np.empty(shape, self.dtype)
            return self.found[index]

    def blocks(self) -> dict[Index, np.ndarray]:
        """Give all blocks in C order; those without elements had no piece and are made here."""
        return {index: self.block(index) for index in block_indices(self.layout.chunks)}
