"""How the feeds of one run reach the workers: inside the tasks, as tasks, scattered, or lazy.

They are cut as the plan says; along which dimension, and into how many parts, has been chosen by
`lowering.planner.cut_feeds`.

A small array is part of the tasks' specifications, so that Dask can run them again; a large one is
scattered, and its futures are kept until the variables are sealed. It goes straight to the workers:
through the scheduler, 16 MiB took it 25 ms of CPU. Where workers cannot be reached from here it
goes through the scheduler all the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client, Future

from daskvars import config
from daskvars.execution.cluster.runs.task_graphs import Template, joined
from daskvars.execution.cluster.workers.worker_info import workers_of
from daskvars.execution.engine.values.blocks import cut
from daskvars.execution.engine.values.lazy_feeds import LazyFeed, LazyTasks, fitted
from daskvars.lowering.plan import BlockId, Origin, Plan
from daskvars.lowering.program import FEED
from daskvars.remote.dask_internals import DataNode, TaskRef, give_to_worker, tell_given
from daskvars.remote.exchange import GIVE

logger = logging.getLogger("daskvars")

# A smaller block is repeated in each task that takes it: a task more costs the scheduler 1 ms.
SHARED_BYTES = 16 << 10
MAX_GRAPH_BYTES = 4 << 20  # of feeds in one run's graph; Dask warns at 10 MB
SCATTER_ATTEMPTS, SCATTER_PAUSE_S = 5, 0.3  # Dask notices within a second that a worker is gone
CONNECT_S = 2.0  # that a worker is tried to be reached straight
SCATTER_TIMEOUT_S = 2.0  # that a worker which takes no data is waited for, while there are others


class RunFeeds:
    """Gives the blocks of feeds to the tasks of one run.

    Attributes:
      tasks: those that the run's graph must have besides its own.
      retained: what must be kept alive for the run to be repeatable.
      nbytes: bytes of the arrays.
    """

    def __init__(
        self,
        client: Client,
        template: Template,
        stamp: str,
        feeds: Sequence[Any],
        addresses: Sequence[str],
    ) -> None:
        self.template, self.stamp = template, stamp
        self.feeds = feeds = fitted(feeds, template.plan.leaves, self._address_of)
        self.retained: list[Any] = []
        self.nbytes = 0
        self._scattered: dict[str, Future] = {}
        self._room = MAX_GRAPH_BYTES
        self._lazy = LazyTasks(feeds, stamp)
        self.tasks: dict[Any, Any] = self._lazy.tasks
        large: dict[str, Any] = {}
        for number, leaf in enumerate(template.plan.leaves):
            if leaf.kind != FEED:
                continue
            value = feeds[leaf.what]
            if isinstance(value, LazyFeed):
                self.retained.append(value)
                continue
            self.nbytes += value.nbytes
            if value.nbytes > min(config.get().feed_scatter_bytes, self._room):
                large.update(self._leaf_blocks(number))
            else:
                self._room -= value.nbytes
        if large:
            takers = {
                key: address
                for block_id in template.takers
                if (key := self._key(block_id)) in large
                and (address := template.taker_address(block_id)) is not None
            }
            self._scattered = scattered(client, large, addresses, takers)
            self.retained.extend(self._scattered.values())

    def _address_of(self, leaf: int, block: tuple[int, ...]) -> str | None:
        return self.template.taker_address(BlockId(Origin(-1, leaf), block))

    def argument(self, block_id: BlockId) -> Any:
        """Return what a task that takes this block has as its argument."""
        leaf = self.template.plan.leaves[block_id.origin.position]
        if isinstance(self.feeds[leaf.what], LazyFeed):
            uses = self.template.uses[block_id]
            return self._lazy.argument(leaf.what, block_id.block, uses)
        if self._key(block_id) not in self._scattered:
            array = self._cut(block_id)
            if array.nbytes <= SHARED_BYTES or self.template.uses[block_id] == 1:
                return array
        return self.reference(block_id)

    def reference(self, block_id: BlockId) -> TaskRef:
        """Return a reference to a key that holds this block."""
        leaf = self.template.plan.leaves[block_id.origin.position]
        if isinstance(self.feeds[leaf.what], LazyFeed):
            return TaskRef(self._lazy.key(leaf.what, block_id.block))
        key = self._key(block_id)
        if key not in self._scattered and key not in self.tasks:
            self.tasks[key] = DataNode(key, self._cut(block_id))
        return TaskRef(key)

    def _key(self, block_id: BlockId) -> str:
        return f"feed-{self.stamp}-{joined(block_id.origin.position, *block_id.block)}"

    def _cut(self, block_id: BlockId) -> Any:
        leaf = self.template.plan.leaves[block_id.origin.position]
        return cut(self.feeds[leaf.what], leaf.layout, block_id.block)

    def _leaf_blocks(self, number: int) -> dict[str, Any]:
        block_ids = [
            block_id
            for block_id in leaf_block_ids(self.template)
            if block_id.origin.position == number
        ]
        return {self._key(block_id): self._cut(block_id) for block_id in block_ids}


def leaf_block_ids(template: Template) -> list[BlockId]:
    """Return the blocks from outside that a plan's tasks take, or that become a variable's."""
    plan: Plan = template.plan
    assigned = [
        block_id
        for value in plan.updates.values()
        if value.origin.region < 0
        for block_id in value.block_ids()
    ]
    return list(dict.fromkeys([*template.uses, *assigned]))


def scattered(
    client: Client,
    data: dict[str, Any],
    addresses: Sequence[str],
    wanted_worker: Mapping[str, str] | None = None,
) -> dict[str, Future]:
    """Send arrays to the workers, spread over them in order, and return their futures.

    A worker may have died that the scheduler still counts in, or be about to leave, or take nothing
    since its memory is full: then others are tried.

    Args:
      client: the cluster.
      data: arrays by key.
      addresses: the workers.
      wanted_worker: key -> worker, of arrays that a certain one is to have.
    """
    wanted_worker = wanted_worker or {}
    futures: dict[str, Future] = {}
    refusing: set[str | None] = set()
    timeout_s: float | None = SCATTER_TIMEOUT_S
    for attempt in range(1, SCATTER_ATTEMPTS + 1):
        # What has arrived is kept: a key that is released and scattered anew may be let go by a
        # worker's word that is about the old one.
        rest = {key: array for key, array in data.items() if key not in futures}
        workers_of(client).wait_for_any()
        sent, errors = client.sync(_scatter, client, rest, addresses, wanted_worker, timeout_s)
        futures.update(sent)
        if not errors:
            break
        for error in errors.values():
            if attempt == SCATTER_ATTEMPTS or not isinstance(error, OSError | KeyError):
                raise error
        time.sleep(SCATTER_PAUSE_S)
        refusing.update(errors)
        there, wanted_worker = sorted(client.nthreads()), {}
        addresses = [address for address in there if address not in refusing]
        if not addresses:
            addresses, timeout_s = there, None
    return {key: futures[key] for key in data}


async def _scatter(
    client: Client,
    data: dict[str, Any],
    addresses: Sequence[str],
    wanted_worker: Mapping[str, str],
    timeout_s: float | None,
) -> tuple[dict[str, Future], dict[str | None, BaseException]]:
    """Send arrays to the workers; return futures of those that arrived, and errors by worker.

    Args:
      timeout_s: how long to wait for workers that take data; None as long as Dask's configuration
        says.
    """
    options: dict[str, Any] = {} if timeout_s is None else {"timeout": timeout_s}
    shares: dict[str | None, dict[str, Any]] = {}
    for number, (key, array) in enumerate(data.items()):
        address = wanted_worker.get(key) or (
            addresses[number * len(addresses) // len(data)] if addresses else None
        )
        shares.setdefault(address, {})[key] = array

    futures, errors = dict[str, Future](), dict[str | None, BaseException]()
    if _reaches_workers.get(client, True):
        there = {address: share for address, share in shares.items() if address is not None}
        futures = {key: Future(key, client) for share in there.values() for key in share}
        given = await _given(client, there)
        shares = {address: share for address, share in shares.items() if address not in given}
    found = await asyncio.gather(
        *(
            client.scatter(
                share, workers=address and [address], hash=False, asynchronous=True, **options
            )
            for address, share in shares.items()
        ),
        return_exceptions=True,
    )
    for (address, share), sent in zip(shares.items(), found, strict=True):
        if isinstance(sent, BaseException):
            errors[address] = sent
            for key in share:
                futures.pop(key, None)
        else:
            # In place of one made before, which was let go only now: the word that a key is let go
            # of could come after the arrays.
            futures.update(sent)
    return futures, errors


async def _given(client: Client, shares: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Give arrays straight to workers; return those that have taken theirs."""
    found = await asyncio.gather(
        *(
            give_to_worker(client, address, GIVE, share, CONNECT_S)
            for address, share in shares.items()
        ),
        return_exceptions=True,
    )
    taken, failures = dict[str, Mapping[str, int]](), list[BaseException]()
    for address, nbytes in zip(shares, found, strict=True):
        if isinstance(nbytes, OSError):
            if not _reaches_workers.setdefault(client, False):
                logger.info(
                    "%s cannot be reached from here (%s): feeds go through the scheduler",
                    address,
                    nbytes,
                )
        elif isinstance(nbytes, BaseException):
            failures.append(nbytes)
        else:
            _reaches_workers.setdefault(client, True)
            if nbytes is not None:
                taken[address] = nbytes
    try:
        gone = await tell_given(client, taken) if taken else set()
    except OSError:  # the scheduler is lost, as what is sent through it will say
        gone = set(taken)
    for failure in failures:
        raise failure
    return taken.keys() - gone


# Whether the first try to reach a worker straight came through, by client.
_reaches_workers: weakref.WeakKeyDictionary[Client, bool] = weakref.WeakKeyDictionary()
