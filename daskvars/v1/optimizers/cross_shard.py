"""CrossShardOptimizer: an optimizer for the shards of a batch on TPUs; here there is one."""

from __future__ import annotations

from typing import Any

from daskvars.graph.tensor import Operation
from daskvars.losses.reduction import Reduction
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of_method
from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.v1.optimizers.wrapped import WrappedOptimizer


@accepts("group_assignment", "reduction")
class CrossShardOptimizer(WrappedOptimizer):
    """Applies another optimizer to the gradients of all shards, which are those of the batch here.

    Args:
      opt: the other `Optimizer`.
      name: name of the operations.

    Raises:
      ValueError: `reduction` is neither a sum nor a mean.

    Source: TensorFlow 1.15, ``tf.tpu.CrossShardOptimizer``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0)
    ...     descent = tf.train.GradientDescentOptimizer(0.5)
    ...     train = tf.tpu.CrossShardOptimizer(descent).minimize(2 * v)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train)
    ...     sess.run(v)
    np.float32(0.0)
    """

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        super().__init__(opt, False, name)

    @with_arguments_of_method(Optimizer.apply_gradients)
    def apply_gradients(self, **arguments: Any) -> Operation | None:
        """Add operations that apply the gradients: see `Optimizer.apply_gradients`."""
        return self._opt.apply_gradients(**arguments)
