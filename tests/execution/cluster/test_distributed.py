"""The cluster's executor: what the local one does, with values on workers and runs in flight."""

import gc
import warnings
import weakref

import dask.array as da
import numpy as np
import pytest
from dask.utils import key_split
from distributed.protocol.pickle import dumps
from hypothesis import given, strategies as st

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import (
    CorruptChunkError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)
from daskvars.execution.cluster.errors import unavailable
from daskvars.execution.cluster.executor import ClusterExecutor
from daskvars.execution.cluster.results.remote_blocks import RemoteBlock
from daskvars.execution.engine.engine import Engine
from daskvars.execution.local.executor import LocalExecutor
from daskvars.remote.exchange import Exchanges
from daskvars.remote.task_keys import has_outputs, outputs_key
from tests.sessions import initialized
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("graph")]


@pytest.fixture
def sent(cluster, monkeypatch):
    """The graphs that were sent, as lists of keys, and their bytes."""
    graphs = []
    get = cluster.get

    def spy(expression, keys, **options):
        graphs.append((list(expression.operand("tasks")), len(dumps(expression))))
        return get(expression, keys, **options)

    monkeypatch.setattr(cluster, "get", spy)
    return graphs


def chunked(values, size, name=None):
    """A variable of rank 1 in chunks of `size`."""
    return tf.Variable(np.asarray(values), name=name, chunks=size)


# -- where things run -------------------------------------------------------------------------


def test_an_active_client_is_used_and_values_stay_on_its_workers(cluster):
    v = chunked(np.arange(8.0), 2, "v")
    with initialized() as session:
        executor = session.engine.acquire()
        assert isinstance(executor, ClusterExecutor)
        assert executor.num_workers == 2
        session.run(tf.group(v.assign_add(tf.ones([8], tf.float64))))
        (blocks,) = executor.read(["v"])
        assert len(blocks) == 4
        assert all(isinstance(block, RemoteBlock) for block in blocks.values())
        held = cluster.who_has([block.reference.future for block in blocks.values()])
        assert len({worker for workers in held.values() for worker in workers}) == 2
        np.testing.assert_array_equal(session.run(v), np.arange(8.0) + 1)


def test_without_a_client_runs_stay_here():
    v = tf.Variable(1.0)
    with initialized() as session:
        assert isinstance(session.engine.acquire(), LocalExecutor)
        assert session.run(v) == 1.0


def test_eager_code_uses_the_cluster(cluster):
    engine = Engine()
    assert isinstance(engine.acquire(), ClusterExecutor)
    engine.close()


def test_arrays_of_this_process_move_to_the_cluster(two_workers):
    v = tf.Variable(np.arange(4.0), name="v")
    with initialized() as session:
        here = session.engine.values
        assert session.run(v).sum() == 6.0
        with two_workers.as_current():
            session.engine.follow_client()
            np.testing.assert_array_equal(session.run(v.assign_add(v)), np.arange(4.0) * 2)
            assert not len(here)
            assert isinstance(session.engine.acquire().read(["v"])[0][0,], RemoteBlock)


# -- keys and graphs --------------------------------------------------------------------------

names = st.from_regex(r"[A-Za-z][A-Za-z0-9_./]{0,30}", fullmatch=True)


@given(
    st.one_of(st.sampled_from(["backward", "features", "conv1/forward", "feedface"]), names),
    st.uuids(),
    st.integers(0, 99),
)
def test_a_key_is_grouped_under_its_label(label, token, number):
    key = outputs_key(label, f"0{token.hex[:15]}-7", number)
    assert key_split(key) == label
    assert has_outputs(key)


def test_no_key_is_used_twice(sent):
    for _ in range(2):
        v = chunked(np.zeros(6), 2)
        with initialized() as session:
            for _ in range(3):
                session.run(v.assign_add(tf.ones([6], tf.float64)))
    keys = [key for graph, _ in sent for key in graph]
    assert len(keys) == len(set(keys))


def test_a_run_is_few_tasks_and_few_bytes(sent):
    v = chunked(np.zeros(400_000), 100_000)
    add = tf.group(v.assign_add(np.ones(400_000)))
    with initialized() as session:
        session.run(add)
        sent.clear()
        session.run(add)
        ((keys, nbytes),) = sent
        assert len(keys) == 2, "one for each worker"
        assert nbytes < 4 * 400


def test_large_constants_are_sent_once(sent):
    v = tf.Variable(np.zeros(400_000))
    add = tf.group(v.assign_add(np.ones(400_000)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with initialized() as session:
            for _ in range(3):
                session.run(add)
            assert max(nbytes for _, nbytes in sent) < 20_000
            assert session.run(v)[-1] == 3.0


def test_only_what_another_worker_needs_moves(two_workers):
    w = tf.Variable(np.zeros((512, 512)), name="w")
    m = tf.Variable(np.zeros((512, 512)), name="m")
    x = tf.placeholder(tf.float64, [None, 512])
    y = tf.matmul(x, w)
    step = tf.group(w.assign_add(m * tf.reduce_sum(y)), m.assign_add(w))
    with two_workers.as_current(), config.set(batch_parts=2), initialized() as session:
        before = sum(two_workers.run(received).values())
        session.run(step, {x: np.ones((4, 512))})
        session.engine.sync()
        moved = sum(two_workers.run(received).values()) - before
        assert session.run([w, m])[1].shape == (512, 512)
    assert 0 < moved < 1.1 * 512 * 512 * 8, "of the two variables only one is read elsewhere"


def received():
    return sum(worker.received_bytes for worker in Exchanges.here.values())


# -- results ----------------------------------------------------------------------------------


def test_small_results_come_without_being_asked_for(two_workers, monkeypatch):
    """What a step and what an evaluation give, and values of variables; on one worker or two."""
    v = tf.Variable(np.zeros(2_000), name="v", chunks=1_000)
    count = tf.Variable(0, name="count")
    x = tf.placeholder(tf.float64, [2_000])
    steps = [v.assign_add(x), count.assign_add(1)]
    small = [tf.reduce_sum(x * x), v[1_998:], tf.constant(["a", "b"]), count.read_value()]
    asked, gather = [], two_workers.gather

    def counted(futures, *arguments, **options):
        asked.append(len(futures))
        return gather(futures, *arguments, **options)

    monkeypatch.setattr(two_workers, "gather", counted)
    knobs = config.set(batch_parts=2, client_work_s=0.0)
    with two_workers.as_current(), knobs, initialized() as session:
        for number in range(1, 4):
            fed = {x: np.full(2_000, 0.1)}
            step = session.run([steps[1], tf.group(*steps), small[0]], fed)
            found = session.run(small, fed)
            assert step[0] == found[3] == number and step[2] == found[0]
            assert found[0] == pytest.approx(20.0) and found[2].tolist() == [b"a", b"b"]
            np.testing.assert_allclose(found[1], np.full(2, 0.1 * number))
            assert found[1].flags.writeable and not asked
        assert session.run([v, count])[0].shape == (2_000,)
        assert asked, "16,000 bytes are fetched"


# -- feeds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("limit", [1, 1 << 20])
def test_feeds_small_and_large(sent, parts, limit):
    x = tf.placeholder(tf.float64, [None, 50])
    v = tf.Variable(np.zeros(50))
    add = v.assign_add(tf.reduce_sum(x, 0))
    batch = np.arange(300.0).reshape(6, 50)
    with config.set(batch_parts=parts, feed_scatter_bytes=limit), initialized() as session:
        np.testing.assert_array_equal(session.run(add, {x: batch}), batch.sum(0))
        session.run(add.op, {x: batch})
        batch[...] = -1e9  # what the program does to its array afterwards does not matter
        np.testing.assert_array_equal(session.run(v)[:2], [1500.0, 1512.0])
        np.testing.assert_array_equal(session.run(x, {x: batch}), batch)
        assert session.run(v.assign(x[0] * 2.0), {x: batch})[0] == -2e9


def test_no_large_graph_is_ever_sent(sent):
    xs = [tf.placeholder(tf.float64, [None]) for _ in range(20)]
    feeds = {x: np.ones(120_000) for x in xs}
    total = tf.add_n([tf.reduce_sum(x) for x in xs])
    with tf.Session() as session:
        assert session.run(total, feeds) == 20 * 120_000.0
    assert max(nbytes for _, nbytes in sent) < 5_000_000


@pytest.mark.parametrize("persisted", [False, True])
def test_dask_arrays_are_fed_without_passing_through_here(cluster, persisted):
    lazy = da.arange(40, chunks=10, dtype="f8") * 2.0
    if persisted:
        lazy = cluster.persist(lazy)
    x = tf.placeholder(tf.float64, [None])
    v = tf.Variable(0.0, dtype=tf.float64)
    add = tf.group(v.assign_add(tf.reduce_sum(x)))
    with initialized() as session:
        for _ in range(3):
            session.run(add, {x: lazy})
        assert session.run(v) == 3 * 1560.0
        np.testing.assert_array_equal(session.run(x, {x: lazy}), np.arange(40) * 2.0)


def test_blocks_that_are_kept_on_workers_need_no_tasks_of_their_own(cluster, sent):
    lazy = da.arange(40, chunks=10, dtype="f8")
    kept, integers = map(cluster.persist, (lazy, lazy.astype("i8")))
    shorter = cluster.persist(lazy.map_blocks(lambda block: block[:9], chunks=lazy.chunks))
    x = tf.placeholder(tf.float64, [None])
    v = tf.Variable(0.0, dtype=tf.float64)
    add = v.assign_add(tf.reduce_sum(x))
    with initialized() as session:
        for n, array in enumerate((kept, integers), 1):
            assert session.run(add, {x: array}) == n * 780.0
            assert not [key for key in sent[-1][0] if "-block-" in key]
        with pytest.raises(InvalidArgumentError, match=r"block \(\d,\) .* has shape \(9,\)"):
            session.run(add, {x: shorter})
        assert session.run(v.assign(x[0]), {x: kept}) == 0.0
        np.testing.assert_array_equal(session.run([x, x + 1.0], {x: kept})[0], np.arange(40.0))


# -- transactions -----------------------------------------------------------------------------


def test_uninitialized_reads_raise_before_anything_is_sent(sent):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    with tf.Session() as session, pytest.raises(FailedPreconditionError, match=r"v.*w"):
        session.run(v + w)
    assert not sent


def test_a_run_with_outputs_raises_what_the_local_one_raises(two_workers):
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable(0.0, name="v")
    check = tf.check_numerics(tf.reduce_sum(x), "sum of x", name="check")
    add = v.assign_add(check)
    messages = []
    for context in (None, two_workers):
        with two_workers.as_current() if context else tf.name_scope(""), initialized() as session:
            with pytest.raises(InvalidArgumentError, match="sum of x") as caught:
                session.run(add, {x: [1.0, np.nan]})
            messages.append(str(caught.value))
            assert session.run(v) == 0.0
            assert session.run(add, {x: [1.0, 2.0]}) == 3.0
    assert messages[0] == messages[1]


def test_a_failure_surfaces_at_the_next_call_and_undoes_what_came_after(cluster):
    v, w = chunked(np.zeros(4), 2, "v"), tf.Variable(0.0, name="w")
    x = tf.placeholder(tf.float64, [4])
    add = tf.group(v.assign_add(tf.check_numerics(x, "x", name="check")), w.assign_add(1.0))
    good, bad = np.ones(4), np.array([1, 1, np.nan, 1])
    with initialized() as session:
        for _ in range(3):
            session.run(add, {x: good})
        session.run(add, {x: bad})
        with pytest.raises(InvalidArgumentError, match=r"check.*in run \d+") as caught:
            for _ in range(50):
                session.run(add, {x: good})
            session.run(w)
        assert caught.value.__cause__ is not None
        assert session.run([v, w])[1] == 3.0
        np.testing.assert_array_equal(session.run(v), np.full(4, 3.0))
        session.run(add, {x: bad})
        with pytest.raises(InvalidArgumentError, match="check"):
            session.engine.acquire().sync()
        session.run(add, {x: good})
        assert session.run(w) == 4.0
        session.run(add, {x: bad})
        with pytest.raises(InvalidArgumentError, match="check"):
            session.close()


@pytest.mark.parametrize("is_fetched", [True, False])
def test_a_failure_that_was_told_keeps_nothing_on_the_scheduler(cluster, is_fetched):
    x = tf.placeholder(tf.float64, [4])
    v = tf.Variable(np.zeros(4))
    add = v.assign_add(tf.check_numerics(x, "x"))
    with initialized() as session:
        wanted = add if is_fetched else add.op
        for bad in np.nan, np.inf, np.nan:
            with pytest.raises(InvalidArgumentError):
                session.run(wanted, {x: np.full(4, bad)})
                session.run(v)
        gc.collect()
        wait_until(
            lambda: all(future.status != "error" for future in list(cluster.futures.values())),
            "errors are let go of",
        )


def test_initialization_that_fails_leaves_variables_without_value(cluster):
    x = tf.placeholder(tf.float64, [2])
    v = tf.Variable(tf.check_numerics(x, "x"), name="v")
    with tf.Session() as session:
        session.run(v.initializer, {x: [1.0, np.inf]})
        with pytest.raises(InvalidArgumentError):
            session.engine.acquire().sync()
        with pytest.raises(FailedPreconditionError, match="v"):
            session.run(v)


def test_runs_in_flight_are_bounded(cluster):
    v = tf.Variable(0.0)
    add = tf.group(v.assign_add(1.0))
    with config.set(max_in_flight=4), initialized() as session:
        runs = session.engine.acquire().in_flight
        for _ in range(30):
            session.run(add)
            assert len(runs.runs) <= 4
        assert session.run(v) == 30.0


def test_effects_without_results_happen_before_the_run_returns(cluster):
    x = tf.placeholder(tf.float32, [])
    check = tf.Assert(x > 0.0, [x])
    with tf.Session() as session:
        session.run(check, {x: 1.0})
        with pytest.raises(InvalidArgumentError, match="assertion failed"):
            session.run(check, {x: -1.0})


def test_a_shape_that_only_the_run_knows(cluster):
    x = tf.placeholder(tf.float64, [None])
    v = tf.Variable(np.zeros(2), validate_shape=False)
    resize = tf.assign(v, tf.boolean_mask(x, x > 0.0), validate_shape=False)
    with initialized() as session:
        session.run(resize.op, {x: [1.0, -1.0, 2.0, 3.0]})
        np.testing.assert_array_equal(session.run(v), [1.0, 2.0, 3.0])


# -- sessions ---------------------------------------------------------------------------------


def test_sessions_are_private_unless_they_share_a_name(cluster):
    v = tf.Variable(0.0)
    add = tf.group(v.assign_add(1.0))
    with initialized() as one, initialized() as two:
        one.run(add)
        assert (one.run(v), two.run(v)) == (1.0, 0.0)
    with tf.Session("shared-on-cluster") as one, tf.Session("shared-on-cluster") as two:
        assert one.engine.acquire() is two.engine.acquire()
        one.run(v.initializer)
        for _ in range(5):
            one.run(add)
            two.run(add)
        one.close()
        assert two.run(v) == 10.0


def test_a_closed_session_leaves_nothing_behind(cluster):
    x = tf.placeholder(tf.float32, [None, 4])
    v = tf.Variable(np.zeros(4, "f4"))
    add = tf.group(v.assign_add(tf.reduce_sum(x, 0)))

    def left(dask_scheduler):
        return [str(key) for key in dask_scheduler.tasks if token in str(key)]

    large = np.ones((2 * config.get().feed_scatter_bytes // 16, 4), "f4")
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(3):  # as many runs that would be repeated on a loss, with what they were fed
            session.run(add, {x: large})
        executor = weakref.ref(session.engine.acquire())
        token = executor().token
        assert cluster.run_on_scheduler(left)
    del session
    gc.collect()
    assert executor() is None
    wait_until(lambda: not cluster.run_on_scheduler(left), "the scheduler forgets all that it had")


def test_checkpoints_are_written_and_read_by_workers(cluster, tmp_path):
    v = chunked(np.arange(10.0), 4, "v")
    n = tf.Variable(3, name="n")
    saver = tf.train.Saver()
    with initialized() as session:
        path = saver.save(session, str(tmp_path / "model"))
        session.run([v.assign_add(np.ones(10)), n.assign(0)])
        saver.restore(session, path)
        assert isinstance(session.engine.acquire().read(["v"])[0][0,], RemoteBlock)
        np.testing.assert_array_equal(session.run(v), np.arange(10.0))
        assert session.run(n) == 3
        (tmp_path / "model" / "v" / "c.0").write_bytes(b"nonsense")
        with pytest.raises(CorruptChunkError, match="v"):
            saver.restore(session, path)
        assert session.run(n) == 3


# -- what cannot be rebuilt -------------------------------------------------------------------


def test_lost_data_is_named_with_the_last_durable_version():
    error = unavailable(RuntimeError("gone"), "run 7", ["w", "b"], 5)
    assert isinstance(error, UnavailableError)
    assert all(word in str(error) for word in ("run 7", "w, b", "gone", "version is 5", "recover"))
