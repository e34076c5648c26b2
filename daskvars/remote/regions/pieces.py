"""Large kernels in pieces, which idle threads share.

What the planner cuts in parts is a program; one that it leaves whole may still have products of
milliseconds, and threads with nothing to do. A kernel whose op says along which dimensions its
arrays may be cut (`Contraction`) is then called for pieces of them, and what the pieces give is put
together, or added up in their order. A kernel that takes `out` writes it where it belongs.

Into how many pieces depends on shapes alone, never on threads: so do the bits of the result. (With
BLAS's own threads one product in eight has other bits, m, as how BLAS cuts depends on them.)

Along which dimension: where the least is read again by each piece, or added up. By work, not by
bytes: kernels that go through memory block by block hand the interpreter over at each, and gain
nothing.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

import numpy

from daskvars.chunk_grid import split_evenly
from daskvars.idle_threads import for_each

MAX_PIECES = 8
# Of a kernel that is worth a second thread, which takes some 100 us to begin and to end (m: a
# product of 0.67 ms takes 0.44 in two pieces, one of 5.6 ms 3.0); of a piece, if there are more.
MIN_FLOPS, PIECE_FLOPS = 4e7, 2e8
# For each byte that it takes and gives: what makes less of them is as fast as memory, and what its
# pieces give is copied (m: a softmax of 20M, 39 ms, takes 52 in two pieces).
MIN_FLOPS_PER_BYTE = 1
MAX_REPEATED = 0.03  # bytes for each flop that pieces read again or add up: a third of their time
MIN_ADDED = 4  # bytes of an element: sums of 16-bit floats, rounded already, are not added up
WHOLE = -1

Shapes = tuple[tuple[int, ...], ...]


class Pieces(NamedTuple):
    """Along what a kernel may be cut, as plain data.

    Attributes:
      inputs: label of each dimension of each input, WHOLE for one that is not cut.
      output: those of the result.
      adds: the results of pieces along a label that the result lacks are added up.
      work: (operand, dimension), the result being operand -1: the product of these sizes is how
        many multiplications the kernel makes.
      leading: only along the first dimension of some input: attributes tell of the others.
      shape: of the result, None for sizes that only the run knows.
    """

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    adds: bool
    work: tuple[tuple[int, int], ...]
    leading: bool
    shape: tuple[int | None, ...]


class Cut(NamedTuple):
    """How the arrays of one call are cut.

    Attributes:
      sizes: of the pieces, along the dimension that is cut.
      inputs: which dimension of each input that is, WHOLE of one that all pieces take.
      output: which of the result, WHOLE where the results of pieces are added up.
      shape: of the result.
    """

    sizes: tuple[int, ...]
    inputs: tuple[int, ...]
    output: int
    shape: tuple[int, ...]


def cut_of(pieces: Pieces, shapes: Shapes, itemsize: int) -> Cut | None:
    """Return how arrays of some shapes are cut; None where the kernel is called for all at once.

    Args:
      pieces: along what they may be.
      shapes: of the inputs and the result.
      itemsize: the bytes of an element.

    >>> work = ((0, 0), (0, 1), (-1, 1))
    >>> product = Pieces(((0, 1), (1, 2)), (0, 2), True, work, False, (None, None))
    >>> cut_of(product, ((64, 512), (512, 512), (64, 512)), 4)
    >>> cut_of(product, ((256, 1024), (1024, 1024), (256, 1024)), 4)
    Cut(sizes=(512, 512), inputs=(-1, 1), output=1, shape=(256, 1024))
    """
    nbytes = [itemsize * math.prod(shape) for shape in shapes]
    flops = 2.0 * math.prod(shapes[operand][dim] for operand, dim in pieces.work)
    if flops < max(MIN_FLOPS, MIN_FLOPS_PER_BYTE * sum(nbytes)):
        return None
    found: list[tuple[int, int, int, list[int]]] = []
    for label in dict.fromkeys(itertools.chain(pieces.output, *pieces.inputs)):
        of_each = (*pieces.inputs, pieces.output)
        dims = [each.index(label) if label in each else WHOLE for each in of_each]
        sizes = [shape[dim] for shape, dim in zip(shapes, dims, strict=True) if dim != WHOLE]
        if label == WHOLE or len(set(sizes)) != 1 or sizes[0] < 2:
            continue
        if dims[-1] == WHOLE and (not pieces.adds or itemsize < MIN_ADDED):
            continue
        if pieces.leading and 0 not in dims[:-1]:
            continue
        repeated = sum(size for size, dim in zip(nbytes, dims, strict=True) if dim == WHOLE)
        found.append((repeated, len(found), sizes[0], dims))
    if not found:
        return None
    repeated, _, size, dims = min(found)
    count = min(size, MAX_PIECES, max(2, int(flops / PIECE_FLOPS)))
    most = int(MAX_REPEATED * flops / repeated) if repeated else count
    if most < 2:
        return None
    return Cut(split_evenly(size, min(count, most)), tuple(dims[:-1]), dims[-1], shapes[-1])


class InPieces:
    """A kernel that is called for pieces of its inputs where they are large.

    Args:
      kernel: the kernel, bound to NumPy.
      pieces: along what it may be cut.
      takes_out: whether it writes its result, of the first input's dtype, into an array `out`,
        which it returns then.
    """

    def __init__(
        self, kernel: Callable[..., Any], pieces: Pieces, *, takes_out: bool = False
    ) -> None:
        self.kernel, self.takes_out = kernel, takes_out
        self.cut = lru_cache(maxsize=64)(partial(_cut_of_inputs, pieces))

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        cut = self.cut(tuple([array.shape for array in inputs]), inputs[0].itemsize)
        return self.kernel(*inputs, **attrs) if cut is None else self._in_pieces(cut, inputs, attrs)

    def _in_pieces(self, cut: Cut, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        given = _Given(cut, inputs[0].dtype if self.takes_out else None)
        starts = tuple(itertools.accumulate(cut.sizes, initial=0))

        def call(number: int) -> None:
            part = slice(starts[number], starts[number + 1])
            taken = [
                array if dim == WHOLE else array[(slice(None),) * dim + (part,)]
                for array, dim in zip(inputs, cut.inputs, strict=True)
            ]
            room = given.room(part) if self.takes_out else None
            into = attrs if room is None else {**attrs, "out": room}
            found = self.kernel(*taken, **into)
            if found is not room:
                given.take(number, part, found)

        for_each(call, range(len(cut.sizes)))
        return given.result()


class _Given:
    """What the pieces of a call gave; of a dtype, None where the first of them tells."""

    def __init__(self, cut: Cut, dtype: numpy.dtype[Any] | None) -> None:
        self.cut = cut
        self.lock = threading.Lock()
        known = dtype is not None and cut.output != WHOLE
        self.whole: Any = numpy.empty(cut.shape, dtype) if known else None
        self.terms: list[Any] = [None] * len(cut.sizes)

    def room(self, part: slice) -> Any:
        """Return where a piece belongs; None where it is a term of a sum."""
        dim = self.cut.output
        return None if dim == WHOLE else self.whole[(slice(None),) * dim + (part,)]

    def take(self, number: int, part: slice, given: Any) -> None:
        dim = self.cut.output
        if dim == WHOLE:
            self.terms[number] = given
            return
        with self.lock:
            if self.whole is None:
                self.whole = numpy.empty(self.cut.shape, given.dtype)
        self.room(part)[...] = given

    def result(self) -> Any:
        return self.whole if self.cut.output != WHOLE else reduce(numpy.add, self.terms)


def _cut_of_inputs(pieces: Pieces, inputs: Shapes, itemsize: int) -> Cut | None:
    shapes = with_result(pieces, inputs)
    return None if shapes is None else cut_of(pieces, shapes, itemsize)


def with_result(pieces: Pieces, inputs: Shapes) -> Shapes | None:
    """Return the shapes of inputs with that of the result; None where only the kernel knows it."""
    sizes = {
        label: size
        for labels, shape in zip(pieces.inputs, inputs, strict=True)
        for label, size in zip(labels, shape, strict=True)
    }
    result = tuple(
        size if label == WHOLE else sizes.get(label, size)
        for label, size in zip(pieces.output, pieces.shape, strict=True)
    )
    return (*inputs, tuple(n for n in result if n is not None)) if None not in result else None


def are_sound(pieces: Any, num_inputs: int) -> bool:
    """Return whether pieces that came as data are such, of a kernel of so many inputs."""
    if not isinstance(pieces, Pieces) or len(pieces.inputs) != num_inputs:
        return False
    ranks = [len(labels) for labels in (*pieces.inputs, pieces.output)]
    return len(pieces.shape) == len(pieces.output) and all(
        -1 <= operand < len(ranks) and 0 <= dim < ranks[operand] for operand, dim in pieces.work
    )
