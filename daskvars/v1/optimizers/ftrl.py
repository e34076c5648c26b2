"""Optimizers that solve for the weights from all gradients so far, rather than step from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math.arithmetic import abs, negative, sign, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, where_v2
from daskvars.ops.math.transcendental import pow, sqrt
from daskvars.surface.accepted import accepts
from daskvars.train.optimizers.update_rule import (
    Cell,
    Hyperparameter,
    RuleOptimizer,
    check_positive,
    one_step,
)
from daskvars.v1.optimizers.proximal import is_zero, shrunk
from daskvars.variables.variable import Variable


@accepts("use_locking")
@one_step("FtrlOptimizer(0.1)", "round(float(v), 4) -> 0.7451")
class FtrlOptimizer(RuleOptimizer):
    """FTRL-proximal: follow the regularized leader, with l1, l2 and shrinkage penalties.

    With ``p = -learning_rate_power``: ``s' = s + g**2``,
    ``z += g + 2 * shrinkage * w - (s'**p - s**p) / rate * w``,
    ``w = (l1 * sign(z) - z) / (s'**p / rate + 2 * l2)`` where ``|z| > l1``, else 0.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      learning_rate_power: a number, not positive; the rate falls with this power of s.
      initial_accumulator_value: what s starts at, a number, not negative.
      l1_regularization_strength: a number, not negative.
      l2_regularization_strength: the same: it keeps the weights from moving.
      name: name of the operations and slots: ``<variable>/Ftrl`` (s) and ``Ftrl_1`` (z).
      accum_name: last part of the name of the slots s, by default `name`.
      linear_name: last part of the name of the slots z, by default `name`.
      l2_shrinkage_regularization_strength: a number, not negative: a penalty on the size of the
        weights. With a sparse gradient it acts on the rows in it alone.

    Raises:
      ValueError: a number has the wrong sign.

    Source: McMahan et al. 2013, "Ad Click Prediction: a View from the Trenches"; TensorFlow 1.15,
    ``tf.train.FtrlOptimizer``.
    """

    slot_names = ("accum", "linear")
    hyperparameters = ("learning_rate",)

    def __init__(
        self,
        learning_rate: Hyperparameter,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        for argument, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{argument} {value} needs to be positive or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for v in var_list:
            start = self._initial_accumulator_value
            self._constant_slot(v, start, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _rule(self, variable: Cell, gradient: Tensor, *slots: Cell, **none: Any) -> None:
        accum, linear = slots
        (rate,) = self._scalars(gradient)
        w, s = variable.value, accum.value
        s_new = accum.set(s + square(gradient))
        if not is_zero(self._l2_shrinkage_regularization_strength):
            gradient = gradient + (2.0 * self._l2_shrinkage_regularization_strength) * w
        power = self._root(s_new)
        z = linear.set(linear.value + (gradient - (power - self._root(s)) / rate * w))
        quadratic = power / rate
        if not is_zero(self._l2_regularization_strength):
            quadratic = quadratic + 2.0 * self._l2_regularization_strength
        l1 = self._l1_regularization_strength
        if is_zero(l1):
            variable.set(negative(z) / quadratic)
        else:
            solved = (l1 * sign(z) - z) / quadratic
            variable.set(where_v2(greater(abs(z), l1), solved, 0.0))

    def _root(self, s: Tensor) -> Tensor:
        """Return ``s ** -learning_rate_power``."""
        power = -self._learning_rate_power
        return sqrt(s) if isinstance(power, float) and power == 0.5 else pow(s, power)


@accepts("use_locking")
class AdagradDAOptimizer(RuleOptimizer):
    """Adagrad by dual averaging, for sparse linear models.

    ``a += g``, ``s += g**2``,
    ``w = -rate * sign(a) * max(|a| - l1 * t, 0) / (l2 * t * rate + sqrt(s))``
    with t the number of the step, `global_step` + 1.

    Args:
      learning_rate: a number, scalar tensor, Variable, or a callable that gives one.
      global_step: scalar integer, tensor or Variable.
      initial_gradient_squared_accumulator_value: what s starts at, a positive number.
      l1_regularization_strength: a number or scalar tensor, not negative.
      l2_regularization_strength: the same.
      name: name of the operations and slots: ``<variable>/AdagradDA`` (a), ``AdagradDA_1`` (s).

    Raises:
      ValueError: `initial_gradient_squared_accumulator_value` is not positive.

    Source: Duchi et al. 2011, "Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization"; TensorFlow 1.15, ``tf.train.AdagradDAOptimizer``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w, step = tf.Variable([1.0]), tf.train.create_global_step()
    ...     train = tf.train.AdagradDAOptimizer(0.5, step).minimize(w * w, step)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train)
    ...     round(float(sess.run(w)[0]), 4)
    -0.4939
    """

    slot_names = ("gradient_accumulator", "gradient_squared_accumulator")
    hyperparameters = ("learning_rate", "l1_regularization_strength", "l2_regularization_strength")

    def __init__(
        self,
        learning_rate: Hyperparameter,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        start = initial_gradient_squared_accumulator_value
        check_positive("initial_gradient_squared_accumulator_value", start)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = start
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self.slot_starts = {"gradient_squared_accumulator": start}

    def _prepare(self) -> None:
        super()._prepare()
        self._global_step_on_worker = identity(convert_to_tensor(self._global_step)) + 1

    def _rule(self, variable: Cell, gradient: Tensor, *slots: Cell, **none: Any) -> None:
        accumulator, squares = slots
        rate, l1, l2 = self._scalars(gradient)
        t = cast(self._global_step_on_worker, gradient.dtype.base_dtype)
        a = accumulator.set(accumulator.value + gradient)
        s = squares.set(squares.value + square(gradient))
        if not is_zero(self._l1_regularization_strength):
            a = shrunk(a, l1 * t)
        variable.set(negative(rate) * a / (l2 * t * rate + sqrt(s)))
