"""Access patterns: which block of each input an op needs for a block of its output, as data.

A pattern answers one question, ``access``: it labels the dimensions of an op's inputs and outputs.
Dimensions with one label are cut the same way; a dimension without a label must be whole (one
block). A label that no output carries is summed away: each block gives a partial result and
``combine`` names the function that merges the partials. Layout propagation, fusion and emission
are written once against `Access`; none of them knows an op.

Notation of `Contraction` and `Movement`: one letter a dimension, ``_`` for a dimension that must
be whole, `...` for leading dimensions that broadcast, as in ``"...mk,...kn->...mn"`` (matmul),
``"n___,____->n___"`` (2-D convolution: only the batch may be cut) or ``"..._->..._"`` (softmax).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from daskvars.shapes import Shape

Attrs = Mapping[str, Any]

ASSEMBLE_ROWS = "assemble_rows"  # how partial results are merged that are rows with their places


class Dim(NamedTuple):
    """One labelled dimension; its chunks are the label's chunks times `factor` elements."""

    label: int
    factor: int = 1


Dims = tuple[Dim | None, ...]
Merge = str | Callable[..., Any]  # a function of the array namespace, or of `daskvars.kernels`


@dataclass(frozen=True, slots=True)
class Access:
    """The labels of an op's dimensions: the whole of what chunking needs to know of it."""

    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]
    combine: Merge | None = None  # merges partial results over labels that no output carries


@dataclass(frozen=True, slots=True)
class Block:
    """Where one block lies: shapes and offsets of it in each input and output, in elements."""

    in_shapes: tuple[Shape, ...]
    in_offsets: tuple[tuple[int, ...], ...]
    out_shapes: tuple[Shape, ...]
    out_offsets: tuple[tuple[int, ...], ...]
    full_in_shapes: tuple[Shape, ...]
    full_out_shapes: tuple[Shape, ...]


class Pattern:
    """Base of all patterns."""

    def access(self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Attrs) -> Access:
        """Return the labels for these concrete shapes (a shape of unknown rank is whole)."""
        raise NotImplementedError

    def flops(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> float:
        """Return a rough count of floating-point operations, to weigh work against overhead."""
        return float(sum(_size(shape) for shape in outputs))


def _size(shape: Shape) -> int:
    return math.prod(n or 1 for n in shape) if shape else 1


def _whole(shape: Shape) -> Dims:
    return (None,) * len(shape) if shape else ()


@dataclass(frozen=True)
class Source(Pattern):
    """An op that makes values out of nothing: each output block can be made on its own."""

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        dims = tuple(tuple(Dim(i) for i in range(len(s or ()))) for s in outputs)
        return Access(tuple(map(_whole, inputs)), dims)


@dataclass(frozen=True)
class Elementwise(Pattern):
    """Element i of the output needs element i of each input, after NumPy broadcasting."""

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        out = outputs[0]
        if out is None or any(shape is None for shape in inputs):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        ins = tuple(_broadcast_dims(shape, out) for shape in inputs)
        return Access(ins, tuple(tuple(Dim(i) for i in range(len(out))) for _ in outputs))


def _broadcast_dims(shape: Shape, out: Shape) -> Dims:
    lead = len(out) - len(shape)
    return tuple(
        None if n == 1 and out[lead + i] != 1 else Dim(lead + i) for i, n in enumerate(shape)
    )


@dataclass(frozen=True)
class Reduction(Pattern):
    """A fold over the axes in ``attrs["axis"]`` (None: all), kept as size 1 with ``keepdims``.

    ``combine`` is what merges two partial results, an ``xp`` function by name or a kernel; None
    means that a reduced axis must be whole.
    """

    combine: Merge | None = None

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        shape = inputs[0]
        if shape is None or "axis" in attrs.get("operands", ()):  # known only in the run
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        rank = len(shape)
        axis = attrs.get("axis")
        axes = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
        reduced = {a % rank for a in axes} if rank else set()
        labels = tuple(
            None if i in reduced and self.combine is None else Dim(i) for i in range(rank)
        )
        if attrs.get("keepdims"):
            out = tuple(None if i in reduced else Dim(i) for i in range(rank))
        else:
            out = tuple(Dim(i) for i in range(rank) if i not in reduced)
        others = tuple(map(_whole, inputs[1:]))
        return Access((labels, *others), (out,) * len(outputs), self.combine)

    def flops(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> float:
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
        named = term
        if "..." in term:
            named = term.replace("...", "")
            count = rank - len(named)
            labels = [Dim(lead - count + i) for i in range(count)]
        if len(labels) + len(named) != rank:
            raise ValueError(
                f"pattern {subscripts!r}: {term!r} does not fit a tensor of rank {rank}"
            )
        return (*labels, *(None if c == "_" else Dim(1000 + ord(c)) for c in named))

    ins = tuple(dims(t, r) for t, r in zip(terms, ranks, strict=True))
    return ins, tuple(dims(t, r) for t, r in zip(out_terms, out_ranks, strict=True))


@dataclass(frozen=True)
class Contraction(Pattern):
    """A sum of products over the labels that the output lacks.

    `subscripts` is the notation of this module's docstring, or a function of (input shapes,
    attrs) that gives it.
    """

    subscripts: str | Callable[[Sequence[Shape], Attrs], str]
    combine: str | None = "add"

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        if any(shape is None for shape in (*inputs, *outputs)):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        text = (
            self.subscripts if isinstance(self.subscripts, str) else self.subscripts(inputs, attrs)
        )
        ranks, out_ranks = tuple(map(len, inputs)), tuple(map(len, outputs))
        ins, outs = parse_subscripts(text, ranks, out_ranks)
        ins = tuple(_drop_broadcast(d, s, outs, outputs) for d, s in zip(ins, inputs, strict=True))
        return Access(ins, outs, self.combine)

    def flops(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> float:
        # sqrt(|A| |B| |C|) is m k n for a matrix product, and near enough for the others.
        return 2.0 * math.sqrt(float(math.prod(_size(s) for s in (*inputs[:2], outputs[0]))))


def _drop_broadcast(dims: Dims, shape: Shape, outs: tuple[Dims, ...], out_shapes: Any) -> Dims:
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

    `dims` is the notation, or a function (input shapes, output shapes, attrs) -> Access.
    `view` says whether the kernel may return memory of its first input.
    """

    dims: str | Callable[[Sequence[Shape], Sequence[Shape], Attrs], Access]
    view: bool = True

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        if any(shape is None for shape in (*inputs, *outputs)):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        if callable(self.dims):
            return self.dims(inputs, outputs, attrs)
        ranks, out_ranks = tuple(map(len, inputs)), tuple(map(len, outputs))
        return Access(*parse_subscripts(self.dims, ranks, out_ranks))


@dataclass(frozen=True)
class Gather(Pattern):
    """Rows of the first input picked by the second: ``params[ids]`` along axis 0.

    Where the rows are cut, each block gives the rows it owns and zeros for the others, and the
    sum of the blocks is the result: the kernel gets the block's first row as ``offset``.

    `partial` is the kernel for a block that gives only the rows it owns, which are then put
    together by the rows' places rather than added.
    """

    partial: Callable[..., Any] | None = None

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        params, ids = inputs[0], inputs[1]
        if params is None or ids is None or outputs[0] is None:
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        rows = len(ids)
        ids_dims = tuple(Dim(i) for i in range(rows))
        rest = tuple(Dim(rows + 1 + i) for i in range(len(params) - 1))
        combine = "add" if self.partial is None else ASSEMBLE_ROWS
        return Access(((Dim(rows), *rest), ids_dims), ((*ids_dims, *rest),), combine)


@dataclass(frozen=True)
class Scatter(Pattern):
    """Rows of the second input added, by the ids in the first, to rows of the output.

    Where the output's rows are cut, each block takes the ids that fall into it: the kernel gets
    the block's first row as ``offset``. Input order: (data, ids), the adjoint of `Gather`.
    """

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        data, ids, out = inputs[0], inputs[1], outputs[0]
        if data is None or ids is None or out is None:
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
        rest = tuple(Dim(1 + i) for i in range(len(out) - 1))
        lead = (None,) * len(ids)
        others = tuple(map(_whole, inputs[2:]))
        return Access(((*lead, *rest), lead, *others), ((Dim(0), *rest),))


@dataclass(frozen=True)
class ScatterInto(Pattern):
    """Rows of the first input replaced or changed by the ids in the second and the third's rows.

    Where the rows are cut, each block takes the ids that fall into it: the kernel gets the
    block's first row as ``offset``.
    """

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        if any(shape is None for shape in (*inputs, outputs[0])):
            return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))
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

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        return self.inner.access(inputs, outputs, attrs)


@dataclass(frozen=True)
class Opaque(Pattern):
    """Anything else: inputs and outputs are whole.

    `pure` is False where a run can be seen from outside (printing, calling Python). An op with
    `branches` has `FuncGraph`s under ``attrs["branches"]``; its kernel gets them as functions.
    `choose` gives the position of the branch that a known first input takes. `view` is True where
    the result may share memory with the first input. `beside` are two kernels, one that begins what
    the op's kernel does and one that gives its results, for what may have to run beside its like.

    The last input of a `chained` op is how something begins that changes in the course of a run;
    the kernel gets what it has become. An op that "sees" gets what became of it by the ops that
    come before by data or control dependencies; those that "change" it go one after the other,
    and the last output of each is what it becomes.
    """

    pure: bool = True
    view: bool = False
    beside: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    branches: bool = False
    choose: Callable[[Any], int] | None = None
    chained: Literal["", "sees", "changes"] = ""

    def access(
        self, inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> Access:
        return Access(tuple(map(_whole, inputs)), tuple(map(_whole, outputs)))


def reshape_access(inputs: Sequence[Shape], outputs: Sequence[Shape], attrs: Attrs) -> Access:
    """Label the dimensions of a row-major reshape.

    Groups of dimensions of equal product correspond. In a group the leading dimension of either
    side may be cut where a cut of one is a cut of the other; all others are whole.
    """
    source, target = inputs[0], outputs[0]
    ins: list[Dim | None] = [None] * len(source)
    outs: list[Dim | None] = [None] * len(target)
    if any(n is None or n == 0 for n in (*source, *target)):
        return Access((tuple(ins), *map(_whole, inputs[1:])), (tuple(outs),))
    i = j = label = 0
    while i < len(source) and j < len(target):
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
