"""What kernels give for several elements at once, whose arrays are stacked: a rule for each.

A rule is ``rule(kernel, arguments, attrs)``. The arguments are `Stacked`, or what is the same for
all elements; so are the results, of which each row has the bits that the kernel gives for the
element alone. It is None where there is more to it than the rule knows, and the kernel is called
for one element after the other: so is every kernel without a rule here, sums and products of
matrices among them, whose bits depend on what is beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from daskvars.kernels import parsing
from daskvars.kernels.array import movement, one_hot, rearranging, slicing
from daskvars.kernels.control import flow, tensor_lists
from daskvars.kernels.gather_scatter import segments
from daskvars.kernels.linalg import products
from daskvars.kernels.math import reduce
from daskvars.kernels.nn import normalization
from daskvars.kernels.one_by_one import FLOPS_ONE_BY_ONE, Flops
from daskvars.kernels.random import distributions
from daskvars.kernels.random.philox import BLOCK_WORDS, WORD_MASK, first_blocks
from daskvars.remote.regions.pieces import MIN_FLOPS
from daskvars.remote.regions.region_program import Call

Attrs = Mapping[str, Any]
Rule = Callable[[Callable[..., Any], Sequence[Any], Attrs], Any]
TURN_SHIFT = numpy.uint64(flow.TURN_BITS)
LEAST_STREAMS = 48  # of fewer each is quicker alone (m)
MOST_BLOCKS = 8  # of what a draw takes of each stream; of more each is as quick alone (m)


class Stacked(NamedTuple):
    """What is an array of one shape for each element.

    Attributes:
      array: [elements, ...].
    """

    array: numpy.ndarray

    def each(self) -> list[Any]:
        """Return the arrays of the elements."""
        return [self.array[number, ...] for number in range(len(self.array))]

    def picked(self, places: numpy.ndarray) -> Picked:
        """Return those of some elements."""
        return Picked(self.array, places)


class Picked(NamedTuple):
    """What is stacked, of some elements alone: it is copied where a call takes it.

    Attributes:
      array: [elements, ...], of more of them.
      places: of those that are meant.
    """

    array: numpy.ndarray
    places: numpy.ndarray

    def each(self) -> list[Any]:
        """Return the arrays of the elements."""
        return [self.array[place, ...] for place in self.places.tolist()]

    def picked(self, places: numpy.ndarray) -> Picked:
        """Return those of some elements."""
        return Picked(self.array, self.places[places])


class Streams:
    """The random streams of all draws that a function makes for elements.

    Args:
      keys: [2, draws, elements] uint64.
    """

    def __init__(self, keys: numpy.ndarray) -> None:
        self._keys = keys
        self._words: numpy.ndarray | None = None

    def words(self, draw: int, count: int) -> numpy.ndarray | None:
        """Return `count` words of a draw, [elements, count]; None where each is quicker alone."""
        blocks, keys = -(-count // BLOCK_WORDS), self._keys[:, draw]
        if blocks > 1:
            are_few = keys[0].size < LEAST_STREAMS or blocks > MOST_BLOCKS
            return None if are_few else first_blocks(keys, blocks)
        if self._words is None and self._keys[0].size >= LEAST_STREAMS:
            self._words = first_blocks(self._keys)
        return None if self._words is None else self._words[draw]

    def keys(self, draw: int) -> numpy.ndarray:
        """Return the keys of a draw, [elements, 2]."""
        return self._keys[:, draw].T


class Keys(NamedTuple):
    """The random keys of a draw, one for each element."""

    streams: Streams
    draw: int
    places: numpy.ndarray

    def each(self) -> list[Any]:
        """Return the keys of the elements."""
        return [tuple(key) for key in self.streams.keys(self.draw)[self.places].tolist()]

    def picked(self, places: numpy.ndarray | slice) -> Keys:
        """Return those of some elements."""
        return self._replace(places=self.places[places])

    def words(self, count: int) -> numpy.ndarray | None:
        """Return the first words of each stream, [elements, count], or None; see `Streams`."""
        words = self.streams.words(self.draw, count)
        return None if words is None else words[self.places]


class Columns(NamedTuple):
    """Tuples, one for each element, of which the items alone are used.

    Attributes:
      columns: what they have at each position, as a register holds it.
    """

    columns: tuple[Any, ...]


def keys_of(draws: Sequence[int], numbers: Sequence[int]) -> list[Keys]:
    """Return the keys of draws."""
    of_elements = numpy.array([number & WORD_MASK for number in numbers], numpy.uint64)
    return _keys(draws, numpy.broadcast_to(of_elements, (len(draws), len(numbers))))


def keys_of_turns(keys: Sequence[tuple[int, int]], turns: range) -> list[Keys]:
    """Return the keys of draws in turns of a loop (as `flow.advanced`).

    >>> (keys,) = keys_of_turns([(1, 2)], range(3, 5))
    >>> keys.each() == [flow.advanced((1, 2), 3), flow.advanced((1, 2), 4)]
    True
    """
    first = numpy.array([key[1] & WORD_MASK for key in keys], numpy.uint64)
    steps = numpy.arange(turns.start, turns.stop, dtype=numpy.uint64) << TURN_SHIFT
    return _keys([key[0] for key in keys], first[:, None] + steps)


def _keys(draws: Sequence[int], numbers: numpy.ndarray) -> list[Keys]:
    if not draws:
        return []
    of_draws = numpy.array([draw & WORD_MASK for draw in draws], numpy.uint64)
    streams = Streams(numpy.stack([numpy.broadcast_to(of_draws[:, None], numbers.shape), numbers]))
    return [Keys(streams, draw, numpy.arange(numbers.shape[1])) for draw in range(len(draws))]


def rule_of(call: Call) -> Callable[[Sequence[Any], Attrs], Any] | None:
    """Return the rule of a call's kernel, None if it has none."""
    # A user's kernel may go by the rank that it was written for.
    is_known = call.elementwise and call.trusted
    rule = _elementwise if is_known else RULES.get(call.kernel)
    if call.kernel in FLOPS_ONE_BY_ONE:
        rule = partial(_one_by_one, FLOPS_ONE_BY_ONE[call.kernel])
    if rule is None:
        return None
    is_named = isinstance(call.kernel, str)
    kernel = getattr(numpy, call.kernel) if is_named else partial(call.kernel, numpy)
    return partial(rule, kernel)


def _elementwise(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    rank = 0
    for argument in arguments:
        if isinstance(argument, Stacked):
            rank = max(rank, argument.array.ndim - 1)
        elif isinstance(argument, numpy.ndarray | numpy.generic):
            rank = max(rank, argument.ndim)
        else:
            return None
    aligned = [_of_rank(a.array, rank) if isinstance(a, Stacked) else a for a in arguments]
    return Stacked(kernel(*aligned, **attrs))


def _of_rank(array: numpy.ndarray, rank: int) -> numpy.ndarray:
    """Return stacked arrays with dimensions of size 1 in front of those of an element."""
    missing = 1 + rank - array.ndim
    return array.reshape(len(array), *(1,) * missing, *array.shape[1:]) if missing else array


def _rows(arguments: Sequence[Any]) -> list[numpy.ndarray]:
    """Return arguments as stacked arrays: what is the same for all, repeated."""
    count = next(len(a.array) for a in arguments if isinstance(a, Stacked))
    return [
        a.array if isinstance(a, Stacked) else numpy.broadcast_to(a, (count, *numpy.shape(a)))
        for a in arguments
    ]


def _with(change: Callable[[Attrs, tuple[int, ...]], dict[str, Any]]) -> Rule:
    """Return the rule of a kernel that takes stacked arrays if some attributes are others.

    Args:
      change: gives them, of the attributes and the shape of an element.
    """

    def rule(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
        rows = _rows(arguments)
        found = kernel(*rows, **{**attrs, **change(attrs, rows[0].shape[1:])})
        return tuple(map(Stacked, found)) if isinstance(found, tuple) else Stacked(found)

    return rule


def _behind(axis: Any) -> Any:
    """Return where dimensions of an element are in a stacked array."""
    if isinstance(axis, tuple | list):
        return tuple(map(_behind, axis))
    return axis + 1 if axis >= 0 else axis


def _listed(sizes: Any) -> tuple[Any, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


def _axis(attrs: Attrs, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"axis": _behind(attrs["axis"])}


def _squeezed(attrs: Attrs, shape: tuple[int, ...]) -> dict[str, Any]:
    axis = attrs["axis"]
    if axis is None:
        axis = tuple(place for place, size in enumerate(shape) if size == 1)
    return {"axis": _behind(axis)}


def _turned(attrs: Attrs, shape: tuple[int, ...]) -> dict[str, Any]:
    perm = attrs.get("perm")
    rank = len(shape)
    perm = range(rank - 1, -1, -1) if perm is None else [axis % rank for axis in perm]
    return {"perm": (0, *_behind(tuple(perm)))}


def _padded(attrs: Attrs, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"paddings": ((0, 0), *attrs["paddings"])}


def _tiled(attrs: Attrs, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"multiples": (1, *_listed(attrs["multiples"]))}


def _ensured(attrs: Attrs, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"shape": None if attrs["shape"] is None else (None, *attrs["shape"])}


def _reshaped(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    (x,) = _rows(arguments)
    return Stacked(kernel(x, shape=(len(x), *_listed(attrs["shape"]))))


def _broadcast(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    (x,) = _rows(arguments)
    shape = _listed(attrs["shape"])
    return Stacked(kernel(_of_rank(x, len(shape)), shape=(len(x), *shape)))


def _of_shape(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    (x,) = _rows(arguments)
    return kernel(x[0], **attrs)


def _strided(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    (x,) = _rows(arguments)
    key = slicing.checked_key(slicing.index_key(**attrs), x.shape[1:])
    return Stacked(x[(slice(None), *key)])


def _sliced(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    (x,) = _rows(arguments)
    shape, begin, size = x.shape[1:], attrs["begin"], attrs["size"]
    if isinstance(size, Stacked):
        return None
    if not isinstance(begin, Stacked):
        return Stacked(x[(slice(None), *slicing.slice_bounds(shape, begin, size))])
    begins, sizes = begin.array, numpy.array(size)
    if begins.shape[1:] != (len(shape),) or sizes.shape != (len(shape),) or (sizes < 0).any():
        return None
    if (begins < 0).any() or (begins > numpy.array(shape) - sizes).any():
        return None
    found = numpy.empty((len(x), *size), x.dtype)
    for number, begun in enumerate(begins.tolist()):
        pairs = zip(begun, size, strict=True)
        found[number] = x[number][tuple([slice(first, first + count) for first, count in pairs])]
    return Stacked(found)


def _looked_up(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    params, ids = arguments
    if not isinstance(params, numpy.ndarray) or attrs.get("axis", 0) or attrs.keys() - {"axis"}:
        return None
    return Stacked(kernel(params, ids.array))


def _drawn(of_streams: Callable[..., numpy.ndarray]) -> Rule:
    """Return the rule of a kernel that draws, of what makes its numbers of many streams' words."""

    def rule(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
        (keys,) = arguments
        if not isinstance(keys, Keys):
            return None
        words = keys.words(distributions.words_drawn(attrs["shape"], attrs["dtype"]))
        return None if words is None else Stacked(of_streams(words, **attrs))

    return rule


def _multiplied(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    arrays = [a.array if isinstance(a, Stacked) else a[None] for a in arguments]
    if any(array.ndim != 3 or not array.flags.c_contiguous for array in arrays):
        return None
    a, b = arrays
    rows, columns = a.shape[1:]
    if 2.0 * rows * columns * max(b.shape[1:]) >= MIN_FLOPS:  # alone it may be in pieces
        return None
    return Stacked(kernel(a, b, **attrs))


def _one_by_one(
    flops: Flops, kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs
) -> Any:
    """Compute the images of all elements, with their own filters or with one for all."""
    w = arguments[1].array if isinstance(arguments[1], Stacked) else arguments[1]
    x = _rows(arguments)[0]
    elements, batch = x.shape[:2]
    alone = flops(x.shape[1:], w.shape[-4:], **attrs)
    if alone is None or alone >= MIN_FLOPS:
        return None
    filters = w if w is arguments[1] else w.repeat(batch, axis=0)
    found = kernel(x.reshape(elements * batch, *x.shape[2:]), filters, **attrs)
    return Stacked(found.reshape(elements, batch, *found.shape[1:]))


def _folded(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    """Fold one element after the other: the bits of a sum depend on what is beside."""
    (x,) = _rows(arguments)
    first = kernel(x[0], **attrs)
    found = numpy.empty((len(x), *first.shape), first.dtype)
    found[0] = first
    for number in range(1, len(x)):
        found[number] = kernel(x[number], **attrs)
    return Stacked(found)


def _read(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    items, index = arguments
    rows = items.all_rows() if isinstance(items, tensor_lists.TensorList) else None
    if rows is None or rows.dtype.hasobject or not rows.flags.c_contiguous:
        return None
    (places,) = _rows([index])
    if places.ndim != 1 or places.min() < 0 or places.max() >= len(rows):
        return None
    return Stacked(rows.take(places, axis=0))


def _column(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
    (turns,) = arguments
    return turns.columns[attrs["index"]]


def _texts(takes: Callable[[Sequence[Any], Attrs], bool]) -> Rule:
    """Return the rule of a kernel that goes through an array of strings one by one.

    Args:
      takes: whether it gives for them what it gives for each.
    """

    def rule(kernel: Callable[..., Any], arguments: Sequence[Any], attrs: Attrs) -> Any:
        texts, *rest = arguments
        are_alone = isinstance(texts, Stacked) and not any(isinstance(a, Stacked) for a in rest)
        if not are_alone or texts.array.ndim > 1 or not takes(arguments, attrs):
            return None
        found = kernel(texts.array, *rest, **attrs)
        return tuple(map(Stacked, found)) if isinstance(found, tuple) else Stacked(found)

    return rule


def _are_equally_long(arguments: Sequence[Any], attrs: Attrs) -> bool:
    return len({len(text) for text in arguments[0].array}) == 1


def _are_dense(arguments: Sequence[Any], attrs: Attrs) -> bool:
    return set(attrs["kinds"]) == {parsing.DENSE} and not numpy.size(arguments[1])


RULES: dict[Any, Rule] = {
    "squeeze": _with(_squeezed),
    flow.history_item: _column,
    movement.broadcast_to: _broadcast,
    movement.concat: _with(_axis),
    movement.ensure_shape: _with(_ensured),
    movement.expand_dims: _with(_axis),
    movement.rank_of: _of_shape,
    movement.reshape: _reshaped,
    movement.shape_of: _of_shape,
    movement.size_of: _of_shape,
    movement.split: _with(_axis),
    movement.split_sizes: _with(_axis),
    movement.stack: _with(_axis),
    movement.tile: _with(_tiled),
    movement.transpose: _with(_turned),
    movement.unstack: _with(_axis),
    one_hot.one_hot: _with(_axis),
    parsing.decode_csv: _texts(lambda arguments, attrs: True),
    parsing.decode_raw: _texts(_are_equally_long),
    parsing.parse_example: _texts(_are_dense),
    normalization.log_softmax: _folded,
    normalization.softmax: _folded,
    products.matmul: _multiplied,
    distributions.random_normal: _drawn(partial(distributions.normals_of_streams, within=1.0)),
    distributions.random_uniform: _drawn(distributions.uniform_of_streams),
    distributions.truncated_normal: _drawn(
        partial(distributions.normals_of_streams, within=distributions.WITHIN_TWO_SIGMA)
    ),
    reduce.argmax: _folded,
    reduce.argmin: _folded,
    reduce.logsumexp: _folded,
    reduce.reduce_all: _folded,
    reduce.reduce_any: _folded,
    reduce.reduce_max: _folded,
    reduce.reduce_mean: _folded,
    reduce.reduce_min: _folded,
    reduce.reduce_prod: _folded,
    reduce.reduce_sum: _folded,
    reduce.sum_to_shape: _folded,
    rearranging.reverse: _with(_axis),
    segments.gather_rows: _looked_up,
    slicing.mirror_pad: _with(_padded),
    slicing.pad: _with(_padded),
    slicing.slice_array: _sliced,
    slicing.strided_slice: _strided,
    tensor_lists.read: _read,
}
VARYING = {slicing.slice_array}  # whose rules take attributes that differ from element to element
