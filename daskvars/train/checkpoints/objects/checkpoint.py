"""Checkpoint: objects to a checkpoint by the names of their attributes, and back."""

from __future__ import annotations

import os
from typing import Any

import numpy

from daskvars.dtypes import int64
from daskvars.errors import FailedPreconditionError, NotFoundError, StoreError, enumerated
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.ops.state.assign import assign_add
from daskvars.state import is_announced, load_variable
from daskvars.state.external.tensorflow.object_graph import KEY, parse, serialized
from daskvars.train.checkpoints.checkpoint_state import update_checkpoint_state
from daskvars.train.checkpoints.kept_checkpoints import check_place
from daskvars.train.checkpoints.objects.restoring import NamedRestore, ObjectRestore
from daskvars.train.checkpoints.objects.statuses import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    LoadStatus,
    NameBasedSaverStatus,
    session_of,
)
from daskvars.train.checkpoints.objects.walking import FoundObjects
from daskvars.train.checkpoints.paths import path_of_step
from daskvars.train.checkpoints.reader import NewCheckpointReader
from daskvars.train.checkpoints.saved_tensors import saved_tensors, shards_by_name
from daskvars.train.checkpoints.saver import instead_of
from daskvars.variables.colocation import building_in
from daskvars.variables.tracking import Trackable, is_trackable, tracked
from daskvars.variables.variable import Variable


class Checkpoint(Trackable):
    """Saves and restores objects: variables, layers, optimizers, datasets' iterators in graphs.

    What it saves goes by the names of attributes, such as ``model/kernel``, so it does not matter
    how variables are called. A restore is *deferred* where there is nothing to set yet: the weights
    of a layer are restored when its first call makes them, what an optimizer keeps when it is made.

    Args:
      **kwargs: what to save, by name; they become attributes, and more can be set later. Values are
        variables, layers, optimizers, other checkpoints, lists and dicts of these.

    Attributes:
      save_counter: a scalar int64 variable: how often was saved.

    Raises:
      ValueError: something in it is none of these.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> layer = dv.layers.Dense(2)
    >>> _ = layer([[1.0, 2.0]])
    >>> path = dv.train.Checkpoint(model=layer).save(place.name + "/ckpt")
    >>> [name for name, _ in dv.train.list_variables(path)][1:3]
    ['model/bias/.ATTRIBUTES/VARIABLE_VALUE', 'model/kernel/.ATTRIBUTES/VARIABLE_VALUE']
    >>> other = dv.layers.Dense(2)
    >>> status = dv.train.Checkpoint(model=other).restore(path)
    >>> _ = other([[0.0, 0.0]])  # makes its weights, with the values of the checkpoint
    >>> _ = status.assert_consumed()
    >>> bool(dv.reduce_all(dv.equal(other.kernel, layer.kernel)))
    True
    >>> place.cleanup()
    """

    _untracked = frozenset({"_save_counter"})

    def __init__(self, **kwargs: Any) -> None:
        recorder = builder_for(())
        self._graph = None if recorder.is_eager else recorder
        self._save_counter: Variable | None = None
        self._add_one: Any = None
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value) and value not in ([], {}, ()):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`Trackable`), got {value!r} for {name!r}. Give variables, layers, "
                    "optimizers, checkpoints, or lists and dicts of them; a number belongs into "
                    "a Variable."
                )
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        value = tracked(value)
        if isinstance(value, Trackable):
            value._tracked_children()  # an iterator notes from now on where it is
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<tf.train.Checkpoint of {', '.join(self._tracked_children()) or 'nothing'}>"

    def _tracked_children(self) -> dict[str, Any]:
        counter = {} if self._save_counter is None else {"save_counter": self._save_counter}
        return {**super()._tracked_children(), **counter}

    @property
    def save_counter(self) -> Variable:
        """How often was saved, a scalar int64 variable; the number at the end of paths."""
        self._make_save_counter()
        assert self._save_counter is not None
        return self._save_counter

    def _make_save_counter(self) -> bool:
        """Make the counter if there is none, and return whether that was so."""
        if self._save_counter is not None:
            return False
        builder: Any = EAGER_CONTEXT if self._graph is None else self._graph
        with (
            building_in(builder),
            builder.control_dependencies(None),
            builder.name_scope(None),
            builder.device(None),
            builder.device("/cpu:0"),
        ):
            collections: list[str] | None = [] if self._graph is None else None
            self._save_counter = Variable(
                0, trainable=False, collections=collections, name="save_counter", dtype=int64
            )
        return True

    # -- saving -------------------------------------------------------------------------------

    def save(self, file_prefix: str, session: SessionLike | None = None) -> str:
        """Save the present values under the next number, and put the checkpoint on record.

        Args:
          file_prefix: path of the checkpoint; ``-1``, ``-2`` and so on come after it, before
            ``.zip`` where it is to be one file.
          session: the session of a graph's variables, by default the default one.

        Returns:
          The path of the checkpoint.

        Raises:
          FailedPreconditionError: variables have no value; all are named, nothing is written.
          ValueError: there is no session, or the path is that of the directory's record.
        """
        number = self._count(session)
        path = path_of_step(None, os.fspath(file_prefix), number, False)[0]
        check_place(path, "checkpoint")
        self.write(path, session)
        update_checkpoint_state(os.path.dirname(path), path, [path], save_relative_paths=True)
        return path

    def _count(self, session: SessionLike | None) -> int:
        """Add one to the counter of saves, and return it."""
        is_new = self._make_save_counter()
        counter = self.save_counter
        if self._graph is None:
            counter.assign_add(1)
            return int(counter)
        found = session_of(session, "save")
        if is_new:
            found.run(counter.initializer)
        if self._add_one is None:
            with self._graph.as_default(), self._graph.control_dependencies(None):
                self._add_one = assign_add(counter, 1)
        return int(found.run(self._add_one))

    def write(self, file_prefix: str, session: SessionLike | None = None) -> str:
        """Save the present values at a path as it is: no number is added, nothing put on record.

        Args:
          file_prefix: path of the checkpoint; missing directories are made.
          session: the session of a graph's variables, by default the default one.

        Returns:
          The path.

        Raises:
          FailedPreconditionError, ValueError: as `save` does.
          ValueError: variables are of another graph than the checkpoint.
        """
        found = FoundObjects(self)
        others = [v.name for v in found.variables.values() if v.graph is not self._graph]
        if others:
            here = "the eager program" if self._graph is None else "its graph"
            raise ValueError(
                f"{enumerated(others, 4)} are not of {here}: a Checkpoint saves the variables of "
                "the program that it is made in. Make it where they are, as within "
                "graph.as_default()"
            )
        parts = shards_by_name(saved_tensors(found.variables))
        if self._graph is None:
            EAGER_CONTEXT.sync()
            engine = EAGER_CONTEXT.engine
        else:
            engine = session_of(session, "save").engine
        path = os.fspath(file_prefix)
        constants = {**found.states, KEY: numpy.array(serialized(found.nodes), object)}
        if not engine.save(parts, path, constants=constants):
            raise FailedPreconditionError.saying(
                "the chunks of parts of one array do not line up, and objects are saved chunk by "
                "chunk: give the parts equal chunks, or save with a Saver"
            )
        return path

    # -- restoring ----------------------------------------------------------------------------

    def restore(self, save_path: str | None) -> Any:
        """Restore what is there, now and as objects make their variables.

        In eager code variables are set at once. Those of a graph are set in a session, by
        ``initialize_or_restore(session)`` of what this returns; and the variables of a layer that
        is called first after this begin with the checkpoint's values.

        Args:
          save_path: path of the checkpoint: one that a `Checkpoint` wrote, TensorFlow's too, or
            that a `Saver` wrote: its values go to variables of the names that they were saved by.
            None for none, as `latest_checkpoint` returns.

        Returns:
          A status, with ``assert_consumed``, ``assert_existing_objects_matched``,
          ``assert_nontrivial_match``, ``expect_partial``, ``run_restore_ops``,
          ``initialize_or_restore``.

        Raises:
          NotFoundError: there is no checkpoint.
          RestoreError: shapes or dtypes differ: all are listed, and nothing is assigned.
          StoreError: the checkpoint's graph of objects is damaged.
        """
        self._make_save_counter()
        return self.read(save_path)

    def read(self, save_path: str | None) -> Any:
        """Restore, as `restore` does, what `write` wrote: the counter of saves is not made.

        Args:
          save_path: what `write` returned; None restores nothing.

        Raises:
          NotFoundError: there is no checkpoint of that path.
          StoreError: it is damaged.
        """
        status: LoadStatus
        if save_path is None:
            return InitializationOnlyStatus(self, None)
        path = os.fspath(save_path)
        if self._graph is None:
            EAGER_CONTEXT.engine.saves.wait()
        if not is_announced(path):
            raise NotFoundError.saying(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                f"for {path}{instead_of(path)}"
            )
        names = frozenset(NewCheckpointReader(path).records)
        if KEY not in names:
            return NameBasedSaverStatus(self, NamedRestore(self, path, names))
        try:
            nodes = parse(load_variable(path, KEY).item())
        except (ValueError, TypeError) as error:
            raise StoreError.saying(f"{path}: {KEY} is no graph of objects: {error}") from None
        status = CheckpointLoadStatus(self, ObjectRestore(self, path, nodes))
        return status
