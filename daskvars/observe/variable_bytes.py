"""Where the variables of a session are, in bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from daskvars.chunk_grid import block_shape
from daskvars.execution.cluster.results.remote_blocks import RemoteBlock, remote_blocks
from daskvars.execution.engine.engine import Engine
from daskvars.execution.local.devices import CPU
from daskvars.execution.session import Session
from daskvars.state.format.encoding import item_bytes
from daskvars.state.format.grids import Blocks, Index


def variable_bytes(session: Session) -> dict[str, dict[str, int]]:
    """Return how many bytes of each variable are on which device.

    On a cluster a device is a worker, as a task ("/job:ps/task:1") or by its name; each chunk is
    counted once, whoever has copies of it. The runs in flight are waited for.

    Args:
      session: whose variables; those without a value are left out.

    Returns:
      key -> device -> bytes, plain data that JSON can hold and that outlives the cluster. The
      sum over a variable's devices is its size.

    Raises:
      OpError: a run in flight failed.

    >>> with dv.Graph().as_default(), dv.Session() as session:
    ...     w = dv.Variable(dv.zeros([3, 2]), name="w")
    ...     session.run(w.initializer)
    ...     variable_bytes(session)
    {'w': {'/job:localhost/replica:0/task:0/device:CPU:0': 24}}
    """
    engine = session.engine
    engine.acquire()  # or its values are those before a cluster came or went
    found: dict[str, dict[str, int]] = {}
    for key, places in chunk_places(engine, sorted(engine.values.capture()[1])).items():
        record, by_place = engine.values.record(key), found.setdefault(key, {})
        for index, place in places.items():
            size = math.prod(block_shape(record.chunks, index)) * item_bytes(record.dtype)
            by_place[place] = by_place.get(place, 0) + size
    return found


def chunk_places(engine: Engine, keys: Iterable[str]) -> dict[str, dict[Index, str]]:
    """Return where each chunk of some variables is: key -> index of the chunk -> device.

    Keys without a value are left out. See `variable_bytes`.
    """
    executor = engine.acquire()
    engine.sync()
    known = engine.values.capture()[1]
    keys = [key for key in keys if key in known]
    with executor.lease(keys) as lease:
        blocks = dict(zip(keys, lease.blocks, strict=True))
    holders = {} if executor.placement is None else _holders(executor, blocks)
    return {
        key: {index: _place(block, holders) for index, block in blocks[key].items()} for key in keys
    }


def _place(block: Any, holders: dict[Any, str]) -> str:
    if not isinstance(block, RemoteBlock):
        return CPU
    return "lost" if block.reference is None else holders[block.reference.future.key]


def _holders(executor: Any, blocks: dict[str, Blocks]) -> dict[Any, str]:
    """Return for each key that holds blocks the worker that has it."""
    names = {
        info.address: info.name if info.task is None else info.device
        for info in executor.placement.worker_infos
    }
    references = [block.found for block in remote_blocks(blocks.values())]
    futures = {r.future.key: r.future for r in references if r is not None}
    who_has = executor.client.who_has(list(futures.values())) if futures else {}
    return {key: names.get(next(iter(who_has.get(key, ())), ""), "lost") for key in futures}
