"""The values that variables have now, in this process.

A `Values` maps keys to blocks and counts commits. A commit replaces whole entries under one lock.
It says which version it was computed from and is refused when that is no longer the newest; its
caller runs again on the new one. What changed since the last snapshot is kept by version, so a
snapshot may be written while commits go on.

Who reads blocks takes a `Lease` of them. A run may write over the blocks that it replaces, which
spares a large variable fresh memory, but only over those that nobody leases: what is leased stays
what it was. A run that holds `run_lock` needs no lease, as no other can write meanwhile. Nothing
else that the process refers to counts: blocks belong to their `Values`, and whoever wants to keep
one longer than a lease copies it.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from daskvars.errors import FailedPreconditionError
from daskvars.state.failures import conflict, not_found
from daskvars.state.format.grids import Blocks
from daskvars.state.format.manifest import NO_VERSION, VariableRecord, VersionId


class Lease:
    """The right to read blocks until it is released; use it in a ``with`` statement.

    Attributes:
        version: the number of commits when it was taken.
        blocks: the blocks of each variable asked for; one taken out of a dict that is the reader's
            own (`of`) is given back at once.
    """

    __slots__ = ("_all", "blocks", "version")

    def __init__(self, leases: set[Lease], version: int, blocks: list[Blocks]) -> None:
        self._all, self.version, self.blocks = leases, version, blocks
        leases.add(self)  # of a set, one step that no other thread comes into

    def of(self, blocks: list[Blocks]) -> Lease:
        """Give a lease of some of its blocks, in other dicts, that is released for itself."""
        return Lease(self._all, self.version, blocks)

    def release(self) -> None:
        """Give the blocks back; once is enough."""
        self._all.discard(self)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()


class Values:
    """Variables' current values, by key.

    Attributes:
        version: number of commits so far; read it together with values through `read`.
        base: the version of a durable store that these values come from or were last written as;
            what changed since is `dirty`. Changed under `run_lock`.
        begun: the version that is being made of them, until `base` is set; None if none is.
        external_updates: counts how often values came from elsewhere than a run on those before:
            then their records may be others.
        run_lock: held by a run of this process that writes, so that such runs do not conflict.
        token: a text that no other values have.
        num_sessions: how many have them open, where they are those of a store; see `opened_values`.

    >>> values = Values()
    >>> record = VariableRecord("step", "int64", (), ())
    >>> values.commit({"step": {(): np.int64(0)}}, 0, {"step": record})
    1
    >>> version, (step,) = values.read(["step"])
    >>> values.commit({"step": {(): step[()] + 1}}, version)
    2
    >>> values.commit({"step": {(): step[()] + 1}}, version)
    Traceback (most recent call last):
    daskvars.state.failures.ConflictError: version 2 was committed after version 1 was read; \
run again on the new one
    """

    __slots__ = (
        "_base",
        "_blocks",
        "_changed",
        "_leases",
        "_lock",
        "_records",
        "begun",
        "external_updates",
        "num_sessions",
        "run_lock",
        "token",
        "version",
    )

    def __init__(self) -> None:
        self.version = 0
        self.external_updates = 0
        self.base = NO_VERSION
        self.run_lock = threading.RLock()
        self.num_sessions = 0
        self.token = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._leases: set[Lease] = set()
        self._records: dict[str, VariableRecord] = {}
        self._blocks: dict[str, Blocks] = {}
        self._changed: dict[str, int] = {}

    @property
    def base(self) -> VersionId:
        """See above."""
        return self._base

    @base.setter
    def base(self, version: VersionId) -> None:
        self._base = version
        self.begun: VersionId | None = None

    def get(self, key: str) -> Blocks:
        """Give one variable's blocks.

        Raises:
            FailedPreconditionError: it is not initialized.
        """
        try:
            return self._blocks[key]
        except KeyError:
            raise uninitialized_error([key]) from None

    def read(self, keys: Collection[str]) -> tuple[int, list[Blocks]]:
        """Give several variables' blocks as of one version, for a caller that holds `run_lock`.

        Any other takes a `lease`.

        Args:
            keys: the variables.

        Returns:
            The version, and per key its blocks.

        Raises:
            FailedPreconditionError: naming all of them that are not initialized.
        """
        with self._lock:
            return self.version, self._found(keys)

    def _found(self, keys: Collection[str]) -> list[Blocks]:
        try:
            blocks = self._blocks
            return [blocks[key] for key in keys]
        except KeyError:
            raise uninitialized_error(self.uninitialized(keys)) from None

    def lease(self, keys: Collection[str]) -> Lease:
        """Give several variables' blocks as of one version, to be read until they are given back.

        Args:
            keys: the variables.

        Raises:
            FailedPreconditionError: naming all of them that are not initialized.

        >>> values = Values()
        >>> with values.lease([]) as lease:
        ...     lease.version, lease.blocks
        (0, [])
        """
        with self._lock:
            return Lease(self._leases, self.version, self._found(keys))

    def leased(self) -> set[int]:
        """Give the `id` of each block that somebody leases, to who holds `exclusive`."""
        # Lists, each made in one step: readers give blocks back without asking for a lock.
        found = [blocks for lease in list(self._leases) for blocks in lease.blocks]
        return {id(block) for blocks in found for block in list(blocks.values())}

    def record(self, key: str) -> VariableRecord:
        """Give what is known of an initialized variable.

        Raises:
            FailedPreconditionError: it is not initialized.
        """
        try:
            return self._records[key]
        except KeyError:
            raise uninitialized_error([key]) from None

    def uninitialized(self, keys: Iterable[str]) -> list[str]:
        """List those of some variables that have no value, in the order given."""
        return [key for key in keys if key not in self._blocks]

    def __contains__(self, key: str) -> bool:
        return key in self._blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def commit(
        self,
        updates: Mapping[str, Blocks],
        expected_version: int,
        records: Mapping[str, VariableRecord] | None = None,
    ) -> int:
        """Replace several variables' values, all or none.

        Args:
            updates: key -> block index -> block, in the layout of the variable's record. The
                blocks belong to the variables from now on: nobody else may keep them.
            expected_version: the version from which the updates were computed.
            records: records of the variables that are new, or change in shape or layout.

        Returns:
            The new version.

        Raises:
            ConflictError: another commit came first; nothing changed.
            NotFoundError: a variable is new and has no record; nothing changed.
        """
        with self._lock:
            if self.version != expected_version:
                raise conflict(
                    f"version {self.version} was committed after version {expected_version}"
                    " was read; run again on the new one"
                )
            if not updates.keys() <= self._records.keys():
                check_records(updates, self._records, records or {})
                self.external_updates += 1
            return self.replace(updates, records or {})

    def put(self, updates: Mapping[str, Blocks], records: Mapping[str, VariableRecord]) -> int:
        """Do what `commit` does, whatever the version is."""
        with self.run_lock:
            version = self.commit(updates, self.version, records)
            self.note_external_update()
            return version

    def note_external_update(self) -> None:
        """Have those who rely on records look at them again."""
        with self._lock:
            self.external_updates += 1

    def exclusive(self) -> threading.Lock:
        """Give the lock that reads and commits take: while it is held, nobody gets at a block."""
        return self._lock

    def replace(self, updates: Mapping[str, Blocks], records: Mapping[str, VariableRecord]) -> int:
        """Do what `commit` does, for a caller that holds `exclusive` since it read the version."""
        version = self.version + 1
        self._records.update(records)
        self._blocks.update(updates)
        changed = self._changed
        for key in updates:  # half the time of update(fromkeys())
            changed[key] = version
        self.version = version
        return version

    def delete(self, key: str) -> int:
        """Forget a variable and return the new version.

        Raises:
            FailedPreconditionError: it is not initialized.
        """
        with self._lock:
            if key not in self._blocks:
                raise uninitialized_error([key])
            self._remove(key)
            return self.version

    def discard(self, key: str) -> bool:
        """Forget a variable if it has a value, and return whether it had one."""
        with self._lock:
            if key not in self._blocks:
                return False
            self._remove(key)
            return True

    def _remove(self, key: str) -> None:
        del self._blocks[key], self._records[key]
        self._changed.pop(key, None)
        self.version += 1

    def clear(self) -> None:
        """Forget all variables: they are somewhere else from now on."""
        with self._lock:
            self._records, self._blocks, self._changed = {}, {}, {}
            self.base = NO_VERSION
            self.version += 1
            self.external_updates += 1

    def capture(self) -> tuple[int, dict[str, tuple[VariableRecord, Blocks]]]:
        """Give everything as of one version, to be written as a snapshot.

        Returns:
            The version, and per key its record and blocks, which stay as they are as long as the
            caller holds `run_lock`.
        """
        with self._lock:
            records = self._records
            return self.version, {key: (records[key], b) for key, b in self._blocks.items()}

    def made_read_only(self) -> dict[str, tuple[VariableRecord, Blocks]]:
        """Give what `capture` does to somebody who keeps it: no run writes over it from now on."""
        with self.run_lock:
            state = self.capture()[1]
            for _, blocks in state.values():
                for block in blocks.values():
                    if isinstance(block, np.ndarray):
                        block.flags.writeable = False
            return state

    @property
    def dirty(self) -> frozenset[str]:
        """Variables that changed since the version last given to `mark_saved`."""
        with self._lock:
            return frozenset(self._changed)

    def mark_saved(self, version: int) -> None:
        """Note that a snapshot of a version is durable: what changed up to it is clean."""
        with self._lock:
            self._changed = {k: v for k, v in self._changed.items() if v > version}

    def mark_clean(self, keys: Iterable[str]) -> None:
        """Note that variables have the values of the last snapshot, if in other chunks."""
        with self._lock:
            for key in keys:
                self._changed.pop(key, None)


def uninitialized_error(keys: Iterable[str]) -> FailedPreconditionError:
    """Make the error of a read before initialization."""
    listed = list(keys)
    have = "have" if len(listed) > 1 else "has"
    return FailedPreconditionError(
        None,
        listed[0],
        f"Attempting to use uninitialized value {', '.join(listed)}: {len(listed)} of the "
        f"variables read {have} no value. Run `session.run(global_variables_initializer())` (for "
        "local ones local_variables_initializer()) after the last variable is made, or restore "
        "them with a Saver.",
    )


def check_records(
    updates: Mapping[str, Blocks],
    known: Mapping[str, VariableRecord],
    records: Mapping[str, VariableRecord],
) -> None:
    """Refuse updates of variables that nothing is known of."""
    unknown = sorted(updates.keys() - known.keys() - records.keys())
    if unknown:
        raise not_found(f"no record of variables {', '.join(unknown)}; commit it with their values")


registry: dict[str, Values] = {}
registry_lock = threading.RLock()  # the garbage collector may come in while it is held


def named_values(name: str) -> Values:
    """Give the values that all sessions of one name share in this process, empty at first.

    They are kept until `forget_values`, for they are nowhere else.

    Args:
        name: a mere name.

    >>> named_values("shared") is named_values("shared")
    True
    """
    with registry_lock:
        return registry.setdefault(name, Values())


def known_values(name: str) -> Values | None:
    """Give the values that sessions of one name share in this process, None before the first."""
    return registry.get(name)


def opened_values(place: str) -> Values:
    """Give the values that all sessions on one store share in this process, to one session more.

    They are kept as long as a session has them open, and after that are read from the store.
    Paths that lead to one directory, by links, are one store.

    Args:
        place: the store's path or URL.

    >>> values = opened_values("model.zarr")
    >>> opened_values("model.zarr") is values
    True
    >>> for _ in range(2):
    ...     close_values(values)
    >>> opened_values("model.zarr") is values
    False
    >>> forget_values("model.zarr")
    """
    with registry_lock:
        values = registry.setdefault(_real(place), Values())
        values.num_sessions += 1
        return values


def _real(place: str) -> str:
    return os.path.realpath(place) if os.path.isabs(place) else place


def close_values(values: Values) -> None:
    """Take note that a session does not use a store's values any more; the last one releases them.

    Args:
        values: as `opened_values` gave them.
    """
    with registry_lock:
        values.num_sessions -= 1
        if not values.num_sessions:
            # Looked for, as a link may lead elsewhere by now.
            for found in [name for name, each in registry.items() if each is values]:
                del registry[found]


def forget_values(name: str) -> None:
    """Release the values of a name: sessions that hold them keep them, later ones start anew."""
    with registry_lock:
        registry.pop(_real(name), None)
