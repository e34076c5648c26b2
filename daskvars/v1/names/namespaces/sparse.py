"""What ``tf.sparse`` has besides the package's: gradients of several runs, added up."""

from daskvars.v1.queues.accumulators import SparseConditionalAccumulator

__all__ = ["SparseConditionalAccumulator"]
