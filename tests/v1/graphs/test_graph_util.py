"""Graphs cut down to what computes an output, with constants in place of variables.

The nodes that are left are those of TensorFlow 2.21's ``compat.v1.graph_util``.
"""

import pytest

import daskvars.v1 as tf


def nodes(graph_def):
    return [(node.name, node.op, node.input) for node in graph_def.node]


@pytest.fixture
def model():
    """A graph of two variables, a check and a step of training, and its session."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v, u = (tf.get_variable(name, initializer=[1.0, 2.0]) for name in "vu")
        x = tf.placeholder(tf.float32, [2], name="x")
        kept = tf.identity(x * v + u, name="id")
        y = tf.add(tf.check_numerics(kept, "m", name="check"), 1.0, name="y")
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y))
        sess.run(tf.global_variables_initializer())
        yield graph, sess


def test_variables_become_constants_and_training_goes(model):
    graph, sess = model
    frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    assert nodes(frozen) == [
        ("v", "Const", []),
        ("v/read", "Identity", ["v"]),
        ("u", "Const", []),
        ("u/read", "Identity", ["u"]),
        ("x", "Placeholder", []),
        ("mul", "Mul", ["x", "v/read"]),
        ("add", "Add", ["mul", "u/read"]),
        ("id", "Identity", ["add"]),
        ("check", "CheckNumerics", ["id"]),
        ("y/y", "Const", []),
        ("y", "Add", ["check", "y/y"]),
    ]
    plain = tf.graph_util.remove_training_nodes(frozen)
    assert [node[0] for node in nodes(plain)] == ["v", "u", "x", "mul", "add", "y/y", "y"]
    assert nodes(plain)[-1] == ("y", "Add", ["add", "y/y"])
    protected = tf.graph_util.remove_training_nodes(frozen, ["id"])
    assert ("y", "Add", ["id", "y/y"]) in nodes(protected)
    wanted = sess.run("y:0", {"x:0": [3.0, 4.0]}).tolist()
    for found in (frozen, plain, protected):
        read = tf.GraphDef()
        read.ParseFromString(found.SerializeToString())
        with tf.Graph().as_default() as imported, tf.Session() as other:
            tf.import_graph_def(read, name="")
            assert not imported.get_collection("variables")
            assert other.run("y:0", {"x:0": [3.0, 4.0]}).tolist() == wanted


@pytest.mark.parametrize(
    "lists, left",
    [({"variable_names_whitelist": ["v"]}, "u"), ({"variable_names_blacklist": ["v"]}, "v")],
)
def test_some_variables_stay(model, lists, left):
    graph, sess = model
    found = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"], **lists)
    assert [node.name for node in found.node if node.op == "VariableV2"] == [left]
    with tf.Graph().as_default(), tf.Session():
        tf.import_graph_def(found, name="")


def test_what_an_output_needs(model):
    graph, _ = model
    whole = graph.as_graph_def()
    found = tf.graph_util.extract_sub_graph(whole, ["id"])
    assert [n.name for n in found.node] == ["v", "v/read", "u", "u/read", "x", "mul", "add", "id"]
    assert len(tf.graph_util.extract_sub_graph(whole, ["Adam"]).node) > len(found.node)
    with pytest.raises(AssertionError, match=r"idd is not in graph.*'id'"):
        tf.graph_util.extract_sub_graph(whole, ["idd"])
    with pytest.raises(TypeError, match="dest_nodes must be an iterable of strings, but got type"):
        tf.graph_util.extract_sub_graph(whole, "id")
    with pytest.raises(TypeError, match=r"graph_def must be a graph_pb2\.GraphDef proto"):
        tf.graph_util.extract_sub_graph(3, ["id"])
    assert tf.graph_util.tensor_shape_from_node_def_name(graph, "y").as_list() == [2]


def test_variables_without_values_are_named(model):
    graph, _ = model
    with (
        tf.Session(graph=graph) as empty,
        pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v, u"),
    ):
        tf.graph_util.convert_variables_to_constants(empty, graph.as_graph_def(), ["y"])


def test_a_variable_that_an_output_changes_is_refused(model):
    graph, sess = model
    with pytest.raises(ValueError, match=r"AssignSub.*variable_names_blacklist"):
        with graph.as_default():
            tf.assign_sub(tf.global_variables()[0], [1.0, 1.0], name="changed")
        tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["changed"])


def test_loops_and_branches_keep_what_they_read():
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        x = tf.placeholder(tf.float32, [2], name="x")
        _, y = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a * v + tf.gather(v, 0)), [0, x]
        )
        y = tf.identity(tf.cond(x[0] > 0, lambda: v * y, lambda: y), name="y")
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(y))
        sess.run(tf.global_variables_initializer())
        wanted = sess.run(y, {x: [1.0, 3.0]}).tolist()
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    assert not [node for node in frozen.node if node.op in ("VariableV2", "ReadVariable")]
    for found in (frozen, tf.graph_util.remove_training_nodes(frozen, ["y"])):
        with tf.Graph().as_default(), tf.Session() as sess:
            (y,) = tf.import_graph_def(found, return_elements=["y:0"])
            assert sess.run(y, {"import/x:0": [1.0, 3.0]}).tolist() == wanted
