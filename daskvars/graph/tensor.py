"""Operation and Tensor: a node of a graph, and an output of one. Neither holds a value.

They know no op: operators (``+``, ``[...]``) are attached from above, by
`daskvars.ops.protocols.operators`, and only declared here.
"""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy
from numpy.typing import NDArray

from daskvars import shapes
from daskvars.dtypes import DType
from daskvars.graph.by_identity import Reference
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.records.node_def import AttrValue, NodeDef, attr_value
from daskvars.graph.scopes import stacks as scopes
from daskvars.shapes import Dimension, ShapeLike, TensorShape
from daskvars.surface.forwarding import forwards
from daskvars.surface.notebooks import ShownInNotebooks

if TYPE_CHECKING:
    import dask.array

# Attributes that a program gives to operations of any type: colocation groups, and the name of a
# gradient. The rules of an op do not see them.
ANNOTATIONS = frozenset({"_class", "_gradient_op_type"})


class SupportsArray(Protocol):
    """What NumPy makes an array of: arrays of NumPy, Dask, Zarr, xarray, a pandas column."""

    def __array__(self) -> numpy.ndarray[Any, Any]: ...


class HasHandle(Protocol):
    """A variable."""

    @property
    def handle(self) -> Tensor: ...


class WithOperators:
    """Base of tensors and of what converts to them.

    At run time it is empty. `numpy`, `int` and `float` work on what has a value: eager tensors.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def _unary(self) -> Tensor: ...
        def _binary(self, other: TensorLike) -> Tensor: ...

        __neg__ = __abs__ = __invert__ = _unary
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _binary
        __div__ = __rdiv__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _binary
        __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _binary
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = _binary

        def __eq__(self, other: object) -> bool: ...  # in eager code a tensor of them
        def __hash__(self) -> int: ...
        def __getitem__(self, key: SliceLike) -> Tensor: ...
        def numpy(self) -> NDArray[Any]: ...
        def shown_value(self) -> str: ...
        def to_dask(self) -> dask.array.Array: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...


# What `convert_to_tensor` takes: a number or string, an array, a tensor, a variable, or nested
# sequences of these; a static shape and one of its sizes, too.
TensorLike: TypeAlias = (
    WithOperators
    | SupportsArray
    | complex
    | str
    | bytes
    | TensorShape
    | Dimension
    | Sequence["TensorLike"]
)
# What ops that change a variable take: the variable, or the tensor that stands for it.
VariableLike: TypeAlias = "HasHandle | Tensor"
_Index: TypeAlias = int | slice | EllipsisType | WithOperators | SupportsArray | Dimension | None
SliceLike: TypeAlias = _Index | tuple[_Index, ...]


def is_tensor_like(value: Any) -> bool:
    """Return whether a value is a tensor, or is taken as one: a variable, or a program's own."""
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


class Tensor(WithOperators, ShownInNotebooks):
    """A symbolic array: the `index`-th output of `op`.

    Args:
      op: the `Operation` that computes it.
      index: its number among the outputs of that.
      spec: shape and dtype.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     y = 2.0 * dv.placeholder(dv.float32, [None], name="x")
    ...     print(y)
    ...     sess.run(y, {"x:0": [1.0, 2.0]}).tolist()
    Tensor("mul:0", shape=(?,), dtype=float32)
    [2.0, 4.0]
    """

    # Programs hang attributes of their own on tensors and operations: that takes no memory before.
    __slots__ = ("__dict__", "__weakref__", "index", "op", "spec")
    OVERLOADABLE_OPERATORS: ClassVar[frozenset[str]]  # for classes that stand for tensors
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

    dtype: DType = forwards(
        "spec.dtype",
        "The element type; a variable's own tensor has a ``_ref`` type, as in TensorFlow 1.",
    )

    @property
    def shape(self) -> TensorShape:
        """The static shape; dimensions not known before a run are None."""
        return TensorShape(self.spec.shape)

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return TensorShape(self.spec.shape)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merge `shape` into the static shape. Raises ValueError when they are incompatible."""
        self.spec = Spec(self.spec.dtype, shapes.merge(self.spec.shape, shapes.as_tuple(shape)))

    graph: Any = forwards("op.graph", "The graph that the tensor belongs to.")
    device: str = forwards(
        "op.device", 'The device asked for, a string such as "/job:ps/task:1" or "".'
    )
    _op: Operation = forwards("op", "The same as `op`: programs read TensorFlow's own attribute.")
    value_index: int = forwards("index", "Which output of its operation this is.")

    def ref(self) -> Reference:
        """Return a hashable object that compares by identity and gives this back by ``deref()``."""
        return Reference(self)

    experimental_ref = ref

    def consumers(self) -> list[Operation]:
        """Return the operations of the graph that take this tensor, once for each time."""
        return [op for op in self.graph.get_operations() for t in op.inputs if t is self]

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> NDArray[Any]:
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

    def __iter__(self) -> Iterator[Tensor]:
        raise TypeError(
            "Tensor objects are not iterable when eager execution is not enabled: iterating over "
            f"`tf.Tensor` is not allowed while a graph is built, here over {self.name}. Use "
            "unstack(t), map_fn(...) or while_loop(...)."
        )

    def __len__(self) -> int:
        raise TypeError(f"len of {self.name} is not known in a graph. Use shape(t)[0].")

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise NotImplementedError(f"{self.name} is symbolic and has no array: {self._no_value()}")

    def __int__(self) -> int:
        raise TypeError(f"{self.name} has no value while a graph is built: {self._no_value()}")

    if not TYPE_CHECKING:  # which cannot tell the tensors of eager code from others

        @property
        def numpy(self) -> Any:
            """Tensors of eager code have it; this one has no value. Raises AttributeError."""
            raise AttributeError(f"{self.name} has no numpy(): {self._no_value()}")

    def _no_value(self) -> str:
        graph = self.op.graph
        if not graph.is_like_eager:
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

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"the tensor {self.name!r} cannot be pickled: it has a meaning only in its program. "
            "Pickle its value, or its name and the graph (tf.train.export_meta_graph)"
        )

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


class Operation:
    """One application of an op: inputs, attributes, name, device, outputs.

    In a graph `name` is unique and full of scope; a recorded eager operation has `graph` None.

    Args:
      graph: the `Graph` that it is in, None in eager code.
      opdef: the `OpDef` of its op.
      name: its full name.
      inputs: the tensors that it takes.
      attrs: attributes by name, as the op has them.
      specs: the `Spec` of each output.
      id: its number in the graph, in the order in which operations were made.
      created_at: (file, line) of the user's code that made it, where that is kept.
      tensor_class: the class of its outputs.
      control_inputs: the operations that it waits for.

    >>> with dv.Graph().as_default(), dv.name_scope("model"):
    ...     op = dv.tanh(dv.constant([1.0, 2.0], name="x"), name="y").op
    >>> op.name, op.type, [t.name for t in op.inputs], [t.name for t in op.outputs]
    ('model/y', 'Tanh', ['model/x:0'], ['model/y:0'])
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_control_inputs",
        "attrs",
        "created_at",
        "device",
        "graph",
        "id",
        "inputs",
        "multiple",
        "name",
        "opdef",
        "outputs",
    )

    def __init__(
        self,
        graph: Any,
        opdef: OpDef,
        name: str,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        specs: Spec | tuple[Spec, ...],
        id: int,
        created_at: tuple[str, int] | None,
        tensor_class: type[Tensor],
        control_inputs: tuple[Operation, ...] = (),
    ) -> None:
        self.graph = graph
        self.opdef = opdef
        self.name = name
        self.inputs = inputs
        self.attrs = attrs
        self.id = id
        self._control_inputs = control_inputs
        self.device = ""
        self.created_at = created_at
        self.outputs: tuple[Any, ...]
        if isinstance(specs, Spec):
            self.multiple = False
            self.outputs = (tensor_class(self, 0, specs),)
        else:
            self.multiple = True
            self.outputs = tuple([tensor_class(self, i, spec) for i, spec in enumerate(specs)])

    type: str = forwards("opdef.type", "TensorFlow's name of the op: MatMul.")

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that run before this one without giving it a value."""
        return list(self._control_inputs)

    @property
    def node_def(self) -> NodeDef:
        """The operation as plain data."""
        names = [t.name.removesuffix(":0") for t in self.inputs]
        names += [f"^{op.name}" for op in self.control_inputs]
        attrs = {**self._implied(), **self.attrs}
        shown = defaultdict(AttrValue, {name: attr_value(name, v) for name, v in attrs.items()})
        return NodeDef(self.name, self.type, tuple(names), self.device, shown)

    op_def: OpDef = forwards("opdef", "The definition of the op.")

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """Where the user's code made it: (file, line number, "", source line), or nothing.

        A list of one frame that `traceback.format_list` takes: others are not kept.
        """
        if self.created_at is None:
            return []
        return [(*self.created_at, "", linecache.getline(*self.created_at).strip())]

    def _implied(self) -> dict[str, Any]:
        """Return the attributes T, dtype and _class as TensorFlow has them, where not kept here."""
        found: dict[str, Any] = {}
        if tensors := self.inputs or self.outputs:
            found["T" if self.inputs else "dtype"] = tensors[0].spec.dtype.base_dtype
        if self._is_beside_variable():
            found["_class"] = tuple(self.colocation_groups())
        return found

    def _is_beside_variable(self) -> bool:
        """Return whether it reads or changes a variable, and that where the variable is."""
        if not self.inputs or not self.inputs[0].spec.dtype.is_ref:
            return False
        return self.device == self.inputs[0].op.device

    def values(self) -> tuple[Tensor, ...]:
        """Return the outputs."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """Return the attribute `name`: strings as bytes, several values as a list.

        Raises:
          ValueError: there is none of that name.
        """
        attrs = {**self._implied(), **self.attrs}
        if name not in attrs:
            raise ValueError(
                f"Operation {self.name!r} has no attr named {name!r}. "
                f"It is of type {self.type} and has {sorted(attrs)}"
            )
        value = attrs[name]
        if isinstance(value, list | tuple):
            return [item.encode() if isinstance(item, str) else item for item in value]
        return value.encode() if isinstance(value, str) else value

    def colocation_groups(self) -> list[bytes]:
        """Return the names of the colocation groups, ``loc:@<operation>``; by default its own.

        What reads or changes a variable belongs to the groups of the variable, unless it is on
        another device, as what is read to a ``caching_device`` is.
        """
        if self._is_beside_variable():
            return self.inputs[0].op.colocation_groups()
        groups = self.attrs.get("_class", ("loc:@" + self.name,))
        return [group.encode() for group in groups]

    @property
    def where(self) -> str:
        """Where the user's code made it, "file:line"."""
        return f"{self.created_at[0]}:{self.created_at[1]}" if self.created_at else "unknown line"

    def __copy__(self) -> Operation:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Operation:
        return self  # what is kept by it, as an optimizer's slots by variables', is so in a copy

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"the operation {self.name!r} cannot be pickled, nor what is kept by it, as an "
            "optimizer's slots by variables': it has a meaning only in its program. Make them "
            "anew, and take values along in a checkpoint (train.Saver, train.Checkpoint)"
        )

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Run the operation in `session`, by default the default session.

        Raises:
          ValueError: there is no default session, or it belongs to another graph.
        """
        scopes.session_for(session, self.graph, "execute operation").run(self, feed_dict)

    def _add_control_inputs(self, ops: Sequence[Operation]) -> None:
        self.graph.check_not_finalized()
        self._control_inputs = tuple(dict.fromkeys((*self._control_inputs, *ops)))
        self.graph.late_control_inputs = True

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _set_device(self, device: Any) -> None:
        self.device = scopes.device_string(device)

    def __str__(self) -> str:
        inputs = "".join(f'\ninput: "{t.name}"' for t in self.inputs)
        return f'name: "{self.name}"\nop: "{self.type}"{inputs}'

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"
