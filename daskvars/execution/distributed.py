"""The cluster's executor: plans run on the workers of a Dask client, and values stay there.

A run is one small graph, sent without waiting for it: the variables' next version is the keys
that the graph computes. What is fetched is gathered; everything else stays where it was computed.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dask.array
import numpy
from dask._task_spec import DataNode, Task, TaskRef
from distributed import Client, Future

from daskvars import config
from daskvars.errors import UnavailableError
from daskvars.execution.blocks import owned, whole
from daskvars.execution.bundles import SPLIT_BYTES
from daskvars.execution.cluster_errors import is_lost, unavailable
from daskvars.execution.local import full_layout, only
from daskvars.execution.pipeline import Pipeline, Run, restore
from daskvars.execution.remote_blocks import Reference, RemoteBlock, own, wait
from daskvars.execution.run_feeds import RunFeeds, cut, leaf_pieces, scattered
from daskvars.execution.run_graphs import Template, joined
from daskvars.execution.sealing import Sealer
from daskvars.kernels.worker_tasks import RunGraph, pick, shape_of
from daskvars.lowering.plan import Piece, Plan, Value
from daskvars.lowering.program import CONSTANT, FEED, KEY, STATE
from daskvars.state import ZarrStore
from daskvars.state.grids import Blocks
from daskvars.state.values import Values
