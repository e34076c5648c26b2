"""Elements that cannot be made, left out."""

from __future__ import annotations

from daskvars.data.nodes.elements import Element
from daskvars.data.nodes.node import Elements, Node, Pass, elements_here
from daskvars.errors import OpError


class Ignoring(Node):
    """The elements that can be made."""

    def __init__(self, input: Node) -> None:
        self.inputs, self.structure = (input,), input.structure

    def elements(self, pass_: Pass) -> Elements:
        return _Ignoring(elements_here(self.inputs[0], pass_))


class _Ignoring(Elements):
    def __init__(self, source: Elements) -> None:
        self._source = source

    def __next__(self) -> Element:
        while True:
            try:
                return next(self._source)
            except OpError:
                continue

    def close(self) -> None:
        self._source.close()
