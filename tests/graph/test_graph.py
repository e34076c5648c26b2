"""Graphs: unique names, scopes, control dependencies, devices, look-ups."""

import threading
import traceback

import pytest

import daskvars.v1 as tf
from daskvars.errors import NotFoundError
from daskvars.graph.show import to_dot, to_text

pytestmark = pytest.mark.usefixtures("graph")


def test_names_are_unique_regardless_of_case(graph):
    names = [tf.constant(0, name=n).op.name for n in ("c", "c", "C", "c_1", "c")]
    assert len({n.lower() for n in names}) == 5
    assert names[:2] == ["c", "c_1"]


def test_scopes_prefix_and_are_made_unique(graph):
    with tf.name_scope("a") as outer:
        assert outer == "a/"
        with tf.name_scope("b") as inner:
            assert inner == "a/b/"
            assert tf.constant(0, name="x").op.name == "a/b/x"
    with tf.name_scope("a"):
        assert tf.constant(0, name="x").op.name == "a_1/x"
    with tf.name_scope("a/"):
        assert tf.constant(0, name="y").op.name == "a/y"
    with tf.name_scope(None):
        assert tf.constant(0, name="z").op.name == "z"


@pytest.mark.parametrize("name", ["a b", "_a", "a!", "-a", "ä"])
def test_illegal_names_are_refused(name):
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(0, name=name)


def test_control_inputs_are_added_once_and_only_where_needed(graph):
    first, second = tf.no_op("first"), tf.no_op("second")
    with tf.control_dependencies([first]):
        a = tf.constant(1, name="a")
        with tf.control_dependencies([second, first]):
            b = tf.identity(a, name="b")
            c = tf.constant(2, name="c")
        with tf.control_dependencies(None):
            d = tf.constant(3, name="d")
    assert a.op.control_inputs == [first]
    assert b.op.control_inputs == [second, first] or b.op.control_inputs == [second]
    assert set(c.op.control_inputs) == {first, second}
    assert d.op.control_inputs == []


def test_devices_merge_and_functions_see_the_op(graph):
    with tf.device("/job:ps/task:1"):
        with tf.device("/gpu:0"):
            assert tf.constant(0).device == "/job:ps/task:1/device:GPU:0"
        with tf.device(lambda op: "/cpu:0" if op.type == "Const" else "/gpu:1"):
            assert tf.constant(0).device == "/job:ps/task:1/device:CPU:0"
            assert tf.no_op().device == "/job:ps/task:1/device:GPU:1"
        with tf.device(None):
            assert tf.constant(0).device == ""


def test_look_ups_say_what_is_wrong(graph):
    c = tf.constant(1, name="c")
    assert graph.get_operation_by_name("c") is c.op
    assert graph.get_tensor_by_name("c:0") is c
    with pytest.raises(KeyError, match="does not exist"):
        graph.get_tensor_by_name("nope:0")
    with pytest.raises(KeyError, match="only has 1 outputs"):
        graph.get_tensor_by_name("c:3")
    with pytest.raises(ValueError, match="Tensor names must be of the form"):
        graph.get_tensor_by_name("c")
    with pytest.raises(ValueError, match="not an element of this graph"):
        tf.Graph().as_graph_element(c)
    with pytest.raises(TypeError, match="Can not convert"):
        graph.as_graph_element(3)


def test_tensors_have_no_value_while_the_graph_is_built():
    c = tf.constant([1, 2])
    for use in (bool, len, iter):
        with pytest.raises(TypeError):
            use(c)
    assert c.consumers() == []
    d = c + 1
    assert c.consumers() == [d.op]


def test_each_thread_has_a_default_graph_of_its_own(graph):
    found = []
    thread = threading.Thread(target=lambda: found.append(tf.get_default_graph()))
    thread.start()
    thread.join()
    assert found[0] is not graph


def test_text_and_drawing_name_every_operation(graph):
    with tf.name_scope("scope"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.control_dependencies([tf.no_op("gate")]):
            tf.reduce_sum(x, name="total")
    text, dot = to_text(graph), to_dot(graph)
    assert "scope/total = Sum(scope/x:0) ^scope/gate : float32 ()" in text
    assert dot.count("->") == 2
    assert 'label="scope"' in dot


def test_an_operation_is_made_by_the_name_of_its_op(graph):
    x = tf.constant([[1.0, 2.0]])
    op = graph.create_op("Add", [x, x], [tf.float32], name="sum")
    assert (op.name, op.type, op.outputs[0].shape.as_list()) == ("sum", "Add", [1, 2])
    with pytest.raises(KeyError):
        graph.create_op("NoSuchOp", [])


def test_an_operation_of_an_op_that_nobody_registered_is_built_and_cannot_run(graph):
    x = tf.constant(1.0)
    op = graph.create_op("Unheard", [x], [tf.float32, tf.int64], name="odd", attrs={"depth": 3})
    assert (op.name, op.type, list(op.inputs)) == ("odd", "Unheard", [x])
    assert [t.dtype for t in op.outputs] == [tf.float32, tf.int64]
    assert [t.shape.ndims for t in op.outputs] == [None, None]
    silent = graph.create_op("Unheard", [], [])
    assert (silent.name, silent.outputs) == ("Unheard", ())
    with tf.Session() as session:
        assert session.run(x) == 1.0
        for wanted in (op.outputs[0], op, silent, op.outputs[1] + 1):
            with pytest.raises(NotFoundError, match="Op type not registered 'Unheard'"):
                session.run(wanted)
    with pytest.raises(LookupError, match="No gradient defined for operation 'odd'"):
        tf.gradients(op.outputs[0], x)
    with pytest.raises(KeyError, match="Op type not registered"):
        graph.create_op("Unheard", [x])


def test_consumers_are_counted_by_input(graph):
    x = tf.constant(1.0)
    y = tf.add(x, x)
    assert x.consumers() == [y.op, y.op]


def test_a_cycle_of_control_inputs_is_an_error_of_the_run(graph):
    first, second = tf.constant(1).op, tf.constant(2).op
    first._add_control_input(second)
    second._add_control_input(first)
    error = pytest.raises(tf.errors.InvalidArgumentError, match="contains a cycle with 2 nodes")
    with tf.Session() as sess, error:
        sess.run(first.outputs[0])


def test_a_body_may_wait_for_what_is_around_it(graph):
    held = tf.placeholder(tf.float32, [])
    x = tf.constant(3)

    def waiting(value):
        with tf.control_dependencies([held, x.op]):
            return value + 1

    results = [
        tf.cond(tf.constant(True), lambda: waiting(x), lambda: x),
        tf.while_loop(lambda i: i < 5, waiting, [tf.constant(0)]),
    ]
    with tf.Session() as sess:
        assert sess.run(results, {held: 1.0}) == [4, 5]


def test_a_loop_may_be_a_constant_to_gradients(graph):
    v = tf.constant(2.0)
    loop = tf.while_loop(lambda x: x < 100.0, tf.square, [v], back_prop=False)
    with tf.Session() as sess:
        assert sess.run(tf.gradients(loop + v, v)) == [1.0]


def test_an_exclusive_case_has_one_true_predicate(graph):
    x = tf.placeholder(tf.int32, [])
    pairs = [(x > 1, lambda: tf.constant(1)), (x > 2, lambda: tf.constant(2))]
    result = tf.case(pairs, default=lambda: tf.constant(0), exclusive=True)
    with tf.Session() as sess:
        assert [sess.run(result, {x: n}) for n in (1, 2)] == [0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input error: exclusive=True"):
            sess.run(result, {x: 3})


def test_names_may_be_bytes_and_elements_may_stand_for_names(graph):
    class Named:
        def _as_graph_element(self):
            return "c:0"

    c = tf.constant(1.0, name=b"c")
    assert c.name == "c:0"
    assert graph.as_graph_element(Named()) is c
    with pytest.raises(ValueError, match="'c' refers to an Operation, not a Tensor"):
        graph.get_tensor_by_name("c")


def test_what_stands_for_a_tensor_is_taken_where_tensors_are(graph):
    class Layered:
        def __init__(self, element):
            self._as_graph_element = lambda: element

    def converted(value, dtype=None, name=None, as_ref=False):
        return graph.as_graph_element(value)

    tf.register_tensor_conversion_function(Layered, converted)
    c = tf.constant([1.0, 2.0], name="c")
    with tf.Graph().as_default(), tf.Session(graph=graph) as session:
        found = tf.stack([tf.square(Layered(c)), tf.convert_to_tensor(Layered(c))])
        assert found.graph is graph  # as in TensorFlow: that of the first tensor
        assert session.run(found).tolist() == [[1.0, 4.0], [1.0, 2.0]]
    assert tf.convert_to_tensor(Layered("c:0")) is c


def test_an_operation_is_no_tensor(graph):
    for convert in (tf.convert_to_tensor, lambda op: tf.constant(1.0) + op):
        with pytest.raises(TypeError, match=r"Can't convert Operation 'NoOp.*' to Tensor"):
            convert(tf.no_op())


def test_get_attr_gives_bytes_and_says_what_there_is(graph):
    with tf.colocate_with(tf.constant(1.0, name="a")):
        op = tf.constant(2.0, name="b").op
    assert op.get_attr("_class") == [b"loc:@a"]
    with pytest.raises(ValueError, match="Operation 'b' has no attr named 'fake'"):
        op.get_attr("fake")


def test_an_operation_as_plain_data(graph):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, [[1.0], [2.0], [3.0]], transpose_b=False, name="y").op
    v = tf.get_variable("v", [2])
    attr = y.node_def.attr
    assert attr["T"].type == tf.float32.as_datatype_enum and y.get_attr("T") is tf.float32
    assert attr["transpose_b"].b is False and "other" not in attr
    assert [dim.size for dim in x.op.node_def.attr["shape"].shape.dim] == [-1, 3]
    assert x.op.node_def.attr["dtype"].type == tf.float32.as_datatype_enum
    assert y.inputs[1].op.node_def.attr["value"].tensor.tolist() == [[1.0], [2.0], [3.0]]
    with tf.colocate_with(v.op):
        assert tf.constant(1.0).op.node_def.attr["_class"].list.s == [b"loc:@v"]
    assert y.op_def.name == "MatMul" and [arg.name for arg in y.op_def.input_arg] == ["a", "b"]
    assert v.initializer.node_def.attr["_class"].list.s == v.initializer.get_attr("_class")
    assert v.initializer.get_attr("_class") == [b"loc:@v"]
    assert attr["other"].i == 0


def test_where_an_operation_was_made_can_be_shown(graph):
    op = tf.no_op()  # made here
    (text,) = traceback.format_list(op.traceback)
    assert "test_graph.py" in text and "op = tf.no_op()  # made here" in text


def test_operations_of_a_variable_are_where_it_is_made_and_those_of_the_user_where_they_are(graph):
    def getter(getter, *args, **kwargs):
        seen.append(tf.no_op())  # in the getter
        return getter(*args, **kwargs)

    def lines(*operations):
        return [op.traceback[0][-1].strip() for op in operations]

    seen = []
    v = tf.get_variable("v", [2])  # plain
    assert set(lines(v.op, v.initializer, v.initial_value.op, v.value().op)) == {
        'v = tf.get_variable("v", [2])  # plain'
    }
    w = tf.get_variable("w", [2], custom_getter=getter)  # by a getter
    assert lines(*seen, w.op) == [
        "seen.append(tf.no_op())  # in the getter",
        "return getter(*args, **kwargs)",
    ]
    with tf.init_scope():
        op = tf.no_op()  # in init_scope
    assert lines(op) == ["op = tf.no_op()  # in init_scope"]


def test_a_control_input_is_taken_once(graph):
    x, y, z = (tf.constant(i).op for i in range(3))
    z._add_control_inputs([x, y, x])
    z._add_control_input(x)
    assert z.control_inputs == [x, y]


def test_collections_of_a_finalized_graph_stay_as_they_are(graph):
    graph.add_to_collection("a", 1)
    graph.finalize()
    for change in (
        lambda: graph.add_to_collection("a", 2),
        lambda: tf.add_to_collections(["a"], 2),
        lambda: graph.clear_collection("a"),
    ):
        with pytest.raises(RuntimeError, match="finalized"):
            change()
    assert graph.get_collection("a") == [1] and graph.get_collection("b") == []


def test_a_finalized_graph_opens_again_under_the_name_that_programs_use(graph):
    graph.finalize()
    graph._unsafe_unfinalize()
    assert tf.constant(1.0).graph is graph


def test_shape_errors_name_the_operation_and_all_input_shapes(graph):
    expected = (
        r"Dimensions must be equal, but are 2 and 5 for 'add' \(op: 'Add'\) with input shapes: "
        r"\[1,2,3\], \[\?,5,6\]\."
    )
    with pytest.raises(ValueError, match=expected):
        tf.add(tf.ones([1, 2, 3]), tf.placeholder(tf.float32, [None, 5, 6]), name="add")
    x = tf.placeholder(tf.float32, name="x")
    y = tf.matmul(x, tf.ones([2, 2]), name="y")
    expected = r"are 3 and 2 for 'y' \(op: 'BatchMatMulV2'\) with input shapes: \[4,3\], \[2,2\]"
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=expected):
        sess.run(y, {x: [[1.0] * 3] * 4})


def test_numbers_that_many_share_are_looked_at_once():
    """A walk along each way from a shape to its numbers would go 3 ** 40 ways."""
    with tf.Graph().as_default():
        size = tf.constant(2)
        for _ in range(40):
            size = size + size - size
        assert tf.zeros([size]).shape.as_list() == [2]
        with tf.Session() as sess, pytest.raises(ValueError, match="may not be fed"):
            sess.run(tf.zeros([size]), {size: 3})


def test_a_variable_found_by_its_name_is_its_value_to_operations():
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        sess.run(tf.Variable([[2, 1]], name="v").initializer)
        v = graph.get_tensor_by_name("v:0")
        plus, product = v + 1, tf.matmul(v, [[1], [2]])
        assert (plus.dtype, product.dtype) == (tf.int32, tf.int32)
        assert [x.tolist() for x in sess.run([plus, product, v])] == [[[3, 2]], [[4]], [[2, 1]]]
        sess.run(tf.assign_add(v, [[1, 1]]))
        assert sess.run(plus).tolist() == [[4, 3]]


@pytest.mark.parametrize("name", [5, 1.5, object()])
def test_a_name_is_a_string(name):
    with tf.Graph().as_default() as graph:
        calls = (
            lambda: tf.placeholder(tf.float32, name=name),
            lambda: tf.get_variable(name, [2]),
            lambda: graph.name_scope(name).__enter__(),
        )
        for call in calls:
            with pytest.raises(TypeError, match="a name is a string, but got"):
                call()
        assert tf.placeholder(tf.float32, name=b"bytes").name == "bytes:0"
        with tf.name_scope(b"scope") as scope:
            assert scope == "scope/"


def test_programs_hang_attributes_of_their_own_on_tensors_and_operations():
    with tf.Graph().as_default():
        layer = tf.nn.relu(tf.placeholder(tf.float32, [None, 2]))
        layer.weights, layer.op.tag = [1, 2], "first"
        assert layer.weights == [1, 2] and layer.op.outputs[0].op.tag == "first"
        assert not hasattr(tf.identity(layer), "weights")
        with pytest.raises(AttributeError):
            layer.name = "another"
