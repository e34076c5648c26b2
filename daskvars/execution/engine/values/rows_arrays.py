"""Dask arrays of rows that are read by the workers that will use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dask.array
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

Addresses = tuple[str | None, ...]
ReadRows = Callable[[str, Sequence[int], Addresses | None], dict[Any, Any]]
"""``read(name, sizes, addresses)``: the graph of a dask array of that name, in blocks of so many
rows, each for the worker at an address; None where that is not known."""


class RowsArray(dask.array.Array):
    """A dask array in one chunk, of which each worker reads the rows that it will use.

    Who uses which is known when a plan has cut it: `cut_for`. For anybody else it is a dask array
    like others, read by one worker when its tasks are asked for.

    Args:
      wait: waits until they are there, and raises what is wrong with them; None where a run finds
        that out.
    """

    wait: Callable[[], None] | None
    _read: ReadRows
    _cuts: dict[tuple[tuple[int, ...], Addresses], dask.array.Array]

    def __new__(
        cls,
        name: str,
        shape: tuple[int, ...],
        dtype: Any,
        read: ReadRows,
        wait: Callable[[], None] | None = None,
    ) -> RowsArray:
        layer = _OneChunk((name, *[0] * len(shape)), lambda: read(name, shape[:1], None))
        graph = HighLevelGraph.from_collections(name, layer, dependencies=())
        found: RowsArray = super().__new__(cls, graph, name, [(n,) for n in shape], dtype=dtype)
        found._read, found._cuts, found.wait = read, {}, wait
        return found

    def cut_for(self, sizes: tuple[int, ...], addresses: Addresses) -> dask.array.Array:
        """Return it in blocks of so many rows, each read by the worker that will use it."""
        if (sizes, addresses) not in self._cuts:
            name = f"{self.name}-{len(self._cuts)}"
            graph = HighLevelGraph.from_collections(
                name, self._read(name, sizes, addresses), dependencies=()
            )
            chunks = (sizes, *self.chunks[1:])
            self._cuts[sizes, addresses] = dask.array.Array(graph, name, chunks, dtype=self.dtype)
        return self._cuts[sizes, addresses]


class _OneChunk(Layer):
    """The tasks of one chunk, made when somebody looks at them."""

    def __init__(self, key: Any, make: Callable[[], dict[Any, Any]]) -> None:
        super().__init__()
        self._key, self._make = key, make
        self._tasks: dict[Any, Any] | None = None

    def _made(self) -> dict[Any, Any]:
        if self._tasks is None:
            self._tasks = self._make()
        return self._tasks

    def __getitem__(self, key: Any) -> Any:
        return self._made()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())

    def is_materialized(self) -> bool:
        """Return whether somebody has looked at them."""
        return self._tasks is not None

    def get_output_keys(self) -> set[Any]:
        """Return the key of the chunk."""
        return {self._key}

    def __reduce__(self) -> Any:
        return MaterializedLayer, (self._made(),)
