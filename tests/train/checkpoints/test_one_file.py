"""A checkpoint whose path ends in ``.zip`` is one file, for whatever saves, restores or looks."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import zarr

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import (
    AlreadyExistsError,
    CorruptChunkError,
    InvalidArgumentError,
    NotFoundError,
    RestoreError,
    StoreError,
)
from daskvars.inspect_checkpoint import damages, differences
from daskvars.state import VariableRecord, list_variables, restore, save
from tests.state.samples import DTYPES, LAYOUTS, assert_same, cut, joined, sample, variable
from tests.waiting import wait_until

LARGE = np.arange(400 * 300.0).reshape(400, 300)
processes = multiprocessing.get_context("forkserver")


pytestmark = pytest.mark.usefixtures("graph_unless_eager")


@pytest.fixture
def variables():
    """Variables of every kind of size; the list and what is in them."""
    found = [
        tf.get_variable(
            "layer/w", initializer=np.arange(12.0).reshape(3, 4), chunks=((2, 1), (4,))
        ),
        tf.get_variable("layer/w/Adam", initializer=np.float32(3)),
        tf.get_variable("large", initializer=LARGE, chunks=((150, 250), (300,))),
        tf.get_variable("text", initializer=[b"a", b"bc"]),
        tf.get_variable("empty", initializer=np.zeros((0, 3))),
    ]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        yield sess, found, sess.run(found)


def changed(sess, variables):
    """Give the variables other values."""
    sess.run([v.assign(tf.zeros_like(v)) for v in variables if v.dtype.base_dtype != tf.string])


def assert_are(sess, variables, wanted):
    for found, value in zip(sess.run(variables), wanted, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("later", [False, True], ids=["save", "async"])
def test_saved_and_restored(tmp_path, variables, later):
    sess, found, wanted = variables
    saver = tf.train.Saver(async_save=later)
    path = saver.save(sess, str(tmp_path / "m.zip"), global_step=7)
    assert path == str(tmp_path / "m-7.zip")
    changed(sess, found)
    saver.restore(sess, path)  # waits for the save
    assert_are(sess, found, wanted)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m-7.zip", "m-7.zip.meta"]


def test_any_zarr_tool_reads_it(tmp_path, variables):
    sess, _, wanted = variables
    path = tf.train.Saver().save(sess, str(tmp_path / "m.zip"))
    assert zipfile.ZipFile(path).testzip() is None
    with zarr.storage.ZipStore(path) as store:
        group = zarr.open_group(store, mode="r")
        np.testing.assert_array_equal(group["layer/w"][:], wanted[0])
        np.testing.assert_array_equal(group["large"][:], LARGE)
        assert list(group["text"][:]) == [b"a", b"bc"]


def test_everything_knows_it(tmp_path, variables):
    sess, _, wanted = variables
    saver = tf.train.Saver(max_to_keep=2)
    paths = [saver.save(sess, str(tmp_path / "m.zip"), step) for step in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert [p for p in paths if os.path.exists(p)] == paths[2:], "older ones are deleted"
    assert not os.path.exists(f"{paths[1]}.meta")
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[3]
    assert tf.train.checkpoint_exists(paths[3])
    assert not tf.train.checkpoint_exists(paths[0])
    assert tf.train.get_checkpoint_mtimes(paths) == [os.path.getmtime(p) for p in paths[2:]]
    for place in paths[3], str(tmp_path):
        np.testing.assert_array_equal(tf.train.load_variable(place, "layer/w"), wanted[0])
        assert ("large", [400, 300]) in tf.train.list_variables(place)
        assert tf.train.load_checkpoint(place).has_tensor("text")
    assert list(damages(paths[3])) == []
    assert list(differences(paths[2], paths[3])) == []
    again = tf.train.Saver()
    again.recover_last_checkpoints(paths)
    assert again.last_checkpoints == paths[2:]


def test_the_graph_beside_it_restores_it(tmp_path, variables):
    sess, found, wanted = variables
    path = tf.train.Saver().save(sess, str(tmp_path / "m.zip"))
    names = [v.name for v in found]
    with tf.Graph().as_default(), tf.Session() as other:
        tf.train.import_meta_graph(f"{path}.meta").restore(other, path)
        assert_are(other, names, wanted)


def test_variables_begin_with_its_values(tmp_path, variables):
    sess, _, wanted = variables
    path = tf.train.Saver().save(sess, str(tmp_path / "m.zip"))
    with tf.Graph().as_default(), tf.Session() as other:
        v = tf.get_variable("new", [3, 4], tf.float64)
        tf.train.init_from_checkpoint(path, {"layer/w": "new"})
        other.run(v.initializer)
        np.testing.assert_array_equal(other.run(v), wanted[0])


def test_eager_variables(tmp_path):
    v = dv.Variable(LARGE, name="eager_v")
    saver = dv.train.Saver([v])
    path = saver.save(None, str(tmp_path / "m.zip"), 1)
    v.assign(LARGE * 0)
    saver.restore(None, path)
    np.testing.assert_array_equal(v.numpy(), LARGE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout(tmp_path, dtype):
    for number, chunks in enumerate(LAYOUTS):
        shape = tuple(sum(sizes) for sizes in chunks)
        array = sample(dtype, shape)
        record = VariableRecord("v", dtype, shape, chunks)
        blocks = cut(array, chunks) if chunks else {(): array}
        save({"v": (record, blocks)}, tmp_path / f"{number}.zip")
        found = restore(tmp_path / f"{number}.zip", {"v": (dtype, shape, chunks)})
        again = joined(found["v"], chunks) if chunks else found["v"][()]
        assert_same(again, array)


def test_a_checkpoint_is_replaced_and_nothing_else(tmp_path):
    path = tmp_path / "m.zip"
    for value in 1.0, 2.0:
        save({"v": variable("v", np.array(value))}, path)
    assert float(tf.train.load_variable(str(path), "v")) == 2
    with pytest.raises(AlreadyExistsError, match="allow overwriting"):
        save({"v": variable("v", np.array(3.0))}, path, overwrite=False)
    with zipfile.ZipFile(tmp_path / "theirs.zip", "w") as file:
        file.writestr("x", b"")
    (tmp_path / "text.zip").write_bytes(b"no archive")
    for name in "theirs.zip", "text.zip":
        before = (tmp_path / name).read_bytes()
        with pytest.raises(AlreadyExistsError, match="save elsewhere or remove it"):
            save({"v": variable("v", np.array(3.0))}, tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_a_save_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "m.zip"
    save({"v": variable("v", np.array(1.0))}, path)
    record, blocks = variable("v", np.array(2.0))
    with pytest.raises(InvalidArgumentError, match="block"):
        save({"w": variable("w", LARGE), "v": (record, {})}, path)
    assert float(tf.train.load_variable(str(path), "v")) == 1
    assert os.listdir(tmp_path) == ["m.zip"]
    assert blocks


def test_where_it_cannot_be_it_is_refused(tmp_path, variables):
    sess, _, _ = variables
    saver = tf.train.Saver()
    with pytest.raises(InvalidArgumentError, match="is one file, which is written whole"):
        tf.Session(store=str(tmp_path / "store.zip"))
    with pytest.raises(InvalidArgumentError, match="in one file is on a disk"):
        saver.save(sess, "memory://m.zip")
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        saver.restore(sess, str(tmp_path / "none.zip"))
    with pytest.raises(NotFoundError, match="no file"):
        tf.train.load_variable(str(tmp_path / "none.zip"), "v")
    assert not os.listdir(tmp_path)


def test_a_directory_of_that_name_stays_one(tmp_path, variables):
    sess, found, wanted = variables
    path = str(tmp_path / "run.zip" / "m")
    saver = tf.train.Saver()
    saver.save(sess, path)
    assert os.path.isdir(tmp_path / "run.zip" / "m")
    changed(sess, found)
    saver.restore(sess, tf.train.latest_checkpoint(str(tmp_path / "run.zip")))
    assert_are(sess, found, wanted)


def test_damage_is_told(tmp_path, variables):
    sess, found, _ = variables
    saver = tf.train.Saver()
    path = saver.save(sess, str(tmp_path / "m.zip"))
    whole = Path(path).read_bytes()
    data = bytearray(whole)
    data[data.index(LARGE[200, :8].tobytes())] ^= 1
    Path(path).write_bytes(data)
    (said,) = damages(path)
    assert "(1, 0) of variable 'large'" in said
    before = sess.run(found)
    with pytest.raises(CorruptChunkError, match="'large'"):
        saver.restore(sess, path)
    Path(path).write_bytes(whole[:-50])
    with pytest.raises(StoreError, match="no whole zip archive"):
        saver.restore(sess, path)
    assert not tf.train.checkpoint_exists(path)
    assert_are(sess, found, before)


def test_restoring_is_strict(tmp_path):
    save({"v": variable("v", np.zeros(3))}, tmp_path / "m.zip")
    with pytest.raises(RestoreError, match="weights"):
        restore(tmp_path / "m.zip", {"weights": ("float64", (3,), ((3,),))})


def save_on_and_on(path: str, saved) -> None:
    """Save one checkpoint after the other until killed, noting the last step saved."""
    step = saved.value
    while True:
        step += 1
        save({f"v{i}": variable(f"v{i}", np.full((300, 200), step)) for i in range(8)}, path)
        saved.value = step


@pytest.mark.slow
def test_a_killed_save_leaves_the_old_file_the_new_or_none(tmp_path):
    chance = random.Random(1)
    for trial in range(12):
        path = str(tmp_path / str(trial) / "m.zip")
        saved = processes.Value("q", 0, lock=False)
        process = processes.Process(target=save_on_and_on, args=(path, saved))
        process.start()
        directory = os.path.dirname(path)
        if trial % 2:  # in the first save, or after it
            wait_until(partial(os.path.isdir, directory), "the first save", 100, 0.0005)
        else:
            wait_until(lambda count=saved: count.value, "a save", 100, 0.0005)
        time.sleep(chance.uniform(0, 0.01 if trial % 2 else 0.03))
        process.kill()
        process.join()
        if not os.path.exists(path):
            assert saved.value == 0
            continue
        layout = ("int64", (300, 200), ((300,), (200,)))
        found = restore(path, {key: layout for key, _ in list_variables(path)})
        steps = {int(n) for blocks in found.values() for n in np.unique(blocks[0, 0])}
        assert len(found) == 8
        assert steps in ({saved.value}, {saved.value + 1})
        save({"v": variable("v", np.array(1.0))}, path)
        assert list_variables(path) == [("v", ())]
