"""Checkpoints of variables that are on workers: every chunk is written and read there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dask._task_spec import Task

from daskvars.chunk_grid import block_indices, block_slices
from daskvars.execution.bundles import SPLIT_BYTES
from daskvars.execution.remote_blocks import Reference, RemoteBlock
from daskvars.execution.sealing import grouped, write_task
from daskvars.kernels.worker_tasks import RunGraph
from daskvars.state import SnapshotWriter, open_zarr_store
from daskvars.state.checkpoint import check_wanted, open_source
from daskvars.state.seals import load_blocks

if TYPE_CHECKING:
    from daskvars.execution.distributed import DistributedExecutor
