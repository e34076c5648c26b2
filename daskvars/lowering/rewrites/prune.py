"""Pass 1: the operations that the fetches need, in the order in which they take effect."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from daskvars.errors import InvalidArgumentError
from daskvars.graph.tensor import Operation, Tensor


def prune(
    fetches: Iterable[Tensor],
    targets: Iterable[Operation],
    feeds: Iterable[Tensor],
    done: Collection[Operation] = (),
) -> list[Operation]:
    """Return the operations that `fetches` and `targets` depend on, stopping at fed tensors.

    Operations in `done` have run before: nobody waits for them, and what is needed of their results
    is fed.

    The order is that of creation, which is a topological one (inputs exist before their users),
    unless control inputs were added afterwards; it is also the order in which assignments to one
    variable take effect where nothing else orders them.
    """
    fed = frozenset(map(id, feeds))
    needed: set[Operation] = set()
    stack = [*targets, *(t.op for t in fetches if id(t) not in fed)]
    late = False
    while stack:
        op = stack.pop()
        if op in needed or op in done:
            continue
        needed.add(op)
        late = late or (op.graph is not None and op.graph.late_control_inputs)
        stack.extend(op._control_inputs)
        stack.extend(t.op for t in op.inputs if id(t) not in fed)
    ordered = sorted(needed, key=lambda op: op.id)
    return _topological(ordered, fed, done) if late else ordered


def _topological(
    ops: list[Operation], fed: Collection[int], ran: Collection[Operation]
) -> list[Operation]:
    """Order by dependency, by creation where that leaves a choice.

    Raises:
      InvalidArgumentError: there is a cycle.
    """
    done: dict[Operation, bool] = {}
    ordered: list[Operation] = []
    for root in ops:
        stack = [(root, False)]
        while stack:
            op, expanded = stack.pop()
            if expanded:
                done[op] = True
                ordered.append(op)
            elif op not in done:
                done[op] = False
                stack.append((op, True))
                before = [*op._control_inputs, *(t.op for t in op.inputs if id(t) not in fed)]
                before = [d for d in before if d not in ran]
                stack.extend((d, False) for d in sorted(before, key=lambda d: -d.id))
            elif done[op] is False and any(entry == (op, True) for entry in stack):
                cycle = [entry[0] for entry in stack[stack.index((op, True)) :] if entry[1]]
                raise InvalidArgumentError(
                    None,
                    op,
                    f"Graph is invalid, contains a cycle with {len(cycle)} nodes: "
                    f"{', '.join(other.name for other in cycle)} wait for one another",
                )
    return ordered
