"""Input pipelines of queues: threads that run one part of a graph to feed another.

- ``queue_ops``: `FIFOQueue` and its kin; ``elements``: what they are while a program runs.

Queues are host-side (`daskvars.execution.host`): elements are in the memory of the session's
process, and a step takes its batch as it would take feeds, on a cluster too. So an enqueue that
waits holds nothing that the step needs. What an enqueue or dequeue needs is run before it and stays
done when it fails.
"""

from daskvars.v1.queues.queue_ops import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
]
