"""What a queue is while a program runs: elements in this process, and who waits for them.

As in TensorFlow, those who wait are served in the order in which they came: an enqueue puts in as
many of its elements as there is room for, a dequeue takes what there is, and each waits for the
rest while the next stands behind it. Closing stands in the line of the enqueues.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.dtypes import DType
from daskvars.errors import (
    CancelledError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    invalid,
)
from daskvars.execution.engine.values.blocks import kept
from daskvars.execution.host_ops.resources import Waiting
from daskvars.shapes import Shape, compatible, in_brackets

Element = tuple[numpy.ndarray, ...]


class Components(NamedTuple):
    """What the elements of a queue are made of.

    Attributes:
      shapes: of each, none where they may differ from element to element.
    """

    dtypes: tuple[DType, ...]
    shapes: tuple[Shape, ...] | None

    def fits(self, shapes: Sequence[tuple[int, ...]], rows: tuple[int, ...] = ()) -> None:
        """Raise InvalidArgumentError unless components of these shapes may be put in.

        Args:
          shapes: of each component, of all `rows` of it.
          rows: how many rows there are.
        """
        for i, (each, found) in enumerate(zip(self.shapes or (), shapes, strict=False)):
            wanted = None if each is None else (*rows, *each)
            if not compatible(wanted, found):
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected {in_brackets(wanted)}, "
                    f"got {in_brackets(found)}"
                )


class Attempt:
    """One call of an op that changes a queue.

    Attributes:
      step: goes on as far as it can, returns whether the attempt is over, and raises its error.
      is_over: whether it has ended.
    """

    def __init__(self, step: Callable[[], bool]) -> None:
        self.step = step
        self.error: OpError | None = None
        self.is_over = False


class Queue:
    """Elements in the order in which they came, and the attempts that wait.

    Args:
      name: for errors.
      capacity: how many elements there may be; None or negative for any number.

    Attributes:
      said: what the first op that asked for it said of it, by name.
    """

    kind = "FIFOQueue"
    said: dict[str, Any] | None = None
    gives_rests = True  # whether what is left when it is closed can be a smaller batch

    def __init__(self, name: str, capacity: int | None, components: Components) -> None:
        self.name = name
        self.capacity = None if capacity is None or capacity < 0 else capacity
        self.components = components
        self.is_closed = False
        self.changed = threading.Condition()
        self._enqueues: deque[Attempt] = deque()
        self._dequeues: deque[Attempt] = deque()
        self._clear()

    # -- how elements are kept: what differs between queues -----------------------------------

    def _clear(self) -> None:
        self._elements: Any = deque()

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        return self._elements.popleft()

    def _put_back(self, elements: list[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def _has_room(self, element: Element) -> bool:
        """Return whether an element may be put in now."""
        return self.capacity is None or len(self._elements) < self.capacity

    def _num_free(self) -> int:
        """Return how many elements may be taken now."""
        return len(self._elements)

    def _joined(self, elements: list[Element]) -> Element:
        """Return elements as a batch."""
        return tuple([_stacked(rows, d) for rows, d in self._columns(elements)])

    def _columns(self, elements: list[Element]) -> Iterable[tuple[list[numpy.ndarray], DType]]:
        columns = map(list, zip(*elements, strict=True))
        return zip(columns, self.components.dtypes, strict=True)

    # -- what ops call ------------------------------------------------------------------------

    def size(self) -> int:
        """Return the number of elements."""
        with self.changed:
            return len(self._elements)

    def enqueue(self, elements: Sequence[Element], waiting: Waiting) -> None:
        """Put elements in, as soon as there is room for them.

        Raises:
          InvalidArgumentError: one has another shape than the queue's; none was put in.
          CancelledError: the queue is closed, or the wait was cancelled.
        """
        for element in elements:
            self.components.fits([numpy.shape(part) for part in element])
        left = deque(tuple(map(kept, element)) for element in elements)

        def step() -> bool:
            if self.is_closed:
                raise CancelledError.saying(f"{self.kind} '{self.name}' is closed.")
            while left and self._has_room(left[0]):
                self._put(left.popleft())
                self._moved = True
            return not left

        self._wait(step, self._enqueues, waiting, "Enqueue operation")

    def dequeue(self, waiting: Waiting) -> Element:
        """Take an element, as soon as there is one."""
        (found,) = self._taken(1, False, waiting)
        return found

    def dequeue_many(self, count: int, waiting: Waiting, up_to: bool = False) -> Element:
        """Take as many elements as a batch has, as soon as they are there.

        Args:
          up_to: once the queue is closed, take those that are left.

        Raises:
          OutOfRangeError: the queue is closed and will never have as many.
          CancelledError: the wait was cancelled.
        """
        if count < 0:
            raise invalid(f"DequeueManyOp requested {count} < 0 elements")
        if not count:
            shapes = [tuple(n or 0 for n in shape or ()) for shape in self.components.shapes or ()]
            pairs = zip(shapes, self.components.dtypes, strict=True)
            return tuple([numpy.empty((0, *shape), dtype.np) for shape, dtype in pairs])
        return self._joined(self._taken(count, up_to, waiting))

    def _taken(self, count: int, up_to: bool, waiting: Waiting) -> list[Element]:
        taken: list[Element] = []
        wanted = count

        def step() -> bool:
            nonlocal wanted
            free = self._num_free()
            if self.is_closed and free < wanted - len(taken):
                size = len(self._elements)
                if up_to and self.gives_rests and free + len(taken):
                    wanted = free + len(taken)
                else:
                    self._put_back(taken)
                    requested = wanted - len(taken)
                    taken.clear()
                    raise OutOfRangeError.saying(
                        f"{self.kind} '{self.name}' is closed and has insufficient elements "
                        f"(requested {requested}, current size {size})"
                    )
            while len(taken) < wanted and self._num_free() > 0:
                taken.append(self._take())
                self._moved = True
            return len(taken) == wanted

        self._wait(
            step, self._dequeues, waiting, "Dequeue operation", lambda: self._put_back(taken)
        )
        return taken

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Let no more elements be put in, once those who wait to do so have.

        Args:
          cancel_pending_enqueues: rather let them end with CancelledError.

        Raises:
          CancelledError: it is closed already.
        """

        def step() -> bool:
            if self.is_closed:
                raise CancelledError.saying(f"Queue '{self.name}' is already closed.")
            self.is_closed = True
            return True

        with self.changed:
            if cancel_pending_enqueues:
                for pending in self._enqueues:
                    pending.error = CancelledError.saying("Enqueue operation was cancelled")
                    pending.is_over = True
                self._enqueues.clear()
            attempt = Attempt(step)
            self._enqueues.append(attempt)
            self._flush()
            if attempt.error is not None:
                raise attempt.error

    # -- the lines ----------------------------------------------------------------------------

    def _wait(
        self,
        step: Callable[[], bool],
        line: deque[Attempt],
        waiting: Waiting,
        what: str,
        undo: Callable[[], None] = lambda: None,
    ) -> None:
        attempt = Attempt(step)
        with self.changed:
            line.append(attempt)
            self._flush()
            if not attempt.is_over:
                try:
                    waiting.until(self.changed, lambda: attempt.is_over, what)
                except BaseException:
                    if not attempt.is_over:
                        line.remove(attempt)
                        undo()
                        self._flush()
                        raise
        if attempt.error is not None:
            raise attempt.error

    def _flush(self) -> None:
        """Let the first in each line go on, until neither can."""
        self._moved = True
        while self._moved:
            self._moved = False
            for line in (self._enqueues, self._dequeues):
                while line and self._goes_on(line[0]):
                    line.popleft()
                    self._moved = True
        self.changed.notify_all()

    @staticmethod
    def _goes_on(attempt: Attempt) -> bool:
        try:
            attempt.is_over = attempt.step()
        except OpError as error:
            attempt.error, attempt.is_over = error, True
        return attempt.is_over


class PaddingQueue(Queue):
    """Elements of which some dimensions differ; a batch is as long as the longest in it."""

    kind = "PaddingFIFOQueue"

    def _joined(self, elements: list[Element]) -> Element:
        return tuple([_padded(rows, dtype) for rows, dtype in self._columns(elements)])


class ShuffleQueue(Queue):
    """Elements that are taken at random.

    Args:
      min_after_dequeue: how many stay behind, so that there is something to choose from.
      seed: two numbers; the same numbers give the same choices.
    """

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        capacity: int | None,
        components: Components,
        min_after_dequeue: int,
        seed: tuple[int, int] | None,
    ) -> None:
        super().__init__(name, capacity, components)
        self._min_after_dequeue = min_after_dequeue
        self._random = numpy.random.default_rng(seed)

    def _clear(self) -> None:
        self._elements = []

    def _take(self) -> Element:
        """Take one; the last takes its place."""
        index = int(self._random.integers(len(self._elements)))
        self._elements[index], self._elements[-1] = self._elements[-1], self._elements[index]
        return self._elements.pop()

    def _put_back(self, elements: list[Element]) -> None:
        self._elements.extend(elements)

    def _num_free(self) -> int:
        kept = 0 if self.is_closed else self._min_after_dequeue
        return len(self._elements) - kept


class LeastFirstQueue(Queue):
    """Elements of which the one with the least first component is taken, the oldest of several."""

    kind = "PriorityQueue"
    gives_rests = False

    def _clear(self) -> None:
        self._elements = []
        self._count = itertools.count()

    def _put(self, element: Element) -> None:
        heapq.heappush(self._elements, (int(element[0]), next(self._count), element))

    def _take(self) -> Element:
        return heapq.heappop(self._elements)[-1]

    def _put_back(self, elements: list[Element]) -> None:
        for number, element in enumerate(elements):
            heapq.heappush(self._elements, (int(element[0]), number - len(elements), element))


class StagedElements(Queue):
    """Elements that may be looked at where they are, and together have no more than some bytes.

    Args:
      capacity: how many there may be; 0 for any number.
      memory_limit: how many bytes they may have together; 0 for any number.
    """

    kind = "StagingArea"

    def __init__(self, name: str, capacity: int, components: Components, memory_limit: int) -> None:
        super().__init__(name, capacity or None, components)
        self.memory_limit = memory_limit

    def _has_room(self, element: Element) -> bool:
        bytes_after = sum(map(_bytes_of, [*self._elements, element])) if self.memory_limit else 0
        return super()._has_room(element) and bytes_after <= self.memory_limit

    def enqueue(self, elements: Sequence[Element], waiting: Waiting) -> None:
        """Put elements in, as soon as there is room for them.

        Raises:
          ResourceExhaustedError: for one of them alone there will never be.
        """
        largest = max(map(_bytes_of, elements), default=0)
        if self.memory_limit and largest > self.memory_limit:
            raise ResourceExhaustedError.saying(
                f"Attempted to insert tensors with combined size of '{largest}' bytes into Staging "
                f"Area '{self.name}' with a memory limit of '{self.memory_limit}'."
            )
        super().enqueue(elements, waiting)

    def peek(self, index: int, waiting: Waiting) -> Element:
        """Return the element of a place, as soon as there is one, and leave it there.

        Raises:
          InvalidArgumentError: the place is negative.
        """
        if index < 0:
            raise invalid(f"there is no element {index} to look at")
        with self.changed:
            waiting.until(self.changed, lambda: len(self._elements) > index, "Peek operation")
            return self._elements[index]

    def clear(self) -> None:
        """Take out all elements."""
        with self.changed:
            self._clear()
            self._flush()


def _bytes_of(element: Element) -> int:
    return sum(
        sum(map(len, part.flat)) if part.dtype.kind == "O" else part.nbytes
        for part in map(numpy.asarray, element)
    )


def _stacked(rows: list[numpy.ndarray], dtype: DType) -> numpy.ndarray:
    found = numpy.empty((len(rows), *numpy.shape(rows[0])), dtype.np)
    for number, row in enumerate(rows):
        found[number, ...] = row
    return found


def _padded(rows: list[numpy.ndarray], dtype: DType) -> numpy.ndarray:
    """Return rows one after the other, each with zeros (empty strings) behind it."""
    shape = [max(sizes) for sizes in zip(*[row.shape for row in rows], strict=True)]
    found = numpy.zeros((len(rows), *shape), dtype.np)
    if dtype.np.kind == "O":
        found[...] = b""
    for number, row in enumerate(rows):
        place: Any = (number, *map(slice, row.shape), ...)
        found[place] = row
    return found
