"""What TensorFlow's modules have that its tests need, and no program: module -> name -> value."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import six

import daskvars.v1 as tf
from daskvars.graph.scopes.default_graph import in_graph
from daskvars.ops.nn.weighting import remove_squeezable_dimensions
from daskvars.v1.graphs import meta_graph

SHUFFLED = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}  # channels to their place before the sizes


def channels_first(shape_or_tensor: Any) -> Any:
    """Return a shape or tensor with the channels, its last dimension, before the sizes."""
    if isinstance(shape_or_tensor, list | tuple):
        order = SHUFFLED[len(shape_or_tensor)]
        return [shape_or_tensor[axis] for axis in order]
    return tf.transpose(shape_or_tensor, SHUFFLED[shape_or_tensor.shape.ndims])


def channels_last(shape_or_tensor: Any) -> Any:
    """Return a shape or tensor whose channels are before the sizes with them at the end."""
    if isinstance(shape_or_tensor, list | tuple):
        first, channels, *sizes = shape_or_tensor
        return [first, *sizes, channels]
    order = SHUFFLED[shape_or_tensor.shape.ndims]
    return tf.transpose(shape_or_tensor, numpy.argsort(order))


def as_it_is(decorated: Any = None, *_: Any, **__: Any) -> Any:
    """Decorate nothing, with arguments or without."""
    return decorated if callable(decorated) else as_it_is


def in_graphs(*_: Any, config: Any = None, use_gpu: bool = True, **__: Any) -> Any:
    """Return what runs a test in a graph and its session; see the note of this room."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with self.test_session(use_gpu=use_gpu, config=config):
                test(self, *args, **kwargs)

        return run

    return decorate


def skipped_if(condition: Any) -> Any:
    """Return what skips a test where a condition holds, which may be a function."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            if condition() if callable(condition) else condition:
                raise unittest.SkipTest("its condition")
            test(self, *args, **kwargs)

        return run

    return decorate


@contextlib.contextmanager
def on_device(use_gpu: bool) -> Iterator[None]:
    """Place what the block builds on a GPU where there is one and it is asked for."""
    with tf.device("/device:GPU:0" if use_gpu and tf.test.is_gpu_available() else "/device:CPU:0"):
        yield


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """Return the nodes of a graph by name, having looked that the expected ones have their ops."""
    nodes = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    found = {name: node.op for name, node in nodes.items()}
    if found != expected_ops:
        raise ValueError(f"expected {expected_ops}, found {found}")
    return nodes


def node_of(node_name: str, graph_def: Any) -> Any:
    """Return a node of a graph by its name, None where there is none."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def assert_same_meta_graphs(tester: unittest.TestCase, a: Any, b: Any) -> None:
    """Fail unless two meta graphs are equal."""
    tf.test.assert_equal_graph_def(a.graph_def, b.graph_def)
    tester.assertEqual(sorted(a.collection_def), sorted(b.collection_def))


@contextlib.contextmanager
def nothing(*_: Any, **__: Any) -> Iterator[None]:
    """Do the block."""
    yield


def shape_of(*sizes: Any) -> Callable[..., Any]:
    """Return a function that makes a shape of sizes, and of its arguments."""
    return lambda *args: tf.TensorShape([*sizes, *args])


def unknown_shape(ndims: int | None = None) -> tf.TensorShape:
    """Return a shape of which the rank is known, or nothing."""
    return tf.TensorShape(None if ndims is None else [None] * ndims)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """Return a tensor, or the slices, that are there once others are, on the tensor's device."""
    if not hasattr(output_tensor, "op"):
        output_tensor = tf.convert_to_tensor(output_tensor)
    with tf.colocate_with(output_tensor), tf.control_dependencies(dependencies):
        if not isinstance(output_tensor, tf.IndexedSlices):
            return tf.identity(output_tensor, name=name)
        values, indices, sizes = (
            getattr(output_tensor, part) for part in ("values", "indices", "dense_shape")
        )
        return tf.IndexedSlices(tf.identity(values, name=name), indices, sizes)


def meta_graph_of(**arguments: Any) -> Any:
    """Return the default graph, or another, as a meta graph."""
    return in_graph(meta_graph.export_scoped_meta_graph)(**arguments)[0]


def uninitialized(
    shape: Any, dtype: Any, name: str = "Variable", container: str = "", shared_name: str = ""
) -> Any:
    """Return a variable as the op makes it: in no collection."""
    with tf.container(container) if container else contextlib.nullcontext():
        return tf.Variable(tf.zeros(shape, dtype), trainable=False, collections=[], name=name)


def initialize_resources(resources: Any, name: str = "init") -> Any:
    """Return the operation that initializes variables."""
    return tf.variables_initializer(resources, name=name)


def as_list(inputs: Any, dtype: Any = None) -> list[Any]:
    """Return values as tensors."""
    return [tf.convert_to_tensor(value, dtype=dtype) for value in inputs]


class CheckpointedTable(tf.contrib.lookup.MutableHashTable):
    """A table from strings to numbers that a saver takes: ``saver_test_utils.CheckpointedOp``."""

    def __init__(self, name: str) -> None:
        super().__init__(tf.string, tf.float32, -1.0, name=name)

    @property
    def saveable(self) -> CheckpointedTable:
        return self

    def keys(self) -> Any:
        return self.export()[0]

    def values(self) -> Any:
        return self.export()[1]


def write_text(path: str, text: str) -> None:
    """Write a file."""
    with tf.gfile.GFile(path, "w") as file:
        file.write(text)


def read_text(path: str) -> str:
    """Return what is in a file."""
    with tf.gfile.GFile(path) as file:
        return file.read()


SPARSE = (tf.SparseTensor, tf.SparseTensorValue)
TEST_UTIL = {
    "TensorFlowTestCase": tf.test.TestCase,
    "NHWCToNCHW": channels_first,
    "NCHWToNHWC": channels_last,
    "IsGoogleCudaEnabled": lambda: False,
    "IsMklEnabled": lambda: False,
    "InstallStackTraceHandler": lambda: None,
    "assert_meta_graph_protos_equal": assert_same_meta_graphs,
    "assert_ops_in_graph": assert_ops_in_graph,
    "device": on_device,
    "get_node_def_from_graph": node_of,
    "run_in_graph_and_eager_modes": in_graphs,
    "skip_if": skipped_if,
    "with_c_api": as_it_is,
    "with_c_shapes": as_it_is,
}
GIVEN: dict[str, dict[str, Any]] = {
    "test_util": TEST_UTIL,
    "googletest": {"StubOutForTesting": tf.test.StubOutForTesting},
    "context": {
        "executing_eagerly": lambda: False,
        "in_eager_mode": lambda: False,
        "in_graph_mode": lambda: True,
        "graph_mode": nothing,
    },
    "ops": {
        "GraphKeys": tf.GraphKeys,
        "convert_n_to_tensor": as_list,
        "executing_eagerly_outside_functions": lambda: False,
    },
    "tensor_shape": {
        "as_dimension": tf.Dimension,
        "as_shape": tf.TensorShape,
        "matrix": shape_of(),
        "scalar": shape_of(),
        "unknown_shape": unknown_shape,
        "vector": shape_of(),
    },
    "sparse_tensor": {"is_sparse": lambda value: isinstance(value, SPARSE)},
    "tensor_util": {"constant_value": tf.get_static_value, "is_tensor": tf.is_tensor},
    "dtypes": {f"{d.name}_ref": d._as_ref for d in vars(tf).values() if isinstance(d, tf.DType)},
    "control_flow_ops": {
        "merge": lambda inputs, name=None: tf.raw_ops.Merge(inputs=inputs, name=name),
        "switch": lambda data, pred, dtype=None, name=None: tf.raw_ops.Switch(
            data=data, pred=pred, name=name
        ),
        "with_dependencies": with_dependencies,
    },
    "meta_graph": {"create_meta_graph_def": meta_graph_of},
    "config_pb2": {"RPCOptions": dict},
    "file_io": {
        "delete_recursively": tf.gfile.DeleteRecursively,
        "file_exists": tf.gfile.Exists,
        "read_file_to_string": read_text,
        "write_string_to_file": write_text,
    },
    "saver": {"time": time},
    "saver_test_utils": {"CheckpointedOp": CheckpointedTable},
    "variable_scope": {"variable": tf.Variable},
    "confusion_matrix": {"remove_squeezable_dimensions": in_graph(remove_squeezable_dimensions)},
    "gen_state_ops": {"variable": uninitialized},
    "resources": {"initialize_resources": initialize_resources, "shared_resources": list},
    "resource_variable_ops": {"ResourceVariable": tf.Variable},
    "random_seed": {"get_seed": tf.get_seed},
    "tf_export": {"tf_export": as_it_is},
    "tf_inspect": {"getargspec": inspect.getfullargspec},
    "tf_decorator": {"make_decorator": lambda target, decorated, *_: decorated},
    "six": {name: getattr(six, name) for name in ("string_types", "moves")},
}
