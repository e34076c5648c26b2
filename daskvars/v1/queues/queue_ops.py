"""Queues: the ops, and the classes that programs use."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeAlias

import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, bool as bool_, int32, int64, string
from daskvars.errors import FailedPreconditionError, invalid
from daskvars.execution.host_ops.resources import Call, host_op
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import common
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.joining import stack
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.random.distributions import get_seed
from daskvars.ops.rules.shapes import no_results
from daskvars.shapes import Dimension, TensorShape, as_shape, as_tuple, is_known
from daskvars.surface.forwarding import forwards
from daskvars.v1.queues.elements import (
    Components,
    LeastFirstQueue,
    PaddingQueue,
    Queue,
    ShuffleQueue,
    StagedElements,
)

# What a dequeue gives: a tensor, several, or by name.
Dequeued: TypeAlias = Any
HANDLE = Spec(string, ())


def name_as_array(name: str) -> numpy.ndarray:
    """Return the name of an object as the value of its handle."""
    return numpy.array(name.encode(), object)


def object_of(call: Call, handle: numpy.ndarray, kind: type, what: str) -> Any:
    """Return the object of a handle. Raises FailedPreconditionError if it is of another kind."""
    name = handle.item().decode()
    found = call.resources.find(name)
    if not isinstance(found, kind):
        raise FailedPreconditionError.saying(f"there is no {what} {name!r} in this session")
    return found


# -- ops ------------------------------------------------------------------------------------------


def _make_queue(
    call: Call, *, shared_name: str, container: str = "", **attrs: Any
) -> numpy.ndarray:
    name = call.name_of(shared_name, container)
    kind = _KINDS[call.op.type]
    components = Components(attrs.pop("component_types"), attrs.pop("shapes"))
    said = {"component types": components.dtypes, "component shapes": components.shapes, **attrs}
    found = call.resources.get(name, lambda: kind(name, components=components, **attrs))
    if isinstance(found, Queue) and found.said is None:
        found.said = said
    if type(found) is not kind:
        raise invalid(f"Shared queue '{name}' is of another kind")
    for what, had in found.said.items():
        if said[what] != had and what != "seed":  # unless it is given, each op has its own
            raise invalid(f"Shared queue '{name}' has {what} {had}, but {said[what]} are requested")
    return name_as_array(name)


def _queue(call: Call, handle: numpy.ndarray) -> Queue:
    return object_of(call, handle, Queue, "queue")


def _enqueue(call: Call, handle: numpy.ndarray, *components: Any, keep: bool) -> tuple:
    queue = _queue(call, handle)
    if not keep or components[0]:
        queue.enqueue([tuple(components[keep:])], call.waiting)
    return ()


def _enqueue_many(call: Call, handle: numpy.ndarray, *components: Any, keep: bool) -> tuple:
    queue = _queue(call, handle)
    rows = components[keep].shape[:1]
    queue.components.fits([component.shape for component in components[keep:]], rows)
    counts = {component.shape[:1] for component in components[keep:]}
    if len(counts) > 1:
        raise invalid(f"All components to enqueue must have one number of rows, not {counts}")
    elements = [tuple(map(numpy.asarray, parts)) for parts in _rows(components[keep:])]
    if keep:
        kept = numpy.broadcast_to(components[0], len(elements))
        elements = [element for element, is_kept in zip(elements, kept, strict=True) if is_kept]
    queue.enqueue(elements, call.waiting)
    return ()


def _rows(components: Sequence[numpy.ndarray]) -> Any:
    """Return what is in each row, every part an array (a string's is one without dimensions)."""
    return zip(*([c[i, ...] for i in range(len(c))] for c in components), strict=True)


def _dequeue(call: Call, handle: numpy.ndarray, **attrs: Any) -> tuple:
    return _queue(call, handle).dequeue(call.waiting)


def _dequeue_many(call: Call, handle: numpy.ndarray, n: numpy.ndarray, **attrs: Any) -> tuple:
    return _queue(call, handle).dequeue_many(int(n), call.waiting)


def _dequeue_up_to(call: Call, handle: numpy.ndarray, n: numpy.ndarray, **attrs: Any) -> tuple:
    return _queue(call, handle).dequeue_many(int(n), call.waiting, up_to=True)


def _close(call: Call, handle: numpy.ndarray, *, cancel_pending_enqueues: bool) -> tuple:
    _queue(call, handle).close(cancel_pending_enqueues)
    return ()


def _size(call: Call, handle: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(_queue(call, handle).size(), numpy.int32)


def _is_closed(call: Call, handle: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(_queue(call, handle).is_closed)


def element_specs(
    inputs: Sequence[Spec], *, component_types: Sequence[DType], shapes: Any
) -> tuple[Spec, ...]:
    """Return the specs of what an op gives of an element."""
    shapes = [None] * len(component_types) if shapes is None else shapes
    return tuple(Spec(*pair) for pair in zip(component_types, shapes, strict=True))


_ATTRIBUTES = {
    "cancel_pending_enqueues": kinds_of.BOOL,
    "capacity": kinds_of.either(kinds_of.NONE, kinds_of.INT),
    "component_types": kinds_of.tuple_of(kinds_of.DTYPE),
    "container": kinds_of.TEXT,
    "keep": kinds_of.BOOL,
    "memory_limit": kinds_of.INT,
    "min_after_dequeue": kinds_of.INT,
    "seed": kinds_of.either(kinds_of.NONE, kinds_of.PAIR),
    "shapes": kinds_of.either(kinds_of.NONE, kinds_of.tuple_of(kinds_of.SHAPE)),
    "shared_name": kinds_of.TEXT,
}
_KINDS: dict[str, Any] = {
    "FIFOQueueV2": Queue,
    "PaddingFIFOQueueV2": PaddingQueue,
    "RandomShuffleQueueV2": ShuffleQueue,
    "PriorityQueueV2": LeastFirstQueue,
    "StagingArea": StagedElements,
}
queue_op = functools.partial(host_op, attributes=_ATTRIBUTES)
_MAKERS = {type: queue_op(type, "", lambda inputs, **attrs: HANDLE, _make_queue) for type in _KINDS}
ENQUEUE = queue_op("QueueEnqueueV2", "handle:S, *components:A", no_results, _enqueue, True)
ENQUEUE_MANY = queue_op(
    "QueueEnqueueManyV2", "handle:S, *components:A", no_results, _enqueue_many, True
)
DEQUEUE = queue_op("QueueDequeueV2", "handle:S", element_specs, _dequeue, True)
DEQUEUE_MANY = queue_op("QueueDequeueManyV2", "handle:S, n:I", element_specs, _dequeue_many, True)
DEQUEUE_UP_TO = queue_op("QueueDequeueUpToV2", "handle:S, n:I", element_specs, _dequeue_up_to, True)
CLOSE = queue_op("QueueCloseV2", "handle:S", no_results, _close)
SIZE = queue_op("QueueSizeV2", "handle:S", lambda inputs: Spec(int32, ()), _size)
IS_CLOSED = queue_op("QueueIsClosedV2", "handle:S", lambda inputs: Spec(bool_, ()), _is_closed)


# -- what programs use ----------------------------------------------------------------------------


def entered_for(handle: Tensor, what: str) -> AbstractContextManager[Any]:
    """Return a block in which ops on an object are made: in its graph.

    Raises:
      NotImplementedError: it is in a branch or a loop.
    """
    builder = builder_for((handle,))
    if builder.is_body:
        raise NotImplementedError(
            f"{what} cannot stand in a branch or a loop (cond, while_loop): it is done by the "
            "session's own process, before and after what the engine runs. Make it outside, and "
            "use its result inside; to enqueue on a condition use train.maybe_batch."
        )
    return scopes.entered(builder)


class QueueBase:
    """A queue of elements, each of one or several tensors, which several threads fill and empty.

    Its elements are in the memory of the session's process. Each session has its own, save for
    those on one store with one ``shared_name`` in one `container`. Ops that must wait do so until
    another thread's run has put in, or taken, what they wait for, or until the session is closed.

    Args:
      dtypes: of the components of an element.
      shapes: of each component, or None.
      names: of each component, or None: then elements are dicts.
      queue_ref: the queue's handle, a string.

    Raises:
      ValueError: there are other numbers of shapes or names than of dtypes.

    Source: TensorFlow 1.15, ``tf.QueueBase``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queues = [tf.FIFOQueue(4, tf.int32, shapes=[[]]) for _ in range(2)]
    ...     chosen = tf.QueueBase.from_list(1, queues)
    ...     sess.run(chosen.enqueue(7))
    ...     int(sess.run(queues[0].size())), int(sess.run(queues[1].dequeue()))
    (0, 7)
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike],
        shapes: Sequence[Any] | None,
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = [as_dtype(dtype) for dtype in dtypes]
        if shapes is None:
            self._shapes = [TensorShape(None)] * len(self._dtypes)
        elif len(shapes) != len(self._dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes")
        else:
            self._shapes = [as_shape(shape) for shape in shapes]
        self._has_shapes = shapes is not None
        self._names = _names_of(names, self._dtypes)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rpartition("/")[2]

    def __repr__(self) -> str:
        names = ", ".join(dtype.name for dtype in self._dtypes)
        return f"<tf.{type(self).__name__} {self._name!r} of {names}>"

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Return the queue that is at a place in a list, which the run tells.

        Args:
          index: [] int32.
          queues: of the same dtypes and names.

        Raises:
          TypeError: it is no list of queues, or their dtypes or names differ.
        """
        is_list = isinstance(queues, list) and bool(queues)
        if not is_list or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [
            as_shape(functools.reduce(common, map(as_tuple, parts)))
            for parts in zip(*[queue.shapes for queue in queues], strict=True)
        ]
        handle = gather(stack([queue.queue_ref for queue in queues]), index)
        has_shapes = any(queue._has_shapes for queue in queues)
        return QueueBase(first.dtypes, shapes if has_shapes else None, first.names, handle)

    queue_ref: Tensor = forwards(
        "_queue_ref", "The handle: [] string, the queue's name in the session."
    )
    name: str = forwards("_queue_ref.op.name", "The name of the operation.")
    dtypes: list[DType] = forwards("_dtypes", "Of each component.")
    shapes: list[TensorShape] = forwards("_shapes", "Of each component.")
    names: list[str] | None = forwards("_names", "Of each component, or None.")

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that puts an element in, once there is room for it.

        Args:
          vals: a tensor, a list of them, or a dict where components have names.
          name: name of the operation.

        Raises:
          ValueError: the values do not fit the queue.
          CancelledError: (when run) the queue or the session was closed.
        """
        return self._put(ENQUEUE, vals, name or f"{self._name}_enqueue")

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that puts in the rows of tensors, each an element.

        Args:
          vals: as `enqueue` takes them, with one dimension more in front, the same in all.
          name: name of the operation.
        """
        return self._put(ENQUEUE_MANY, vals, name or f"{self._name}_EnqueueMany")

    def enqueue_if(self, keep: TensorLike, vals: Any, many: bool = False) -> Operation:
        """Return an operation that puts in an element, or rows, where `keep` is true.

        Args:
          keep: [] bool, or with `many` one for each row.
          vals: as `enqueue` or `enqueue_many` take them.
          many: whether they are rows.
        """
        opdef = ENQUEUE_MANY if many else ENQUEUE
        return self._put(opdef, vals, f"{self._name}_enqueue", [keep])

    def _put(self, opdef: OpDef, vals: Any, name: str, keep: Sequence[Any] = ()) -> Operation:
        with entered_for(self._queue_ref, f"an enqueue of {self.name!r}"):
            tensors = self._components_of(vals)
            for tensor, shape in zip(tensors, self._shapes, strict=True):
                found = tensor.get_shape()
                if opdef is ENQUEUE_MANY:
                    found = found.with_rank_at_least(1)[1:]
                found.assert_is_compatible_with(shape)
            if opdef is ENQUEUE_MANY:
                num_rows(tensors)
            return apply_op(opdef, self._queue_ref, *keep, *tensors, name=name, keep=bool(keep))

    def _components_of(self, vals: Any) -> list[Tensor]:
        """Return the components of what is to be put in, in their order, as tensors."""
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: ({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(
                f"the queue {self.name!r} has {len(self._dtypes)} components, but got {len(vals)}"
            )
        return [
            convert_to_tensor(value, dtype, f"component_{i}")
            for i, (value, dtype) in enumerate(zip(vals, self._dtypes, strict=True))
        ]

    def dequeue(self, name: str | None = None) -> Dequeued:
        """Return an element, taken out in each run, once there is one.

        Returns:
          A tensor, a list where there are several components, a dict where they have names.

        Raises:
          OutOfRangeError: (when run) the queue is closed and empty.
          CancelledError: (when run) the session was closed.
        """
        return self._get(DEQUEUE, (), (), name or f"{self._name}_Dequeue")

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Dequeued:
        """Return `n` elements, one after the other along a first dimension.

        Args:
          n: [] int32.
          name: name of the operation.

        Raises:
          OutOfRangeError: (when run) the queue is closed with fewer in it; they stay there.
          ValueError: the shapes of components are not known.
        """
        return self._get_many(DEQUEUE_MANY, n, name or f"{self._name}_DequeueMany")

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Dequeued:
        """Return `n` elements, or those that are left when the queue is closed.

        Args:
          n: [] int32.
          name: name of the operation.

        Raises:
          OutOfRangeError: (when run) the queue is closed and empty.
        """
        return self._get_many(DEQUEUE_UP_TO, n, name or f"{self._name}_DequeueUpTo")

    def _get_many(self, opdef: OpDef, n: TensorLike, name: str) -> Dequeued:
        if any(shape.ndims is None for shape in self._shapes):
            raise invalid(
                f"{self.name!r}: DequeueMany and DequeueUpTo require the components to have "
                "specified shapes; say them where the queue is made"
            )
        with entered_for(self._queue_ref, f"a dequeue of {self.name!r}"):
            count = convert_to_tensor(n, int32, "n")
        size = constant_value(count) if opdef is DEQUEUE_MANY else None
        return self._get(opdef, (count,), (None if size is None else int(size),), name)

    def _get(self, opdef: OpDef, more: tuple, rows: tuple[int | None, ...], name: str) -> Dequeued:
        shapes = [
            None if shape.ndims is None else (*rows, *shape.as_list()) for shape in self._shapes
        ]
        with entered_for(self._queue_ref, f"a dequeue of {self.name!r}"):
            found = apply(
                opdef,
                self._queue_ref,
                *more,
                name=name,
                component_types=tuple(self._dtypes),
                shapes=tuple(shapes),
            )
        if not self._dtypes:
            return found
        if self._names:
            return dict(zip(self._names, found, strict=True))
        return list(found) if len(found) > 1 else found[0]

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation after which nothing is put in; what is there can be taken.

        Args:
          cancel_pending_enqueues: those that wait end with CancelledError; else they go on.
          name: name of the operation.
        """
        with entered_for(self._queue_ref, f"closing {self.name!r}"):
            return apply_op(
                CLOSE,
                self._queue_ref,
                name=name or f"{self._name}_Close",
                cancel_pending_enqueues=bool(cancel_pending_enqueues),
            )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed: [] bool."""
        return self._look(IS_CLOSED, name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements: [] int32."""
        return self._look(SIZE, name or f"{self._name}_Size")

    def _look(self, opdef: OpDef, name: str) -> Tensor:
        with entered_for(self._queue_ref, f"a look at {self.name!r}"):
            return apply(opdef, self._queue_ref, name=name)


def num_rows(tensors: Sequence[Tensor]) -> Dimension:
    """Return how many rows tensors have, if that is known. Raises ValueError where they differ."""
    counts = [Dimension(tensor.get_shape().with_rank_at_least(1)[0]) for tensor in tensors]
    return functools.reduce(Dimension.merge_with, counts)


def _names_of(names: Any, dtypes: Sequence[DType]) -> list[str] | None:
    if names is None:
        return None
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != len(dtypes):
        raise ValueError("Queue names must have the same length as the datatypes")
    return names


def _dtypes_of(dtypes: Any) -> list[DType]:
    return [as_dtype(d) for d in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]


def _shapes_of(
    shapes: Any, dtypes: Sequence[DType], unknown_sizes: bool = False
) -> tuple[Any, ...] | None:
    """Return the shapes of components as tuples.

    Raises:
      ValueError: there are not as many as components, or they are not known.
    """
    if shapes is None:
        return None
    is_one = not isinstance(shapes, list | tuple) or all(is_size(size) for size in shapes)
    if unknown_sizes and is_one:
        raise ValueError(NO_LIST.format(shapes))
    shapes = [shapes] if is_one else shapes
    found = tuple([as_tuple(shape) for shape in shapes])
    if unknown_sizes:
        if any(shape is None for shape in found):
            raise ValueError(f"All shapes must have a defined rank: {shapes}")
    elif not all(is_known(shape) for shape in found):
        raise ValueError(f"All shapes must be fully defined: {shapes}")
    if len(found) != len(dtypes):
        raise ValueError("Queue shapes must have the same length as dtypes")
    return found


NO_LIST = (
    "When providing partial shapes, a list of shapes must be provided: PaddingFIFOQueue needs "
    "those of its components, of known rank, got {}"
)


def is_size(value: Any) -> bool:
    """Return whether a value is the size of a dimension, known or not, and no shape."""
    return value is None or isinstance(value, int | Dimension)


class NamedQueue(QueueBase):
    """A queue that is made by an op of its own."""

    type: ClassVar[str]

    def __init__(
        self, dtypes: Any, shapes: Any, names: Any, shared_name: str | None, name: str, **attrs: Any
    ) -> None:
        handle = apply(
            _MAKERS[self.type],
            name=name,
            component_types=tuple(dtypes),
            shapes=shapes,
            shared_name=shared_name or "",
            container=builder_for(()).container_name,
            **attrs,
        )
        super().__init__(dtypes, shapes, names, handle)


class FIFOQueue(NamedQueue):
    """A queue that gives elements in the order in which they were put in.

    Args:
      capacity: how many elements there may be; an enqueue waits for room.
      dtypes: a dtype, or a list of them, of the components of an element.
      shapes: their shapes, fully known. None where they differ from element to element; then
        `dequeue_many` is not possible.
      names: names of components, for elements that are dicts.
      shared_name: the queue's name for all sessions on one store.
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.FIFOQueue``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.FIFOQueue(3, tf.float32, [[]])
    ...     sess.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
    ...     sess.run(queue.dequeue_many(2)).tolist(), int(sess.run(queue.size()))
    ([1.0, 2.0], 1)
    """

    type = "FIFOQueueV2"

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        dtypes = _dtypes_of(dtypes)
        shapes = _shapes_of(shapes, dtypes)
        super().__init__(dtypes, shapes, names, shared_name, name, capacity=capacity)


class PaddingFIFOQueue(NamedQueue):
    """A `FIFOQueue` of elements that differ in size; batches are filled up with zeros.

    Args:
      capacity, dtypes, names, shared_name, name: as for `FIFOQueue`.
      shapes: of the components, of known rank. A size that is None is that of the longest element
        of a batch.

    Source: TensorFlow 1.15, ``tf.PaddingFIFOQueue``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.PaddingFIFOQueue(3, tf.int32, [[None]])
    ...     for row in ([1, 2], [3]):
    ...         sess.run(queue.enqueue([row]))
    ...     sess.run(queue.dequeue_many(2)).tolist()
    [[1, 2], [3, 0]]
    """

    type = "PaddingFIFOQueueV2"

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        dtypes = _dtypes_of(dtypes)
        shapes = _shapes_of(shapes, dtypes, unknown_sizes=True)
        if shapes is None:
            raise ValueError(NO_LIST.format(shapes))
        super().__init__(dtypes, shapes, names, shared_name, name, capacity=capacity)


class RandomShuffleQueue(NamedQueue):
    """A queue that gives elements at random.

    Args:
      capacity, dtypes, shapes, names, shared_name, name: as for `FIFOQueue`.
      min_after_dequeue: how many elements stay behind, so that there is something to choose from;
        a dequeue waits for so many more, until the queue is closed.
      seed: int, see `set_random_seed`. The choices are not TensorFlow's.

    Raises:
      ValueError: `min_after_dequeue` is not less than the capacity, or there are other numbers of
        shapes or names than of dtypes.

    Source: TensorFlow 1.15, ``tf.RandomShuffleQueue``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.RandomShuffleQueue(8, 0, tf.int32, shapes=[[]], seed=1)
    ...     sess.run(queue.enqueue_many([[1, 2, 3, 4]]))
    ...     sorted(sess.run(queue.dequeue_many(4)).tolist())
    [1, 2, 3, 4]
    """

    type = "RandomShuffleQueueV2"

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        dtypes = _dtypes_of(dtypes)
        shapes = _shapes_of(shapes, dtypes)
        if not 0 <= min_after_dequeue < capacity and capacity >= 0:
            raise ValueError(
                f"min_after_dequeue {min_after_dequeue} must be less than the capacity {capacity}"
            )
        seeds = get_seed(seed)
        kept = {"capacity": capacity, "min_after_dequeue": int(min_after_dequeue)}
        chosen = None if seeds[0] is None else seeds
        super().__init__(dtypes, shapes, names, shared_name, name, **kept, seed=chosen)


class PriorityQueue(NamedQueue):
    """A queue that gives the element with the least priority first, the oldest of several.

    Args:
      capacity, names, shared_name, name: as for `FIFOQueue`.
      types, shapes: dtypes and shapes of the components that follow the priority, which is the
        first: [] int64.

    Source: TensorFlow 1.15, ``tf.PriorityQueue``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.PriorityQueue(3, tf.string, [[]])
    ...     sess.run(queue.enqueue_many([[5, 1], ["later", "now"]]))
    ...     sess.run(queue.dequeue())[1]
    b'now'
    """

    type = "PriorityQueueV2"

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        dtypes = _dtypes_of(types)
        known = _shapes_of(shapes, dtypes) or (None,) * len(dtypes)
        super().__init__(
            [int64, *dtypes], ((), *known), names, shared_name, name, capacity=capacity
        )
