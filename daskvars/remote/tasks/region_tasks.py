"""What workers run for the regions of a plan.

A region's program travels as bytes within the stages that have blocks of it (`stage_tasks`); a
worker unpacks and compiles it once, whatever becomes of the copies. The tasks themselves carry what
differs from run to run.

Bits must not depend on which worker ran what. So arrays that came over the network are copied
where they lie at an address that NumPy's kernels treat differently.

Dask counts freed memory against a worker's limit, so only some of it is kept for the next task.
"""

from __future__ import annotations

import io
import pickle as pickled
import zlib
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, NamedTuple

import cloudpickle
import numpy
from cloudpickle.cloudpickle import subimport

from daskvars import backend
from daskvars.device_array import as_input, as_result
from daskvars.errors import FailedPreconditionError, InvalidArgumentError
from daskvars.remote import scope_seconds
from daskvars.remote.dask_internals import pickle
from daskvars.remote.regions.compilation import compiled
from daskvars.remote.regions.region_check import check_positions, check_region
from daskvars.remote.regions.region_program import Call, RegionProgram
from daskvars.remote.regions.region_split import RegionSplit
from daskvars.remote.regions.row_updates import inputs_read_by_rows, recording, row_updates
from daskvars.remote.shared_buffers import own
from daskvars.remote.tasks.block_arguments import Take, arguments_of
from daskvars.remote.tracing import Labels, kernels_ran
from daskvars.remote.worker_memory import ValueSizes, keep_freed_memory, reserve_memory
from daskvars.versioned import VERSIONED_BYTES, Versioned, changed

COMPRESSION = 1  # the fastest: what is packed names the same kernels again and again


class PackedRegion(NamedTuple):
    """What a worker needs to run the blocks of a region, as bytes."""

    data: bytes


def pack_region(
    program: RegionProgram,
    pairs: dict[int, int],
    kept: Sequence[int],
    device_type: str = "CPU",
    nbytes: int = 0,
    values: ValueSizes = (),
) -> PackedRegion:
    """Return a region as bytes.

    Args:
      program: its kernel calls.
      pairs: position of an output -> the input that is the variable which it is a new value of.
      kept: positions of all outputs that are values of variables.
      nbytes: of memory that a block's results take, about.
      values: the variables among them, with their bytes.
    """
    packed = program, pairs, tuple(kept), device_type, nbytes, values
    return PackedRegion(compressed(packed, program))


@lru_cache(maxsize=512)
def unpacked(packed: PackedRegion) -> WorkerRegion:
    """Return a region that can be called, made once per process."""
    keep_freed_memory()
    return WorkerRegion(*decompressed(packed.data))


def compressed(value: Any, program: RegionProgram | None = None) -> bytes:
    """Return plain data as bytes, a quarter of its pickle: every worker gets some of its own.

    Args:
      value: the data.
      program: the region in it, if there is one.

    Raises:
      InvalidArgumentError: a call of the region has what cannot be sent.
    """
    try:
        return zlib.compress(cloudpickle.dumps(value), COMPRESSION)
    except Exception as error:
        call = program and _not_sent(program)
        if not call:
            raise
        raise InvalidArgumentError(
            None,
            call.name,
            f"{call.name!r} runs on workers, but what it calls cannot be sent there "
            f"({type(error).__name__}: {error}). A function of py_func may refer to what can be "
            "pickled; give it values of variables and tensors as arguments",
        ) from error


def _not_sent(program: RegionProgram) -> Call | None:
    """Return the call of a region, or of a body in it, that cannot be pickled, if there is one."""
    for call in program.calls:
        try:
            cloudpickle.dumps(call.attrs)
        except Exception:  # noqa: BLE001 - whatever a user's object raises
            parts = [p for v in call.attrs.values() for p in (v if isinstance(v, tuple) else [v])]
            inner = [_not_sent(part) for part in parts if isinstance(part, RegionProgram)]
            return next(filter(None, inner), call)
    return None


def decompressed(data: bytes) -> Any:
    """Return what `compressed` was given.

    Raises:
      FailedPreconditionError: a call of the region in it needs what cannot be imported here.
    """
    unpacked = zlib.decompress(data)
    try:
        return pickle.loads(unpacked)
    except (ImportError, AttributeError) as error:
        name = _needs_absent(unpacked)
        raise FailedPreconditionError(
            None,
            name,
            f"{name!r} runs on workers, and what it calls cannot be imported there "
            f"({type(error).__name__}: {error}). Send them the module with "
            "client.upload_file(path), or start them in an environment that has it",
        ) from error


def _needs_absent(data: bytes) -> str:
    """Return the name of the call that needs what cannot be imported, "?" if that is not clear."""
    try:
        found = _WithAbsent(io.BytesIO(data)).load()
    except Exception:  # noqa: BLE001 - of a user's class, say, that its absence does not stand for
        return "?"
    parts = found if isinstance(found, tuple) else (found,)
    calls = [_not_sent(part) for part in parts if isinstance(part, RegionProgram)]
    return next((call.name for call in calls if call), "?")


class _Absent:
    """Stands for what cannot be imported; nor can it be sent (`_not_sent`)."""

    def __call__(self, *args: Any, **kwargs: Any) -> _Absent:
        return self

    def __setstate__(self, state: Any) -> None:
        pass

    def __reduce__(self) -> Any:
        raise TypeError("it is not here")


class _WithAbsent(pickled.Unpickler):
    """Reads what is pickled, where some of it cannot be imported."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            found = super().find_class(module, name)
        except (ImportError, AttributeError):
            return _Absent()
        return _module if found is subimport else found


def _module(name: str) -> Any:
    try:
        return subimport(name)
    except ImportError:
        return _Absent()


class WorkerRegion:
    """A region compiled for this worker.

    Large values of variables are `Versioned`. Of one whose rows change, the new value is the next
    version, in the same memory; where only rows of it are read, an old version need not be copied.

    On a GPU results are `DeviceArray`, and have no versions: there a copy is cheap.

    Args:
      program, pairs, kept, device_type, nbytes, values: see `pack_region`.
    """

    def __init__(
        self,
        program: RegionProgram,
        pairs: dict[int, int],
        kept: Sequence[int],
        device_type: str,
        nbytes: int,
        values: ValueSizes,
    ) -> None:
        check_region(program)
        check_positions(program, "kept", kept)
        self.label, self.nbytes, self.values = program.label, nbytes, values
        self.kept = kept
        self.xp = backend.namespace(device_type)
        is_here = self.xp is numpy
        self.split = row_updates(program, pairs) if is_here else None
        meter = to_dashboard if is_here else None  # a GPU's kernels run on after their calls
        self.main = compiled(program if self.split is None else self.split.main, self.xp, meter)
        if self.split is not None:
            self.second = compiled(self.split.program, numpy, meter)
        self.by_rows = inputs_read_by_rows(program, self.split) if is_here else frozenset()

    def __call__(
        self, steps: Sequence[Any], slots: Sequence[Any], pulled: Collection[int], made_by: Any
    ) -> list[Any]:
        """Return the outputs of one block.

        Args:
          steps: for each input a Take of a slot, a Cut or Rows of such, or plain data.
          slots: values.
          pulled: the slots that are slices already, as the Cuts want them.
          made_by: names the task and the block, the same if it is run anew; None names none.
        """
        with ExitStack() as lent:

            def as_argument(value: Any, number: int) -> Any:
                if isinstance(value, Versioned):
                    if number in self.by_rows:
                        return value
                    value = lent.enter_context(value.lend())
                return as_input(self.xp, value)

            def taken(item: Take) -> Any:
                return slots[item.dependency]

            arguments = arguments_of(steps, taken, as_argument, self.xp, pulled)
            with reserve_memory(self.nbytes, self.label, self.values):
                found = list(self.main(*arguments))
                if self.split is not None:
                    found = self._updated(self.split, arguments, found, made_by)
        for position in self.kept:
            found[position] = versioned(found[position])
        return [as_result(self.xp, value) for value in found]

    def _updated(
        self, split: RegionSplit, arguments: list[Any], found: list[Any], made_by: Any
    ) -> list[Any]:
        """Change rows of the variables, and return all outputs in their order."""
        passed = found[len(split.kept) :]

        def write(arrays: list[Any], record: Any) -> None:
            with recording(record):
                self.second(*arrays, *passed)

        blocks = [arguments[number] for number in split.variables]
        new = changed(blocks, made_by, write)
        outputs = dict(zip(split.kept, found, strict=False))
        outputs.update(zip(split.updates, new, strict=True))
        return [outputs[position] for position in range(len(outputs))]


def to_dashboard(labels: Labels, times: Sequence[float]) -> None:
    """Add the seconds of kernels to this worker's metrics ("Fine Performance Metrics")."""
    kernels_ran(labels, times)
    scope_seconds.here.add(labels, times)


def versioned(value: Any) -> Any:
    """Return a value of a variable as the first of its versions, if it is large."""
    if isinstance(value, numpy.ndarray) and value.ndim and value.dtype != object:
        value = own(value)
        return Versioned(value) if value.nbytes >= VERSIONED_BYTES else value
    return value


def aligned(value: Any) -> Any:
    """Return an array, or a task's arrays, at addresses that are multiples of the item size.

    NumPy reads other arrays through a buffer, piece by piece, and sums then round differently.
    """
    if isinstance(value, tuple):
        return tuple(map(aligned, value))
    if isinstance(value, numpy.ndarray) and not value.flags.aligned:
        return value.copy(order="K")
    return value
