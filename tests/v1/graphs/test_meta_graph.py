"""Graphs beside checkpoints: a fresh process imports one, restores and runs; nothing else."""

import json

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.v1.graphs.meta_graph import (
    copy_scoped_meta_graph,
    export_scoped_meta_graph,
    import_scoped_meta_graph,
)
from daskvars.v1.sessions.scaffold import Scaffold
from tests import fresh

FRESH = """
import sys, daskvars.v1 as tf
saver = tf.train.import_meta_graph(sys.argv[1] + ".meta")
(train,) = tf.get_collection("my_train_op")
with tf.Session() as sess:
    saver.restore(sess, sys.argv[1])
    for _ in range(2):
        sess.run(train, {"x:0": [[1.0, 2.0]]})
    print(sess.run("w:0").tobytes().hex(), sess.run("global_step:0"))
"""


def network():
    """Build a loop and a branch, trained with slots; return the training operation."""
    x = tf.placeholder(tf.float32, [1, 2], name="x")
    w = tf.get_variable("w", initializer=[[1.0], [2.0]])
    step = tf.train.get_or_create_global_step()
    _, y = tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: (i + 1, y + tf.tanh(tf.matmul(x, w))),
        [0, tf.zeros([1, 1])],
    )
    y = tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * y, lambda: -y)
    return tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y), step, name="train")


@pytest.mark.slow
def test_a_fresh_process_goes_on_training(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        train = network()
        tf.add_to_collection("my_train_op", train)
        sess.run(tf.global_variables_initializer())
        feed = {"x:0": [[1.0, 2.0]]}
        sess.run(train, feed)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        for _ in range(2):
            sess.run(train, feed)
        expected = [sess.run("w:0").tobytes().hex(), str(sess.run("global_step:0"))]
    assert fresh.run(FRESH, path).split() == expected


def test_imported_loops_and_branches_are_differentiated(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        network()
        x, y = sess.graph.get_tensor_by_name("x:0"), sess.graph.get_tensor_by_name("cond:0")
        (slope,) = tf.gradients(y, [x])
        sess.run(tf.global_variables_initializer())
        expected = sess.run(slope, {x: [[1.0, 2.0]]})
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.train.import_meta_graph(path + ".meta", import_scope="in").restore(sess, path)
        x, y = (graph.get_tensor_by_name(f"in/{name}:0") for name in ("x", "cond"))
        (slope,) = tf.gradients(y, [x])
        np.testing.assert_array_equal(sess.run(slope, {x: [[1.0, 2.0]]}), expected)
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y)).run({x: [[1.0, 2.0]]})
        assert not np.array_equal(sess.run(slope, {x: [[1.0, 2.0]]}), expected)


def test_collections_come_back_with_their_kinds(tmp_path):
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], name="v")
        w = tf.Variable(1.0, trainable=False, name="w")
        slices = tf.IndexedSlices(v.value(), tf.constant([0, 1]), None)
        saver = tf.train.Saver([v])
        for item in (1, "text", 2.5, b"b", (1, (None, tf.int32)), v.value(), v.op, slices, w):
            tf.add_to_collection("mine", item)
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        tf.add_to_collection("odd", object())
        tf.add_to_collection(7, "no text for a name")
        with pytest.warns(UserWarning, match="serializ") as warned:
            exported = tf.train.export_meta_graph(str(tmp_path / "g"), saver_def=saver.saver_def)
    assert len(warned) == 2
    assert exported.HasField("saver_def")
    with tf.Graph().as_default() as graph:
        saver = tf.train.import_meta_graph(str(tmp_path / "g"))
        mine = tf.get_collection("mine")
        assert mine[:5] == [1, "text", 2.5, b"b", (1, (None, tf.int32))]
        assert [item.name for item in mine[5:7]] == ["v/read:0", "v"]
        assert mine[7].indices.dtype is tf.int32
        assert [v.name for v in tf.trainable_variables()] == ["v:0"]
        assert mine[8] is tf.global_variables()[1], "one variable is one object"
        assert tf.get_collection(tf.GraphKeys.SAVERS)[0].saver_def == saver.saver_def
        assert sorted(graph.collections) == ["mine", "savers", "trainable_variables", "variables"]
        found = Scaffold.get_or_default("saver", tf.GraphKeys.SAVERS, tf.train.Saver)
        assert found is tf.get_collection("savers")[0]


@pytest.mark.parametrize(
    "scope, enclosing, prefix",
    [
        ("new", "", "new/"),
        ("a/b", "", "a/b/"),
        ("new", "outer", "outer/new/"),
        (None, "outer", "outer/"),
        (None, "", ""),
    ],
)
def test_imported_under_a_scope(tmp_path, scope, enclosing, prefix):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.add(tf.Variable(3.0, name="v"), 1.0, name="y")
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        with graph.name_scope(enclosing):
            saver = tf.train.import_meta_graph(path + ".meta", import_scope=scope)
        (v,) = tf.global_variables()
        assert v.name == f"{prefix}v:0"
        saver.restore(sess, path)
        assert sess.run([v, f"{prefix}y:0"]) == [3.0, 4.0]
        again = saver.save(sess, str(tmp_path / "n"))
        assert tf.train.list_variables(again) == [("v", [])], "the saver keeps its names"


def test_a_saver_is_made_where_none_was_exported():
    with tf.Graph().as_default():
        tf.constant(1.0)
        nothing = tf.train.export_meta_graph()
        tf.Variable(1.0, name="v")
        exported = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(nothing) is None
    with tf.Graph().as_default() as graph:
        assert tf.train.import_meta_graph(exported).saver_def.restore_op_name == "save/restore_all"
        assert graph.get_operation_by_name("save/restore_all").type == "NoOp"


def hidden():
    images = tf.placeholder(tf.float32, [None, 2], name="images")
    with tf.name_scope("hidden"):
        w = tf.Variable([[1.0], [2.0]], name="w")
        tf.matmul(images, w, name="out")
    return images


def test_a_scope_is_exported_with_its_unbound_inputs(tmp_path):
    with tf.Graph().as_default():
        hidden()
        exported, variables = export_scoped_meta_graph(export_scope="hidden")
        assert tf.get_collection("unbound_inputs") == ["$unbound_inputs_images"]
    assert list(variables) == ["w:0"]
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match=r"unbound inputs: \$unbound_inputs_images"):
            tf.train.import_meta_graph(exported)
        given = tf.constant([[1.0, 1.0]])
        found = import_scoped_meta_graph(
            exported, import_scope="new", input_map={"$unbound_inputs_images": given}
        )
        assert found["w:0"].name == "new/w:0"
        sess.run(found["w:0"].initializer)
        assert sess.run("new/out:0").tolist() == [[3.0]]


def test_a_scope_is_copied_within_and_between_graphs():
    with tf.Graph().as_default() as graph:
        with tf.name_scope("one"):
            tf.Variable(2.0, name="v") * 3.0
        other = tf.Graph()
        assert copy_scoped_meta_graph("one", "two", graph, graph)["v:0"].name == "two/v:0"
        assert copy_scoped_meta_graph("one", "one", graph, other)["v:0"].graph is other
        with pytest.raises(ValueError, match="need to be different"):
            copy_scoped_meta_graph("one", "one", graph, graph)
    assert graph.get_operation_by_name("two/mul").inputs[0].op.name == "two/v/read"


def test_devices_and_other_savers_can_be_left_out():
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            tf.Variable(1.0, name="v")
        kept, other = tf.train.Saver(), tf.train.Saver(name="other")
        tf.add_to_collection(tf.GraphKeys.SAVERS, other)
        exported = kept.export_meta_graph(clear_devices=True, clear_extraneous_savers=True)
    assert {node.device for node in exported.graph_def.node} == {""}
    names = [node.name for node in exported.graph_def.node]
    assert "save/SaveV2" in names
    assert not [name for name in names if name.startswith("other")]
    assert "savers" not in exported.collection_def
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(exported)
        assert "save/SaveV2" in [op.name for op in graph.get_operations()]


def test_collections_are_read_in_the_fields_of_protocol_buffers():
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        saver = tf.train.Saver()
        kinds = {"savers": saver, "nodes": v.initializer, "whole": 7, "real": 0.5, "text": "a"}
        for name, item in kinds.items():
            tf.add_to_collection(name, item)
        exported = saver.export_meta_graph()
    copy = tf.MetaGraphDef.FromString(exported.SerializeToString())
    for found in (exported.collection_def, copy.collection_def):
        given = {name: found[name].WhichOneof("kind") for name in kinds}
        assert list(given.values()) == [
            *("bytes_list", "node_list", "int64_list", "float_list", "bytes_list")
        ]
        described = tf.train.SaverDef.FromString(*found["savers"].bytes_list.value)
        assert vars(described) == vars(saver.saver_def)
        values = [getattr(found[name], kind).value for name, kind in given.items()]
        assert values[1:] == [["v/Assign"], [7], [0.5], [b"a"]]
        assert found["whole"].HasField("int64_list") and not found["whole"].node_list.value
        with pytest.raises(ValueError, match="'kind', not 'sort'"):
            found["whole"].WhichOneof("sort")


def test_collections_are_chosen():
    with tf.Graph().as_default():
        tf.Variable(1.0, name="v")
        tf.add_to_collection("mine", 7)
        exported = tf.train.export_meta_graph()
        assert list(tf.train.export_meta_graph(collection_list=["mine"]).collection_def) == ["mine"]
    with tf.Graph().as_default() as graph:
        import_scoped_meta_graph(exported, restore_collections_predicate=lambda key: key == "mine")
        assert graph.collections == ["mine"]


def test_a_python_function_is_not_in_the_file(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        y = tf.py_func(np.sin, [tf.Variable(1.0, name="v").value()], tf.float32, name="call")
        tf.multiply(y, 2.0, name="z")
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + ".meta", input_map={"call": tf.constant(4.0)})
        saver.restore(sess, path)
        assert sess.run("z:0") == 8.0
        with pytest.raises(tf.errors.FailedPreconditionError, match="files hold no code"):
            sess.run("call:0")


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d: d.update(format=9), "no meta graph in format 1"),
        (lambda d: d.update(collections=[]), "where collections belong"),
        (lambda d: d.update(saver={"max_to_keep": 1}), "where a saver belongs"),
        (lambda d: d["saver"].update(sharded="no"), "saver: 'sharded' is 'no'"),
        (lambda d: d.update(meta_info=1), "where 'meta_info' belongs"),
        (lambda d: d["graph"]["node"].append(7), "7 where a node belongs"),
    ],
)
def test_other_and_damaged_files_are_refused(tmp_path, change, message):
    with tf.Graph().as_default():
        tf.Variable(1.0)
        text = tf.train.Saver().export_meta_graph().SerializeToString()
    data = json.loads(text)
    change(data)
    path = tmp_path / "m.meta"
    path.write_text(json.dumps(data))
    with tf.Graph().as_default(), pytest.raises(OSError, match=f"Cannot parse file .*{message}"):
        tf.train.import_meta_graph(str(path))
    with tf.Graph().as_default(), pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(path) + "x")


@pytest.mark.parametrize(
    "item, message",
    [
        ({"call": 1}, "unknown kind"),
        ({"variable": {}}, "variable_name"),
        (7, "where an item"),
        ({"node": "nosuch"}, "nosuch"),
        ({"value": {"graph": {}}}, "where a value belongs"),
        ({"saver": 1}, "where a saver"),
    ],
)
def test_damaged_collections_are_refused(item, message):
    with tf.Graph().as_default():
        tf.constant(1.0)
        exported = tf.train.export_meta_graph()
    exported.collection_def["mine"] = [item]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.train.import_meta_graph(exported)


def test_records_are_read_and_copied_as_protocol_buffers_are():
    with tf.Graph().as_default():
        tf.get_variable("w", [2])
        meta_graph = tf.train.Saver().export_meta_graph()
    graph_def = meta_graph.graph_def
    for record in (meta_graph, graph_def, graph_def.node[0], meta_graph.saver_def):
        text, kind = record.SerializeToString(), type(record)
        assert kind.FromString(text) == record
        copy = kind()
        copy.CopyFrom(record)
        assert copy == record and copy.ByteSize() == len(text) == copy.ParseFromString(text)
        with pytest.raises(ValueError, match=r"not a .* of daskvars"):
            kind.FromString(text[:-1])
        with pytest.raises(TypeError, match=f"{kind.__name__} takes another one"):
            copy.CopyFrom(text)


def test_a_graph_is_written_and_imported(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.constant(7.0, name="c")
        path = tf.train.write_graph(graph, str(tmp_path / "new"), "graph.json")
    read = tf.GraphDef()
    with open(path, "rb") as file:
        read.ParseFromString(file.read())
    with tf.Graph().as_default(), tf.Session() as sess:
        (c,) = tf.import_graph_def(read, return_elements=["c:0"])
        assert sess.run(c) == 7.0
