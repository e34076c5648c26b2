"""Queues that are filled with the rows of tensors, over and over: names of files, numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.dtypes import as_dtype, int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.constant import shape
from daskvars.ops.array.ranges import range as range_of
from daskvars.ops.array.reshaping import identity
from daskvars.ops.control.dependencies import Assert, control_dependencies
from daskvars.ops.files import matching_files
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater
from daskvars.ops.random.distributions import random_shuffle
from daskvars.ops.state.assign import count_up_to
from daskvars.shapes import TensorShape
from daskvars.summary.summary_ops import scalar
from daskvars.surface.signatures import Argument, Family, with_arguments_in_order
from daskvars.v1.queues.queue_ops import FIFOQueue, QueueBase, num_rows
from daskvars.v1.sessions.queue_runners import QueueRunner, add_queue_runner
from daskvars.variables.variable import Variable


def limit_epochs(
    tensor: TensorLike, num_epochs: int | None = None, name: str | None = None
) -> Tensor:
    """Return `tensor`, which can be read so many times.

    Args:
      tensor: any.
      num_epochs: how many runs may read it; None for any number. They are counted by a local
        variable, which `local_variables_initializer` sets back.
      name: name of the operations.

    Returns:
      A tensor of the shape and dtype of `tensor`.

    Raises:
      ValueError: `num_epochs` is not positive.
      OutOfRangeError: (when run) it was read as often.

    Source: TensorFlow 1.15, ``tf.train.limit_epochs``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     twice = tf.train.limit_epochs([1, 2], num_epochs=2)
    ...     sess.run(tf.local_variables_initializer())
    ...     for _ in range(3):
    ...         try:
    ...             print(sess.run(twice))
    ...         except tf.errors.OutOfRangeError:
    ...             print("end")
    [1 2]
    [1 2]
    end
    """
    tensor = convert_to_tensor(tensor)
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            0, dtype=int64, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([count_up_to(epochs, num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Return a queue that a runner fills with the rows of a tensor, again and again.

    Args:
      input_tensor: [rows, ...].
      element_shape: of a row, where that of the tensor does not tell it.
      num_epochs: how many times the rows are given; then the queue is closed. See `limit_epochs`.
      shuffle: give them in another order each time.
      seed: int, see `set_random_seed`.
      capacity: of the queue.
      shared_name: see `FIFOQueue`.
      summary_name: the summary of how full the queue is, by default none.
      name: name of the operations.
      cancel_op: see `QueueRunner`.

    Raises:
      ValueError: the shape of a row is not known.

    Source: TensorFlow 1.15, ``tf.train.input_producer``.

    >>> with tf.Graph().as_default():
    ...     row = tf.train.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False).dequeue()
    ...     with tf.train.MonitoredSession() as sess:
    ...         [sess.run(row).tolist() for _ in range(2)]
    [[1, 2], [3, 4]]
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.get_shape().with_rank_at_least(1)[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        dtypes = [rows.dtype.base_dtype]
        queue = FIFOQueue(
            capacity, dtypes, [row_shape], shared_name=shared_name, name=name or "fifo_queue"
        )
        runner = QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op)
        add_queue_runner(runner)
        if summary_name is not None:
            summarize_fullness(summary_name, queue.size(), capacity)
        return queue


def summarize_fullness(name: str, size: Tensor, capacity: int) -> None:
    """Make the summary of how full a queue is: from 0 to 1."""
    scalar(name, cast(size, as_dtype("float32")) * (1.0 / capacity))


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """Return a local variable of the names of files: what they are when it is initialized.

    Args:
      pattern: [] or [n] string, see `matching_files`.
      name: name of the variable.

    Returns:
      A Variable, [n] string.

    Source: TensorFlow 1.15, ``tf.train.match_filenames_once``.

    >>> import os, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "a.csv").touch()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     names = tf.train.match_filenames_once(str(folder / "*.csv"))
    ...     sess.run(tf.local_variables_initializer())
    ...     [os.path.basename(name) for name in sess.run(names)]
    [b'a.csv']
    """
    with name_scope(name, "matching_filenames", [pattern]):
        return Variable(
            matching_files(pattern),
            name="matching_filenames",
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


PRODUCERS = Family(
    {
        "num_epochs": Argument("see `input_producer`.", None, "int | None"),
        "shuffle": Argument("give them in another order each time.", True, "bool"),
        "seed": Argument("int, see `set_random_seed`.", None, "int | None"),
        "capacity": Argument("of the queue.", 32, "int"),
        "shared_name": Argument("see `FIFOQueue`.", None, "str | None"),
        "name": Argument("name of the operations.", None, "str | None"),
        "cancel_op": Argument("see `QueueRunner`.", None, "Operation | None"),
    },
    returns="A queue, which a runner fills with them.",
    result=QueueBase,
)
_ORDER = "num_epochs shuffle seed capacity shared_name name"


def _producer(order: str) -> Callable[[Callable[[Any], Tensor]], Callable[..., QueueBase]]:
    """Make a function that gives rows of its argument one that gives a queue of them."""

    def made(rows_of: Callable[[Any], Tensor]) -> Callable[..., QueueBase]:
        first = order.split()[0]

        def produced(a: dict[str, Any]) -> QueueBase:
            given = a.pop(first)
            with name_scope(a.pop("name"), "input_producer", [given]) as scope:
                summary = f"fraction_of_{a['capacity']}_full"
                return input_producer(rows_of(given), [], **a, summary_name=summary, name=scope)

        return PRODUCERS.member(rows_of, produced, order)

    return made


@_producer(f"string_tensor {_ORDER} cancel_op")
def string_input_producer(string_tensor: Any) -> Tensor:
    """Return a queue that a runner fills with strings, such as names of files.

    Args:
      string_tensor: [n] string, at least one.

    Raises:
      ValueError: there is no string.
      InvalidArgumentError: (when run) there is none.

    Source: TensorFlow 1.15, ``tf.train.string_input_producer``.

    >>> with tf.Graph().as_default():
    ...     name = tf.train.string_input_producer(["a.csv", "b.csv"], shuffle=False).dequeue()
    ...     with tf.train.MonitoredSession() as sess:
    ...         sess.run(name), sess.run(name)
    (b'a.csv', b'b.csv')
    """
    problem = "string_input_producer requires a non-null input tensor"
    if isinstance(string_tensor, list | tuple) and not string_tensor:
        raise ValueError(problem)
    strings = convert_to_tensor(string_tensor, string)
    with control_dependencies([Assert(greater(shape(strings)[0], 0), [problem])]):
        return identity(strings)


@_producer(f"limit {_ORDER}")
def range_input_producer(limit: TensorLike) -> Tensor:
    """Return a queue that a runner fills with the numbers below a limit.

    Args:
      limit: [] int32.

    Source: TensorFlow 1.15, ``tf.train.range_input_producer``.

    >>> with tf.Graph().as_default():
    ...     number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    ...     with tf.train.MonitoredSession() as sess:
    ...         [int(sess.run(number)) for _ in range(3)]
    [0, 1, 2]
    """
    return range_of(limit)


@with_arguments_in_order(f"tensor_list {_ORDER}", range_input_producer)
def slice_input_producer(
    tensor_list: Sequence[Any], name: str | None, **arguments: Any
) -> list[Tensor]:
    """Return a row of each of several tensors, the next ones in each run.

    Args:
      tensor_list: tensors with the same number of rows.

    Returns:
      A tensor for each, of the shape of its rows.

    Raises:
      ValueError: there is no tensor.

    Source: TensorFlow 1.15, ``tf.train.slice_input_producer``.

    >>> with tf.Graph().as_default():
    ...     x, y = tf.train.slice_input_producer([[[1, 2], [3, 4]], [0, 1]], shuffle=False)
    ...     with tf.train.MonitoredSession() as sess:
    ...         found = sess.run([x, y])
    ...     found[0].tolist(), int(found[1])
    ([1, 2], 0)
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(value) for value in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = num_rows(tensors)
        limit = shape(tensors[0])[0] if TensorShape([count]).as_list() == [None] else int(count)
        index = range_input_producer(limit, **arguments).dequeue()
        return [gather(tensor, index) for tensor in tensors]
