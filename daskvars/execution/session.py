"""Session: runs parts of a graph on its own variables, each run a transaction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self, TypeAlias, TypeVar, overload

from numpy.typing import NDArray

from daskvars.errors import OpError, UnimplementedError
from daskvars.execution.config_proto import ConfigProto, RunMetadata, RunOptions
from daskvars.execution.engine.engine import CLOSED, Engine, forget_state
from daskvars.execution.engine.run_records import (
    DeviceAttributes,
    devices_of,
    log_placement,
    recorded_run,
)
from daskvars.execution.engine.values.checked_feeds import feed_tensor, feed_value
from daskvars.execution.engine.values.conversions import feed_pairs
from daskvars.execution.engine.values.fetches import IndexedSlicesValue, Structure
from daskvars.execution.host_ops.resources import waiting_at_most
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.records.graph_def import GraphDef
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Operation, Tensor, WithOperators
from daskvars.lowering.rewrites.prune import prune
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.notebooks import ShownInNotebooks

# What is fed: tensors, or what stands for one, to values.
Feeds: TypeAlias = Mapping[Any, Any]
F = TypeVar("F", bound=WithOperators)
K = TypeVar("K")
_KEYS = (Tensor, Operation)  # of a graph: they have a hash, and programs are found by them


class Session(ShownInNotebooks):
    """Runs fetches of a graph. Variables keep their values between runs of one session.

    Args:
      target: "" or None for private variables, a store, as `store`, or a server's target. Runs
        are done on a cluster with none: where there is a Dask client in the process.
      graph: the graph; by default the one entered, or the default graph.
      config: a `ConfigProto`; see `daskvars.config` for the engine's own knobs.
      store: where the variables live. A path or URL (with a "/" in it, or ending in ".zarr")
        is a Zarr store: the variables that are in it have their values at once, and new values
        are written back by `seal` and `close`, and every ``config.seal_every_s``. A process that
        is killed loses at most the runs of this period and of the time of one seal. At a seal
        values that other processes have written are taken over too. If both have changed, or
        the store was deleted, AbortedError is raised, and neither is lost. With
        ``config.seal_every_s = 0`` each run is a transaction on the store: it sees the newest
        values, and is durable, and seen by other processes, when it returns; if another process
        was faster it is done again. Any other name is shared by the sessions of this process.
        With a Dask client, paths and names are shared by all clients of its cluster, where the
        variables stay when this client is gone: each run is on the newest version.
      consistency: "serializable" (as if the runs of all clients came one after the other) or
        "async" (asynchronous training: reads may be of an older version, updates are made to the
        newest); by default `daskvars.config`'s. Without a cluster runs are always serializable.

    Raises:
      TypeError: `graph`, `target` or `config` is something else.
      ValueError: there is no graph; both a target and a store are given; the address of a Dask
        cluster is; or there is no such `consistency`.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None])
    ...     sess.run(x * 2.0, {x: [1.0, 2.0]}).tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        target: str | bytes | PathLike[str] | None = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        store: str | PathLike[str] | None = None,
        consistency: str | None = None,
    ) -> None:
        self._graph = graph if graph is not None else scopes.current_builder()
        if self._graph is None:
            raise ValueError(
                "a session needs a graph: give graph=, make it inside `with graph.as_default():`, "
                "or use daskvars.v1, which has a default graph"
            )
        if not isinstance(self._graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(self._graph)}")
        if target is None:
            target = ""
        if not isinstance(target, str | bytes | PathLike):
            raise TypeError(
                f"target must be a string, the store where variables live, but got {type(target)}. "
                "A session runs on the Dask client of the process, if there is one: "
                "distributed.Client(...), or `with client.as_current():` to choose one of several"
            )
        if target and store:
            raise ValueError(
                f"target={target!r} and store={store!r} both say where variables live: give one"
            )
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self.sess_str = target.decode() if isinstance(target, bytes) else target
        self._config = config or ConfigProto()
        self._engine = Engine(
            store or ("" if self._config.isolate_session_state else target),
            self._config.num_threads(),
            self._config.allow_soft_placement,
            consistency,
        )
        self._engine.resources.timeout_s = self._config.operation_timeout_in_ms / 1e3 or None
        self._executables: dict[Any, tuple[Any, ...]] = {}
        self._closed = False
        self._entered: list[Any] = []

    graph: Graph = forwards("_graph", "The graph that is run.")

    @property
    def graph_def(self) -> GraphDef:
        """The graph that is run, as data."""
        return self._graph.as_graph_def()

    engine: Engine = forwards("_engine", "The engine below: values, executor, plans.")

    is_closed: bool = forwards("_closed", "Whether it was closed.")

    def __repr__(self) -> str:
        if self._closed:
            return "<tf.Session, closed>"
        store = "" if self._engine.store is None else f" on {self._engine.store}"
        return f"<tf.Session{store} of {self._graph!r}, version {self._engine.values.version}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            "a session cannot be pickled or copied: its variables are where it runs. Pickle what "
            "run() gives, or write a checkpoint (train.Saver); sessions of several processes share "
            "variables that are in a store (store=)"
        )

    # -- running ------------------------------------------------------------------------------

    @overload
    def run(
        self,
        fetches: Operation,
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> None: ...
    @overload
    def run(
        self,
        fetches: WithOperators,
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> NDArray[Any]: ...
    @overload
    def run(
        self,
        fetches: IndexedSlices,
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> IndexedSlicesValue: ...
    @overload
    def run(
        self,
        fetches: list[F],
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> list[NDArray[Any]]: ...
    @overload
    def run(
        self,
        fetches: dict[K, F],
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> dict[K, NDArray[Any]]: ...
    @overload
    def run(
        self,
        fetches: tuple[F, F],
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def run(
        self,
        fetches: tuple[Operation, F],
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> tuple[None, NDArray[Any]]: ...
    @overload
    def run(
        self,
        fetches: tuple[F, Operation],
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> tuple[NDArray[Any], None]: ...
    @overload
    def run(
        self,
        fetches: list[Any],
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> list[Any]: ...
    @overload
    def run(
        self,
        fetches: Any,
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
        *,
        as_dask: bool = False,
    ) -> Any: ...
    def run(
        self,
        fetches: Any,
        feed_dict: Feeds | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
        *,
        as_dask: bool = False,
    ) -> Any:
        """Run what `fetches` needs and return their values, in the same nesting.

        All reads see the variables as the run finds them, except where an assignment is ordered
        before them; a run that fails changes nothing.

        On a cluster a run that fetches no value is not waited for (``config.max_in_flight``): if it
        fails, the next that asks for a value, or seals, says so, and those after it are not done.
        Arrays that were fed may be written into by then; what a fed dask array reads, a Zarr store
        say, has to stay as it is until a later run has given a value.

        Args:
          fetches: a tensor, operation, variable, name or any nesting of these in lists, tuples,
            named tuples and dicts. Operations give None. A variable gives its value at the end.
          feed_dict: values for tensors (any tensor may be fed): arrays, Python values or dask
            arrays. A tuple of tensors may be fed with a tuple of values.
          options: a `RunOptions`: what to write into `run_metadata`.
          run_metadata: a `RunMetadata` that the run is recorded in.
          as_dask: whether the values are dask arrays, which stay where they were computed: for what
            is too large for this process. Their shapes must be known before they are computed.

        Raises:
          RuntimeError: the session is closed, or its graph is empty.
          TypeError, ValueError: fetches or feeds that do not fit; nothing has run.
          FailedPreconditionError: variables have no value yet; all are named; nothing has run.
          InvalidArgumentError: an op failed; no variable has changed.
        """
        if self._closed:
            raise RuntimeError(CLOSED)
        fed, values = self._feeds(feed_dict) if feed_dict else ((), [])
        executable, rebuild = self._executable(fetches, fed)
        try:
            if run_metadata is None:
                if options is None or not options.timeout_in_ms:
                    return rebuild(executable(values, as_dask=as_dask))
                with waiting_at_most(options.timeout_in_ms / 1e3):
                    return rebuild(executable(values, as_dask=as_dask))
            return rebuild(recorded_run(executable, values, options, run_metadata, as_dask))
        except OpError as error:
            self._locate(error)
            raise

    def _locate(self, error: OpError) -> None:
        """Let an error that knows its operation by name know the operation, and say its line."""
        if isinstance(error.op, str):
            op = self._graph._ops_by_name.get(error.op)
            if op is not None:
                error.op, error.node_def = op, op.node_def
                if op.where not in error.message:
                    error.message += f" (operation {op.name!r} was made at {op.where})"

    def _executable(self, fetches: Any, fed: tuple[Tensor, ...]) -> tuple[Any, Any]:
        key: Any = None
        if type(fetches) in _KEYS:
            key = (fetches, fed)
        elif type(fetches) in (list, tuple) and all(type(f) in _KEYS for f in fetches):
            key = (type(fetches), tuple(fetches), fed)
        if key is not None:
            try:
                found = self._executables.get(key)
            except TypeError:  # a value of eager code has no hash; as a fetch it is told
                key = found = None
            if found is not None:
                return found
        structure = Structure(fetches, self._graph)
        signature = (structure.tensors, structure.operations, fed)
        if self._graph.version == 0:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        self._graph.note_run()
        found = self._executables.get(signature)
        if found is None:
            executable = self._engine.executable(
                signature, structure.tensors, structure.operations, fed
            )
            self._executables[signature] = (executable, None)
            if self._config.log_device_placement:
                log_placement(self._engine, *signature)
        else:
            executable = found[0]
        entry = (executable, structure.rebuild)
        if key is not None:
            self._executables[key] = entry
        return entry

    def _feeds(self, feed_dict: Mapping[Any, Any]) -> tuple[tuple[Tensor, ...], list[Any]]:
        if not isinstance(feed_dict, Mapping):
            raise TypeError(
                f"feed_dict must be a dictionary mapping tensors to values, got {feed_dict!r}"
            )
        fed: dict[Tensor, Any] = {}  # of a tensor that has two keys the last value, as in a dict
        for key, value in feed_dict.items():
            for name, item in ((key, value),) if type(key) is Tensor else feed_pairs(key, value):
                tensor = name
                if (
                    type(name) is not Tensor
                    or name.graph is not self._graph
                    or name in self._graph._unfeedable
                ):
                    tensor = feed_tensor(self._graph, name)
                fed[tensor] = feed_value(tensor, item)
        return tuple(fed), list(fed.values())

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs `fetches`; its arguments are fed to `feed_list`.

        Cheaper per run than `run`, which looks at fetches and feeds anew each time.

        Args:
          fetches: as `run` takes them.
          feed_list: tensors.
          accept_options: the function also takes ``options=`` and ``run_metadata=``.

        Raises:
          TypeError: `feed_list` is no list; or the function is given another number of values.
          RuntimeError: the session is closed.
        """
        if self._closed:
            raise RuntimeError(CLOSED)
        if not isinstance(feed_list, list | tuple | None):
            raise TypeError("`feed_list` must be a list or tuple.")
        fed = tuple(feed_tensor(self._graph, key) for key in feed_list or ())
        executable, rebuild = self._executable(fetches, fed)

        def call(*values: Any) -> Any:
            if len(values) != len(fed):
                raise TypeError(f"the callable takes {len(fed)} values, got {len(values)}")
            if self._closed:
                raise RuntimeError(CLOSED)
            try:
                return rebuild(
                    executable([feed_value(t, v) for t, v in zip(fed, values, strict=True)])
                )
            except OpError as error:
                self._locate(error)
                raise

        def call_with_options(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            return self.run(fetches, dict(zip(fed, values, strict=True)), options, run_metadata)

        return call_with_options if accept_options else call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Raise UnimplementedError: a run is a transaction, and cannot be done in parts."""
        raise UnimplementedError.saying(
            "partial_run needs a run that goes on where it stopped, but a run here is "
            "a transaction that commits at its end. Fetch all that is needed in one run, or run "
            "twice and feed the second run the tensors that the first one gave."
        )

    @accepts("handle")
    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Raise UnimplementedError; see `partial_run_setup`."""
        return self.partial_run_setup(fetches, feed_dict)

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices that operations can run on.

        Raises:
          RuntimeError: the session is closed.

        >>> with tf.Session(graph=tf.Graph()) as sess:
        ...     [device.device_type for device in sess.list_devices()]
        ['CPU']
        """
        if self._closed:
            raise RuntimeError(CLOSED)
        return devices_of(self._engine)

    @staticmethod
    @accepts("config")
    def reset(target: str, containers: Sequence[str] | None = None, config: Any = None) -> None:
        """Forget the variables that sessions of this process, or of the cluster, share by name.

        Sessions of this process that are open on the name end: their next run raises AbortedError,
        upon which a ``MonitoredSession`` makes another. Later ones start without values. What is on
        disk stays, and sessions on a store keep their values.

        Args:
          target: the name, as a session takes it; "" has none that are shared.
          containers: only the variables, queues and tables that were made in these (`container`);
            "" is that of all others, on a server by the name of its job too. By default all.

        Raises:
          NotFoundError: containers are given, and no session has shared variables on the target.
          UnimplementedError: containers are given, and the variables are on a cluster or in a
            store.
        """
        forget_state(target, containers or ())

    def explain(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> str:
        """Return how `fetches` would run: tasks, regions, devices, bytes; nothing is run.

        The sizes of what is fed decide how work is cut, so `feed_dict` is that of the run. What is
        not in it stands above the rest.
        """
        fed, values = self._feeds(feed_dict or {})
        text: str = self._executable(fetches, fed)[0].explain(values)
        structure = Structure(fetches, self._graph)
        needed = prune(structure.tensors, structure.operations, fed)
        missing = [op.outputs[0] for op in needed if op.type == "Placeholder"]
        if not missing:
            return text
        names = ", ".join(f"{tensor.name} {tensor.shape}" for tensor in missing)
        return (
            f"not fed: {names}. A run has another plan, for the sizes that it is fed: "
            f"explain(fetches, feed_dict) tells it\n{text}"
        )

    def seal(self) -> None:
        """Write the present values to the session's store, as a new version of it.

        The store shows the version before until the new one is complete. If nothing has changed
        here, values that another process has written are taken over. Does nothing for a session
        without a store on disk.

        Raises:
          AbortedError: another process has written a version since the one that the values here
            come from. Nothing was written; the values here are as they were.
        """
        self._engine.seal()

    def recover(self, version: int | None = None) -> int:
        """Set the variables back to the last durable version, and return its number.

        For when data is lost on a cluster (UnavailableError), or to undo what was not sealed.

        Args:
          version: an older version of the session's store, which becomes its head: those after it
            are removed, for all who use the store. ``daskvars restore-to`` does it without a
            session.

        Raises:
          FailedPreconditionError: no version is durable yet, or `version` is given for a session
            without a store.
          NotFoundError, CorruptChunkError: `version` is not there, or not whole; nothing changed.
        """
        return self._engine.recover(version)

    # -- entering and closing -----------------------------------------------------------------

    def as_default(self) -> Any:
        """Return a context manager in which this is the default session; it stays open after.

        Raises:
          AssertionError: (at the end of the block) another session was entered and not left.
        """
        return scopes.session_entered(self)

    def close(self) -> None:
        """End the session, its values sealed; later runs raise RuntimeError.

        Raises:
          AbortedError, StoreError: they cannot be sealed, see `seal`; the session stays open, so
            that they can be saved elsewhere, or it be closed again when the disk has room.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._engine.close()
        finally:
            self._closed = self._engine.is_closed
            if self._closed:
                self._executables.clear()

    def __enter__(self) -> Self:
        if self._closed:
            raise RuntimeError(CLOSED)
        if self._entered:
            raise RuntimeError("Session context managers are not re-entrant.")
        for manager in (self._graph.as_default(), scopes.session_entered(self)):
            manager.__enter__()
            self._entered.append(manager)
        return self

    def __exit__(self, *error: object) -> None:
        for _ in range(2):
            self._entered.pop().__exit__(None, None, None)
        self.close()


class InteractiveSession(Session):
    """A session that is the default one from when it is made until it is closed.

    A `graph` that is given is the default one as long, or until `reset_default_graph`.

    Warns:
      UserWarning: another one is open in this thread: its values stay in memory.

    Args:
      target, graph, config: as of `Session`.

    >>> sess = tf.InteractiveSession(graph=tf.Graph())
    >>> int(tf.constant(3).eval())
    3
    >>> sess.close()
    """

    def __init__(
        self,
        target: str | bytes | PathLike[str] = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        super().__init__(target, graph, config)
        if any(isinstance(session, InteractiveSession) for session in scopes.stacks.sessions):
            warnings.warn(
                "An interactive session is already active, and keeps its variables in memory: "
                "close() the session before making the next, or use `with Session():`",
                stacklevel=2,
            )
        managers: list[Any] = [scopes.session_entered(self, nested=False)]
        if graph is not None:
            managers.append(scopes.entered_until_reset(self._graph))
        for manager in managers:
            manager.__enter__()
            self._entered.append(manager)

    def close(self) -> None:
        """Stop being the default session and end."""
        if not self._closed:
            super().close()
            while self._entered:
                self._entered.pop().__exit__(None, None, None)

    def __exit__(self, *error: object) -> None:
        self.close()
