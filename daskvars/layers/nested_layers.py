"""Layers made of layers: what is found in their attributes, at the time of asking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from daskvars.variables.tracking import Trackable, held_by


class NestedLayers(Trackable):
    """The part of `Layer` that knows the layers and variables which are attributes of it.

    They are found as a checkpoint finds them, in lists, tuples and dicts too, in the order in which
    the attributes were set. Each layer counts once, though several hold it, or it is in a circle.
    """

    _trainable = True

    @property
    def trainable(self) -> bool:
        """Whether the variables are trained. Setting it sets it of all layers inside, too."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        for layer, _ in self._walked():
            layer._trainable = value

    def _walked(
        self, enters: Callable[[Any], bool] = lambda layer: True
    ) -> Iterator[tuple[Any, list[Any]]]:
        """Yield this layer and those inside, each along with the variables among its attributes.

        Args:
          enters: whether to look for layers inside of one.
        """
        waiting: list[Any] = [self]
        seen: set[int] = set()
        while waiting:
            layer = waiting.pop()
            if id(layer) in seen:
                continue
            seen.add(id(layer))
            held = held_by(layer, NestedLayers)
            yield layer, [item for item in held if not isinstance(item, NestedLayers)]
            if enters(layer):
                inner = [item for item in held if isinstance(item, NestedLayers)]
                waiting.extend(reversed(inner))
