"""Threads that fill queues for the length of a block: `tf.contrib.slim.queues`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.queue_runners import start_queue_runners

_GRACE_S = 120


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run a graph's queue runners while a block runs.

    Args:
      session: the session that they fill their queues in; it is closed if they do not stop.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     batch = tf.train.batch([tf.constant(3.0)], batch_size=2)
    ...     with tf.contrib.slim.queues.QueueRunners(sess):
    ...         sess.run(batch).tolist()
    [3.0, 3.0]
    """
    coordinator = Coordinator()
    threads = start_queue_runners(session, coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        try:
            coordinator.join(threads, stop_grace_period_secs=_GRACE_S)
        except RuntimeError:  # one waits for good
            session.close()
