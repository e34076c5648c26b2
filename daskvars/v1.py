"""TensorFlow 1's names: ``import daskvars.v1 as tf`` runs graph-mode code unchanged.

These are the functions and classes of `daskvars`; the only difference is that outside of
``with graph.as_default():`` they build into the default graph instead of running eagerly.
"""

from __future__ import annotations

import inspect
import types
from enum import Enum
from typing import Any

import daskvars
from daskvars import dtypes, errors, initializers, nn, train
from daskvars.graph.default_graph import in_graph, in_graph_class, in_graph_context

# Context managers enter the default graph for the length of their block.
_CONTEXTS = {
    "colocate_with", "control_dependencies", "device", "name_scope", "variable_op_scope",
    "variable_scope",
}  # fmt: skip
# What means the same in both modes, or is no function of the graph being built.
_AS_IS = {
    "DType", "DeviceSpec", "Dimension", "Graph", "GraphKeys", "IndexedSlices", "OpDef", "Operation",
    "Tensor", "TensorShape", "VariableScope", "as_dtype", "get_default_graph",
    "register_tensor_conversion_function", "reset_default_graph",
}  # fmt: skip
_EAGER_ONLY = {"GradientTape", "config", "function", "sync"}


def _graph_mode(name: str, value: Any) -> Any:
    """Return a name of `daskvars` as it is in graph mode."""
    if name in _AS_IS or isinstance(value, types.ModuleType | dtypes.DType | str):
        return value
    if name in _CONTEXTS:
        return in_graph_context(value)
    if inspect.isclass(value):
        return value if issubclass(value, Enum) else in_graph_class(value)
    return in_graph(value) if callable(value) else value


def _namespace(module: types.ModuleType) -> types.ModuleType:
    """Return a module's public names in graph mode."""
    result = types.ModuleType(f"{__name__}.{module.__name__.rpartition('.')[2]}", module.__doc__)
    for name, value in vars(module).items():
        if not name.startswith("_") and not isinstance(value, types.ModuleType):
            setattr(result, name, _graph_mode(name, value))
    return result


globals().update({
    name: _graph_mode(name, getattr(daskvars, name))
    for name in daskvars.__all__ if name not in _EAGER_ONLY
})  # fmt: skip
nn = _namespace(nn)
train = _namespace(train)
initializers = _namespace(initializers)
__all__ = sorted((set(daskvars.__all__) - _EAGER_ONLY) | {"errors", "nn", "train"})  # noqa: PLE0605
