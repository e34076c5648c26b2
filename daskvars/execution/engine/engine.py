"""The engine: the variables of a session and the executor that runs plans on them.

Sessions and eager code are its two callers.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import dask.array
from numpy.typing import NDArray

from daskvars import config
from daskvars.chunk_grid import Chunks, whole
from daskvars.dtypes import DType, as_dtype
from daskvars.errors import (
    AbortedError,
    NotFoundError,
    OpError,
    UnavailableError,
    UnimplementedError,
)
from daskvars.execution.cluster.executor import ClusterExecutor, cluster_executor, drop_state
from daskvars.execution.engine.executors import active_client, forget_closed
from daskvars.execution.engine.interrupts import shielded
from daskvars.execution.engine.plans.cache import PlanCache
from daskvars.execution.engine.plans.executables import Executable, SharedExecutable
from daskvars.execution.engine.saving.local_seals import (
    Durable,
    is_location,
    load_if_changed,
    no_durable_version,
    open_state,
    read_version,
    state_name,
)
from daskvars.execution.engine.saving.pending_saves import PendingSave, PendingSaves
from daskvars.execution.engine.saving.reconcile import reconcile
from daskvars.execution.engine.saving.targets import client_of, default_containers
from daskvars.execution.host_ops.resources import forget_containers, forget_resources, resources_of
from daskvars.execution.host_ops.staged import StagedExecutable, stages_of
from daskvars.execution.local.executor import LocalExecutor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering.plan import Plan
from daskvars.lowering.program import STATE, concrete
from daskvars.remote.dask_internals import check_may_wait
from daskvars.state import Values, ZarrStore, forget_values, known_values
from daskvars.state.format.grids import Blocks, layout_shape
from daskvars.state.format.keypath import check_key
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.shards import Shard, join_shards
from daskvars.state.stores.addresses import local_path


class Loss(NamedTuple):
    """What went with a cluster that is gone.

    Attributes:
      error: what is raised where they are needed.
      store: where their last durable version is, None if none was written.
    """

    keys: frozenset[str]
    error: UnavailableError
    store: ZarrStore | None


CLOSED = (
    "Attempted to use a closed Session. Make another, and restore or initialize its variables: "
    "those of a session without a store end with it."
)


class Engine:
    """Runs programs on one set of variables.

    Attributes:
      name: under which they are shared, "" where they are not.
      values: the variables' present values; on a cluster, the records of them.
      store: where they are made durable, if anywhere.
      durable: what keeps the two in step, where there is no cluster.
      executor: what runs plans; on a cluster it replaces devices that no worker offers if the
        engine was made with ``soft=True``, or by `config.soft_placement`.
      plans: plans by signature, bound to the executor.
      saves: checkpoints that are being written.
      resources: queues and other objects that are in this process.
      is_closed: whether everything was let go of.
      loss: the variables that were on a cluster which is gone, if any. Those without a new value
        since cannot be read; with a store nothing can be run until `recover` or `restore`.
    """

    def __init__(
        self,
        where: Any = None,
        num_threads: int | None = None,
        soft: bool | None = None,
        consistency: str | None = None,
    ) -> None:
        forget_closed()
        consistency = consistency or config.get().consistency
        if consistency not in config.CONSISTENCIES:
            raise ValueError(f"consistency={consistency!r} is none of {config.CONSISTENCIES}")
        self._is_async = consistency == "async"
        self._num_threads = num_threads
        self._soft = soft
        self._where = where
        self._is_loaded = self._client() is None
        self.name, self.values, self.store = open_state(where, self._is_loaded)
        self._here = self.values
        self.durable: Durable | None = None
        if self.store is not None:
            self.durable = Durable(self.name, self.values, self.store)
            self._abandon = weakref.finalize(self, self.durable.abandon)
            self._abandon.atexit = False
        self.plans = PlanCache()
        self.saves = PendingSaves()
        self.resources = resources_of(self.name)
        self.loss: Loss | None = None
        self._executor: LocalExecutor | ClusterExecutor | None = None
        self._handles: dict[str, Tensor] = {}
        self._num_draws: dict[Any, int] = {}
        self._entropy = secrets.randbits(64)
        self.is_closed = self._is_aborted = False
        self._lock = threading.RLock()
        if self.name and self.store is None:
            _of_names.setdefault(self.name, weakref.WeakSet()).add(self)

    def acquire(self) -> LocalExecutor | ClusterExecutor:
        """Return what runs plans: on the Dask client that is active when the first run needs it.

        The values are where it is: those that were here move to a cluster when it is first asked
        for.
        """
        found = self._executor
        if found is None or found.is_closed:
            found = self._opened()
        return found

    def _opened(self) -> LocalExecutor | ClusterExecutor:
        with self._lock:
            if self._is_aborted:
                raise AbortedError.saying(_ABORTED.format(self.name))
            self._note_loss()
            if self._executor is None:
                if self.loss is not None and self.store is not None:
                    raise self.loss.error
                self.plans = PlanCache()
                found = self._new_executor()
                if found.placement is not None:
                    found.placement.soft = self.is_soft
                self._executor = found
            return self._executor

    def abort(self) -> None:
        """Let go of variables that others share as well: they were given up, see `forget_state`."""
        with self._lock:
            executor, self._executor, self._is_aborted = self._executor, None, True
            self.values = self._here = Values()
        self.resources.cancel()
        if executor is not None:
            with contextlib.suppress(OpError):  # a run in flight that failed is given up as well
                executor.close()

    def follow_client(self) -> None:
        """Move to the active Dask client, if there is one now and the values are here."""
        executor = self._executor
        if isinstance(executor, ClusterExecutor):
            check_may_wait(executor.client)
        elif self._client() is not None and executor is not None:
            with self._lock:
                executor.close()
                self._executor = None

    @property
    def present_values(self) -> Values:
        """Return the variables' values where they are now: with a client that was closed they came
        home, and `values` are those that it left behind until the next run asks."""
        with self._lock:
            self._note_loss()
            return self.values

    def forget(self, key: str) -> bool:
        """Forget a variable that nobody has any more; on a cluster with the next run.

        Returns:
          Whether that is done: not while values move, whose copy would stay, nor while a run that
          writes is under way. Nobody is waited for.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            run_lock = self.present_values.run_lock
            if not run_lock.acquire(blocking=False):
                return False
            try:
                if self.values.discard(key) and isinstance(self._executor, ClusterExecutor):
                    self._executor.note_dropped(key)
            finally:
                run_lock.release()
        finally:
            self._lock.release()
        return True

    def _note_loss(self) -> None:
        """Take note of what a cluster that is gone has taken with it, if one has."""
        executor = self._executor
        if not isinstance(executor, ClusterExecutor) or not executor.is_closed:
            return
        self._executor, self.values = None, self._here
        if not executor.is_retrieved:
            lost = frozenset(executor.values.capture()[1])
            self.loss = Loss(lost, executor.lost_error(), executor.sealer.store) if lost else None
            if self.store is None:
                self._here.clear()  # else what was here before they moved would stand for them

    @property
    def is_soft(self) -> bool:
        """Whether devices that there are not are replaced by others."""
        return bool(self._soft or config.get().soft_placement)

    def _client(self) -> Any:
        return client_of(self._where) or active_client()

    def _new_executor(self) -> LocalExecutor | ClusterExecutor:
        client = self._client()
        if client is None:
            self.values = self._here
            if self.store is not None and not self._is_loaded:
                load_if_changed(self.values, self.store)
            return LocalExecutor(self.values, self._num_threads, self.durable)
        if self.durable is not None and self._here.dirty:
            self.durable.seal()
        self._is_loaded = False
        found = cluster_executor(client, self._here, self.name, self.store)
        self.values = found.values
        return found

    @property
    def updates_newest(self) -> bool:
        """Whether updates are made to a newer version than the one that a run reads."""
        return self._is_async and self.acquire().is_shared

    def executable(
        self,
        signature: Hashable,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        fed: Sequence[Tensor],
    ) -> Executable | StagedExecutable:
        """Return what runs these fetches of a graph again and again."""
        compiled = partial(SharedExecutable if self.name else Executable, self)
        stages = stages_of(signature, fetches, targets, fed, compiled)
        if stages:
            return StagedExecutable(self, stages, fetches, fed)
        return compiled(signature, fetches, targets, fed)

    def transact(self, run: Callable[[], Any]) -> Any:
        """Call what runs a program or sets variables, in step with the store if there is one."""
        draws = self._num_draws

        def attempt() -> Any:
            self._num_draws = dict(draws)
            return run()

        return self.acquire().transact(attempt)

    def state_of(self, handle: Tensor) -> tuple[Spec, Chunks | None, bool]:
        """Return what lowering must know of a variable: spec, chunks, whether it has a value."""
        attrs = handle.op.attrs
        key, chunks, spec = attrs["key"], attrs["chunks"], handle.spec
        spec = Spec(spec.dtype.base_dtype, spec.shape)
        if self.name:
            self._handles[key] = handle
            if attrs.get("container"):
                _containers.setdefault(self.name, {})[key] = attrs["container"]
        present = key in self.values
        chunks = chunks or self._automatic_chunks(key, spec, handle.op.device)
        if present and (spec.shape is None or None in spec.shape):
            spec = Spec(spec.dtype, layout_shape(self.values.record(key).chunks))
        return spec, chunks, present

    def _automatic_chunks(self, key: str, spec: Spec, device: str) -> Chunks | None:
        """Return the chunks of a variable of which nobody has said how it is cut; None: whole."""
        found = self.values.record(key).chunks if key in self.values else None
        return self.acquire().automatic_chunks(spec, device, found)

    def reconcile(self, plan: Plan) -> int:
        """Bring variables that others may have made into the form that a plan is for.

        Returns:
          `Values.external_updates`: as long as it stays the same, there is nothing more to do.

        Raises:
          InvalidArgumentError: some are other variables; see `reconcile.reconcile`.
          UnavailableError: some are lost with a cluster, and have no new values.
        """
        if self.loss is not None:
            states = {leaf.what for leaf in plan.leaves if leaf.kind == STATE}
            self._check_lost(states | plan.presence.keys(), self.loss)
        where = f"store {self.name!r}" if self.name else "the session"
        with self.values.run_lock:
            reconcile(self.values, self.acquire(), self._handles, plan, where)
        return self.values.external_updates

    def _check_lost(self, wanted: Iterable[str], loss: Loss) -> None:
        if any(key in loss.keys and key not in self.values for key in wanted):
            raise loss.error

    def dask_array(self, key: str) -> dask.array.Array:
        """Return the present value of a variable as a dask array; its blocks stay where they are.

        Raises:
          FailedPreconditionError: it has no value.
          UnavailableError: its value is lost with a cluster.
        """
        executor = self.acquire()
        if self.loss is not None:
            self._check_lost([key], self.loss)
        return executor.recovering(lambda: executor.dask_array(key))

    def save(
        self,
        parts: Mapping[str, Sequence[Shard]],
        where: str,
        global_step: int | None = None,
        codec: str = "",
        constants: Mapping[str, NDArray[Any]] | None = None,
    ) -> bool:
        """Save variables as a checkpoint.

        Args:
          parts: the name that each array is saved under -> the variables that it is in.
          where: path or URL of the checkpoint.
          global_step: the step that is noted in it.
          codec: what chunks are compressed with, by name; empty for nothing.
          constants: name -> array that is saved beside them, in one chunk.

        Returns:
          False, and nothing was saved, where the chunks of parts of one array do not line up.

        Raises:
          UnavailableError: values were lost with workers, and cannot be computed again.
        """
        self.saves.wait()

        def save() -> bool:
            with self.acquire().lease(_keys(parts)) as lease:
                found = self._captured(parts, lease.blocks, codec)
                if found is not None:
                    found |= {name: constant(name, a) for name, a in (constants or {}).items()}
                    self.acquire().save(found, where, global_step)
            return found is not None

        return self.acquire().recovering(save)

    def save_async(
        self,
        parts: Mapping[str, Sequence[Shard]],
        where: str,
        global_step: int | None,
        then: Callable[[], None],
        codec: str = "",
    ) -> PendingSave | None:
        """Begin to save the present values as a checkpoint, and return.

        Args:
          parts, where, global_step, codec: as for `save`.
          then: called by the thread that writes, when the checkpoint is complete.

        Returns:
          None, and nothing was begun, where `save` returns False.

        Raises:
          UnavailableError: values were lost with workers, and cannot be computed again.
        """
        self.saves.wait()
        executor = self.acquire()
        with executor.recovering(lambda: executor.lease(_keys(parts), in_flight=True)) as lease:
            found = self._captured(parts, lease.blocks, codec)
            if found is None:
                return None
            values = {name: (record, dict(blocks)) for name, (record, blocks) in found.items()}
            written = lease.of([blocks for _, blocks in values.values()])

        def write() -> None:
            with written:
                save()
                then()

        try:
            # The process may go to another folder before it is opened.
            save = executor.save_in_background(values, local_path(where), global_step)
            return self.saves.begin(where, write)
        except BaseException:
            written.release()
            raise

    def _captured(
        self, parts: Mapping[str, Sequence[Shard]], blocks: Sequence[Any], codec: str
    ) -> dict[str, Any] | None:
        """Return name -> record and blocks of what is to be saved; None if parts do not line up."""
        values = self.values
        blocks_of = dict(zip(_keys(parts), blocks, strict=True))
        arrays = {
            name: join_shards(name, [(p, values.record(p.key), blocks_of[p.key]) for p in found])
            for name, found in parts.items()
        }
        joined = {
            name: (array[0].stored(codec=codec), array[1])
            for name, array in arrays.items()
            if array is not None
        }
        return joined if len(joined) == len(arrays) else None

    def restore(
        self,
        wanted: Mapping[str, tuple[DType, tuple[int, ...], Tensor]],
        where: str,
        names: Mapping[str, str],
        offsets: Mapping[str, tuple[int, ...]] | None = None,
        devices: Mapping[str, str] | None = None,
    ) -> None:
        """Set variables from a checkpoint, all or none.

        Args:
          wanted: key -> dtype, shape of the array in the checkpoint, the variable.
          where: path or URL of the checkpoint, or of any Zarr group.
          names: key -> name in the checkpoint.
          offsets: key -> where in the array the variable begins, if it is a part of it.
          devices: key -> the device that the variable asks for.
        """
        self._note_loss()
        if self.loss is not None and self.store is not None and self.store.head() is not None:
            self.recover()  # what is restored follows the store's last version
        self.loss = None if self.store is not None else self.loss
        found = {
            key: (dtype, shape, self.state_of(handle)[1] or whole(concrete(handle.spec.shape)))
            for key, (dtype, shape, handle) in wanted.items()
        }
        new = self.acquire().restore(where, found, names, offsets or {}, devices or {})
        records: dict[str, VariableRecord] = {}
        alike: dict[Any, VariableRecord] = {}
        for key, (dtype, _, chunks) in found.items():
            like = alike.get((dtype, chunks))
            if like is None:
                like = VariableRecord(key, dtype.name, layout_shape(chunks), chunks)
                alike[dtype, chunks] = like
            check_key(key)
            records[key] = like.stored(key=key)
        self.transact(lambda: self.acquire().put(new, records))

    def seal(self) -> None:
        """Make the present values durable: write them to the store as a new version.

        Does nothing where the variables have no store.

        Raises:
          ConflictError: another process has written a version since; nothing was written.
        """
        self.acquire().seal()

    def sync(self) -> None:
        """Wait for the runs in flight on a cluster; raise the error of one that failed."""
        if self._executor is not None:
            self.acquire().sync()

    def recover(self, version: int | None = None) -> int:
        """Set the variables back to the last durable version, and return its number.

        Args:
          version: an older one of the store, which becomes the last.

        Raises:
          FailedPreconditionError: there is none, or no store.
        """
        if version is not None:
            if self.store is None:
                raise no_durable_version()
            self.store.roll_back_to(version)
        self._note_loss()
        if self.loss is None:
            return self.acquire().recover()
        found = read_version(self._here, self.loss.store)
        self._is_loaded, self.loss = True, None
        return found

    def close(self) -> None:
        """Make the values durable and let go of them and the executor, once nothing is in flight.

        Raises:
          OpError: what is in flight failed, or the values cannot be sealed; then nothing is closed.
          UnavailableError: they were lost with a cluster, and nobody was told so far.
        """
        self.resources.end()
        try:
            self.saves.wait()
        finally:
            self._note_loss()
            # A run of another thread would come after the last seal, and what it does be lost.
            with contextlib.nullcontext() if self.durable is None else self.values.run_lock:
                executor = self._executor
                if executor is not None:
                    executor.seal_changes()
                try:
                    if executor is not None:
                        executor.close()
                finally:
                    shielded(self._release_all)  # half of it done, nobody would do the rest

    def check_open(self) -> None:
        """Raise RuntimeError if the session of these values was closed."""
        if self.is_closed:
            raise RuntimeError(CLOSED)

    def _release_all(self) -> None:
        self.is_closed = True
        self.plans = PlanCache()
        if self.durable is not None:
            self._abandon.detach()
            self.durable.release()
            self.values = self._here = Values()
            self.durable = self._executor = None

    def next_random_key(self, op: Operation) -> tuple[int, int]:
        """Return the random key of the next use of an operation of a graph."""
        with self._lock:
            count = self._num_draws.get(op.name, 0)
            self._num_draws[op.name] = count + 1
        return self.random_key(op, count)

    def random_key(self, op: Operation, count: int, stream: int = 0) -> tuple[int, int]:
        """Return the random key of a use of an operation; without seeds it is of this engine."""
        return random_key(op, count, self._entropy, stream)


def constant(name: str, array: NDArray[Any]) -> tuple[VariableRecord, Blocks]:
    """Return the record and the one block of an array that is no variable."""
    record = VariableRecord(name, as_dtype(array.dtype).name, array.shape, whole(array.shape))
    return record, {(0,) * array.ndim: array}


def _keys(parts: Mapping[str, Sequence[Shard]]) -> list[str]:
    return [part.key for found in parts.values() for part in found]


_of_names: dict[str, weakref.WeakSet[Engine]] = {}
_containers: dict[str, dict[str, str]] = {}  # name -> key of a variable -> its container
_ABORTED = (
    "the variables of {!r} were reset (Session.reset) since this session was made: it ends here. "
    "Make another session, and initialize the variables or restore them"
)


def forget_state(name: str, containers: Collection[str] = ()) -> None:
    """Release the variables that are shared under a name, here and on the active cluster.

    Engines of this process that have a share in them are aborted; those of a store go on.

    Args:
      name: the name, or the target of a server.
      containers: only what is in these resource containers, queues and tables as well, where
        variables are in this process.

    Raises:
      NotFoundError: containers are given, and no session has shared variables under the name.
      UnimplementedError: containers are given, and the variables are on a cluster or in a store.
    """
    given, name = name, state_name(name)
    client = client_of(given) or active_client()
    if containers:
        if client is not None or is_location(name):
            place = "in a store" if client is None else "on a cluster"
            raise UnimplementedError.saying(
                f"the variables of {given!r} are {place}, where containers are not reset one by "
                "one: reset the whole target, or run the initializers of some variables"
            )
        _forget_containers(given, name, {"", *default_containers(given)}, set(containers))
    else:
        forget_values(name)
        forget_resources(name)
        _containers.pop(name, None)
        if client is not None:
            drop_state(client, name)
    for engine in _of_names.pop(name, ()):
        engine.abort()


def _forget_containers(given: str, name: str, default: set[str], wanted: set[str]) -> None:
    values = known_values(name)
    if values is None:
        raise NotFoundError.saying(
            f"no session has shared variables under {given!r}: nothing is reset"
        )
    if default & wanted:
        wanted = wanted | {""}
    of = _containers.get(name, {})
    with values.run_lock:
        for key in values.capture()[1]:
            if of.get(key, "") in wanted:
                values.delete(key)
    forget_containers(name, wanted)


def random_key(op: Operation, count: int, entropy: int, stream: int = 0) -> tuple[int, int]:
    """Return the key of the `count`-th draw of a random op: two 64-bit numbers.

    It depends on the graph's and the op's seed; with neither set, on `entropy`. In each `stream`
    the same op draws other numbers.
    """
    graph_seed, op_seed = op.attrs.get("_seed", (None, None))
    if graph_seed is None and op_seed is None:
        text = f"{entropy} {op.name} {op.id}"
    else:
        text = f"{graph_seed} {op_seed}"
    if stream:
        text += f" {stream}"
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little"), count
