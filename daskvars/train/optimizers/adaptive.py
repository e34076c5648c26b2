"""Optimizers that scale each element of the gradient by what it has been so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from daskvars.dtypes import float32, float64
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.control.dependencies import control_dependencies, group
from daskvars.ops.math.arithmetic import square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.state.assign import assign, read_variable, scatter_add
from daskvars.surface.accepted import accepts
from daskvars.train.optimizers.update_rule import (
    Cell,
    Hyperparameter,
    RuleOptimizer,
    Whole,
    as_dtype_of,
    check_positive,
    one_step,
)
from daskvars.variables.variable import Variable


@accepts("use_locking")
@one_step("dv.train.AdagradOptimizer(0.1)", "round(float(v), 4) -> 0.9012")
class AdagradOptimizer(RuleOptimizer):
    """Adagrad: ``s += g**2``, ``w -= rate * g / sqrt(s)``.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      initial_accumulator_value: what s starts at, a positive number.
      name: name of the operations and of the slots, ``<variable>/Adagrad``.

    Raises:
      ValueError: `initial_accumulator_value` is not positive.

    Source: Duchi et al. 2011, "Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization"; TensorFlow 1.15, ``tf.train.AdagradOptimizer``.
    """

    slot_names = ("accumulator",)
    hyperparameters = ("learning_rate",)

    def __init__(
        self,
        learning_rate: Hyperparameter,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self.slot_starts = {"accumulator": initial_accumulator_value}

    def _rule(self, variable: Cell, gradient: Tensor, accumulator: Cell) -> None:
        (rate,) = self._scalars(gradient)
        s = accumulator.set(accumulator.value + square(gradient))
        variable.decrease(rate * gradient / sqrt(s))


@accepts("use_locking")
@one_step("dv.train.AdadeltaOptimizer(1.0)", "round(float(v), 5) -> 0.99955")
class AdadeltaOptimizer(RuleOptimizer):
    """Adadelta: the step is as large as the steps before were, in the units of the variable.

    ``s = rho * s + (1 - rho) * g**2``, ``d = sqrt((u + epsilon) / (s + epsilon)) * g``,
    ``u = rho * u + (1 - rho) * d**2``, ``w -= rate * d``

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      rho: the same, how much of the averages is kept.
      epsilon: the same, added to both averages.
      name: name of the operations and slots: ``<variable>/Adadelta`` and ``Adadelta_1``.

    Source: Zeiler 2012, "ADADELTA: An Adaptive Learning Rate Method"; TensorFlow 1.15,
    ``tf.train.AdadeltaOptimizer``.
    """

    _argument_is: ClassVar[dict[str, str]] = {"learning_rate": "_lr"}
    slot_names = ("accum", "accum_update")
    hyperparameters = ("lr", "rho", "epsilon")

    def __init__(
        self,
        learning_rate: Hyperparameter = 0.001,
        rho: Hyperparameter = 0.95,
        epsilon: Hyperparameter = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _rule(self, variable: Cell, gradient: Tensor, accum: Cell, accum_update: Cell) -> None:
        rate, rho, epsilon = self._scalars(gradient)
        s = accum.set(rho * accum.value + (1.0 - rho) * square(gradient))
        u = accum_update.value
        d = sqrt((u + epsilon) / (s + epsilon)) * gradient
        accum_update.set(rho * u + (1.0 - rho) * square(d))
        variable.decrease(rate * d)


@accepts("use_locking")
@one_step("dv.train.RMSPropOptimizer(0.1)", "round(float(v), 4) -> 0.8246")
class RMSPropOptimizer(RuleOptimizer):
    """RMSProp: divide the gradient by a running average of its size.

    ``s = rho * s + (1 - rho) * g**2``, ``d = mu * d + rate * g / sqrt(s + epsilon)``, ``w -= d``;
    centered: ``m = rho * m + (1 - rho) * g`` and ``s - m**2`` in place of ``s``.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      decay: the same, rho.
      momentum: the same, mu.
      epsilon: the same, added under the root.
      centered: divide by an estimate of the variance, rather than of the second moment.
      name: name of the operations and slots: ``<variable>/RMSProp`` (s), ``RMSProp_1`` (d); with
        `centered` ``RMSProp_1`` is m and ``RMSProp_2`` is d.

    Source: Tieleman and Hinton 2012, lecture 6.5 of "Neural Networks for Machine Learning"; Graves
    2013, "Generating Sequences With Recurrent Neural Networks"; TensorFlow 1.15,
    ``tf.train.RMSPropOptimizer``.
    """

    hyperparameters = ("learning_rate", "decay", "momentum", "epsilon")

    def __init__(
        self,
        learning_rate: Hyperparameter,
        decay: TensorLike = 0.9,
        momentum: Hyperparameter = 0.0,
        epsilon: Hyperparameter = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self.slot_names = ("rms", "mg", "momentum") if centered else ("rms", "momentum")
        self.slot_starts = {"rms": 1.0}

    def _rule(self, variable: Cell, gradient: Tensor, rms: Cell, *others: Cell) -> None:
        rate, rho, mu, epsilon = self._scalars(gradient)
        *mean, momentum = others
        s = rms.set(rho * rms.value + (1.0 - rho) * square(gradient))
        for mg in mean:
            s = s - square(mg.set(rho * mg.value + (1.0 - rho) * gradient))
        step = rate * gradient / sqrt(s + epsilon)
        variable.decrease(momentum.set(mu * momentum.value + step))


class OfTwoAverages(RuleOptimizer):
    """An optimizer with running averages of the gradient and of its size."""

    _argument_is: ClassVar[dict[str, str]] = {"learning_rate": "_lr"}
    slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: Hyperparameter,
        beta1: Hyperparameter,
        beta2: Hyperparameter,
        epsilon: Hyperparameter,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon


def _of_one_dtype(*scalars: Tensor) -> Sequence[Tensor]:
    """Return scalars as the widest of them where their dtypes differ."""
    found = {scalar.spec.dtype.base_dtype for scalar in scalars}
    if len(found) == 1:
        return scalars
    wide = float64 if float64 in found else float32
    return [cast(scalar, wide) for scalar in scalars]


def first_power(beta: Hyperparameter) -> Hyperparameter:
    """Return what the powers of a beta begin with: of ``beta1=0`` they are no whole numbers."""
    return float(beta) if isinstance(beta, int) else beta


@accepts("use_locking")
@one_step("dv.train.AdamOptimizer(0.1)", "round(float(v), 4) -> 0.9")
class AdamOptimizer(OfTwoAverages):
    """Adam: the running average of the gradient over the root of that of its square.

    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g**2``,
    ``w -= rate * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + epsilon)``

    This is the form just before section 2.1 of the paper, where epsilon is its "epsilon hat". A
    sparse gradient lets all rows of m and v decay and moves all rows of w, as the formula says.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      beta1: the same.
      beta2: the same.
      epsilon: the same.
      name: name of the operations and slots: ``<variable>/Adam`` (m) and ``Adam_1`` (v). The
        powers of beta are ``beta1_power`` and ``beta2_power``.

    Source: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization"; TensorFlow 1.15,
    ``tf.train.AdamOptimizer``.
    """

    def __init__(
        self,
        learning_rate: Hyperparameter = 0.001,
        beta1: Hyperparameter = 0.9,
        beta2: Hyperparameter = 0.999,
        epsilon: Hyperparameter = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._beta1_power: Variable | None = None  # those last made, for code that asks for them
        self._beta2_power: Variable | None = None

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        # One deterministic place for the powers, whatever the order of the variables.
        first = min(var_list, key=lambda v: v.name)
        self._beta1_power, self._beta2_power = (
            self._create_non_slot_variable(first_power(beta), name, first)
            for beta, name in ((self._beta1, "beta1_power"), (self._beta2, "beta2_power"))
        )
        super()._create_slots(var_list)

    def _get_beta_accumulators(self) -> tuple[Variable, Variable]:
        graph = self._graph_of_variables()
        return (
            self._non_slot_dict["beta1_power", graph],
            self._non_slot_dict["beta2_power", graph],
        )

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "learning_rate")
        self._beta1_t = self._hyperparameter(self._beta1, "beta1")
        self._beta2_t = self._hyperparameter(self._beta2, "beta2")
        self._epsilon_t = self._hyperparameter(self._epsilon, "epsilon")
        power1, power2 = self._get_beta_accumulators()
        self._power1_t, self._power2_t = power1.read_value(), power2.read_value()
        # The same for all variables: once a step, rather than once a variable.
        self._rest1_t, self._rest2_t = 1.0 - self._beta1_t, 1.0 - self._beta2_t
        rate, power1_t, power2_t = _of_one_dtype(self._lr_t, self._power1_t, self._power2_t)
        self._rate_t = rate * sqrt(1.0 - power2_t) / (1.0 - power1_t)

    def _rule(self, variable: Cell, gradient: Tensor, m: Cell, v: Cell) -> None:
        self._move(variable, *self._averages(gradient, m, v))

    def _averages(self, gradient: Tensor, m: Cell, v: Cell) -> tuple[Tensor, Tensor]:
        """Return the new averages."""
        beta1, beta2, rest1, rest2 = as_dtype_of(
            gradient, self._beta1_t, self._beta2_t, self._rest1_t, self._rest2_t
        )
        m_t = m.set(beta1 * m.value + rest1 * gradient)
        v_t = v.set(beta2 * v.value + rest2 * square(gradient))
        return m_t, v_t

    def _move(self, variable: Cell, m_t: Tensor, v_t: Tensor) -> None:
        """Move `variable` by the new averages."""
        rate, epsilon = as_dtype_of(m_t, self._rate_t, self._epsilon_t)
        variable.decrease(rate * m_t / (sqrt(v_t) + epsilon))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        variable = Whole(var)
        self._move(variable, *self._decayed_averages(grad, var))
        return variable.updates[0]

    def _decayed_averages(self, grad: IndexedSlices, var: Variable) -> tuple[Tensor, Tensor]:
        """Return the new averages, of which all rows have decayed."""
        beta1, beta2, rest1, rest2 = as_dtype_of(
            grad.values, self._beta1_t, self._beta2_t, self._rest1_t, self._rest2_t
        )
        m = _decayed(self._made_slot(var, "m"), beta1, grad.indices, rest1 * grad.values)
        v = _decayed(self._made_slot(var, "v"), beta2, grad.indices, rest2 * square(grad.values))
        return m, v

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        powers = self._get_beta_accumulators()
        raised = [
            assign(power, value * beta)
            for power, value, beta in zip(
                powers,
                (self._power1_t, self._power2_t),
                (self._beta1_t, self._beta2_t),
                strict=True,
            )
        ]
        return group(*update_ops, *raised, name=name_scope)


def _decayed(slot: Variable, beta: Tensor, indices: Tensor, rows: Tensor) -> Tensor:
    """Return ``slot = beta * slot`` with `rows` added."""
    decayed = assign(slot, beta * read_variable(slot.handle))
    with control_dependencies([decayed]):
        return scatter_add(slot, indices, rows)
