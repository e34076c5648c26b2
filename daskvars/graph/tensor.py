"""Tensor: one output of one operation. It holds no value and knows no op.

Operators (``+``, ``[...]``) are attached from above, by `daskvars.ops.protocols.operators`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskvars import shapes
from daskvars.dtypes import DType
from daskvars.graph.by_identity import Reference
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.operators import WithOperators
from daskvars.graph.scopes import stacks as scopes
from daskvars.shapes import TensorShape

if TYPE_CHECKING:
    from daskvars.graph.operation import Operation


class Tensor(WithOperators):
    """A symbolic array: the `index`-th output of `op`."""

    __slots__ = ("__weakref__", "index", "op", "spec")
    __array_priority__ = 100  # numpy_array + tensor is tensor's business
    __hash__ = object.__hash__

    def __init__(self, op: Operation, index: int, spec: Spec) -> None:
        self.op = op
        self.index = index
        self.spec = spec

    @property
    def name(self) -> str:
        """The name, ``<operation>:<output index>``."""
        return f"{self.op.name}:{self.index}"

    @property
    def dtype(self) -> DType:
        """The element type; a variable's own tensor has a ``_ref`` type, as in TensorFlow 1."""
        return self.spec.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape; dimensions not known before a run are None."""
        return TensorShape(self.spec.shape)

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return TensorShape(self.spec.shape)

    def set_shape(self, shape: Any) -> None:
        """Merge `shape` into the static shape. Raises ValueError when they are incompatible."""
        self.spec = Spec(self.spec.dtype, shapes.merge(self.spec.shape, shapes.as_tuple(shape)))

    @property
    def graph(self):
        """The graph that the tensor belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The device asked for, a string such as "/job:ps/task:1" or ""."""
        return self.op.device

    @property
    def value_index(self) -> int:
        """Which output of its operation this is."""
        return self.index

    def ref(self) -> Reference:
        """Return a hashable object that compares by identity and gives this back by `deref`."""
        return Reference(self)

    experimental_ref = ref

    def consumers(self) -> list[Operation]:
        """Return the operations of the graph that take this tensor, once for each time."""
        return [op for op in self.graph.get_operations() for t in op.inputs if t is self]

    def eval(self, feed_dict: dict | None = None, session: Any = None) -> Any:
        """Compute the value in `session`, by default the default session.

        Raises:
          ValueError: there is no default session, or it belongs to another graph.
        """
        return scopes.session_for(session, self.graph, "evaluate tensor").run(self, feed_dict)

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.name} has no value while a graph is built, so it cannot decide an `if`. "
            "Use cond(...) or where(...) in the graph, or compare with None by `is`."
        )

    def __iter__(self):
        raise TypeError(
            f"{self.name} is not iterable while a graph is built. Use unstack(t) or "
            "while_loop(...)."
        )

    def __len__(self) -> int:
        raise TypeError(f"len of {self.name} is not known in a graph. Use shape(t)[0].")

    def __array__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"{self.name} is symbolic and has no array: {self._no_value()}")

    def __int__(self) -> int:
        raise TypeError(f"{self.name} has no value while a graph is built: {self._no_value()}")

    @property
    def numpy(self) -> Any:
        """Tensors of eager code have it; this raises an AttributeError that says what to do."""
        raise AttributeError(f"{self.name} has no numpy(): {self._no_value()}")

    def _no_value(self) -> str:
        graph = self.op.graph
        if not graph.compares_values:
            return "run it, session.run(t) or t.eval(), or feed the array."
        return (
            f"it is inside {graph.name!r}, which is traced once and then run without Python. "
            "Return it and look at what the call gives, or have Python called in each run by "
            "print(...) or numpy_function(...)."
        )

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self  # it never changes

    def __float__(self) -> float:
        return float(int(self))

    def __str__(self) -> str:
        shape = self.spec.shape
        text = "<unknown>" if shape is None else str(self.shape)
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}", shape={text}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        shape = self.spec.shape
        text = "<unknown>" if shape is None else str(self.shape)
        return f"<tf.Tensor '{self.name}' shape={text} dtype={self.dtype.name}>"
