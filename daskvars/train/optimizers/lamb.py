"""LAMB: Adam for very large batches, each variable's step as long as the variable is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from daskvars.graph.tensor import Tensor
from daskvars.ops.math.arithmetic import square
from daskvars.ops.math.comparison import greater, logical_and, where_v2
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import sqrt
from daskvars.surface.accepted import accepts
from daskvars.train.optimizers.adaptive import AdamOptimizer
from daskvars.train.optimizers.update_rule import Cell, Hyperparameter, as_dtype_of


@accepts("use_locking")
class LAMBOptimizer(AdamOptimizer):
    """LAMB: Adam's direction, with weight decay, scaled to the norm of the variable.

    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``d = m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + epsilon) + weight_decay_rate * w``,
    ``w -= rate * |w| / |d| * d``, and ``w -= rate * d`` where either norm is zero.

    The norms are those of a whole variable, however it is chunked; each part of a partitioned
    variable is scaled on its own. A sparse gradient moves all rows, see `AdamOptimizer`.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      weight_decay_rate: the same.
      beta1: the same.
      beta2: the same.
      epsilon: the same.
      exclude_from_weight_decay: regular expressions; variables in whose name one is found do not
        decay.
      exclude_from_layer_adaptation: the same for those that are not scaled by norms; by default
        `exclude_from_weight_decay`.
      name: name of the operations and slots: ``<variable>/LAMB`` (m) and ``LAMB_1`` (v).

    Source: You et al. 2020, "Large Batch Optimization for Deep Learning: Training BERT in 76
    minutes", algorithm 2.

    >>> v = dv.Variable(2.0)
    >>> dv.train.LAMBOptimizer(0.25).minimize(lambda: v * v, var_list=[v])
    >>> round(float(v), 4)
    1.5
    """

    def __init__(
        self,
        learning_rate: Hyperparameter = 0.001,
        weight_decay_rate: Hyperparameter = 0.0,
        beta1: Hyperparameter = 0.9,
        beta2: Hyperparameter = 0.999,
        epsilon: Hyperparameter = 1e-6,
        exclude_from_weight_decay: Sequence[str] | None = None,
        exclude_from_layer_adaptation: Sequence[str] | None = None,
        use_locking: bool = False,
        name: str = "LAMB",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._weight_decay_rate = weight_decay_rate
        self._exclude_from_weight_decay = exclude_from_weight_decay or ()
        self._exclude_from_layer_adaptation = (
            self._exclude_from_weight_decay
            if exclude_from_layer_adaptation is None
            else exclude_from_layer_adaptation
        )

    def _prepare(self) -> None:
        super()._prepare()
        self._weight_decay_t = self._hyperparameter(self._weight_decay_rate, "weight_decay_rate")
        self._scale1_t = 1.0 / (1.0 - self._power1_t)
        self._scale2_t = 1.0 / (1.0 - self._power2_t)

    def _move(self, variable: Cell, m_t: Tensor, v_t: Tensor) -> None:
        rate, epsilon, decay, scale1, scale2 = as_dtype_of(
            m_t, self._lr_t, self._epsilon_t, self._weight_decay_t, self._scale1_t, self._scale2_t
        )
        name, w = variable.variable.op.name, variable.value
        direction = scale1 * m_t / (sqrt(scale2 * v_t) + epsilon)
        if not _matches(self._exclude_from_weight_decay, name):
            direction = direction + decay * w
        if not _matches(self._exclude_from_layer_adaptation, name):
            rate = rate * _trust_ratio(w, direction)
        variable.decrease(rate * direction)


def _trust_ratio(w: Tensor, direction: Tensor) -> Tensor:
    """Return |w| / |direction|, 1 where either is zero."""
    own, other = reduce_sum(square(w)), reduce_sum(square(direction))
    positive = logical_and(greater(own, 0.0), greater(other, 0.0))
    return where_v2(positive, sqrt(own) / sqrt(other), 1.0)


def _matches(patterns: Sequence[str], name: str) -> bool:
    return any(re.search(pattern, name) for pattern in patterns)
