"""Feeds: checked against their placeholders before anything runs.

Along what they are cut for parallel work the planner chooses: `lowering.planner.cut_feeds`. How
many parts there may be at most `execution.engine.plans.executables` tells it (`machine_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import dask.array
import numpy

from daskvars import shapes
from daskvars.chunk_grid import Chunks
from daskvars.execution.engine.values.lazy_feeds import LazyFeed
from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.graph import Graph
from daskvars.graph.tensor import Tensor
from daskvars.ops.protocols.dask_collection import DaskCollection
from daskvars.remote.tasks.feed_tasks import fed_array, read_array


def feed_tensor(graph: Graph, key: Any) -> Tensor:
    """Return the tensor that a key of a feed_dict stands for.

    Raises:
      TypeError: the key is nothing of the graph.
      ValueError: it is not feedable.
    """
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except (KeyError, ValueError, TypeError) as error:
        text = error.args[0] if error.args else error
        raise TypeError(
            f"Cannot interpret feed_dict key as Tensor: {text} (The key is {key!r}; it should be a "
            "placeholder, another tensor of the graph, or the name of one, such as 'x:0'.)"
        ) from None
    if not graph.is_feedable(tensor):
        raise ValueError(
            f"Tensor {tensor.name} may not be fed. (Constants that shapes, axes and the like are "
            "made of are read when the graph is built; use a placeholder_with_default.)"
        )
    return tensor


def feed_value(tensor: Tensor, value: Any) -> Any:
    """Return `value` as an array of the tensor's dtype: NumPy's, or a `LazyFeed` of a dask array.

    Raises:
      TypeError: it is a symbolic tensor, or does not have a value of that dtype.
      ValueError: its shape does not fit, or is not known.
      OpError: it stands for an array, of a file say, that cannot be read.
    """
    dtype, shape = tensor.spec
    dtype = dtype.base_dtype
    if isinstance(value, Tensor):
        is_of_graph = tensor.graph is not None and value.graph is tensor.graph
        if is_of_graph or not hasattr(value, "numpy"):
            raise TypeError(
                f"The value of a feed cannot be a tf.Tensor object. Feed {tensor.name!r} with an "
                f"array, a list, a number or a dask array instead of {value!r}."
            )
        value = value.numpy()
    elif isinstance(value, DaskCollection):
        value = value.to_dask()
    if type(value) is not numpy.ndarray and dask.is_dask_collection(value):
        array: Any = LazyFeed(tensor.name, dask_array(value, tensor.name), dtype)
    else:
        array = fed_array(value, dtype, tensor.name)
    if not shapes.compatible(shape, array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which has shape "
            f"{shapes.TensorShape(shape)}"
        )
    return array


def as_array(value: Any, name: str) -> Any:
    """Return what stands for an array as NumPy's, or as a dask array.

    Args:
      value: an object that NumPy can make an array of, or a collection of Dask.
    """
    if dask.is_dask_collection(value):
        return dask_array(value, name)
    return read_array(value, name)


def dask_array(value: Any, name: str) -> dask.array.Array:
    """Return a collection of Dask as an array: xarray's has one in it."""
    found = value if isinstance(value, dask.array.Array) else getattr(value, "data", None)
    if not isinstance(found, dask.array.Array):
        raise TypeError(
            f"Cannot feed a {type(value).__name__} for {name!r}: give what it computes, or make it "
            "a dask array, with dask.array.from_delayed or to_dask_array(lengths=True)"
        )
    return found


def signature(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a plan depends on of what is fed: shapes, and of dask arrays the chunks."""
    return tuple([("lazy", v.shape, v.layout) if type(v) is LazyFeed else v.shape for v in values])


def feed_specs(
    tensors: Sequence[Tensor],
    values: Sequence[Any],
    shapes: Sequence[tuple[int | None, ...]] | None = None,
) -> ByIdentity[tuple[Spec, Chunks | None]]:
    """Return dtype, shape and chunks of each feed, as `lower` takes them.

    Args:
      shapes: the shapes to plan for, by default those of the values.
    """
    shapes = [tuple(value.shape) for value in values] if shapes is None else shapes
    chunks = [value.layout if isinstance(value, LazyFeed) else None for value in values]
    return ByIdentity(
        (tensor, (Spec(tensor.spec.dtype.base_dtype, shape), cut))
        for tensor, cut, shape in zip(tensors, chunks, shapes, strict=True)
    )
