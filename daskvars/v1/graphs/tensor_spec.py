"""What a program says of a tensor that it has not yet: ``tf.TensorSpec``."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DType, DTypeLike, as_dtype, float32
from daskvars.graph.tensor import Tensor
from daskvars.shapes import TensorShape
from daskvars.surface.forwarding import forwards

__all__ = ["TensorSpec"]


class TensorSpec:
    """Shape, dtype and perhaps the name of a tensor, as data that programs pass about.

    Args:
      shape: what a `TensorShape` is made of.
      dtype: of the elements.
      name: of the tensor, where it has one.

    Source: TensorFlow 1.15, ``tf.TensorSpec``.

    >>> spec = tf.TensorSpec([None, 3], tf.int32, "ids")
    >>> spec, spec.is_compatible_with(tf.zeros([5, 3], tf.int32))
    (TensorSpec(shape=(?, 3), dtype=tf.int32, name='ids'), True)
    """

    def __init__(self, shape: Any, dtype: DTypeLike = float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Return what `spec` says, under another name where one is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Return what is known of a tensor, by default under the name of its operation.

        Raises:
          ValueError: `tensor` is no tensor.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    shape: TensorShape = forwards("_shape", "What is known of the shape.")

    dtype: DType = forwards("_dtype", "The dtype of the elements.")

    name: str | None = forwards("_name", "The name, or None.")

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return whether a tensor, or one that another spec tells of, may be what this one says."""
        return (
            isinstance(spec_or_tensor, TensorSpec | Tensor)
            and self.dtype.is_compatible_with(spec_or_tensor.dtype)
            and self.shape.is_compatible_with(spec_or_tensor.shape)
        )

    def _key(self) -> tuple[Any, ...]:
        sizes = None if self.shape.ndims is None else tuple(self.shape.as_list())
        return sizes, self.dtype, self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key()[:2])

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
