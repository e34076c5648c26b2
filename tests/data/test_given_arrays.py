"""Elements are what was given, whatever somebody writes into an array later.

TensorFlow's tensors are copies of arrays that were given. So a program may reuse a buffer, and
write into what it was returned.
"""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

Dataset = dv.data.Dataset
VALUES = np.arange(6, dtype=np.float32).reshape(3, 2)


def numbers():
    """Yield rows, all of them in one array."""
    row = np.zeros(2, np.float32)
    for number in range(4):
        row[:] = number
        yield row


PIPELINES = {
    "alone": lambda rows: rows.batch(1),
    "batch": lambda rows: rows.batch(2),
    "padded_batch": lambda rows: rows.padded_batch(2, [2]),
    "prefetch": lambda rows: rows.prefetch(4).batch(1),
    "cache": lambda rows: rows.cache().batch(2),
    "map": lambda rows: rows.map(lambda row: row * 1.0).batch(2),
    "window": lambda rows: rows.window(2).flat_map(lambda window: window.batch(2)),
    "zip": lambda rows: Dataset.zip((rows, rows)).map(lambda one, other: one).batch(4),
    "concatenate": lambda rows: rows.take(2).concatenate(rows.skip(2)).batch(4),
}


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_generator_may_yield_one_array_again_and_again(pipeline):
    rows = Dataset.from_generator(numbers, dv.float32, [2])
    found = np.concatenate([batch.numpy() for batch in PIPELINES[pipeline](rows)])
    np.testing.assert_array_equal(found, [[n, n] for n in range(4)])


def test_a_buffer_of_shuffled_rows_has_each_of_a_generator_s():
    rows = Dataset.from_generator(numbers, dv.float32, [2]).shuffle(4)
    assert sorted(row.numpy()[0] for row in rows) == [0, 1, 2, 3]


MAKERS = {
    "from_tensors": Dataset.from_tensors,
    "from_tensor_slices": lambda array: Dataset.from_tensor_slices(array).batch(3),
    "in a structure": lambda array: (
        Dataset.from_tensor_slices({"a": (array, array)}).batch(3).map(lambda e: e["a"][1])
    ),
    "sparse values": lambda array: Dataset.from_tensors(
        dv.SparseTensor(np.argwhere(np.ones((3, 2))), array.reshape(-1), [3, 2])
    ).map(dv.sparse.to_dense),
}


@pytest.mark.parametrize("make", MAKERS)
def test_elements_are_of_when_the_dataset_was_made(make):
    given = VALUES.copy()
    made = MAKERS[make](given)
    given[:] = -1
    np.testing.assert_array_equal(next(iter(made)).numpy(), VALUES)


def test_what_nobody_writes_into_is_not_copied(tmp_path):
    settled, np_file = VALUES.copy(), tmp_path / "values.npy"
    settled.flags.writeable = False
    np.save(np_file, VALUES)
    file = np.load(np_file, mmap_mode="r")
    only_a_view_of = VALUES.copy().view()
    only_a_view_of.flags.writeable = False
    for given, is_shared in ((settled, True), (settled[1:], True), (file, True)):
        (operand,) = Dataset.from_tensor_slices(given).node.operands
        assert np.shares_memory(operand, given) == is_shared
    (operand,) = Dataset.from_tensor_slices(only_a_view_of).node.operands
    assert not np.shares_memory(operand, only_a_view_of)


def test_who_writes_into_an_array_of_an_iterator_changes_no_other():
    for dataset in (
        Dataset.from_tensors(VALUES).repeat(3),
        Dataset.from_tensors(VALUES).map(lambda x: x + 0.0).cache().repeat(3),
        Dataset.from_tensor_slices(VALUES).batch(3).repeat(3),
    ):
        for found in dataset.as_numpy_iterator():
            np.testing.assert_array_equal(found, VALUES)
            found[:] = 9


class TestInGraphs:
    pytestmark = pytest.mark.usefixtures("graph")

    @pytest.mark.parametrize("size", [2, 100_000])
    def test_a_fed_array_may_be_written_into_once_its_iterator_has_begun(self, size):
        fed, given = tf.placeholder(tf.float32, [size]), np.ones(size, np.float32)
        iterator = tf.data.Dataset.from_tensor_slices(fed).batch(size).make_initializable_iterator()
        element = iterator.get_next()
        with tf.Session() as sess:
            sess.run(iterator.initializer, {fed: given})
            given[:] = -1
            np.testing.assert_array_equal(sess.run(element), np.ones(size))

    @pytest.mark.parametrize("pipeline", ["repeat", "cache", "windows", "identity"])
    def test_who_writes_into_a_fetched_element_changes_no_other(self, pipeline):
        given = VALUES.copy()
        one = tf.data.Dataset.from_tensors(given)
        dataset = {
            "repeat": lambda: one.repeat(),
            "cache": lambda: one.map(lambda x: x + 0.0).cache().repeat(),
            "windows": lambda: one.repeat().window(2, shift=1).flat_map(lambda w: w),
            "identity": lambda: one.map(lambda x: x).repeat(),
        }[pipeline]()
        element = dataset.make_one_shot_iterator().get_next()
        fed = tf.placeholder(tf.float32)
        with tf.Session() as sess:
            for _ in range(4):
                found, again = sess.run([element, fed], {fed: given})
                np.testing.assert_array_equal(found, VALUES)
                found[:] = again[:] = 7
            np.testing.assert_array_equal(given, VALUES)
