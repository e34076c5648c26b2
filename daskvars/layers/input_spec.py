"""InputSpec: what a layer wants of its inputs, checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.graph import nest
from daskvars.graph.tensor import TensorLike
from daskvars.shapes import ShapeLike, TensorShape


class InputSpec:
    """The rank, dtype and sizes that an input of a layer must have.

    Args:
      dtype: that it must have; None for any.
      shape: sizes of all dimensions; None sizes are not checked.
      ndim: the number of dimensions.
      max_ndim, min_ndim: bounds on its rank.
      axes: axis -> size; a size of None is not checked.

    >>> InputSpec(min_ndim=2, axes={-1: 3})
    InputSpec(min_ndim=2, axes={-1: 3})
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: ShapeLike | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, Any] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = None if shape is None else tuple(TensorShape(shape).as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(a): getattr(n, "value", n) for a, n in (axes or {}).items()}

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if v not in (None, {}))
        return f"InputSpec({given})"

    def check(self, tensor: Any, what: str) -> None:
        """Check a tensor; what is raised begins with `what`.

        Raises:
          TypeError: it is no tensor.
          ValueError: it is not as wanted.
        """
        if not hasattr(tensor, "get_shape"):
            raise TypeError(f"{what} must be a tensor or an array; found {tensor!r}")
        shape = tensor.get_shape()
        ndim = shape.ndims
        if (self.ndim, self.min_ndim, self.max_ndim) != (None, None, None) and ndim is None:
            raise ValueError(
                f"{what} is incompatible with the layer: its rank is undefined, but the layer "
                "requires a defined rank. Give the input a shape (set_shape)."
            )
        if self.ndim is not None and ndim != self.ndim:
            self._refuse(what, f"ndim={self.ndim}", f"ndim={ndim}", shape)
        if self.max_ndim is not None and ndim > self.max_ndim:
            self._refuse(what, f"max_ndim={self.max_ndim}", f"ndim={ndim}", shape)
        if self.min_ndim is not None and ndim < self.min_ndim:
            self._refuse(what, f"min_ndim={self.min_ndim}", f"ndim={ndim}", shape)
        if self.dtype is not None and tensor.dtype.base_dtype is not as_dtype(self.dtype):
            wanted_dtype, found_dtype = as_dtype(self.dtype).name, tensor.dtype.base_dtype.name
            found = f"dtype={found_dtype}; cast it first, as in cast(x, {wanted_dtype})"
            self._refuse(what, f"dtype={wanted_dtype}", found, shape)
        if ndim is None:
            return
        sizes = shape.as_list()
        for axis, size in self.axes.items():
            if size is not None and sizes[axis] not in (size, None):
                raise ValueError(
                    f"{what} is incompatible with the layer: expected axis {axis} of input shape "
                    f"to have value {size} but received input with shape {sizes}"
                )
        for wanted, found in zip(self.shape or (), sizes, strict=False):
            if wanted is not None and found not in (wanted, None):
                self._refuse(what, f"shape={self.shape}", f"shape={sizes}", shape)

    def _refuse(self, what: str, expected: str, found: str, shape: TensorShape) -> None:
        raise ValueError(
            f"{what} is incompatible with the layer: expected {expected}, found {found}. Full "
            f"shape received: {shape}"
        )


def check_inputs(specs: Any, inputs: TensorLike, layer_name: str) -> None:
    """Check the inputs of a layer against its `input_spec`: one spec, or one for each input.

    Raises:
      TypeError: one is no tensor.
      ValueError: there are not as many inputs as specs, or one of them is not as wanted.
    """
    if not specs:
        return
    wanted: Sequence[Any] = specs if isinstance(specs, list | tuple) else [specs]
    found = nest.flatten(inputs)
    if len(found) != len(wanted):
        raise ValueError(
            f"Layer {layer_name} expects {len(wanted)} inputs, but it received {len(found)} input "
            f"tensors: {found}"
        )
    for i, (spec, tensor) in enumerate(zip(wanted, found, strict=True)):
        if spec is not None:
            spec.check(tensor, f"Input {i} of layer {layer_name}")
