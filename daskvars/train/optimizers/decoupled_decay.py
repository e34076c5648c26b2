"""Weight decay that is no part of the loss: each step takes a share of the weights from them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.train.optimizers.adaptive import AdamOptimizer
from daskvars.train.optimizers.optimizer import GradsAndVars, Optimizer
from daskvars.train.optimizers.sgd import MomentumOptimizer
from daskvars.train.optimizers.update_rule import (
    Cell,
    Hyperparameter,
    SparseRows,
    Whole,
    as_dtype_of,
    one_step,
)
from daskvars.variables.variable import Variable


class DecoupledWeightDecayExtension(Optimizer):
    """What gives an optimizer decoupled weight decay: ``w -= weight_decay * w`` before its step.

    With a sparse gradient the rows in it decay, and no others. It stands before the optimizer in a
    class's bases; `extend_with_decoupled_weight_decay` makes such a class.

    Args:
      weight_decay: a number, scalar tensor, Variable, or a callable that gives one. It is not
        multiplied by the learning rate.
      *args, **kwargs: those of the optimizer.

    Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization"; TensorFlow 1.15,
    ``tf.contrib.opt.DecoupledWeightDecayExtension``.

    >>> class MomentumWithDecay(DecoupledWeightDecayExtension, dv.train.MomentumOptimizer):
    ...     pass
    >>> v = dv.Variable(1.0)
    >>> MomentumWithDecay(0.5, 0.25, momentum=0.9).minimize(lambda: v * v, var_list=[v])
    >>> float(v)
    0.0
    """

    def __init__(self, weight_decay: Hyperparameter, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._weight_decay = weight_decay
        self._decaying: set[Operation] | None = None

    def minimize(
        self, loss: Any, *args: Any, decay_var_list: Iterable[Variable] | None = None, **kwargs: Any
    ) -> Operation | None:
        """Do as `Optimizer.minimize`; only the Variables in `decay_var_list`, if given, decay."""
        self._decaying = _operations(decay_var_list)
        return super().minimize(loss, *args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: Variable | None = None,
        name: str | None = None,
        decay_var_list: Iterable[Variable] | None = None,
    ) -> Operation | None:
        """Do as `Optimizer.apply_gradients`; see `minimize` for `decay_var_list`."""
        self._decaying = _operations(decay_var_list) or self._decaying
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _prepare(self) -> None:
        super()._prepare()
        self._weight_decay_t = self._hyperparameter(self._weight_decay, "weight_decay")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        with self._after_decay(Whole(var)):
            return super()._apply_dense(grad, var)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        with self._after_decay(SparseRows(var, grad.indices)):
            return super()._apply_sparse(grad, var)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        # However often a row is in the gradient, it decays once.
        return Optimizer._apply_sparse_duplicate_indices(self, grad, var)

    def _after_decay(self, cell: Cell) -> AbstractContextManager[None]:
        if self._decaying and cell.variable.op not in self._decaying:
            return nullcontext()
        value = cell.value
        (decay,) = as_dtype_of(value, self._weight_decay_t)
        cell.decrease(decay * value)
        return control_dependencies(cell.updates)


def _operations(variables: Iterable[Variable] | None) -> set[Operation] | None:
    return None if variables is None else {variable.op for variable in variables}


def extend_with_decoupled_weight_decay(
    base_optimizer: type[Optimizer],
) -> type[DecoupledWeightDecayExtension]:
    """Return a class of optimizers that is another one with decoupled weight decay.

    Args:
      base_optimizer: the class. The new one takes ``weight_decay`` first, then its arguments.

    Returns:
      A class, see `DecoupledWeightDecayExtension`.

    Source: TensorFlow 1.15, ``tf.contrib.opt.extend_with_decoupled_weight_decay``.

    >>> RMSPropW = extend_with_decoupled_weight_decay(dv.train.RMSPropOptimizer)
    >>> v = dv.Variable(1.0)
    >>> RMSPropW(0.1, learning_rate=0.0).minimize(lambda: v * v, var_list=[v])
    >>> round(float(v), 4)
    0.9
    """
    return type(
        f"{base_optimizer.__name__}WithDecoupledWeightDecay",
        (DecoupledWeightDecayExtension, base_optimizer),
        {"__doc__": f"`{base_optimizer.__name__}` with decoupled weight decay."},
    )


@one_step("MomentumWOptimizer(0.25, 0.25, 0.9)", "float(v) -> 0.25")
class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay: ``w -= weight_decay * w`` before its step.

    Args:
      weight_decay: a number, scalar tensor, Variable, or a callable that gives one. It is not
        multiplied by the learning rate.
      learning_rate: see `MomentumOptimizer`, also for the others.

    Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization"; TensorFlow 1.15,
    ``tf.contrib.opt.MomentumWOptimizer``.
    """

    def __init__(
        self,
        weight_decay: Hyperparameter,
        learning_rate: Hyperparameter,
        momentum: Hyperparameter,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(weight_decay, learning_rate, momentum, use_locking, name, use_nesterov)


@one_step("dv.train.AdamWOptimizer(0.01, learning_rate=0.1)", "round(float(v), 4) -> 0.89")
class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay: ``w -= weight_decay * w`` before Adam's step.

    Args:
      weight_decay: a number, scalar tensor, Variable, or a callable that gives one. It is not
        multiplied by the learning rate.
      learning_rate: see `AdamOptimizer`, also for the others.

    Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization"; TensorFlow 1.15,
    ``tf.contrib.opt.AdamWOptimizer``.
    """

    def __init__(
        self,
        weight_decay: Hyperparameter,
        learning_rate: Hyperparameter = 0.001,
        beta1: Hyperparameter = 0.9,
        beta2: Hyperparameter = 0.999,
        epsilon: Hyperparameter = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(weight_decay, learning_rate, beta1, beta2, epsilon, use_locking, name)
