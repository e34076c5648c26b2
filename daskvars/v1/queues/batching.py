"""Batches out of queues: threads compute single elements, and a step takes many of them.

The functions differ in three ways: elements in their order or shuffled; one list of tensors, which
several threads compute, or several lists (``_join``), each by a thread of its own; all elements, or
those for which a condition holds (``maybe_``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math.arithmetic import maximum
from daskvars.shapes import as_shape
from daskvars.v1.queues.producers import summarize_fullness
from daskvars.v1.queues.queue_ops import (
    FIFOQueue,
    PaddingFIFOQueue,
    QueueBase,
    RandomShuffleQueue,
)
from daskvars.v1.sessions.queue_runners import QueueRunner, add_queue_runner

Elements = Any  # a list of tensors, or a dict of them


def _tensors_of(elements: Elements, where: str) -> list[Tensor]:
    """Return the tensors of an element, those of a dict by the order of its keys."""
    if isinstance(elements, Mapping):
        elements = [elements[key] for key in sorted(elements, key=str)]
    if any(isinstance(value, SparseTensor) for value in elements):
        raise NotImplementedError(
            f"{where} of sparse tensors: put their indices and values into the queue, and make "
            "the sparse tensor of the batch of them"
        )
    tensors = [convert_to_tensor(value) for value in elements]
    if not tensors:
        raise ValueError(f"Expected at least one tensor in {where}.")
    return tensors


def _like(elements: Elements, batch: Any) -> Any:
    """Return a batch in the form of an element."""
    if not isinstance(elements, Mapping):
        return batch
    keys = sorted(elements, key=str)
    return dict(zip(keys, [batch] if len(keys) == 1 else batch, strict=True))


def _lists_of(tensors_list: Sequence[Elements], where: str) -> list[list[Tensor]]:
    lists = [_tensors_of(elements, where) for elements in tensors_list]
    if not lists:
        raise ValueError(f"Expected at least one set of tensors in {where}.")
    dtypes = [[t.dtype.base_dtype for t in tensors] for tensors in lists]
    if any(found != dtypes[0] for found in dtypes):
        raise TypeError(f"Expected types to be consistent in {where}: {dtypes}")
    return lists


def _shapes(lists: Sequence[Sequence[Tensor]], shapes: Any, enqueue_many: bool) -> list[Any]:
    """Return the shapes of an element's components, as far as all lists agree on them."""
    if shapes is not None:
        return [as_shape(shape) for shape in shapes]
    found = []
    for column in zip(*lists, strict=True):
        each = [tensor.get_shape() for tensor in column]
        if enqueue_many:
            each = [shape.with_rank_at_least(1)[1:] for shape in each]
        if any(shape.ndims is None for shape in each):
            raise ValueError(f"Cannot infer Tensor's rank: {column}")
        common = each[0]
        for shape in each[1:]:
            common = common.most_specific_compatible_shape(shape)
        found.append(common)
    return found


def _filled(
    queue: QueueBase,
    lists: Sequence[Sequence[Tensor]],
    num_threads: int,
    enqueue_many: bool,
    keep_input: TensorLike,
) -> None:
    """Let runners fill the queue: `num_threads` from each list."""
    keep = convert_to_tensor(keep_input)
    rank = keep.get_shape().ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if rank > (1 if enqueue_many else 0):
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    is_all = rank == 0 and constant_value(keep)
    operations: list[Any] = []
    for tensors in lists:
        if not is_all:
            enqueue = queue.enqueue_if(keep, list(tensors), enqueue_many)
        elif enqueue_many:
            enqueue = queue.enqueue_many(list(tensors))
        else:
            enqueue = queue.enqueue(list(tensors))
        operations += [enqueue] * num_threads
    add_queue_runner(QueueRunner(queue, operations))


def _taken(queue: QueueBase, batch_size: TensorLike, smaller: bool, name: str) -> Any:
    return (queue.dequeue_up_to if smaller else queue.dequeue_many)(batch_size, name=name)


def _in_order(
    where: str,
    elements: Sequence[Elements],
    batch_size: TensorLike,
    keep_input: TensorLike = True,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    with name_scope(name, where.removeprefix("maybe_")) as scope:
        lists = _lists_of(elements, f"{where}()")
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(
            capacity,
            [tensor.dtype.base_dtype for tensor in lists[0]],
            _shapes(lists, shapes, enqueue_many),
            shared_name=shared_name,
        )
        _filled(queue, lists, num_threads, enqueue_many, keep_input)
        summarize_fullness(f"fraction_of_{capacity}_full", queue.size(), capacity)
        batch = _taken(queue, batch_size, allow_smaller_final_batch, scope)
        return _like(elements[0], batch)


def _shuffled(
    where: str,
    elements: Sequence[Elements],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike = True,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    with name_scope(name, where.removeprefix("maybe_")) as scope:
        lists = _lists_of(elements, f"{where}()")
        queue = RandomShuffleQueue(
            capacity,
            min_after_dequeue,
            [tensor.dtype.base_dtype for tensor in lists[0]],
            _shapes(lists, shapes, enqueue_many),
            seed=seed,
            shared_name=shared_name,
        )
        _filled(queue, lists, num_threads, enqueue_many, keep_input)
        rest = capacity - min_after_dequeue
        summarize_fullness(
            f"fraction_over_{min_after_dequeue}_of_{rest}_full",
            maximum(queue.size() - min_after_dequeue, 0),
            rest,
        )
        batch = _taken(queue, batch_size, allow_smaller_final_batch, scope)
        return _like(elements[0], batch)


def batch(
    tensors: Elements,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of what tensors give from run to run.

    Threads, which `start_queue_runners` starts, compute the tensors again and again and put what
    they give in a queue; a run of the batch takes `batch_size` of them.

    Args:
      tensors: a list, or a dict, of tensors of known shape.
      batch_size: int, or [] int32.
      num_threads: how many threads compute them. With more than one the order may vary.
      capacity: of the queue.
      enqueue_many: whether the tensors are batches themselves, of any size; their rows are taken.
      shapes: of an element's components, by default those of the tensors.
      dynamic_pad: fill up components of different sizes with zeros; see `PaddingFIFOQueue`.
      allow_smaller_final_batch: give what is left at the end too; the batch's size is not known.
      shared_name: see `FIFOQueue`.
      name: name of the operations.

    Returns:
      What `tensors` is, each with one dimension more in front; for a list of one, a tensor.

    Raises:
      ValueError: there is no tensor, or a shape is not known.
      OutOfRangeError: (when run) there are no more.

    Source: TensorFlow 1.15, ``tf.train.batch``.

    >>> import daskvars.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     numbers = tf.train.range_input_producer(5, shuffle=False).dequeue()
    ...     pairs = tf.train.batch([numbers, numbers * 10], batch_size=3)
    ...     coord = tf.train.Coordinator()
    ...     threads = tf.train.start_queue_runners(sess, coord)
    ...     [part.tolist() for part in sess.run(pairs)]
    ...     coord.request_stop()
    ...     coord.join(threads)
    [[0, 1, 2], [0, 10, 20]]
    """
    return _in_order(
        "batch",
        [tensors],
        batch_size,
        True,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch(
    tensors: Elements,
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of those elements for which a condition holds. See `batch`.

    Args:
      keep_input: [] bool, computed with the element; with `enqueue_many` also [rows] bool.

    Source: TensorFlow 1.15, ``tf.train.maybe_batch``.
    """
    return _in_order(
        "maybe_batch",
        [tensors],
        batch_size,
        keep_input,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def batch_join(
    tensors_list: Sequence[Elements],
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of what several lists of tensors give, each computed by a thread. See `batch`.

    Args:
      tensors_list: lists, or dicts, of tensors, all of the same dtypes.

    Source: TensorFlow 1.15, ``tf.train.batch_join``.
    """
    return _in_order(
        "batch_join",
        tensors_list,
        batch_size,
        True,
        1,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch_join(
    tensors_list: Sequence[Elements],
    keep_input: TensorLike,
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of those elements for which a condition holds. See `batch_join`.

    Args:
      keep_input: as for `maybe_batch`.

    Source: TensorFlow 1.15, ``tf.train.maybe_batch_join``.
    """
    return _in_order(
        "maybe_batch_join",
        tensors_list,
        batch_size,
        keep_input,
        1,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def shuffle_batch(
    tensors: Elements,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of elements in random order. See `batch`.

    Args:
      min_after_dequeue: how many elements stay in the queue to choose from; see
        `RandomShuffleQueue`.
      seed: int, see `set_random_seed`. With one thread the order is that of the seed.

    Source: TensorFlow 1.15, ``tf.train.shuffle_batch``.
    """
    return _shuffled(
        "shuffle_batch",
        [tensors],
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch(
    tensors: Elements,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return shuffled batches of those elements for which a condition holds.

    See `shuffle_batch` and `maybe_batch`.

    Source: TensorFlow 1.15, ``tf.train.maybe_shuffle_batch``.
    """
    return _shuffled(
        "maybe_shuffle_batch",
        [tensors],
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def shuffle_batch_join(
    tensors_list: Sequence[Elements],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return shuffled batches of what several lists of tensors give, each computed by a thread.

    See `shuffle_batch` and `batch_join`.

    Source: TensorFlow 1.15, ``tf.train.shuffle_batch_join``.
    """
    return _shuffled(
        "shuffle_batch_join",
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        1,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Elements],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return shuffled batches of those elements for which a condition holds.

    See `shuffle_batch_join` and `maybe_batch`.

    Source: TensorFlow 1.15, ``tf.train.maybe_shuffle_batch_join``.
    """
    return _shuffled(
        "maybe_shuffle_batch_join",
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input,
        1,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )
