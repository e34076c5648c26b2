"""Batches of elements of one bucket, out of queues."""

import numpy as np
import pytest

import daskvars.v1 as tf

training = tf.contrib.training


def collected(fetches):
    found = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            found.append(sess.run(fetches))
    return found


def numbers(count):
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


def test_a_batch_is_of_one_bucket_and_nothing_is_lost(graph):
    n = numbers(23)
    which, batch = training.bucket(
        {"n": n, "square": n * n}, n % 3, 4, 3, allow_smaller_final_batch=True
    )
    assert batch["n"].shape.as_list() == [None]
    seen = []
    for number, found in collected([which, batch]):
        assert (found["n"] % 3 == number).all() and (found["square"] == found["n"] ** 2).all()
        seen += found["n"].tolist()
    assert sorted(seen) == list(range(23))


def test_elements_that_are_not_kept_are_dropped_and_sizes_may_differ(graph):
    n = numbers(20)
    which, batch = training.bucket(
        [n], n % 2, [2, 3], 2, bucket_capacities=[4, 8], keep_input=n < 14, num_threads=2
    )
    found = collected([which, batch])
    assert {(int(number), len(values)) for number, values in found} == {(0, 2), (1, 3)}
    assert max(values.max() for _, values in found) < 14


def test_sequences_are_filled_up_within_their_bucket(graph):
    n = numbers(12)
    lengths, batch = training.bucket_by_sequence_length(
        n, {"row": tf.fill([n], n), "n": n}, 2, [3, 7], dynamic_pad=True, capacity=4
    )
    found = collected([lengths, batch])
    assert len(found) == 5  # of 3, 4 and 5 elements in the buckets
    for sizes, values in found:
        assert len(set(np.digitize(sizes, [3, 7]))) == 1
        assert values["row"].shape == (2, sizes.max())
        for size, row in zip(sizes, values["row"], strict=True):
            assert row.tolist() == [size] * size + [0] * (sizes.max() - size)
        assert values["n"].tolist() == sizes.tolist()


def test_what_buckets_refuse(graph):
    n = numbers(3)
    with pytest.raises(ValueError, match=r"batch_size must have num_buckets \(2\)"):
        training.bucket([n], n, [1], 2)
    with pytest.raises(ValueError, match="bucket_capacities must have"):
        training.bucket([n], n, 1, 2, bucket_capacities=[1])
    with pytest.raises(ValueError, match="at least one tensor"):
        training.bucket([], n, 1, 2)
    wrong = [(3, TypeError), ([1.5], TypeError), ([], ValueError), ([2, 2], ValueError)]
    for boundaries, kind in wrong:
        with pytest.raises(kind, match=r"oundaries|increasing"):
            training.bucket_by_sequence_length(n, [n], 1, boundaries)
