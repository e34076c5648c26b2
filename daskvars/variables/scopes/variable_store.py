"""The store of a graph: full names to the variables that `get_variable` made."""

from __future__ import annotations

import enum
import inspect
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from daskvars import shapes
from daskvars.chunk_grid import ChunksLike
from daskvars.dtypes import DType, DTypeLike, as_dtype, float32, string
from daskvars.errors import did_you_mean
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.device import DeviceLike
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.slicing import slice as slice_op
from daskvars.shapes import ShapeLike
from daskvars.variables.arguments import value_dtype
from daskvars.variables.colocation import building_in, colocate_with, owner
from daskvars.variables.initializers import GlorotUniform, Initializer, InitializerLike, Zeros
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable, parts_of
from daskvars.variables.partitions.slices import (
    PartitionInfo,
    SaveSliceInfo,
    cut_axis,
    partitions_of,
    slices_of,
)
from daskvars.variables.synchronization import VariableAggregation, VariableSynchronization
from daskvars.variables.variable import Variable

Kept = TypeVar("Kept")


class ReuseMode(enum.Enum):
    """The third answer to "may an existing variable be returned?": if there is one."""

    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE


class _Wanted(NamedTuple):
    """What `get_variable` was asked for; `arguments` are those of `Variable`."""

    name: str
    shape: shapes.Shape
    dtype: DType
    initializer: Any
    regularizer: Any
    reuse: bool | None
    arguments: dict[str, Any]

    @property
    def is_from_value(self) -> bool:
        return self.initializer is not None and not callable(self.initializer)


class _Kept(ChainMap[str, Kept]):
    """What was made, by name: what is held, then what was let go. Each variable asks three times,
    and a `ChainMap` by itself goes through generators."""

    def get(self, name: str, default: Any = None) -> Any:
        held, loose = self.maps
        found = held.get(name)
        if found is None and len(loose):
            found = loose.get(name)
        return default if found is None else found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None


def default_store(builder: Any) -> VariableStore:
    """Return the store of `builder` (see `colocation.owner`), made on first use."""
    store = builder.notes.get("variable_store")
    if store is None:
        store = builder.notes["variable_store"] = VariableStore()
    return store


class VariableStore:
    """What `get_variable` made in one graph, by full name.

    Attributes:
      variables: single ones, among them the parts of partitioned ones.
      partitioned: `PartitionedVariable` objects. In both those that were let go are held weakly.
    """

    def __init__(self) -> None:
        self.variables: _Kept[Variable] = _Kept({}, WeakValueDictionary())
        self.partitioned: _Kept[PartitionedVariable] = _Kept({}, WeakValueDictionary())

    def forget(self, variable: Variable | PartitionedVariable) -> None:
        """Have a variable that was made here be shared only as long as something else holds it."""
        parts = parts_of(variable)
        _forget(self.variables, [part.op.name for part in parts], parts)
        _forget(self.partitioned, [variable.name], [variable])

    def drop(self, variable: Variable | PartitionedVariable) -> None:
        """Have the name of a variable that was made here, and is not to be used, be free again."""
        self.forget(variable)
        for part in parts_of(variable):
            self.variables.maps[1].pop(part.op.name, None)
        self.partitioned.maps[1].pop(variable.name, None)

    def get_variable(
        self,
        name: str,
        shape: ShapeLike | None = None,
        dtype: DTypeLike = float32,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: bool | ReuseMode | None = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: DeviceLike | None = None,
        partitioner: Callable[..., Any] | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization | None = None,
        aggregation: VariableAggregation | None = None,
        chunks: ChunksLike | None = None,
    ) -> Variable | PartitionedVariable:
        """Return the variable of the full `name`: made, or shared, as `reuse` says.

        Args are those of `variable_scope.get_variable`, without the defaults of any scope; `reuse`
        False makes, True shares, and None or AUTO_REUSE does what is possible.
        """
        reuse = None if reuse is AUTO_REUSE else reuse
        dtype = as_dtype(dtype).base_dtype
        shape = shapes.as_tuple(shape)
        arguments = {
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "validate_shape": validate_shape,
            "use_resource": use_resource,
            "constraint": constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
            "chunks": chunks,
        }
        wanted = _Wanted(name, shape, dtype, initializer, regularizer, reuse, arguments)
        if partitioner is not None and not callable(partitioner):
            raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
        if (partitioner is not None and shape != ()) or (reuse and name in self.partitioned):
            return self._partitioned(wanted, partitioner)
        if name in self.partitioned or f"{name}/part_0" in self.variables:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with "
                f"partitioning? {_first_made(self.variables[f'{name}/part_0'])}"
            )
        return self._single(wanted)

    # -- one variable -------------------------------------------------------------------------

    def _single(self, wanted: _Wanted, partition_info: PartitionInfo | None = None) -> Variable:
        name, shape, dtype, initializer, regularizer, reuse, arguments = wanted
        is_from_value = wanted.is_from_value
        if is_from_value and shape is not None:
            raise ValueError(
                f"If initializer is a constant, do not specify shape: variable {name} has an "
                f"initializer of its own shape, and shape={shapes.show(shape)}."
            )
        found = self.variables.get(name)
        if found is not None:
            if is_from_value:
                dtype = value_dtype(initializer)
            return _shared(name, found, shape, dtype, reuse)
        if reuse:
            raise ValueError(_missing(name, self.variables))
        if initializer is None:
            initializer = default_initializer(name, dtype)
        if not is_from_value:
            initializer = _made_by(initializer, name, shape, dtype, partition_info)
        declared = None if is_from_value or shape is None else dtype
        expected = None if is_from_value or not arguments["validate_shape"] else shape
        variable = Variable(
            initializer, name=name, dtype=declared, expected_shape=expected, **arguments
        )
        self.variables[name] = variable
        if regularizer is not None:
            _add_regularization_loss(name, variable, regularizer)
        return variable

    # -- partitioned --------------------------------------------------------------------------

    def _partitioned(self, wanted: _Wanted, partitioner: Any) -> PartitionedVariable:
        name, shape, dtype, initializer, _, reuse, _ = wanted
        name = name.removesuffix("/")  # the whole of a scope, by get_variable("")
        if name in self.variables:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}. Perhaps a variable of the same name was already created without "
                f"partitioning? {_first_made(self.variables[name])}"
            )
        if wanted.is_from_value:
            with building_in(owner()):
                initializer = convert_to_tensor(initializer, name=f"{name}/initial_value")
            shape, dtype = shapes.merge(shape, initializer.spec.shape), initializer.spec.dtype
        partitions = [] if partitioner is None else partitions_of(partitioner, shape, dtype)
        found = self.partitioned.get(name)
        if found is not None:
            _shared(name, found, shape, dtype, reuse, "Partitioned variable")
            if partitions and found._get_partitions() != partitions:
                raise ValueError(
                    f"Trying to reuse partitioned variable {name}, but specified partitions "
                    f"{partitions} and found partitions {found._get_partitions()}."
                )
            return found
        if reuse:
            raise ValueError(_missing(name, self.partitioned, "PartitionedVariable"))
        assert shapes.is_known(shape), "partitions_of refuses others"
        axis = cut_axis(partitions)
        parts = []
        for i, (offset, part_shape) in enumerate(slices_of(shape, axis, partitions[axis])):
            one = wanted._replace(name=f"{name}/part_{i}", shape=part_shape, dtype=dtype)
            if wanted.is_from_value:
                value = _piece(one.name, initializer, offset, part_shape)
                one = one._replace(shape=None, initializer=value)
            part = self._single(one, PartitionInfo(list(shape), list(offset)))
            part._set_save_slice_info(SaveSliceInfo(name, shape, offset, part_shape))
            parts.append(part)
        made = PartitionedVariable(name, shape, parts[0].dtype.base_dtype, parts, partitions)
        self.partitioned[name] = made
        return made


def _forget(made: _Kept[Any], names: list[str], items: Sequence[Any]) -> None:
    held, loose = made.maps
    for name, item in zip(names, items, strict=True):
        if held.get(name) is item:
            loose[name] = held.pop(name)


def _piece(name: str, value: Tensor, offset: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    builder = owner()
    with building_in(builder), builder.name_scope(f"{name}/PartitionedInitializer"):
        return slice_op(value, offset, shape)


def _made_by(
    initializer: Any, name: str, shape: shapes.Shape, dtype: DType, partition_info: Any
) -> Callable[[], Any]:
    """Return a function without arguments that makes the initial value."""
    if isinstance(initializer, type):
        initializer = initializer()
    if shapes.is_known(shape):
        if isinstance(initializer, Initializer) or "partition_info" in _parameters(initializer):
            return partial(initializer, list(shape), dtype=dtype, partition_info=partition_info)
        return partial(initializer, list(shape), dtype=dtype)
    if shape is None and not isinstance(initializer, Initializer) and _takes_nothing(initializer):
        return initializer
    if shape is None and inspect.isfunction(initializer):
        raise ValueError(
            "The initializer passed is not valid. It should be a callable with no arguments and "
            "the shape should not be provided or an instance of `tf.keras.initializers.*' and "
            f"`shape` should be fully defined. (variable {name})"
        )
    raise ValueError(
        f"Shape of a new variable ({name}) must be fully defined, but instead was "
        f"{shapes.show(shape)}. Give a shape, or a tensor or value as initializer."
    )


def _takes_nothing(function: Any) -> bool:
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        for p in _parameters(function).values()
    )


def _parameters(function: Any) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}  # a builtin without a signature takes what it is given


_FOR_FLOATS, _FOR_OTHERS = GlorotUniform(), Zeros()


def default_initializer(name: str, dtype: DType) -> Initializer:
    """Return what initializes a variable of `dtype` where nothing else is said.

    Raises:
      ValueError: there is no default, for complex and quantized dtypes.
    """
    if dtype.is_floating:
        return _FOR_FLOATS
    if dtype.is_integer or dtype.is_bool or dtype is string:
        return _FOR_OTHERS
    raise ValueError(f"An initializer for variable {name} of {dtype.name} is required")


def _add_regularization_loss(name: str, variable: Variable, regularizer: Any) -> None:
    builder = owner()
    with building_in(builder), colocate_with(variable), builder.name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        builder.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


# -- what is said when a name cannot be had ------------------------------------------------------


def _shared(
    name: str,
    found: Any,
    shape: shapes.Shape,
    dtype: DType,
    reuse: bool | None,
    what: str = "Variable",
) -> Any:
    """Return `found` if it may be shared and is what was asked for."""
    if reuse is False:
        reset = "reset" if found.graph is None else "reset_default_graph"
        raise ValueError(
            f"{what} {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? {_first_made(found)} To share it, open its "
            "variable scope with reuse=True or reuse=AUTO_REUSE; for another variable, use another "
            f"name or scope; if this is a notebook cell run again, call {reset}() first."
        )
    found_shape = found.get_shape()
    if not found_shape.is_compatible_with(shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shapes.show(shape)} and found "
            f"shape {found_shape}. {_first_made(found)}"
        )
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}. {_first_made(found)}"
        )
    return found


def _first_made(variable: Any) -> str:
    return f"It was first created at {variable.op.where}."


def _missing(name: str, known: Mapping[str, Any], what: str = "Variable") -> str:
    builder = owner()
    others = builder.get_collection(GraphKeys.GLOBAL_VARIABLES)
    same = [v for v in others if isinstance(v, Variable) and v.op.name == name]
    made = f" There is one made by tf.Variable at {same[0].op.where}." if same else ""
    return (
        f"{what} {name} does not exist, or was not created with tf.get_variable(). Did you mean to "
        f"set reuse=tf.AUTO_REUSE in VarScope?{made}{did_you_mean(name, known)}"
    )
