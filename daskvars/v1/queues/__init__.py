"""Input pipelines of queues: threads that run one part of a graph to feed another.

- ``queue_ops``: `FIFOQueue` and its kin; ``elements``: what they are while a program runs.
- ``staging``: what is ready for the next step, which may be looked at.
- ``accumulators``: gradients of several runs, added up; ``accumulated``: these while a program
  runs.
- ``packed_sparse``: sparse tensors as components of an element.
- ``readers``: records out of files whose names are in a queue; ``work``: what those are in a run;
  ``lmdb_files``: what is in an LMDB file.
- ``pipelines`` (`tf.train`'s names): ``producers`` of rows, ``batching`` of elements; ``buckets``
  (`tf.contrib.training`'s) of elements that are alike. Their threads are those of
  `daskvars.v1.sessions.queue_runners`.

Queues are host-side (`daskvars.execution.host_ops`): elements are in the memory of the session's
process, and a step takes its batch as it would take feeds, on a cluster too. So an enqueue that
waits holds nothing that the step needs. What an enqueue or dequeue needs is run before it and stays
done when it fails.
"""

from daskvars.v1.queues.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from daskvars.v1.queues.queue_ops import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)
from daskvars.v1.queues.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    LMDBReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)

__all__ = [
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "FIFOQueue",
    "FixedLengthRecordReader",
    "IdentityReader",
    "LMDBReader",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "ReaderBase",
    "SparseConditionalAccumulator",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
]
