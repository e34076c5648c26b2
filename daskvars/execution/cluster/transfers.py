"""Blocks on their way between this process and workers: data put there, values brought here.

Programs, constants and first values of variables are put where they are used, and are there before
what uses them is sent. What is brought is of the keys that hold several blocks those alone that are
wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from distributed import Client, Future

from daskvars import config
from daskvars.execution.cluster.results.remote_blocks import (
    Reference,
    RemoteBlock,
    own,
    remote_blocks,
    wait,
)
from daskvars.execution.cluster.runs.sent_feeds import MAX_GRAPH_BYTES, scattered
from daskvars.execution.cluster.workers.placement import ClusterPlacement, by_annotation
from daskvars.remote.dask_internals import DataNode, RunGraph, Task, TaskRef
from daskvars.remote.task_keys import outputs_key, read_key
from daskvars.remote.tasks.stage_tasks import as_outputs, fetched
from daskvars.state.format.grids import Blocks


class Transfers:
    """Moves blocks between this process and the workers of a cluster.

    Args:
      placement: where variables live.
      new_stamp: gives a text for keys that no other graph has.
    """

    def __init__(
        self, client: Client, placement: ClusterPlacement, new_stamp: Callable[[], str]
    ) -> None:
        self._client, self._placement, self._new_stamp = client, placement, new_stamp

    def put(
        self, data: Mapping[str, Any], annotations_of: Mapping[str, dict[str, Any]]
    ) -> dict[str, Future]:
        """Put plain data under keys: small data as tasks, which Dask can repeat, else scattered.

        Args:
          data: key -> array or packed stage.
          annotations_of: key -> Dask annotations, where it matters on which worker it is.
        """
        limit = min(config.get().feed_scatter_bytes, MAX_GRAPH_BYTES)
        small, large, room = {}, {}, MAX_GRAPH_BYTES
        for key, value in data.items():
            if value.nbytes <= min(limit, room):
                small[key] = value
                room -= value.nbytes
            else:
                large[key] = value
        found = {}
        if large:
            workers = {
                key: annotations["workers"][0]
                for key, annotations in annotations_of.items()
                if annotations
            }
            found = scattered(self._client, large, self._placement.addresses, workers)
        if small:
            graph = {key: DataNode(key, value) for key, value in small.items()}
            found.update(self._sent(graph, annotations_of))
        return found

    def moved(self, state: Mapping[str, Blocks]) -> dict[str, Blocks]:
        """Return those variables that are not all on this cluster, once they are."""
        local: dict[str, Any] = {}
        annotations_of: dict[str, dict[str, Any]] = {}
        where: dict[str, tuple[str, Any]] = {}
        for key, blocks in state.items():
            for number, (index, block) in enumerate(blocks.items()):
                if not isinstance(block, RemoteBlock):
                    name = f"value-{self._new_stamp()}"
                    local[name], where[name] = block, (key, index)
                    annotations_of[name] = self._placement.variable_annotations(
                        key, number, len(blocks)
                    )
        if not local:
            return {}
        futures = self._adopted(self.put(local, annotations_of), annotations_of)
        new: dict[str, Any] = {key: dict(state[key]) for key, _ in where.values()}
        for name, (key, index) in where.items():
            new[key][index] = RemoteBlock(Reference(futures[name], 0))
        return new

    def _adopted(
        self, data: Mapping[str, Future], annotations_of: Mapping[str, dict[str, Any]]
    ) -> dict[str, Future]:
        """Make values that were put what a stage gives, each where it is."""
        stamp = self._new_stamp()
        keys = {name: outputs_key("value", stamp, number) for number, name in enumerate(data)}
        graph = {key: Task(key, as_outputs, TaskRef(name)) for name, key in keys.items()}
        found = self._sent(graph, {keys[name]: annotations_of[name] for name in data})
        wait(self._client, [*data.values(), *found.values()])
        return {name: found[key] for name, key in keys.items()}

    def _sent(
        self, graph: dict[str, Any], annotations_of: Mapping[str, dict[str, Any]]
    ) -> dict[str, Future]:
        """Send tasks, each with its annotations, and return the future of each."""
        annotations = by_annotation({key: annotations_of.get(key, {}) for key in graph})
        sent = RunGraph(graph, annotations, self._new_stamp())
        futures = self._client.get(sent, list(graph), sync=False)
        return dict(zip(graph, futures, strict=True))

    def brought(self, variables: Sequence[Blocks]) -> list[Blocks]:
        """Return the blocks of variables as arrays of this process."""
        positions: dict[Any, dict[int, int]] = {}
        for block in remote_blocks(variables):
            key, position = block.location
            places = positions.setdefault(key, {})
            places.setdefault(position, len(places))
        stamp = self._new_stamp()
        keys = {key: read_key(stamp, number) for number, key in enumerate(positions)}
        graph = {
            key: Task(key, fetched, tuple(positions[name]), TaskRef(name))
            for name, key in keys.items()
        }
        futures = self._client.get(RunGraph(graph, {}, stamp), list(graph), sync=False)
        wait(self._client, futures)
        data = dict(zip(keys, self._client.gather(futures), strict=True))

        def brought(block: Any) -> Any:
            key, position = block.location
            return own(data[key][positions[key][position]])

        return [{i: brought(block) for i, block in blocks.items()} for blocks in variables]
