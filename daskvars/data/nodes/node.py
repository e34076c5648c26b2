"""Node: one step of a pipeline, as data; Pass: one going through it; Elements: what it gives."""

from __future__ import annotations

import copy
import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from daskvars.data.nodes.elements import Element, Together
from daskvars.errors import OpError, invalid
from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor

INFINITE = math.inf

EPOCH_DRAWS = 1 << 40  # more than there are elements in one time through
ORDER_BITS = 31  # two such numbers are an integer that arrays can hold


class Node(ABC):
    """A step of a pipeline; it never changes.

    Attributes:
      structure: of its elements, with a spec for each component.
      inputs: the nodes that it takes elements of.
      operands: tensors and arrays of its own: what they are is settled when a pass begins.
    """

    structure: Any
    inputs: Sequence[Node] = ()
    operands: Sequence[Any] = ()

    @property
    def order(self) -> int | None:
        """What the order begins with that all iterators have in common, None without such."""
        return next((node.order for node in self.inputs if node.order is not None), None)

    @property
    def only_computes(self) -> bool:
        """Whether nobody can tell when its elements are made, or whether: so they may be made
        before they are asked for."""
        return False

    def rows_in(self, pass_: Pass) -> Any:
        """Return the node whose rows its elements are in a pass, None where they are themselves.

        Rows go by their *places* until somebody needs them: the number of a row of arrays, the
        block and the position of a record of a file. What reads them is `Pass.reader` of that node.
        """
        return None

    @abstractmethod
    def elements(self, pass_: Pass) -> Elements:
        """Return what goes through the elements from the first on."""

    def check(self, pass_: Pass) -> None:  # noqa: B027 - most take anything
        """Raise InvalidArgumentError where operands are not what they have to be."""

    def numbers(self, pass_: Pass) -> list[int]:
        """Return the operands of one that has integers only."""
        return [int(pass_.value(operand)) for operand in self.operands]

    def check_positive(self, what: str, value: int) -> None:
        """Raise InvalidArgumentError where what an operand says is not greater than zero."""
        if value < 1:
            raise invalid(f"{what} must be greater than zero, found {value}")

    def count(self, pass_: Pass) -> float | None:
        """Return how many elements there are, `INFINITE`, or None where only reading tells."""
        return None

    def times(self, pass_: Pass) -> int:
        """Return how often all elements of the inputs are gone through for all of its own."""
        return 1

    def all_nodes(self) -> set[Node]:
        """Return it, and all those that its elements are made of."""
        return {self}.union(*[node.all_nodes() for node in self.inputs])

    def tensors(self) -> list[Tensor]:
        """Return the tensors of graphs around that a pass needs the values of."""
        found: ByIdentity[None] = ByIdentity()
        for node in self.inputs:
            found.update((tensor, None) for tensor in node.tensors())
        for operand in self.operands:
            found.update((tensor, None) for tensor in tensors_in(operand))
        return list(found)


def tensors_in(operand: Any) -> list[Tensor]:
    """Return the tensors that an operand is made of."""
    if isinstance(operand, SparseTensor):
        return [operand.indices, operand.values, operand.dense_shape]
    return [operand] if isinstance(operand, Tensor) else []


class Pass:
    """One going through a pipeline, from its first element to its last.

    Args:
      values: tensors of graphs around -> arrays.
      entropy: what random numbers without a seed depend on; kept with the position. Its upper
        `ORDER_BITS` are for orders that stay.
      iteration: how many passes the program began before on the same dataset.
      caches: what `cache` keeps, by node.
      path: which element of an outer pass this one is inside of.
      as_dask: whether batches of stored rows, and of records, are to be dask arrays, which the
        workers make that use them.
    """

    def __init__(
        self,
        values: Mapping[Any, Any],
        entropy: int,
        iteration: int = 0,
        caches: dict[Node, Any] | None = None,
        path: str = "",
        as_dask: bool = False,
    ) -> None:
        self._values, self.as_dask = values, as_dask
        self.entropy, self.iteration, self.path = entropy, iteration, path
        self.caches: dict[Node, Any] = {} if caches is None else caches
        self._begun: Counter[Node] = Counter()
        self._kept: dict[Any, Any] = {}
        self._here: Pass | None = None

    def value(self, operand: Any) -> Any:
        """Return the array that an operand is in this pass."""
        if isinstance(operand, SparseTensor):
            return SparseTensorValue(*[self._values[tensor] for tensor in tensors_in(operand)])
        return self._values[operand] if isinstance(operand, Tensor) else operand

    def given(self, node: Node) -> Any:
        """Return the elements of a node that a function was given, as a `Window`."""
        return self._values[node]

    def check(self, node: Node) -> None:
        """Raise InvalidArgumentError where operands of a node, or one before it, cannot be."""
        node.check(self)
        for other in node.inputs:
            self.check(other)

    def begin(self, node: Node) -> int:
        """Return how often a node was begun before in this pass, and count that."""
        self._begun[node] += 1
        return self._begun[node] - 1

    def first_draw(self, node: Node) -> int:
        """Return a number for the random draws of the first element, one more time through."""
        return self.begin(node) * EPOCH_DRAWS

    def begun(self, node: Node, times: int) -> None:
        """Note that a node and those before it were begun and gone through, in other passes."""
        self._begun[node] += times
        for other in node.inputs:
            self.begun(other, times * node.times(self))

    def here(self) -> Pass:
        """Return this pass for what needs elements in this process."""
        if not self.as_dask:
            return self
        if self._here is None:
            found = self._here = copy.copy(self)
            found.as_dask, found._kept = False, {}
        return self._here

    def reader(self, node: Any) -> Any:
        """Return what reads the rows of a node, one for the whole pass."""
        return self.kept(node, "rows", lambda: node.open_rows(self))

    def kept(self, node: Any, what: str, make: Callable[[], Any]) -> Any:
        """Return what a node has made for this pass, made now if it has not."""
        if (node, what) not in self._kept:
            self._kept[node, what] = make()
        return self._kept[node, what]

    def inside(self, values: Mapping[Any, Any], number: int, given: Mapping[Node, Any]) -> Pass:
        """Return a pass through what a function made of an element.

        Args:
          values: its tensors -> arrays.
          number: that no other element has.
          given: nodes that the function was given -> their elements.
        """
        known = ByIdentity([*self._values.items(), *values.items(), *given.items()])
        return Pass(
            known, self.entropy, self.iteration, path=f"{self.path}/{number}", as_dask=self.as_dask
        )

    def number(self, count: int) -> int:
        """Return a number for the `count`-th use of something that no other pass has."""
        if not self.path:
            return count
        digest = hashlib.blake2b(f"{self.path} {count}".encode(), digest_size=7).digest()
        return int.from_bytes(digest, "little")


class Elements(Iterator[Any]):
    """Goes through elements in their order. Threads, if it has any, end with it."""

    @abstractmethod
    def __next__(self) -> Any:
        """Return the next element, or raise StopIteration."""

    def skip(self, count: int) -> int:
        """Go past elements, as fast as can be; return how many there were.

        An element that cannot be made counts: the error that it raises was told before.
        """
        for done in range(count):
            try:
                next(self)
            except StopIteration:
                return done
            except OpError:
                continue
        return count

    def many(self, count: int) -> Sequence[Any]:
        """Return the next elements, fewer at the end.

        In the place of one that cannot be made is its error: after an `OpError` others follow,
        after any other none.
        """
        found: list[Any] = []
        while len(found) < count:
            try:
                found.append(next(self))
            except StopIteration:
                break
            except OpError as error:
                found.append(error)
            except Exception as error:  # noqa: BLE001 - raised in its turn
                return [*found, error]
        return found

    def close(self) -> None:
        """Let go of files and threads."""


class OfSource(Elements):
    """Elements made of others.

    Args:
      source: gives the others; it ends with these.
    """

    def __init__(self, source: Elements) -> None:
        self._source = source

    def close(self) -> None:
        self._source.close()


class GivenBack(OfSource):
    """Elements, some of which are given back by whoever took them, to be taken again."""

    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self._given: deque[Any] = deque()

    def give_back(self, elements: Sequence[Any]) -> None:
        """Take back what `many` gave last."""
        self._given.extendleft(reversed(elements))

    def look_ahead(self, count: int) -> None:
        """Take so many elements where none is there; they are given when they are asked for."""
        if not self._given:
            self._given.extend(kept(self._source.many(count)))

    def __next__(self) -> Any:
        if not self._given:
            return next(self._source)
        found = self._given.popleft()
        if isinstance(found, Exception):
            raise found
        return found

    def many(self, count: int) -> Sequence[Any]:
        return super().many(count) if self._given else self._source.many(count)

    def skip(self, count: int) -> int:
        return super().skip(count) if self._given else self._source.skip(count)


def kept(elements: Sequence[Any]) -> list[Any]:
    """Return elements for somebody who keeps some of them: each has memory of its own."""
    if not isinstance(elements, Together):
        return list(elements)
    return [tuple([part.copy() for part in element]) for element in elements]


def has_errors(found: Sequence[Any]) -> bool:
    """Return whether there are errors among what `Elements.many` gave."""
    return not isinstance(found, Together) and any(isinstance(each, Exception) for each in found)


def goes_on(found: Any) -> bool:
    """Return whether others may follow an element that was found, or an error in its place."""
    return isinstance(found, OpError) or not isinstance(found, Exception)


class InTurn(Elements):
    """Elements that are given as an iterable."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)

    def __next__(self) -> Any:
        return next(self._items)

    def close(self) -> None:
        if hasattr(self._items, "close"):
            self._items.close()


class Rows(Elements):
    """Numbers of rows.

    Args:
      stop: how many there are.
      at: the first.
      step: how far it is from one to the next.
    """

    def __init__(self, stop: int, at: int = 0, step: int = 1) -> None:
        self._all, self._at = range(at, stop, step), 0

    def __next__(self) -> int:
        if self._at >= len(self._all):
            raise StopIteration
        self._at += 1
        return self._all[self._at - 1]

    def skip(self, count: int) -> int:
        done = min(count, len(self._all) - self._at)
        self._at += done
        return done

    def many(self, count: int) -> list[int]:
        found = self._all[self._at : self._at + count]
        self._at += len(found)
        return list(found)


class _Read(Elements):
    """Rows by their numbers, read."""

    def __init__(self, numbers: Elements, reader: Any) -> None:
        self._numbers, self._reader = numbers, reader

    def __next__(self) -> Element:
        return self._reader.row(next(self._numbers))

    def many(self, count: int) -> Sequence[Element]:
        if not self._reader.is_dense:
            return super().many(count)
        numbers = self._numbers.many(count)
        return Together(self._reader.gather(numbers)) if numbers else []

    def skip(self, count: int) -> int:
        return self._numbers.skip(count)

    def close(self) -> None:
        self._numbers.close()


def read_elements(node: Node, pass_: Pass) -> Elements:
    """Return the elements of a node themselves, never the places of rows."""
    if node.rows_in(pass_) is None:
        return node.elements(pass_)
    here = pass_.here()
    rows, found = node.rows_in(here), node.elements(here)
    return found if rows is None else _Read(found, here.reader(rows))


def elements_here(node: Node, pass_: Pass) -> Elements:
    """Return the elements of a node as arrays of this process."""
    return read_elements(node, pass_.here())


def one_count(count: float | None) -> int | None:
    """Return a count that is known and ends, else None."""
    return None if count is None or count == INFINITE else int(count)
