"""TensorArray: a list of tensors that a loop reads and writes item by item."""

from __future__ import annotations

from typing import Any

from daskvars import shapes
from daskvars.dtypes import DType, as_dtype, int32
from daskvars.errors import InvalidArgumentError
from daskvars.graph.convert import convert_to_tensor, register_tensor_conversion_function
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.name_scope import entered_graph, name_scope
from daskvars.graph.static_values import constant_value
from daskvars.graph.tensor import Tensor
from daskvars.ops import tensor_list_ops as ops
from daskvars.ops.reshaping import identity


class _ElementShape:
    """The shape of the items, which all versions of an array learn together."""

    def __init__(self, shape: shapes.Shape, infer: bool) -> None:
        self.shape = shape
        self.infer = infer

    def merge(self, shape: shapes.Shape) -> None:
        if not self.infer:
            return
        if not shapes.compatible(self.shape, shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shapes.show(shape)} but expected "
                f"{shapes.show(self.shape)} (and infer_shape=True)"
            )
        self.shape = shapes.merge(self.shape, shape)


class TensorArray:
    """A list of tensors of one dtype, which `while_loop` carries from turn to turn.

    Writing gives a new TensorArray, to be used from then on. Each item is written once; it may be
    read any number of times.

    Args:
      dtype: dtype of the items.
      size: number of items, an int or a scalar int32 tensor.
      dynamic_size: writing past the end makes it longer.
      clear_after_read: accepted; reading clears nothing.
      tensor_array_name, colocate_with_first_write_call: accepted, without effect.
      handle, flow: the `flow` of another TensorArray, in place of a new list.
      infer_shape: items have one shape, which is learned from what is written.
      element_shape: the shape of the items, as far as it is known. Where it is fully known, items
        that were not written read as zeros.
      name: name of the operation.

    Raises:
      ValueError: neither a size nor a flow is given.

    >>> import daskvars as dv
    >>> squares = dv.TensorArray(dv.int32, size=3)
    >>> _, squares = dv.while_loop(
    ...     lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, i * i)), (0, squares))
    >>> squares.stack().numpy().tolist()
    [0, 1, 4]
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
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
        shape = shapes.as_tuple(element_shape)
        self._element = _ElementShape(shape, bool(infer_shape) or shape is not None)
        if given is None:
            with entered_graph(builder_for((size,))):
                given = apply(ops.RESERVE, _index(size), name=name or "TensorArray")
        self._flow = given

    # -- what it is ---------------------------------------------------------------------------

    @property
    def flow(self) -> Tensor:
        """The list as a tensor of dtype variant."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        """The same as `flow`: the list is all there is."""
        return self._flow

    @property
    def dtype(self) -> DType:
        """The dtype of the items."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows when written past its end."""
        return self._dynamic_size

    @property
    def element_shape(self) -> shapes.TensorShape:
        """The static shape of the items, as far as it is known."""
        return shapes.TensorShape(self._element.shape)

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

    # -- items --------------------------------------------------------------------------------

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return an item.

        Raises:
          InvalidArgumentError: (when run) there is none at `index`, or it was not written to and
            its shape is not known.
        """
        return apply(ops.READ, self._flow, self._index(index), name=name, **self._item())

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with `value` as the item at `index`.

        Raises:
          ValueError: the shape of `value` is not that of the items.
          InvalidArgumentError: its dtype is not; or (when run) there is no such place, or it was
            written to before.
        """
        value = self._converted(value)
        self._element.merge(value.spec.shape)
        return self._changed(ops.WRITE, self._index(index), value, name=name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return some items stacked, [len(indices), ...]."""
        return apply(ops.GATHER, self._flow, self._index(indices), name=name, **self._item())

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` written to `indices`."""
        value = self._rows_of(value)
        return self._changed(ops.SCATTER, self._index(indices), value, name=name)

    def stack(self, name: str | None = None) -> Tensor:
        """Return all items stacked, [size, ...]."""
        return apply(ops.STACK, self._flow, name=name, **self._item())

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` as its items."""
        return self._changed(ops.UNSTACK, self._rows_of(value), name=name)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all items joined along their first axis; its size may differ between them."""
        return apply(ops.CONCAT, self._flow, name=name, **self._item())

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return the array with runs of rows of `value` as its items, of the given lengths."""
        value = self._converted(value)
        shape, known = value.spec.shape, constant_value(self._index(lengths))
        if shape and known is not None and known.size and (known == known.flat[0]).all():
            self._element.merge((int(known.flat[0]), *shape[1:]))
        return self._changed(ops.SPLIT, value, self._index(lengths), name=name)

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Return an array for gradients of the items: what is written to an item is added up.

        It has the size of this array, and zeros where this array has items. As of any array, what
        is written to it is in the array that `write` returns. `gradients` needs no such array.

        Args:
          source: what the gradient is of, part of the operation's name. (TensorFlow gives one and
            the same array for a source that was given before; here each call begins at zero.)
          flow: the `flow` of the version of this array to take the size and the shapes of.
          name: name of the operation.

        Raises:
          TypeError: the items are not numbers.

        >>> import daskvars as dv
        >>> slopes = dv.TensorArray(dv.float32, size=2).grad("loss")
        >>> slopes = slopes.write(0, 3.0).write(0, 4.0).write(1, 1.0)
        >>> slopes.stack().numpy().tolist()
        [7.0, 1.0]
        """
        if not (self._dtype.is_floating or self._dtype.is_complex or self._dtype.is_integer):
            raise TypeError(
                f"TensorArray.grad({source!r}): items of dtype {self._dtype.name} cannot be added"
            )
        of = self._flow if flow is None else flow
        new = self.with_flow(apply(ops.ZEROS, of, name=name or f"TensorArrayGrad_{source}"))
        new._dynamic_size, new._adds = False, True
        return new

    def _changed(self, definition: Any, *inputs: Any, name: str | None) -> TensorArray:
        options = {"dynamic": self._dynamic_size}
        if self._adds:
            options["adds"] = True
        return self.with_flow(apply(definition, self._flow, *inputs, name=name, **options))

    def _item(self) -> dict[str, Any]:
        return {"dtype": self._dtype, "shape": self._element.shape}

    def _converted(self, value: Any) -> Tensor:
        with name_scope(None, "TensorArrayWrite", [self._flow, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base_dtype is not self._dtype:
            raise InvalidArgumentError(
                None, None,
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{value.dtype.base_dtype.name}.",
            )  # fmt: skip
        return value

    def _index(self, value: Any) -> Tensor:
        with entered_graph(builder_for((self._flow, value))):
            return _index(value)

    def _rows_of(self, value: Any) -> Tensor:
        value = self._converted(value)
        if value.spec.shape is not None:
            self._element.merge(value.spec.shape[1:])
        return value


def _index(value: Any) -> Tensor:
    return convert_to_tensor(value, preferred_dtype=int32, name="indices")


register_tensor_conversion_function(
    TensorArray, lambda value, dtype=None, name=None, as_ref=False: value.flow, priority=50
)
