"""Elements in order: sort and argsort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.gather_scatter import gather as kernels
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.array.transposing import transpose
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.rules import axes
from daskvars.surface.accepted import accepts


def _ordered(inputs: Sequence[Spec], *, axis: Any, descending: bool) -> Spec:
    shape = inputs[0].shape
    if shape is not None:
        shapes.normalize_axis(axis, len(shape))
    return Spec(int32, shape)


ARGSORT = without_gradient(
    "ArgSort",
    "values:R",
    infer=_ordered,
    kernel=kernels.argsort,
    pattern=Movement(
        lambda inputs, outputs, attrs: axes.aligned_except(inputs, outputs, (attrs["axis"],)),
        view=False,
    ),
)


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction should be one of ASCENDING and DESCENDING, got {direction!r}")
    return direction == "DESCENDING"


@accepts("stable")
def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the places of the elements along a dimension, in the order of their values.

    Args:
      values: [...] any real number, rank at least 1.
      axis: the dimension along which to sort, by default the last.
      direction: "ASCENDING" or "DESCENDING".
      name: name of the operation, by default "argsort".

    Returns:
      [...] int32, of the shape of `values`.

    Raises:
      ValueError: `direction` is something else, or there is no such dimension.

    >>> argsort([3.0, 1.0, 2.0]).numpy().tolist()
    [1, 2, 0]
    """
    return apply(
        ARGSORT, values, name=name or "argsort", axis=int(axis), descending=_descending(direction)
    )


def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Return the elements along a dimension in order.

    Args:
      values: [...] any real number of known rank, at least 1.
      axis: the dimension along which to sort, by default the last.
      direction: "ASCENDING" or "DESCENDING".
      name: name scope of the operations, by default "sort".

    Returns:
      [...] as `values`.

    Raises:
      ValueError: `direction` is something else, there is no such dimension, or the rank is unknown.

    >>> sort([3.0, 1.0, 2.0], direction="DESCENDING").numpy().tolist()
    [3.0, 2.0, 1.0]
    """
    with name_scope(name, "sort", [values]):
        values = convert_to_tensor(values)
        shape = values.spec.shape
        if shape is None:
            raise ValueError("sort() needs values of known rank: give them a shape by set_shape")
        axis, last = shapes.normalize_axis(axis, len(shape)), len(shape) - 1
        if axis != last:
            swap = [*range(axis), last, *range(axis + 1, last), axis]
            return transpose(sort(transpose(values, swap), -1, direction), swap)
        if last == 0:  # as a row: by `gather` along it the gradient is numbers, not IndexedSlices
            return squeeze(sort(expand_dims(values, 0), -1, direction), [0])
        places = argsort(values, -1, direction)
        return gather(values, places, axis=last, batch_dims=last)
