"""The modules that TensorFlow's names come from: ``from daskvars.v1.python.ops import array_ops``.

Programs import from ``tensorflow.python`` and ``tensorflow.contrib.layers.python`` what has a
public name as well. The modules that they name are here, and in each of them the public names of
where its own are; no file is behind one. What TensorFlow has there without a public name is here
where `UNLISTED` says so.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from daskvars import data, shapes
from daskvars.execution.config_proto import ConfigProto
from daskvars.execution.engine.values.conversions import register_session_run_conversion_functions
from daskvars.execution.session import Session
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.default_graph import in_graph_class, in_graph_context, in_graph_of_inputs
from daskvars.inspect_checkpoint import print_tensors_in_checkpoint_file
from daskvars.ops.array.constant import rank
from daskvars.ops.array.joining import concat
from daskvars.ops.array.ranges import range as range_of
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.dependencies import with_dependencies
from daskvars.ops.nn.activation import RELU_GRAD
from daskvars.ops.nn.convolution.functions import conv3d_transpose
from daskvars.ops.rules.static_shapes import get_static_value
from daskvars.train.checkpoints.reader import NewCheckpointReader
from daskvars.train.optimizers.moving_averages import assign_moving_average
from daskvars.v1 import gfile, handwritten_digits, switching
from daskvars.v1.contrib.known_predicates import smart_constant_value
from daskvars.v1.contrib.networks import linear_maps
from daskvars.v1.feature_column import categorical, columns, embeddings, numeric
from daskvars.v1.graphs.tensor_protos import make_ndarray
from daskvars.v1.inner import defun, freezing, function_utils, inplace_ops
from daskvars.v1.sessions.monitoring_hooks import Timeline
from daskvars.variables.scopes.variable_scope import variable_scope
from daskvars.variables.variable import Variable

# Folder of tensorflow.python -> its modules, with the namespaces, after a colon, that have their
# names. Those at the top are in all of them.
OF_PYTHON = {
    "": "debug pywrap_tensorflow",
    "client": "device_lib session timeline",
    "data.ops": "dataset_ops:data iterator_ops:data readers:data",
    "eager": "context",
    "estimator": "estimator:estimator exporter:estimator model_fn:estimator run_config:estimator "
    "training:estimator util:estimator",
    "feature_column": "feature_column:feature_column feature_column_lib:feature_column",
    "framework": "constant_op device dtypes errors:errors errors_impl:errors function "
    "graph_io:train graph_util:graph_util graph_util_impl:graph_util importer op_def_registry "
    "ops random_seed smart_cond:contrib.framework sparse_tensor tensor_shape tensor_util "
    "tensor_spec test_util:test",
    "layers": "base:layers convolutional:layers core:layers layers:layers normalization:layers "
    "pooling:layers utils:contrib.layers.utils",
    "lib.io": "file_io:gfile python_io:python_io tf_record:python_io",
    "ops": "array_ops bitwise_ops:bitwise candidate_sampling_ops:nn check_ops clip_ops "
    "control_flow_ops control_flow_util ctc_ops:nn custom_gradient data_flow_ops:contrib.staging "
    "embedding_ops:nn functional_ops gen_array_ops gen_math_ops:math gen_nn_ops "
    "gradient_checker:test gradients gradients_impl histogram_ops "
    "image_ops:image image_ops_impl:image init_ops:initializers inplace_ops io_ops "
    "linalg_ops:linalg logging_ops lookup_ops:contrib.lookup math_ops:math metrics:metrics "
    "metrics_impl:metrics nccl_ops:contrib.nccl nn:nn nn_impl:nn nn_ops:nn parsing_ops "
    "partitioned_variables "
    "random_ops:random resource_variable_ops rnn:nn rnn_cell:nn.rnn_cell "
    "rnn_cell_impl:nn.rnn_cell script_ops sparse_ops:sparse special_math_ops "
    "spectral_ops:spectral standard_ops state_ops string_ops:strings template "
    "tensor_array_ops variable_scope variables",
    "ops.distributions": "bernoulli:distributions beta:distributions categorical:distributions "
    "dirichlet:distributions distribution:distributions exponential:distributions "
    "gamma:distributions kullback_leibler:distributions laplace:distributions "
    "multinomial:distributions normal:distributions student_t:distributions "
    "uniform:distributions",
    "ops.losses": "losses:losses losses_impl:losses",
    "ops.rnn": "rnn_cell_impl:nn.rnn_cell",  # which TFLearn takes from there
    "platform": "app:app flags:flags gfile:gfile googletest:test test:test tf_logging:logging",
    "saved_model": "builder:saved_model.builder constants:saved_model.constants "
    "loader:saved_model.loader signature_constants:saved_model.signature_constants "
    "signature_def_utils:saved_model.signature_def_utils "
    "signature_def_utils_impl:saved_model.signature_def_utils "
    "tag_constants:saved_model.tag_constants utils:saved_model.utils",
    "summary": "summary:summary summary_iterator:train",
    "summary.writer": "writer:summary writer_cache:summary",
    "tools": "freeze_graph inspect_checkpoint",
    "training": "adadelta:train adagrad:train adam:train basic_session_run_hooks:train "
    "checkpoint_management:train checkpoint_utils:train coordinator:train ftrl:train "
    "device_setter:train gradient_descent:train input:train learning_rate_decay:train "
    "momentum:train monitored_session:train moving_averages:train optimizer:train "
    "queue_runner:train queue_runner_impl:train rmsprop:train saver:train server_lib:train "
    "session_manager:train session_run_hook:train supervisor:train training:train "
    "training_util:train",
    "util": "all_util compat:compat function_utils nest:contrib.framework.nest tf_contextlib "
    "tf_decorator tf_inspect deprecation",
}
# Folder of tensorflow.core -> its modules of messages.
OF_CORE = {
    "example": "example_pb2:train feature_pb2:train",
    "framework": "graph_pb2 node_def_pb2 op_def_pb2 summary_pb2:summary",
    "protobuf": "cluster_pb2:train config_pb2 meta_graph_pb2 saver_pb2:train "
    "tensorflow_server_pb2:train",
    "util": "event_pb2",
}
# Namespace of tensorflow.contrib -> the modules under "python" in it. All have its names, and
# those of the inner namespace after a colon.
OF_CONTRIB = {
    "crf": "ops.crf",
    "data": "ops.batching ops.grouping ops.interleave_ops ops.readers ops.shuffle_ops",
    "distributions": "ops.bijectors:bijectors",
    "estimator": "estimator.early_stopping",
    "framework": "framework.checkpoint_utils framework.tensor_util ops.arg_scope ops.variables",
    "image": "ops.image_ops",
    "layers": "layers.embedding_ops layers.encoders layers.initializers:initializers "
    "layers.layers layers.normalization layers.optimizers layers.regularizers:regularizers "
    "layers.summaries:summaries layers.utils:utils",
    "legacy_seq2seq": "ops.seq2seq",
    "lookup": "lookup_ops",
    "losses": "losses.loss_ops metric_learning.metric_loss_ops:metric_learning",
    "metrics": "ops.metric_ops ops.set_ops",
    "opt": "training.adamax training.external_optimizer training.lazy_adam_optimizer "
    "training.moving_average_optimizer training.nadam_optimizer training.weight_decay_optimizers",
    "rnn": "ops.core_rnn ops.core_rnn_cell ops.core_rnn_cell_impl ops.fused_rnn_cell ops.gru_ops "
    "ops.lstm_ops ops.rnn ops.rnn_cell",
    "seq2seq": "ops.attention_wrapper ops.basic_decoder ops.beam_search_decoder "
    "ops.beam_search_ops ops.decoder ops.helper ops.loss",
    "slim": "slim.data.data_decoder:data_decoder slim.data.data_provider:data_provider "
    "slim.data.dataset:dataset slim.data.dataset_data_provider:dataset_data_provider "
    "slim.data.parallel_reader:parallel_reader slim.data.prefetch_queue:prefetch_queue "
    "slim.data.tfexample_decoder:tfexample_decoder slim.evaluation:evaluation "
    "slim.learning:learning slim.model_analyzer:model_analyzer "
    "slim.nets.alexnet:nets.alexnet slim.nets.inception:nets.inception "
    "slim.nets.inception_v1:nets.inception slim.nets.inception_v3:nets.inception "
    "slim.nets.resnet_utils:nets.resnet_utils slim.nets.resnet_v1:nets.resnet_v1 "
    "slim.nets.resnet_v2:nets.resnet_v2 slim.nets.vgg:nets.vgg slim.queues:queues "
    "slim.summaries:summaries",
    "tpu": "tpu.tpu_config tpu.tpu_estimator tpu.tpu_optimizer",
    "training": "training.bucket_ops training.evaluation training.hparam training.training",
}

# Where the digits are that programs to learn from begin with.
OF_DIGITS = ("examples.tutorials.mnist.input_data", "contrib.learn.python.learn.datasets.mnist")


def _keep_all(module_name: str, *args: Any, **kwargs: Any) -> None:
    """Leave a module's names as they are: which of them are documented is nothing here."""


def _deprecated(date: Any, instructions: str, warn_once: bool = True) -> Any:
    """Return a decorator that leaves a function as it is: nobody is told that it is old."""
    return lambda function: function


def _list_local_devices(session_config: ConfigProto | None = None) -> list[Any]:
    with Session(graph=Graph(), config=session_config) as session:
        return list(session.list_devices())


def _merge(inputs: Any, name: str | None = None) -> Any:
    return switching.Merge(inputs=inputs, name=name)


def _read_file(filename: Any, binary_mode: bool = False) -> Any:
    with gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def _write_file(filename: Any, file_content: Any) -> None:
    with gfile.GFile(filename, "w") as file:
        file.write(file_content)


def _pure_variable_scope(name_or_scope: Any, reuse: Any = None, **kwargs: Any) -> variable_scope:
    return variable_scope(name_or_scope, reuse=reuse, auxiliary_name_scope=False, **kwargs)


def _no_xla_context(ctxt: Any) -> None:
    """Return the context of XLA that another one is in: there is none here."""


def _constant_value(pred: Any) -> bool | None:
    return None if isinstance(pred, Variable) else smart_constant_value(pred)


def _transpose_batch_time(x: Any) -> Any:
    """Return a sequence whose first two dimensions, batch and time, have changed places."""
    x = convert_to_tensor(x)
    known = x.shape.rank
    if known is None:
        return transpose(x, concat([[1, 0], range_of(2, rank(x))], 0))
    return x if known < 2 else transpose(x, [1, 0, *range(2, known)])


_numbers = itertools.count(1)


def _uid() -> int:
    """Return a number that it has not returned before."""
    return next(_numbers)


def _conv3d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    return conv3d_transpose(
        out_backprop, filter, input_sizes, strides, padding, data_format, name, dilations=dilations
    )


def _relu_grad(gradients: Any, features: Any, name: str | None = None) -> Any:
    return apply(RELU_GRAD, gradients, features, name=name)


def _switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> Any:
    return switching.Switch(data=data, pred=pred, name=name)


# In TensorFlow's own module of its generated functions, and by its name in that of all of `nn`.
_OF_VOLUMES = {"conv3d_backprop_input_v2": in_graph_of_inputs(_conv3d_backprop_input)}
_OF_SEQUENCES = {"_transpose_batch_time": in_graph_of_inputs(_transpose_batch_time)}
_OF_CELLS = {
    "_BIAS_VARIABLE_NAME": "bias",
    "_Linear": in_graph_class(linear_maps.LinearMap),
    "_WEIGHTS_VARIABLE_NAME": "kernel",
    "_concat": in_graph_of_inputs(linear_maps.batch_shape),
    "_like_rnncell": linear_maps.is_like_cell,
    "_linear": in_graph_of_inputs(linear_maps.linear),
    "_zero_state_tensors": in_graph_of_inputs(linear_maps.zero_state_tensors),
    "assert_like_rnncell": linear_maps.assert_like_cell,
}
# Module -> what is in it without a public name, or by another one.
UNLISTED: dict[str, dict[str, Any]] = {
    "contrib.rnn.python.ops.core_rnn_cell": _OF_CELLS,
    "contrib.seq2seq.python.ops.decoder": _OF_SEQUENCES,
    "contrib.seq2seq.python.ops.helper": _OF_SEQUENCES,
    "python.ops.rnn": _OF_SEQUENCES,
    "python.ops.rnn_cell": _OF_CELLS,
    "python.ops.rnn_cell_impl": _OF_CELLS,
    "python.client.device_lib": {"list_local_devices": _list_local_devices},
    "python.client.session": {
        "register_session_run_conversion_functions": register_session_run_conversion_functions
    },
    "python.client.timeline": {"Timeline": Timeline},
    "python.lib.io.file_io": {
        "FileIO": gfile.GFile,
        "copy": gfile.Copy,
        "create_dir": gfile.MkDir,
        "delete_file": gfile.Remove,
        "delete_recursively": gfile.DeleteRecursively,
        "file_exists": gfile.Exists,
        "get_matching_files": gfile.Glob,
        "is_directory": gfile.IsDirectory,
        "list_directory": gfile.ListDirectory,
        "read_file_to_string": _read_file,
        "recursive_create_dir": gfile.MakeDirs,
        "rename": gfile.Rename,
        "stat": gfile.Stat,
        "walk": gfile.Walk,
        "write_string_to_file": _write_file,
    },
    # Kinds of columns, by which programs tell them apart: private until TensorFlow 1.12.
    "python.feature_column.feature_column": {
        f"_{kind.__name__}": kind
        for kind in (
            *(columns.CategoricalColumn, columns.DenseColumn, columns.FeatureColumn),
            *(numeric.BucketizedColumn, numeric.NumericColumn),
            *(embeddings.EmbeddingColumn, embeddings.IndicatorColumn),
            categorical.CrossedColumn,
            categorical.HashedCategoricalColumn,
            categorical.IdentityCategoricalColumn,
            categorical.VocabularyFileCategoricalColumn,
            categorical.VocabularyListCategoricalColumn,
            categorical.WeightedCategoricalColumn,
        )
    },
    "python.estimator.util": {"fn_args": function_utils.fn_args},
    "python.framework.function": {"Defun": defun.Defun},
    "python.framework.ops": {"uid": _uid},
    "python.framework.tensor_util": {
        "MakeNdarray": make_ndarray,
        "constant_value": get_static_value,
    },
    "python.data.ops.dataset_ops": {
        f"get_legacy_output_{what}": getattr(data, f"get_output_{what}")
        for what in ("classes", "shapes", "types")
    },
    "python.framework.tensor_shape": {
        name: getattr(shapes, name)
        for name in ("as_dimension", "as_shape", "matrix", "scalar", "unknown_shape", "vector")
    },
    "python.ops.control_flow_ops": {
        "merge": in_graph_of_inputs(_merge),
        "switch": in_graph_of_inputs(_switch),
        "with_dependencies": in_graph_of_inputs(with_dependencies),
    },
    "python.layers.utils": {"constant_value": _constant_value},
    "python.ops.control_flow_util": {"GetContainingXLAContext": _no_xla_context},
    "python.ops.inplace_ops": {
        name: in_graph_of_inputs(getattr(inplace_ops, name)) for name in inplace_ops.__all__
    },
    "python.ops.gen_nn_ops": {
        **_OF_VOLUMES,
        **dict.fromkeys(("_relu_grad", "relu_grad"), in_graph_of_inputs(_relu_grad)),
    },
    "python.ops.nn_ops": _OF_VOLUMES,
    "python.ops.variable_scope": {
        "_pure_variable_scope": in_graph_context(_pure_variable_scope),
        "variable": in_graph_class(Variable),
    },
    "python.pywrap_tensorflow": {"NewCheckpointReader": NewCheckpointReader},
    "python.tools.freeze_graph": {"freeze_graph": freezing.freeze_graph},
    "python.tools.inspect_checkpoint": {
        "print_tensors_in_checkpoint_file": print_tensors_in_checkpoint_file
    },
    "python.training.moving_averages": {
        "assign_moving_average": in_graph_of_inputs(assign_moving_average)
    },
    "python.util.all_util": {"remove_undocumented": _keep_all},
    # Programs set this to False, so as not to be told what they know; nobody is told anything here.
    "python.util.deprecation": {"_PRINT_DEPRECATION_WARNINGS": True, "deprecated": _deprecated},
    "python.util.function_utils": {
        name: getattr(function_utils, name) for name in ("fn_args", "get_func_name", "has_kwargs")
    },
    "python.util.tf_contextlib": {"contextmanager": contextlib.contextmanager},
    "python.util.tf_decorator": {
        name: getattr(function_utils, name) for name in ("make_decorator", "unwrap")
    },
    "python.util.tf_inspect": {
        **{name: value for name, value in vars(inspect).items() if name[0] != "_"},
        "getargspec": function_utils.getargspec,
    },
}


def _names(namespace: types.ModuleType) -> Iterable[str]:
    return getattr(namespace, "__all__", vars(namespace))


class InnerModule(types.ModuleType):
    """A module whose names are those of namespaces.

    Args:
      path: its place in `daskvars.v1`, as in "python.ops.nn_ops".
      places: the namespaces, of which the first with a name gives it.
    """

    def __init__(self, path: str, places: Iterable[types.ModuleType]) -> None:
        super().__init__(f"daskvars.v1.{path}", f"Names of TensorFlow's ``tensorflow.{path}``.")
        self.__path__: list[str] = []  # it may have modules, though none in a file
        self.__dict__.update(UNLISTED.get(path, {}))
        self._places = tuple(places)

    @property
    def __all__(self) -> list[str]:
        """What ``import *`` gives: the names that are the module's own, none of the top's."""
        first = [place for place in self._places[:1] if place.__name__ != "daskvars.v1"]
        own = [name for place in first for name in _names(place)]  # a folder may have no place
        return [name for name in (*own, *vars(self)) if name[0] != "_"]

    def __getattr__(self, name: str) -> Any:
        """Return what has a name."""
        for place in self._places if name[:2] != "__" else ():
            if name in _names(place):
                return getattr(place, name)
        raise AttributeError(
            f"{self.__name__} has no {name!r} here: use a public name, if it has one"
        )


def _modules() -> Iterator[tuple[str, list[str]]]:
    """Yield each module's path, and the namespaces of its names; "" is the top."""
    for outside, folders in (("python", OF_PYTHON), ("core", OF_CORE)):
        for folder, modules in folders.items():
            for name, _, own in (module.partition(":") for module in modules.split()):
                yield f"{outside}.{folder}.{name}".replace("..", "."), [own, ""] if own else [""]
    for outer, modules in OF_CONTRIB.items():
        yield f"contrib.{outer}.python", [f"contrib.{outer}"]
        for name, _, inner in (module.partition(":") for module in modules.split()):
            first = [f"contrib.{outer}.{inner}"] if inner else []
            yield f"contrib.{outer}.python.{name}", [*first, f"contrib.{outer}", ""]


def _at(top: types.ModuleType, path: str) -> Any:
    return functools.reduce(getattr, path.split(".") if path else (), top)


def _put(top: types.ModuleType, path: str, places: list[types.ModuleType]) -> types.ModuleType:
    """Return the module of a path, made importable with the folders that it is in.

    Where the folder has a namespace of that name, this is the module; where it has a function, the
    module is found by its path alone, as in TensorFlow.
    """
    folder, _, name = path.rpartition(".")
    parent = _put(top, folder, places[-2:-1]) if folder else top
    found = getattr(parent, name, None)
    module = found if isinstance(found, types.ModuleType) else InnerModule(path, places)
    if found is None:
        setattr(parent, name, module)
    sys.modules.setdefault(f"daskvars.v1.{path}", module)
    return module


def put_modules(top: types.ModuleType) -> None:
    """Make the inner modules importable.

    Args:
      top: the module of `daskvars.v1`.
    """
    for path in OF_DIGITS:
        _put(top, path, [handwritten_digits])
    _put(top, "train.queue_runner", [_at(top, "train")])  # public, beside its names in `train`
    for path, namespaces in _modules():
        _put(top, path, [_at(top, namespace) for namespace in namespaces])
