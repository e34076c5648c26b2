"""Functions for `Dataset.apply` that only ``tf.contrib.data`` has; the others moved to the core."""

from __future__ import annotations

from typing import Any

from daskvars.data.dataset import Dataset
from daskvars.data.experimental.transformations import Transformation
from daskvars.graph.tensor import TensorLike


def batch_and_drop_remainder(batch_size: TensorLike) -> Transformation:
    """Return a function that batches, and leaves out a last batch that is smaller.

    >>> pairs = dv.data.Dataset.range(5).apply(batch_and_drop_remainder(2))
    >>> [batch.numpy().tolist() for batch in pairs]
    [[0, 1], [2, 3]]
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: TensorLike, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Return a function that pads and batches, and leaves out a last batch that is smaller.

    Args:
      batch_size: elements of a batch.
      padded_shapes: of the elements of a batch, in their structure; None for the longest.
      padding_values: what they are filled up with, by default 0 or "".

    >>> rows = dv.data.Dataset.range(1, 4).map(lambda n: dv.range(n))
    >>> [b.numpy().tolist() for b in rows.apply(padded_batch_and_drop_remainder(2, [None]))]
    [[[0, 0], [0, 1]]]
    """
    return lambda dataset: _padded(dataset, batch_size, padded_shapes, padding_values)


def _padded(dataset: Dataset, batch_size: TensorLike, shapes: Any, values: Any) -> Dataset:
    return dataset.padded_batch(batch_size, shapes, values, drop_remainder=True)
