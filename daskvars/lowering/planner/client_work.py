"""What the client does itself of programs that run on a cluster: little work that needs no worker.

The way to a worker and back takes some 10 ms, whatever is computed there. An element of a queue, a
summary of what was fed, a constant that is looked at: such a program takes microseconds, and all
that it takes is in the client's process, where its results go. It is the client's where

- it takes constants, what is fed from this process, and random keys: no variable, and nothing that
  is on workers;
- it does nothing that can be seen from outside, but for checks that fail the run: printing, files
  and Python functions are the workers', whatever goes with them;
- nothing of it is cut, and no operation asks for a device other than a CPU;
- it is known how much work it is: no loop is in it, and where only the run can tell a shape it
  follows from what an operation takes, not from a size that it is given;
- that is at most `config.client_work_s`, as the planner estimates it.

The bits are those of a worker, as the regions are: nothing is cut. What knows of a text nothing but
that it is one counts its bytes when the plan is made (`seconds_of_texts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from daskvars.graph.definitions.patterns import Contraction, Items, Movement, Opaque, Part, Source
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.lowering.planner.costs import CALL_S, FLOPS_PER_S, MEMORY_BYTES_PER_S, moved_bytes
from daskvars.lowering.program import (
    CONSTANT,
    FEED,
    KEY,
    Node,
    Program,
    Ref,
    num_elements,
    spec_bytes,
)
from daskvars.shapes import is_known

# Of kernels of which nothing is known (sorting, texts, decompositions), about: for each element of
# what they take and give; and, since n x n matrices are inverted in n^3, for its square root's.
ELEMENT_S = 1e-7
ROOT_ELEMENT_S = 1e-9
TEXT_BYTE_S = 3e-8  # of a text that is fed: of images that are decoded from it, say


def client_seconds(program: Program, most_s: float) -> float | None:
    """Return the estimated seconds of a program's work if the client does it, else None.

    Args:
      program: laid out.
      most_s: the most work that it does, 0 for none.
    """
    if not most_s or program.updates or program.presence or program.required:
        return None
    if any(leaf.kind not in (FEED, CONSTANT, KEY) for leaf in program.leaves.values()):
        return None
    if any(map(_is_workers, _all_nodes(program))):
        return None
    seconds = sum(map(_seconds, program.nodes))
    return seconds if seconds <= most_s else None


def seconds_here(program: Program) -> float:
    """Return the estimated seconds of a program's work on one thread; infinity of what nobody
    knows: loops, and what is seen from outside, Python functions for one.

    Args:
      program: laid out.
    """
    if any(_is_loop(node) or _is_seen(node) for node in _all_nodes(program)):
        return math.inf
    return sum(map(_seconds, program.nodes))


def seconds_of_texts(values: Iterable[Any]) -> float:
    """Return the estimated seconds of work that the texts among what is fed are."""
    texts = (v for v in values if isinstance(v, numpy.ndarray) and v.dtype.kind == "O")
    nbytes = sum(len(text) for array in texts for text in array.flat if hasattr(text, "__len__"))
    return nbytes * TEXT_BYTE_S


def _all_nodes(program: Program) -> Iterator[Node]:
    for node in program.nodes:
        yield node
        for subgraph in node.subgraphs:
            yield from _all_nodes(subgraph)


def _is_workers(node: Node) -> bool:
    """Return whether a node is not for the client, however little work it is."""
    is_cut = math.prod(node.grid) > 1 or node.merges is not None
    is_elsewhere = is_cut or not _is_of_client(node.device)
    return is_elsewhere or _is_seen(node) or _is_loop(node) or not _is_bounded(node)


def _is_seen(node: Node) -> bool:
    """Return whether a node does what can be seen from outside, but for checks."""
    pattern = node.pattern
    return isinstance(pattern, Opaque) and not pattern.pure and not pattern.only_checks


def _is_loop(node: Node) -> bool:
    return bool(node.subgraphs) and (node.flow is None or bool(node.flow.carried))


def _is_of_client(device: str) -> bool:
    """Return whether a device names no more than a CPU, wherever it is."""
    spec = DeviceSpec.from_string(device)
    return (spec.job, spec.replica, spec.task) == (None, None, None) and (
        spec.device_type in (None, "CPU")
    )


def _is_bounded(node: Node) -> bool:
    """Return whether the size of all results is known, or follows from what the node takes."""
    is_sized = bool(node.operands) or isinstance(node.pattern, Source)
    return not is_sized or all(is_known(spec.shape) for spec in node.specs)


def _seconds(node: Node) -> float:
    calls = CALL_S * math.prod(node.grid)
    if node.subgraphs:
        return calls + sum(_seconds(inner) for each in node.subgraphs for inner in each.nodes)
    if isinstance(node.pattern, Contraction) and node.pattern.combine is not None:
        return calls + node.flops / FLOPS_PER_S
    is_moved = isinstance(node.pattern, Movement) and all(is_known(s.shape) for s in node.specs)
    nbytes = 2 * sum(map(spec_bytes, node.specs)) if is_moved else moved_bytes(node)
    seconds = calls + nbytes / MEMORY_BYTES_PER_S
    if isinstance(node.pattern, Contraction | Opaque) and not isinstance(
        node.pattern, Items | Part
    ):
        given = (Ref(node, number) for number in range(len(node.specs)))
        count = sum(num_elements(ref.spec.shape) for ref in (*node.inputs, *given))
        seconds += ELEMENT_S * count + ROOT_ELEMENT_S * count**1.5
    return seconds
