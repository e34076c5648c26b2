"""Modules that programs import from below ``tensorflow.python`` and ``tensorflow.contrib``."""

from __future__ import annotations

import functools
import importlib
import json
import types

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.v1.inner import inner_modules

PATHS = [path for path, _ in inner_modules._modules()]


def test_every_module_is_importable_and_an_attribute_of_its_folder():
    for path in PATHS:
        module = importlib.import_module(f"daskvars.v1.{path}")
        assert isinstance(module, types.ModuleType)
        folder, _, name = path.rpartition(".")
        assert getattr(importlib.import_module(f"daskvars.v1.{folder}"), name) is not None


def test_every_module_has_the_names_of_the_namespaces_it_is_listed_with():
    for path, namespaces in inner_modules._modules():
        own = inner_modules._at(tf, namespaces[0])
        module = importlib.import_module(f"daskvars.v1.{path}")
        for name in getattr(own, "__all__", vars(own)):
            if name[0] != "_" and name not in inner_modules.UNLISTED.get(path, {}):
                assert getattr(module, name) is getattr(own, name), (path, name)


def test_columns_are_of_the_kinds_that_programs_ask_for():
    """As in TensorFlow 1.8, where a column's class has the name of its function, and is private."""
    kinds, column = importlib.import_module("daskvars.v1.python.feature_column.feature_column"), {}
    column["Numeric"] = tf.feature_column.numeric_column("x")
    column["Bucketized"] = tf.feature_column.bucketized_column(column["Numeric"], [0.0])
    word = tf.feature_column.categorical_column_with_vocabulary_list("w", ["a", "b"])
    column["VocabularyListCategorical"], column["Categorical"] = word, word
    column["Embedding"] = tf.feature_column.embedding_column(word, 2)
    column["Crossed"] = tf.feature_column.crossed_column(["w", column["Bucketized"]], 5)
    for name, made in column.items():
        assert isinstance(made, getattr(kinds, f"_{name}Column")), name
    assert isinstance(column["Embedding"], kinds._DenseColumn)
    assert not isinstance(word, kinds._DenseColumn)


IMPORTS = """
import daskvars.v1.compat.v1 as tf; tf.Session, tf.contrib
from daskvars.v1.compat import v1; v1.Session
from daskvars.v1.python.framework import ops, dtypes; ops.convert_to_tensor, ops.Tensor
from daskvars.v1.python.ops import array_ops, math_ops, variable_scope; array_ops.concat
from daskvars.v1.python.ops.array_ops import shape
from daskvars.v1.python.ops.rnn_cell_impl import RNNCell, LSTMStateTuple
from daskvars.v1.python.ops.rnn import rnn_cell_impl, dynamic_rnn; rnn_cell_impl.RNNCell
from daskvars.v1.python.ops.rnn_cell import *; RNNCell, GRUCell, assert_like_rnncell
from daskvars.v1.python.ops.gradients import gradients
from daskvars.v1.python.platform import flags, gfile, tf_logging; gfile.FastGFile, flags.FLAGS
from daskvars.v1.python.training import moving_averages; moving_averages.ExponentialMovingAverage
from daskvars.v1.python.training.saver import Saver
from daskvars.v1.python.layers.core import Dense
from daskvars.v1.python.util import nest; nest.flatten
from daskvars.v1.python.ops import nccl_ops; nccl_ops.all_sum
from daskvars.v1.contrib.metrics.python.ops import set_ops; set_ops.set_size
from daskvars.v1.contrib.slim.python.slim import queues; queues.QueueRunners
from daskvars.v1.contrib.slim.python.slim.data import tfexample_decoder; tfexample_decoder.Tensor
import daskvars.v1.contrib.slim as slim; slim.initializers.xavier_initializer
from daskvars.v1.python import pywrap_tensorflow; pywrap_tensorflow.NewCheckpointReader
from daskvars.v1.python.util import tf_contextlib, tf_inspect; tf_inspect.isfunction
from daskvars.v1.python.util import deprecation; deprecation._PRINT_DEPRECATION_WARNINGS = False
from daskvars.v1.python.util.deprecation import deprecated; deprecated(None, "")(len)("a")
from daskvars.v1.python.framework import tensor_spec; tensor_spec.TensorSpec
from daskvars.v1.python.framework import op_def_registry
from daskvars.v1.train import queue_runner; queue_runner.QueueRunner, queue_runner.add_queue_runner
from daskvars.v1.python.framework.smart_cond import smart_cond, smart_constant_value
from daskvars.v1.python.layers.utils import smart_cond
from daskvars.v1.python.ops import gen_array_ops, gen_math_ops; gen_math_ops.exp
from daskvars.v1.python.ops import gradient_checker; gradient_checker.compute_gradient_error
from daskvars.v1.python.ops.distributions import beta, gamma, student_t; beta.Beta; gamma.Gamma
from daskvars.v1.python.data.ops.dataset_ops import get_legacy_output_shapes
from daskvars.v1.python.util.all_util import remove_undocumented; remove_undocumented(__name__, [])
from daskvars.v1.python.data.ops import readers; readers.TFRecordDataset
from daskvars.v1.python.training import device_setter; device_setter.replica_device_setter
from daskvars.v1.core.example import example_pb2; example_pb2.Example
from daskvars.v1.core.framework import summary_pb2, graph_pb2; graph_pb2.GraphDef
from daskvars.v1.core.framework.summary_pb2 import Summary
from daskvars.v1.core.protobuf import config_pb2, meta_graph_pb2, saver_pb2; saver_pb2.SaverDef
from daskvars.v1.python import debug
from daskvars.v1.python.eager import context; assert not context.executing_eagerly()
from daskvars.v1.python.ops import variable_scope; variable_scope.variable
import daskvars.v1.python.ops.nn_ops as nn_ops; nn_ops.relu
from daskvars.v1.contrib.layers.python import layers; layers.batch_norm
from daskvars.v1.contrib.layers.python.layers import utils; utils.collect_named_outputs
from daskvars.v1.contrib.layers.python.layers.layers import conv2d
from daskvars.v1.contrib.framework.python.ops import arg_scope, add_arg_scope; arg_scope([])
from daskvars.v1.contrib.framework.python.ops.arg_scope import arg_scope
from daskvars.v1.contrib.framework.python.ops.variables import get_or_create_global_step
from daskvars.v1.contrib.rnn.python.ops import core_rnn_cell; core_rnn_cell.BasicLSTMCell
from daskvars.v1.contrib.seq2seq.python.ops import helper; helper.TrainingHelper
from daskvars.v1.contrib.slim.python.slim.nets import resnet_v1, vgg; resnet_v1.resnet_v1_50
import daskvars.v1.contrib.slim.python.slim.nets.inception_v3 as nets; nets.inception_v3
"""


@pytest.mark.parametrize("line", IMPORTS.strip().splitlines())
def test_programs_import_from_them(line):
    exec(line, {})  # noqa: S102 -- an import is what is tested


def test_what_is_not_there_is_refused_by_its_name():
    from daskvars.v1.python.ops import nn_ops

    with pytest.raises(AttributeError, match=r"python\.ops\.nn_ops has no 'no_such_op' here"):
        _ = nn_ops.no_such_op
    with pytest.raises(ModuleNotFoundError, match=r"'daskvars\.v1\.python\.ops\.no_such_ops'"):
        importlib.import_module("daskvars.v1.python.ops.no_such_ops")
    with pytest.raises(AttributeError):  # what a namespace's file imports is no name of it
        from daskvars.v1.python.platform import gfile

        _ = gfile.shutil


def test_functions_without_a_public_name_compute():
    from daskvars.v1.python.framework import tensor_shape, tensor_util
    from daskvars.v1.python.ops import control_flow_ops, gen_nn_ops
    from daskvars.v1.python.training.moving_averages import assign_moving_average

    with tf.Graph().as_default(), tf.Session() as session:
        average = tf.get_variable("average", [], initializer=tf.constant_initializer(4.0))
        moved = assign_moving_average(average, 8.0, 0.75, zero_debias=False)
        seen = control_flow_ops.with_dependencies([moved], tf.constant(1.0))
        assert seen.op.name == "control_dependency"
        small, large = control_flow_ops.switch(tf.constant(3.0), tf.constant(True))
        merged, _ = control_flow_ops.merge([small, large + 1.0])
        slope = gen_nn_ops.relu_grad([1.0, 2.0], [-1.0, 5.0])
        session.run(tf.global_variables_initializer())
        assert session.run(seen) == 1.0
        assert session.run(average) == 5.0
        assert session.run(merged) == 4.0
        np.testing.assert_array_equal(session.run(slope), [0.0, 2.0])
        volumes = gen_nn_ops.conv3d_backprop_input_v2(
            [1, 1, 2, 1, 1], tf.constant([2.0, 3.0], shape=[1, 2, 1, 1, 1]),
            tf.constant(1.0, shape=[1, 1, 1, 1, 1]), [1, 1, 1, 1, 1], "VALID",
        )  # fmt: skip
        np.testing.assert_array_equal(session.run(volumes).ravel(), [2.0, 3.0])
    assert tensor_shape.unknown_shape(2).as_list() == [None, None]
    assert tensor_util.constant_value(tf.constant(2)) == 2


def test_batch_and_time_change_places():
    from daskvars.v1.contrib.seq2seq.python.ops import decoder
    from daskvars.v1.python.ops import rnn

    with tf.Graph().as_default(), tf.Session() as session:
        values = np.arange(6.0).reshape(1, 2, 3)
        unknown = tf.placeholder(tf.float64)
        known = decoder._transpose_batch_time(tf.constant(values))
        assert known.shape.as_list() == [2, 1, 3]
        assert rnn._transpose_batch_time(tf.constant([1, 2])).shape.as_list() == [2]
        swapped = session.run([known, rnn._transpose_batch_time(unknown)], {unknown: values})
        np.testing.assert_array_equal(swapped, [values.swapaxes(0, 1)] * 2)


def test_functions_have_the_gradients_that_they_are_defined_with():
    from daskvars.v1.python.framework import function

    @function.Defun(*[tf.float32] * 3, func_name="Halving")
    def halving(x, y, dy):
        return dy / 2.0, dy * x

    def doubled(op, dy):
        assert len(op.inputs) == 2
        return dy * op.outputs[0], None

    def product(x, y):
        return x * y

    by_tensors = function.Defun(tf.float32, tf.float32, grad_func=halving)(product)
    by_call = function.Defun(tf.float32, tf.float32, python_grad_func=doubled)(product)
    plain = function.Defun()(product)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(3.0), tf.constant(5.0)
        found = [tf.gradients(f(x, y), [x, y]) for f in (by_tensors, plain)]
        assert session.run(found) == [[0.5, 3.0], [5.0, 3.0]]
        assert session.run(tf.gradients(by_call(x, 5), x)) == [15.0]
        assert by_call(x, y, name="call").op.name.startswith("call/")
        one, two = function.Defun()(lambda x: [x]), function.Defun()(lambda x: [x, x])
        assert isinstance(one(x), tf.Tensor) and isinstance(two(x), tuple)
        with pytest.raises(ValueError, match="Expected number of arguments: 2, received: 1"):
            by_call(x)


def test_rows_are_updated_as_values_of_their_own():
    from daskvars.v1.python.framework import ops
    from daskvars.v1.python.ops import inplace_ops

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1, 2], [3, 4]])
        replaced = inplace_ops.alias_inplace_update(x, 1, [7, 8])
        added = inplace_ops.alias_inplace_add(x, [1, 0], [[1, 1], [2, 2]])
        less = inplace_ops.alias_inplace_sub(x, None, 1)
        found = session.run([replaced, added, less, x])
        assert session.run(inplace_ops.alias_inplace_update(x, None, x + 1)).tolist() == [
            [2, 3],
            [4, 5],
        ]
    assert [each.tolist() for each in found] == [
        [[1, 2], [7, 8]],
        [[3, 4], [4, 5]],
        [[0, 1], [2, 3]],
        [[1, 2], [3, 4]],
    ]
    assert ops.uid() != ops.uid()


def test_scopes_are_entered_without_a_name_scope_and_contexts_are_told():
    from daskvars.v1.python.layers import utils
    from daskvars.v1.python.ops import control_flow_util, variable_scope
    from daskvars.v1.python.util import tf_inspect

    with tf.Graph().as_default() as graph:
        with variable_scope._pure_variable_scope("outer"):
            assert tf.get_variable("v", [2]).op.name == "outer/v"
            assert graph.get_name_scope() == ""
        contexts = [graph._get_control_flow_context()]
        tf.while_loop(
            lambda i: i < 3,
            lambda i: contexts.append(tf.get_default_graph()._get_control_flow_context()) or i + 1,
            [tf.constant(0)],
        )
        assert contexts[0] is None and contexts[1] is not None
        assert control_flow_util.GetContainingXLAContext(contexts[1]) is None
        assert utils.constant_value(tf.constant(True)) is True
        assert utils.constant_value(tf.placeholder(tf.bool, [])) is None
    assert tf_inspect.getargspec(_Counter().add).args == ["self", "number", "times"]
    assert tf_inspect.getargspec(_Counter()).keywords == "options"


def test_files_are_read_and_written_by_the_functions_of_before(tmp_path):
    from daskvars.v1.python.lib.io import file_io

    folder, path = str(tmp_path / "a" / "b"), str(tmp_path / "a" / "b" / "words.txt")
    file_io.recursive_create_dir(folder)
    file_io.write_string_to_file(path, "one\ntwo")
    assert file_io.file_exists(path) and not file_io.file_exists(path + "x")
    assert file_io.read_file_to_string(path) == "one\ntwo"
    assert file_io.read_file_to_string(path, binary_mode=True) == b"one\ntwo"
    with file_io.FileIO(path, mode="r") as file:
        assert list(file) == ["one\n", "two"]
    assert file_io.get_matching_files(str(tmp_path / "a" / "*" / "*.txt")) == [path]
    file_io.delete_file(path)
    assert file_io.list_directory(folder) == []


def test_graphs_and_checkpoints_become_one_file(tmp_path):
    from daskvars.v1.python.framework import graph_io
    from daskvars.v1.python.tools import freeze_graph

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], "x")
        with tf.device("/cpu:0"):
            y = tf.multiply(x, tf.get_variable("w", initializer=[3.0, 4.0]), name="y")
        tf.get_variable("unused", initializer=1.0)
        session.run(tf.global_variables_initializer())
        checkpoint = tf.train.Saver().save(session, str(tmp_path / "model"))
        path = graph_io.write_graph(session.graph, str(tmp_path), "graph.pbtxt")
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
    output = str(tmp_path / "frozen.pb")
    rest = ("y", "save/restore_all", "save/Const:0", output, True, "")
    for given in (
        {"input_graph": path, "input_checkpoint": checkpoint},
        {"input_checkpoint": checkpoint, "input_meta_graph": checkpoint + ".meta"},
        {"input_saved_model_dir": str(tmp_path / "saved")},
    ):
        graph = given.pop("input_graph", None)
        frozen = freeze_graph.freeze_graph(
            graph, "", False, given.pop("input_checkpoint", None), *rest, **given
        )
        assert {node.op for node in frozen.node} == {"Placeholder", "Const", "Identity", "Mul"}
        assert {node.device for node in frozen.node} == {""}
        with tf.Graph().as_default(), tf.Session() as session, open(output, "rb") as file:
            tf.import_graph_def(tf.GraphDef.FromString(file.read()), name="")
            np.testing.assert_array_equal(session.run("y:0", {"x:0": [1.0, 2.0]}), [3.0, 8.0])


class _Counter:
    def add(self, number, times=1):
        """Count."""

    def __call__(self, key, **options):
        return key


def test_functions_are_asked_for_their_arguments_and_their_names():
    from daskvars.v1.python.estimator import util
    from daskvars.v1.python.util import function_utils

    of_args = {
        ("self", "number", "times"): _Counter.add,
        ("number", "times"): _Counter().add,
        ("key",): _Counter(),
        ("times",): functools.partial(_Counter().add, 2),
        ("number",): functools.partial(_Counter().add, times=2),
    }
    for names, function in of_args.items():
        assert function_utils.fn_args(function) == util.fn_args(function) == names
    assert function_utils.has_kwargs(_Counter())
    assert not function_utils.has_kwargs(functools.partial(_Counter.add, 1))
    assert function_utils.get_func_name(_Counter().add) == "_Counter.add"
    assert function_utils.get_func_name(_Counter.add) == "add"
    with pytest.raises(TypeError, match="function-like"):
        function_utils.has_kwargs(3)
    with pytest.raises(ValueError, match="callable"):
        function_utils.get_func_name(3)


def test_copies_of_arg_scope_decorate_as_tensorflow_does():
    from daskvars.v1.python.util import tf_decorator

    def twice(*args):
        return 2 * _Counter.add(*args)

    made = tf_decorator.make_decorator(_Counter.add, twice, "twice")
    assert (made.__name__, made.__doc__) == ("add", "Count.")
    assert tf_decorator.unwrap(made) == ([], _Counter.add)


def test_cells_and_loops_of_one_s_own_are_written_with_what_cells_are(graph):
    from daskvars.v1.contrib.rnn.python.ops.core_rnn_cell import _Linear, _linear
    from daskvars.v1.python.ops import rnn_cell_impl

    x, h = tf.placeholder(tf.float32, [None, 2]), tf.ones([3, 4])
    with tf.variable_scope("gates"):
        one = _linear([x, h], 5, True, tf.ones_initializer(), tf.ones_initializer())
    with tf.variable_scope("gates", reuse=True):
        same = _Linear([x, h], 5, True)
    with tf.variable_scope("other"):
        plain = _linear(x, 5, False, kernel_initializer=tf.ones_initializer())
    assert [v.op.name for v in tf.global_variables()] == [
        "gates/kernel",
        "gates/bias",
        "other/kernel",
    ]
    assert rnn_cell_impl._WEIGHTS_VARIABLE_NAME == "kernel"
    assert rnn_cell_impl._BIAS_VARIABLE_NAME == "bias"
    zeros = rnn_cell_impl._zero_state_tensors((2, tf.TensorShape([3])), tf.shape(x)[0], tf.float32)
    assert [z.shape.as_list() for z in zeros] == [[None, 2], [None, 3]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([one, same([x, h]), plain], {x: np.ones([3, 2])})
        np.testing.assert_array_equal(session.run(zeros[1], {x: np.ones([3, 2])}), np.zeros([3, 3]))
    np.testing.assert_array_equal(found[0], np.full([3, 5], 7.0))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], np.full([3, 5], 2.0))
    with pytest.raises(ValueError, match="must be specified"):
        _linear([], 5, True)
    with pytest.raises(ValueError, match="known"):
        _linear(tf.placeholder(tf.float32, [3, None]), 5, True)
    concat = rnn_cell_impl._concat
    assert tf.Session().run(concat(tf.shape(h)[0], 7)).tolist() == [3, 7]
    assert concat(None, 7, static=True) is None and concat(3, [7, 8], static=True) == [3, 7, 8]
    with pytest.raises(ValueError, match="None"):
        concat(None, 7)
    assert rnn_cell_impl._like_rnncell(tf.nn.rnn_cell.GRUCell(3))
    assert not rnn_cell_impl._like_rnncell(3)
    with pytest.raises(TypeError, match="cell_fw must be an instance of RNNCell"):
        rnn_cell_impl.assert_like_rnncell("cell_fw", 3)


def test_a_timeline_is_the_trace_of_a_run():
    from daskvars.v1.python.client import device_lib, timeline

    told = tf.RunMetadata()
    with tf.Graph().as_default(), tf.Session() as session:
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        x = tf.placeholder(tf.float32, [100])
        session.run(tf.exp(x), {x: np.ones(100)}, options=traced, run_metadata=told)
    text = timeline.Timeline(step_stats=told.step_stats).generate_chrome_trace_format()
    assert json.loads(text)["traceEvents"]
    assert "CPU" in [device.device_type for device in device_lib.list_local_devices()]


def test_sessions_are_told_how_a_class_is_fetched_and_fed(graph):
    from daskvars.v1.python.client.session import register_session_run_conversion_functions

    class Stands:
        tensor = tf.placeholder(tf.float32, [])

    register_session_run_conversion_functions(
        Stands,
        fetch_function=lambda stands: ([stands.tensor], lambda values: values[0]),
        feed_function=lambda stands, value: [(stands.tensor, value)],
    )
    stands = Stands()
    assert tf.Session().run([stands, stands.tensor + 1.0], {stands: 2.0}) == [2.0, 3.0]
