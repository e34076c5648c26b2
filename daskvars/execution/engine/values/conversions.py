"""How objects that stand for several tensors are fetched and fed: sparse ones and users' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.sparse_tensor import SparseTensor, sparse_parts


class Conversion(NamedTuple):
    """The functions registered for a type."""

    type: type
    fetch: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]]
    feed: Callable[[Any, Any], list[tuple[Any, Any]]] | None


_conversions: list[Conversion] = []


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]],
    feed_function: Callable[[Any, Any], list[tuple[Any, Any]]] | None = None,
    feed_function_for_partial_run: Callable[[Any], list[Any]] | None = None,
) -> None:
    """Let `Session.run` fetch and feed objects of a type.

    Args:
      tensor_type: the type.
      fetch_function: gives, for an object, what to fetch and a function from the list of their
        values to the object's value.
      feed_function: gives, for an object and the value fed to it, pairs of tensor and value.
      feed_function_for_partial_run: accepted.

    Raises:
      ValueError: functions are registered for the type.
    """
    if any(issubclass(tensor_type, conversion.type) for conversion in _conversions):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _conversions.insert(0, Conversion(tensor_type, fetch_function, feed_function))


def conversion_of(item: Any) -> Conversion | None:
    """Return what is registered for the type of an object, or None."""
    return next((c for c in _conversions if isinstance(item, c.type)), None)


def _sparse_pairs(key: SparseTensor, value: Any) -> Iterator[tuple[Any, Any]]:
    indices, values, shape = sparse_parts(value)
    yield key.indices, indices
    yield key.values, values
    known = constant_value(key.dense_shape)
    if known is None:
        yield key.dense_shape, shape
    elif not numpy.array_equal(known, shape):
        raise ValueError(
            f"Cannot feed a sparse tensor of shape {tuple(map(int, shape))} for {key.name!r}, "
            f"which has shape {tuple(known.tolist())}"
        )


def feed_pairs(key: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of one tensor and its value for a key of a feed_dict and the value fed to it.

    Raises:
      ValueError: a nested key and its value do not have the same number of parts.
    """
    if isinstance(key, tuple | list) and not hasattr(key, "_as_graph_element"):
        if len(key) != len(value):
            raise ValueError(f"feed_dict: {len(key)} tensors are fed with {len(value)} values")
        for part, item in zip(key, value, strict=True):
            yield from feed_pairs(part, item)
    elif isinstance(key, IndexedSlices):
        slots = [key.values, key.indices, *([] if key.dense_shape is None else [key.dense_shape])]
        yield from zip(slots, tuple(value), strict=False)
    elif isinstance(key, SparseTensor):
        yield from _sparse_pairs(key, value)
    else:
        conversion = conversion_of(key)
        if conversion is None or conversion.feed is None:
            yield key, value
        else:
            yield from conversion.feed(key, value)
