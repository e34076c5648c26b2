"""FileWriter: summaries and events to a file of JSON lines."""

from __future__ import annotations

import itertools
import os
import platform
import threading
import time
import warnings
from typing import Any, ClassVar

from daskvars.graph.graph import Graph
from daskvars.graph.records.graph_def import GraphDef
from daskvars.summary.event_lines import lines_of
from daskvars.summary.records import Event, SessionLog, Summary, TaggedRunMetadata

FILE_VERSION = "daskvars.Event:1"
_numbers = itertools.count()


class FileWriter:
    """Writes summaries and events to a new file in a directory, one line of JSON each.

    The file is called ``events.out.jsonl.<time>.<host>...``. A line has ``wall_time`` and ``step``,
    and ``tag``, ``kind`` and ``value`` where it is a summary's. `tf.train.summary_iterator` reads
    it.

    Args:
      logdir: the directory; made if need be.
      graph: a graph to write down, or a `GraphDef`.
      max_queue: how many events may wait before they are written.
      flush_secs: how many seconds an event may wait at most, looked at when the next is added.
      graph_def: the older name of `graph`.
      filename_suffix: ends the file's name.
      session: a session whose graph is written.

    Raises:
      TypeError: `graph` is no graph.
      ValueError: both `graph` and `graph_def` are given.

    >>> import glob, tempfile
    >>> import daskvars.v1 as tf
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     with tf.summary.FileWriter(logdir) as writer:
    ...         writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1)]), 3)
    ...     events = list(tf.train.summary_iterator(glob.glob(f"{logdir}/events*")[0]))
    >>> events[-1].step, events[-1].summary.value[0].simple_value
    (3, 1.0)
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if graph is not None and graph_def is not None:
            raise ValueError("graph and graph_def are two names of one argument: give only one")
        if session is not None and graph is None and graph_def is None:
            graph = session.graph
        self._logdir = os.fspath(logdir)
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._file: Any = None
        self._closed = False
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write the values of a summary.

        Args:
          summary: what a summary op gave, or a `Summary`.
          global_step: the step that they belong to.
        """
        if not isinstance(summary, Summary):
            summary = Summary.FromString(summary)
        self._add(global_step, summary=summary)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Write what happened to a session."""
        self._add(global_step, session_log=session_log)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write the operations of a graph: name, type, inputs, device.

        Raises:
          TypeError: it is no graph.
          ValueError: both `graph` and `graph_def` are given, or neither.
        """
        if (graph is None) == (graph_def is None):
            raise ValueError("give either graph or graph_def")
        given = graph_def if graph is None else graph
        if not isinstance(given, Graph | GraphDef):
            raise TypeError(
                "The passed graph must be an instance of `Graph` or `GraphDef`, but is a "
                f"{type(given).__name__}"
            )
        found: Any = (
            given.node
            if isinstance(given, GraphDef)
            else (op.node_def for op in given.get_operations())
        )
        fields = ("name", "op", "input", "device")
        nodes = [{field: getattr(node, field) for field in fields} for node in found]
        self._add(global_step, graph_def=nodes)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Write what a run told of itself.

        Args:
          run_metadata: a `RunMetadata`.
          tag: a name, not used before in this writer.

        Raises:
          ValueError: the tag was used.
        """
        if tag in self._run_tags:
            raise ValueError(f"The provided tag was already used for this event type: {tag!r}")
        self._run_tags.add(tag)
        record = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(global_step, tagged_run_metadata=record)

    def add_event(self, event: Event) -> None:
        """Write an event."""
        if self._closed:
            warnings.warn(
                f"the event writer of {self._logdir!r} is closed: an event is dropped; reopen() it",
                stacklevel=2,
            )
            return
        with self._lock:
            self._waiting += lines_of(event)
            late = time.monotonic() - self._flushed > self._flush_secs
            if late or len(self._waiting) >= self._max_queue:
                self._write()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            self._write()

    def close(self) -> None:
        """Write what waits and close the file."""
        with self._lock:
            if not self._closed:
                self._write()
                self._file.close()
                self._closed = True

    def reopen(self) -> None:
        """Go on with a new file after `close`; does nothing where the writer is open."""
        if self._closed:
            self._open()
            self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def _open(self) -> None:
        os.makedirs(self._logdir, exist_ok=True)
        now, number = time.time(), next(_numbers)
        name = f"events.out.jsonl.{int(now):010d}.{platform.node()}.{os.getpid()}.{number}"
        self._file = open(os.path.join(self._logdir, name + self._suffix), "x")  # noqa: SIM115
        self._flushed = time.monotonic()
        self._run_tags: set[str] = set()
        self._waiting += lines_of(Event(wall_time=now, file_version=FILE_VERSION))
        self._write()

    def _add(self, global_step: Any, **fields: Any) -> None:
        step = 0 if global_step is None else int(global_step)
        self.add_event(Event(wall_time=time.time(), step=step, **fields))

    def _write(self) -> None:
        if self._waiting:
            self._file.write("\n".join(self._waiting) + "\n")
            self._file.flush()
            self._waiting.clear()
        self._flushed = time.monotonic()


class FileWriterCache:
    """The writers of this process, one per directory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     FileWriterCache.get(logdir) is FileWriterCache.get(logdir)
    ...     FileWriterCache.clear()
    True
    """

    _cache: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[Any] = threading.RLock()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Return the writer of a directory, made on first use."""
        key = os.fspath(logdir)
        with FileWriterCache._lock:
            if key not in FileWriterCache._cache:
                FileWriterCache._cache[key] = FileWriter(key)
            return FileWriterCache._cache[key]

    @staticmethod
    def clear() -> None:
        """Close all writers and forget them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()
