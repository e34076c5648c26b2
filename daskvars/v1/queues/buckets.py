"""Batches of elements that are alike: each kind has a queue, and a batch is of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from daskvars.dtypes import int32
from daskvars.errors import CancelledError, OutOfRangeError
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.control.dependencies import group
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater_equal, logical_and
from daskvars.ops.math.reduce import reduce_sum
from daskvars.shapes import as_shape
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.queues.batching import (
    Elements,
    columns_of,
    components_of,
    like,
    lists_of,
    shapes_of,
)
from daskvars.v1.queues.producers import summarize_fullness
from daskvars.v1.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase
from daskvars.v1.sessions.queue_runners import QueueRunner, add_queue_runner

_ENDS = (OutOfRangeError, CancelledError)


def bucket(
    tensors: Elements,
    which_bucket: TensorLike,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Sequence[Any] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return batches of what tensors give from run to run, each of elements of one bucket.

    Args:
      tensors: a list, or a dict, of tensors, see `tf.train.batch`.
      which_bucket: [] int32, computed with the element: the bucket that it is put in.
      batch_size: int, or [] int32; or a list, for each bucket one.
      num_buckets: how many there are.
      num_threads: how many threads compute elements.
      capacity: how many batches are kept, and elements in a bucket.
      bucket_capacities: how many elements are kept in each bucket, instead.
      shapes: of an element's components, by default those of the tensors.
      dynamic_pad: fill up components of different sizes with zeros; see `PaddingFIFOQueue`.
      allow_smaller_final_batch: give what is left in each bucket at the end too.
      keep_input: [] bool, computed with the element: whether it is taken.
      shared_name: see `FIFOQueue`.
      name: name of the operations.

    Returns:
      The bucket of the batch, [] int32, and the batch, in the form of an element.

    Raises:
      ValueError: a list has not one entry for each bucket, or a shape is not known.
      OutOfRangeError: (when run) there are no more.

    Source: TensorFlow 1.15, ``tf.contrib.training.bucket``.

    >>> with tf.Graph().as_default():
    ...     number = tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()
    ...     odd, numbers = tf.contrib.training.bucket([number], number % 2, 3, 2)
    ...     found = []
    ...     with tf.train.MonitoredSession() as sess:
    ...         while not sess.should_stop():
    ...             found.append([part.tolist() for part in sess.run([odd, numbers])])
    >>> sorted(found)
    [[0, [0, 2, 4]], [1, [1, 3, 5]]]
    """
    sizes = _for_each(batch_size, num_buckets, "batch_size")
    capacities = _for_each(
        capacity if bucket_capacities is None else list(bucket_capacities),
        num_buckets,
        "bucket_capacities",
    )
    with name_scope(name, "bucket"):
        columns = columns_of([tensors], "bucket()")
        (row,) = lists_of(columns, False)
        dtypes = [tensor.dtype.base_dtype for tensor in row]
        shapes = shapes_of([row], shapes, False)
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(
                n,
                dtypes,
                shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i, n in enumerate(capacities)
        ]
        top = _batches_of(queues, sizes, capacity, shapes, allow_smaller_final_batch, shared_name)
        which = convert_to_tensor(which_bucket, int32, name="which_bucket")
        keep = convert_to_tensor(keep_input)
        put = group(
            *[q.enqueue_if(logical_and(keep, equal(which, i)), row) for i, q in enumerate(queues)]
        )
        closed, cancelled = (group(*[q.close(by) for q in queues]) for by in (False, True))
        add_queue_runner(QueueRunner(top, [put] * num_threads, closed, cancelled, _ENDS))
        summarize_fullness(f"fraction_of_{capacity}_full", top.size(), capacity)
        number, *batch = top.dequeue(name="dequeue_top")
        return number, like(tensors, columns, batch[0] if len(batch) == 1 else batch, False)


def _batches_of(
    queues: Sequence[QueueBase],
    sizes: Sequence[Any],
    capacity: int,
    shapes: Sequence[Any],
    may_be_smaller: bool,
    shared_name: str | None,
) -> QueueBase:
    """Return a queue of the batches of all buckets, and let a runner fill it.

    The runner goes on until the buckets are empty, which are closed when no more elements come.
    """
    is_known = len(set(map(str, sizes))) == 1 and isinstance(sizes[0], int)
    count = sizes[0] if is_known and not may_be_smaller else None
    batches = [as_shape([count]).concatenate(shape) for shape in shapes]
    dtypes = [int32, *queues[0].dtypes]
    top = PaddingFIFOQueue(
        capacity, dtypes, [[], *batches], shared_name=shared_name, name="top_queue"
    )
    moved = []
    for i, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
        take = queue.dequeue_up_to if may_be_smaller else queue.dequeue_many
        found = take(size, name=f"read_bucket_{i}")
        moved.append(top.enqueue([i, *(found if isinstance(found, list | tuple) else [found])]))
    cancelled = top.close(cancel_pending_enqueues=True)
    add_queue_runner(QueueRunner(queues[0], moved, top.close(), cancelled, _ENDS))
    return top


def _for_each(given: Any, num_buckets: int, what: str) -> list[Any]:
    """Return what is given for each bucket."""
    found = list(given) if isinstance(given, list | tuple) else [given] * num_buckets
    if len(found) != num_buckets:
        raise ValueError(f"{what} must have num_buckets ({num_buckets}) elements: {given}")
    return found


@with_arguments_in_order(
    "input_length tensors batch_size bucket_boundaries num_threads capacity bucket_capacities "
    "shapes dynamic_pad allow_smaller_final_batch keep_input shared_name name",
    bucket,
)
def bucket_by_sequence_length(
    input_length: TensorLike,
    tensors: Elements,
    bucket_boundaries: Sequence[int],
    shapes: Sequence[Any] | None,
    name: str | None,
    **arguments: Any,
) -> tuple[Tensor, Any]:
    """Return batches of sequences of about the same length.

    Args:
      input_length: [] int32, computed with the element: its length.
      batch_size: int, or [] int32; or a list, which has one entry more than there are boundaries.
      bucket_boundaries: whole numbers that increase: lengths below the first, from each to below
        the next, and from the last on are in a bucket each.

    Returns:
      The lengths, [batch_size] int32, and the batch, in the form of an element.

    Raises:
      TypeError: the boundaries are no list of whole numbers.
      ValueError: they do not increase, or there is none; see `bucket`.

    Source: TensorFlow 1.15, ``tf.contrib.training.bucket_by_sequence_length``.

    >>> with tf.Graph().as_default():
    ...     length = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    ...     lengths, batch = tf.contrib.training.bucket_by_sequence_length(
    ...         length, [tf.range(length)], 2, [2], dynamic_pad=True)
    ...     with tf.train.MonitoredSession() as sess:
    ...         found = sorted(sess.run([lengths, batch])[1].tolist() for _ in range(2))
    >>> found
    [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]
    """
    if not isinstance(bucket_boundaries, list | tuple) or not all(
        isinstance(boundary, int) for boundary in bucket_boundaries
    ):
        raise TypeError(f"bucket_boundaries must be a list of integers, found {bucket_boundaries}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    if any(a >= b for a, b in pairwise(bucket_boundaries)):
        raise ValueError(f"Buckets must contain sequential increasing lengths: {bucket_boundaries}")
    with name_scope(name, "bucket_by_sequence_length"):
        length = convert_to_tensor(input_length, int32, name="input_length")
        beyond = greater_equal(length, list(bucket_boundaries))
        _, (lengths, *found) = bucket(
            [length, *components_of(tensors, "bucket_by_sequence_length()")],
            reduce_sum(cast(beyond, int32)),
            num_buckets=len(bucket_boundaries) + 1,
            shapes=None if shapes is None else [[], *shapes],
            **arguments,
        )
        if isinstance(tensors, Mapping):
            return lengths, dict(zip(sorted(tensors, key=str), found, strict=True))
        return lengths, found if len(found) > 1 else found[0]
