"""Events as lines of JSON, and back.

A value of a summary is a line of its own, which any tool reads: ``pandas.read_json(path,
lines=True)`` gives a table of `wall_time`, `step`, `tag`, `kind` and `value`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from daskvars.messages import from_plain
from daskvars.state.stores.local_files import open_text
from daskvars.summary.records import Event, SummaryValue

MAX_CHARACTERS = 1 << 24  # in a line

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


def summary_iterator(path: str) -> Iterator[Event]:
    """Yield the events of an event file. Values of one time and step are one event again.

    Args:
      path: the file, as `FileWriter` wrote it.

    Raises:
      OSError: the file cannot be read; a symbolic link or a pipe is not.
      ValueError: it holds something else; a last line that is not complete is left out.
    """
    pending: Event | None = None
    with open_text(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_CHARACTERS), ""), 1):
            if not line.endswith("\n"):
                if len(line) == MAX_CHARACTERS:
                    raise ValueError(f"{path}, line {number}: longer than any event")
                break  # still being written
            try:
                event = _event(json.loads(line))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
                raise ValueError(f"{path}, line {number} is no event: {error}") from None
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
