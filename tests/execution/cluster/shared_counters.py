"""A program that several clients run: it counts up, in this process or in others."""

from __future__ import annotations

import multiprocessing

import daskvars.v1 as tf
from daskvars import config
from tests.clusters import connected

# Children are forked from a server that has imported everything (tests/fixtures.py).
processes = multiprocessing.get_context("forkserver")


def counters():
    """Make a counter and a table, and what adds one to both."""
    count = tf.get_variable("count", [], tf.int64, initializer=tf.zeros_initializer())
    table = tf.get_variable("table", [8], tf.int64, initializer=tf.zeros_initializer(), chunks=4)
    step = tf.group(count.assign_add(1), table.assign_add(tf.ones([8], tf.int64)))
    return count, table, step


def keeper(cluster):
    return cluster.cluster.scheduler.plugins["daskvars-versions"]


def state_of(cluster, name):
    return keeper(cluster).states[name]


def blocks_of(session):
    """The record and the blocks of each variable of a session on a cluster, by key."""
    engine = session.engine
    keys = sorted(engine.values.capture()[1])
    blocks = engine.acquire().read(keys)
    return {
        key: (engine.values.record(key), found) for key, found in zip(keys, blocks, strict=True)
    }


def add(address, name, num_runs, consistency, is_fetched, done):
    """Count up as a client of its own."""
    with (
        config.set(fsync_seals=False),
        tf.Graph().as_default(),
        connected(address, set_as_default=True),
        tf.Session(store=name, consistency=consistency) as session,
    ):
        count, _, step = counters()
        for number in range(num_runs):
            session.run([step, count] if is_fetched else step)
            done.value = number + 1


def started(*arguments):
    """Start a process that counts up; give it and the number of its runs so far."""
    done = processes.Value("q", 0, lock=False)
    process = processes.Process(target=add, args=(*arguments, done))
    process.start()
    return process, done
