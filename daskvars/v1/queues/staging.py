"""Staging areas: queues that hold what is ready for the next steps, and can be looked into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, int32
from daskvars.execution.host_ops.resources import Call
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import apply_op
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.rules.shapes import no_results
from daskvars.shapes import TensorShape, as_tuple
from daskvars.surface.forwarding import forwards
from daskvars.v1.queues.elements import StagedElements
from daskvars.v1.queues.queue_ops import NamedQueue, element_specs, entered_for, object_of, queue_op


def _peek(call: Call, handle: numpy.ndarray, index: numpy.ndarray, **attrs: Any) -> tuple:
    return _area(call, handle).peek(int(index), call.waiting)


def _clear(call: Call, handle: numpy.ndarray) -> tuple:
    _area(call, handle).clear()
    return ()


def _area(call: Call, handle: numpy.ndarray) -> StagedElements:
    return object_of(call, handle, StagedElements, "staging area")


PEEK = queue_op("StagePeek", "handle:S, index:I", element_specs, _peek, True)
CLEAR = queue_op("StageClear", "handle:S", no_results, _clear)


class _StagingQueue(NamedQueue):
    type = "StagingArea"


class StagingArea:
    """Elements that are ready for the next steps: a step takes one while the next is put in.

    They are in the memory of the session's process, as those of a queue, in the order in which
    they came. A run that takes one and puts one in takes first: run `put` alone before the first.

    Args:
      dtypes: of the components of an element.
      shapes: of each component, or None.
      names: of each component, or None: then elements are dicts.
      shared_name: the area's name for all sessions on one store.
      capacity: how many elements there may be, 0 for any number; `put` waits for room.
      memory_limit: how many bytes they may have together, 0 for any number.

    Raises:
      ValueError: there are other numbers of shapes or names than of dtypes, or `shared_name` is
        no string.

    Source: TensorFlow 1.15, ``tf.contrib.staging.StagingArea``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     area = tf.contrib.staging.StagingArea([tf.float32], [[]])
    ...     put, (ready,) = area.put(x), area.get()
    ...     sess.run(put, {x: 1.0})
    ...     [float(sess.run([ready, put], {x: value})[0]) for value in (2.0, 3.0)]
    [1.0, 2.0]
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if not isinstance(shared_name, str | None):
            raise ValueError(f"shared_name must be a string, got {shared_name!r}")
        dtypes = [as_dtype(dtype) for dtype in dtypes]
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(
                    f"StagingArea {what} must be the same length as dtypes, got {len(given)} for "
                    f"{len(dtypes)}"
                )
        self._capacity, self._memory_limit = int(capacity), int(memory_limit)
        self._queue = _StagingQueue(
            dtypes,
            None if shapes is None else tuple(map(as_tuple, shapes)),
            names,
            shared_name,
            "StagingArea",
            capacity=self._capacity,
            memory_limit=self._memory_limit,
        )
        self._name = shared_name or self._queue.name

    def __repr__(self) -> str:
        names = ", ".join(dtype.name for dtype in self.dtypes)
        return f"<tf.contrib.staging.StagingArea {self._name!r} of {names}>"

    name: str = forwards("_name", "The name of the area.")
    dtypes: list[DType] = forwards("_queue.dtypes", "Of each component.")
    shapes: list[TensorShape] = forwards("_queue.shapes", "Of each component.")
    names: list[str] | None = forwards("_queue.names", "Of each component, or None.")
    capacity: int = forwards("_capacity", "How many elements there may be, 0 for any number.")
    memory_limit: int = forwards(
        "_memory_limit", "How many bytes they may have together, 0 for any number."
    )

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Return an operation that puts an element in, once there is room for it.

        Args:
          values: a tensor, a list of them, or a dict where components have names.
          name: name of the operation.

        Raises:
          ValueError: the values do not fit the area.
          ResourceExhaustedError: (when run) the element has more bytes than all may have together.
        """
        return self._queue.enqueue(values, name or f"{self._name}_put")

    def get(self, name: str | None = None) -> Any:
        """Return an element, taken out in each run, once there is one.

        Args:
          name: name of the operation.

        Returns:
          A list of tensors, a dict where they have names.
        """
        return _as_list(self._queue.dequeue(name or f"{self._name}_get"))

    def peek(self, index: TensorLike, name: str | None = None) -> Any:
        """Return the element of a place, which stays there, once there is one.

        Args:
          index: [] int32, counted from the one that `get` would give.
          name: name of the operation.

        Returns:
          As `get` does.
        """
        with entered_for(self._queue.queue_ref, f"a look into {self._name!r}"):
            place = convert_to_tensor(index, int32, "index")
        found = self._queue._get(PEEK, (place,), (), name or f"{self._name}_peek")
        return _as_list(found)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements: [] int32."""
        return self._queue.size(name or f"{self._name}_size")

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that takes out all elements."""
        with entered_for(self._queue.queue_ref, f"clearing {self._name!r}"):
            return apply_op(CLEAR, self._queue.queue_ref, name=name or f"{self._name}_clear")


def _as_list(found: Any) -> Any:
    return [found] if isinstance(found, Tensor) else found
