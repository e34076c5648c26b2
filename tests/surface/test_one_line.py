"""Objects in one line, and their names completed: what a console shows, by IPython's completer."""

import importlib
import inspect
import types

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.surface.one_line import ShownByArguments

# Names of constants, and functions written as classes: nobody has an object of theirs.
WITHOUT_OBJECTS = {
    "AggregationMethod",
    "FileWriterCache",
    "FlagValues",
    "GraphKeys",
    "ModeKeys",
    "NamespaceInfo",
    "Pattern",
    "Reduction",
    "RegisterKL",
    "ResizeMethod",
    "TFRecordCompressionType",
}


def public_classes():
    modules, found = [dv, tf], {}
    for module in modules:
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                is_ours = value.__name__.startswith("daskvars") and hasattr(value, "__all__")
                modules += [value] if is_ours and value not in modules else []
            elif inspect.isclass(value) and value.__module__.startswith("daskvars"):
                found[value] = name
    return found


def test_no_public_class_shows_an_address():
    found = public_classes()
    assert len(found) > 150
    unshown = {n for cls, n in found.items() if cls.__repr__ is object.__repr__}
    of_protobuf = set(importlib.import_module("daskvars.data.records.examples").__all__)
    assert unshown - of_protobuf - {"VariableScope"} <= WITHOUT_OBJECTS  # as TensorFlow's guides


def objects():
    """Return objects as a program has them, by what they are."""
    v = dv.Variable(np.arange(12.0).reshape(3, 4), name="one_line/v")
    dataset = dv.data.Dataset.from_tensor_slices(np.ones((6, 2))).batch(2)
    with dv.observe.recorded() as record:
        dv.sync()
    adam = dv.train.AdamOptimizer(beta1=0.5)
    cell = dv.nn.rnn_cell.LSTMCell(4, name="one_line_cell")
    found = [v, v + 1.0, v.handle, adam, cell, dataset, iter(dataset), record, dv.Graph()]
    found += [dv.layers.Dense(3), dv.nn.rnn_cell.ResidualWrapper(cell), dv.GradientTape()]
    found += [dv.function(lambda x: x), dv.data.batches(np.ones((4, 2)), 2), dv.train.Saver([v])]
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        queue = tf.FIFOQueue(3, [tf.float32, tf.int32], name="fill")
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [2, 2])
        found += [x, x.op, w, graph, session, queue, tf.TextLineReader(), tf.name_scope("n")]
        found += [tf.TensorArray(tf.float32, size=3), tf.train.Coordinator(), tf.train.Scaffold()]
        found += [tf.train.StopAtStepHook(last_step=3), tf.train.QueueRunner(queue, [queue.size()])]
        found += [session._executable(tf.matmul(x, w), (x,))[0].plan([np.ones((3, 2), "f4")])]
        found += [tf.data.Dataset.range(3).make_one_shot_iterator(), tf.train.SessionRunArgs(w)]
        server = tf.train.Server.create_local_server(start=False)
        found += [server, tf.train.MonitoredSession.StepContext]
    return found


@pytest.fixture(scope="module")
def shown():
    return [repr(value) for value in objects()]


def test_an_object_is_a_line_without_an_address(shown):
    for text in shown:
        assert "\n" not in text and " object at 0x" not in text
        assert len(text) <= 300


@pytest.mark.parametrize(
    "text",
    [
        "<tf.Variable 'one_line/v:0' shape=(3, 4) dtype=float64, numpy=array([[ 0.,  1.,  2.,  3.],"
        " [ 4.,  5.,  6.,  7.], [ 8.,  9., 10., 11.]])>",
        "AdamOptimizer(learning_rate=0.001, beta1=0.5)",
        "LSTMCell(num_units=4, activation=tanh, name='one_line_cell')",
        "<DatasetIterator shapes: (?, 2), types: <dtype: 'float64'>>",
        "<tf.FIFOQueue 'fill' of float32, int32>",
        "<tf.TensorArray 'TensorArray' dtype=float32 of <unknown>>",
        "StopAtStepHook(last_step=3)",
        "<Batches of 2 rows, 2 an epoch, next {'epoch': 0, 'position': 0}>",
        "<Coordinator runs, 0 threads>",
        "Scaffold()",
    ],
)
def test_what_is_said(shown, text):
    assert any(text == found for found in shown), "\n".join(shown)


def test_of_a_large_value_few_elements_are_shown():
    text = repr(dv.zeros([200, 100, 50]))
    assert text.startswith("<tensor shape=(200, 100, 50) dtype=float32 numpy=[[[0., ..., 0.], ...")
    assert len(text) < 170 and "\n" not in text
    text = repr(dv.constant(["a\nb"]))
    assert "a\\nb" in text


def test_arguments():
    class Made(ShownByArguments):
        def __init__(self, function, array=None, least=0, text="", *rest, **more):
            self.function, self._array, self.least, self._text = function, array, least, text

    v = dv.Variable(1.0, name="one_line/rate")
    assert repr(Made(np.sum, v)) == "Made(function=sum, array='one_line/rate:0')"
    assert repr(Made(None, text="x" * 99)) == f"Made(text='{'x' * 56}...)"
    assert (
        repr(Made(3, np.zeros((2, 2)), 0)) == "Made(function=3, array=array([[0., 0.], [0., 0.]]))"
    )
    assert repr(Made(3, least=False)) == "Made(function=3, least=False)"


# -- names that are completed ----------------------------------------------------------------------


@pytest.fixture
def completions():
    """What IPython's completer offers for the key at the end of a line."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell(user_ns={"dv": dv})

    def complete(line, **names):
        shell.user_ns.update(names)
        _, found = shell.complete(line)
        return [text.rpartition('["')[2] for text in found]

    return complete


def test_names_of_a_checkpoint_are_completed(completions, tmp_path):
    variables = [dv.Variable([1.0], name=f"complete/{n}") for n in ("layer1/w", "layer1/b", "top")]
    path = dv.train.Saver(variables).save(None, str(tmp_path / "model"))
    reader = dv.train.load_checkpoint(path)
    assert completions('reader["complete/lay', reader=reader) == [
        "complete/layer1/b",
        "complete/layer1/w",
    ]
    assert sorted(reader) == ["complete/layer1/b", "complete/layer1/w", "complete/top"]
    assert len(reader) == 3 and "complete/top" in reader and "complete" not in reader
    assert reader["complete/top"].tolist() == [1.0]
    assert dict(reader.items()).keys() == set(reader)
    with pytest.raises(KeyError, match=r"did you mean 'complete/top'"):
        reader["complete/topp"]


def test_names_of_a_scope_and_a_graph_are_completed(completions):
    with tf.Graph().as_default() as graph:
        with tf.variable_scope("encoder") as scope:
            w = tf.get_variable("layer/w", [2])
            tf.get_variable("layer/b", [2])
        root = tf.get_variable_scope()
    assert completions('scope["lay', scope=scope) == ["layer/b", "layer/w"]
    assert completions('root["enc', root=root) == ["encoder/layer/b", "encoder/layer/w"]
    assert scope["layer/w"] is w is root["encoder/layer/w"]
    assert "encoder/layer/w:0" in completions('graph["encoder/layer/w', graph=graph)
    assert graph["encoder/layer/w:0"].op is graph["encoder/layer/w"]
    with pytest.raises(KeyError, match=r"encoder/layer/v.*did you mean"):
        scope["layer/v"]
    for names in (graph, scope):
        with pytest.raises(TypeError, match="not iterable"):
            iter(names)


def test_names_of_eager_code_are_completed(completions):
    v = dv.Variable([1.0], name="complete_eager/v")
    root = dv.get_variable_scope()
    assert completions('root["complete_eager/', root=root) == ["complete_eager/v"]
    assert root["complete_eager/v"] is v
