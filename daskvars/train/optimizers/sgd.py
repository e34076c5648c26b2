"""Gradient descent, plain and with momentum."""

from __future__ import annotations

from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Operation, Tensor
from daskvars.surface.accepted import accepts
from daskvars.train.optimizers.update_rule import Cell, Hyperparameter, RuleOptimizer, one_step
from daskvars.variables.variable import Variable


@accepts("use_locking")
@one_step("dv.train.GradientDescentOptimizer(0.25)", "float(v) -> 0.5")
class GradientDescentOptimizer(RuleOptimizer):
    """Gradient descent: ``w -= rate * g``.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      name: name of the operations.

    Source: TensorFlow 1.15, ``tf.train.GradientDescentOptimizer``.
    """

    hyperparameters = ("learning_rate",)

    def __init__(
        self,
        learning_rate: Hyperparameter,
        use_locking: bool = False,
        name: str = "GradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _rule(self, variable: Cell, gradient: Tensor) -> None:
        (rate,) = self._scalars(gradient)
        variable.decrease(rate * gradient)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation:
        # Linear in the gradient: rows of equal index need not be added up first.
        return self._apply_sparse(grad, var)


@accepts("use_locking")
@one_step("dv.train.MomentumOptimizer(0.25, 0.9)", "float(v) -> 0.5")
class MomentumOptimizer(RuleOptimizer):
    """Momentum: ``a = mu * a + g``, ``w -= rate * a``; Nesterov's: ``w -= rate * (g + mu * a)``.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      momentum: the same, how much of the sum of gradients is kept.
      name: name of the operations and of the slots, ``<variable>/Momentum``.
      use_nesterov: take the gradient as if it were at the point that momentum leads to.

    Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
    learning"; TensorFlow 1.15, ``tf.train.MomentumOptimizer``.
    """

    slot_names = ("momentum",)
    hyperparameters = ("learning_rate", "momentum")

    def __init__(
        self,
        learning_rate: Hyperparameter,
        momentum: Hyperparameter,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _rule(self, variable: Cell, gradient: Tensor, accumulator: Cell) -> None:
        rate, mu = self._scalars(gradient)
        a = accumulator.set(mu * accumulator.value + gradient)
        variable.decrease(rate * (gradient + mu * a) if self._use_nesterov else rate * a)
