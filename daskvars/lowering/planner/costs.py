"""What nodes, tasks, stages and exchanges cost, about: the figures that choices are made by."""

from __future__ import annotations

import math

from daskvars.graph.definitions.patterns import Gather, ScatterInto
from daskvars.lowering.program import Node, spec_bytes

# Of one thread here, about: only their ratios matter, and hardly.
FLOPS_PER_S = 4e10
MEMORY_BYTES_PER_S = 8e9
CALL_S = 3e-6
THREAD_CALL_S = 8e-6  # of each of several threads of one process, which wait for one another
# Of what one thread does of a kernel that is called for pieces, how much each further one does: it
# begins later, and what pieces give is put together.
PIECES_GAIN = 0.5
TASK_S = 3e-4  # beside what is computed in it
# Of workers: what one exchange holds all of them up, and what the scheduler takes for a task.
EXCHANGE_S = 3e-3
SCHEDULING_S = 1e-3

MIN_GAIN = 0.95  # of the seconds of what is simpler: what is no better than that is not chosen
NEAR_IDEAL = 1.15  # of the seconds of a perfect division: nothing better is looked for


def moved_bytes(node: Node) -> float:
    """Return the bytes that a node reads and writes: of tables those of the rows it names."""
    pattern = node.kernel_pattern
    if isinstance(pattern, Gather):
        return 2 * spec_bytes(node.specs[0]) * node.filled
    if isinstance(pattern, ScatterInto):
        return 3 * node.inputs[-1].nbytes
    taken: float = sum(ref.nbytes for ref in node.inputs)
    if node.merges is not None:
        taken *= math.prod(node.inputs[0].producer.grid[axis] for axis in node.merges)
    return taken + sum(map(spec_bytes, node.specs)) * node.filled
