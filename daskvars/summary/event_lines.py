"""Event files as lines of JSON, which is what is written where ``tensorboard`` is not installed.

A value of a summary is a line of its own, which any tool reads: ``pandas.read_json(path,
lines=True)`` gives a table of `wall_time`, `step`, `tag`, `kind` and `value`.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from daskvars.summary.records import Event, SummaryValue
from daskvars.surface.messages import from_plain

FILE_VERSION = "daskvars.Event:1"

MAX_BYTES = 1 << 26  # in a line
_numbers = itertools.count()

KINDS = {
    "simple_value": "scalar",
    "histo": "histogram",
    "image": "image",
    "audio": "audio",
    "tensor": "tensor",
}
FIELDS = {kind: field for field, kind in KINDS.items()}


def lines_of(event: Event) -> list[str]:
    """Return the lines of an event: one, or one per value of its summary."""
    data = event.plain()
    data.setdefault("step", 0)
    values = data.pop("summary", {}).get("value", [])
    if not values:
        return [json.dumps(data)]
    return [json.dumps(data | _of_value(value)) for value in values]


def _of_value(value: dict[str, Any]) -> dict[str, Any]:
    field = next((field for field in KINDS if field in value), "simple_value")
    line = {"tag": value.get("tag", ""), "kind": KINDS[field], "value": value.get(field, 0.0)}
    return line | ({"metadata": value["metadata"]} if "metadata" in value else {})


class JsonLinesFile:
    """A new event file in a directory, ``events.out.jsonl.<time>.<host>...``.

    Args:
      logdir: the directory; made if need be.
      suffix: ends the file's name.
      max_queue: how many lines may wait before they are written.
      flush_secs: how many seconds a line may wait at most, looked at when the next is added.
    """

    def __init__(self, logdir: str, suffix: str, max_queue: int, flush_secs: float) -> None:
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        os.makedirs(logdir, exist_ok=True)
        now, number = time.time(), next(_numbers)
        name = f"events.out.jsonl.{int(now):010d}.{platform.node()}.{os.getpid()}.{number}{suffix}"
        self._file = open(os.path.join(logdir, name), "x")  # noqa: SIM115
        self._waiting += lines_of(Event(wall_time=now, file_version=FILE_VERSION))
        self._write()

    def add(self, event: Event) -> None:
        """Write an event, or have it wait for more."""
        with self._lock:
            self._waiting += lines_of(event)
            late = time.monotonic() - self._flushed > self._flush_secs
            if late or len(self._waiting) >= self._max_queue:
                self._write()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            self._write()

    def close(self) -> None:
        """Write what waits and close the file."""
        with self._lock:
            self._write()
            self._file.close()

    def _write(self) -> None:
        if self._waiting:
            self._file.write("\n".join(self._waiting) + "\n")
            self._file.flush()
            self._waiting.clear()
        self._flushed = time.monotonic()


def read_json_lines(file: BinaryIO) -> Iterator[Event]:
    """Yield the events of an open file. Values of one time and step are one event again.

    Raises:
      ValueError: it holds something else; a last line that is not complete is left out.
    """
    pending: Event | None = None
    for number, line in enumerate(iter(lambda: file.readline(MAX_BYTES), b""), 1):
        if not line.endswith(b"\n"):
            if len(line) == MAX_BYTES:
                raise ValueError(f"line {number} is longer than any event")
            break  # still being written
        try:
            event = _event(json.loads(line.decode("utf-8", "replace")))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ValueError(f"line {number} is no event: {error}") from None
        if pending is not None and _belong_together(pending, event):
            pending.summary.value.extend(event.summary.value)
            continue
        if pending is not None:
            yield pending
        pending = event
    if pending is not None:
        yield pending


def _event(data: dict[str, Any]) -> Event:
    event = from_plain(Event, data)
    if "tag" in data:
        for name in ("kind", "value"):
            if name not in data:
                raise ValueError(f"{name!r} is missing")
        if not isinstance(data["kind"], str) or data["kind"] not in FIELDS:
            raise ValueError(f"'kind' is {data['kind']!r:.80}; wanted one of {', '.join(FIELDS)}")
        value = {"tag": data["tag"], FIELDS[data["kind"]]: data["value"]}
        if "metadata" in data:
            value["metadata"] = data["metadata"]
        event.summary.value.append(from_plain(SummaryValue, value))
    return event


def _belong_together(first: Event, second: Event) -> bool:
    return (
        first.HasField("summary")
        and second.HasField("summary")
        and (first.wall_time, first.step) == (second.wall_time, second.step)
    )
