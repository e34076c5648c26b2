"""Tensors that stay: kept by handles, fed again, let go of; on a cluster without leaving it."""

import gc
import pickle

import dask.array as da
import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.execution.host_ops import staged
from tests import clusters

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def on_workers(graph):
    """A session whose values are on a cluster."""
    with clusters.running(2) as client, client.as_current(), tf.Session() as sess:
        yield sess


def kept_values(sess):
    found = sess.engine.resources.find("session tensors")
    return [] if found is None else list(found._handles)


def test_a_handle_is_fed_by_its_text_or_as_it_is(sess):
    x = tf.constant([1.0, 2.0])
    doubled = x * 2.0
    kept, value = sess.run([tf.get_session_handle(doubled), x + doubled])
    assert value.tolist() == [3.0, 6.0] and kept.eval().tolist() == [2.0, 4.0]
    assert str(kept) == kept.handle and kept.handle.startswith("GetSessionHandle;0;")
    holder, again = tf.get_session_tensor(kept.handle, tf.float32)
    assert sess.run(again + x, {holder: kept.handle}).tolist() == [3.0, 6.0]
    assert sess.run(doubled + 1.0, {doubled: kept}).tolist() == [3.0, 5.0]
    assert sess.run([x, doubled], {x: kept})[1].tolist() == [4.0, 8.0]


def test_a_loop_feeds_what_it_kept(sess):
    kept = sess.run(tf.get_session_handle(tf.constant(0)))
    holder, x = tf.get_session_tensor(kept.handle, tf.int32)
    following = tf.get_session_handle(x + 1)
    for _ in range(20):
        kept = sess.run(following, {holder: kept.handle})
    gc.collect()
    assert kept.eval() == 20 and kept_values(sess) == [kept.handle]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(b"text", tf.string), ([[True, False]], tf.bool), (2 - 1j, tf.complex64), ([], tf.int64)],
)
def test_values_of_each_kind(sess, value, dtype):
    x = tf.placeholder(dtype)
    kept = sess.run(tf.get_session_handle(x), {x: value})
    holder, again = tf.get_session_tensor(kept.handle, dtype)
    found = sess.run(again, {holder: kept.handle})
    assert kept.dtype is dtype and np.array_equal(found, np.asarray(value))
    assert np.array_equal(kept.eval(), np.asarray(value))


def test_what_is_kept_does_not_change(sess):
    v = tf.get_variable("v", initializer=tf.zeros([3]))
    sess.run(v.initializer)
    source = np.ones(3, "f4")
    x = tf.placeholder(tf.float32, [3])
    of_variable, of_feed = sess.run(
        [tf.get_session_handle(v.read_value()), tf.get_session_handle(x)], {x: source}
    )
    sess.run(v.assign_add([1.0, 1.0, 1.0]))
    source[:] = 7.0
    of_feed.eval()[:] = 8.0
    assert of_variable.eval().tolist() == [0.0] * 3 and of_feed.eval().tolist() == [1.0] * 3


def test_values_go_with_their_handles(sess):
    keep = tf.get_session_handle(tf.constant(7))
    kept = sess.run(keep)
    handle = kept.handle
    holder, x = tf.get_session_tensor(handle, tf.int32)
    del kept
    gc.collect()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        sess.run(x, {holder: handle})


def test_values_are_deleted(sess):
    keep = tf.get_session_handle(tf.constant(7))
    kept = sess.run(keep)
    holder, x = tf.get_session_tensor(kept.handle, tf.int32)
    kept.delete()
    for use in (kept.eval, kept.delete):
        with pytest.raises(TypeError, match="may have already been deleted"):
            use()
    for feed in ({holder: kept.handle}, {x: kept}):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            sess.run(x, feed)
    assert not kept_values(sess)


def test_a_raw_handle_keeps_the_value_until_it_is_deleted(sess):
    raw = sess.run(tf.get_session_handle(tf.constant(7))).get_raw_handle()
    gc.collect()
    holder, x = tf.get_session_tensor(raw, tf.int32)
    assert sess.run(x, {holder: raw}) == 7
    deleted, deleter = tf.delete_session_tensor(raw)
    assert sess.run(deleter, {deleted: raw}) is None
    for fetch, feed in ((deleter, {deleted: raw}), (x, {holder: raw})):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            sess.run(fetch, feed)


def test_values_end_with_their_session(graph):
    with tf.Session() as sess:
        kept = sess.run(tf.get_session_handle(tf.constant(7)))
    with pytest.raises(TypeError, match="may have already been deleted"):
        kept.eval()
    with tf.Session() as other, pytest.raises(tf.errors.InvalidArgumentError, match="another"):
        holder, x = tf.get_session_tensor(kept.handle, tf.int32)
        other.run(x, {holder: kept.handle})


def test_what_is_refused(sess):
    with pytest.raises(TypeError, match="`data` must be of type Tensor, got list"):
        tf.get_session_handle([1.0])
    kept = sess.run(tf.get_session_handle(tf.constant(7)))
    holder, x = tf.get_session_tensor(kept.handle, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is of int32, but .* for float32"):
        sess.run(x, {holder: kept.handle})
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        sess.run(tf.zeros([2], tf.int32), {tf.placeholder(tf.int32, [2]): kept})
    with pytest.raises(TypeError, match="has no meaning elsewhere"):
        pickle.dumps(kept)


@pytest.mark.cluster
def test_on_a_cluster_values_stay_on_workers(on_workers, monkeypatch):
    sess = on_workers
    x = tf.placeholder(tf.float32, [None, 4])
    squared = x * x
    kept, total = sess.run(
        [tf.get_session_handle(squared), tf.reduce_sum(x)], {x: np.ones((6, 4), "f4") * 3}
    )
    assert isinstance(kept.data, da.Array) and total == 72.0
    holder, again = tf.get_session_tensor(kept.handle, tf.float32)
    following = tf.get_session_handle(again + 1.0)
    made = []
    monkeypatch.setattr(staged, "_array", lambda tensor, value: made.append(tensor) or value)
    monkeypatch.setattr(da.Array, "__array__", None)
    kept = sess.run(following, {holder: kept.handle})  # nothing but the handle is here
    monkeypatch.undo()
    assert isinstance(kept.data, da.Array) and {t.dtype for t in made} == {tf.string}
    assert (kept.eval() == 10.0).all()
    assert sess.run(tf.reduce_sum(squared), {squared: kept}) == 240.0
    both = sess.run([following, again], {holder: kept.handle})
    assert (both[0].eval() == 11.0).all() and (both[1] == 10.0).all()


@pytest.mark.cluster
def test_on_a_cluster_what_has_no_shape_before_is_kept_here(on_workers):
    x = tf.constant([1, 0, 2])
    kept = on_workers.run(tf.get_session_handle(tf.boolean_mask(x, x > 0)))
    assert isinstance(kept.data, np.ndarray) and kept.eval().tolist() == [1, 2]
    fed = da.arange(6, chunks=3)
    y = tf.placeholder(tf.int64, [6])
    kept = on_workers.run(tf.get_session_handle(y), {y: fed})
    assert kept.eval().tolist() == list(range(6))
