"""Optimizers that only TensorFlow 1 has in its core: FTRL, proximal rules, synchronized replicas.

Each is written as those of `daskvars.train.optimizers` are, as slots and one update rule in the
notation of its paper:

- ``ftrl``: follow the regularized leader, and dual averaging of AdaGrad;
- ``proximal``: gradient descent and AdaGrad with L1 and L2 regularization as a proximal step; FTRL
  shrinks by the same function;
- ``sync_replicas``: an optimizer around another one, which applies the mean of several replicas'
  gradients. A run is a transaction, and so replicas need not wait for one another: each adds to
  sums that are variables, and the one that brings the last applies them;
- ``cross_shard``: an optimizer around another one, for the shards of a batch on TPUs;
- ``wrapped``: what an optimizer around another one gives out of it.

A new optimizer belongs to `daskvars.train.optimizers`, unless only TensorFlow 1 knows it.
"""

from daskvars.v1.optimizers.ftrl import AdagradDAOptimizer, FtrlOptimizer
from daskvars.v1.optimizers.proximal import (
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
)
from daskvars.v1.optimizers.sync_replicas import SyncReplicasOptimizer

__all__ = [
    "AdagradDAOptimizer",
    "FtrlOptimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "SyncReplicasOptimizer",
]
