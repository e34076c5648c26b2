"""Iterators of graphs: one element for each run, taken as a feed is; the position with the rest."""

import threading

import dask.array as da
import numpy as np
import pytest
import zarr

import daskvars.v1 as tf
from daskvars.data.nodes import files
from daskvars.remote.tasks import record_blocks
from tests.clusters import running
from tests.interrupted import interrupted_at

pytestmark = pytest.mark.usefixtures("graph")

saveable = tf.data.experimental.make_saveable_from_iterator


def test_one_element_however_often_it_is_read():
    element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        found = sess.run([element, element + 10, tf.group(element), {"again": element}])
        assert (found[0], found[1], found[3]["again"]) == (0, 10, 0)
        assert sess.run(element) == 1
        assert sess.run(element, {element: 77}) == 77
        assert sess.run(element) == 2


def test_threads_end_with_the_session():
    element = tf.data.Dataset.range(5).repeat().prefetch(1).make_one_shot_iterator().get_next()
    before = set(threading.enumerate())
    with tf.Session() as sess:
        sess.run(element)
        (thread,) = {t for t in threading.enumerate() if "prefetch" in t.name} - before
    thread.join(10)
    assert not thread.is_alive()


def test_two_ops_take_two_elements():
    iterator = tf.data.Dataset.range(5).make_one_shot_iterator()
    first, second = iterator.get_next(), iterator.get_next()
    with tf.Session() as sess:
        assert sorted(sess.run([first, second])) == [0, 1]
        assert sess.run(second) == 2


def test_sessions_have_positions_of_their_own():
    element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    with tf.Session() as one, tf.Session() as other:
        assert [one.run(element), one.run(element), other.run(element)] == [0, 1, 0]


def test_at_the_end_nothing_changes():
    short = tf.data.Dataset.range(1).make_one_shot_iterator().get_next()
    long = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    v = tf.get_variable("v", [], tf.int64, initializer=tf.zeros_initializer())
    update = v.assign_add(long + short + 1)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(update) == 1
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                sess.run(update)
        assert (sess.run(v), sess.run(long)) == (1, 1)


def test_at_the_end_what_elements_were_made_of_is_let_go_of():
    is_gone = threading.Event()

    class Numbers:
        def __iter__(self):
            return self

        def __next__(self):
            return 42

        def __del__(self):
            is_gone.set()

    numbers = tf.data.Dataset.from_generator(Numbers, tf.int64, []).take(2)
    element = numbers.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(element), sess.run(element)] == [42, 42]
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(element)
            assert is_gone.is_set()


def test_a_run_that_fails_gives_its_element_back():
    element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    sign = tf.placeholder(tf.float32, [])
    checked = tf.check_numerics(tf.cast(element, tf.float32) / sign, "divided")
    with tf.Session() as sess:
        sess.run(element)
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(checked, {sign: 0.0})
        assert sess.run(checked, {sign: 1.0}) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a generator
def test_each_element_is_in_one_run_also_where_ctrl_c_breaks_it_off():
    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = tf.data.Dataset.range(10_000).map(lambda x: x + 1)
        element = dataset.make_one_shot_iterator().get_next()
        total = tf.get_variable("total", [], tf.int64, initializer=tf.zeros_initializer())
        count = tf.get_variable("count", [], tf.int64, initializer=tf.zeros_initializer())
        step = tf.group(total.assign_add(element), count.assign_add(1))
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        for place in range(1, 1000):
            with interrupted_at(place) as is_done:
                sess.run(step)
            sum_, number = sess.run([total, count])
            assert sum_ == number * (number + 1) // 2, place
            if is_done():
                break
        assert 30 < place < 999


def test_an_element_that_cannot_be_made_is_passed_by():
    dataset = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
    dataset = dataset.map(lambda x: tf.check_numerics(1.0 / x, "inverse")).prefetch(2)
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(element) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="inverse"):
            sess.run(element)
        assert sess.run(element) == 0.5


def test_what_must_be_initialized_is():
    x = tf.placeholder(tf.float32, [None])
    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
    dataset = tf.data.Dataset.from_tensor_slices(x).map(lambda v: v * scale)
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            sess.run(element)
        with pytest.raises(tf.errors.FailedPreconditionError, match="scale"):
            sess.run(iterator.initializer, {x: [1.0]})
        sess.run(scale.assign(2.0))
        sess.run(iterator.initializer, {x: [1.0, 2.0]})
        sess.run(scale.assign(3.0))
        assert [sess.run(element), sess.run(element)] == [2, 4]
        sess.run(iterator.initializer, {x: [5.0]})
        assert sess.run(element) == 15
    with pytest.raises(ValueError, match=r"stateful node .name:scale.*by value"):
        dataset.make_one_shot_iterator()
    with pytest.raises(ValueError, match=r"placeholder.*make_initializable_iterator"):
        tf.data.Dataset.from_tensor_slices(x).make_one_shot_iterator()
    with pytest.raises(ValueError, match="does not have an initializer"):
        tf.data.Dataset.range(3).make_one_shot_iterator().initializer  # noqa: B018


def test_one_shot_iterators_take_what_can_be_computed():
    names = tf.string_join([tf.constant(["a", "b"]), tf.constant(["c", "d"])])
    element = tf.data.Dataset.from_tensor_slices(names).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(element), sess.run(element)] == [b"ac", b"bd"]


def test_an_iterator_of_a_structure_refuses_others():
    iterator = tf.data.Iterator.from_structure((tf.int64, tf.float32), ([], [None, 2]))
    rows = np.ones((3, 2), "f4")
    good = tf.data.Dataset.from_tensors((np.int64(1), rows))
    first = iterator.make_initializer(good)
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(tf.data.Dataset.range(3))
    with pytest.raises(TypeError, match="Expected output shapes compatible with"):
        iterator.make_initializer(tf.data.Dataset.from_tensors((np.int64(1), np.ones(3, "f4"))))
    _, found = iterator.get_next()
    assert (found.shape.as_list(), iterator.output_types) == ([None, 2], (tf.int64, tf.float32))
    with tf.Session() as sess:
        sess.run(first)
        assert sess.run(tf.reduce_sum(found)) == 6


def test_elements_are_not_taken_in_loops():
    iterator = tf.data.Dataset.range(5).make_one_shot_iterator()
    zero = tf.constant(0, tf.int64)
    with pytest.raises(tf.errors.UnimplementedError, match="from_string_handle"):
        tf.while_loop(lambda n: n < 3, lambda n: n + iterator.get_next(), [zero])
    always = tf.constant(True)
    with pytest.raises(tf.errors.UnimplementedError, match="branch in another body"):
        tf.cond(always, lambda: tf.cond(always, iterator.get_next, lambda: zero), lambda: zero)


def test_a_branch_takes_an_element_if_it_runs():
    x = tf.placeholder(tf.int64, [None])
    short = tf.data.Dataset.from_tensor_slices(x).batch(2).make_initializable_iterator()
    long = tf.data.Dataset.range(9).map(lambda n: tf.fill([n], n)).make_one_shot_iterator()
    is_long, position = tf.placeholder(tf.bool, []), saveable(long)
    element = tf.cond(tf.logical_and(is_long, True), long.get_next, lambda: short.get_next() * 2)
    with tf.Session() as sess:
        assert sess.run(element, {is_long: True}).tolist() == []  # the other is not begun
        sess.run(short.initializer, {x: [5, 6, 7]})
        for which, wanted in [(0, [10, 12]), (1, [1]), (1, [2, 2]), (0, [14]), (1, [3, 3, 3])]:
            assert sess.run(element, {is_long: bool(which)}).tolist() == wanted
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element, {is_long: False})
        assert sess.run(element, {is_long: True}).tolist() == [4] * 4
        assert sess.run(position)[0] == 5


def test_a_handle_of_nothing_is_refused():
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(handle, tf.int64).get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.NotFoundError, match="no iterator 'x'"):
        sess.run(element, {handle: "x"})


def test_sparse_elements_are_fed_and_fetched():
    dataset = tf.data.Dataset.range(1, 4).map(lambda n: tf.SparseTensor([[n]], [n * 10], [5]))
    element = dataset.batch(2).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        sparse, dense = sess.run([element, tf.sparse.to_dense(element)])
    assert sparse.indices.tolist() == [[0, 1], [1, 2]]
    assert dense.tolist() == [[0, 10, 0, 0, 0], [0, 0, 20, 0, 0]]


# -- positions -------------------------------------------------------------------------------------


def trained(seed=1):
    """A model that depends on the order of elements, and its iterator's position."""
    dataset = tf.data.Dataset.range(20).shuffle(20, seed=seed).repeat().batch(3)
    iterator = dataset.make_initializable_iterator()
    position = saveable(iterator)
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, position)
    rows = tf.cast(iterator.get_next(), tf.float64)
    w = tf.get_variable("w", [], tf.float64, initializer=tf.ones_initializer())
    train = w.assign(w * 0.9 + tf.reduce_sum(rows))
    return iterator, w, train


@pytest.mark.parametrize("seed", [1, None])
def test_a_checkpoint_has_the_position(tmp_path, seed):
    iterator, w, train = trained(seed)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run([w.initializer, iterator.initializer])
        for _ in range(9):
            sess.run(train)
        path = saver.save(sess, str(tmp_path / "model"))
        wanted = [sess.run(train) for _ in range(12)]
        saver.restore(sess, path)
        assert [sess.run(train) for _ in range(12)] == wanted
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        saver.restore(sess, path)
        assert [sess.run(train) for _ in range(12)] == wanted


def test_a_store_has_the_position_of_its_last_version(tmp_path):
    iterator, w, train = trained()
    store = str(tmp_path / "state.zarr")
    with tf.Session() as sess:
        sess.run([w.initializer, iterator.initializer])
        wanted = [sess.run(train) for _ in range(9)]
    with tf.Session(store=store) as sess:
        sess.run([w.initializer, iterator.initializer])
        assert [sess.run(train) for _ in range(5)] == wanted[:5]
        sess.seal()
        sess.run([train, train])
        sess.recover()
        assert [sess.run(train) for _ in range(4)] == wanted[5:]


def test_a_one_shot_iterator_goes_on_in_another_process_store(tmp_path):
    iterator = tf.data.Dataset.range(9).make_one_shot_iterator()
    saveable(iterator)
    element = iterator.get_next()
    store = str(tmp_path / "state.zarr")
    for first in (0, 3):
        with tf.Session(store=store) as sess:
            assert [sess.run(element) for _ in range(3)] == [first, first + 1, first + 2]


def test_a_position_is_made_before_the_first_run():
    iterator = tf.data.Dataset.range(9).make_one_shot_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run(element)
    with pytest.raises(RuntimeError, match="before the first run"):
        saveable(iterator)


def test_get_next_in_a_loop_warns():
    iterator = tf.data.Dataset.range(9).make_one_shot_iterator()
    with pytest.warns(UserWarning, match="unusually high number"):
        for _ in range(32):
            iterator.get_next()


def test_positions_by_handle():
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    iterators = [tf.data.Dataset.range(9).make_initializable_iterator() for _ in range(2)]
    positions = [saveable(iterator) for iterator in iterators]
    with tf.Session() as sess:
        sess.run([iterator.initializer for iterator in iterators])
        handles = sess.run([iterator.string_handle() for iterator in iterators])
        for which in (0, 1, 1):
            sess.run(element, {handle: handles[which]})
        assert [sess.run(position)[0] for position in positions] == [1, 2]


# -- elsewhere -------------------------------------------------------------------------------------


def test_batches_of_stored_rows_are_fed_as_arrays_of_any_kind(tmp_path):
    array = zarr.create_array(tmp_path / "rows", shape=(8, 2), chunks=(4, 2), dtype="f4")
    array[:] = np.arange(16).reshape(8, 2)
    x = tf.placeholder(tf.float32, [None, 2])
    fed = tf.data.Dataset.from_tensor_slices(x).batch(4).make_initializable_iterator()
    kept = tf.data.Dataset.from_tensor_slices(array).batch(4).make_one_shot_iterator()
    sums = tf.reduce_sum(fed.get_next()), tf.reduce_sum(kept.get_next())
    with tf.Session() as sess:
        sess.run(fed.initializer, {x: da.from_zarr(array)})
        assert sess.run(sums) == (28, 28)
        assert sess.run(sums) == (92, 92)


@pytest.mark.cluster
def test_on_a_cluster_it_is_the_same_and_workers_read(tmp_path, monkeypatch):
    array = zarr.create_array(tmp_path / "rows", shape=(40, 2), chunks=(8, 2), dtype="f8")
    array[:] = np.random.default_rng(0).normal(size=(40, 2))
    stored = tf.data.Dataset.from_tensor_slices(array).shuffle(12, seed=1).batch(16).repeat()
    (tmp_path / "lines").write_text("\n".join(map(str, range(99))))
    lines = tf.data.TextLineDataset(str(tmp_path / "lines"))
    lines = lines.map(tf.string_to_number).shuffle(9, seed=2).batch(16).repeat()
    shuffled = tf.data.Dataset.range(40).shuffle(40, seed=3).map(lambda n: n * 2).batch(16).repeat()
    iterator = (
        tf.data.Dataset.zip((stored, shuffled, lines)).prefetch(1).make_initializable_iterator()
    )
    position = saveable(iterator)
    rows, numbers, also_numbers = iterator.get_next()
    w = tf.get_variable("w", [2], tf.float64, initializer=tf.zeros_initializer())
    weight = tf.cast(tf.reduce_sum(numbers), tf.float64)
    weight += tf.cast(tf.reduce_sum(also_numbers), tf.float64)
    train = w.assign_add(tf.reduce_sum(rows, 0) * weight)

    def run():
        with tf.Session() as sess:
            sess.run([w.initializer, iterator.initializer])
            found = [sess.run(train) for _ in range(7)]
            return np.stack(found), sess.run(position)[0]

    alone, count = run()

    def here(*args):
        raise AssertionError("rows are read by the program")

    with running(2) as client, client.as_current(), monkeypatch.context() as patch:
        patch.setattr(zarr.Array, "__getitem__", here)
        patch.setattr(record_blocks, "opened", here)
        patch.setattr(files, "opened_plain", here)
        there, also = run()
    assert (count, also) == (7, 7)
    np.testing.assert_array_equal(there, alone)
