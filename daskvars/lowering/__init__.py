"""Graph and fetches to a plan, by a short list of passes.

Vocabulary: a *program* is operations made functional (no variables, only values); a *region* is
the nodes that become one task per block; a *plan* is the frozen result. Each pass is one function
`Program -> Program` in the file of its name, and none names an op: they look at access patterns.
What each promises to the next stands in `verify`.

- ``rewrites``: what is computed: operations made functional, with concrete shapes.
- ``planner``: along what it is cut, where it runs, and which nodes share a task.
- ``emission``: the plan, and on a cluster its stages.
- ``program``, ``plan``: what passes go from and what they come to; ``verify``: what each promises;
  ``explain``: a plan as text; ``rechunk``: a plan that no graph asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering.emission.emit import emit
from daskvars.lowering.plan import Plan
from daskvars.lowering.planner.cut_feeds import ALONE, Machine, cut_feeds
from daskvars.lowering.planner.fuse import fuse
from daskvars.lowering.planner.place import Places, place
from daskvars.lowering.planner.segments import segments
from daskvars.lowering.rewrites.align_rows import align_rows
from daskvars.lowering.rewrites.compute_once import compute_once
from daskvars.lowering.rewrites.functionalize import functionalize
from daskvars.lowering.rewrites.join_products import join_products
from daskvars.lowering.rewrites.keep_values import keep_values
from daskvars.lowering.rewrites.prune import prune
from daskvars.lowering.rewrites.route_updates import route_updates
from daskvars.lowering.rewrites.specialize import specialize
from daskvars.lowering.rewrites.split_branches import split_branches
from daskvars.lowering.rewrites.split_rows import split_rows
from daskvars.lowering.rewrites.split_update import split_update
from daskvars.lowering.verify import passed
from daskvars.surface.loading import paused_collector

num_lowerings = 0  # counts calls of `lower`: a second run of a signature must not add to it


@paused_collector()
def lower(
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Mapping[Tensor, tuple[Spec, Chunks | None]],
    state_of: Callable[[Tensor], tuple[Spec, Chunks | None, bool]],
    sequential: bool = False,
    identify: Callable[[Operation], Any] = lambda op: op,
    places: Places | None = None,
    is_async: bool = False,
    machine: Machine = ALONE,
    done: Collection[Operation] = (),
) -> Plan:
    """Return the plan that computes `fetches` and runs `targets`.

    Args:
      fetches: tensors; a variable's handle means its value at the end of the run.
      targets: operations to run for their effects.
      feeds: fed tensors with dtype, concrete shape and chunks of what they are fed with.
      state_of: for a variable's handle: its spec, its chunks, and whether it has a value.
      sequential: a read sees every assignment made before it, as in eager code.
      identify: gives what stands in the plan for an operation that draws random numbers.
      places: where operations and variables may be; None where everything is in one place.
      is_async: what updates variables is apart from the rest, so that it can be done on a newer
        version than the rest was computed from; see `split_update`.
      machine: for what work is cut; by itself it is not.
      done: operations that have run before; see `prune`.
    """
    global num_lowerings
    num_lowerings += 1
    operations = passed(prune, fetches, targets, feeds, done)
    program = passed(
        functionalize, operations, fetches, feeds, state_of, sequential, identify, targets, is_async
    )
    program = passed(specialize, program)
    program = passed(compute_once, program)
    program = passed(align_rows, program)
    program = passed(keep_values, program)
    program = passed(split_branches, program)
    program = passed(split_rows, program)
    program = passed(join_products, program)
    program = passed(route_updates, program)
    program = passed(cut_feeds, program, machine, [tensor.name for tensor in feeds])
    program = passed(place, program, places, machine.client_work_s)
    if is_async:
        program = passed(split_update, program)
    if places is None:
        return passed(emit, program, passed(segments, program, passed(fuse, program)))
    groups = passed(fuse, program, places.most_task_bytes)
    groups = passed(segments, program, groups, places.most_awaited_bytes)
    return passed(emit, program, groups)
