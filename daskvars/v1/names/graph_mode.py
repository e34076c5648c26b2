"""What is under each name of `daskvars.v1`: that of `daskvars`, in graph mode, or v1's own."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

import daskvars
from daskvars import data, dtypes, initializers, layers, nn, summary, train
from daskvars.data import experimental
from daskvars.data.records import examples
from daskvars.errors import OpError
from daskvars.execution.config_proto import ConfigProto
from daskvars.graph.graph import Graph
from daskvars.graph.records.graph_def import GraphDef, NodeDef
from daskvars.graph.scopes.default_graph import (
    InGraph,
    in_graph,
    in_graph_class,
    in_graph_context,
    in_graph_of_inputs,
)
from daskvars.summary import records
from daskvars.surface.messages import Message
from daskvars.v1 import (
    app,
    contrib,
    estimator,
    feature_column,
    flags,
    gfile,
    graphs,
    logging,
    lookup,
    nest,
    nn_functions,
    optimizers,
    queues,
    raw_rnn,
    sampling,
    saved_model,
    servers,
    sessions,
    summary_writers,
    test,
)
from daskvars.v1.contrib import tables
from daskvars.v1.graphs import graph_util, tensor_protos, tensor_spec
from daskvars.v1.graphs.importer import import_graph_def
from daskvars.v1.graphs.meta_graph import MetaGraphDef
from daskvars.v1.module import Module
from daskvars.v1.names import not_here, old_names, sparse_functions, switches, text, tpu, version
from daskvars.v1.names.namespaces import (
    dtypes as dtype_names,
    initializers as initializer_names,
    io,
    manip,
    python_io,
    queue,
    random as random_names,
    raw_ops,
    sparse as sparse_names,
    spectral,
)
from daskvars.v1.queues import pipelines
from daskvars.v1.sessions import session_tensors
from daskvars.variables.collections import tables_initializer
from daskvars.variables.initializers import VarianceScaling

PACKAGE = "daskvars.v1"
VERSION = version.VERSION

# Context managers enter the default graph for the length of their block.
_CONTEXTS = {
    "bfloat16_scope",
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
    "tables_initializer",
}
# Functions that return an initializer: what the program calls later builds into the default graph.
_GIVING_INITIALIZERS = {
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
}
# What means the same in both modes, or is no function of the graph being built.
_AS_IS = {
    *examples.__all__,
    "AttentionWrapperState",
    "BasicDecoderOutput",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "TensorSpec",
    "VarLenFeature",
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
_EAGER_ONLY = {"GradientTape", "config", "function", "profile", "reset", "sync"}
NAMESPACES = (
    data,
    experimental,
    daskvars.bitwise,
    daskvars.debugging,
    daskvars.distributions,
    daskvars.image,
    daskvars.linalg,
    daskvars.losses,
    daskvars.math,
    daskvars.metrics,
    daskvars.quantization,
    daskvars.random,
    daskvars.sets,
    daskvars.signal,
    daskvars.sparse,
    daskvars.strings,
    initializers,
    layers,
    nn,
    nn.rnn_cell,
    summary,
    train,
)
# Namespaces that are no module of this package's, and what each is made of.
MADE_OF: tuple[tuple[types.ModuleType, ...], ...] = (
    (dtype_names,),
    (graph_util,),
    (initializers, initializer_names),
    (io,),
    (manip,),
    (nn, nn_functions, raw_rnn, sampling),
    (python_io,),
    (queue,),
    (daskvars.random, random_names),
    (raw_ops,),
    (daskvars.sparse, sparse_names),
    (spectral,),
    (summary, summary_writers),
    (tpu,),
    (version,),
    (train, examples, graphs, optimizers, pipelines, servers, sessions),
)
COMPAT_TOO = ("dimension_at_index", "dimension_value")  # what is in `tf.compat` besides text
_PARTS = {parts[0]: parts for parts in MADE_OF}


_SCALING = in_graph_class(VarianceScaling)


def _graph_mode(name: str, value: Any) -> Any:
    """Return a name of `daskvars` as it is in graph mode."""
    if isinstance(value, types.ModuleType):
        return _namespace(value) if value in NAMESPACES else value
    if name in _AS_IS or isinstance(value, dtypes.DType):
        return value
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in _CONTEXTS:
        return in_graph_context(value)
    if inspect.isclass(value):
        # An except clause goes by the line of ancestors: an error must be the class that is raised.
        as_is = issubclass(value, Enum | Message | BaseException)
        return value if as_is else in_graph_class(value)
    if not callable(value):
        return value
    if name in _GIVING_INITIALIZERS:
        return _giving_initializers(value)
    return in_graph(value) if name in _OF_DEFAULT_GRAPH else in_graph_of_inputs(value)


def _giving_initializers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose initializers, called by the program, build into the default graph."""
    make = in_graph_of_inputs(function)

    @functools.wraps(function)
    def initializer(*args: Any, **kwargs: Any) -> Any:
        return _SCALING(**make(*args, **kwargs).get_config())

    return initializer


def _namespace(module: types.ModuleType) -> types.ModuleType:
    """Return a module's public names in graph mode."""
    title = module.__name__.rpartition(".")[2].removesuffix("_names")
    result = types.ModuleType(f"{PACKAGE}.{title}", module.__doc__)
    for part in _PARTS.get(module, (module,)):
        for name in part.__all__:
            setattr(result, name, _graph_mode(name, getattr(part, name)))
    return _refusing(title, result)


def _refusing(title: str, module: types.ModuleType) -> types.ModuleType:
    """Return a namespace that says of a name that it lacks what else there is."""
    names = [name for name in vars(module) if name[0] != "_"]
    module.__getattr__ = not_here.refuses(title, names)  # type: ignore[method-assign]
    return module


class _Interactive(InGraph):
    """The class of InteractiveSession: with a graph that it enters, nothing may be around it."""

    def __call__(
        cls, target: Any = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> Any:
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


@functools.lru_cache(maxsize=256)  # tools ask for the same few names, thousands of times
def why_missing(name: str) -> str:
    """Return what an AttributeError says of a name that is not here."""
    if name in _EAGER_ONLY:
        return f"{name!r} belongs to eager code: use daskvars.{name}"
    return not_here.why_not("", name, NAMES)


def _compat() -> types.ModuleType:
    """Return `tf.compat`: this module as ``v1``, and functions for text and dimensions."""
    result = types.ModuleType(f"{PACKAGE}.compat", text.__doc__)
    vars(result).update({name: getattr(text, name) for name in text.__all__})
    vars(result).update({name: getattr(daskvars, name) for name in COMPAT_TOO})
    vars(result)["v1"] = sys.modules[PACKAGE]
    return _refusing("compat", result)


def _contrib() -> types.ModuleType:
    """Return the package of ``tf.contrib``, with its namespaces."""
    for name, values in tables.NAMESPACES.items():
        setattr(contrib, name, tables.namespace(name, values, _contrib_mode))
    return contrib


def _contrib_mode(name: str, value: Any) -> Any:
    # An arg_scope opens no graph, nor does what only looks at functions.
    return value if value in tables.OF_NO_GRAPH else _graph_mode(name, value)


_tables_initializer = _graph_mode("tables_initializer", tables_initializer)
# What programs use besides graphs; eager programs have Python's own.
V1_ONLY = {
    "Event": records.Event,
    "GraphDef": GraphDef,
    "NodeDef": NodeDef,
    "import_graph_def": in_graph_of_inputs(import_graph_def),
    "HistogramProto": records.HistogramProto,
    "MetaGraphDef": MetaGraphDef,
    "Module": Module,
    "OpError": OpError,
    "SessionLog": records.SessionLog,
    "Summary": records.Summary,
    "SummaryMetadata": records.SummaryMetadata,
    "COMPILER_VERSION": version.COMPILER_VERSION,
    "GIT_VERSION": version.GIT_VERSION,
    "VERSION": VERSION,
    "app": app,
    "compat": _compat(),
    "dtypes": _namespace(dtype_names),
    "contrib": _contrib(),
    "feature_column": _namespace(feature_column),
    "flags": flags,
    "gfile": gfile,
    "graph_util": _namespace(graph_util),
    "get_logger": logging.get_logger,
    "initialize_all_tables": _tables_initializer,
    "io": _namespace(io),
    "logging": _namespace(logging),
    "lookup": _namespace(lookup),
    "estimator": _refusing("estimator", estimator),
    "saved_model": saved_model,
    "manip": _namespace(manip),
    "nest": nest,
    "no_gradient": daskvars.NotDifferentiable,
    "python_io": _namespace(python_io),
    "queue": _namespace(queue),
    "raw_ops": _namespace(raw_ops),
    "spectral": _namespace(spectral),
    "tables_initializer": _tables_initializer,
    "test": test,
    "tpu": _namespace(tpu),
    "version": _namespace(version),
    **{name: getattr(switches, name) for name in switches.__all__},
    **{
        name: _graph_mode(name, getattr(room, name))
        for room in (
            old_names,
            queues,
            session_tensors,
            sparse_functions,
            tensor_protos,
            tensor_spec,
        )
        for name in room.__all__
    },
}
# Every name of `daskvars.v1`, and what it is.
NAMES: dict[str, Any] = {
    name: V1_ONLY[name] if name in V1_ONLY else _graph_mode(name, getattr(daskvars, name))
    for name in sorted({*daskvars.__all__, *V1_ONLY} - _EAGER_ONLY)
}
