"""Values that a graph did not make: those of a store, or of a session on another graph.

They are what that graph made them. Before a plan runs on them they are compared with what its own
graph says of these variables: once, and again when values have come from elsewhere meanwhile
(`Values.external_updates`). Chunks are its own business, so values are rechunked as it wants them.
Another dtype or shape makes it another variable: that is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from daskvars import dtypes
from daskvars.chunk_grid import Chunks, whole
from daskvars.errors import invalid
from daskvars.execution.engine.executors import VALUES, Binder
from daskvars.execution.engine.plans.steps import full_layout
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.tensor import Tensor
from daskvars.lowering.plan import Plan
from daskvars.lowering.program import STATE
from daskvars.lowering.rechunk import Rechunk, rechunk
from daskvars.shape_arithmetic import compatible, is_known
from daskvars.state import Values
from daskvars.state.format.manifest import VariableRecord, shorten

logger = logging.getLogger("daskvars")


def layouts_of(plan: Plan) -> dict[str, Chunks]:
    """Return the chunks that a plan wants the variables in that it reads or writes, where known."""
    written = {key: full_layout(value) for key, value in plan.updates.items()}
    read = {
        leaf.what: leaf.layout or whole(leaf.spec.shape)
        for leaf in plan.leaves
        if leaf.kind == STATE and is_known(leaf.spec.shape)
    }
    return {key: layout for key, layout in {**written, **read}.items() if layout is not None}


def reconcile(
    values: Values, executor: Binder, handles: Mapping[str, Tensor], plan: Plan, where: str
) -> None:
    """Bring variables into the chunks that a plan wants; those that have them stay untouched.

    Args:
      values: the variables.
      executor: what runs plans on them.
      handles: the graph's handles of those that it did not make, by key.
      plan: what is to run.
      where: their place, for errors.

    Raises:
      InvalidArgumentError: some have another dtype or shape than in the graph; all are named, and
        nothing has changed.
    """
    layouts = layouts_of(plan)
    known = {key: values.record(key) for key in sorted(layouts) if key in values}
    wrong = [
        line
        for key, found in known.items()
        if key in handles and (line := _difference(found, handles[key]))
    ]
    if wrong:
        raise invalid(
            f"{len(wrong)} of the variables used have another dtype or shape in "
            f"{where} than in this graph:\n  " + "\n  ".join(wrong) + "\nNothing was changed. "
            "Use another store for this graph, or save the variables of the graph that they "
            "belong to with a Saver and restore them with one that renames them "
            "(var_list={name: variable}) or reshapes them (reshape=True)."
        )
    other = {
        key: _change(found, layouts[key], handles.get(key))
        for key, found in known.items()
        if found.chunks != layouts[key]
    }
    if other:
        _rechunk(values, executor, other, where)


def _difference(record: VariableRecord, handle: Tensor) -> str:
    """Return in words how a variable is another one than the graph's; "" if it is the same."""
    dtype, shape = handle.spec.dtype.base_dtype, handle.spec.shape
    if dtype.name == record.dtype and compatible(shape, record.shape):
        return ""
    return (
        f"{record.key}: {record.dtype} of shape {record.shape} there, "
        f"{dtype.name} of shape {'unknown' if shape is None else tuple(shape)} in the graph"
    )


def _change(record: VariableRecord, wanted: Chunks, handle: Tensor | None) -> Rechunk:
    """Return what there is to change in a variable's chunks."""
    spec = Spec(dtypes.as_dtype(record.dtype), record.shape)
    return Rechunk(spec, record.chunks, wanted, handle.op.device if handle is not None else "")


def _rechunk(
    values: Values, executor: Binder, variables: Mapping[str, Rechunk], where: str
) -> None:
    for key, change in variables.items():
        logger.info(
            "variable %s of %s is rechunked: from chunks %s to %s",
            key,
            where,
            shorten(change.have),
            shorten(change.wanted),
        )
    dirty = values.dirty
    bound = executor.bind(rechunk(variables, executor.placement))
    with bound.lock:
        bound.commit(bound.run([], None, VALUES), VALUES)
    # What is in the store says the same: no reason to write it again, or to lose against another.
    values.mark_clean(variables.keys() - dirty)
    values.note_external_update()
