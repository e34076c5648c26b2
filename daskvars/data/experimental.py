"""What TensorFlow calls experimental of its datasets: functions for `Dataset.apply`, and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.data.dataset import Dataset
from daskvars.data.iterators.graph import Iterator
from daskvars.data.nodes.ignoring import Ignoring
from daskvars.data.nodes.mapping import AUTOTUNE
from daskvars.graph.tensor import TensorLike
from daskvars.surface.accepted import accepts
from daskvars.variables.variable import Variable

__all__ = [
    "AUTOTUNE",
    "ignore_errors",
    "make_saveable_from_iterator",
    "map_and_batch",
    "parallel_interleave",
    "shuffle_and_repeat",
    "unbatch",
]

Transformation = Callable[[Dataset], Dataset]


def make_saveable_from_iterator(iterator: Iterator) -> Variable:
    """Return the variable that has the position of an iterator of a graph, for a `Saver`.

    Each run that takes an element sets it in the same transaction, so a checkpoint, and a session's
    store, have the position that goes with all other values. When it is restored, the iterator goes
    on from there; one with an initializer is initialized before, as in TensorFlow.

    Args:
      iterator: made by `make_one_shot_iterator`, `make_initializable_iterator` or
        `Iterator.from_structure`; before the first run that takes an element of it.

    Returns:
      [3] int64, to be added to the collection `GraphKeys.SAVEABLE_OBJECTS`, or given to a `Saver`.

    Source: TensorFlow 1.15, ``tf.data.experimental.make_saveable_from_iterator``.

    >>> import daskvars.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     iterator = tf.data.Dataset.range(9).make_one_shot_iterator()
    ...     position = tf.data.experimental.make_saveable_from_iterator(iterator)
    ...     number = iterator.get_next()
    ...     print(sess.run(number), sess.run(number), sess.run(position)[0])
    0 1 2
    """
    return iterator.position()


def ignore_errors() -> Transformation:
    """Return a function that leaves out elements which cannot be made.

    >>> numbers = Dataset.from_tensor_slices([1.0, 0.0, 4.0])
    >>> import daskvars as dv
    >>> inverse = numbers.map(lambda x: dv.debugging.check_numerics(1.0 / x, "inverse"))
    >>> [float(x) for x in inverse.apply(ignore_errors())]
    [1.0, 0.25]
    """
    return lambda dataset: dataset._with(lambda: Ignoring(dataset.node))


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: TensorLike | None = None,
) -> Transformation:
    """Return a function that maps and batches.

    Args:
      map_func: as of `Dataset.map`.
      batch_size: elements of a batch.
      num_parallel_batches: for how many batches elements are computed at once.
      drop_remainder: leave out the last batch if it is smaller.
      num_parallel_calls: how many elements are computed at once.

    Raises:
      ValueError: both numbers are given.

    Source: TensorFlow 1.15, ``tf.data.experimental.map_and_batch``.

    >>> squares = Dataset.range(5).apply(map_and_batch(lambda x: x * x, 2))
    >>> [batch.numpy().tolist() for batch in squares]
    [[0, 1], [4, 9], [16]]
    """
    calls: Any = num_parallel_calls
    if num_parallel_batches is not None:
        if num_parallel_calls is not None:
            raise ValueError(
                "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually "
                "exclusive."
            )
        size: Any = batch_size
        calls = size * num_parallel_batches
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


@accepts("sloppy", "buffer_output_elements", "prefetch_input_elements")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Return a function that interleaves, as `Dataset.interleave` does.

    Args:
      map_func: makes a dataset of an element.
      cycle_length: from how many datasets elements come in turn.
      block_length: how many come from one in its turn.

    Source: TensorFlow 1.15, ``tf.data.experimental.parallel_interleave``.

    >>> of_two = parallel_interleave(lambda n: Dataset.from_tensors(n).repeat(2), cycle_length=2)
    >>> [int(x) for x in Dataset.range(3).apply(of_two)]
    [0, 1, 0, 1, 2, 2]
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: int | None = None
) -> Transformation:
    """Return a function that shuffles and repeats.

    Args:
      buffer_size: elements in the buffer.
      count: how often; None or -1 for without end.
      seed: int, of the shuffle.

    Source: TensorFlow 1.15, ``tf.data.experimental.shuffle_and_repeat``.

    >>> twice = Dataset.range(3).apply(shuffle_and_repeat(3, count=2, seed=1))
    >>> found = [int(x) for x in twice]
    >>> sorted(found[:3]), sorted(found[3:])
    ([0, 1, 2], [0, 1, 2])
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def unbatch() -> Transformation:
    """Return a function that gives the rows of elements, as `Dataset.unbatch` does.

    Source: TensorFlow 1.15, ``tf.data.experimental.unbatch``.

    >>> [int(x) for x in Dataset.from_tensor_slices([[1, 2], [3, 4]]).apply(unbatch())]
    [1, 2, 3, 4]
    """
    return lambda dataset: dataset.unbatch()
