"""Fetches of any nesting to a flat list of graph elements, and values back into that nesting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from daskvars.execution.engine.values.conversions import conversion_of
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Operation, Tensor

_ELEMENTS = (Tensor, Operation, str, bytes)


class IndexedSlicesValue(NamedTuple):
    """The value of fetched IndexedSlices: three arrays."""

    values: numpy.ndarray
    indices: numpy.ndarray
    dense_shape: numpy.ndarray | None


class Structure:
    """What was asked to be fetched.

    Attributes:
      tensors: the distinct tensors, a variable's handle for its value at the end of the run.
      operations: the distinct operations to run.
      rebuild: ``rebuild(values) -> result``, where `values` are those of `tensors`.
    """

    def __init__(self, fetches: Any, graph: Graph) -> None:
        self.graph = graph
        self._positions: dict[Tensor, int] = {}
        self._operations: dict[Operation, None] = {}
        self.rebuild = self._visit(fetches)
        self.tensors = tuple(self._positions)
        self.operations = tuple(self._operations)

    def _visit(self, fetch: Any) -> Callable[[Sequence[Any]], Any]:
        if isinstance(fetch, _ELEMENTS) or hasattr(fetch, "_as_graph_element"):
            return self._element(fetch)
        if isinstance(fetch, IndexedSlices):
            parts = [fetch.values, fetch.indices]
            if fetch.dense_shape is not None:
                parts.append(fetch.dense_shape)
            getters = [self._element(part) for part in parts]
            return lambda values: IndexedSlicesValue(
                *[g(values) for g in getters], *[None] * (3 - len(getters))
            )
        if isinstance(fetch, SparseTensor):
            getters = [self._element(part) for part in (fetch.indices, fetch.values)]
            getters.append(self._element(fetch.dense_shape))
            return lambda values: SparseTensorValue(*[getter(values) for getter in getters])
        if isinstance(fetch, list | tuple):
            getters = [self._visit(item) for item in fetch]
            make = _maker(fetch)
            return lambda values: make([getter(values) for getter in getters])
        if isinstance(fetch, Mapping):
            items = [(key, self._visit(item)) for key, item in fetch.items()]
            make_mapping: Any = type(fetch)
            if isinstance(fetch, defaultdict):
                make_mapping = partial(defaultdict, fetch.default_factory)
            return lambda values: make_mapping((key, getter(values)) for key, getter in items)
        if getattr(type(fetch), "__attrs_attrs__", None) is not None:
            names = [a.name for a in type(fetch).__attrs_attrs__]
            getters = [self._visit(getattr(fetch, name)) for name in names]
            return lambda values: type(fetch)(*[getter(values) for getter in getters])
        conversion = conversion_of(fetch)
        if conversion is not None:
            parts, contract = conversion.fetch(fetch)
            getters = [self._visit(part) for part in parts]
            return lambda values: contract([getter(values) for getter in getters])
        raise TypeError(
            f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. "
            f"(Can not convert a {type(fetch).__name__} into a Tensor or Operation.)"
            f"{_advice(fetch)}"
        )

    def _element(self, fetch: Any) -> Callable[[Sequence[Any]], Any]:
        try:
            element = self.graph.as_graph_element(fetch)
        except KeyError as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})"
            ) from None
        except ValueError as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        if not self.graph.is_fetchable(element):
            raise ValueError(f"Operation {element.name!r} has been marked as not fetchable.")
        if isinstance(element, Operation):
            self._operations[element] = None
            return lambda values: None
        position = self._positions.setdefault(element, len(self._positions))
        return lambda values: as_scalar(values[position])


def _advice(fetch: Any) -> str:
    """Return what to do about the fetches that are most often meant otherwise."""
    if fetch is None:
        return " A gradient is None where nothing leads from the loss to the variable."
    if callable(fetch):
        return f" Call it: fetch what {getattr(fetch, '__name__', 'it')}(...) returns."
    return ""


def as_scalar(value: Any) -> Any:
    """Return an array of rank 0 as a NumPy scalar (bytes for strings), as TensorFlow gives it."""
    return value[()] if type(value) is numpy.ndarray and value.ndim == 0 else value


def _maker(sequence: Any) -> Callable[[list[Any]], Any]:
    kind = type(sequence)
    if kind is list:
        return lambda values: values
    if hasattr(kind, "_fields"):
        return lambda values: kind(*values)
    return kind
