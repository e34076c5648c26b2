"""Sizes from which other code runs, and the lowest that they can be.

Tests are small, and much of the engine is for what is large: blocks that are versioned, tiles,
feeds that are scattered, bundles that are split. With `lower` a small program takes those paths. A
test looks for constants that are neither here nor among those that decide nothing.
"""

import importlib
import sys
from functools import cache

LOWEST = {
    "daskvars.versioned": {"VERSIONED_BYTES": 1, "SLAB_BYTES": 1},
    "daskvars.execution.local.executor": {"THREAD_TASK_S": 0},
    "daskvars.execution.cluster.saving.task_graphs": {"SPLIT_BYTES": 1},
    "daskvars.execution.cluster.workers.placement": {"SLACK_BYTES": 0},
    "daskvars.lowering.planner.fold_rows": {"MIN_CUT_BYTES": 1, "SHORT_ROW": 0},
    "daskvars.lowering.planner.fuse": {
        "SMALL_BYTES": 0,
        "ARRIVING_BYTES": 0,
        "MOST_ARRIVING_BYTES": 0,
        "MIN_KEPT_BYTES": 1,
    },
    "daskvars.lowering.planner.propagate": {"LOOKUPS_PER_ROW": 0, "REPEATED_BYTES": 0},
    "daskvars.lowering.planner.cut_feeds": {"MIN_CONSTANT_BYTES": 1},
    "daskvars.execution.cluster.runs.sent_feeds": {"SHARED_BYTES": 0, "MAX_GRAPH_BYTES": 1},
    "daskvars.kernels.nn.batch_norm": {"BLOCK_ELEMENTS": 1, "LINE_ELEMENTS": 1, "SAMPLE_ROWS": 1},
    "daskvars.kernels.nn.depthwise": {"LONG_RUN": 0},
    "daskvars.kernels.nn.ctc": {"BLOCK_ELEMENTS": 1},
    "daskvars.kernels.image.resizing": {"BLOCK_ELEMENTS": 1},
    "daskvars.kernels.sparse.products": {"BLOCK_ELEMENTS": 1},
    "daskvars.kernels.linalg.products": {"SMALL_MATRIX": 0},
    "daskvars.kernels.nn.ranking": {
        "BLOCK_ELEMENTS": 1,
        "LEAST_GROUP": 1,
        "LEAST_ENTRIES": 1,
        "FEWEST_GROUPS": 1,
    },
    "daskvars.kernels.nn.candidates": {"LARGEST_DRAW": 2},
    "daskvars.remote.regions.region_split": {"MIN_BYTES": 1},
    "daskvars.kernels.nn.normalization": {"BLOCK_ELEMENTS": 1},
    "daskvars.kernels.nn.windows.patches": {"PATCH_BYTES": 1, "PATCH_ROWS": 1, "BLOCK_BYTES": 1},
    "daskvars.kernels.nn.windows.strips": {"MIN_POSITIONS": 1, "FEW_SEEN": 0, "STRIP_BYTES": 1},
    "daskvars.kernels.control.summed_products": {
        "ROWS": 1,
        "WORTH_HANDING_OVER": 0,
        "FEW_ELEMENTS": 0,
    },
    "daskvars.lowering.rewrites.keep_values": {"MAX_COMPARED_BYTES": 0},
    "daskvars.lowering.rewrites.split_branches": {"MIN_APART_BYTES": 1},
    "daskvars.lowering.rewrites.split_rows": {"MIN_BYTES": 1},
    "daskvars.kernels.random.distributions": {"FEW_WORDS": 0},
    "daskvars.kernels.random.philox": {"TILE": 1, "SEEK_WORDS": 0},
    "daskvars.kernels.math.bounds": {"LINE_ELEMENTS": 1, "LEAST_ELEMENTS": 1},
    "daskvars.kernels.gather_scatter.searching": {"MOST_COMPARED": 0},
    "daskvars.kernels.math.scans": {"ROW_ELEMENTS": 0},
    "daskvars.kernels.math.without_ufunc": {"LEAST_ELEMENTS": 2},
    "daskvars.kernels.math.reduce": {"PRODUCT_ELEMENTS": 0},
    "daskvars.kernels.math.row_sums": {"MANY_ROWS": 0, "LONG_ROW": 2, "COLUMN_BLOCK": 1},
    "daskvars.kernels.gather_scatter.gather": {"LEAST_ELEMENTS": 0},
    "daskvars.kernels.gather_scatter.rows": {"ROUNDS": 1, "NARROW_ROW": 0, "FEW_ELEMENTS": 0},
    "daskvars.kernels.math.special": {"BLOCK_ELEMENTS": 1},
    "daskvars.remote.regions.pieces": {
        "MIN_FLOPS": 0,
        "MIN_FLOPS_PER_BYTE": 0,
        "PIECE_FLOPS": 1,
        "MAX_REPEATED": 1e9,
    },
    "daskvars.remote.regions.chains.tiling": {"THREAD_ELEMENTS": 1},
    "daskvars.lowering.emission.stages": {"SPLIT_BYTES": 0},
    "daskvars.remote.exchange": {"SMALL_BYTES": 0, "THREAD_BYTES": 0},
    "daskvars.remote.shared_buffers": {"LEAST_BYTES": 1},
    "daskvars.remote.tasks.record_blocks": {"BLOCK_BYTES": 1},
    "daskvars.remote.regions.several": {"CALL_BYTES": 1},
    "daskvars.data.nodes.files": {"FIRST_INDEX_BYTES": 1, "INDEX_BYTES": 1},
    "daskvars.remote.task_outputs": {
        "MAX_SHOWN_BYTES": 0,
        "MAX_NUMBERS": 0,
        "COUNTED_BYTES": 0,
    },
    "daskvars.remote.told_results": {"MAX_TOLD_BYTES": 0},
    "daskvars.remote.scope_seconds": {"MIN_SHOWN_S": 0.0},
    "daskvars.remote.tasks.stage_tasks": {
        "GROUP_BYTES": 1,
        "MAX_WAITING_BYTES": 1,
        "ALONG_BYTES": 0,
    },
    "daskvars.ops.array.constant": {"_MAX_KEPT": 0, "_MAX_REPEATED_BYTES": 0},
    "daskvars.graph.records.attribute_json": {"_PIECE_BYTES": 3},
    "daskvars.state.external.decompressed_size": {"PIECE_BYTES": 3},
    "daskvars.state.external.tensorflow.reading": {"CHUNK_BYTES": 64, "BLOCK_BYTES": 16},
    "daskvars.state.external.tensorflow.tables": {"BLOCK_BYTES": 50},
    "daskvars.state.stores.archive": {"PENDING_BYTES": 1, "SMALL_BYTES": 0},
    "daskvars.state.stores.disk": {"STEP_BYTES": 5},
    "daskvars.state.format.encoding": {"CHECKSUM_STEP": 3},
    "daskvars.state.stores.objects": {"QUICK_ITEMS": 0},
}
KNOBS = {
    "batch_parts_min_flops": 1.0,
    "tile_elements": 2,
    "tile_min_elements": 1,
    "inline_constant_bytes": 1,
    "feed_scatter_bytes": 1,
    "client_work_s": 0.0,
}

# Constants whose names look like sizes, and which choose no path: why.
NO_PATHS = {
    "limits, beyond which something is refused": {
        "MAX_ELEMENTS",
        "MAX_DOCUMENT_BYTES",
        "MAX_STRING_BYTES",
        "MAX_BYTES",
        "MAX_PATH_BYTES",
        "MAX_NAME_BYTES",
        "MAX_SEGMENT_BYTES",
        "FREE_BYTES",
        "EXTRA_BYTES",
        "MAX_COMMENT_BYTES",
        "MAX_DIRECTORY_BYTES",
        "MOST_MORE_BYTES",
        "MAX_INDEX_BYTES",
        "SLACK_BYTES",
    },
    "what is a shape, and what is data": {"MAX_STATIC_ELEMENTS", "_MAX_KNOWN"},
    "of a GPU": {
        "DEVICE_BLOCK_ELEMENTS",
        "DEVICE_PATCH_BYTES",
        "DEVICE_TILE",
        "DEVICE_COLUMN_BLOCK",
    },
    "how often something is tried": {"MAX_ROUNDS"},
    "how much is shown": {"MAX_ROWS"},
    "facts": {
        "BLOCK_WORDS",
        "CHECKSUM_BYTES",
        "ENTRY_BYTES",
        "OWN_BYTES",
        "RECORD_BYTES",
        "REPEATED_CALL_BYTES",
        "ROUNDS",
        "ROW_BYTES",
        "SHORT_ROW",
        "_FILE_BYTES",
        "_META_BYTES",
        "_PIXELS_BYTES",
    },
    "memory that is kept, waited or warned of": {
        "GIVEN_BYTES",
        "KEPT_BYTES",
        "LARGE_BYTES",
        "MOST_BYTES",
        "WINDOWS_KEPT",
        "FOLLOWING_KEPT",
        "PROCESS_BYTES",
        "MIN_RESERVED_BYTES",
        "MAX_RETAINED_BYTES",
    },
}


@cache
def holders(num_modules):
    """Return (module, constant, the lowest) wherever a constant of `LOWEST` is known.

    Args:
      num_modules: how many there are, so that it is asked anew when more are imported.
    """
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "daskvars"]
    return [
        (module, constant, value)
        for name, values in LOWEST.items()
        for constant, value in values.items()
        for before in [vars(importlib.import_module(name))[constant]]
        for module in ours
        if vars(module).get(constant) is before
    ]


def lower():
    """Set all thresholds of this process to their lowest; return what sets them back."""
    from daskvars import config
    from daskvars.execution.eager import EAGER_CONTEXT
    from daskvars.execution.engine.plans.cache import PlanCache

    for name in LOWEST:
        importlib.import_module(name)
    found = holders(len(sys.modules))
    saved = [(module, constant, vars(module)[constant]) for module, constant, _ in found]
    for module, constant, value in found:
        setattr(module, constant, value)
    knobs = config.set(**KNOBS)
    EAGER_CONTEXT.sync()
    EAGER_CONTEXT.engine.plans = PlanCache()

    def back():
        for module, constant, before in saved:
            setattr(module, constant, before)
        knobs.__exit__(None, None, None)
        EAGER_CONTEXT.sync()
        EAGER_CONTEXT.engine.plans = PlanCache()

    return back


def lower_on_worker():
    """Set all thresholds of a worker's process to their lowest, for good."""
    lower()
