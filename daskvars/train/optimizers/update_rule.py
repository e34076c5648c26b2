"""What an update rule is written against: cells that are read and set, whole or by rows.

An optimizer's formula is the same for a dense gradient, which touches all of a variable and its
slots, and for a sparse one, which touches some rows. So it is written once, against cells::

    a = accumulator.set(momentum * accumulator.value + gradient)
    variable.decrease(rate * a)

What is used after it was set is the value that `set` returns, never read again: the order is in
the data flow. A formula is elementwise ops and assigns, nothing larger: lowering fuses them with
the gradient's last op, runs them tile by tile and updates in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from daskvars.dtypes import DType
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.constant import constant, fill, shape
from daskvars.ops.control.dependencies import group
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.casting import cast
from daskvars.ops.state.assign import assign, assign_sub, read_variable, scatter_sub, scatter_update
from daskvars.surface.signatures import with_example
from daskvars.train.optimizers import slots
from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.variables.initializers import Constant
from daskvars.variables.variable import Variable

# A number or a tensor, or a function of nothing that gives one: it is called in every step.
Hyperparameter: TypeAlias = TensorLike | Callable[[], TensorLike]


class Whole:
    """All of a variable."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.updates: list[Operation] = []

    @property
    def value(self) -> Tensor:
        """The value before the update."""
        return read_variable(self.variable.handle)

    def set(self, value: Tensor) -> Tensor:
        """Set the value and return it."""
        return self._noted(assign(self.variable, value))

    def decrease(self, amount: Tensor) -> None:
        """Subtract `amount` from the value."""
        self._noted(assign_sub(self.variable, amount))

    def _noted(self, update: Tensor) -> Tensor:
        self.updates.append(update.op)
        return update


class SparseRows:
    """The rows of a variable at distinct `indices`."""

    def __init__(self, variable: Variable, indices: Tensor) -> None:
        self.variable = variable
        self.indices = indices
        self.updates: list[Operation] = []

    @property
    def value(self) -> Tensor:
        """The rows before the update."""
        return gather(read_variable(self.variable.handle), self.indices)

    def set(self, value: Tensor) -> Tensor:
        """Set the rows and return them."""
        self.updates.append(scatter_update(self.variable, self.indices, value).op)
        return value

    def decrease(self, amount: Tensor) -> None:
        """Subtract `amount` from the rows."""
        self.updates.append(scatter_sub(self.variable, self.indices, amount).op)


Cell = Whole | SparseRows
Kind = TypeVar("Kind", bound=type[Optimizer])

STEP = """v = dv.Variable(1.0)
{optimizer}.minimize(lambda: v * v, var_list=[v])
{shown}"""


def one_step(optimizer: str, shown: str) -> Callable[[Kind], Kind]:
    """Add to an optimizer's docstring the example of one step.

    Args:
      optimizer: makes one.
      shown: "code -> what it shows" of the variable ``v`` after the step.
    """

    def document(kind: Kind) -> Kind:
        code = STEP.format(optimizer=optimizer, shown=shown)
        kind.__doc__ = with_example(kind.__doc__ or "", code)
        return kind

    return document


class RuleOptimizer(Optimizer):
    """An optimizer that is one formula, `_rule`, over a variable and its slots.

    Attributes:
      slot_names: the names of the slots, in the order in which they are made and given to `_rule`.
      slot_starts: what those start at that do not start at zero.
      hyperparameters: the names of what may be a tensor; that of ``_<name>`` is ``_<name>_tensor``.
    """

    slot_names: tuple[str, ...] = ()
    slot_starts: Mapping[str, float] = {}
    hyperparameters: tuple[str, ...] = ()

    def _rule(self, variable: Cell, gradient: Tensor, *slots: Any, **none: Any) -> None:
        """Set `variable` and `slots` by the optimizer's formula."""
        raise NotImplementedError(f"{type(self).__name__} has no _rule")

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            for name in self.slot_names:
                if name in self.slot_starts:
                    self._constant_slot(variable, self.slot_starts[name], name, self._name)
                else:
                    self._zeros_slot(variable, name, self._name)

    def _prepare(self) -> None:
        for name in self.hyperparameters:
            value = self._hyperparameter(getattr(self, f"_{name}"), name)
            setattr(self, f"_{name}_tensor", value)

    def _scalars(self, gradient: Tensor) -> tuple[Tensor, ...]:
        """Return the hyperparameters in the dtype of `gradient`."""
        return as_dtype_of(gradient, *(getattr(self, f"_{n}_tensor") for n in self.hyperparameters))

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._applied(Whole, grad, var)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return self._applied(lambda variable: SparseRows(variable, grad.indices), grad.values, var)

    def _applied(
        self, cell: Callable[[Variable], Cell], gradient: Tensor, var: Variable
    ) -> Operation:
        cells = [cell(var), *(cell(self._made_slot(var, name)) for name in self.slot_names)]
        self._rule(cells[0], gradient, *cells[1:])
        updates = [update for c in cells for update in c.updates]
        return updates[0] if len(updates) == 1 else group(*updates)

    def _constant_slot(self, var: Variable, value: float, slot_name: str, op_name: str) -> Variable:
        """Return the slot of `var`, made of `value` everywhere if need be."""
        dtype = var.dtype.base_dtype
        if not var.shape.is_fully_defined():
            return self._slot(
                var,
                slot_name,
                lambda: slots.create_slot(
                    var, fill(shape(var.initialized_value()), constant(value, dtype)), op_name
                ),
            )
        initializer = Constant(value, dtype=dtype)
        return self._get_or_make_slot_with_initializer(
            var, initializer, var.shape, dtype, slot_name, op_name
        )


def check_positive(argument: str, value: float) -> None:
    """Raise ValueError unless what a slot starts at is above zero."""
    if value <= 0.0:
        raise ValueError(f"{argument} must be positive: {value}")


def as_dtype_of(gradient: Tensor, *scalars: Any) -> tuple[Tensor, ...]:
    """Return the scalars in the dtype of `gradient`."""
    dtype: DType = gradient.dtype.base_dtype
    return tuple([s if s.dtype.base_dtype is dtype else cast(s, dtype) for s in scalars])
