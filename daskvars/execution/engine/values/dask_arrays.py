"""Values as dask arrays.

A block is either data, which then is in the graph, or a `Future` of a key on a cluster. The name of
an array says which version of which value it is: two of one version are one to Dask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dask.array
import numpy
from dask.tokenize import tokenize
from distributed import Future

from daskvars import shapes
from daskvars.chunk_grid import Chunks, block_indices, block_slices, whole
from daskvars.dtypes import variant
from daskvars.errors import invalid
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.plan import PlanValue
from daskvars.remote.dask_internals import DataNode
from daskvars.state.format.grids import Index


def array_name(label: str, *version: Any) -> str:
    """Return the name of a dask array: what it is, and which version of it."""
    return f"{label.replace('-', '_')}-{tokenize(*version)}"


def dask_array(
    name: str, dtype: numpy.dtype[Any], chunks: Chunks, blocks: Mapping[Index, Any]
) -> dask.array.Array:
    """Return the dask array of some blocks.

    Args:
      name: see `array_name`.
      blocks: index -> NumPy array, or a `Future` of one.
    """
    graph = {
        (name, *index): block if isinstance(block, Future) else DataNode((name, *index), block)
        for index, block in blocks.items()
    }
    return dask.array.Array(graph, name, chunks, dtype=dtype)


def read_only(array: Any) -> numpy.ndarray[Any, Any]:
    """Return a view of an array, or an array of a number, that nobody may write into."""
    found = numpy.asarray(array).view()
    found.flags.writeable = False
    return found


def cut_array(name: str, dtype: numpy.dtype[Any], value: Any) -> dask.array.Array:
    """Return an array of this process, which never changes, as a dask array of views of it."""
    array = read_only(numpy.asarray(value, dtype))
    sizes = "auto" if not dtype.hasobject else -1  # Dask does not know the bytes of texts
    chunks = dask.array.core.normalize_chunks(sizes, array.shape, dtype=dtype)
    blocks = {index: array[block_slices(chunks, index)] for index in block_indices(chunks)}
    return dask_array(name, array.dtype, chunks, blocks)


def chunks_of(value: PlanValue) -> Chunks:
    """Return the chunks of an output that `check_as_dask` has accepted."""
    if value.layout is not None:
        return value.layout
    shape = value.spec.shape
    assert shapes.are_sizes(shape), shape
    return whole(shape)


def may_be_dask(specs: Iterable[Spec]) -> bool:
    """Return whether these values can be dask arrays: arrays whose shapes are known before."""
    return all(
        dtype is not variant and shape is not None and None not in shape for dtype, shape in specs
    )


def check_as_dask(names: Sequence[str], specs: Sequence[Spec]) -> None:
    """Raise where an output cannot be a dask array.

    Raises:
      InvalidArgumentError: its shape is known only when it is computed, or it is no array.
    """
    for name, spec in zip(names, specs, strict=True):
        if not may_be_dask([spec]):
            dtype, shape = spec
            why = "is no array" if dtype is variant else f"has a shape known only when run, {shape}"
            raise invalid(f"{name} {why}: it cannot be had as a dask array (as_dask=True)")
