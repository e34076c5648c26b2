"""TensorFlow 1's names: ``import daskvars.v1 as tf`` runs graph-mode code unchanged.

These are the functions and classes of `daskvars`; the only difference is that outside of
``with graph.as_default():`` they build into the default graph instead of running eagerly.

Besides, here is what only TensorFlow-1 programs call; an eager program, or one that builds a graph
with `daskvars.Graph` and runs it, needs none of it. The rule decides where a new name goes. Rooms:
``sessions`` (monitored, with hooks), ``servers`` (clusters of named tasks), ``optimizers`` (FTRL,
proximal, synchronized replicas), ``sampling`` (candidates out of very many classes). Files:
``raw_rnn``, ``manip``, ``logging``, ``app`` and ``flags``, ``gfile``, ``text`` (``tf.compat``),
``switches`` that turn what is always on.

Nothing else in the package imports this room, and ``import daskvars`` does not load it; which names
are here alone stands in `daskvars.names_of_v1`, for the error of who looks for them elsewhere.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

import daskvars
from daskvars import dtypes, initializers, layers, nn, summary, train
from daskvars.errors import did_you_mean
from daskvars.graph.records.graph_def import GraphDef, NodeDef
from daskvars.graph.records.importer import import_graph_def
from daskvars.graph.scopes.default_graph import (
    InGraph,
    in_graph,
    in_graph_class,
    in_graph_context,
    in_graph_of_inputs,
)
from daskvars.messages import Message
from daskvars.summary import records
from daskvars.train.graphs.meta_graph import MetaGraphDef
from daskvars.v1 import (
    app,
    flags,
    gfile,
    logging,
    manip,
    optimizers,
    raw_rnn,
    sampling,
    servers,
    sessions,
    switches,
    text,
)
from daskvars.variables.collections import tables_initializer

# The version of TensorFlow whose names and rules these are: what programs compare it with is old.
__version__ = VERSION = "1.15.0"

# Context managers enter the default graph for the length of their block.
_CONTEXTS = {
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "init_scope",
    "name_scope",
    "op_scope",
    "variable_creator_scope",
    "variable_op_scope",
    "variable_scope",
}
# Functions that mean the default graph, whichever tensors they are given.
_OF_DEFAULT_GRAPH = {
    "add_check_numerics_ops",
    "add_loss",
    "add_to_collection",
    "add_to_collections",
    "get_local_variable",
    "get_variable",
}
# What means the same in both modes, or is no function of the graph being built.
_AS_IS = {
    "ClusterDef",
    "ClusterSpec",
    "DType",
    "DeviceSpec",
    "Dimension",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "IndexedSlices",
    "InputSpec",
    "JobDef",
    "LSTMStateTuple",
    "MetaGraphDef",
    "NoGradient",
    "NodeDef",
    "NotDifferentiable",
    "OpDef",
    "Operation",
    "RegisterGradient",
    "Server",
    "ServerDef",
    "Spec",
    "Tensor",
    "TensorShape",
    "VariableScope",
    "as_dtype",
    "get_default_graph",
    "register_tensor_conversion_function",
    "reset_default_graph",
}
_EAGER_ONLY = {"GradientTape", "config", "data", "function", "reset", "sync"}
# Parts of TensorFlow that are not here, and what does their work.
_ELSEWHERE = {
    "FIFOQueue": "feed NumPy or dask arrays",
    "SparseTensor": "keep indices, values and shape as three tensors; see also IndexedSlices",
    "contrib": "look for the name itself, in layers, initializers, nn, train or at the top level",
    "data": "feed what daskvars.data.batches gives, or arrays",
    "estimator": "write the training loop with a session",
    "keras": "use layers, losses, train and metrics",
    "python_io": "read records in Python and feed arrays",
    "saved_model": "use train.Saver, and train.export_meta_graph for the graph",
    "sparse_placeholder": "feed indices, values and shape through three placeholders",
    "test": "use unittest or pytest, with numpy.testing",
}
_NAMESPACES = (
    daskvars.bitwise,
    daskvars.debugging,
    daskvars.linalg,
    daskvars.losses,
    daskvars.math,
    daskvars.metrics,
    daskvars.random,
    daskvars.strings,
    initializers,
    layers,
    nn,
    nn.rnn_cell,
    summary,
    train,
)
# What a namespace of TensorFlow 1 has besides.
_BESIDES: dict[types.ModuleType, tuple[types.ModuleType, ...]] = {
    nn: (raw_rnn, sampling),
    train: (optimizers, servers, sessions),
}


def _graph_mode(name: str, value: Any) -> Any:
    """Return a name of `daskvars` as it is in graph mode."""
    if isinstance(value, types.ModuleType):
        return _namespace(value) if value in _NAMESPACES else value
    if name in _AS_IS or isinstance(value, dtypes.DType):
        return value
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in _CONTEXTS:
        return in_graph_context(value)
    if inspect.isclass(value):
        return value if issubclass(value, Enum | Message) else in_graph_class(value)
    if not callable(value):
        return value
    return in_graph(value) if name in _OF_DEFAULT_GRAPH else in_graph_of_inputs(value)


def _namespace(module: types.ModuleType) -> types.ModuleType:
    """Return a module's public names in graph mode."""
    result = types.ModuleType(f"{__name__}.{module.__name__.rpartition('.')[2]}", module.__doc__)
    for part in (module, *_BESIDES.get(module, ())):
        for name in part.__all__:
            setattr(result, name, _graph_mode(name, getattr(part, name)))
    return result


class _Interactive(InGraph):
    """The class of InteractiveSession: with a graph that it enters, nothing may be around it."""

    def __call__(cls, target: Any = "", graph: Any = None, config: Any = None) -> Any:
        make = super().__call__ if graph is None else functools.partial(type.__call__, cls)
        return make(target, graph, config)


@functools.wraps(daskvars.register_op)
def _register_op(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    return in_graph(daskvars.register_op(*args, **kwargs))


_SPECIAL = {
    "InteractiveSession": _Interactive(
        "InteractiveSession",
        (in_graph_class(daskvars.InteractiveSession),),
        {n: getattr(daskvars.InteractiveSession, n) for n in ("__doc__", "__module__")}
        | {"_original": daskvars.InteractiveSession},
    ),
    "register_op": _register_op,
}


def __getattr__(name: str) -> Any:
    """Say what is missing; type checkers learn from it that names are made as this is imported."""
    raise AttributeError(_why_missing(name))


@functools.lru_cache(maxsize=256)  # tools ask for the same few names, thousands of times
def _why_missing(name: str) -> str:
    if name in _ELSEWHERE:
        return f"daskvars.v1 has no {name!r}: {_ELSEWHERE[name]}"
    if name in _EAGER_ONLY:
        return f"{name!r} belongs to eager code: use daskvars.{name}"
    return f"daskvars.v1 has no {name!r}{did_you_mean(name, __all__)}"


def _compat() -> types.ModuleType:
    """Return `tf.compat`: this module as ``v1``, and functions for text."""
    result = types.ModuleType(f"{__name__}.compat", text.__doc__)
    vars(result).update({name: getattr(text, name) for name in text.__all__})
    result.v1 = sys.modules[__name__]  # type: ignore[attr-defined]
    return result


_tables_initializer = in_graph(tables_initializer)
# What programs use besides graphs; eager programs have Python's own.
_V1_ONLY = {
    "Event": records.Event,
    "GraphDef": GraphDef,
    "NodeDef": NodeDef,
    "import_graph_def": in_graph_of_inputs(import_graph_def),
    "HistogramProto": records.HistogramProto,
    "MetaGraphDef": MetaGraphDef,
    "SessionLog": records.SessionLog,
    "Summary": records.Summary,
    "VERSION": VERSION,
    "app": app,
    "compat": _compat(),
    "flags": flags,
    "gfile": gfile,
    "get_logger": logging.get_logger,
    "initialize_all_tables": _tables_initializer,
    "logging": _namespace(logging),
    "manip": _namespace(manip),
    "tables_initializer": _tables_initializer,
    **{name: getattr(switches, name) for name in switches.__all__},
}
__all__ = sorted({*daskvars.__all__, *_V1_ONLY} - _EAGER_ONLY)
globals().update(
    {
        name: _V1_ONLY[name] if name in _V1_ONLY else _graph_mode(name, getattr(daskvars, name))
        for name in __all__
    }
)
# ``from daskvars.v1.train import Saver`` finds a namespace as it finds a module.
for _name in __all__:
    if isinstance(globals()[_name], types.ModuleType):
        sys.modules.setdefault(f"{__name__}.{_name}", globals()[_name])
