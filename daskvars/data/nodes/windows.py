"""Elements that are datasets: windows of those that follow one another, or have one key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.data.nodes.elements import DatasetSpec, Element, Window, map_structure, no_datasets
from daskvars.data.nodes.functions import DatasetFunction, ElementFunction, number_function
from daskvars.data.nodes.node import (
    INFINITE,
    Elements,
    Node,
    OfSource,
    Pass,
    elements_here,
    read_elements,
)
from daskvars.errors import invalid
from daskvars.graph.definitions.opdef import Spec


class Windowed(Node):
    """Datasets of some elements that follow one another, one for each component.

    Args:
      size: how many are in a window.
      shift: how far it is from the first element of a window to that of the next.
      stride: how far it is from one element of a window to the next.
      is_remainder_dropped: whether windows at the end that have fewer elements are left out.
    """

    def __init__(
        self,
        input: Node,
        size: Any,
        shift: Any,
        stride: Any,
        is_remainder_dropped: bool,
        kind: Callable[[Node], Any],
    ) -> None:
        self.inputs, self.operands = (input,), (size, shift, stride)
        self._drops = is_remainder_dropped
        self.structure = map_structure(lambda spec: DatasetSpec(spec, kind), input.structure)

    def check(self, pass_: Pass) -> None:
        for name, value in zip(("size", "shift", "stride"), self.numbers(pass_), strict=True):
            self.check_positive(f"window(): {name}", value)

    def count(self, pass_: Pass) -> float | None:
        count, (size, shift, stride) = self.inputs[0].count(pass_), self.numbers(pass_)
        if count is None or count == INFINITE:
            return count
        if not self._drops:
            return -(-count // shift)
        span = (size - 1) * stride + 1
        return 0 if count < span else (count - span) // shift + 1

    def elements(self, pass_: Pass) -> Elements:
        size, shift, stride = self.numbers(pass_)
        return _Windows(elements_here(self.inputs[0], pass_), size, shift, stride, self._drops)


class _Windows(OfSource):
    def __init__(self, source: Elements, size: int, shift: int, stride: int, drops: bool) -> None:
        super().__init__(source)
        self._drops = drops
        self._span, self._shift, self._stride = (size - 1) * stride + 1, shift, stride
        self._buffer: list[Element] = []

    def __next__(self) -> Element:
        buffer = self._buffer
        while len(buffer) < self._span:
            try:
                buffer.append(next(self._source))
            except StopIteration:
                break
        if not buffer or (self._drops and len(buffer) < self._span):
            raise StopIteration
        columns = zip(*buffer[: self._span : self._stride], strict=True)
        found = tuple(Window([(part,) for part in column]) for column in columns)
        self._source.skip(max(self._shift - len(buffer), 0))
        del buffer[: self._shift]
        return found


class GroupedByWindow(Node):
    """The elements of the datasets that a function makes of elements which have one key.

    Args:
      input: the elements.
      key: gives the key of one, a scalar int64.
      reduce: makes a dataset of a key and a dataset of elements that have it.
      size: how many elements these are at most: a function of the key, or a scalar int64.
      kind: makes a dataset of a node.
    """

    def __init__(
        self,
        input: Node,
        key: Callable[..., Any],
        reduce: Callable[..., Any],
        size: Any,
        kind: Callable[[Node], Any],
    ) -> None:
        what = "group_by_window"
        no_datasets(input.structure, f"{what}()")
        self.inputs = (input,)
        number = Spec(dtypes.int64, ())
        self._key = number_function(key, input.structure, f"{what}_key", "`key_func`")
        pair = number, DatasetSpec(input.structure, kind)
        self._reduce = DatasetFunction(reduce, pair, what)
        self._size: Any = size
        if callable(size):
            self._size = number_function(size, number, f"{what}_size", "`window_size_func`")
        sizes = self._size.operands if callable(size) else (size,)
        self.operands = (*self._key.operands, *self._reduce.operands, *sizes)
        self.structure = self._reduce.node.structure

    def elements(self, pass_: Pass) -> Elements:
        return _Groups(self, pass_, pass_.first_draw(self))

    def functions(
        self, pass_: Pass, first: int
    ) -> tuple[Callable[..., int], Callable[[int], int], Callable[..., Elements]]:
        """Return what gives keys, sizes of groups, and the elements of a group.

        Args:
          pass_: in which they are called.
          first: a number for the random draws of the first call.
        """
        key = self._key.elements_of(pass_)
        passes, node = self._reduce.passes(pass_.here()), self._reduce.node

        def key_of(element: Element, at: int) -> int:
            return int(key(element, pass_.number(first + at))[0])

        def opened(key: Any, group: list[Element], at: int) -> Elements:
            number = dtypes.to_numpy(key, dtypes.int64)
            return read_elements(node, passes((number, Window(group)), pass_.number(first + at)))

        if not isinstance(self._size, ElementFunction):
            size = int(pass_.value(self._size))
            return key_of, lambda key: size, opened
        size_of = self._size.elements_of(pass_)
        known: dict[int, int] = {}

        def group_size(key: int) -> int:
            if key not in known:
                number = dtypes.to_numpy(key, dtypes.int64)
                known[key] = int(size_of((number,), pass_.number(first))[0])
            return known[key]

        return key_of, group_size, opened


class _Groups(Elements):
    def __init__(self, node: GroupedByWindow, pass_: Pass, first: int) -> None:
        self._source = elements_here(node.inputs[0], pass_)
        self._key_of, self._size_of, self._opened = node.functions(pass_, first)
        self._groups: dict[int, list[Element]] = {}
        self._at = 0
        self._open: Elements | None = None
        self._is_ended = False

    def __next__(self) -> Element:
        while True:
            if self._open is not None:
                try:
                    return next(self._open)
                except StopIteration:
                    self._open.close()
            self._open = self._next_group()

    def _next_group(self) -> Elements:
        """Return the elements of the next group that is full; at the end, of what is left."""
        self._open = None
        while not self._is_ended:
            try:
                element = next(self._source)
            except StopIteration:
                self._is_ended = True
                break
            self._at += 1
            key = self._key_of(element, self._at - 1)
            size = self._size_of(key)
            if size < 1:
                raise invalid(f"Window size must be greater than zero, but got {size}.")
            group = self._groups.setdefault(key, [])
            group.append(element)
            if len(group) >= size:
                return self._opened(key, self._groups.pop(key), self._at - 1)
        if not self._groups:
            raise StopIteration
        key = min(self._groups)
        self._at += 1
        return self._opened(key, self._groups.pop(key), self._at - 1)

    def close(self) -> None:
        self._source.close()
        if self._open is not None:
            self._open.close()
