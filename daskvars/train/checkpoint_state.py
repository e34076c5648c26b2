"""The record of checkpoints in a directory: a file `checkpoint` that names them, newest last.

TensorFlow keeps a text protocol buffer under that name; here it is JSON with the same fields.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daskvars.errors import OpError
from daskvars.state import list_variables


@dataclass
class CheckpointState:
    """What the file `checkpoint` of a directory says.

    Attributes:
      model_checkpoint_path: path of the newest checkpoint.
      all_model_checkpoint_paths: paths of all that are kept, oldest first.
      all_model_checkpoint_timestamps: when each was saved, seconds since 1970.
    """

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return whether there is a complete checkpoint at the path."""
    try:
        list_variables(str(checkpoint_prefix))
    except OpError:
        return False
    return True


def state_path(directory: str, latest_filename: str | None = None) -> Path:
    """Return where the record of a directory is."""
    return Path(directory or ".") / (latest_filename or "checkpoint")


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    relative: bool = False,
    timestamps: Sequence[float] | None = None,
) -> None:
    """Write the record of a directory; a reader sees the old one or the new one."""
    paths = list(all_model_checkpoint_paths or [])
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
    times = list(timestamps or [time.time()] * len(paths))

    def written(path: str) -> str:
        return os.path.relpath(path, save_dir or ".") if relative else path

    text = json.dumps({
        "model_checkpoint_path": written(model_checkpoint_path),
        "all_model_checkpoint_paths": [written(path) for path in paths],
        "all_model_checkpoint_timestamps": times,
    }, indent=1)  # fmt: skip
    target = state_path(save_dir, latest_filename)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    fresh.write_text(text)
    fresh.replace(target)


def get_checkpoint_state(
    checkpoint_dir: str, latest_filename: str | None = None
) -> CheckpointState | None:
    """Return the record of a directory, or None where there is none.

    Raises:
      ValueError: the file is there but is no such record.
    """
    path = state_path(str(checkpoint_dir), latest_filename)
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        found: Any = json.loads(text)
        newest = str(found["model_checkpoint_path"])
        paths = [str(p) for p in found["all_model_checkpoint_paths"]]
        times = [float(t) for t in found.get("all_model_checkpoint_timestamps", [])]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a checkpoint record: {error}") from None

    def absolute(p: str) -> str:
        return p if os.path.isabs(p) or "://" in p else os.path.join(checkpoint_dir, p)

    if not os.path.isabs(newest) and "://" not in newest and not checkpoint_exists(newest):
        newest, paths = absolute(newest), [absolute(p) for p in paths]
    return CheckpointState(newest, paths, times)


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Return the path of the newest checkpoint of a directory, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path
