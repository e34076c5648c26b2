"""Accumulators: gradients of several runs, added up until enough of them are there."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, int32, int64
from daskvars.errors import invalid
from daskvars.execution.host_ops.resources import Call, host_op
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.rules.shapes import no_results
from daskvars.ops.sparse.indices import as_int64
from daskvars.shapes import Shape, ShapeLike, as_shape, as_tuple
from daskvars.surface.forwarding import forwards
from daskvars.v1.queues.accumulated import Accumulator, SparseAccumulator
from daskvars.v1.queues.queue_ops import HANDLE, entered_for, name_as_array, object_of

# -- ops ------------------------------------------------------------------------------------------

_KINDS: dict[str, Any] = {each.kind: each for each in (Accumulator, SparseAccumulator)}
_ATTRIBUTES = {
    "container": kinds_of.TEXT,
    "dtype": kinds_of.DTYPE,
    "has_known_shape": kinds_of.BOOL,
    "reduction_type": kinds_of.TEXT,
    "shape": kinds_of.SHAPE,
    "shared_name": kinds_of.TEXT,
}


def _made(call: Call, *, shared_name: str, container: str = "", **attrs: Any) -> numpy.ndarray:
    name, kind = call.name_of(shared_name, container), _KINDS[call.op.type]
    found = call.resources.get(name, lambda: kind(name, **attrs))
    if type(found) is not kind or any(getattr(found, k) != v for k, v in attrs.items()):
        raise invalid(f"Shared accumulator '{name}' is of another kind, dtype or shape")
    return name_as_array(name)


def _of(call: Call, handle: numpy.ndarray) -> Accumulator:
    return object_of(call, handle, Accumulator, "accumulator")


def _apply(call: Call, handle: numpy.ndarray, step: numpy.ndarray, x: numpy.ndarray) -> tuple:
    _of(call, handle).apply(int(step), numpy.asarray(x))
    return ()


def _apply_sparse(
    call: Call,
    handle: numpy.ndarray,
    step: numpy.ndarray,
    indices: numpy.ndarray,
    values: numpy.ndarray,
    sizes: numpy.ndarray,
    *,
    has_known_shape: bool,
) -> tuple:
    whole = numpy.asarray(sizes) if has_known_shape else None
    parts = (numpy.asarray(indices), numpy.asarray(values), whole)
    _of(call, handle).apply(int(step), parts)
    return ()


def _taken(call: Call, handle: numpy.ndarray, num_required: numpy.ndarray, **attrs: Any) -> Any:
    found, put_back = _of(call, handle).take(int(num_required), call.waiting)
    call.undo(put_back)
    return found


def _set_step(call: Call, handle: numpy.ndarray, step: numpy.ndarray) -> tuple:
    _of(call, handle).set_global_step(int(step))
    return ()


def _count(call: Call, handle: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(_of(call, handle).count, numpy.int32)


def _dense(inputs: Sequence[Spec], *, dtype: DType, shape: Shape) -> Spec:
    return Spec(dtype, shape)


def _sparse(inputs: Sequence[Spec], *, dtype: DType, shape: Shape) -> tuple[Spec, ...]:
    rows = None if not shape else (None, *shape[1:])
    return Spec(int64, (None,)), Spec(dtype, rows), Spec(int64, (None,))


_op = functools.partial(host_op, attributes=_ATTRIBUTES)
_MAKERS = {type: _op(type, "", lambda inputs, **attrs: HANDLE, _made) for type in _KINDS}
APPLY = _op("AccumulatorApplyGradient", "handle:S, local_step:I, gradient:A", no_results, _apply)
APPLY_SPARSE = _op(
    "SparseAccumulatorApplyGradient",
    "handle:S, local_step:I, indices:I, values:A, shape:I",
    no_results,
    _apply_sparse,
)
TAKE = _op("AccumulatorTakeGradient", "handle:S, num_required:I", _dense, _taken, True)
TAKE_SPARSE = _op(
    "SparseAccumulatorTakeGradient", "handle:S, num_required:I", _sparse, _taken, True
)
SET_STEP = _op("AccumulatorSetGlobalStep", "handle:S, new_global_step:I", no_results, _set_step)
COUNT = _op("AccumulatorNumAccumulated", "handle:S", lambda inputs: Spec(int32, ()), _count)


# -- what programs use ----------------------------------------------------------------------------


class ConditionalAccumulatorBase:
    """Gradients that several runs add up, and one takes when enough are there.

    They are in the memory of the session's process. Each session has its own, save for those on
    one store with one ``shared_name``.

    Args:
      dtype: of the gradients.
      shape: of each, as far as it is known.
      accumulator_ref: the accumulator's handle, a string.

    Source: TensorFlow 1.15, ``tf.ConditionalAccumulatorBase``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     mean = tf.ConditionalAccumulator(tf.float32, [])
    ...     sess.run([mean.set_global_step(5), mean.apply_grad(1.0, local_step=4)])
    ...     isinstance(mean, tf.ConditionalAccumulatorBase), int(sess.run(mean.num_accumulated()))
    [None, None]
    (True, 0)
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike | None, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = as_shape(shape)
        self._accumulator_ref = accumulator_ref

    def __repr__(self) -> str:
        return f"<tf.{type(self).__name__} {self._short!r} of {self._dtype.name} {self._shape}>"

    accumulator_ref: Tensor = forwards(
        "_accumulator_ref", "The handle: [] string, the accumulator's name in the session."
    )
    name: str = forwards("_accumulator_ref.op.name", "The name of the operation.")
    dtype: DType = forwards("_dtype", "Of the gradients.")

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Return how many gradients there are, [] int32.

        Args:
          name: name of the operation.
        """
        with entered_for(self._accumulator_ref, f"a count of {self.name!r}"):
            return apply(COUNT, self._accumulator_ref, name=name or f"{self._short}_NumAccumulated")

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Return an operation after which gradients of steps before a step are left out.

        Args:
          new_global_step: [] integer.
          name: name of the operation.
        """
        with entered_for(self._accumulator_ref, f"a step of {self.name!r}"):
            step = as_int64(new_global_step)
            name = name or f"{self._short}_SetGlobalStep"
            return apply_op(SET_STEP, self._accumulator_ref, step, name=name)

    @property
    def _short(self) -> str:
        return self.name.rpartition("/")[2]


class _NamedAccumulator(ConditionalAccumulatorBase):
    """An accumulator that is made by an op of its own."""

    type: ClassVar[str]

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike | None = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        if reduction_type not in ("MEAN", "SUM"):
            raise ValueError(f"reduction_type must be 'MEAN' or 'SUM', got {reduction_type!r}")
        handle = apply(
            _MAKERS[self.type],
            name=name,
            dtype=as_dtype(dtype).base_dtype,
            shape=as_tuple(shape),
            shared_name=shared_name or "",
            container=builder_for(()).container_name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, handle)

    def _taken(self, take: OpDef, num_required: TensorLike, name: str | None) -> Any:
        with entered_for(self._accumulator_ref, f"a taking from {self.name!r}"):
            return apply(
                take,
                self._accumulator_ref,
                convert_to_tensor(num_required, dtype=int32, name="num_required"),
                name=name,
                dtype=self._dtype.base_dtype,
                shape=as_tuple(self._shape),
            )


class ConditionalAccumulator(_NamedAccumulator):
    """Gradients of one shape, added up; who takes them gets their mean.

    A gradient of a step before the present one is left out; to take is to begin the next step.

    Args:
      dtype: of the gradients.
      shape: of each, as far as it is known.
      shared_name: the accumulator's name for all sessions on one store.
      name: name of the operation.
      reduction_type: "MEAN" or "SUM".

    Source: TensorFlow 1.15, ``tf.ConditionalAccumulator``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     mean = tf.ConditionalAccumulator(tf.float32, [2])
    ...     for gradient in ([1.0, 4.0], [3.0, 0.0]):
    ...         sess.run(mean.apply_grad(gradient))
    ...     sess.run(mean.take_grad(2)).tolist()
    [2.0, 2.0]
    """

    type = "ConditionalAccumulator"

    def apply_grad(
        self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Return an operation that adds a gradient.

        Args:
          grad: of the accumulator's dtype and shape.
          local_step: [] integer, the step whose gradient it is.
          name: name of the operation.

        Raises:
          ValueError: its shape is known to be another.
          InvalidArgumentError: (when run) its shape is another.
        """
        with entered_for(self._accumulator_ref, f"a gradient of {self.name!r}"):
            gradient = convert_to_tensor(grad, self._dtype)
            gradient.get_shape().assert_is_compatible_with(self._shape)
            parts = (self._accumulator_ref, as_int64(local_step), gradient)
            return apply_op(APPLY, *parts, name=name)

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Tensor:
        """Return the mean of the gradients, once there are enough of them.

        Args:
          num_required: [] int32, how many there must be.
          name: name of the operation.

        Raises:
          InvalidArgumentError: (when run) `num_required` is not positive.
          CancelledError: (when run) the session was closed.
        """
        return self._taken(TAKE, num_required, name)


class SparseConditionalAccumulator(_NamedAccumulator):
    """Gradients of some rows, added up; who takes them gets of each row the mean of what came.

    Args:
      dtype, shape, shared_name, name, reduction_type: as for `ConditionalAccumulator`; `shape` is
        that of the whole.

    Source: TensorFlow 1.15, ``tf.SparseConditionalAccumulator``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     mean = tf.SparseConditionalAccumulator(tf.float32, [3, 1])
    ...     for row, gradient in ((0, 1.0), (2, 4.0), (2, 6.0)):
    ...         sess.run(mean.apply_grad([row], [[gradient]]))
    ...     found = sess.run(mean.take_indexed_slices_grad(3))
    ...     found.indices.tolist(), found.values.tolist()
    ([0, 2], [[1.0], [5.0]])
    """

    type = "SparseConditionalAccumulator"

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Return an operation that adds `IndexedSlices`. See `apply_grad`.

        Args:
          grad: the slices.
          local_step: [] integer, the step whose gradient they are.
          name: name of the operation.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: TensorLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Operation:
        """Return an operation that adds a gradient.

        Args:
          grad_indices: [n] integer, the rows.
          grad_values: [n, ...] of the accumulator's dtype.
          grad_shape: [rank] integer, the shape of the whole.
          local_step: [] integer, the step whose gradient it is.
          name: name of the operation.

        Raises:
          InvalidArgumentError: (when run) it does not fit the accumulator.
        """
        with entered_for(self._accumulator_ref, f"a gradient of {self.name!r}"):
            values = convert_to_tensor(grad_values, self._dtype)
            sizes = as_int64([] if grad_shape is None else grad_shape)
            return apply_op(
                APPLY_SPARSE,
                self._accumulator_ref,
                as_int64(local_step),
                as_int64(grad_indices),
                values,
                sizes,
                name=name,
                has_known_shape=grad_shape is not None,
            )

    def take_grad(
        self, num_required: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows, their means, and the shape, once there are enough gradients.

        Args:
          num_required: [] int32, how many there must be.
          name: name of the operation.

        Returns:
          [n] int64, [n, ...] and [rank] int64, in which a first size that is not known is -1.
        """
        indices, values, sizes = self._taken(TAKE_SPARSE, num_required, name)
        return indices, values, sizes

    def take_indexed_slices_grad(
        self, num_required: TensorLike, name: str | None = None
    ) -> IndexedSlices:
        """Return what `take_grad` returns as `IndexedSlices`.

        Args:
          num_required: [] int32, how many gradients there must be.
          name: name of the operation.
        """
        indices, values, sizes = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, sizes)
