"""Elements put together by a key: windows, buckets of lengths, one result for each key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.data.arguments import as_integer
from daskvars.data.dataset import Dataset
from daskvars.data.experimental.transformations import Transformation
from daskvars.data.nodes.elements import flatten, nest_like, pack
from daskvars.data.nodes.scanning import GroupedByReducer
from daskvars.data.nodes.windows import GroupedByWindow
from daskvars.dtypes import int64
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant
from daskvars.ops.array.joining import stack
from daskvars.ops.checks.assertions import assert_less
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import less_equal
from daskvars.ops.math.reduce import reduce_sum
from daskvars.shapes import Shape
from daskvars.surface.one_line import ShownByArguments


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Tensor, Dataset], Dataset],
    window_size: TensorLike | None = None,
    window_size_func: Callable[[Tensor], Any] | None = None,
) -> Transformation:
    """Return a function that groups elements by a key, and makes a dataset of each group.

    Args:
      key_func: gives the key of an element, a scalar int64; traced as that of `Dataset.map`.
      reduce_func: takes a key and a dataset of elements that have it, and returns a dataset, for
        one a batch of them.
      window_size: how many elements a group has; those left at the end are fewer, in the order of
        keys.
      window_size_func: gives that number for a key, a scalar int64, instead.

    Raises:
      ValueError: both sizes are given, or none; (when applied) a function gives no such scalar.
      TypeError: (when applied) `reduce_func` returns no dataset.
      InvalidArgumentError: (when iterated) a size is below 1.

    Source: TensorFlow 1.15, ``tf.data.experimental.group_by_window``.

    >>> parity = group_by_window(lambda x: x % 2, lambda key, group: group.batch(2), window_size=2)
    >>> [batch.numpy().tolist() for batch in Dataset.range(7).apply(parity)]
    [[0, 2], [1, 3], [4, 6], [5]]
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func, but not both.")
    size = as_integer(window_size) if window_size_func is None else window_size_func
    return lambda dataset: dataset._with(
        lambda: GroupedByWindow(dataset.node, key_func, reduce_func, size, Dataset)
    )


class Reducer(ShownByArguments):
    """What `group_by_reducer` does for each key.

    Args:
      init_func: takes a key and returns the state at first.
      reduce_func: takes a state and an element, each as one argument, and returns the next state.
      finalize_func: takes the last state and returns the result.

    Source: TensorFlow 1.15, ``tf.data.experimental.Reducer``.

    >>> total = Reducer(lambda key: np.int64(0), lambda total, x: total + x, lambda total: total)
    >>> [int(x) for x in Dataset.range(6).apply(group_by_reducer(lambda x: x % 2, total))]
    [6, 9]
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func, self.reduce_func = init_func, reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Return a function that makes one result of all elements of each key, in the order of keys.

    Args:
      key_func: gives the key of an element, a scalar int64; traced as that of `Dataset.map`.
      reducer: makes the result.

    Raises:
      ValueError: (when applied) `key_func` gives no scalar int64.
      TypeError: (when applied) states of a key differ in structure or dtypes.

    Source: TensorFlow 1.15, ``tf.data.experimental.group_by_reducer``.

    >>> count = Reducer(lambda key: np.int64(0), lambda n, x: n + 1, lambda n: n)
    >>> [int(x) for x in Dataset.range(5).apply(group_by_reducer(lambda x: x // 3, count))]
    [3, 2]
    """
    functions = reducer.init_func, reducer.reduce_func, reducer.finalize_func
    return lambda dataset: dataset._with(
        lambda: GroupedByReducer(dataset.node, key_func, *functions)
    )


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Return a function that makes batches of elements of similar length, filled up to one shape.

    Args:
      element_length_func: gives the length of an element, a scalar int32 or int64; traced as that
        of `Dataset.map`.
      bucket_boundaries: lengths, ascending: bucket 0 has elements shorter than the first, the last
        one those that are as long as the last, or longer.
      bucket_batch_sizes: elements of a batch for each bucket, one number more than boundaries.
      padded_shapes: as of `Dataset.padded_batch`; by default what is known of elements, other sizes
        the largest of a batch.
      padding_values: as of `Dataset.padded_batch`.
      pad_to_bucket_boundary: fill up sizes that are not known to the longest of the bucket, one
        below its boundary; no element may be in the last bucket.
      no_padding: batch without filling up: for sparse tensors, or elements of equal shapes.
      drop_remainder: leave out batches that are smaller.

    Raises:
      ValueError: the numbers of sizes and boundaries do not fit.
      InvalidArgumentError: (when iterated) an element is in the last bucket of boundaries.

    Source: TensorFlow 1.15, ``tf.data.experimental.bucket_by_sequence_length``.

    >>> rows = Dataset.from_tensor_slices([1, 4, 2, 5]).map(lambda n: dv.fill([n], n))
    >>> buckets = bucket_by_sequence_length(lambda row: dv.size(row), [3], [2, 2])
    >>> [batch.numpy().tolist() for batch in rows.apply(buckets)]
    [[[1, 0], [2, 2]], [[4, 4, 4, 4, 0], [5, 5, 5, 5, 5]]]
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            "len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1, found "
            f"{len(bucket_batch_sizes)} and {len(bucket_boundaries)}"
        )
    boundaries = [int(n) for n in bucket_boundaries]
    sizes = [int(n) for n in bucket_batch_sizes]

    def bucket_of(*element: Any) -> Tensor:
        length = cast(element_length_func(*element), int64)
        return reduce_sum(cast(less_equal(constant(boundaries, int64), length), int64))

    def size_of(bucket: Tensor) -> Tensor:
        return gather(constant(sizes, int64), bucket)

    def batch(bucket: Tensor, group: Dataset) -> Dataset:
        size = size_of(bucket)
        if no_padding:
            return group.batch(size, drop_remainder)
        longest = None
        if pad_to_bucket_boundary:
            message = (
                "When pad_to_bucket_boundary=True, elements must have length < "
                "max(bucket_boundaries)."
            )
            check = assert_less(bucket, constant(len(boundaries), int64), message=message)
            with control_dependencies([check]):
                longest = gather(constant(boundaries, int64), bucket) - 1
        padded = _filled_up(group, padded_shapes, longest)
        return group.padded_batch(size, padded, padding_values, drop_remainder)

    return group_by_window(bucket_of, batch, window_size_func=size_of)


def _filled_up(group: Dataset, given: Any, longest: Tensor | None) -> Any:
    """Return the padded shapes of a batch, in which sizes that are not known are the longest."""
    if longest is None:
        return given
    structure = group.node.structure
    specs = flatten(structure)
    if given is None:
        found = [spec.shape for spec in specs]
    elif len(specs) == 1 and structure is specs[0]:
        found = [shapes.as_tuple(given)]
    else:
        found = [shapes.as_tuple(item) for item in nest_like(structure, given, "padded_shapes")]
    return pack(structure, [_shape_up_to(shape, longest) for shape in found])


def _shape_up_to(shape: Shape, longest: Tensor) -> Any:
    if shape is None or all(n not in (None, -1) for n in shape):
        return shape
    return stack([longest if n in (None, -1) else constant(n, int64) for n in shape])
