"""Blocks of variables that somebody keeps: arrays of the variables' own memory.

What is kept stays what it was, since its memory is leased: the next run that would update it in
place writes a copy, once. The lease is given back when nobody has an array of that memory any more,
slices and other views included: NumPy has each of them keep what it is a view of.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import numpy

from daskvars.device_array import on_host
from daskvars.execution.engine.values.dask_arrays import read_only
from daskvars.state.format.grids import Blocks, Index
from daskvars.state.values import Lease


class LeasedMemory:
    """The memory of a block, which NumPy makes an array of (its array interface).

    Args:
      lease: of that block, released with the last array of its memory.
    """

    def __init__(self, block: numpy.ndarray[Any, Any], lease: Lease) -> None:
        self.block = block
        released = weakref.finalize(self, lease.release)
        released.atexit = False
        self.__array_interface__ = {
            "version": 3,
            "shape": block.shape,
            "strides": block.strides,
            "typestr": f"|V{block.dtype.itemsize}",  # some dtypes of ours NumPy has no name for
            "data": (block.ctypes.data, True),
        }


def kept(blocks: Blocks, lease: Lease) -> Mapping[Index, numpy.ndarray[Any, Any]]:
    """Return blocks of a variable as arrays that may be kept, and not written into.

    Args:
      blocks: of the variable.
      lease: of these blocks.
    """
    return {index: _kept(index, block, lease) for index, block in blocks.items()}


def _kept(index: Index, block: Any, lease: Lease) -> numpy.ndarray[Any, Any]:
    if not isinstance(block, numpy.ndarray):
        return read_only(on_host(block))
    if block.dtype.hasobject:
        return read_only(block.copy())  # texts are no memory of the block's
    memory = LeasedMemory(block, lease.of([{index: block}]))
    return numpy.asarray(memory).view(block.dtype)
