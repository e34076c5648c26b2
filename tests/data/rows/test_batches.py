"""Batches: every row once an epoch, in the same order whenever asked for."""

import dask.array
import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
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
    with (
        clusters.running(set_as_default=True) as client,
        tf.Graph().as_default(),
    ):
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
