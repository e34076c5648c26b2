"""FileWriter: summaries and events to a file for TensorBoard."""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from typing import Any

from daskvars.graph.graph import Graph
from daskvars.graph.records.graph_def import GraphDef
from daskvars.graph.tensor import Tensor
from daskvars.kernels.opened_files import as_errors
from daskvars.summary.drawn_nodes import shortened
from daskvars.summary.event_files import EventFile, new_event_file
from daskvars.summary.event_lines import JsonLinesFile
from daskvars.summary.records import Event, SessionLog, Summary, TaggedRunMetadata
from daskvars.surface.one_line import ShownByArguments


class FileWriter(ShownByArguments):
    """Writes summaries and events to a new file in a directory, for TensorBoard.

    The file is called ``events.out.tfevents.<time>.<host>...``; ``tensorboard --logdir`` shows it.
    Without the package ``tensorboard`` (the extra of that name) it is ``events.out.jsonl...``, one
    line of JSON for each value: ``wall_time``, ``step``, ``tag``, ``kind``, ``value``; the log says
    so once. `tf.train.summary_iterator` reads both. It may be used from several threads. What waits
    is written when the writer is closed, or gone, or the program ends.

    Args:
      logdir: the directory; made if need be.
      graph: a graph to write down, or a `GraphDef`.
      max_queue: how many events may wait before they are written.
      flush_secs: how many seconds an event may wait at most.
      graph_def: the older name of `graph`.
      filename_suffix: ends the file's name.
      session: a session whose graph is written.

    Raises:
      TypeError: `graph` is no graph.
      ValueError: both `graph` and `graph_def` are given.
      OpError: (from any method) the disk refuses, with its reason.

    >>> import glob, tempfile
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
        self._file: EventFile | None = None
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write the values of a summary.

        Args:
          summary: what a summary op gave (a string or an eager tensor), a `Summary`, or one that a
            plugin of TensorBoard made (``tensorboard.plugins.hparams.summary_v2.hparams_pb``).
          global_step: the step that they belong to.

        Raises:
          TypeError: a plugin's summary cannot be written as JSON, without ``tensorboard``.
        """
        if hasattr(summary, "DESCRIPTOR"):  # a protocol buffer, so its package is there
            self._add_proto(summary, 0 if global_step is None else int(global_step))
            return
        if isinstance(summary, Tensor):
            summary = summary.numpy()
        if not isinstance(summary, Summary):
            summary = Summary.FromString(summary)
        self._add(global_step, summary=summary)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Write what happened to a session."""
        self._add(global_step, session_log=session_log)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write the operations of a graph: name, type, inputs, device and short attributes.

        The bodies of branches and loops are in it, and constants of few elements.

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
        data = given.as_graph_def() if isinstance(given, Graph) else given
        self._add(global_step, graph_def=shortened(data).SerializeToString())

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Write a graph with its collections and its saver: the event has it whole, as data.

        TensorBoard draws it where there is no graph of `add_graph`.

        Args:
          meta_graph_def: a `MetaGraphDef`, such as ``tf.train.export_meta_graph`` gives.

        Raises:
          TypeError: it is none.
        """
        if not isinstance(getattr(meta_graph_def, "graph_def", None), GraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

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
        with self._lock:
            if self._file is None:
                self._warn_closed()
            else:
                with as_errors(self._logdir):
                    self._file.add(event)

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            if self._file is not None:
                with as_errors(self._logdir):
                    self._file.flush()

    def close(self) -> None:
        """Write what waits and close the file."""
        with self._lock:
            if self._file is not None:
                self._file = None
                with as_errors(self._logdir):
                    self._close()

    def reopen(self) -> None:
        """Go on with a new file after `close`; does nothing where the writer is open."""
        with self._lock:
            if self._file is None:
                self._open()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def _open(self) -> None:
        self._run_tags: set[str] = set()
        file = new_event_file(self._logdir, self._suffix, self._max_queue, self._flush_secs)
        self._file = file
        # What waits is written at the program's end, too, and when nobody has the writer any more.
        self._close = weakref.finalize(self, file.close)

    def _add(self, global_step: Any, **fields: Any) -> None:
        step = 0 if global_step is None else int(global_step)
        self.add_event(Event(wall_time=time.time(), step=step, **fields))

    def _add_proto(self, summary: Any, step: int) -> None:
        with self._lock:
            file: Any = self._file
            if file is None:
                self._warn_closed()
            elif isinstance(file, JsonLinesFile):
                raise TypeError(
                    f"a {type(summary).__name__} of TensorBoard cannot be written as JSON; give a "
                    "Summary of daskvars, or install the extra 'tensorboard'"
                )
            else:
                with as_errors(self._logdir):
                    file.add_proto(summary, time.time(), step)

    def _warn_closed(self) -> None:
        warnings.warn(
            f"the event writer of {self._logdir!r} is closed: an event is dropped; reopen() it",
            stacklevel=4,
        )
