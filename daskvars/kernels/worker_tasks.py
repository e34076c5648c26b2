"""What workers run for the regions of a plan, and the form in which a run reaches the scheduler.

A region's program travels as bytes under a key of its own, on which the region's tasks depend; a
worker unpacks and compiles it once, whatever becomes of the key's copies. The tasks themselves
carry a block's index and what differs from run to run.

Bits must not depend on which worker ran what. So arrays that came over the network are copied
where they lie at an address that NumPy's kernels treat differently.

Freed memory is not kept for the next task here, as it is in-process: Dask counts it against the
worker's limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy
from dask._expr import Expr
from distributed.protocol import pickle

from daskvars import backend
from daskvars.kernels.region import RegionProgram, compiled
from daskvars.kernels.tasks import Literal, run_block


class PackedRegion(NamedTuple):
    """A region's program, and for each of its blocks where the arguments come from, as bytes."""

    key: str
    data: bytes


def pack_region(key: str, program: RegionProgram, steps: dict[Any, list[Any]]) -> PackedRegion:
    """Return a region as bytes.

    Args:
      key: its Dask key.
      program: its kernel calls.
      steps: block -> the steps of `run_block`.
    """
    return PackedRegion(key, pickle.dumps((program, steps)))


@lru_cache(maxsize=512)
def unpacked(packed: PackedRegion) -> tuple[Any, dict[Any, list[Any]]]:
    """Return a region's compiled function and its steps, made once per process."""
    program, steps = pickle.loads(packed.data)
    return compiled(program, numpy), steps


def run_region(
    packed: PackedRegion, block: Any, positions: Sequence[int | None] | None, *dependencies: Any
) -> tuple:
    """Run one block of a region.

    Args:
      packed: the region.
      block: the block's index.
      positions: for each dependency which output of its bundle is meant where the plan could not
        know that, or None; None where that is so for all.
      dependencies: bundles, arrays, plain data.

    Returns:
      The region's outputs, as one bundle.
    """
    function, steps = unpacked(packed)
    if positions is not None:
        dependencies = tuple(
            d if p is None else d[p] for d, p in zip(dependencies, positions, strict=True)
        )
    with backend.one_blas_thread, numpy.errstate(all="ignore"):
        return run_block(function, Literal(steps[block]), tuple(map(aligned, dependencies)))


def aligned(value: Any) -> Any:
    """Return an array, or a bundle of arrays, at addresses that are multiples of the item size.

    NumPy reads other arrays through a buffer, piece by piece, and sums then round differently.
    """
    if isinstance(value, tuple):
        return tuple(map(aligned, value))
    if isinstance(value, numpy.ndarray) and not value.flags.aligned:
        return value.copy(order="K")
    return value


def pick(bundle: tuple, positions: Sequence[int]) -> tuple:
    """Return some outputs of a bundle, so that the others need not travel with them."""
    return tuple(bundle[position] for position in positions)


def given(value: Any) -> Any:
    """Return a block of a variable as a result of its own, which may be fetched."""
    return value


def shape_of(bundle: tuple, position: int | None) -> tuple[int, ...]:
    """Return the shape of a result that nobody could know before."""
    return numpy.shape(bundle if position is None else bundle[position])


class RunGraph(Expr):
    """The tasks of one run as the scheduler takes them.

    Unlike the expression that `Client.get` makes of a dict, it is not hashed to be named (2 ms a
    run), and it carries annotations by key.
    """

    _parameters: ClassVar[list[str]] = ["tasks", "annotations", "token"]  # type: ignore[misc]

    def __dask_tokenize__(self) -> str:
        return self.operand("token")

    def __dask_keys__(self) -> list[Any]:
        """Return the keys of all tasks."""
        return list(self.operand("tasks"))

    def __dask_annotations__(self) -> dict[str, dict[Any, Any]]:
        """Return annotation -> key -> value."""
        return self.operand("annotations")

    def _layer(self) -> dict[Any, Any]:
        return self.operand("tasks")
