"""What layers keep of their calls: losses of regularizers, and updates to run along with a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph import nest
from daskvars.graph.collections import GraphKeys
from daskvars.variables.colocation import owner


class LayerLosses:
    """The part of `Layer` that keeps losses and updates, in all and by the inputs they are for."""

    def __init__(self) -> None:
        self._regularizers: list[Callable[[], Any]] = []  # of eager code, where losses change
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._made_for: dict[tuple[str, tuple[int, ...] | None], list[Any]] = {}

    @property
    def losses(self) -> list[Any]:
        """The losses of regularizers; in eager code computed now, and those of the last call."""
        return [regularizer() for regularizer in self._regularizers] + self._losses

    @property
    def updates(self) -> list[Any]:
        """The updates of moving averages and the like; eager code applies them at once."""
        return list(self._updates)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add a loss or a list of them, in a graph also to the regularization losses.

        Args:
          losses: scalar tensors.
          inputs: what they depend on, see `get_losses_for`.
        """
        losses = _as_list(losses)
        self._losses += losses
        if owner().is_eager:
            return
        self._made_for.setdefault(_key("losses", inputs), []).extend(losses)
        collect(GraphKeys.REGULARIZATION_LOSSES, losses)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add an operation, or a list of them, to be run along with a training step.

        Args:
          updates: operations or tensors; eager code has run them already, and drops them.
          inputs: what they depend on, see `get_updates_for`.
        """
        if owner().is_eager:
            return
        updates = _as_list(updates)
        self._updates += updates
        self._made_for.setdefault(_key("updates", inputs), []).extend(updates)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """Return the losses that a call on `inputs` added; for None those without inputs."""
        return list(self._made_for.get(_key("losses", inputs), ()))

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Return the updates that a call on `inputs` added; for None those without inputs."""
        return list(self._made_for.get(_key("updates", inputs), ()))


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _key(kind: str, inputs: Any) -> tuple[str, tuple[int, ...] | None]:
    """Return what losses and updates that depend on `inputs` are kept under."""
    tensors = () if inputs is None else tuple(map(id, nest.flatten(inputs)))
    return kind, tensors or None


def collect(name: str, items: list[Any]) -> None:
    """Add to a collection of the graph what is not in it yet."""
    program = owner()
    if items and not program.is_eager:
        known = set(program.get_collection_ref(name))
        for item in items:
            if item not in known:
                program.add_to_collection(name, item)
