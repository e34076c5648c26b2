"""Functions that give batches of arrays, through queues."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.default_graph import in_graph
from daskvars.ops.gather_scatter.gather import gather
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.queues.batching import batch as in_order
from daskvars.v1.queues.producers import range_input_producer

__all__ = ["numpy_input_fn", "pandas_input_fn"]
_LABELS = "__labels__"


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """Return a function that makes the tensors of batches of arrays, for an `Estimator`.

    Args:
      x: an array, or a dict of them, with the same number of rows.
      y: the labels: an array, a dict of them, or None.
      batch_size: rows of a batch; the last may have fewer.
      num_epochs: how many times all rows are given; None for ever.
      shuffle: whether in random order; it must be said.
      queue_capacity: rows that wait.
      num_threads: how many threads compute them.

    Returns:
      A function that returns features, or (features, labels).

    Raises:
      ValueError: `shuffle` is not said, or the numbers of rows differ.

    Source: TensorFlow 1.15, ``tf.estimator.inputs.numpy_input_fn``.

    >>> rows = tf.estimator.inputs.numpy_input_fn(
    ...     {"x": np.arange(3.0)}, np.array([0, 1, 1]), batch_size=2, shuffle=False)
    >>> with tf.Graph().as_default():
    ...     features, labels = rows()
    ...     with tf.train.MonitoredSession() as sess:
    ...         sess.run([features["x"], labels])
    [array([0., 1.]), array([0, 1])]
    """
    if shuffle not in (True, False):
        raise ValueError(
            f"'shuffle' must be provided and set as bool; got {shuffle} of type {type(shuffle)}"
        )
    features = x if isinstance(x, Mapping) else {"x": x}
    labels = {} if y is None else y if isinstance(y, Mapping) else {_LABELS: y}
    if not features or (y is not None and not labels):
        raise ValueError("x cannot be empty, nor y a dict without labels")
    arrays = [numpy.asarray(a) for a in (*features.values(), *labels.values())]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(
            f"Length of tensors in x and y is mismatched: {[array.shape for array in arrays]}"
        )

    @in_graph
    def input_fn() -> Any:
        queue = range_input_producer(
            len(arrays[0]), num_epochs, bool(shuffle), capacity=queue_capacity
        )
        index = queue.dequeue_up_to(min(batch_size, queue_capacity))
        rows = [gather(convert_to_tensor(array), index) for array in arrays]
        found = in_order(
            rows,
            batch_size,
            num_threads,
            queue_capacity,
            enqueue_many=True,
            allow_smaller_final_batch=True,
        )
        parts = found if isinstance(found, list) else [found]
        given: Any = OrderedDict(zip(features, parts, strict=False))
        wanted: Any = OrderedDict(zip(labels, parts[len(features) :], strict=True))
        given = given if isinstance(x, Mapping) else given["x"]
        wanted = wanted.get(_LABELS, wanted)
        return given if y is None else (given, wanted)

    return input_fn


@with_arguments_in_order(
    "x y batch_size num_epochs shuffle queue_capacity num_threads target_column", numpy_input_fn
)
def pandas_input_fn(
    x: Any, y: Any, target_column: str = "target", **arguments: Any
) -> Callable[[], Any]:
    """Return a function that makes the tensors of batches of a data frame of pandas.

    Args:
      x: a data frame; each column is a feature.
      y: a series, or a data frame, with the same index.
      target_column: the name of a column of `x` that `y` must not hide.

    Raises:
      ValueError: the indices differ, or `x` has a column of that name.

    Source: TensorFlow 1.15, ``tf.estimator.inputs.pandas_input_fn``.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.5, 1.5, 2.5]})
    >>> rows = tf.estimator.inputs.pandas_input_fn(table, batch_size=2, shuffle=False)
    >>> with tf.Graph().as_default():
    ...     features = rows()
    ...     with tf.train.MonitoredSession() as sess:
    ...         sess.run(features["x"])
    array([0.5, 1.5])
    """
    labels = None
    if y is not None:
        if target_column in x:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a "
                f"column with that name: {list(x.columns)}"
            )
        if not numpy.array_equal(x.index, y.index):
            raise ValueError("Index for x and y are mismatched.")
        is_frame = hasattr(y, "columns")
        labels = {name: y[name].to_numpy() for name in y} if is_frame else y.to_numpy()
    features = {name: x[name].to_numpy() for name in x}
    return numpy_input_fn(features, labels, **arguments)
