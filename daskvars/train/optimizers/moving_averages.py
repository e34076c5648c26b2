"""Moving averages of variables and tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from daskvars.dtypes import bfloat16, float16, float32, float64
from daskvars.graph.by_identity import ByVariable, Reference, is_among
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import entered_graph, name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.control.dependencies import group
from daskvars.ops.math import division
from daskvars.ops.math.arithmetic import minimum
from daskvars.ops.math.casting import cast
from daskvars.ops.math.transcendental import pow
from daskvars.ops.state.assign import assign, assign_add, assign_sub
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.train.optimizers import slots
from daskvars.variables.collections import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from daskvars.variables.colocation import building_in, colocate_with, owner
from daskvars.variables.initializers import Zeros
from daskvars.variables.scopes.scope_stack import get_variable_scope
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope
from daskvars.variables.variable import Variable


def assign_moving_average(
    variable: Variable,
    value: TensorLike,
    decay: Any,
    zero_debias: bool = True,
    name: str | None = None,
) -> Tensor:
    """Move `variable` towards `value`: ``variable -= (1 - decay) * (variable - value)``.

    Args:
      variable: [...] floating Variable.
      value: [...] Tensor or Variable of that shape and dtype.
      decay: scalar floating, how much of the old average stays.
      zero_debias: `variable` started at zero, which is no value of the average: divide by
        ``1 - decay ** t`` after t updates. Two variables, ``<variable>/biased`` and
        ``<variable>/local_step`` in the current scope, keep the undivided average and t.
      name: name of the operation, by default "AssignMovingAvg".

    Returns:
      The new value of `variable`, of its shape and dtype.

    Source: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", section 3;
    TensorFlow 1.15, ``moving_averages.assign_moving_average``.

    >>> average = dv.Variable(4.0)
    >>> float(dv.train.assign_moving_average(average, 8.0, 0.75, zero_debias=False))
    5.0
    """
    scoped = name_scope(name, "AssignMovingAvg", [variable, value, decay])
    with scoped as scope, colocate_with(variable):
        rest = convert_to_tensor(1.0 - decay, name="decay")
        if rest.dtype.base_dtype is not variable.dtype.base_dtype:
            rest = cast(rest, variable.dtype.base_dtype)
        if zero_debias:
            return _assign_debiased(variable, value, rest, scope)
        return assign_sub(variable, (variable - value) * rest, name=scope)


def _assign_debiased(variable: Variable, value: Any, rest: Tensor, scope: str) -> Tensor:
    """Assign to `variable` its average as if it had not started at zero."""
    with variable_scope(variable.op.name, values=[variable, value, rest]):
        biased = get_variable(
            _unused("biased"), variable.shape, variable.dtype.base_dtype, Zeros(), trainable=False
        )
        local_step = get_variable(
            _unused("local_step"), [], variable.dtype.base_dtype, Zeros(), trainable=False
        )
        average = assign_sub(biased, (biased - value) * rest)
        step = assign_add(local_step, 1)
        return assign(variable, average / (1.0 - pow(1.0 - rest, step)), name=scope)


def _unused(name: str) -> str:
    """Return `name`, with a number if the scope has a variable of that name and does not reuse."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {variable.op.name for variable in scope.global_variables()}
    count, free = 0, name
    while f"{scope.name}/{free}" in taken:
        count += 1
        free = f"{name}_{count}"
    return free


def weighted_moving_average(
    value: Tensor,
    decay: TensorLike,
    weight: Tensor,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the moving average of ``value * weight`` over that of `weight`, and update both.

    Args:
      value: [...] floating.
      decay: scalar floating, how much of the old average stays.
      weight: a tensor that broadcasts with `value`.
      truediv: divide as floating-point numbers, else as the dtypes say.
      collections: the collections of the two variables that are made, by default
        ``GLOBAL_VARIABLES``.
      name: name of the scope of variables, by default "WeightedMovingAvg".

    Returns:
      [...] as `value`.

    Source: TensorFlow 1.15, ``moving_averages.weighted_moving_average``.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     x, weight = dv.placeholder(dv.float32, []), dv.placeholder(dv.float32, [])
    ...     mean = weighted_moving_average(x, 0.5, weight)
    ...     sess.run(dv.global_variables_initializer())
    ...     for fed in ({x: 2.0, weight: 1.0}, {x: 8.0, weight: 1.0}, {x: 99.0, weight: 0.0}):
    ...         float(sess.run(mean, fed))
    2.0
    6.0
    6.0
    """
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        sum_variable, weight_variable = (
            get_variable(
                part, of.shape, of.dtype, Zeros(), trainable=False, collections=collections
            )
            for part, of in (("value_x_weight", value), ("weight", weight))
        )
        numerator = assign_moving_average(sum_variable, value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(weight_variable, weight, decay, zero_debias=False)
        divide = division.truediv if truediv else division.div
        return divide(numerator, denominator, name=scope.name)


class ExponentialMovingAverage(ShownByArguments):
    """Keeps a moving average, a shadow, of each of some variables.

    ``shadow -= (1 - decay) * (shadow - variable)`` at each run of what `apply` returns. With
    `num_updates` the decay is at most ``(1 + num_updates) / (10 + num_updates)``, so that averages
    move faster at the start.

    Args:
      decay: scalar floating, how much of the old average stays.
      num_updates: scalar, tensor or Variable: the number of updates so far.
      zero_debias: correct the averages of tensors, which start at zero, for that. See
        `assign_moving_average`.
      name: the last part of the shadows' names, and the name of the operation.

    Source: TensorFlow 1.15, ``tf.train.ExponentialMovingAverage``.

    >>> v = dv.Variable(4.0)
    >>> averages = dv.train.ExponentialMovingAverage(0.75)
    >>> averages.apply([v])
    >>> v.assign(8.0).numpy().item(), averages.apply([v]), float(averages.average(v))
    (8.0, None, 5.0)
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: ByVariable[Variable] = ByVariable()
        self._debiased: set[Operation] = set()

    name: str = forwards("_name", "The last part of the shadows' names.")

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation | None:
        """Make shadows of `var_list` and add operations that update them.

        The shadow of a Variable starts at its initial value; that of a tensor at zero. Shadows are
        global and not trainable. The Variables become part of ``MOVING_AVERAGE_VARIABLES``.

        Args:
          var_list: Variables and tensors, floating; by default the trainable variables.

        Returns:
          The Operation that updates the shadows; None in the eager program, where it is done.

        Raises:
          TypeError: one is not floating, or is a tensor of the eager program.
        """
        averaged = trainable_variables() if var_list is None else list(var_list)
        builder = builder_for(tuple(averaged))
        with entered_graph(builder):
            for variable in averaged:
                self._check(variable, builder)
                if _key(variable) not in self._averages:
                    self._averages[_key(variable)] = self._shadow(variable)
            with builder.name_scope(self._name) as scope:
                decay = self._current_decay()
                updates = [self._update(variable, decay) for variable in averaged]
                update = group(*updates, name=scope)
        return None if builder.is_eager else update

    def _check(self, variable: Any, builder: Any) -> None:
        if variable.dtype.base_dtype not in (bfloat16, float16, float32, float64):
            raise TypeError(
                f"The variables must be half, float, or double: {variable.name} is "
                f"{variable.dtype.base_dtype.name}"
            )
        if builder.is_eager and not isinstance(variable, Variable):
            raise TypeError(
                "ExponentialMovingAverage averages Variables; a tensor of eager code is one value "
                "for good: assign it to a Variable and average that"
            )

    def _shadow(self, variable: Any) -> Variable:
        if not isinstance(variable, Variable):
            with building_in(owner()):  # of a tensor: on the device that is asked for here
                shadow = slots.create_zeros_slot(variable, self._name)
            if self._zero_debias:
                self._debiased.add(shadow.op)
            return shadow
        with building_in(owner()), colocate_with(variable):
            shadow = slots.create_slot(variable, variable.initialized_value(), self._name)
        averaged = owner().get_collection_ref(GraphKeys.MOVING_AVERAGE_VARIABLES)
        if not is_among(variable, averaged):
            averaged.append(variable)
        return shadow

    def _current_decay(self) -> Tensor:
        decay = convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        count = cast(self._num_updates, float32, name="num_updates")
        return minimum(decay, (1.0 + count) / (10.0 + count))

    def _update(self, variable: Any, decay: Tensor) -> Tensor:
        shadow = self._averages[_key(variable)]
        return assign_moving_average(shadow, variable, decay, shadow.op in self._debiased)

    def average(self, var: Any) -> Variable | None:
        """Return the shadow of `var`, None where it has none."""
        return self._averages.get(_key(var))

    def average_name(self, var: Any) -> str:
        """Return the name, without ``:0``, that the shadow of `var` has or would get."""
        shadow = self.average(var)
        if shadow is not None:
            return shadow.op.name
        return owner().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Variable]:
        """Return a map for a `Saver` that restores variables from their shadows.

        Args:
          moving_avg_variables: those that are restored from their shadows, by default the
            trainable ones and those in ``MOVING_AVERAGE_VARIABLES``.

        Returns:
          Name in the checkpoint -> Variable, for all global variables.

        >>> with dv.Graph().as_default():
        ...     v = dv.Variable(1.0, name="v")
        ...     list(dv.train.ExponentialMovingAverage(0.9).variables_to_restore())
        ['v/ExponentialMovingAverage']
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = list({_key(v): v for v in moving_avg_variables}.values())
        found = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for variable in global_variables():
            if variable.name not in names:
                found.setdefault(variable.op.name, variable)
        return found


def _key(variable: Any) -> Operation | Reference:
    """Return what stays the same of a variable however often it is wrapped; of a tensor itself."""
    return variable.op if isinstance(variable, Variable) else variable.ref()
