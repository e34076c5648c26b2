"""Branches and loops around variables, slices, control dependencies and other gradients."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def chosen():
    return tf.placeholder(tf.bool, [], name="chosen")


def started(sess):
    sess.run(tf.global_variables_initializer())


# -- variables that a body assigns -----------------------------------------------------------------


def test_a_loop_reads_anew_in_each_turn_what_it_assigns(sess):
    v = tf.Variable(2.0)

    def body(i):
        with tf.control_dependencies([v.assign(tf.square(v))]):
            return i + 1

    last = tf.while_loop(lambda i: i < 4, body, [0])
    started(sess)
    assert sess.run(last) == 4
    assert sess.run(v) == 65536.0


def test_the_condition_of_a_loop_sees_what_the_body_assigned(sess):
    v = tf.Variable(0.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1

    last = tf.while_loop(lambda i: v < 5.0, body, [0])
    started(sess)
    assert sess.run(last) == 5


def test_a_loop_sees_what_a_branch_in_it_assigned(sess, chosen):
    v = tf.Variable(1.0)

    def body(i, total):
        taken = tf.cond(chosen, lambda: v.assign(v * 2.0), lambda: tf.identity(v))
        with tf.control_dependencies([taken]):
            return i + 1, total + v

    last = tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])
    started(sess)
    assert sess.run(last, {chosen: True}) == [3, 2.0 + 4.0 + 8.0]
    assert sess.run(last, {chosen: False}) == [3, 3 * 8.0]


def test_a_branch_sees_what_was_assigned_before_it(sess, chosen):
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        y = tf.cond(chosen, lambda: v * v, lambda: tf.identity(v))
    slope = tf.gradients(y, v)[0]
    started(sess)
    assert sess.run([y, slope], {chosen: True}) == [25.0, 10.0]


def test_the_gradient_of_a_loop_uses_what_each_turn_had_read(sess):
    v, x = tf.Variable(2.0), tf.constant(1.0)

    def body(i, y):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1, y * v.read_value()

    y = tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]
    slopes = tf.gradients(y, [x, v])
    started(sess)
    assert sess.run([y, *slopes]) == [60.0, 60.0, 4 * 5 + 3 * 5 + 3 * 4]


def test_the_gradient_of_a_branch_uses_what_it_had_read(sess, chosen):
    v, x = tf.Variable(2.0), tf.constant(3.0)

    def yes():
        with tf.control_dependencies([v.assign_add(1.0)]):
            return x * v

    y = tf.cond(chosen, yes, lambda: x * 5.0)
    slopes = tf.gradients(y, [x, v])
    started(sess)
    assert sess.run([y, *slopes], {chosen: True}) == [9.0, 3.0, 3.0]
    assert sess.run([y, *slopes], {chosen: False}) == [15.0, 5.0, 0.0]


def test_no_gradient_assigns_a_second_time(sess, chosen):
    v, w, x = tf.Variable(2.0), tf.Variable(3.0), tf.constant(1.0)

    def yes(y):
        mean = v.assign_add(1.0)
        with tf.control_dependencies([mean]):
            return y * w * mean * v.read_value()

    def no(y):
        with tf.control_dependencies([v.assign(7.0)]):
            return y * 2.0

    def body(i, y):
        y = tf.cond(chosen, lambda: yes(y), lambda: y * w) * w.assign_sub(1.0)
        return i + 1, tf.cond(chosen, lambda: y, lambda: no(y))

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    slopes = tf.gradients(y, [x, v, w])  # what assignments gave is a constant
    started(sess)
    turns = (3 * 3 * 3 * 2) * (2 * 4 * 4 * 1)
    assert sess.run([y, *slopes], {chosen: True}) == [
        turns, turns, turns / 3 + turns / 4, turns / 3 + turns / 2
    ]  # fmt: skip
    assert sess.run([v, w]) == [4.0, 1.0]
    started(sess)
    assert sess.run([y, *slopes], {chosen: False}) == [48.0, 48.0, 0.0, 48 / 3 + 48 / 2]
    assert sess.run([v, w]) == [7.0, 1.0]

    def outer(i, y):
        return i + 1, tf.while_loop(lambda i, _: i < 2, body, [0, y])[1]

    with pytest.raises(LookupError, match="through a loop, or branches of"):
        tf.gradients(tf.while_loop(lambda i, _: i < 2, outer, [0, x])[1], x)


def test_what_nobody_asked_of_a_branch_is_not_done_for_a_gradient(sess, chosen):
    v, x = tf.Variable(2.0), tf.constant(3.0)

    def body(i, y):
        one = tf.cond(chosen, lambda: (v.assign(5.0) * y, y * 2.0), lambda: (y, y))[1]
        return i + 1, one

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    started(sess)
    assert sess.run(y, {chosen: True}) == 12.0
    assert sess.run(v) == 2.0
    with pytest.raises(LookupError, match="branches of which some result is unused"):
        tf.gradients(y, x)


def test_an_optimizer_steps_in_a_loop(sess):
    v = tf.Variable(2.0)
    optimizer = tf.train.GradientDescentOptimizer(0.25)

    def body(i):
        with tf.control_dependencies([optimizer.minimize((v - 1.0) ** 2)]):
            return i + 1

    last = tf.while_loop(lambda i: i < 3, body, [0])
    started(sess)
    sess.run(last)
    assert sess.run(v) == 1.125


@pytest.mark.parametrize("read", [lambda v: v.read_value(), lambda v: v * 1.0])
def test_only_the_branch_taken_needs_a_value(sess, read):
    v = tf.Variable(2.0)
    y = tf.cond(tf.is_variable_initialized(v), lambda: read(v), lambda: tf.constant(7.0))
    assert sess.run(y) == 7.0
    started(sess)
    assert sess.run(y) == 2.0


def test_the_identity_of_a_handle_is_the_value_of_that_moment(sess):
    v = tf.Variable([1.0])
    with tf.control_dependencies([v.initializer]):
        value = tf.identity(v._ref())
    assert value.dtype == tf.float32
    assert sess.run(value + 2.0).tolist() == [3.0]


# -- slices ----------------------------------------------------------------------------------------


def test_branches_return_slices(sess, chosen):
    values = tf.constant([10.0])
    y = tf.cond(
        chosen,
        lambda: tf.IndexedSlices(values + 1.0, tf.constant([3])),
        lambda: tf.IndexedSlices(values - 1.0, tf.constant([4], tf.int64)),
    )
    assert isinstance(y, tf.IndexedSlices)
    assert y.indices.dtype == tf.int64
    assert sess.run([y.values, y.indices], {chosen: True}) == [[11.0], [3]]
    assert sess.run([y.values, y.indices], {chosen: False}) == [[9.0], [4]]


def test_slices_are_loop_variables(sess):
    values, shape = tf.constant([[2.0, 4.0]]), tf.constant([10, 2])
    x = tf.IndexedSlices(values, tf.constant([3]), shape)

    def body(i, x):
        return i + 1, tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)

    def looped(*invariants):
        return tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), x), *invariants)[1]

    y = looped()
    assert sess.run(y.values).tolist() == [[16.0, 32.0]]
    assert sess.run(tf.gradients(y.values, values)[0]).tolist() == [[8.0, 8.0]]
    free = looped((tf.TensorShape([]), tf.TensorShape([None, 2])))
    assert free.values.shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        looped((tf.TensorShape([]), tf.TensorShape([None, 5])))


def test_the_gradient_of_rows_gathered_in_a_loop_is_sparse(sess):
    table = tf.Variable(np.ones((100, 2), "f"))
    turns = tf.placeholder(tf.int32, [])
    total = tf.while_loop(
        lambda i, _: i < turns,
        lambda i, t: (i + 1, t + tf.reduce_sum(tf.gather(table, [i, i + 1]))),
        [0, 0.0],
    )[1]
    slope = tf.gradients(total, table)[0]
    assert isinstance(slope, tf.IndexedSlices)
    started(sess)
    found = sess.run(slope, {turns: 3})
    assert sorted(found.indices) == [0, 1, 1, 2, 2, 3]
    np.testing.assert_array_equal(found.values, np.ones((6, 2)))
    assert sess.run(slope, {turns: 0}).values.shape == (0, 2)


@pytest.mark.parametrize("other", [lambda v: 0.0, lambda v: tf.reduce_sum(v)])
def test_the_gradient_of_rows_gathered_in_a_branch_is_sparse(sess, chosen, other):
    table = tf.Variable(np.ones((3, 2), "f"))
    gathered = lambda: tf.reduce_sum(tf.gather(table, [1, 1]))  # noqa: E731
    y = tf.cond(chosen, gathered, lambda: tf.constant(1.0) * other(table))
    slope = tf.gradients(y, table)[0]
    assert isinstance(slope, tf.IndexedSlices)
    started(sess)
    assert sess.run(slope, {chosen: True}).indices.tolist() == [1, 1]
    dense = sess.run(tf.convert_to_tensor(slope), {chosen: False})
    assert dense.tolist() == np.full((3, 2), float(other(np.ones(1)) != 0.0)).tolist()


# -- what surrounds a body -------------------------------------------------------------------------


def test_a_body_waits_for_an_operation_around_it_without_outputs(sess, chosen):
    v = tf.Variable(1.0)
    step = tf.group(v.assign(4.0))

    def yes():
        with tf.control_dependencies([step]):
            return v * 2.0

    y = tf.cond(chosen, yes, lambda: tf.constant(0.0))
    started(sess)
    assert sess.run(y, {chosen: True}) == 8.0


def test_gradients_are_overridden_in_bodies(sess, graph, chosen):
    @tf.RegisterGradient("NegatedInBodies")
    def negated(op, dy):
        return -dy

    x, names = tf.constant(2.0), {"Tanh": "NegatedInBodies"}

    def inside():
        with graph.gradient_override_map(names):
            return tf.tanh(x)

    with graph.gradient_override_map(names):
        around = tf.cond(chosen, lambda: tf.tanh(x), lambda: x)
        looped = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, x])[1]
    within = tf.cond(chosen, inside, lambda: x)
    slopes = [tf.gradients(y, x)[0] for y in (around, looped, within)]
    assert sess.run(slopes, {chosen: True}) == [-1.0, -1.0, -1.0]


@pytest.mark.parametrize("place", ["around", "branch", "loop"])
def test_a_tensor_of_a_body_is_of_no_use_outside(chosen, place):
    inner = []
    tf.while_loop(lambda i: i < 3, lambda i: inner.append(i + 1) or inner[0], [0])
    use = {
        "around": lambda: inner[0] + 1,
        "branch": lambda: tf.cond(chosen, lambda: inner[0] + 1, lambda: tf.constant(1)),
        "loop": lambda: tf.while_loop(lambda i: i < 3, lambda i: inner[0] + i, [0]),
    }[place]
    with pytest.raises(ValueError, match=r"Cannot use 'while/body/add:0' .* 'while/body'"):
        use()


DEAD = "does not have value: it is there only where the predicate is {}, and that is {}"


def test_a_tensor_of_a_branch_is_there_outside_where_the_branch_is_taken(sess, chosen):
    """Its gradient too, zeros otherwise; and its random numbers are those that the branch drew."""
    x, inner = tf.constant([2.0, 3.0]), []

    def yes():
        inner.append(x * x + tf.random_uniform([2]))
        return inner[0] * 1.0

    y = tf.cond(chosen, yes, lambda: x)
    outside = [inner[0] + 0.0, tf.gradients(inner[0] * inner[0], x)[0]]
    branch, again, slopes = sess.run([y, *outside], {chosen: True})
    assert branch.tolist() == again.tolist()
    np.testing.assert_allclose(slopes, 2.0 * branch * [4.0, 6.0])
    assert sess.run([y, outside[1]], {chosen: False})[1].tolist() == [0.0, 0.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=DEAD.format(True, False)):
        sess.run(outside[0], {chosen: False})


@pytest.mark.parametrize("place", ["around", "loop", "same side", "other side"])
def test_a_tensor_of_a_branch_in_a_branch_is_there_where_both_are_taken(sess, chosen, place):
    x, also, inner = tf.constant(2.0), tf.placeholder(tf.bool, []), []

    def deep():
        inner.append(x * 3.0)
        return inner[0]

    whole = tf.cond(chosen, lambda: tf.cond(also, lambda: x, deep), lambda: -x)
    use = {
        "around": lambda: inner[0] * 1.0,
        "loop": lambda: tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, y + inner[0]), [0, 0.0]
        )[1],
        "same side": lambda: tf.cond(chosen, lambda: inner[0] + 1.0, lambda: x),
        "other side": lambda: tf.cond(chosen, lambda: x, lambda: inner[0] + 1.0),
    }[place]()
    wanted = {"around": 6.0, "loop": 12.0, "same side": 7.0, "other side": 2.0}[place]
    assert sess.run([whole, use], {chosen: True, also: False}) == [6.0, wanted]
    assert sess.run(whole, {chosen: True, also: True}) == 2.0
    assert sess.run(whole, {chosen: False, also: False}) == -2.0
    if place == "same side":
        assert sess.run(use, {chosen: False, also: False}) == 2.0
    elif place == "other side":
        with pytest.raises(tf.errors.InvalidArgumentError, match=DEAD.format(True, False)):
            sess.run(use, {chosen: False, also: False})
    if place != "other side":
        with pytest.raises(tf.errors.InvalidArgumentError, match=DEAD.format(False, True)):
            sess.run(use, {chosen: True, also: True})


def test_what_a_branch_does_is_not_done_again_outside(chosen):
    v, inner = tf.Variable(1.0), []

    def yes():
        inner.append(v.assign_add(1.0))
        inner.append(tf.py_func(lambda: np.float32(1.0), [], tf.float32))
        return inner[0] + inner[1]

    tf.cond(chosen, yes, lambda: tf.constant(0.0))
    for tensor in inner:
        with pytest.raises(ValueError, match=r"Cannot use 'cond/true/.* Make it a result"):
            tf.identity(tensor)


def test_assertions_and_prints_run_in_each_turn(sess, capfd):
    limit = tf.placeholder(tf.int32, [])

    def body(i):
        with tf.control_dependencies([tf.Assert(i < limit, ["too far", i])]):
            return tf.Print(i + 1, [i], "at ")

    last = tf.while_loop(lambda i: i < 3, body, [0])
    assert sess.run(last, {limit: 5}) == 3
    assert capfd.readouterr().err == "at [0]\nat [1]\nat [2]\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match="too far"):
        sess.run(last, {limit: 2})


# -- arguments -------------------------------------------------------------------------------------


def test_what_cond_refuses(chosen):
    one = lambda: tf.constant(1)  # noqa: E731
    with pytest.raises(TypeError, match="must not be a Python bool"):
        tf.cond(True, one, one)
    with pytest.raises(TypeError, match="set simultaneously"):
        tf.cond(chosen, one, one, fn1=one)
    with pytest.raises(TypeError, match="must be callable"):
        tf.cond(chosen, 1, one)
    with pytest.raises(ValueError, match="must have a return value"):
        tf.cond(chosen, one, lambda: None)
    with pytest.raises(ValueError, match="must have the same type"):
        tf.cond(chosen, one, lambda: tf.constant(1.0))
    with pytest.raises(ValueError, match="same nested structure"):
        tf.cond(chosen, one, lambda: [one()], strict=True)
    with pytest.raises(TypeError, match="same sequence type"):
        tf.cond(chosen, lambda: (one(),), lambda: [one()], strict=True)


def test_operations_of_branches_are_there_when_they_have_run(sess, chosen):
    v = tf.Variable(1.0)
    done = tf.cond(chosen, lambda: [v.assign(2.0).op, tf.no_op()], lambda: [tf.no_op()] * 2)
    started(sess)
    assert sess.run(done, {chosen: False}) == [False, False]
    assert sess.run(v) == 1.0
    assert sess.run(done, {chosen: True}) == [True, True]
    assert sess.run(v) == 2.0


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_case_without_default_fails_where_nothing_is_true(sess, exclusive):
    x = tf.placeholder(tf.int32, [])
    pairs = [(tf.equal(x, n), lambda n=n: tf.constant(10 * n)) for n in (1, 2)]
    y = tf.case(pairs, exclusive=exclusive)
    assert [sess.run(y, {x: n}) for n in (1, 2)] == [10, 20]
    with pytest.raises(tf.errors.InvalidArgumentError, match="None of the conditions"):
        sess.run(y, {x: 3})


@pytest.mark.parametrize("limit", [4, tf.float32.size, None])
def test_a_loop_is_bounded(sess, limit):
    bound = tf.placeholder(tf.int64, []) if limit is None else limit
    single, double = (
        tf.while_loop(lambda i, *_: i < 30, lambda i, *r: (i + 1, *r), v, maximum_iterations=bound)
        for v in ([0], (0, 1.0))
    )
    feed = {bound: 4} if limit is None else {}
    assert sess.run([single, double], feed) == [4, (4, 1.0)]


def test_what_nobody_takes_of_a_loop_is_not_computed(sess):
    """As in TensorFlow, where it may be wrong: an array that is too small for the turns."""

    def step(i, small, sums, x, y):
        return i + 1, small.write(i, y), sums + small.size(), 2.0 * x, y + x

    def loop(x):
        small = tf.TensorArray(tf.float32, 2)
        return tf.while_loop(lambda i, *_: i < 4, step, [0, small, 0, x, x])

    found = loop(1.0)
    nested = tf.while_loop(lambda j, _: j < 2, lambda j, x: (j + 1, loop(x)[4]), [0, 1.0])
    assert sess.run([found[4], nested[1]]) == [16, 256]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tried to write to index 2"):
        sess.run(found[1].stack())


def test_what_while_loop_refuses():
    def loop(body=lambda i: i + 1, start=0, **options):
        return tf.while_loop(lambda i: i < 3, body, [start], **options)

    with pytest.raises(TypeError, match="parallel_iterations must be a positive"):
        loop(parallel_iterations=0)
    with pytest.raises(ValueError, match=r"must be a scalar, saw shape: \(1,\)"):
        loop(maximum_iterations=tf.constant([3]))
    with pytest.raises(ValueError, match=r"has shape \(2,\) after one iteration"):
        tf.while_loop(lambda i: i[0] < 3, lambda i: tf.concat([i, i], 0), [tf.constant([1])])
    with pytest.raises(ValueError, match=r"must be a scalar bool .* has shape \(1,\)"):
        loop(start=tf.constant([1]))
    with pytest.raises(ValueError, match="same number of elements"):
        loop(lambda i: (i, i))


def test_a_loop_is_not_differentiated_twice():
    x = tf.constant(2.0)
    y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]
    with pytest.raises(TypeError, match="Second-order gradient"):
        tf.gradients(tf.gradients(y, x)[0], x)
