"""CheckpointManager: the checkpoints of one directory, numbered, some of them kept."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from daskvars.errors import OpError
from daskvars.graph.scopes.stacks import get_default_session
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.train.checkpoints.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_state,
    remove_checkpoint,
    remove_interrupted,
    update_checkpoint_state,
)
from daskvars.train.checkpoints.objects.checkpoint import Checkpoint
from daskvars.train.checkpoints.paths import path_of_step


class CheckpointManager(ShownByArguments):
    """Saves a `Checkpoint` again and again into a directory, and deletes what is too old.

    What is in the directory already, and on its record, is taken over, by their record's times.

    Args:
      checkpoint: what is saved.
      directory: where to; it is made.
      max_to_keep: how many checkpoints are kept; None keeps all.
      keep_checkpoint_every_n_hours: keep one for ever each so many hours besides.
      checkpoint_name: name of the checkpoints, before their numbers; with ``.zip`` at its end each
        is one file.
      step_counter: an integer Variable, for `checkpoint_interval`.
      checkpoint_interval: how many steps are at least between two checkpoints.
      init_fn: called by `restore_or_initialize` where there is nothing to restore.

    Raises:
      ValueError: `max_to_keep` is not positive, or there is an interval without a counter.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> step = dv.Variable(0)
    >>> manager = dv.train.CheckpointManager(dv.train.Checkpoint(step=step), place.name, 2)
    >>> for number in range(3):
    ...     _ = step.assign(number), manager.save()
    >>> [path.rpartition("/")[2] for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']
    >>> place.cleanup()
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep, self._every_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter, self._interval, self._init_fn = (
            step_counter,
            checkpoint_interval,
            init_fn,
        )
        self._last_step: int | None = None
        self._latest: str | None = None
        self._times: dict[str, float] = {}
        self._is_tidy = False  # nothing is left of what killed processes were writing or deleting
        self._preserved = time.time() - 1.0  # as in TensorFlow: before anything that it saves
        self._take_over()

    def _take_over(self) -> None:
        """Go on with what is on the directory's record."""
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        newest = state.model_checkpoint_path
        self._latest = newest if checkpoint_exists(newest) else None
        if state.last_preserved_timestamp is not None:
            self._preserved = min(state.last_preserved_timestamp, time.time())
        paths = state.all_model_checkpoint_paths
        times = state.all_model_checkpoint_timestamps or [self._preserved] * len(paths)
        found = zip(paths, times, strict=False)
        self._times = {path: when for path, when in found if checkpoint_exists(path)}

    directory: str = forwards("_directory", "Where the checkpoints are.")
    checkpoint: Checkpoint = forwards("_checkpoint", "What is saved.")
    checkpoint_interval: int | None = forwards(
        "_interval", "How many steps are at least between two checkpoints."
    )
    latest_checkpoint: str | None = forwards(
        "_latest", "Path of the newest checkpoint, None where there is none: what to restore."
    )

    @property
    def checkpoints(self) -> list[str]:
        """Paths of the checkpoints that are not deleted, oldest first.

        Those that are kept for ever besides are not among them.
        """
        return list(self._times)

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, session: Any = None
    ) -> str | None:
        """Save, put on record, and delete what is too old.

        Args:
          checkpoint_number: a number, or an integer variable, in place of the counter of saves.
          check_interval: whether to save nothing where the last checkpoint is not as many steps
            ago as it should be.
          session: of the variables of a graph, by default the default one.

        Returns:
          The path of the checkpoint; None where none was due.

        Raises:
          FailedPreconditionError, ValueError: as `Checkpoint.save` does.
        """
        step = self._step(session)
        before = self._last_step if check_interval else None
        if step is not None and before is not None and step - before < (self._interval or 0):
            return None
        # The counter goes up with each save, whatever its path is numbered by.
        counted = self._checkpoint._count(session)
        number = counted if checkpoint_number is None else checkpoint_number
        path = path_of_step(session or get_default_session(), self._prefix, number, False)[0]
        self._checkpoint.write(path, session)
        self._last_step = step
        self._latest = path
        self._times.pop(path, None)
        self._times[path] = now = time.time()
        self._preserved = min(self._preserved, now)  # where the clock was set back
        self._record()  # before anything is deleted: nobody finds the name of what is gone
        num_listed = len(self._times)
        for old in self._outdated():
            try:
                remove_checkpoint(old)
            except (OSError, OpError) as error:
                warnings.warn(f"The old checkpoint {old} stays: {error}", stacklevel=2)
        if len(self._times) < num_listed:
            self._record()
        if not self._is_tidy:
            self._is_tidy = True
            remove_interrupted(path)
        return path

    def _step(self, session: Any) -> int | None:
        if self._interval is None:
            return None
        variable = self._step_counter
        if variable.graph is None:
            return int(variable)
        return int((session or get_default_session()).run(variable))

    def _outdated(self) -> list[str]:
        """Take the oldest checkpoints off the list, and return those to delete.

        One is kept for ever if it is so many hours newer than the last that was: a Saver, as in
        TensorFlow, has another rule (`kept_checkpoints`).
        """
        found = []
        while self._max_to_keep is not None and len(self._times) > self._max_to_keep:
            path, when = next(iter(self._times.items()))
            del self._times[path]
            every = self._every_hours
            if every and when - every * 3600 >= self._preserved:
                self._preserved = when
            else:
                found.append(path)
        return found

    def _record(self) -> None:
        assert self._latest is not None
        update_checkpoint_state(
            self._directory,
            self._latest,
            self.checkpoints,
            all_model_checkpoint_timestamps=list(self._times.values()),
            last_preserved_timestamp=self._preserved,
            save_relative_paths=True,
        )

    def restore_or_initialize(self) -> str | None:
        """Restore the newest checkpoint; where there is none, call `init_fn`, if it was given.

        Returns:
          The path of the checkpoint that was restored, None where there was none.
        """
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            self._last_step = self._step(None)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None
