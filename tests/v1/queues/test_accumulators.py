"""Accumulators give the means of gradients, wait for enough of them, and leave stale ones out."""

import threading

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.waiting import wait_until


def test_a_mean_is_of_the_gradients_of_its_step(sess):
    mean = tf.ConditionalAccumulator(tf.float32, [1])
    for step, wanted in ((1000, 1002.0), (1003, 1003.5)):
        sess.run(mean.set_global_step(step))
        for local in range(1000, 1005):
            sess.run(mean.apply_grad([float(local)], local_step=local))
        assert sess.run(mean.take_grad(1)).tolist() == [wanted]
    # To take is to begin the next step: that of 1003 is over.
    sess.run(mean.apply_grad([1.0], local_step=1003))
    assert sess.run(mean.num_accumulated()) == 0


@pytest.mark.parametrize(("reduction", "wanted"), [("MEAN", [2.0, 2.0]), ("SUM", [4.0, 4.0])])
def test_what_is_taken_is_a_mean_or_a_sum(sess, reduction, wanted):
    found = tf.ConditionalAccumulator(tf.float16, [2], reduction_type=reduction)
    for gradient in ([1.0, 4.0], [3.0, 0.0]):
        sess.run(found.apply_grad(gradient))
    taken = sess.run(found.take_grad(2))
    assert taken.tolist() == wanted and taken.dtype == np.float16


def test_rows_have_means_of_their_own(sess):
    mean = tf.SparseConditionalAccumulator(tf.float32, [None, 2])
    sess.run(mean.apply_grad([0, 1], [[1.0, 0.0], [0.0, 2.0]]))
    slices = tf.IndexedSlices(tf.constant([[0.0, 1.0], [3.0, 0.0]]), tf.constant([0, 2]))
    sess.run(mean.apply_indexed_slices_grad(slices))
    found = sess.run(mean.take_indexed_slices_grad(1))
    assert found.indices.tolist() == [0, 1, 2]
    assert found.values.tolist() == [[0.5, 0.5], [0.0, 2.0], [3.0, 0.0]]
    assert found.dense_shape.tolist() == [-1, 2]


def test_a_taking_waits_for_enough_gradients(sess):
    mean = tf.ConditionalAccumulator(tf.float32, [])
    add, taken, found = mean.apply_grad(2.0), mean.take_grad(3), []
    taking = threading.Thread(target=lambda: found.append(sess.run(taken)), daemon=True)
    taking.start()
    for _ in range(2):
        sess.run(add)
    assert sess.run(mean.num_accumulated()) == 2 and not found
    sess.run(add)
    wait_until(lambda: found == [2.0], "nothing was taken")
    taking.join()


def test_gradients_come_back_where_their_run_failed(sess):
    mean = tf.ConditionalAccumulator(tf.float32, [])
    sess.run(mean.apply_grad(2.0))
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run([mean.take_grad(1), tf.Assert(tf.placeholder_with_default(False, []), ["no"])])
    assert sess.run(mean.take_grad(1)) == 2.0


def test_a_taking_ends_with_the_session():
    mean = tf.ConditionalAccumulator(tf.float32, [])
    sess, errors = tf.Session(), []

    def take():
        try:
            sess.run(mean.take_grad(1))
        except (tf.errors.OpError, RuntimeError) as error:
            errors.append(error)

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    sess.close()
    taking.join(30)
    assert not taking.is_alive() and len(errors) == 1


def sparse(sess, *arguments, shape=(2, 2, None)):
    sess.run(tf.SparseConditionalAccumulator(tf.float32, shape).apply_grad(*arguments))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([[0, 1]], [[1.0]]), "Input indices should be vector but received shape:"),
        (([0], 1.0), "Values cannot be 0-dimensional."),
        (([0, 1], [[1.0]]), "Expected 2 non-empty input values, got 1"),
        (([0], [[1.0, 2.0]], [2, 2]), "expected shape rank at least 3, got 2"),
        (([0], [[[1.0]]], [2, 3, 2]), "expected shape dim 1 to be 2, got 3"),
        (([3], [[[1.0]]]), "index of slice 0 exceeded limits of shape; index is 3 exceeded 2"),
        (([0], [[1.0, 2.0]]), "expected values rank at least 3, got 2"),
        (([0], [[[1.0], [1.0], [1.0]]]), "expected values dim 1 to be 2, got 3"),
    ],
)
def test_gradients_that_do_not_fit_are_refused_in_the_words_of_tensorflow(sess, arguments, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        sparse(sess, *arguments)


def test_later_gradients_are_like_the_first(sess):
    dense, rows = tf.ConditionalAccumulator(tf.float32), tf.SparseConditionalAccumulator(tf.float32)
    sess.run([dense.apply_grad([1.0]), rows.apply_grad([0], [[1.0]])])
    for wrong in (dense.apply_grad([1.0, 2.0]), rows.apply_grad([0], [[1.0, 2.0]])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
            sess.run(wrong)


def test_what_is_known_to_be_wrong_is_refused_when_it_is_said(sess):
    with pytest.raises(ValueError, match="reduction_type"):
        tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")
    with pytest.raises(ValueError, match=r"not compatible|incompatible"):
        tf.ConditionalAccumulator(tf.float32, [3]).apply_grad([1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_required"):
        sess.run(tf.ConditionalAccumulator(tf.float32, [1]).take_grad(-1))
