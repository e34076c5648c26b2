"""What layers keep of their calls: losses of regularizers, and updates to run along with a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph import nest
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import TensorLike
from daskvars.layers.nested_layers import NestedLayers
from daskvars.variables.colocation import owner
from daskvars.variables.tracking import once


class LayerLosses(NestedLayers):
    """The part of `Layer` that keeps losses and updates, in all and by the inputs they are for."""

    def __init__(self) -> None:
        self._regularizers: list[Callable[[], Any]] = []  # of eager code, where losses change
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._unconditional: list[Any] = []  # losses and updates that depend on no inputs

    @property
    def losses(self) -> list[Any]:
        """The losses of regularizers, with those of the layers inside.

        In eager code they are computed now; others are those of the last call.
        """
        found: list[Any] = []
        for layer, _ in self._walked():
            found += [regularizer() for regularizer in layer._regularizers] + layer._losses
        return once(found)

    @property
    def updates(self) -> list[Any]:
        """The updates of moving averages and the like, with those of the layers inside.

        Eager code applies them at once, and has none.
        """
        return once([update for layer, _ in self._walked() for update in layer._updates])

    def add_loss(self, losses: TensorLike, inputs: TensorLike | None = None) -> None:
        """Add a loss or a list of them, in a graph also to the regularization losses.

        Args:
          losses: scalar tensors.
          inputs: None for what depends on no input; see `get_losses_for`.
        """
        losses = _as_list(losses)
        self._losses += losses
        if owner().is_eager:
            return
        self._unconditional += losses if inputs is None else ()
        collect(GraphKeys.REGULARIZATION_LOSSES, losses)

    def add_update(self, updates: Any, inputs: TensorLike | None = None) -> None:
        """Add an operation, or a list of them, to be run along with a training step.

        Args:
          updates: operations or tensors; eager code has run them already, and drops them.
          inputs: None for what depends on no input; see `get_updates_for`.
        """
        if owner().is_eager:
            return
        updates = _as_list(updates)
        self._updates += updates
        self._unconditional += updates if inputs is None else ()

    def get_losses_for(self, inputs: TensorLike) -> list[Any]:
        """Return the losses that `inputs` are needed for; for None those without inputs."""
        losses = once([loss for layer, _ in self._walked() for loss in layer._losses])
        return self._needing(inputs, losses)

    def get_updates_for(self, inputs: TensorLike) -> list[Any]:
        """Return the updates that `inputs` are needed for; for None those without inputs."""
        return self._needing(inputs, self.updates)

    def _needing(self, inputs: Any, items: list[Any]) -> list[Any]:
        free = {id(item) for layer, _ in self._walked() for item in layer._unconditional}
        if inputs is None:
            return [item for item in items if id(item) in free]
        reached = _reached_from(nest.flatten(inputs)) if items else set()
        return [
            item for item in items if id(item) not in free and getattr(item, "op", item) in reached
        ]


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _reached_from(tensors: list[Any]) -> set[Any]:
    """Return the operations that make these tensors, or take what is computed from them."""
    program = builder_for(tuple(tensors))
    if program.is_eager:
        return set()  # it keeps no operations; losses and updates are told as they are made
    made = {tensor for tensor in tensors if hasattr(tensor, "op")}
    reached = {tensor.op for tensor in made}
    for op in program.get_operations():  # in the order of making, so inputs come first
        if not made.isdisjoint(op.inputs):
            reached.add(op)
            made.update(op.outputs)
    return reached


def collect(name: str, items: list[Any]) -> None:
    """Add to a collection of the graph what is not in it yet."""
    program = owner()
    if items and not program.is_eager:
        known = set(program.get_collection_ref(name))
        for item in items:
            if item not in known:
                program.add_to_collection(name, item)
