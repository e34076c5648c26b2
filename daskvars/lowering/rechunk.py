"""Variables from one layout to another: a plan that no graph asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy

from daskvars import dtypes
from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.emission.emit import emit
from daskvars.lowering.plan import Plan
from daskvars.lowering.planner.cut_feeds import cut_feeds
from daskvars.lowering.planner.fuse import fuse
from daskvars.lowering.planner.place import Places, place
from daskvars.lowering.planner.propagate import is_cut
from daskvars.lowering.program import CONSTANT, STATE, Program
from daskvars.lowering.verify import passed


class Rechunk(NamedTuple):
    """A variable to rechunk: dtype and shape, the chunks it has and those wanted, its device."""

    spec: Spec
    have: Chunks
    wanted: Chunks
    device: str


def rechunk(variables: Mapping[str, Rechunk], places: Places | None = None) -> Plan:
    """Return the plan that gives variables other chunks and the values that they have.

    It has an output, so that its caller learns whether it succeeded.

    Args:
      variables: by key.
      places: where they may be; None where everything is in one place.
    """
    program = Program()
    for key, (spec, have, wanted, device) in variables.items():
        program.updates[key] = program.leaf(STATE, key, spec, have if is_cut(have) else None)
        program.stored[key] = wanted
        program.devices[key] = device
    program.outputs = [program.leaf(CONSTANT, numpy.array(True), Spec(dtypes.bool, ()))]
    program = passed(place, passed(cut_feeds, program), places)
    return passed(emit, program, passed(fuse, program))
