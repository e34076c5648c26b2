"""What an element of a dataset is: components, flat, and the structure that they have.

An element goes through a pipeline as a tuple of components, NumPy arrays or `SparseTensorValue`;
its structure (tuples, named tuples and dicts, not lists: these are arrays, as in TensorFlow) is
known before anything is read, with a `Spec` for each component. A component may be a dataset, of a
`Window` of elements that went by before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
import dask.array
import numpy
import zarr

from daskvars import shapes
from daskvars.dtypes import DType, as_dtype, int64, to_numpy
from daskvars.execution.engine.values.blocks import kept
from daskvars.execution.engine.values.checked_feeds import dask_array
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, is_tensor_like
from daskvars.shapes import Shape, TensorShape

Element = tuple[Any, ...]
STORED = (zarr.Array, dask.array.Array)


class SparseSpec(NamedTuple):
    """Dtype and shape of a component that is a sparse tensor."""

    dtype: DType
    shape: Shape


@dataclass(frozen=True)
class DatasetSpec:
    """Structure of a component that is a dataset itself: a window of elements.

    Attributes:
      kind: makes what functions are given of a node.
    """

    structure: Any
    kind: Callable[[Any], Any]

    @property
    def dtype(self) -> DatasetSpec:
        """Itself, where others have a dtype."""
        return self

    @property
    def shape(self) -> Shape:
        """None."""
        return None


@dataclass(frozen=True)
class Window:
    """A component that is a dataset.

    Attributes:
      elements: they, in their order.
    """

    elements: list[Element]


@dataclass(frozen=True)
class Together(Sequence[Element]):
    """Several elements that are a batch: dense ones of the same shapes.

    Attributes:
      columns: the components, each [elements, ...].
    """

    columns: Element

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return Together(tuple([column[number] for column in self.columns]))
        return tuple([column[number, ...] for column in self.columns])


ComponentSpec = Spec | SparseSpec | DatasetSpec


def flatten(structure: Any) -> list[Any]:
    """Return the components in order; those of a dict in the order of its sorted keys.

    >>> flatten(({"b": 1, "a": 2}, [3, 4]))
    [2, 1, [3, 4]]
    """
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if is_tuple(structure):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def is_tuple(value: Any) -> bool:
    """Return whether a value is nested further: a tuple, but not that of a sparse tensor."""
    return isinstance(value, tuple) and not isinstance(value, SparseTensorValue | SparseSpec | Spec)


def map_structure(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return the structure with ``function(component)`` for each component."""
    if isinstance(structure, Mapping):
        found = {key: map_structure(function, structure[key]) for key in sorted(structure)}
        kind: Any = type(structure)
        return kind((key, found[key]) for key in structure)
    if is_tuple(structure):
        items = [map_structure(function, item) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)
    return function(structure)


def pack(structure: Any, components: Sequence[Any]) -> Any:
    """Return components in the form of a structure."""
    if not is_tuple(structure) and not isinstance(structure, Mapping):
        return components[0]
    rest = iter(components)
    return map_structure(lambda _: next(rest), structure)


def nest_like(structure: Any, given: Any, what: str) -> list[Any]:
    """Return one item for each component of a structure, of what nests as it does.

    Raises:
      ValueError: it nests otherwise.
    """
    if isinstance(structure, Mapping):
        if not isinstance(given, Mapping) or set(given) != set(structure):
            raise ValueError(f"{what} is {given!r}, but elements have the keys {sorted(structure)}")
        return [
            item
            for key in sorted(structure)
            for item in nest_like(structure[key], given[key], what)
        ]
    if is_tuple(structure):
        if not isinstance(given, tuple | list) or len(given) != len(structure):
            raise ValueError(
                f"{what} is {given!r}, but elements are tuples of {len(structure)} components"
            )
        return [
            item
            for part, value in zip(structure, given, strict=True)
            for item in nest_like(part, value, what)
        ]
    return [given]


# -- specs -----------------------------------------------------------------------------------------


def spec_of(value: Any) -> ComponentSpec:
    """Return dtype and shape of what `as_component` gives."""
    if isinstance(value, SparseTensor):
        return SparseSpec(value.dtype.base_dtype, shapes.as_tuple(value.shape))
    if isinstance(value, SparseTensorValue):
        values = numpy.asarray(value.values)
        return SparseSpec(as_dtype(values.dtype), tuple(int(n) for n in value.dense_shape))
    if isinstance(value, Tensor):
        return Spec(value.spec.dtype.base_dtype, value.spec.shape)
    return Spec(as_dtype(value.dtype), tuple(value.shape))


def as_component(value: Any) -> Any:
    """Return a component that was given: a tensor of a graph, or an array, in memory or stored."""
    if isinstance(value, SparseTensor):
        parts = [as_component(part) for part in (value.indices, value.values, value.dense_shape)]
        return value if any(isinstance(part, Tensor) for part in parts) else sparse_value(*parts)
    if isinstance(value, SparseTensorValue):
        return sparse_value(*value)
    if isinstance(value, zarr.Array):
        return value
    if is_tensor_like(value) or _has_tensors(value):
        tensor = convert_to_tensor(value)
        return to_numpy(tensor.numpy()) if hasattr(tensor, "numpy") else tensor
    return _of_dask(value) if dask.is_dask_collection(value) else kept(to_numpy(value))


def _of_dask(value: Any) -> dask.array.Array:
    """Return a collection of Dask as an array, if it is one of known shape."""
    array = dask_array(value, "a component of elements")
    if math.isnan(array.size):
        raise ValueError(
            "Elements cannot be made of a dask array of which the sizes of chunks are not known, "
            f"shape {array.shape}: call its compute_chunk_sizes() before"
        )
    return array


def _has_tensors(value: Any) -> bool:
    """Return whether a list is of tensors, which together are one."""
    if not isinstance(value, list):
        return False
    return any(is_tensor_like(item) or _has_tensors(item) for item in value)


def sparse_value(indices: Any, values: Any, dense_shape: Any) -> SparseTensorValue:
    """Return a sparse component of arrays."""
    return SparseTensorValue(
        kept(to_numpy(indices, int64).reshape(-1, len(dense_shape))),
        kept(to_numpy(values)),
        kept(to_numpy(dense_shape, int64)),
    )


def types_of(structure: Any) -> Any:
    """Return the dtypes of components, as ``output_types`` has them."""
    return map_structure(lambda spec: spec.dtype, structure)


def shapes_of(structure: Any) -> Any:
    """Return the shapes of components, as ``output_shapes`` has them."""
    return map_structure(lambda spec: TensorShape(spec.shape), structure)


def classes_of(structure: Any) -> Any:
    """Return which components are tensors, sparse tensors, datasets: ``output_classes``."""
    return map_structure(_class_of, structure)


def _class_of(spec: ComponentSpec) -> Any:
    if isinstance(spec, DatasetSpec):
        return spec.kind
    return SparseTensor if isinstance(spec, SparseSpec) else Tensor


def no_datasets(structure: Any, what: str) -> None:
    """Raise TypeError where components are datasets, which a step cannot take."""
    if any(isinstance(spec, DatasetSpec) for spec in flatten(structure)):
        raise TypeError(
            f"{what} takes tensors, but elements have components that are datasets: windows, which "
            "flat_map(lambda window: window.batch(size)), for one, makes tensors of"
        )


def structure_of(types: Any, found: Any = None, classes: Any = None) -> Any:
    """Return the structure that types, shapes (None: unknown) and classes describe.

    Raises:
      ValueError: they nest differently.
      TypeError: one is no dtype, shape or class.
    """
    dtypes = [as_dtype(each).base_dtype for each in flatten(types)]
    count = len(dtypes)
    sizes = [None] * count if found is None else _shapes_like(types, found)
    kinds = [Tensor] * count if classes is None else nest_like(types, classes, "output_classes")
    specs = [
        (SparseSpec if issubclass(kind, SparseTensor) else Spec)(dtype, shapes.as_tuple(size))
        for dtype, size, kind in zip(dtypes, sizes, kinds, strict=True)
    ]
    return pack(types, specs)


def _shapes_like(types: Any, given: Any) -> list[Any]:
    """Return the shapes; one of a single component may be a tuple of numbers itself."""
    if not is_tuple(types) and not isinstance(types, Mapping):
        return [given]
    return nest_like(types, given, "output_shapes")


def most_specific(first: Any, second: Any, what: str) -> Any:
    """Return what is known of elements that have one of two structures.

    Raises:
      TypeError: they differ in nesting or dtypes.
    """
    a, b = flatten(first), flatten(second)
    types = types_of(first), types_of(second)
    if types[0] != types[1]:
        raise TypeError(f"{what} have different types {types[0]} and {types[1]}")
    if classes_of(first) != classes_of(second):
        raise TypeError(
            f"{what} have different classes {classes_of(first)} and {classes_of(second)}"
        )
    merged = [
        x if isinstance(x, DatasetSpec) else type(x)(x.dtype, shapes.common(x.shape, y.shape))
        for x, y in zip(a, b, strict=True)
    ]
    return pack(first, merged)


def row_of(spec: ComponentSpec) -> ComponentSpec:
    """Return the spec of a row of a component."""
    no_datasets(spec, "unbatch()")
    assert not isinstance(spec, DatasetSpec)
    if spec.shape is None:
        return type(spec)(spec.dtype, None)
    if not spec.shape:
        raise ValueError(
            "from_tensor_slices() cuts along the first dimension, and a scalar has none; use "
            "from_tensors() for one element"
        )
    return type(spec)(spec.dtype, spec.shape[1:])


def batch_of(spec: ComponentSpec, size: int | None) -> ComponentSpec:
    """Return the spec of several of a component."""
    no_datasets(spec, "batch()")
    assert not isinstance(spec, DatasetSpec)
    return type(spec)(spec.dtype, None if spec.shape is None else (size, *spec.shape))
