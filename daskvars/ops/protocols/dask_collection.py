"""Dask's protocol for collections: what makes `dask.compute(v)` and its like take our values.

Dask asks for the graph, its keys, and what is made of their results one by one. Each answer is
that of ``to_dask()``, of which two for one version of a value are the same, name by name: so they
fit, unless another thread changes a variable in between; who has such threads gives Dask what
``to_dask()`` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dask.array
import dask.threaded
import numpy
from dask.array.optimization import optimize

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from daskvars.chunk_grid import Chunks
    from daskvars.shapes import TensorShape


class DaskCollection:
    """Base of eager values, which Dask takes as they are."""

    __slots__ = ()
    __dask_optimize__ = staticmethod(optimize)
    __dask_scheduler__ = staticmethod(dask.threaded.get)
    shape: TensorShape

    @property
    def ndim(self) -> int | None:
        """The rank, None where it is not known: NumPy's and Dask's word."""
        return self.shape.ndims

    @property
    def _meta(self) -> numpy.ndarray:
        """An empty array like the value: Dask's functions try themselves on it for their dtype."""
        value: Any = self
        return numpy.empty((0,) * (self.ndim or 0), value.dtype.base_dtype.as_numpy_dtype)

    def to_dask(self) -> dask.array.Array:
        """Return the present value as a dask array."""
        raise NotImplementedError

    def to_dask_array(self) -> dask.array.Array:
        """Return what `to_dask` does: Dask's functions ask for it by this name."""
        return self.to_dask()

    def __dask_graph__(self) -> Mapping[Any, Any] | None:
        return self.to_dask().__dask_graph__()

    def __dask_keys__(self) -> list[Any]:
        return self.to_dask().__dask_keys__()

    def __dask_layers__(self) -> Sequence[str]:
        return self.to_dask().__dask_layers__()

    def __dask_tokenize__(self) -> str:
        return self.to_dask().name

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.to_dask().__dask_postcompute__()

    def __dask_postpersist__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        array = self.to_dask()
        return _persisted, (array.chunks, array.dtype)


def _persisted(
    graph: Mapping[Any, Any],
    chunks: Chunks,
    dtype: DTypeLike,
    *,
    rename: Mapping[str, str] | None = None,
) -> dask.array.Array:
    """Return a persisted value: the dask array of what its keys gave."""
    name = next(iter(graph))[0]  # not of the value, which may have changed meanwhile
    return dask.array.Array(graph, (rename or {}).get(name, name), chunks, dtype=dtype)
