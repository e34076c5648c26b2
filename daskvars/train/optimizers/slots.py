"""Slots: the variables that an optimizer keeps for each variable it trains.

A slot is named ``<variable>/<optimizer>``, is global and not trainable, and has its variable's
chunks and device, so that an update needs no data from elsewhere. The chunks are given here, the
device by who has it made (``_slot`` of `Optimizer`, which colocates it), and its worker, which
goes by its name, by `placement.ClusterPlacement.of_variable`.
"""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import zeros_like
from daskvars.shapes import ShapeLike
from daskvars.variables.initializers import InitializerLike, Zeros
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope
from daskvars.variables.variable import Variable


def create_slot(primary: Variable | Tensor, val: Tensor, name: str) -> Variable:
    """Create a slot of `primary` with an initial value.

    Args:
      primary: the variable that it belongs to.
      val: its initial value.
      name: the last part of its name, usually that of the optimizer.

    Source: TensorFlow 1.15, ``slot_creator.py``.
    """
    return _create(primary, val, name, None, None)


def create_slot_with_initializer(
    primary: Variable | Tensor,
    initializer: InitializerLike,
    shape: ShapeLike,
    dtype: DTypeLike,
    name: str,
) -> Variable:
    """Create a slot of `primary` with an initializer. See `create_slot`."""
    return _create(primary, initializer, name, shape, dtype)


def create_zeros_slot(
    primary: Variable | Tensor, name: str, dtype: DTypeLike | None = None
) -> Variable:
    """Create a slot of zeros, shaped as `primary`. See `create_slot`."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    if primary.shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), primary.shape, dtype, name)
    value = primary.initialized_value() if isinstance(primary, Variable) else primary
    return create_slot(primary, zeros_like(value, dtype=dtype), name)


def _create(
    primary: Variable | Tensor, initializer: Any, name: str, shape: Any, dtype: Any
) -> Variable:
    with variable_scope(None, f"{primary.op.name}/{name}") as scope:
        # A slot is no model variable: nothing of the scope around the optimizer applies to it.
        scope.set_partitioner(None)
        scope.set_regularizer(None)
        scope.set_constraint(None)
        slot = get_variable(
            "",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=False,
            chunks=primary.handle.op.attrs["chunks"] if isinstance(primary, Variable) else None,
            validate_shape=primary.shape.is_fully_defined(),
        )
    part = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if part is not None:
        suffix = slot.op.name.removeprefix(primary.op.name)
        slot._set_save_slice_info(part._replace(full_name=part.full_name + suffix))
    return slot
