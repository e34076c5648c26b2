"""An optimizer around another one, which has the slots and makes the gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.variables.variable import Variable


class WrappedOptimizer(Optimizer):
    """What an optimizer around another one gives out of it.

    Args:
      use_locking, name: as of `Optimizer`.
    """

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return what `compute_gradients` of the optimizer that is applied returns."""
        return self._opt.compute_gradients(*args, **kwargs)

    def build(self, var_list: Variable | Iterable[Any] | None = None) -> None:
        """Make the variables of the optimizer that is applied."""
        self._opt.build(var_list)

    def get_slot(self, *args: Any, **kwargs: Any) -> Variable | None:
        """Return a slot of the optimizer that is applied."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of the slots of the optimizer that is applied."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """Return the variables of the optimizer that is applied."""
        return self._opt.variables()
