"""The iterator of a dataset in eager code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import dask.array
import numpy
from numpy.typing import NDArray

from daskvars.data.iterators.cursor import Cursor
from daskvars.data.nodes.elements import (
    ComponentSpec,
    DatasetSpec,
    Element,
    flatten,
    pack,
    shapes_of,
    types_of,
)
from daskvars.data.nodes.node import Node
from daskvars.data.nodes.sources import Kept
from daskvars.dtypes import as_dtype
from daskvars.errors import invalid
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine.values.blocks import owned
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.variables.tracking import Trackable


class DatasetIterator(Trackable, Iterator[Any]):
    """Gives the elements of a dataset, once; ``iter(dataset)`` makes it.

    Args:
      node: the last step of the dataset.
      iteration: how many iterators of it were made before.
      caches: what the dataset's ``cache`` keeps.
      as_numpy: whether elements are arrays, not tensors.

    Raises:
      StopIteration: (next) there are no more elements.

    >>> iterator = iter(dv.data.Dataset.range(5, 9))
    >>> first, place = int(next(iterator)), iterator.state()
    >>> other = iter(dv.data.Dataset.range(5, 9))
    >>> other.restore(place)
    >>> first, int(next(other))
    (5, 6)
    """

    def __init__(
        self, node: Node, iteration: int, caches: dict[Node, Any], as_numpy: bool = False
    ) -> None:
        self._structure, self._as_numpy = node.structure, as_numpy
        self._cursor = Cursor(node, {}, iteration, caches)

    def __repr__(self) -> str:
        return (
            f"<DatasetIterator shapes: {shapes_of(self._structure)}, "
            f"types: {types_of(self._structure)}>"
        )

    def __next__(self) -> Any:
        return self._cursor.take(self._packed)

    def _packed(self, element: Element) -> Any:
        return pack(self._structure, tensors_here(self._structure, element, self._as_numpy))

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            "an iterator of a dataset cannot be pickled or copied: make another of the same "
            "dataset, and have it go on where this one is by restore(iterator.state())"
        )

    def state(self) -> dict[str, int]:
        """Return where it is, to be stored: numbers from which `restore` goes on."""
        return dict(zip(("position", "entropy", "iteration"), self._cursor.state, strict=True))

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where another iterator of the same dataset was, here or in another process.

        Raises:
          InvalidArgumentError: it is no such state, or the dataset has fewer elements.
        """
        try:
            found = [state[name] for name in ("position", "entropy", "iteration")]
        except (KeyError, TypeError):
            raise invalid(
                f"{state!r} is no state of an iterator, see DatasetIterator.state"
            ) from None
        self._cursor.restore(found)

    def _tracked_state(self) -> NDArray[Any]:
        return numpy.array(self._cursor.state, numpy.int64)

    def _restore_state(self, value: NDArray[Any]) -> None:
        self._cursor.restore(value)

    def close(self) -> None:
        """End its threads and close its files; it ends with its last reference as well."""
        self._cursor.close()


def tensors_here(structure: Any, element: Element, as_numpy: bool = False) -> list[Any]:
    """Return the components of an element as eager code has them.

    Args:
      as_numpy: whether those that are no datasets stay arrays.
    """
    pairs = zip(element, flatten(structure), strict=True)
    return [_component(part, spec, as_numpy) for part, spec in pairs]


def _component(part: Any, spec: ComponentSpec, as_numpy: bool) -> Any:
    if isinstance(spec, DatasetSpec):
        return spec.kind(Kept(spec.structure, part))
    if not as_numpy:
        return _tensor(part, spec.dtype)
    return (
        SparseTensorValue(*map(owned, part)) if isinstance(part, SparseTensorValue) else owned(part)
    )


def _tensor(part: Any, dtype: Any) -> Any:
    if isinstance(part, SparseTensorValue):
        return SparseTensor(*[_tensor(array, as_dtype(array.dtype)) for array in part])
    if isinstance(part, dask.array.Array):
        return convert_to_tensor(part)
    return EAGER_CONTEXT.constant(numpy.ascontiguousarray(part) if part.ndim else part, dtype)
