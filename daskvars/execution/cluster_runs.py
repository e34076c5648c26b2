"""One plan on a cluster: what is sent once, and its runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from distributed import Future

from daskvars.execution.blocks import owned, whole
from daskvars.execution.bundles import SPLIT_BYTES
from daskvars.execution.cluster_errors import error_of
from daskvars.execution.lazy_feeds import LazyFeed
from daskvars.execution.outcomes import Deferred, Outcome
from daskvars.execution.pipeline import Run
from daskvars.execution.remote_blocks import Reference, RemoteBlock, own, remote_blocks, wait
from daskvars.execution.run_feeds import RunFeeds, cut, leaf_pieces
from daskvars.execution.run_graphs import Template
from daskvars.execution.steps import full_layout, record_of
from daskvars.kernels.worker_tasks import pick, shape_of
from daskvars.lowering.plan import Piece, Plan
from daskvars.lowering.program import CONSTANT, FEED, KEY, STATE
from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.state.grids import Blocks
from daskvars.state.manifest import VariableRecord

Keys = Callable[[Any], tuple[int, int]]


class Target(NamedTuple):
    """A result of the run being made: its key, and as in `Reference`."""

    key: Any
    position: int | None
    extra_bytes: int


def _nobody() -> None:
    """Stand for the weak reference to an outcome that there is not."""


class BoundPlan:
    """A plan bound to an executor: ``bound(feeds, key_of) -> results``.

    A run without outputs is sent and not waited for. One with outputs returns when all of it,
    updates and effects included, has succeeded: it raises its own errors.
    """

    def __init__(self, executor: Any, plan: Plan) -> None:
        self.executor, self.plan = executor, plan
        self.values = executor.values
        self.token = f"{executor.token}.{executor.next_number()}"
        self.template = Template(plan, self.token)
        self.state_keys = [leaf.what for leaf in plan.leaves if leaf.kind == STATE]
        self.state_numbers = {key: number for number, key in enumerate(self.state_keys)}
        self.records = {
            key: VariableRecord(key, value.spec.dtype.name, value.spec.shape, layout)
            for key, value in plan.updates.items()
            if (layout := full_layout(value)) is not None
        }
        self.programs: dict[str, Future] = {}
        self.constants: dict[str, Future] = {}
        self.constant_keys: dict[Piece, str] = {}
        self._checked = -1

    def __call__(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        return self._recovering(feeds, key_of, None)

    def later(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        """Run without waiting for outputs that go with updates: they are `Deferred`."""
        shapes = [value.spec.shape for value in self.plan.outputs]
        if not self.plan.updates or any(shape is None or None in shape for shape in shapes):
            return self(feeds, key_of)
        outcome = Outcome(self.executor)
        self._recovering(feeds, key_of, outcome)
        return [Deferred(outcome, number, shape) for number, shape in enumerate(shapes)]

    def _recovering(
        self, feeds: Sequence[Any], key_of: Keys, outcome: Outcome | None
    ) -> list[Any]:
        plan = self.plan
        drawn = {
            number: key_of(leaf.what)
            for number, leaf in enumerate(plan.leaves) if leaf.kind == KEY
        }  # fmt: skip
        if plan.updates:  # the program may write into its arrays before the run happens
            feeds = [owned(value) for value in feeds]
        reads = bool(self.state_keys or plan.updates)
        return self.executor.recovering(lambda: self._run(feeds, drawn, outcome), reads)

    def _run(
        self, feeds: Sequence[Any], drawn: dict[int, Any], outcome: Outcome | None
    ) -> list[Any]:
        executor, plan = self.executor, self.plan
        with self.values.run_lock:
            executor.pipeline.admit()
            if plan.updates and executor.sealer.is_due:
                executor.seal()
            dispatch = self.dispatch(feeds, drawn, outcome)
        if outcome is not None:
            return []
        return dispatch.results() if plan.outputs or not plan.updates else []

    def dispatch(
        self, feeds: Sequence[Any], drawn: dict[int, Any], outcome: Outcome | None
    ) -> Dispatch:
        """Send a run and commit its updates.

        Args:
          feeds: as given.
          drawn: the keys of the plan's random leaves.
          outcome: where somebody will look for the results, if they are not waited for.
        """
        dispatch = Dispatch(self, feeds, drawn, outcome)
        dispatch.send()
        if outcome is not None:
            outcome.dispatch = dispatch
            self.executor.outcomes.add(outcome)
        return dispatch

    def state(self) -> tuple[int, list[Blocks]]:
        """Return the version and the blocks of the variables read, all of them on workers."""
        version, state = self.values.read(self.state_keys)
        remote = sum(1 for _ in remote_blocks(state))
        client = self.executor.client
        if remote < sum(map(len, state)) or any(
            block.reference.future.client is not client for block in remote_blocks(state)
        ):
            self.executor.adopt(self.state_keys)
            version, state = self.values.read(self.state_keys)
        return version, state

    def check(self) -> None:
        """Raise where no worker may run a task, or have a variable, before anything is sent."""
        placing = self.executor.placing
        if self._checked != placing.version:
            placing.check(self.plan)
            placing.check_homes(self.state_keys)
            self._checked = placing.version

    def explain(self) -> str:
        """Return the plan as text: what runs where, and why."""
        return self.plan.explain(self.executor.placing.where)

    def ensure_sent(self) -> None:
        """Send programs and large constants, once, or again where they were lost."""
        held = [*self.programs.values(), *self.constants.values()]
        if held and all(future.status not in ("cancelled", "error") for future in held):
            return
        self.programs = self.executor.place({packed.key: packed for packed in self.template.packed})
        constants, wishes = {}, {}
        homes = self._constant_homes()
        for piece in leaf_pieces(self.template):
            leaf = self.plan.leaves[piece.origin.position]
            if leaf.kind == CONSTANT:
                key = f"constant-{self.token}-{self.executor.next_number()}"
                self.constant_keys[piece] = key
                constants[key] = cut(leaf.what, leaf.layout, piece.block)
                wishes[key] = homes.get(piece, {})
        self.constants = self.executor.place(constants, wishes) if constants else {}

    def _constant_homes(self) -> dict[Piece, dict[str, Any]]:
        """Return the wishes for blocks of constants that become a variable's."""
        return {
            value.piece(index): self.executor.placing.wish_of(key, number, len(value.indices()))
            for key, value in self.plan.updates.items() if value.origin.region < 0
            for number, index in enumerate(value.indices())
        }  # fmt: skip

    def release(self) -> None:
        """Let the workers forget what was sent; a later run sends it again."""
        self.programs, self.constants = {}, {}


class Dispatch:
    """One run: its graph, the keys wanted of it, and what becomes of them."""

    def __init__(
        self, bound: BoundPlan, feeds: Sequence[Any], drawn: dict[int, Any],
        outcome: Outcome | None,
    ) -> None:  # fmt: skip
        self.seen_by = weakref.ref(outcome) if outcome is not None else _nobody
        self.bound, self.plan, self.feeds, self.drawn = bound, bound.plan, feeds, drawn
        self.executor = bound.executor
        bound.check()
        self.version, self.state = bound.state()
        bound.ensure_sent()
        number = self.executor.next_number()
        self.stamp = f"{self.executor.token}-{number}"
        self.run = Run(number, tuple(bound.state_keys), tuple(bound.plan.updates))
        self.run_feeds: Any = RunFeeds(
            self.executor.client, bound.template, self.stamp, feeds, self.executor.placing.addresses
        )
        self.picks: dict[str, Task] = {}
        self.wanted: dict[Any, None] = {}
        self.futures: dict[Any, Future] = {}

    # -- sending --------------------------------------------------------------------------------

    def send(self) -> None:
        """Send the graph, and commit the keys of the variables' new blocks."""
        tasks, annotations, updates = self._made()
        unshaped = self._shape_tasks(updates)
        tasks.update(self.picks)
        if self.wanted:
            self._get(RunGraph(tasks, annotations, self.stamp))
        if self.plan.updates:
            self._commit(updates, unshaped)
            self.executor.sealer.note_run(
                len(tasks), self.run_feeds.retained, self.run_feeds.nbytes
            )
        self._settle()

    def _made(self) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]], dict[str, Any]]:
        """Return tasks, annotations, and where the variables' new blocks will be."""
        template, plan = self.bound.template, self.plan
        tasks, annotations = template.graph(
            self.stamp, [packed.key for packed in template.packed], self._leaf,
            self.executor.placing.wish,
        )
        updates = {
            key: {index: self._located(value.piece(index)) for index in value.indices()}
            for key, value in plan.updates.items()
        }
        self.fetched = {
            piece: self._located(piece, fetched=True)
            for value in plan.outputs for piece in map(value.piece, value.indices())
        }  # fmt: skip
        for place in template.sinks:
            self.wanted[place.key(self.stamp)] = None
        tasks.update(self.run_feeds.tasks)
        tasks.update(self.picks)
        return tasks, annotations, updates

    def _get(self, graph: Any) -> None:
        keys = list(self.wanted)
        futures = self.executor.client.get(graph, keys, sync=False)
        self.futures = dict(zip(keys, futures, strict=True))
        self.run.futures = list(self.futures.values())

    def _settle(self) -> None:
        """Keep of what was sent what the results are found by."""
        for piece, where in self.fetched.items():
            if isinstance(where, Target):
                self.fetched[piece] = self._reference(where)
        # Whoever looks at the results later must not keep variables of old alive.
        self.futures, self.state, self.run_feeds = {}, [], None

    def _leaf(self, piece: Piece) -> tuple[Any, int | None]:
        """Return what a task takes for a block from outside, and which output of a bundle it is."""
        leaf = self.plan.leaves[piece.origin.position]
        if leaf.kind == STATE:
            reference = self._block(piece).reference
            return TaskRef(reference.future.key), reference.position
        if leaf.kind == FEED:
            return self.run_feeds.argument(piece), None
        if leaf.kind == KEY:
            return self.drawn[piece.origin.position], None
        return TaskRef(self.bound.constant_keys[piece]), None

    def _block(self, piece: Piece) -> RemoteBlock:
        leaf = self.plan.leaves[piece.origin.position]
        blocks = self.state[self.bound.state_numbers[leaf.what]]
        if leaf.layout is None:
            (block,) = blocks.values()
            return block
        return blocks[piece.block]

    def _located(self, piece: Piece, fetched: bool = False) -> Any:
        """Return where a result is: a Target, a RemoteBlock, a Reference (fetched), or a value."""
        number, position = piece.origin
        if number >= 0:
            template = self.bound.template
            place = template.place(piece)
            key = place.key(self.stamp)
            self.wanted[key] = None
            return Target(key, place.position, template.bundlings[number].extra_bytes(position))
        leaf = self.plan.leaves[position]
        if leaf.kind == STATE:
            block = self._block(piece)
            return self._slim(block.reference) if fetched else block
        if leaf.kind == FEED:
            lazy = isinstance(self.feeds[leaf.what], LazyFeed)
            if fetched and not lazy:
                return owned(cut(self.feeds[leaf.what], leaf.layout, piece.block))
            fed: Any = self.run_feeds.reference(piece).key
            self.wanted[fed] = None
            return Target(fed, None, 0)
        if fetched:
            return owned(cut(leaf.what, leaf.layout, piece.block))
        return RemoteBlock(Reference(self.bound.constants[self.bound.constant_keys[piece]], None))

    def _slim(self, reference: Reference) -> Any:
        """Return where to fetch a block without the rest of its bundle, if that is large."""
        if reference.extra_bytes < SPLIT_BYTES:
            return reference
        key = f"pick-{self.stamp}-{len(self.picks)}-fetch"
        self.picks[key] = Task(key, pick, TaskRef(reference.future.key), (reference.position,))
        self.wanted[key] = None
        return Target(key, 0, 0)

    # -- committing -----------------------------------------------------------------------------

    def _shape_tasks(self, updates: dict[str, Any]) -> dict[str, str]:
        """Add tasks that tell the shapes that the plan could not know; variable -> key."""
        found: dict[str, str] = {}
        for key in self.plan.updates:
            if key not in self.bound.records:
                (located,) = updates[key].values()
                if isinstance(located, RemoteBlock):
                    located = Target(located.reference.future.key, *located.reference[1:])
                name, position = located.key, located.position
                found[key] = f"shape-{self.stamp}-{len(found)}"
                self.picks[found[key]] = Task(found[key], shape_of, TaskRef(name), position)
                self.wanted[found[key]] = None
        return found

    def _commit(self, updates: dict[str, Any], unshaped: dict[str, str]) -> None:
        new = {
            key: {index: self._remote(where) for index, where in blocks.items()}
            for key, blocks in updates.items()
        }
        records = self.bound.records
        if unshaped:
            records = dict(records)
            shapes = self.gathered(
                [self.futures[name] for name in unshaped.values()], self.run
            )
            for key, shape in zip(unshaped, shapes, strict=True):
                records[key] = record_of(key, shape, self.plan.updates[key].spec)
                (block,) = new[key].values()
                new[key] = {(0,) * len(shape): block}
        values = self.bound.values
        self.run.before = {
            key: (values.record(key), values.get(key)) if key in values else None for key in new
        }
        self.executor.pipeline.note_start(self.version)
        values.commit(new, self.version, records)
        self.executor.pipeline.add(self.run, (self.bound, self.feeds, self.drawn, self.seen_by))

    def _remote(self, where: Any) -> RemoteBlock:
        if isinstance(where, RemoteBlock):
            return where
        return RemoteBlock(self._reference(where))

    def _reference(self, target: Target) -> Reference:
        return Reference(self.futures[target.key], target.position, target.extra_bytes)

    # -- fetching -------------------------------------------------------------------------------

    def results(self) -> list[Any]:
        """Wait for the run, and return its outputs."""
        futures = self.fetched_futures()
        data = self.gathered(futures, self.run)
        return self.assembled(dict(zip([f.key for f in futures], data, strict=True)))

    def fetched_futures(self) -> list[Future]:
        """Return the keys that the outputs are under."""
        found = [where.future for where in self.fetched.values() if isinstance(where, Reference)]
        return list({future.key: future for future in found}.values())

    def assembled(self, data: dict[Any, Any]) -> list[Any]:
        """Return the outputs, from what is under their keys."""

        def fetch(piece: Piece) -> Any:
            reference = self.fetched[piece]
            if not isinstance(reference, Reference):
                return reference
            found = data[reference.future.key]
            return own(found if reference.position is None else found[reference.position])

        return [whole(value, fetch) for value in self.plan.outputs]

    def gathered(self, futures: list[Future], own: Run | None) -> list[Any]:
        """Return what is under some keys, once all of the run has succeeded.

        Args:
          futures: the keys.
          own: the run, if its caller waits for it.

        Raises:
          OpError: this run failed, or one before it; the variables are as before that run.
        """
        pipeline, client = self.executor.pipeline, self.executor.client
        try:
            data = client.gather(futures) if futures else []
            wait(client, self.run.futures)
            if self.run.failed is not None:
                raise error_of(self.run.failed)
        except Exception as error:
            with self.bound.values.run_lock:
                pipeline.settle(everything=True, own=own)
                if own is not None:
                    pipeline.log.pop(own.number, None)  # its caller sends it again, or nobody
            found = pipeline.error(self.run, error, own)
            if found is error:
                raise
            raise found from error
        return data
