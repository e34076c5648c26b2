"""TensorArray: a list of tensors that a loop reads and writes item by item."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, int32
from daskvars.errors import invalid
from daskvars.graph.convert import convert_to_tensor, register_tensor_conversion_function
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.scopes.name_scope import entered_graph, name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape
from daskvars.ops.array.ranges import range as range_
from daskvars.ops.array.reshaping import identity
from daskvars.ops.control import tensor_lists as ops
from daskvars.shapes import ShapeLike
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards


class _Shared:
    """What all versions of an array have in common.

    Attributes:
      shape: of the items; all versions learn it together.
      infer: whether the items have one shape.
      begin: the list with which the array begins; None where that is not known.
      unread: the list with which that begins which was read of it; None where items may be read
        more than once.
      num_reads: how often it was read, in the program as it was written.
      read: in eager code, the indices that were read.
      flow: of an array of gradients in eager code, its newest list.
      gradients: source -> the array of gradients.
    """

    def __init__(
        self, shape: shapes.Shape, infer: bool, begin: Tensor | None, unread: Tensor | None
    ) -> None:
        self.shape = shape
        self.infer = infer
        self.begin = begin
        self.unread = unread
        self.num_reads = 0
        self.read: set[int] = set()
        self.flow = begin
        self.gradients: dict[str, TensorArray] = {}

    def merge(self, shape: shapes.Shape) -> None:
        if not self.infer:
            return
        if not shapes.compatible(self.shape, shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shapes.show(shape)} but expected "
                f"{shapes.show(self.shape)} (and infer_shape=True)"
            )
        self.shape = shapes.merge(self.shape, shape)


@accepts("colocate_with_first_write_call")
class TensorArray:
    """A list of tensors of one dtype, which `while_loop` carries from turn to turn.

    Writing gives a new TensorArray, to be used from then on; in eager code it is this one. Each
    item is written once, and read once in a run unless `clear_after_read` is False.

    Args:
      dtype: dtype of the items.
      size: number of items, an int or a scalar int32 tensor.
      dynamic_size: writing past the end makes it longer.
      clear_after_read: None or True: an item that was read (of a graph also with `gather`, `stack`
        or `concat`) cannot be read a second time in the run, nor be written afterwards. Eager code
        looks at `read` alone. Not checked are, as in TensorFlow 2, arrays that a `function` makes
        or is given; and those made of a `flow`, or that a branch of `cond` makes and returns. The
        memory is freed with the last use, not by the read.
      tensor_array_name: what errors call it, by default the name of the operation.
      handle, flow: the `flow` of another TensorArray, in place of a new list.
      infer_shape: items have one shape, which is learned from what is written.
      element_shape: the shape of the items, as far as it is known. Where it is fully known, items
        that were not written read as zeros.
      name: name of the operation.

    Raises:
      ValueError: neither a size nor a flow is given.

    >>> squares = dv.TensorArray(dv.int32, size=3)
    >>> _, squares = dv.while_loop(
    ...     lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, i * i)), (0, squares))
    >>> squares.stack().numpy().tolist()
    [0, 1, 4]
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike | None = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        given = flow if flow is not None else handle
        if given is None and size is None:
            raise ValueError("Size must be declared: TensorArray(dtype, size=...)")
        if given is not None and size is not None:
            raise ValueError("Cannot provide both a handle or flow and a size at the same time")
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._adds = False
        begin = None
        if given is None:
            builder = builder_for((size,))
            with entered_graph(builder):
                name = name or "TensorArray"
                array = tensor_array_name or name
                given = begin = apply(ops.RESERVE, _index(size), name=name, array=array)
            if clear_after_read and not builder.is_eager and not _root(builder).is_plain:
                warnings.warn(
                    f"TensorArray {given.op.name!r}: clear_after_read=True has no effect in a "
                    "function, as in TensorFlow 2: items may be read again",
                    stacklevel=2,
                )
        self._flow = given
        known = shapes.as_tuple(element_shape)
        infer = bool(infer_shape) or known is not None
        reads_once = clear_after_read is None or clear_after_read
        self._shared = _Shared(known, infer, begin, begin if reads_once else None)

    def __repr__(self) -> str:
        shape = shapes.show(self._shared.shape)
        return f"<tf.TensorArray {self._flow.op.name!r} dtype={self._dtype.name} of {shape}>"

    # -- what it is ---------------------------------------------------------------------------

    flow: Tensor = forwards("_flow", "The list as a tensor of dtype variant.")
    handle: Tensor = forwards("_flow", "The same as `flow`: the list is all there is.")
    dtype: DType = forwards("_dtype", "The dtype of the items.")
    dynamic_size: bool = forwards("_dynamic_size", "Whether it grows when written past its end.")

    @property
    def element_shape(self) -> shapes.TensorShape:
        """The static shape of the items, as far as it is known."""
        return shapes.TensorShape(self._shared.shape)

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Return this array with another list, such as the one that left a loop."""
        new = object.__new__(TensorArray)
        new.__dict__.update(self.__dict__)
        new._flow = flow
        return new

    def identity(self) -> TensorArray:
        """Return the same array, to be had after the control dependencies of this moment."""
        return self.with_flow(identity(self._flow))

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of items, a scalar int32 tensor."""
        return apply(ops.SIZE, self._flow, name=name)

    def close(self, name: str | None = None) -> Any:
        """Accepted: memory is freed with the last use. Returns an operation."""
        return apply(ops.SIZE, self._flow, name=name).op

    def mark_used(self) -> None:
        """Accepted: nothing warns of a version of the array that nobody uses."""

    # -- items --------------------------------------------------------------------------------

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return an item.

        Raises:
          InvalidArgumentError: (when run) there is none at `index`, or it was not written to and
            its shape is not known; it was read before, and `clear_after_read` is not False.
        """
        index = self._index(index)
        flow = self._to_read(name, index, eager=True)
        return apply(ops.READ, flow, index, name=name, **self._item())

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array with `value` as the item at `index`.

        Raises:
          ValueError: the shape of `value` is not that of the items.
          InvalidArgumentError: its dtype is not; or (when run) there is no such place, or it was
            written to before, or read before (of an array of a graph that is cleared by reads).
        """
        value, index = self._converted(value), self._index(index)
        self._shared.merge(value.spec.shape)
        return self._changed(ops.WRITE, index, value, name=name)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return some items stacked, [len(indices), ...]."""
        indices = self._index(indices)
        return apply(ops.GATHER, self._to_read(name, indices), indices, name=name, **self._item())

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Return the array with the rows of `value` written to `indices`."""
        value, indices = self._rows_of(value), self._index(indices)
        return self._changed(ops.SCATTER, indices, value, name=name)

    def stack(self, name: str | None = None) -> Tensor:
        """Return all items stacked, [size, ...]."""
        return apply(ops.STACK, self._to_read(name), name=name, **self._item())

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` as its items."""
        return self._changed(ops.UNSTACK, self._rows_of(value), name=name, firsts=True)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all items joined along their first axis; its size may differ between them."""
        return apply(ops.CONCAT, self._to_read(name), name=name, **self._item())

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array with runs of rows of `value` as its items, of the given lengths."""
        value = self._converted(value)
        shape, known = value.spec.shape, constant_value(self._index(lengths))
        if shape and known is not None and known.size and (known == known.flat[0]).all():
            self._shared.merge((int(known.flat[0]), *shape[1:]))
        return self._changed(ops.SPLIT, value, self._index(lengths), name=name, firsts=True)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Return an array for gradients of the items: what is written to an item is added up.

        It has the size of this array, and zeros where this array has items. In a run there is one
        such array for a source: what was written to any version of it, before by data or control
        dependencies (in eager code by the order of the program), is in all of them. `gradients`
        needs no such array.

        Args:
          source: what the gradient is of, part of the operation's name; for one that was given
            before the array is the same.
          flow: the `flow` of the version of this array to take the size and the shapes of, where
            the source is a new one.
          name: name of the operation.

        Raises:
          TypeError: the items are not numbers.

        >>> slopes = dv.TensorArray(dv.float32, size=2).grad("loss")
        >>> slopes = slopes.write(0, 3.0).write(0, 4.0).write(1, 1.0)
        >>> slopes.stack().numpy().tolist()
        [7.0, 1.0]
        """
        if not (self._dtype.is_floating or self._dtype.is_complex or self._dtype.is_integer):
            raise TypeError(
                f"TensorArray.grad({source!r}): items of dtype {self._dtype.name} cannot be added"
            )
        of, known = self._flow if flow is None else flow, self._shared.gradients.get(source)
        if known is not None and known._begins_around(builder_for((of,))):
            return known
        empty = apply(ops.RESERVE, apply(ops.SIZE, of))
        zeros = apply(ops.ZEROS, of, empty, name=name or f"TensorArrayGrad_{source}")
        new = self.with_flow(zeros)
        new._dynamic_size, new._adds = False, True
        new._shared = _Shared(self._shared.shape, self._shared.infer, zeros, empty)
        self._shared.gradients[source] = new
        return new

    def _changed(
        self, definition: Any, *inputs: Tensor, name: str | None, firsts: bool = False
    ) -> TensorArray:
        """Return the array as an op changes it, whose first input are indices.

        Args:
          firsts: the items are the first ones, as many as the last input has rows.
        """
        flow = self._to_write(inputs[-1] if firsts else inputs[0], firsts)
        if self._adds:
            more = apply(ops.RESERVE, self.size())
            more = apply(definition, more, *inputs, name=name, dynamic=False, adds=True)
            changed = self._aggregated(flow, more)
        else:
            changed = apply(definition, flow, *inputs, name=name, dynamic=self._dynamic_size)
        if changed.graph is not None:
            return self.with_flow(changed)
        self._flow = changed
        return self

    def _aggregated(self, flow: Tensor, more: Tensor) -> Tensor:
        shared, builder = self._shared, builder_for((flow,))
        if builder.is_eager:
            shared.flow = apply(ops.AGGREGATE, flow, more, shared.flow)
            return shared.flow
        begin = shared.begin if self._begins_around(builder) else flow
        return apply(ops.AGGREGATE, flow, more, begin)

    def _to_read(self, name: str | None, *indices: Tensor, eager: bool = False) -> Tensor:
        """Return the list to read from, once at each of some indices (none: at all).

        Args:
          name: of the operation that reads.
          eager: whether eager code may read there once as well.
        """
        shared, flow, builder = self._shared, self._flow, builder_for((self._flow, *indices))
        if builder.is_eager:
            if eager and shared.unread is not None:
                self._note_read(*indices)
            if not self._adds:
                return flow
            assert shared.flow is not None, "an array of gradients begins with zeros"
            return shared.flow
        if not self._begins_around(builder):
            return flow
        if self._adds:
            flow = apply(ops.PRESENT, flow, shared.begin)
        if shared.unread is None or not _root(builder).is_plain:
            return flow
        shared.num_reads += 1
        name = name and f"{name}_once"
        return apply(ops.READ_ONCE, flow, *indices, shared.unread, name=name)[0]

    def _to_write(self, indices: Tensor, firsts: bool) -> Tensor:
        """Return the list to write to, at indices that were not read. See `_changed`."""
        shared, flow, builder = self._shared, self._flow, builder_for((self._flow, indices))
        if builder.is_eager:
            if shared.read:  # what read as zeros, and is written now, can be read again
                shared.read -= _places(range_(shape(indices)[0]) if firsts else indices)
            return flow
        # Where no read was built before, none is ordered before the write.
        if not (shared.num_reads and self._begins_around(builder)):
            return flow
        with entered_graph(builder):
            indices = range_(shape(indices)[0]) if firsts else indices
        return apply(ops.NOT_READ, flow, indices, shared.unread)

    def _note_read(self, index: Tensor) -> None:
        places = _places(index)
        if places & self._shared.read:
            raise invalid(
                f"Could not read index {places.pop()} twice because it was cleared after a "
                "previous read (perhaps try setting clear_after_read = false?)"
            )
        self._shared.read |= places

    def _begins_around(self, builder: Any) -> bool:
        """Return whether the array began in the graph of `builder`, or in one around it."""
        begin = self._shared.begin
        if begin is None or builder.is_eager:
            return begin is not None and begin.op.graph is None
        graph = builder.graph
        while graph is not None and graph is not begin.op.graph:
            graph = getattr(graph, "outer", None)
        return graph is not None

    def _item(self) -> dict[str, Any]:
        return {"dtype": self._dtype, "shape": self._shared.shape}

    def _converted(self, value: Any) -> Tensor:
        with name_scope(None, "TensorArrayWrite", [self._flow, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base_dtype is not self._dtype:
            raise invalid(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{value.dtype.base_dtype.name}."
            )
        return value

    def _index(self, value: Any) -> Tensor:
        with entered_graph(builder_for((self._flow, value))):
            return _index(value)

    def _rows_of(self, value: Any) -> Tensor:
        value = self._converted(value)
        if value.spec.shape is not None:
            self._shared.merge(value.spec.shape[1:])
        return value


def _root(graph: Any) -> Any:
    """Return the outermost of the graphs around a body: a plain one, or that of a function."""
    while getattr(graph, "outer", None) is not None:
        graph = graph.outer
    return graph


def _places(index: Tensor) -> set[int]:
    """Return the indices that a tensor of eager code holds."""
    known = constant_value(index)
    return set(numpy.ravel(index.numpy() if known is None else known).tolist())


def _index(value: Any) -> Tensor:
    return convert_to_tensor(value, preferred_dtype=int32, name="indices")


register_tensor_conversion_function(
    TensorArray, lambda value, dtype=None, name=None, as_ref=False: value.flow, priority=50
)
