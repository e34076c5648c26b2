"""Graphs as data: every op's attributes survive, what is read is checked, and nothing can run."""

import json
import tracemalloc

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.graph.records.attribute_json import LARGE_BYTES, decode, encode
from daskvars.graph.records.json_record import dumped
from daskvars.v1.graphs.subgraph import extract
from tests.ops.each_op import each_op

# Ops of Python functions: a graph that was read has a stand-in, for files hold no code.
PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "CustomGradient")
ATTRIBUTES = [
    None,
    True,
    3,
    -(2**70),
    1.5,
    "text",
    b"\xff\0",
    (1, (2, None)),
    [1, [2]],
    dv.int32,
    dv.float32._as_ref,
    dv.Spec(dv.qint8, (None, 2)),
    dv.Spec(dv.float32, None),
    1 + 2j,
]
ARRAYS = [
    np.float32([[1, np.nan], [np.inf, -0.0]]),
    np.array([True, False]),
    np.complex64(1 - 2j),
    np.array([b"a", "\u00e4".encode()], object),
    np.zeros((0, 3), "i2"),
    np.array(7),
    np.arange(3).astype(dv.bfloat16.as_numpy_dtype),
    np.arange(3, dtype=dv.qint8.np),
]


def nothing(*data):
    raise ValueError("nothing special")


def through_text(value):
    """Write and read an attribute."""
    return decode(json.loads(json.dumps(encode(value, lambda v: None), allow_nan=False)), nothing)


@pytest.mark.parametrize("value", ATTRIBUTES, ids=repr)
def test_an_attribute_survives(value):
    found = through_text(value)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: str(a.dtype))
def test_an_array_survives_bit_by_bit(array):
    array = np.asarray(array)
    found = through_text(array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tolist() == array.tolist() or found.tobytes() == array.tobytes()
    assert not found.flags.writeable


LARGE = [
    np.arange(LARGE_BYTES, dtype="f4").reshape(2, -1),
    np.arange(LARGE_BYTES, dtype="i2").reshape(2, -1).T,
    np.arange(LARGE_BYTES).astype(dv.bfloat16.as_numpy_dtype),
    np.broadcast_to(np.float32(2.5), (LARGE_BYTES, 3)),
    np.broadcast_to(np.float32(2.5), (4, 1)),
    np.broadcast_to(np.arange(LARGE_BYTES), (2, LARGE_BYTES)),
]


@pytest.mark.parametrize("array", LARGE, ids=lambda a: f"{a.dtype}-{a.shape}")
def test_a_large_array_is_text_in_a_file_alone(array):
    data = encode(("before", array, array[:1], "after"), lambda v: None)
    for back in (data, json.loads(dumped(data))):  # before it is a file, and after
        before, found, part, after = decode(back, nothing)
        assert (before, found.dtype, after) == ("before", array.dtype, "after")
        np.testing.assert_array_equal(found, array)
        np.testing.assert_array_equal(part, array[:1])
        assert not found.flags.writeable
    assert data == encode(("before", array, array[:1], "after"), lambda v: None)


def test_a_bit_that_a_disk_changed_is_told_or_changes_nothing():
    with dv.Graph().as_default() as graph:
        dv.constant([0.1, 7.0], name="c")
    record = graph.as_graph_def()
    text, refused = b"".join(record.pieces()), 0
    assert tf.GraphDef.FromString(text) == tf.GraphDef.FromString(text + b"\n") == record
    for place in range(8 * len(text)):
        altered = bytearray(text)
        altered[place // 8] ^= 1 << place % 8
        try:
            assert tf.GraphDef.FromString(bytes(altered)) == record
        except ValueError:
            refused += 1
    assert refused > 7 * len(text)


def test_one_element_that_is_repeated_is_kept_once():
    with dv.Graph().as_default() as graph:
        dv.constant(2.5, shape=[1 << 14, 1 << 16], name="c")  # 4 GiB
    text = graph.as_graph_def().SerializeToString()
    assert len(text) < 1000
    with dv.Graph().as_default():
        (again,) = tf.import_graph_def(tf.GraphDef.FromString(text), return_elements=["c:0"])
        with tf.Session() as sess:
            assert sess.run(again[:2, 7]).tolist() == [2.5, 2.5]


def test_a_graph_is_written_without_copies_of_its_constants(tmp_path):
    size = 1 << 24
    with dv.Graph().as_default() as graph:
        dv.constant(np.arange(size // 8))
        tracemalloc.start()
        tf.train.export_meta_graph(str(tmp_path / "graph"), graph=graph)
        _, most_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (tmp_path / "graph").stat().st_size > size
    assert most_bytes < size


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=str)
def test_floats_without_a_json_form_survive(value):
    assert repr(through_text(value)) == repr(value)


@pytest.mark.parametrize(
    "data",
    [
        {"dtype": "float33"},
        {"dtype": 7},
        {"bytes": "%"},
        {"float": "1"},
        {"spec": ["int32"]},
        {"spec": ["int32", [-1]]},
        {"call": "os.system"},
        {"a": 1, "b": 2},
        {"complex": [1]},
        {"array": {"dtype": "int32", "shape": [2], "data": "AAAA"}},
        {"array": {"dtype": "int32", "shape": [1 << 50], "data": ""}},
        {"array": {"dtype": "int32", "shape": [None], "data": ""}},
        {"array": {"dtype": "string", "shape": [2], "data": [""]}},
        {"array": {"dtype": "resource", "shape": [], "data": ""}},
        {"array": {"dtype": "int32", "shape": [1 << 20], "fill": "AAA="}},
        {"array": {"dtype": "string", "shape": [2], "fill": [""]}},
        {"array": {"dtype": "string", "shape": [2], "fill": ""}},
        {"array": {"dtype": "int32", "shape": [1 << 50], "fill": "AAAAAA=="}},
    ],
    ids=str,
)
def test_damaged_attributes_are_refused(data):
    with pytest.raises(ValueError, match=r"."):
        decode(data, nothing)


def test_a_function_is_only_named_and_cannot_be_called_from_a_file():
    found = through_text(json.dumps)
    with pytest.raises(dv.errors.FailedPreconditionError, match=r"json\.dumps.*input_map"):
        found(1)


@each_op
def test_the_graph_of_every_op_survives(sample):
    with dv.Graph().as_default() as graph:
        sample.call(*[dv.constant(a) for a in sample.inputs])
    text = graph.as_graph_def().SerializeToString()
    read = tf.GraphDef()
    read.ParseFromString(text)
    with dv.Graph().as_default() as again:
        tf.import_graph_def(read, name="")
    if sample.type not in PYTHON:
        assert again.as_graph_def().SerializeToString() == text
    for a, b in zip(graph.get_operations(), again.get_operations(), strict=True):
        assert [t.spec for t in a.outputs] == [t.spec for t in b.outputs]


def control_flow():
    """Build a loop with a branch and a random op in it, a variable, and gradients of it all."""
    x = dv.placeholder(dv.float32, [2], name="x")
    v = dv.Variable([1.0, 2.0], name="v")
    with dv.device("/job:ps"):
        pred = dv.reduce_sum(x) > 0.0

    def body(i, total):
        noise = dv.random_normal([2], seed=3)
        step = dv.cond(pred, lambda: v.value() * x, lambda: noise * x)
        return i + 1, total + dv.cond(i > 1, lambda: step, lambda: step * noise)

    _, y = dv.while_loop(lambda i, t: i < 3, body, [0, dv.zeros([2])])
    (slope,) = dv.gradients(y, [x])
    with dv.control_dependencies([v.assign_add(x)]):
        after = dv.identity(v.read_value(), name="after")
    return x, v, dv.identity(y, name="y"), dv.identity(slope, name="slope"), after


@pytest.mark.parametrize("scope", ["", "deep/er"])
@pytest.mark.parametrize("value", [[1.0, 2.0], [-1.0, -2.0]])
def test_loops_branches_gradients_and_updates_compute_the_same(scope, value):
    with dv.Graph().as_default() as graph:
        dv.set_random_seed(5)
        x, v, *fetches = control_flow()
    text = graph.as_graph_def().SerializeToString()
    read = tf.GraphDef()
    read.ParseFromString(text)
    with dv.Graph().as_default() as again:
        tf.import_graph_def(read, name=scope)
    prefix = f"{scope}/" if scope else ""
    with dv.Session(graph=graph) as one, dv.Session(graph=again) as other:
        one.run(v.initializer)
        other.run(prefix + v.initializer.name)
        for _ in range(2):
            expected = one.run(fetches, {x: value})
            names = [prefix + t.name for t in fetches]
            found = other.run(names, {f"{prefix}x:0": value})
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_array_equal(a, b)
    assert again.get_operation_by_name(prefix + pred_name(graph)).device == "/job:ps"


def pred_name(graph):
    """Return the name of the comparison that was placed."""
    return next(op.name for op in graph.get_operations() if op.type == "Greater" and op.device)


@pytest.fixture
def small():
    with dv.Graph().as_default() as graph:
        x = dv.placeholder(dv.float32, [2], name="x")
        zero = dv.zeros([2], name="zero")
        with dv.control_dependencies([dv.no_op(name="before")]):
            dv.add(x, zero, name="y")
    return graph.as_graph_def()


def test_inputs_can_be_replaced_and_elements_returned(small):
    with dv.Graph().as_default() as graph:
        mine = dv.constant([3.0, 4.0])
        y, op = tf.import_graph_def(small, {"x": mine, "zero:0": mine}, ["y:0", "before"], "in")
        (z,) = tf.import_graph_def(small, return_elements=["y:0"], name="in")
    assert (y.name, op.name, z.name) == ("in/y:0", "in/before", "in_1/y:0")
    assert y.op.control_inputs == [op]
    with dv.Session(graph=graph) as sess:
        assert sess.run(y).tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"input_map": {"nosuch:0": 1.0}}, ValueError, r"Attempted to map inputs .* \[nosuch:0\]"),
        ({"return_elements": ["nosuch"]}, ValueError, "Requested return node 'nosuch' not found"),
        ({"return_elements": ["nosuch:0"]}, ValueError, "return tensor 'nosuch:0' not found"),
        ({"return_elements": ["y:x"]}, ValueError, "Cannot convert 'y:x' to a tensor name"),
        ({"return_elements": ["y:1"]}, ValueError, "Invalid return output 1 of node 'y'"),
        ({"return_elements": [7]}, TypeError, "list of strings"),
        ({"input_map": {7: 1.0}}, TypeError, "input_map must be a dictionary mapping"),
        ({"input_map": [1.0]}, TypeError, "input_map must be a dictionary mapping"),
        ({"input_map": {"x:1": 1.0}}, ValueError, r"not found in graph_def: \[x:1\]"),
        ({"input_map": {"x": 1}}, ValueError, r"Node 'y'.*float32.*int32"),
    ],
)
def test_import_says_what_does_not_fit(small, arguments, error, message):
    with dv.Graph().as_default(), pytest.raises(error, match=message):
        tf.import_graph_def(small, **arguments)


def test_names_that_are_taken_get_a_suffix_and_keys_and_groups_follow():
    with dv.Graph().as_default() as graph:
        v = dv.Variable(1.0, name="v")
        with graph.colocate_with(v):
            dv.multiply(v.read_value(), 2.0, name="y")
    data = graph.as_graph_def()
    with dv.Graph().as_default(), dv.Session() as sess:
        first = tf.import_graph_def(data, return_elements=["v", "y"], name="")
        second = tf.import_graph_def(data, return_elements=["v", "y"], name="")
        assert [op.name for op in first + second] == ["v", "y", "v_1", "y_1"]
        assert [op.colocation_groups() for op in first] == [[b"loc:@v"]] * 2
        assert [op.colocation_groups() for op in second] == [[b"loc:@v_1"]] * 2
        sess.run(dv.assign(first[0].outputs[0], 5.0))
        sess.run("v/Assign_1")
        assert sess.run(["y:0", b"y_1:0"]) == [10.0, 2.0]


def test_colocated_operations_are_where_the_others_are_whatever_the_device_function(small):
    data = tf.GraphDef()
    data.CopyFrom(small)
    by_name = {node.name: node for node in data.node}
    by_name["y"].attr["_class"] = ["loc:@x"]
    with dv.Graph().as_default(), dv.device(lambda op: "/gpu:0" if "x" in op.name else "/cpu:0"):
        (y,) = tf.import_graph_def(data, return_elements=["y"], name="in")
    assert (y.device, y.colocation_groups()) == ("/device:GPU:0", [b"loc:@in/x"])
    by_name["y"].attr["_class"] = ["loc:@gone"]
    with dv.Graph().as_default(), pytest.raises(ValueError, match=r"colocated with unknown .*gone"):
        tf.import_graph_def(data)


def test_nodes_may_be_in_any_order():
    with dv.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        counted = tf.while_loop(lambda i: i < x, lambda i: i + x / 4.0, [x / 2.0], name="loop")
        tf.split(tf.stack([counted, x]), 2, name="y")
    data = graph.as_graph_def()
    data.node.reverse()
    with dv.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(data, return_elements=["y:1"], name="")
        assert session.run(y, {"x:0": 3.0}).tolist() == [3.0]


def test_a_ring_of_nodes_is_refused(small):
    small.node[-1].input[0] = "z"
    small.node.append(tf.NodeDef(name="z", op="Tanh", input=["y"]))
    with dv.Graph().as_default(), pytest.raises(ValueError, match="Unknown input node"):
        tf.import_graph_def(small)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda n: n.update(op="Ad"), r"Op type not registered 'Ad' \(did you mean 'Add'"),
        (lambda n: n.update(name="../x y"), "no operation can have that name"),
        (lambda n: n["input"].pop(0), "'y'"),
        (lambda n: n["input"].insert(0, "later"), "Node 'y': Unknown input node 'later'"),
        (lambda n: n["input"].insert(0, "x:1"), "Connecting to invalid output 1 of source node x"),
        (lambda n: n["input"].append("x"), "do not match 3 inputs specified"),
        (lambda n: n.update(name="x"), "Node 'x' is not unique"),
        (lambda n: n["attr"].update(_class=[1]), "its groups are"),
        (lambda n: n["input"].append("^gone"), r"Unknown input node '\^gone'"),
        (lambda n: n["attr"].update(_output_shapes=[[3]]), r"'y'.*"),
        (lambda n: n["attr"].update(_output_shapes=[]), None),
        (lambda n: n["attr"].update(_output_shapes=[[2], [2]]), "2 shapes for 1 outputs"),
        (lambda n: n["attr"].update(f={"graph": {"name": "b"}}), "where the body of a branch"),
        (lambda n: n["attr"].update(f={"operation": "gone"}), "'f'.*where an attribute belongs"),
        (lambda n: n.update(attr=[]), "'attr' is"),
        (lambda n: n.update(input="x"), "'input' is"),
        (lambda n: n.pop("device"), "where a node belongs"),
        (lambda n: n.update(device="/cow:1"), "cow"),
    ],
)
def test_every_part_of_a_file_is_checked(small, change, message):
    data = json.loads(small.SerializeToString())
    change(next(node for node in data["node"] if node["name"] == "y"))
    read = tf.GraphDef()
    with dv.Graph().as_default():
        if message is None:
            read.ParseFromString(json.dumps(data).encode())
            tf.import_graph_def(read)
            return
        with pytest.raises((ValueError, TypeError), match=message):
            read.ParseFromString(json.dumps(data).encode())
            tf.import_graph_def(read)


@pytest.mark.parametrize("text", [b"", b"\x80\x04.", b"[]", b"[" * 100_000, b'{"format": 2}'])
def test_other_files_are_refused(text):
    with pytest.raises(ValueError, match="daskvars"):
        tf.GraphDef().ParseFromString(text)


def test_a_part_names_what_it_lacks_in_bodies_too():
    with dv.Graph().as_default() as graph:
        outer = dv.Variable(1.0, name="outer")
        with dv.name_scope("part"):
            inner = dv.Variable(2.0, name="inner")
            dv.cond(inner.value() > 0.0, lambda: outer.assign_add(1.0) * 2.0, inner.value)
    part, unbound = extract(graph.as_graph_def(), "part")
    assert unbound == ["$unbound_inputs_outer"]
    assert {node.name for node in part.node} >= {"inner", "inner/Assign", "cond"}
    with dv.Graph().as_default() as again:
        other = dv.Variable(5.0, name="other")
        (y,) = tf.import_graph_def(part, {unbound[0]: other.handle}, ["cond:0"], name="")
    with dv.Session(graph=again) as sess:
        sess.run([other.initializer, "inner/Assign"])
        assert sess.run(y) == 12.0


def test_a_graph_def_of_the_session_and_from_a_version():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a")
        version = graph.version
        tf.constant(2.0, name="b")
        with tf.Session() as sess:
            assert [node.name for node in sess.graph_def.node] == ["a", "b"]
    assert [node.name for node in graph.as_graph_def(version).node] == ["b"]
    copy = tf.GraphDef()
    copy.CopyFrom(graph.as_graph_def())
    assert copy == graph.as_graph_def()
    assert copy.ByteSize() == len(copy.SerializeToString())
