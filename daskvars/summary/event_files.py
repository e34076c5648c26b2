"""Event files of either format: TensorBoard's where it is installed, else lines of JSON."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from daskvars.errors import UnimplementedError
from daskvars.state.stores.local_files import open_bytes
from daskvars.summary.event_lines import JsonLinesFile, read_json_lines
from daskvars.summary.records import Event

logger = logging.getLogger("daskvars")

INSTALL = "pip install 'daskvars[tensorboard]'"


class EventFile(Protocol):
    """A file that events are added to. Threads may share it."""

    def add(self, event: Event) -> None:
        """Write an event, at once or a little later."""

    def flush(self) -> None:
        """Write what waits."""

    def close(self) -> None:
        """Write what waits and close the file."""


def has_tensorboard() -> bool:
    """Return whether the package ``tensorboard`` is installed."""
    return find_spec("tensorboard") is not None


def new_event_file(logdir: str, suffix: str, max_queue: int, flush_secs: float) -> EventFile:
    """Make an event file in a directory, for TensorBoard where that is installed.

    Args:
      logdir: the directory; made if need be.
      suffix: ends the file's name.
      max_queue: how many events may wait.
      flush_secs: how many seconds one may wait.
    """
    if has_tensorboard():
        made: EventFile = _tfevents().TensorBoardFile(logdir, suffix, max_queue, flush_secs)
        return made
    _tell_once()
    return JsonLinesFile(logdir, suffix, max_queue, flush_secs)


@cache
def _tell_once() -> None:
    logger.warning(
        "tensorboard is not installed, so summaries are written as lines of JSON, which "
        "TensorBoard does not read: %s",
        INSTALL,
    )


def _tfevents() -> Any:
    return import_module("daskvars.summary.tfevents")  # it imports tensorboard, which is optional


def summary_iterator(path: str) -> Iterator[Event]:
    """Yield the events of an event file, in the format of TensorBoard or in lines of JSON.

    Args:
      path: the file, as `FileWriter` or TensorFlow wrote it. Of other programs' events, what
        `Event` has no field for is left out.

    Raises:
      OSError: the file cannot be read; a symbolic link or a pipe is not.
      ValueError: it holds something else; what is not complete at its end is left out.
      UnimplementedError: it is TensorBoard's, and ``tensorboard`` is not installed.

    >>> import glob, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with tf.summary.FileWriter(folder) as writer:
    ...     loss = tf.Summary.Value(tag="loss", simple_value=0.5)
    ...     writer.add_summary(tf.Summary(value=[loss]), 7)
    >>> (path,) = glob.glob(f"{folder}/*")
    >>> [(e.step, v.tag, v.simple_value) for e in summary_iterator(path) for v in e.summary.value]
    [(7, 'loss', 0.5)]
    """
    with open_bytes(path) as file:
        head = file.read(8)
        file.seek(0)
        is_tfevents = len(head) == 8 and not any(head[4:])  # a length below 4 GiB; no text has it
        if is_tfevents and not has_tensorboard():
            raise UnimplementedError.saying(
                f"{path} is in TensorBoard's format, which is read by it: {INSTALL}"
            )
        read = _tfevents().read_tfevents if is_tfevents else read_json_lines
        try:
            yield from read(file)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
