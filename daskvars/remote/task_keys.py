"""What the keys of tasks tell: which executor sent them, and in which run.

A key is ``label-token-number-...``: the label groups tasks on the dashboard, the token belongs to
one executor, the number to one run. Keys that are sent once for all runs have ``token.`` in them.
Those under which there are outputs that stay where they are end in ``-o`` and a number.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

_TOKEN = re.compile(r"-(0[0-9a-f]{15})(?:-(\d+)-|[-.])")


READ = "read"  # the label of tasks that give what a client reads
_OUTPUTS = re.compile(r"-o\d+$")


def outputs_key(label: str, stamp: str, number: int) -> str:
    """Return the key of a task whose outputs stay where they are.

    >>> outputs_key("train/step", "0123456789abcdef-7", 3)
    'train/step-0123456789abcdef-7-o3'
    """
    return f"{label}-{stamp}-o{number}"


def has_outputs(key: Any) -> bool:
    """Return whether a key is one of an executor's tasks whose outputs stay where they are.

    >>> has_outputs("step-0123456789abcdef-7-o3"), has_outputs("feed-0123456789abcdef-7-3")
    (True, False)
    """
    return isinstance(key, str) and _OUTPUTS.search(key) is not None and is_ours(key)


def read_key(stamp: str, number: int) -> str:
    """Return the key of a task that gives what stays on a worker as a result of its own.

    >>> read_key("0123456789abcdef-7", 0)
    'read-0123456789abcdef-7-0'
    """
    return f"{READ}-{stamp}-{number}"


def is_read(key: Any) -> bool:
    """Return whether a key is one of `read_key`.

    >>> is_read("read-0123456789abcdef-7-0"), is_read("feed-0123456789abcdef-7-0")
    (True, False)
    """
    return label_of(key) == READ and is_ours(key)


def new_token() -> str:
    """Return a text that no other executor has; a digit begins it, so Dask ends the label there.

    >>> is_ours(f"train/step-{new_token()}-7-0")
    True
    """
    return f"0{uuid.uuid4().hex[:15]}"


def is_ours(key: Any) -> bool:
    """Return whether a task was sent by an executor.

    >>> is_ours("sum-0123456789abcdef-7-0"), is_ours("x-0123456789abcdef.2"), is_ours(("x", 0))
    (True, True, False)
    """
    return _TOKEN.search(str(key)) is not None


def label_of(key: Any) -> str:
    """Return what a task is called on the dashboard.

    >>> label_of("train/step-0123456789abcdef-7-o3")
    'train/step'
    """
    return str(key).partition("-")[0]


def run_of(key: Any) -> tuple[str, str] | None:
    """Return the executor's token and the run's number; None for what is no task of a run.

    >>> run_of("sum-0123456789abcdef-7-0"), run_of("program-0123456789abcdef.2-1")
    (('0123456789abcdef', '7'), None)
    """
    found = _TOKEN.search(key) if isinstance(key, str) else None
    return (found[1], found[2]) if found is not None and found[2] is not None else None
