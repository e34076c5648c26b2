"""What the planner chose, in the field's words, as text and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from daskvars.graph.definitions.patterns import ROW_MERGES
from daskvars.lowering.planner.fuse import lines_up
from daskvars.lowering.program import STALE, STATE, Leaf, Node, Program, spec_bytes

MAX_LINES = 24  # of exchanges in the text, the largest first


class Sharding(NamedTuple):
    """One way to cut the work of a step.

    Attributes:
      dims: what is cut, and along which dimension.
      parts: into how many parts.
      gathers: whether cut variables come whole to the parts; False where none is cut.
      seconds: of a step, estimated; only the ratio of two of them says something.
      fits: whether workers have room for its tasks.

    >>> str(Sharding((("x:0", 0), ("labels:0", 0)), 4, True, 1e-3))
    'x:0 and labels:0 in 4 parts along dimension 0, variables gathered'
    """

    dims: tuple[tuple[str, int], ...]
    parts: int
    gathers: bool
    seconds: float
    fits: bool = True

    def __str__(self) -> str:
        if not self.dims:
            return "nothing cut"
        by_dim: dict[int, list[str]] = {}
        for name, dim in self.dims:
            by_dim.setdefault(dim, []).append(name)
        first, *others = by_dim.items()
        text = f"{_listed(first[1])} in {self.parts} parts along dimension {first[0]}"
        text += "".join(f", {_listed(names)} along {dim}" for dim, names in others)
        return text + (", variables gathered" if self.gathers else "")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Exchange(NamedTuple):
    """A value that is not where, or not cut as, it is needed.

    Attributes:
      name: the variable, or the operation that makes it.
      kind: "all-gathered" (whole for every block), "all-reduced" (partial results are summed for
        all), "reduce-scattered" (each block of the sum where it is needed), "rows routed" (to or
        from the owners of a cut table) or "cut anew" (along another dimension).
      nbytes: of the value.
    """

    name: str
    kind: str
    nbytes: int

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}, {_size(self.nbytes)}"


def _size(nbytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1024
    return f"{nbytes:.3g} GiB"


class ShardingChoice(NamedTuple):
    """The sharding of a plan, what else there was, and what follows from it.

    Attributes:
      chosen: None where there was nothing to choose from: little work, or what the user has cut.
      runner_up: the next best that was looked at, if any.
      cut_share: of the flops, how much is in operations that are cut.
      exchanges: values that move between blocks, the largest first.
    """

    chosen: Sharding | None
    runner_up: Sharding | None
    cut_share: float
    exchanges: tuple[Exchange, ...]

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        if self.chosen is not None:
            text = f"sharding: {self.chosen}, {self.cut_share:.0%} of the flops"
            if self.runner_up is not None and math.isfinite(self.runner_up.seconds):
                ratio = self.runner_up.seconds / self.chosen.seconds
                text += f"; runner-up: {self.runner_up}, {ratio:.2g}x its time"
                if self.chosen.fits and not self.runner_up.fits:
                    text += ", for which workers have no room"
            yield text
        for exchange in self.exchanges[:MAX_LINES]:
            yield f"exchange: {exchange}"
        if len(self.exchanges) > MAX_LINES:
            rest = self.exchanges[MAX_LINES:]
            yield f"exchange: {len(rest)} more, {_size(sum(e.nbytes for e in rest))}"


class Movement(NamedTuple):
    """How a value gets to the blocks that need it.

    Attributes:
      kind: in words; "" where it is not put together from other blocks.
      times: how often each of its elements that move is sent.
    """

    kind: str
    times: int
    nbytes: int


def cut_share(program: Program) -> float:
    """Return the share of the flops of a program that is in operations that are cut.

    Where there are no flops, nothing is.
    """
    total = sum(node.flops for node in program.nodes)
    return sum(node.flops for node in program.nodes if node.grid) / total if total else 0.0


def exchanges(program: Program) -> tuple[Exchange, ...]:
    """Return what moves between blocks of a program that is laid out."""
    found: dict[Exchange, None] = {}
    for node in program.nodes:
        for position, ref in enumerate(node.inputs):
            kind, _, nbytes = movement(node, position)
            if kind:
                found[Exchange(_name(ref.node), kind, nbytes)] = None
    return tuple(sorted(found, key=lambda exchange: -exchange.nbytes))


def _name(node: Node | Leaf) -> str:
    """Return the name of a value that moves: its operation's or variable's."""
    if isinstance(node, Leaf):
        return node.what if node.kind in (STATE, STALE) else "a feed"
    return node.name


def movement(node: Node, position: int) -> Movement:
    """Return how an input gets to the blocks that need it."""
    ref, wanted = node.inputs[position], node.wanted[position]
    if node.by_rows and position == 0:
        return Movement("rows routed", 1, spec_bytes(node.specs[0]))
    if isinstance(ref.node, Leaf):
        if ref.layout is None or ref.layout == wanted:
            return Movement("", 0, 0)
    elif node.merges is not None:
        if node.kernel in ROW_MERGES:
            return Movement("rows routed", 1, ref.nbytes)
        times = math.prod(ref.producer.grid[axis] for axis in node.merges) - 1
        is_scattered = any(axis >= 0 for axis in node.out_maps[0])
        return Movement("reduce-scattered" if is_scattered else "all-reduced", times, ref.nbytes)
    elif lines_up(node, position) or (not ref.node.grid and math.prod(node.grid) == 1):
        return Movement("", 0, 0)
    axes = {axis for axis in node.in_maps[position] if axis >= 0}
    times = math.prod(n for axis, n in enumerate(node.grid) if axis not in axes)
    if ref.layout is None or ref.layout == wanted:  # in one piece, or block by block
        return Movement("", times, ref.nbytes)
    return Movement("all-gathered" if wanted is None else "cut anew", times, ref.nbytes)
