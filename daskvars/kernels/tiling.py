"""Elementwise chains on large arrays, tile by tile.

A chain of elementwise calls on arrays larger than the cache is bound by memory: each call reads
and writes everything. Run on tiles that fit the cache, the chain reads each input and writes each
output once. Tiles are independent, so they are shared among threads; since each element's value
depends on that element alone, neither tile size nor threads change a bit of the result.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy

from daskvars import config

_threads = {"count": 1}
_pool: list[ThreadPoolExecutor] = []


def share_tiles_among(count: int) -> None:
    """Let `count` threads of this process work on the tiles of one chain."""
    _threads["count"] = count


def run_tiles(tile: Callable[[int, int], None], size: int, step: int) -> None:
    """Call ``tile(start, stop)`` for all of ``range(size)`` in steps, on the threads allowed.

    The caller works too and takes whatever the others have not begun, so that a busy pool never
    blocks.
    """
    count = min(_threads["count"], -(-size // step))
    starts = itertools.count(0, step)  # next() on it is atomic

    def work() -> None:
        while (start := next(starts)) < size:
            tile(start, min(start + step, size))

    if count <= 1:
        work()
        return
    if not _pool:
        _pool.append(ThreadPoolExecutor(thread_name_prefix="daskvars-tiles"))
    others = [_pool[0].submit(work) for _ in range(count - 1)]
    work()
    for other in others:
        if not other.cancel():
            other.result()


def is_tiled(call: Any) -> bool:
    """Return whether a call is elementwise on an array that is large enough to be cut in tiles."""
    return (
        call.elementwise
        and len(call.outs) == 1
        and not call.operands
        and call.block < 0
        and bool(call.shapes[0])
        and None not in call.shapes[0]
        and math.prod(call.shapes[0]) >= config.get().tile_min_elements
    )


def chains(calls: Sequence[Any], xp: Any) -> dict[int, int]:
    """Return start -> end of each run of calls that is worth running tile by tile."""
    found: dict[int, int] = {}
    if xp is not numpy:
        return found
    i = 0
    while i < len(calls):
        end = i
        while end < len(calls) and is_tiled(calls[end]) and calls[end].shapes == calls[i].shapes:
            end += 1
        if end > i:
            found[i] = end
        i = max(end, i + 1)
    return found


class Chain:
    """The function of one chain: ``function(*inputs) -> outputs``.

    Args:
      calls: the calls of the chain, all of one output shape.
      outputs: slots that are needed after the chain.
      into: output slot -> input slot whose memory it is written into; others are made fresh.
    """

    def __init__(
        self,
        calls: Sequence[Any],
        outputs: Sequence[int],
        into: dict[int, int],
    ) -> None:
        self.calls = calls
        self.outputs = tuple(outputs)
        self.into = {out: into[out] for out in outputs if out in into}
        made = {call.outs[0] for call in calls}
        self.inputs = tuple(dict.fromkeys(
            slot for slot in (*self.into.values(), *(s for call in calls for s in call.args))
            if slot not in made
        ))  # fmt: skip
        self.dtypes = {call.outs[0]: call.dtypes[0] for call in calls}
        self.tile = self._compile()

    def function(self, *inputs: Any) -> tuple:
        """Run the chain on whole arrays and return its outputs."""
        given = dict(zip(self.inputs, inputs, strict=True))
        # The static shape is that of the first block; the last one may be smaller.
        shape = numpy.broadcast_shapes(*map(numpy.shape, inputs))
        results = {
            slot: given[self.into[slot]] if slot in self.into
            else numpy.empty(shape, self.dtypes[slot])
            for slot in self.outputs
        }  # fmt: skip
        limit = config.get().tile_elements
        outs = [results[slot] for slot in self.outputs]
        full = [numpy.shape(a) == shape for a in inputs]
        flat = all(f or numpy.size(a) == 1 for f, a in zip(full, inputs, strict=True)) and all(
            a.flags.c_contiguous
            for a in (*outs, *(a for f, a in zip(full, inputs, strict=True) if f))
        )
        if flat:
            size, step, cut = math.prod(shape), limit, full
            # A size-1 array must not raise the rank of a flat tile.
            views = [numpy.reshape(a, -1 if f else ()) for f, a in zip(full, inputs, strict=True)]
            outs = [array.reshape(-1) for array in outs]
        else:
            size, step = shape[0], max(1, limit // max(1, math.prod(shape[1:])))
            # What broadcasts, but not along the first axis, is cut along it too.
            cut = [numpy.ndim(a) == len(shape) and numpy.shape(a)[0] == size > 1 for a in inputs]
            views = list(inputs)
        tile = self.tile
        run_tiles(lambda start, stop: tile(start, stop, views, cut, outs), size, step)
        return tuple(results[slot] for slot in self.outputs)

    def _compile(self) -> Callable[..., None]:
        scope: dict[str, Any] = {}
        lines = ["def tile(start, stop, views, cut, outs):"]
        lines += [
            f"    s{s} = views[{i}][start:stop] if cut[{i}] else views[{i}]"
            for i, s in enumerate(self.inputs)
        ]
        lines += [f"    o{s} = outs[{i}][start:stop]" for i, s in enumerate(self.outputs)]
        last = {slot: i for i, call in enumerate(self.calls) for slot in call.args}
        late: list[str] = []  # writes into memory that the tile still reads
        scratch: set[int] = set()  # values that live in memory of this tile only
        for i, call in enumerate(self.calls):
            out = call.outs[0]
            arguments = [f"s{slot}" for slot in call.args]
            ufunc = isinstance(call.kernel, str) and not call.attrs
            scope[f"k{i}"] = _bound(call)
            dying = [
                s for s in call.args
                if s in scratch and last[s] == i and self.dtypes[s] == self.dtypes[out]
            ]  # fmt: skip
            if out in self.into and last.get(self.into[out], -1) > i:
                lines.append(f"    s{out} = k{i}({', '.join(arguments)})")
                late.append(f"    o{out}[...] = s{out}")
            elif out in self.outputs:
                if ufunc:
                    lines.append(f"    s{out} = k{i}({', '.join([*arguments, f'out=o{out}'])})")
                else:
                    lines.append(f"    o{out}[...] = k{i}({', '.join(arguments)})")
                    lines.append(f"    s{out} = o{out}")
            else:
                if ufunc and dying:
                    arguments.append(f"out=s{dying[0]}")
                lines.append(f"    s{out} = k{i}({', '.join(arguments)})")
                scratch.add(out)
            scratch.difference_update(dying if ufunc else ())
        exec("\n".join(lines + late), scope)  # noqa: S102 - the text holds only slot numbers
        return scope["tile"]


def _bound(call: Any) -> Callable[..., Any]:
    if isinstance(call.kernel, str):
        function = getattr(numpy, call.kernel)
        return (lambda *a, _f=function, _k=call.attrs: _f(*a, **_k)) if call.attrs else function
    return lambda *a, _f=call.kernel, _k=call.attrs: _f(numpy, *a, **_k)
