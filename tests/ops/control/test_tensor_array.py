"""TensorArray: what is written is read, in loops and branches; mistakes; versions of lists."""

import pickle
import re
from functools import partial

import dask.array as da
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import errors
from daskvars.kernels.control.tensor_lists import TensorList
from tests import clusters


def test_an_empty_array_knows_what_would_be_in_it():
    with tf.Graph().as_default(), tf.Session() as sess:
        array = tf.TensorArray(tf.float32, 0)
        array.unstack(tf.zeros([0, 3, 5])).mark_used()
        assert sess.run(array.stack()).shape == (0, 3, 5)
        assert sess.run(array.concat()).shape == (0, 5)


def test_errors_name_the_array():
    with tf.Graph().as_default(), tf.Session() as sess:
        places = tf.placeholder(tf.int32)
        states = tf.TensorArray(tf.float32, 3, tensor_array_name="states", clear_after_read=False)
        others = tf.TensorArray(tf.float32, 3, name="others")
        for array, name in ((states, "states"), (others, "others")):
            written = array.scatter([0, 1], [1.0, 2.0]).write(places, 3.0).flow
            for wrong, words in ((1, "Could not write to"), (3, "Tried to write to index 3")):
                with pytest.raises(errors.InvalidArgumentError) as caught:
                    sess.run(written, {places: wrong})
                assert re.match(rf"TensorArray {name}_[0-9a-f]{{8}}: {words}", str(caught.value))


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


def test_what_is_split_is_a_vector_or_more_and_so_are_the_lengths(graph):
    array, lengths = tf.TensorArray(tf.float32, 3), tf.placeholder(tf.int64)
    with pytest.raises(ValueError, match=r"at least a vector, but received shape: \[\]"):
        array.split(1.0, [1])
    parts = array.split([1.0, 2.0, 3.0], lengths)
    with (
        tf.Session() as session,
        pytest.raises(errors.InvalidArgumentError, match=r"to be a vector, received shape: \[\]"),
    ):
        session.run(parts.flow, {lengths: 1})


def test_an_array_needs_a_size():
    with pytest.raises(ValueError, match="Size must be declared"):
        dv.TensorArray(dv.float32)


def test_an_array_of_a_graph_is_used_outside_of_the_block_of_the_graph():
    with dv.Graph().as_default() as graph:
        array = dv.TensorArray(dv.float32, size=3, clear_after_read=False)
        row = dv.constant([1.0])
    array = array.write(0, row).scatter([1], row[None]).write(2, row)
    with dv.Session(graph=graph) as sess:
        found = sess.run([array.read(1), array.gather([0, 1])])
    assert [value.tolist() for value in found] == [[1.0], [[1.0], [1.0]]]


def test_items_that_do_not_fit_are_not_concatenated():
    array = dv.TensorArray(dv.float32, size=2, infer_shape=False)
    array = array.write(0, dv.ones([2, 1])).write(1, dv.ones([2, 3]))
    with pytest.raises(dv.errors.InvalidArgumentError, match=r"shape: \[1\] but index 1 has"):
        array.concat().numpy()


# -- items that are read once ----------------------------------------------------------------------

TWICE = r"Could not read index \d twice because it was cleared .* clear_after_read = false\?"


def three(**options):
    return tf.TensorArray(tf.float32, 3, **options).unstack([1.0, 2.0, 3.0])


READS = {
    "read": lambda a, i: a.read(i),
    "gather": lambda a, i: a.gather(tf.stack([i])),
    "stack": lambda a, i: a.stack(),
}


@pytest.mark.parametrize("first", ["read", "gather", "stack"])
@pytest.mark.parametrize("second", ["read", "gather", "stack"])
def test_an_item_is_read_once_in_a_run(sess, first, second):
    fed = tf.placeholder(tf.int32, [])
    for options in ({}, {"clear_after_read": None}, {"clear_after_read": True}):
        array = three(**options)
        one, other = READS[first](array, fed), READS[second](array, tf.constant(1))
        for tensors in ([one], [other], [one]):  # nothing stays from run to run
            sess.run(tensors, {fed: 1})
        with pytest.raises(errors.InvalidArgumentError, match=TWICE):
            sess.run([one, other], {fed: 1})
        sess.run([one], {fed: 1})
        if "stack" not in (first, second):
            sess.run([one, other], {fed: 2})
    array = three(clear_after_read=False)
    sess.run([READS[first](array, fed), READS[second](array, tf.constant(1))], {fed: 1})


def test_the_operation_that_reads_twice_is_named(sess):
    array = three()
    reads = [array.read(1), array.read(1, name="again")]
    with pytest.raises(errors.InvalidArgumentError, match="again_once"):
        sess.run(reads)
    with pytest.raises(errors.InvalidArgumentError, match=TWICE):
        sess.run(array.gather([1, 0, 1]))
    parts = tf.TensorArray(tf.float32, 2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
    with pytest.raises(errors.InvalidArgumentError, match=TWICE):
        sess.run([parts.read(1), parts.concat()])


def test_all_versions_of_an_array_are_one(sess):
    array = tf.TensorArray(tf.float32, 2).write(1, 5.0)
    early = array.read(1)
    late = array.write(0, 6.0)
    assert sess.run([early, late.read(0)]) == [5.0, 6.0]
    with pytest.raises(errors.InvalidArgumentError, match=TWICE):
        sess.run([early, late.identity().read(1)])


def test_reads_of_a_loop_are_counted_turn_by_turn(sess):
    array, n, step = three(), tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])

    def body(i, total):
        taken = tf.cond(total < 0.0, lambda: 0.0, lambda: array.read(i * step))
        return i + 1, total + taken

    last = tf.while_loop(lambda i, _: i < n, body, (0, 0.0))[1]
    other = tf.while_loop(lambda i, _: i < n, body, (2, 0.0))[1]
    assert sess.run(last, {n: 3, step: 1}) == 6.0
    with pytest.raises(errors.InvalidArgumentError, match="index 0 twice"):
        sess.run(last, {n: 2, step: 0})
    assert sess.run([last, other], {n: 2, step: 1}) == [3.0, 0.0]
    with pytest.raises(errors.InvalidArgumentError, match="index 2 twice"):
        sess.run([last, other], {n: 3, step: 1})
    assert sess.run([last, array.read(1)], {n: 1, step: 1}) == [1.0, 2.0]
    with pytest.raises(errors.InvalidArgumentError, match=TWICE):
        sess.run([last, array.read(1)], {n: 2, step: 1})


def test_an_array_that_a_loop_carries(sess):
    n = tf.placeholder(tf.int32, [])
    array = tf.TensorArray(tf.float32, 5).write(0, 1.0)

    def body(i, array):
        return i + 1, array.write(i, array.read(i - 1) * 2.0)

    _, array = tf.while_loop(lambda i, _: i < n, body, (1, array))
    last = array.read(n - 1)
    assert sess.run(last, {n: 5}) == 16.0
    with pytest.raises(errors.InvalidArgumentError, match="index 3 twice"):
        sess.run([last, array.read(3)], {n: 5})


def test_an_array_made_in_a_loop_is_a_new_one_in_each_turn(sess):
    def body(i, total):
        array = three()
        return i + 1, total + array.read(1) + array.read(2)

    total = tf.while_loop(lambda i, _: i < 3, body, (0, 0.0))[1]
    assert sess.run(total) == 15.0


def test_arrays_that_change_places_are_told_apart(sess):
    a, b = three(), three()

    def body(i, total, a, b):
        return i + 1, total + a.read(i // 2), b, a

    total = tf.while_loop(lambda i, *_: i < 4, body, (0, 0.0, a, b))[1]
    assert sess.run(total) == 1 + 1 + 2 + 2
    taken = tf.cond(tf.placeholder_with_default(False, []), lambda: a, lambda: b)
    assert sess.run([a.read(0), taken.read(0)]) == [1.0, 1.0]


@pytest.mark.parametrize("known", [False, True], ids=["predicate fed", "predicate known"])
def test_only_the_branch_taken_reads(sess, known):
    array, other = three(), tf.placeholder(tf.bool, [])
    pred = tf.constant(True) if known else other
    taken = tf.cond(pred, lambda: array.read(1), lambda: array.read(2))
    feeds = {other: True}
    assert sess.run([taken, array.read(2)], feeds) == [2.0, 3.0]
    with pytest.raises(errors.InvalidArgumentError, match=TWICE):
        sess.run([taken, array.read(1)], feeds)


def test_gradients_read_nothing_again(sess):
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, 3).unstack(x)
    total = tf.while_loop(
        lambda i, _: i < 2, lambda i, t: (i + 1, t + array.read(i) ** 2), (0, 0.0)
    )[1]
    last = tf.cond(total > 0.0, lambda: array.read(2) ** 3, lambda: 0.0)
    (dx,) = tf.gradients(total + last, x)
    assert sess.run([dx, total])[0].tolist() == [2.0, 4.0, 27.0]
    assert sess.run(dx).tolist() == [2.0, 4.0, 27.0]


@pytest.mark.parametrize("use", ["map_fn", "scan", "foldr", "dynamic_rnn", "raw_rnn"])
def test_what_is_made_of_arrays_reads_them_as_it_likes(sess, use):
    x = tf.placeholder(tf.float32, [2, 3, 1])
    cell = tf.nn.rnn_cell.GRUCell(1)
    reader = tf.TensorArray(tf.float32, 3).unstack(tf.transpose(x, [1, 0, 2]))

    def loop(time, output, state, kept):
        over = time >= tf.constant([2, 3])
        state = cell.zero_state(2, tf.float32) if output is None else state
        row = tf.cond(tf.reduce_all(over), lambda: tf.zeros([2, 1]), lambda: reader.read(time))
        return over, row, state, output, None

    result = {
        "map_fn": lambda: tf.map_fn(lambda r: r * r, x),
        "scan": lambda: tf.scan(lambda a, r: a * r, x),
        "foldr": lambda: tf.foldr(lambda a, r: a * r, x),
        "dynamic_rnn": lambda: tf.nn.dynamic_rnn(cell, x, [2, 3], dtype=tf.float32)[0],
        "raw_rnn": lambda: tf.nn.raw_rnn(cell, loop)[0].stack(),
    }[use]()
    (slope,) = tf.gradients(result, x)
    sess.run(tf.global_variables_initializer())
    for _ in range(2):
        sess.run([result, slope, result], {x: np.ones([2, 3, 1])})


def test_what_was_read_is_not_written_to(sess):
    array = tf.TensorArray(tf.float32, 2, element_shape=[])
    zero = array.read(0)
    with tf.control_dependencies([zero]):
        after = array.write(0, 5.0), array.scatter([1, 0], [1.0, 2.0]), array.unstack([1.0, 2.0])
        beside = array.write(1, 5.0).read(1)
        first = tf.TensorArray(tf.float32, 2, element_shape=[])
        with tf.control_dependencies([first.read(1)]):
            first = first.unstack([7.0])
    assert sess.run([zero, beside, first.read(0)]) == [0.0, 5.0, 7.0]
    for written in after:
        with pytest.raises(errors.InvalidArgumentError, match=r"index 0 .* has already been read"):
            sess.run(written.flow)
    assert sess.run(array.write(0, 5.0).stack()).tolist() == [5.0, 0.0]  # the read is not run


def test_second_reads_survive_a_file(sess):
    array = three()
    reads = [array.read(1, name="a"), array.read(1, name="b"), array.read(0, name="c")]
    assert reads
    definition = sess.graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as other:
        for scope in ("x", "y"):
            tf.import_graph_def(definition, name=scope)
        assert other.run(["x/a:0", "y/b:0", "x/c:0"]) == [2.0, 2.0, 1.0]
        with pytest.raises(errors.InvalidArgumentError, match=TWICE):
            other.run(["x/a:0", "x/b:0"])


def test_eager_code_reads_once():
    array = dv.TensorArray(dv.float32, 3).unstack([1.0, 2.0, 3.0])
    assert float(array.read(1)) == 2.0
    for index in (1, dv.constant(1), np.int64(1)):
        with pytest.raises(errors.InvalidArgumentError, match=TWICE):
            array.read(index)
    assert float(array.read(2)) == 3.0
    assert array.stack().numpy().tolist() == [1.0, 2.0, 3.0]  # as often as one likes
    assert array.gather([1, 1]).numpy().tolist() == [2.0, 2.0]
    often = dv.TensorArray(dv.float32, 1, clear_after_read=False).write(0, 1.0)
    assert [float(often.read(0)) for _ in range(2)] == [1.0, 1.0]
    empty = dv.TensorArray(dv.float32, 1, element_shape=[])
    assert float(empty.read(0)) == 0.0
    assert float(empty.write(0, 4.0).read(0)) == 4.0


def test_eager_code_writes_to_the_array_itself():
    array = dv.TensorArray(dv.float32, 2)
    for i in range(2):
        array.write(i, float(i))
    assert array.stack().numpy().tolist() == [0.0, 1.0]


def test_eager_loops_read_once():
    array = dv.TensorArray(dv.float32, 3).unstack([1.0, 2.0, 3.0])
    with pytest.raises(errors.InvalidArgumentError, match="index 0 twice"):
        dv.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + array.read(i % 2)), (0, 0.0))


def test_functions_read_as_often_as_they_like():
    @dv.function
    def twice(x):
        array = dv.TensorArray(dv.float32, 2).unstack(x)
        return array.read(1) + array.read(1)

    assert float(twice(dv.constant([1.0, 2.0]))) == 4.0

    @dv.function
    def warned(x):
        return dv.TensorArray(dv.float32, 2, clear_after_read=True).unstack(x).read(0)

    with pytest.warns(UserWarning, match="clear_after_read=True has no effect in a function"):
        warned(dv.constant([1.0, 2.0]))


# -- arrays of gradients ---------------------------------------------------------------------------


def test_one_source_has_one_array_of_gradients(sess):
    array = three()
    one, same, other = array.grad("a"), array.write(0, 1.0).grad("a"), array.grad("b")
    assert one is same
    assert one is not other
    with tf.control_dependencies([one.write(0, 5.0).flow]):
        with tf.control_dependencies([same.write(0, 2.0).flow]):
            found = same.read(0), other.read(0)
        first = one.stack()
    assert sess.run(found) == (7.0, 0.0)
    assert sess.run(first).tolist() == [5.0, 0.0, 0.0]
    assert sess.run(one.write(0, 5.0).read(0)) == 5.0  # each run begins at zero


def test_an_array_of_gradients_is_read_once_and_then_not_written_to(sess):
    slopes = three().grad("a").write(1, 1.0)
    value = slopes.read(1)
    with tf.control_dependencies([value]):
        late = slopes.write(1, 1.0).flow
    with pytest.raises(errors.InvalidArgumentError, match=r"index 1 .* has already been read"):
        sess.run(late)
    with pytest.raises(errors.InvalidArgumentError, match=TWICE):
        sess.run([value, slopes.read(1)])


def test_what_a_loop_writes_to_an_array_of_gradients_is_in_all_its_versions(sess):
    array = three()
    slopes = array.grad("a")

    def body(i, flow):
        return i + 1, slopes.with_flow(flow).write(i % 2, 1.0).flow

    _, flow = tf.while_loop(lambda i, _: i < 3, body, (0, slopes.flow))
    with tf.control_dependencies([flow]):
        found = array.grad("a").stack()
    assert sess.run(found).tolist() == [2.0, 1.0, 0.0]


def test_a_second_gradient_of_one_source_in_eager_code():
    array = dv.TensorArray(dv.float32, 2).unstack([1.0, 2.0])
    array.grad("a").write(0, 3.0)
    assert array.grad("a").write(0, 4.0).stack().numpy().tolist() == [7.0, 0.0]


# -- on a cluster ----------------------------------------------------------------------------------


@pytest.mark.cluster
@pytest.mark.timeout(60)
def test_second_reads_on_a_cluster():
    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as sess,
    ):
        x = tf.placeholder(tf.float32, [4, 3])
        array = tf.TensorArray(tf.float32, 4).unstack(x * 2.0)
        n = tf.placeholder(tf.int32, [])
        total = tf.while_loop(
            lambda i, _: i < n, lambda i, t: (i + 1, t + array.read(i % 3)), (0, tf.zeros([3]))
        )[1]
        others = [array.read(2) + 1.0, array.read(3) * 2.0]
        (slope,) = tf.gradients(total, x)
        slopes = array.grad("a")
        with tf.control_dependencies([slopes.write(0, total).flow]):
            written = array.grad("a").read(0)
        fed = {x: da.ones([4, 3], chunks=(2, 3), dtype="float32"), n: 2}
        for _ in range(2):
            found = sess.run([total, slope, written, *others], fed)
            assert [v.ravel()[0].tolist() for v in found] == [4.0, 2.0, 4.0, 3.0, 4.0]
            with pytest.raises(errors.InvalidArgumentError, match=TWICE):
                sess.run([total, others[0]], {**fed, n: 3})
            with pytest.raises(errors.InvalidArgumentError, match=TWICE):
                sess.run(total, {**fed, n: 4})
