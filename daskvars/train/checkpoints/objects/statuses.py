"""What `Checkpoint.restore` returns: whether all was restored, and the restore within a session."""

from __future__ import annotations

from typing import Any

from daskvars.errors import enumerated
from daskvars.execution.session import Session
from daskvars.graph.scopes.stacks import SessionLike, get_default_session
from daskvars.train.checkpoints.objects.restoring import NamedRestore, ObjectRestore, Restore
from daskvars.train.checkpoints.objects.walking import FoundObjects
from daskvars.variables.partitions.partitioned_variable import parts_of
from daskvars.variables.tracking import AnyVariable, identity

NO_CHECKPOINT = "No checkpoint specified (save_path=None); nothing is being restored."


def session_of(session: SessionLike | None, doing: str) -> Session:
    """Return a session, by default the default one.

    Raises:
      ValueError: there is none.
      TypeError: it is something else.
    """
    found = get_default_session() if session is None else session
    if found is None:
        raise ValueError(
            f"Cannot {doing} objects of a graph without a session: give `session`, or use "
            "`with sess.as_default()`."
        )
    if not isinstance(found, Session):
        raise TypeError(f"'session' must be a Session; {found}")
    return found


class LoadStatus:
    """What all statuses are.

    Args:
      root: the checkpoint object, which is kept alive.
      restore: the restore; None where there is nothing to restore from.
    """

    def __init__(self, root: Any, restore: Restore | None) -> None:
        self._root, self._restore = root, restore

    def assert_consumed(self) -> LoadStatus:
        """Raise AssertionError unless every saved value has its object and every object its value.

        Values that wait for a layer to be called are not there yet. Returns the status.
        """
        raise NotImplementedError

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raise AssertionError unless every variable that exists was restored.

        Returns the status.
        """
        raise NotImplementedError

    def assert_nontrivial_match(self) -> LoadStatus:
        """Raise AssertionError where nothing but the root was restored. Returns the status."""
        raise NotImplementedError

    def expect_partial(self) -> LoadStatus:
        """Have nothing logged of values that nobody asks for. Returns the status."""
        if self._restore is not None:
            self._restore.is_partial = True
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Set the variables of a graph in a session; those of eager code are set already.

        Raises:
          AssertionError: there is no checkpoint.
          ValueError: there is no session, and variables of a graph are to be restored.
          RestoreError: shapes or dtypes differ; all are listed, and nothing is assigned.
        """
        raise NotImplementedError

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Set the variables of a graph in a session, and initialize those not in the checkpoint."""
        raise NotImplementedError

    def _initialize(self, session: SessionLike | None, besides: set[Any]) -> None:
        """Run the initializers of variables of a graph that are not among some."""
        found = [
            part
            for value in FoundObjects(self._root).objects
            if isinstance(value, AnyVariable) and identity(value) not in besides
            for part in parts_of(value)
        ]
        initializers = [part.initializer for part in found if part.initializer is not None]
        if initializers:
            session_of(session, "initialize").run(initializers)


class CheckpointLoadStatus(LoadStatus):
    """The status of a restore along the names of attributes."""

    _restore: ObjectRestore

    def assert_consumed(self) -> CheckpointLoadStatus:
        problems = []
        try:
            self.assert_existing_objects_matched()
        except AssertionError as error:
            problems = [str(error)]
        restore = self._restore
        if restore.unresolved:
            paths = restore.paths
            left = [
                f"{paths[number]}: "
                + ", ".join(saved.key for saved in restore.nodes[number].attributes.values())
                for number in restore.unresolved
            ]
            problems.append(f"Unresolved object in checkpoint {enumerated(left, 6)}")
        if problems:
            raise AssertionError("\n".join(problems))
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        self._restore.resume(self._root)
        unbound = self._restore.unbound(self._root)
        counter = identity(self._root.save_counter)
        if "save_counter" not in self._restore.nodes[0].children:  # one that `write` made
            unbound = [value for value in unbound if identity(value) != counter]
        if unbound:
            raise AssertionError(
                f"Found {len(unbound)} Python objects that were not bound to checkpointed values, "
                "likely due to changes in the Python program. Showing "
                f"{min(10, len(unbound))} of {len(unbound)} unmatched objects: {unbound[:10]}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        self._restore.resume(self._root)
        bound = {number for number in self._restore._bound if number != 0}
        counter = self._restore.nodes[0].children.get("save_counter")
        if not bound - {counter}:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this "
                "means that the checkpoint does not match the Python program. The names in the "
                f"checkpoint are {enumerated(sorted(self._restore.nodes[0].children), 10)}"
            )
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        self._restore.resume(self._root)
        if self._restore.for_sessions:
            found = session_of(session, "restore")
            self._restore.set(found.engine, self._restore.for_sessions)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        self.run_restore_ops(session)
        self._initialize(session, {identity(v) for v in self._restore.for_sessions.values()})


class NameBasedSaverStatus(CheckpointLoadStatus):
    """The status of a restore from what a `Saver` wrote, by the names of variables."""

    _restore: NamedRestore  # type: ignore[assignment]

    def assert_consumed(self) -> NameBasedSaverStatus:
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> NameBasedSaverStatus:
        self._restore.resume(self._root)
        counter = identity(self._root.save_counter)
        unbound = [v for v in self._restore.unbound(self._root) if identity(v) != counter]
        if unbound:
            raise AssertionError(f"Object not restored: {enumerated(list(map(repr, unbound)), 10)}")
        return self

    def assert_nontrivial_match(self) -> NameBasedSaverStatus:
        return self.assert_existing_objects_matched()


class InitializationOnlyStatus(LoadStatus):
    """The status of a restore without a checkpoint."""

    def assert_consumed(self) -> InitializationOnlyStatus:
        raise AssertionError(NO_CHECKPOINT)

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to "
            "Saver.restore)."
        )

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        self._initialize(session, set())
