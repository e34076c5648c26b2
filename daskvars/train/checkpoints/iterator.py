"""Waiting for checkpoints that another process writes, to evaluate each of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from daskvars.train.checkpoints.checkpoint_state import latest_checkpoint

logger = logging.getLogger("daskvars")


def wait_for_new_checkpoint(
    checkpoint_dir: Any,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Return the path of a directory's newest checkpoint once it is another than the last one.

    Args:
      checkpoint_dir: the directory.
      last_checkpoint: path of the last one, None where there was none.
      seconds_to_sleep: seconds between two looks.
      timeout: seconds after which None is returned; None waits for ever.
    """
    logger.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logger.info("Found new checkpoint at %s", path)
            return path
        if stop is not None and time.monotonic() + seconds_to_sleep > stop:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the path of each new checkpoint of a directory, as it appears.

    One that is replaced by a newer one before it could be asked for is left out.

    Args:
      checkpoint_dir: the directory.
      min_interval_secs: seconds between two checkpoints at least.
      timeout: seconds after which it ends if there is no new one; None waits for ever.
      timeout_fn: function that is asked then whether it is to end; by default it does.

    Source: TensorFlow 1.15, ``tf.train.checkpoints_iterator``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     list(checkpoints_iterator(directory, timeout=0))
    []
    """
    path = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        start, path = time.monotonic(), found
        yield path
        time.sleep(max(0.0, start + min_interval_secs - time.monotonic()))
