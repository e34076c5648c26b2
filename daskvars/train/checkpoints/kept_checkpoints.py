"""Which checkpoints of a saver are kept, and which are deleted when.

The rule is that of TensorFlow's Saver: one is kept for ever for each time that is so many hours, or
a multiple of that, after the saver was made. `CheckpointManager` has another, as in TensorFlow: so
many hours after the last one that was kept, which its directory's record remembers.
"""

from __future__ import annotations

import math
import os
import threading
import time
import warnings

from daskvars.errors import OpError
from daskvars.state.stores.addresses import is_elsewhere, local_path, without_file_scheme
from daskvars.train.checkpoints.checkpoint_state import (
    remove_checkpoint,
    remove_interrupted,
    update_checkpoint_state,
)

_recording = threading.RLock()  # threads may save at several paths at once, by one saver


class KeptCheckpoints:
    """The checkpoints of one saver.

    Args:
      max_to_keep: how many are kept; 0 for all, and then they are not noted.
      every_hours: keep one for ever each so many hours besides.

    Attributes:
      entries: paths, and when each was saved (seconds since 1970), oldest first.
      places: what these paths meant when they were noted; the process may go to another folder.
    """

    def __init__(self, max_to_keep: int, every_hours: float) -> None:
        self.max_to_keep = max_to_keep
        self.every_s = every_hours * 3600
        self.next_kept = time.time() + self.every_s
        self.entries: list[tuple[str, float]] = []
        self.places: dict[str, str] = {}
        self.outdated: list[tuple[str, float]] = []
        self.tidied: set[str] = set()

    @property
    def paths(self) -> list[str]:
        """The paths, oldest first."""
        return [path for path, _ in self.entries]

    def record(
        self, path: str, place: str, latest_filename: str, meta_graph_suffix: str, relative: bool
    ) -> None:
        """Put a complete checkpoint on record in its directory; delete what it makes outdated.

        Args:
          path: the checkpoint's, as it was given.
          place: what it meant then, as `settled` gives it.
          latest_filename: name of the record.
          meta_graph_suffix: ending of the files of graphs.
          relative: write relative paths into the record also where `path` is absolute.
        """
        with _recording:
            self.note(path, place)
            times, directory = [when for _, when in self.entries], os.path.dirname(place)
            update_checkpoint_state(
                directory,
                place,
                [self.places[path] for path in self.paths],
                latest_filename,
                times if math.inf not in times else None,
                save_relative_paths=relative or place != path,
            )
            self.delete_outdated(meta_graph_suffix)
            if directory not in self.tidied:  # once: killed processes were before this
                self.tidied.add(directory)
                remove_interrupted(place)

    def note(self, path: str, place: str) -> None:
        """Add a checkpoint; over the number, the oldest one becomes outdated."""
        if not self.max_to_keep:
            return
        now = time.time()
        self.next_kept = min(self.next_kept, now + self.every_s)  # where the clock was set back
        self.places = {p: self.places.get(p) or settled(p) for p in self.paths} | {path: place}
        same = {p for p in self.paths if local_path(self.places[p]) == local_path(place)}
        self.entries = [entry for entry in self.entries if entry[0] not in same] + [(path, now)]
        if len(self.entries) > self.max_to_keep:
            oldest, saved = self.entries.pop(0)
            self.outdated.append((self.places[oldest], saved))

    def delete_outdated(self, meta_graph_suffix: str) -> None:
        """Delete the outdated ones, save those that are to be kept for ever."""
        while self.outdated:
            path, saved = self.outdated[0]
            if saved > self.next_kept:
                self.next_kept += self.every_s
            else:
                try:
                    remove_checkpoint(path, meta_graph_suffix=meta_graph_suffix)
                except (OSError, OpError) as error:
                    warnings.warn(f"The old checkpoint {path} stays: {error}", stacklevel=4)
            del self.outdated[0]  # once it is gone: of what Ctrl-C left of it, the next one knows


def settled(path: str) -> str:
    """Give an absolute path for a relative one, which means another place in another folder."""
    is_settled = os.path.isabs(without_file_scheme(path)) or is_elsewhere(path)
    return path if is_settled else local_path(path)


def check_place(path: str, latest_filename: str) -> None:
    """Raise ValueError where a checkpoint and its directory's record cannot both be."""
    if not path:
        raise ValueError("save_path is empty: give a checkpoint's path, as 'checkpoints/model'")
    if os.path.split(latest_filename)[0]:
        raise ValueError("'latest_filename' must not contain path components")
    directory, name = os.path.split(path)
    if name == latest_filename:
        raise ValueError(
            f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{path}'"
        )
    directory = without_file_scheme(directory)
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise ValueError(f"Parent directory of {path} doesn't exist, can't save.")
