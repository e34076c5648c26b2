"""What the scheduler's watchers tell a client: runs computed again, and workers that are paused.

The watchers are in `daskvars.remote.scheduler`; what they tell becomes events and warnings here, in
the client's thread.
"""

from __future__ import annotations

import logging
from typing import Any

from distributed import Client

from daskvars.execution.engine import events
from daskvars.remote.scheduler import loss_reporter, paused_workers

logger = logging.getLogger("daskvars")


def listen_to_losses(client: Client, token: str) -> None:
    """Publish the losses of an executor, until `ignore_losses`."""
    client.register_plugin(loss_reporter.LossReporter())
    client.subscribe_topic(loss_reporter.topic(token), _publish)


def ignore_losses(client: Client, token: str) -> None:
    """Hear no more of the losses of an executor."""
    if client.status == "running":
        client.unsubscribe_topic(loss_reporter.topic(token))


def listen_to_pauses(client: Client) -> None:
    """Warn of workers that are paused; called once for a client."""
    client.register_plugin(paused_workers.PausedWorkers())
    client.subscribe_topic(paused_workers.TOPIC, _warn)


def _publish(event: tuple[float, dict[str, Any]]) -> None:
    _, message = event
    events.publish(events.RunsRepeated(message["num_runs"], message["worker"]))


def _warn(event: tuple[float, dict[str, Any]]) -> None:
    logger.warning("%s", event[1]["text"])
