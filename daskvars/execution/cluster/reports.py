"""What the scheduler's watchers tell a client: runs computed again, and workers that are paused.

The watchers are in `daskvars.remote.scheduler`; what they tell becomes events and warnings here, in
the client's thread.
"""

from __future__ import annotations

import logging
import time
import weakref
from functools import partial
from typing import Any

from distributed import Client

from daskvars.execution.engine import events
from daskvars.remote.dask_internals import unsubscribe
from daskvars.remote.scheduler import loss_reporter, paused_workers

logger = logging.getLogger("daskvars")
RECENT_S = 60.0  # ago, that what a worker was lost for may be why data is

_memory_losses: weakref.WeakKeyDictionary[Client, tuple[float, str]] = weakref.WeakKeyDictionary()


def listen_to_losses(client: Client, token: str) -> None:
    """Publish the losses of an executor, until `ignore_losses`."""
    client.register_plugin(loss_reporter.LossReporter())
    client.subscribe_topic(loss_reporter.topic(token), _publish)


def ignore_losses(client: Client, token: str) -> None:
    """Hear no more of the losses of an executor."""
    if client.status == "running":
        unsubscribe(client, loss_reporter.topic(token))


def listen_to_pauses(client: Client) -> None:
    """Warn of workers that are paused; called once for a client."""
    client.register_plugin(paused_workers.PausedWorkers())
    client.subscribe_topic(paused_workers.TOPIC, partial(_warn, weakref.ref(client)))


def recent_memory_loss(client: Client) -> str:
    """Return what was told of the last worker that was lost for its memory; "" if none was."""
    told_s, text = _memory_losses.get(client, (0.0, ""))
    return text if time.monotonic() < told_s + RECENT_S else ""


def _publish(event: tuple[float, dict[str, Any]]) -> None:
    _, message = event
    events.publish(events.RunsRepeated(message["num_runs"], message["worker"]))


def _warn(of: weakref.ref[Client], event: tuple[float, dict[str, Any]]) -> None:
    message, client = event[1], of()
    logger.warning("%s", message["text"])
    if message["is_gone"] and client is not None:
        _memory_losses[client] = time.monotonic(), message["text"]
