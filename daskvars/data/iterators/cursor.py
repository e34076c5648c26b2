"""Where an iterator is: the next element, and a position that can be stored.

A position is a number of elements, what random numbers begin with, and how many passes over the
dataset came before: from these an iterator of the same dataset, in whatever process, goes on with
the same elements. Nothing of buffers or caches is stored. To go to a position, elements are gone
past as fast as can be: rows are skipped, records are not looked at, functions of elements that
nobody will see are not called, whole repetitions of known length are left out. What is shuffled
after a function, filtered or interleaved is computed again.

So it is where Ctrl-C breaks off the making of an element: of what was under way nothing can be said
(a generator has ended, a batch is half full), and it is begun again where it was.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy

from daskvars.data.nodes.elements import Element
from daskvars.data.nodes.node import ORDER_BITS, Elements, InTurn, Node, Pass, read_elements
from daskvars.errors import OpError, invalid


def _entropy_for(node: Node) -> int:
    """Return what random numbers begin with: the order that the node keeps, and what is new."""
    order = secrets.randbits(ORDER_BITS) if node.order is None else node.order
    return order << ORDER_BITS | secrets.randbits(ORDER_BITS)


class Cursor:
    """Goes through the elements of a node; several threads may take some.

    Args:
      node: the last step of the pipeline.
      values: tensors of graphs -> arrays, for a pass.
      iteration: how many passes over it came before.
      caches: what `cache` keeps, by node; by default of this cursor alone.
      entropy: what random numbers without a seed begin with; by default nobody knows it before.
      as_dask: whether batches of stored rows in their order are to be dask arrays.

    Raises:
      OpError: an operand of a step is not what it has to be.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[Any, Any],
        iteration: int = 0,
        caches: dict[Node, Any] | None = None,
        entropy: int | None = None,
        as_dask: bool = False,
    ) -> None:
        self._node, self._values, self._caches = node, values, caches
        self._iteration, self._as_dask = iteration, as_dask
        self._entropy = _entropy_for(node) if entropy is None else entropy
        self._position = 0
        self._given_back: deque[Element | OpError] = deque()
        self._elements: Elements | None = None
        self._lock = threading.Lock()
        Pass(values, self._entropy).check(node)

    @property
    def state(self) -> tuple[int, int, int]:
        """Position, entropy and iteration: what `restore` takes."""
        return self._position, self._entropy, self._iteration

    def restore(self, state: Any) -> None:
        """Go to a position, from which the same elements follow.

        Raises:
          InvalidArgumentError: it is no position, or there are fewer elements.
        """
        numbers = [int(n) for n in numpy.ravel(state)]
        if len(numbers) != 3 or min(numbers) < 0:
            raise invalid(f"{state!r} is no position of an iterator")
        with self._lock:
            self._end()
            begun = self._begun(*numbers)
            self._position, self._entropy, self._iteration = numbers
            self._elements = begun

    def _begun(self, position: int, entropy: int, iteration: int) -> Elements:
        """Return the elements from a position on."""
        pass_ = Pass(self._values, entropy, iteration, self._caches, as_dask=self._as_dask)
        elements = read_elements(self._node, pass_)
        found = elements.skip(position) if position else 0
        if found < position:
            raise invalid(
                f"the iterator is to go on after {position} elements, but the dataset has "
                f"{found}: is it another one?"
            )
        return elements

    def take(self, use: Callable[[Element], Any] = tuple) -> Any:
        """Return the next element.

        Args:
          use: what is made of it and returned.

        Raises:
          StopIteration: there is none.
          OpError: it cannot be made; the one after it comes next.
        """
        found = None
        try:
            with self._lock:
                found = self._kept() if self._given_back else self._made()
            return use(found)
        except Exception:
            raise
        except BaseException:  # Ctrl-C: if one was taken already, nobody has it
            if found is not None:
                self.give_back(found)
            raise

    def _kept(self) -> Element:
        kept = self._given_back[0]
        del self._given_back[0]  # no call, at which Ctrl-C could come, is between these lines
        self._position += 1
        if isinstance(kept, OpError):
            raise kept
        return kept

    def _made(self) -> Element:
        try:
            found = self._next()
        except OpError:
            self._position += 1
            raise
        self._position += 1
        return found

    def _next(self) -> Element:
        if self._elements is None:
            self._elements = self._begun(*self.state)
        try:
            return next(self._elements)
        except StopIteration:
            # What they were made of, buffers or a generator, is let go of now: an iterator that has
            # come to its end may be there as long as its session.
            self._elements.close()
            self._elements = InTurn(())
            raise
        except Exception:
            raise
        except BaseException:  # Ctrl-C: what is half done is begun again
            broken, self._elements = self._elements, None
            broken.close()
            raise

    def peek(self) -> Element | None:
        """Return the element that `take` will give, None if there is none or it cannot be made."""
        with self._lock:
            if not self._given_back:
                try:
                    found = self._next()
                    self._given_back.append(found)
                except StopIteration:
                    return None
                except OpError as error:
                    self._given_back.append(error)
            kept = self._given_back[0]
            return None if isinstance(kept, OpError) else kept

    def give_back(self, *elements: Element) -> None:
        """Take back the elements that were taken last, to give them again."""
        with self._lock:
            self._position -= len(elements)
            self._given_back.extendleft(reversed(elements))

    def _end(self) -> None:
        self._given_back.clear()
        if self._elements is not None:
            self._elements.close()
            self._elements = None

    def close(self) -> None:
        """Let go of files and threads."""
        with self._lock:
            self._end()
