"""A saver killed at any moment: the newest checkpoint is whole, and has its graph beside it."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import time
from functools import partial

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.waiting import wait_until

NUM_TRIALS = 8

# Children are forked from a server that has imported everything (tests/fixtures.py).
processes = multiprocessing.get_context("forkserver")


def build():
    """Build a few variables; return the operation that adds one to every element of each."""
    variables = [
        tf.get_variable(f"w{i}", initializer=np.zeros((16, 8)), chunks=((8, 8), (8,)))
        for i in range(4)
    ]
    return tf.group(*[v.assign_add(np.ones((16, 8))) for v in variables], name="add")


def train(directory: str, saved) -> None:
    """Go on from the newest checkpoint, saving after each step, until killed."""
    with tf.Graph().as_default(), tf.Session() as sess:
        step = build()
        saver = tf.train.Saver(max_to_keep=2, save_relative_paths=True)
        sess.run(tf.global_variables_initializer())
        newest = tf.train.latest_checkpoint(directory)
        if newest is not None:
            saver.restore(sess, newest)
            state = tf.train.get_checkpoint_state(directory)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        number = int(sess.run("w0:0")[0, 0])
        while True:
            sess.run(step)
            number += 1
            saver.save(sess, os.path.join(directory, "m"), number)
            saved.value = number


def restored_step(directory: str) -> int:
    """Import the graph beside the newest checkpoint, restore, and return its one step."""
    newest = tf.train.latest_checkpoint(directory)
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(newest + ".meta")
        saver.restore(sess, newest)
        values = sess.run(tf.global_variables())
        assert len(values) == 4
    (step,) = {int(x) for value in values for x in np.unique(value)}
    assert newest.endswith(f"m-{step}")
    return step


def has_saved(saved, step):
    return saved.value > step


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_at_most_the_save_under_way(tmp_path):
    directory, step = str(tmp_path / "run"), 0
    for trial in range(NUM_TRIALS):
        saved = processes.Value("q", step, lock=False)
        process = processes.Process(target=train, args=(directory, saved))
        process.start()
        wait_until(partial(has_saved, saved, step), "the first save", 100, 0.001)
        time.sleep(random.Random(trial).uniform(0, 0.03))
        process.kill()
        process.join()
        found = restored_step(directory)
        assert saved.value <= found <= saved.value + 1
        step = found
    shutil.copytree(directory, tmp_path / "copy")
    shutil.rmtree(directory)
    assert restored_step(str(tmp_path / "copy")) == step
    with tf.Graph().as_default(), tf.Session() as sess:
        build()
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "copy/m"), 0)  # with which goes what was left
    left = {path for path in (tmp_path / "copy").iterdir() if path.name != "checkpoint"}
    # A folder in which nothing is yet may be anybody's.
    left -= {path for path in left if path.is_dir() and not any(path.iterdir())}
    assert all(tf.train.checkpoint_exists(str(path)) for path in left), left
