"""Sessions as programs use them: the default one, what may be fetched, what runs how often."""

import numpy as np
import pytest

import daskvars.v1 as tf


def test_run_and_eval_need_a_default_session(initialized):
    v = tf.Variable([1.0, 1.0])
    for use in (v.initializer.run, v.eval, (v * 2).eval):
        with pytest.raises(ValueError, match="No default session"):
            use()
    other = initialized()
    assert v.eval(session=other).tolist() == [1, 1]
    with other.as_default():
        assert tf.get_default_session() is other
        assert (v * 2).eval().tolist() == [2, 2]
    with tf.Session() as session:
        assert tf.get_default_session() is session and session.graph is tf.get_default_graph()
        assert tf.global_variables_initializer().run() is None
        assert v.eval().tolist() == [1, 1]
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match="closed"):
        session.run(v)


def test_each_session_has_values_of_its_own():
    v = tf.Variable(1.0)
    up = v.assign_add(1.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError):
            two.run(v)
        two.run(v.initializer)
        two.run(up)
        assert (one.run(v), two.run(v)) == (1.0, 2.0)


def test_what_may_be_done_without_a_value():
    v = tf.get_variable("v", [3])
    assign = v.assign([1.0, 2.0, 3.0])
    with tf.Session() as session:
        for fetch in (v, v + 1, v.assign_add([1.0, 1.0, 1.0])):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
                session.run(fetch)
        assert session.run(assign).tolist() == session.run(v).tolist() == [1.0, 2.0, 3.0]


def test_an_op_runs_once_and_brings_what_it_depends_on(initialized):
    v = tf.Variable(0.0)
    add = v.assign_add(1.0)
    with tf.control_dependencies([add]):
        after = tf.no_op()
    session = initialized()
    assert session.run([add, add, add.op]) == [1.0, 1.0, None]
    assert session.run(after) is None and session.run(v) == 2.0
    session.run(tf.group(add, name="g"))
    assert session.run(v) == 3.0
    assert add.op.run(session=session) is None and session.run(v) == 4.0


@pytest.mark.parametrize(
    ("update", "wanted"),
    [
        (lambda v: v.assign([1, 2]), [1, 2]),
        (lambda v: tf.assign(v, v + 1), [6, 6]),
        (lambda v: v.assign_add([1, 2]), [6, 7]),
        (lambda v: tf.assign_add(v, [1, 2]), [6, 7]),
        (lambda v: v.assign_sub([1, 2]), [4, 3]),
        (lambda v: tf.assign_sub(v, [1, 2]), [4, 3]),
        (lambda v: tf.scatter_update(v, [1], [9]), [5, 9]),
        (lambda v: tf.scatter_add(v, [0, 0], [1, 1]), [7, 5]),
        (lambda v: tf.scatter_sub(v, [1], [1]), [5, 4]),
    ],
)
def test_updates_give_the_new_value_and_keep_it(update, wanted, initialized):
    v = tf.Variable([5, 5])
    update(v)  # not run: no effect
    made = update(v)
    session = initialized()
    assert session.run(v).tolist() == [5, 5]
    assert session.run(made).tolist() == wanted == session.run(v).tolist()


def test_an_assignment_must_fit():
    v = tf.get_variable("v", [2])
    with pytest.raises(ValueError, match=r"are 2 and 3"):
        v.assign([1.0, 2.0, 3.0])
    for value in (tf.constant([1, 2]), ["a", "b"]):
        with pytest.raises((TypeError, ValueError)):
            tf.assign(v, value)


def test_fetches_keep_their_structure_and_may_be_names():
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.multiply(x, 2.0, name="y")
    with tf.Session() as session:
        assert session.run((y, [y]), {x: 1.0}) == (2.0, [2.0])
        assert session.run({"a": y, "b": [x]}, {x: 1.0}) == {"a": 2.0, "b": [1.0]}
        assert session.run("y:0", {"x:0": 4.0}) == 8.0
        assert session.run([]) == []
        for fetch, error in ((3, TypeError), (None, TypeError), ("nosuch:0", ValueError)):
            with pytest.raises(error):
                session.run(fetch)


def test_a_placeholder_takes_any_batch():
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.reduce_sum(x, 1)
    with tf.Session() as session:
        for rows in (1, 3):
            assert session.run(y, {x: np.ones([rows, 784])}).tolist() == [784.0] * rows
        with pytest.raises(ValueError, match=r"\(3, 7\)"):
            session.run(y, {x: np.ones([3, 7])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Placeholder"):
            session.run(y)


def test_each_graph_has_its_own_variables():
    v = tf.get_variable("v", [1])
    with tf.Graph().as_default() as other:
        assert tf.global_variables() == [] and not tf.get_variable_scope().reuse
        w = tf.get_variable("v", [1])
    assert tf.global_variables() == [v] and w.graph is other and w.name == v.name
    with pytest.raises(ValueError, match="same graph"):
        v + w
    with tf.Session(graph=other) as session, pytest.raises(ValueError, match="graph"):
        session.run(v)


def test_default_names(graph):
    a, b = tf.constant(1.0), tf.constant(2.0)
    counter = tf.Variable(0, name="counter")
    parts = tf.split(tf.constant([1.0, 2.0]), 2, name="sp")
    names = [
        a.name,
        b.name,
        (a + b).op.name,
        (a + b).op.name,
        (a - b).op.name,
        (a * b).op.name,
        tf.zeros([2]).op.name,
        tf.placeholder(tf.float32).op.name,
        tf.nn.relu(a).op.name,
        tf.matmul([[1.0]], [[1.0]]).op.name,
        tf.no_op().name,
        *(part.name for part in parts),
        tf.assign(counter, 1).name,
        counter.assign_add(1).name,
        counter.assign_sub(1).name,
        tf.assign(counter, 3, name="three").name,
        counter.initializer.name,
    ]
    assert names == [
        "Const:0",
        "Const_1:0",
        "add",
        "add_1",
        "sub",
        "mul",
        "zeros",
        "Placeholder",
        "Relu",
        "MatMul",
        "NoOp",
        "sp:0",
        "sp:1",
        "Assign:0",
        "AssignAdd:0",
        "AssignSub:0",
        "three:0",
        "counter/Assign",
    ]
    assert graph.get_tensor_by_name("sp:1") is parts[1] and parts[0].op is parts[1].op
