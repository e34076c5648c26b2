"""Messages of `tf.logging`, through Python's logger."""

import logging

import pytest

import daskvars.v1 as tf


@pytest.fixture(autouse=True)
def verbosity():
    before = tf.get_logger().level
    yield
    tf.get_logger().setLevel(before)


def test_levels_and_messages(caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    assert tf.logging.get_verbosity() == tf.logging.INFO == logging.INFO
    tf.logging.info("step %d", 3)
    tf.logging.debug("hidden")
    tf.logging.vlog(tf.logging.ERROR, "wrong")
    tf.logging.flush()
    assert [(r.levelname, r.message) for r in caplog.records] == [
        ("INFO", "step 3"),
        ("ERROR", "wrong"),
    ]


def test_messages_that_are_counted(caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    for step in range(5):
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 2, step)
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, step)
        tf.logging.log_if(tf.logging.INFO, "if %d", step == 3, step)
    messages = [record.message for record in caplog.records]
    assert sorted(messages) == ["every 0", "every 2", "every 4", "first 0", "first 1", "if 3"]
