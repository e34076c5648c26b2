"""Operation: one node of a graph, immutable once built."""

from __future__ import annotations

import linecache
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.records.node_def import AttrValue, NodeDef, attr_value
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Tensor

# Attributes that a program gives to operations of any type: colocation groups, and the name of a
# gradient. The rules of an op do not see them.
ANNOTATIONS = frozenset({"_class", "_gradient_op_type"})
_PACKAGE = str(Path(__file__).resolve().parent.parent)


class _InPackage(dict[str, bool]):
    """File name -> whether it is one of this package; asked a dozen times for each op."""

    def __missing__(self, filename: str) -> bool:
        self[filename] = found = filename.startswith(_PACKAGE)
        return found


_in_package = _InPackage()


def user_line() -> tuple[str, int]:
    """Return file and line of the innermost caller outside this package."""
    frame = sys._getframe(3)  # nobody outside is nearer than that
    while _in_package[frame.f_code.co_filename]:
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    return frame.f_code.co_filename, frame.f_lineno


class Operation:
    """One application of an op: inputs, attributes, name, device, outputs.

    In a graph `name` is unique and full of scope; a recorded eager operation has `graph` None.
    """

    __slots__ = (
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

    @property
    def type(self) -> str:
        """TensorFlow's name of the op, "MatMul"."""
        return self.opdef.type

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

    @property
    def op_def(self) -> OpDef:
        """The definition of the op."""
        return self.opdef

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
        if self.inputs and self.inputs[0].spec.dtype.is_ref:
            found["_class"] = tuple(self.colocation_groups())
        return found

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

        What reads or changes a variable belongs to the groups of the variable.
        """
        if self.inputs and self.inputs[0].spec.dtype.is_ref:
            return self.inputs[0].op.colocation_groups()
        groups = self.attrs.get("_class", ("loc:@" + self.name,))
        return [group.encode() for group in groups]

    @property
    def where(self) -> str:
        """Where the user's code made it, "file:line"."""
        return f"{self.created_at[0]}:{self.created_at[1]}" if self.created_at else "unknown line"

    def run(self, feed_dict: dict | None = None, session: Any = None) -> None:
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
