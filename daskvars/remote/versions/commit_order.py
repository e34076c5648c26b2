"""The versions of a state that several clients of one cluster share: who comes after whom.

The state is on workers; its *versions* are kept here, on the scheduler, which all runs pass. A run
arrives as a graph whose tasks name variables, not keys (`BlockRef`), and is bound to the newest
version when it arrives: so runs of all clients form one chain in the order of their arrival, none
is computed from a version that is not the newest, and no client has to know what others do. Its
results are the newest version from then on, before they are computed: runs are pipelined.

A run is *finished*, and its client told, when all of it has succeeded and all runs before it are
finished. When one fails, it and all that were bound after it are undone: the newest version is the
one before it. Clients send theirs again, except the one whose run failed, for which that is an
error. So that their order is kept, a session that has runs undone enters a new *epoch*: what it
sent before it knew is refused.

Nothing here knows of Dask but the names of keys: `remote.versions.version_keeper` holds the keys.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from daskvars.errors import UnavailableError
from daskvars.state.failures import ConflictError
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import NO_VERSION, VariableRecord, VersionId


class BlockLocation(NamedTuple):
    """Where a block is: a Dask key, and which of the outputs there."""

    key: Any
    position: int


class BlockRef(NamedTuple):
    """A block of a variable, in place of the key that a run is bound to.

    Attributes:
        stale: of the newest version that is finished or includes the session's own last run,
            rather than of the newest of all.
    """

    variable: str
    block: Index
    stale: bool = False


class BlockRefs(NamedTuple):
    """Blocks of variables that a task takes as one list, or whose keys it takes.

    Attributes:
        with_keys: the task takes, instead of their values: the keys, for each block which of these
            and the position there, and what is under the keys.
    """

    refs: tuple[BlockRef, ...]
    with_keys: bool


Variables = dict[str, tuple[VariableRecord, Mapping[Index, Any]]]


class StaleEpochError(ConflictError):
    """A run was sent before its session knew that runs before it were undone."""


class StaleViewError(ConflictError):
    """The variables are not as a run expects them: look at them again, and run again."""


class LostKeysError(Exception):
    """Keys are gone that a run takes besides variables: its program, a feed.

    Not Dask's `CancelledError`: raised where the scheduler takes a graph, that would be taken for
    the end of the client's connection.
    """


class LostStateError(UnavailableError):
    """Blocks of the state are gone, and nothing is left to compute them from."""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What a run says of itself.

    Attributes:
        name: the state.
        session, epoch, number: whose it is, and which.
        keys: everything that must succeed.
        writes: the variables' new values: record (None: as it was) and blocks, which may be those
            of other variables (`BlockRef`).
        layouts: the record of each variable read, as the run expects it.
        is_first_phase: whether this is only what a run computes before it is put in the chain.
        exact: the number of the first phase which must have been bound to the newest version, as
            the newest still is; None where that does not matter.
        drops: variables that are gone from then on, if it writes others.
    """

    name: str
    session: str
    epoch: int
    number: int
    keys: tuple[Any, ...]
    writes: Mapping[str, tuple[VariableRecord | None, Mapping[Index, Any]]] = field(
        default_factory=dict
    )
    layouts: Mapping[str, VariableRecord] = field(default_factory=dict)
    is_first_phase: bool = False
    exact: int | None = None
    drops: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True)
class PendingRun:
    """A run that is bound and not finished.

    Attributes:
        header: what it said.
        after: all variables as it leaves them.
        version: the number of that version.
        held_keys: keys that are held for it besides its results: its own, and those of the version
            that it reads which its tasks do not depend on (`BlockRefs.with_keys`).
        bound_keys: keys that are held until its graph is known to the scheduler.
        missing: keys that are still to be computed; None before the graph is known.
        told: key -> what came along with the word that it is computed (`remote.told_results`).
    """

    header: RunHeader
    after: Variables
    version: int
    held_keys: list[Any]
    bound_keys: list[Any]
    missing: set[Any] | None = None
    told: dict[Any, bytes] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all of it has been computed."""
        return self.missing is not None and not self.missing

    def computed(self, key: Any, told: bytes | None = None) -> None:
        """Take note that a key is computed, and of what came along with that word."""
        assert self.missing is not None, "keys are waited for once the graph is known"
        self.missing.discard(key)
        if told is not None:
            self.told[key] = told


Notify = Callable[[str, dict[str, Any]], None]


class SharedVersions:
    """The chain of versions of one state.

    Args:
        notify: called with a session and what it is to know.

    Attributes:
        finished: the variables at the newest version that is known to be good.
        changed: key -> the version that changed it last, of those that were finished.
        newest: the variables as the last run that arrived leaves them.
        version, finished_version: how many runs that write have arrived, and are finished.
        chain: the runs between, in order.
        holds: how often each key is in use.
        durable: the version of the store that `finished` comes from or was last written as.
        dropped: keys that are in use no more, for somebody to release.
        leaving: variables that nobody has any more -> the session that had them, its epoch, and the
            number of the last run that it had sent by then.
        bound_by, finished_by, sealed_by: the number of the last run of each session that is so.
        written_by: the last version that each session has made since the last seal.
    """

    def __init__(self, notify: Notify) -> None:
        self.notify = notify
        self.finished: Variables = {}
        self.changed: dict[str, int] = {}
        self.newest: Variables = {}
        self.version = self.finished_version = 0
        self.chain: deque[PendingRun] = deque()
        self.holds: Counter[Any] = Counter()
        self.dropped: list[Any] = []
        self.leaving: dict[str, tuple[str, int, int]] = {}
        self.epochs: dict[str, int] = {}
        self.bound_by: dict[str, int] = {}
        self.finished_by: dict[str, int] = {}
        self.sealed_by: dict[str, int] = {}
        self.written_by: dict[str, int] = {}
        self.durable = NO_VERSION
        self._early: dict[str, tuple[int, int]] = {}  # session -> number of a first phase, version

    # -- arriving -------------------------------------------------------------------------------

    def check_epoch(self, header: RunHeader) -> None:
        """Raise StaleEpochError where a run was sent before its session knew of a new epoch.

        That comes first: whatever else is wrong with it, its session sends it again, and a refusal
        (`refuse`) would take the session back to an epoch that it has left.
        """
        if self.epochs.get(header.session) != header.epoch:
            raise StaleEpochError.saying(
                f"run {header.number} was sent before it was known "
                "that runs before it were undone; send it again"
            )

    def refuse(self, header: RunHeader) -> dict[str, Any]:
        """Refuse what a session sends until it knows that one of its runs cannot be bound."""
        self.epochs[header.session] = header.epoch + 1
        return {"failed": header.number, "why": "refused", "epoch": header.epoch + 1}

    def bind(
        self,
        header: RunHeader,
        refs: Iterable[BlockRef],
        is_there: Callable[[Any], bool],
        kept: Iterable[BlockRef] = (),
    ) -> tuple[PendingRun, dict[BlockRef, BlockLocation]]:
        """Put a run at the end of the chain, and return what the blocks that it takes are.

        Args:
            header: the run.
            refs: blocks of variables that its tasks take.
            is_there: whether the scheduler knows a key.
            kept: those of the blocks that must be there until the run is finished.

        Raises:
            StaleEpochError: runs before it were undone.
            StaleViewError: the variables are not as the run expects them.
            LostStateError: blocks are lost.
        """
        self.check_epoch(header)
        before = {False: self.newest, True: self._stale_view(header.session)}  # by BlockRef.stale
        check_layouts(header, before[False])
        if header.exact is not None and self._early.get(header.session) != (
            header.exact,
            self.version,
        ):
            raise StaleViewError.saying(
                f"another client has changed variables of the state {header.name!r} "
                f"while run {header.number} computed the shapes of its results"
            )
        found = {ref: self._find(before[ref.stale], ref) for ref in refs}
        writes: Variables = {
            key: (
                record or self._record(key),
                {
                    index: self._find(before[block.stale], block)
                    if isinstance(block, BlockRef)
                    else block
                    for index, block in blocks.items()
                },
            )
            for key, (record, blocks) in header.writes.items()
        }
        lost = sorted(
            {ref.variable for ref, location in found.items() if not is_there(location.key)}
        )
        if lost:
            raise lost_state(lost, f"run {header.number}", self.durable)
        bound_keys = [location.key for location in found.values()]
        if header.is_first_phase:
            self._early[header.session] = header.number, self.version
            self.holds.update(bound_keys)
            return PendingRun(header, self.newest, self.version, [], bound_keys), found
        self.bound_by[header.session] = header.number
        for key in writes.keys() & self.leaving.keys():
            if header.number > self.leaving[key][2]:  # another has the name
                del self.leaving[key]
        if writes:
            self.newest = {**self.newest, **writes}
            for key in header.drops - writes.keys():
                self.newest.pop(key, None)
            self.version += 1
            self.written_by[header.session] = self.version
        held_keys = [*header.keys, *{found[ref].key for ref in kept}]
        pending = PendingRun(header, self.newest, self.version, held_keys, bound_keys)
        self.holds.update([*held_keys, *bound_keys, *keys_of(writes)])
        self.chain.append(pending)
        return pending, found

    def _record(self, key: str) -> VariableRecord:
        if key not in self.newest:
            raise StaleViewError.saying(f"variable {key!r} has no value any more")
        return self.newest[key][0]

    def _find(self, variables: Variables, ref: BlockRef) -> BlockLocation:
        found = variables.get(ref.variable) or self.newest.get(ref.variable)
        if found is None or ref.block not in found[1]:
            raise StaleViewError.saying(
                f"variable {ref.variable!r} has no block {ref.block} any more"
            )
        return found[1][ref.block]

    def _stale_view(self, session: str) -> Variables:
        for pending in reversed(self.chain):
            if pending.header.session == session:
                return pending.after
        return self.finished

    def graph_registered(self, pending: PendingRun, missing: set[Any]) -> None:
        """Take note that the scheduler knows a run's tasks, and which are not computed yet."""
        pending.missing = missing
        self.drop(pending.bound_keys)
        pending.bound_keys = []
        self.advance()

    # -- finishing and failing ------------------------------------------------------------------

    def advance(self) -> None:
        """Finish what can be finished, from the front of the chain."""
        while self.chain and self.chain[0].is_complete:
            pending = self.chain.popleft()
            written = pending.header.writes.keys()
            gone = (written | pending.header.drops) & self.finished.keys() if written else ()
            self.drop(keys_of(self.finished, gone))
            self.drop(pending.held_keys)
            if written:
                self.finished, self.finished_version = pending.after, pending.version
                self.changed.update(dict.fromkeys(written, pending.version))
                for key in pending.header.drops - written:
                    self.changed.pop(key, None)
            self.finished_by[pending.header.session] = pending.header.number
            told = {"told": pending.told} if pending.told else {}
            self.notify(pending.header.session, {"done": pending.header.number, **told})
        if self.leaving and not self.chain:
            self._take_away()

    def _take_away(self) -> None:
        """Let go of variables that nobody has any more, while no run is under way.

        A run that takes one may be on its way still. Where runs were undone, which may have taken
        it as well, that is left to the next run that changes variables (`RunHeader.drops`).
        """
        for key, (session, epoch, number) in list(self.leaving.items()):
            is_undone = self.epochs.get(session) != epoch
            if is_undone or self.bound_by.get(session, 0) >= number:
                del self.leaving[key]
                if not is_undone and key in self.finished:
                    self.drop(keys_of(self.finished, [key]))
                    self.finished = {k: v for k, v in self.finished.items() if k != key}
                    self.changed.pop(key, None)
        self.newest = self.finished

    def fail(self, pending: PendingRun, why: str) -> None:
        """Undo a run that cannot be finished, and if it writes all that came after it.

        Args:
            pending: the run.
            why: "erred", or "lost" where it is no fault of its own.
        """
        if pending not in self.chain:
            self.drop(pending.bound_keys)
            pending.bound_keys = []
            return
        message = {"failed": pending.header.number, "why": why}
        owner = pending.header.session
        if pending.header.writes:
            position = list(self.chain).index(pending)
            epochs = self._undo(position, but=owner)
            self.notify(owner, {**message, "epoch": epochs[owner]})
        else:
            self.chain.remove(pending)
            self.drop([*pending.held_keys, *pending.bound_keys])
            self.notify(owner, message)
        self.advance()

    def _undo(self, position: int, but: str | None = None) -> dict[str, int]:
        """Undo the runs from a place in the chain; return the new epochs of their sessions."""
        runs = list(self.chain)
        self.chain = deque(runs[:position])
        self.newest = runs[position - 1].after if position else self.finished
        first: dict[str, int] = {}
        for run in runs[position:]:
            self.drop([*run.held_keys, *run.bound_keys, *keys_of(run.after, run.header.writes)])
            first.setdefault(run.header.session, run.header.number)
        for session, number in first.items():
            self.epochs[session] = self.epochs.get(session, 0) + 1
            if session != but:
                self.notify(session, {"undone": number, "epoch": self.epochs[session]})
        return {session: self.epochs[session] for session in first}

    def drop(self, keys: Iterable[Any]) -> None:
        """Use keys once less."""
        for key in keys:
            self.holds[key] -= 1
            if self.holds[key] <= 0:
                del self.holds[key]
                self.dropped.append(key)

    # -- without a run --------------------------------------------------------------------------

    def reset(self, variables: Variables, durable: VersionId) -> None:
        """Set the whole state; runs that are not finished are undone."""
        self._undo(0)
        old = self.finished
        self.holds.update(keys_of(variables))
        self.finished = self.newest = dict(variables)
        self.drop(keys_of(old))
        self.version += 1
        self.finished_version, self.durable = self.version, durable
        self.changed = dict.fromkeys(variables, self.version)

    def sealed(self, version: int, durable: VersionId, runs: Mapping[str, int]) -> None:
        """Take note that a version is on disk.

        Args:
            version: its number here.
            durable: its number there.
            runs: `finished_by` as of that version.
        """
        self.durable, self.sealed_by = durable, dict(runs)
        self.written_by = {s: last for s, last in self.written_by.items() if last > version}
        for session in self.epochs:
            if session in runs:
                self.notify(session, {"sealed": runs[session], "durable": durable})


def keys_of(variables: Variables, names: Iterable[str] | None = None) -> Iterator[Any]:
    """Yield the key of each block of some variables."""
    for name in variables if names is None else names:
        for location in variables[name][1].values():
            yield location.key


def check_layouts(header: RunHeader, found: Variables) -> None:
    """Refuse a run that expects variables otherwise than they are.

    Raises:
        StaleViewError: naming what differs.
    """
    for key, record in header.layouts.items():
        have = found[key][0] if key in found else None
        if have is None or (have.dtype, have.chunks) != (record.dtype, record.chunks):
            is_now = f"{have.dtype} in chunks {have.chunks}" if have else "without a value"
            raise StaleViewError.saying(
                f"variable {key!r} is {is_now} in the state {header.name!r}, but run "
                f"{header.number} expects it to be {record.dtype} in chunks {record.chunks}"
            )


def lost_state(keys: Iterable[str], what: str, durable: VersionId) -> LostStateError:
    """Return the error of something that needs blocks which are lost."""
    last = (
        "no version was durable yet: run the initializers again"
        if durable == NO_VERSION
        else f"the last durable version is {durable}: recover() goes back to it"
    )
    return LostStateError.saying(
        f"{what} cannot be finished: {', '.join(keys)} cannot be rebuilt; {last}"
    )
