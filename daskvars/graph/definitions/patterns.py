"""Access patterns: which block of each input an op needs for a block of its output, as data.

A pattern answers one question, ``access``: it labels the dimensions of an op's inputs and outputs.
Dimensions with one label are cut the same way; a dimension without a label must be whole (one
block). A label that no output carries is summed away: each block gives a partial result and
``combine`` names the function that merges the partials. Layout propagation, fusion and emission
are written once against `Access`; none of them knows an op.

Notation of `Contraction` and `Movement`: one letter a dimension, ``_`` for a dimension that must
be whole, `...` for leading dimensions that broadcast, as in ``"...mk,...kn->...mn"`` (matmul),
``"n___,____->n___"`` (2-D convolution: only the batch may be cut) or ``"..._->..._"`` (softmax).

Values that hold arrays (lists, the history of a loop) have the dimensions of what they hold, see
`Held`; in the notation of `Items` such a value stands in brackets: ``"_...->[...]"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from daskvars import chunk_grid, shapes
from daskvars.shapes import RankedShape, Shape, is_known, merge

Attrs = Mapping[str, Any]
RankedShapes = Sequence[RankedShape]
KnownShapes = Sequence[tuple[int, ...]]

ASSEMBLE_ROWS = "assemble_rows"  # how partial results are merged that are rows with their places
CONCATENATE_ROWS = "concatenate_rows"  # how they are where their places do not matter
ROW_MERGES = frozenset({ASSEMBLE_ROWS, CONCATENATE_ROWS})
ADD = "add"  # how sums of parts are merged, and the kernel that adds
ALIKE = "alike"  # how results are merged that are the same of every block: one of them is taken


class Dim(NamedTuple):
    """One labelled dimension; its chunks are the label's chunks times `factor` elements."""

    label: int
    factor: int = 1


Dims = tuple[Dim | None, ...]
Cut = dict[int, tuple[int, ...]]  # label -> its chunks
Sizes = tuple[tuple[int, int], ...]  # of (operand, dimension): the result is operand -1
Merge = str | Callable[..., Any]  # a function of the array namespace, or of `daskvars.kernels`


@dataclass(frozen=True, slots=True)
class Access:
    """The labels of an op's dimensions: the whole of what chunking needs to know of it."""

    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]
    # Merges partial results over labels that an output lacks: all outputs' alike, or each one's.
    combine: Merge | tuple[Merge | None, ...] | None = None

    def combine_of(self, output: int) -> Merge | None:
        """Return what merges the partial results of one output."""
        return self.combine[output] if isinstance(self.combine, tuple) else self.combine


class Held(tuple[int | None, ...]):
    """The shape of a value that holds arrays: the dimensions of what it holds, one after the other.

    A list holds items of one shape. So it is cut as they are; how many there are is no dimension.

    Attributes:
      parts: the shapes, each as far as it is known: one of a list, none if nothing was written to
        it; of the history of a loop those of all that a turn adds to it.
      num_items: how many a list has, None where that is not known.
    """

    parts: tuple[Shape, ...]
    num_items: int | None

    def __new__(cls, parts: Sequence[Shape], num_items: int | None = None) -> Held:
        new = super().__new__(cls, [n for part in parts for n in part or ()])
        new.parts, new.num_items = tuple(parts), num_items
        return new

    def __reduce__(self) -> Any:
        return Held, (self.parts, self.num_items)

    def is_same(self, other: Shape) -> bool:
        """Return whether as much is known of both."""
        if not isinstance(other, Held):
            return False
        return self.parts == other.parts and self.num_items == other.num_items

    def range_of(self, index: int) -> slice:
        """Return which of the dimensions are those of a part."""
        start = sum(len(part or ()) for part in self.parts[:index])
        return slice(start, start + len(self.parts[index] or ()))


def common(a: Shape, b: Shape) -> Shape:
    """Return what is known of a value that has one of two shapes.

    >>> common((2, 3), (4, 3))
    (None, 3)
    """
    if a is None or b is None or isinstance(a, Held) is not isinstance(b, Held):
        return None
    if isinstance(a, Held) and isinstance(b, Held):
        num_items = a.num_items if a.num_items == b.num_items else None
        if not a.parts or not b.parts:
            return Held(a.parts or b.parts, num_items)
        if len(a.parts) != len(b.parts):
            return None
        parts = [common(m, n) for m, n in zip(a.parts, b.parts, strict=True)]
        return None if parts == [None] else Held(parts, num_items)
    return shapes.common(a, b)


@dataclass(frozen=True, slots=True)
class Block:
    """Where one block lies: its offsets in each input, its shapes and offsets in each output."""

    in_offsets: tuple[tuple[int, ...], ...]
    out_shapes: tuple[RankedShape, ...]
    out_offsets: tuple[tuple[int, ...], ...]
    full_in_shapes: tuple[RankedShape, ...]
    full_out_shapes: tuple[RankedShape, ...]


class Pattern:
    """Base of all patterns."""

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        """Return the labels for these shapes; what only the run can tell of them is None."""
        raise NotImplementedError

    def flops(self, inputs: RankedShapes, outputs: RankedShapes, access: Access) -> float:
        """Return a rough count of floating-point operations, to weigh work against overhead."""
        return float(sum(_size(shape) for shape in outputs))


def _size(shape: RankedShape) -> int:
    return math.prod(n or 1 for n in shape)


def _whole(shape: RankedShape) -> Dims:
    return (None,) * len(shape)


@dataclass(frozen=True)
class Source(Pattern):
    """An op that makes values out of nothing: each output block can be made on its own."""

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        dims = tuple(tuple(Dim(i) for i in range(len(s))) for s in outputs)
        return Access(tuple(map(_whole, inputs)), dims)


@dataclass(frozen=True)
class Elementwise(Pattern):
    """Element i of the output needs element i of each input, after NumPy broadcasting.

    `linear` says that the result of sums is the sum of the results, all inputs taken together.
    """

    linear: bool = False

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        out = outputs[0]
        ins = tuple(_broadcast_dims(shape, out) for shape in inputs)
        return Access(ins, tuple(tuple(Dim(i) for i in range(len(out))) for _ in outputs))


@dataclass(frozen=True)
class Sum(Elementwise):
    """The sum of all inputs, which are of one shape."""

    linear: bool = True


def _broadcast_dims(shape: RankedShape, out: RankedShape) -> Dims:
    lead = len(out) - len(shape)
    return tuple(
        None if n == 1 and out[lead + i] != 1 else Dim(lead + i) for i, n in enumerate(shape)
    )


@dataclass(frozen=True)
class Reduction(Pattern):
    """A fold over the axes in ``attrs["axis"]`` (None: all), kept as size 1 with ``keepdims``.

    ``combine`` is what merges two partial results, an ``xp`` function by name or a kernel; None
    means that a reduced axis must be whole. ``rows``, of a sum, is a kernel for axes of which the
    first is none: what it makes of a row has the same bits whatever rows are beside it. What is
    ``linear`` gives of a sum of arrays the sum of the folds.
    """

    combine: Merge | None = None
    rows: Callable[..., Any] | None = None
    linear: bool = False

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        if "axis" in attrs.get("operands", ()):  # known only in the run
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        rank = len(inputs[0])
        reduced = self.folded(attrs, rank)
        labels = tuple(
            None if i in reduced and self.combine is None else Dim(i) for i in range(rank)
        )
        if attrs.get("keepdims"):
            out = tuple(None if i in reduced else Dim(i) for i in range(rank))
        else:
            out = tuple(Dim(i) for i in range(rank) if i not in reduced)
        others = tuple(map(_whole, inputs[1:]))
        return Access((labels, *others), (out,) * len(outputs), self.combine)

    def folded(self, attrs: Attrs, rank: int) -> set[int]:
        """Return which of so many dimensions are folded."""
        axis = attrs.get("axis")
        axes = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
        return {a % rank for a in axes} if rank else set()

    def flops(self, inputs: RankedShapes, outputs: RankedShapes, access: Access) -> float:
        return float(_size(inputs[0]))


@lru_cache(maxsize=4096)
def parse_subscripts(subscripts: str, ranks: tuple[int, ...], out_ranks: tuple[int, ...]) -> Any:
    """Turn the notation into dims for inputs and outputs of these ranks."""
    left, _, right = subscripts.replace(" ", "").partition("->")
    terms, out_terms = left.split(","), right.split(",")
    if len(terms) < len(ranks):  # trailing tensors given for attributes: always whole
        terms += ["_" * rank for rank in ranks[len(terms) :]]
    out_terms = out_terms * len(out_ranks) if len(out_terms) == 1 else out_terms
    lead = max(
        (
            r - len(t) + 3
            for t, r in zip([*terms, *out_terms], [*ranks, *out_ranks], strict=False)
            if "..." in t
        ),
        default=0,
    )

    def dims(term: str, rank: int) -> Dims:
        labels: list[Dim | None] = []
        first, dots, last = term.partition("...")
        if dots:
            count = rank - len(first) - len(last)
            labels = [Dim(lead - count + i) for i in range(count)]
        if len(labels) + len(first) + len(last) != rank:
            raise ValueError(
                f"pattern {subscripts!r}: {term!r} does not fit a tensor of rank {rank}"
            )
        named = [[None if c == "_" else Dim(1000 + ord(c)) for c in part] for part in (first, last)]
        return (*named[0], *labels, *named[1])

    ins = tuple(dims(t, r) for t, r in zip(terms, ranks, strict=True))
    return ins, tuple(dims(t, r) for t, r in zip(out_terms, out_ranks, strict=True))


@dataclass(frozen=True)
class Contraction(Pattern):
    """A sum of products over the labels that the output lacks.

    `subscripts` is the notation of this module's docstring, or a function of (input shapes,
    attrs) that gives it. `work` says how many multiplications it takes, where these are not as many
    as there are combinations of all labels. `takes_any_batch` says that the kernel goes by its
    arrays' first dimension, whatever an attribute says of it.
    """

    subscripts: str | Callable[[RankedShapes, Attrs], str]
    combine: str | None = "add"
    work: Sizes = ()
    takes_any_batch: bool = False

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        text = (
            self.subscripts if isinstance(self.subscripts, str) else self.subscripts(inputs, attrs)
        )
        ranks, out_ranks = tuple(map(len, inputs)), tuple(map(len, outputs))
        ins, outs = parse_subscripts(text, ranks, out_ranks)
        ins = tuple(_drop_broadcast(d, s, outs, outputs) for d, s in zip(ins, inputs, strict=True))
        return Access(ins, outs, self.combine)

    def flops(self, inputs: RankedShapes, outputs: RankedShapes, access: Access) -> float:
        operands = (*inputs, outputs[0])
        return 2.0 * math.prod(operands[which][dim] or 1 for which, dim in self.multiplied(access))

    def multiplied(self, access: Access) -> Sizes:
        """Return of what the sizes are multiplied, which is how many multiplications it takes."""
        return self.work or _each_label(access.inputs, access.outputs[0])


@lru_cache(maxsize=4096)
def _each_label(inputs: tuple[Dims, ...], output: Dims) -> Sizes:
    """Return one dimension of each label, and those of the first input that have none."""
    found: dict[Any, tuple[int, int]] = {}
    for which, dims in (*enumerate(inputs), (-1, output)):
        for place, dim in enumerate(dims):
            if dim is not None or which == 0:
                found.setdefault((None, place) if dim is None else dim.label, (which, place))
    return tuple(found.values())


def _drop_broadcast(
    dims: Dims, shape: RankedShape, outs: tuple[Dims, ...], out_shapes: RankedShapes
) -> Dims:
    sizes = {
        d.label: n
        for out, s in zip(outs, out_shapes, strict=True)
        for d, n in zip(out, s, strict=True)
        if d
    }
    return tuple(
        None if d and n == 1 and sizes.get(d.label, 1) != 1 else d
        for d, n in zip(dims, shape, strict=True)
    )


@dataclass(frozen=True)
class Movement(Pattern):
    """Elements move but do not change; the result may be a view of the input.

    `dims` is the notation, or a function (input shapes, output shapes, attrs) -> Access. Where
    only the run can tell a size, everything is whole.
    `view` says whether the kernel may return memory of its first input, `linear` that the result of
    sums is the sum of the results: where there are elements that no input has, they are zeros.
    """

    dims: str | Callable[[KnownShapes, KnownShapes, Attrs], Access]
    view: bool = True
    linear: bool = False

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        ins = [shape for shape in inputs if is_known(shape)]
        outs = [shape for shape in outputs if is_known(shape)]
        if len(ins) < len(inputs) or len(outs) < len(outputs):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        if callable(self.dims):
            return self.dims(ins, outs, attrs)
        ranks, out_ranks = tuple(map(len, ins)), tuple(map(len, outs))
        return Access(*parse_subscripts(self.dims, ranks, out_ranks))


@dataclass(frozen=True)
class Coordinates(Movement):
    """Slices go from or to the places that the rows of one input name, number `coordinates`.

    The first ``attrs["batch_dims"]`` dimensions of all go together.
    """

    view: bool = False
    coordinates: int = 1


@dataclass(frozen=True)
class Constraint(Movement):
    """The input itself, which is to be cut along dimension ``attrs["dim"]`` in ``attrs["parts"]``.

    No other pattern says how something is cut, only what lines up.
    """

    dims: str | Callable[[KnownShapes, KnownShapes, Attrs], Access] = "...->..."

    def cut(self, access: Access, attrs: Attrs, shape: tuple[int, ...], parts: int) -> Cut:
        """Return the chunks of the label that is cut: none where the shape is not known.

        Args:
          access: its labels.
          attrs: its attributes.
          shape: of the input.
          parts: into how many parts it is cut if the attributes do not say so.
        """
        dim = access.outputs[0][attrs["dim"]]
        sizes = chunk_grid.split_evenly(shape[attrs["dim"]], attrs["parts"] or parts)
        return {} if dim is None else {dim.label: sizes}


@dataclass(frozen=True)
class Gather(Pattern):
    """Rows of the first input picked by the second: ``params[ids]`` along axis 0.

    Where the rows are cut, each block gives the rows it owns and zeros for the others, and the
    sum of the blocks is the result: the kernel gets the block's first row as ``offset``.

    `partial` is the kernel for a block that gives only the rows it owns, which are then put
    together by the rows' places rather than added.
    """

    partial: Callable[..., Any] | None = None

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        params, ids = inputs[0], inputs[1]
        rows = len(ids)
        ids_dims = tuple(Dim(i) for i in range(rows))
        rest = tuple(Dim(rows + 1 + i) for i in range(len(params) - 1))
        combine = "add" if self.partial is None else ASSEMBLE_ROWS
        return Access(((Dim(rows), *rest), ids_dims), ((*ids_dims, *rest),), combine)


@dataclass(frozen=True)
class Scatter(Pattern):
    """Rows of the first input folded, by the ids in the second, into rows of the output.

    Where the output's rows are cut, each block takes the ids that fall into it: the kernel gets
    the block's first row as ``offset``. Where the ids are cut, each block folds its own, and
    ``combine`` merges what they give; a block's result has all rows, so that is for where there are
    fewer of these than of ids. Input order: (data, ids), the adjoint of `Gather`.
    """

    combine: Merge | None = None

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        rest = tuple(Dim(1 + i) for i in range(len(outputs[0]) - 1))
        lead: Dims = (None,) * len(inputs[1])
        if self.combine is not None and _size(outputs[0]) < _size(inputs[0]):
            lead = tuple(Dim(len(outputs[0]) + i) for i in range(len(inputs[1])))
        others = tuple(map(_whole, inputs[2:]))
        return Access(((*lead, *rest), lead, *others), ((Dim(0), *rest),), self.combine)


@dataclass(frozen=True)
class ScatterInto(Pattern):
    """Rows of the first input replaced or changed by the ids in the second and the third's rows.

    Where the rows are cut, each block takes the ids that fall into it: the kernel gets the
    block's first row as ``offset``.
    """

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        out, lead = outputs[0], (None,) * len(inputs[1])
        rest = tuple(Dim(1 + i) for i in range(len(out) - 1))
        updates = (*lead, *rest) if len(inputs[2]) == len(lead) + len(rest) else _whole(inputs[2])
        return Access(((Dim(0), *rest), lead, updates), ((Dim(0), *rest),))


@dataclass(frozen=True)
class Effect(Pattern):
    """An op on a variable: its first input is the variable's handle.

    `reads`: the kernel gets the variable's present value in the handle's place. `writes`: its
    first output is the variable's new value. `presence`: the kernel gets a bool in the handle's
    place: whether the variable has a value. `inner` is the pattern of the kernel on what it gets.
    """

    inner: Pattern
    reads: bool = False
    writes: bool = False
    presence: bool = False

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        return self.inner.access(inputs, outputs, attrs)


@dataclass(frozen=True)
class Flow:
    """How values go through an op with branches, by positions among what it takes and gives.

    All branches take all inputs. A result stands as (branch, position among what that gives).

    Attributes:
      given: (output, results): what it is in one branch or the other.
      carried: (output, input, result): of a loop, it begins with the input, in whose place a turn
        takes the result of the turn before.
      summed: (output, input, result): the sum of the results of all turns, added to zeros.
      joined: (output, input, result): the rows of all turns' results one after the other.
      history: an output that holds for each turn those inputs, as the turn takes them, and results.
      decides: results on which it depends what is run.
      most_turns: how often a loop goes round at most, None where nobody said.
      replays: an input that is the history of another loop: each turn is given what one of that
        loop's turns added to it.
    """

    given: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = ()
    carried: tuple[tuple[int, int, tuple[int, int]], ...] = ()
    summed: tuple[tuple[int, int, tuple[int, int]], ...] = ()
    joined: tuple[tuple[int, int, tuple[int, int]], ...] = ()
    history: tuple[int, tuple[int, ...], tuple[tuple[int, int], ...]] | None = None
    decides: tuple[tuple[int, int], ...] = ()
    most_turns: int | None = None
    replays: int | None = None


@dataclass(frozen=True)
class Opaque(Pattern):
    """Anything else: inputs and outputs are whole.

    `pure` is False where a run can be seen from outside (printing, calling Python); one that
    `only_checks` can be seen only in that it may fail. An op with
    `branches` has `FuncGraph`s under ``attrs["branches"]``; its kernel gets them as functions.
    `choose` gives the position of the branch that a known first input takes; `flow` says how values
    go through the branches, of these attributes and so many outputs. `view` is True where
    the result may share memory with the first input. `beside` are two kernels, one that begins what
    the op's kernel does and one that gives its results, for what may have to run beside its like.

    The last input of a `chained` op is how something begins that changes in the course of a run;
    the kernel gets what it has become. An op that "sees" gets what became of it by the ops that
    come before by data or control dependencies; those that "change" it go one after the other,
    and the last output of each is what it becomes. What `gives_on` has its first input as its first
    result: it is there for what else it does.
    """

    pure: bool = True
    only_checks: bool = False
    view: bool = False
    beside: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    branches: bool = False
    choose: Callable[[Any], int] | None = None
    flow: Callable[[Attrs, int], Flow] | None = None
    chained: Literal["", "sees", "changes"] = ""
    gives_on: bool = False

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))


@dataclass(frozen=True)
class HostCall(Opaque):
    """An op that the session's own process does, between the parts of a run.

    Its kernel is ``kernel(call, *arrays, **attrs)``, with NumPy arrays and what it may know of the
    session (`daskvars.execution.host_ops.resources.Call`). It `waits` where another has yet to act.
    One that is `lazy` takes what is on workers as dask arrays, which stay there.
    What gives it its inputs runs before it, what uses its results after it, as if they were fed.
    """

    pure: bool = False
    waits: bool = False
    lazy: bool = False


@dataclass(frozen=True)
class CombineById(Opaque):
    """Rows of the first input that go with the same id in the second become one.

    The results are rows and ids, each id but once. What becomes of an id needs its rows alone, in
    their order, and what becomes of a column that column: so it can be done for some of the ids, or
    of the columns. How many results there are only the run can tell.
    """


@dataclass(frozen=True)
class Items(Opaque):
    """Arrays go into lists or come out of them: ``...`` are the dimensions of the items.

    Every block has lists of as many items, of its part of each. A result that lacks a dimension
    does not depend on it. ``[]`` is a list of single values, ``*`` any number of such lists, ``#``
    the number of items: what an input is, or the size of a dimension.
    """

    dims: str = ""

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        taken, given = self._terms(len(inputs))
        if any(map(_is_unknown, [*taken, *given], [*inputs, *outputs])):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)), ALIKE)
        sides = ((taken, inputs), (given, outputs))
        left, right = (",".join(map(_as_subscripts, *side)) for side in sides)
        ranks, out_ranks = (list(map(len, side)) for side in (inputs, outputs))
        ins, outs = parse_subscripts(f"{left}->{right}", tuple(ranks), tuple(out_ranks))
        return Access(ins, outs, ALIKE)

    def shapes(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], values: Sequence[Any], attrs: Attrs
    ) -> tuple[Shape, ...]:
        """Return the shapes of the results: those that are known, with what the items tell.

        Args:
          inputs: of the inputs.
          outputs: of the results, as far as they are known without that.
          values: of the inputs, None where one is not known.
          attrs: those of the operation; lists that are "dynamic" grow.
        """
        taken, given = self._terms(len(inputs))
        found: Shape = Held(())
        counts = set[int | None]()
        for term, shape, value in zip(taken, inputs, values, strict=True):
            if term == "#":
                counts.add(None if value is None or value < 0 else int(value))
            elif "[" in term:
                counts.add(shape.num_items if isinstance(shape, Held) else None)
            if "..." not in term or (isinstance(shape, Held) and not shape.parts):
                continue
            if shape is None or _is_unknown(term, shape):
                found = None
            else:
                first = len(term.strip("[]")) - len("...")
                found = common(found, Held((tuple(shape[first:]),)))
        is_fixed = len(counts) == 1 and not attrs.get("dynamic")
        count = counts.pop() if is_fixed else None
        results = []
        for term, shape in zip(given, outputs, strict=True):
            if term == "[]":
                shape = Held(((),))
            elif "..." in term and isinstance(found, Held) and (found.parts or "[" in term):
                lead = [count if c == "#" else None for c in term.strip("[]").partition("...")[0]]
                parts = [(*lead, *part) if part is not None else None for part in found.parts]
                shape = Held(parts, count) if "[" in term else merge(parts[0], shape)
            results.append(shape)
        return tuple(results)

    def _terms(self, num_inputs: int) -> tuple[list[str], list[str]]:
        left, _, right = self.dims.replace(" ", "").partition("->")
        taken = [left[:-1]] * num_inputs if left[-1:] == "*" else left.split(",")
        return [*taken, *[""] * (num_inputs - len(taken))], right.split(",")


def _is_unknown(term: str, shape: RankedShape) -> bool:
    """Return whether nothing is known of what a list holds, as of one that is fed."""
    return "[" in term and not isinstance(shape, Held)


def _as_subscripts(term: str, shape: RankedShape) -> str:
    """Return the term of a value of this shape: of a list nothing was written to, no dimension."""
    if term in ("", "#") or (isinstance(shape, Held) and not shape.parts):
        return "_" * len(shape)
    return term.strip("[]").replace("#", "_")


@dataclass(frozen=True)
class Part(Opaque):
    """Gives one of the parts that its input holds, the one at ``attrs["index"]``; see `Held`."""

    def access(self, inputs: RankedShapes, outputs: RankedShapes, attrs: Attrs) -> Access:
        (source,) = inputs
        if not isinstance(source, Held):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        dims = tuple(map(Dim, range(len(source))))
        return Access((dims,), (dims[source.range_of(attrs["index"])],), ALIKE)

    def shape(self, source: Shape, shape: Shape, attrs: Attrs) -> Shape:
        """Return the shape of the part, which is known to be `shape`."""
        if not isinstance(source, Held):
            return shape
        part = source.parts[attrs["index"]]
        return part if isinstance(part, Held) or shape is None else merge(part, shape)


def reshape_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    """Label the dimensions of a row-major reshape.

    Groups of dimensions of equal product correspond, those of size 1 aside. In a group the leading
    dimension of either side may be cut where a cut of one is a cut of the other; all others are
    whole.
    """
    source, target = inputs[0], outputs[0]
    ins: list[Dim | None] = [None] * len(source)
    outs: list[Dim | None] = [None] * len(target)
    if 0 in (*source, *target):
        return Access((tuple(ins), *map(_whole, inputs[1:])), (tuple(outs),))
    i = j = label = 0
    while i < len(source) and j < len(target):
        if 1 in (source[i], target[j]):
            i, j = i + (source[i] == 1), j + (target[j] == 1)
            continue
        first_i, first_j, left, right = i, j, source[i], target[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * source[i], i + 1
            else:
                right, j = right * target[j], j + 1
        rows = math.gcd(source[first_i], target[first_j])
        if rows > 1 and rows in (source[first_i], target[first_j]):
            ins[first_i] = Dim(label, source[first_i] // rows)
            outs[first_j] = Dim(label, target[first_j] // rows)
            label += 1
    return Access((tuple(ins), *map(_whole, inputs[1:])), (tuple(outs),))
