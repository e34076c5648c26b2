"""FuncGraph: the body of a function, branch or loop.

Tensors of enclosing graphs that a body uses become its captured inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.graph import Graph
from daskvars.graph.tensor import Operation, Tensor


def operations_inside(op: Operation) -> Iterator[Operation]:
    """Yield the operations of the bodies that an operation has."""
    pattern = op.opdef.pattern
    if isinstance(pattern, Opaque) and pattern.branches:
        for body in op.attrs["branches"]:
            yield from body.get_operations()


class FuncGraph(Graph):
    """The body of a function, branch or loop.

    Attributes:
      outer: the graph (or None: eager) that the body was made in.
      inputs: the body's own input tensors, parameters first, then captures.
      captures: outer tensor -> the input that stands for it.
      results: the body's output tensors.
      effects: operations of the body that run although no result needs them.
      arrays: result -> the TensorArray that it is the list of.
      reads: operation -> handle of the variable whose value it passes on from around the body.
      awaited: operations around the body that must have run before it does.
      arguments: of a function while it is traced: its own input -> what the call gives for it.
      chosen_by: of a branch, a scalar bool of the graph around and the value for which it runs.
      outside: of a branch, what gives a tensor of another graph that has the value of one in it,
        None for one that can have no such.
    """

    is_plain = False

    def __init__(self, name: str, outer: Any, parameter: Callable[[FuncGraph, Tensor], Tensor]):
        super().__init__()
        self.name = name
        self.outer = outer
        self.is_body = outer is not None
        self.is_like_eager = outer is None or outer.is_like_eager
        self.inputs: list[Tensor] = []
        self.captures: ByIdentity[Tensor] = ByIdentity()
        self.results: list[Any] = []
        self.effects: list[Operation] = []
        self.arrays: dict[Tensor, Any] = {}
        self.reads: dict[Operation, Tensor] = {}
        self.awaited: list[Operation] = []
        self.arguments: dict[Tensor, Any] = {}
        self.chosen_by: tuple[Tensor, bool] | None = None
        self.outside: Callable[[Tensor, Graph], Tensor | None] | None = None
        self._parameter = parameter
        self.place = 0  # of one that eager code made: which it is, for the seeds of its operations
        if outer is not None:
            self.seed = outer.seed
            self.notes = outer.notes
            self._collections = outer._collections
            self._gradient_names = outer._gradient_names

    def _get_control_flow_context(self) -> FuncGraph:
        return self

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

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Make ops of the block run after `control_inputs`. See `Graph.control_dependencies`.

        For an operation around the body that has no outputs, the whole body waits.
        """
        items = None if control_inputs is None else list(control_inputs)
        if items is not None:
            outer = [i for i in items if isinstance(i, Operation) and self._is_around(i)]
            self.awaited += outer
            items = [i for i in items if i not in outer]
        with super().control_dependencies(items):
            yield

    def _is_around(self, op: Operation) -> bool:
        graph = self.outer
        while graph is not None and graph is not op.graph:
            graph = getattr(graph, "outer", None)
        return graph is not None and not op.outputs

    def capture(self, tensor: Tensor) -> Tensor:
        """Return the input that stands for the outer `tensor`, made on first use."""
        if tensor.spec.dtype.is_ref:
            return tensor  # a variable's handle is the same everywhere
        tensor = self.seen_from_here(tensor)
        if tensor.graph is self:
            return tensor
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
