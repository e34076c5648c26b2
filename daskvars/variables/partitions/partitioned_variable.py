"""PartitionedVariable: one array kept in several variables, cut along one axis.

A variable with `chunks` is cut as well, but stays one name; parts are variables of their own, as
TensorFlow programs with a partitioner expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dask.array

from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor, register_tensor_conversion_function
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor, TensorLike, WithOperators
from daskvars.ops.array.joining import concat, split
from daskvars.ops.array.reshaping import identity
from daskvars.ops.protocols.operators import override_operators
from daskvars.shapes import ShapeLike, TensorShape
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.notebooks import ShownInNotebooks
from daskvars.variables.partitions.slices import cut_axis
from daskvars.variables.variable import Variable


class PartitionedVariable(WithOperators, ShownInNotebooks):
    """The parts ``<name>/part_0``, ``<name>/part_1`` ... of one array, made by `get_variable`.

    It converts to a tensor, the parts joined; iterating gives the parts.

    Args:
      name: name of the whole.
      shape: the sizes of the whole.
      dtype: that of all parts.
      variable_list: the parts; each knows its slice (``_get_save_slice_info``).
      partitions: number of parts along each axis, at most one of them above 1.

    Raises:
      TypeError: `variable_list` or `partitions` is no list.
      ValueError: there are no parts, or they have no slice information, or are parts of another
        shape, or their number is another.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     w = dv.get_variable("w", [4, 2], partitioner=dv.fixed_size_partitioner(2))
    ...     print(w.name, [(part.op.name, part.shape.as_list()) for part in w])
    ...     sess.run(dv.global_variables_initializer())
    ...     sess.run(dv.convert_to_tensor(w)).shape
    w [('w/part_0', [2, 2]), ('w/part_1', [2, 2])]
    (4, 2)
    """

    def __init__(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        _check_parts(name, shape, variable_list, partitions)
        self._axis = cut_axis(partitions)
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype).base_dtype
        self._variables = sorted(
            variable_list, key=lambda part: tuple(part._get_save_slice_info().var_offset)
        )
        self._partitions = list(partitions)
        self._whole: Tensor | None = None

    name: str = forwards(
        "_name", "The name of the whole; parts are called ``<name>/part_0`` and so on."
    )
    dtype: DType = forwards("_dtype", "The element type.")
    shape: TensorShape = forwards("_shape", "The shape of the whole.")

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole."""
        return self._shape

    @property
    def graph(self) -> Any:
        """The graph of the parts."""
        return self._variables[0].graph

    @property
    def op(self) -> Any:
        """The operation of the first part."""
        return self._variables[0].op

    def _get_variable_list(self) -> list[Variable]:
        return self._variables

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def as_tensor(self) -> Tensor:
        """Return the whole value; in a graph one cached tensor, as `Variable.value`."""
        builder = builder_for((self._variables[0].handle,))
        if builder.is_eager:
            return self._concat()
        with builder.as_default(), builder.name_scope(None):
            if builder.graph is not self.graph or builder.has_control_dependencies:
                return self._concat()
            if self._whole is None:
                self._whole = self._concat()
        return self._whole

    def _concat(self) -> Tensor:
        values = [part.value() for part in self._variables]
        whole = values[0]
        if len(values) > 1:
            whole = concat(values, self._axis, name=f"{self._name}/ConcatPartitions/concat")
        return identity(whole, name=self._name)

    def to_dask(self) -> dask.array.Array:
        """Return the present value of all parts as one dask array; see `Variable.to_dask`."""
        return dask.array.concatenate([part.to_dask() for part in self], axis=self._axis)

    def _as_graph_element(self) -> Tensor:
        return self.as_tensor()

    @accepts("use_locking")
    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> list[Tensor]:
        """Set all parts and return their new values.

        Args:
          value: [*shape] of the same dtype, another `PartitionedVariable`, or a list of tensors,
            one per part.
          name: name of the operations.
        """
        return self._each_part(Variable.assign, value, use_locking, name)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add `delta`, of the shape of the whole; return the parts' new values."""
        return self._each_part(Variable.assign_add, delta, use_locking, name)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract `delta`, of the shape of the whole; return the parts' new values."""
        return self._each_part(Variable.assign_sub, delta, use_locking, name)

    def _each_part(
        self, update: Callable[..., Tensor], value: Any, use_locking: bool, name: str | None
    ) -> list[Tensor]:
        if isinstance(value, PartitionedVariable) or (
            isinstance(value, list) and all(isinstance(v, Tensor | Variable) for v in value)
        ):
            pieces = list(value)
        else:
            sizes = [int(part.shape[self._axis]) for part in self._variables]
            with entered_graph(builder_for((self._variables[0].handle,))):
                pieces = split(convert_to_tensor(value, self._dtype), sizes, axis=self._axis)
        return [
            update(part, piece, use_locking, name)
            for part, piece in zip(self._variables, pieces, strict=True)
        ]

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.name}, "
            f"{len(self)} parts>"
        )


def parts_of(variable: Any) -> list[Any]:
    """Return the variables that one is kept in: its parts, or itself."""
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def full_name(variable: Variable | PartitionedVariable) -> str:
    """Return the name that a `Saver` knows a variable by: a part by that of the whole."""
    if isinstance(variable, PartitionedVariable):
        return variable.name
    part = variable._get_save_slice_info()
    return variable.op.name if part is None else part.full_name


def _check_parts(name: str, shape: Any, parts: Any, partitions: Any) -> None:
    for what, given in (("variable_list", parts), ("partitions", partitions)):
        if not isinstance(given, list | tuple):
            raise TypeError(f"PartitionedVariable {name}: {what} is not a list or tuple: {given!r}")
    if not all(count >= 1 for count in partitions):
        raise ValueError(f"PartitionedVariable {name}: partitions {partitions} must be positive")
    if not parts:
        raise ValueError(f"PartitionedVariable {name}: variable_list may not be empty")
    shape = TensorShape(shape).as_list()
    if len(shape) != len(partitions):
        raise ValueError(
            f"PartitionedVariable {name}: shape {shape} and partitions {partitions} must have "
            "equal lengths"
        )
    for part in parts:
        info = part._get_save_slice_info()
        if info is None:
            raise ValueError(f"PartitionedVariable {name}: {part.name} must have a save_slice_info")
        if list(info.full_shape) != shape:
            raise ValueError(
                f"PartitionedVariable {name}: full shapes must match shape {shape}, "
                f"{part.name} is a part of {list(info.full_shape)}"
            )
    wanted = partitions[cut_axis(partitions)]
    if len(parts) != wanted:
        raise ValueError(
            f"PartitionedVariable {name}: partitions {list(partitions)} ask for {wanted} parts, "
            f"got {len(parts)}"
        )


def _as_tensor(
    value: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {as_dtype(dtype).name} for variable "
            f"{value.name} of type {value.dtype.name}"
        )
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _as_tensor, priority=50)
override_operators(PartitionedVariable)
