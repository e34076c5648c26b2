"""Records of several files in one queue, and batches in another: ``slim.parallel_reader``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars.dtypes import DTypeLike, string
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.v1 import gfile
from daskvars.v1.queues.producers import string_input_producer, summarize_fullness
from daskvars.v1.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from daskvars.v1.sessions.queue_runners import QueueRunner, add_queue_runner


def get_data_files(data_sources: Any) -> list[str]:
    """Return the names of the files of a data set.

    Args:
      data_sources: a name, a pattern with ``*``, ``?`` or ``[``, or a list of such.

    Raises:
      ValueError: there are none.

    Source: TensorFlow 1.15, ``tf.contrib.slim.parallel_reader.get_data_files``.

    >>> tf.contrib.slim.parallel_reader.get_data_files(["train.tfrecord", "more.tfrecord"])
    ['train.tfrecord', 'more.tfrecord']
    """
    if isinstance(data_sources, list | tuple):
        found = [name for source in data_sources for name in get_data_files(source)]
    else:
        is_pattern = any(sign in data_sources for sign in "*?[")
        found = gfile.Glob(data_sources) if is_pattern else [data_sources]
    if not found:
        raise ValueError(f"No data files found in {data_sources}")
    return found


def parallel_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[DTypeLike] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return a record of files that several readers go through, each one file at a time.

    Args:
      data_sources: see `get_data_files`.
      reader_class: a kind of reader, `TFRecordReader` for one.
      num_epochs: how often each file is read, in local variables; None for no end.
      num_readers: how many readers there are, each with a thread of its own.
      reader_kwargs: what they are made with.
      shuffle: take files and records in another order each time.
      dtypes: of a key and a value, both string by default.
      capacity: of the queue of records.
      min_after_dequeue: how many records it has at least, among which one is chosen.
      seed: int, see `set_random_seed`.
      scope: name scope, "parallel_read" by default.

    Returns:
      [] string, a key, and [] string, a value; other ones in each run.

    Raises:
      ValueError: there are no files.

    Source: TensorFlow 1.15, ``tf.contrib.slim.parallel_reader.parallel_read``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines"
    >>> path.write_text("one\\ntwo\\n")
    8
    >>> with tf.Graph().as_default():
    ...     _, line = tf.contrib.slim.parallel_reader.parallel_read(
    ...         str(path), tf.TextLineReader, num_epochs=1, num_readers=1, shuffle=False
    ...     )
    ...     with tf.train.MonitoredSession() as sess:
    ...         sess.run(line), sess.run(line)
    (b'one', b'two')
    """
    with name_scope(scope, "parallel_read", []):
        paths = get_data_files(data_sources)
        files = string_input_producer(
            paths, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        dtypes = dtypes or [string, string]
        records: QueueBase
        if shuffle:
            records = RandomShuffleQueue(
                capacity, min_after_dequeue, dtypes, seed=seed, name="common_queue"
            )
        else:
            records = FIFOQueue(capacity, dtypes, name="common_queue")
        summarize_fullness(f"fraction_of_{capacity}_full", records.size(), capacity)
        readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        filling = [records.enqueue(list(reader.read(files))) for reader in readers]
        add_queue_runner(QueueRunner(records, filling))
        return records.dequeue()


def single_pass_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return a record of files that one reader goes through once, in their order.

    Args:
      data_sources, reader_class, reader_kwargs: see `parallel_read`.
      scope: name scope, "single_pass_read" by default.

    Returns:
      [] string, a key, and [] string, a value; the next ones in each run.

    Raises:
      ValueError: there are no files.

    Source: TensorFlow 1.15, ``tf.contrib.slim.parallel_reader.single_pass_read``.

    >>> with tf.Graph().as_default():
    ...     read = tf.contrib.slim.parallel_reader.single_pass_read
    ...     _, name = read(["a", "b"], tf.IdentityReader)
    ...     with tf.train.MonitoredSession() as sess:
    ...         sess.run(name), sess.run(name)
    (b'a', b'b')
    """
    with name_scope(scope, "single_pass_read", []):
        names = get_data_files(data_sources)
        files = string_input_producer(
            names, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(files)


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue that threads fill with values of tensors: batches that are ready.

    Args:
      tensors: a list of tensors, or a dict of them.
      capacity: of the queue.
      num_threads: how many threads fill it.
      dynamic_pad: let sizes be unknown.
      shared_name: see `FIFOQueue`.
      name: name scope, "prefetch_queue" by default.

    Returns:
      A queue whose elements are such lists or dicts.

    Source: TensorFlow 1.15, ``tf.contrib.slim.prefetch_queue.prefetch_queue``.

    >>> with tf.Graph().as_default():
    ...     batch = tf.train.batch([tf.constant(3.0)], batch_size=2)
    ...     ready = tf.contrib.slim.prefetch_queue.prefetch_queue([batch]).dequeue()
    ...     with tf.train.MonitoredSession() as sess:
    ...         sess.run(ready).tolist()
    [3.0, 3.0]
    """
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    parts = list(tensors) if names is None else [tensors[key] for key in names]
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    with name_scope(name, "prefetch_queue", parts):
        dtypes = [part.dtype.base_dtype for part in parts]
        queue = kind(
            capacity, dtypes, [part.shape for part in parts], names=names, shared_name=shared_name
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        summarize_fullness(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return queue
