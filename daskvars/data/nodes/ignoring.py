"""Elements that cannot be made, left out."""

from __future__ import annotations

from daskvars.data.nodes.elements import Element
from daskvars.data.nodes.node import Elements, Node, OfSource, Pass, elements_here
from daskvars.errors import OpError


class Ignoring(Node):
    """The elements that can be made."""

    def __init__(self, input: Node) -> None:
        self.inputs, self.structure = (input,), input.structure

    def elements(self, pass_: Pass) -> Elements:
        return _Ignoring(elements_here(self.inputs[0], pass_))


class _Ignoring(OfSource):
    def __next__(self) -> Element:
        while True:
            try:
                return next(self._source)
            except OpError:
                continue
