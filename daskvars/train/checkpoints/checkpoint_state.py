"""The record of checkpoints in a directory: a file `checkpoint` that names them, newest last.

It is text, a field a line, as TensorFlow writes it: ``model_checkpoint_path: "model-3"``. Paths in
it are relative to the directory where the checkpoints were saved under a relative path, or `Saver`
was asked to write them so: such a directory can be copied and moved.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from daskvars.errors import NotFoundError, OpError
from daskvars.state import delete_snapshot, is_complete, open_zarr_store
from daskvars.state.external.tensorflow.reading import object_names_of
from daskvars.state.format.snapshot import delete_interrupted
from daskvars.state.stores.addresses import (
    INDEX_SUFFIX,
    archive_path,
    is_elsewhere,
    local_path,
    tensorflow_prefix,
    without_file_scheme,
)
from daskvars.state.stores.files import read_file, remove_file, write_file
from daskvars.state.stores.objects import child_names, delete, in_parallel, join
from daskvars.surface.accepted import accepts

logger = logging.getLogger("daskvars")


@dataclass
class CheckpointState:
    """What the file `checkpoint` of a directory says.

    Attributes:
      model_checkpoint_path: path of the newest checkpoint.
      all_model_checkpoint_paths: paths of all that are kept, oldest first.
      all_model_checkpoint_timestamps: when each was saved, seconds since 1970.
      last_preserved_timestamp: when a checkpoint was last kept for ever.

    >>> import tempfile, os
    >>> place = tempfile.TemporaryDirectory()
    >>> saver = dv.train.Saver({"w": dv.Variable(1.0)}, max_to_keep=2)
    >>> for step in range(3):
    ...     _ = saver.save(None, place.name + "/m", step)
    >>> state = dv.train.get_checkpoint_state(place.name)
    >>> [os.path.basename(path) for path in state.all_model_checkpoint_paths]
    ['m-1', 'm-2']
    >>> place.cleanup()
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float | None = None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return whether there is a complete checkpoint, or a file such as its graph, at the path.

    Args:
      checkpoint_prefix: the path, as `Saver.save` returned it.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> path = dv.train.Saver({"w": dv.Variable(1.0)}).save(None, place.name + "/m")
    >>> checkpoint_exists(path), checkpoint_exists(path + "-7")
    (True, False)
    >>> place.cleanup()
    """
    is_file = os.path.isfile(checkpoint_prefix) and archive_path(checkpoint_prefix) is None
    return is_file or is_checkpoint(checkpoint_prefix)


def is_checkpoint(checkpoint_prefix: str) -> bool:
    """Return whether there is a complete checkpoint at the path."""
    return is_complete(os.fspath(checkpoint_prefix))


def state_path(directory: str, latest_filename: str | None = None) -> str:
    """Return where the record of a directory is."""
    return os.path.join(directory or ".", latest_filename or "checkpoint")


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Return what the record of a directory should say.

    Where `save_dir` is relative, paths become relative to it.

    Args:
      save_dir: the directory.
      model_checkpoint_path: path of the newest checkpoint.
      all_model_checkpoint_paths: paths of all that are kept, oldest first.
      all_model_checkpoint_timestamps: when each of them was saved, seconds since 1970.
      last_preserved_timestamp: when a checkpoint was last kept for ever.

    Raises:
      ValueError: there are other numbers of paths and timestamps.

    >>> generate_checkpoint_state_proto("run", "run/m-2", ["run/m-1"]).all_model_checkpoint_paths
    ['m-1', 'm-2']
    """
    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {times})."
        )
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
        times += [time.time()] * bool(times)

    def written(path: str) -> str:
        if os.path.isabs(save_dir) or os.path.isabs(path) or "://" in path:
            return path
        return _relative(path, save_dir)

    return CheckpointState(
        written(model_checkpoint_path), [written(p) for p in paths], times, last_preserved_timestamp
    )


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Write the record of a directory; a reader sees the old one or the new one.

    Args:
      save_dir: the directory.
      model_checkpoint_path: path of the newest checkpoint.
      all_model_checkpoint_paths: paths of all that are kept, oldest first.
      latest_filename: name of the record, "checkpoint".
      all_model_checkpoint_timestamps: when each of them was saved.
      last_preserved_timestamp: when a checkpoint was last kept for ever.
      save_relative_paths: write paths relative to the directory.

    Raises:
      RuntimeError: the newest checkpoint would have the path of the record.
      ValueError: there are other numbers of paths and timestamps.

    >>> import tempfile, pathlib
    >>> place = tempfile.TemporaryDirectory()
    >>> update_checkpoint_state(place.name, place.name + "/m-2", save_relative_paths=True)
    >>> print(pathlib.Path(place.name, "checkpoint").read_text(), end="")
    model_checkpoint_path: "m-2"
    all_model_checkpoint_paths: "m-2"
    >>> place.cleanup()
    """
    paths = list(all_model_checkpoint_paths or [])
    target = state_path(save_dir, latest_filename)
    if save_relative_paths:
        newest, *paths = (_relative(p, save_dir) for p in [model_checkpoint_path, *paths])
        every = paths if newest in paths else [*paths, newest]
        state = CheckpointState(
            newest, every, list(all_model_checkpoint_timestamps or []), last_preserved_timestamp
        )
    else:
        state = generate_checkpoint_state_proto(
            save_dir,
            model_checkpoint_path,
            paths,
            all_model_checkpoint_timestamps,
            last_preserved_timestamp,
        )
    if os.path.normpath(target) == os.path.normpath(model_checkpoint_path):
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. "
            "Please use a different save path."
        )
    write_file(target, to_text(state).encode())


def _relative(path: str, directory: str) -> str:
    if is_elsewhere(path):
        return path
    return os.path.relpath(without_file_scheme(path), without_file_scheme(directory) or ".")


_LINE = re.compile(r"(\w+)\s*:\s*(\"(?:[^\"\\]|\\.)*\"|[-+.\w]+)\s*")


def to_text(state: CheckpointState) -> str:
    """Return a record as text, a field a line.

    >>> print(to_text(CheckpointState("m-1", ["m-1"])), end="")
    model_checkpoint_path: "m-1"
    all_model_checkpoint_paths: "m-1"
    """
    lines = []
    for name, value in vars(state).items():
        for item in value if isinstance(value, list) else [value]:
            text = json.dumps(item, ensure_ascii=False) if isinstance(item, str) else repr(item)
            lines.append("" if item is None else f"{name}: {text}\n")
    return "".join(lines)


def from_text(text: str) -> CheckpointState | None:
    """Return the record that a text is, None where it is none."""
    state, at = CheckpointState(), len(text) - len(text.lstrip())
    while at < len(text):
        match = _LINE.match(text, at)
        if match is None or match[1] not in vars(state):
            return None
        try:
            value = json.loads(match[2])
        except ValueError:
            return None
        present = getattr(state, match[1])
        if isinstance(value, str) is not match[1].endswith(("_path", "_paths")):
            return None
        if isinstance(present, list):
            present.append(value)
        else:
            setattr(state, match[1], value)
        at = match.end()
    return state


def get_checkpoint_state(
    checkpoint_dir: str, latest_filename: str | None = None
) -> CheckpointState | None:
    """Return the record of a directory, or None where there is none.

    Args:
      checkpoint_dir: the directory; paths in the record that are relative are completed by it.
      latest_filename: name of the record, "checkpoint".

    Raises:
      ValueError: the file is there but is no such record.

    >>> import tempfile, os
    >>> place = tempfile.TemporaryDirectory()
    >>> get_checkpoint_state(place.name)
    >>> path = dv.train.Saver({"w": dv.Variable(1.0)}).save(None, place.name + "/m", 7)
    >>> os.path.basename(get_checkpoint_state(place.name).model_checkpoint_path)
    'm-7'
    >>> place.cleanup()
    """
    directory = os.fspath(checkpoint_dir)
    path = state_path(directory, latest_filename)
    content = read_file(path)
    if content is None:
        return None
    found = from_text(content.decode(errors="replace"))
    if found is None or not found.model_checkpoint_path:
        raise ValueError(
            f"Invalid checkpoint state loaded from {directory}: {path} is no record of "
            "checkpoints. Remove it, or give a checkpoint's own path"
        )

    for p in (found.model_checkpoint_path, *found.all_model_checkpoint_paths):
        if is_elsewhere(p) and not is_elsewhere(directory):
            raise ValueError(
                f"Invalid checkpoint state loaded from {directory}: {path} names {p}, but a "
                "directory's checkpoints are on a disk. Remove it, or give that path yourself"
            )

    def absolute(p: str) -> str:
        return p if os.path.isabs(p) or "://" in p else os.path.join(directory, p)

    found.model_checkpoint_path = absolute(found.model_checkpoint_path)
    found.all_model_checkpoint_paths = [absolute(p) for p in found.all_model_checkpoint_paths]
    return found


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Return the path of the newest checkpoint of a directory, or None.

    Where its record names one that is not there, that is None too, and an error in the log.

    Args:
      checkpoint_dir: the directory.
      latest_filename: name of its record, "checkpoint".

    Raises:
      ValueError: the record is there but is none.

    >>> import tempfile, os
    >>> place = tempfile.TemporaryDirectory()
    >>> saver = dv.train.Saver({"w": dv.Variable(1.0)})
    >>> for step in (1, 2):
    ...     _ = saver.save(None, place.name + "/m", step)
    >>> os.path.basename(latest_checkpoint(place.name))
    'm-2'
    >>> place.cleanup()
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if not is_checkpoint(state.model_checkpoint_path):
        logger.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
        return None
    return state.model_checkpoint_path


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str]) -> list[float]:
    """Return when each of some checkpoints was written, seconds since 1970.

    Those that are not there are left out, and those that are not on a disk.

    Args:
      checkpoint_prefixes: their paths.

    >>> import tempfile, time
    >>> place = tempfile.TemporaryDirectory()
    >>> path = dv.train.Saver({"w": dv.Variable(1.0)}).save(None, place.name + "/m")
    >>> [time.time() - when < 3600 for when in get_checkpoint_mtimes([path, path + "-7"])]
    [True]
    >>> place.cleanup()
    """
    places = [(archive_path(p), local_path(p)) for p in checkpoint_prefixes]
    found = [
        [archive or os.path.join(path, "zarr.json"), f"{path}{INDEX_SUFFIX}"]
        for archive, path in places
    ]
    there = [[path for path in paths if os.path.exists(path)] for paths in found]
    return [os.path.getmtime(paths[0]) for paths in there if paths]


@accepts("checkpoint_format_version")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: Any = None, meta_graph_suffix: str = "meta"
) -> None:
    """Delete a checkpoint and the file of its graph, as far as they are there.

    Args:
      checkpoint_prefix: path of the checkpoint. Other files under it stay; one that ends in
        ``.zip`` is that file; of TensorFlow's, its index and files of data are deleted.
      meta_graph_suffix: ending of the file of its graph.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> path = dv.train.Saver({"w": dv.Variable(1.0)}).save(None, place.name + "/m")
    >>> remove_checkpoint(path)
    >>> checkpoint_exists(path)
    False
    >>> place.cleanup()
    """
    prefix = os.fspath(checkpoint_prefix)
    remove_file(meta_graph_filename(prefix, meta_graph_suffix))
    archive = archive_path(prefix)
    if archive is not None:
        remove_file(archive)
        return
    if tensorflow_prefix(prefix) is not None:
        store, path = open_zarr_store(prefix, "r")
        directory = open_zarr_store(os.path.dirname(prefix) or ".", "a")[0]
        delete(directory, object_names_of(store, path))
        return
    try:
        delete_snapshot(*open_zarr_store(prefix, "a"))
    except NotFoundError:
        return  # gone already


def remove_interrupted(path: str) -> None:
    """Delete what killed processes have left of checkpoints that they were writing or deleting.

    Args:
      path: one that there is; those beside it are meant that differ in the number of their step.
    """
    directory, name = os.path.split(path)
    store, place = open_zarr_store(directory or ".", "a")
    of_a_step = re.compile(re.escape(re.sub(r"-\d+$", "", name)) + r"-\d+")

    def remove(other: str) -> None:
        if of_a_step.fullmatch(other):
            with contextlib.suppress(OpError):  # damaged, or what this process may not touch
                delete_interrupted(store, join(place, other))

    with contextlib.suppress(OpError):  # a store that lists nothing
        in_parallel(store, remove, child_names(store, place))


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the path of the file that holds the graph of a checkpoint."""
    return f"{checkpoint_filename}.{meta_graph_suffix}"
