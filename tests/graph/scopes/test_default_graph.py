"""Which graph functions of `daskvars.v1` build into."""

import inspect
import pickle

import numpy as np
import pytest

import daskvars.v1 as tf


@pytest.fixture
def given():
    """A graph that is not the default one, a tensor and a variable in it."""
    with tf.Graph().as_default() as graph:
        tensor = tf.constant([1.0, 2.0], name="x")
        variable = tf.get_variable("v", initializer=[3.0, 4.0])
    return graph, tensor, variable


@pytest.mark.parametrize(
    "build",
    [
        lambda x, v: tf.identity(x),
        lambda x, v: tf.reduce_sum(input_tensor=v),
        lambda x, v: tf.stack([np.zeros(2, np.float32), x]),
        lambda x, v: tf.gradients(x * 2.0, x)[0],
        lambda x, v: tf.assign(v, [5.0, 6.0]),
        lambda x, v: tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=v),
        lambda x, v: tf.cond(x[0] > 0.0, lambda: x + 1.0, lambda: v),
        lambda x, v: tf.group(x.op, v.initializer),
        lambda x, v: tf.variables_initializer([v]),
    ],
)
@pytest.mark.parametrize("entered", [False, True], ids=["default", "another graph entered"])
def test_a_function_of_tensors_builds_into_their_graph(given, build, entered):
    graph, tensor, variable = given
    with tf.Graph().as_default() as other:
        if entered:
            built = build(tensor, variable)
    if not entered:
        built = build(tensor, variable)
    assert built.graph is graph
    assert not other.get_operations()
    with tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        session.run(built)


def test_tensors_of_two_graphs_do_not_meet(given):
    with tf.Graph().as_default():
        here = tf.constant([1.0, 2.0])
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.concat([given[1], here], 0)


def test_a_collection_is_that_of_the_default_graph(given):
    graph, tensor, _ = given
    with tf.Graph().as_default() as other:
        tf.add_to_collection("found", tensor)
        tf.losses.add_loss(tensor)
    assert other.get_collection("found") == [tensor]
    assert graph.get_collection("found") == []
    assert other.get_collection(tf.GraphKeys.LOSSES) == [tensor]


def test_what_a_finished_loop_holds_can_neither_be_used_nor_fetched():
    held = []

    def body(x):
        held.append(x * 2.0)
        return held[0] + 1.0

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        tf.while_loop(lambda y: y < 9.0, body, [x])
        for use in (lambda: held[0] + 1.0, lambda: tf.identity(held[0])):
            with pytest.raises(ValueError, match="Cannot use 'while/body/mul:0' as an input here"):
                use()
    with pytest.raises(ValueError, match="Cannot use 'while/body/mul:0' as an input here"):
        held[0] + 1.0
    with (
        tf.Session(graph=graph) as session,
        pytest.raises(ValueError, match="'while/body/mul:0' has been marked as not fetchable"),
    ):
        session.run(held[0], {x: 1.0})


def test_what_a_finished_branch_holds_is_used_in_its_graph_and_not_fetched():
    held = []

    def branch(x):
        held.append(x * 2.0)
        return held[0] + 1.0

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        tf.cond(x > 0.0, lambda: branch(x), lambda: x)
        within = tf.identity(held[0])
    around = held[0] + 1.0
    assert within.graph is around.graph is graph
    with tf.Session(graph=graph) as session:
        assert session.run([within, around], {x: 3.0}) == [6.0, 7.0]
        with pytest.raises(ValueError, match="'cond/true/mul:0' has been marked as not fetchable"):
            session.run(held[0], {x: 1.0})


def test_a_constant_that_was_read_for_a_shape_may_not_be_fed():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        rows, seen = tf.constant(2, name="rows"), tf.constant(3.0)
        y = tf.reshape(x, [rows, -1]) * seen
        like_seen = tf.reshape(seen, tf.shape(seen))
    with tf.Session(graph=graph) as session:
        with pytest.raises(ValueError, match="Tensor rows:0 may not be fed"):
            session.run(y, {x: np.zeros(4), rows: 4})
        assert session.run([y, like_seen], {x: np.ones(2), seen: 5.0})[0].tolist() == [[5.0], [5.0]]


@pytest.mark.parametrize("kind", [tf.FIFOQueue, tf.TFRecordReader, tf.Variable, tf.train.Saver])
def test_help_shows_what_a_class_is_called_with(kind):
    written = [*inspect.signature(kind.__init__).parameters][1:]
    assert [*inspect.signature(kind).parameters] == written != ["args", "kwargs"]


class OwnOptimizer(tf.train.GradientDescentOptimizer):
    """A program's own, which pickles by its name."""


def test_instances_of_classes_of_graph_mode_pickle():
    value = pickle.loads(pickle.dumps(tf.SparseTensorValue([[0]], [1.0], [2])))
    assert isinstance(value, tf.SparseTensorValue) and value.dense_shape == [2]
    for given in (tf.glorot_uniform_initializer(seed=3), OwnOptimizer(0.5)):
        again = pickle.loads(pickle.dumps(given))
        assert type(again) is type(given) and vars(again).keys() == vars(given).keys()
