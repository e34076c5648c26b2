"""Elementwise chains on large arrays, tile by tile.

A chain of elementwise calls on arrays larger than the cache is bound by memory: each call reads
and writes everything. Run on tiles that fit the cache, the chain reads each input and writes each
output once. Tiles are independent, so they are shared among threads; since each element's value
depends on that element alone, neither tile size nor threads change a bit of the result.

Values between calls live in buffers: tile-sized scratch arrays that a thread makes once, and
the tiles of outputs before their own values are written. Few buffers matter as much as small
tiles do: Adam needs one beside its four arrays, where a fresh array per call would be six.

Folds of each row (a sum over the last dimension, say) end a chain: what they fold is in the cache,
and is not written unless somebody else takes it. A sum's last bits may depend on how large tiles
of few, wide rows are, but not on threads. (Squared distances of 20,000 points from 64 centres, of
16 coordinates: 45 ms as a chain and a sum, 12 as one.)

How large a tile is, and from which size on arrays are tiled, say ``config.tile_elements`` and
``config.tile_min_elements``, whose documentation has the measurements. A single kernel that makes
many temporaries goes through its block in pieces of its own, by a ``BLOCK_ELEMENTS`` measured for
it (`kernels.math.special`, `kernels.nn.normalization`, `kernels.nn.batch_norm`).
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from daskvars import config
from daskvars.idle_threads import for_each
from daskvars.kernels.math.row_sums import ROWS_TOGETHER
from daskvars.remote.regions.codegen import defined, name, names
from daskvars.remote.regions.result_check import checked

# Elements that calls must write before another thread pays: handing the interpreter from thread to
# thread costs some us a call (m: two threads lose below 4M elements a thread, gain above).
THREAD_ELEMENTS = 1 << 22


class Work(NamedTuple):
    """What is to be done tile by tile.

    Attributes:
      tile: ``tile(start, stop, scratch)``: the work on one tile.
      size, step: extent of the whole and of a tile.
      scratch: makes what a thread works with.
      elements: that all calls together write, which tells whether threads pay.
    """

    tile: Callable[[int, int, Any], None]
    size: int
    step: int
    scratch: Callable[[], Any]
    elements: int


def run_tiles(works: Sequence[Work]) -> None:
    """Do all tiles of works that need nothing of one another.

    Idle threads take part (`idle_threads`); each has a scratch of its own.
    """
    tiles = [(work, start) for work in works for start in range(0, work.size, work.step)]
    elements = sum(work.elements for work in works)
    own = threading.local()

    def run(tile: tuple[Work, int]) -> None:
        work, start = tile
        if getattr(own, "work", None) is not work:
            own.work, own.scratch = work, work.scratch()
        work.tile(start, min(start + work.step, work.size), own.scratch)

    for_each(run, tiles, most=elements // THREAD_ELEMENTS)


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


def chains(calls: Sequence[Any], in_place: Collection[int] = ()) -> dict[int, int]:
    """Return start -> end of each run of calls that is worth running tile by tile.

    Folds of what a run makes are its end: they find it in the cache, and most often nobody else
    takes it, so that it need not be written.

    Args:
      calls: of a region.
      in_place: what is written into memory of inputs; a tile must not fold into what others read.
    """
    found: dict[int, int] = {}
    i = 0
    while i < len(calls):
        end = i
        while end < len(calls) and is_tiled(calls[end]) and calls[end].shapes == calls[i].shapes:
            end += 1
        made = {call.outs[0] for call in calls[i:end]}
        while i < end < len(calls) and _is_fold(calls[end], calls[i].shapes[0], made, in_place):
            end += 1
        if end > i:
            found[i] = end
        i = max(end, i + 1)
    return found


def _is_fold(
    call: Any, shape: tuple[int, ...], made: Collection[int], in_place: Collection[int]
) -> bool:
    """Return whether a call folds each row of a value of a chain for itself, and rows are short."""
    return (
        call.by_rows
        and call.args[0] in made
        and call.block < 0
        and call.outs[0] not in in_place
        and bool(call.shapes[0])
        and None not in call.shapes[0]
        and math.prod(shape[1:]) <= config.get().tile_elements
    )


class Chain:
    """The function of one chain: ``function(*inputs) -> outputs``.

    Args:
      calls: the calls of the chain, all of one output shape, and folds of what they make.
      outputs: registers that are needed after the chain.
      into: output register -> input register whose memory it is written into; others are made
        fresh.
    """

    def __init__(self, calls: Sequence[Any], outputs: Sequence[int], into: dict[int, int]) -> None:
        self.calls = calls
        self.outputs = tuple(outputs)
        self.folds = {call.outs[0]: call for call in calls if not call.elementwise}
        self.into = {out: into[out] for out in outputs if out in into}
        made = {call.outs[0] for call in calls}
        self.inputs = tuple(
            dict.fromkeys(
                register
                for register in (*self.into.values(), *(s for call in calls for s in call.args))
                if register not in made
            )
        )
        self.dtypes = {call.outs[0]: call.dtypes[0] for call in calls}
        writer = _TileWriter(self)
        self.tile = writer.function()
        self.scratch = writer.scratch

    def function(self, *inputs: Any) -> tuple:
        """Run the chain on whole arrays and return its outputs."""
        work, outputs = self.work(inputs)
        run_tiles([work])
        return outputs

    def work(self, inputs: Sequence[Any]) -> tuple[Work, tuple]:
        """Return what is to be done with whole arrays, and the outputs that this fills."""
        given = dict(zip(self.inputs, inputs, strict=True))
        # The static shape is that of the first block; the last one may be smaller.
        shape = numpy.broadcast_shapes(*map(numpy.shape, inputs))
        results = {
            register: given[self.into[register]]
            if register in self.into
            else numpy.empty(self._shape(register, shape), self.dtypes[register])
            for register in self.outputs
        }
        limit = config.get().tile_elements
        outs = [results[register] for register in self.outputs]
        full = [numpy.shape(a) == shape for a in inputs]
        flat = (
            not self.folds
            and all(f or numpy.size(a) == 1 for f, a in zip(full, inputs, strict=True))
            and all(
                a.flags.c_contiguous
                for a in (*outs, *(a for f, a in zip(full, inputs, strict=True) if f))
            )
        )
        if flat:
            size, step, cut = math.prod(shape), limit, full
            # A size-1 array must not raise the rank of a flat tile.
            views = [numpy.reshape(a, -1 if f else ()) for f, a in zip(full, inputs, strict=True)]
            outs = [array.reshape(-1) for array in outs]
            rest = ()
        else:
            size, step = shape[0], max(1, limit // max(1, math.prod(shape[1:])))
            step -= step % ROWS_TOGETHER if step > ROWS_TOGETHER else 0
            # What broadcasts, but not along the first axis, is cut along it too.
            cut = [numpy.ndim(a) == len(shape) and numpy.shape(a)[0] == size > 1 for a in inputs]
            views, rest = list(inputs), shape[1:]
        tile = self.tile
        work = Work(
            lambda start, stop, scratch: tile(start, stop, views, cut, outs, scratch),
            size,
            step,
            lambda: [numpy.empty((min(step, size), *rest), dtype) for dtype in self.scratch],
            math.prod(shape) * len(self.calls),
        )
        return work, tuple(results[register] for register in self.outputs)

    def _shape(self, register: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an output, given that of the chain."""
        if register not in self.folds:
            return shape
        attrs, rank = self.folds[register].attrs, len(shape)
        axis = attrs["axis"]
        folded = {a % rank for a in ((axis,) if isinstance(axis, int) else axis)}
        sizes = [1 if i in folded else n for i, n in enumerate(shape)]
        return tuple(n for i, n in enumerate(sizes) if i not in folded or attrs.get("keepdims"))


class SideBySide:
    """The function of chains that need nothing of one another: threads share all their tiles.

    Args:
      chains: none writes into what another reads.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.chains = chains
        self.inputs = tuple(register for chain in chains for register in chain.inputs)
        self.outputs = tuple(register for chain in chains for register in chain.outputs)

    def function(self, *inputs: Any) -> tuple:
        """Run the chains on whole arrays and return their outputs."""
        given = iter(inputs)
        begun = [
            chain.work(list(itertools.islice(given, len(chain.inputs)))) for chain in self.chains
        ]
        run_tiles([work for work, _ in begun])
        return tuple(itertools.chain.from_iterable(outputs for _, outputs in begun))


class _TileWriter:
    """Writes the Python text of a chain on one tile and decides where each value lives.

    Attributes:
      scratch: dtypes of the scratch arrays that the function wants.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.scratch: list[Any] = []
        self.scope: dict[str, Any] = {}
        calls = chain.calls
        self.made_at = {call.outs[0]: i for i, call in enumerate(calls)}
        self.last = {register: i for i, call in enumerate(calls) for register in call.args}
        self.dtype_of: dict[str, Any] = {}  # buffer -> dtype
        self.busy: dict[str, int] = {}  # buffer -> register of the value in it

    def function(self) -> Callable[..., None]:
        """Return ``tile(start, stop, views, cut, outs, scratch)``."""
        chain = self.chain
        body: list[str] = []
        postponed: list[str] = []  # writes into memory that the tile still reads
        for register in chain.outputs:
            if register not in chain.folds:
                self.dtype_of[name(register, "o")] = chain.dtypes[register]
        for i, call in enumerate(chain.calls):
            self._call(i, call, body, postponed)
        head = ["def tile(start, stop, views, cut, outs, scratch):"]
        head += [
            f"    {name(s)} = views[{i}][start:stop] if cut[{i}] else views[{i}]"
            for i, s in enumerate(chain.inputs)
        ]
        head += [f"    {name(s, 'o')} = outs[{i}][start:stop]" for i, s in enumerate(chain.outputs)]
        head += [f"    t{i} = scratch[{i}][: stop - start]" for i in range(len(self.scratch))]
        return defined("tile", head + body + postponed, self.scope)

    def _call(self, i: int, call: Any, body: list[str], postponed: list[str]) -> None:
        out, chain = call.outs[0], self.chain
        value, own, function = name(out), name(out, "o"), name(i, "k")
        self.scope[function] = _bound(call)
        if call.promised:
            promised = [(dtype, None) for dtype, _ in call.promised]
            self.scope[function] = checked(
                self.scope[function], promised, call.multiple, self.scope, function
            )
        takes_out = _takes_out(call)
        is_postponed = out in chain.into and self.last.get(chain.into[out], -1) > i
        if takes_out:
            buffer = own if out in chain.outputs and not is_postponed else self._buffer(i, out)
            body.append(f"    {value} = {function}({names(call.args)}, out={buffer})")
        else:
            buffer = value  # a fresh array, which later ufuncs may write into
            body.append(f"    {value} = {function}({names(call.args)})")
            self.dtype_of[buffer] = chain.dtypes[out]
        if is_postponed:
            postponed.append(f"    {own}[...] = {value}")
        elif out in chain.outputs and not takes_out:
            body.append(f"    {own}[...] = {value}")
            body.append(f"    {value} = {own}")
            del self.dtype_of[buffer]
            buffer = own
        self.busy[buffer] = out
        self._release(i)

    def _release(self, i: int) -> None:
        """Free the buffers whose values call `i` was the last to read."""
        for buffer, register in list(self.busy.items()):
            if self.last.get(register, -1) <= i and register not in self.chain.outputs:
                del self.busy[buffer]

    def _buffer(self, i: int, out: int) -> str:
        """Return a buffer for the value that call `i` makes: a free one if there is any."""
        dtype = self.chain.dtypes[out]
        for buffer, kind in self.dtype_of.items():
            register = self.busy.get(buffer)
            # What dies at this call may be written over by it: element by element it reads first.
            is_free = register is None or (
                self.last.get(register, -1) <= i and register not in self.chain.outputs
            )
            if kind == dtype and is_free and self._outlasts(buffer, i, out):
                self.busy.pop(buffer, None)
                return buffer
        buffer = f"t{len(self.scratch)}"
        self.scratch.append(dtype)
        self.dtype_of[buffer] = dtype
        return buffer

    def _outlasts(self, buffer: str, i: int, out: int) -> bool:
        """Return whether a buffer may hold value `out` from call `i` to the value's last use.

        The tile of an output may until its own value is written, if nobody reads any more what
        lay there before.
        """
        if buffer[0] != "o":
            return True
        chain, register = self.chain, int(buffer[1:])
        if out in chain.outputs or self.last.get(out, -1) > self.made_at[register]:
            return False
        return register not in chain.into or self.last.get(chain.into[register], -1) <= i


def _takes_out(call: Any) -> bool:
    """Return whether a call writes its result where it is told to, be that one of its arguments."""
    if isinstance(call.kernel, str):
        return not call.attrs
    return call.elementwise and "out" in (getattr(call.kernel, "__kwdefaults__", None) or ())


def _bound(call: Any) -> Callable[..., Any]:
    if isinstance(call.kernel, str):
        function = getattr(numpy, call.kernel)
        return partial(function, **call.attrs) if call.attrs else function
    return partial(call.kernel, numpy, **call.attrs)
