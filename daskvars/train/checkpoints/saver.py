"""Saver: variables to checkpoints and back."""

from __future__ import annotations

import math
import operator
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from daskvars.errors import FailedPreconditionError, did_you_mean, enumerated
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine.engine import Engine
from daskvars.execution.engine.saving.pending_saves import PendingSave, saved_already
from daskvars.execution.session import Session
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.shapes import is_known
from daskvars.state import is_announced
from daskvars.state.format.sharding import codec_name, parsed
from daskvars.state.stores.addresses import is_elsewhere, local_path
from daskvars.surface.forwarding import forwards
from daskvars.surface.signatures import with_arguments_of
from daskvars.train.checkpoints import ops as saver_ops
from daskvars.train.checkpoints.checkpoint_state import checkpoint_exists, get_checkpoint_mtimes
from daskvars.train.checkpoints.kept_checkpoints import KeptCheckpoints, check_place, settled
from daskvars.train.checkpoints.ops import SaverOps
from daskvars.train.checkpoints.paths import path_of_step
from daskvars.train.checkpoints.reader import CheckpointReader
from daskvars.train.checkpoints.saved_tensors import (
    SavedTensor,
    restore,
    saved_tensors,
    shards_by_name,
)


class Saver:
    """Saves variables under their names and restores them.

    A checkpoint is a Zarr group at exactly the path that `save` returns: any Zarr tool reads it,
    ``zarr.open_group(path)["conv1/weights"][:]``. It becomes visible when it is complete. Where the
    path ends in ``.zip`` it is one file, a Zarr ``ZipStore``: for many small variables faster than
    files of their own, and easy to copy. Step numbers come before the ``.zip``.

    Args:
      var_list: variables to save, a list or a dict of names to variables; by default all global
        variables that exist now, in eager code all that exist when `save` or `restore` is called.
        A partitioned variable is saved as one array, a table that grows as two.
      reshape: restore an array of another shape with as many elements.
      max_to_keep: how many checkpoints of this saver are kept; None or 0 keeps all.
      keep_checkpoint_every_n_hours: keep one for ever each so many hours besides.
      name: name scope of the operations that it adds to the graph, by default "save".
      defer_build: add the operations in `build`, with the variables that exist then.
      allow_empty: no error where there are no variables; nothing is saved or restored then.
      pad_step_number: write step numbers with eight digits.
      save_relative_paths: write relative paths into the record of the directory.
      filename: path that the operations take where none is fed.
      async_save: `save` returns at once, with the path that the checkpoint will have, and a thread
        writes the values of that moment while training goes on; see `save_async`.
      compressor: what chunks are compressed with: "zstd", "gzip" or "blosc" (zstd of shuffled
        bytes); None for nothing, which for float weights costs little space and saves much time.
      shards: bytes of the pieces that readers take one by one: a chunk that is larger is written as
        a shard of Zarr's ``sharding_indexed`` codec, of inner chunks of about so many bytes, each
        compressed for itself. So a tool reads some rows of a large chunk without the rest.

    Raises:
      ValueError: there is nothing to save, or two variables have one name.
      TypeError: something in `var_list` is no variable, or `max_to_keep` no whole number.
      InvalidArgumentError: there is no such compressor, or `shards` is no number of bytes.

    >>> import tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as place:
    ...     v = tf.Variable(1.0, name="v")
    ...     _ = sess.run(v.assign(2.0))
    ...     saver = tf.train.Saver()
    ...     path = saver.save(sess, place + "/model", global_step=7)
    ...     print(path[-7:], tf.train.load_variable(path, "v"))
    model-7 2.0
    """

    def __init__(
        self,
        var_list: Iterable[Any] | None = None,
        reshape: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
        async_save: bool = False,
        compressor: str | None = None,
        shards: int | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list, self._reshape, self._name = var_list, reshape, name
        self._allow_empty, self._filename = allow_empty, filename
        self._pad, self._relative = pad_step_number, save_relative_paths
        self._is_async, self._codec = async_save, codec_name(compressor, shards)
        self._kept = KeptCheckpoints(
            operator.index(max_to_keep or 0), keep_checkpoint_every_n_hours
        )
        self._tensors: list[SavedTensor] = []
        self._takes_all = False
        self._graph: Any = None
        self._ops: SaverOps | None = None
        self._is_built = False
        if not defer_build:
            self.build()

    def __repr__(self) -> str:
        what = "all variables" if self._takes_all else f"{len(self._tensors)} tensors"
        return f"<tf.train.Saver of {what}>"

    def build(self) -> None:
        """Add the operations to the graph, if that was deferred."""
        if self._is_built:
            return
        recorder = builder_for(())
        self._graph = None if recorder.is_eager else recorder
        self._add_ops(recorder)
        self._is_built = True

    def _add_ops(self, recorder: Any) -> None:
        self._takes_all = self._var_list is None
        found = all_variables(recorder) if self._takes_all else self._var_list
        self._tensors = saved_tensors(found)
        if self._graph is not None or not self._takes_all:
            self._check_any()
        if self._tensors and self._graph is not None:
            self._ops = saver_ops.build(
                recorder, self._tensors, self._reshape, self._name, self._filename
            )

    def _check_any(self) -> None:
        if not self._tensors and not self._allow_empty:
            raise ValueError(
                "No variables to save or to restore: there are none yet. Layers make theirs in the "
                "first call, optimizers in build(variables) or the first step"
            )

    # -- which checkpoints there are ----------------------------------------------------------

    last_checkpoints: list[str] = forwards(
        "_kept.paths", "Paths of the checkpoints that are not deleted yet, oldest first."
    )

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Take these for the saver's own earlier checkpoints; they are never deleted."""
        self.set_last_checkpoints_with_time([(path, math.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: list[tuple[str, float]]
    ) -> None:
        """Take these for the saver's own earlier checkpoints: paths, and when they were saved."""
        assert isinstance(last_checkpoints_with_time, list)
        self._kept.entries = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take those of these that are there for the saver's own, after a restart."""
        found = [path for path in checkpoint_paths if checkpoint_exists(path)]
        # Where a store keeps no times, a checkpoint counts as one of now.
        self.set_last_checkpoints_with_time(
            [(path, (get_checkpoint_mtimes([path]) or [time.time()])[0]) for path in found]
        )

    # -- saving and restoring -----------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        *,
        write_state: bool = True,
    ) -> str | None:
        """Save the present values as a checkpoint.

        Args:
          sess: the session; None in eager code.
          save_path: path of the checkpoint; missing directories are made.
          global_step: a number, or integer variable, tensor or its name, appended as ``-<step>``.
          latest_filename: name of the directory's record, "checkpoint".
          write_state: write the directory's record, and delete the oldest checkpoint where there
            are more than are kept.

        Returns:
          The path of the checkpoint; None for a saver without variables.

        Raises:
          FailedPreconditionError: variables have no value; all are named, nothing is written.
          ValueError: `save_path` is the name of the record, or that has a directory in it.
          TypeError: `sess` is no session.
          RuntimeError: the operations were not built.
          OpError: an asynchronous save before this one failed.
        """
        found = self._save(
            sess, save_path, global_step, latest_filename, write_state, self._is_async
        )
        return found.path if isinstance(found, PendingSave) else found

    @with_arguments_of(save)
    def save_async(self, **arguments: Any) -> PendingSave | None:
        """Begin to save the present values as a checkpoint, and return while it is written.

        Later runs change nothing in it. There is one such save at a time: the next save, `restore`
        and closing the session wait for it, and raise its error unless ``result()`` has. A
        checkpoint cannot be seen before it is complete; `latest_checkpoint` gives the one before
        it. Parts of one array whose chunks do not line up are saved before this returns.

        Returns:
          The save: ``result()`` waits for it and returns the path, ``done()`` says whether it has
          ended, ``path`` is where it goes. None for a saver without variables.

        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     v = tf.Variable(1.0, name="v")
        ...     sess.run(v.initializer)
        ...     saving = tf.train.Saver().save_async(sess, place.name + "/model")
        ...     _ = sess.run(v.assign(2.0))
        ...     print(tf.train.load_variable(saving.result(), "v"))
        1.0
        >>> place.cleanup()
        """
        return self._save(**arguments, later=True)

    def _save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any,
        latest_filename: str | None,
        write_state: bool,
        later: bool,
        beside: Callable[[], Callable[[str], None]] | None = None,
        meta_graph_suffix: str = "meta",
    ) -> Any:
        """Save; `beside` gives what writes of this moment what belongs beside a checkpoint, which
        is done when that is complete, and before it goes on record.
        """
        latest_filename = latest_filename or "checkpoint"
        engine = self._engine(sess)
        self._run_mirrors(sess, 0)
        path, step = path_of_step(sess, os.fspath(save_path), global_step, self._pad)
        check_place(path, latest_filename)
        place = settled(path)
        parts = shards_by_name(self._tensors)
        write_beside = beside() if beside is not None and self._graph is not None else None

        def note() -> None:
            try:
                if write_beside is not None:
                    write_beside(place)
            finally:  # the checkpoint is there, and counts, whatever became of the graph
                if write_state and parts:
                    self._kept.record(
                        path, place, latest_filename, meta_graph_suffix, self._relative
                    )

        with _turn_at(path):
            codec = self._codec
            pending = engine.save_async(parts, path, step, note, codec) if later and parts else None
            if parts and pending is None and not engine.save(parts, path, step, codec):
                self._warn_uncompressed(path)
                self._run(sess, "save", path)
            if pending is None:
                note()
        if later and parts:
            return pending or saved_already(path)
        return path if parts else None

    def _engine(self, sess: Any) -> Engine:
        """Return the engine of a session; of the eager program for a saver of eager variables."""
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if self._graph is None and self._takes_all:
            self._tensors = saved_tensors(all_variables(EAGER_CONTEXT))
            self._check_any()
        if self._graph is None and sess is None:
            EAGER_CONTEXT.sync()
            return EAGER_CONTEXT.engine
        if not isinstance(sess, Session):
            raise TypeError(f"'sess' must be a Session; {sess}")
        return sess.engine

    def _run(self, sess: Any, operation: str, path: str) -> None:
        """Run an operation of the saver, which takes arrays whole."""
        if sess is None or self._ops is None:
            raise FailedPreconditionError.saying(
                "eager variables of other layouts than what is stored can only be "
                "saved and restored in a graph: give the parts equal chunks"
            )
        sess.run(getattr(self._ops, operation), {self._ops.filename: path})

    def restore(self, sess: Any, save_path: str) -> None:
        """Set the variables to the values of a checkpoint, or of any Zarr group.

        Args:
          sess: the session; None in eager code.
          save_path: path of the checkpoint; one of TensorFlow's by its prefix, as there.

        Warns:
          UserWarning: the saver has all variables, yet an optimizer's slots are in the checkpoint
            alone, or in the graph alone: training goes on otherwise than it was.

        Raises:
          ValueError: there is no checkpoint at the path.
          RestoreError: names are missing in it (then it is a NotFoundError), or shapes or dtypes
            differ (an InvalidArgumentError): all are listed, with near matches. Nothing is
            assigned.
        """
        engine = self._engine(sess)
        if not self._tensors:
            return
        if save_path is None:
            raise ValueError(
                "Can't load save_path when it is None. latest_checkpoint() gives None for a "
                "directory in which nothing was saved: check its path, or save there first."
            )
        path = os.fspath(save_path)
        engine.saves.wait()
        if not is_announced(path):
            raise ValueError(
                f"The passed save_path is not a valid checkpoint: {path}{instead_of(path)}"
            )
        if self._reshape or not all(is_known(t.handle.spec.shape) for t in self._tensors):
            self._run(sess, "restore", path)
        else:
            restore(engine, self._tensors, path)
        self._run_mirrors(sess, 1)
        if self._takes_all:
            self._warn_of_slots(path)

    def _run_mirrors(self, sess: Any, which: int) -> None:
        """Have variables that mirror what is kept elsewhere set (0), or that set from them (1)."""
        if self._graph is not None:
            keys = {tensor.key for tensor in self._tensors}
            found = [ops[which] for key, ops in mirrors(self._graph).items() if key in keys]
            if found:
                sess.run(found)

    def _warn_uncompressed(self, path: str) -> None:
        """Warn where an operation of the graph saves, which takes arrays whole and as they are."""
        if self._codec:
            compressor, inner_bytes = parsed(self._codec)
            asked = [f"compressor={compressor!r}"] if compressor else []
            asked += [f"shards={inner_bytes}"] if inner_bytes else []
            warnings.warn(
                f"{', '.join(asked)} has no effect on {path}: the chunks of parts of one "
                "array do not line up, so it is put together and saved as it is. Give the parts "
                "equal chunks.",
                stacklevel=4,
            )

    def _warn_of_slots(self, path: str) -> None:
        """Warn of slots of what was restored that were not."""
        taken = {tensor.name for tensor in self._tensors}
        if self._graph is None:
            left = below(taken, CheckpointReader(path).get_variable_to_shape_map())
            advice = (
                f"are in {path}, and no variable takes them. To go on training make them before: "
                "optimizer.build(variables)"
            )
        else:
            present = saved_tensors(all_variables(self._graph))
            left = below(taken, (tensor.name for tensor in present))
            advice = (
                "were made after this Saver, which neither saves nor restores them. Make it after "
                "minimize()"
            )
        if left:
            warnings.warn(
                f"What an optimizer keeps was not restored: {enumerated(left, 4)} {advice}; "
                "to leave them out on purpose, give the Saver a list of variables.",
                stacklevel=3,
            )


_turns: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
_changing_turns = threading.Lock()


def _turn_at(path: str) -> threading.RLock:
    """Return what threads of this process hold while they save at a path: the last one stands.

    A `Supervisor` saves in a thread of its own, and programs save beside it, as in TensorFlow.
    """
    where = local_path(path)
    with _changing_turns:
        return _turns.setdefault(where, threading.RLock())


def instead_of(path: str) -> str:
    """Say what there is in place of a checkpoint that is not there."""
    path = local_path(path)
    directory, name = os.path.split(path)
    if is_elsewhere(path):
        return "; check the address"
    if not os.path.isdir(directory):
        return f"; there is no directory {directory!r}"
    names = sorted(os.listdir(directory))
    listed = f"; in {directory!r} there is {', '.join(names[-5:]) or 'nothing'}"
    return did_you_mean(name, names) or listed


def mirrors(graph: Any) -> dict[str, tuple[Any, Any]]:
    """Return the variables of a graph that mirror what a session keeps elsewhere, a table's pairs.

    Returns:
      Key of a variable -> the operation that sets it, run before it is saved, and the one that
      sets what it mirrors, run when it was restored. Whoever makes such a variable adds to it.
    """
    found: dict[str, tuple[Any, Any]] = graph.notes.setdefault("mirrors", {})
    return found


def all_variables(program: Any) -> list[Any]:
    """Return what a saver without a list saves of a graph, or of the eager program."""
    names = GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS
    return [item for name in names for item in program.get_collection(name)]


def below(taken: set[str], names: Iterable[str]) -> list[str]:
    """Return the names, sorted, that are not taken and begin with one that is, and a slash."""
    return sorted(
        name
        for name in set(names) - taken
        if any(name[:end] in taken for end, letter in enumerate(name) if letter == "/")
    )
