"""Sparse tensors in batches, and how shapes of components may be said; as TensorFlow's queues."""

import itertools

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("sess")


def taken(sess, fetches):
    coord = tf.train.Coordinator()
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    threads = tf.train.start_queue_runners(sess, coord)
    found = sess.run(fetches)
    coord.request_stop()
    coord.join(threads)
    return found


def number(limit=None):
    return tf.train.range_input_producer(limit or 9, shuffle=False).dequeue()


@pytest.mark.parametrize("values", [[1.0, 2.0], [3, 4], ["a\0", "é"]])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_batch_of_sparse_tensors_has_a_dimension_more(sess, values, shuffled):
    n = tf.cast(number(), tf.int64)
    # a vector of n elements, of which two are there
    sparse = tf.SparseTensor([[0], [2]], values, tf.stack([n + 3]))
    make = tf.train.shuffle_batch if shuffled else tf.train.batch
    more = {"capacity": 8, "min_after_dequeue": 2} if shuffled else {}
    batch, rows = make([sparse, n], batch_size=3, **more)
    assert batch.dtype == sparse.dtype
    assert batch.get_shape().as_list() == [None, None]
    found, numbers = taken(sess, (batch, rows))
    assert found.indices.tolist() == [[0, 0], [0, 2], [1, 0], [1, 2], [2, 0], [2, 2]]
    encoded = [v.encode() if isinstance(v, str) else v for v in values]
    assert found.values.tolist() == encoded * 3
    assert found.dense_shape.tolist() == [3, int(numbers.max()) + 3]


def test_rows_of_a_sparse_tensor(sess):
    sparse = tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [5, 6, 7], [4, 2])
    batch = tf.train.batch({"s": sparse, "n": np.arange(4)}, 4, enqueue_many=True)
    found = taken(sess, batch)
    assert found["n"].tolist() == [0, 1, 2, 3]
    assert found["s"].indices.tolist() == [[0, 1], [2, 0], [2, 1]]
    assert found["s"].values.tolist() == [5, 6, 7]
    assert found["s"].dense_shape.tolist() == [4, 2]
    assert batch["s"].dense_shape.shape.as_list() == [2]


def test_some_rows_of_several_sparse_tensors(sess):
    sparse = [tf.SparseTensor([[0, 0], [1, 1]], [k, k + 1], [2, 2]) for k in (10, 20)]
    batch = tf.train.maybe_batch_join([[s] for s in sparse], [True, False], 4, enqueue_many=True)
    found = taken(sess, batch)
    assert found.indices.tolist() == [[row, 0] for row in range(4)]
    assert set(found.values.tolist()) <= {10, 20}


def test_a_batch_of_unknown_rank(sess):
    sparse = tf.sparse_placeholder(tf.float32)
    batch = tf.train.batch([sparse], 2)
    assert batch.dense_shape.shape.as_list() == [None]


def test_lists_that_differ_in_kind(sess):
    sparse = tf.SparseTensor([[0]], [1.0], [1])
    with pytest.raises(TypeError, match="consistent"):
        tf.train.batch_join([[sparse], [tf.constant([1.0])]], 2)
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.train.batch([], 2)
    with pytest.raises(ValueError, match="same keys"):
        tf.train.batch_join([{"a": 1}, {"b": 1}], 2)


def test_what_cannot_choose_rows():
    with pytest.raises(ValueError, match="0 or 1 dimensions"):
        tf.train.maybe_batch([[1]], [[True]], 1, enqueue_many=True)
    with pytest.raises(ValueError, match="cannot be a vector"):
        tf.train.maybe_batch([[1]], [True], 1)


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ((), [()]),
        ([], [()]),
        ([3], [(3,)]),
        ((3,), [(3,)]),
        ((3, tf.Dimension(2)), [(3, 2)]),
        (tf.TensorShape([3]), [(3,)]),
        (((3,),), [(3,)]),
        ([[3]], [(3,)]),
        ((tf.TensorShape([3]),), [(3,)]),
    ],
)
def test_shapes_of_one_component(shapes, found):
    queue = tf.FIFOQueue(2, tf.float32, shapes)
    assert [tuple(shape.as_list()) for shape in queue.shapes] == found


def test_shapes_of_two_components():
    for outer, inner in itertools.product((list, tuple), (list, tuple, tf.TensorShape)):
        queue = tf.FIFOQueue(2, [tf.float32, tf.int32], outer([inner([3]), inner([])]))
        assert [shape.as_list() for shape in queue.shapes] == [[3], []]


def test_one_of_queues_whose_shapes_differ_in_rank(sess):
    queues = [tf.FIFOQueue(2, tf.float32, shapes) for shapes in (None, [[2]])]
    chosen = tf.QueueBase.from_list(1, queues)
    assert chosen.shapes[0].ndims is None
    for first, second, both in (([1], [2], [None]), ([1, 1], [1, 2], [1, None]), ([1], [1], [1])):
        pair = [tf.PaddingFIFOQueue(2, tf.float32, [shape]) for shape in (first, second)]
        assert tf.QueueBase.from_list(1, pair).shapes[0].as_list() == both
    plain = tf.QueueBase.from_list(0, [tf.FIFOQueue(2, tf.float32) for _ in range(2)])
    sess.run(plain.enqueue([[1.0]]))
    assert sess.run(plain.dequeue()).tolist() == [1.0]


def test_threads_are_named_after_what_they_run(sess):
    queue = tf.FIFOQueue(2, tf.float32, name="numbers")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0, name="put"), tf.constant(1, name="c")])
    names = [thread.name for thread in runner.create_threads(sess)]
    assert names == ["QueueRunnerThread-numbers-put", "QueueRunnerThread-numbers-c:0"]
