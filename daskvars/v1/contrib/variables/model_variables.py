"""Variables as in ``tf.contrib.framework``: model variables, found by name, given values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy

from daskvars.dtypes import float32
from daskvars.graph.by_identity import is_among
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.context import device as device_scope
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.array.placeholders import placeholder
from daskvars.ops.control.dependencies import group
from daskvars.surface.one_line import ShownByArguments
from daskvars.surface.signatures import with_arguments_in_order, with_arguments_of
from daskvars.train.training_step import assert_global_step, get_global_step
from daskvars.v1.contrib.arg_scopes import add_arg_scope
from daskvars.variables.colocation import owner
from daskvars.variables.partitions.partitioned_variable import full_name
from daskvars.variables.scopes.scope_stack import VariableScope, get_variable_scope
from daskvars.variables.scopes.variable_scope import get_variable
from daskvars.variables.variable import Variable

# -- making them ---------------------------------------------------------------------------------


@add_arg_scope
@with_arguments_in_order(
    "name shape dtype initializer regularizer trainable=True collections caching_device device "
    "partitioner custom_getter use_resource synchronization aggregation",
    get_variable,
)
def variable(
    name: str, collections: Any, custom_getter: Any, device: Any = None, **arguments: Any
) -> Any:
    """Return a new or a shared variable; see `get_variable`.

    Args:
      device: device of a new one, or a function of the operation, as `VariableDeviceChooser` is.
      custom_getter: ``custom_getter(name, reuse=..., **arguments)``, in place of `get_variable`.
    """
    getter: Callable[..., Any] = get_variable
    if custom_getter is not None:
        getter = partial(custom_getter, reuse=get_variable_scope().reuse)
    with nullcontext() if device is None else device_scope(device):
        keys = _once(GraphKeys.GLOBAL_VARIABLES if collections is None else collections)
        return getter(name, collections=keys, **arguments)


@add_arg_scope
@with_arguments_of(variable, dtype=float32)
def model_variable(collections: Any, **arguments: Any) -> Any:
    """Return a variable that is in the model variables too; see `variable`.

    >>> with tf.Graph().as_default():
    ...     w = tf.contrib.framework.model_variable("w", [2])
    ...     tf.model_variables() == [w]
    True
    """
    keys = [*_once(collections), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(**arguments, collections=keys)


def _once(names: Any) -> list[str]:
    return list(dict.fromkeys([names] if isinstance(names, str) else names or ()))


def local_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """Return a new untrainable variable among the local ones. Arguments: see `Variable`."""
    return _untrained(initial_value, validate_shape, name, use_resource, GraphKeys.LOCAL_VARIABLES)


@with_arguments_of(local_variable)
def global_variable(
    initial_value: Any, validate_shape: bool, name: str | None, use_resource: bool | None
) -> Variable:
    """Return a new untrainable variable among the global ones. Arguments: see `Variable`."""
    return _untrained(initial_value, validate_shape, name, use_resource, GraphKeys.GLOBAL_VARIABLES)


def _untrained(value: Any, validated: bool, name: Any, use_resource: Any, key: str) -> Variable:
    return Variable(
        value,
        trainable=False,
        collections=[key],
        validate_shape=validated,
        use_resource=use_resource,
        name=name,
    )


def add_model_variable(var: Variable) -> None:
    """Add a variable to the model variables, unless it is there."""
    if not is_among(var, owner().get_collection(GraphKeys.MODEL_VARIABLES)):
        owner().add_to_collection(GraphKeys.MODEL_VARIABLES, var)


class VariableDeviceChooser(ShownByArguments):
    """A function of operations that gives the tasks of a job in turn.

    Args:
      num_tasks: number of tasks; 0 names no job.
      job_name: name of the job.
      device_type, device_index: the device of the task.
      replica: its replica.

    >>> chooser = VariableDeviceChooser(num_tasks=2)
    >>> chooser(None), chooser(None), chooser(None)
    ('/job:ps/task:0/device:CPU:0', '/job:ps/task:1/device:CPU:0', '/job:ps/task:0/device:CPU:0')
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._num_tasks = num_tasks
        self._job_name = job_name
        self._device = {
            "device_type": device_type,
            "device_index": device_index,
            "replica": replica,
        }
        self._next_task = 0

    def __call__(self, op: Any) -> str:
        """Return the next device."""
        task: dict[str, Any] = {}
        if self._num_tasks > 0:
            task = {"job": self._job_name, "task": self._next_task}
            self._next_task = (self._next_task + 1) % self._num_tasks
        return DeviceSpec(**self._device, **task).to_string()


# -- finding them --------------------------------------------------------------------------------


def get_variables(
    scope: str | VariableScope | None = None,
    suffix: str | None = None,
    collection: str = GraphKeys.GLOBAL_VARIABLES,
) -> list[Any]:
    """Return the variables of a collection whose names begin and end so.

    Args:
      scope: a regular expression that the names must begin with, or a scope.
      suffix: a regular expression that they must end with.
      collection: name of the collection.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix if ':' in suffix else suffix + ':'}"
    return owner().get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the model variables of a scope or suffix; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the local variables of a scope or suffix; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the trainable variables of a scope or suffix; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Return the global variables whose names end so."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the global variables of that name, in whatever scope."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """Return the one global variable of that full name.

    Raises:
      ValueError: there is none, or only such whose names begin so.
    """
    candidates = get_variables(var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variable_full_name(var: Any) -> str:
    """Return the name of a variable, or of the whole that it is a part of."""
    return full_name(var)


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Any]:
    """Return the global variables, but for those whose names begin as one of `exclude`.

    Args:
      include: regular expressions of which the names must begin with one; None takes all.
      exclude: regular expressions of which they must begin with none.

    Raises:
      TypeError: one of the two is no list or tuple.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
    included = (
        get_variables() if include is None else [v for s in include for v in get_variables(s)]
    )
    excluded = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in included if id(v) not in excluded]


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Return the variables whose names match one pattern, and none of others.

    Args:
      var_list: the variables.
      include_patterns: regular expressions; None takes all.
      exclude_patterns: regular expressions of those to leave out.
      reg_search: whether they may match anywhere in the name, not just at its beginning.
    """
    find = re.search if reg_search else re.match

    def matches(var: Any, patterns: Sequence[str]) -> bool:
        return any(find(pattern, var.name) for pattern in patterns)

    found = [v for v in var_list if include_patterns is None or matches(v, include_patterns)]
    return [v for v in found if not matches(v, exclude_patterns or ())]


# -- giving them values --------------------------------------------------------------------------


def assign_from_values(
    var_names_to_values: Mapping[str, numpy.ndarray],
) -> tuple[Operation, dict[Tensor, Any]]:
    """Return an operation that assigns values to variables, and what to feed it with.

    Args:
      var_names_to_values: array for each full name of a global variable, of its size.

    Raises:
      ValueError: there is no such variable, or several.
    """
    found = {name: _named(name) for name in var_names_to_values}
    pairs = [(found[name], value) for name, value in var_names_to_values.items()]
    return assignment(pairs)


def _named(name: str) -> Any:
    candidates = get_variables(name)
    if not candidates:
        raise ValueError(f"Variable {name} wasn't found")
    exact = [v for v in candidates if v.op.name == name]
    if len(candidates) > 1 and not exact:
        raise ValueError(f"Variable {name} doesn't uniquely identify a variable")
    return (exact or candidates)[0]


def assignment(pairs: Iterable[tuple[Any, Any]]) -> tuple[Operation, dict[Tensor, Any]]:
    """Return an operation that assigns to each variable its array, and what to feed it with."""
    feeds, assigned = {}, []
    for var, value in pairs:
        fed = placeholder(var.dtype.base_dtype, var.get_shape(), f"placeholder/{var.op.name}")
        assigned.append(var.assign(fed))
        feeds[fed] = numpy.reshape(value, var.get_shape().as_list())
    return group(*assigned), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, numpy.ndarray]) -> Callable[[Any], Any]:
    """Return a function of a session that assigns the values; see `assign_from_values`."""
    assign, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign, feeds)


# -- the rest of the namespace -------------------------------------------------------------------


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """Return `global_step_tensor`, which must be a scalar integer, or else that of the graph."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def get_name_scope() -> str:
    """Return the present name scope, without a slash at its end.

    >>> with tf.Graph().as_default(), tf.name_scope("a"), tf.name_scope("b"):
    ...     tf.contrib.framework.get_name_scope()
    'a/b'
    """
    return builder_for(()).get_name_scope()


def get_graph_from_inputs(op_input_list: Iterable[Any], graph: Any = None) -> Any:
    """Return the graph of tensors and variables, by default the present one.

    Raises:
      ValueError: they are of several graphs, or of another than `graph`.
    """
    found = graph
    for item in op_input_list:
        of_item = getattr(item, "graph", None)
        if of_item is not None and found is not None and of_item is not found:
            raise ValueError(f"{item!r} is not from the passed-in graph, or from another one.")
        found = of_item if found is None else found
    return builder_for(()) if found is None else found
