"""Tensors that stay where they were computed, and are fed to later runs by a handle.

A value that a handle stands for is, on a cluster, a dask array whose blocks remain on the workers
that made them, and is fed as any dask array is; without one it is an array of this process. It
lives as long as its `TensorHandle`, or, once the raw handle was taken, until it is deleted.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Mapping
from typing import Any, NoReturn

import dask
import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, string
from daskvars.errors import InvalidArgumentError, invalid
from daskvars.execution.engine.values.blocks import kept
from daskvars.execution.host_ops.resources import Call, Resources, host_op
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.interpreter import apply, apply_op
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.array.placeholders import placeholder
from daskvars.ops.rules.shapes import no_results
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards

__all__ = ["delete_session_tensor", "get_session_handle", "get_session_tensor"]

_TENSORS = "session tensors"  # what they are together among a session's objects


class TensorHandle:
    """What a run gives for a tensor that stays: the handle to feed instead of its value.

    It can be fed as it is, for the tensor itself or another, or its `handle` to the placeholder
    that `get_session_tensor` returns. With the last reference to it goes the value.

    Args:
      handle: what names the value in its session.
      dtype: of the value.
      data: the value, a NumPy or a dask array.
      tensors: all that the session keeps.
    """

    def __init__(self, handle: str, dtype: DType, data: Any, tensors: SessionTensors) -> None:
        self._handle, self._dtype, self._tensors = handle, dtype, tensors
        self._data, self._is_raw = data, False

    def __repr__(self) -> str:
        return f"<tf.TensorHandle {self._handle!r} of {self._dtype.name}>"

    def __str__(self) -> str:
        return self._handle

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"the tensor {self._handle!r} is kept in its session, and a handle has no meaning "
            "elsewhere: take its value by eval()"
        )

    handle: str = forwards(
        "_handle", "The handle, to be fed to the placeholder of `get_session_tensor`."
    )
    dtype: DType = forwards("_dtype", "The dtype of the value.")

    @property
    def data(self) -> Any:
        """The value where it is: a dask array of blocks on workers, or a NumPy array.

        Raises:
          InvalidArgumentError: it was deleted, or the session was closed.
        """
        if self._data is None:
            raise _gone(self._handle)
        return self._data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        found = self.data.compute() if dask.is_dask_collection(self.data) else self.data
        return numpy.array(found, dtype, copy=copy)

    def __dask_graph__(self) -> Mapping[Any, Any] | None:
        """Return the tasks of the value, None where it is in this process: so it is fed."""
        return self.data.__dask_graph__() if dask.is_dask_collection(self.data) else None

    def eval(self) -> Any:
        """Return the value.

        Raises:
          TypeError: the raw handle was taken, or it was deleted.
          InvalidArgumentError: the session was closed.
        """
        self._check_owned()
        return numpy.array(self)[()]

    def delete(self) -> None:
        """Let go of the value now.

        Raises:
          TypeError: the raw handle was taken, or it was deleted.
        """
        self._check_owned()
        self._tensors.delete(self._handle)

    def get_raw_handle(self) -> str:
        """Return the handle; the value now stays until `delete_session_tensor`."""
        if self._data is not None:
            self._is_raw = True
            self._tensors.keep_until_deleted(self)
        return self._handle

    def _check_owned(self) -> None:
        if self._is_raw or self._data is None:
            raise TypeError(
                f"Persistent tensor {self._handle} may have already been deleted: it is no longer "
                "its TensorHandle's"
            )


def _gone(handle: str) -> InvalidArgumentError:
    return invalid(
        f"The tensor with handle '{handle}' is not in the session store: it is another session's, "
        "was deleted, or went with its TensorHandle, which must be kept as long as the handle is "
        "used (get_raw_handle keeps the value without it)"
    )


class SessionTensors:
    """All tensors that a session keeps, by handle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._handles: weakref.WeakValueDictionary[str, TensorHandle] = (
            weakref.WeakValueDictionary()
        )
        self._raw: dict[str, TensorHandle] = {}

    def add(self, op: Operation, dtype: DType, data: Any) -> TensorHandle:
        """Keep a value, as long as its handle is there."""
        with self._lock:
            handle = f"{op.name};{next(self._numbers)};{op.device}"
            self._handles[handle] = found = TensorHandle(handle, dtype, data, self)
        return found

    def find(self, handle: str) -> TensorHandle:
        """Return what has a handle. Raises InvalidArgumentError if there is nothing."""
        with self._lock:
            found = self._handles.get(handle)
        if found is None:
            raise _gone(handle)
        return found

    def keep_until_deleted(self, found: TensorHandle) -> None:
        """Keep a value though nobody has its TensorHandle."""
        with self._lock:
            self._raw[found.handle] = found

    def delete(self, handle: str) -> None:
        """Let go of a value. Raises InvalidArgumentError if there is none of that handle."""
        found = self.find(handle)
        with self._lock:
            self._raw.pop(handle, None)
            self._handles.pop(handle, None)
        found._data = None

    def end(self) -> None:
        """Let go of all values: the session is closed."""
        with self._lock:
            handles = list(self._handles)
        for handle in handles:
            self.delete(handle)


def _tensors_of(resources: Resources) -> SessionTensors:
    return resources.get(_TENSORS, SessionTensors)


def _keep(call: Call, data: Any) -> numpy.ndarray:
    dtype = call.op.inputs[0].dtype.base_dtype
    found = numpy.empty((), object)
    found[()] = _tensors_of(call.resources).add(call.op, dtype, kept(data))
    return found


def _find(call: Call, handle: numpy.ndarray, *, dtype: DType) -> Any:
    found = _tensors_of(call.resources).find(_text(handle))
    if found.dtype is not dtype:
        raise invalid(
            f"The tensor with handle '{found.handle}' is of {found.dtype.name}, but "
            f"{call.op.name!r} was made for {dtype.name}"
        )
    return found.data


def _delete(call: Call, handle: numpy.ndarray) -> tuple:
    _tensors_of(call.resources).delete(_text(handle))
    return ()


def _text(handle: numpy.ndarray) -> str:
    value = handle.item()
    return value.decode() if isinstance(value, bytes) else str(value)


KEEP = host_op("GetSessionHandle", "value:A", lambda inputs: Spec(string, ()), _keep, lazy=True)
FIND = host_op(
    "GetSessionTensor",
    "handle:S",
    lambda inputs, *, dtype: Spec(dtype, None),
    _find,
    attributes={"dtype": kinds_of.DTYPE},
)
DELETE = host_op("DeleteSessionTensor", "handle:S", no_results, _delete)


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Return what, when it is run, keeps a tensor where it was computed and gives its handle.

    On a cluster the value stays on workers if its shape is known before it is computed; else, and
    without a cluster, it is kept in the session's process.

    Args:
      data: a tensor.
      name: name of the operation, by default "GetSessionHandle".

    Returns:
      A scalar string tensor. A run gives for it a `TensorHandle`, with which the value goes: fed
      for a tensor it stands for the value, and its `eval()` gives it.

    Raises:
      TypeError: `data` is no tensor.

    Source: TensorFlow 1.15, ``tf.get_session_handle``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1.0, 2.0])
    ...     kept = sess.run(tf.get_session_handle(x * 10.0))
    ...     holder, again = tf.get_session_tensor(kept.handle, tf.float32)
    ...     by_text = sess.run(again + 1.0, {holder: kept.handle})
    ...     by_text.tolist(), sess.run(x * 2.0, {x: kept}).tolist()
    ([11.0, 21.0], [20.0, 40.0])
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"`data` must be of type Tensor, got {type(data).__name__}")
    return apply(KEEP, data, name=name)


@accepts("handle")
def get_session_tensor(
    handle: str, dtype: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return a placeholder for handles, and the tensor of whichever is fed to it.

    Args:
      dtype: of the tensor.
      name: name of the operation, by default "GetSessionTensor".

    Returns:
      holder: [] string, to be fed with a handle.
      tensor: the value that is kept, of a shape that only the run knows.

    Raises:
      InvalidArgumentError: (when run) there is nothing of that handle, or it has another dtype.

    Source: TensorFlow 1.15, ``tf.get_session_tensor``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     kept = sess.run(tf.get_session_handle(tf.constant(1)))
    ...     holder, x = tf.get_session_tensor(kept.handle, tf.int32)
    ...     doubled = tf.get_session_handle(x * 2)
    ...     for _ in range(10):
    ...         kept = sess.run(doubled, {holder: kept.handle})
    ...     int(kept.eval())
    1024
    """
    holder = placeholder(string, [])
    return holder, apply(FIND, holder, name=name, dtype=as_dtype(dtype))


@accepts("handle")
def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Tensor, Operation]:
    """Return a placeholder for handles, and an operation that lets go of what is fed to it.

    Args:
      name: name of the operation, by default "DeleteSessionTensor".

    Returns:
      holder: [] string, to be fed with a handle.
      deleter: the operation.

    Raises:
      InvalidArgumentError: (when run) there is nothing of that handle.

    Source: TensorFlow 1.15, ``tf.delete_session_tensor``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     raw = sess.run(tf.get_session_handle(tf.constant(7))).get_raw_handle()
    ...     holder, deleter = tf.delete_session_tensor(raw)
    ...     sess.run(deleter, {holder: raw})
    """
    holder = placeholder(string, [])
    return holder, apply_op(DELETE, holder, name=name)
