"""FuncGraph: the body of a function, branch or loop.

Tensors of enclosing graphs that a body uses become its captured inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.graph import Graph
from daskvars.graph.operation import Operation
from daskvars.graph.tensor import Tensor


class FuncGraph(Graph):
    """The body of a function, branch or loop.

    Attributes:
      outer: the graph (or None: eager) that the body was made in.
      inputs: the body's own input tensors, parameters first, then captures.
      captures: outer tensor -> the input that stands for it.
      results: the body's output tensors.
      effects: operations of the body that run although no result needs them.
      arrays: result -> the TensorArray that it is the list of.
    """

    def __init__(self, name: str, outer: Any, parameter: Callable[[FuncGraph, Tensor], Tensor]):
        super().__init__()
        self.name = name
        self.outer = outer
        self.inputs: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.results: list[Any] = []
        self.effects: list[Operation] = []
        self.arrays: dict[Tensor, Any] = {}
        self._parameter = parameter
        if outer is not None:
            self.seed = outer.seed
            self.notes = outer.notes
            self._collections = outer._collections

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the element that `obj` stands for; a tensor from around the body is captured.

        See `Graph.as_graph_element`. An operation from around it stands for its first output.
        """
        if isinstance(obj, Operation) and obj.graph is not self and obj.outputs:
            obj = obj.outputs[0]
        if isinstance(obj, Tensor) and obj.graph is not self and allow_tensor:
            return self.capture(obj)
        return super().as_graph_element(obj, allow_tensor, allow_operation)

    def capture(self, tensor: Tensor) -> Tensor:
        """Return the input that stands for the outer `tensor`, made on first use."""
        if tensor.spec.dtype.is_ref:
            return tensor  # a variable's handle is the same everywhere
        known = self.captures.get(tensor)
        if known is None:
            if tensor.graph is not self.outer and isinstance(self.outer, FuncGraph):
                self.outer.capture(tensor)
            elif tensor.graph is not self.outer and tensor.graph is not None:
                return super().capture(tensor)
            with self.control_dependencies(None):
                known = self.captures[tensor] = self._parameter(self, tensor)
            self.inputs.append(known)
        return known
