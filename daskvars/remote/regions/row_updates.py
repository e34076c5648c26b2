"""Updates of rows on a worker: in place, with what was in the rows before kept.

`region_split` splits a region in what may fail and the updates; here only those updates count that
change some rows of a variable, since a copy of these is all that it takes to go back.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from daskvars.kernels.gather_scatter import segments as segment
from daskvars.remote.regions import region_split
from daskvars.remote.regions.region_program import RegionProgram

_now = threading.local()


@contextlib.contextmanager
def recording(record: Callable[[Any, Any], None]) -> Iterator[None]:
    """Call ``record(array, rows)`` before rows of an array are changed, in this thread."""
    _now.record = record
    try:
        yield
    finally:
        del _now.record


def scatter_recorded(
    xp: Any,
    out: Any,
    ids: Any,
    updates: Any,
    *,
    mode: str,
    offset: int = 0,
    size: int | None = None,
) -> None:
    """Do what `segment.scatter_rows_into` does, and tell before which rows it changes."""
    _now.record(out, segment.rows_named(xp, ids, len(out), offset, size))
    segment.scatter_rows_into(xp, out, ids, updates, mode=mode, offset=offset, size=size)


def row_updates(program: RegionProgram, pairs: dict[int, int]) -> region_split.RegionSplit | None:
    """Split a region by the updates of rows in it.

    Args:
      program: the region.
      pairs: position of an output -> input register of the variable that it is the new value of.
    """
    made = {register: call for call in program.calls for register in call.outs}
    pairs = {
        position: register
        for position, register in pairs.items()
        if (call := made.get(program.outputs[position])) is not None
        and call.in_place is segment.scatter_rows_into
        and call.args[0] == register  # not rows of what has changed as a whole
    }
    split = region_split.split(program, pairs) if pairs else None
    if split is None:
        return None
    calls = tuple(
        call if call.in_place is None else call._replace(in_place=scatter_recorded)
        for call in split.program.calls
    )
    return split._replace(program=replace(split.program, calls=calls, cache={}))


def inputs_read_by_rows(program: RegionProgram, split: region_split.RegionSplit | None) -> set[int]:
    """Return the inputs of which nothing is read but rows, and nothing changed but rows.

    Args:
      split: its updates of rows; other calls that could change rows make a new array instead.
    """
    updates = {program.outputs[position] for position in split.updates} if split else set()
    others = {
        register
        for call in program.calls
        for position, register in enumerate((*call.args, call.block))
        if position or (call.kernel is not segment.gather_rows and not updates & set(call.outs))
    }
    return set(range(program.num_inputs)) - others - set(program.outputs)
