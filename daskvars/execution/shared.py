"""The executor of a state that the clients of a cluster share by name.

The state belongs to the cluster: its keys are held on the scheduler (`state.version_keeper`), not
by this client, so it is there for the next client when this one is gone, sealed or not. What is
here of it are the records of its variables, as far as this client has heard of them.

Design: *runs are bound on the scheduler.* A compare-and-swap by the client would cost a round trip
for each run, and every race lost a run. But a run is a function of the version before it, and all
runs pass the scheduler in one order; so it binds each to the newest version when it arrives, and
nobody loses. What is compared is what a plan was made for: the dtypes and chunks of the variables
it reads. If another client has changed those the run is refused, the records are looked up, and it
is lowered and sent again, a bounded number of times.

Runs of one client are pipelined as on variables of its own. Nothing is handed out of a run before
it is known to be finished and all that came before it, of any client: then it is committed, and
nothing undoes it. Until then its inputs are kept, since a run of another client that fails undoes
what was bound after it; then it is sent again, in its place among the runs of this client, with
the same random numbers. An error of a run that nobody waits for is raised at the next call. A run
that fetches nothing has been sent when the call returns, and may not have arrived: another client
sees it a moment later.

With ``consistency="async"`` (`lowering.defer`) a run is sent in two parts. The first computes
gradients from the newest version that is finished or includes this client's own last run; it is in
no chain, and takes as long as it takes. When it is done the second, the updates, is bound to what
is newest then: a slow client delays nobody, and no update is lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import distributed
from distributed import Client
from zarr.storage import StorePath

from daskvars.dtypes import as_dtype
from daskvars.execution import cluster_checkpoints, loss_reports
from daskvars.execution.cluster_errors import is_gone, unavailable
from daskvars.execution.distributed import DistributedExecutor
from daskvars.execution.durable import REMEDY, no_durable_version
from daskvars.execution.executors import forget_executor, registered
from daskvars.execution.remote_blocks import RemoteBlock, remote_blocks
from daskvars.execution.sendings import Sending, Sendings
from daskvars.execution.shared_runs import SharedPlan
from daskvars.execution.shared_seals import SharedSealer, pinned_block
from daskvars.graph.opdef import Spec
from daskvars.lowering.plan import Plan
from daskvars.remote.dask_internals import ask_scheduler, pickle
from daskvars.state import ConflictError, Values, ZarrStore
from daskvars.state.grids import Blocks
from daskvars.state.manifest import NO_VERSION, VariableRecord, VersionId
from daskvars.state.shared_graphs import OPERATION, topic
from daskvars.state.shared_versions import Claim, Held
from daskvars.state.version_keeper import VersionKeeper


class SharedExecutor(DistributedExecutor):
    """Runs plans on a state of a cluster.

    Args:
      client: the cluster.
      name: the state's name: any text, or the path or URL of its store.
      store: where versions are made durable, if it has a store.
      local: variables of this process of the same name, which the state begins with if nobody has
        used it and it has no store.

    Attributes:
      scheduler: the scheduler's id.
      place_in_line: how many sessions were on the cluster's states before this one.
      sendings: the runs in flight.
    """

    def __init__(self, client: Client, name: str, store: ZarrStore | None, local: Values) -> None:
        super().__init__(client, Values())
        self.name = name
        self.sealer: Any = SharedSealer(self, store)
        self.sendings = Sendings(self)
        client.register_plugin(VersionKeeper())
        client.subscribe_topic(topic(self.token), self.sendings.hear)
        self.scheduler, self.place_in_line, looked = self.ask(
            "open", name=name, client=client.id, session=self.token
        )
        self._look(*looked)
        if not len(self.values):
            self._begin(store, local)

    def ask(self, what: str, **arguments: Any) -> Any:
        """Ask the scheduler for something; see the requests of `VersionKeeper`."""
        return ask(self.client, what, **arguments)

    def bind(self, plan: Plan) -> SharedPlan:
        """Return ``run(feeds, key_of) -> results`` for `plan`."""
        bound = SharedPlan(self, plan)
        self._bound.add(bound)
        return bound

    def recovering(self, action: Callable[[], Any], reads: bool = True) -> Any:
        """Call `action`: what is lost is Dask's to rebuild, or an error."""
        return action()

    @property
    def home(self) -> str:
        """The worker on which this client's own share of asynchronous training is done."""
        addresses = self.placing.addresses
        return addresses[self.place_in_line % len(addresses)]

    # -- the records ----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look up which variables there are."""
        self._look(*self.ask("look", name=self.name))

    def _look(self, records: Mapping[str, VariableRecord], durable: VersionId) -> None:
        values = self.values
        with values.run_lock:
            self.sealer.version = None if durable == NO_VERSION else durable
            for key in values.capture()[1].keys() - records.keys():
                values.delete(key)
            blocks: dict[str, Blocks] = {key: {(): RemoteBlock()} for key in records}
            values.put(blocks, dict(records))

    # -- runs -----------------------------------------------------------------------------------

    def submit(
        self, bound: SharedPlan, feeds: Sequence[Any], drawn: dict[int, Any], is_awaited: bool
    ) -> Sending:
        """Send a run; wait while too many are in flight."""
        with self.values.run_lock:
            self.sendings.admit()
        sending = Sending(bound, feeds, drawn, is_awaited)
        self.sendings.send(sending)
        return sending

    def results(self, sending: Sending) -> list[Any]:
        """Wait until a run is finished, and return its outputs; see `Sendings.results`."""
        return self.sendings.results(sending)

    def sync(self) -> None:
        """Wait for all runs in flight.

        Raises:
          OpError: one failed; the variables are as they were before it.
        """
        self.sendings.finish()

    # -- values ---------------------------------------------------------------------------------

    def pinned(self, blocks: Mapping[Any, Held]) -> Blocks:
        """Return blocks that this client keeps as long as it has them."""
        return {index: pinned_block(self.client, held) for index, held in blocks.items()}

    def read(self, keys: Collection[str]) -> list[Blocks]:
        """Return the blocks of variables, this client's runs done."""
        self.sync()
        variables = self.ask("pin", name=self.name, client=self.client.id)
        found = {key: self.pinned(blocks) for key, (_, blocks) in variables.items()}
        self._look({key: record for key, (record, _) in variables.items()}, self._durable)
        self.values.read(keys)
        return [found[key] for key in keys]

    @property
    def _durable(self) -> VersionId:
        return NO_VERSION if self.sealer.version is None else self.sealer.version

    def put(self, new: Mapping[str, Blocks], records: Mapping[str, VariableRecord]) -> None:
        """Set variables to blocks, which are moved to the workers if they are not there."""
        with self.values.run_lock:
            self.sendings.settle()
            self._put(new, records)
            self.refresh()

    def _put(
        self, new: Mapping[str, Blocks], records: Mapping[str, VariableRecord],
        first: bool = False, durable: VersionId = NO_VERSION,
    ) -> None:  # fmt: skip
        blocks = {**new, **self.moved(new)}
        distributed.wait([b.reference.future for b in remote_blocks(blocks.values())])
        held = {key: (records[key], held_blocks(found)) for key, found in blocks.items()}
        keys = {h.key for _, found in held.values() for h in found.values()}
        claim = Claim(
            self.name, self.token, self.sendings.epoch, self.next_number(), tuple(keys), held
        )  # fmt: skip
        self.ask("put", claim=claim, is_first=first, durable=durable)

    def _begin(self, store: ZarrStore | None, local: Values) -> None:
        """Give a new state its first values: those in its store, or of this process."""
        head = store.head() if store is not None else None
        if head is not None:
            found, records = self._loaded(store, head), dict(head.records)
            self._put(found, records, True, head.id)
        elif store is None and len(local):
            state = local.given_away()
            blocks = {key: found for key, (_, found) in state.items()}
            self._put(blocks, {key: record for key, (record, _) in state.items()}, True)
        self.refresh()

    def _loaded(self, store: Any, head: Any) -> dict[str, Any]:
        wanted = {
            key: (record.dtype, record.shape, record.chunks) for key, record in head.records.items()
        }
        where = StorePath(store.storage, store.place(head.version))
        for key, (dtype, shape, chunks) in wanted.items():
            self.placing.of_variable(key, "", Spec(as_dtype(dtype), shape), chunks)
        stamp = f"{self.token}.{self.next_number()}"
        return cluster_checkpoints.restore(
            self.client, stamp, self.placing, where, wanted, {}, {}
        )

    # -- durability -----------------------------------------------------------------------------

    def seal(self) -> None:
        """Make the present version durable, with what other clients have finished.

        Raises:
          OpError: a run in flight failed; the variables are as they were before it.
          ConflictError: somebody who is not on this cluster has written to the store.
        """
        with self.values.run_lock:
            self.sync()
            self._sealing(self.sealer.seal)

    def seal_if_asked(self) -> None:
        """Make what is finished durable if the scheduler has asked for it."""
        self._sealing(self.sealer.seal_if_asked)

    def _sealing(self, seal: Any) -> None:
        try:
            seal()
        except ConflictError as error:
            raise ConflictError(None, None, f"{error.message}. {REMEDY}") from None
        except Exception as error:
            if not is_gone(error):
                raise
            raise unavailable(error, "a seal", sorted(self.values.capture()[1]),
                              self.sealer.version) from error  # fmt: skip

    def recover(self) -> int:
        """Set the state back to its last durable version, for all clients; return its number.

        Raises:
          FailedPreconditionError: no version was durable yet.
        """
        with self.values.run_lock:
            store = self.sealer.place()
            head = store.head() if store is not None else None
            if head is None:
                raise no_durable_version()
            found = self._loaded(store, head)
            distributed.wait([b.reference.future for b in remote_blocks(found.values())])
            held = {key: (head.records[key], held_blocks(b)) for key, b in found.items()}
            epoch = self.ask(
                "reset", name=self.name, session=self.token, variables=held, durable=head.id
            )
            self.sendings.drop(epoch)
            self.refresh()
            return head.version

    def blind(self, place: str) -> list[str]:
        """Return the workers that do not see a directory."""
        if "://" in place:
            return []
        seen = self.client.run(os.path.isdir, place, on_error="ignore")
        return sorted(worker for worker, found in seen.items() if not found)

    def close(self) -> None:
        """Finish the runs in flight, and let go of the state, which stays on the cluster.

        Raises:
          OpError: a run in flight failed.
        """
        self.users -= 1
        try:
            if not self.is_closed:
                self.sync()
        finally:
            if self.users <= 0:
                self.abandon()

    def abandon(self) -> None:
        """Let go of the state."""
        for bound in self._bound:
            bound.release()
        if self.client.status == "running":
            self.ask("leave", session=self.token)
            self.client.unsubscribe_topic(topic(self.token))
            loss_reports.ignore(self.client, self.token)
        forget_executor(self)


def ask(client: Client, what: str, /, **arguments: Any) -> Any:
    """Ask a scheduler for something; see the requests of `VersionKeeper`."""
    request = pickle.dumps((what, arguments))
    return pickle.loads(ask_scheduler(client, OPERATION, request))


def drop_state(client: Client, name: str) -> None:
    """Have a cluster forget a state."""
    client.register_plugin(VersionKeeper())
    ask(client, "drop", name=name)


def held_blocks(blocks: Blocks) -> dict[Any, Held]:
    """Return where blocks are, as plain data."""
    found = {}
    for index, block in blocks.items():
        future, position, extra_bytes = block.reference
        found[index] = Held(future.key, position, extra_bytes)
    return found


def state_executor(
    client: Client, name: str, store: ZarrStore | None, local: Values
) -> SharedExecutor:
    """Return the executor of a state on a cluster, one for all sessions of this client."""
    return registered(
        (name, client.id), lambda: SharedExecutor(client, name, store, local)
    )
