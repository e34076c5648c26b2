"""Arrays with versions: functional outside, changed in place inside.

A task may run twice and its inputs are shared, so a task never writes into an input. Yet to change
a few rows of a large block by copying it costs the whole block. So the newest version of a block
owns the memory; an older one is the rows that lead back to it (Baker's trick). Reading an old
version works and costs the difference; an update of it, when Dask runs a task anew, starts from
what its successor is already, or from a copy.

What has left the process, or is being read as a whole, is never changed: the next update copies.
Pickled, a version is the plain array that it stands for.

To Dask the newest version weighs what the array does, and an older one the rows that lead back to
it: memory that several share counts once. Dask measures a result when it gets it, so what became
older since is measured again (`remote.dask_internals.remeasure`).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from daskvars.surface.forwarding import forwards

VERSIONED_BYTES = 1 << 20  # from which blocks are; below, a copy costs less than the bookkeeping
SLAB_BYTES = 16 << 20  # of a slab: enough to hide what a piece costs, little beside a block

Undo = tuple[np.ndarray, np.ndarray]
"""Ascending numbers of rows, and what was in them before."""


class Chain:
    """The memory that successive versions of one block share.

    Attributes:
        array: the newest version.
        lent: how many read all of it now; its memory must not change meanwhile.
        lock: held while rows are read or written.
        number: the order in which several chains are locked.
    """

    __slots__ = ("array", "lent", "lock", "number")

    numbers = itertools.count()

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.lent = 0
        self.lock = threading.RLock()
        self.number = next(self.numbers)


class Version:
    """One version.

    Attributes:
        chain: where its memory is.
        newer: the version made of it in that memory, None for the newest.
        undo: what leads back from `newer`, in the order in which it was changed.
        made_by: the task that made it.
        handles: what stands for it outside.
    """

    __slots__ = ("chain", "handles", "made_by", "newer", "undo")

    def __init__(self, chain: Chain, made_by: Any = None) -> None:
        self.chain = chain
        self.made_by = made_by
        self.newer: Version | None = None
        self.undo: list[Undo] = []
        self.handles: weakref.WeakSet[Versioned] = weakref.WeakSet()

    def undone(self) -> list[Undo]:
        """List the changes since, the last one first. The chain is locked."""
        found: list[Undo] = []
        version = self
        while version.newer is not None:
            found.extend(version.undo)
            version = version.newer
        return found[::-1]

    def owns_memory(self) -> bool:
        """Tell whether it may be changed in place. The chain is locked.

        If nobody has the versions made of it, of a run that failed, say, they are taken back.
        """
        if self.chain.lent:
            return False
        newer = self.newer
        while newer is not None:
            if newer.handles:
                return False
            newer = newer.newer
        for rows, values in self.undone():
            self.chain.array[rows] = values
        self.newer, self.undo = None, []
        return True


class Versioned:
    """One version of a block, of rank 1 or more.

    Args:
        array: its elements; the version owns them from now on.

    >>> old = Versioned(np.zeros((3, 2)))
    >>> def write(arrays, record):
    ...     record(arrays[0], np.array([1]))
    ...     arrays[0][1] = 7
    >>> (new,) = changed([old], "task", write)
    >>> np.asarray(new).tolist(), np.asarray(old).tolist()
    ([[0.0, 0.0], [7.0, 7.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    """

    __slots__ = ("__weakref__", "_version")

    def __init__(self, array: np.ndarray) -> None:
        self._version = Version(Chain(array))
        self._version.handles.add(self)

    @staticmethod
    def of(version: Version) -> Versioned:
        """Give a version that exists."""
        found = Versioned.__new__(Versioned)
        found._version = version
        version.handles.add(found)
        return found

    # -- what an array has ----------------------------------------------------------------------

    shape: tuple[int, ...] = forwards("_version.chain.array.shape", "The extents.")
    dtype: np.dtype = forwards("_version.chain.array.dtype", "The dtype of the elements.")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    size: int = forwards("_version.chain.array.size", "The number of elements.")
    nbytes: int = forwards("_version.chain.array.nbytes", "The bytes of the elements.")

    def __len__(self) -> int:
        return self.shape[0]

    def __sizeof__(self) -> int:
        """The bytes that Dask counts for a key that holds this version."""
        version = self._version
        if version.newer is None:
            return self.nbytes
        return sum(rows.nbytes + values.nbytes for rows, values in version.undo)

    memory: Chain = forwards(
        "_version.chain", "What this version shares its memory with; what holds both holds it once."
    )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(self.shape, self.dtype)
        for rows, part in self.slabs():
            found[rows] = part
        return found if dtype is None else found.astype(dtype, copy=False)

    def __getitem__(self, region: tuple[slice, ...]) -> np.ndarray:
        """Give a copy of the part in a region, a slice for each axis."""
        part = VersionedPart(self, region)
        found = np.empty(part.shape, part.dtype)
        part.copy_into(found)
        return found

    def take(self, ids: np.ndarray, axis: int = 0, mode: Any = "raise") -> np.ndarray:
        """Give rows, as `numpy.take` does."""
        if axis % self.ndim:
            return np.asarray(self).take(ids, axis=axis, mode=mode)
        version = self._version
        with version.chain.lock:
            found = version.chain.array.take(ids, axis=0, mode=mode)
            undone = version.undone()
        for rows, values in undone:
            places = np.minimum(np.searchsorted(rows, ids), len(rows) - 1)
            hits = rows[places] == ids
            found[hits] = values[places[hits]]
        return found

    def slabs(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows and a copy of what is in them, piece by piece, whatever is updated between."""
        step = max(1, SLAB_BYTES * len(self) // max(1, self.nbytes))
        for first in range(0, len(self), step):
            stop = min(first + step, len(self))
            rows = slice(first, stop)
            yield rows, self[rows,]

    # -- giving it away -------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        return np.asarray, (self.given(),)

    def given(self) -> np.ndarray:
        """Become an array: the memory itself, which then never changes, if this is the newest."""
        version = self._version
        with version.chain.lock:
            if version.newer is None:
                version.chain.lent += 1
                return version.chain.array
        return np.asarray(self)

    @contextlib.contextmanager
    def lend(self) -> Iterator[np.ndarray]:
        """Give the whole array, to be read until the context ends."""
        version = self._version
        with version.chain.lock:
            is_newest = version.newer is None
            version.chain.lent += is_newest
        try:
            yield version.chain.array if is_newest else np.asarray(self)
        finally:
            if is_newest:
                with version.chain.lock:
                    version.chain.lent -= 1

    def successor(self, made_by: Any) -> Versioned | None:
        """Give the version that a task made of this one before, if it did."""
        newer = self._version.newer
        if newer is None or made_by is None or newer.made_by != made_by:
            return None
        return Versioned.of(newer)


class VersionedPart(NamedTuple):
    """A part of a version, which is not copied yet.

    Attributes:
        region: a slice of step 1 for each axis, or for the first ones.
    """

    whole: Versioned
    region: tuple[slice, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        extents = self.whole.shape
        cut = [len(range(*s.indices(n))) for s, n in zip(self.region, extents, strict=False)]
        return (*cut, *extents[len(cut) :])

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.whole.dtype

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    def copy_into(self, array: np.ndarray) -> None:
        """Copy it into an array of its shape and dtype, whatever is updated meanwhile."""
        version = self.whole._version
        rows, *others = self.region
        first, stop, _ = rows.indices(len(self.whole))
        with version.chain.lock:
            array[...] = version.chain.array[self.region]
            undone = version.undone()
        for changed_rows, values in undone:
            low, high = np.searchsorted(changed_rows, (first, stop))
            array[changed_rows[low:high] - first] = values[low:high][(slice(None), *others)]


def changed(
    blocks: Sequence[Any],
    made_by: Any,
    write: Callable[[list[np.ndarray], Callable[[np.ndarray, np.ndarray], None]], Any],
) -> list[Versioned]:
    """Give the next versions of some blocks, of which some rows change.

    Args:
        blocks: versions, or arrays, which are copied.
        made_by: names the task: run anew on the same versions, it gets what it made before. None
            names none.
        write: ``write(arrays, record)`` changes the arrays in place; before it does it calls
            ``record(array, rows)`` with the ascending numbers of the rows that it will change.

    Raises:
        Whatever `write` raises; the blocks are then as they were.
    """
    versions = [b if isinstance(b, Versioned) else Versioned(b.copy()) for b in blocks]
    with contextlib.ExitStack() as stack:
        chains = {v._version.chain.number: v._version.chain for v in versions}
        for _, chain in sorted(chains.items()):
            stack.enter_context(chain.lock)
        before = [version.successor(made_by) for version in versions]
        if None not in before:
            return [version for version in before if version is not None]
        owned = [
            version if version._version.owns_memory() else Versioned(np.asarray(version))
            for version in versions
        ]
        return rewritten([version._version for version in owned], made_by, write)


def rewritten(olds: Sequence[Version], made_by: Any, write: Any) -> list[Versioned]:
    """Do what `changed` does, on the newest versions of chains that are locked."""
    undo: dict[int, list[Undo]] = {id(old.chain.array): [] for old in olds}

    def record(array: np.ndarray, rows: np.ndarray) -> None:
        undo[id(array)].append((rows, array.take(rows, axis=0)))

    try:
        write([old.chain.array for old in olds], record)
    except BaseException:
        for old in olds:
            for rows, values in reversed(undo[id(old.chain.array)]):
                old.chain.array[rows] = values
        raise
    found = []
    for old in olds:
        old.undo = [(rows, v) for rows, v in undo[id(old.chain.array)] if len(rows)]
        old.newer = Version(old.chain, made_by)
        found.append(Versioned.of(old.newer))
    return found
