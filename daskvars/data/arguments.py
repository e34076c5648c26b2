"""What methods of datasets are given, as nodes take it: numbers, seeds, shapes, names of files."""

from __future__ import annotations

from typing import Any

import numpy

from daskvars import dtypes, shapes
from daskvars.data.nodes.elements import as_component, flatten, is_tuple, nest_like
from daskvars.data.nodes.node import Node
from daskvars.dtypes import int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.tensor import Tensor, TensorLike, is_tensor_like
from daskvars.ops.random.distributions import drawn_with, get_seed
from daskvars.shapes import Shape

LAST = 2**63 - 1  # the largest number of an element


def as_integer(value: Any, name: str = "value") -> Any:
    """Return an argument, a number, as an int64 array, or the tensor that it is.

    Raises:
      TypeError: it is no integer; a part of one would be cut off.
    """
    if value is None or isinstance(value, str | bytes):
        raise TypeError(f"{name} must be an integer, found {value!r}")
    found = as_component(value)
    if isinstance(found, Tensor):
        return found
    if found.dtype.kind == "f":
        raise TypeError(
            f"{name}: Expected int64, got {value!r} of type {type(value).__name__!r} instead."
        )
    return dtypes.to_numpy(found, int64)


def seeds_of(seed: TensorLike | None) -> tuple[Any, Any]:
    """Return the seeds of the graph and of a dataset, in eager code of each one its own."""
    if seed is None:
        return drawn_with(None)
    found = as_component(seed)
    # A seed of one's own has that of the graph beside it, whatever it is.
    return (get_seed(1)[0], found) if isinstance(found, Tensor) else get_seed(int(found))


def as_strings(value: Any) -> Any:
    """Return text as an array of strings, or the tensor that it is."""
    found = as_component(value)
    return found if isinstance(found, Tensor) else dtypes.to_numpy(found, string)


def as_compression(kind: Any) -> Any:
    """Return how files are compressed: "" where nobody says it."""
    return as_strings("" if kind is None else kind)


def path_text(given: Any) -> Any:
    """Return paths as text, where they are objects."""
    if isinstance(given, list | tuple):
        return [path_text(item) for item in given]
    return str(given) if hasattr(given, "__fspath__") else given


def padded_shapes_of(node: Node, given: Any) -> list[Shape | Tensor]:
    """Return the shape that each component of elements is to be filled up to.

    Raises:
      ValueError: they nest otherwise than elements.
    """
    specs = flatten(node.structure)
    if given is None:
        return [spec.shape for spec in specs]
    single = not is_tuple(node.structure) and not isinstance(node.structure, dict)
    items = [given] if single else nest_like(node.structure, given, "padded_shapes")
    return [_padded_shape(item) for item in items]


def _padded_shape(item: Any) -> Shape | Tensor:
    if is_tensor_like(item):
        tensor = convert_to_tensor(item)
        known = constant_value(tensor)
        if known is None:
            return tensor
        item = known
    if isinstance(item, list | tuple):
        item = [None if n == -1 else n for n in item]
    elif isinstance(item, numpy.ndarray):
        item = [None if n == -1 else int(n) for n in item]
    return shapes.as_tuple(item)


def padding_of(node: Node, given: Any) -> list[Any]:
    """Return what each component of elements is filled up with: a scalar, or the tensor of one.

    Raises:
      ValueError: they nest otherwise than elements, or one is no scalar.
      TypeError: an array or a tensor is of another dtype.
    """
    specs = flatten(node.structure)
    if given is None:
        values: list[Any] = [None] * len(specs)
    else:
        values = nest_like(node.structure, given, "padding_values")
    found = []
    for spec, value in zip(specs, values, strict=True):
        if value is None:
            value = b"" if spec.dtype is string else 0
            found.append(value if spec.dtype is string else spec.dtype.np.type(value))
            continue
        item = as_component(value)
        array = item if isinstance(item, Tensor) else numpy.asarray(item)
        if not shapes.compatible(shapes.as_tuple(array.shape), ()):
            raise ValueError(f"Padding value should be a scalar, but is {value!r}")
        kind = dtypes.as_dtype(array.dtype).base_dtype
        if isinstance(value, Tensor | numpy.ndarray | numpy.generic) and kind is not spec.dtype:
            raise TypeError(
                f"Padding value type ({kind.name}) does not match the type of the corresponding "
                f"component ({spec.dtype.name})."
            )
        is_tensor = isinstance(item, Tensor)
        found.append(item if is_tensor else dtypes.to_numpy(value, spec.dtype)[()])
    return found
