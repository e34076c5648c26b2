"""Functions for `Dataset.apply` that take elements one by one, or say how they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars.data.dataset import Dataset
from daskvars.data.nodes.batches import SparseBatched
from daskvars.data.nodes.elements import as_component, map_structure
from daskvars.data.nodes.ignoring import Ignoring
from daskvars.data.nodes.mapping import AUTOTUNE
from daskvars.data.nodes.scanning import Scanned
from daskvars.dtypes import int64, to_numpy
from daskvars.graph.tensor import Tensor, TensorLike, is_tensor_like
from daskvars.surface.accepted import accepts

Transformation = Callable[[Dataset], Dataset]


def ignore_errors() -> Transformation:
    """Return a function that leaves out elements which cannot be made.

    >>> numbers = Dataset.from_tensor_slices([1.0, 0.0, 4.0])
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


def enumerate_dataset(start: TensorLike = 0) -> Transformation:
    """Return a function that gives pairs of a number and an element, as `Dataset.enumerate` does.

    Args:
      start: the first number.

    Source: TensorFlow 1.15, ``tf.data.experimental.enumerate_dataset``.

    >>> [(int(n), int(x)) for n, x in Dataset.range(7, 9).apply(enumerate_dataset(start=1))]
    [(1, 7), (2, 8)]
    """
    return lambda dataset: dataset.enumerate(start)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Return a function that goes through elements with a state.

    Args:
      initial_state: the state at first: a tensor, or tuples and dicts of tensors.
      scan_func: takes a state and an element, each as one argument, and returns a pair: the next
        state, and what comes out for the element; traced as that of `Dataset.map`.

    Raises:
      TypeError: (when applied) it returns no pair, or a state of other structure or dtypes.

    Source: TensorFlow 1.15, ``tf.data.experimental.scan``.

    >>> sums = scan(np.int64(0), lambda total, x: (total + x, total + x))
    >>> [int(x) for x in Dataset.range(1, 5).apply(sums)]
    [1, 3, 6, 10]
    """
    initial = map_structure(as_component, initial_state)
    return lambda dataset: dataset._with(lambda: Scanned(dataset.node, initial, scan_func))


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Return a function that gives elements until one is not wanted: `Dataset.take_while`.

    Args:
      predicate: as of `Dataset.filter`.

    Raises:
      ValueError: (when applied) it returns no scalar bool.

    Source: TensorFlow 1.15, ``tf.data.experimental.take_while``.

    >>> [int(x) for x in Dataset.range(9).apply(take_while(lambda x: x < 3))]
    [0, 1, 2]
    """
    return lambda dataset: dataset.take_while(predicate)


def unique() -> Transformation:
    """Return a function that leaves out elements which were there before: `Dataset.unique`.

    Raises:
      TypeError: (when applied) elements are not of one component that is int32, int64 or string.

    Source: TensorFlow 1.15, ``tf.data.experimental.unique``.

    >>> [int(x) for x in Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).apply(unique())]
    [1, 37, 2]
    """
    return lambda dataset: dataset.unique()


def dense_to_sparse_batch(batch_size: TensorLike, row_shape: Any) -> Transformation:
    """Return a function that makes batches of elements of different shapes, as sparse tensors.

    Args:
      batch_size: elements of a batch.
      row_shape: what a row of a batch is to have: a shape, in which None or -1 is the largest size
        of the batch; or a tensor [rank].

    Raises:
      ValueError: (when applied) elements are not of one component, or of another rank.
      DataLossError: (when iterated) an element is larger.

    Source: TensorFlow 1.15, ``tf.data.experimental.dense_to_sparse_batch``.

    >>> rows = Dataset.range(1, 4).map(lambda n: dv.fill([n], n))
    >>> batch = next(iter(rows.apply(dense_to_sparse_batch(3, [4]))))
    >>> dv.sparse.to_dense(batch).numpy().tolist()
    [[1, 0, 0, 0], [2, 2, 0, 0], [3, 3, 3, 0]]
    """
    size = as_component(batch_size)
    size = size if isinstance(size, Tensor) else to_numpy(size, int64)
    shape = _row_shape(row_shape)
    return lambda dataset: dataset._with(lambda: SparseBatched(dataset.node, size, shape))


def _row_shape(given: Any) -> Any:
    if is_tensor_like(given):
        return as_component(given)
    sizes: Sequence[Any] = given.as_list() if hasattr(given, "as_list") else given
    return numpy.array([-1 if n is None else int(n) for n in sizes], numpy.int64)


@accepts("target_device", "source_device")
def copy_to_device(target_device: Any, source_device: str = "/cpu:0") -> Transformation:
    """Return a function that leaves elements as they are: runs move what they use to devices.

    Source: TensorFlow 1.15, ``tf.data.experimental.copy_to_device``.

    >>> [int(x) for x in Dataset.range(2).apply(copy_to_device("/cpu:0"))]
    [0, 1]
    """
    return lambda dataset: dataset


@accepts("device")
def prefetch_to_device(device: Any, buffer_size: TensorLike | None = None) -> Transformation:
    """Return a function that prepares elements ahead of their use, as `Dataset.prefetch` does.

    Args:
      buffer_size: how many; by default two.

    Source: TensorFlow 1.15, ``tf.data.experimental.prefetch_to_device``.

    >>> [int(x) for x in Dataset.range(2).apply(prefetch_to_device("/gpu:0"))]
    [0, 1]
    """
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)
