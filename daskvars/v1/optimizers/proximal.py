"""Optimizers with a proximal step: after each step the weights shrink towards zero.

The shrinking solves for the l1 and l2 penalties exactly, rather than by their gradient: with l1 a
weight that is small enough becomes zero and stays so.
"""

from __future__ import annotations

from typing import Any

from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math.arithmetic import abs, maximum, sign, square
from daskvars.ops.math.transcendental import sqrt
from daskvars.surface.accepted import accepts
from daskvars.train.optimizers.update_rule import (
    Cell,
    Hyperparameter,
    RuleOptimizer,
    check_positive,
)


@accepts("use_locking")
class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Proximal gradient descent: ``p = w - rate * g``, then p shrinks.

    ``w = sign(p) * max(|p| - rate * l1, 0) / (1 + rate * l2)``

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      l1_regularization_strength: a number or scalar tensor, not negative.
      l2_regularization_strength: the same.
      name: name of the operations.

    Source: Duchi and Singer 2009, "Efficient Learning using Forward-Backward Splitting";
    TensorFlow 1.15, ``tf.train.ProximalGradientDescentOptimizer``.

    >>> v = dv.Variable(1.0)
    >>> optimizer = ProximalGradientDescentOptimizer(0.25, 1.0)
    >>> optimizer.minimize(lambda: v * v, var_list=[v])
    >>> float(v)
    0.25
    """

    hyperparameters = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")

    def __init__(
        self,
        learning_rate: Hyperparameter,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _rule(self, variable: Cell, gradient: Tensor, *slots: Any, **none: Any) -> None:
        self._step(variable, gradient, *self._scalars(gradient))

    def _step(self, variable: Cell, gradient: Tensor, rate: Tensor, l1: Tensor, l2: Tensor) -> None:
        """Step by `rate`, one or one per element, and shrink."""
        p = variable.value - rate * gradient
        if not is_zero(self._l1_regularization_strength):
            p = shrunk(p, rate * l1)
        if not is_zero(self._l2_regularization_strength):
            p = p / (1.0 + rate * l2)
        variable.set(p)


@accepts("use_locking")
class ProximalAdagradOptimizer(ProximalGradientDescentOptimizer):
    """Adagrad with a proximal step: ``s += g**2``, then as if the rate were ``rate / sqrt(s)``.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      initial_accumulator_value: what s starts at, a positive number.
      l1_regularization_strength: a number or scalar tensor, not negative.
      l2_regularization_strength: the same.
      name: name of the operations and of the slots, ``<variable>/ProximalAdagrad``.

    Raises:
      ValueError: `initial_accumulator_value` is not positive.

    Source: TensorFlow 1.15, ``tf.train.ProximalAdagradOptimizer``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable([1.0])
    ...     train = tf.train.ProximalAdagradOptimizer(0.5, 5.0).minimize(w * w)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train)
    ...     round(float(sess.run(w)[0]), 4)
    0.6667
    """

    slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: Hyperparameter,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(
            learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name
        )
        self._initial_accumulator_value = initial_accumulator_value
        self.slot_starts = {"accumulator": initial_accumulator_value}

    def _rule(self, variable: Cell, gradient: Tensor, *slots: Cell, **none: Any) -> None:
        (accumulator,) = slots
        rate, l1, l2 = self._scalars(gradient)
        s = accumulator.set(accumulator.value + square(gradient))
        self._step(variable, gradient, rate / sqrt(s), l1, l2)


def shrunk(value: Tensor, threshold: Tensor) -> Tensor:
    """Return `value` moved towards zero by `threshold`, and no further than to it."""
    return sign(value) * maximum(abs(value) - threshold, 0.0)


def is_zero(strength: Any) -> bool:
    """Return whether a strength is known to be zero, so that its part of a formula is left out."""
    return isinstance(strength, int | float) and strength == 0
