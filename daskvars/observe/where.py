"""Where the variables of a session are, in bytes."""

from __future__ import annotations

import math
from typing import Any

from daskvars.chunk_grid import block_shape
from daskvars.execution.cluster.remote_blocks import RemoteBlock, remote_blocks
from daskvars.execution.local.devices import CPU
from daskvars.execution.session import Session
from daskvars.state.format.encoding import item_bytes
from daskvars.state.format.grids import Blocks


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

    >>> import daskvars as dv
    >>> with dv.Graph().as_default(), dv.Session() as session:
    ...     w = dv.Variable(dv.zeros([3, 2]), name="w")
    ...     session.run(w.initializer)
    ...     variable_bytes(session)
    {'w': {'/job:localhost/replica:0/task:0/device:CPU:0': 24}}
    """
    engine = session.engine
    executor = engine.executor
    engine.sync()
    keys = sorted(engine.values.capture()[1])
    with executor.lease(keys) as lease:
        blocks = dict(zip(keys, lease.blocks, strict=True))
    holders = {} if executor.placement is None else _holders(executor, blocks)
    found: dict[str, dict[str, int]] = {}
    for key in keys:
        record, places = engine.values.record(key), found.setdefault(key, {})
        for index, block in blocks[key].items():
            is_remote = isinstance(block, RemoteBlock)
            place = holders[block.reference.future.key] if is_remote else CPU
            size = math.prod(block_shape(record.chunks, index)) * item_bytes(record.dtype)
            places[place] = places.get(place, 0) + size
    return found


def _holders(executor: Any, blocks: dict[str, Blocks]) -> dict[Any, str]:
    """Return for each key that holds blocks the worker that has it."""
    names = {
        info.address: info.name if info.task is None else info.device
        for info in executor.placement.worker_infos
    }
    futures = {b.reference.future.key: b.reference.future for b in remote_blocks(blocks.values())}
    who_has = executor.client.who_has(list(futures.values())) if futures else {}
    return {key: names.get(next(iter(who_has.get(key, ())), ""), "lost") for key in futures}
