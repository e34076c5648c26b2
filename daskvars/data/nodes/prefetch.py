"""Elements that are prepared ahead of their use, in a thread."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from contextvars import copy_context
from typing import Any

from daskvars.data.nodes.elements import Element
from daskvars.data.nodes.mapping import AUTOTUNE
from daskvars.data.nodes.node import Elements, Pass, kept, read_elements
from daskvars.data.nodes.ordering import OfOne
from daskvars.errors import invalid

FEW = 2  # elements that are prepared where nobody says how many
# Of a buffer that is filled at once, where nobody can tell: functions are called for all of these
# together, but the first of them waits for the last.
SHARE = 4
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 1e-4, 0.05


class Prefetched(OfOne):
    """The elements, some of them prepared ahead."""

    def rows_in(self, pass_: Pass) -> None:
        return None

    def check(self, pass_: Pass) -> None:
        size = self.number(pass_)
        if size < 0 and size != AUTOTUNE:
            raise invalid(f"buffer_size must be >= 0, found {size}")

    def elements(self, pass_: Pass) -> Elements:
        size = self.number(pass_)
        source = read_elements(self.input, pass_)
        most = max(1, size // SHARE) if self.only_computes else 1
        return _Ahead(source, FEW if size == AUTOTUNE else size, most) if size else source


class _Buffer:
    """What one thread puts and another takes.

    Taking wakes nobody as long as there is something: to wake a thread takes longer than many a
    step. So whoever puts looks again by itself whether there is room, soon where elements are taken
    fast and rarely where nobody takes any; it is woken where the buffer is empty.

    Attributes:
      is_left: whether nobody takes any more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: deque[tuple[Any, BaseException | None]] = deque()
        self._changed = threading.Condition()
        self._is_starved = False  # somebody waits for an element
        self._pause_s = SHORTEST_PAUSE_S
        self.is_left = False

    def put(self, element: Any, error: BaseException | None = None) -> None:
        """Add an element, or the error that is in its place, when there is room."""
        with self._changed:
            pause_s, waited = self._pause_s, 0
            while len(self._items) >= self._size and not self.is_left:
                self._changed.wait(pause_s)
                waited += 1
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            if waited > 1:  # it looked too soon: by half as much again the next time
                self._pause_s = min(1.5 * self._pause_s, LONGEST_PAUSE_S)
            elif waited == 0 or self._is_starved:
                self._pause_s = max(self._pause_s / 2, SHORTEST_PAUSE_S)
            self._items.append((element, error))
            if self._is_starved:
                self._changed.notify_all()

    @property
    def room(self) -> int:
        """How many more elements there may be."""
        return self._size - len(self._items)

    def take(self) -> Any:
        """Return the next element when it is there; raise its error."""
        if not self._items:
            with self._changed:
                self._is_starved = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._items)
                self._is_starved = False
        element, error = self._items[0]
        if isinstance(error, StopIteration):
            raise StopIteration
        self._items.popleft()
        if error is not None:
            raise error
        return element

    def leave(self) -> None:
        """End the thread that puts."""
        with self._changed:
            self.is_left = True
            self._changed.notify_all()


class _Ahead(Elements):
    """Prepares elements in a thread, which begins when the first is asked for.

    Args:
      size: how many there are at most.
      most: how many are prepared at once, at most.
    """

    def __init__(self, source: Elements, size: int, most: int) -> None:
        self._source, self._buffer, self._most = source, _Buffer(size), most
        self._thread: threading.Thread | None = None

    def __next__(self) -> Element:
        if self._thread is None:
            # In the context of who asks first: dask arrays are computed by the client there.
            self._thread = threading.Thread(
                target=copy_context().run,
                args=(_prepare, self._source, self._buffer, self._most),
                name="daskvars-prefetch",
                daemon=True,
            )
            weakref.finalize(self, self._buffer.leave).atexit = False
            self._thread.start()
        return self._buffer.take()

    def skip(self, count: int) -> int:
        return self._source.skip(count) if self._thread is None else super().skip(count)

    def close(self) -> None:
        self._buffer.leave()
        if self._thread is None:
            self._source.close()


def _prepare(source: Elements, buffer: _Buffer, most: int) -> None:
    """Put elements into a buffer, and their errors, until the end."""
    count = 1
    while not buffer.is_left:
        try:
            elements = kept(source.many(count))
        except BaseException as error:  # noqa: BLE001 - raised where the element is asked for
            buffer.put(None, error)
            continue
        if not elements:
            buffer.put(None, StopIteration())
            return
        for element in elements:
            is_error = isinstance(element, Exception)
            buffer.put(*(None, element) if is_error else (element,))
        # More each time: whoever waits for the first gets it soon.
        count = max(1, min(2 * count, most, buffer.room))
    source.close()
