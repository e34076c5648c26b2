"""Switches and merges: what a run takes, what it does not compute, and what it refuses."""

import numpy as np
import pytest

import daskvars.v1 as tf

Switch, Merge = tf.raw_ops.Switch, tf.raw_ops.Merge


pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def chosen(graph):
    return tf.placeholder(tf.bool, [])


def test_the_side_taken_is_there_and_the_other_is_not(sess, chosen):
    sides = Switch(data=tf.constant([1.0, 2.0]), pred=chosen)
    assert [side.shape.as_list() for side in sides] == [[2], [2]]
    for number, side in enumerate(sides):
        assert sess.run(side * 2.0, {chosen: bool(number)}).tolist() == [2.0, 4.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have val"):
            sess.run(side * 2.0, {chosen: not number})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        sess.run(sides[0] + sides[1], {chosen: True})


def test_a_merge_computes_what_is_there_and_no_more(sess, chosen):
    x, ran = tf.constant(3.0), []

    def noted(side):
        def note(value):
            ran.append(side)
            return value

        return note

    sides = Switch(data=x, pred=chosen)
    given = [tf.py_func(noted(i), [side], tf.float32) * 2.0 for i, side in enumerate(sides)]
    merged = Merge(inputs=given)
    for number in (0, 1):
        assert sess.run(merged, {chosen: bool(number)}) == (6.0, number)
        assert ran == [number]
        ran.clear()


def test_one_of_several_functions_is_chosen_by_number(sess):
    """As in the preprocessing of images of TensorFlow-Slim's models."""
    number, image = tf.placeholder(tf.int32, []), tf.constant([[1.0, 2.0]])
    made = Merge(
        inputs=[
            tf.random_uniform([1, 2]) + i + Switch(data=image, pred=tf.equal(number, i))[1]
            for i in range(4)
        ]
    )[0]
    assert made.shape.as_list() == [1, 2]
    for i in range(4):
        found = sess.run(made, {number: i}) - i
        assert ((found >= [[1.0, 2.0]]) & (found < [[2.0, 3.0]])).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        sess.run(made, {number: 4})


def test_the_gradient_is_that_of_the_side_taken(sess, chosen):
    x, w = tf.constant([2.0, 3.0]), tf.Variable([5.0, 7.0])
    no, yes = Switch(data=x, pred=chosen)
    y = Merge(inputs=[no * no * w, tf.exp(yes)])[0]
    sess.run(tf.global_variables_initializer())
    slopes = tf.gradients(y, [x, w])
    for taken, wanted in ((False, [[20.0, 42.0], [4.0, 9.0]]), (True, [np.exp([2, 3]), [0, 0]])):
        np.testing.assert_allclose(sess.run(slopes, {chosen: taken}), wanted, rtol=1e-6)
    alone = tf.gradients(yes * yes, x)[0]
    assert sess.run(alone, {chosen: True}).tolist() == [4.0, 6.0]
    assert sess.run(alone, {chosen: False}).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_a_switch_in_a_switch(sess, chosen, outer, inner):
    also = tf.placeholder(tf.bool, [])
    no, yes = Switch(data=tf.constant(10.0), pred=chosen)
    yes_no, yes_yes = Switch(data=yes + 1.0, pred=also)
    nested = Merge(inputs=[Merge(inputs=[yes_no * 2.0, yes_yes * 3.0])[0], no])
    flat = Merge(inputs=[yes_no * 2.0, no, yes_yes * 3.0])
    wanted = (33.0 if inner else 22.0) if outer else 10.0
    feed = {chosen: outer, also: inner}
    assert sess.run(nested, feed) == (wanted, 0 if outer else 1)
    assert sess.run(flat, feed) == (wanted, (2 if inner else 0) if outer else 1)


@pytest.mark.parametrize("x", [1.0, 4.0, 20.0])
def test_a_predicate_of_what_is_on_one_side(sess, x):
    given = tf.placeholder(tf.float32, [])
    small, large = Switch(data=given, pred=given > 3.0)
    middle, huge = Switch(data=large, pred=tf.sqrt(large) > 3.0)
    found = sess.run(Merge(inputs=[middle * 10.0, huge * 100.0, small]), {given: x})
    assert found == {1.0: (1.0, 2), 4.0: (40.0, 0), 20.0: (2000.0, 1)}[x]


def test_slices_and_sparse_tensors_are_switched_in_their_parts(sess, chosen):
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([3, 0]))
    sides = Switch(data=slices, pred=chosen)
    merged = Merge(inputs=sides)[0]
    found = sess.run([merged.values, merged.indices, sides[1].values], {chosen: True})
    assert [part.tolist() for part in found] == [[[1.0], [2.0]], [3, 0], [[1.0], [2.0]]]
    sparse = Merge(inputs=Switch(data=tf.SparseTensor([[1]], [4.0], [3]), pred=chosen))[0]
    assert sess.run(tf.sparse.to_dense(sparse), {chosen: False}).tolist() == [0.0, 4.0, 0.0]


def test_a_merge_has_the_shape_that_all_have(sess):
    def merged(*given):
        output, index = Merge(inputs=[tf.placeholder(tf.float32, shape) for shape in given])
        assert index.shape.as_list() == [] and index.dtype is tf.int32
        return output.shape

    assert merged([1, 2], [1, 2, 3]).ndims is None
    assert merged([1, 2], [2, 2], [None, 2]).as_list() == [None, 2]
    assert merged([1, 2], [1, 2]).as_list() == [1, 2]


def test_in_a_loop(sess):
    def body(i, y):
        odd = tf.equal(i % 2, 1)
        even_side, odd_side = Switch(data=y, pred=odd)
        return i + 1, Merge(inputs=[even_side + 1, odd_side * 10])[0]

    assert sess.run(tf.while_loop(lambda i, y: i < 4, body, [0, 0])[1]) == 110


def test_what_is_refused(chosen):
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match="pred must be a scalar bool"):
        Switch(data=1.0, pred=tf.constant(1))
    with pytest.raises(ValueError, match="pred must be a scalar bool"):
        Switch(data=1.0, pred=tf.constant([True]))
    with pytest.raises(ValueError, match="at least one value"):
        Merge(inputs=[])
    with pytest.raises(ValueError, match="must have the same type"):
        Merge(inputs=[tf.constant(1), tf.constant(1.0)])
    no, yes = Switch(data=tf.constant(1.0), pred=chosen)
    with pytest.raises(NotImplementedError, match=r"'AssignAdd' .* branch of cond"):
        Merge(inputs=[v.assign_add(yes), no])
