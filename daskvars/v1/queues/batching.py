"""Batches out of queues: threads compute single elements, and a step takes many of them.

The functions differ in three ways: elements in their order or shuffled; one list of tensors, which
several threads compute, or several lists (``_join``), each by a thread of its own; all elements, or
those for which a condition holds (``maybe_``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math.arithmetic import maximum
from daskvars.shapes import as_shape
from daskvars.surface.signatures import Argument, Family, with_example
from daskvars.v1.queues.packed_sparse import packed, unpacked
from daskvars.v1.queues.producers import summarize_fullness
from daskvars.v1.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from daskvars.v1.sessions.queue_runners import QueueRunner, add_queue_runner

Elements = Any  # a list of tensors, or a dict of them


def components_of(elements: Elements, where: str) -> list[Tensor | SparseTensor]:
    """Return the components of an element, those of a dict by the order of its keys."""
    if isinstance(elements, Mapping):
        elements = [elements[key] for key in sorted(elements, key=str)]
    elif isinstance(elements, Tensor | SparseTensor):
        elements = [elements]
    found = [e if isinstance(e, SparseTensor) else convert_to_tensor(e) for e in elements]
    if not found:
        raise ValueError(f"Expected at least one tensor in {where}.")
    return found


def columns_of(tensors_list: Sequence[Elements], where: str) -> list[tuple[Any, ...]]:
    """Return each component in all lists. Raises TypeError where they differ in kind."""
    if not tensors_list:
        raise ValueError(f"Expected at least one set of tensors in {where}.")
    keys = [sorted(e, key=str) if isinstance(e, Mapping) else None for e in tensors_list]
    if any(found != keys[0] for found in keys):
        raise ValueError(f"Dictionaries must have the same keys in {where}: {keys}")
    rows = [components_of(elements, where) for elements in tensors_list]
    kinds = [[(type(part).__name__, part.dtype.base_dtype) for part in row] for row in rows]
    if any(found != kinds[0] for found in kinds):
        raise TypeError(f"Expected types to be consistent in {where}: {kinds}")
    return list(zip(*rows, strict=True))


def lists_of(columns: Sequence[tuple[Any, ...]], many: bool) -> list[list[Tensor]]:
    """Return for each list what is put in the queue: a sparse tensor is packed into one string."""
    rows = zip(*columns, strict=True)
    return [[packed(p, many) if isinstance(p, SparseTensor) else p for p in row] for row in rows]


def like(elements: Elements, columns: Sequence[tuple[Any, ...]], batch: Any, many: bool) -> Any:
    """Return a batch in the form of an element."""
    parts = [batch] if len(columns) == 1 else batch
    found = [
        _unpacked(part, column, many) if isinstance(column[0], SparseTensor) else part
        for part, column in zip(parts, columns, strict=True)
    ]
    if isinstance(elements, Mapping):
        return dict(zip(sorted(elements, key=str), found, strict=True))
    return found if len(found) > 1 else found[0]


def _unpacked(part: Tensor, column: Sequence[SparseTensor], many: bool) -> SparseTensor:
    """Return a component of a batch whose elements are of several sparse tensors."""
    ranks = {sp.get_shape().ndims for sp in column}
    rank = ranks.pop() if len(ranks) == 1 else None
    return unpacked(part, column[0].dtype, None if rank is None else rank - many)


def shapes_of(lists: Sequence[Sequence[Tensor]], shapes: Any, enqueue_many: bool) -> list[Any]:
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
    if rank > 1:
        raise ValueError(f"`keep_input` must be 0 or 1 dimensions, got {rank}.")
    if rank and not enqueue_many:
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


BATCHES = Family(
    {
        "tensors": Argument(
            "a list, or a dict, of tensors of known shape, or of sparse tensors: a batch of those "
            "has one dimension more in front, and is as large as the largest.",
            type="Elements",
        ),
        "tensors_list": Argument(
            "lists, or dicts, of tensors, all of the same dtypes; each is computed by a thread.",
            type="Sequence[Elements]",
        ),
        "keep_input": Argument(
            "[] bool, computed with the element: whether it is taken; with `enqueue_many` also "
            "[rows] bool."
        ),
        "batch_size": Argument("int, or [] int32."),
        "num_threads": Argument(
            "how many threads compute them. With more than one the order may vary.", 1, "int"
        ),
        "capacity": Argument("of the queue.", 32, "int"),
        "min_after_dequeue": Argument(
            "how many elements stay in the queue to choose from; see `RandomShuffleQueue`.",
            type="int",
        ),
        "seed": Argument(
            "int, see `set_random_seed`. With one thread the order is that of the seed.",
            None,
            "int | None",
        ),
        "enqueue_many": Argument(
            "whether the tensors are batches themselves, of any size; their rows are taken.",
            False,
            "bool",
        ),
        "shapes": Argument(
            "of an element's components, by default those of the tensors.",
            None,
            "Sequence[Any] | None",
        ),
        "dynamic_pad": Argument(
            "fill up components of different sizes with zeros; see `PaddingFIFOQueue`.",
            False,
            "bool",
        ),
        "allow_smaller_final_batch": Argument(
            "give what is left at the end too; the batch's size is not known.", False, "bool"
        ),
        "shared_name": Argument("see `FIFOQueue`.", None, "str | None"),
        "name": Argument("name of the operations.", None, "str | None"),
    },
    returns="""
        What an element is, each tensor of the same dtype, [batch_size, ...] with the shape of the
        element's; for a list of one, a tensor.""",
    raises="""
        ValueError: there is no tensor, or a shape is not known.
        TypeError: the lists have other dtypes.
        OutOfRangeError: (when run) there are no more.""",
    result="Any",
)
_LAST = "allow_smaller_final_batch shared_name name"
_IN_ORDER = f"capacity enqueue_many shapes dynamic_pad {_LAST}"
_SHUFFLED = f"seed enqueue_many shapes {_LAST}"


def _queue(lists: Sequence[Sequence[Tensor]], a: dict[str, Any]) -> QueueBase:
    """Return the queue that some arguments ask for: only those that shuffle say how much stays."""
    dtypes = [tensor.dtype.base_dtype for tensor in lists[0]]
    shapes = shapes_of(lists, a["shapes"], a["enqueue_many"])
    capacity, shared_name = a["capacity"], a["shared_name"]
    if "min_after_dequeue" in a:
        stays = a["min_after_dequeue"]
        return RandomShuffleQueue(
            capacity, stays, dtypes, shapes, seed=a["seed"], shared_name=shared_name
        )
    kind = PaddingFIFOQueue if a["dynamic_pad"] else FIFOQueue
    return kind(capacity, dtypes, shapes, shared_name=shared_name)


def _summarize(queue: QueueBase, capacity: int, stays: int | None) -> None:
    if stays is None:
        summarize_fullness(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return
    rest = capacity - stays
    over = maximum(queue.size() - stays, 0)
    summarize_fullness(f"fraction_over_{stays}_of_{rest}_full", over, rest)


def _batches(where: str, a: dict[str, Any]) -> Any:
    """Return what a function of the family gives for its arguments."""
    elements = a["tensors_list"] if "tensors_list" in a else [a["tensors"]]
    with name_scope(a["name"], where.removeprefix("maybe_")) as scope:
        columns = columns_of(elements, f"{where}()")
        lists = lists_of(columns, a["enqueue_many"])
        queue = _queue(lists, a)
        keep, num_threads = a.get("keep_input", True), a.get("num_threads", 1)
        _filled(queue, lists, num_threads, a["enqueue_many"], keep)
        _summarize(queue, a["capacity"], a.get("min_after_dequeue"))
        take = queue.dequeue_up_to if a["allow_smaller_final_batch"] else queue.dequeue_many
        batch = take(a["batch_size"], name=scope)
        return like(elements[0], columns, batch, a["enqueue_many"])


EXAMPLE = """with tf.Graph().as_default():
    number = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    numbers = tf.train.{name}({call})
    with tf.train.MonitoredSession() as sess:
        sorted(sess.run(numbers).tolist()) -> {shown}"""


def _function(
    name: str, order: str, doc: str, call: str = "", shown: str = ""
) -> Callable[..., Any]:
    """Return a public function.

    Args:
      order: its arguments, in order.
      doc: what its docstring begins with.
      call: its arguments in the example, of which an element is a `number` from 0 to 5.
      shown: what the batch then is, sorted.
    """
    doc = f"{doc.strip()}\n\nSource: TensorFlow 1.15, ``tf.train.{name}``."
    doc = with_example(doc, EXAMPLE.format(name=name, call=call, shown=shown) if call else "")
    return BATCHES.function(__name__, name, order, partial(_batches, name), doc)


batch = _function(
    "batch",
    f"tensors batch_size num_threads {_IN_ORDER}",
    """
Return batches of what tensors give from run to run.

Threads, which `start_queue_runners` starts, compute the tensors again and again and put what
they give in a queue; a run of the batch takes `batch_size` of them.

>>> with tf.Graph().as_default(), tf.Session() as sess:
...     numbers = tf.train.range_input_producer(5, shuffle=False).dequeue()
...     pairs = tf.train.batch([numbers, numbers * 10], batch_size=3)
...     coord = tf.train.Coordinator()
...     threads = tf.train.start_queue_runners(sess, coord)
...     [part.tolist() for part in sess.run(pairs)]
...     coord.request_stop()
...     coord.join(threads)
[[0, 1, 2], [0, 10, 20]]
""",
)
batch_join = _function(
    "batch_join",
    f"tensors_list batch_size {_IN_ORDER}",
    "Return batches of what several lists of tensors give. See `batch`.",
    call="[[number]], 3",
    shown="[0, 1, 2]",
)
maybe_batch = _function(
    "maybe_batch",
    f"tensors keep_input batch_size num_threads {_IN_ORDER}",
    "Return batches of those elements for which a condition holds. See `batch`.",
    call="[number], number > 2, 3",
    shown="[3, 4, 5]",
)
maybe_batch_join = _function(
    "maybe_batch_join",
    f"tensors_list keep_input batch_size {_IN_ORDER}",
    "Return batches of those elements for which a condition holds. See `batch_join`.",
    call="[[number]], number > 2, 3",
    shown="[3, 4, 5]",
)
shuffle_batch = _function(
    "shuffle_batch",
    f"tensors batch_size capacity= min_after_dequeue num_threads {_SHUFFLED}",
    "Return batches of elements in random order. See `batch`.",
    call="[number], 6, 8, 0",
    shown="[0, 1, 2, 3, 4, 5]",
)
shuffle_batch_join = _function(
    "shuffle_batch_join",
    f"tensors_list batch_size capacity= min_after_dequeue {_SHUFFLED}",
    "Return shuffled batches of what several lists of tensors give. See `batch_join`.",
    call="[[number]], 6, 8, 0",
    shown="[0, 1, 2, 3, 4, 5]",
)
maybe_shuffle_batch = _function(
    "maybe_shuffle_batch",
    f"tensors batch_size capacity= min_after_dequeue keep_input num_threads {_SHUFFLED}",
    "Return shuffled batches of those elements for which a condition holds. See `maybe_batch`.",
    call="[number], 3, 8, 0, number > 2",
    shown="[3, 4, 5]",
)
maybe_shuffle_batch_join = _function(
    "maybe_shuffle_batch_join",
    f"tensors_list batch_size capacity= min_after_dequeue keep_input {_SHUFFLED}",
    "Return shuffled batches of those elements for which a condition holds. See `batch_join`.",
    call="[[number]], 3, 8, 0, number > 2",
    shown="[3, 4, 5]",
)
