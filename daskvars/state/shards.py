"""Parts of one array that are kept as variables of their own, as one variable again.

Only labels move: the blocks stay what and where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from daskvars.errors import invalid
from daskvars.shapes import Chunks
from daskvars.state.format.grids import Blocks
from daskvars.state.format.manifest import VariableRecord


@dataclass(frozen=True)
class Shard:
    """A variable that holds an array, or a part of one.

    Attributes:
        key: the variable's key.
        offset: where its first element is in the whole; None where it is the whole.
        shape: the shape of the whole, if it is a part.
    """

    key: str
    offset: tuple[int, ...] | None = None
    shape: tuple[int, ...] = ()


def join_shards(
    name: str, shards: Sequence[tuple[Shard, VariableRecord, Blocks]]
) -> tuple[VariableRecord, Blocks] | None:
    """Give the array that parts make, cut along one axis, as a record and its blocks.

    Args:
        name: the key of the whole.

    Returns:
        Record and blocks of the whole; None where the parts' chunks do not line up.

    Raises:
        InvalidArgumentError: the parts do not make the whole.
    """
    first, record, blocks = shards[0]
    if first.offset is None:
        return record if record.key == name else replace(record, key=name), blocks
    ordered = sorted(shards, key=lambda shard: shard[0].offset or ())
    axis = next((a for a, n in enumerate(record.shape) if n != first.shape[a]), 0)
    sizes = [found.shape[axis] for _, found, _ in ordered]
    starts = [shard.offset[axis] for shard, _, _ in ordered if shard.offset is not None]
    if starts != [sum(sizes[:i]) for i in range(len(sizes))] or sum(sizes) != first.shape[axis]:
        raise invalid(
            f"{name!r} has shape {first.shape}, which {len(shards)} parts of sizes {sizes} along "
            f"axis {axis} do not make; give all of its parts"
        )
    others = {_without(found.chunks, axis) for _, found, _ in ordered}
    if len(others) > 1:
        return None
    chunks: tuple[int, ...] = ()
    joined = {}
    for _, found, its_blocks in ordered:
        for index, block in its_blocks.items():
            joined[(*index[:axis], index[axis] + len(chunks), *index[axis + 1 :])] = block
        chunks += found.chunks[axis]
    layout = (*record.chunks[:axis], chunks, *record.chunks[axis + 1 :])
    return replace(record, key=name, shape=first.shape, chunks=layout), joined


def _without(chunks: Chunks, axis: int) -> Chunks:
    return (*chunks[:axis], *chunks[axis + 1 :])
