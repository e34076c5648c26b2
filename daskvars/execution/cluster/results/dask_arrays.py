"""Values on workers as dask arrays, whose blocks stay there.

Each block becomes a key of its own, a view of the memory that the value is in, made by the worker
that has it. What those keys are computed from again if a worker is lost is what the value itself
was; Dask keeps that as long as somebody has the array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dask.array
import numpy
from distributed import Client

from daskvars.chunk_grid import Chunks
from daskvars.errors import UnavailableError
from daskvars.execution.cluster.errors import GONE
from daskvars.execution.cluster.results.remote_blocks import Reference
from daskvars.execution.engine.values.dask_arrays import dask_array, read_only
from daskvars.remote.dask_internals import DataNode, RunGraph, Task, TaskRef, check_may_wait
from daskvars.remote.tasks.stage_tasks import dask_block
from daskvars.state.format.grids import Index


class Part(NamedTuple):
    """A value that becomes a dask array.

    Attributes:
      blocks: where each block is, or the block itself.
    """

    name: str
    dtype: numpy.dtype[Any]
    chunks: Chunks
    blocks: Mapping[Index, Any]


def on_workers(client: Client, stamp: str, parts: Sequence[Part]) -> list[dask.array.Array]:
    """Return values as dask arrays.

    Args:
      client: the cluster.
      stamp: a text that no other graph has.
      parts: the values.
    """
    graph: dict[Any, Any] = {}
    for part in parts:
        for index, block in part.blocks.items():
            key = (part.name, *index)
            if isinstance(block, Reference):
                graph[key] = Task(key, dask_block, TaskRef(block.future.key), block.position)
            else:
                graph[key] = DataNode(key, read_only(block))
    futures = client.get(RunGraph(graph, {}, stamp), list(graph), sync=False) if graph else []
    found = dict(zip(graph, futures, strict=True))
    return [
        dask_array(
            part.name, part.dtype, part.chunks, {i: found[part.name, *i] for i in part.blocks}
        )
        for part in parts
    ]


class ValueOnWorkers(NamedTuple):
    """A value that is brought here when it is looked at.

    Attributes:
      array: the value, as `on_workers` returns it.
    """

    array: dask.array.Array
    label: str

    def result(self) -> Any:
        """Return the value.

        Raises:
          UnavailableError: it is lost with its cluster or workers.
        """
        client = next(iter(self.array.dask.values())).client
        lost = f"its client is {client.status}"
        if client.status == "running":
            check_may_wait(client)
            try:
                with client.as_current():
                    return numpy.asarray(self.array.compute())
            except GONE as error:
                lost = f"{type(error).__name__}: {error}"
        raise UnavailableError.saying(
            f"the value of {self.label} was left on a Dask cluster by to_dask(), and is lost "
            f"({lost}): compute it again"
        )
