"""Checkpoints on a cluster: parts of variables, other layouts, initial values from files."""

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from distributed import wait

import daskvars.v1 as tf
from daskvars.remote.tasks import chunk_tasks as seals
from daskvars.remote.versions.commit_order import keys_of
from daskvars.remote.versions.version_keeper import keepers
from tests.clusters import running
from tests.execution.cluster.shared_counters import blocks_of
from tests.sessions import initialized
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster
VALUE = np.arange(42.0).reshape(7, 6)


@pytest.fixture(autouse=True)
def cluster(two_workers):
    with two_workers.as_current(), tf.Graph().as_default():
        yield two_workers


def table(parts, chunks=None):
    return tf.get_variable(
        "table", initializer=VALUE, partitioner=lambda shape, dtype: parts, chunks=chunks
    )


@pytest.mark.parametrize("chunks", [None, (2, 3)])
def test_parts_are_saved_as_one_array_and_restored_into_other_parts(tmp_path, chunks):
    saved = table([3, 1], chunks)
    slot = tf.get_variable("table/Adam", initializer=-VALUE, chunks=((3, 4), (6,)))
    with initialized() as sess:
        path = tf.train.Saver([saved, slot]).save(sess, str(tmp_path / "m"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "table"), VALUE)
    with tf.Graph().as_default(), tf.Session() as sess:
        again = table([1, 2], (7, 2))
        slot = tf.get_variable("table/Adam", initializer=VALUE, chunks=((1,) * 7, (6,)))
        tf.train.Saver([again, slot]).restore(sess, path)
        whole, slot = sess.run([tf.convert_to_tensor(again), slot])
        np.testing.assert_array_equal(whole, VALUE)
        np.testing.assert_array_equal(slot, -VALUE)


def test_operations_and_initial_values_read_on_workers(tmp_path):
    v = tf.get_variable("v", initializer=VALUE, chunks=((4, 3), (6,)))
    saver = tf.train.Saver(reshape=True)
    names = saver.saver_def
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = str(tmp_path / "m")
        sess.run(names.save_tensor_name, {names.filename_tensor_name: path})
        sess.run(v.assign(v * 0.0))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), VALUE)
    tf.train.init_from_checkpoint(path, {"v": v})
    with tf.Session() as sess:
        sess.run(v.initializer)
        np.testing.assert_array_equal(sess.run(v), VALUE)


@pytest.fixture(scope="module")
def three_workers():
    with running(3) as client:
        yield client


def run_on(client, program):
    """Run a program in a graph of its own on a cluster, or in this process where it is None."""

    def run():
        with client.as_current() if client else nullcontext(), tf.Graph().as_default():
            return program()

    with ThreadPoolExecutor(1) as pool:  # a thread in which no client is the current one
        return pool.submit(run).result()


def logged_writes(dask_worker):
    """Let a worker note the chunks that it writes, and which of them it had."""
    log = dask_worker.chunks_written = []
    write = seals.write_ref

    def noted(storage, path, chunk, array):
        log.append((chunk.key, chunk.index))
        return write(storage, path, chunk, array)

    seals.write_ref, dask_worker.original = noted, write


def writes(dask_worker):
    seals.write_ref = dask_worker.original
    return dask_worker.chunks_written


def test_each_chunk_is_written_by_a_worker_that_has_it(cluster, tmp_path):
    v = tf.get_variable("v", initializer=np.arange(4096.0).reshape(64, 64), chunks=(16, 64))
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(v.assign_add(v).op)
        _, blocks = blocks_of(sess)["v"]
        futures = {index: block.reference.future for index, block in blocks.items()}
        owners = cluster.who_has(list(futures.values()))
        cluster.run(logged_writes)
        try:
            tf.train.Saver().save(sess, str(tmp_path / "m"))
        finally:
            written = cluster.run(writes)
        for index, future in futures.items():
            (writer,) = [worker for worker, found in written.items() if ("v", index) in found]
            assert writer in owners[future.key], (index, written)


@pytest.mark.parametrize(
    "first, second, chunks", [(0, 3, (3, 6)), (2, 0, ((1, 2, 4), (5, 1))), (2, 3, None)]
)
def test_from_any_number_of_workers_to_any_other(
    cluster, three_workers, tmp_path, first, second, chunks
):
    places = {2: cluster, 3: three_workers}

    def save():
        v = tf.get_variable("v", initializer=VALUE, chunks=((4, 3), (3, 3)))
        scalar = tf.get_variable("s", initializer=7)
        with initialized() as sess:
            return tf.train.Saver([v, scalar]).save(sess, str(tmp_path / "m"))

    def restore():
        v = tf.get_variable("v", initializer=-VALUE, chunks=chunks)
        scalar = tf.get_variable("s", initializer=0)
        with tf.Session() as sess:
            tf.train.Saver().restore(sess, path)
            return sess.run([v, scalar])

    path = run_on(places.get(first), save)
    found, seven = run_on(places.get(second), restore)
    np.testing.assert_array_equal(found, VALUE)
    assert seven == 7


def test_an_asynchronous_save_has_the_values_of_its_moment(tmp_path):
    v = tf.get_variable("v", initializer=np.zeros((64, 64)), chunks=(16, 64))
    step = v.assign_add(tf.ones_like(v)).op
    saver = tf.train.Saver(max_to_keep=0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        saves = []
        for number in range(1, 31):
            sess.run(step)
            if number % 10 == 0:
                saves.append(saver.save_async(sess, str(tmp_path / "m"), global_step=number))
        for saving in saves:
            number = int(saving.result(60).rpartition("-")[2])
            found = tf.train.load_variable(saving.path, "v")
            np.testing.assert_array_equal(found, np.full((64, 64), number))
        assert sess.run(v)[0, 0] == 30


def test_an_asynchronous_save_of_a_run_that_fails(tmp_path):
    v = tf.get_variable("v", initializer=np.zeros(4), chunks=(2,))
    x = tf.placeholder(tf.float64, [4])
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        step = v.assign_add(x).op
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(step, {x: -np.ones(4)})
        saving = saver.save_async(sess, str(tmp_path / "m"))
        with pytest.raises(tf.errors.InvalidArgumentError):
            saving.result(60)
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(v)
        assert tf.train.latest_checkpoint(str(tmp_path)) is None
        np.testing.assert_array_equal(sess.run(v), np.zeros(4))


@pytest.mark.parametrize("later", [False, True], ids=["save", "async"])
def test_workers_write_and_read_one_file(tmp_path, later):
    v = tf.get_variable("v", initializer=VALUE, chunks=((4, 3), (6,)))
    text = tf.get_variable("text", initializer=[b"a", b"bc"])
    saver = tf.train.Saver(async_save=later)
    with initialized() as sess:
        path = saver.save(sess, str(tmp_path / "m.zip"), 3)
        sess.run(v.assign(-VALUE))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), VALUE)
        assert list(sess.run(text)) == [b"a", b"bc"]
    np.testing.assert_array_equal(tf.train.load_variable(path, "v"), VALUE)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", "m-3.zip", "m-3.zip.meta"]


def test_one_file_that_cannot_be_written_leaves_nothing(tmp_path):
    v = tf.get_variable("v", initializer=VALUE, chunks=((4, 3), (6,)))
    (tmp_path / "theirs.zip").write_bytes(b"no archive")
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(tf.errors.AlreadyExistsError, match="save elsewhere"):
            tf.train.Saver().save(sess, str(tmp_path / "theirs.zip"))
    assert [p.name for p in tmp_path.iterdir()] == ["theirs.zip"]


def test_what_is_read_in_flight_is_kept_once_the_scheduler_knows_it(cluster, monkeypatch):
    """A run is bound before its graph is there; until then its keys cannot be kept for a client."""
    v = tf.get_variable("v", initializer=VALUE)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(v)  # which waits until that run is in the newest version
        executor = sess.engine.acquire()
        asked = {"name": executor.name, "client": "reader", "session": executor.token, "number": 0}
        keeper = keepers[cluster.scheduler_info()["id"]]
        keys = {*keys_of(keeper.states[executor.name].versions.newest)}
        monkeypatch.setattr(keeper, "expected", keys)
        assert executor.call_scheduler("pin_newest", **asked) is None
        assert "reader" not in keeper.scheduler.clients
        keeper.expected.clear()
        assert executor.call_scheduler("pin_newest", **asked).keys() == {"v"}
        held = {task.key for task in keeper.scheduler.clients["reader"].wants_what}
        assert held == {*keys_of(keeper.states[executor.name].versions.newest)}
        cluster.run_on_scheduler(lambda dask_scheduler: dask_scheduler.remove_client("reader"))


@pytest.mark.parametrize("place", ["m", "m.zip"])
def test_workers_compress_chunks(tmp_path, place):
    v = tf.get_variable("v", initializer=np.zeros((400, 300)), chunks=((200, 200), (300,)))
    with tf.Session() as sess:
        sess.run(v.initializer)
        saver = tf.train.Saver(compressor="blosc")
        path = saver.save(sess, str(tmp_path / place))
        sess.run(v.assign(np.ones((400, 300))))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), np.zeros((400, 300)))
    assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.suffix != ".meta") < 20_000


def test_a_save_that_ctrl_c_breaks_off_leaves_nothing(tmp_path, cluster, monkeypatch):
    v = table([1, 1], chunks=((4, 3), (6,)))
    with initialized() as sess:
        saver = tf.train.Saver([v])

        def broken_off(futures):
            wait(futures)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(cluster, "gather", broken_off)
            saver.save(sess, str(tmp_path / "m"))
        assert not list(tmp_path.iterdir())
        np.testing.assert_array_equal(
            tf.train.load_variable(saver.save(sess, str(tmp_path / "m")), "table"), VALUE
        )


def test_versions_are_not_kept_for_who_asked_when_ctrl_c_came(cluster, monkeypatch):
    v = tf.get_variable("v", initializer=VALUE, chunks=((4, 3), (6,)))
    update = v.assign_add(VALUE)
    keeper = keepers[cluster.scheduler_info()["id"]]

    def wanted():
        return {task.key for task in keeper.scheduler.clients[cluster.id].wants_what}

    with initialized() as sess:
        sess.run(update.op)
        sess.engine.seal()
        executor = sess.engine.acquire()
        call = executor.call_scheduler

        def then_ctrl_c(what, **arguments):
            found = call(what, **arguments)
            if what == "pin":
                signal.raise_signal(signal.SIGINT)
            return found

        before = wanted()
        for _ in range(2):
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(executor, "call_scheduler", then_ctrl_c)
                executor.read(["v"])
            sess.run(update.op)
        sess.engine.seal()
        wait_until(lambda: wanted() <= before, "nothing is kept for the client")
        np.testing.assert_array_equal(sess.run(v), VALUE * 4)
