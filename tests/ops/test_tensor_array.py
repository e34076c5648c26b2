"""TensorArray: what is written is read, in loops and branches; mistakes; versions of lists."""

import pickle
from functools import partial

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import errors
from daskvars.kernels.tensor_lists import TensorList


def test_versions_of_a_list_do_not_see_each_other():
    first = TensorList(3)
    a = first.appended(0, np.float32(1))
    b, c = a.appended(1, np.float32(2)), a.appended(1, np.float32(3))
    assert [items.get(1) for items in (first, a, b, c)] == [None, None, 2, 3]
    assert b.added(1, np.float32(5)).get(1) == 7
    assert b.get(1) == 2
    again = pickle.loads(pickle.dumps(b))
    assert again.in_order() == [1, 2, None]


def test_lists_add_up():
    rows, item = TensorList(-1, np.ones((3, 2))), TensorList(-1).appended(1, np.ones(2))
    for total in (rows + item, item + rows):
        np.testing.assert_array_equal(np.stack(total.in_order())[:, 0], [1, 2, 1])
    assert (item + TensorList(-1)).get(1) is item.get(1)
    np.testing.assert_array_equal((rows + rows).get(2), [2, 2])


def test_what_was_written_is_not_overwritten_later():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4])
        y = tf.tanh(x)
        array = tf.TensorArray(tf.float32, 1).write(0, y)
        z = tf.exp(y) + 1.0  # y is dead after this, and its memory free
        with tf.Session() as sess:
            found, _ = sess.run([array.stack(), z], {x: np.arange(4.0)})
    np.testing.assert_allclose(found[0], np.tanh(np.arange(4.0)), rtol=1e-6)


def test_shapes_are_learned():
    with tf.Graph().as_default():
        array = tf.TensorArray(tf.float32, 3)
        assert array.element_shape.ndims is None
        array = array.write(0, tf.ones([2, 3]))
        assert array.read(0).shape.as_list() == [2, 3]
        assert array.stack().shape.as_list() == [None, 2, 3]
        with pytest.raises(ValueError, match="Inconsistent shapes: saw"):
            array.write(1, tf.ones([3]))
        free = tf.TensorArray(tf.float32, 3, infer_shape=False).write(0, tf.ones([2]))
        assert free.write(1, tf.ones([3])).read(0).shape.ndims is None


def test_a_loop_that_reads_and_writes_has_a_gradient():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        n = tf.shape(x)[0]
        source = tf.TensorArray(tf.float32, n).unstack(x)
        result = tf.TensorArray(tf.float32, n)

        def body(i, total, result):
            total = total + source.read(i)
            return i + 1, total, result.write(i, total * total)

        _, _, result = tf.while_loop(lambda i, *_: i < n, body, (0, tf.zeros([2]), result))
        y = result.stack()
        (dx,) = tf.gradients(tf.reduce_sum(y), x)
        fed = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32")
        with tf.Session() as sess:
            values, slope = sess.run([y, dx], {x: fed})
    sums = fed.cumsum(0)
    np.testing.assert_array_equal(values, sums**2)
    np.testing.assert_array_equal(slope, (2 * sums)[::-1].cumsum(0)[::-1])


def test_through_a_branch():
    with tf.Graph().as_default():
        take = tf.placeholder(tf.bool, [])
        array = tf.TensorArray(tf.int32, 2, element_shape=[])
        array = tf.cond(take, lambda: array.write(0, 7), lambda: array.write(1, 8))
        with tf.Session() as sess:
            assert sess.run(array.stack(), {take: True}).tolist() == [7, 0]
            assert sess.run(array.stack(), {take: False}).tolist() == [0, 8]


def test_identity_waits_for_control_dependencies():
    with tf.Graph().as_default():
        v = tf.Variable(0)
        array = tf.TensorArray(tf.int32, 1).write(0, 5)
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            array = array.identity()
        with tf.Session() as sess:
            sess.run(v.initializer)
            assert sess.run([array.read(0), v]) == [5, 1]


def test_rows_of_unlike_length():
    array = dv.TensorArray(dv.float32, 3, infer_shape=False).split([1.0, 2.0, 3.0], [0, 2, 1])
    assert array.read(1).numpy().tolist() == [1.0, 2.0]
    assert array.concat().numpy().tolist() == [1.0, 2.0, 3.0]
    assert int(array.size()) == 3


def test_the_shape_of_parts_is_known_where_they_are_alike():
    with tf.Graph().as_default():
        alike, unlike, unknown = (
            tf.TensorArray(tf.float32, 0, dynamic_size=True).split(tf.ones([3, 2]), lengths)
            for lengths in ([1, 1, 1], [1, 2], tf.placeholder(tf.int32, [None]))
        )
        assert alike.read(0).shape.as_list() == [1, 2]
        for array in (unlike, unknown):
            assert array.element_shape.ndims is None
            assert array.read(0).shape.ndims is None


@pytest.mark.parametrize(
    "kind", ["int32", "int64", "float32", "float64", "complex64", "complex128"]
)
def test_what_is_written_to_an_array_of_gradients_adds_up(kind):
    with tf.Graph().as_default(), tf.Session() as sess:
        array = tf.TensorArray(kind, size=3, infer_shape=False)
        slopes = array.grad("loss")
        value = partial(np.array, dtype=kind)
        twice = slopes.write(2, value(3)).write(2, value(4)).write(2, value(5))
        assert sess.run(twice.read(2)) == 12
        assert twice.read(2).dtype == kind
        again = twice.scatter([2, 0], value([1, 2])).unstack(value([1, 1, 1]))
        assert sess.run(again.stack()).tolist() == [3, 1, 14]
        with pytest.raises(errors.InvalidArgumentError, match="index 2 because it has already"):
            sess.run(array.write(2, value(3)).write(2, value(4)).flow)
        unlike = slopes.write(1, value(1)).write(1, value([1]))
        with pytest.raises(
            errors.InvalidArgumentError,
            match=r"aggregate to TensorArray index 1 .* shape is \[\] but the new .* is \[1\]",
        ):
            sess.run(unlike.flow)


def test_an_array_of_gradients_has_the_size_and_shapes_of_its_array():
    with tf.Graph().as_default(), tf.Session() as sess:
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        array = array.write(0, [[4.0, 5.0]]).write(1, [[1.0]]).write(2, -3.0)
        slopes = array.grad("loss")
        assert sess.run([array.size(), slopes.size()]) == [3, 3]
        assert sess.run(slopes.read(0)).tolist() == [[0.0, 0.0]]
        assert sess.run(slopes.write(2, -2.0).read(2)) == -2.0
        with pytest.raises(errors.InvalidArgumentError, match="index 3 but array is not resize"):
            sess.run(slopes.write(3, 1.0).flow)
        rows = tf.TensorArray(tf.float32, 2).unstack([[1.0, 2.0], [3.0, 4.0]]).grad("loss")
        assert sess.run(rows.write(1, [1.0, 1.0]).stack()).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    with pytest.raises(TypeError, match="dtype string cannot be added"):
        dv.TensorArray(dv.string, 1).grad("loss")


def test_a_gradient_passes_through_an_array_of_gradients():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(3.0)
        slopes = tf.TensorArray(tf.float32, size=1).grad("loss").write(0, x).write(0, x * x)
        assert sess.run(tf.gradients(slopes.read(0), x)) == [7.0]


def test_rows_are_not_unstacked_over_others():
    array = dv.TensorArray(dv.float32, 2).unstack([1.0, 2.0])
    with pytest.raises(errors.InvalidArgumentError, match="index 0 because it has already been"):
        array.unstack([3.0, 4.0]).stack().numpy()


def test_growing():
    array = dv.TensorArray(dv.int32, 0, dynamic_size=True)
    for i in range(3):
        array = array.write(i, i)
    assert array.gather([2, 0]).numpy().tolist() == [2, 0]


@pytest.mark.parametrize(
    "use, message",
    [
        (lambda a: a.write(3, 1.0), "Tried to write to index 3 but array is not resizeable"),
        (lambda a: a.write(-1, 1.0), "Tried to write to index -1"),
        (lambda a: a.write(0, 1.0).write(0, 1.0), "index 0 because it has already been written"),
        (lambda a: a.write(0, "x"), "dtype is float32 but Op is trying to write dtype string"),
        (lambda a: a.read(1), "Could not read from TensorArray index 1"),
        (lambda a: a.scatter([0, 1], [1.0]), r"Expected len\(indices\) == values.shape\[0\]"),
        (lambda a: a.split([1.0, 2.0], [1]), "Expected sum of lengths to be equal"),
        (lambda a: a.unstack([1.0] * 4), r"size of lengths \(3 vs. 4\)"),
    ],
)
def test_mistakes(use, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        found = use(dv.TensorArray(dv.float32, 3))
        print(found.stack() if isinstance(found, dv.TensorArray) else found)


def test_an_array_needs_a_size():
    with pytest.raises(ValueError, match="Size must be declared"):
        dv.TensorArray(dv.float32)


def test_an_array_of_a_graph_is_used_outside_of_the_block_of_the_graph():
    with dv.Graph().as_default() as graph:
        array, row = dv.TensorArray(dv.float32, size=3), dv.constant([1.0])
    array = array.write(0, row).scatter([1], row[None]).write(2, row)
    with dv.Session(graph=graph) as sess:
        found = sess.run([array.read(1), array.gather([0, 1])])
    assert [value.tolist() for value in found] == [[1.0], [[1.0], [1.0]]]


def test_items_that_do_not_fit_are_not_concatenated():
    array = dv.TensorArray(dv.float32, size=2, infer_shape=False)
    array = array.write(0, dv.ones([2, 1])).write(1, dv.ones([2, 3]))
    with pytest.raises(dv.errors.InvalidArgumentError, match=r"shape: \[1\] but index 1 has"):
        array.concat().numpy()
