"""What differs from Adam in one thing: in rows that have no gradient, in momentum, in the norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.control.dependencies import group
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.arithmetic import abs, maximum
from daskvars.ops.state.assign import assign
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of_method
from daskvars.train.optimizers.adaptive import AdamOptimizer, OfTwoAverages, first_power
from daskvars.train.optimizers.update_rule import (
    Cell,
    RuleOptimizer,
    SparseRows,
    as_dtype_of,
    one_step,
)
from daskvars.variables.variable import Variable


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves rows alone which a sparse gradient does not have, and their averages.

    For large tables of embeddings: a step costs as much as the rows that it touches. A dense
    gradient is applied as `AdamOptimizer` does.

    Args:
      learning_rate: see `AdamOptimizer`, also for the others.

    Source: TensorFlow 1.15, ``tf.contrib.opt.LazyAdamOptimizer``.

    >>> table = dv.Variable([[1.0], [1.0]])
    >>> optimizer = LazyAdamOptimizer(0.25)
    >>> for row in (0, 1):
    ...     slices = dv.IndexedSlices(dv.constant([[3.0]]), dv.constant([row]))
    ...     optimizer.apply_gradients([(slices, table)])
    >>> [round(x, 3) for x in table.numpy()[:, 0].tolist()]
    [0.75, 0.814]
    """

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return RuleOptimizer._apply_sparse(self, grad, var)


@one_step("NadamOptimizer(0.1)", "round(float(v), 4) -> 0.81")
class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum: ``beta1 * m + (1 - beta1) * g`` in the place of m.

    With a sparse gradient all rows of the averages decay, and the rows in it move.

    Args:
      learning_rate: see `AdamOptimizer`, also for the others.

    Source: Dozat 2016, "Incorporating Nesterov Momentum into Adam"; TensorFlow 1.15,
    ``tf.contrib.opt.NadamOptimizer``.
    """

    def _rule(self, variable: Cell, gradient: Tensor, m: Cell, v: Cell) -> None:
        m_t, v_t = self._averages(gradient, m, v)
        self._move(variable, self._ahead(gradient, m_t), v_t)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        m_t, v_t = (gather(a, grad.indices) for a in self._decayed_averages(grad, var))
        rows = SparseRows(var, grad.indices)
        self._move(rows, self._ahead(grad.values, m_t), v_t)
        return rows.updates[0]

    def _ahead(self, gradient: Tensor, m_t: Tensor) -> Tensor:
        beta1, rest1 = as_dtype_of(gradient, self._beta1_t, self._rest1_t)
        return rest1 * gradient + beta1 * m_t


@accepts("use_locking")
@one_step("AdaMaxOptimizer(0.25)", "round(float(v), 4) -> 0.75")
class AdaMaxOptimizer(OfTwoAverages):
    """AdaMax: Adam with the largest gradient so far, which decays, as the measure.

    ``m = beta1 * m + (1 - beta1) * g``, ``v = max(beta2 * v, |g|)``,
    ``w -= rate / (1 - beta1**t) * m / (v + epsilon)``

    With a sparse gradient the rows in it change, of the variable and of m and v.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      beta1: the same.
      beta2: the same.
      epsilon: the same.
      name: name of the operations and slots: ``<variable>/AdaMax`` (m) and ``AdaMax_1`` (v). The
        power of beta1 is ``beta1_power``.

    Source: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", section 7.1;
    TensorFlow 1.15, ``tf.contrib.opt.AdaMaxOptimizer``.
    """

    hyperparameters = ("lr", "beta1", "beta2", "epsilon")

    @with_arguments_of_method(AdamOptimizer.__init__, name="AdaMax")
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(first_power(self._beta1), "beta1_power", first)
        super()._create_slots(var_list)

    def _prepare(self) -> None:
        super()._prepare()
        self._power_t = self._power().read_value()
        self._rest_t = 1.0 - self._power_t
        self._beta1_t = self._hyperparameter(self._beta1, "beta1")

    def _power(self) -> Variable:
        return self._non_slot_dict["beta1_power", self._graph_of_variables()]

    def _rule(self, variable: Cell, gradient: Tensor, m: Cell, v: Cell) -> None:
        rate, beta1, beta2, epsilon = self._scalars(gradient)
        (rest,) = as_dtype_of(gradient, self._rest_t)
        m_t = m.set(beta1 * m.value + (1.0 - beta1) * gradient)
        v_t = v.set(maximum(beta2 * v.value, abs(gradient)))
        variable.decrease(rate / rest * m_t / (v_t + epsilon))

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        raised = assign(self._power(), self._power_t * self._beta1_t)
        return group(*update_ops, raised, name=name_scope)
