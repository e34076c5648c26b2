"""Pass 15a: the calls of a region in order, those of Python functions beside each other.

A region makes one call after the other. Python functions may wait for one another, and then must
run at the same time, as they do in TensorFlow. Where there are several that need nothing of each
other they are begun as soon as what they take is there, and finished when something needs their
results or was told to wait for them (a control dependency), as late as the rest allows.

Lookups in tables that are cut wait too, for other workers. Where there are several, as in models of
many features, what their ids are made of comes first, then all questions, then the rest: the
answers come in one message.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from daskvars.graph.tensor import Operation
from daskvars.lowering.program import Node, is_visible

CALL, BEGIN, FINISH = "call", "begin", "finish"


class ScheduledCall(NamedTuple):
    """The call of a node, or its beginning or end; `running` are those that go on after the end."""

    kind: str
    node: Node
    running: tuple[Node, ...] = ()


def overlap(nodes: Sequence[Node]) -> list[ScheduledCall]:
    """Return the calls of `nodes`, which are in an order in which they can run."""
    return _asked_first(_beside_each_other(nodes))


def _beside_each_other(nodes: Sequence[Node]) -> list[ScheduledCall]:
    """Return the calls, Python functions begun before they are finished."""
    calls = [ScheduledCall(CALL, node) for node in nodes]
    if sum(node.beside is not None for node in nodes) < 2:
        return calls
    noted = [
        (node, node.op)
        for node in nodes
        if node.op is not None and (node.beside or is_visible(node))
    ]
    if len({id(op.graph) for _, op in noted}) > 1:
        return calls  # of a branch put in place, whose control dependencies are those of the branch
    schedule = _scheduled(nodes, _before(nodes, noted))
    return schedule if any(call.running for call in schedule) else calls


def _before(nodes: Sequence[Node], noted: Sequence[tuple[Node, Operation]]) -> list[set[int]]:
    """Return for each node the places of those that must be done before it."""
    index = {id(node): i for i, node in enumerate(nodes)}
    before = [
        {index[id(ref.node)] for ref in node.inputs if id(ref.node) in index} for node in nodes
    ]
    index_of = {op: index[id(node)] for node, op in noted}
    for node, noted_op in noted:
        found = before[index[id(node)]]
        stack, met = [noted_op], {noted_op}
        while stack:
            op = stack.pop()
            for other in (*op._control_inputs, *(t.op for t in op.inputs)):
                if other in index_of:
                    found.add(index_of[other])
                elif other not in met:
                    met.add(other)
                    stack.append(other)
    return before


def _scheduled(nodes: Sequence[Node], before: Sequence[set[int]]) -> list[ScheduledCall]:
    """Order by dependency, by place where that leaves a choice, waiting only where one must.

    Where one must, those are waited for first whose results other functions need.
    """
    users: list[list[int]] = [[] for _ in nodes]
    for i, found in enumerate(before):
        for j in found:
            users[j].append(i)
    leads = [bool(node.beside) for node in nodes]  # to a function not begun, which others may await
    for i in reversed(range(len(nodes))):
        leads[i] = leads[i] or any(leads[j] for j in users[i])
    missing = [len(found) for found in before]
    ready = [i for i, number in enumerate(missing) if not number]
    held: list[int] = []  # what only waits for functions that are running
    running: list[int] = []
    schedule: list[ScheduledCall] = []

    def finish(i: int) -> None:
        running.remove(i)
        schedule.append(ScheduledCall(FINISH, nodes[i], tuple(nodes[j] for j in running)))

    while ready or held:
        if not ready:
            first = min(held, key=lambda i: (not leads[i], i))
            for j in sorted(before[first].intersection(running)):
                finish(j)
            ready, held = sorted(held), []
        i = heapq.heappop(ready)
        if not before[i].isdisjoint(running):
            held.append(i)
            continue
        schedule.append(ScheduledCall(BEGIN if nodes[i].beside else CALL, nodes[i]))
        if nodes[i].beside:
            running.append(i)
        for j in users[i]:
            missing[j] -= 1
            if not missing[j]:
                heapq.heappush(ready, j)
    for i in running[:]:
        finish(i)
    return schedule


def _asked_first(calls: list[ScheduledCall]) -> list[ScheduledCall]:
    """Return the calls with the tables asked before anything that their ids do not need.

    What can be seen from outside keeps its place, and lookups whose ids come after it.
    """
    if sum(call.node.by_rows for call in calls) < 2:
        return calls
    stays: set[int] = set()
    asked: list[Node] = []
    for kind, node, _ in calls:
        needs_late = any(id(ref.node) in stays for ref in node.inputs)
        if node.by_rows and not needs_late:
            asked.append(node)
        if needs_late or node.by_rows or kind != CALL or is_visible(node):
            stays.add(id(node))
    if len(asked) < 2:
        return calls
    early = set(map(id, asked))
    needed: set[int] = set()
    for _, node, _ in reversed(calls):
        if id(node) in early or id(node) in needed:
            needed.update(id(ref.node) for ref in node.inputs)
    first = [call for call in calls if id(call.node) in needed]
    rest = [
        ScheduledCall(FINISH, call.node) if id(call.node) in early else call
        for call in calls
        if id(call.node) not in needed
    ]
    return [*first, *(ScheduledCall(BEGIN, node) for node in asked), *rest]
