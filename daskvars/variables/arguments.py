"""What the arguments of the `Variable` constructor come to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, infer_dtype
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.graph import Graph
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.shapes import ShapeLike
from daskvars.state import check_key


def variable_name(builder: Any, name: str | None) -> str:
    """Return the full name of a variable to be called `name`: its key in the state, so unique.

    The eager program lets operations share names; its variables follow the rule of a graph.

    Raises:
      InvalidArgumentError: no store takes it for a key. Said here, and not by the first run.
    """
    found = Graph.op_name(builder, name, "Variable")
    check_key(found)
    return found


def value_dtype(value: TensorLike) -> DType:
    """Return the dtype that a tensor made of `value` would have, without making one if possible."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return as_dtype(dtype).base_dtype
    if any(hasattr(leaf, "graph") for leaf in nest.flatten(value)):
        return convert_to_tensor(value).spec.dtype.base_dtype
    return infer_dtype(value)


def checked_constraint(constraint: Any) -> Any:
    """Return `constraint`. Raises ValueError if it is something that cannot be called."""
    if constraint is not None and not callable(constraint):
        raise ValueError(
            f"The `constraint` argument must be a callable, got {type(constraint).__name__}."
        )
    return constraint


def dtype_in_second_place(trainable: Any, dtype: DTypeLike | None) -> tuple[Any, Any]:
    """Return (trainable, dtype), where a dtype was written in the place of `trainable`."""
    if isinstance(trainable, bool) or trainable is None:
        return trainable, dtype
    if isinstance(trainable, DType | numpy.dtype) or (
        isinstance(trainable, type) and issubclass(trainable, numpy.generic)
    ):
        if dtype is not None and as_dtype(dtype) != as_dtype(trainable):
            raise ValueError(
                f"two dtypes are given: {as_dtype(trainable).name} in the place of `trainable` and "
                f"dtype={as_dtype(dtype).name}; give one"
            )
        return True, trainable
    return bool(trainable), dtype


def collections_of(collections: Iterable[str] | None, trainable: bool) -> list[str]:
    """Return the collections that a variable joins, by default the global variables.

    Raises:
      ValueError: `collections` is no list, tuple or set.
    """
    if collections is None:
        keys = [GraphKeys.GLOBAL_VARIABLES]
        return [*keys, GraphKeys.TRAINABLE_VARIABLES] if trainable else keys
    if not isinstance(collections, list | tuple | set | frozenset):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections!r} of type {type(collections).__name__}"
        )
    keys = list(collections)
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
        keys.append(GraphKeys.TRAINABLE_VARIABLES)
    return keys


def checked_shape(
    name: str, value: Tensor, shape: ShapeLike, expected_shape: ShapeLike, validate_shape: bool
) -> shapes.Shape:
    """Return the static shape of a variable with the initial value `value`."""
    found = value.spec.shape
    for wanted in (shape, expected_shape):
        if wanted is not None and not shapes.compatible(shapes.as_tuple(wanted), found):
            raise ValueError(
                f"The initial value of variable {name} has shape {shapes.show(found)}, which does "
                f"not fit the shape asked for, {shapes.as_shape(wanted)}."
            )
    if shape is not None:
        return shapes.as_tuple(shape)
    if not validate_shape:
        return None
    if not shapes.is_known(found):
        raise ValueError(
            f"initial_value must have a shape specified: {value!r} (for variable {name}). Use "
            "validate_shape=False, or set_shape on it."
        )
    return found
