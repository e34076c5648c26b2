"""Elements of a dataset, made by the worker that will use them: rows gathered, records, and maps.

A task says which rows of which blocks its part of a batch is of, by numbers; functions of elements
travel once, as programs of kernel calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy
from distributed import get_worker

from daskvars import backend, config
from daskvars.dtypes import DType, to_numpy
from daskvars.errors import OpError, invalid
from daskvars.remote.regions.compilation import compiled, several
from daskvars.remote.regions.region_program import RegionProgram
from daskvars.remote.regions.several import SeveralRegion, each_of
from daskvars.remote.regions.stacked_kernels import Stacked
from daskvars.remote.tasks.feed_tasks import fed_array
from daskvars.remote.tasks.record_blocks import Format, Index, RecordBlock, index, records_of
from daskvars.remote.tasks.region_tasks import compressed, decompressed, to_dashboard

GIVEN, RESULT, VALUE = "given", "result", "value"


def gathered_rows(which: numpy.ndarray, places: numpy.ndarray, *blocks: Any) -> numpy.ndarray:
    """Return rows of several blocks put together.

    Args:
      which: [rows] int, of which block each is.
      places: [rows] int, which of its rows.
    """
    arrays = [numpy.asarray(block) for block in blocks]
    if len(arrays) == 1:
        return arrays[0].take(places, axis=0)
    found = numpy.empty((len(places), *arrays[0].shape[1:]), arrays[0].dtype)
    for number, array in enumerate(arrays):
        wanted = which == number
        found[wanted] = array.take(places[wanted], axis=0)
    return found


def gathered_records(
    which: numpy.ndarray, places: numpy.ndarray, *blocks: list[bytes]
) -> numpy.ndarray:
    """Return records of several blocks put together: `gathered_rows` of strings."""
    pairs = zip(which.tolist(), places.tolist(), strict=True)
    return numpy.array([blocks[block][place] for block, place in pairs], object)


def read_records(block: RecordBlock) -> list[bytes]:
    """Return the records of a block, read by this worker."""
    return _said_by_worker(records_of, block)


def indexed(path: str, format: Format, start: int, number: int, limit: int) -> Index:
    """Return where the records of a part of a file are, looked for by this worker."""
    return _said_by_worker(index, path, format, start, number, limit)


def _said_by_worker(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function; its errors say which worker does not see the file."""
    try:
        return function(*args)
    except OpError as error:
        raise type(error).saying(
            f"{error.message} [read by the worker at {get_worker().address}: the workers of a "
            "cluster read the records that they use, so each must see the file under this path; "
            "give a path of a shared disk, or a URL]"
        ) from error


# -- functions -------------------------------------------------------------------------------------


class ElementProgram(NamedTuple):
    """A function of elements as data.

    Attributes:
      region: its kernel calls, packed; b"" if it has none.
      parameters: dtype and name of each array that it is given.
      inputs: what the arguments of the region are: (GIVEN, which array) or (VALUE, an array).
      outputs: what it returns: (RESULT, which of the region's), or as of `inputs`.
      promised: dtype and shape of each.
      is_together: whether it may be called for several elements at once.
    """

    region: bytes
    parameters: tuple[tuple[DType, str], ...]
    inputs: tuple[tuple[str, Any], ...]
    outputs: tuple[tuple[str, Any], ...]
    promised: tuple[tuple[DType, tuple[int, ...]], ...]
    is_together: bool


def pack_elements(region: RegionProgram | None) -> bytes:
    """Return the region of an `ElementProgram`."""
    return b"" if region is None else compressed(region, region)


@lru_cache(maxsize=64)
def _unpacked(data: bytes) -> Callable[..., tuple]:
    return compiled(decompressed(data), numpy, to_dashboard)


@lru_cache(maxsize=64)
def _of_several(data: bytes) -> SeveralRegion:
    return several(decompressed(data), to_dashboard)


def as_they_are(value: Any) -> Any:
    """Return a value: what many tasks take, a task gives."""
    return value


def mapped_rows(num_programs: int, sources: Sequence[tuple[Any, int]], *arguments: Any) -> Any:
    """Return what functions make of each element of a part, put together.

    Args:
      num_programs: how many functions there are, one after the other.
      sources: for each component what makes its rows, and of how many arguments; None for one that
        has them.
      *arguments: the `ElementProgram`s, then those of the sources.

    Returns:
      An array [elements, ...] for each component of what the last function gives, or the only one.
    """
    rest = iter(arguments)
    programs = list(islice(rest, num_programs))
    columns = []
    for make, count in sources:
        given = list(islice(rest, count))
        columns.append(given[0] if make is None else make(*given))
    with backend.one_blas_thread, numpy.errstate(all="ignore"):
        for program in programs:
            columns = _mapped(program, columns)
    return tuple(columns) if len(columns) > 1 else columns[0]


def _mapped(program: ElementProgram, columns: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
    count, problem = len(columns[0]), None
    found = [numpy.empty((count, *shape), dtype.np) for dtype, shape in program.promised]
    if program.is_together and count > 1:
        try:
            if _fill_together(program, columns, found):
                return found
        except Exception as error:  # noqa: BLE001 - calls for each tell which one it is of
            problem = error
    _fill_each(program, columns, found)
    if problem is not None and config.get().check_every_run:
        raise problem
    return found


def _fill_together(
    program: ElementProgram, columns: Sequence[numpy.ndarray], found: Sequence[numpy.ndarray]
) -> bool:
    """Write what a function makes of elements, some at once; False where each is to be a call."""
    region, done = _of_several(program.region), 0
    columns = _fed(program, columns)
    while done < len(columns[0]):
        size = region.call_size
        if not size:
            return False
        given = [Stacked(column[done : done + size]) for column in columns]
        arguments = [what if kind == VALUE else given[what] for kind, what in program.inputs]
        of: dict[str, Any] = {GIVEN: given, RESULT: region(len(given[0].array), arguments)}
        results = [what if kind == VALUE else of[kind][what] for kind, what in program.outputs]
        for array, promised, value in zip(found, program.promised, results, strict=True):
            _write(array[done : done + size], value, *promised)
        done += size
    return True


def _write(rows: numpy.ndarray, value: Any, dtype: DType, shape: tuple[int, ...]) -> None:
    """Write a result of several elements into an array of a row for each."""
    if isinstance(value, Stacked):
        rows[...] = _promised(to_numpy(value.array, dtype), (len(rows), *shape))
        return
    for number, each in enumerate(each_of(value, len(rows))):
        rows[number] = _promised(to_numpy(each, dtype), shape)[()]


def _fill_each(
    program: ElementProgram, columns: Sequence[numpy.ndarray], found: Sequence[numpy.ndarray]
) -> None:
    """Write what a function makes of elements, one after the other."""
    function = _unpacked(program.region) if program.region else None
    for number in range(len(columns[0])):
        given = _fed(program, [column[number, ...] for column in columns])
        of: dict[str, Any] = {GIVEN: given}
        arguments = [what if kind == VALUE else given[what] for kind, what in program.inputs]
        of[RESULT] = () if function is None else function(*arguments)
        results = [what if kind == VALUE else of[kind][what] for kind, what in program.outputs]
        for array, promised, value in zip(found, program.promised, results, strict=True):
            dtype, shape = promised
            array[number] = _promised(to_numpy(value, dtype), shape)[()]


def _fed(program: ElementProgram, arrays: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
    """Return arrays as the function's parameters are."""
    return [
        fed_array(array, dtype, name)
        for array, (dtype, name) in zip(arrays, program.parameters, strict=True)
    ]


def _promised(value: numpy.ndarray, shape: tuple[int, ...]) -> numpy.ndarray:
    """Return a result that has the shape that was said."""
    if value.shape != shape:
        raise invalid(
            f"a function of elements gave an array of shape {list(value.shape)} where "
            f"{list(shape)} was said"
        )
    return value
