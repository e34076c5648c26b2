"""Elements put together: batches, padded ones, and back to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.data.nodes.elements import (
    Element,
    SparseSpec,
    Together,
    batch_of,
    flatten,
    map_structure,
    pack,
    row_of,
)
from daskvars.data.nodes.node import (
    INFINITE,
    Elements,
    Node,
    OfSource,
    Pass,
    elements_here,
    goes_on,
    has_errors,
)
from daskvars.data.nodes.sources import RowReader, column_of
from daskvars.errors import DataLossError, invalid
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.sparse_tensor import SparseTensorValue
from daskvars.graph.tensor import Tensor
from daskvars.remote.regions.several import as_rows
from daskvars.shapes import Shape


class Batched(Node):
    """Elements of equal shapes, some at a time."""

    def __init__(self, input: Node, size: Any, is_remainder_dropped: bool) -> None:
        self.inputs, self.operands = (input,), (size,)
        self._drops = is_remainder_dropped
        self._known = int(size) if self._drops and not hasattr(size, "graph") else None
        self.structure = map_structure(lambda spec: batch_of(spec, self._known), input.structure)

    @property
    def only_computes(self) -> bool:
        return self.inputs[0].only_computes

    def size(self, pass_: Pass) -> int:
        """Return how many elements are in a batch."""
        return int(pass_.value(self.operands[0]))

    def check(self, pass_: Pass) -> None:
        self.check_positive("Batch size", self.size(pass_))

    def count(self, pass_: Pass) -> float | None:
        count, size = self.inputs[0].count(pass_), self.size(pass_)
        if count is None or count == INFINITE:
            return count
        return count // size if self._drops else -(-count // size)

    def elements(self, pass_: Pass) -> Elements:
        node, size = self.inputs[0], self.size(pass_)
        rows = node.rows_in(pass_)
        if rows is not None:
            gather = pass_.reader(rows).gather
            return _Batches(node.elements(pass_), size, self._drops, gather, rows.may_fail)
        source = elements_here(node, pass_)
        return _Batches(source, size, self._drops, self._together(pass_))

    def _together(self, pass_: Pass) -> Callable[[Sequence[Element]], Element]:
        return stacked


class _Batches(OfSource):
    def __init__(
        self,
        source: Elements,
        size: int,
        drops: bool,
        together: Callable[[Sequence[Any]], Element],
        may_fail: bool = True,
    ) -> None:
        super().__init__(source)
        self._size, self._drops, self._together = size, drops, together
        self._may_fail = may_fail

    def __next__(self) -> Element:
        found = self._source.many(self._size)
        if self._may_fail and has_errors(found):
            # One that fails takes the others with it. What is no `OpError` ends them.
            errors = [each for each in found if isinstance(each, Exception)]
            raise min(errors, key=goes_on)
        if not found or (self._drops and len(found) < self._size):
            raise StopIteration
        return self._together(found)

    def skip(self, count: int) -> int:
        found = self._source.skip(count * self._size)
        return found // self._size if self._drops else -(-found // self._size)


def stacked(elements: Sequence[Element]) -> Element:
    """Return elements as one, each component with a dimension more in front.

    Raises:
      InvalidArgumentError: their shapes differ.
    """
    if isinstance(elements, Together):
        return elements.columns
    columns = enumerate(zip(*elements, strict=True))
    return tuple(_stack(parts, component) for component, parts in columns)


def _stack(parts: Sequence[Any], component: int) -> Any:
    if isinstance(parts[0], SparseTensorValue):
        return _stacked_sparse(parts)
    found = as_rows(parts)
    if found is not None:
        return found
    first = parts[0].shape
    number, other = next((n, p.shape) for n, p in enumerate(parts) if p.shape != first)
    raise invalid(
        f"Cannot batch tensors with different shapes in component {component}. First element had "
        f"shape {list(first)} and element {number} had shape {list(other)}. padded_batch() makes "
        "them alike"
    )


def _stacked_sparse(parts: Sequence[SparseTensorValue]) -> SparseTensorValue:
    sizes = numpy.max([part.dense_shape for part in parts], axis=0)
    rows = numpy.repeat(numpy.arange(len(parts)), [len(part.values) for part in parts])
    indices = numpy.concatenate([part.indices for part in parts])
    return SparseTensorValue(
        numpy.concatenate([rows[:, None], indices], axis=1),
        numpy.concatenate([part.values for part in parts]),
        numpy.array([len(parts), *sizes], numpy.int64),
    )


class PaddedBatched(Batched):
    """Elements of different shapes, filled up to one.

    Args:
      size: how many are in a batch.
      is_remainder_dropped: whether a last, smaller batch is left out.
      padded: the shape for each component, in which None is the largest of the batch; or a tensor
        [rank], in which -1 is.
      padding: what they are filled up with, scalars or tensors [].
    """

    def __init__(
        self,
        input: Node,
        size: Any,
        is_remainder_dropped: bool,
        padded: Sequence[Shape | Tensor],
        padding: Sequence[Any],
    ) -> None:
        specs = flatten(input.structure)
        if any(isinstance(spec, SparseSpec) for spec in specs):
            raise TypeError("padded_batch() takes dense components; batch() takes sparse ones too")
        sizes = [_static(shape) if isinstance(shape, Tensor) else shape for shape in padded]
        for spec, shape, given in zip(specs, sizes, padded, strict=True):
            if shape is None and isinstance(given, Tensor):
                continue
            if shape is None or (spec.shape is not None and len(shape) != len(spec.shape)):
                raise ValueError(
                    f"The padded shape {shapes.show(shape)} is not compatible with the "
                    f"corresponding input component shape {shapes.show(spec.shape)}."
                )
        super().__init__(input, size, is_remainder_dropped)
        self._padded, self._padding = padded, padding
        self.operands = (size, *[t for t in (*padded, *padding) if isinstance(t, Tensor)])
        self.structure = pack(
            input.structure,
            [
                Spec(spec.dtype, None if shape is None else (self._known, *shape))
                for spec, shape in zip(specs, sizes, strict=True)
            ],
        )

    def elements(self, pass_: Pass) -> Elements:
        source = elements_here(self.inputs[0], pass_)
        padded = [
            _sizes(pass_.value(shape)) if isinstance(shape, Tensor) else shape
            for shape in self._padded
        ]
        padding = [pass_.value(value) for value in self._padding]

        def filled(elements: Sequence[Element]) -> Element:
            columns = zip(zip(*elements, strict=True), padded, padding, strict=True)
            return tuple(_fill_up(parts, shape, value) for parts, shape, value in columns)

        return _Batches(source, self.size(pass_), self._drops, filled)


def _static(shape: Tensor) -> Shape:
    """Return what is known of a padded shape that a run tells."""
    rank = shape.spec.shape[0] if shape.spec.shape else None
    return None if rank is None else (None,) * rank


def _sizes(shape: numpy.ndarray) -> Shape:
    return tuple(None if size < 0 else int(size) for size in shape)


def _fill_up(parts: Sequence[numpy.ndarray], shape: Shape, value: Any) -> numpy.ndarray:
    assert shape is not None
    if len(shape) != parts[0].ndim:
        raise invalid(
            f"The padded shape {shapes.show(shape)} is not compatible with an element of shape "
            f"{list(parts[0].shape)}"
        )
    largest = [max(sizes) for sizes in zip(*[part.shape for part in parts], strict=True)]
    sizes = tuple(m if n is None else n for n, m in zip(shape, largest, strict=True))
    if any(m > n for n, m in zip(sizes, largest, strict=True)):
        raise DataLossError.saying(
            f"Attempted to pad to a smaller size than the input element: {list(largest)} is larger "
            f"than the padded shape {list(sizes)}"
        )
    value = value[()] if isinstance(value, numpy.ndarray) else value
    found = numpy.full((len(parts), *sizes), value, parts[0].dtype)
    for number, part in enumerate(parts):
        inner: Any = (number, *[slice(n) for n in part.shape])
        found[inner] = part[()] if not part.ndim else part
    return found


class SparseBatched(Batched):
    """Elements of one component and different shapes, as one sparse tensor.

    Args:
      size: how many are in a batch.
      shape: [rank], what a row is to have; -1 for the largest size of the batch. Or a tensor.
    """

    def __init__(self, input: Node, size: Any, shape: Any) -> None:
        specs = flatten(input.structure)
        rank = (shape.spec.shape or (None,))[0] if isinstance(shape, Tensor) else len(shape)
        if len(specs) != 1 or not isinstance(specs[0], Spec):
            raise ValueError(
                "dense_to_sparse_batch() takes elements of one dense component, found "
                f"{input.structure}"
            )
        known = specs[0].shape
        if known is not None and rank not in (None, len(known)):
            raise ValueError(
                f"`row_shape` is of rank {rank}, but elements have shape {shapes.show(known)}"
            )
        super().__init__(input, size, False)
        self.operands = (size, shape)
        row: Shape = None if rank is None else (None,) * rank
        if not isinstance(shape, Tensor):
            row = _sizes(shape)
        self.structure = SparseSpec(specs[0].dtype, None if row is None else (None, *row))

    def _together(self, pass_: Pass) -> Callable[[Sequence[Element]], Element]:
        wanted = numpy.asarray(pass_.value(self.operands[1]))

        def together(elements: Sequence[Element]) -> Element:
            parts = [part for (part,) in elements]
            largest = numpy.max([part.shape for part in parts], axis=0)
            sizes = numpy.where(wanted < 0, largest, wanted)
            if (largest > sizes).any():
                raise DataLossError.saying(
                    f"dense_to_sparse_batch(): an element of shape {largest.tolist()} does not fit "
                    f"into rows of shape {sizes.tolist()}"
                )
            indices = [_places(number, part.shape) for number, part in enumerate(parts)]
            value = SparseTensorValue(
                numpy.concatenate(indices),
                numpy.concatenate([part.ravel() for part in parts]),
                numpy.array([len(parts), *sizes], numpy.int64),
            )
            return (value,)

        return together


def _places(number: int, shape: Sequence[int]) -> numpy.ndarray:
    """Return the indices of all elements of a row, in their order."""
    found = numpy.indices((1, *shape)).reshape(1 + len(shape), -1).T
    found[:, 0] = number
    return found.astype(numpy.int64)


class Unbatched(Node):
    """The rows of elements, one after the other."""

    def __init__(self, input: Node) -> None:
        self.inputs = (input,)
        self.structure = map_structure(row_of, input.structure)

    @property
    def only_computes(self) -> bool:
        return self.inputs[0].only_computes

    def elements(self, pass_: Pass) -> Elements:
        return _Rows(elements_here(self.inputs[0], pass_))


class _Rows(OfSource):
    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self._reader: RowReader | None = None
        self._at = 0

    def __next__(self) -> Element:
        while self._reader is None or self._at >= self._reader.num_rows:
            parts = next(self._source)
            lengths = {
                int(p.dense_shape[0]) if isinstance(p, SparseTensorValue) else p.shape[0]
                for p in parts
            }
            if len(lengths) > 1:
                raise invalid(f"unbatch(): components of {sorted(lengths)} rows are no batch")
            self._reader = RowReader([*map(column_of, parts)], lengths.pop())
            self._at = 0
        self._at += 1
        return self._reader.row(self._at - 1)
