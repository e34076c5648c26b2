"""Batches: every row once an epoch, in the same order whenever asked for."""

import os
import time
from functools import partial

import dask.array
import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.data.rows.order import RowOrder
from daskvars.errors import InvalidArgumentError
from daskvars.remote.tasks.row_tasks import picked_between
from tests import clusters

ROWS = np.arange(23)


def stored(tmp_path, chunk=4):
    array = zarr.create_array(
        LocalStore(tmp_path / "x.zarr"), shape=(23,), chunks=(chunk,), dtype="int64", overwrite=True
    )
    array[:] = ROWS
    return array


def kinds(tmp_path):
    return {
        "numpy": ROWS,
        "zarr": stored(tmp_path),
        "dask": dask.array.from_array(ROWS, chunks=((5, 1, 9, 8),)),
    }


@pytest.mark.parametrize("kind", ["numpy", "zarr", "dask"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_every_row_once_an_epoch(tmp_path, kind, shuffle):
    data = kinds(tmp_path)[kind]
    seed = 3 if shuffle else None
    made = dv.data.batches((data, ROWS * 2), 4, shuffle=shuffle, epochs=2, window=2, seed=seed)
    found = list(made)
    assert [len(x) for x, _ in found] == [4, 4, 4, 4, 4, 3] * 2
    for x, y in found:
        np.testing.assert_array_equal(y, 2 * x)
    epochs = [np.concatenate([x for x, _ in found[i : i + 6]]).tolist() for i in (0, 6)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == ROWS.tolist()
    assert (epochs[0] == ROWS.tolist()) is not shuffle and (epochs[0] == epochs[1]) is not shuffle


def test_the_seed_alone_decides(tmp_path):
    data = stored(tmp_path)

    def order(**options):
        made = dv.data.batches(data, 4, shuffle=True, **options)
        return np.concatenate(list(made)).tolist()

    assert order(seed=1) == order(seed=1, prefetch=0) == order(seed=1, prefetch=9)
    assert order(seed=1) != order(seed=2)


def test_a_window_is_all_that_is_read(tmp_path):
    first = next(dv.data.batches(stored(tmp_path), 8, shuffle=True, window=2, prefetch=0))
    assert len({row // 4 for row in first.tolist()}) <= 2


@pytest.mark.parametrize("stop", [0, 3, 6, 8])
def test_it_goes_on_from_a_state(tmp_path, stop):
    options = {"shuffle": True, "epochs": 2, "window": 2}
    whole = list(dv.data.batches(stored(tmp_path), 4, **options))
    first = dv.data.batches(stored(tmp_path), 4, **options)
    for _ in range(stop):
        next(first)
    again = dv.data.batches(stored(tmp_path), 4, **options)
    again.state = dict(first.state)
    for one, other in zip(whole[stop:], again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_groups_dicts_and_lists_keep_their_form(tmp_path):
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("x", data=ROWS, chunks=(6,))
    group.create_array("y", data=ROWS[:, None] * 1.0, chunks=(5, 1))
    batch = next(dv.data.batches(group, 4))
    assert sorted(batch) == ["x", "y"] and batch["y"].shape == (4, 1)
    assert isinstance(next(dv.data.batches([ROWS, ROWS], 4)), list)
    assert len(list(dv.data.batches(ROWS, 4, drop_remainder=True))) == 5


def test_dicts_of_placeholders_are_feeds():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int64, [None])
        total = tf.reduce_sum(x)
        with tf.Session() as session:
            sums = [session.run(total, feed) for feed in dv.data.batches({x: ROWS}, 10)]
    assert sum(sums) == ROWS.sum()


@pytest.mark.parametrize(
    ("arrays", "options"),
    [((ROWS, ROWS[1:]), {}), ((), {}), (np.int64(3), {}), (ROWS, {"batch_size": 0})],
)
def test_what_does_not_go_together_is_refused(arrays, options):
    with pytest.raises(InvalidArgumentError, match=r"batches\(\)"):
        dv.data.batches(arrays, **{"batch_size": 2, **options})
    with pytest.raises(InvalidArgumentError, match="was it of other data"):
        dv.data.batches(ROWS, 4).state = {"epoch": 0, "position": 7}


@pytest.mark.cluster
def test_on_a_cluster_batches_are_lazy_and_come_again_after_a_loss(tmp_path):
    expected = list(dv.data.batches(stored(tmp_path), 4, shuffle=True, window=2))
    with clusters.running(set_as_default=True) as client, tf.Graph().as_default():
        made = dv.data.batches(stored(tmp_path), 4, shuffle=True, window=2)
        x = tf.placeholder(tf.int64, [None])
        same = tf.identity(x)
        with tf.Session() as session:
            for number, (batch, rows) in enumerate(zip(made, expected, strict=True)):
                assert isinstance(batch, dask.array.Array) and batch.shape == rows.shape
                if number == 2:
                    address = next(iter(client.has_what()))
                    client.run(
                        lambda: __import__("os")._exit(1),
                        workers=[address],
                        wait=False,
                        on_error="ignore",
                    )
                np.testing.assert_array_equal(session.run(same, {x: batch}), rows)


@pytest.mark.parametrize("seed", [0, 5])
def test_a_seed_without_a_shuffle_is_refused(seed):
    with pytest.raises(InvalidArgumentError, match=rf"seed={seed} .*shuffle=True"):
        dv.data.batches(ROWS, 4, seed=seed)
    assert next(dv.data.batches(ROWS, 4)).tolist() == [0, 1, 2, 3]
    unsaid, zero = (dv.data.batches(ROWS, 4, shuffle=True, seed=s) for s in (None, 0))
    np.testing.assert_array_equal(np.concatenate(list(unsaid)), np.concatenate(list(zero)))


def test_a_part_of_a_shuffled_batch_needs_few_blocks():
    order = RowOrder((32,) * 16, 3, 4)
    for start in range(0, 512 - 24, 24):
        picks = order.picks(0, start, start + 24)
        assert sum(pick.high - pick.low for pick in picks) == 24
        halves = [{p.block for p in picked_between(picks, low, low + 12)} for low in (0, 12)]
        windows = 1 + (start // 128 != (start + 23) // 128)
        assert all(len(half) <= 2 * windows for half in halves)


@pytest.mark.parametrize("sizes", [(32,) * 8, (5, 1, 9, 8), (7,)])
def test_windows_give_all_their_rows(sizes):
    order = RowOrder(sizes, 1, 4)
    found = [
        (pick.block, rank)
        for start in range(0, order.num_rows, 3)
        for pick in order.picks(2, start, min(start + 3, order.num_rows))
        for rank in range(pick.low, pick.high)
    ]
    assert sorted(found) == [(b, r) for b, size in enumerate(sizes) for r in range(size)]


LARGE, WIDTH, PARTS = 512, 64, 2


def stepped(place, shuffle, kill=None):
    """Return the sums of a few batches, computed by a step in two parts on a table that is cut."""
    found = []
    with tf.Graph().as_default(), config.set(batch_parts=PARTS):
        ids = tf.placeholder(tf.int64, [None, WIDTH])
        start = np.random.default_rng(1).normal(size=(8, 4))
        table = tf.get_variable("table", initializer=start, chunks=(4, 4))
        rows = tf.nn.embedding_lookup(table, ids)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(rows)))
        batches = dv.data.batches({ids: read(place)}, 64, shuffle=shuffle, epochs=2)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for number, feed in enumerate(batches):
                if kill is not None and number in (3, 9):
                    kill()
                if number == 12:
                    break
                found.append(session.run([tf.reduce_sum(rows), train], feed)[0])
            return np.stack(found).tobytes(), session.run(table).tobytes()


def read(place):
    return zarr.open_array(place, mode="r")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "ids"
    values = np.random.default_rng(0).integers(0, 8, (LARGE, WIDTH))
    zarr.create_array(folder, data=values, chunks=(32, WIDTH))
    return folder


def received(dask_worker):
    """Return the bytes that a worker has fetched from others."""
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_read_the_rows_that_they_use(place, shuffle, count):
    expected = stepped(place, shuffle)
    with clusters.running(count) as client, client.as_current():
        assert stepped(place, shuffle) == expected
        if count == 2:  # each worker's half of a batch is 16 KiB; its rows of the table are few
            before = sum(client.run(received).values())
            assert stepped(place, shuffle) == expected
            moved = sum(client.run(received).values()) - before
            assert moved < 2 * 32 * WIDTH * 8  # of twelve batches: the first alone may move


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_killed_worker_changes_no_row(place, shuffle):
    expected = stepped(place, shuffle)
    with clusters.running(2) as client, client.as_current():
        kill = partial(clusters.kill_a_worker, client)
        assert stepped(place, shuffle, kill) == expected


@pytest.mark.cluster
def test_blocks_of_dask_arrays_that_are_computed_are_so_once(tmp_path):
    data = np.arange(512 * 8).reshape(512, 8)
    counted = tmp_path / "counted"
    counted.mkdir()

    def noted(block):
        if block.size:
            (counted / f"{block.flat[0]}-{os.getpid()}-{time.time_ns()}").touch()
        return block

    lazy = dask.array.from_array(data, chunks=(128, 8)).map_blocks(
        noted, dtype=data.dtype, meta=np.empty((0, 0), data.dtype)
    )
    lazy = lazy.map_blocks(np.negative, dtype=data.dtype)
    with clusters.running(2) as client, client.as_current(), tf.Graph().as_default():
        x = tf.placeholder(tf.int64, [None, 8])
        with tf.Session() as session, config.set(batch_parts=2):
            found = [
                session.run(tf.reduce_sum(x), {x: batch}) for batch in dv.data.batches(lazy, 64)
            ]
    assert found == [-part.sum() for part in np.split(data, 8)]
    assert len(list(counted.iterdir())) == 4
