"""Queue runners: threads that run ops which fill queues, until those are closed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from daskvars.errors import (
    OpError,
    OutOfRangeError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)
from daskvars.execution.session import Session
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Operation
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.v1 import logging
from daskvars.v1.graphs.meta_graph import register_described_item
from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.queue_runner_def import QueueRunnerDef


class QueueRunner(ShownByArguments):
    """Fills a queue: a thread for each of its ops runs that again and again.

    When all of them have met the end of what they read (`queue_closed_exception_types`), the queue
    is closed. When the coordinator wants to stop, so are enqueues that wait.

    Args:
      queue: a queue.
      enqueue_ops: what is run; one that is in the list several times has as many threads.
      close_op: closes the queue, by default ``queue.close()``.
      cancel_op: does so and cancels what waits.
      queue_closed_exception_types: errors that mean the end, by default ``(OutOfRangeError,)``.
      queue_runner_def: what `to_proto` gave, in place of all these, for operations of the graph.
      import_scope: the name scope that they are under.

    Raises:
      ValueError: `queue` or `enqueue_ops` is missing, or `queue_runner_def` is given besides.
      KeyError: an operation of `queue_runner_def` is not in the graph.
      TypeError: `queue_closed_exception_types` is no tuple of errors.

    Source: TensorFlow 1.15, ``tf.train.QueueRunner``.

    >>> with tf.Graph().as_default():
    ...     queue = tf.FIFOQueue(4, tf.int32, shapes=[[]])
    ...     tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
    ...     number = queue.dequeue()
    ...     with tf.train.MonitoredSession() as sess:
    ...         int(sess.run(number))
    7
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types = _described(
                queue_runner_def, import_scope
            )
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = queue_closed_exception_types or (OutOfRangeError,)
        if not isinstance(types, tuple) or not all(
            isinstance(t, type) and issubclass(t, OpError) for t in types
        ):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
                f"but saw: {queue_closed_exception_types}"
            )
        self._queue, self._enqueue_ops = queue, list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        if cancel_op is None:
            cancel_op = queue.close(cancel_pending_enqueues=True)
        self._cancel_op, self._ends = cancel_op, types
        self._lock = threading.Lock()
        self._num_running: Counter[int] = Counter()
        self._exceptions_raised: list[Exception] = []

    queue: Any = forwards("_queue", "The queue.")
    enqueue_ops: list[Any] = forwards("_enqueue_ops", "What is run.")
    close_op: Operation = forwards("_close_op", "What closes the queue.")
    cancel_op: Operation = forwards("_cancel_op", "What closes it and cancels what waits.")
    queue_closed_exception_types: Any = forwards("_ends", "The errors that mean the end.")
    exceptions_raised: list[Exception] = forwards(
        "_exceptions_raised", "Those of threads without a coordinator."
    )

    name: str = forwards("_queue.name", "The queue's name.")

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Return the runner as data; None for the runner of a queue outside of a name scope.

        Args:
          export_scope: a name scope, which is left out before the names of operations.
        """
        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        ops = [
            getattr(op, "op", op) for op in (*self._enqueue_ops, self._close_op, self._cancel_op)
        ]
        *enqueue, close, cancel = [op.name.removeprefix(prefix) for op in ops]
        codes = [error_code_from_exception_type(error) for error in self._ends]
        return QueueRunnerDef(self.name.removeprefix(prefix), enqueue, close, cancel, codes)

    @staticmethod
    def from_proto(
        queue_runner_def: QueueRunnerDef, import_scope: str | None = None
    ) -> QueueRunner:
        """Return the runner whose operations are in the graph being built, under a name scope."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def create_threads(
        self,
        sess: SessionLike,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Return the threads, none if those for this session have not ended yet.

        Args:
          sess: what runs the ops.
          coord: says when to stop, and is told of errors; one thread more waits for that.
          daemon: whether the program may end before them.
          start: start them.
        """
        with self._lock:
            if self._num_running[id(sess)] > 0:
                return []
            self._num_running[id(sess)] = len(self._enqueue_ops)
            self._exceptions_raised.clear()
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{getattr(op, 'name', op)}",
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            waiting = threading.Thread(
                target=self._close_on_stop,
                args=(sess, coord),
                name=f"QueueRunnerThread-{self.name}-close_on_stop",
            )
            threads.append(waiting)
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _run(self, sess: SessionLike, op: Any, coord: Coordinator | None) -> None:
        """Run an op until its input ends, or the coordinator wants to stop."""
        is_at_end = False
        try:
            while coord is None or not coord.should_stop():
                sess.run(op)
        except self._ends:
            is_at_end = True
        except Exception as error:
            if coord is None:
                logging.error("Exception in QueueRunner: %s", error)
                with self._lock:
                    self._exceptions_raised.append(error)
                raise
            coord.request_stop(error)
        finally:
            with self._lock:
                self._num_running[id(sess)] -= 1
                is_last = not self._num_running[id(sess)]
            if is_at_end and is_last:
                _close(sess, self._close_op)

    def _close_on_stop(self, sess: SessionLike, coord: Coordinator) -> None:
        coord.wait_for_stop()
        _close(sess, self._cancel_op)


def _described(data: QueueRunnerDef, scope: str | None) -> tuple[Any, ...]:
    """Return the arguments of a runner that is described: operations of the graph being built."""
    graph, prefix = builder_for(()), f"{scope}/" if scope else ""

    def found(name: str) -> Any:
        return graph.as_graph_element(prefix + name)

    ends = tuple(map(exception_type_from_error_code, data.queue_closed_exception_types))
    enqueue = [found(name) for name in data.enqueue_op_name]
    close, cancel = found(data.close_op_name), found(data.cancel_op_name)
    return found(data.queue_name), enqueue, close, cancel, ends


register_described_item("queue_runner", QueueRunner, QueueRunnerDef)


def _close(sess: SessionLike, op: Operation) -> None:
    """Close a queue, unless it is closed already, or the session is."""
    try:
        sess.run(op)
    except (OpError, RuntimeError) as error:
        logging.debug("Ignored exception: %s", error)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Let `start_queue_runners` start a runner.

    Args:
      qr: a `QueueRunner`.
      collection: the name of a collection of the graph.

    Source: TensorFlow 1.15, ``tf.train.add_queue_runner``.

    >>> with tf.Graph().as_default():
    ...     queue = tf.FIFOQueue(4, tf.int32, shapes=[[]])
    ...     runner = tf.train.QueueRunner(queue, [queue.enqueue(7)])
    ...     tf.train.add_queue_runner(runner)
    ...     tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS) == [runner]
    True
    """
    builder_for(()).add_to_collection(collection, qr)


def start_queue_runners(
    sess: SessionLike | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[Any]:
    """Start the threads of the runners in a collection of the session's graph.

    Args:
      sess: what they run in, by default the default session. A `MonitoredSession` has started them.
      coord: says when they stop, and is told of their errors.
      daemon: whether the program may end before them.
      start: start them, or only make them.
      collection: the collection's name.

    Returns:
      The threads.

    Raises:
      ValueError: there is no session.
      TypeError: `sess` is none.

    Source: TensorFlow 1.15, ``tf.train.start_queue_runners``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    ...     sess.run(tf.local_variables_initializer())
    ...     coord = tf.train.Coordinator()
    ...     threads = tf.train.start_queue_runners(sess, coord)
    ...     try:
    ...         while not coord.should_stop():
    ...             print(sess.run(number))
    ...     except tf.errors.OutOfRangeError:
    ...         coord.request_stop()
    ...     coord.join(threads)
    0
    1
    2
    """
    if sess is None:
        sess = scopes.stacks.sessions[-1] if scopes.stacks.sessions else None
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, Session):
        if hasattr(sess, "run_step_fn"):
            return []  # it has started them
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    return [
        thread
        for runner in sess.graph.get_collection(collection)
        for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    ]
