"""Which elements come, and when: shuffled, repeated, some left out, several inputs together."""

from __future__ import annotations

import functools
import hashlib
import itertools
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from daskvars.data.nodes.elements import Together, flatten, map_structure, most_specific
from daskvars.data.nodes.node import (
    INFINITE,
    ORDER_BITS,
    Elements,
    GivenBack,
    Node,
    OfSource,
    Pass,
    goes_on,
    has_errors,
    kept,
    one_count,
    read_elements,
)
from daskvars.errors import invalid
from daskvars.graph.tensor import Tensor

TAKEN = 256  # elements that a buffer takes at once


class OfOne(Node):
    """A node that gives elements of its only input as they are."""

    def __init__(self, input: Node, *operands: Any) -> None:
        self.inputs, self.operands = (input,), operands
        self.structure = input.structure

    @property
    def only_computes(self) -> bool:
        return self.input.only_computes

    def rows_in(self, pass_: Pass) -> Any:
        return self.input.rows_in(pass_)

    def count(self, pass_: Pass) -> float | None:
        return self.input.count(pass_)

    @property
    def input(self) -> Node:
        """The input."""
        return self.inputs[0]

    def number(self, pass_: Pass) -> int:
        """Return the first operand, an integer."""
        return int(pass_.value(self.operands[0]))


# -- shuffled --------------------------------------------------------------------------------------


class Shuffled(OfOne):
    """Elements drawn from a buffer that is filled up again by those that follow.

    Args:
      seeds: of the graph and of the shuffle, which may be a tensor; (None, None) for another order
        in each program.
      is_anew: whether each time through has an order of its own.
    """

    def __init__(self, input: Node, size: Any, seeds: tuple[Any, Any], is_anew: bool) -> None:
        super().__init__(input, size, *[seed for seed in seeds if isinstance(seed, Tensor)])
        self._seeds, self._is_anew = seeds, is_anew
        self._order = None if is_anew or seeds[0] is not None else secrets.randbits(ORDER_BITS)

    @property
    def order(self) -> int | None:
        return super().order if self._order is None else self._order

    def rows_in(self, pass_: Pass) -> Any:
        rows = self.input.rows_in(pass_)
        if rows is not None and rows.is_stored and not pass_.as_dask:
            return None  # a buffer of rows, read one after the other, not of their places
        return rows

    def check(self, pass_: Pass) -> None:
        self.check_positive("buffer_size", self.number(pass_))

    def elements(self, pass_: Pass) -> Elements:
        draws = draws_of(pass_, pass_.begin(self), self._seeds, self._is_anew)
        rows, size = self.rows_in(pass_), self.number(pass_)
        if rows is None:
            return _Shuffle(read_elements(self.input, pass_), size, draws, False)
        pass_.reader(rows).mix(size)
        return _Shuffle(self.input.elements(pass_), size, draws, not rows.may_fail)


def draws_of(
    pass_: Pass, begun: int, seeds: tuple[Any, Any], is_anew: bool
) -> numpy.random.Generator:
    """Return the random numbers of one time through a node.

    Args:
      begun: how often the node was gone through before in it.
      seeds: of the graph and of the node, which may be a tensor; (None, None) for those of the
        pass.
      is_anew: whether each time through has numbers of its own.
    """
    seed: Any = pass_.entropy if is_anew else pass_.entropy >> ORDER_BITS
    if seeds[0] is not None:
        seed = tuple(int(pass_.value(each)) for each in seeds)
    times = (pass_.iteration, begun) if is_anew else (0, 0)
    digest = hashlib.blake2b(f"{seed} {times}".encode(), digest_size=16).digest()
    return numpy.random.Generator(numpy.random.PCG64(int.from_bytes(digest, "little")))


class _Shuffle(OfSource):
    """Draws from a full buffer; when no more elements follow, what is left comes in a permutation.

    Args:
      source: the elements, or the places of rows.
      has_rows: whether the source gives places, and never fails.
    """

    def __init__(
        self, source: Elements, size: int, draws: numpy.random.Generator, has_rows: bool
    ) -> None:
        self._given = GivenBack(source)
        super().__init__(source if has_rows else self._given)
        self._size, self._draws, self._has_rows = size, draws, has_rows
        self._buffer: list[Any] = []
        self._rest: Iterator[Any] | None = None

    def __next__(self) -> Any:
        buffer = self._buffer
        while self._rest is None and len(buffer) < self._size:
            try:
                buffer.append(next(self._source))
            except StopIteration:
                self._end()
        if self._rest is not None:
            return next(self._rest)
        return self._drawn(float(self._draws.random()))

    def _drawn(self, draw: float) -> Any:
        buffer = self._buffer
        place, last = int(draw * len(buffer)), buffer.pop()
        if place == len(buffer):
            return last
        found, buffer[place] = buffer[place], last
        return found

    def _end(self) -> None:
        left = self._buffer
        self._rest = iter([left[i] for i in self._draws.permutation(len(left)).tolist()])
        self._buffer = []

    def many(self, count: int) -> list[Any]:
        found: list[Any] = []
        if self._rest is None:
            missing = self._size - len(self._buffer)
            coming = self._coming(missing + count - 1)
            if not self._has_rows and has_errors(coming):
                self._given.give_back(coming)
                return list(super().many(count))
            self._buffer += coming[:missing]
            coming = coming[missing:]
            if len(self._buffer) == self._size:
                first, *draws = self._draws.random(1 + len(coming)).tolist()
                found.append(self._drawn(first))
                for draw, element in zip(draws, coming, strict=True):
                    self._buffer.append(element)
                    found.append(self._drawn(draw))
            if len(found) < count:
                self._end()
        if self._rest is not None:
            found += itertools.islice(self._rest, count - len(found))
        return found

    def _coming(self, count: int) -> list[Any]:
        """Return the next elements: some at a time, as each is copied to be kept."""
        if self._has_rows:
            return list(self._source.many(count))
        found: list[Any] = []
        while len(found) < count:
            wanted = min(count - len(found), TAKEN)
            part = self._source.many(wanted)
            found += kept(part)
            if len(part) < wanted:
                break
        return found

    def skip(self, count: int) -> int:
        if not self._has_rows:
            return super().skip(count)
        done = 0
        while done < count:
            found = len(self.many(min(count - done, 4096)))
            if not found:
                break
            done += found
        return done


# -- how often, and how many -----------------------------------------------------------------------


class Repeated(OfOne):
    """All elements again, a number of times; -1 for without end."""

    def count(self, pass_: Pass) -> float | None:
        times, count = self.number(pass_), self.input.count(pass_)
        if count is None or not count or not times:
            return 0 if count == 0 or times == 0 else None
        return INFINITE if times < 0 else count * times

    def times(self, pass_: Pass) -> int:
        return self.number(pass_)

    def elements(self, pass_: Pass) -> Elements:
        return _Repeat(self.input, pass_, self.number(pass_))


class _Repeat(Elements):
    def __init__(self, node: Node, pass_: Pass, times: int) -> None:
        self._node, self._pass, self._left = node, pass_, times
        self._source: Elements | None = None
        self._has_given = False  # the source, an element

    def __next__(self) -> Any:
        while (source := self._begun()) is not None:
            for found in source:
                self._has_given = True
                return found
            self._ended()
        raise StopIteration

    def _begun(self) -> Elements | None:
        """Return what gives the elements of this time through, None after the last."""
        if self._source is None and self._left:
            self._left -= 1
            self._has_given = False
            self._source = self._node.elements(self._pass)
        return self._source

    def _ended(self) -> None:
        assert self._source is not None
        self._source.close()
        self._source = None
        if not self._has_given:
            self._left = 0  # nothing, however often

    def many(self, count: int) -> Sequence[Any]:
        found: list[Any] = []
        while (source := self._begun()) is not None:
            part = source.many(count - len(found))
            self._has_given |= any(not isinstance(each, Exception) for each in part)
            if len(part) == count:
                return part
            found += part
            if len(found) == count or (part and not goes_on(part[-1])):
                break
            self._ended()
        return found

    def skip(self, count: int) -> int:
        done = 0
        while done < count and (self._left or self._source is not None):
            whole = one_count(self._node.count(self._pass)) if self._source is None else None
            if whole and not _keeps(self._node):
                times = (count - done) // whole
                if self._left > 0:
                    times = min(times, self._left)
                    self._left -= times
                self._pass.begun(self._node, times)
                done += times * whole
                if done == count:
                    break
            source = self._begun()
            if source is None:
                break
            found = source.skip(count - done)
            self._has_given |= bool(found)
            done += found
            if done < count:
                self._ended()
        return done

    def close(self) -> None:
        if self._source is not None:
            self._source.close()


def _keeps(node: Node) -> bool:
    """Return whether a time through leaves something that the next one takes."""
    return isinstance(node, Cached) or any(map(_keeps, node.inputs))


class Taken(OfOne):
    """The first elements; -1 for all."""

    def count(self, pass_: Pass) -> float | None:
        first, count = self.number(pass_), self.input.count(pass_)
        return count if first < 0 or count is None else min(first, count)

    def elements(self, pass_: Pass) -> Elements:
        source, first = self.input.elements(pass_), self.number(pass_)
        return source if first < 0 else _Take(source, first)


class _Take(OfSource):
    def __init__(self, source: Elements, left: int) -> None:
        super().__init__(source)
        self._left = left

    def __next__(self) -> Any:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return next(self._source)

    def many(self, count: int) -> Sequence[Any]:
        found = self._source.many(min(count, self._left))
        self._left -= len(found)
        return found

    def skip(self, count: int) -> int:
        found = self._source.skip(min(count, self._left))
        self._left -= found
        return found


class Skipped(OfOne):
    """All but the first elements; -1 for none at all."""

    def count(self, pass_: Pass) -> float | None:
        first, count = self.number(pass_), self.input.count(pass_)
        if first < 0:
            return 0
        return None if count is None else max(count - first, 0)

    def elements(self, pass_: Pass) -> Elements:
        source, first = self.input.elements(pass_), self.number(pass_)
        return _Take(source, 0) if first < 0 else _Skip(source, first)


class _Skip(OfSource):
    def __init__(self, source: Elements, first: int) -> None:
        super().__init__(source)
        self._first = first

    def _begun(self) -> Elements:
        if self._first:
            self._source.skip(self._first)
            self._first = 0
        return self._source

    def __next__(self) -> Any:
        return next(self._begun())

    def many(self, count: int) -> Sequence[Any]:
        return self._begun().many(count)

    def skip(self, count: int) -> int:
        return self._begun().skip(count)


class Sharded(OfOne):
    """Each `num_shards`-th element, from the `index`-th on."""

    def check(self, pass_: Pass) -> None:
        num_shards, index = self.numbers(pass_)
        if num_shards < 1:
            raise invalid(f"shard(): num_shards must be >= 1: {num_shards}")
        if not 0 <= index < num_shards:
            raise invalid(f"shard(): index must be between 0 and {num_shards - 1}, found {index}")

    def count(self, pass_: Pass) -> float | None:
        num_shards, index = self.numbers(pass_)
        count = self.input.count(pass_)
        return count if count is None or count == INFINITE else -(-(count - index) // num_shards)

    def elements(self, pass_: Pass) -> Elements:
        return _Shard(self.input.elements(pass_), *self.numbers(pass_))


class _Shard(OfSource):
    def __init__(self, source: Elements, num_shards: int, index: int) -> None:
        super().__init__(source)
        self._step, self._before = num_shards, index

    def __next__(self) -> Any:
        self._source.skip(self._before)
        self._before = self._step - 1
        return next(self._source)

    def skip(self, count: int) -> int:
        if not count:
            return 0
        wanted = self._before + 1 + (count - 1) * self._step
        found = self._source.skip(wanted)
        if found == wanted:
            self._before = self._step - 1
            return count
        done = 0 if found <= self._before else 1 + (found - self._before - 1) // self._step
        self._before = self._step
        return done


# -- several inputs --------------------------------------------------------------------------------


class Joined(Node):
    """The elements of one input, then those of another."""

    def __init__(self, first: Node, second: Node) -> None:
        self.inputs = (first, second)
        self.structure = most_specific(
            first.structure, second.structure, "concatenate(): the two datasets"
        )

    def count(self, pass_: Pass) -> float | None:
        counts = [node.count(pass_) for node in self.inputs]
        return None if None in counts else sum(c for c in counts if c is not None)

    def elements(self, pass_: Pass) -> Elements:
        return _Join(self.inputs, pass_)


class _Join(OfSource):
    def __init__(self, nodes: Sequence[Node], pass_: Pass) -> None:
        super().__init__(read_elements(nodes[0], pass_))
        self._rest, self._pass = list(nodes[1:]), pass_

    def _go_on(self) -> bool:
        if not self._rest:
            return False
        self._source.close()
        self._source = read_elements(self._rest.pop(0), self._pass)
        return True

    def __next__(self) -> Any:
        while True:
            try:
                return next(self._source)
            except StopIteration:
                if not self._go_on():
                    raise

    def skip(self, count: int) -> int:
        done = self._source.skip(count)
        while done < count and self._go_on():
            done += self._source.skip(count - done)
        return done


class Zipped(Node):
    """One element of each input, together.

    Args:
      datasets: the inputs, in the structure that they are given in.
    """

    def __init__(self, datasets: Any) -> None:
        self.inputs = flatten(datasets)
        self.structure = map_structure(lambda node: node.structure, datasets)

    def count(self, pass_: Pass) -> float | None:
        counts = [node.count(pass_) for node in self.inputs]
        return None if None in counts else min(c for c in counts if c is not None)

    @property
    def only_computes(self) -> bool:
        return all(node.only_computes for node in self.inputs)

    @functools.cached_property
    def _can_be_together(self) -> bool:
        """Whether several elements of an input may be made before those of the next one.

        What two inputs have in common counts how often it is begun: in the order of elements.
        """
        nodes = [{n for n in node.all_nodes() if n.inputs} for node in self.inputs]
        return self.only_computes and len(set().union(*nodes)) == sum(map(len, nodes))

    def elements(self, pass_: Pass) -> Elements:
        sources = [read_elements(node, pass_) for node in self.inputs]
        return _ZipTogether(sources) if self._can_be_together else _Zip(sources)


class _Zip(Elements):
    def __init__(self, sources: Sequence[Elements]) -> None:
        self._sources = sources

    def __next__(self) -> Any:
        return tuple([part for source in self._sources for part in next(source)])

    def skip(self, count: int) -> int:
        return min(source.skip(count) for source in self._sources)

    def close(self) -> None:
        for source in self._sources:
            source.close()


class _ZipTogether(_Zip):
    _sources: Sequence[GivenBack]

    def __init__(self, sources: Sequence[Elements]) -> None:
        super().__init__([GivenBack(source) for source in sources])

    def many(self, count: int) -> Sequence[Any]:
        found = [source.many(count) for source in self._sources]
        if any(map(has_errors, found)):
            for source, elements in zip(self._sources, found, strict=True):
                source.give_back(elements)
            return super().many(count)
        num = min(map(len, found))
        first = [each[:num] for each in found]
        whole = [each.columns for each in first if isinstance(each, Together)]
        if len(whole) == len(first):
            return Together(tuple(itertools.chain.from_iterable(whole)))
        rows = zip(*map(kept, first), strict=True)
        return [tuple(itertools.chain.from_iterable(row)) for row in rows]


# -- kept ------------------------------------------------------------------------------------------


class Cached(OfOne):
    """The elements, kept in memory when they were gone through for the first time."""

    only_computes = False  # what was gone through to its end is kept

    def rows_in(self, pass_: Pass) -> Any:
        rows = self.input.rows_in(pass_)
        return None if rows is None or rows.may_fail else rows  # what is kept is read once

    def elements(self, pass_: Pass) -> Elements:
        return _Cache(self, pass_)


class _Cache(Elements):
    def __init__(self, node: Cached, pass_: Pass) -> None:
        self._node, self._pass, self._at = node, pass_, 0
        kept = pass_.caches.get(node)
        self._kept: list[Any] = [] if kept is None else kept
        self._source = None
        if kept is None:
            has_rows = node.rows_in(pass_) is not None
            self._source = (
                node.input.elements(pass_) if has_rows else read_elements(node.input, pass_)
            )

    def __next__(self) -> Any:
        if self._source is None:
            if self._at >= len(self._kept):
                raise StopIteration
            self._at += 1
            return self._kept[self._at - 1]
        try:
            found = next(self._source)
        except StopIteration:
            self._pass.caches[self._node] = self._kept
            raise
        self._kept.append(found)
        return found

    def many(self, count: int) -> Sequence[Any]:
        if self._source is None:
            found = self._kept[self._at : self._at + count]
            self._at += len(found)
            return found
        coming = list(self._source.many(count))  # each by itself, so that a batch copies it
        self._kept += [each for each in coming if not isinstance(each, Exception)]
        if len(coming) < count and (not coming or goes_on(coming[-1])):
            self._pass.caches[self._node] = self._kept
        return coming

    def skip(self, count: int) -> int:
        if self._source is not None:
            return super().skip(count)
        done = min(count, len(self._kept) - self._at)
        self._at += done
        return done

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
