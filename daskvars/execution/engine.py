"""The engine: the variables of a session and the executor that runs plans on them.

Sessions and eager code are its two callers.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from daskvars import config
from daskvars.chunk_grid import Chunks
from daskvars.dtypes import DType
from daskvars.errors import AbortedError, permanent
from daskvars.execution.distributed import DistributedExecutor, private_executor
from daskvars.execution.durable import (
    MOST_ATTEMPTS,
    Durable,
    no_durable_version,
    open_state,
    read_version,
    state_name,
    take_over,
)
from daskvars.execution.executors import abandon_closed, active_client
from daskvars.execution.local import LocalExecutor
from daskvars.execution.pending_saves import PendingSave, PendingSaves
from daskvars.execution.plan_cache import PlanCache
from daskvars.execution.programs import Program, SharedProgram
from daskvars.execution.shared import SharedExecutor, drop_state, state_executor
from daskvars.execution.taking_up import take_up, used_by
from daskvars.execution.targets import client_of
from daskvars.graph.opdef import Spec
from daskvars.graph.operation import Operation
from daskvars.graph.tensor import Tensor
from daskvars.lowering.plan import Plan
from daskvars.state import Values, forget_values
from daskvars.state.grids import layout_shape
from daskvars.state.keypath import check_key
from daskvars.state.manifest import VariableRecord
from daskvars.state.parts import Part, join_parts
from daskvars.state.shared_versions import StaleViewError


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
      is_closed: whether everything was let go of.
    """

    def __init__(
        self, where: Any = None, num_threads: int | None = None, soft: bool | None = None,
        consistency: str | None = None,
    ) -> None:
        abandon_closed()
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
            self._release = weakref.finalize(self, self.durable.release)
            self._release.atexit = False
        self.plans = PlanCache()
        self.saves = PendingSaves()
        self._executor: LocalExecutor | DistributedExecutor | None = None
        self._handles: dict[str, Tensor] = {}
        self._draws: dict[Any, int] = {}
        self._entropy = secrets.randbits(64)
        self.is_closed = False
        self._lock = threading.RLock()

    @property
    def executor(self) -> LocalExecutor | DistributedExecutor:
        """What runs plans: the Dask client that is active when the first run needs it, if any."""
        found = self._executor
        if found is None or (isinstance(found, DistributedExecutor) and found.is_closed):
            found = self._opened()
        return found

    def _opened(self) -> LocalExecutor | DistributedExecutor:
        with self._lock:
            found = self._executor
            if isinstance(found, DistributedExecutor) and found.is_closed:
                found.abandon()
                found = None
            if found is None:
                self.plans = PlanCache()
                found = self._new_executor()
                if found.placing is not None:
                    found.placing.soft = self.is_soft
                self._executor = found
            return found

    @property
    def is_soft(self) -> bool:
        """Whether devices that there are not are replaced by others."""
        return bool(self._soft or config.get().soft_placement)

    def _client(self) -> Any:
        return client_of(self._where) or active_client()

    def _new_executor(self) -> LocalExecutor | DistributedExecutor:
        client = self._client()
        if client is None:
            self.values = self._here
            if self.store is not None and not self._is_loaded:
                take_over(self.values, self.store)
            return LocalExecutor(self.values, self._num_threads)
        if not self.name:
            return private_executor(client, self.values)
        if self.durable is not None and self._here.dirty:
            self.durable.seal()
        self._is_loaded = False
        found = state_executor(client, self.name, self.store, self._here)
        self.values = found.values
        return found

    @property
    def is_deferred(self) -> bool:
        """Whether updates are made to a newer version than the one that a run reads."""
        return self._is_async and isinstance(self.executor, SharedExecutor)

    def program(
        self,
        signature: Hashable,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        fed: Sequence[Tensor],
    ) -> Program:
        """Return what runs these fetches of a graph again and again."""
        kind = SharedProgram if self.name else Program
        return kind(self, signature, fetches, targets, fed)

    def transact(self, run: Callable[[], Any]) -> Any:
        """Call what runs a program or sets variables, in step with the store if there is one."""
        durable = self.durable
        if isinstance(self.executor, SharedExecutor):
            return self._on_shared(self.executor, run)
        if durable is None or isinstance(self.executor, DistributedExecutor):
            return run()
        if config.get().seal_every_s:
            durable.seal_if_due()
            return run()
        with self.values.run_lock:
            draws = self._draws

            def attempt() -> Any:
                self._draws = dict(draws)
                return run()

            return durable.transact(attempt)

    def _on_shared(self, executor: SharedExecutor, run: Callable[[], Any]) -> Any:
        """Call what runs a program; again if other clients have changed what it was made for."""
        draws = self._draws
        for _ in range(MOST_ATTEMPTS):
            self._draws = dict(draws)
            try:
                return run()
            except StaleViewError as error:
                lost = error
                executor.refresh()
        raise permanent(AbortedError(
            None, None, f"a run was given up after {MOST_ATTEMPTS} attempts, and changed nothing. "
            f"At last: {lost.message}. Clients of one state must agree on their variables' dtypes "
            "and chunks: give all of them the same chunks="
        ))  # fmt: skip

    def state_of(self, handle: Tensor) -> tuple[Spec, Chunks | None, bool]:
        """Return what lowering must know of a variable: spec, chunks, whether it has a value."""
        attrs = handle.op.attrs
        key, chunks, spec = attrs["key"], attrs["chunks"], handle.spec
        spec = Spec(spec.dtype.base_dtype, spec.shape)
        if self.name:
            self._handles[key] = handle
        present = key in self.values
        if present and (spec.shape is None or None in spec.shape):
            spec = Spec(spec.dtype, layout_shape(self.values.record(key).chunks))
        return spec, chunks, present

    def take_up(self, plan: Plan) -> int:
        """Bring variables that others may have made into the form that a plan is for.

        Returns:
          `Values.arrivals`: as long as it stays the same, there is nothing more to do.

        Raises:
          InvalidArgumentError: some are other variables; see `taking_up.take_up`.
        """
        values = self.values
        if self.name:
            where = f"store {self.name!r}"
            with values.run_lock:
                take_up(values, self.executor, self._handles, used_by(plan), where)
        return values.arrivals

    def save(
        self, parts: Mapping[str, Sequence[Part]], where: str, global_step: int | None = None
    ) -> bool:
        """Save variables as a checkpoint.

        Args:
          parts: the name that each array is saved under -> the variables that it is in.
          where: path or URL of the checkpoint.
          global_step: the step that is noted in it.

        Returns:
          False, and nothing was saved, where the chunks of parts of one array do not line up.

        Raises:
          UnavailableError: values were lost with workers, and cannot be computed again.
        """
        self.saves.settle()

        def save() -> bool:
            with self.executor.lease(_keys(parts)) as lease:
                found = self._captured(parts, lease.blocks)
                if found is not None:
                    self.executor.save(found, where, global_step)
            return found is not None

        return self.executor.recovering(save)

    def save_async(
        self, parts: Mapping[str, Sequence[Part]], where: str, global_step: int | None,
        then: Callable[[], None],
    ) -> PendingSave | None:  # fmt: skip
        """Begin to save the present values as a checkpoint, and return.

        Args:
          parts, where, global_step: as for `save`.
          then: called by the thread that writes, when the checkpoint is complete.

        Returns:
          None, and nothing was begun, where `save` returns False.
        """
        self.saves.settle()
        with self.executor.lease(_keys(parts)) as lease:
            found = self._captured(parts, lease.blocks)
            if found is None:
                return None
            values = {name: (record, dict(blocks)) for name, (record, blocks) in found.items()}
            written = lease.of([blocks for _, blocks in values.values()])

        def write() -> None:
            with written:
                save()
                then()

        try:
            save = self.executor.save_later(values, where, global_step)
            return self.saves.begin(where, write)
        except BaseException:
            written.release()
            raise

    def _captured(
        self, parts: Mapping[str, Sequence[Part]], blocks: Sequence[Any]
    ) -> dict[str, Any] | None:
        """Return name -> record and blocks of what is to be saved; None if parts do not line up."""
        values = self.values
        blocks_of = dict(zip(_keys(parts), blocks, strict=True))
        arrays = {
            name: join_parts(name, [(p, values.record(p.key), blocks_of[p.key]) for p in found])
            for name, found in parts.items()
        }
        joined = {name: array for name, array in arrays.items() if array is not None}
        return joined if len(joined) == len(arrays) else None

    def restore(
        self,
        wanted: Mapping[str, tuple[DType, tuple[int, ...], Chunks]],
        where: str,
        names: Mapping[str, str],
        offsets: Mapping[str, tuple[int, ...]] | None = None,
        devices: Mapping[str, str] | None = None,
    ) -> None:
        """Set variables from a checkpoint, all or none.

        Args:
          wanted: key -> dtype, shape of the array in the checkpoint, chunks of the variable.
          where: path or URL of the checkpoint, or of any Zarr group.
          names: key -> name in the checkpoint.
          offsets: key -> where in the array the variable begins, if it is a part of it.
          devices: key -> the device that the variable asks for.
        """
        new = self.executor.restore(where, wanted, names, offsets or {}, devices or {})
        records: dict[str, VariableRecord] = {}
        alike: dict[Any, VariableRecord] = {}
        for key, (dtype, _, chunks) in wanted.items():
            like = alike.get((dtype, chunks))
            if like is None:
                like = VariableRecord(key, dtype.name, layout_shape(chunks), chunks)
                alike[dtype, chunks] = like
            check_key(key)
            records[key] = like.stored(key=key)
        self.transact(lambda: self.executor.put(new, records))

    def seal(self) -> None:
        """Make the present values durable: write them to the store as a new version.

        Does nothing where the variables have no store.

        Raises:
          ConflictError: another process has written a version since; nothing was written.
        """
        if isinstance(self.executor, SharedExecutor):
            self.executor.seal()
        elif self.durable is not None:
            self.durable.seal()

    def sync(self) -> None:
        """Wait for the runs in flight on a cluster; raise the error of one that failed."""
        if isinstance(self._executor, DistributedExecutor):
            self._executor.sync()

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
            self.store.restore_to(version)
        if isinstance(self.executor, DistributedExecutor):
            return self.executor.recover()
        with self.values.run_lock:
            return read_version(self.values, self.store)

    def close(self) -> None:
        """Make the values durable and let go of them and the executor, once nothing is in flight.

        Raises:
          OpError: what is in flight failed, or the values cannot be sealed; then nothing is closed.
        """
        try:
            self.saves.settle()
        finally:
            executor = self._executor
            if isinstance(executor, SharedExecutor) and not executor.is_closed:
                if self.store is not None:
                    executor.seal()
            elif self.durable is not None:
                self.durable.seal_changes()
            try:
                if executor is not None:
                    executor.close()
            finally:
                self._let_go()

    def _let_go(self) -> None:
        self.is_closed = True
        self.plans = PlanCache()
        if self.durable is not None:
            self._release()
            self.values = self._here = Values()
            self.durable = self._executor = None

    def draw(self, op: Operation) -> tuple[int, int]:
        """Return the random key of the next use of an operation of a graph."""
        with self._lock:
            count = self._draws.get(op.name, 0)
            self._draws[op.name] = count + 1
        return random_key(op, count, self._entropy)


def _keys(parts: Mapping[str, Sequence[Part]]) -> list[str]:
    return [part.key for found in parts.values() for part in found]


def forget_state(name: str) -> None:
    """Release the variables that are shared under a name, here and on the active cluster."""
    name = state_name(name)
    forget_values(name)
    client = active_client()
    if client is not None:
        drop_state(client, name)


def random_key(op: Operation, count: int, entropy: int) -> tuple[int, int]:
    """Return the key of the `count`-th draw of a random op: two 64-bit numbers.

    It depends on the graph's and the op's seed; with neither set, on `entropy`.
    """
    graph_seed, op_seed = op.attrs.get("_seed", (None, None))
    if graph_seed is None and op_seed is None:
        text = f"{entropy} {op.name} {op.id}"
    else:
        text = f"{graph_seed} {op_seed}"
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little"), count
