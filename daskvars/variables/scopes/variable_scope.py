"""Variable scopes, and `get_variable`, which makes and shares variables by name under them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias, overload

from daskvars.chunk_grid import ChunksLike
from daskvars.dtypes import DTypeLike, as_dtype, float32
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.building_blocks import OutsideNames
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.device import DeviceLike
from daskvars.graph.scopes.device_scopes import DeviceFunction
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor
from daskvars.shapes import ShapeLike
from daskvars.surface.accepted import accepts
from daskvars.surface.one_line import ShownByArguments
from daskvars.variables.arguments import value_dtype
from daskvars.variables.colocation import owner
from daskvars.variables.initializers import InitializerLike
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable
from daskvars.variables.partitions.partitioners import Partitioner
from daskvars.variables.scopes.scope_stack import (
    VariableScope,
    get_variable_scope,
    pure_variable_scope,
    scopes_of,
)
from daskvars.variables.scopes.variable_store import AUTO_REUSE, ReuseMode, default_store
from daskvars.variables.synchronization import (
    VariableAggregation,
    VariableSynchronization,
    resolved_trainable,
)
from daskvars.variables.variable import Variable

__all__ = [
    "AUTO_REUSE",
    "ReuseMode",
    "VariableScope",
    "create_partitioned_variables",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "no_regularizer",
    "variable_scope",
]


# A custom getter is called with the getter and name first, and all other arguments by name.
Getter: TypeAlias = Callable[..., Any]


class variable_scope(ShownByArguments):
    """Open a scope for `get_variable`, and a name scope of the same name.

    Args:
      name_or_scope: a name, put under the current scope, or a `VariableScope` opened before, whose
        name and defaults count rather than those of the current one.
      default_name: where `name_or_scope` is None: a name that is made unique.
      values: tensors that the block works on; their graph is entered if no other was.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
        constraint: defaults for `get_variable` in the block and the scopes in it.
      reuse: True shares existing variables in the block and the scopes in it, AUTO_REUSE shares
        what exists and makes what does not; None and False inherit.
      auxiliary_name_scope: False opens no name scope.

    Raises:
      ValueError: `reuse` is something else, or True without a name.
      TypeError: there is no name, or it is neither a string nor a scope.

    >>> with tf.Graph().as_default():
    ...     with tf.variable_scope("layer") as scope:
    ...         w = tf.get_variable("w", [2])
    ...     with tf.variable_scope(scope, reuse=True):
    ...         tf.get_variable("w") is w
    True
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Iterable[Any] | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Tensor], Tensor | None] | None = None,
        caching_device: DeviceLike | DeviceFunction = None,
        partitioner: Partitioner | None = None,
        custom_getter: Getter | None = None,
        reuse: bool | ReuseMode | None = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if not isinstance(name_or_scope, str | VariableScope | None):
            raise TypeError(
                "VariableScope: name_or_scope must be a string or VariableScope, got "
                f"{name_or_scope!r}."
            )
        if reuse not in (None, False, True, AUTO_REUSE):
            raise ValueError(
                f"The reuse parameter must be True, False, None or AUTO_REUSE, got {reuse!r}."
            )
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, got {auxiliary_name_scope!r}."
            )
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self._scope = name_or_scope
        self._default_name = default_name or ""
        self._name = default_name if name_or_scope is None else name_or_scope
        if isinstance(name_or_scope, VariableScope):
            self._name = name_or_scope.name.rpartition("/")[2]
        self._auxiliary_name_scope = auxiliary_name_scope
        self._arguments: dict[str, Any] = {
            "reuse": reuse,
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._builder = builder_for(tuple(values or ()))
        self._open: list[tuple[ExitStack, Any, VariableScope]] = []

    def __enter__(self) -> VariableScope:
        with ExitStack() as stack:
            stack.enter_context(entered_graph(self._builder))
            name_scope = self._enter_name_scope(stack)
            if self._scope is None:
                scopes = scopes_of(owner())
                self._scope = scopes.counts.unique(self._default_name, scopes.current.name)
            scope = stack.enter_context(
                pure_variable_scope(self._scope, name_scope=name_scope, **self._arguments)
            )
            self._open.append((stack.pop_all(), scopes_of(owner()), scope))
        return scope

    def _enter_name_scope(self, stack: ExitStack) -> str:
        builder = builder_for(())
        if self._auxiliary_name_scope and self._name:
            return stack.enter_context(builder.name_scope(self._name))
        current = builder.get_name_scope()
        return f"{current}/" if current else ""

    def __exit__(self, *exc_info: Any) -> None:
        stack, scopes, scope = self._open[-1]
        if scopes.current is not scope:
            raise RuntimeError("Improper nesting of variable_scope.")
        self._open.pop()
        stack.__exit__(*exc_info)


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: InitializerLike,
    dtype: DTypeLike = float32,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
) -> list[Variable]:
    """Return the parts of a new or shared partitioned variable.

    Args:
      shape: shape of the whole.
      slicing: number of parts along each axis, of which one at most is above 1.
      initializer: what `get_variable` takes; a tensor or value has the shape of the whole.
      dtype: dtype of the variables; that of a tensor or value counts instead.
      trainable, collections: see `get_variable`.
      name: name of the whole, by default "PartitionedVariable", made unique.
      reuse: as for `variable_scope`.

    Raises:
      ValueError: `shape` and `slicing` do not fit each other.

    >>> with tf.Graph().as_default():
    ...     parts = tf.create_partitioned_variables([5, 2], [2, 1], tf.zeros_initializer())
    ...     [(part.name, part.shape.as_list()) for part in parts]
    [('PartitionedVariable/part_0:0', [3, 2]), ('PartitionedVariable/part_1:0', [2, 2])]
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the same length: "
            f"shape: {shape}, slicing: {slicing}"
        )
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        return list(
            get_variable(
                "",
                shape,
                dtype if callable(initializer) else None,
                initializer,
                trainable=trainable,
                collections=collections,
                partitioner=lambda **unused: slicing,
            )
        )


def no_regularizer(tensor: Any) -> None:
    """Give no loss: as a regularizer, this overrides that of the scope.

    Args:
      tensor: weights, not looked at.

    >>> no_regularizer(dv.constant([1.0])) is None
    True
    """


@overload
def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Tensor], Tensor | None] | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | DeviceFunction = None,
    partitioner: None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
    chunks: ChunksLike = None,
) -> Variable: ...
@overload
def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    *,
    partitioner: Partitioner,
    regularizer: Callable[[Tensor], Tensor | None] | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | DeviceFunction = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
    chunks: ChunksLike = None,
) -> PartitionedVariable: ...
def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Tensor], Tensor | None] | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | DeviceFunction = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
    chunks: ChunksLike = None,
) -> Variable | PartitionedVariable:
    """Return a new or a shared variable of the current variable scope.

    Args:
      name: name under the scope; name scopes play no part.
      shape: its shape, fully known if it is new; not given with a value as `initializer`.
      dtype: its dtype, by default the scope's (float32).
      initializer: an `Initializer` (or its class), a function of shape and dtype, a value or
        tensor; by default the scope's, else Glorot's for floats and zeros for integers and bool.
      regularizer: function of the variable; what it gives is added to the regularization losses.
      trainable: whether optimizers train it by default; None means yes, but not for ``ON_READ``.
      collections: names of collections to put it in, by default the global variables.
      caching_device, validate_shape, use_resource, synchronization, aggregation, constraint,
        chunks: see `Variable`.
      partitioner: function of shape and dtype that gives the number of parts along each axis; the
        result is then a `PartitionedVariable`.
      custom_getter: ``custom_getter(getter, name, **arguments)`` in place of the scope's; it is
        given the arguments as they are meant, `trainable` as a bool.

    Raises:
      ValueError: the name exists and is not shared, or is shared and does not exist, or with
        another shape or dtype; a new variable has no full shape.

    >>> with tf.Graph().as_default(), tf.variable_scope("layer"):
    ...     tf.get_variable("w", [2, 3])
    <tf.Variable 'layer/w:0' shape=(2, 3) dtype=float32_ref>
    """
    current = builder_for(())
    builder = current if current.is_plain else owner()
    scope = scopes_of(builder).current
    if dtype is not None and initializer is not None and not callable(initializer):
        _check_dtype(dtype, initializer)
    dtype = scope.dtype if dtype is None else dtype
    initializer = scope.initializer if initializer is None else initializer
    regularizer = scope.regularizer if regularizer is None else regularizer
    caching_device = scope.caching_device if caching_device is None else caching_device
    partitioner = scope.partitioner if partitioner is None else partitioner
    use_resource = scope.use_resource if use_resource is None else use_resource
    constraint = scope.constraint if constraint is None else constraint
    prefix = scope.name
    full_name = f"{prefix}/{name}" if prefix else name
    true_getter = default_store(builder).get_variable
    getter = scope.custom_getter if custom_getter is None else custom_getter
    arguments = {
        "shape": shape,
        "dtype": dtype,
        "initializer": initializer,
        "regularizer": regularizer,
        "reuse": scope.reuse,
        "trainable": resolved_trainable(trainable, synchronization),  # getters decide by it
        "collections": collections,
        "caching_device": caching_device,
        "partitioner": partitioner,
        "validate_shape": validate_shape,
        "use_resource": use_resource,
        "constraint": constraint,
        "synchronization": synchronization or VariableSynchronization.AUTO,
        "aggregation": aggregation or VariableAggregation.NONE,
    }
    if chunks is not None:
        arguments["chunks"] = chunks
    if getter is None:
        with OutsideNames(current):
            return true_getter(full_name, **arguments)
    with current.name_scope(None):
        return _called(getter, true_getter, full_name, arguments)


def _check_dtype(dtype: Any, initializer: Any) -> None:
    found = value_dtype(initializer)
    if found is not as_dtype(dtype).base_dtype:
        raise ValueError(
            f"Initializer type '{found.name}' and explicit dtype '{as_dtype(dtype).name}' don't "
            "match. Leave the dtype out, or cast the initializer."
        )


def _called(getter: Any, true_getter: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call a custom getter, without the constraint if it cannot take one."""
    if not callable(getter):
        raise ValueError(f"Passed a custom_getter which is not callable: {getter!r}")
    parameters = inspect.signature(getter).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if not takes_all and "constraint" not in parameters:
        del arguments["constraint"]
    return getter(getter=true_getter, name=name, **arguments)


@accepts("trainable")
def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Tensor], Tensor | None] | None = None,
    trainable: bool | None = False,
    collections: Iterable[str] | None = None,
    *args: Any,
    **kwargs: Any,
) -> Variable:
    """Return a variable as `get_variable` does: untrainable, in the local variables.

    Local variables are kept by one process for itself; savers leave them out. Arguments are those
    of `get_variable`, in the same order; `trainable` is disregarded.

    Args:
      name, shape, dtype, initializer, regularizer, collections: as of `get_variable`.
      *args, **kwargs: its other arguments.

    >>> with dv.Graph().as_default(), dv.variable_scope("metric"):
    ...     total = dv.get_local_variable("total", [], initializer=dv.zeros_initializer())
    ...     total.name, total in dv.local_variables(), dv.trainable_variables()
    ('metric/total:0', True, [])
    """
    keys = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, keys, *args, **kwargs)
