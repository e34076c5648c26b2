"""Saver: variables to checkpoints and back."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from daskvars.chunk_grid import whole
from daskvars.execution.eager import PROGRAM
from daskvars.execution.engine import Engine
from daskvars.graph.collections import GraphKeys
from daskvars.graph.interpreter import builder_for
from daskvars.state import delete_snapshot, open_zarr_store
from daskvars.train.checkpoint_state import checkpoint_exists, update_checkpoint_state
from daskvars.variables.variable import Variable


class Saver:
    """Saves variables under their names and restores them.

    A checkpoint is a Zarr group at exactly the path that `save` returns: any Zarr tool reads it,
    ``zarr.open_group(path)["conv1/weights"][:]``. It becomes visible when it is complete.

    Args:
      var_list: variables to save, a list or a dict of names to variables; by default all global
        variables that exist now.
      max_to_keep: how many checkpoints of this saver are kept; None or 0 keeps all.
      keep_checkpoint_every_n_hours: keep one for ever each so many hours besides.
      name: accepted.
      allow_empty: no error where there are no variables.
      save_relative_paths: write relative paths into the record of the directory.
      pad_step_number: write step numbers with eight digits.

    Raises:
      ValueError: there is nothing to save, or two variables have one name.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        recorder = builder_for(())
        if var_list is None:
            var_list = recorder.get_collection(GraphKeys.GLOBAL_VARIABLES)
        self._variables = named_variables(var_list)
        if not self._variables and not allow_empty:
            raise ValueError("No variables to save")
        self._max_to_keep = max_to_keep or 0
        self._every_s = keep_checkpoint_every_n_hours * 3600
        self._next_kept = time.time() + self._every_s
        self._pad = pad_step_number
        self._relative = save_relative_paths
        self._kept: list[tuple[str, float]] = []

    @property
    def last_checkpoints(self) -> list[str]:
        """Paths of the checkpoints that are not deleted yet, oldest first."""
        return [path for path, _ in self._kept]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Take these for the saver's own earlier checkpoints."""
        self._kept = [(path, time.time()) for path in last_checkpoints]

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
    ) -> str:
        """Save the present values as a checkpoint.

        Args:
          sess: the session; None in eager code.
          save_path: path of the checkpoint; missing directories are made.
          global_step: a number, or integer variable, appended as ``-<step>``.
          latest_filename: name of the directory's record, "checkpoint".
          write_state: write that record.

        Returns:
          The path of the checkpoint.

        Raises:
          FailedPreconditionError: variables have no value; all are named, nothing is written.
          ValueError: `save_path` is the name of the record.
        """
        path = os.fspath(save_path)
        step = _step(sess, global_step)
        if step is not None:
            path = f"{path}-{step:08d}" if self._pad else f"{path}-{step}"
        directory, base = os.path.split(path)
        if base == (latest_filename or "checkpoint"):
            raise ValueError(
                f"'latest_filename' collides with 'save_path': {base!r} names the record of the "
                "checkpoints in that directory; choose another name"
            )
        engine = engine_of(sess)
        keys = {name: variable.key for name, variable in self._variables.items()}
        engine.save(keys, path, step)
        if write_state:
            self._keep(path)
            paths, times = zip(*self._kept, strict=True)
            update_checkpoint_state(directory, path, paths, latest_filename, self._relative, times)
        return path

    def _keep(self, path: str) -> None:
        """Note a checkpoint and delete the oldest ones over the number kept."""
        self._kept = [entry for entry in self._kept if entry[0] != path] + [(path, time.time())]
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            old, saved = self._kept.pop(0)
            if saved > self._next_kept:
                self._next_kept += self._every_s
                continue
            store, inner = open_zarr_store(old, "a")
            delete_snapshot(store, inner)

    def restore(self, sess: Any, save_path: str) -> None:
        """Set the variables to the values of a checkpoint, or of any Zarr group.

        Args:
          sess: the session; None in eager code.
          save_path: path of the checkpoint.

        Raises:
          ValueError: there is no checkpoint at the path.
          NotFoundError: names are missing in it; all are listed, with near matches.
          InvalidArgumentError: shapes or dtypes differ; all are listed. Nothing is assigned.
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        if not checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        engine_of(sess).restore(
            {variable.key: _wanted(variable) for variable in self._variables.values()},
            os.fspath(save_path),
            {variable.key: name for name, variable in self._variables.items()},
        )


def engine_of(sess: Any) -> Engine:
    """Return the engine of a session; of the eager program where there is no session."""
    if sess is None:
        PROGRAM.sync()
        return PROGRAM.engine
    return sess.engine


def named_variables(var_list: Any) -> dict[str, Variable]:
    """Return name -> variable for a list or a dict of variables.

    Raises:
      TypeError: something in it is no variable.
      ValueError: two variables have one name.
    """
    if isinstance(var_list, Mapping):
        pairs = list(var_list.items())
    else:
        pairs = [(getattr(v, "key", None), v) for v in var_list]
    found: dict[str, Variable] = {}
    for name, variable in pairs:
        if not isinstance(variable, Variable):
            raise TypeError(f"Variable to save is not a Variable: {variable}")
        if name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        found[name] = variable
    return found


def _wanted(variable: Variable) -> tuple[Any, tuple[int, ...], Any]:
    shape = variable.handle.spec.shape
    return variable.dtype.base_dtype, shape, variable.handle.op.attrs["chunks"] or whole(shape)


def _step(sess: Any, global_step: Any) -> int | None:
    if global_step is None:
        return None
    if isinstance(global_step, Variable):
        global_step = global_step.numpy() if sess is None else sess.run(global_step)
    elif hasattr(global_step, "eval"):
        global_step = global_step.eval(session=sess)
    try:
        return int(global_step)
    except (TypeError, ValueError):
        raise TypeError(
            f"global_step must be an integer or an integer variable: {global_step!r}"
        ) from None
